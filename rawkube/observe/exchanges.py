"""Pure: the pieces of recorded connections → what was asked, and what was answered when.

HTTP/1.1 (RFC 9112) is read by h11, a fresh state machine for each message, so that one broken message spoils
no other. What cannot be read as HTTP is kept as the bytes that it was: a fault is part of a recording.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import h11

from rawkube._typing import NamedTuple
from rawkube.observe.chunks import Chunk, Source, Stored, StoredPieces, last_delay
from rawkube.observe.recording import Piece

__all__ = [
    "CLOSED",
    "COMPLETE",
    "OPEN",
    "RESET",
    "Answer",
    "Chunk",
    "Exchange",
    "Headers",
    "head_of",
    "read_exchanges",
]

MAX_HEAD = 1024 * 1024

COMPLETE = "complete"  # the answer came whole, the connection may carry the next one
OPEN = "open"  # the client left, or the recording ends, before the answer did
CLOSED = "closed"  # the server closed the connection at the end, or in the middle
RESET = "reset"  # the server reset the connection

Headers = tuple[tuple[str, str], ...]


class Answer(NamedTuple):
    """What the server sent.

    `status` is 0 where no readable head came. `raw` is what was on the wire, head included, cut as it came;
    empty where it must be framed anew. `body` is the payload without chunked framing, still gzip'd if it was.
    `ends` is one of COMPLETE, OPEN, CLOSED, RESET, `end` the seconds from the request to it.
    """

    status: int
    reason: str
    headers: Headers
    raw: Sequence[Chunk]
    body: Sequence[Chunk]
    ends: str
    end: float

    def header(self, name: str) -> str:
        """The first header of that name (lower case), or an empty text."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def content_type(self) -> str:
        """The whole Content-Type with its parameters, in lower case."""
        return self.header("content-type").lower()


class Exchange(NamedTuple):
    """A request and its answer. `line` and `started` (seconds) tell where its recording has it.

    `session` holds the pieces of both sides that followed a 101 answer.
    """

    conn: int
    line: int
    started: float
    method: str
    target: str
    headers: Headers
    body: bytes
    answer: Answer
    session: Sequence[Piece] = ()


def read_exchanges(pieces: Iterable[Piece], source: Source | None = None) -> list[Exchange]:
    """Every exchange of every connection, in the order of the requests.

    `source`: where the pieces come from, if their bytes are to stay there; bodies of requests are empty then. Passed
    over: a client that did not speak HTTP/1.1, and whatever follows a client's own end.
    """
    conversations: dict[int, _Conversation] = {}
    for piece in pieces:
        conversation = conversations.get(piece.conn)
        if conversation is None:
            conversation = conversations[piece.conn] = _Conversation(source)
        conversation.add(piece)
    found = [e for conversation in conversations.values() for e in conversation.finish()]
    return sorted(found, key=lambda e: (e.line, e.started))


def head_of(event: h11.Request | h11.Response | h11.InformationalResponse) -> Headers:
    """The headers of a message with their names as they were written."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items())


class _RequestReader:
    """The client's bytes → requests, one h11 machine a request."""

    def __init__(self, *, bodies: bool) -> None:
        self._bodies = bodies
        self._fresh(b"")

    def _fresh(self, rest: bytes) -> None:
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self.head: h11.Request | None = None
        self._body = bytearray()
        self.empty = not rest
        if rest:
            self._http.receive_data(rest)

    def feed(self, data: bytes) -> Iterator[tuple[h11.Request, bytes]]:
        """Whole requests with their bodies. Raises h11.RemoteProtocolError."""
        self._http.receive_data(data)
        self.empty = False
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Request):
                self.head = event
            elif isinstance(event, h11.Data):
                self._body += event.data if self._bodies else b""
            elif isinstance(event, h11.EndOfMessage) and self.head is not None:
                yield self.head, bytes(self._body)
                self._fresh(self._http.trailing_data[0])
                if self.empty:
                    return
            else:
                return

    def cut(self) -> tuple[h11.Request, bytes] | None:
        """What came of a request whose length no longer fits (it was rewritten), and start anew."""
        rest = self._http.trailing_data[0] if self._bodies else b""
        found = None if self.head is None else (self.head, bytes(self._body) + rest)
        self._fresh(b"")
        return found


