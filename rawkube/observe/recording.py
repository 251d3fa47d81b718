"""Reads recorded wire traffic, format `rawkube-wire/1`: line by line, holding one line at a time.

JSON Lines, ASCII, split at 0x0A only. The first line describes the recording, each further one is a piece of
what passed, in order, cut where it was read:

    {"format": "rawkube-wire/1", "server": "v1.36.2", "client": "kubectl v1.37.1", "note": "…"}
    {"conn": 1, "t": 0.0123, "from": "client", "text": "GET /api HTTP/1.1\\r\\n…"}
    {"conn": 1, "t": 0.0140, "from": "server", "base64": "…"}
    {"conn": 1, "t": 9.1, "from": "server", "eof": true}

A piece holds `text` or `base64`, `eof` (that side ended), `error` (how that side broke), `redacted` (the
piece was rewritten); unknown members are passed over. No message ever shows what a line holds.
"""

from __future__ import annotations

import binascii
import json
import os
from collections.abc import Iterator
from types import TracebackType

from rawkube._typing import IO, Any, NamedTuple, Protocol, Self
from rawkube.errors import RecordingError
from rawkube.gotext import one_line

FORMAT = "rawkube-wire/1"
MAX_LINE = 64 * 1024 * 1024


class Description(NamedTuple):
    """The first line: who spoke with whom, and what about. Empty where the recording does not say."""

    server: str = ""
    client: str = ""
    note: str = ""


class Piece(NamedTuple):
    """What one read brought. `line` is its line in the file, `t` seconds since the start of the recording.

    `side` is who sent it (`client` or `server`). `eof` and `error` tell that this side ended, and how it
    broke (the name of an exception, such as `ConnectionResetError`). `redacted`: the bytes were rewritten.
    """

    line: int
    conn: int
    t: float
    side: str
    data: bytes = b""
    eof: bool = False
    error: str = ""
    redacted: bool = False


class SupportsReadline(Protocol):
    """What a recording is read from: the part of a binary file that is used."""

    def readline(self, size: int = -1, /) -> bytes:
        """The next line with its end, at most `size` bytes of it; empty at the end of the file."""

    def close(self) -> None:
        """Nothing more is read."""


class Recording:
    """An open recording: `description`, then an iterator of `Piece`, once; a context manager.

    `place` is where in the file (bytes) the line begins that was read last. `cut` is true after the last piece if the
    file ends in the middle of a line (its writer was stopped): that line is passed over. Raises RecordingError, with
    file and line, for everything else that is not as the format says.

    `file`: an open file to read instead of opening `path`, which is its name then. `several`: another recording may
    follow in the same file (`cat A B`): `part` counts them from 1, `description` is that of the present one.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, file: SupportsReadline | None = None, several: bool = False
    ) -> None:
        self.path = os.fspath(path)
        self.cut = False
        self.part = 1
        self._several = several
        self._line = 0
        self.place = self._read = 0
        self._file: SupportsReadline = file or self._open()
        try:
            self.description = self._read_description()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. May be called again."""
        self._file.close()

    def __iter__(self) -> Iterator[Piece]:
        while line := self._next():
            value = self._decode(line)
            if value is None:
                continue
            if self._several and value.get("format") == FORMAT and "conn" not in value:
                self.part += 1
                self.description = _described(value)
                continue
            yield self._piece(value)

    def piece_of(self, line: bytes) -> Piece:
        """A line that was read before, once more. Raises RecordingError where it is no piece."""
        return self._piece(self._decode(line) or {})

    def _open(self) -> IO[bytes]:
        try:
            return open(self.path, "rb")  # noqa: PTH123 - kept open while pieces are read
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise RecordingError(f"open {one_line(self.path)}: {reason}") from None

    def _wrong(self, what: str) -> RecordingError:
        return RecordingError(f"{one_line(self.path)}:{self._line}: {what}")

    def _next(self) -> bytes:
        """The next line that is not blank, b"" at the end."""
        while True:
            self._line += 1
            try:
                line = self._file.readline(MAX_LINE + 1)
            except OSError as error:
                raise self._wrong((error.strerror or str(error)).lower()) from None
            self.place, self._read = self._read, self._read + len(line)
            if len(line) > MAX_LINE:
                raise self._wrong(f"a line longer than {MAX_LINE} bytes")
            if not line or line.strip():
                return line

    def _read_description(self) -> Description:
        line = self._next()
        if not line:
            raise RecordingError(f"{one_line(self.path)}: an empty file, not a recording ({FORMAT})")
        try:
            value = json.loads(line)
            named = value["format"]
        except (ValueError, TypeError, LookupError, RecursionError):
            raise self._wrong(f"not a recording: the first line does not say {FORMAT}") from None
        if named != FORMAT:
            raise self._wrong(f"format {one_line(str(named))[:60]}, this version reads {FORMAT}")
        return _described(value)

    def _decode(self, line: bytes) -> dict[str, Any] | None:
        """The object of a line, None for a last line that was cut."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if not line.endswith(b"\n"):
                self.cut = True
                return None
            raise self._wrong("not a JSON object (a cut or damaged line)") from None
        if not isinstance(value, dict):
            raise self._wrong("not a JSON object")
        return value

    def _piece(self, value: dict[str, Any]) -> Piece:
        conn, t, side = value.get("conn"), value.get("t"), value.get("from")
        if type(conn) is not int:
            raise self._wrong("conn is no whole number")
        if type(t) not in (int, float) or not 0 <= t < 1e12:  # type: ignore[operator]
            raise self._wrong("t is no number of seconds")
        if side not in ("client", "server"):
            raise self._wrong('from is neither "client" nor "server"')
        eof, error = value.get("eof", False), value.get("error", "")
        if not isinstance(eof, bool) or not isinstance(error, str):
            raise self._wrong("eof is no boolean, or error no string")
        if not (eof or error or "text" in value or "base64" in value):
            raise self._wrong("neither text, base64, eof nor error")
        redacted = bool(value.get("redacted", False))
        return Piece(self._line, conn, float(t), side, self._data(value), eof, error, redacted)  # type: ignore[arg-type]

    def _data(self, value: dict[str, Any]) -> bytes:
        if "text" in value and "base64" in value:
            raise self._wrong("both text and base64")
        try:
            if "base64" in value:
                return binascii.a2b_base64(value["base64"], strict_mode=True)
            text: str = value.get("text", "")
            return text.encode()
        except (ValueError, TypeError, AttributeError):
            name = "base64" if "base64" in value else "text"
            raise self._wrong(f"{name} cannot be decoded") from None


def _described(value: dict[str, Any]) -> Description:
    return Description(*(_text(value.get(key)) for key in Description._fields))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
