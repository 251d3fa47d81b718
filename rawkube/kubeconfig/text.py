"""Text that came from outside, made fit for one line of a message. Pure."""

from __future__ import annotations

from rawkube.gotext import one_line


def place(file: str, line: int, column: int = 0) -> str:
    """`FILE`, `FILE:LINE` or `FILE:LINE:COLUMN`; a number that is 0 is unknown and left out."""
    shown = one_line(file)
    if line:
        shown += f":{line}"
        if column:
            shown += f":{column}"
    return shown
