"""Columns as Go's text/tabwriter aligns them, with two spaces between them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_PADDING = 2


def aligned(text: str) -> str:
    """The text with its tabs made columns.

    A cell ends with a tab; what stands after the last tab of a line belongs to no column. A column goes on as long as
    lines that follow each other have it, and is as wide as its widest cell there.
    """
    lines = [line.split("\t") for line in text.split("\n")]
    widths = [[0] * (len(cells) - 1) for cells in lines]
    for column in range(max((len(row) for row in widths), default=0)):
        for start, end in _runs([len(row) > column for row in widths]):
            width = max(len(cells[column]) for cells in lines[start:end]) + _PADDING
            for row in widths[start:end]:
                row[column] = width
    return "\n".join(_line(cells, row) for cells, row in zip(lines, widths, strict=True))


def _runs(marks: Sequence[bool]) -> list[tuple[int, int]]:
    """Where each run of True begins and ends."""
    edges = [at for at in range(len(marks) + 1) if (at < len(marks) and marks[at]) != (at > 0 and marks[at - 1])]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False)) + cells[-1]
