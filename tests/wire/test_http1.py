"""The client's side of HTTP/1.1: by examples, and beside h11 on bytes of all kinds, cut anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rawkube.wire.http1 import END, Cut, Data, Head, Invalid, Malformed, Reader, encode
from tests.support.rows import looped

LIMIT = 400
UPGRADE = [("Host", "x"), ("Connection", "Upgrade"), ("Upgrade", "websocket")]
PLAIN = [("Host", "x")]
CLOSING = [("Host", "x"), ("Connection", "x, Close")]

Story = list[object]


def ours(pieces: Iterable[bytes], method: str, headers: Sequence[tuple[str, str]]) -> Story:
    """What comes out: heads, the body's bytes with their chunks, the end; the kind of an error, if that is the end."""
    reader = Reader(LIMIT)
    reader.expect(method, headers)
    told: Story = []
    for piece in (*pieces, b""):
        reader.feed(piece)
        try:
            while (found := reader.next()) is not None:
                if found is END:
                    return [*told, "end", reader.keep_alive and bool(piece)]
                assert isinstance(found, Head | Data)
                _tell(told, found if isinstance(found, Head) else found.data)
                if isinstance(found, Head) and found.status == 101:
                    return [*told, "switched"]
        except Cut:
            return [*told, "cut"]
        except Malformed:
            return [*told, "malformed"]
    return [*told, "silent"]


