"""Workloads with revisions, as an API server would show them: Deployments, ReplicaSets, ControllerRevisions."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.script import Object

APPLIED = {"kubectl.kubernetes.io/last-applied-configuration": '{"a":"<b>"}\n'}


def template(version: str = "1", **spec: Any) -> Object:
    """A Pod template with the image `img:VERSION`; `spec`: further fields of the Pod."""
    pod = {"containers": [{"name": "app", "image": f"img:{version}"}], **spec}
    return {"metadata": {"labels": {"app": "web"}}, "spec": pod}


def _metadata(name: str, namespace: str, annotations: dict[str, str] | None, **more: Any) -> Object:
    head = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}", "resourceVersion": "5", "generation": 2}
    return {**head, "labels": {"app": name}, "annotations": annotations or {}, **more}


def _owner(kind: str, name: str, uid: str) -> list[Object]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid or f"uid-of-{name}"}
    return [{**reference, "controller": True, "blockOwnerDeletion": True}]


def deployment(
    name: str = "web",
    of: Object | None = None,
    *,
    revision: str = "2",
    namespace: str = "default",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A Deployment with the template `of`; `spec`: further fields of its spec."""
    metadata = _metadata(name, namespace, {"deployment.kubernetes.io/revision": revision, **(annotations or {})})
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 3, "selector": selector, "template": of or template("2"), **spec},
        "status": {"observedGeneration": 2},
    }


def replica_set(
    hash_: str,
    revision: int | str | None,
    of: Object,
    *,
    owner: str = "web",
    uid: str = "",
    namespace: str = "default",
    created: str = "2026-01-01T00:00:00Z",
    annotations: dict[str, str] | None = None,
) -> Object:
    """The ReplicaSet OWNER-HASH of a Deployment; `revision` None: without the annotation."""
    of = copy.deepcopy(of)
    of.setdefault("metadata", {}).setdefault("labels", {})["pod-template-hash"] = hash_
    numbered = {} if revision is None else {"deployment.kubernetes.io/revision": str(revision)}
    metadata = _metadata(f"{owner}-{hash_}", namespace, {**numbered, **(annotations or {})})
    labels = {"app": owner, "pod-template-hash": hash_}
    metadata |= {"creationTimestamp": created, "labels": labels, "ownerReferences": _owner("Deployment", owner, uid)}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": owner}}, "template": of}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def other(
    kind: str, name: str, of: Object | None = None, *, annotations: dict[str, str] | None = None, **spec: Any
) -> Object:
    """A DaemonSet or a StatefulSet."""
    metadata = _metadata(name, "default", annotations)
    more = {"selector": {"matchLabels": {"app": name}}, "template": of or template("2"), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": more}


def controller_revision(
    owner: Object,
    number: int,
    of: Object,
    *,
    uid: str = "",
    annotations: dict[str, str] | None = None,
    data: Any = None,
) -> Object:
    """The ControllerRevision OWNER-NUMBER; `data` instead of the patch that restores the template `of`."""
    kind, name = owner["kind"], owner["metadata"]["name"]
    metadata = _metadata(f"{name}-{number}", "default", annotations)
    metadata |= {"labels": {"app": name}, "ownerReferences": _owner(kind, name, uid)}
    patch = {"spec": {"template": {"$patch": "replace", **of}}} if data is None else data
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": patch,
        "revision": number,
    }


def with_history(workload: Object, *templates: Object) -> list[Object]:
    """A workload, and its revisions 1, 2, … with these templates."""
    name = workload["metadata"]["name"]
    if workload["kind"] == "Deployment":
        sets = [replica_set(f"h{number}", number, one, owner=name) for number, one in enumerate(templates, 1)]
        return [workload, *sets]
    return [workload, *(controller_revision(workload, number, one) for number, one in enumerate(templates, 1))]


def web() -> list[Object]:
    """The Deployment `web`, at the second of two revisions."""
    return with_history(deployment(), template("1"), template("2"))


def agent(*versions: str) -> list[Object]:
    """The DaemonSet `agent` with revisions of these versions (two)."""
    return with_history(other("DaemonSet", "agent"), *map(template, versions or ("1", "2")))


def db(*versions: str) -> list[Object]:
    """The StatefulSet `db` with revisions of these versions (two)."""
    return with_history(other("StatefulSet", "db", serviceName="db"), *map(template, versions or ("1", "2")))


def pod(name: str = "p", annotations: dict[str, str] | None = None) -> Object:
    """A Pod."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(name, "default", annotations), "spec": spec}
