from __future__ import annotations

from pathlib import Path

import pytest

from rawkube.observe.exchanges import CLOSED, COMPLETE, OPEN, RESET, Exchange, read_exchanges
from rawkube.observe.recording import Piece, Recording
from tests.observe.made import FIXTURES, RECORDINGS, answer, chunk, get, piece, start, switching, upgrade
from tests.support.examples import some
from tests.support.rows import looped


def raw(exchange: Exchange) -> list[tuple[float, bytes]]:
    return [(round(c.delay, 6), c.data) for c in exchange.answer.raw]


def test_request_and_answer() -> None:
    request = "PATCH /a?b=c HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n{}\n"
    found = read_exchanges([piece("client", 1, request), piece("server", 1.5, answer("hi", "201 Created"))])
    assert len(found) == 1
    exchange = found[0]
    assert (exchange.method, exchange.target, exchange.body) == ("PATCH", "/a?b=c", b"{}\n")
    assert ("Host", "a") in exchange.headers
    assert exchange.started == 1
    assert (exchange.answer.status, exchange.answer.reason) == (201, "Created")
    assert raw(exchange) == [(0.5, answer("hi", "201 Created"))]
    assert [c.data for c in exchange.answer.body] == [b"hi"]
    assert (exchange.answer.ends, exchange.answer.end) == (COMPLETE, 0.5)


def test_chunks_keep_their_boundaries_and_times() -> None:
    found = read_exchanges(
        [
            piece("client", 0, get("/a?watch=1")),
            piece("server", 1, start() + "3\r\nab"),
            piece("server", 2, "c\r\n"),
            piece("server", 3, chunk("d")),
            piece("client", 4, eof=True),
            piece("server", 5, "0\r\n\r\n"),
        ]
    )
    assert raw(found[0]) == [(1, start().encode() + b"3\r\nab"), (2, b"c\r\n"), (3, b"1\r\nd\r\n")]
    assert [c.whole for c in found[0].answer.raw] == [False, True, True]
    assert [(c.delay, c.data) for c in found[0].answer.body] == [(1, b"ab"), (2, b"c"), (3, b"d")]
    assert found[0].answer.ends == OPEN


def test_two_exchanges_however_the_bytes_are_cut() -> None:
    for cut in range(1, 150):
        two_exchanges_cut_there(cut)


def two_exchanges_cut_there(cut: int) -> None:
    asked = (get("/a") + get("/b")).encode()
    told = answer("one") + start().encode() + chunk("two") + b"0\r\n\r\n"
    pieces = [piece("client", 0, asked[: cut % len(asked)]), piece("client", 1, asked[cut % len(asked) :])]
    pieces += [piece("server", 2, told[:cut]), piece("server", 3, told[cut:])]
    found = read_exchanges(p for p in pieces if p.data)
    assert [(e.target, b"".join(c.data for c in e.answer.body)) for e in found] == [
        ("/a", b"one"),
        ("/b", b"two"),
    ], cut
    assert b"".join(c.data for e in found for c in e.answer.raw) == told, cut
    assert {e.answer.ends for e in found} == {COMPLETE}, cut


ENDS = {
    "the server closes early": ([piece("server", 2, eof=True)], CLOSED),
    "the server resets": ([piece("server", 2, error="ConnectionResetError")], RESET),
    "a TLS failure": ([piece("server", 2, eof=True, error="SSLError"), piece("server", 3, eof=True)], CLOSED),
    "the client goes first": (
        [piece("client", 2, eof=True), piece("server", 3, eof=True, error="SSLError")],
        OPEN,
    ),
    "the client breaks": ([piece("client", 2, error="ConnectionResetError")], OPEN),
    "the recording ends": ([], OPEN),
}


@looped("name", ENDS)
def test_how_an_answer_ends(name: str) -> None:
    after, ends = ENDS[name]
    head = [piece("client", 0, get("/a")), piece("server", 1, start() + "5\r\nab")]
    assert read_exchanges(head + after)[0].answer.ends == ends
    told = read_exchanges([piece("client", 0, get("/a")), *after])
    assert (told[0].answer.status, told[0].answer.ends) == (0, ends)