class _AnswerReader:
    """The server's bytes → one answer."""

    def __init__(self, request: h11.Request, source: Source | None) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        # The length of the request's body is of no consequence to its answer; its upgrade is.
        kept = [(n, v) for n, v in request.headers if n in (b"host", b"upgrade", b"connection")]
        if not any(name == b"host" for name, _ in kept):
            kept.append((b"host", b"unknown"))
        self._http.send(h11.Request(method=request.method, target=request.target, headers=kept))
        self._http.send(h11.EndOfMessage())
        self.head: h11.Response | h11.InformationalResponse | None = None
        self.raw: list[Chunk] | Stored = [] if source is None else Stored(source)
        self.body: list[Chunk] | Stored = [] if source is None else Stored(source)
        self.broken = self.whole = self.redacted = self.upgraded = self._fits = False

    def feed(self, data: bytes, delay: float) -> bytes | None:
        """Take bytes; what is left of them when the answer is whole, else None."""
        if self.broken:
            self.raw.append(Chunk(delay, data, False))
            return None
        self._http.receive_data(data)
        between_chunks = True
        try:
            while (event := self._http.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Data):
                    self.body.append(Chunk(delay, bytes(event.data)))
                    between_chunks = event.chunk_end
                elif isinstance(event, h11.InformationalResponse) and event.status_code != 101:
                    data = self._http.trailing_data[0]
                    self.raw.clear()
                elif isinstance(event, (h11.Response, h11.InformationalResponse)):
                    self.head = event
                    self.upgraded = event.status_code == 101
                if isinstance(event, h11.EndOfMessage) or self.upgraded:
                    return self._done(data, delay)
        except h11.RemoteProtocolError:
            self.broken = True
        if data:
            ends = between_chunks and data.endswith(b"\r\n") and not self.broken
            self.raw.append(Chunk(delay, data, ends))
            self._fits = ends and self.head is not None and _is_chunked(self.head)
        return None

    def _done(self, data: bytes, delay: float) -> bytes:
        self.whole = True
        rest = self._http.trailing_data[0]
        if used := data[: len(data) - len(rest)]:
            self.raw.append(Chunk(delay, used))
        return rest

    def end_of_input(self) -> None:
        """The server has closed: an answer without a length ends here (RFC 9112, section 6.3)."""
        try:
            self._http.receive_data(b"")
            self.whole = isinstance(self._http.next_event(), h11.EndOfMessage)
        except h11.RemoteProtocolError:
            pass

    def answer(self, ends: str, end: float) -> Answer:
        if self.redacted and not self.whole and not self._fits and self.raw:
            return _rewritten(tuple(self.raw), ends, end)
        head = self.head
        return Answer(
            status=0 if head is None else head.status_code,
            reason="" if head is None else head.reason.decode("latin-1"),
            headers=() if head is None else head_of(head),
            raw=_finished(self.raw),
            body=_finished(self.body),
            ends=ends,
            end=end,
        )


def _is_chunked(head: h11.Response | h11.InformationalResponse) -> bool:
    return any(name == b"transfer-encoding" for name, _ in head.headers)


def _finished(chunks: list[Chunk] | Stored) -> Sequence[Chunk]:
    return tuple(chunks) if isinstance(chunks, list) else chunks


class _Asked:
    """A request whose answer is not whole yet."""

    def __init__(self, piece: Piece, request: h11.Request, body: bytes, source: Source | None) -> None:
        self.body = body
        self.line, self.conn, self.t = piece.line, piece.conn, piece.t
        self.request = request
        self.reader = _AnswerReader(request, source)
        self.session: list[Piece] | StoredPieces = [] if source is None else StoredPieces(source)

    def delay(self, piece: Piece) -> float:
        return max(0.0, piece.t - self.t)

    def exchange(self, ends: str, end: float) -> Exchange:
        return Exchange(
            conn=self.conn,
            line=self.line,
            started=self.t,
            method=self.request.method.decode("latin-1"),
            target=self.request.target.decode("latin-1"),
            headers=head_of(self.request),
            body=self.body,
            answer=self.reader.answer(ends, end),
            session=tuple(self.session) if isinstance(self.session, list) else self.session,
        )


