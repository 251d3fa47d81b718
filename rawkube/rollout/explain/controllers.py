"""What a workload's controller waits for: a person, its own settings, another Pod. Pure.

Codes: NotObserved, Paused, ScaledToZero, OnDelete, Partition, MinReadySeconds, SurgeNeedsRoom, UpdateBudgetUsed.
What only follows from another cause (a Pod that is not ready) is told as WAITS: whether that resolves, its own finding
says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from rawkube.errors import RolloutFailed
from rawkube.rollout.explain.fields import Value, at, flag, items, number, raw, text
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.scheduling import is_unschedulable
from rawkube.rollout.explain.view import View, condition, epoch, is_terminating, ref_of
from rawkube.rollout.explain.words import agreed, counted, kubectl, listed, moment, span
from rawkube.rollout.status import evaluate

_PATIENCE = 10.0  # seconds in which a controller usually has seen a change
_WITH_STRATEGY = ("StatefulSet", "DaemonSet")


def findings(view: View) -> Iterator[Finding]:
    """What keeps the controller of a workload from going on."""
    if not is_complete(view):
        for find in (_not_observed, _paused, _no_replicas, _min_ready, _surge, _budget):
            yield from find(view)
    yield from _on_delete(view)
    yield from _partition(view)


def is_complete(view: View) -> bool:
    """Whether kubectl would call the rollout done. False for kinds that it does not know."""
    try:
        return evaluate(view.workload).done
    except RolloutFailed:
        return False


def _not_observed(view: View) -> Iterator[Finding]:
    if view.is_observed:
        return
    changed = max(_spec_changes(view.workload), default="")
    age = view.seconds_since(changed)
    if age is not None and age < _PATIENCE:
        return
    generation = number(view.workload, "metadata", "generation")
    observed = number(view.workload, "status", "observedGeneration")
    yield view.finding(
        "NotObserved",
        f"its controller has not seen the present spec (generation {generation}; it has seen {observed})",
        "status.observedGeneration",
        str(observed),
        time=changed,
        resolves=MAYBE,
        advice="check that the kube-controller-manager runs",
        since=changed,
    )


def _spec_changes(workload: Object) -> Iterator[str]:
    """When something other than the status was changed, as far as that is told: `managedFields` may be left out."""
    if number(workload, "metadata", "generation") == 1:
        yield text(workload, "metadata", "creationTimestamp")
    for entry in items(workload, "metadata", "managedFields"):
        if not raw(entry, "subresource"):
            yield text(entry, "time")


def _paused(view: View) -> Iterator[Finding]:
    if view.kind != "Deployment" or not flag(view.workload, "spec", "paused"):
        return
    progressing = view.condition("Progressing")
    yield view.finding(
        "Paused",
        "the rollout is paused",
        "spec.paused",
        "true",
        resolves=NEVER,
        advice=kubectl(f"rollout resume {view.ref}", view.namespace),
        since=text(progressing, "lastTransitionTime") if raw(progressing, "reason") == "DeploymentPaused" else "",
    )


def _no_replicas(view: View) -> Iterator[Finding]:
    if view.kind not in ("Deployment", "StatefulSet", "ReplicaSet"):
        return
    # While the last Pods leave, it is them that are waited for.
    if number(view.workload, "spec", "replicas", default=1) == 0 and number(view.workload, "status", "replicas") == 0:
        yield view.finding(
            "ScaledToZero",
            "no Pod is wanted: spec.replicas is 0",
            "spec.replicas",
            "0",
            resolves=NEVER,
            advice=kubectl(f"scale {view.ref} --replicas=N", view.namespace),
        )


def _min_ready(view: View) -> Iterator[Finding]:
    seconds = number(view.workload, "spec", "minReadySeconds")
    waiting = [(pod, until) for pod in view.new_pods if (until := _available_at(pod, seconds)) > view.now]
    if seconds <= 0 or not waiting:
        return
    last = max(until for _, until in waiting)
    since = [text(condition(pod, "Ready"), "lastTransitionTime") for pod, _ in waiting]
    count = len(waiting)
    yield view.finding(
        "MinReadySeconds",
        f"{counted(count, 'ready Pod')} {agreed(count, 'counts|count')} as available only after minReadySeconds "
        f"({seconds}), at {view.clock(moment(last)) or 'no time'}: {span(last - view.now)} are left",
        "spec.minReadySeconds",
        str(seconds),
        resolves=WAITS,
        since=min(since),
        objects=tuple(ref_of(pod) for pod, _ in waiting),
        of=len(view.new_pods),
    )


def _available_at(pod: Object, seconds: int) -> float:
    """When a ready Pod becomes available, in seconds since 1970; 0 for one that is not ready or goes."""
    ready = condition(pod, "Ready")
    if raw(ready, "status") != "True" or is_terminating(pod):
        return 0.0
    since = epoch(raw(ready, "lastTransitionTime"))
    return 0.0 if since is None else since + seconds


# Waiting for a person.


def _on_delete(view: View) -> Iterator[Finding]:
    if view.kind not in _WITH_STRATEGY or raw(view.workload, "spec", "updateStrategy", "type") != "OnDelete":
        return
    names = _old_names(view)
    count = len(names) or _old_by_status(view)
    if count <= 0:
        return
    shown = f" ({listed(names)})" if names else ""
    yield view.finding(
        "OnDelete",
        f"{counted(count, 'Pod')} {agreed(count, 'stays|stay')} at the old revision until somebody deletes "
        f"{agreed(count, 'it|them')}{shown}: the update strategy is OnDelete",
        "spec.updateStrategy.type",
        "OnDelete",
        resolves=NEVER,
        advice="delete the old Pods, or set the update strategy to RollingUpdate",
    )


def _old_names(view: View) -> list[str]:
    return [text(pod, "metadata", "name") for pod in view.old_pods if not is_terminating(pod)]


def _old_by_status(view: View) -> int:
    """How many Pods are old, where the Pods themselves could not be seen."""
    status = at(view.workload, "status")
    if not view.is_observed or view.scene.pods:
        return 0
    if view.kind == "DaemonSet":
        return number(status, "desiredNumberScheduled") - number(status, "updatedNumberScheduled")
    return number(status, "replicas") - number(status, "updatedReplicas")


def _partition(view: View) -> Iterator[Finding]:
    partition = number(view.workload, "spec", "updateStrategy", "rollingUpdate", "partition")
    replicas = number(view.workload, "spec", "replicas", default=1)
    first = number(view.workload, "spec", "ordinals", "start")
    updated = number(view.workload, "status", "updatedReplicas")
    kept = min(partition, replicas) if view.kind == "StatefulSet" and view.is_observed else 0
    # As long as others are still to be updated, it is not the partition that is waited for.
    if kept <= 0 or not updated <= replicas - kept or not is_complete(view):
        return
    if raw(view.workload, "status", "updateRevision") == raw(view.workload, "status", "currentRevision"):
        return
    names = [f"{view.name}-{ordinal}" for ordinal in range(first, first + min(kept, 4))]
    rest = f" and {kept - 3} more" if kept > 4 else ""
    yield view.finding(
        "Partition",
        f"{', '.join(names[:3]) + rest if rest else listed(names, most=4)} "
        f"{agreed(kept, 'stays|stay')} at the old revision: the partition of the update is {partition}",
        "spec.updateStrategy.rollingUpdate.partition",
        str(partition),
        resolves=NEVER,
        advice="lower the partition to let the update go on",
    )


# Budgets of an update.


def _surge(view: View) -> Iterator[Finding]:
    """Old Pods hold the place that new ones need, and go only once those are available."""
    strategy = at(view.workload, "spec", "strategy")
    if view.kind != "Deployment" or raw(strategy, "type") not in ("RollingUpdate", ""):
        return
    replicas = number(view.workload, "spec", "replicas", default=1)
    unavailable = _resolved(at(strategy, "rollingUpdate", "maxUnavailable"), replicas)
    blocked = [pod for pod in view.new_pods if is_unschedulable(pod)]
    if unavailable != 0 or not blocked or not _old_names(view):
        return
    setting = at(strategy, "rollingUpdate", "maxUnavailable")
    yield view.finding(
        "SurgeNeedsRoom",
        f"the new Pods need room beside the old ones, which stay until new ones are available: maxUnavailable is "
        f"{setting}{'' if setting in (0, '0%') else f' of {replicas}, rounded down to 0'}",
        "spec.strategy.rollingUpdate.maxUnavailable",
        str(setting),
        resolves=MAYBE,
        advice="make room, or set maxUnavailable to 1 or more",
    )


def _budget(view: View) -> Iterator[Finding]:
    """A DaemonSet goes on only while fewer Pods than maxUnavailable are missing."""
    rolling = at(view.workload, "spec", "updateStrategy", "rollingUpdate")
    wanted = number(view.workload, "status", "desiredNumberScheduled")
    limit = _resolved(at(rolling, "maxUnavailable"), wanted, up=True)
    old = _old_names(view)
    waited = [pod for pod in view.new_pods if raw(condition(pod, "Ready"), "status") != "True"]
    if view.kind != "DaemonSet" or not limit or not old or len(waited) < limit:
        return
    yield view.finding(
        "UpdateBudgetUsed",
        f"{counted(len(old), 'old Pod')} {agreed(len(old), 'is|are')} not replaced while "
        f"{counted(len(waited), 'new Pod')} {agreed(len(waited), 'is|are')} not ready: maxUnavailable is "
        f"{at(rolling, 'maxUnavailable')}",
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
        str(limit),
        resolves=WAITS,
        advice="see why the new Pods are not ready",
        objects=_refs(waited),
    )


def _refs(pods: Sequence[Object]) -> tuple[str, ...]:
    return tuple(ref_of(pod) for pod in pods)


def _resolved(value: Value, whole: int, *, up: bool = False) -> int | None:
    """A number or a percentage of `whole` (`intstr.GetScaledValueFromIntOrPercent`), None for neither."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    digits = value[:-1] if isinstance(value, str) and value.endswith("%") else ""
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        return None
    share = Fraction(int(digits) * whole, 100)
    return -(-share.numerator // share.denominator) if up else share.numerator // share.denominator
