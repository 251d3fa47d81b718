"""The README's table of differences and the list of them are the same, and each row's test is there."""

from __future__ import annotations

import re

import pytest

from tests.differential.differences import DIFFERENCES, NOT_LISTED
from tests.support.run import ROOT

# No test is known to assert these.
UNTESTED = {
    "the time is over before an object's turn, `--for=delete`",
    "a filter on what is no list, conditions that are no list",
    "`--local`",
}


def groups() -> dict[str, list[tuple[str, ...]]]:
    """Heading → rows, as the README has them."""
    text = (ROOT / "README.md").read_text()
    part = text[text.index("## Differences from kubectl") :]
    found = re.findall(r"<details><summary>(.*?)</summary>\n(.*?)</details>", part, re.DOTALL)
    return {heading: rows(body) for heading, body in found}


def rows(body: str) -> list[tuple[str, ...]]:
    lines = [line for line in body.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines[1:]]


def test_every_group_is_known() -> None:
    assert sorted(groups()) == sorted([*DIFFERENCES, *NOT_LISTED])


@pytest.mark.parametrize("heading", DIFFERENCES)
def test_the_rows_are_those_of_the_readme(heading: str) -> None:
    assert [tuple(row[:3]) for row in DIFFERENCES[heading]] == groups()[heading]


def test_what_asserts_each_is_there() -> None:
    every = [row for listed in DIFFERENCES.values() for row in listed]
    assert {row.topic for row in every if not row.test} == UNTESTED
    for file, _, function in (row.test.partition("::") for row in every if row.test):
        assert re.search(rf"^ *def {function}\(", (ROOT / file).read_text(), re.MULTILINE), f"no {function} in {file}"
