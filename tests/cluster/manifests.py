"""What the tests create. Pure; every manifest is a plain dict, of busybox alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]

IMAGE = os.environ.get("RAWKUBE_TEST_IMAGE") or "docker.io/library/busybox:1.35"
LABEL = "rawkube-test"
SLEEP = ("sleep", "3600")


def shell(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


def container(command: Sequence[str] = SLEEP, *, name: str = "app", **more: Any) -> Object:
    usual = {"name": name, "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": list(command)}
    requests = {"requests": {"cpu": "1m", "memory": "4Mi"}}
    return {**usual, "resources": requests, **more}


def pod_spec(*containers: Object, **more: Any) -> Object:
    """Ends at once when it is deleted, knows nobody, and may do nothing."""
    usual = {
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    return {**usual, "containers": list(containers or (container(),)), **more}


def pod(name: str, *containers: Object, **more: Any) -> Object:
    metadata = {"name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(*containers, **more)}


def _workload(kind: str, name: str, spec: Mapping[str, Any], template: Object | None) -> Object:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template or pod_spec()},
            **spec,
        },
    }


def deployment(name: str, template: Object | None = None, *, replicas: int = 2, **spec: Any) -> Object:
    return _workload("Deployment", name, {"replicas": replicas, **spec}, template)


def daemon_set(name: str, template: Object | None = None, **spec: Any) -> Object:
    return _workload("DaemonSet", name, spec, template)


def stateful_set(name: str, template: Object | None = None, *, replicas: int = 2, **spec: Any) -> Object:
    # The Service need not exist: nobody resolves the Pods' names.
    return _workload("StatefulSet", name, {"replicas": replicas, "serviceName": name, **spec}, template)


def rolling(**how: Any) -> Object:
    """An updateStrategy."""
    return {"type": "RollingUpdate", "rollingUpdate": how}


def new_template(value: str) -> Object:
    """A merge patch that makes new Pods necessary, and changes nothing else about them."""
    return {"spec": {"template": {"metadata": {"annotations": {"rawkube-test/turn": value}}}}}


def namespace(name: str) -> Object:
    # The cluster's default may be stricter than what a plain busybox is.
    labels = {LABEL: "suite", "pod-security.kubernetes.io/enforce": "baseline"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": name}}, "data": data}


def service_account(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}


def role(name: str, *rules: tuple[str, Sequence[str], Sequence[str]]) -> Object:
    """Each rule: (API group, resources, verbs)."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": [group], "resources": list(what), "verbs": list(verbs)} for group, what, verbs in rules
        ],
    }


def role_binding(name: str, namespace: str) -> Object:
    """Gives the Role of that name to the ServiceAccount of that name."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }


def with_token(config: Object, token: str) -> Object:
    """That kubeconfig (of one context, with nothing but data in it) with a bearer token as its only credential."""
    users = [{"name": each["name"], "user": {"token": token}} for each in config["users"]]
    return {**config, "users": users}
