"""Tables as text: columns, widths, what is escaped."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.objects import rows_of
from rawkube.cli.age import age, human_duration
from rawkube.cli.tables_text import Layout, TextTable, go_value, slim, table_of
from rawkube.errors import DecodeError
from tests.support.examples import examples
from tests.support.rows import looped


def table(
    *rows: list[Any], columns: tuple[str, ...] = ("Name", "Ready"), wide: tuple[str, ...] = (), **about: Any
) -> Any:
    named = [(name, 0) for name in columns] + [(name, 1) for name in wide]
    definitions = [
        {"name": name, "type": "string", "format": "name" if name == "Name" else "", "priority": priority}
        for name, priority in named
    ]
    made = [{"cells": row, "object": {"metadata": {"name": row[0] if row else "", **about}}} for row in rows]
    return {"kind": "Table", "columnDefinitions": definitions, "rows": made}


def text(*tables: Any, **layout: Any) -> str:
    return TextTable(Layout(**layout)).text(tables)


@looped(
    ("layout", "shown"),
    [
        ({}, "NAME   READY\na      1/1\n"),
        ({"headers": False}, "a     1/1\n"),
        ({"wide": True}, "NAME   READY   IP\na      1/1     ::1\n"),
        ({"namespace": True}, "NAMESPACE   NAME   READY\ndemo        a      1/1\n"),
        ({"kind": "pod"}, "NAME    READY\npod/a   1/1\n"),
        ({"labels": ("x/app", "none")}, "NAME   READY   APP   NONE\na      1/1     w     \n"),
        ({"show_labels": True}, "NAME   READY   LABELS\na      1/1     b=c,x/app=w\n"),
    ],
    ids=str,
)
def test_what_is_shown(layout: dict[str, Any], shown: str) -> None:
    pod = table(["a", "1/1", "::1"], wide=("IP",), namespace="demo", labels={"x/app": "w", "b": "c"})
    assert text(pod, **layout) == shown


def test_a_table_without_rows_says_nothing() -> None:
    assert text(table()) == ""
    assert text({"kind": "Table"}) == ""


@looped("columns", [None, [], ["x"], [{"name": "Far", "priority": 1}]], ids=str)
def test_a_table_without_a_column_that_is_shown(columns: Any) -> None:
    assert text({"kind": "Table", "columnDefinitions": columns, "rows": [{"cells": ["a"]}]}) == "\n\n"


def test_the_headers_come_once_and_again_with_other_columns() -> None:
    shown = text(table(["a", 1]), table(["b", 2]), table(["c", 3], columns=("Name", "Age")))
    assert shown == "NAME   READY\na      1\nb      2\nNAME   AGE\nc      3\n"


def test_later_rows_keep_the_columns() -> None:
    screen = TextTable(Layout())
    assert screen.text([table(["a", 1])]) == "NAME   READY\na      1\n"
    later = {**table(["a-long-name", 2]), "columnDefinitions": None}
    assert screen.text([later]) == "a-long-name   2\n"
    assert screen.text([table(["b", 3])]) == "b             3\n"


@looped(
    ("cell", "shown"),
    [
        (None, ""),
        (True, "true"),
        (7, "7"),
        (1.5, "1.5"),
        ("日本", "日本"),
        ("first\nsecond", "first..."),
        ("first\rsecond", "first..."),
        ("\x1b[2Jx", "^[[2Jx"),
        ("\x00\x07\x7f\x9b", "\\x00\\x07\\x7f\\x9b"),
        ("\u202eabc", "\\u202eabc"),
        ({"b": 1, "a": [None, "x"]}, "map[a:[<nil> x] b:1]"),
    ],
)
def test_cells(cell: Any, shown: str) -> None:
    assert text(table(["a", cell]), headers=False) == f"a     {shown}\n"


def test_go_values() -> None:
    assert [go_value(value) for value in (None, False, "x", [1.0, 1e6])] == ["<nil>", "false", "x", "[1 1e+06]"]


def test_rows_that_do_not_fit_the_columns() -> None:
    assert text(table(["a"], ["b", 1, 2, 3], [])) == "NAME   READY\na\nb      1\n\n"
    assert text({"columnDefinitions": [{"name": "Name"}], "rows": [{"cells": None}, {"cells": ["x"]}]}) == "NAME\n\nx\n"


CELL = st.text(st.characters(), max_size=8) | st.none() | st.integers() | st.booleans()


@given(st.lists(st.lists(CELL, max_size=4), min_size=1, max_size=5), st.booleans(), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_nothing_that_a_terminal_obeys_and_a_line_a_row(rows: list[list[Any]], headers: bool, labels: bool) -> None:
    made = table(*rows, columns=("Name", "A", "B"), labels={"k": rows[0][0] if rows[0] else ""})
    shown = text(made, headers=headers, show_labels=labels, namespace=labels)
    assert shown.count("\n") == len(rows) + headers
    assert not [char for char in shown if char != "\n" and (char < " " or "\x7f" <= char <= "\x9f")]


@given(st.lists(st.tuples(*[st.text("ab日é", max_size=9)] * 3), min_size=1, max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_columns_begin_in_one_place(rows: list[tuple[str, str, str]]) -> None:
    lines = text(table(*[[*row] for row in rows], columns=("X", "Y", "Z"))).splitlines()
    starts = [lines[0].index(name) for name in "XYZ"]
    for line, row in zip(lines[1:], rows, strict=True):
        assert [line[start : start + len(cell)] for start, cell in zip(starts, row, strict=True)] == [*row]


def test_objects_as_a_table() -> None:
    made = table_of(
        [{"metadata": {"name": "a", "creationTimestamp": "2026-11-30T10:00:00Z"}}, {"metadata": {}}], 1796034600
    )
    assert text(made) == "NAME   AGE\na      30m\n       <unknown>\n"


def test_a_slim_table_shows_the_same() -> None:
    pod = table(["a", 1], namespace="demo", labels={"x": "y"}, managedFields=[{}], annotations={})
    assert set(slim(pod)["rows"][0]["object"]["metadata"]) == {"name", "namespace", "labels"}
    layout = {"namespace": True, "show_labels": True}
    assert text(slim(pod), **layout) == text(pod, **layout)
    assert slim({"rows": None}) == {"columnDefinitions": None, "rows": []}


def test_rows_as_tables_of_their_own() -> None:
    first, second = rows_of(table(["a", 1], ["b", 2], uid="u"))
    assert (first["metadata"], second["metadata"]["name"]) == ({"name": "a", "uid": "u"}, "b")
    assert text(first, second) == "NAME   READY\na      1\nb      2\n"
    for odd in ({"rows": 1}, {"rows": [1]}):
        with pytest.raises(DecodeError, match="rows are none"):
            rows_of(odd)


@looped(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 300, "3h5m"),
        (8 * 3600 + 300, "8h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400 + 3600, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (735 * 86400, "2y5d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert human_duration(seconds) == shown


@looped("timestamp", [None, "", "yesterday", 7])
def test_an_age_that_is_not_known(timestamp: object) -> None:
    assert age(timestamp, 0.0) == "<unknown>"
