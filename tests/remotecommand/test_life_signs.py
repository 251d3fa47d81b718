"""When a session pings, gives up, and closes."""

from __future__ import annotations

import math

from rawkube.remotecommand.life_signs import CLOSING, GRACE, SILENCE, UNANSWERED, LifeSigns, Timing
from tests.support.rows import looped


def signs(**times: float) -> LifeSigns:
    life = LifeSigns(Timing(ping_interval=5, ping_timeout=60, status_grace=10), 0.0)
    for name, value in times.items():
        setattr(life, name, value)
    return life


@looped(
    ("life", "now", "has_status", "due"),
    [
        (signs(), 0.0, False, ""),
        (signs(), 59.9, False, ""),
        (signs(), 60.0, False, SILENCE),
        (signs(heard=50.0), 60.0, False, ""),
        (signs(heard=50.0), 60.0, True, GRACE),
        (signs(heard=50.0, told=50.5), 60.0, True, ""),
        (signs(heard=50.0, close_by=60.0), 60.0, True, UNANSWERED),
        (signs(close_by=61.0), 60.0, True, SILENCE),
    ],
)
def test_what_is_due(life: LifeSigns, now: float, has_status: bool, due: str) -> None:
    assert life.due(now, has_status=has_status) == due


def test_a_ping_is_due_once_an_interval() -> None:
    life = signs()
    assert [now for now in range(12) if life.must_ping(float(now))] == [5, 10]
    assert life.next_ping == 15.0


def test_close_is_said_once() -> None:
    life = signs()
    assert [life.closing(3.0), life.closing(4.0)] == [True, False]
    assert life.close_by == 3.0 + CLOSING


def test_the_next_point_in_time() -> None:
    assert signs(pinged=100.0).next(has_status=False) == 60.0
    assert signs(pinged=100.0).next(has_status=True) == 10.0
    assert signs(pinged=100.0, close_by=4.0).next(has_status=True) == 4.0
    assert LifeSigns(Timing(math.inf, math.inf, math.inf), 0.0).next(has_status=True) == math.inf


def test_time_spent_elsewhere_is_no_silence() -> None:
    life = signs()
    life.away(30.0)
    assert life.due(89.0, has_status=False) == ""
    life.listening_since(100.0)
    assert life.due(159.0, has_status=False) == ""
