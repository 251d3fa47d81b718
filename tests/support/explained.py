"""Scenes made by hand for `rawkube.rollout.explain`: a workload, its ReplicaSet or revisions, its Pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rawkube.rollout.explain.finding import Finding
from rawkube.rollout.explain.scene import Scene
from rawkube.rollout.explain.view import View

Object = dict[str, Any]

NOW = 1796050800.0
"""2026-11-30T15:00:00Z."""


def clock(text: str) -> str:
    """A time of the day of NOW: `14:59:30`."""
    return f"2026-11-30T{text}Z"


def workload(kind: str, spec: Object | None = None, status: Object | None = None, **metadata: Any) -> Object:
    """A workload named `web`, observed at generation 2, made an hour before NOW."""
    named = {"name": "web", "namespace": "d", "uid": "w", "generation": 2, "creationTimestamp": clock("14:00:00")}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {**named, **metadata},
        "spec": {"template": {}, **(spec or {})},
        "status": {"observedGeneration": 2, **(status or {})},
    }


def replica_set(status: Object | None = None, *, spec: Object | None = None) -> Object:
    """The newest ReplicaSet of a Deployment made by `workload`."""
    owner = {"uid": "w", "controller": True}
    metadata = {"name": "web-1", "uid": "r", "ownerReferences": [owner]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {"template": {}, **(spec or {})},
        "status": status or {},
    }


def pod(
    name: str, status: Object | None = None, spec: Object | None = None, *, owner: str = "w", **meta: Any
) -> Object:
    """A Pod of the workload (`owner="r"`: of its newest ReplicaSet, "o": of an older one)."""
    owners = [{"uid": owner, "controller": True}]
    metadata = {"name": name, "namespace": "d", "uid": f"u-{name}", "ownerReferences": owners, **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec or {}, "status": status or {}}


def old_replica_set() -> Object:
    """An older ReplicaSet, which has `owner="o"` Pods."""
    one = replica_set(spec={"template": {"spec": {"old": True}}})
    one["metadata"] |= {"name": "web-0", "uid": "o"}
    return one


def condition(type_: str, status: str, reason: str = "", message: str = "", since: str = "14:50:00") -> Object:
    """A condition, last changed and last updated at `since`."""
    times = {"lastTransitionTime": clock(since), "lastUpdateTime": clock(since)}
    return {"type": type_, "status": status, "reason": reason, "message": message, **times}


def ready(*, since: str = "14:50:00", is_ready: bool = True) -> Object:
    """The status of a Pod that runs and is ready, or is not."""
    return {"phase": "Running", "conditions": [condition("Ready", str(is_ready), since=since)]}


def unscheduled(message: str, reason: str = "Unschedulable") -> Object:
    """The status of a Pod without a node."""
    return {"phase": "Pending", "conditions": [condition("PodScheduled", "False", reason, message)]}


def event(about: Mapping[str, Any], reason: str, message: str, at: str = "14:55:00") -> Object:
    """An Event about an object."""
    involved = {"uid": about["metadata"]["uid"], "kind": about["kind"], "name": about["metadata"]["name"]}
    times = {"firstTimestamp": clock(at), "lastTimestamp": clock(at)}
    return {"involvedObject": involved, "reason": reason, "message": message, **times}


def found(findings: Iterable[Finding]) -> list[tuple[str, str, str]]:
    """What a test compares: code, text, resolves."""
    return [(one.code, one.text, one.resolves) for one in findings]


def view(scene: Scene) -> View:
    """The view of a scene at NOW."""
    return View(scene, now=NOW)
