"""What the default run leaves out, and that no test hangs for ever."""

from __future__ import annotations

import signal

import pytest

from tests import conftest
from tests.support import examples


@pytest.fixture(autouse=True)
def _by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "EVERY_WAY", False)


def test_a_quarter_of_the_examples_and_not_too_few() -> None:
    assert [examples.examples(number) for number in (400, 100, 60, 15)] == [100, 25, 20, 15]


def test_parts_of_a_table_are_that_large_and_differ() -> None:
    table = list(range(90))
    parts = [list(examples.some(f"test {number}", table)) for number in range(30)]
    assert {len(part) for part in parts} == {30}
    assert {item for part in parts for item in part} == set(table)


def test_about_one_in_eight_is_chosen_and_always_the_same() -> None:
    names = [f"case {number}" for number in range(800)]
    chosen = [name for name in names if examples.chosen(name)]
    assert 60 < len(chosen) < 140
    assert chosen == [name for name in names if examples.chosen(name)]


def test_every_way_is_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "EVERY_WAY", True)
    assert examples.examples(400) == 400
    assert list(examples.some("test", range(9))) == list(range(9))
    assert all(examples.chosen(str(number)) for number in range(99))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers of signals here")
def test_a_test_that_hangs_fails_and_says_where() -> None:
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= conftest.LIMIT
    with pytest.raises(pytest.fail.Exception, match=r"not done after 120 s\n(.*\n)*.*test_default_run.py"):
        signal.setitimer(signal.ITIMER_REAL, 0.01, conftest.LIMIT)
        signal.pause()
