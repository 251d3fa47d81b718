"""Is this workload's rollout done? One object in, kubectl's line and a yes or no out. Pure.

The rows below, their order and their texts are those of kubectl 1.37 (k8s.io/kubectl, `polymorphichelpers`),
unchanged since 1.20: the first that fits, wins. Nothing in a status counts before the controller has seen the
spec (`observedGeneration`), except the revision of a Deployment, which is an annotation. Absent counters are
0; an absent `spec.replicas` is no number at all, so the rows that compare with it do not apply.
"""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.errors import RolloutFailed
from rawkube.gotext import go_quote, int64


class Progress(NamedTuple):
    """Where a rollout is: kubectl's line (without a line feed), and whether that is its end."""

    message: str
    done: bool


class UnsupportedKind(RolloutFailed):
    """Nothing is known about rollouts of this kind."""


class NotConvertible(RolloutFailed):
    """A field of the object has a type that the API does not have there."""


class WrongStrategy(RolloutFailed):
    """The update strategy of a DaemonSet or StatefulSet is not RollingUpdate: nothing to wait for."""


class RevisionMismatch(RolloutFailed):
    """The running revision is not the one that `--revision` asks for, or cannot be read."""


class ProgressDeadlineExceeded(RolloutFailed):
    """The Deployment made no progress for `spec.progressDeadlineSeconds`."""


REVISION_ANNOTATION = "deployment.kubernetes.io/revision"

_ROLLING_UPDATE_ONLY = "rollout status is only available for RollingUpdate strategy type"


def evaluate(obj: Mapping[str, Any], *, revision: int = 0) -> Progress:
    """Where the rollout of a Deployment, DaemonSet or StatefulSet is.

    `revision`: the revision of a Deployment that must be the running one; 0 is any. Raises RolloutFailed, as
    one of the types above, when the rollout cannot finish or cannot be told. The name is quoted as in
    Go; the revision of a StatefulSet stands in the message as the server sent it.
    """
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    kind = str(obj.get("kind") or "")
    if problem := unsupported_kind(group, kind):
        raise UnsupportedKind(problem)
    fields = _Fields(obj, kind)
    if kind == "Deployment":
        return _deployment(fields, revision)
    return _daemon_set(fields) if kind == "DaemonSet" else _stateful_set(fields)


def viewer_kind(group: str, kind: str) -> bool:
    """Whether `evaluate` knows rollouts of this kind (`extensions`: where old servers had two of them)."""
    return (group, kind) in _VIEWERS


_VIEWERS = frozenset(
    (
        ("apps", "Deployment"),
        ("extensions", "Deployment"),
        ("apps", "DaemonSet"),
        ("extensions", "DaemonSet"),
        ("apps", "StatefulSet"),
    )
)


def unsupported_kind(group: str, kind: str) -> str:
    """kubectl's text for a kind without rollouts, empty for one with."""
    if viewer_kind(group, kind):
        return ""
    return f"no status viewer has been implemented for {f'{kind}.{group}' if group else kind}"


def _deployment(fields: _Fields, revision: int) -> Progress:
    name, generation = fields.text("metadata.name"), fields.int64("metadata.generation")
    running = fields.strings("metadata.annotations").get(REVISION_ANNOTATION)
    wanted = fields.int32_or_none("spec.replicas")
    observed = fields.int64("status.observedGeneration")
    replicas = fields.int32("status.replicas")
    updated = fields.int32("status.updatedReplicas")
    available = fields.int32("status.availableReplicas")
    reason = fields.reason_of("status.conditions", "Progressing")

    if revision > 0:
        _check_revision(name, revision, running)
    if generation > observed:
        return Progress("Waiting for deployment spec update to be observed...", False)
    if reason == "ProgressDeadlineExceeded":
        raise ProgressDeadlineExceeded(f"deployment {go_quote(name)} exceeded its progress deadline")
    waiting = f"Waiting for deployment {go_quote(name)} rollout to finish: "
    if wanted is not None and updated < wanted:
        return Progress(f"{waiting}{updated} out of {wanted} new replicas have been updated...", False)
    if replicas > updated:
        return Progress(f"{waiting}{replicas - updated} old replicas are pending termination...", False)
    if available < updated:
        return Progress(f"{waiting}{available} of {updated} updated replicas are available...", False)
    return Progress(f"deployment {go_quote(name)} successfully rolled out", True)


def _check_revision(name: str, desired: int, annotation: str | None) -> None:
    try:
        running = 0 if annotation is None else int64(annotation)
    except ValueError as error:
        raise RevisionMismatch(f"cannot get the revision of deployment {go_quote(name)}: {error}") from None
    if running != desired:
        raise RevisionMismatch(f"desired revision ({desired}) is different from the running revision ({running})")


def _daemon_set(fields: _Fields) -> Progress:
    name, generation = fields.text("metadata.name"), fields.int64("metadata.generation")
    strategy = fields.text("spec.updateStrategy.type", "v1.DaemonSetUpdateStrategyType")
    desired = fields.int32("status.desiredNumberScheduled")
    observed = fields.int64("status.observedGeneration")
    updated = fields.int32("status.updatedNumberScheduled")
    available = fields.int32("status.numberAvailable")

    if strategy != "RollingUpdate":
        raise WrongStrategy(_ROLLING_UPDATE_ONLY)
    if generation > observed:
        return Progress("Waiting for daemon set spec update to be observed...", False)
    waiting = f"Waiting for daemon set {go_quote(name)} rollout to finish: "
    if updated < desired:
        return Progress(f"{waiting}{updated} out of {desired} new pods have been updated...", False)
    if available < desired:
        return Progress(f"{waiting}{available} of {desired} updated pods are available...", False)
    return Progress(f"daemon set {go_quote(name)} successfully rolled out", True)


