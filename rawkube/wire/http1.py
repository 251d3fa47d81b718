"""Pure: the client's side of HTTP/1.1 (RFC 9112). A request → bytes; bytes → an answer's head, its data, its end.

    head = encode("GET", "/version", [("Host", "example")], b"")
    reader = Reader(limit=65536)
    reader.expect("GET")
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    reader.next()  # Head(status=200, …), then Data(b"{}", …), then END

h11 can do this too, is used wherever rawkube is the server or reads what others sent, and is what the tests compare
this with. It is not used here because its import takes longer than a whole `rollout status` needs for the rest.
What is refused is what h11 refuses: a client that is more lenient than its neighbours can be lied to (RFC 9112,
section 11.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from rawkube._typing import NamedTuple

_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_NOT_IN_VALUE = frozenset(b"\x00\n\x0b\x0c\r")
_BLANK = b" \t"
_HEX = frozenset(b"0123456789abcdefABCDEF")
_LONGEST_SIZE = 20  # digits of a chunk's size, as of a Content-Length


class Invalid(Exception):
    """A request that cannot be sent. The text names what is wrong, and never a value."""


class Malformed(Exception):
    """An answer that is no HTTP/1.1. `place`: `status line`, `header`, `body`. The text never quotes it."""

    def __init__(self, text: str, place: str) -> None:
        super().__init__(text)
        self.place = place


class Cut(Exception):
    """The connection ended before the answer did."""


class Head(NamedTuple):
    """The head of an answer. `headers`: (name in lower case, value), as Latin-1 text, in order."""

    status: int
    reason: str
    headers: list[tuple[str, str]]


class Data(NamedTuple):
    """A piece of the body. `chunk_start`, `chunk_end`: whether an HTTP chunk begins or ends with it."""

    data: bytes
    chunk_start: bool = False
    chunk_end: bool = False


class _End:
    """The end of an answer."""


END = _End()


# Requests


def encode(method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes = b"") -> tuple[bytes, bytes]:
    """The head of a request, and its body as it is sent (in one chunk, if the headers say `chunked`).

    A Content-Length is the caller's to give. Raises Invalid.
    """
    if not _is_token(method) or not target or any(not "!" <= c <= "~" for c in target):
        raise Invalid(f"net/http: invalid method or request target of a {method!a} request")
    pairs = [(_name(name), _value(name, value)) for name, value in headers]
    # RFC 9110, section 7.2: Host first.
    pairs.sort(key=lambda pair: pair[0].lower() != b"host")
    lines = [f"{method} {target} HTTP/1.1".encode("ascii"), *(b"%b: %b" % pair for pair in pairs), b"", b""]
    return b"\r\n".join(lines), _framed(pairs, body)


def _framed(pairs: Sequence[tuple[bytes, bytes]], body: bytes) -> bytes:
    named = {name.lower(): value for name, value in pairs}
    if (coding := named.get(b"transfer-encoding")) is not None:
        if coding.lower() != b"chunked" or b"content-length" in named:
            raise Invalid('net/http: invalid header field value for "Transfer-Encoding"')
        return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    length = named.get(b"content-length", b"0")
    if not length.isdigit() or int(length[:_LONGEST_SIZE]) != len(body):
        raise Invalid('net/http: invalid header field value for "Content-Length"')
    return body


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and _TOKEN.issuperset(text.encode("ascii"))


def _name(name: str) -> bytes:
    if not _is_token(name):
        raise Invalid(f"net/http: invalid header field name {name!a}")
    return name.encode("ascii")


def _value(name: str, value: str) -> bytes:
    try:
        raw = value.encode("utf-8")
    except UnicodeError:
        raw = b"\n"
    if not _NOT_IN_VALUE.isdisjoint(raw) or raw.strip(_BLANK) != raw:
        raise Invalid(f'net/http: invalid header field value for "{name}"')
    return raw


# Answers


class Reader:
    """Reads the answers that come on one connection. `limit`: the most bytes of a head, chunk size or trailer."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0  # no end of a head is before it
        self._eof = False
        self._state = "idle"  # head, length, chunk size, chunk, chunk end, trailer, rest, over
        self._left = 0
        self._fresh = False  # no data of the present chunk has been given
        self._method = ""
        self._upgrade = False
        self.keep_alive = True

    @property
    def rest(self) -> bytes:
        """What came behind the end of the answer."""
        return bytes(self._buffer)

    def expect(self, method: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        """A request was sent: its answer comes next."""
        self._method = method
        named = [(name.lower(), value) for name, value in headers]
        self._upgrade = any(name == "upgrade" for name, _ in named)
        self.keep_alive = self.keep_alive and not _says_close(named)
        self._state = "head"
        self._searched = 0

    def feed(self, data: bytes) -> None:
        """Bytes of the server; none: the end of the stream."""
        self._buffer += data
        self._eof = not data

    def next(self) -> Head | Data | _End | None:
        """What comes next; None: more bytes are needed. Raises Malformed, Cut."""
        found = self._head() if self._state == "head" else self._body()
        if found is None and self._state not in ("idle", "over"):
            if len(self._buffer) > self._limit:
                raise Malformed("Receive buffer too long", "body" if self._state != "head" else "header")
            if self._eof:
                raise Cut
        return found

    # The head

    def _head(self) -> Head | None:
        lines = self._lines()
        if lines is None:
            return None
        if not lines:
            raise Malformed("no response line received", "status line")
        version, status, reason = _status_line(lines[0])
        headers = _headers(lines[1:])
        self._frame(version, status, headers)
        return Head(status, reason, headers)

    def _lines(self) -> list[bytes] | None:
        """The lines before the next blank one, taken out of the buffer; none: that comes at once."""
        buffer = self._buffer
        for start in (b"\n", b"\r\n"):
            if buffer.startswith(start):
                del buffer[: len(start)]
                return []
        since = max(0, self._searched - 2)
        end, size = buffer.find(b"\n\r\n", since), 3
        # No further than that: of many short heads in one read each would look through all the rest.
        if (bare := buffer.find(b"\n\n", since, end + 1 if end >= 0 else len(buffer))) >= 0:
            end, size = bare, 2
        if end < 0:
            self._searched = len(buffer)
            return None
        behind = end + size
        lines = [bytes(line[:-1] if line.endswith(b"\r") else line) for line in buffer[:end].split(b"\n")]
        del buffer[:behind]
        self._searched = 0
        return lines

    def _frame(self, version: bytes, status: int, headers: list[tuple[str, str]]) -> None:
        """How the body ends (RFC 9112, section 6.3), and whether the connection does with it (9.3)."""
        if status == 101:
            if not self._upgrade:
                raise Malformed("101 Switching Protocols to a request that did not ask for it", "header")
            self._state = "over"
            return
        if status < 200:
            return
        self.keep_alive = self.keep_alive and version >= b"1.1" and not _says_close(headers)
        named = dict(reversed(headers))
        if self._method == "HEAD" or status in (204, 304):
            self._state, self._left = "length", 0
        elif "transfer-encoding" in named:
            self._state = "chunk size"
        elif "content-length" in named:
            self._state, self._left = "length", int(named["content-length"])
        else:
            self._state, self.keep_alive = "rest", False

    # The body

    def _body(self) -> Data | _End | None:
        state = self._state
        if state == "length":
            return self._take() if self._left else self._end()
        if state == "rest":
            self._left = len(self._buffer)
            if self._left:
                return self._take()
            return self._end() if self._eof else None
        if state in ("idle", "over"):
            return None
        return self._chunked()

    def _chunked(self) -> Data | _End | None:
        while True:
            if self._state == "chunk size":
                if not self._chunk_size():
                    return None
            elif self._state == "chunk":
                return self._chunk()
            elif self._state == "chunk end":
                if not self._chunk_end():
                    return None
            else:
                lines = self._lines()
                if lines is None:
                    return None
                _headers(lines)
                return self._end()

    def _end(self) -> _End:
        self._state = "over"
        return END

    def _take(self) -> Data | None:
        """As much of what is left as is there."""
        buffer = self._buffer
        if not buffer:
            return None
        if len(buffer) <= self._left:
            data = bytes(buffer)
            buffer.clear()
        else:
            with memoryview(buffer) as view:
                data = bytes(view[: self._left])
            del buffer[: self._left]
        self._left -= len(data)
        return Data(data)

    def _chunk_size(self) -> bool:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            return False
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        size, extension, _ = line.partition(b";")
        size = size if extension else size.rstrip(_BLANK)
        if not size or len(size) > _LONGEST_SIZE or not _HEX.issuperset(size) or b"\n" in line:
            raise Malformed("illegal chunk header", "body")
        self._left = int(size, 16)
        self._state, self._fresh = ("chunk", True) if self._left else ("trailer", False)
        return True

    def _chunk(self) -> Data | None:
        data = self._take()
        if data is None:
            return None
        start, self._fresh = self._fresh, False
        if not self._left:
            self._state, self._left = "chunk end", 2
        return Data(data.data, start, self._state == "chunk end")

    def _chunk_end(self) -> bool:
        piece = bytes(self._buffer[: self._left])
        if not b"\r\n"[2 - self._left :].startswith(piece):
            raise Malformed("malformed chunk footer", "body")
        del self._buffer[: len(piece)]
        self._left -= len(piece)
        if not self._left:
            self._state = "chunk size"
        return not self._left


def _status_line(line: bytes) -> tuple[bytes, int, str]:
    """Version (`1.1`), code and reason (RFC 9112, section 4); a missing reason, with its blank, is forgiven."""
    protocol, version, code, blank, reason = line[:5], line[5:8], line[9:12], line[12:13], line[13:]
    sound = (
        protocol == b"HTTP/"
        and version[:1].isdigit()
        and version[1:2] == b"."
        and version[2:].isdigit()
        and line[8:9] == b" "
        and len(code) == 3
        and code.isdigit()
        and int(code) >= 100
        and blank in (b"", b" ")
        and _NOT_IN_VALUE.isdisjoint(reason)
    )
    if not sound:
        raise Malformed("illegal status line", "status line")
    return version, int(code), reason.decode("latin-1")


def _headers(lines: Sequence[bytes]) -> list[tuple[str, str]]:
    headers: list[tuple[str, str]] = []
    for line in _unfolded(lines):
        name, colon, value = line.partition(b":")
        value = value.strip(_BLANK)
        if not colon or not name or not _TOKEN.issuperset(name) or not _NOT_IN_VALUE.isdisjoint(value):
            raise Malformed("illegal header line", "header")
        headers.append((name.decode("ascii").lower(), value.decode("latin-1")))
    return _checked(headers)


def _unfolded(lines: Sequence[bytes]) -> list[bytes]:
    """Each header in one line (RFC 9112, section 5.2)."""
    found: list[list[bytes]] = []
    for line in lines:
        if line[:1] not in (b" ", b"\t"):
            found.append([line])
        elif not found:
            raise Malformed("continuation line at start of headers", "header")
        else:
            found[-1].append(line.lstrip(_BLANK))
    return [b" ".join(parts) for parts in found]


def _checked(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers, those that frame a body once each (RFC 9112, sections 6.1 and 6.3)."""
    lengths = {part.strip() for name, value in headers if name == "content-length" for part in value.split(",")}
    codings = [value.lower() for name, value in headers if name == "transfer-encoding"]
    if codings and codings != ["chunked"]:
        raise Malformed("Only one Transfer-Encoding, chunked, is supported", "header")
    if not lengths:
        return headers
    if len(lengths) > 1:
        raise Malformed("conflicting Content-Length headers", "header")
    length = lengths.pop()
    if not length.isascii() or not length.isdigit() or len(length) > _LONGEST_SIZE:
        raise Malformed("bad Content-Length", "header")
    at = next(at for at, (name, _) in enumerate(headers) if name == "content-length")
    checked = [pair for pair in headers if pair[0] != "content-length"]
    checked.insert(at, ("content-length", length))
    return checked


def _says_close(headers: Sequence[tuple[str, str]]) -> bool:
    said = (part.strip() for name, value in headers if name == "connection" for part in value.lower().split(","))
    return "close" in said