class _Conversation:
    """One connection. Requests wait in line for their answers, as on a pipelined connection."""

    def __init__(self, source: Source | None) -> None:
        self._source = source
        self._requests = _RequestReader(bodies=source is None)
        self._waiting: deque[_Asked] = deque()
        self._found: list[Exchange] = []
        self._upgraded: _Asked | None = None
        self._redacted_request = False
        self._over = False
        self._t = 0.0

    def add(self, piece: Piece) -> None:
        if self._upgraded is not None:
            self._upgraded.session.append(piece)
        elif not self._over:
            self._t = piece.t
            (self._client if piece.side == "client" else self._server)(piece)

    def finish(self) -> list[Exchange]:
        """Every exchange; what still waits for its answer stays open."""
        if self._upgraded is not None:
            self._found.append(self._upgraded.exchange(COMPLETE, last_delay(self._upgraded.reader.raw)))
            self._upgraded = None
        self._end(OPEN)
        return self._found

    def _client(self, piece: Piece) -> None:
        if piece.data:
            self._settle_rewritten()
            self._redacted_request |= piece.redacted
            try:
                for request, body in self._requests.feed(piece.data):
                    self._waiting.append(_Asked(piece, request, body, self._source))
            except h11.RemoteProtocolError:
                if not self._redacted_request:
                    self._over = True
                self._requests.cut()
        if piece.eof or piece.error:
            self._end(OPEN)

    def _server(self, piece: Piece) -> None:
        self._complete_rewritten_request(piece)
        rest: bytes | None = piece.data
        while rest and self._waiting:
            asked = self._waiting[0]
            asked.reader.redacted |= piece.redacted
            rest = asked.reader.feed(rest, asked.delay(piece))
            if rest is not None:
                self._whole(asked, piece, rest)
        if piece.eof or piece.error:
            if self._waiting:
                self._waiting[0].reader.end_of_input()
            self._end(RESET if "Reset" in piece.error else CLOSED)

    def _whole(self, asked: _Asked, piece: Piece, rest: bytes) -> None:
        self._waiting.popleft()
        if asked.reader.upgraded:
            self._upgraded = asked
            self._waiting.clear()
            if rest or piece.eof or piece.error:
                asked.session.append(piece._replace(data=rest))
        else:
            self._found.append(asked.exchange(COMPLETE, asked.delay(piece)))

    def _settle_rewritten(self) -> None:
        """A rewritten answer may be shorter than it says: it ends where the client goes on."""
        if self._waiting and self._waiting[0].reader.redacted and self._waiting[0].reader.raw:
            asked = self._waiting.popleft()
            self._found.append(asked.exchange(COMPLETE, last_delay(asked.reader.raw)))

    def _complete_rewritten_request(self, piece: Piece) -> None:
        """A rewritten request may be shorter than it says: it ends where the server answers."""
        if self._redacted_request and not self._requests.empty:
            cut = self._requests.cut()
            if cut and not self._waiting:
                self._waiting.append(_Asked(piece, *cut, self._source))
        if piece.data:
            self._redacted_request = False

    def _end(self, ends: str) -> None:
        self._over = True
        while self._waiting:
            asked = self._waiting.popleft()
            self._found.append(asked.exchange(ends, max(0.0, self._t - asked.t)))


_CHUNK_SIZE = re.compile(rb"(?:^|\r\n)([0-9A-Fa-f]{1,8})(?:;[^\r\n]*)?\r\n")


def _rewritten(raw: Sequence[Chunk], ends: str, end: float) -> Answer:
    """An answer whose framing no longer fits: what its head and the places of its chunks still tell."""
    data = b"".join(chunk.data for chunk in raw)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    words = [*first.split(" ", 2), "", ""]
    headers = tuple((n.strip(), v.strip()) for n, colon, v in (line.partition(":") for line in lines) if colon)
    chunked = any(n.lower() == "transfer-encoding" for n, _ in headers)
    payloads = _payloads(body) if chunked else [(len(body), body)]
    return Answer(
        status=int(words[1][:9]) if words[1].isdecimal() else 0,
        reason=words[2],
        headers=headers,
        raw=(),
        body=tuple(Chunk(_delay_at(raw, len(data) - len(body) + at), payload) for at, payload in payloads),
        ends=ends,
        end=end,
    )


def _payloads(body: bytes) -> list[tuple[int, bytes]]:
    """Payloads between chunk sizes, each with the offset of its end. JSON has no CR LF of its own."""
    sizes = list(_CHUNK_SIZE.finditer(body))
    found = []
    for i, size in enumerate(sizes):
        stop = sizes[i + 1].start() if i + 1 < len(sizes) else len(body)
        found.append((stop, body[size.end() : stop].removesuffix(b"\r\n")))
    return [(at, payload) for at, payload in found if payload]


def _delay_at(raw: Sequence[Chunk], offset: int) -> float:
    passed = 0
    for chunk in raw:
        passed += len(chunk.data)
        if passed >= offset:
            return chunk.delay
    return raw[-1].delay
