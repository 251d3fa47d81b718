"""The patches of `rollout restart`, `pause`, `resume` and `undo`, byte for byte as kubectl (1.37) sends them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rawkube._typing import Any
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import RolloutFailed
from rawkube.rollout.history import without_hash
from rawkube.rollout.prefix_writer import LAST_APPLIED
from rawkube.rollout.status import REVISION_ANNOTATION
from rawkube.rollout.typed import to_go_json

Value = Any  # what JSON can hold

STRATEGIC_MERGE = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
NOTHING = b"{}"
"""A patch that changes nothing."""

_RESTARTED_KINDS = ("Deployment", "DaemonSet", "StatefulSet")
# What describes a Deployment as it is, not as one of its revisions was.
_STAYING = frozenset(
    (
        LAST_APPLIED,
        REVISION_ANNOTATION,
        "deployment.kubernetes.io/revision-history",
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
        "deprecated.deployment.rollback.to",
    )
)


def restart(workload: Object, now: str) -> bytes:
    """A new template whose annotation says when (`now`: RFC 3339). Raises RolloutFailed for what cannot restart."""
    if not _is_one_of(workload, _RESTARTED_KINDS):
        raise RolloutFailed("restarting is not supported")
    spec = workload["spec"]
    if spec.get("paused"):
        raise RolloutFailed("can't restart paused deployment (run rollout resume first)")
    if (metadata_of(spec["template"]).get("annotations") or {}).get(RESTARTED_AT) == now:
        return NOTHING
    annotations = {"metadata": {"annotations": {RESTARTED_AT: now}}}
    return to_go_json({"spec": {"template": annotations}}).encode()


def pause(workload: Object) -> bytes:
    """Raises RolloutFailed for what cannot be paused, or is."""
    if not _is_one_of(workload, ("Deployment",)):
        raise RolloutFailed("pausing is not supported")
    if workload["spec"].get("paused"):
        raise RolloutFailed("is already paused")
    return b'{"spec":{"paused":true}}'


def resume(workload: Object) -> bytes:
    """Raises RolloutFailed for what cannot be resumed, or runs."""
    if not _is_one_of(workload, ("Deployment",)):
        raise RolloutFailed("resuming is not supported")
    if not workload["spec"].get("paused"):
        raise RolloutFailed("is not paused")
    return b'{"spec":{"paused":null}}'


def _is_one_of(workload: Object, kinds: Sequence[str]) -> bool:
    return str(workload.get("apiVersion") or "").startswith("apps/") and workload.get("kind") in kinds


def undo_deployment(deployment: Object, replica_set: Object) -> bytes:
    """The template and the annotations of a ReplicaSet (typed) for its Deployment."""
    kept = _annotations(deployment)
    annotations = {key: kept[key] for key in _STAYING if key in kept}
    annotations |= {key: value for key, value in _annotations(replica_set).items() if key not in _STAYING}
    return to_go_json(
        [
            _replace("/spec/template", without_hash(replica_set["spec"]["template"])),
            _replace("/metadata/annotations", {key: annotations[key] for key in sorted(annotations)}),
        ]
    ).encode()


def _annotations(thing: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = metadata_of(thing).get("annotations") or {}
    return found


def _replace(path: str, value: Value) -> Object:
    return {"op": "replace", "path": path, "value": value}


def undo_from(data: Value) -> bytes:
    """The patch that a ControllerRevision holds (`data`), as the server wrote it."""
    return to_go_json(data).encode()


def restore_patch(workload: Object) -> bytes:
    """The patch that a controller would keep of a DaemonSet or StatefulSet (typed) as it is now."""
    template = {**workload["spec"]["template"], "$patch": "replace"}
    return to_go_json(_sorted({"spec": {"template": template}})).encode()


def _sorted(value: Value) -> Value:
    """Go writes the keys of a map in the order of their bytes."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def restart_time(moment: Sequence[int], offset: int) -> str:
    """RFC 3339 as Go prints local time. `moment`: year, month, day, hour, minute, second; `offset`: seconds east."""
    year, month, day, hour, minute, second = moment[:6]
    minutes = abs(offset) // 60
    zone = f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}" if offset else "Z"
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"
