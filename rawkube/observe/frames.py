"""Pure: the WebSocket frames of a session of channels (RFC 6455, section 5), as far as a replay needs to know them.

How far a client has come is counted, not compared: bytes for each channel, whatever messages they were cut into.
Of the recorded server's frames only their borders matter, and which of them are pongs.
"""

from __future__ import annotations

from collections import Counter, deque

from wsproto.frame_protocol import Frame, FrameDecoder, Opcode, ParseFailed

from rawkube.remotecommand.protocols import HALF_CLOSE, RESIZE, Protocol
from rawkube.wire.frame_header import lacking, payload_length

# What a client has sent: payload bytes for each channel; for channel 4 (terminal size) messages; for
# HALF_CLOSED + N whether channel N was said to be at its end (v5).
Counts = Counter[int]
HALF_CLOSED = 256

_MAX_OWED = 64
_NOT_YET = -1
_CONTINUATION, _CLOSE, _PING, _PONG = Opcode.CONTINUATION, Opcode.CLOSE, Opcode.PING, Opcode.PONG


def close_frame(payload: bytes) -> bytes:
    """A server's close frame; `payload`: code and reason, at most 125 bytes."""
    return bytes((0x80 | _CLOSE, len(payload))) + payload


def pong_frame(payload: bytes) -> bytes:
    """A server's answer to a ping; `payload`: at most 125 bytes."""
    return bytes((0x80 | _PONG, len(payload))) + payload


class ClientFrames:
    """The client's bytes, cut anywhere → what was counted. Nothing that comes in raises.

    `counts`: so far. `pings`: the payloads of the last pings, for whoever answers them to take. `closed`: the
    payload of the close frame, None before it. `broken`: what was wrong with the bytes; nothing that comes
    after it, or after a close, is looked at.
    """

    def __init__(self, protocol: Protocol | None) -> None:
        self.counts: Counts = Counter()
        self.pings: deque[bytes] = deque(maxlen=_MAX_OWED)
        self.closed: bytes | None = None
        self.broken = ""
        self._base64 = protocol is not None and protocol.base64
        self._half_close = protocol is not None and protocol.half_close
        self._decoder = FrameDecoder(client=False)
        self._open = False
        self._channel = _NOT_YET
        self._digits = 0
        self._half = b""

    def feed(self, data: bytes) -> None:
        """Take bytes."""
        if self.over:
            return
        self._decoder.receive_bytes(data)
        try:
            while not self.over and (frame := self._decoder.process_buffer()) is not None:
                self._frame(frame)
        except ParseFailed as error:
            self.broken = str(error) or "not a frame"

    @property
    def over(self) -> bool:
        """Whether the client has closed, or broken the protocol."""
        return self.closed is not None or bool(self.broken)

    def _frame(self, frame: Frame) -> None:
        payload: bytes = frame.payload  # type: ignore[assignment]  # frames are not decoded as text here
        if frame.opcode is _CLOSE:
            self.closed = payload
        elif frame.opcode is _PING:
            self.pings.append(payload)
        elif frame.opcode is not _PONG:
            self._data(frame.opcode, payload, frame.frame_finished and frame.message_finished)

    def _data(self, opcode: Opcode, payload: bytes, last: bool) -> None:
        # Later pieces of one frame come as continuations, too.
        if (opcode is _CONTINUATION) != self._open:
            self.broken = "data before the end of a message" if self._open else "a continuation of nothing"
            return
        self._open = not last
        if self._channel == _NOT_YET and payload:
            self._channel = (payload[0] - 0x30) & 0xFF if self._base64 else payload[0]
            payload = payload[1:]
        self._count(self._channel, payload)
        if last:
            self._end_message()

    def _count(self, channel: int, payload: bytes) -> None:
        if channel == HALF_CLOSE and self._half_close:
            self._half = (self._half + payload)[:2]
        elif channel not in (RESIZE, _NOT_YET):
            self.counts[channel] += self._decoded(payload) if self._base64 else len(payload)

    def _decoded(self, payload: bytes) -> int:
        """How many bytes more a piece of a base64 text stands for: four digits for three."""
        before = self._digits * 3 // 4
        self._digits += len(payload) - payload.count(b"=")
        return self._digits * 3 // 4 - before

    def _end_message(self) -> None:
        if self._channel == RESIZE:
            self.counts[RESIZE] += 1
        elif len(self._half) == 1:
            self.counts[HALF_CLOSED + self._half[0]] = 1
        self._channel, self._digits, self._half = _NOT_YET, 0, b""


class ServerFrames:
    """The recorded server's bytes, cut anywhere → the same without pongs (they answered the recorded client).

    `whole`: between two frames. `closed`: a close frame has passed. What is no frame passes unchanged.
    """

    def __init__(self) -> None:
        self.closed = False
        self._header = bytearray()
        self._left = 0
        self._dropped = self._closing = False

    @property
    def whole(self) -> bool:
        """Whether the bytes so far end with a frame."""
        return not self._left and not self._header

    def feed(self, data: bytes) -> bytes:
        """Take bytes, give those that pass. The start of a header is held back until it is whole."""
        out = bytearray()
        view = memoryview(data)
        while view:
            if self._left:
                piece = view[: self._left]
                self._left -= len(piece)
                out += b"" if self._dropped else piece
            else:
                piece = view[: lacking(self._header)]
                self._header += piece
                if not lacking(self._header):
                    out += self._begin()
            view = view[len(piece) :]
            self.closed |= self._closing and self.whole
        return bytes(out)

    def end(self) -> bytes:
        """What is held back at the end of the stream."""
        rest = bytes(self._header)
        self._header.clear()
        return rest

    def _begin(self) -> bytes:
        header = bytes(self._header)
        self._header.clear()
        self._left = payload_length(header)
        self._dropped = header[0] == 0x80 | _PONG and header[1] <= 125
        self._closing = header[0] == 0x80 | _CLOSE
        return b"" if self._dropped else header
