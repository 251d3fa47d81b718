"""Pure: columns as kubectl aligns them (Go's text/tabwriter with kubectl's settings)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LEAST = 6
_GAP = 3


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """One line a row. A cell is as wide as the widest of its column and three spaces, and six at least; the last
    of a row is as it is. Rows have the same number of cells."""
    rows = [[_cell(text) for text in row] for row in rows]
    widths = [max(_LEAST, max(map(len, column)) + _GAP) for column in zip(*rows, strict=True)]
    return ["".join([*(cell.ljust(widths[i]) for i, cell in enumerate(row[:-1])), row[-1]]) for row in rows]


def _cell(text: str) -> str:
    """Line ends and what a terminal would obey are escaped before anything is counted."""
    from rawkube.cli.text import escape

    return escape(text).replace("\n", "\\n").replace("\t", "\\t")
