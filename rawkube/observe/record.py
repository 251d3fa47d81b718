"""Writes recordings of wire traffic, format `rawkube-wire/1` (see `recording.py`), as it happens.

A line is one write, so a recording is whole up to its last line whatever becomes of the program. The file is the
owner's alone (0600). What comes in was redacted where it was told (`wire/transcript.py`).
"""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import threading
from collections.abc import Callable

from rawkube.errors import RecordingError
from rawkube.gotext import one_line
from rawkube.observe.recording import FORMAT
from rawkube.wire.tap import Event

# What makes bytes no text: C0 but TAB, LF and CR, DEL, and C1, which no reader of the file could see.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def line_of(conn: int, t: float, side: str, data: bytes, *, redacted: bool = False) -> dict[str, object]:
    """One piece as it stands in a recording. Pure."""
    line: dict[str, object] = {"conn": conn, "t": round(t, 6), "from": side}
    text = _text(data)
    if text is None:
        line["base64"] = base64.b64encode(data).decode("ascii")
    else:
        line["text"] = text
    if redacted:
        line["redacted"] = True
    return line


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


class Recorder:
    """An open recording that is written. Safe for several threads; a context manager.

    `path`: is made, or emptied. `client`, `server`, `note`: the description. `on_failure(text)` is told once if the
    file cannot be written any more; recording then stops, and what is recorded goes on. Raises RecordingError where
    the file cannot be made, or not even the first line be written.
    """

    def __init__(
        self,
        path: str,
        *,
        client: str = "",
        server: str = "",
        note: str = "",
        on_failure: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.path = path
        failures: list[str] = []
        self._on_failure: Callable[[str], None] = failures.append
        self._lock = threading.Lock()
        self._file = make_private(path)
        self._write({"format": FORMAT, "server": server, "client": client, "note": note})
        if failures:
            raise RecordingError(failures[0])
        self._on_failure = on_failure

    def told(self, event: Event) -> None:
        """As a consumer of a tap that tells the wire's bytes."""
        data = event.data
        if event.kind == "bytes":
            self.piece(event.conn, event.t, data["side"], data["data"], redacted=data["redacted"])
        elif event.kind == "eof":
            self.end(event.conn, event.t, data["side"], data["error"])

    def piece(self, conn: int, t: float, side: str, data: bytes, *, redacted: bool = False) -> None:
        """What one side sent; nothing for no bytes, unless that is what was left of a secret."""
        if data or redacted:
            self._write(line_of(conn, t, side, data, redacted=redacted))

    def end(self, conn: int, t: float, side: str, error: str = "") -> None:
        """One side ended; `error`: how it broke (the name of an exception), empty where it did not."""
        line: dict[str, object] = {"conn": conn, "t": round(t, 6), "from": side}
        self._write(line | ({"error": error} if error else {"eof": True}))

    def _write(self, line: dict[str, object]) -> None:
        data = json.dumps(line, ensure_ascii=True, separators=(", ", ": ")).encode("ascii") + b"\n"
        with self._lock:
            if self._file < 0:
                return
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self._file, rest) :]
            except OSError as error:
                self._close()
                self._on_failure(f"recording {one_line(self.path)}: {(error.strerror or str(error)).lower()}")

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def close(self) -> None:
        """Nothing more is written. Twice is harmless."""
        with self._lock:
            self._close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_private(path: str) -> int:
    """A file that is made, or emptied, for its owner alone (0600): its descriptor. Raises RecordingError."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise RecordingError(f"open {one_line(path)}: {_why_not(path, error)}") from None
    # An older file of that name may be open to others. A device stays as it is: /dev/null belongs to everybody.
    if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(descriptor).st_mode):
        try:
            os.fchmod(descriptor, 0o600)
        except OSError:  # a file of somebody else
            pass
    return descriptor


def _why_not(path: str, error: OSError) -> str:
    folder = os.path.dirname(path)  # noqa: PTH120 - of a path that ends with a slash, all of it
    if folder and not os.path.exists(folder):  # noqa: PTH110
        return f"there is no folder {one_line(folder)}"
    return (error.strerror or str(error)).lower()
