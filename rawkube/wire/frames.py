"""Pure: WebSocket frames of a connection's client (RFC 6455, section 5). A payload → bytes; bytes → pieces of payloads.

A data frame comes out piece by piece, as it came in; a control frame comes out whole. What a message is, and what its
frames may follow, is for the layer above.

wsproto does this too, is used where rawkube looks on at others' frames, and is what the tests compare this with. Here
it took as long to import as a whole `exec` needs for the rest, and its mask was the largest part of sending.
"""

from __future__ import annotations

import os

from rawkube._typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

MAX_CONTROL = 125  # bytes of a control frame's payload

# Up to so many bytes one long number is quicker to mask than four tables.
_SHORT = 2048
# From so many bytes on, importing something quicker costs less than it saves.
_PAYS = 512 * 1024

_OPCODES = frozenset((CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG))


class Malformed(Exception):
    """Not a frame that a server may send. `header`: its first two bytes."""

    def __init__(self, header: bytes) -> None:
        super().__init__(f"malformed frame: {header.hex()}")
        self.header = header


class Piece(NamedTuple):
    """A piece of a frame. `opcode`: of the frame, but CONTINUATION for all of a data frame's pieces behind its first.

    `payload`: a view of what was fed. `frame_end`: the frame ends with it; `fin`: the frame is the last of its message.
    """

    opcode: int
    payload: memoryview
    frame_end: bool
    fin: bool


class FrameReader:
    """Frames of a server, which are not masked (section 5.1). `opcode`: of the frame that has begun, -1 for none."""

    def __init__(self) -> None:
        self._data = b""
        self._view = memoryview(b"")
        self._at = 0
        self._left = 0
        self._fin = False
        self.opcode = -1
        self._first = False

    def feed(self, data: bytes) -> None:
        """What came."""
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._view = memoryview(self._data)
        self._at = 0

    def next(self) -> Piece | None:
        """The next piece; None: more bytes are needed. Raises Malformed, for good."""
        if self.opcode < 0 and not self._header():
            return None
        there = len(self._data) - self._at
        if there < self._left and (not there or self.opcode >= CLOSE):
            return None
        start = self._at
        self._at = min(start + self._left, len(self._data))
        self._left -= self._at - start
        opcode, self._first = (self.opcode if self._first else CONTINUATION), False
        ended = not self._left
        if ended:
            self.opcode = -1
        return Piece(opcode, self._view[start : self._at], ended, self._fin)

    def _header(self) -> bool:
        data, at = self._data, self._at
        if len(data) < at + 2:
            return False
        first, length = data[at], data[at + 1]
        opcode = first & 0x0F
        # Section 5.2: no extension was agreed on, so the reserved bits are 0; 5.5: control frames are whole and short.
        wrong = first & 0x70 or length & 0x80 or opcode not in _OPCODES
        if wrong or (opcode >= CLOSE and (not first & 0x80 or length > MAX_CONTROL)):
            raise Malformed(data[at : at + 2])
        at += 2
        if length > MAX_CONTROL:
            size = 2 if length == 126 else 8
            if len(data) < at + size:
                return False
            length = int.from_bytes(data[at : at + size], "big")
            # Section 5.2: the shortest form, and no length whose first bit is 1.
            if length <= (MAX_CONTROL if size == 2 else 0xFFFF) or length >> 63:
                raise Malformed(data[at - 2 : at])
            at += size
        self._at, self._left, self._fin, self.opcode, self._first = at, length, bool(first & 0x80), opcode, True
        return True


def encode(opcode: int, payload: bytes | memoryview, *, prefix: bytes = b"", key: bytes = b"") -> bytes:
    """One frame of a client, the only one of its message. `key`: the masking key, fresh at random unless given.

    `prefix`: what stands before a payload that is too large to be copied for that.
    """
    key = key or os.urandom(4)
    before = len(prefix)
    size = before + len(payload)
    if size <= MAX_CONTROL:
        header = bytes((0x80 | opcode, 0x80 | size))
    elif size <= 0xFFFF:
        header = bytes((0x80 | opcode, 0xFE)) + size.to_bytes(2, "big")
    else:
        header = bytes((0x80 | opcode, 0xFF)) + size.to_bytes(8, "big")
    if not before:
        return b"".join((header, key, masked(payload, key)))
    turn = before % 4
    return b"".join((header, key, masked(prefix, key), masked(payload, key[turn:] + key[:turn])))


def masked(payload: bytes | memoryview, key: bytes) -> bytes:
    """The payload under a mask, or from under it (section 5.3)."""
    size = len(payload)
    if size <= _SHORT:
        pad = (key * (size // 4 + 1))[:size]
        return (int.from_bytes(payload, "little") ^ int.from_bytes(pad, "little")).to_bytes(size, "little")
    return _MASKS.masked(payload, key)


class _Masks:
    """Masks of large payloads: by tables, or once it pays by a C function of `websockets` (the extra `speed`)."""

    def __init__(self) -> None:
        self._tables: dict[int, bytes] = {}
        self._size = 0
        self._fast: Callable[[bytes | memoryview, bytes], bytes] | None = None

    def masked(self, payload: bytes | memoryview, key: bytes) -> bytes:
        """The payload under a mask."""
        if self._fast is not None:
            return self._fast(payload, key)
        if self._size < _PAYS:
            self._size += len(payload)
            if self._size >= _PAYS:
                self._fast = _fast_mask()
        out = bytearray(payload)
        for at, byte in enumerate(key):
            out[at::4] = out[at::4].translate(self._table(byte))
        return bytes(out)

    def _table(self, key: int) -> bytes:
        """Each byte under one byte of a mask."""
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = bytes(byte ^ key for byte in range(256))
        return table


def _fast_mask() -> Callable[[bytes | memoryview, bytes], bytes] | None:
    """`apply_mask` of `websockets`, without the rest of that package, whose import takes as long as masking 100 MB."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    package = PathFinder.find_spec("websockets")
    folders = package.submodule_search_locations if package is not None else None
    spec = PathFinder.find_spec("websockets.speedups", list(folders)) if folders is not None else None
    if spec is None or spec.loader is None:
        return None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        fast: Callable[[bytes | memoryview, bytes], bytes] = module.apply_mask
    except (ImportError, AttributeError):  # built for another Python, or another version
        return None
    return fast


_MASKS = _Masks()


def encode_close(code: int | None, reason: str = "") -> bytes:
    """A close frame. `code`: None for one without; `reason`: cut to what fits, between characters (section 5.5.1)."""
    if code is None:
        return encode(CLOSE, b"")
    text = reason.encode()[: MAX_CONTROL - 2].decode(errors="ignore").encode()
    return encode(CLOSE, code.to_bytes(2, "big") + text)


def encode_control(opcode: int, payload: bytes) -> bytes:
    """A ping or pong. Raises ValueError for more than 125 bytes."""
    if len(payload) > MAX_CONTROL:
        raise ValueError(f"more than {MAX_CONTROL} bytes in a control frame")
    return encode(opcode, payload)
