"""States that were told wrongly by other tools, and what kubectl 1.37 says of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rawkube.errors import RolloutFailed
from rawkube.rollout.status import evaluate
from tests.support.rows import looped
from tests.support.workloads import Object, daemonset, deployment, statefulset

WAITING = 'Waiting for deployment "web" rollout to finish: '
EXCEEDED = ("Progressing", "False", "ProgressDeadlineExceeded")


def told(states: Iterable[Object]) -> list[tuple[str, bool]]:
    """(line, done) of each state; a failure is its text in angle brackets."""
    lines = []
    for state in states:
        try:
            progress = evaluate(state)
            lines.append((progress.message, progress.done))
        except RolloutFailed as error:
            lines.append((f"<{error}>", False))
    return lines


SEQUENCES: dict[str, tuple[list[Object], list[tuple[str, bool]]]] = {
    "a deadline that the generation before had passed": (
        [deployment(g=8, o=7, condition=EXCEEDED), deployment(g=8, o=8)],
        [
            ("Waiting for deployment spec update to be observed...", False),
            ('deployment "web" successfully rolled out', True),
        ],
    ),
    "a deadline of this generation": (
        [deployment(g=8, o=8, u=1, condition=EXCEEDED)],
        [('<deployment "web" exceeded its progress deadline>', False)],
    ),
    "all counters equal and of the generation before": (
        [deployment(g=2, o=1)],
        [("Waiting for deployment spec update to be observed...", False)],
    ),
    "a status that was never written": (
        [deployment(o=None, t=None, u=None, a=None)],
        [("Waiting for deployment spec update to be observed...", False)],
    ),
    "the only new pod is not the available one": (
        [deployment(r=1, t=2, u=1, a=1), deployment(r=1, t=1, u=1, a=0), deployment(r=1, t=1, u=1, a=1)],
        [
            (WAITING + "1 old replicas are pending termination...", False),
            (WAITING + "0 of 1 updated replicas are available...", False),
            ('deployment "web" successfully rolled out', True),
        ],
    ),
    "fewer updated than wanted comes first": (
        [deployment(r=3, t=4, u=2, a=4)],
        [(WAITING + "2 out of 3 new replicas have been updated...", False)],
    ),
    "scaled to zero": (
        [deployment(g=8, o=8, r=0, t=None, u=None, a=None)],
        [('deployment "web" successfully rolled out', True)],
    ),
    "no wanted number at all": (
        [deployment(g=0, o=0, r=None, t=1, u=1, a=0), deployment(g=0, o=0, r=None, t=1, u=1, a=1)],
        [
            (WAITING + "0 of 1 updated replicas are available...", False),
            ('deployment "web" successfully rolled out', True),
        ],
    ),
    "one replica that may be unavailable": (
        [deployment(r=1, t=1, u=1, a=None)],
        [(WAITING + "0 of 1 updated replicas are available...", False)],
    ),
    "paused, then resumed": (
        [deployment(u=0, paused=True), deployment(u=0, paused=None), deployment()],
        [
            (WAITING + "0 out of 3 new replicas have been updated...", False),
            (WAITING + "0 out of 3 new replicas have been updated...", False),
            ('deployment "web" successfully rolled out', True),
        ],
    ),
    "a daemon set one pod at a time": (
        [daemonset(u=1, a=1), daemonset(u=2, a=1), daemonset()],
        [
            ('Waiting for daemon set "agent" rollout to finish: 1 out of 2 new pods have been updated...', False),
            ('Waiting for daemon set "agent" rollout to finish: 1 of 2 updated pods are available...', False),
            ('daemon set "agent" successfully rolled out', True),
        ],
    ),
    "a daemon set whose pods are ready and not yet available": (
        [daemonset(d=2, u=2, a=1) | {"status": {**daemonset(a=1)["status"], "numberReady": 2}}],
        [('Waiting for daemon set "agent" rollout to finish: 1 of 2 updated pods are available...', False)],
    ),
    "a stateful set without a partition, its counters gone after the rollout": (
        [statefulset(u=None, rolling=None, current="r-2", update="r-2")],
        [("statefulset rolling update complete 3 pods at revision r-2...", True)],
    ),
    # kubectl looks at the counter wherever there is a `rollingUpdate`, also where the revisions agree.
    "a stateful set with partition 0, its counters gone after the rollout": (
        [statefulset(u=None, rolling={"partition": 0}, current="r-2", update="r-2")],
        [("Waiting for partitioned roll out to finish: 0 out of 3 new pods have been updated...", False)],
    ),
    "a stateful set with partition 0 and its counters": (
        [statefulset(u=3, rolling={"partition": 0}, current="r-2", update="r-2")],
        [("partitioned roll out complete: 3 new pods have been updated...", True)],
    ),
}


@looped(("states", "lines"), SEQUENCES.values(), ids=SEQUENCES)
def test_states(states: list[Object], lines: list[tuple[str, bool]]) -> None:
    assert told(states) == lines


@pytest.mark.parametrize("kind", [daemonset, statefulset], ids=["DaemonSet", "StatefulSet"])
def test_a_strategy_that_waits_for_people_cannot_be_followed(kind: type) -> None:
    with pytest.raises(RolloutFailed) as raised:
        evaluate(kind(strategy="OnDelete"))
    assert str(raised.value) == "rollout status is only available for RollingUpdate strategy type"


@looped("reason", ["NewReplicaSetAvailable", "ReplicaSetUpdated", "DeploymentPaused", ""])
@looped("value", ["True", "False", "Unknown"])
def test_only_the_reason_of_a_passed_deadline_is_a_failure(value: str, reason: str) -> None:
    progress = evaluate(deployment(u=1, condition=("Progressing", value, reason)))
    assert not progress.done
    with pytest.raises(RolloutFailed):
        evaluate(deployment(u=1, condition=("Progressing", value, "ProgressDeadlineExceeded")))