def test_an_answer_that_the_connections_end_ends() -> None:
    head = "HTTP/1.1 200 OK\r\n\r\n"
    pieces = [piece("client", 0, get("/a")), piece("server", 1, head + "abc"), piece("server", 2, eof=True)]
    told = read_exchanges(pieces)[0].answer
    assert (told.status, told.ends, told.end, told.body[0].data) == (200, CLOSED, 2, b"abc")


@pytest.mark.parametrize("garbage", ["\x15\x03\x01\0\x02", "SSH-2.0-x\r\n", start() + "zz\r\nhello"])
def test_what_is_not_http_is_kept_as_it_was(garbage: str) -> None:
    pieces = [piece("client", 0, get("/a")), piece("server", 1, garbage[:4]), piece("server", 2, garbage[4:])]
    told = read_exchanges([*pieces, piece("server", 3, "more"), piece("server", 4, eof=True)])[0].answer
    assert b"".join(c.data for c in told.raw) == garbage.encode() + b"more"
    assert told.ends == CLOSED


def test_a_client_that_speaks_something_else_is_passed_over() -> None:
    pieces = [piece("client", 0, b"\x16\x03\x01\0\xa5\1\0\0\xa1\3\3"), piece("client", 1, get("/b"), conn=2)]
    assert [e.target for e in read_exchanges([*pieces, piece("server", 2, answer("x"), conn=2)])] == ["/b"]


def test_connections_are_kept_apart_and_requests_in_order() -> None:
    pieces = [
        piece("client", 0, get("/1"), conn=1)._replace(line=2),
        piece("client", 1, get("/2"), conn=2)._replace(line=3),
        piece("server", 2, answer("two"), conn=2)._replace(line=4),
        piece("client", 2, get("/3"), conn=2)._replace(line=5),
        piece("server", 3, answer("one"), conn=1)._replace(line=6),
        piece("server", 4, answer("three"), conn=2)._replace(line=7),
    ]
    told = [(e.conn, e.target, e.answer.body[0].data, e.answer.end) for e in read_exchanges(pieces)]
    assert told == [(1, "/1", b"one", 3), (2, "/2", b"two", 1), (2, "/3", b"three", 2)]


def test_100_continue_is_no_part_of_the_answer() -> None:
    pieces = [
        piece("client", 0, "POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
        piece("client", 1, "{}"),
        piece("server", 2, b"HTTP/1.1 100 Continue\r\n\r\n" + answer("ok")),
    ]
    assert raw(read_exchanges(pieces)[0]) == [(1, answer("ok"))]


def test_an_upgrade_keeps_its_session() -> None:
    with Recording(FIXTURES / "errors" / "forbidden.jsonl") as recording:
        refused = read_exchanges(recording)[-1]
    assert (refused.answer.status, refused.session) == (403, ())
    asked = "GET /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    told = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    pieces = [
        piece("client", 0, asked),
        piece("server", 1, told + "frame"),
        piece("client", 2, b"\x88\x80\0\0\0\0"),
    ]
    found = read_exchanges([*pieces, piece("server", 3, eof=True)])[0]
    assert (found.answer.status, raw(found)) == (101, [(1, told.encode())])
    assert [(p.side, p.data, p.eof) for p in found.session] == [
        ("server", b"frame", False),
        ("client", b"\x88\x80\0\0\0\0", False),
        ("server", b"", True),
    ]


# A rewritten piece may be longer or shorter than its message says.
BODY = '{"kind":"Secret","data":"<redacted>"}'


@pytest.mark.parametrize("length", [5, len(BODY), 400])
def test_a_rewritten_answer_of_any_length(length: int) -> None:
    told = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{BODY}"
    pieces = [
        piece("client", 0, get("/a")),
        piece("server", 1, told, redacted=True),
        piece("client", 2, get("/b")),
        piece("server", 3, answer("next")),
    ]
    found = read_exchanges(pieces)
    assert [e.target for e in found] == ["/a", "/b"]
    assert found[1].answer.body[0].data == b"next"
    if length >= len(BODY):
        assert b"".join(c.data for c in found[0].answer.body) == BODY.encode()


