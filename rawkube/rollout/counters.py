"""The numbers of a workload by which people see how far its rollout is. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import Any, NamedTuple


class Counters(NamedTuple):
    """How many Pods there are to be (`desired`), are (`current`), are of the newest template, ready, available.

    None: the object says nothing of it.
    """

    desired: int | None = None
    current: int | None = None
    updated: int | None = None
    ready: int | None = None
    available: int | None = None


_REPLICAS = ("spec.replicas", "status.replicas", "status.updatedReplicas", "status.readyReplicas")
_FIELDS = {
    "DaemonSet": (
        "status.desiredNumberScheduled",
        "status.currentNumberScheduled",
        "status.updatedNumberScheduled",
        "status.numberReady",
        "status.numberAvailable",
    ),
    "Job": ("spec.completions", "status.active", "", "status.ready", "status.succeeded"),
    "ReplicaSet": ("spec.replicas", "status.replicas", "", "status.readyReplicas", "status.availableReplicas"),
}
_FIELDS["ReplicationController"] = _FIELDS["ReplicaSet"]
# What the API leaves out of a status when it is 0; of any other kind an absent number is unknown.
_ZERO = ("Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "ReplicationController")


def counters(obj: Mapping[str, Any]) -> Counters:
    """The numbers of a Deployment, StatefulSet, DaemonSet, Job, ReplicaSet, or anything with such fields."""
    kind = str(obj.get("kind") or "")
    fields = _FIELDS.get(kind, (*_REPLICAS, "status.availableReplicas"))
    return Counters(*(_number(obj, path, kind in _ZERO) if path else None for path in fields))


def _number(obj: Mapping[str, Any], path: str, zero: bool) -> int | None:
    where, _, name = path.partition(".")
    part = obj.get(where)
    value = part.get(name) if isinstance(part, dict) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return 0 if zero and value is None and where == "status" else None
