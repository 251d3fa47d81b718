"""What belongs to a workload, by what is written in it and in its Pods: what to ask for, to explain it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rawkube._typing import NamedTuple
from rawkube.api.selectors import SelectorError, from_label_selector, from_map
from rawkube.rollout.explain.fields import Value, at, items, mapping, number, raw
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import View, condition, is_terminating

NO_LOG = "unable to retrieve container logs for "
"""How the whole of an answer to `pods/log` begins when the node has no log of that run any more (kubelet)."""

_OWNED = {"Deployment": "replicasets", "StatefulSet": "controllerrevisions", "DaemonSet": "controllerrevisions"}


class Crashed(NamedTuple):
    """A container that ended. `previous`: its log is that of the run before the present one."""

    pod: str
    container: str
    previous: bool


def owned_plural(kind: str) -> str:
    """What such a workload keeps its revisions in, a plural of apps/v1; empty for none."""
    return _OWNED.get(kind, "")


def pod_selector(workload: Object) -> str | None:
    """The label selector of its Pods, None where it has none that means anything: then it has no Pods to ask for."""
    selector = at(workload, "spec", "selector")
    try:
        if raw(workload, "kind") == "ReplicationController":
            return from_map(selector) or None
        return from_label_selector(selector) or _job_selector(workload)
    except SelectorError:
        return None


def _job_selector(workload: Object) -> str | None:
    if raw(workload, "kind") != "Job":
        return None
    name = raw(workload, "metadata", "name")
    return from_map({"job-name": name}) if name else None


def stuck(view: View) -> list[Object]:
    """The Pods that may tell why: those of the new revision that are not ready, then old ones that are to go."""
    new = [pod for pod in view.new_pods if not _is_well(pod)]
    return [*new, *(pod for pod in view.old_pods if is_terminating(pod))]


def _is_well(pod: Object) -> bool:
    if is_terminating(pod):
        return False
    return raw(pod, "status", "phase") == "Succeeded" or raw(condition(pod, "Ready"), "status") == "True"


def crashed(pods: Iterable[Object]) -> list[Crashed]:
    """The containers that ended and should not have: of each name first one, as they are alike on most Pods."""
    found = [one for pod in pods for one in _crashed_of(pod)]
    first = {one.container: one for one in reversed(found)}
    return sorted(found, key=lambda one: first[one.container] is not one)


def _crashed_of(pod: Object) -> Iterator[Crashed]:
    name = raw(pod, "metadata", "name")
    for kind in ("initContainerStatuses", "containerStatuses"):
        for status in items(pod, "status", kind):
            if (previous := _ended_before(status)) is not None and name and raw(status, "name"):
                yield Crashed(name, raw(status, "name"), previous)


def _ended_before(status: Object) -> bool | None:
    """Whether the run that ended is the one before the present one; None where none ended that should not have."""
    ended = at(status, "state", "terminated")
    if ended is not None:
        return False if number(ended, "exitCode") or number(status, "restartCount") else None
    return True if number(status, "restartCount") and not at(status, "ready") else None


def claims_of(pods: Iterable[Object]) -> list[str]:
    """The names of the PersistentVolumeClaims that Pods use which wait for a node or for their volumes."""
    waiting = [pod for pod in pods if raw(pod, "status", "phase") == "Pending"]
    return list(dict.fromkeys(name for pod in waiting for name in _claims_of(pod)))


def _claims_of(pod: Object) -> Iterator[str]:
    for volume in items(pod, "spec", "volumes"):
        if claim := raw(volume, "persistentVolumeClaim", "claimName"):
            yield claim
        elif at(volume, "ephemeral") is not None:
            yield f"{raw(pod, 'metadata', 'name')}-{raw(volume, 'name')}"


def nodes_of(pods: Iterable[Object]) -> list[str]:
    """The names of the nodes that these Pods are on, in that order."""
    names = (raw(pod, "spec", "nodeName") for pod in pods)
    return list(dict.fromkeys(name for name in names if name))


def uid_of(thing: Value) -> str:
    """The UID of an object, empty for none."""
    return raw(mapping(thing, "metadata"), "uid")
