"""How much of a Deployment's progressDeadlineSeconds is left, or why it never ends. Pure.

Codes: ProgressDeadline, ProgressDeadlineExceeded, ProgressDeadlineNever. The rules are those of the Deployment
controller of k8s.io/kubernetes (`DeploymentTimedOut`): the time runs from the last update of the condition Progressing,
never while the Deployment is paused, and never while its reason is NewReplicaSetAvailable.
"""

from __future__ import annotations

from collections.abc import Iterator

from rawkube.rollout.explain.controllers import is_complete
from rawkube.rollout.explain.fields import at, flag, number, raw, text
from rawkube.rollout.explain.finding import MAYBE, WAITS, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import View, epoch
from rawkube.rollout.explain.words import kubectl, moment, span

_NONE = 2**31 - 1  # what the API writes for "no deadline" (`HasProgressDeadline`)
_PATIENCE = 10.0  # seconds without progress that are not worth a word


def findings(view: View) -> Iterator[Finding]:
    """At most one, for a Deployment that is neither complete nor paused."""
    if view.kind != "Deployment" or flag(view.workload, "spec", "paused") or not view.is_observed:
        return
    condition = view.condition("Progressing")
    if raw(condition, "reason") == "ProgressDeadlineExceeded":
        yield _exceeded(view, condition)
    elif not is_complete(view):
        yield from _running(view, condition)


def _exceeded(view: View, condition: Object | None) -> Finding:
    deadline = number(view.workload, "spec", "progressDeadlineSeconds")
    return _finding(
        view,
        condition,
        "ProgressDeadlineExceeded",
        f"there was no progress for the {span(deadline)} that progressDeadlineSeconds allows",
        resolves=MAYBE,
        advice="mend what the other findings say, or go back: " + kubectl(f"rollout undo {view.ref}", view.namespace),
    )


def _running(view: View, condition: Object | None) -> Iterator[Finding]:
    if at(view.workload, "spec", "progressDeadlineSeconds") in (None, _NONE):
        yield _never(view, condition, "progressDeadlineSeconds sets no limit")
        return
    if raw(condition, "status") == "True" and raw(condition, "reason") == "NewReplicaSetAvailable":
        yield _never(view, condition, "the condition Progressing still says that the new ReplicaSet is available")
        return
    deadline = number(view.workload, "spec", "progressDeadlineSeconds")
    updated = text(condition, "lastUpdateTime")
    since = epoch(updated)
    if since is None or view.now - since < _PATIENCE:
        return
    left = since + deadline - view.now
    end = view.clock(moment(since + deadline))
    until = f"{span(left)} of the {span(deadline)} of progressDeadlineSeconds are left, until {end}"
    rest = until if left > 0 else f"the {span(deadline)} of progressDeadlineSeconds are over"
    words = f"no progress since {view.clock(updated)}; {rest}"
    yield _finding(view, condition, "ProgressDeadline", words, resolves=WAITS)


def _never(view: View, condition: Object | None, why: str) -> Finding:
    words = f"the Deployment will never be declared failed: {why}"
    return _finding(view, condition, "ProgressDeadlineNever", words, resolves=WAITS, advice="set a --timeout")


def _finding(
    view: View, condition: Object | None, code: str, words: str, *, resolves: str, advice: str = ""
) -> Finding:
    said, updated = text(condition, "message") or text(condition, "reason"), text(condition, "lastUpdateTime")
    return view.finding(
        code,
        words,
        "status.conditions[Progressing]",
        said,
        resolves=resolves,
        time=updated,
        advice=advice,
        since=updated,
    )
