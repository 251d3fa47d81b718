"""Content codings, undone as the bytes come (RFC 9110, section 8.4): gzip and deflate.

Opens nothing. Output comes in bounded pieces, whatever the input expands to.
"""

from __future__ import annotations

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import ProtocolError

if TYPE_CHECKING:
    import zlib

# The largest piece of output that is made at once, in bytes.
PIECE = 1024 * 1024

_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = 31, 15, -15  # zlib's `wbits`


def inflater(content_encoding: str) -> Inflater | None:
    """What undoes a Content-Encoding, None for nothing. ProtocolError for one that is not known."""
    codings = [c.strip().lower() for c in content_encoding.split(",")]
    codings = [c for c in codings if c not in ("", "identity")]
    if not codings:
        return None
    if len(codings) > 1 or codings[0] not in ("gzip", "x-gzip", "deflate"):
        raise ProtocolError(f"unsupported Content-Encoding {content_encoding!a}")
    return Inflater(is_gzip=codings[0] != "deflate")


class Inflater:
    """One coding: `feed` it, then `take` until b"", at the end `finish`.

    gzip may consist of several members (RFC 1952, section 2.2), zero bytes may follow the last one. deflate
    is the zlib format (RFC 1950) or, as some servers send, the bare one (RFC 1951). No input at all is an
    empty body.
    """

    __slots__ = ("_decoder", "_is_gzip", "_more", "_rest")

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._decoder: zlib._Decompress | None = None  # None: between members
        self._rest = b""
        self._more = False  # output may wait although no input is left

    def feed(self, data: bytes | bytearray) -> None:
        """Add encoded bytes."""
        self._rest = self._rest + data if self._rest else bytes(data)

    def take(self) -> bytes:
        """The next piece of output, PIECE bytes at most; b"" if it needs more input. Raises ProtocolError."""
        while self._rest or self._more:
            decoder = self._decoder or self._start()
            if decoder is None:
                break
            if piece := self._decode(decoder):
                return piece
        return b""

    def _start(self) -> zlib._Decompress | None:
        """A decoder for what begins here, None where that cannot be told yet."""
        import zlib

        if self._is_gzip:
            self._rest = self._rest.lstrip(b"\0")
            if not self._rest:
                return None
            self._decoder = zlib.decompressobj(_GZIP_BITS)
        elif len(self._rest) >= 2:
            # RFC 1950, section 2.2: method 8, and the first two bytes are a multiple of 31.
            is_zlib = self._rest[0] & 15 == 8 and int.from_bytes(self._rest[:2], "big") % 31 == 0
            self._decoder = zlib.decompressobj(_ZLIB_BITS if is_zlib else _RAW_BITS)
        return self._decoder

    def _decode(self, decoder: zlib._Decompress) -> bytes:
        import zlib

        data, self._rest = self._rest, b""
        try:
            piece = decoder.decompress(data, PIECE)
        except zlib.error as error:
            raise ProtocolError(f"{self._name}: {_reason(error)}") from error
        self._more = len(piece) == PIECE and not decoder.eof
        self._rest = decoder.unconsumed_tail
        if decoder.eof:
            self._decoder, self._rest = None, decoder.unused_data
            if self._rest and not self._is_gzip:
                raise ProtocolError("zlib: data after the end of the stream")
        return piece

    def finish(self) -> None:
        """The body is over. Raises ProtocolError if the coding is not."""
        if self._decoder is not None or self._rest:
            raise ProtocolError(f"{self._name}: unexpected EOF")

    @property
    def _name(self) -> str:
        return "gzip" if self._is_gzip else "zlib"


def _reason(error: zlib.error) -> str:
    """Go's words where it has them (compress/gzip)."""
    text = str(error)
    if "incorrect header check" in text:
        return "invalid header"
    if "incorrect data check" in text or "incorrect length check" in text:
        return "invalid checksum"
    return text.rpartition(": ")[2]
