"""Workloads of two projects that have status fields of their own. Pure.

Argo Rollouts (argoproj.io): `status.phase` and `status.message`, which its controller computes since 1.0, once it has
seen the spec (`utils/rollout`, GetRolloutPhase). OpenKruise (apps.kruise.io): the counters of CloneSet, Advanced
StatefulSet and Advanced DaemonSet.
"""

from __future__ import annotations

import re

from rawkube._typing import NamedTuple
from rawkube.errors import RolloutFailed
from rawkube.gotext import go_quote, one_line
from rawkube.rollout.reading import Object, at, because, count, integer, is_observed, name_of, text
from rawkube.rollout.status import Progress, WrongStrategy

ARGO, KRUISE = "argoproj.io", "apps.kruise.io"

_WORKLOAD_GENERATION = "rollout.argoproj.io/workload-generation"


def argo_rollout(obj: Object) -> Progress:
    """Healthy is done; Degraded and aborted raise RolloutFailed; Paused waits for a person or a clock."""
    what = f"rollout {go_quote(name_of(obj))}"
    if not _argo_observed(obj):
        return Progress("Waiting for rollout spec update to be observed...", False)
    waiting = f"Waiting for {what} to finish: "
    if at(obj, "status.controllerPause") is True and not at(obj, "status.pauseConditions"):
        return Progress(f"{waiting}it is about to go on after a pause...", False)
    phase = text(obj, "status.phase")
    message = because({"message": text(obj, "status.message")})
    if phase == "Degraded" or (phase != "Healthy" and at(obj, "status.abort") is True):
        raise RolloutFailed(f"{what} is {'degraded' if phase == 'Degraded' else 'aborted'}{_colon(message)}")
    if phase == "Healthy":
        return Progress(f"{what} successfully rolled out", True)
    if phase == "Paused":
        return Progress(f"{waiting}it is paused{_colon(message)}...", False)
    return Progress(f"{waiting}{message or one_line(phase) or 'its controller has not told where it is'}...", False)


def _argo_observed(obj: Object) -> bool:
    """The generations are strings; before 0.10 a hash stood there, which says nothing."""
    generation = integer(obj, "metadata.generation")
    if not at(obj, "status"):
        return False
    observed = _decimal(text(obj, "status.observedGeneration"))
    if generation is not None and observed is not None and observed < generation:
        return False
    annotations = at(obj, "metadata.annotations")
    wanted = _decimal(str(annotations.get(_WORKLOAD_GENERATION, ""))) if isinstance(annotations, dict) else None
    seen = _decimal(text(obj, "status.workloadObservedGeneration"))
    return wanted is None or seen is None or wanted == seen


def _decimal(word: str) -> int | None:
    return int(word) if re.fullmatch("[0-9]{1,18}", word) else None


class _Counters(NamedTuple):
    """How many Pods there are to be, how many of these of the new revision; how many there are, and of which sort."""

    wanted: int
    new: int
    replicas: int
    updated: int
    available: int


def clone_set(obj: Object) -> Progress:
    """All Pods that are to be of the new revision (all but `partition`) are, and all are available."""
    partition = at(obj, "spec.updateStrategy.partition")
    wanted = _replicas(obj)
    new = wanted - _kept(partition, wanted)
    told = integer(obj, "status.expectedUpdatedReplicas")
    counters = _Counters(
        wanted,
        told if isinstance(partition, str) and told is not None else new,
        count(obj, "status.replicas"),
        count(obj, "status.updatedReplicas"),
        count(obj, "status.availableReplicas"),
    )
    return _counted(obj, "clone set", counters, paused=at(obj, "spec.updateStrategy.paused") is True)


def stateful_set(obj: Object) -> Progress:
    """As clone_set()."""
    wanted = _replicas(obj)
    revisions = {text(obj, "status.currentRevision"), text(obj, "status.updateRevision")}
    is_one = len(revisions) == 1 and "" not in revisions
    new = wanted - _kept(at(obj, "spec.updateStrategy.rollingUpdate.partition"), wanted)
    counters = _Counters(
        wanted,
        0 if is_one else new,
        count(obj, "status.replicas"),
        count(obj, "status.updatedReplicas"),
        count(obj, "status.availableReplicas"),
    )
    paused = at(obj, "spec.updateStrategy.rollingUpdate.paused") is True
    return _counted(obj, "advanced stateful set", counters, paused=paused)


def daemon_set(obj: Object) -> Progress:
    """A Pod on each node that is to have one, all but `partition` of the new revision, all available."""
    wanted = count(obj, "status.desiredNumberScheduled")
    counters = _Counters(
        wanted,
        wanted - _kept(at(obj, "spec.updateStrategy.rollingUpdate.partition"), wanted),
        count(obj, "status.currentNumberScheduled"),
        count(obj, "status.updatedNumberScheduled"),
        count(obj, "status.numberAvailable"),
    )
    paused = at(obj, "spec.updateStrategy.rollingUpdate.paused") is True
    return _counted(obj, "advanced daemon set", counters, paused=paused)


def _counted(obj: Object, kind: str, has: _Counters, *, paused: bool) -> Progress:
    if text(obj, "spec.updateStrategy.type") == "OnDelete":
        raise WrongStrategy(f"the update strategy of {kind} {go_quote(name_of(obj))} is OnDelete: there is no rollout")
    if not is_observed(obj) or not integer(obj, "status.observedGeneration"):
        return Progress(f"Waiting for {kind} spec update to be observed...", False)
    what = f"{kind} {go_quote(name_of(obj))}"
    waiting, halt = f"Waiting for {what} rollout to finish: ", " (it is paused)" if paused else ""
    if has.updated < has.new:
        told = f"{has.updated} out of {has.new} new replicas have been updated{halt}"
    elif has.replicas > has.wanted:
        told = f"{has.replicas - has.wanted} old replicas are pending termination"
    elif has.available < has.wanted:
        told = f"{has.available} of {has.wanted} replicas are available"
    else:
        kept = f": {has.new} of {has.wanted} replicas, as its partition says" if 0 < has.new < has.wanted else ""
        return Progress(f"{what} successfully rolled out{kept}", True)
    return Progress(f"{waiting}{told}...", False)


def _replicas(obj: Object) -> int:
    wanted = integer(obj, "spec.replicas")
    return 1 if wanted is None else wanted


def _kept(partition: object, wanted: int) -> int:
    """How many Pods stay of the old revision: a number, or a percentage, which is rounded up."""
    if isinstance(partition, str) and (percent := _decimal(partition.removesuffix("%"))) is not None:
        return min(wanted, -(-wanted * percent // 100))
    number = partition if isinstance(partition, int) and not isinstance(partition, bool) else 0
    return max(0, min(wanted, number))


def _colon(why: str) -> str:
    return f": {why}" if why else ""
