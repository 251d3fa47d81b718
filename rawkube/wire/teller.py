"""Tells a tap what passes on one connection, without its secrets."""

from __future__ import annotations

from rawkube.wire.tap import Tap
from rawkube.wire.transcript import CLIENT, SERVER, Piece, Transcript


class Teller:
    """What a stream is given to tell its bytes to (`Stream.told`)."""

    def __init__(self, tap: Tap, conn: int) -> None:
        self._tap = tap
        self._conn = conn
        self._transcript = Transcript(secrets=tap.secrets)
        self._ended: set[str] = set()

    def sent(self, data: bytes) -> None:
        """Bytes that this side sent."""
        self._tell(self._transcript.client(data))

    def came(self, data: bytes) -> None:
        """Bytes that the server sent; none: it has ended."""
        if data:
            self._tell(self._transcript.server(data))
        else:
            self.ended(SERVER)

    def closed(self) -> None:
        """This side has closed the connection."""
        self.ended(CLIENT)

    def ended(self, side: str, error: str = "") -> None:
        """A side has ended, or broken (`error`: the name of an exception). Told once."""
        if side not in self._ended:
            self._ended.add(side)
            self._tell(self._transcript.end(side))
            self._tap("eof", self._conn, side=side, error=error)

    def _tell(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            self._tap("bytes", self._conn, side=piece.side, data=piece.data, redacted=piece.redacted)
