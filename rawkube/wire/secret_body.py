"""Pure: a body that may hold secrets: held, rewritten, and framed anew, with the head before it."""

from __future__ import annotations

from rawkube.wire import redact, redact_body
from rawkube.wire.framing import Framing, Head

BODY_LIMIT = 16 * 1024 * 1024
"""How much of a body that may hold secrets is held, in bytes; a larger one is left out as a whole."""


class SecretBody:
    """A body that is held and rewritten, with the head before it where that tells the length."""

    def __init__(self, head: Head, shown: bytes, framing: Framing, *, login: bool = False) -> None:
        self._head = head
        self._login = login
        self._shown = shown
        self._chunked = framing.chunked
        self._type = head.value("content-type")
        self._coding = head.value("content-encoding")
        self._data = bytearray()
        self._too_large = False

    def head_now(self) -> bytes:
        """The head, if nothing that the body decides stands in it."""
        if not self._chunked or self._coding:
            return b""
        head, self._shown = self._shown, b""
        return head

    def add(self, data: bytes) -> None:
        """Hold a part of the body."""
        self._data += data
        if len(self._data) > BODY_LIMIT:
            self._too_large = True
            self._data.clear()

    def lines(self) -> bytes:
        """The whole lines of a stream of lines (a watch), rewritten, as one chunk."""
        end = self._data.rfind(b"\n") + 1
        if not self._chunked or self._coding or not end:
            return b""
        data = bytes(self._data[:end])
        del self._data[:end]
        return self._chunk(redact_body.body(data, self._type, login=self._login))

    def finish(self) -> bytes:
        """Everything that is still held, rewritten, with its framing."""
        data = self._rewritten()
        if self._chunked:
            head = self._head.redacted(without=frozenset(("content-encoding",)))[0] if self._shown else b""
            return head + (self._chunk(data) if data else b"") + b"0\r\n\r\n"
        return self._head.redacted(len(data), without=frozenset(("content-encoding",)))[0] + data

    def _rewritten(self) -> bytes:
        if self._too_large:
            return b'"' + redact.MASK.encode() + b'"'
        data = bytes(self._data)
        if self._coding and data:
            data = _decoded(data, self._coding)
        return redact_body.body(data, self._type, login=self._login)

    def _chunk(self, data: bytes) -> bytes:
        return f"{len(data):x}\r\n".encode() + data + b"\r\n" if data else b""


def _decoded(data: bytes, coding: str) -> bytes:
    """A body without its coding; what cannot be decoded is no JSON, and so is left out."""
    from rawkube.errors import ProtocolError
    from rawkube.wire.body import inflater

    try:
        decoder = inflater(coding)
        if decoder is None:
            return data
        decoder.feed(data)
        found = bytearray()
        while (piece := decoder.take()) and len(found) <= BODY_LIMIT:
            found += piece
    except ProtocolError:
        return b"?"
    return bytes(found) if len(found) <= BODY_LIMIT else b"?"
