from __future__ import annotations

import base64

from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.observe.frames import HALF_CLOSED, ClientFrames, ServerFrames, close_frame, pong_frame
from rawkube.remotecommand.protocols import V1, V4, V4_BASE64, V5, Protocol
from tests.observe.made import frame, masked
from tests.support.examples import examples
from tests.support.rows import looped

MASK = b"\x12\x34\xff\x00"


def fed(data: bytes, protocol: Protocol | None = V5, cut: int = 0) -> ClientFrames:
    """Behind bytes that came in two pieces, or (cut 0) one by one."""
    frames = ClientFrames(protocol)
    pieces = [data[:cut], data[cut:]] if cut else [bytes((byte,)) for byte in data]
    for piece in pieces:
        frames.feed(piece)
    return frames


def text(channel: int, payload: bytes) -> bytes:
    return masked(f"{channel}".encode() + base64.b64encode(payload), 1)


SIZE = b'\4{"Width":80,"Height":24}\n'

COUNTED: list[tuple[str, Protocol | None, bytes, dict[int, int]]] = [
    ("bytes of stdin", V5, masked(b"\0hello") + masked(b"\0you"), {0: 8}),
    ("a message in fragments", V5, masked(b"\0he", fin=False) + masked(b"llo", 0), {0: 5}),
    ("a channel that comes late", V5, masked(b"", fin=False) + masked(b"\0a", 0), {0: 1}),
    ("nothing but a channel", V5, masked(b"\0"), {}),
    ("an empty message", V5, masked(b""), {}),
    ("sizes of the terminal, whatever they say", V5, masked(SIZE) + masked(b"\4x"), {4: 2}),
    ("the end of stdin", V5, masked(b"\0a") + masked(b"\xff\0"), {0: 1, HALF_CLOSED: 1}),
    ("the end of stdin, twice", V5, masked(b"\xff\0") * 2, {HALF_CLOSED: 1}),
    ("an end that names no one channel", V5, masked(b"\xff\0\0") + masked(b"\xff"), {}),
    ("v4 has no end of stdin", V4, masked(b"\xff\0"), {255: 1}),
    ("no subprotocol", None, masked(b"\0abc") + masked(SIZE), {0: 3, 4: 1}),
    ("pings and pongs do not count", V5, masked(b"p", 9) + masked(b"\0a") + masked(b"q", 10), {0: 1}),
    ("a ping within a message", V5, masked(b"\0a", fin=False) + masked(b"p", 9) + masked(b"b", 0), {0: 2}),
    ("base64", V4_BASE64, text(0, b"a") + text(0, b"bc") + text(0, b"def") + text(4, SIZE[1:]), {0: 6, 4: 1}),
    ("base64 in fragments", V4_BASE64, masked(b"0YWJ", 1, fin=False) + masked(b"jZA==", 0), {0: 4}),
    ("a real mask", V1, masked(b"\0hello", mask=MASK), {0: 5}),
    ("long messages", V5, masked(b"\0" + b"a" * 300) + masked(b"\0" + b"b" * 70000, mask=MASK), {0: 70300}),
]


@looped(("protocol", "data", "counts"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_what_counts(protocol: Protocol | None, data: bytes, counts: dict[int, int]) -> None:
    # In the long one, around its two headers.
    cuts = [0, *range(1, len(data))] if len(data) < 100 else [*range(1, 10), *range(306, 324)]
    for cut in cuts:
        frames = fed(data, protocol, cut)
        assert (+frames.counts, frames.broken) == (counts, ""), cut


def test_pings_are_kept_and_not_without_end() -> None:
    frames = fed(masked(b"one", 9) + masked(b"", 9, mask=MASK))
    assert list(frames.pings) == [b"one", b""]
    frames.feed(b"".join(masked(b"%d" % i, 9) for i in range(1000)))
    assert len(frames.pings) == 64
    assert frames.pings[-1] == b"999"


def test_nothing_counts_behind_a_close() -> None:
    data = masked(b"\x03\xe8bye", 8, mask=MASK) + masked(b"\0late") + b"junk"
    for cut in range(len(data)):
        frames = fed(data, V5, cut)
        assert (frames.closed, frames.over, +frames.counts, frames.broken) == (b"\x03\xe8bye", True, {}, "")


BROKEN = {
    "not masked": frame(b"\0a"),
    "a reserved bit": b"\xc2\x80\0\0\0\0",
    "an unknown opcode": b"\x83\x80\0\0\0\0",
    "a cut control frame": b"\x09\x80\0\0\0\0",
    "a long control frame": b"\x89\xfe\0\x80\0\0\0\0",
    "a length longer than it needs to be": b"\x82\xfe\0\x01\0\0\0\0a",
    "a continuation of nothing": masked(b"a", 0),
    "a message within a message": masked(b"\0a", fin=False) + masked(b"\0b"),
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
}


@looped("name", BROKEN)
def test_what_breaks_the_protocol(name: str) -> None:
    for cut in range(len(BROKEN[name])):
        frames = fed(BROKEN[name] + masked(b"\0late"), V5, cut)
        assert frames.broken
        assert (frames.over, frames.closed) == (True, None)
        assert frames.counts[0] <= 1


@settings(max_examples=examples(150), deadline=None)
@given(st.binary(max_size=80), st.integers(0, 80))
def test_no_bytes_raise(data: bytes, cut: int) -> None:
    for protocol in (V5, V4_BASE64, None):
        whole, halves = fed(data, protocol, len(data) or 1), fed(data, protocol, cut)
        assert (whole.broken, whole.closed, +whole.counts) == (halves.broken, halves.closed, +halves.counts)


# The server's


PONG = b"\x8a\x02hi"
PASSED = {
    "data, short and long": ([frame(b"\1a"), frame(b"\1" + b"b" * 300), frame(b"\1" + b"c" * 70000)], True, False),
    "a close": ([frame(b"\1a"), frame(b"\x03\xe8", 8)], True, True),
    "a ping of the server's": ([frame(b"x", 9), frame(b"\1a")], True, False),
    "an end within a frame": ([frame(b"\1abc")[:-1]], False, False),
    "an end within a header": ([frame(b"\1a"), b"\x82\x7e\x01"], False, False),
    "a close cut short": ([frame(b"\x03\xe8", 8)[:-1]], False, False),
    "a masked frame": ([masked(b"\1a", mask=MASK)], True, False),
    "no frames": ([b"HTTP/1.1 500 no\r\n\r\n"], False, False),
    "a pong that is none": ([b"\x0a\x01a", b"\x8a\x81abcde"], True, False),
}


@looped("name", PASSED)
def test_everything_passes_but_pongs(name: str) -> None:
    parts, whole, closed = PASSED[name]
    expected = b"".join(parts)
    for data in (expected, PONG + PONG.join(parts), PONG.join(parts)):
        for size in (1, 2, 3, 7, len(data)) if len(data) < 1000 else (100, len(data)):
            frames = ServerFrames()
            passed = b"".join(frames.feed(data[i : i + size]) for i in range(0, len(data), size))
            assert (frames.whole, frames.closed) == (whole, closed)
            assert passed + frames.end() == expected
            assert frames.end() == b""


def test_frames_of_ours() -> None:
    assert close_frame(b"\x03\xe8bye") == frame(b"\x03\xe8bye", 8)
    assert pong_frame(b"x" * 125) == frame(b"x" * 125, 10)
