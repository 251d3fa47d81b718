"""How a container ended, from its Pod: the stream of `attach` cannot tell. Pure.

A container that is restarted has the same name and another ID, so the ID of the one that was attached to decides
(core/v1 ContainerStatus: `state`, `lastState`, `containerID`).
"""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.gotext import one_line

Object = Mapping[str, Any]

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class ContainerEnd(NamedTuple):
    """The container's end. `code`: its exit code; `reason`: the kubelet's word for it (`Error`, `OOMKilled`)."""

    code: int
    reason: str = ""


class StillRunning(NamedTuple):
    """It has not ended, as far as the Pod tells by now."""


class NotKnown(NamedTuple):
    """The Pod does not tell of this container any more. `why`: in a few words."""

    why: str


def container_end(before: Object, after: Object, container: str) -> ContainerEnd | StillRunning | NotKnown:
    """What became of a container. `before`, `after`: its Pod when it was attached to, and now."""
    uid = _part(before, "metadata").get("uid")
    if uid and _part(after, "metadata").get("uid") != uid:
        return NotKnown("another pod has taken its place")
    identity = str(_status(before, container).get("containerID") or "")
    status = _status(after, container)
    for state in ("state", "lastState"):
        terminated = _part(status, state, "terminated")
        own = terminated.get("containerID") == identity if identity else state == "state"
        if terminated and own:
            return _end(terminated)
    if identity and status.get("containerID") not in (identity, None, ""):
        return NotKnown("it was restarted")
    running = "running" in _part(status, "state")
    return StillRunning() if running else NotKnown("the pod does not say")


def _end(terminated: Object) -> ContainerEnd:
    code = terminated.get("exitCode")
    return ContainerEnd(code if isinstance(code, int) else 0, one_line(str(terminated.get("reason") or "")))


def _status(pod: Object, container: str) -> Object:
    """The status of a container, empty where there is none."""
    for kind in _STATUSES:
        found = _part(pod, "status").get(kind)
        for status in found if isinstance(found, list) else []:
            if isinstance(status, dict) and status.get("name") == container:
                return status
    return {}


def _part(thing: Any, *keys: str) -> Object:  # noqa: ANN401 - a JSON value
    """The mapping at a path, empty where there is none."""
    for key in keys:
        thing = thing.get(key) if isinstance(thing, dict) else None
    return thing if isinstance(thing, dict) else {}
