"""Lines that are drawn again and again in the same place of a terminal, whatever becomes of its width. Pure.

A terminal that is made narrower breaks what stands there into more lines, or cuts it off: it does not say which. What
a user has on the screen above is never erased: where it is not known that a terminal breaks lines, some of the old
picture may be left above the new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rawkube._typing import NamedTuple

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
"""The cursor (DEC private mode 25)."""

# Variables that a terminal sets which breaks lines anew when its width changes; and how their TERM begins.
_BREAKING = (
    *("TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID", "WEZTERM_PANE", "WT_SESSION"),
    *("TERM_PROGRAM", "ITERM_SESSION_ID"),
)
_BREAKING_TERMS = ("tmux", "xterm-kitty", "alacritty", "foot", "xterm-ghostty", "wezterm")


class Line(NamedTuple):
    """A line with the sequences that style it; `cells`: how many columns it takes."""

    text: str
    cells: int


def breaks_lines(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is known to break lines anew when it is made narrower."""
    if environ.get("STY"):  # GNU screen, inside whichever
        return False
    return any(environ.get(name) for name in _BREAKING) or environ.get("TERM", "").startswith(_BREAKING_TERMS)


class Canvas:
    """Gives what has to be written to the terminal. The cursor is hidden while something is drawn."""

    def __init__(self, *, breaks_lines: bool) -> None:
        self._breaks_lines = breaks_lines
        self._drawn: Sequence[Line] = ()

    def draw(self, lines: Sequence[Line], width: int) -> str:
        """These lines in place of those before; `width`: the columns that the terminal has now."""
        rows = sum(self._rows(line, width) for line in self._drawn)
        # Row by row: what is only written over stays, for a terminal, a part of the line that it was broken from; and
        # from the top of the screen, tmux keeps in its history what "erase below" (ED) takes away.
        start = "\r\x1b[2K" + "\x1b[A\x1b[2K" * (rows - 1) if rows else HIDE
        self._drawn = tuple(lines)
        return start + "\r\n".join(line.text for line in lines)

    def leave(self) -> str:
        """What was drawn stays, and the next picture is drawn where the cursor is then. Empty: nothing was drawn."""
        drawn, self._drawn = self._drawn, ()
        return SHOW if drawn else ""

    def _rows(self, line: Line, width: int) -> int:
        return max(1, -(-line.cells // max(1, width))) if self._breaks_lines else 1
