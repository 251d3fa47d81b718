"""One request through the reverse proxy, and its answer; or, after a 101, whatever passes.

Bodies pass as they are, chunk by chunk as they were sent, neither held nor changed: whatever one side is slow to take,
the other is not read for. A body that breaks off there breaks off here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import ConnectionLost, ProtocolError, RawkubeError, TransportError
from rawkube.observe import proxy_heads as heads
from rawkube.observe.proxy_heads import Asked, Body, Malformed, Refusal, Said
from rawkube.observe.proxy_way import Broken, ClientGone, Out, Refused, ready

if TYPE_CHECKING:
    from rawkube.observe.proxy_relay import Relay

_KEPT = 1024 * 1024  # of a body, to send it again
_EARLY = 64 * 1024  # of what a client sends before it was answered
_READ = 256 * 1024
_HALF_CLOSED = 30.0
_HALF_CLOSED_TLS = 2.0  # TLS has no half-close that every library takes: the server is not told


class Passage:
    """One request and its answer; or, after a 101, whatever passes."""

    def __init__(self, relay: Relay, asked: Asked) -> None:
        self._relay = relay
        self._way = relay.way
        self._asked = asked
        self._body: Body = asked.body
        self._kept: bytes | None = b""
        self._said: Said | None = None
        self._held = b""  # of the answer's head
        self._over = False  # the answer
        self._keeps = True
        self._retried = self._reused = False
        self._ended = False  # the server's end has come
        self._ended_here = False  # the server was told of the client's
        self._to_client = Out(relay.link, relay.came)
        self._moved = 0.0

    def run(self) -> bool:
        """To the end of the answer; whether the client may ask again. Raises Refused, Broken, ClientGone."""
        self._open()
        while not self._step():
            pass
        while self._to_client.rest:
            ready([(self._relay.link.fileno(), False, True)], None)
            self._to_client.push()
        said = self._said
        if said is None or said.status == 101 or not self._body.over or not self._keeps:
            self._relay.drop()
            self._relay.tell_end("server")
            self._relay.link.finish()
            return False
        if not said.keeps or self._ended:
            self._relay.drop()
        return self._asked.keeps

    def _open(self) -> None:
        """Send the head, and what is kept of the body, on a connection that is there or made."""
        try:
            head = self._relay.head(self._asked)
            self._reused = self._relay.stream(self._asked)
        except RawkubeError as error:
            raise Refused(str(error)) from None
        assert self._relay.up is not None
        self._up = self._relay.up
        self._to_server = Out(self._up)
        self._held, self._ended = b"", False
        self._read_writes = self._write_reads = False
        self._moved = time.monotonic()
        self._sending(head + (self._kept or b""))

    def _sending(self, data: bytes = b"") -> None:
        """Send to the server. That it broke is told by reading: an answer may have come before."""
        try:
            if data:
                self._to_server.put(data)
                self._moved = time.monotonic()
            elif self._to_server.push():
                self._moved = time.monotonic()
        except TransportError:
            self._to_server.rest = memoryview(b"")
            self._kept = None
            self._body = Body(0) if self._said is None else self._body
            self._keeps = False
            return
        self._write_reads = bool(self._to_server.rest) and self._up.crossed()

    # One turn

    def _step(self) -> bool:
        """Wait for either side, and move what there is; whether the answer is over."""
        relay = self._relay
        self._upload()
        if self._over and not self._tunnel:
            return True
        if self._tunnel and relay.gone and self._ended and not self._to_server.rest:
            return True
        from_client = not relay.gone and not self._to_server.rest and (self._tunnel or len(relay.incoming) < _EARLY)
        from_server = not self._ended and not self._to_client.rest
        if from_server and self._up.pending():
            self._download()
            return False
        able = ready(
            [
                (relay.link.fileno(), from_client, bool(self._to_client.rest)),
                (
                    self._up.fileno(),
                    from_server or self._write_reads,
                    (bool(self._to_server.rest) and not self._write_reads) or (from_server and self._read_writes),
                ),
            ],
            self._limit(),
        )
        if not able:
            return self._silent()
        if relay.link.fileno() in able:
            self._to_client.push()
            if from_client and relay.take() and relay.gone and not self._tunnel:
                raise ClientGone
        if self._up.fileno() in able:
            if self._to_server.rest:
                self._sending()
            if from_server:
                self._download()
        return False

    @property
    def _tunnel(self) -> bool:
        return self._said is not None and self._said.status == 101

    def _limit(self) -> float | None:
        """How long a turn may wait."""
        # A command that does not read its input is none of our business, as long as its client waits.
        if self._to_server.rest and (not self._tunnel or self._relay.gone):
            return max(0.0, self._moved + self._way.client.timeouts.send - time.monotonic())
        if self._tunnel and (self._ended or self._relay.gone):
            plain = self._ended or self._way.endpoint.tls is None
            return _HALF_CLOSED if plain else _HALF_CLOSED_TLS
        return None

    def _silent(self) -> bool:
        """Nothing has moved for as long as it may."""
        if self._tunnel:
            return True
        text = f"write tcp {self._up.names}: i/o timeout"
        if self._said is None:
            raise Refused(text)
        raise Broken("TimeoutError")

    def _upload(self) -> None:
        """Pass on what came from the client, as far as it belongs to this request."""
        relay = self._relay
        if self._to_server.rest:
            return
        if self._tunnel:
            if relay.incoming:
                data, relay.incoming = relay.incoming, b""
                self._sending(data)
            elif relay.gone and not self._ended_here:
                self._ended_here = True
                self._up.end_writing()
            return
        if self._body.over or not relay.incoming:
            return
        try:
            used = self._body.feed(relay.incoming)
        except Malformed as error:
            if self._said is not None:
                raise Broken("") from None
            relay.drop()
            relay.refuse(Refusal(400, "Bad Request", str(error)))
            raise Broken("") from None
        data, relay.incoming = relay.incoming[:used], relay.incoming[used:]
        if self._kept is not None:
            self._kept = self._kept + data if len(self._kept) + len(data) <= _KEPT else None
        self._sending(data)

    def _download(self) -> None:
        """Read from the server, and pass it on."""
        try:
            data = self._up.recv_now(_READ)
            while data and len(data) < _READ and self._up.pending():
                data += self._up.recv_now(_READ - len(data)) or b""
        except TransportError as error:
            self._lost(error)
            return
        if data is None:
            self._read_writes = self._up.crossed()
        elif data:
            self._read_writes = False
            self._received(data)
        else:
            self._server_ended()

    def _received(self, data: bytes) -> None:
        if self._said is None:
            data = self._heads(self._held + data)
        if self._said is None or not data:
            return
        if self._asked.old and self._said.body.chunked:
            pieces: list[bytes] = []
            used = self._fed(data, pieces.append)
            self._to_client.put(b"".join(pieces))
        else:
            used = self._fed(data, None)
            self._to_client.put(data[:used])
        self._over = self._said.body.over
        if used < len(data):  # more than one answer: not what was asked for
            self._ended = True

    def _fed(self, data: bytes, tell: Callable[[bytes], None] | None) -> int:
        assert self._said is not None
        try:
            return self._said.body.feed(data, tell)
        except Malformed:
            # The client gets what came, and sees for itself.
            self._to_client.put(data)
            self._flush()
            raise Broken("") from None

    def _heads(self, data: bytes) -> bytes:
        """Heads, up to that of the final answer; what is behind it."""
        while (at := data.find(b"\r\n\r\n")) >= 0:
            try:
                said = heads.read_answer(data[: at + 4], self._asked)
            except ProtocolError as error:
                raise Refused(str(error)) from None
            data = data[at + 4 :]
            if said.status == 401 and self._again():
                return b""
            self._pass_head(said)
            if not said.interim:
                self._said = said
                self._over = said.body.over
                return data
        if not data.startswith(b"HTTP/"[: len(data)]) or len(data) > heads.HEAD_LIMIT:
            raise Refused("malformed HTTP response")
        self._held = data
        return b""

    def _pass_head(self, said: Said) -> None:
        asked = self._asked
        if said.interim:
            if asked.old:
                return
        else:
            self._keeps = self._keeps and asked.keeps and not said.body.until_the_end and self._body.over
        head = heads.for_client(
            said,
            asked,
            keeps=self._keeps,
            prefix=self._way.prefix,
            server=self._way.server,
            added=self._relay.readable,
        )
        self._to_client.put(head)

    def _again(self) -> bool:
        """After a 401: whether the request was sent again, with fresh credentials."""
        if self._retried or self._kept is None or not self._body.over:
            return False
        self._retried = True
        try:
            if not self._way.client.credentials.refresh():
                return False
        except RawkubeError as error:
            raise Refused(str(error)) from None
        if self._way.tap is not None:
            why = "401: the credentials were refreshed"
            self._way.tap("retry", self._relay.conn, why=why, wait=0.0, attempt=1)
        self._relay.drop()
        self._open()
        return True

    # Ends

    def _server_ended(self) -> None:
        self._ended = True
        said = self._said
        if said is None:
            self._lost(ConnectionLost("unexpected EOF" if self._held else "EOF"))
        elif self._tunnel:
            self._flush()
            self._relay.tell_end("server")
            self._relay.link.end_writing()
        elif said.body.until_the_end:
            self._over = True
        else:
            self._flush()
            raise Broken("")

    def _lost(self, error: TransportError) -> None:
        """The connection to the server broke."""
        if self._said is not None:
            self._flush()
            raise Broken(type(error.__cause__ or error).__name__)
        if self._reused and not self._held and self._asked.repeatable and not self._retried:
            self._retried = True
            self._relay.drop()
            self._open()
            return
        raise Refused(str(error))

    def _flush(self) -> None:
        while self._to_client.rest:
            ready([(self._relay.link.fileno(), False, True)], None)
            self._to_client.push()
