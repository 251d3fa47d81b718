"""Pods (and claims, and ReplicaSets) that cannot be created, and why the API server refuses them. Pure.

Codes: those of `refusals` (QuotaExceeded, QuotaNeedsResources, LimitRange, WebhookDenied, WebhookFailed, PolicyDenied,
PodSecurity, ServiceAccountMissing, PriorityClassMissing, RuntimeClassMissing, NamespaceTerminating, InvalidPod) and
FailedCreate for everything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rawkube._typing import NamedTuple
from rawkube.rollout.explain import refusals
from rawkube.rollout.explain.fields import number, raw, text
from rawkube.rollout.explain.finding import Evidence, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import Event, View, ref_of

_BY_EVENTS = ("StatefulSet", "DaemonSet", "Job")
"""Kinds whose status has no word for it; that of a ReplicaSet, and so of a Deployment, has ReplicaFailure."""

# In the words of the controllers.
_PREFIX = re.compile(r"(?:\(combined from similar events\): )?(?:Error creating: )?")
_OF_STATEFUL_SET = re.compile(
    r"create (?P<kind>Pod|Claim) (?P<name>\S+) (?:for Pod \S+ )?in StatefulSet \S+ failed error: (?P<why>.*)", re.DOTALL
)


class _Refused(NamedTuple):
    what: str  # cannot be created
    message: str
    evidence: tuple[Evidence, ...]
    since: str


def findings(view: View) -> Iterator[Finding]:
    """At most one: the API server's last refusal, if it still stands."""
    refused = _by_events(view) if view.kind in _BY_EVENTS else _by_conditions(view)
    if refused is None:
        return
    refusal = refusals.read(_PREFIX.sub("", refused.message, count=1))
    yield Finding(
        refusal.code,
        f"{refused.what} cannot be created: {refusal.text}",
        view.ref,
        evidence=refused.evidence,
        resolves=refusal.resolves,
        advice=refusal.advice,
        since=refused.since,
    )


def _by_conditions(view: View) -> _Refused | None:
    # The Deployment's condition is that of any of its ReplicaSets, so the newest one's own is asked if it is there.
    about = view.newest if view.newest is not None else view.workload
    failure = view.condition("ReplicaFailure", about)
    if raw(failure, "status") == "True" and raw(failure, "reason") == "FailedCreate":
        return _of_condition(view, about, failure, "ReplicaFailure", "a Pod")
    return _of_progressing(view)


def _of_progressing(view: View) -> _Refused | None:
    """A Deployment whose controller could not create the ReplicaSet."""
    progressing = view.condition("Progressing")
    if progressing is None or raw(progressing, "reason") != "ReplicaSetCreateError":
        return None
    return _of_condition(view, view.workload, progressing, "Progressing", "the ReplicaSet of the new revision")


def _of_condition(view: View, about: Object, condition: Object | None, type_: str, what: str) -> _Refused:
    since = text(condition, "lastTransitionTime")
    field = Evidence(f"{ref_of(about)}: status.conditions[{type_}]", text(condition, "message"), since)
    events = [event for event in view.events(about) if event.reason == "FailedCreate"]
    return _Refused(what, raw(condition, "message"), (field, *map(_evidence, events[-1:])), since)


def _evidence(event: Event) -> Evidence:
    return Evidence(f"event {event.reason}", event.message, event.time)


def _by_events(view: View) -> _Refused | None:
    """The last refusal that no success followed."""
    last: Event | None = None
    first = ""
    for event in view.events(view.workload):
        if event.reason == "FailedCreate":
            last, first = event, first or event.first
        elif event.reason == "SuccessfulCreate" and last is not None and event.time > last.time:
            last, first = None, ""
    if last is None or _has_all(view):
        return None
    found = _OF_STATEFUL_SET.search(last.message)
    what = "a Pod" if found is None else f"the {'PersistentVolumeClaim' if found['kind'] == 'Claim' else 'Pod'} "
    if found is not None:
        what += found["name"]
    return _Refused(what, found["why"] if found else last.message, (_evidence(last),), first)


def _has_all(view: View) -> bool:
    """Whether there are as many Pods as there should be: then a refusal is a thing of the past."""
    status = view.workload
    if view.kind == "DaemonSet":
        wanted = number(status, "status", "desiredNumberScheduled")
        return view.is_observed and number(status, "status", "currentNumberScheduled") >= wanted
    if view.kind == "StatefulSet":
        return number(status, "status", "replicas") >= number(status, "spec", "replicas", default=1)
    parallel = number(status, "spec", "parallelism", default=1)
    left = number(status, "spec", "completions", default=parallel) - number(status, "status", "succeeded")
    return number(status, "status", "active") >= min(parallel, left)
