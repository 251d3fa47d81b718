"""One HTTP/1.1 connection: heads, bodies, bounds, deadlines, upgrades."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import time
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.errors import ConnectionLost, DeadlineExceeded, ProtocolError, TLSError
from rawkube.wire.dial import Endpoint, Timeouts, TLSOptions, dial
from rawkube.wire.http import HEAD_LIMIT, Connection, Request
from rawkube.wire.stream import Stream
from rawkube.wire.tap import Event, Tap
from tests.support.examples import examples
from tests.support.rows import looped
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import Authority

GET = Request("GET", "/")
AWAITING = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
READING = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
QUICK = Timeouts(first_byte=0.2, silence=0.2, send=0.2)


@contextlib.contextmanager
def connected(
    handler: Callable[[Peer], None], *, tap: Tap | None = None, host: str = "api.test"
) -> Iterator[Connection]:
    with ScriptedServer(handler) as server:
        connection = Connection(dial(Endpoint("127.0.0.1", server.port), conn=1), host=host, tap=tap)
        try:
            yield connection
        finally:
            connection.close()


def says(*pieces: bytes, then: Callable[[Peer], None] | None = None) -> Callable[[Peer], None]:
    """A handler that answers each request with these bytes, in writes of their own, and then hangs up."""

    def handler(peer: Peer) -> None:
        peer.read_request()
        for piece in pieces:
            peer.send(piece)
        if then is not None:
            then(peer)

    return handler


def ok(body: bytes = b"", *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*pieces: bytes, headers: str = "") -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces)
    return f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{headers}\r\n".encode() + body + b"0\r\n\r\n"


# The request


def test_the_request_as_sent() -> None:
    seen: list[bytes] = []

    def handler(peer: Peer) -> None:
        data = b""
        while not data.endswith(b"{}"):
            data += peer.read()
        seen.append(data)
        peer.send(ok())

    with connected(handler) as connection:
        request = Request("POST", "/a%20b?x=1", [("Accept", "a/b"), ("Impersonate-User", "Jürgen")], b"{}")
        connection.request(request).read()
    assert seen == [
        "POST /a%20b?x=1 HTTP/1.1\r\nHost: api.test\r\nAccept: a/b\r\nImpersonate-User: Jürgen\r\n"
        "Content-Length: 2\r\n\r\n{}".encode()
    ]


@looped(
    ("request_", "lines"),
    [
        (GET, ["Host: api.test"]),
        (Request("GET", "/", [("host", "other.test")]), ["host: other.test"]),
        (Request("POST", "/"), ["Host: api.test", "Content-Length: 0"]),
        (Request("DELETE", "/"), ["Host: api.test"]),
    ],
)
def test_added_headers(request_: Request, lines: list[str]) -> None:
    seen: list[list[str]] = []

    def handler(peer: Peer) -> None:
        seen.append([f"{name}: {value}" for name, value in peer.read_request().headers])
        peer.send(ok())

    with connected(handler) as connection:
        connection.request(request_).read()
    assert seen == [lines]


@looped(
    ("request_", "text"),
    [
        (
            Request("GET", "/", [("Authorization", "Bearer s3cret\n")]),
            'net/http: invalid header field value for "Authorization"',
        ),
        (Request("GET", "/", [("A b", "s3cret")]), "net/http: invalid header field name 'A b'"),
        (Request("GET", "/", [("Ä", "s3cret")]), "net/http: invalid header field name '\\xc4'"),
        (Request("GET", "/s3cret x"), "net/http: invalid method or request target of a 'GET' request"),
        (Request("GET", "/", [("X", "\udcff s3cret")]), 'net/http: invalid header field value for "X"'),
    ],
)
def test_what_cannot_be_sent_is_told_without_its_value(request_: Request, text: str) -> None:
    with connected(Peer.stall) as connection:
        with pytest.raises(ProtocolError) as caught:
            connection.request(request_)
        assert str(caught.value) == text
        assert caught.value.__cause__ is None
        assert not connection.idle


# The head of the answer


def test_head() -> None:
    head = b"HTTP/1.1 418 I'm a teapot\r\nContent-Type: Application/JSON; charset=utf-8\r\nX: 1\r\nx: 2\r\n"
    with connected(says(head + b"Content-Length: 2\r\n\r\n{}")) as connection:
        response = connection.request(GET)
        assert (response.status, response.reason) == (418, "I'm a teapot")
        assert response.headers[1:3] == [("x", "1"), ("x", "2")]
        assert response.header("X") == "1, 2"
        assert response.header("Y") == ""
        assert response.content_type == "application/json"
        before, body, after = response.complete, response.read(), response.complete
        assert (before, body, after) == (False, b"{}", True)
        assert response.read() == b""


def test_a_byte_at_a_time() -> None:
    data = chunked(b"hello ", b"world")
    with connected(says(*(data[i : i + 1] for i in range(len(data))))) as connection:
        assert connection.request(GET).read() == b"hello world"


def test_informational_answers_are_skipped() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    with connected(says(early, early + ok(b"x"))) as connection:
        response = connection.request(GET)
        assert (response.status, response.read()) == (200, b"x")


def test_endless_informational_answers_end() -> None:
    flood = b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000
    with (
        connected(says(flood, then=Peer.stall)) as connection,
        pytest.raises(ProtocolError, match="exceeded"),
    ):
        connection.request(GET)


@pytest.mark.parametrize("ends", [True, False])
def test_a_head_that_is_too_large(ends: bool) -> None:
    head = b"HTTP/1.1 200 OK\r\nX: " + b"x" * HEAD_LIMIT + (b"\r\nContent-Length: 0\r\n\r\n" if ends else b"")
    with connected(says(head, then=Peer.stall)) as connection:
        with pytest.raises(ProtocolError) as caught:
            connection.request(GET)
        assert str(caught.value) == "net/http: server response headers exceeded 262144 bytes; aborted"


def test_a_head_that_is_large() -> None:
    value = b"x" * (HEAD_LIMIT - 100)
    with connected(says(b"HTTP/1.1 200 OK\r\nX: " + value + b"\r\nContent-Length: 2\r\n\r\n{}")) as connection:
        response = connection.request(GET)
        assert len(response.header("x")) == len(value)
        assert response.read() == b"{}"


@looped(
    ("data", "text"),
    [
        (b"\x15\x03\x01\x00\x02\x02\x46", r'malformed HTTP response "\x15\x03\x01\x00\x02\x02F"'),
        (b"SSH-2.0-x\r\n", r'malformed HTTP response "SSH-2.0-x"'),
        (b"<html>\n" + b"y" * 100, 'malformed HTTP response "<html>"'),
        (b"HTTP/1.1 abc OK\r\n\r\n", r'malformed HTTP response "HTTP/1.1 abc OK"'),
        (b"HTTP/1.1 200 OK\r\nbad header s3cret\r\n\r\n", "malformed HTTP response (illegal header line)"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: s3cret\r\n\r\n",
            "malformed HTTP response (bad Content-Length)",
        ),
        (
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "malformed HTTP response (101 Switching Protocols to a request that did not ask for it)",
        ),
        (b'"\\', r'malformed HTTP response "\"\\"'),
    ],
)
def test_what_is_no_http(data: bytes, text: str) -> None:
    with connected(says(data, then=Peer.stall)) as connection:
        with pytest.raises(ProtocolError) as caught:
            connection.request(GET)
        quoted = "net/http: HTTP/1.x transport connection broken: " if '"' in text else ""
        assert str(caught.value) == quoted + text
        assert not connection.idle


@pytest.mark.parametrize(
    ("data", "answered", "text"),
    [(b"", False, "EOF"), (b"H", True, "unexpected EOF"), (b"HTTP/1.1 200 OK\r\nX", True, "unexpected EOF")],
)
def test_the_server_hangs_up(data: bytes, answered: bool, text: str) -> None:
    with connected(says(data)) as connection:
        with pytest.raises(ConnectionLost) as caught:
            connection.request(GET)
        assert (str(caught.value), caught.value.answered) == (text, answered)


def test_reset_before_the_answer() -> None:
    with connected(says(then=Peer.reset)) as connection:
        with pytest.raises(ConnectionLost, match=r"^read tcp .*->.*: read: connection reset by peer$") as caught:
            connection.request(GET)
        assert not caught.value.answered


# Deadlines


def dribble(data: bytes, pause: float) -> Callable[[Peer], None]:
    def more(peer: Peer) -> None:
        for i in range(len(data)):
            peer.send(data[i : i + 1])
            if peer.stopping.wait(pause):
                return

    return more


SLOW_HEAD = [says(then=Peer.stall), says(then=dribble(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100, 0.02))]


@pytest.mark.parametrize("handler", SLOW_HEAD, ids=["silent", "a byte now and then"])
def test_first_byte(handler: Callable[[Peer], None]) -> None:
    with connected(handler) as connection:
        start = time.monotonic()
        with pytest.raises(DeadlineExceeded, match=r"^net/http: timeout awaiting response headers$") as caught:
            connection.request(GET, timeouts=QUICK)
        assert 0.2 <= time.monotonic() - start < 5
        assert caught.value.step == "first byte"
        assert not connection.idle


@pytest.mark.parametrize("handler", SLOW_HEAD, ids=["silent", "a byte now and then"])
def test_deadline_before_the_head(handler: Callable[[Peer], None]) -> None:
    with connected(handler) as connection:
        with pytest.raises(DeadlineExceeded) as caught:
            connection.request(GET, deadline=time.monotonic() + 0.2)
        assert (str(caught.value), caught.value.step) == (AWAITING, "request")


def test_silence_in_the_body() -> None:
    with connected(says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", then=Peer.stall)) as connection:
        response = connection.request(GET)
        response.set_silence(0.2)
        chunks = response.chunks()
        assert next(chunks) == b"abc"
        with pytest.raises(DeadlineExceeded, match=r"^read tcp .*: i/o timeout$") as caught:
            next(chunks)
        assert caught.value.step == "silence"
        assert caught.value.detail == ("nothing came for 0.2 s",)
        with pytest.raises(DeadlineExceeded):  # and so for whoever asks again
            response.read()
        assert not connection.idle


def test_a_slow_body_is_not_silent() -> None:
    body = b"x" * 20
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n"
    with connected(says(head, then=dribble(body, 0.03))) as connection:
        assert connection.request(GET, timeouts=Timeouts(silence=0.5)).read() == body


def endless(peer: Peer) -> None:
    peer.start_chunked()
    while not peer.stopping.is_set():
        peer.chunk(bytes(65536))


def slow_body(peer: Peer) -> None:
    peer.start_chunked()
    dribble(b"1\r\nx\r\n" * 500, 0.01)(peer)


def silent_body(peer: Peer) -> None:
    peer.start_chunked()
    peer.stall()


@pytest.mark.parametrize("body", [silent_body, slow_body, endless])
def test_deadline_in_the_body(body: Callable[[Peer], None]) -> None:
    with connected(says(then=body)) as connection:
        response = connection.request(GET, deadline=time.monotonic() + 0.3)
        with pytest.raises(DeadlineExceeded) as caught:
            for _ in response.chunks():
                pass
        assert (str(caught.value), caught.value.step) == (READING, "request")


@pytest.mark.parametrize("by_deadline", [False, True])
def test_send(by_deadline: bool) -> None:
    def no_reader(peer: Peer) -> None:
        peer.stopping.wait(10)

    with ScriptedServer(no_reader) as server:
        connection = Connection(dial(Endpoint("127.0.0.1", server.port)), host="h")
        body = bytes(64 * 1024 * 1024)
        deadline = time.monotonic() + 0.2 if by_deadline else None
        limits = Timeouts() if by_deadline else QUICK
        with pytest.raises(DeadlineExceeded) as caught:
            connection.request(Request("POST", "/", body=body), timeouts=limits, deadline=deadline)
    assert caught.value.step == ("request" if by_deadline else "send")


# Bodies


BODIES = {
    "Content-Length": (ok(b"hello"), b"hello"),
    "Content-Length of 0": (ok(), b""),
    "chunked": (chunked(b"hel", b"lo"), b"hello"),
    "chunked, empty": (chunked(), b""),
    "chunk extensions and trailers": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b'3;a=1;b="x;y"\r\nhel\r\n2;c\r\nlo\r\n0;last\r\nX-Sum: 1\r\nY: 2\r\n\r\n',
        b"hello",
    ),
    "upper-case and padded chunk sizes": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n000A\r\n0123456789\r\n0\r\n\r\n",
        b"0123456789",
    ),
    "until the connection ends": (b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello"),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    "HTTP/1.0 until the end": (b"HTTP/1.0 200 OK\r\n\r\nhello", b"hello"),
    "no reason phrase": (b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", b"hello"),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "304": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b""),
    "gzip": (ok(gzip.compress(b"hello"), "Content-Encoding: gzip"), b"hello"),
    "x-gzip": (ok(gzip.compress(b"hello"), "Content-Encoding: X-GZip"), b"hello"),
    "deflate": (ok(zlib.compress(b"hello"), "Content-Encoding: deflate"), b"hello"),
    "identity": (ok(b"hello", "Content-Encoding: identity"), b"hello"),
    "gzip, chunked": (chunked(gzip.compress(b"hello"), headers="Content-Encoding: gzip\r\n"), b"hello"),
    "two gzip members": (
        ok(gzip.compress(b"hel") + gzip.compress(b"lo"), "Content-Encoding: gzip"),
        b"hello",
    ),
    "gzip that is empty": (ok(b"", "Content-Encoding: gzip"), b""),
}


@looped("case", BODIES.values(), ids=list(BODIES))
def test_bodies(case: tuple[bytes, bytes]) -> None:
    data, body = case
    with connected(says(data)) as connection:
        response = connection.request(GET)
        assert b"".join(response.chunks()) == body
        assert response.complete


def test_head_has_no_body() -> None:
    with connected(says(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", then=Peer.stall)) as connection:
        response = connection.request(Request("HEAD", "/"))
        assert response.complete
        assert response.read() == b""
        assert connection.idle


SHORT = {
    "Content-Length": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
    "chunked, between chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "chunked, in a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
    "chunked, in a chunk's head": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5",
    "chunked, before the last line": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    "gzip": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"hello"),
}  # fmt: skip


@looped("data", SHORT.values(), ids=list(SHORT))
def test_a_body_that_is_cut_is_delivered_first(data: bytes) -> None:
    with connected(says(data)) as connection:
        response = connection.request(GET)
        got = b""
        with pytest.raises(ConnectionLost, match=r"^unexpected EOF$") as caught:
            for piece in response.chunks():
                got += piece
        assert got == b"hello"
        assert caught.value.answered
        assert not response.complete
        assert not connection.idle


def test_reset_in_the_body() -> None:
    def reset(peer: Peer) -> None:
        peer.read()
        peer.reset()

    with connected(says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", then=reset)) as connection:
        response = connection.request(GET)
        chunks = response.chunks()
        assert next(chunks) == b"hello"
        connection.stream.send(b"x", timeout=5)
        with pytest.raises(ConnectionLost, match=r"connection reset by peer$") as caught:
            next(chunks)
        assert caught.value.answered


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"zz\r\nhello", "malformed chunked encoding (illegal chunk header)"),
        (b"5\r\nhelloXX", "malformed chunked encoding (malformed chunk footer)"),
        (b"5;" + b"x" * HEAD_LIMIT, "malformed chunked encoding (Receive buffer too long)"),
    ],
)
def test_malformed_chunks(data: bytes, text: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connected(says(head + data, then=Peer.stall)) as connection:
        response = connection.request(GET)
        with pytest.raises(ProtocolError) as caught:
            response.read()
        assert str(caught.value) == text


@looped(
    ("encoding", "body", "text"),
    [
        ("br", b"x", "unsupported Content-Encoding 'br'"),
        ("gzip, gzip", b"x", "unsupported Content-Encoding 'gzip, gzip'"),
        ("gzip", b"hello", "gzip: invalid header"),
        ("gzip", gzip.compress(b"hello")[:-4], "gzip: unexpected EOF"),
        ("gzip", gzip.compress(b"hello")[:-8] + bytes(8), "gzip: invalid checksum"),
        ("gzip", gzip.compress(b"hello") + b"garbage", "gzip: invalid header"),
        ("deflate", zlib.compress(b"hello")[:-1], "zlib: unexpected EOF"),
        ("deflate", zlib.compress(b"hello") + b"x", "zlib: data after the end of the stream"),
    ],
    ids=["br", "two", "plain", "cut", "wrong sum", "garbage after it", "zlib, cut", "zlib, garbage after it"],
)
def test_codings_that_are_none(encoding: str, body: bytes, text: str) -> None:
    with connected(says(ok(body, f"Content-Encoding: {encoding}"))) as connection:
        response = connection.request(GET)
        with pytest.raises(ProtocolError) as caught:
            response.read()
        assert str(caught.value) == text


def test_the_bound_of_a_whole_body() -> None:
    with connected(says(ok(bytes(1001)), then=Peer.stall)) as connection:
        response = connection.request(GET)
        with pytest.raises(ProtocolError, match=r"^the answer's body is larger than 1000 bytes$"):
            response.read(1000)
    bomb = gzip.compress(bytes(50_000_000))
    with connected(says(ok(bomb, "Content-Encoding: gzip"), then=Peer.stall)) as connection:
        with pytest.raises(ProtocolError, match="larger than 1000000 bytes"):
            connection.request(GET).read(1_000_000)
        assert not connection.idle


@settings(max_examples=examples(25), deadline=None)
@given(
    pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    cuts=st.lists(st.integers(0, 400), max_size=12),
    coding=st.sampled_from(["", "gzip", "deflate"]),
    framing=st.sampled_from(["chunked", "length", "close"]),
)
def test_any_split_gives_the_same_body(pieces: list[bytes], cuts: list[int], coding: str, framing: str) -> None:
    """The answer's bytes come in arbitrary pieces; the body does not depend on them."""
    body = b"".join(pieces)
    sent = {"": body, "gzip": gzip.compress(body), "deflate": zlib.compress(body)}[coding]
    extra = [f"Content-Encoding: {coding}"] if coding else []
    if framing == "chunked":
        data = chunked(*(sent[i : i + 7] for i in range(0, len(sent), 7)), headers="".join(f"{e}\r\n" for e in extra))
    elif framing == "length":
        data = ok(sent, *extra)
    else:
        data = "\r\n".join(["HTTP/1.1 200 OK", *extra]).encode() + b"\r\n\r\n" + sent
    at = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    wire = FakeStream([data[a:b] for a, b in itertools.pairwise(at)])
    response = Connection(wire, host="h").request(GET)
    assert response.read() == body
    assert response.complete


