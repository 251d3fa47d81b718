"""Pure: a client's WebSocket frames with their masks undone, cut anywhere (RFC 6455, section 5.3).

The mask bit stays and the masking key becomes zero, so the bytes are still frames of a client, and their payload can be
read as it stands.
"""

from __future__ import annotations

from rawkube.wire.frame_header import lacking, masking_key, payload_length
from rawkube.wire.frames import masked

_ZERO = b"\0\0\0\0"


class ZeroMask:
    """`feed` it the client's bytes; gives the same bytes, header by header, with zero masks."""

    __slots__ = ("_at", "_header", "_key", "_left")

    def __init__(self) -> None:
        self._header = bytearray()
        self._key = 0
        self._left = 0
        self._at = 0

    def feed(self, data: bytes | memoryview) -> bytes:
        """What can be given of these bytes; the start of a header is held back until it is whole."""
        out = bytearray()
        view = memoryview(data)
        while view:
            if self._left:
                piece = view[: self._left]
                out += self._unmasked(piece)
            else:
                piece = view[: lacking(self._header)]
                self._header += piece
                if not lacking(self._header):
                    out += self._begin()
            view = view[len(piece) :]
        return bytes(out)

    def end(self) -> bytes:
        """What is held back at the end of the stream."""
        rest = bytes(self._header)
        self._header.clear()
        return rest

    def _unmasked(self, piece: memoryview) -> bytes:
        turn = self._at % 4
        key = self._key.to_bytes(4, "big")
        self._left -= len(piece)
        self._at += len(piece)
        return masked(bytes(piece), key[turn:] + key[:turn]) if self._key else bytes(piece)

    def _begin(self) -> bytes:
        header = bytes(self._header)
        self._header.clear()
        self._left = payload_length(header)
        self._at = 0
        if not header[1] & 0x80:
            self._key = 0
            return header
        self._key = int.from_bytes(masking_key(header), "big")
        return header[:-4] + _ZERO
