"""The channel protocol of `exec` and `attach` over WebSocket: bytes in, events out; actions in, bytes out. Pure.

It begins behind the handshake (`101 Switching Protocols`). wire/frames.py reads and writes the frames (RFC 6455); the
channel, which belongs to a message and not to a frame, the texts of gorilla/websocket and client-go 1.37, and
what counts as the end are here.

    channels = Channels(protocols.V5)
    send(channels.stdin(b"hello\\n") + channels.close_stdin())
    while not channels.closed:
        for event in channels.feed(receive()) ...
        send(channels.data_to_send())
    channels.result()

Output is passed on as it comes, before a frame or a message is whole; only the error channel is kept, up to
MAX_ERROR bytes. Nothing that comes in raises.
"""

from __future__ import annotations

import binascii
from collections import deque

from rawkube._typing import NamedTuple
from rawkube.errors import RawkubeError
from rawkube.gotext import one_line
from rawkube.remotecommand.protocols import ERROR, HALF_CLOSE, RESIZE, STDERR, STDIN, STDOUT, Protocol
from rawkube.remotecommand.result import NoStatus, Result, decode, holds_status, interrupted
from rawkube.wire.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    FrameReader,
    Malformed,
    Piece,
    encode,
    encode_close,
    encode_control,
)

MAX_ERROR = 1024 * 1024

# Answers to pings that wait to be sent; beyond that the oldest are dropped (RFC 6455, 5.5.3 allows it).
_MAX_OWED = 64
# How often a growing error channel is looked at for a whole status; a server may send it byte by byte.
_MAX_LOOKS = 64
_NOT_YET = -1
_BETWEEN = "next reader: "


class NoHalfClose(RawkubeError):
    """The subprotocol cannot send the end of stdin (only v5 can)."""


class Output(NamedTuple):
    """A piece of the command's output, never empty. `channel`: 1 stdout, 2 stderr."""

    channel: int
    data: bytes


class Discarded(NamedTuple):
    """A piece of a message on a channel that is not open towards the client; client-go drops it too.

    `data` is as it came (in the base64 subprotocols: still encoded).
    """

    channel: int
    data: bytes


class Ping(NamedTuple):
    """The server asked for a sign of life: `data_to_send()` holds the answer."""

    payload: bytes


class Pong(NamedTuple):
    """The answer to a ping."""

    payload: bytes


class Closed(NamedTuple):
    """The end, the last event. `code` (RFC 6455, 7.4): 1005 for a close without one, 1006 for none at all."""

    code: int
    reason: str


class Violation(NamedTuple):
    """The server broke the protocol, in the words of gorilla/websocket or client-go: the last event."""

    text: str


Event = Output | Discarded | Ping | Pong | Closed | Violation


