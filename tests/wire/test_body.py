"""Content codings, undone piece by piece."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.errors import ProtocolError
from rawkube.wire.body import PIECE, Inflater, inflater
from tests.support.examples import examples
from tests.support.rows import looped

TEXT = b'{"kind":"PodList","items":[' + b'{"a":"\xc3\xa4"},' * 20 + b"]}"


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def decode(coding: str, pieces: list[bytes]) -> bytes:
    decoder = inflater(coding)
    assert decoder is not None
    out = b""
    for piece in pieces:
        decoder.feed(piece)
        while got := decoder.take():
            out += got
    decoder.finish()
    return out


ENCODED = {
    "gzip": ("gzip", gzip.compress(TEXT), TEXT),
    "gzip of nothing": ("gzip", gzip.compress(b""), b""),
    "gzip with a file name": ("gzip", b"\x1f\x8b\x08\x08" + bytes(6) + b"n\0" + gzip.compress(TEXT)[10:], TEXT),
    "two members": ("gzip", gzip.compress(b"one") + gzip.compress(TEXT), b"one" + TEXT),
    "an empty member between": ("gzip", gzip.compress(b"a") + gzip.compress(b"") + gzip.compress(b"b"), b"ab"),
    "zeros after the end": ("gzip", gzip.compress(TEXT) + bytes(9), TEXT),
    "zlib": ("deflate", zlib.compress(TEXT), TEXT),
    "raw deflate": ("deflate", raw_deflate(TEXT), TEXT),
    "nothing": ("gzip", b"", b""),
}  # fmt: skip


@looped("case", ENCODED.values(), ids=list(ENCODED))
def test_split_at_every_byte(case: tuple[str, bytes, bytes]) -> None:
    coding, encoded, text = case
    for cut in range(len(encoded) + 1):
        assert decode(coding, [encoded[:cut], encoded[cut:]]) == text
    assert decode(coding, [encoded[i : i + 1] for i in range(len(encoded))]) == text


@settings(max_examples=examples(50), deadline=None)
@given(st.binary(max_size=500), st.lists(st.integers(1, 50), min_size=1), st.sampled_from(["gzip", "deflate"]))
def test_any_split(data: bytes, sizes: list[int], coding: str) -> None:
    encoded = gzip.compress(data) if coding == "gzip" else zlib.compress(data)
    pieces: list[bytes] = []
    at = 0
    while at < len(encoded):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(encoded[at : at + size])
        at += size
    assert decode(coding, pieces) == data


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_cut_anywhere_is_an_error(coding: str) -> None:
    encoded = gzip.compress(TEXT) if coding == "gzip" else zlib.compress(TEXT)
    for cut in range(1, len(encoded)):
        with pytest.raises(ProtocolError, match="unexpected EOF"):
            decode(coding, [encoded[:cut]])


def test_output_comes_as_early_as_possible() -> None:
    """A proxy may compress a watch: an event must not wait for the next one."""
    packer = zlib.compressobj(wbits=31)
    decoder = Inflater(is_gzip=True)
    for event in (b'{"type":"ADDED"}\n', b'{"type":"MODIFIED"}\n'):
        decoder.feed(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH))
        assert decoder.take() == event
        assert decoder.take() == b""


@looped("size", [PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
@looped("coding", ["gzip", "deflate"])
def test_output_is_bounded(size: int, coding: str) -> None:
    data = bytes(size)
    decoder = inflater(coding)
    assert decoder is not None
    decoder.feed(gzip.compress(data) if coding == "gzip" else zlib.compress(data))
    total = 0
    while piece := decoder.take():
        assert len(piece) <= PIECE
        total += len(piece)
    decoder.finish()
    assert total == size


@pytest.mark.parametrize("value", ["", "identity", " Identity , identity "])
def test_nothing_to_undo(value: str) -> None:
    assert inflater(value) is None


@looped("value", ["br", "zstd", "gzip, br", "gzip,gzip"])
def test_unknown_codings(value: str) -> None:
    with pytest.raises(ProtocolError, match="unsupported Content-Encoding"):
        inflater(value)


def test_an_unknown_coding_is_escaped() -> None:
    with pytest.raises(ProtocolError, match=r"'br\\x1b\\xe4'$"):
        inflater("br\x1bä")
