"""What the default run leaves out, and that no test hangs for ever."""

from __future__ import annotations

import inspect
import signal

import pytest

from tests import conftest
from tests.support import examples
from tests.support.rows import looped


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


def test_about_one_in_twelve_is_chosen_and_always_the_same() -> None:
    names = [f"case {number}" for number in range(800)]
    chosen = [name for name in names if examples.chosen(name)]
    assert 40 < len(chosen) < 95
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


def test_a_table_in_one_test_tries_each_row_and_tells_which_failed() -> None:
    tried = []

    @looped(("number", "word"), [(1, "a"), (2, "b"), (3, "c"), (4, "d")], ids=str)
    def check(number: int, word: str, fixture: str = "given") -> None:
        tried.append((number, word, fixture))
        if number == 4:
            pytest.skip("left out")
        assert number == 1

    assert list(inspect.signature(check).parameters) == ["fixture"]
    with pytest.raises(ExceptionGroup, match=r"^2 of 4 rows") as caught:
        check(fixture="made")
    assert tried == [(1, "a", "made"), (2, "b", "made"), (3, "c", "made"), (4, "d", "made")]
    assert [error.__notes__ for error in caught.value.exceptions] == [["in the row 2, b"], ["in the row 3, c"]]


def test_a_row_that_fails_alone_or_is_left_out_is_so_itself() -> None:
    @looped("number", [1, 2])
    def check(number: int) -> None:
        assert number == 1

    with pytest.raises(AssertionError):
        check()

    @looped("number", [1, 2])
    def left_out(number: int) -> None:
        pytest.skip("no such program")

    with pytest.raises(pytest.skip.Exception):
        left_out()
