"""Which Pod of a StatefulSet holds up the others. Pure.

Codes: PodBlocksOthers, OldPodBlocks. The rules are those of the StatefulSet controller of k8s.io/kubernetes
(`StatefulSetControl`): with podManagementPolicy OrderedReady it looks at the Pods from the first on and stops at one
that is not running and ready, whatever its revision; an update goes from the last to the first and stops likewise. An
old Pod that never becomes ready is therefore never replaced, not even by a template that would mend it ("Forced
rollback" in the documentation of StatefulSets).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rawkube.rollout.explain.controllers import is_complete
from rawkube.rollout.explain.fields import number, raw, text
from rawkube.rollout.explain.finding import MAYBE, WAITS, Evidence, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import View, condition, is_terminating, name_of, ref_of
from rawkube.rollout.explain.words import agreed, kubectl, listed

_ORDINAL = re.compile(r"-(\d{1,9})$")


def findings(view: View) -> Iterator[Finding]:
    """At most one: the Pod that everything waits for."""
    old = {id(pod) for pod in view.old_pods}
    pods = {ordinal: pod for pod in [*view.old_pods, *view.new_pods] if (ordinal := _ordinal(pod)) >= 0}
    if view.kind != "StatefulSet" or not view.is_observed or is_complete(view):
        return
    if raw(view.workload, "spec", "podManagementPolicy") != "Parallel":
        ordered = list(_ordered(view, pods, old))
        if ordered:
            yield from ordered
            return
    yield from _update(view, pods, old)


def _ordered(view: View, pods: dict[int, Object], old: set[int]) -> Iterator[Finding]:
    """The first Pod that is not ready: nothing behind it is created, no other Pod is updated."""
    blocking = next((pods[ordinal] for ordinal in sorted(pods) if not is_ready(pods[ordinal])), None)
    if blocking is None or is_terminating(blocking):
        return
    if id(blocking) in old and raw(view.workload, "spec", "updateStrategy", "type") != "OnDelete":
        yield _old_one(view, blocking)
        return
    first = number(view.workload, "spec", "ordinals", "start")
    wanted = number(view.workload, "spec", "replicas", default=1)
    missing = wanted - len([one for one in pods if first <= one < first + wanted])
    if missing > 0:
        # No more names than are shown: `replicas` may be any number.
        behind = [one for one in range(first, first + min(wanted, len(pods) + 4)) if one not in pods]
        names = [f"{view.name}-{ordinal}" for ordinal in behind[:3]]
        told = listed(names) if missing <= len(names) else f"{', '.join(names)} and {missing - len(names)} more"
        verb = agreed(missing, "is|are")
        yield _blocks(blocking, f"{told} {verb} not created before {name_of(blocking)} is ready", "OrderedReady")


def _old_one(view: View, pod: Object) -> Finding:
    name = name_of(pod)
    return Finding(
        "OldPodBlocks",
        f"{name} is still of an old revision and not ready; the controller waits for it to become ready before it "
        "updates any Pod, this one too",
        ref_of(pod),
        evidence=(_readiness(pod), Evidence(f"{view.ref}: spec.podManagementPolicy", "OrderedReady")),
        resolves=MAYBE,
        advice="if it cannot become ready, delete it: " + kubectl(f"delete pod {name}", view.namespace),
        since=text(condition(pod, "Ready"), "lastTransitionTime"),
    )


def _update(view: View, pods: dict[int, Object], old: set[int]) -> Iterator[Finding]:
    """The last Pod of the new revision that is not ready: those before it are not updated."""
    partition = number(view.workload, "spec", "updateStrategy", "rollingUpdate", "partition")
    waiting = [ordinal for ordinal in sorted(pods) if ordinal >= partition and id(pods[ordinal]) in old]
    blocking = [ordinal for ordinal in sorted(pods) if id(pods[ordinal]) not in old and not is_ready(pods[ordinal])]
    if not waiting or not blocking or raw(view.workload, "spec", "updateStrategy", "type") == "OnDelete":
        return
    pod = pods[blocking[-1]]
    behind = [name_of(pods[ordinal]) for ordinal in reversed(waiting) if ordinal < blocking[-1]]
    if behind and not is_terminating(pod):
        verb = agreed(len(behind), "is|are")
        yield _blocks(pod, f"{listed(behind)} {verb} not updated before {name_of(pod)} is ready", "")


def _blocks(pod: Object, words: str, policy: str) -> Finding:
    because = " (podManagementPolicy is OrderedReady)" if policy else ""
    return Finding(
        "PodBlocksOthers",
        f"{words}{because}",
        ref_of(pod),
        evidence=(_readiness(pod),),
        resolves=WAITS,
        advice=f"see why {name_of(pod)} is not ready",
        since=text(condition(pod, "Ready"), "lastTransitionTime") or text(pod, "metadata", "creationTimestamp"),
    )


def _readiness(pod: Object) -> Evidence:
    ready = condition(pod, "Ready")
    words = text(ready, "message") or text(ready, "reason") or text(pod, "status", "phase")
    return Evidence(f"{ref_of(pod)}: status.conditions[Ready]", words, text(ready, "lastTransitionTime"))


def is_ready(pod: Object) -> bool:
    """Whether a Pod is running and ready, as the controller means it."""
    return raw(pod, "status", "phase") == "Running" and raw(condition(pod, "Ready"), "status") == "True"


def _ordinal(pod: Object) -> int:
    found = _ORDINAL.search(raw(pod, "metadata", "name"))
    return int(found[1]) if found else -1
