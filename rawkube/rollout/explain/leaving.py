"""Pods that are being deleted and do not end: finalizers, a node that is gone, a long grace period. Pure.

Codes: FinalizerLeft, LeavingOnLostNode, StillTerminating. A Pod's `deletionTimestamp` is when its grace period is over,
not when it was deleted. A PodDisruptionBudget plays no part: it limits evictions, and controllers delete.
"""

from __future__ import annotations

from collections.abc import Iterator

from rawkube.api.label_selector import labels_match, parse_labels
from rawkube.api.selectors import SelectorError, from_label_selector
from rawkube.rollout.explain.controllers import is_complete
from rawkube.rollout.explain.fields import at, clip, items, mapping, number, raw, text
from rawkube.rollout.explain.finding import MAYBE, WAITS, Evidence, Finding
from rawkube.rollout.explain.nodes import trouble
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import View, epoch, is_terminating, name_of, ref_of
from rawkube.rollout.explain.words import kubectl, listed, span

_PATIENCE = 30.0  # seconds that ending may take before it is worth a word: the usual grace period
_LEEWAY = 5.0  # seconds in which a kubelet tells that a Pod has ended


def findings(view: View) -> Iterator[Finding]:
    """One for each Pod of the workload that takes long to end, of whatever revision."""
    if is_complete(view):
        return
    for pod in [*view.old_pods, *view.new_pods]:
        end = epoch(raw(pod, "metadata", "deletionTimestamp"))
        if not is_terminating(pod) or end is None:
            continue
        if view.now > end + _LEEWAY:
            yield _overdue(view, pod, end)
        elif view.now - (end - number(pod, "metadata", "deletionGracePeriodSeconds")) > _PATIENCE:
            yield _in_grace(view, pod)


def _overdue(view: View, pod: Object, end: float) -> Finding:
    lost = trouble(view, pod)
    kept = _finalizers(pod)
    name, late = name_of(pod), span(view.now - end)
    node = text(pod, "spec", "nodeName")
    if lost is not None:
        command = kubectl(f"delete pod {name} --force --grace-period=0", view.namespace)
        advice = f"once the node is off for good: {command}"
        words = f'nobody can tell whether it has ended, because its node "{node}" {lost.text}'
        return _finding(view, pod, "LeavingOnLostNode", words, (lost.evidence,), advice=advice)
    if kept:
        words = f"it is deleted, but kept by {listed(kept)} in its finalizers"
        advice = "see why the controller that set the finalizer does not remove it"
        field = Evidence(f"{ref_of(pod)}: metadata.finalizers", listed(kept))
        return _finding(view, pod, "FinalizerLeft", words, (field,), advice=advice)
    words = f"it should have ended {late} ago, when its grace period was over"
    failures = [event for event in view.events(pod) if event.reason == "FailedKillPod"]
    said = tuple(Evidence(f"event {one.reason}", one.message, one.time) for one in failures[-1:])
    advice = (
        f"see the kubelet's log on the node {node}"
        if node
        else f"see {kubectl(f'describe pod {name}', view.namespace)}"
    )
    return _finding(view, pod, "StillTerminating", words, said, advice=advice)


def _in_grace(view: View, pod: Object) -> Finding:
    grace = number(pod, "metadata", "deletionGracePeriodSeconds")
    until = text(pod, "metadata", "deletionTimestamp")
    words = f"it is ending and may take until {view.clock(until)}: its grace period is {span(grace)}"
    advice = "see whether the container heeds its stop signal (SIGTERM), or shorten terminationGracePeriodSeconds"
    return _finding(view, pod, "StillTerminating", words, (), resolves=WAITS, advice=advice)


def _finding(
    view: View, pod: Object, code: str, words: str, said: tuple[Evidence, ...], *, advice: str, resolves: str = MAYBE
) -> Finding:
    until = text(pod, "metadata", "deletionTimestamp")
    deletion = Evidence(f"{ref_of(pod)}: metadata.deletionTimestamp", until, until)
    budget = _budget(view, pod)
    advice += f'; PodDisruptionBudget "{budget}" is not to blame: it limits evictions only' if budget else ""
    words += _consequence(view)
    return Finding(code, words, ref_of(pod), evidence=(deletion, *said), resolves=resolves, advice=advice, since=until)


def _budget(view: View, pod: Object) -> str:
    """The name of a PodDisruptionBudget that lets no Pod like this one be evicted: people suspect it."""
    labels = mapping(pod, "metadata", "labels")
    labelled = {"metadata": {"labels": {key: value for key, value in labels.items() if isinstance(value, str)}}}
    for budget in items({"of": view.scene.budgets}, "of"):
        try:
            wanted = parse_labels(from_label_selector(at(budget, "spec", "selector")))
        except SelectorError:
            continue
        if number(budget, "status", "disruptionsAllowed", default=1) == 0 and labels_match(wanted, labelled):
            return name_of(budget)
    return ""


def _consequence(view: View) -> str:
    """What waits for it; a rolling update of a Deployment goes on without."""
    if view.kind == "Deployment" and raw(view.workload, "spec", "strategy", "type") == "Recreate":
        return "; the strategy is Recreate, so no new Pod is created before"
    if view.kind == "StatefulSet":
        return "; a new Pod of its name cannot be created before"
    return ""


def _finalizers(pod: Object) -> list[str]:
    found = at(pod, "metadata", "finalizers")
    return [clip(one, 100) for one in found if isinstance(one, str)] if isinstance(found, list) else []
