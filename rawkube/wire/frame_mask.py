"""Pure: a client's WebSocket frames with their masks undone, cut anywhere (RFC 6455, section 5.3).

The mask bit stays and the masking key becomes zero, so the bytes are still frames of a client, and their payload can be
read as it stands.
"""

from __future__ import annotations

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
                piece = view[: self._lacking()]
                self._header += piece
                if not self._lacking():
                    out += self._begin()
            view = view[len(piece) :]
        return bytes(out)

    def end(self) -> bytes:
        """What is held back at the end of the stream."""
        rest = bytes(self._header)
        self._header.clear()
        return rest

    def _unmasked(self, piece: memoryview) -> bytes:
        size = len(piece)
        turn = self._at % 4
        key = self._key.to_bytes(4, "big")
        pad = (key[turn:] + key[:turn]) * (size // 4 + 1)
        self._left -= size
        self._at += size
        if not self._key:
            return bytes(piece)
        return (int.from_bytes(piece, "little") ^ int.from_bytes(pad[:size], "little")).to_bytes(size, "little")

    def _lacking(self) -> int:
        if len(self._header) < 2:
            return 2 - len(self._header)
        length = self._header[1] & 0x7F
        mask = 4 if self._header[1] & 0x80 else 0
        return 2 + {126: 2, 127: 8}.get(length, 0) + mask - len(self._header)

    def _begin(self) -> bytes:
        header = bytes(self._header)
        self._header.clear()
        length = header[1] & 0x7F
        self._left = int.from_bytes(header[2 : {126: 4, 127: 10}[length]], "big") if length > 125 else length
        self._at = 0
        if not header[1] & 0x80:
            self._key = 0
            return header
        self._key = int.from_bytes(header[-4:], "big")
        return header[:-4] + _ZERO
