"""The README's tables of differences are printed from the list of them, and each row's test is there."""

from __future__ import annotations

import re

from tests.differential.differences import DIFFERENCES, Difference, tables
from tests.support.run import ROOT

EVERY = [row for rows in DIFFERENCES.values() for row in rows]


def test_the_readme_has_the_tables() -> None:
    text = (ROOT / "README.md").read_text().partition("## Differences from kubectl\n")[2]
    start, end = text.index("<details>"), text.rindex("</details>\n") + len("</details>\n")
    assert text[start:end] == tables(), "python -m tests.differential.differences prints them"


def test_no_row_is_there_twice_and_none_is_cut() -> None:
    topics = [(heading, row.topic) for heading, rows in DIFFERENCES.items() for row in rows]
    assert len(set(topics)) == len(topics)
    assert not [cell for row in EVERY for cell in row[:3] if not cell or "|" in cell.replace("\\|", "")]


def test_what_asserts_each_is_there() -> None:
    assert [row for row in EVERY if not is_there(row)] == []


def is_there(row: Difference) -> bool:
    """The test's function, and its case as a text of that file."""
    file, _, rest = row.test.partition("::")
    function, _, case = rest.partition("[")
    text = (ROOT / file).read_text()
    return (
        bool(re.search(rf"^ *def {function}\(", text, re.MULTILINE))
        and f'"{case.removesuffix("]")}"' * bool(case) in text
    )
