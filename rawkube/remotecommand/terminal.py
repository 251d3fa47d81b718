"""The local terminal of `exec`: whether there is one, its raw mode, its size, and the way back from all of it.

`RawMode` sets the terminal back however it is left: at the end of its block, by an exception, by a signal that ends
the process. A signal handler cannot rely on `finally` (Python may run it before the first line of an `__exit__`), so
it sets the terminal back itself before it raises `Stopped`.

Nothing here is imported by a system without termios: there, no descriptor is a terminal (`is_terminal`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType

from rawkube._threads import in_main_thread
from rawkube._typing import Any, NamedTuple, Self

STOPPING: tuple[int, ...] = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)
"""The signals that end a session with a terminal."""

NO_TTY = "Unable to use a TTY - input is not a terminal or the right kind of file"
TTY_INTO_FILE = (
    "warning: the output is not a terminal: -t mixes stderr into it, echoes the input and ends lines with CR LF"
)


class Stopped(BaseException):
    """A signal asks for the end. Not an Exception, so that nothing but the command line takes it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Mode(NamedTuple):
    """How a session uses the terminal.

    `tty`: the parameter of the request; `raw`: put the local terminal into raw mode; `resize`: send its size, now
    and whenever it changes; `notice`: a line for stderr that `--quiet` suppresses, or None.
    """

    tty: bool
    raw: bool
    resize: bool
    notice: str | None


def decide(*, stdin: bool, tty: bool, stdin_is_terminal: bool, stdout_is_terminal: bool) -> Mode:
    """What the flags `-i` (`stdin`) and `-t` (`tty`) come to. Pure; the table is kubectl 1.37's.

    The size belongs to the terminal of stdout: where that is none, none is sent.
    """
    if not tty or not stdin:
        return Mode(False, False, False, None)
    if not stdin_is_terminal:
        return Mode(False, False, False, NO_TTY)
    return Mode(True, True, stdout_is_terminal, None if stdout_is_terminal else TTY_INTO_FILE)


def is_terminal(descriptor: int) -> bool:
    """Whether a descriptor is a terminal that raw mode can be set on."""
    try:
        if not os.isatty(descriptor):
            return False
        import termios

        termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError, termios.error):
        return False
    return True


def size(descriptor: int) -> tuple[int, int] | None:
    """(columns, lines) of a terminal; None where they are unknown: no terminal, or one that says 0."""
    try:
        columns, lines = os.get_terminal_size(descriptor)
    except (OSError, ValueError):
        return None
    return (columns, lines) if columns > 0 and lines > 0 else None


class StopSignals:
    """While it lasts, the signals of STOPPING call `on_stop()` and raise `Stopped` in the main thread.

    A signal that is ignored (`nohup`) stays ignored. After the first one the others do nothing, so that nothing
    disturbs the way out; at the end the handlers are what they were. In another thread than the main one it does
    nothing: Python handles no signals there.
    """

    def __init__(self, on_stop: Callable[[], None] = lambda: None, signals: Iterable[int] = STOPPING) -> None:
        self._on_stop = on_stop
        self._signals = tuple(signals)
        self._before: dict[int, Any] = {}
        self._stopped = False

    def __enter__(self) -> Self:
        if in_main_thread():
            for number in self._signals:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._stop)
        return self

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._stopped:
            return
        self._stopped = True
        self._on_stop()
        raise Stopped(number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set_back(self._before)


class RawMode:
    """The terminal behind a descriptor in raw mode, as a context manager.

    The flags are those of kubectl (moby/term `MakeRaw`): no byte that is typed or shown is changed, and none is a
    signal. Raises OSError if the terminal cannot be set.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._saved: list[Any] | None = None
        self._signals = StopSignals(self._restore)

    def __enter__(self) -> Self:
        import termios

        try:
            self._saved = termios.tcgetattr(self._descriptor)
            self._signals.__enter__()
            termios.tcsetattr(self._descriptor, termios.TCSANOW, raw_attributes(self._saved))
        except termios.error as error:
            self._leave()
            raise OSError(*error.args) from None
        except BaseException:
            self._leave()
            raise
        return self

    def _leave(self) -> None:
        try:
            self._restore()
        finally:
            self._signals.__exit__(None, None, None)

    def _restore(self) -> None:
        """Set the terminal back, once or often. A terminal that is gone (its window was closed) is left alone."""
        import termios

        if self._saved is None:
            return
        # Set from the background, a terminal stops the process (SIGTTOU), which would then never end.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
        try:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._saved)
        except (termios.error, OSError):
            pass
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()


def raw_attributes(attributes: list[Any]) -> list[Any]:
    """Raw mode, made from what `termios.tcgetattr` gave: the flags of moby/term's `MakeRaw`, VMIN 1, VTIME 0."""
    import termios as t

    i, o, c, local, *speeds, characters = attributes
    i &= ~(t.IGNBRK | t.BRKINT | t.PARMRK | t.ISTRIP | t.INLCR | t.IGNCR | t.ICRNL | t.IXON)
    o &= ~t.OPOST
    c = c & ~(t.CSIZE | t.PARENB) | t.CS8
    local &= ~(t.ECHO | t.ECHONL | t.ICANON | t.ISIG | t.IEXTEN)
    characters = list(characters)
    characters[t.VMIN], characters[t.VTIME] = 1, 0
    return [i, o, c, local, *speeds, characters]


class Resizes:
    """Tells when the window of a terminal has changed its size (SIGWINCH), to a loop that waits on descriptors.

    A context manager of the main thread. `fileno()` is readable when something has changed; then `take()` gives the
    size as it is now. Several changes at once count as one.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before: dict[int, Any] = {}
        self._reader = self._writer = -1

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        number = getattr(signal, "SIGWINCH", None)
        if number is not None and in_main_thread():
            self._before[number] = signal.signal(number, self._changed)
        return self

    def _changed(self, number: int, frame: FrameType | None) -> None:
        self.note()

    def note(self) -> None:
        """Say that the size is to be sent again, as a change of the window does."""
        try:
            os.write(self._writer, b"\0")
        except BlockingIOError:  # full: the reader will wake up anyway
            pass

    def fileno(self) -> int:
        """The descriptor to wait on for reading."""
        return self._reader

    def take(self) -> tuple[int, int] | None:
        """(columns, lines) as they are now, if there was a change since the last call; None if none or unknown."""
        try:
            seen = os.read(self._reader, 4096)
        except BlockingIOError:
            return None
        return size(self._descriptor) if seen else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set_back(self._before)
        os.close(self._reader)
        os.close(self._writer)


def _set_back(handlers: dict[int, Any]) -> None:
    """Make signal handlers what they were; one that was not Python's (None) becomes the default."""
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)
    handlers.clear()
