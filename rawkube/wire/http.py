"""One HTTP/1.1 connection: a request, its answer's head, its body as it comes, an upgrade.

The protocol itself (RFC 9112) is http1.py's. This adds time limits, bounds, content codings, and the tap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from rawkube._typing import TYPE_CHECKING, NamedTuple, NoReturn, Self
from rawkube.errors import ConnectionLost, ProtocolError, TransportError
from rawkube.wire.deadline import READING_BODY, end_of, exceeded
from rawkube.wire.dial import Timeouts
from rawkube.wire.http1 import Cut, Data, Head, Invalid, Malformed, Reader, encode

if TYPE_CHECKING:
    from rawkube.wire.body import Inflater
    from rawkube.wire.stream import Stream
    from rawkube.wire.tap import Tap

# The largest head of an answer, in bytes, and with it the largest chunk header and trailer section.
HEAD_LIMIT = 256 * 1024

# How much of a whole body `Response.read` takes, in bytes, unless told otherwise.
BODY_LIMIT = 64 * 1024 * 1024

_HEAD_READ = 64 * 1024
_BODY_READ = 256 * 1024

# A body up to this size goes out in one write with its head.
_ONE_WRITE = 64 * 1024

_DEFAULT_TIMEOUTS = Timeouts()


class Request(NamedTuple):
    """One request. `target` is `path?query`, percent-encoded; Host and Content-Length are added."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""

    @property
    def is_upgrade(self) -> bool:
        """Whether it asks for another protocol (RFC 9110, section 7.8)."""
        return any(name.lower() == "upgrade" for name, _ in self.headers)


