"""Pure: the header of a WebSocket frame, while it comes (RFC 6455, section 5.2)."""

from __future__ import annotations


def lacking(header: bytes | bytearray) -> int:
    """How many bytes are missing until the header is whole, or until it tells how long it is; 0 when it is whole."""
    if len(header) < 2:
        return 2 - len(header)
    length = header[1] & 0x7F
    mask = 4 if header[1] & 0x80 else 0
    return 2 + {126: 2, 127: 8}.get(length, 0) + mask - len(header)


def payload_length(header: bytes | bytearray) -> int:
    """The length of the payload, in bytes, that a whole header tells."""
    length = header[1] & 0x7F
    return int.from_bytes(header[2 : {126: 4, 127: 10}[length]], "big") if length > 125 else length


def masking_key(header: bytes | bytearray) -> bytes:
    """The four bytes of the key, none where the payload is not masked."""
    return bytes(header[-4:]) if header[1] & 0x80 else b""
