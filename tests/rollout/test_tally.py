"""What has become of all that is followed."""

from __future__ import annotations

from rawkube.errors import RawkubeError, RolloutFailed, WaitTimeout
from rawkube.rollout.explain.finding import Finding
from rawkube.rollout.happenings import (
    COMPLETE,
    DELETED,
    ERROR,
    FAILED,
    INTERRUPTED,
    NOT_FOUND,
    TIMED_OUT,
    UNFINISHED,
    Cleared,
    Explained,
    Found,
    Happening,
    Note,
    Result,
    State,
    Workload,
)
from rawkube.rollout.status import Progress
from rawkube.rollout.tally import Tally
from tests.support.client import DEPLOYMENTS

A, B = Workload(DEPLOYMENTS, "d", "a"), Workload(DEPLOYMENTS, "d", "b")


def tally(*outcomes: str) -> Tally:
    found = Tally()
    for outcome in outcomes:
        found.take(Result(A, outcome))
    return found


def finding(text: str) -> Finding:
    return Finding("Unschedulable", text, "pod/a")


def test_what_is_still_open_ends_with_its_last_state_and_its_causes() -> None:
    of = Tally()
    of.expect(A)
    of.expect(B)
    happenings: list[Happening] = [State(A, {"n": n}, Progress(f"{n}", False)) for n in (1, 2)]
    happenings += [Found(A, finding("old")), Found(A, finding("new"), again=True), Note(A, "a note")]
    for happening in happenings:
        of.take(happening)
    of.take(Found(A, Finding("OnDelete", "gone", "pod/a")))
    of.take(Cleared(A, Finding("OnDelete", "gone", "pod/a")))
    of.take(Cleared(B, finding("never found")))
    of.expect(A)  # known already
    first, second = of.ended(INTERRUPTED, 3.0)
    why = Explained((finding("new"),))
    assert first == Result(A, INTERRUPTED, None, 3.0, {"n": 2}, Progress("2", False), why)
    assert second == Result(B, INTERRUPTED, None, 3.0, None, None, Explained(()))
    of.take(first)
    of.take(Result(None, NOT_FOUND))  # of a manifest, and nobody knows the kind
    assert [result.workload for result in of.ended(TIMED_OUT, 4.0)] == [B]


def test_the_end_of_all() -> None:
    for outcomes, required, expected in [
        ((), 0, NOT_FOUND),
        ((COMPLETE, COMPLETE), 2, COMPLETE),
        ((COMPLETE, FAILED), 1, COMPLETE),
        ((COMPLETE, FAILED), 2, FAILED),
        ((TIMED_OUT, DELETED, UNFINISHED), 3, DELETED),
        ((UNFINISHED, COMPLETE), 2, UNFINISHED),
        ((COMPLETE,), 2, ERROR),  # fewer than had to be
    ]:
        told = tally(*outcomes).overall(1.5, required)
        assert (told.outcome, told.required, told.seconds, told.error) == (expected, required, 1.5, None), outcomes
        assert sum(told.counts.values()) == len(told.results) == len(outcomes)


def test_an_interrupt_and_an_error_end_all_whatever_there_was() -> None:
    for error, expected in [(RolloutFailed("x"), FAILED), (WaitTimeout(), TIMED_OUT), (RawkubeError("x"), ERROR)]:
        told = tally(COMPLETE).overall(1.0, 1, error=error)
        assert (told.outcome, told.error, told.counts) == (expected, error, {COMPLETE: 1})
        assert tally(COMPLETE).overall(1.0, 1, interrupted=True, error=error).outcome == INTERRUPTED
