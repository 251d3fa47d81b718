"""A table on the terminal that shows how many rollouts stand, by the library rich."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType

from rich.cells import cell_len
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from rawkube._typing import Any
from rawkube.cli.live_canvas import SHOW, Canvas, Line, breaks_lines
from rawkube.cli.live_rows import BAD, BUSY, GOOD, WARN, Board, Picture, Row, bar
from rawkube.cli.output import Output
from rawkube.cli.report_lines import LineReporter
from rawkube.errors import RawkubeError
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS
from rawkube.rollout.happenings import Happening, Overall, Result

RATE = 4
"""How often a second the table is drawn, whatever happens meanwhile."""

_STYLES = {GOOD: "green", BUSY: "", WARN: "yellow", BAD: "red"}
_WORST_FIRST = (NEVER, MAYBE, WAITS)
_WIDE, _MIDDLE, _NARROW = 110, 80, 50


class LiveTable:
    """A row for each workload while they are followed; it stays when all is told, and what was in the way follows.

    The screen is drawn in a thread of its own. `clock`: seconds that only go forward.
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
        self._canvas = Canvas(breaks_lines=breaks_lines(os.environ))
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._stops = _Stops(self._leave)

    def tell(self, happening: Happening) -> None:
        """One happening; see Reporter."""
        if isinstance(happening, Result):
            self._later.append(happening)
        with self._lock:
            self._board.take(happening, self._clock())
        if self._screen.error is not None:
            raise self._screen.error
        # The end alone, of nothing at all, is no table.
        if self._thread is None and not isinstance(happening, Overall):
            self._stops.arm()
            if _in_foreground():
                self._draw()
            self._thread = threading.Thread(target=self._draw_on, daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """The last table stays; then what was in the way of each, as without a table."""
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._stops.disarm()
            self._draw()
            self._screen.write("\r\n" + self._canvas.leave())
        for one in sorted(self._later, key=_hope):
            self._lines.tell(one)
        self._lines.finish()

    def _draw_on(self) -> None:
        while not self._over.wait(1 / RATE):
            if self._stops.stopping:
                continue
            if _in_foreground():
                self._draw()
            else:
                self._canvas.leave()  # a shell's lines stand where the picture was

    def _draw(self) -> None:
        width, height = self._console.size
        with self._lock:
            # One line for the head, one for the cursor.
            picture = self._board.picture(height - 2, self._clock())
        with self._console.capture() as captured:
            self._console.print(table(picture, width - 1))
        lines = [_line(text) for text in captured.get().rstrip("\n").split("\n")]
        self._screen.write(self._canvas.draw(lines[: max(1, height - 1)], width))

    def _leave(self) -> None:
        """The process is stopped, and may go on with another screen."""
        self._canvas.leave()
        self._screen.write(SHOW)


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


def _hope(result: Result) -> int:
    """How soon it is to be told what was in the way of it: what only a change can mend comes first."""
    return min((_WORST_FIRST.index(one.resolves) for one in result.why.findings), default=len(_WORST_FIRST))


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


_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_END = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$")


def _line(text: str) -> Line:
    """A line of rich's, without the spaces that fill it up."""
    text = _END.sub(r"\1", text)
    return Line(text, cell_len(_STYLE.sub("", text)))


def _in_foreground() -> bool:
    """Whether what is written does not come in between what a shell shows: false for a job in the background."""
    try:
        return os.tcgetpgrp(1) == os.getpgrp()
    except OSError:
        return True  # no terminal that has jobs


class _Stops:
    """Ctrl-Z: `leave` is called before the process is stopped. A signal that is ignored stays so.

    `stopping`: from then on until the process goes on.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        self.stopping = False
        self._leave = leave
        self._before: Any = None

    def arm(self) -> None:
        """From now on; in the main thread only, where Python takes handlers."""
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
            self._before = signal.signal(signal.SIGTSTP, self._stop)

    def disarm(self) -> None:
        """As it was before."""
        if self._before is not None:
            signal.signal(signal.SIGTSTP, self._before)
            self._before = None

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True
        self._leave()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # goes on behind this with SIGCONT
        signal.signal(number, self._stop)
        self.stopping = False


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