def theirs(pieces: Iterable[bytes], method: str, headers: Sequence[tuple[str, str]]) -> Story:
    """The same by h11."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=LIMIT)
    connection.send(h11.Request(method=method, target="/", headers=list(headers)))
    connection.send(h11.EndOfMessage())
    told: Story = []
    try:
        for piece in (*pieces, b""):
            connection.receive_data(piece)
            while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.EndOfMessage):
                    return [*told, "end", connection.our_state is h11.DONE and bool(piece)]
                if isinstance(event, h11.ConnectionClosed):
                    return [*told, "cut"]
                assert isinstance(event, h11.Response | h11.InformationalResponse | h11.Data)
                _tell(told, bytes(event.data) if isinstance(event, h11.Data) else _head(event))
                if getattr(event, "status_code", 0) == 101:
                    return [*told, "switched"]
    except h11.RemoteProtocolError:
        return [*told, "malformed" if piece else "cut"]
    return [*told, "silent"]


def _head(event: h11.Response | h11.InformationalResponse) -> Head:
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers]
    return Head(event.status_code, event.reason.decode("latin-1"), pairs)


def _tell(told: Story, found: object) -> None:
    if isinstance(found, bytes) and told and isinstance(told[-1], bytes):
        told[-1] += found
    else:
        told.append(found)


def same(data: bytes, cuts: Iterable[int], method: str, headers: Sequence[tuple[str, str]]) -> None:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    pieces = [piece for start, end in pairwise(places) if (piece := data[start:end])]
    mine, reference = ours(pieces, method, headers), theirs(pieces, method, headers)
    if (mine[-1], reference[-1]) == ("cut", "malformed") or (mine[-1], reference[-1]) == ("malformed", "cut"):
        # An unfinished line is refused a little earlier by the one or by the other: never accepted.
        mine, reference = mine[:-1], reference[:-1]
    assert mine == reference, (pieces, method)


WORDS = [
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 101 Switching Protocols\r\n", b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 204 \r\n"),
    *(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\n", b"HTTP/1.1 503\r\n", b"HTTP/1.1 20 x\r\n"),
    *(b"Content-Length: 5\r\n", b"content-length: 5, 5\r\n", b"Content-Length: 6\r\n", b"Content-Length: -1\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"Connection: close\r\n", b"A: b\r\n c\r\n"),
    *(
        b"X:\x00\r\n",
        b"X : y\r\n",
        b"Set-Cookie: a\r\nSet-Cookie: b\r\n",
        b" folded\r\n",
        b"X: \xe9 \r\n",
        b"Y: a\x0bb\r\n",
    ),
    *(b"\r\n", b"\n", b"\r", b"hello", b"5\r\nhello\r\n", b"5;x=y\r\nhello\r\n", b"0\r\n\r\n", b"0\r\nT: x\r\n\r\n"),
    *(b"5 \r\nhel", b"lo\r\n", b"zz\r\n", b"fffffffffffffffffffff\r\n", b"5\r\nhelloXX", b"A: " + b"x" * 300 + b"\r\n"),
]
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
MESSAGES = st.lists(st.sampled_from(WORDS) | st.binary(max_size=8), max_size=9).map(b"".join)


@given(
    st.sampled_from([b"", HEAD, CHUNKED, HEAD + b"Content-Length: 7\r\n\r\n", HEAD + b"\r\n"]),
    MESSAGES,
    st.lists(st.integers(0, 10_000), max_size=12),
    st.sampled_from([("GET", PLAIN), ("GET", UPGRADE), ("HEAD", PLAIN), ("POST", CLOSING)]),
)
@example(b"HTTP/1.1 200 OK\nA: b\n\n", b"", [], ("GET", PLAIN))
@example(CHUNKED, b"0\r\n", [], ("GET", PLAIN))
@example(b"HTTP/1.1 101 x\r\n\r\n", b"", [], ("GET", PLAIN))
def test_beside_h11(start: bytes, data: bytes, cuts: list[int], request: tuple[str, list[tuple[str, str]]]) -> None:
    same(start + data, cuts, *request)


WHOLE = [
    HEAD + b"Content-Length: 5\r\n\r\nhello",
    CHUNKED + b"5\r\nhello\r\n6;x\r\n world\r\n0\r\nTrailer: x\r\n\r\nnext",
    b"HTTP/1.1 103 Early\r\nLink: a\r\n\r\n" + HEAD + b"A:\tb \r\n c\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
    HEAD + b"Content-Length: 5\r\n\r\nhel",
    CHUNKED + b"5\r\nhel",
]


@looped("data", WHOLE)
def test_cut_at_every_byte(data: bytes) -> None:
    whole = ours([data], "GET", PLAIN)
    assert isinstance(whole[0], Head) and whole[-1] not in ("malformed", "silent")
    for cut in range(1, len(data)):
        assert ours([data[:cut], data[cut:]], "GET", PLAIN) == whole
    assert ours([data[at : at + 1] for at in range(len(data))], "GET", PLAIN) == whole
    same(data, range(len(data)), "GET", PLAIN)


def test_chunks_and_what_comes_behind() -> None:
    reader = Reader(LIMIT)
    reader.expect("GET", PLAIN)
    reader.feed(CHUNKED + b"5\r\nhe")
    assert isinstance(reader.next(), Head)
    assert reader.next() == Data(b"he", chunk_start=True)
    assert reader.next() is None
    reader.feed(b"llo\r\n0\r\n\r\nHTTP")
    assert reader.next() == Data(b"llo", chunk_end=True)
    assert reader.next() is END
    assert (reader.next(), reader.rest, reader.keep_alive) == (None, b"HTTP", True)
    reader.expect("GET", PLAIN)
    reader.feed(b"/1.1 204 \r\n\r\n")
    assert reader.next() == Head(204, "", [])
    assert reader.next() is END


@looped(
    ("data", "text"),
    [
        (b"\r\n\r\n", "no response line received"),
        (b"HTTP/1.1 20 x\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 101 x\r\n\r\n", "101 Switching Protocols to a request that did not ask for it"),
        (HEAD + b"no field\r\n\r\n", "illegal header line"),
        (HEAD + b" folded\r\n\r\n", "continuation line at start of headers"),
        (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", "Only one Transfer-Encoding, chunked, is supported"),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "conflicting Content-Length headers"),
        (HEAD + b"Content-Length: -1\r\n\r\n", "bad Content-Length"),
        (CHUNKED + b"zz\r\n", "illegal chunk header"),
        (CHUNKED + b"5\r\nhelloXX", "malformed chunk footer"),
    ],
)
def test_what_is_malformed(data: bytes, text: str) -> None:
    reader = Reader(LIMIT)
    reader.expect("GET", PLAIN)
    reader.feed(data)
    with pytest.raises(Malformed) as raised:
        while reader.next() is not None:
            pass
    assert str(raised.value) == text
    same(data, [], "GET", PLAIN)


def test_another_protocol_begins_behind_a_101() -> None:
    reader = Reader(LIMIT)
    reader.expect("GET", UPGRADE)
    reader.feed(b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x82\x01a")
    assert reader.next() == Head(101, "Switching Protocols", [])
    assert (reader.next(), reader.rest) == (None, b"\x82\x01a")


def test_a_size_without_an_end_is_bounded() -> None:
    reader = Reader(LIMIT)
    reader.expect("GET")
    reader.feed(CHUNKED + b"5;" + b"x" * LIMIT)
    assert isinstance(reader.next(), Head)
    with pytest.raises(Malformed, match="Receive buffer too long"):
        reader.next()


def test_a_request_as_bytes() -> None:
    head, body = encode("POST", "/a?b=c", [("X", "é"), ("host", "h"), ("Content-Length", "2")], b"{}")
    assert (head, body) == (
        b"POST /a?b=c HTTP/1.1\r\nhost: h\r\nX: \xc3\xa9\r\nContent-Length: 2\r\n\r\n",
        b"{}",
    )
    assert encode("PUT", "/", [("Transfer-Encoding", "Chunked")], b"abc")[1] == b"3\r\nabc\r\n0\r\n\r\n"
    assert encode("PUT", "/", [("Transfer-Encoding", "chunked")])[1] == b"0\r\n\r\n"


TOO_MUCH = ("POST", "/", [("Content-Length", "1")], b"ab")
BOTH = ("POST", "/", [("Content-Length", "2"), ("Transfer-Encoding", "chunked")], b"ab")


@looped(
    ("request_", "text"),
    [
        (("G T", "/", [], b""), "net/http: invalid method or request target of a 'G T' request"),
        (("GET", "/a b", [], b""), "net/http: invalid method or request target of a 'GET' request"),
        (("GET", "", [], b""), "net/http: invalid method or request target of a 'GET' request"),
        (("GET", "/é", [], b""), "net/http: invalid method or request target of a 'GET' request"),
        (("GET", "/", [("a b", "s3cret")], b""), "net/http: invalid header field name 'a b'"),
        (("GET", "/", [("é", "s3cret")], b""), "net/http: invalid header field name '\\xe9'"),
        (("GET", "/", [("A", "s3cret\r\nB: c")], b""), 'net/http: invalid header field value for "A"'),
        (("GET", "/", [("A", " s3cret")], b""), 'net/http: invalid header field value for "A"'),
        (("GET", "/", [("A", "s3cret\ud800")], b""), 'net/http: invalid header field value for "A"'),
        (TOO_MUCH, 'net/http: invalid header field value for "Content-Length"'),
        (BOTH, 'net/http: invalid header field value for "Transfer-Encoding"'),
    ],
)
def test_a_request_that_cannot_be_sent(request_: tuple[str, str, list[tuple[str, str]], bytes], text: str) -> None:
    with pytest.raises(Invalid) as raised:
        encode(*request_)
    assert str(raised.value) == text


@given(
    st.text("GETabc!- é", min_size=1, max_size=5),
    st.text("/a?=% é\n", min_size=1, max_size=6),
    st.lists(st.tuples(st.text("ab-: é", max_size=4), st.text("ab \t\né\x00\x0b", max_size=5)), max_size=3),
)
def test_requests_beside_h11(method: str, target: str, headers: list[tuple[str, str]]) -> None:
    pairs = [("Host", "x"), *headers]
    try:
        raw = [(name.encode("ascii"), value.encode()) for name, value in pairs]
        reference: bytes | None = h11.Connection(h11.CLIENT).send(
            h11.Request(method=method, target=target, headers=raw)
        )
    except (h11.LocalProtocolError, UnicodeError):
        reference = None
    try:
        mine: bytes | None = encode(method, target, pairs)[0]
    except Invalid:
        mine = None
    assert mine == reference
