"""The two streams of a command: bytes as they are, text made safe, nothing buffered, a closed stdout a quiet end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from typing import BinaryIO, NoReturn

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
        self.write(escape(text) + "\n")

    def write(self, text: str) -> None:
        """Text on stdout as it is, at once. A closed stdout ends the process as SIGPIPE does."""
        try:
            self._stdout.write(_encode(text))
            self._stdout.flush()
        except BrokenPipeError:
            die_of(signal.SIGPIPE)

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

    def _colour(self) -> bool:
        return self._stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM", "") not in ("", "dumb")

    def _error(self, text: str) -> None:
        try:
            self._stderr.write(_encode(text))
            self._stderr.flush()
        except OSError:
            pass


def _binary(stream: object) -> BinaryIO:
    """The bytes below a text stream; a stream that is closed (`>&-`) takes everything and keeps nothing."""
    buffer = getattr(stream, "buffer", None)
    return buffer if buffer is not None else open(os.devnull, "wb")  # noqa: PTH123


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def die_of(number: int) -> NoReturn:
    """End this process by a signal's default action, so that the caller sees what a compiled program shows."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
