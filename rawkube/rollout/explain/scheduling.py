"""Pods that have no node: what the scheduler says, gates, and names of nodes. Pure.

Codes: Unschedulable, VolumeNodeConflict, SchedulerFailed, SchedulingGated, Preempting, NotScheduled, NodeNameWaits;
those of the Pods' claims are in `claims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rawkube._typing import Any
from rawkube.rollout.explain import claims
from rawkube.rollout.explain.fields import clip, items, mapping, raw, text
from rawkube.rollout.explain.finding import MAYBE, WAITS, Evidence, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.scheduler_message import (
    AFFINITY,
    VOLUME_CONFLICT,
    Verdict,
    in_words,
    in_words_for,
    read,
)
from rawkube.rollout.explain.view import View, condition, is_terminating, name_of, ref_of
from rawkube.rollout.explain.words import kubectl, listed

_PATIENCE = 10.0  # seconds in which a scheduler or a kubelet usually has looked at a Pod
_LONGEST = 200
_AUTOSCALER = ("NotTriggerScaleUp", "TriggeredScaleUp", "FailedScaleUp")


def findings(view: View) -> Iterator[Finding]:
    """One for each Pod of the new revision that has no node yet, and for each claim that keeps it from one."""
    for pod in view.new_pods:
        if raw(pod, "status", "phase") in ("", "Pending") and not is_terminating(pod):
            yield from _of_pod(view, pod)


def is_unschedulable(pod: Object) -> bool:
    """Whether the scheduler has looked for a node and found none."""
    return raw(condition(pod, "PodScheduled"), "reason") == "Unschedulable" and not raw(pod, "spec", "nodeName")


def _of_pod(view: View, pod: Object) -> Iterator[Finding]:
    if raw(pod, "spec", "nodeName"):
        yield from _named_node(view, pod)
        return
    scheduled = condition(pod, "PodScheduled")
    if raw(scheduled, "reason") == "SchedulingGated":
        yield _gated(pod, scheduled)
    elif raw(scheduled, "status") != "False":
        yield from _not_looked_at(view, pod)
    elif raw(pod, "status", "nominatedNodeName"):
        yield _preempting(pod, scheduled)
    else:
        yield from _refused(view, pod, scheduled)


def _refused(view: View, pod: Object, scheduled: Object | None) -> Iterator[Finding]:
    message = raw(scheduled, "message")
    of_claims = list(claims.of_pod(view, pod, message))
    yield from of_claims
    verdict = read(message)
    if of_claims and (verdict is None or not verdict.reasons):
        return
    evidence = (_evidence(pod, scheduled), *_scaling(view, pod))
    since = text(scheduled, "lastTransitionTime")
    if verdict is None:
        is_failure = raw(scheduled, "reason") == "SchedulerError"
        code, words = ("SchedulerFailed", "the scheduler failed") if is_failure else ("Unschedulable", "no node fits")
        said = f"{words}: {text(scheduled, 'message') or 'the scheduler gives no reason'}"
        yield Finding(code, said, ref_of(pod), evidence=evidence, advice=_look(pod), since=since)
        return
    code = "VolumeNodeConflict" if verdict.names(VOLUME_CONFLICT) else "Unschedulable"
    said, advice = _said(pod, verdict), _advice(pod, verdict)
    yield Finding(code, said, ref_of(pod), evidence=evidence, advice=advice, since=since)


def _said(pod: Object, verdict: Verdict) -> str:
    node = _only_node(pod)
    words = in_words_for(node, verdict) if node else in_words(verdict, where=_where(pod))
    asked = [f"{amount} {what}" for what in verdict.short_of if (amount := _asked(pod, what))]
    return f"{words}; the Pod asks for {listed(asked)}" if asked else words


def _advice(pod: Object, verdict: Verdict) -> str:
    if verdict.names(VOLUME_CONFLICT):
        return "let the Pod run where its volume is, or move the volume"
    if verdict.short_of:
        return "lower the requests of the Pod, or add a node that has as much"
    if verdict.has_taints:
        return "add a toleration to the Pod template, or remove the taint (kubectl taint node NODE KEY-)"
    if verdict.names(AFFINITY):
        return "change the node selector or affinity, or label a node accordingly"
    return _look(pod)


def _look(pod: Object) -> str:
    command = kubectl(f"describe pod {name_of(pod)}", text(pod, "metadata", "namespace"))
    return f"see {command}"


def _evidence(pod: Object, scheduled: Object | None) -> Evidence:
    time = text(scheduled, "lastTransitionTime")
    return Evidence(f"{ref_of(pod)}: status.conditions[PodScheduled]", text(scheduled, "message"), time)


def _scaling(view: View, pod: Object) -> Iterator[Evidence]:
    """The last word of a cluster autoscaler."""
    said = [event for event in view.events(pod) if event.reason in _AUTOSCALER]
    return (Evidence(f"event {event.reason}", event.message, event.time) for event in said[-1:])


def _asked(pod: Object, resource: str) -> str:
    """What the Pod requests of a resource, as its spec says it: `500m + 1`; empty for nothing that is one."""
    whole = text(pod, "spec", "resources", "requests", resource)
    each = [text(one, "resources", "requests", resource) for one in items(pod, "spec", "containers")]
    return clip(whole or " + ".join(amount for amount in each if amount), _LONGEST)


# What a Pod asks of its node.


def _only_node(pod: Object) -> str:
    """The node that a Pod's affinity names, as the DaemonSet controller writes it; empty for none."""
    terms = _affinity(pod)
    fields = items(terms[0], "matchFields") if len(terms) == 1 else []
    if len(fields) != 1 or raw(fields[0], "key") != "metadata.name" or raw(fields[0], "operator") != "In":
        return ""
    names = fields[0].get("values")
    return clip(names[0]) if isinstance(names, list) and len(names) == 1 and isinstance(names[0], str) else ""


