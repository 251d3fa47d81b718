"""Jobs, Pods, ReplicaSets and ReplicationControllers: are they done? Pure.

kubectl has no rollout status for these. What counts is what their controllers write: the conditions of a Job, phase
and conditions of a Pod, the counters of a ReplicaSet.
"""

from __future__ import annotations

from rawkube.api.expected import is_outdated
from rawkube.errors import RolloutFailed
from rawkube.gotext import go_quote, one_line
from rawkube.rollout.reading import Object, at, because, condition, count, integer, is_observed, is_true, name_of, text
from rawkube.rollout.status import Progress


def job(obj: Object) -> Progress:
    """Complete is done, Failed raises RolloutFailed."""
    what = f"job {go_quote(name_of(obj))}"
    failed = condition(obj, "Failed")
    if failed is not None and is_true(failed):
        raise RolloutFailed(f"{what} failed{_colon(because(failed))}")
    if is_true(condition(obj, "Complete")):
        return Progress(f"{what} is complete", True)
    waiting = f"Waiting for {what} to complete: "
    if at(obj, "spec.suspend") is True:
        return Progress(f"{waiting}it is suspended...", False)
    target = condition(obj, "FailureTarget")
    if target is not None and is_true(target):
        return Progress(f"{waiting}it is failing{_colon(because(target))}...", False)
    return Progress(f"{waiting}{_pods_of_job(obj)}...", False)


def _pods_of_job(obj: Object) -> str:
    succeeded, failed = count(obj, "status.succeeded"), count(obj, "status.failed")
    completions = integer(obj, "spec.completions")
    of = f" of {completions}" if completions is not None else ""
    told = f"{succeeded}{of} {_plural('pod', completions if completions is not None else succeeded)} "
    told += "has succeeded" if (completions or succeeded) == 1 else "have succeeded"
    if failed:
        told += f", {failed} {'has' if failed == 1 else 'have'} failed"
    return told


def pod(obj: Object) -> Progress:
    """Ready is done, and so is Succeeded; Failed raises RolloutFailed."""
    what, phase = f"pod {go_quote(name_of(obj))}", text(obj, "status.phase")
    if phase == "Failed":
        raise RolloutFailed(f"{what} failed{_colon(_why_failed(obj))}")
    if phase == "Succeeded":
        return Progress(f"{what} has succeeded", True)
    waiting = f"Waiting for {what} to be ready: "
    if text(obj, "metadata.deletionTimestamp"):
        return Progress(f"{waiting}it is being deleted...", False)
    ready = condition(obj, "Ready")
    if ready is not None and is_true(ready) and not is_outdated(obj, ready):
        return Progress(f"{what} is ready", True)
    scheduled = condition(obj, "PodScheduled")
    if not is_true(scheduled):
        return Progress(f"{waiting}it is not scheduled{_colon(because(scheduled or {}))}...", False)
    return Progress(f"{waiting}{_containers(obj, ready or {})}...", False)


def _containers(obj: Object, ready: Object) -> str:
    spec, statuses = at(obj, "spec.containers"), at(obj, "status.containerStatuses")
    of = len(spec) if isinstance(spec, list) else 0
    told = [one for one in statuses if at(one, "ready") is True] if isinstance(statuses, list) else []
    if of and len(told) == of:
        return f"its containers are{_colon(because(ready))}"
    return f"{len(told)} of {of} {_plural('container', of)} {'is' if of == 1 else 'are'} ready"


def _why_failed(obj: Object) -> str:
    told = because({"message": at(obj, "status.message"), "reason": at(obj, "status.reason")})
    statuses = at(obj, "status.containerStatuses")
    for one in statuses if isinstance(statuses, list) and not told else []:
        code = integer(one, "state.terminated.exitCode") if isinstance(one, dict) else None
        if code:
            return f"container {go_quote(text(one, 'name'))} ended with exit code {code}"
    return told


def replica_set(obj: Object) -> Progress:
    """All replicas that are wanted are available, and there are no others."""
    kind = "replica set" if obj.get("kind") == "ReplicaSet" else "replication controller"
    if not is_observed(obj) or integer(obj, "status.observedGeneration") is None:
        return Progress(f"Waiting for {kind} spec update to be observed...", False)
    what = f"{kind} {go_quote(name_of(obj))}"
    replicas, available = count(obj, "status.replicas"), count(obj, "status.availableReplicas")
    wanted = integer(obj, "spec.replicas")
    wanted = 1 if wanted is None else wanted  # the API server's default
    waiting = f"Waiting for {what} to be available: "
    failure = condition(obj, "ReplicaFailure")
    why = f" ({because(failure)})" if failure is not None and is_true(failure) else ""
    if replicas < wanted:
        return Progress(f"{waiting}{replicas} of {wanted} replicas have been created{why}...", False)
    if replicas > wanted:
        return Progress(f"{waiting}{replicas - wanted} replicas are pending termination{why}...", False)
    if available < wanted:
        return Progress(f"{waiting}{available} of {wanted} replicas are available{why}...", False)
    return Progress(f"{what} is available: {available} of {wanted} replicas", True)


def _plural(word: str, number: int) -> str:
    return word if number == 1 else word + "s"


def _colon(why: str) -> str:
    return f": {one_line(why)}" if why else ""
