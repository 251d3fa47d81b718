"""A table in one test fails as tests of its rows would."""

from __future__ import annotations

import pytest

from tests.support.rows import looped


@looped("number", range(3))
def test_fixtures_are_given_to_every_row(number: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert tmp_path_factory.mktemp(f"row-{number}").exists()


def is_even(number: int) -> None:
    assert number % 2 == 0


def test_a_failure_names_its_row() -> None:
    for table, name in (([2, 4, 5], "5"), ([2, pytest.param(3, id="three")], "three")):
        with pytest.raises(AssertionError) as failure:
            looped("number", table)(is_even)()
        assert failure.value.__notes__ == [f"in the row {name}"]


def test_several_failures_are_all_told() -> None:
    with pytest.raises(ExceptionGroup, match="2 of 3 rows") as failures:
        looped("number", [1, 2, 3], ids=lambda number: f"n{number}")(is_even)()
    assert [one.__notes__ for one in failures.value.exceptions] == [["in the row n1"], ["in the row n3"]]


def test_what_does_not_raise_fails_too() -> None:
    @looped(("number", "text"), [(1, "1"), (2, "2")], ids=["one", "two"])
    def nothing_is_raised(number: int, text: str) -> None:
        with pytest.raises(ValueError):
            assert int(text) == number

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE") as failure:
        nothing_is_raised()
    assert failure.value.__notes__ == ["in the row one"]


def test_a_name_that_is_no_parameter_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match=r"is_even does not take \['other'\]"):
        looped("other", [1])(is_even)
