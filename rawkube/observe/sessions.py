"""Pure: a recorded WebSocket session → what a server sends to another client, and when.

A piece of the recorded server waits until the client has sent as much on each channel as the recorded client had
by then: bytes of stdin however they are cut, how often the terminal's size was told, the end of stdin. Then it comes as
late after that, or after the piece before it, as it did, divided by the speed. Bytes are re-sent as they were, so
frames keep their borders and faults stay faults; only pongs are not, since the client gets its own. What follows
a recorded client's own end (its close, its FIN, its broken frames) is not known: then the session stays open
until the client ends it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rawkube._typing import NamedTuple
from rawkube.observe.exchanges import CLOSED, OPEN, RESET, Chunk, Exchange
from rawkube.observe.frames import ClientFrames, Counts, ServerFrames, close_frame, pong_frame
from rawkube.observe.recording import Piece
from rawkube.remotecommand import protocols
from rawkube.remotecommand.protocols import Protocol

# Seconds. The head and what one read brought with it are sent at once.
_AT_ONCE = 1e-6
_PROTOCOL_ERROR = (1002).to_bytes(2, "big")


class Step(NamedTuple):
    """What the server does next: `data` is sent once the client has come as far as `needs`, `delay` seconds later.

    `whole`: it ends with a frame. `closes`: a close frame has been sent with it. `ends`: OPEN, or CLOSED or RESET
    where the server closes or resets the connection.
    """

    delay: float
    needs: Counts
    data: bytes
    whole: bool
    closes: bool
    ends: str


def protocol_of(exchange: Exchange) -> Protocol | None:
    """The subprotocol of a 101 answer, None where it is none of `exec`'s."""
    return protocols.find(exchange.answer.header("sec-websocket-protocol").strip())


def steps_of(exchange: Exchange, head: Chunk) -> Iterator[Step]:
    """Everything that the server does after the request. `head`: the head of the 101 as it is to be sent."""
    first: Step | None = Step(head.delay, Counts(), head.data, True, False, OPEN)
    for step in _session_steps(exchange, exchange.started + head.delay):
        if first is not None and step.delay < _AT_ONCE and not step.needs:
            first = step._replace(delay=head.delay, data=first.data + step.data)
            continue
        if first is not None:
            yield first
            first = None
        yield step
    if first is not None:
        yield first


def _session_steps(exchange: Exchange, before: float) -> Iterator[Step]:
    client, server = ClientFrames(protocol_of(exchange)), ServerFrames()
    for piece in exchange.session:
        if piece.side == "server":
            data = server.feed(piece.data)
            ends = _end_of(piece)
            if data or ends != OPEN:
                data += server.end() if ends != OPEN else b""
                yield Step(max(0.0, piece.t - before), client.counts.copy(), data, server.whole, server.closed, ends)
                before = piece.t
            if ends != OPEN:
                return
        elif not server.closed:
            if _counts(client, piece):
                before = piece.t
            if client.over or piece.eof or piece.error:
                return


def _counts(client: ClientFrames, piece: Piece) -> bool:
    """Whether a client's piece is one that a server may have waited for."""
    counts = client.counts.copy()
    client.feed(piece.data)
    return client.counts != counts


def _end_of(piece: Piece) -> str:
    if piece.error or piece.eof:
        return RESET if "Reset" in piece.error else CLOSED
    return OPEN


class Session:
    """One client's session. `speed`: as of a replay; `now`: seconds of any clock, at which the request had come.

    `ends`: OPEN, and at the end CLOSED or RESET: what to do with the connection when what take() gave has been sent.
    """

    def __init__(self, exchange: Exchange, head: Chunk, *, speed: float | None, now: float) -> None:
        self.ends = OPEN
        self._steps = steps_of(exchange, head)
        self._next = next(self._steps, None)
        self._begun = False
        self._client = ClientFrames(protocol_of(exchange))
        self._speed = speed
        self._from = now  # what the next step's delay counts from
        self._ready = not self._lacks()
        self._whole = False
        self._closed = False  # our close frame was sent

    def receive(self, data: bytes, now: float) -> None:
        """Take the client's bytes, cut anywhere."""
        self._client.feed(data)
        if not self._ready and not self._lacks():
            self._ready = True
            self._from = max(self._from, now)

    def take(self, now: float) -> bytes:
        """The next bytes to send, empty if there are none yet (see `wake`) or no more."""
        if self.ends != OPEN:
            return b""
        if self._begun and (owed := self._owed()):
            return owed
        step, due = self._next, self.wake()
        if step is None or due is None or due > now:
            return b""
        self._advance(due)
        self._whole, self._closed, self.ends = step.whole, step.closes, step.ends
        self._settle()
        return step.data

    def wake(self) -> float | None:
        """When there is something to send if the client sends nothing before; None: never."""
        if self.ends != OPEN or not self._ready or self._next is None:
            return None
        return self._from if self._speed is None else self._from + self._next.delay / self._speed

    def _advance(self, due: float) -> None:
        self._next = next(self._steps, None)
        self._begun = True
        self._from = due
        self._ready = not self._lacks()

    def _lacks(self) -> bool:
        """Whether the next step waits for the client."""
        return self._next is not None and not self._next.needs <= self._client.counts

    def _owed(self) -> bytes:
        """What the protocol owes the client, between two frames: pongs, the answer to a close or to a fault."""
        pongs = b"" if self._closed or not self._whole else b"".join(map(pong_frame, self._client.pings))
        if pongs:
            self._client.pings.clear()
        if not self._client.over:
            return pongs
        if self._closed:
            self._settle()
            return b""
        self.ends = CLOSED
        return pongs + (close_frame(self._answer()) if self._whole else b"")

    def _answer(self) -> bytes:
        if self._client.closed is None:
            return _PROTOCOL_ERROR + self._client.broken.encode()[:123]
        return self._client.closed[:2] if len(self._client.closed) > 1 else b""

    def _settle(self) -> None:
        """Both have closed, and nothing more is recorded: the server ends the connection (RFC 6455, 7.1.1)."""
        if self.ends == OPEN and self._closed and self._client.over and self._next is None:
            self.ends = CLOSED