def test_a_rewritten_watch_keeps_its_events_and_times() -> None:
    pieces = [
        piece("client", 0, get("/a?watch=1")),
        piece("server", 1, start() + f"fff\r\n{BODY}\n\r\n", redacted=True),
        piece("server", 2, f"aaa\r\n{BODY}\n\r\n", redacted=True),
        piece("client", 3, eof=True),
    ]
    told = read_exchanges(pieces)[0].answer
    assert [(c.delay, c.data) for c in told.body] == [(1, BODY.encode() + b"\n"), (2, BODY.encode() + b"\n")]
    assert (told.status, told.ends, told.raw) == (200, OPEN, ())


@pytest.mark.parametrize("length", [5, len(BODY), 400])
def test_a_rewritten_request_of_any_length(length: int) -> None:
    asked = f"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{BODY}"
    pieces = [
        piece("client", 0, asked, redacted=True),
        piece("server", 1, answer("one")),
        piece("client", 2, get("/b")),
        piece("server", 3, answer("two")),
    ]
    assert [(e.target, e.answer.body[0].data) for e in read_exchanges(pieces)] == [
        ("/a", b"one"),
        ("/b", b"two"),
    ]


def test_a_rewritten_request_head_changes_nothing() -> None:
    asked = "GET /a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <redacted>\r\n\r\n"
    found = read_exchanges([piece("client", 0, asked, redacted=True), piece("server", 1, answer("one"))])
    assert (found[0].answer.ends, found[0].answer.raw[0].data) == (COMPLETE, answer("one"))


@looped("file", some("taking apart", RECORDINGS), ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_real_recordings_lose_no_byte(file: Path) -> None:
    with Recording(file) as recording:
        pieces = list(recording)
    gone: set[int] = set()
    sent = b""
    upgraded = {e.conn for e in read_exchanges(pieces) if e.answer.status == 101}
    for p in sorted(pieces, key=lambda p: (p.conn, p.line)):
        gone |= {p.conn} if p.side == "client" and p.eof and p.conn not in upgraded else set()
        sent += p.data if p.side == "server" and p.conn not in gone else b""
    found = sorted(read_exchanges(pieces), key=lambda e: (e.conn, e.line))
    assert b"".join(told_by(e) for e in found) == sent
    assert all(e.answer.status for e in found)


def told_by(exchange: Exchange) -> bytes:
    """Everything that the server sent: what follows the head of a 101 belongs to the session."""
    session = b"".join(p.data for p in exchange.session if p.side == "server")
    return b"".join(c.data for c in exchange.answer.raw) + session


UPGRADED = sorted(FIXTURES.glob("exec/*.jsonl"))


@looped("file", UPGRADED, ids=lambda f: f.stem)
def test_a_session_holds_every_piece_behind_its_handshake(file: Path) -> None:
    """Both sides, in order, and nothing of the handshake; the piece that ends it is cut there."""
    with Recording(file) as recording:
        pieces = list(recording)
    for exchange in read_exchanges(pieces):
        if exchange.answer.status != 101:
            assert exchange.session == ()
            continue
        head = exchange.answer.raw[-1].data
        assert head.endswith(b"\r\n\r\n")
        of_it = [p for p in pieces if p.conn == exchange.conn and p.line > exchange.line]
        first = next(p for p in of_it if b"\r\n\r\n" in p.data)
        rest = first._replace(data=first.data.partition(b"\r\n\r\n")[2])
        later = [p for p in of_it if p.line > first.line]
        assert list(exchange.session) == ([rest] if rest.data else []) + later


def test_an_end_that_comes_with_the_handshake_is_the_sessions() -> None:
    pieces = [piece("client", 0, upgrade()), piece("server", 1, switching(), eof=True)]
    found = read_exchanges(pieces)[0]
    assert (found.answer.status, found.answer.ends) == (101, COMPLETE)
    assert [(p.data, p.eof) for p in found.session] == [(b"", True)]


def test_no_pieces() -> None:
    nothing: list[Piece] = []
    assert read_exchanges(nothing) == []
