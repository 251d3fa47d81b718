"""Pods with one container `app`, made by hand, and what `rawkube.rollout.explain` finds about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rawkube.rollout.explain import grouping, jobs, pods
from rawkube.rollout.explain.finding import Finding
from rawkube.rollout.explain.scene import LogTail, Scene
from rawkube.rollout.explain.view import View
from tests.support.explained import NOW, Object, clock, condition, replica_set, workload

IMAGE = "reg.example/team/app:1"


def pod_of(
    statuses: Sequence[Object] = (),
    *,
    name: str = "web-1-a",
    owner: str = "r",
    app: Object | None = None,
    init: Sequence[Object] = (),
    inits: Sequence[Object] = (),
    spec: Object | None = None,
    **status: Any,
) -> Object:
    """A Pod on node n1 since 14:50:00. `app`: more of its container; `statuses`, `inits`: its containerStatuses and
    initContainerStatuses, `init`: its init containers; `spec`, `status`: more of its own."""
    containers = {"containers": [{"name": "app", "image": IMAGE, **(app or {})}], "initContainers": list(init)}
    told = {"containerStatuses": list(statuses), "initContainerStatuses": list(inits)}
    base = {"phase": "Pending", "conditions": [condition("PodScheduled", "True")], **told}
    metadata = {
        "name": name,
        "namespace": "d",
        "uid": f"u-{name}",
        "ownerReferences": [{"uid": owner, "controller": True}],
    }
    return {
        **{"apiVersion": "v1", "kind": "Pod", "metadata": metadata},
        **{"spec": {"nodeName": "n1", **containers, **(spec or {})}, "status": {**base, **status}},
    }


def waiting(
    reason: str, message: str = "", *, last: Object | None = None, restarts: int = 0, name: str = "app"
) -> Object:
    """The status of a container that waits; `last`: how it ended before."""
    state = {"waiting": {"reason": reason, "message": message}}
    before = {"terminated": last} if last else {}
    return {"name": name, "restartCount": restarts, "state": state, "lastState": before}


def running(since: str, *, last: Object | None = None, restarts: int = 0, name: str = "app", **more: Any) -> Object:
    """The status of a container that runs since a time of the day."""
    before = {"terminated": last} if last else {}
    state = {"running": {"startedAt": clock(since)}}
    return {"name": name, "restartCount": restarts, "started": True, "state": state, "lastState": before, **more}


def over(end: Object, *, restarts: int = 0, name: str = "app") -> Object:
    """The status of a container that has ended."""
    return {"name": name, "restartCount": restarts, "state": {"terminated": end}}


def end(
    code: int, reason: str = "Error", message: str = "", *, start: str = "14:59:00", at: str = "14:59:30"
) -> Object:
    """How a run ended: `state.terminated`."""
    return {"exitCode": code, "reason": reason, "message": message, "startedAt": clock(start), "finishedAt": clock(at)}


def told(
    reason: str, message: str, at: str = "14:59:30", *, container: str = "app", count: int = 1, first: str = "14:55:00"
) -> Object:
    """An Event about `web-1-a`, and about one of its containers."""
    path = {"fieldPath": f"spec.containers{{{container}}}"} if container else {}
    return {
        "involvedObject": {"kind": "Pod", "name": "web-1-a", "uid": "u-web-1-a", **path},
        **{"reason": reason, "message": message, "count": count},
        **{"firstTimestamp": clock(first), "lastTimestamp": clock(at)},
    }


def look(
    *made: Object,
    of: Object | None = None,
    events: Sequence[Object] = (),
    log: LogTail | None = None,
    now: float = NOW,
) -> list[Finding]:
    """What is found about these Pods of a Deployment of 2, or of another workload."""
    owner = of or workload("Deployment", {"replicas": 2})
    logs = {("web-1-a", "app"): log} if log else {}
    view = View(Scene(owner, owned=[replica_set()], pods=made, events=events, logs=logs), now=now)
    return grouping.grouped(view, [*pods.findings(view), *jobs.findings(view)])
