"""Pure: heads of HTTP/1.1 messages, and where their bodies end (RFC 9112, sections 2 and 6).

For bytes that passed between others: nothing is refused, nothing is changed but what redacts a secret.
"""

from __future__ import annotations

from collections.abc import Callable

from rawkube.wire import redact

_HEX = frozenset(b"0123456789abcdefABCDEF")
_LONGEST_SIZE = 20  # digits of a chunk's size, or of a Content-Length


class Head:
    """A head, split at its lines."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        # A line may end without CR for many a reader (RFC 9112, section 2.2), and a secret stand behind it.
        self._lines = raw.split(b"\n")
        self.start = self._lines[0].removesuffix(b"\r").decode("latin-1")
        self._pairs = [_pair(line) for line in self._lines[1:]]

    def value(self, name: str) -> str:
        """The values of a header (lower case), joined."""
        return ", ".join(value for key, value in self._pairs if key.lower() == name)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(name, value) of each header, in order, as written."""
        return [pair for pair in self._pairs if pair[0]]

    def framing(self, unsaid: int) -> Framing:
        """How the body ends. `unsaid`: its length where the head does not tell (-1: until the connection closes)."""
        if "chunked" in self.value("transfer-encoding").lower():
            return Framing(-1, chunked=True)
        length = self.value("content-length").partition(",")[0].strip()
        known = length.isascii() and length.isdigit() and len(length) <= _LONGEST_SIZE
        return Framing(int(length) if known else unsaid)

    def redacted(self, length: int | None = None, *, without: frozenset[str] = frozenset()) -> tuple[bytes, bool]:
        """The head without secrets, and whether that makes a difference.

        `length`: the new Content-Length where there is one; `without`: headers (lower case) that are left out.
        """
        shown = [redact.target_line(self.start).encode("latin-1") + _line_end(self._lines[0])]
        for line, (name, value) in zip(self._lines[1:], self._pairs, strict=True):
            if name.lower() in without or (line[:1] in (b" ", b"\t") and line.strip()):
                continue  # a folded line may go on with a secret
            if name.lower() == "content-length" and length is not None:
                shown.append(f"{name}: {length}".encode("latin-1") + _line_end(line))
                continue
            masked = redact.headers([(name, value)])[0][1] if name else value
            shown.append(line if masked == value else f"{name}: {masked}".encode("latin-1") + _line_end(line))
        raw = b"\n".join(shown)
        return raw, raw != self.raw


def trailer(raw: bytes) -> tuple[bytes, bool]:
    """A trailer section without secrets (fields as in a head, RFC 9112, section 7.1.2), and whether they were there."""
    shown, changed = Head(b"\n" + raw).redacted()
    return shown[1:], changed


def _line_end(line: bytes) -> bytes:
    return b"\r" if line.endswith(b"\r") else b""


def _pair(line: bytes) -> tuple[str, str]:
    name, colon, value = line.decode("latin-1").partition(":")
    return (name, value.strip()) if colon else ("", "")


class Framing:
    """Where a body ends: after so many bytes, behind its last chunk, or (-1) with the connection.

    `trailer_at`: where in the bytes that were fed last the trailer section began, -1 if it did not.
    """

    def __init__(self, length: int, *, chunked: bool = False) -> None:
        self.chunked = chunked
        self.over = length == 0 and not chunked
        self.trailer_at = -1
        self._left = 0 if chunked else length
        self.until_the_end = self._left < 0
        self._line = bytearray()
        # Of a chunk: its size line, its data, the line end behind it; at last the trailer, or what is no size.
        self._part = "size"

    def feed(self, data: bytes, tell: Callable[[bytes], None] = lambda _: None) -> int:
        """Go through these bytes; gives how many belong to the body. `tell(bytes)` is given the payload."""
        if not self.chunked:
            used = len(data) if self._left < 0 else min(len(data), self._left)
            tell(data[:used])
            if self._left > 0:
                self._left -= used
                self.over = not self._left
            return used
        at = 0
        self.trailer_at = -1
        while at < len(data) and not self.over:
            before = self._part
            at = self._data(data, at, tell) if before == "data" else self._to_line_end(data, at)
            if self._part == "trailer" != before:
                self.trailer_at = at
        return at

    def _data(self, data: bytes, at: int, tell: Callable[[bytes], None]) -> int:
        piece = data[at : at + self._left]
        tell(piece)
        self._left -= len(piece)
        if not self._left:
            self._part = "end"
        return at + len(piece)

    def _to_line_end(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        stop = len(data) if end < 0 else end + 1
        self._line += data[at:stop]
        if end >= 0:
            line = bytes(self._line).strip()
            self._line.clear()
            self._ended(line)
        return stop

    def _ended(self, line: bytes) -> None:
        if self._part == "size":
            size = line.partition(b";")[0].strip()
            # What is no size ends the body, as 0 does, but what follows it is no trailer.
            is_size = _HEX.issuperset(size) and 0 < len(size) <= _LONGEST_SIZE
            self._left = int(size, 16) if is_size else 0
            self._part = "data" if self._left else "trailer" if is_size else "broken"
        elif self._part == "end":
            self._part = "size"
        elif not line:
            self.over = True
