"""When a rollout is hopeless."""

from __future__ import annotations

from rawkube.rollout.explain.finding import CODES, MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.fail_fast import _BY_RESTARTS, _NEVER_HOPELESS, FailFast
from tests.support.explained import NOW, clock


def finding(code: str, resolves: str, *, restarts: int = 0, since: str = "") -> Finding:
    return Finding(code, "…", "pod/web-0", resolves=resolves, restarts=restarts, since=since)


HOPELESS = {
    "what only a change can mend": finding("ImageNameInvalid", NEVER),
    "a quota of 0": finding("QuotaExceeded", NEVER),
    "a paused rollout": finding("Paused", NEVER),
    "three restarts": finding("ContainerCrashes", MAYBE, restarts=3),
    "an image, 60 s": finding("ImagePullDenied", MAYBE, since=clock("14:59:00")),
    "no node, 120 s": finding("Unschedulable", MAYBE, since=clock("14:58:00")),
}
HOPE = {
    "two restarts": finding("ContainerCrashes", MAYBE, restarts=2, since=clock("14:00:00")),
    "an image, 59 s": finding("ImagePullDenied", MAYBE, since=clock("14:59:01")),
    "no node, 119 s": finding("Unschedulable", MAYBE, since=clock("14:58:01")),
    "no node, nobody knows since when": finding("Unschedulable", MAYBE),
    "no time": finding("Unschedulable", MAYBE, since="yesterday"),
    "what takes its time": finding("PodCreating", WAITS, since=clock("14:00:00")),
    "a slow start": finding("ReadinessProbeFails", MAYBE, restarts=9, since=clock("14:00:00")),
    "an old Pod that stays": finding("FinalizerLeft", MAYBE, since=clock("14:00:00")),
    "a partition": finding("Partition", NEVER),
    "a word of a later version": finding("Unheard", "perhaps", since=clock("14:00:00")),
}


def test_hopeless_or_not() -> None:
    for name, one in HOPELESS.items():
        assert FailFast().hopeless([*HOPE.values(), one], NOW) == one, name
    for name, one in HOPE.items():
        assert FailFast().hopeless([one], NOW) is None, name


def test_other_limits() -> None:
    crash = finding("ContainerCrashes", MAYBE, restarts=1)
    assert FailFast(restarts=1).hopeless([crash], NOW) == crash
    pull = finding("ImagePullFailed", MAYBE, since=clock("14:59:50"))
    assert FailFast(pull_seconds=10).hopeless([pull], NOW) == pull


def test_its_codes_are_codes() -> None:
    assert (_BY_RESTARTS | _NEVER_HOPELESS) - CODES.keys() == set()
