"""Frames of RFC 6455: by examples, and beside wsproto on bytes of all kinds, cut anywhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from wsproto.frame_protocol import FrameDecoder, ParseFailed

from rawkube.wire import frames
from rawkube.wire.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    FrameReader,
    Malformed,
    encode,
    encode_close,
    encode_control,
    masked,
)
from tests.support.rows import looped


def server_frame(opcode: int, payload: bytes, *, fin: bool = True) -> bytes:
    size = len(payload)
    first = bytes((opcode | (0x80 if fin else 0),))
    if size < 126:
        return first + bytes((size,)) + payload
    if size < 65536:
        return first + b"\x7e" + size.to_bytes(2, "big") + payload
    return first + b"\x7f" + size.to_bytes(8, "big") + payload


def ours(pieces: Iterable[bytes]) -> list[object]:
    reader = FrameReader()
    told: list[object] = []
    try:
        for piece in pieces:
            reader.feed(piece)
            while (found := reader.next()) is not None:
                told.append((found.opcode, bytes(found.payload), found.frame_end, found.fin))
    except Malformed:
        told.append("malformed")
    return told


def theirs(pieces: Iterable[bytes]) -> list[object]:
    decoder = FrameDecoder(client=True)
    told: list[object] = []
    try:
        for piece in pieces:
            decoder.receive_bytes(piece)
            while (frame := decoder.process_buffer()) is not None:
                assert isinstance(frame.payload, bytes | bytearray)  # which one, its version decides
                told.append((int(frame.opcode), bytes(frame.payload), frame.frame_finished, frame.message_finished))
    except ParseFailed:
        told.append("malformed")
    return told


def cut(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = sorted({at % (len(data) + 1) for at in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(places)]


FRAME = st.builds(
    server_frame,
    st.sampled_from([CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG, 3, 0x40 | BINARY]),
    st.binary(max_size=20) | st.sampled_from([b"x" * 125, b"x" * 126, b"x" * 70_000]),
    fin=st.booleans(),
)


@given(st.lists(FRAME | st.binary(max_size=12), max_size=5).map(b"".join), st.lists(st.integers(0, 10**6), max_size=8))
@example(b"\x82\x7e\x00\x05hello", [])
@example(b"\x82\x7f" + b"\x80" + bytes(7), [])
@example(b"\x82\x85\1\2\3\4hello", [])
def test_beside_wsproto(data: bytes, cuts: list[int]) -> None:
    pieces = cut(data, cuts)
    assert ours(pieces) == theirs(pieces)


def test_cut_at_every_byte() -> None:
    data = (
        server_frame(BINARY, b"\1hello", fin=False) + server_frame(PING, b"ab") + server_frame(CONTINUATION, b"c" * 130)
    )
    whole = ours([data])
    assert whole == [(2, b"\1hello", True, False), (9, b"ab", True, True), (0, b"c" * 130, True, True)]
    for at in range(1, len(data)):
        told = ours([data[:at], data[at:]])
        assert b"".join(piece[1] for piece in told) == b"".join(piece[1] for piece in whole)  # type: ignore[index]
        assert (told[-1][0], told[-1][2:]) == (0, (True, True))  # type: ignore[index]
    single = ours(data[at : at + 1] for at in range(len(data)))
    assert [piece for piece in single if piece[0] == PING] == [(9, b"ab", True, True)]  # type: ignore[index]


def test_the_frame_that_has_begun() -> None:
    reader = FrameReader()
    assert (reader.next(), reader.opcode) == (None, -1)
    reader.feed(b"\x81\x05")
    assert (reader.next(), reader.opcode) == (None, TEXT)
    reader.feed(b"hello")
    piece = reader.next()
    assert piece is not None
    assert (piece.opcode, bytes(piece.payload), piece.frame_end, piece.fin) == (TEXT, b"hello", True, True)
    assert reader.opcode == -1
    reader.feed(b"\xc1\x00")
    with pytest.raises(Malformed) as raised:
        reader.next()
    assert raised.value.header == b"\xc1\x00"


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=4), st.sampled_from([TEXT, BINARY]))
@example(b"x" * 65_535, b"\0\xff\0\xff", BINARY)
@example(b"x" * 65_536, b"abcd", BINARY)
def test_what_is_sent_is_read_by_wsproto(payload: bytes, key: bytes, opcode: int) -> None:
    data = encode(opcode, payload, key=key)
    decoder = FrameDecoder(client=False)
    decoder.receive_bytes(data)
    frame = decoder.process_buffer()
    assert frame is not None
    assert (int(frame.opcode), frame.payload, frame.frame_finished, frame.message_finished) == (
        opcode,
        payload,
        True,
        True,
    )
    assert len(decoder.buffer) == 0
    assert masked(masked(payload, key), key) == payload
    if payload:
        assert data.endswith(bytes(byte ^ key[at % 4] for at, byte in enumerate(payload)))


FAST = "def apply_mask(data, key):\n    return bytes(byte ^ key[at % 4] for at, byte in enumerate(data))\n"


@pytest.mark.parametrize(
    ("files", "there"),
    [
        ({"__init__.py": "raise AssertionError", "speedups.py": FAST}, True),
        ({"__init__.py": "raise AssertionError"}, False),
        ({"__init__.py": "", "speedups.py": "import no_such_module"}, False),
        ({"__init__.py": "", "speedups.py": "other = 1"}, False),
        ({}, False),
    ],
    ids=["there", "without it", "for another Python", "another version", "not there"],
)
def test_masks_are_the_same_once_much_is_sent(
    files: dict[str, str], there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quicker mask is taken out of its package, which is not imported for it."""
    for name, text in files.items():
        (tmp_path / "websockets").mkdir(exist_ok=True)
        (tmp_path / "websockets" / name).write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    masks = frames._Masks()
    payload, key = b"0123456789" * 10_001, b"\0\x7f\x80\xff"
    first = masks.masked(payload, key)
    assert first[:5] == bytes(byte ^ key[at % 4] for at, byte in enumerate(payload[:5]))
    for _ in range(frames._PAYS // len(payload) + 1):
        assert masks.masked(payload, key) == first
    assert (masks._fast is not None) == there
    assert masks.masked(payload, key) == first


@pytest.mark.parametrize("size", [0, 1, 124, 125, 126, 3000, 65_535])
def test_a_prefix_is_the_beginning_of_the_payload(size: int) -> None:
    payload = (bytes(range(256)) * 256)[:size]
    for prefix in (b"", b"a", b"ab", b"abc", b"abcd", b"abcde"):
        expected = encode(BINARY, prefix + payload, key=b"\1\2\3\4")
        assert encode(BINARY, memoryview(payload), prefix=prefix, key=b"\1\2\3\4") == expected


def test_keys_are_fresh() -> None:
    assert len({encode(BINARY, b"")[2:6] for _ in range(8)}) > 1


@looped(
    ("frame", "opcode", "payload"),
    [
        (encode_close(None), CLOSE, b""),
        (encode_close(1000), CLOSE, b"\x03\xe8"),
        (encode_close(4999, "why"), CLOSE, b"\x13\x87why"),
        (encode_close(1000, "é" * 100), CLOSE, b"\x03\xe8" + ("é" * 61).encode()),
        (encode_control(PING, b"x" * 125), PING, b"x" * 125),
    ],
    ids=["no code", "a code", "a reason", "a long reason", "ping"],
)
def test_control_frames(frame: bytes, opcode: int, payload: bytes) -> None:
    assert (frame[0], frame[1], masked(frame[6:], frame[2:6])) == (0x80 | opcode, 0x80 | len(payload), payload)


def test_a_control_frame_has_a_bound() -> None:
    with pytest.raises(ValueError, match="more than 125 bytes"):
        encode_control(PONG, bytes(126))