def _affinity(pod: Object) -> list[Mapping[str, Any]]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return items(pod, "spec", "affinity", "nodeAffinity", required, "nodeSelectorTerms")


def _where(pod: Object) -> str:
    """Node selector and required affinity: `the node selector disk=ssd and the affinity zone in (a, b)`."""
    selector = mapping(pod, "spec", "nodeSelector")
    pairs = ",".join(f"{key}={value}" for key, value in selector.items() if isinstance(value, str))
    terms = [words for term in _affinity(pod) if (words := _term(term))]
    told = [f"the node selector {clip(pairs, _LONGEST)}"] if pairs else []
    told += [f"the node affinity {clip(' or '.join(terms), _LONGEST)}"] if terms else []
    return listed(told)


def _term(term: Mapping[str, Any]) -> str:
    expressions = [*items(term, "matchExpressions"), *items(term, "matchFields")]
    return ",".join(_expression(one) for one in expressions)


def _expression(one: Mapping[str, Any]) -> str:
    key, operator, values = raw(one, "key"), raw(one, "operator"), one.get("values")
    if operator in ("Exists", "DoesNotExist"):
        return key if operator == "Exists" else f"!{key}"
    shown = ", ".join(str(value) for value in values) if isinstance(values, list) else ""
    return f"{key} {operator.lower()} ({shown})"


# Pods that no scheduler has refused.


def _gated(pod: Object, scheduled: Object | None) -> Finding:
    gates = [text(gate, "name") for gate in items(pod, "spec", "schedulingGates")]
    names = f" by {listed(gates)}" if gates else ""
    return Finding(
        "SchedulingGated",
        f"scheduling is held back{names} (spec.schedulingGates)",
        ref_of(pod),
        evidence=(_evidence(pod, scheduled),),
        advice="whoever set the gate has to remove it",
        since=text(scheduled, "lastTransitionTime") or text(pod, "metadata", "creationTimestamp"),
    )


def _preempting(pod: Object, scheduled: Object | None) -> Finding:
    node = text(pod, "status", "nominatedNodeName")
    return Finding(
        "Preempting",
        f"waits for Pods of lower priority to leave the node {node}",
        ref_of(pod),
        evidence=(Evidence(f"{ref_of(pod)}: status.nominatedNodeName", node), _evidence(pod, scheduled)),
        resolves=WAITS,
        since=text(scheduled, "lastTransitionTime"),
    )


def _not_looked_at(view: View, pod: Object) -> Iterator[Finding]:
    created = text(pod, "metadata", "creationTimestamp")
    age = view.seconds_since(created)
    if age is None or age < _PATIENCE or raw(condition(pod, "PodScheduled"), "status") == "True":
        return
    scheduler = text(pod, "spec", "schedulerName") or "default-scheduler"
    yield Finding(
        "NotScheduled",
        f"no scheduler has looked for a node yet; the one that has to is {scheduler}",
        ref_of(pod),
        evidence=(Evidence(f"{ref_of(pod)}: spec.schedulerName", scheduler, created),),
        advice=f"check that a scheduler named {scheduler} runs",
        since=created,
    )


def _named_node(view: View, pod: Object) -> Iterator[Finding]:
    """A Pod template that names a node passes by the scheduler: nobody refuses a Pod whose node is not there."""
    node = raw(view.workload, "spec", "template", "spec", "nodeName") or raw(view.workload, "spec", "nodeName")
    created = text(pod, "metadata", "creationTimestamp")
    has_begun = items(pod, "status", "containerStatuses") or raw(pod, "status", "startTime")
    age = view.seconds_since(created)
    if not node or node != raw(pod, "spec", "nodeName") or has_begun or age is None or age < _PATIENCE:
        return
    yield Finding(
        "NodeNameWaits",
        f"the Pod names its node, {clip(node)}, and no kubelet of that name has taken it",
        ref_of(pod),
        evidence=(Evidence(f"{ref_of(pod)}: spec.nodeName", clip(node), created),),
        resolves=MAYBE,
        advice="correct nodeName, or better: use a node selector, so that the scheduler sees to it",
        since=created,
    )