class Connection:
    """An HTTP/1.1 connection over a stream. One request at a time; not for several threads at once.

    `host`: the Host header. `by_proxy`: the value of `Proxy-Authorization` (may be empty) on a connection to a proxy
    that is sent the requests for `http://host` (RFC 9112, section 3.2.2: absolute form). `released(self)` is called
    when an answer was read to its end and the connection can serve another request.
    """

    def __init__(
        self,
        stream: Stream,
        *,
        host: str,
        by_proxy: str | None = None,
        tap: Tap | None = None,
        released: Callable[[Connection], None] | None = None,
    ) -> None:
        self._stream: Stream | None = stream
        self._host = host
        self._by_proxy = by_proxy
        self._tap = tap
        self._released = released
        self._reader = Reader(HEAD_LIMIT)
        self._busy = False
        self._broken: ConnectionLost | None = None  # while sending
        self._eof = False
        self._started = 0.0
        self._server = stream.server
        self.conn = stream.conn
        self.used = 0.0

    @property
    def idle(self) -> bool:
        """Whether it can serve a request: open, and no answer is being read."""
        return self._stream is not None and not self._busy

    def is_alive(self) -> bool:
        """Whether an idle connection is still open, and nothing came that nobody asked for. Never waits."""
        try:
            # A read, not a look at the socket: TLS 1.3 tickets make a socket readable that is quite alive.
            return self.idle and self.stream.recv_now(1) is None
        except TransportError:
            return False

    @property
    def stream(self) -> Stream:
        """The stream below. Raises ConnectionLost when closed."""
        if self._stream is None:
            raise ConnectionLost("use of closed network connection", server=self._server)
        return self._stream

    def close(self, why: str = "closed") -> None:
        """Close the connection. Twice is harmless."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
            if self._tap is not None:
                self._tap("close", self.conn, why=why)

    # A request and the head of its answer

    def request(
        self, request: Request, *, timeouts: Timeouts = _DEFAULT_TIMEOUTS, deadline: float | None = None
    ) -> Response:
        """Send a request and read the answer's head. `deadline` (monotonic) bounds all, the body included.

        The response must be read to its end or closed. Raises DeadlineExceeded (step `send`, `first byte` or
        `request`), ConnectionLost, ProtocolError, TLSError; the connection is closed then.
        """
        if not self.idle:
            raise ConnectionLost("the connection is closed or in use", server=self._server)
        self._busy = True
        try:
            return self._exchange(request, timeouts, deadline)
        except BaseException as error:
            self.close(str(error) or type(error).__name__)
            raise

    def _exchange(self, request: Request, timeouts: Timeouts, deadline: float | None) -> Response:
        pieces, pairs = self._encode(request)
        self._started = time.monotonic()
        if self._tap is not None:
            self._tell_request(request, pairs)
        self._broken = self._send(pieces, timeouts.send, deadline)
        try:
            head = self._read_head(end_of(timeouts.first_byte, deadline), deadline)
        except ConnectionLost as error:
            if self._broken is not None and not error.answered:
                raise self._broken from None
            raise
        response = Response(self, head, timeouts.silence, deadline)
        if self._tap is not None:
            self._tell_response(response)
        if request.method == "HEAD" or head.status in (204, 304) or response.header("content-length") == "0":
            response._pull()  # nothing can come: the connection is free at once
        return response

    def _encode(self, request: Request) -> tuple[list[bytes], list[tuple[str, str]]]:
        """The request as bytes, in one or more writes, and the headers as sent."""
        pairs = list(request.headers)
        names = {name.lower() for name, _ in pairs}
        if "host" not in names:
            pairs.insert(0, ("Host", self._host))
        target = request.target
        if self._by_proxy is not None:
            target = f"http://{self._host}{target}"
            if self._by_proxy:
                pairs.append(("Proxy-Authorization", self._by_proxy))
        has_body = request.body or request.method in ("POST", "PUT", "PATCH")
        if has_body and not names & {"content-length", "transfer-encoding"}:
            pairs.append(("Content-Length", str(len(request.body))))
        try:
            head, body = encode(request.method, target, pairs, request.body)
        except Invalid as error:
            raise ProtocolError(str(error), server=self._server) from None
        self._reader.expect(request.method, pairs)
        return [head + body] if len(body) <= _ONE_WRITE else [head, body], pairs

    def _send(self, pieces: list[bytes], limit: float, deadline: float | None) -> ConnectionLost | None:
        """Send all pieces. A connection lost meanwhile is no error yet: an answer may have come before."""
        end = end_of(limit, deadline)
        for piece in pieces:
            try:
                if not self.stream.send_by(piece, end):
                    text = f"write tcp {self.stream.names}: i/o timeout"
                    raise exceeded("send", text, deadline=deadline, server=self._server)
            except ConnectionLost as error:
                return error
        return None

    def _read_head(self, end: float, deadline: float | None) -> Head:
        """The head of the final answer, or of a 101."""
        got, first = 0, b""
        while True:
            head = self._next_event(first)
            if isinstance(head, Head):
                if head.status >= 200 or head.status == 101:
                    return head
                continue  # 100, 102, 103: the final answer follows (RFC 9110, section 15.2)
            data = self._read_for_head(min(_HEAD_READ, HEAD_LIMIT + 1 - got), bool(got), end, deadline)
            got += len(data)
            first = first or data[:64]
            if got > HEAD_LIMIT:
                text = f"net/http: server response headers exceeded {HEAD_LIMIT} bytes; aborted"
                raise ProtocolError(text, server=self._server)
            if not first.startswith(b"HTTP/"[: len(first)]):
                raise ProtocolError(_no_http(first), server=self._server)
            self._reader.feed(data)

    def _read_for_head(self, limit: int, answered: bool, end: float, deadline: float | None) -> bytes:
        try:
            data = self.stream.recv_by(limit, end)
        except ConnectionLost as error:
            error.answered = answered
            raise
        if data is None:
            text = "net/http: timeout awaiting response headers"
            raise exceeded("first byte", text, deadline=deadline, server=self._server)
        if not data:
            raise ConnectionLost("unexpected EOF" if answered else "EOF", answered=answered, server=self._server)
        return data

    def _next_event(self, first: bytes = b"") -> object:
        try:
            return self._reader.next()
        except Cut:
            raise ConnectionLost("unexpected EOF", answered=True, server=self._server) from None
        except Malformed as error:
            raise ProtocolError(_malformed(error, first), server=self._server) from None

    # The body; called by Response

    def _next_data(self, silence: float, deadline: float | None) -> Data | None:
        """The next piece of the body as it was sent, None at its end."""
        while True:
            event = self._next_event()
            if isinstance(event, Data):
                return event
            if event is not None:
                return None
            self._read_for_body(silence, deadline)

    def _read_for_body(self, silence: float, deadline: float | None) -> None:
        try:
            # An endless body that never makes anybody wait must not outlive the deadline either.
            late = deadline is not None and time.monotonic() >= deadline
            data = None if late else self.stream.recv_by(_BODY_READ, end_of(silence, deadline))
        except ConnectionLost as error:
            error.answered = True
            raise
        if data is None:
            raise exceeded(
                "silence",
                f"read tcp {self.stream.names}: i/o timeout",
                deadline=deadline,
                overall=READING_BODY,
                server=self._server,
                detail=[f"nothing came for {silence:g} s"],
            )
        self._eof = not data
        self._reader.feed(data)

    def _finished(self) -> None:
        """The answer was read to its end: free for another request, or closed."""
        if self._reader.keep_alive and not self._eof and self._broken is None:
            if self._reader.rest:
                self.close("the server sent more than one answer")
                return
            self._busy = False
            self.used = time.monotonic()
            if self._released is not None:
                self._released(self)
        else:
            self.close("not kept alive")

    def _take_over(self) -> tuple[Stream, bytes]:
        """The stream of another protocol, and the bytes of it that came with the 101."""
        stream, self._stream = self.stream, None
        return stream, self._reader.rest

    # The tap

    def _tell_request(self, request: Request, pairs: list[tuple[str, str]]) -> None:
        from rawkube.wire import redact

        assert self._tap is not None
        self._tap(
            "request",
            self.conn,
            method=request.method,
            target=redact.target(request.target),
            headers=redact.headers(pairs),
        )

    def _tell_response(self, response: Response) -> None:
        from rawkube.wire import redact

        assert self._tap is not None
        self._tap(
            "response",
            self.conn,
            status=response.status,
            reason=response.reason,
            headers=redact.headers(response.headers),
            seconds=time.monotonic() - self._started,
        )


class Response:
    """An answer: its head, and its body while it comes.

    `status`: the code. `reason`: its phrase, may be empty. `headers`: (name in lower case, value), in order.
    `complete`: whether the body was read to its end.
    """

    def __init__(
        self,
        connection: Connection,
        head: Head,
        silence: float,
        deadline: float | None,
    ) -> None:
        self.status = head.status
        self.reason = head.reason
        self.headers = head.headers
        # After a 101 no HTTP follows.
        self.complete = self.status == 101
        self.conn = connection.conn
        self._connection = connection
        self._silence = silence
        self._deadline = deadline
        self._inflater: Inflater | None = None
        self._is_plain = not self.header("content-encoding")
        self._failure: Exception | None = None
        self._received = 0

    def header(self, name: str) -> str:
        """The values of a header, joined with commas (RFC 9110, section 5.2); empty without one."""
        name = name.lower()
        return ", ".join(v for n, v in self.headers if n == name)

    @property
    def content_type(self) -> str:
        """The media type in lower case, without its parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()

    def set_silence(self, seconds: float) -> None:
        """How long each further wait for the body may take."""
        self._silence = seconds

    def chunks(self) -> Iterator[bytes]:
        """The body's bytes as they come, decoded, never empty.

        What came is delivered before an error is raised: ConnectionLost (`unexpected EOF`, a reset),
        DeadlineExceeded (step `silence` or `request`), ProtocolError, TLSError; the connection is closed
        then.
        """
        while (piece := self._pull()) is not None:
            yield piece

    def read(self, limit: int = BODY_LIMIT) -> bytes:
        """The whole (rest of the) body. Raises ProtocolError beyond `limit` bytes, and as `chunks`."""
        pieces, size = [], 0
        for piece in self.chunks():
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                self._fail(ProtocolError(f"the answer's body is larger than {limit} bytes"))
        return b"".join(pieces)

    def _pull(self) -> bytes | None:
        """The next piece of the decoded body, None at its end."""
        try:
            while True:
                if self._inflater is not None and (piece := self._inflater.take()):
                    return piece
                if self.complete:
                    return None
                if self._failure is not None:
                    raise self._failure
                if (data := self._next()) and self._is_plain:
                    return data
        except Exception as error:
            self._fail(error)

    def _next(self) -> bytes:
        """The next piece as sent (gzip is left in); b"" if it was the end, or went into the decoder."""
        event = self._connection._next_data(self._silence, self._deadline)
        if event is None:
            self._end()
            return b""
        self._received += len(event.data)
        if self._connection._tap is not None:
            self._connection._tap(
                "chunk", self.conn, size=len(event.data), start=event.chunk_start, end=event.chunk_end
            )
        if self._is_plain:
            return event.data
        if self._inflater is None:
            from rawkube.wire.body import inflater

            self._inflater = inflater(self.header("content-encoding"))
            self._is_plain = self._inflater is None
            if self._inflater is None:
                return event.data
        self._inflater.feed(event.data)
        return b""

    def _end(self) -> None:
        if self._inflater is not None:
            self._inflater.finish()
        self.complete = True
        connection = self._connection
        if connection._tap is not None:
            seconds = time.monotonic() - connection._started
            connection._tap("end", self.conn, bytes=self._received, seconds=seconds)
        connection._finished()

    def _fail(self, error: Exception) -> NoReturn:
        if not self.complete:
            self._failure = error
            self._connection.close(str(error))
        raise error

    def upgraded(self) -> tuple[Stream, bytes]:
        """After a 101: the stream, now the caller's, and the bytes of it that came with the 101."""
        if self.status != 101:
            raise ProtocolError(f"the server did not switch protocols: {self.status} {self.reason}")
        return self._connection._take_over()

    def interrupt(self) -> None:
        """From any thread: whoever reads this body sees the connection end."""
        if (stream := self._connection._stream) is not None:
            stream.interrupt()

    def close(self) -> None:
        """Done with it: a body that was not read to its end closes the connection. Twice is harmless."""
        if not self.complete or self.status == 101:
            if self._failure is None:
                self._failure = ConnectionLost("the response was closed", answered=True)
            unread = "the answer was not read to its end"
            self._connection.close("the upgraded connection is not used" if self.status == 101 else unread)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _malformed(error: Malformed, first: bytes) -> str:
    """What is wrong with an answer, without a quotation of it: that may be a cookie."""
    if error.place == "status line":
        return _no_http(first)
    if error.place == "body":
        return f"malformed chunked encoding ({error})"
    return f"malformed HTTP response ({error})"


def _no_http(first: bytes) -> str:
    """net/http's text for a first line that is no status line."""
    line = first.partition(b"\n")[0].rstrip(b"\r")
    return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response {_quoted(line)}"


def _quoted(data: bytes, limit: int = 60) -> str:
    """A Go string literal (`%q`) of at most `limit` characters' worth of the data."""
    shown = ""
    for byte in data:
        piece = _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}")
        if len(shown) + len(piece) > limit:
            break
        shown += piece
    return f'"{shown}"'


_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 92: "\\\\"}