class _Broken(Exception):
    """`code`: the close code that answers it, 0 for none."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


class Channels:
    """One connection, from behind the handshake to its end.

    `tty`: the command has a terminal, so there is no stderr (what comes on channel 2 is discarded).
    `closed`: the last event (Closed or Violation) has come out; from then on nothing comes in, and actions
    return no bytes.
    """

    def __init__(self, protocol: Protocol, *, tty: bool = False) -> None:
        self.protocol = protocol
        self.closed = False
        self._outputs = (STDOUT,) if tty else (STDOUT, STDERR)
        self._reader = FrameReader()
        self._owed: deque[bytes] = deque(maxlen=_MAX_OWED)
        self._message_open = False
        self._channel = _NOT_YET
        self._base64 = _Base64()
        self._error = bytearray()
        self._looks = 0
        self._looked = 0
        self._holds_status = False
        self._stdin_closed = False
        self._close_sent = 0  # the code of our own close
        self._close_code = 0
        self._end = ""  # how the connection ended, if not cleanly

    # --- what comes in -------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[Event]:
        """What these bytes bring, in order; cut wherever the socket cut them. Raises nothing."""
        events: list[Event] = []
        if self.closed:
            return events
        reader = self._reader
        reader.feed(data)
        try:
            while not self.closed and (piece := reader.next()) is not None:
                if piece.opcode >= CLOSE:
                    self._control(piece, events)
                else:
                    self._data(piece, events)
        except _Broken as error:
            self._violation(str(error), error.code, events)
        except Malformed as error:
            text = header_error(error.header, message_open=self._message_open)
            self._violation(f"websocket: {text}", 1002, events)
        return events

    def eof(self, error: str = "") -> list[Event]:
        """The stream ended without a close frame.

        `error`: how, in Go's words (`read tcp A->B: i/o timeout`); empty if the server just closed it.
        """
        if self.closed:
            return []
        self._finish(1006, self._place() + (error or close_text(1006, "unexpected EOF")))
        return [Closed(1006, error or "unexpected EOF")]

    @property
    def holds_status(self) -> bool:
        """Whether the command's whole status has come (v4, v5): the server has no more to do than to close.

        False for a status that came in many pieces that each looked like the last: `result()` still reads it.
        """
        size = len(self._error)
        if not self._holds_status and size != self._looked and self._error.endswith((b"}", b"}\n")):
            self._looked = size
            self._looks += 1
            self._holds_status = self._looks <= _MAX_LOOKS and holds_status(self.protocol, bytes(self._error))
        return self._holds_status

    def result(self) -> Result:
        """How the command ended, as far as is known now; final when `closed`.

        A status counts if the server then closed with 1000, or was closed by `close(1000)`.
        """
        data = bytes(self._error)
        if self._end and self._close_sent != 1000:
            text = f"error reading from error stream: {self._end}"
            return interrupted(text, self.protocol, data, self._close_code)
        if not data and (self.protocol.json_status or not self.closed or self._close_sent):
            return NoStatus(close_code=self._close_code)
        return decode(self.protocol, data)

    # --- what goes out -------------------------------------------------------------------------------------

    def stdin(self, data: bytes | memoryview) -> bytes:
        """One message of stdin; kubectl sends at most 32 KiB in one. Nothing for no data.

        Raises ValueError behind close_stdin().
        """
        if self._stdin_closed:
            raise ValueError("stdin was closed")
        return self._message(STDIN, data) if data else b""

    def close_stdin(self) -> bytes:
        """The end of stdin, once (v5). Raises NoHalfClose where the subprotocol has none (`protocol.half_close`)."""
        if not self.protocol.half_close:
            raise NoHalfClose(f"{self.protocol.name} cannot send the end of the input")
        if self._stdin_closed:
            return b""
        self._stdin_closed = True
        return self._message(HALF_CLOSE, bytes((STDIN,)))

    def resize(self, width: int, height: int) -> bytes:
        """The size of the terminal, in characters (0 to 65535 each); only with a tty."""
        return self._message(RESIZE, b'{"Width":%d,"Height":%d}\n' % (width, height))

    def ping(self, payload: bytes = b"") -> bytes:
        """Ask for a sign of life; at most 125 bytes (ValueError)."""
        return b"" if self._silent else encode_control(PING, payload)

    def close(self, code: int = 1000, reason: str = "") -> bytes:
        """The close frame, once, behind what is owed. What still comes in is passed on until Closed.

        `code`: one that may be sent (RFC 6455, 7.4); `reason` is cut to 123 bytes.
        """
        if self._silent:
            return b""
        self._close_sent = code
        return self.data_to_send() + encode_close(code, reason)

    def data_to_send(self) -> bytes:
        """What the protocol itself owes the server by now (pongs, the answer to a close), once."""
        owed = b"".join(self._owed)
        self._owed.clear()
        return owed

    @property
    def _silent(self) -> bool:
        """Whether nothing more may be sent (RFC 6455, 5.5.1)."""
        return self.closed or self._close_sent != 0

    def _message(self, channel: int, payload: bytes | memoryview) -> bytes:
        if self._silent:
            return b""
        if self.protocol.base64:
            return encode(TEXT, b"%d" % channel + binascii.b2a_base64(payload, newline=False))
        return encode(BINARY, payload, prefix=bytes((channel,)))

    # --- frames --------------------------------------------------------------------------------------------

    def _data(self, piece: Piece, events: list[Event]) -> None:
        # Later pieces of a frame come as continuations, too; within a message those say nothing new.
        if piece.opcode != CONTINUATION or not self._message_open:
            self._begin_message(piece.opcode)
        payload = piece.payload
        last = piece.frame_end and piece.fin
        self._message_open = not last
        if self._channel < 0:
            if not payload:
                if last:
                    raise _Broken("read stream id: EOF")
                return
            self._channel = (payload[0] - 0x30) & 0xFF if self.protocol.base64 else payload[0]
            payload = payload[1:]
        if self.protocol.base64:
            self._encoded(self._channel, bytes(payload), last, events)
        else:
            self._decoded(self._channel, payload, events)

    def _begin_message(self, opcode: int) -> None:
        if opcode == CONTINUATION:
            raise _Broken("websocket: continuation after FIN", 1002)
        if self._message_open:
            raise _Broken("websocket: data before FIN", 1002)
        if opcode != (TEXT if self.protocol.base64 else BINARY):
            raise _Broken(f"unexpected message type: {opcode}")
        self._channel = _NOT_YET
        self._base64 = _Base64() if self.protocol.base64 else self._base64

    def _encoded(self, channel: int, payload: bytes, last: bool, events: list[Event]) -> None:
        if channel in self._outputs or channel == ERROR:
            payload = self._base64.decode(payload, last)
        self._decoded(channel, payload, events)
        if self._base64.illegal:
            raise _Broken(f"illegal base64 data on channel {channel}")

    def _decoded(self, channel: int, payload: bytes | memoryview, events: list[Event]) -> None:
        if not payload:
            return
        if channel in self._outputs:
            events.append(Output(channel, bytes(payload)))
        elif channel != ERROR:
            events.append(Discarded(channel, bytes(payload)))
        elif len(self._error) + len(payload) > MAX_ERROR:
            raise _Broken(f"more than {MAX_ERROR} bytes on the error channel", 1009)
        else:
            self._error += payload

    def _control(self, frame: Piece, events: list[Event]) -> None:
        payload = bytes(frame.payload)
        if frame.opcode == CLOSE:
            self._closing(payload, events)
        elif frame.opcode == PING:
            if not self._silent:
                self._owed.append(encode_control(PONG, payload))
            events.append(Ping(payload))
        else:
            events.append(Pong(payload))

    def _closing(self, payload: bytes, events: list[Event]) -> None:
        code, reason = close_payload(payload)
        if not self._close_sent:
            self._owed.append(encode_close(None if code == 1005 else code))
        place = self._place()
        self._finish(code, "" if code == 1000 and place == _BETWEEN else place + close_text(code, reason))
        events.append(Closed(code, reason))

    def _violation(self, text: str, code: int, events: list[Event]) -> None:
        if code and not self._close_sent:
            self._owed.append(encode_close(code, text.removeprefix("websocket: ")))
        self._finish(code or 1006, self._place() + text if text.startswith("websocket: ") else text)
        events.append(Violation(text))

    def _place(self) -> str:
        """What client-go was reading, as its errors begin."""
        if not self._message_open:
            return "read stream id: " if self._reader.opcode in (TEXT, BINARY) else _BETWEEN
        if self._channel < 0:
            return "read stream id: "
        return "read message: " if self._channel in self._outputs or self._channel == ERROR else _BETWEEN

    def _finish(self, code: int, end: str) -> None:
        """`end`: empty if clean."""
        self.closed = True
        self._close_code = code
        self._end = end


class _Base64:
    """The base64 of one message, in pieces. `illegal`: what came last is none."""

    __slots__ = ("_padded", "_rest", "illegal")

    def __init__(self) -> None:
        self._rest = b""
        self._padded = False
        self.illegal = False

    def decode(self, data: bytes, last: bool) -> bytes:
        """What can be decoded by now, in whole groups of four characters: up to the first illegal one."""
        data = self._rest + data
        whole = len(data) - len(data) % 4
        self._rest = data[whole:]
        if self._padded and data:
            self.illegal = True
            return b""
        self._padded = data[:whole].endswith(b"=")
        self.illegal = bool(self._rest) and (last or self._padded)
        try:
            return binascii.a2b_base64(data[:whole], strict_mode=True) if whole else b""
        except binascii.Error:
            self.illegal = True
            return _legal(data[:whole])


def _legal(data: bytes) -> bytes:
    """What the groups before the first illegal one hold: so much came out if the socket had cut there."""
    found = b""
    for at in range(0, len(data), 4):
        try:
            found += binascii.a2b_base64(data[at : at + 4], strict_mode=True)
        except binascii.Error:
            break
        if data[at + 3] == 0x3D:  # nothing may follow padding
            break
    return found


def header_error(header: bytes, *, message_open: bool) -> str:
    """What gorilla/websocket says against the first two bytes of a frame from a server, all of it, in its order."""
    first, second = header
    opcode = first & 0x0F
    wrong = [f"RSV{bit} set" for bit in (1, 2, 3) if first & (0x80 >> bit)]
    if opcode in (8, 9, 10):
        wrong += ["len > 125 for control"] if second & 0x7F > 125 else []
        wrong += [] if first & 0x80 else ["FIN not set on control"]
    elif opcode in (1, 2):
        wrong += ["data before FIN"] if message_open else []
    elif opcode == 0:
        wrong += [] if message_open else ["continuation after FIN"]
    else:
        wrong.append(f"bad opcode {opcode}")
    wrong += ["bad MASK"] if second & 0x80 else []
    return ", ".join(wrong) or "bad frame length"  # gorilla takes any; RFC 6455, 5.2 wants the shortest form


# Names of gorilla/websocket (CloseError).
_CLOSE_NAMES = {
    1000: "normal",
    1001: "going away",
    1002: "protocol error",
    1003: "unsupported data",
    1005: "no status",
    1006: "abnormal closure",
    1007: "invalid payload data",
    1008: "policy violation",
    1009: "message too big",
    1010: "mandatory extension missing",
    1011: "internal server error",
    1015: "TLS handshake error",
}


def close_text(code: int, reason: str) -> str:
    """A close as gorilla/websocket words it: `websocket: close 1001 (going away): why`, on one line."""
    name = f" ({_CLOSE_NAMES[code]})" if code in _CLOSE_NAMES else ""
    return f"websocket: close {code}{name}{f': {one_line(reason)}' if reason else ''}"


def close_payload(payload: bytes) -> tuple[int, str]:
    """(code, reason) of a close frame; 1005 where there is none. Raises _Broken for a code that may not be sent."""
    if len(payload) < 2:
        return 1005, ""
    code = int.from_bytes(payload[:2], "big")
    if not (1000 <= code <= 1003 or 1007 <= code <= 1013 or 3000 <= code <= 4999):
        raise _Broken(f"websocket: bad close code {code}", 1002)
    try:
        return code, payload[2:].decode()
    except UnicodeDecodeError:
        raise _Broken("websocket: invalid utf8 payload in close frame", 1002) from None
