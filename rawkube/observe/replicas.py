"""Pure: the replicas of workloads over time, from what passed about them.

Read from watch events, from lists, and from objects that were asked for by name. The fields are those by which
`kubectl rollout status` tells that a rollout is done (apps/v1: Deployment, StatefulSet, DaemonSet, ReplicaSet).
"""

from __future__ import annotations

import json

from rawkube.api.objects import Object, metadata_of

SERIES = ("desired", "updated", "ready", "available")
_COUNTS = {
    "DaemonSet": ("", "updatedNumberScheduled", "numberReady", "numberAvailable"),
    "Deployment": ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    "ReplicaSet": ("replicas", "", "readyReplicas", "availableReplicas"),
    "StatefulSet": ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
}
_POINTS = 2000
_WORKLOADS = 200


class Workload:
    """One workload. `points`: (seconds, (desired, updated, ready, available) or None where it is gone)."""

    __slots__ = ("kind", "name", "points", "watched")

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        self.points: list[tuple[float, tuple[int | None, ...] | None]] = []
        self.watched = 0


class Replicas:
    """Collects what was seen of workloads. What it keeps is bounded."""

    def __init__(self) -> None:
        self._workloads: dict[tuple[str, str], Workload] = {}

    def event(self, t: float, kind: str, item: Object) -> None:
        """A watch event."""
        if kind in ("ADDED", "MODIFIED", "DELETED"):
            self._seen(t, item, gone=kind == "DELETED", watched=True)

    def body(self, t: float, data: bytes) -> None:
        """The body of an answer, if it holds one workload or a list of them."""
        if b'"apps/v1"' not in data:
            return
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return
        if not isinstance(found, dict):
            return
        kind = str(found.get("kind") or "").removesuffix("List")
        items = found.get("items")
        for item in items if isinstance(items, list) else [found]:
            if isinstance(item, dict):
                self._seen(t, {"kind": kind, **item})

    def _seen(self, t: float, item: Object, *, gone: bool = False, watched: bool = False) -> None:
        kind = str(item.get("kind") or "")
        if kind not in _COUNTS:
            return
        metadata = metadata_of(item)
        name = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}".removeprefix("/")
        workload = self._workloads.get((kind, name))
        if workload is None:
            if len(self._workloads) >= _WORKLOADS:
                return
            workload = self._workloads[kind, name] = Workload(kind, name)
        workload.watched += watched
        counts = None if gone else _counts(kind, item)
        if len(workload.points) < _POINTS and (not workload.points or workload.points[-1][1] != counts):
            workload.points.append((t, counts))

    @property
    def watched(self) -> list[Workload]:
        """The workloads of which watch events told, those with most changes first."""
        return sorted((one for one in self._workloads.values() if one.watched), key=lambda one: -len(one.points))


def _counts(kind: str, item: Object) -> tuple[int | None, ...]:
    spec, status = _mapping(item.get("spec")), _mapping(item.get("status"))
    desired, *others = _COUNTS[kind]
    wanted = spec.get(desired, 1) if desired else status.get("desiredNumberScheduled", 0)
    return (_whole(wanted), *(_whole(status.get(name, 0)) if name else None for name in others))


def _mapping(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000_000
    return value if whole else None  # type: ignore[return-value]
