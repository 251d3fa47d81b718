"""Pure: one direction of a WebSocket, cut anywhere → frames, messages, pings and closes (RFC 6455, section 5).

For looking on: nothing is refused. Of a payload only the beginning is kept.
"""

from __future__ import annotations

from rawkube._typing import NamedTuple
from rawkube.wire.frame_header import lacking, masking_key, payload_length

KEPT = 64 * 1024
"""How many bytes of a message are kept; its size is always told."""

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
OPCODES = {CONTINUATION: "continuation", TEXT: "text", BINARY: "binary", CLOSE: "close", PING: "ping", PONG: "pong"}


class Frame(NamedTuple):
    """One frame. `size`: bytes of its payload; `data`: the beginning of it, unmasked."""

    opcode: int
    final: bool
    masked: bool
    size: int
    data: bytes


class Message(NamedTuple):
    """One message, from one frame or several. `size`: bytes in all; `data`: the beginning."""

    text: bool
    size: int
    data: bytes
    frames: int


class MessageReader:
    """`feed` it the bytes of one side; gives frames, and behind the last frame of a message the message."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._left = 0
        self._size = 0
        self._key = b""
        self._kept = bytearray()
        self._message = bytearray()
        self._message_size = 0
        self._frames = 0
        self._text = False

    def feed(self, data: bytes) -> list[Frame | Message]:
        """What these bytes complete."""
        found: list[Frame | Message] = []
        view = memoryview(data)
        while view:
            if self._left:
                piece = view[: self._left]
                self._payload(piece)
            else:
                piece = view[: lacking(self._header)]
                self._header += piece
                if not lacking(self._header):
                    self._begin()
            view = view[len(piece) :]
            if self._size >= 0 and not self._left and not lacking(self._header):
                found += self._finish()
        return found

    @property
    def inside(self) -> bool:
        """Whether the bytes so far end inside a frame or a message."""
        return bool(self._left or self._header or self._frames)

    def _begin(self) -> None:
        header = bytes(self._header)
        self._size = payload_length(header)
        self._left = self._size
        self._key = masking_key(header)
        self._kept.clear()

    def _payload(self, piece: memoryview) -> None:
        room = KEPT - len(self._kept)
        if room > 0:
            kept = bytes(piece[:room])
            if any(self._key):
                start = self._size - self._left
                kept = bytes(byte ^ self._key[(start + at) % 4] for at, byte in enumerate(kept))
            self._kept += kept
        self._left -= len(piece)

    def _finish(self) -> list[Frame | Message]:
        first = self._header[0]
        frame = Frame(first & 0x0F, bool(first & 0x80), bool(self._header[1] & 0x80), self._size, bytes(self._kept))
        self._header.clear()
        if frame.opcode >= CLOSE:
            return [frame]
        if frame.opcode != CONTINUATION:
            self._message.clear()
            self._message_size = self._frames = 0
            self._text = frame.opcode == TEXT
        self._message += frame.data[: KEPT - len(self._message)]
        self._message_size += frame.size
        self._frames += 1
        if not frame.final:
            return [frame]
        message = Message(self._text, self._message_size, bytes(self._message), self._frames)
        self._frames = 0
        return [frame, message]
