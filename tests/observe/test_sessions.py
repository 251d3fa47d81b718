"""The state machine of a replayed session. Times are seconds of no clock."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.observe.exchanges import CLOSED, OPEN, RESET, Exchange, read_exchanges
from rawkube.observe.recording import Piece, Recording
from rawkube.observe.sessions import Session, steps_of
from tests.observe.made import FIXTURES, V5, frame, masked, piece, switching, upgrade
from tests.support.examples import examples
from tests.support.rows import looped

HEAD = switching().encode()
SIZE = masked(b'\4{"Width":80,"Height":24}\n')
END = masked(b"\xff\0")
CLOSE = frame(b"\x03\xe8", 8)
MASK = b"\xa5\x5a\x01\x80"


def exchange(*pieces: Piece, with_head: bytes = b"", chosen: str = V5) -> Exchange:
    """The handshake at 0 and 1 seconds, then the pieces."""
    start = [piece("client", 0, upgrade(offered=chosen)), piece("server", 1, switching(chosen).encode() + with_head)]
    return read_exchanges([*start, *pieces])[0]


def client(t: float, data: bytes = b"", **more: Any) -> Piece:
    return piece("client", t, data, **more)


def server(t: float, data: bytes = b"", **more: Any) -> Piece:
    return piece("server", t, data, **more)


def session(of: Exchange, speed: float | None = None, now: float = 100) -> Session:
    return Session(of, of.answer.raw[-1], speed=speed, now=now)


def taken(of: Session, now: float = 100) -> bytes:
    """Everything that is to be sent by now."""
    found = b""
    while data := of.take(now):
        found += data
    return found


CAT = exchange(
    client(1.1, masked(b"\0one\n")),
    server(2, frame(b"\1one\n")),
    client(3, masked(b"\0two\n")),
    server(4, frame(b"\1two\n")),
    client(5, END),
    server(6, frame(b'\3{"status":"Success"}')),
    server(6.1, CLOSE),
    server(6.2, eof=True),
    client(6.3, masked(b"\x03\xe8", 8), error="ConnectionResetError"),
    client(6.4, eof=True),
    with_head=frame(b"\1"),
)
TYPED = masked(b"\0one\n") + masked(b"\0two\n") + END
TOLD = [HEAD + frame(b"\1"), frame(b"\1one\n"), frame(b"\1two\n"), frame(b'\3{"status":"Success"}') + CLOSE]


def test_the_server_waits_for_what_the_recorded_client_had_sent() -> None:
    playing = session(CAT)
    assert taken(playing) == TOLD[0]
    playing.receive(masked(b"\0on"), 100)
    assert (taken(playing), playing.wake(), playing.ends) == (b"", None, OPEN)
    playing.receive(masked(b"\0e\nt"), 100)
    assert taken(playing) == TOLD[1]
    playing.receive(masked(b"\0wo\n", mask=MASK), 100)
    assert taken(playing) == TOLD[2]
    assert playing.ends == OPEN
    playing.receive(END, 100)
    assert taken(playing) == TOLD[3]
    assert (playing.ends, playing.take(1000), playing.wake()) == (CLOSED, b"", None)


def test_the_head_and_what_came_with_it_are_one_piece() -> None:
    assert next(steps_of(CAT, CAT.answer.raw[-1])).data == TOLD[0]
    apart = exchange(server(1.5, frame(b"\1")))
    assert [s.data for s in steps_of(apart, apart.answer.raw[-1])] == [HEAD, frame(b"\1")]


@pytest.mark.parametrize("mask", [b"\0\0\0\0", MASK])
def test_wherever_the_clients_bytes_are_cut(mask: bytes) -> None:
    typed = masked(b"\0one\n", mask=mask) + masked(b"\0two\n", mask=mask) + masked(b"\xff\0", mask=mask)
    for cut in range(len(typed) + 1):
        playing = session(CAT)
        told = taken(playing)
        for data in (typed[:cut], typed[cut:]):
            playing.receive(data, 100)
            told += taken(playing)
        assert (told, playing.ends) == (b"".join(TOLD), CLOSED)


def test_wherever_the_recorded_bytes_are_cut() -> None:
    """Both sides of a recording cut at every byte: the same bytes, never before what they answer."""
    for size in (1, 2, 3, 5, 11):
        pieces = []
        for p in CAT.session:
            pieces += [p._replace(data=p.data[i : i + size], eof=False, error="") for i in range(0, len(p.data), size)]
            pieces += [p._replace(data=b"")] if p.eof or p.error else []
        playing = session(CAT._replace(session=tuple(pieces)))
        told = [taken(playing)]
        for typed in (masked(b"\0one\n"), masked(b"\0two\n"), END):
            playing.receive(typed, 100)
            told.append(taken(playing))
        assert (told, playing.ends) == (TOLD, CLOSED)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.lists(st.integers(1, 40), max_size=12))
def test_the_clients_cuts_into_messages_do_not_matter(messages: list[int], reads: list[int]) -> None:
    payload, typed, i = b"one\ntwo\n", b"", 0
    while payload:
        size = messages[i % len(messages)]
        typed, payload, i = typed + masked(b"\0" + payload[:size], mask=MASK), payload[size:], i + 1
    typed += END
    playing = session(CAT)
    told = taken(playing)
    cuts = [0, *(c for c in sorted({sum(reads[:n]) for n in range(1, len(reads) + 1)}) if c < len(typed)), len(typed)]
    for begin, end in pairwise(cuts):
        playing.receive(typed[begin:end], 100)
        told += taken(playing)
    assert (told, playing.ends) == (b"".join(TOLD), CLOSED)


def test_resizes_count_one_each_and_apart_from_stdin() -> None:
    tty = exchange(client(2, SIZE), server(3, frame(b"\1a")), client(4, SIZE), server(5, frame(b"\1b")))
    playing = session(tty)
    taken(playing)
    playing.receive(masked(b"\0" + b"x" * 500), 100)
    assert taken(playing) == b""
    playing.receive(masked(b'\4{"Width":1000,"Height":1000}'), 100)
    assert taken(playing) == frame(b"\1a")
    playing.receive(masked(b"\4"), 100)
    assert taken(playing) == frame(b"\1b")


def test_base64_counts_what_it_stands_for() -> None:
    of = exchange(client(2, masked(b"0YWJjZA==", 1)), server(3, frame(b"1", 1)), chosen="v4.base64.channel.k8s.io")
    playing = session(of)
    taken(playing)
    playing.receive(masked(b"0YWI=", 1), 100)
    assert taken(playing) == b""
    playing.receive(masked(b"0Y2Q=", 1), 100)
    assert taken(playing) == frame(b"1", 1)


# Time


TIMED: list[tuple[float, list[float]]] = [(1.0, [101, 102, 103.5]), (2.0, [100.5, 101, 101.75]), (0.5, [102, 104, 107])]


@pytest.mark.parametrize(("speed", "times"), TIMED)
def test_delays_are_divided_by_the_speed(speed: float, times: list[float]) -> None:
    of = exchange(server(2, frame(b"\1a")), client(2.2, masked(b"", 9)), server(3.5, frame(b"\1b")))
    playing = session(of, speed)
    for time, data in zip(times, (HEAD, frame(b"\1a"), frame(b"\1b")), strict=True):
        assert playing.wake() == time
        assert playing.take(time - 0.001) == b""
        assert playing.take(time + 0.2) == data
    assert playing.wake() is None


def test_an_answer_comes_as_late_after_its_question() -> None:
    playing = session(CAT, 1.0)
    assert taken(playing, 101)
    assert playing.wake() is None
    playing.receive(masked(b"\0one\n"), 150)
    assert playing.wake() == pytest.approx(150.9)
    assert taken(playing, 151) == TOLD[1]
    # Asked early: it counts from the piece before.
    playing.receive(masked(b"\0two\n"), 150.5)
    assert playing.wake() == pytest.approx(151.9)


def test_without_a_speed_nothing_waits_for_time() -> None:
    assert taken(session(exchange(server(500, frame(b"\1a")), server(900, frame(b"\1b")))), 100).count(b"\1") == 2


# Pings, closes, ends


def test_pings_are_answered_between_frames() -> None:
    long = frame(b"\1" + b"x" * 200)
    of = exchange(server(2, long[:50]), server(3, long[50:]), server(9, frame(b"\1y")))
    playing = session(of, 1.0)
    playing.receive(masked(b"0", 9), 100)
    assert taken(playing, 100) == b""  # not before the head
    assert taken(playing, 101) == HEAD + frame(b"0", 10)
    assert taken(playing, 102) == long[:50]
    playing.receive(masked(b"1", 9) + masked(b"2", 9, mask=MASK), 102.5)
    assert taken(playing, 102.5) == b""
    assert taken(playing, 103) == long[50:] + frame(b"1", 10) + frame(b"2", 10)


def test_recorded_pongs_are_not_sent_again() -> None:
    of = exchange(client(2, masked(b"p", 9)), server(2.1, frame(b"p", 10)), server(3, frame(b"\1a") + frame(b"", 10)))
    assert taken(session(of)) == HEAD + frame(b"\1a")


@pytest.mark.parametrize("payload", [b"", b"\x03\xe8", b"\x03\xe9bye"])
def test_a_close_is_echoed_and_ends_it(payload: bytes) -> None:
    data = masked(payload, 8, mask=MASK)
    for cut in range(len(data)):
        playing = session(CAT)
        taken(playing)
        playing.receive(data[:cut], 100)
        assert (taken(playing), playing.ends) == (b"", OPEN)
        playing.receive(data[cut:] + masked(b"\0one\n"), 100)
        assert (taken(playing), playing.ends) == (frame(payload[:2], 8), CLOSED)


def test_a_close_within_a_frame_only_ends_it() -> None:
    playing = session(exchange(server(2, frame(b"\1abc")[:-1])))
    taken(playing)
    playing.receive(masked(b"\x03\xe8", 8), 100)
    assert (taken(playing), playing.ends) == (b"", CLOSED)


def test_after_a_recorded_close_without_an_end_the_echo_ends_it() -> None:
    playing = session(exchange(server(2, CLOSE), client(3, masked(b"\x03\xe8", 8)), client(4, eof=True)))
    assert taken(playing) == HEAD + CLOSE
    playing.receive(masked(b"p", 9), 100)
    assert (taken(playing), playing.ends) == (b"", OPEN)  # nothing may follow a close
    playing.receive(masked(b"\x03\xe8", 8), 100)
    assert (taken(playing), playing.ends) == (b"", CLOSED)


def test_a_reset_behind_a_close_stays_one() -> None:
    playing = session(exchange(server(2, CLOSE), server(3, error="ConnectionResetError")), 1.0)
    taken(playing, 102)
    playing.receive(masked(b"\x03\xe8", 8), 102)
    assert (playing.take(102), playing.ends, playing.wake()) == (b"", OPEN, 103)
    assert (playing.take(103), playing.ends) == (b"", RESET)


ENDS: dict[str, tuple[list[Piece], str]] = {
    "FIN without a close": ([server(3, eof=True)], CLOSED),
    "TLS broken off": ([server(3, eof=True, error="SSLError")], CLOSED),
    "reset": ([server(3, error="ConnectionResetError")], RESET),
    "a last frame with the end": ([server(3, frame(b"\1z"), eof=True)], CLOSED),
    "a header cut by the end": ([server(3, b"\x82\x7e\1"), server(4, eof=True)], CLOSED),
    "FIN after the client's answer to a close": (
        [server(3, CLOSE), client(3.1, masked(b"\x03\xe8", 8)), client(3.2, eof=True), server(3.3, eof=True)],
        CLOSED,
    ),
    "the recording ends": ([], OPEN),
    "the client leaves": ([client(3, eof=True), server(4, frame(b"\1late")), server(5, eof=True)], OPEN),
    "the client is reset": ([client(3, error="ConnectionResetError"), server(4, eof=True)], OPEN),
    "the client closes": ([client(3, masked(b"\x03\xe8", 8)), server(4, CLOSE), server(5, eof=True)], OPEN),
    "the client breaks the protocol": ([client(3, b"\xff\xff"), server(4, CLOSE), server(5, eof=True)], OPEN),
}


@looped("name", ENDS)
def test_how_a_session_ends(name: str) -> None:
    after, ends = ENDS[name]
    playing = session(exchange(server(2, frame(b"\1a")), *after))
    told = b"".join(p.data for p in after if p.side == "server") if ends != OPEN else b""
    assert taken(playing) == HEAD + frame(b"\1a") + told
    assert (playing.ends, playing.wake()) == (ends, None)


def test_a_client_that_breaks_the_protocol_is_told() -> None:
    playing = session(CAT)
    taken(playing)
    playing.receive(frame(b"\0not masked"), 100)
    told = taken(playing)
    assert told[:4] == b"\x88" + bytes((len(told) - 2,)) + b"\x03\xea"
    assert b"unmasked" in told
    assert playing.ends == CLOSED


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=4))
def test_no_bytes_of_a_client_raise(reads: Sequence[bytes]) -> None:
    playing = session(CAT, 1.0)
    for now, data in enumerate(reads, 100):
        playing.receive(data, now)
        assert taken(playing, now + 0.5).startswith((b"", HEAD))
    assert playing.ends in (OPEN, CLOSED)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=30)), max_size=6), st.sampled_from([V5, "x", ""]))
def test_no_recording_raises(pieces: Sequence[tuple[bool, bytes]], chosen: str) -> None:
    told = [piece("client" if mine else "server", 2.0 + t, data) for t, (mine, data) in enumerate(pieces) if data]
    of = exchange(*told, chosen=chosen)
    playing = session(of)
    playing.receive(b"".join(p.data for p in told if p.side == "client"), 100)
    assert taken(playing).startswith(switching(chosen).encode())


def replayed(file: Path) -> list[Exchange]:
    """The WebSocket sessions of channels in a recording."""
    with Recording(file) as recording:
        found = [e for e in read_exchanges(recording) if e.answer.status == 101]
    return [e for e in found if "SPDY" not in e.answer.header("upgrade") + e.answer.header("sec-websocket-protocol")]


def test_the_recorded_client_gets_what_it_got() -> None:
    """The client's own bytes, played back: every byte of the server's, and its end."""
    sessions = [(file.stem, of) for file in FIXTURES.glob("exec/*.jsonl") for of in replayed(file)]
    assert len({name for name, _ in sessions}) > 20
    for name, of in sessions:
        playing = session(of)
        told = taken(playing)
        expected = of.answer.raw[-1].data
        left = False
        for p in of.session:
            left |= p.side == "client" and p.eof
            if p.side == "server" and not left:
                expected += p.data
            elif playing.ends == OPEN:
                playing.receive(p.data, 100)
                told += taken(playing)
        assert told == expected, name