class FakeStream(Stream):
    """A stream that gives what it is told, each piece in a read of its own."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.conn = 1
        self.server = "fake:1"

    def recv_by(self, limit: int, end: float | None) -> bytes:
        if not self.pieces:
            return b""
        piece = self.pieces.pop(0)
        if len(piece) > limit:
            self.pieces.insert(0, piece[limit:])
        return piece[:limit]

    def send_by(self, data: bytes | memoryview, end: float | None) -> bool:
        return True

    def close(self) -> None:
        pass


def test_tiny_reads_are_linear() -> None:
    """Ten times the bytes must not cost a hundred times the time."""

    def seconds(count: int) -> float:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % count
        response = Connection(FakeStream([head, *([b"x"] * count)]), host="h")
        start = time.thread_time()
        assert len(response.request(GET).read()) == count
        return time.thread_time() - start

    seconds(100)
    assert seconds(20_000) < 60 * max(seconds(2_000), 0.005)


# Keep-alive


def test_one_connection_serves_several_requests() -> None:
    released: list[Connection] = []

    def handler(peer: Peer) -> None:
        for body in (b"one", b"two"):
            peer.read_request()
            peer.send(ok(body))

    with ScriptedServer(handler) as server:
        stream = dial(Endpoint("127.0.0.1", server.port))
        connection = Connection(stream, host="h", released=released.append)
        response = connection.request(GET)
        with pytest.raises(ConnectionLost, match="in use"):
            connection.request(GET)
        during, body, after = connection.idle, response.read(), connection.idle
        assert (during, body, after) == (False, b"one", True)
        assert connection.request(GET).read() == b"two"
        assert released == [connection, connection]
        connection.close()


@looped(
    "data",
    [
        ok(b"x", "Connection: close"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\n\r\nx",
        ok(b"x") + b"HTTP/1.1 200 OK\r\n",
        ok(b"x") + b"garbage",
    ],
    ids=["Connection: close", "HTTP/1.0", "until the end", "a second answer", "garbage after the answer"],
)
def test_not_kept_alive(data: bytes) -> None:
    with connected(says(data)) as connection:
        assert connection.request(GET).read() == b"x"
        assert not connection.idle


def test_closing_an_unread_answer_closes_the_connection() -> None:
    with connected(says(ok(b"hello"), then=Peer.stall)) as connection:
        with connection.request(GET) as response:
            pass
        assert not connection.idle
        with pytest.raises(ConnectionLost, match=r"^the response was closed$"):
            response.read()


def test_closing_a_read_answer_keeps_the_connection() -> None:
    with connected(says(ok(b"hello"), then=Peer.stall)) as connection:
        with connection.request(GET) as response:
            response.read()
        assert connection.idle


def test_an_answer_that_came_before_the_request_was_sent() -> None:
    """A server may refuse a large body early and hang up: its words count, not the broken pipe."""

    def refuse(peer: Peer) -> None:
        peer.read()
        peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        peer.stall()

    with connected(refuse) as connection:
        response = connection.request(Request("POST", "/", body=bytes(32 * 1024 * 1024)))
        assert (response.status, response.read()) == (413, b"no")


# Upgrades


UPGRADE = Request("GET", "/exec", [("Connection", "Upgrade"), ("Upgrade", "websocket")])
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


@pytest.mark.parametrize("left_over", [b"", b"\x82\x01", bytes(100_000)])
def test_upgrade(left_over: bytes) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(SWITCH + left_over)
        peer.send(peer.read().upper())

    with connected(handler) as connection:
        response = connection.request(UPGRADE)
        assert (response.status, response.header("upgrade"), response.complete) == (101, "websocket", True)
        stream, first = response.upgraded()
        got = bytearray(first)
        while len(got) < len(left_over):
            got += stream.recv(65536, timeout=5)
        assert got == left_over
        stream.send(b"abc", timeout=5)
        assert stream.recv(10, timeout=5) == b"ABC"
        response.close()
        connection.close()
        assert stream.fileno() != -1  # it is the caller's
        stream.close()


def test_an_upgrade_that_nobody_takes_is_closed() -> None:
    with connected(says(SWITCH, then=Peer.stall)) as connection:
        with connection.request(UPGRADE):
            pass
        with pytest.raises(ConnectionLost):
            _ = connection.stream


def test_a_refused_upgrade_is_an_ordinary_answer() -> None:
    refusal = chunked(b"container ", b"not found").replace(b"200 OK", b"400 Bad Request")
    with connected(says(refusal, then=Peer.stall)) as connection:
        response = connection.request(UPGRADE)
        assert (response.status, response.read()) == (400, b"container not found")
        with pytest.raises(ProtocolError, match="did not switch protocols: 400 Bad Request"):
            response.upgraded()
        assert connection.idle


# TLS


def test_a_client_certificate_that_is_required_and_missing() -> None:
    """In TLS 1.3 the alert comes when the client believes to be connected: it must not become a broken pipe."""
    ca, clients = Authority(), Authority("clients")
    with ScriptedServer(Peer.stall, tls=ca.server("127.0.0.1", clients=clients)) as server:
        for _ in range(5):
            stream = dial(Endpoint("127.0.0.1", server.port, TLSOptions("127.0.0.1", ca.pem)))
            with pytest.raises(TLSError, match=r"^remote error: tls: certificate required$"):
                Connection(stream, host="h").request(GET)


def test_interrupt() -> None:
    with connected(says(then=silent_body)) as connection:
        response = connection.request(GET)
        response.interrupt()
        with pytest.raises(ConnectionLost, match=r"^unexpected EOF$"):
            response.read()
        response.interrupt()  # of a closed connection: nothing


# The tap


def test_events() -> None:
    events: list[Event] = []
    data = chunked(b"hel", b"lo")
    half = data.index(b"hel") + 2
    request = Request("GET", "/x?token=s3cret&y=1", [("Authorization", "Bearer s3cret")])

    def in_two(peer: Peer) -> None:
        peer.read_request()
        peer.send(data[:half])
        peer.read()
        peer.send(data[half:])

    with connected(in_two, tap=Tap(events.append)) as connection:
        response = connection.request(request)
        chunks = response.chunks()
        assert next(chunks) == b"he"
        connection.stream.send(b"go on", timeout=5)
        assert list(chunks) == [b"l", b"lo"]
    assert [(e.kind, e.conn) for e in events] == [
        ("request", 1),
        ("response", 1),
        ("chunk", 1),
        ("chunk", 1),
        ("chunk", 1),
        ("end", 1),
        ("close", 1),
    ]
    assert events[0].data == {
        "method": "GET",
        "target": "/x?token=<redacted>&y=1",
        "headers": [["Host", "api.test"], ["Authorization", "Bearer <redacted>"]],
    }
    assert events[1].data["status"] == 200
    assert events[1].data["headers"] == [["transfer-encoding", "chunked"]]
    assert [e.data for e in events[2:5]] == [
        {"size": 2, "start": True, "end": False},
        {"size": 1, "start": False, "end": True},
        {"size": 2, "start": True, "end": True},
    ]
    assert events[5].data["bytes"] == 5
    assert events[6].data == {"why": "closed"}
