"""Any resource, by the conventions for conditions: is it done? Pure.

These are the conventions of kstatus (sigs.k8s.io/cli-utils): `observedGeneration` says what the controller has seen;
Reconciling=True that it is at work; Stalled=True that it cannot go on; Ready (here also Available) that it is done.
Where kstatus takes a resource without any of these for done, this takes it for one that cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence

from rawkube.api.expected import ConditionIs, FieldIs, is_outdated
from rawkube.errors import RolloutFailed
from rawkube.gotext import go_quote, one_line
from rawkube.rollout.reading import Object, at, because, condition, integer, is_observed, is_true, name_of, text
from rawkube.rollout.status import Progress, UnsupportedKind, unsupported_kind

# The API server's own groups: what has no status there will never have one.
_OWN = frozenset(
    (
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    )
)
_ADVICE = "its status has no observedGeneration, and no condition Ready, Reconciling or Stalled; "
_ADVICE += "--condition or --field can say when it is done"


def by_convention(obj: Object, wanted: Sequence[ConditionIs | FieldIs] = ()) -> Progress:
    """Where a resource is. `wanted`: what makes it done, in place of Ready.

    Raises RolloutFailed for Stalled=True; UnsupportedKind where its status follows no convention and nothing else
    is wanted; what the wanted conditions and fields raise.
    """
    kind = one_line(str(obj.get("kind") or "")).lower()
    what = f"{kind} {go_quote(name_of(obj))}"
    if text(obj, "metadata.deletionTimestamp"):
        return Progress(f"Waiting for {what} to be ready: it is being deleted...", False)
    if not is_observed(obj):
        return Progress(f"Waiting for {kind} spec update to be observed...", False)
    stalled, reconciling = _current(obj, "Stalled"), _current(obj, "Reconciling")
    if stalled is not None and is_true(stalled):
        raise RolloutFailed(f"{what} is stalled{_colon(because(stalled))}")
    if wanted:
        return _wanted(obj, what, wanted)
    if reconciling is not None and is_true(reconciling):
        return _waiting(what, because(reconciling) or "its controller is at work")
    return _ready(obj, what)


def _current(obj: Object, kind: str) -> Object | None:
    """The condition, unless it is one of an earlier generation."""
    found = condition(obj, kind)
    return None if found is None or is_outdated(obj, found) else found


def _waiting(what: str, why: str) -> Progress:
    return Progress(f"Waiting for {what} to be ready: {why}...", False)


def _ready(obj: Object, what: str) -> Progress:
    kind = "Ready" if condition(obj, "Ready") is not None else "Available"
    found = condition(obj, kind)
    if found is not None and is_outdated(obj, found):
        return _waiting(what, f"{kind} is of an earlier generation")
    if found is not None and is_true(found):
        return Progress(f"{what} is {kind.lower()}", True)
    if found is not None:
        return _waiting(what, because(found) or f"{kind} is {one_line(text(found, 'status')) or 'not said'}")
    observed = integer(obj, "status.observedGeneration")
    if observed is not None:
        return Progress(f"{what} is current: its controller is done with generation {observed}", True)
    return _unknown(obj, what)


def _unknown(obj: Object, what: str) -> Progress:
    """Nothing is told: not yet, or never."""
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    if group not in _OWN and not _has_status(obj):
        return _waiting(what, "it has no status yet")
    if condition(obj, "Reconciling") is not None or condition(obj, "Stalled") is not None:
        return Progress(f"{what} is current: it is neither reconciling nor stalled", True)
    problem = unsupported_kind(group, str(obj.get("kind") or ""))
    raise UnsupportedKind(problem, detail=[f"{what} cannot be followed: {_ADVICE}"])


def _has_status(obj: Object) -> bool:
    status = at(obj, "status")
    return isinstance(status, dict) and any(status.values())


def _wanted(obj: Object, what: str, wanted: Sequence[ConditionIs | FieldIs]) -> Progress:
    for one in wanted:
        if not one.met(obj):
            return Progress(f"Waiting for {what} to be ready: {missing(obj, one)}...", False)
    return Progress(f"{what} is ready: {', '.join(one_line(str(one)) for one in wanted)}", True)


def missing(obj: Object, one: ConditionIs | FieldIs) -> str:
    """What stands in place of what is wanted: `condition Synced=true is not met: False (NoAccess)`."""
    told = ""
    if isinstance(one, ConditionIs) and (found := condition(obj, one.type)) is not None:
        status, why = one_line(text(found, "status")), because(found)
        told = "of an earlier generation" if is_outdated(obj, found) else f"{status}, {why}" if why else status
    return f"{one_line(str(one))} is not met{_colon(told)}"


def _colon(why: str) -> str:
    return f": {why}" if why else ""
