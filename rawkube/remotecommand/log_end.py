"""What a Pod's status says of the container whose log is followed (ContainerStatus, core/v1). Pure."""

from __future__ import annotations

from rawkube.api.objects import Object, metadata_of

RUNS = "runs"
ENDED = "ended"
RESTARTED = "restarted"
GONE = "gone"


def instance(pod: Object, container: str) -> str:
    """The ID of the container's present run, or of its last one; empty where the status tells none."""
    return str(container_status(pod, container).get("containerID") or "")


def fate(pod: Object, container: str, followed: str, *, of: Object) -> str:
    """What became of the run `followed` (its container ID, empty: not known) of a container.

    `of`: the Pod as it was when its log was asked for. RUNS; ENDED: its log is still the one that `pods/log` gives;
    RESTARTED: it is the one that `previous=true` gives; GONE: its log cannot be had any more.
    """
    if _uid(pod) != _uid(of):
        return GONE
    status = container_status(pod, container)
    if not status:
        return ENDED
    state = _part(status, "state")
    last = str(_part(status, "lastState", "terminated").get("containerID") or "")
    now = str(status.get("containerID") or "")
    if not followed or now == followed:
        return RUNS if "running" in state else ENDED
    if "running" in state or "terminated" in state:
        return RESTARTED if last == followed else GONE
    return ENDED if last == followed else GONE


def container_status(pod: Object, container: str) -> Object:
    """The status of one container, of whatever kind; empty where there is none."""
    status = _part(pod, "status")
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        found = status.get(kind)
        for one in found if isinstance(found, list) else []:
            if isinstance(one, dict) and one.get("name") == container:
                return one
    return {}


def _part(thing: Object, *keys: str) -> Object:
    found: object = thing
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _uid(pod: Object) -> str:
    return str(metadata_of(pod).get("uid") or "")
