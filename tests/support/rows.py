"""A table in one test: what `pytest.mark.parametrize` makes many tests of, which costs each some milliseconds.

    @looped(("text", "seconds"), [("1s", 1.0), ("1m", 60.0)])
    def test_durations(text: str, seconds: float) -> None:
        assert parse(text) == seconds

All rows are tried; those that fail are told, each with its values. For tests that leave nothing behind: fixtures are
made once, for all rows.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
SHOWN = 300


def looped(
    names: str | Sequence[str], table: Iterable[Any], ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`. `ids`: what to call the rows where one fails."""
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(table)
    entries = [_values(row, len(words)) for row in table]
    assert entries, "an empty table tests nothing"
    labels = [_own_label(row) or label for row, label in zip(table, _labels(entries, ids), strict=True)]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def loop(*args: Any, **fixtures: Any) -> None:
            failed = []
            for label, row in zip(labels, entries, strict=True):
                try:
                    test(*args, **fixtures, **dict(zip(words, row, strict=True)))
                except BaseException as error:
                    error.add_note(f"in the row {label}")
                    if isinstance(error, Exception):
                        failed.append(error)
                    elif not (failed and isinstance(error, pytest.skip.Exception)):
                        raise
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(entries)} rows", failed)

        signature = inspect.signature(test)
        left = [value for name, value in signature.parameters.items() if name not in words]
        assert len(left) == len(signature.parameters) - len(words), f"{test.__name__} does not take {words}"
        vars(loop)["__signature__"] = signature.replace(parameters=left)
        return loop

    return decorate


def _values(row: Any, width: int) -> Any:
    """Of `pytest.param`, too; marks are of a whole test."""
    if hasattr(row, "marks"):
        assert not row.marks
        return row.values
    return row if width > 1 else (row,)


def _own_label(row: Any) -> str:
    return str(row.id or "") if hasattr(row, "marks") else ""


def _labels(entries: list[Any], ids: Callable[[Any], object] | Iterable[object] | None) -> list[str]:
    if ids is None:
        return [repr(tuple(row) if len(row) > 1 else row[0])[:SHOWN] for row in entries]
    if callable(ids):
        return [", ".join(str(ids(value)) for value in row) for row in entries]
    return [str(word) for word in ids]
