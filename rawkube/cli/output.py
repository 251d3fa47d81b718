"""The two streams of a command: bytes as they are, text made safe, nothing buffered, a closed stdout a quiet end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Sequence

from rawkube._typing import BinaryIO, NoReturn
from rawkube.cli.text import error_text, escape
from rawkube.errors import RawkubeError


class Output:
    """stdout and stderr of a command, as binary streams; text is written as UTF-8 whatever the locale says."""

    def __init__(self, stdout: BinaryIO | None = None, stderr: BinaryIO | None = None) -> None:
        self._stdout = stdout or _binary(sys.stdout)
        self._stderr = stderr or _binary(sys.stderr)
        self._warned: set[str] = set()

    @property
    def warnings(self) -> int:
        """How many different warnings the server has sent."""
        return len(self._warned)

    def line(self, text: str) -> None:
        """One line on stdout, at once."""
        self.write(escape(text).replace("\n", "\\n") + "\n")

    def write(self, text: str) -> None:
        """Text on stdout as it is, at once. A closed stdout ends the process as SIGPIPE does.

        Raises RawkubeError when it cannot be written (a full disk).
        """
        self.data(_encode(text))

    def data(self, data: bytes) -> None:
        """Bytes on stdout as they are, at once; else as write()."""
        try:
            _write_all(self._stdout, data)
        except BrokenPipeError:
            die_of(signal.SIGPIPE)
        except OSError as error:
            raise RawkubeError(f"write stdout: {(error.strerror or str(error)).lower()}") from None

    def note(self, text: str) -> None:
        """One line on stderr. A closed stderr is no reason to stop."""
        self._error(escape(text) + "\n")

    def warning(self, text: str) -> None:
        """A server's warning, each text once, with kubectl's colours on a terminal."""
        if text not in self._warned:
            self._warned.add(text)
            label = "\x1b[33;1mWarning:\x1b[0m" if self._colour() else "Warning:"
            self._error(f"{label} {escape(text)}\n")

    def errors(self, errors: Sequence[RawkubeError]) -> None:
        """Errors on stderr: what rawkube adds first, kubectl's own words last."""
        details: Iterable[str] = dict.fromkeys(line for error in errors for line in error.detail)
        self._error("".join(f"{escape(line)}\n" for line in details) + escape(error_text(errors)))

    @property
    def terminal(self) -> bool:
        """Whether stdout is a terminal on which the cursor can be moved."""
        return self._stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")

    @property
    def coloured(self) -> bool:
        """Whether stdout is a terminal that shows colours to somebody who wants them."""
        return _shows_colours(self._stdout)

    def _colour(self) -> bool:
        return _shows_colours(self._stderr)

    def _error(self, text: str) -> None:
        try:
            _write_all(self._stderr, _encode(text))
        except OSError:
            pass


def _shows_colours(stream: BinaryIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM", "") not in ("", "dumb")


def _binary(stream: object) -> BinaryIO:
    """The bytes below a text stream; a stream that is closed (`>&-`) takes everything and keeps nothing.

    Without its buffer: what could not be written would be tried again, in vain, when Python ends.
    """
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        return open(os.devnull, "wb", buffering=0)  # noqa: PTH123
    unbuffered: BinaryIO = getattr(buffer, "raw", buffer)
    return unbuffered


def _write_all(stream: BinaryIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written: int | None = stream.write(rest)
        if written is None:  # somebody has made the terminal or pipe that is shared with them non-blocking
            import select

            select.select([], [stream], [])
        rest = rest[written or 0 :]
    stream.flush()


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell and UTF-8 cannot: as in Go
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text).encode()


def die_of(number: int) -> NoReturn:
    """End this process by a signal's default action, so that the caller sees what a compiled program shows."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
