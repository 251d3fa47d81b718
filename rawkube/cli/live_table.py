"""A table on the terminal that shows how many rollouts stand, by the library rich."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rawkube.cli.live_rows import BAD, BUSY, GOOD, WARN, Board, Picture, Row, bar
from rawkube.cli.output import Output
from rawkube.cli.report_lines import LineReporter
from rawkube.errors import RawkubeError
from rawkube.rollout.happenings import Happening, Overall, Result

RATE = 4
"""How often a second the table is drawn, whatever happens meanwhile."""

_STYLES = {GOOD: "green", BUSY: "", WARN: "yellow", BAD: "red"}
_WIDE, _MIDDLE, _NARROW = 110, 80, 50


class LiveTable:
    """A row for each workload while they are followed; it stays when all is told, and what was in the way follows.

    The screen is drawn in a thread of rich's own. `clock`: seconds that only go forward.
    """

    def __init__(self, out: Output, *, namespaces: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._screen = _Screen(out)
        self._board = Board(namespaces=namespaces)
        self._clock = clock
        self._lock = threading.Lock()
        self._lines = LineReporter(out, repeat=False, namespaces=namespaces)
        self._later: list[Result] = []
        self._console = Console(
            file=self._screen,  # type: ignore[arg-type]  # rich only writes
            force_terminal=True,
            no_color="NO_COLOR" in os.environ,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._width = self._console.width
        self._live = Live(
            console=self._console,
            get_renderable=self._drawn,
            refresh_per_second=RATE,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def tell(self, happening: Happening) -> None:
        """One happening; see Reporter."""
        if isinstance(happening, Result):
            self._later.append(happening)
        with self._lock:
            self._board.take(happening, self._clock())
        if self._screen.error is not None:
            raise self._screen.error
        # The end alone, of nothing at all, is no table.
        if not self._live.is_started and not isinstance(happening, Overall):
            self._live.start()

    def finish(self) -> None:
        """The last table stays; then what was in the way of each, as without a table."""
        if self._live.is_started:
            self._live.stop()
        for one in self._later:
            self._lines.tell(one)

    def _drawn(self) -> Group:
        width, height = self._console.size
        if width < self._width:
            # What was drawn before has been broken into more lines than anybody knows of.
            self._screen.write("\x1b[2J\x1b[H")
        self._width = width
        with self._lock:
            # One line for the head, one for the cursor.
            picture = self._board.picture(height - 2, self._clock())
        return table(picture, width - 1)


def table(picture: Picture, width: int) -> Group:
    """The picture as a table of so many columns; what finds no room is left out, beginning with the least needed."""
    drawn = Table(box=None, width=width, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    columns = _columns(picture, width)
    for title, size, _ in columns:
        last = size == 0
        drawn.add_column(Text(title), width=size or None, ratio=1 if last else None, no_wrap=True, overflow="ellipsis")
    for row in picture.rows:
        drawn.add_row(*(Text(cell(row), style=_STYLES[row.mood]) for _, _, cell in columns))
    lines = [Text(picture.more, style="dim")] if picture.more else []
    lines.append(Text(picture.total, style="bold"))
    for line in lines:
        # Room for the ^C that the terminal shows behind the last line: it must not begin another one.
        line.truncate(max(1, width - 4), overflow="ellipsis")
    return Group(drawn, *lines)


Column = tuple[str, int, Callable[[Row], str]]


def _columns(picture: Picture, width: int) -> list[Column]:
    """Title, width (0: what is left) and content of each column."""
    rows = picture.rows
    size = 20 if width >= _WIDE else 10
    found: list[Column] = [("NAME", _fits((row.name for row in rows), 4, width // 3), lambda row: row.name)]
    if width >= _NARROW:
        found.append(("PROGRESS", size, lambda row: bar(row.numbers, size)))
    found.append(("UPD/RDY/AVL", _fits((row.counts for row in rows), 11, 20), lambda row: row.counts))
    if width >= _MIDDLE:
        found.append(("TIME", 6, lambda row: row.elapsed))
        found.append(("REVISION", _fits((row.revision for row in rows), 8, 10), lambda row: row.revision))
    return [*found, ("STATUS", 0, lambda row: row.why)]


def _fits(texts: Iterable[str], least: int, most: int) -> int:
    return max(least, min(most, max(map(cell_len, texts), default=0)))


class _Screen:
    """The file that rich writes to. Its thread must not end by an error, so that is kept for who tells."""

    encoding = "utf-8"

    def __init__(self, out: Output) -> None:
        self._out = out
        self.error: RawkubeError | None = None

    def write(self, text: str) -> int:
        if self.error is None:
            try:
                self._out.write(text)
            except RawkubeError as error:
                self.error = error
        return len(text)

    def flush(self) -> None:
        """Output keeps nothing back."""

    def isatty(self) -> bool:
        return True