def _stateful_set(fields: _Fields) -> Progress:
    generation = fields.int64("metadata.generation")
    wanted = fields.int32_or_none("spec.replicas")
    strategy = fields.text("spec.updateStrategy.type", "v1.StatefulSetUpdateStrategyType")
    rolling = fields.struct("spec.updateStrategy.rollingUpdate") is not None
    partition = fields.int32_or_none("spec.updateStrategy.rollingUpdate.partition")
    observed = fields.int64("status.observedGeneration")
    ready = fields.int32("status.readyReplicas")
    current = fields.int32("status.currentReplicas")
    updated = fields.int32("status.updatedReplicas")
    current_revision = fields.text("status.currentRevision")
    update_revision = fields.text("status.updateRevision")

    if strategy != "RollingUpdate":
        raise WrongStrategy(_ROLLING_UPDATE_ONLY)
    if observed == 0 or generation > observed:
        return Progress("Waiting for statefulset spec update to be observed...", False)
    if wanted is not None and ready < wanted:
        return Progress(f"Waiting for {wanted - ready} pods to be ready...", False)
    if rolling:
        if wanted is not None and partition is not None and updated < wanted - partition:
            return Progress(
                "Waiting for partitioned roll out to finish: "
                f"{updated} out of {wanted - partition} new pods have been updated...",
                False,
            )
        return Progress(f"partitioned roll out complete: {updated} new pods have been updated...", True)
    if update_revision != current_revision:
        return Progress(
            f"waiting for statefulset rolling update to complete {updated} pods at revision {update_revision}...",
            False,
        )
    return Progress(f"statefulset rolling update complete {current} pods at revision {current_revision}...", True)


class _Fields:
    """The fields of an object by path, with the types that the API gives them; absent and null are zero.

    A wrong type is an error with the text of apimachinery's `DefaultUnstructuredConverter`, as kubectl prints
    it. It converts whole objects; here only the fields that are read are looked at. A number that does not
    fit its type is an error too (Go would wrap it).
    """

    def __init__(self, obj: Mapping[str, Any], kind: str) -> None:
        self._obj = obj
        self._into = f"*v1.{kind}"

    def _fail(self, why: str) -> NotConvertible:
        return NotConvertible(f"failed to convert *unstructured.Unstructured to {self._into}: {why}")

    def _at(self, path: str) -> object:
        *parents, last = path.split(".")
        value: Mapping[str, object] = self._obj
        for key in parents:
            value = self._as_struct(value.get(key)) or {}
        return value.get(last)

    def _as_struct(self, value: object) -> Mapping[str, object] | None:
        if value is None or isinstance(value, dict):
            return value
        raise self._fail(f"cannot restore struct from: {_go_kind(value)}")

    def struct(self, path: str) -> Mapping[str, object] | None:
        return self._as_struct(self._at(path))

    def text(self, path: str, go_type: str = "string") -> str:
        return self._as_text(self._at(path), go_type)

    def _as_text(self, value: object, go_type: str = "string") -> str:
        if value is None or isinstance(value, str):
            return value or ""
        kind = _go_kind(value)
        raise self._fail(f"cannot convert int64 to {go_type}" if kind == "int64" else "unrecognized type: string")

    def int64(self, path: str) -> int:
        return self._as_int(self._at(path), 64) or 0

    def int32(self, path: str) -> int:
        return self._as_int(self._at(path), 32) or 0

    def int32_or_none(self, path: str) -> int | None:
        return self._as_int(self._at(path), 32)

    def _as_int(self, value: object, bits: int) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._fail(f"unrecognized type: int{bits}")
        # 3.0 is 3, as in Go; 1.5, infinity and what does not fit are nothing.
        limit = 2 ** (bits - 1)
        if not -limit <= value < limit or value != int(value):
            raise self._fail(f"cannot convert {_go_kind(value)} to int{bits}")
        return int(value)

    def strings(self, path: str) -> dict[str, str]:
        value = self._at(path)
        if value is not None and not isinstance(value, dict):
            raise self._fail(f"cannot restore map from {_go_kind(value)}")
        return {key: self._as_text(text) for key, text in (value or {}).items()}

    def reason_of(self, path: str, condition_type: str) -> str:
        """The reason of the first condition of that type, empty if there is none."""
        value = self._at(path)
        if value is not None and not isinstance(value, list):
            raise self._fail(f"cannot restore slice from {_go_kind(value)}")
        found = ""
        seen = False
        for item in value or []:
            condition = self._as_struct(item) or {}
            name = self._as_text(condition.get("type"), "v1.DeploymentConditionType")
            reason = self._as_text(condition.get("reason"))
            if name == condition_type and not seen:
                found, seen = reason, True
        return found


def _go_kind(value: object) -> str:
    """The Go kind of a value as decoded from JSON."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64" if -(2**63) <= value < 2**63 else "float64"
    kinds = ((float, "float64"), (str, "string"), (list, "slice"), (dict, "map"))
    return next((name for type_, name in kinds if isinstance(value, type_)), "interface")
