"""One client of the reverse proxy: its requests, and the connection to the server that they go by."""

from __future__ import annotations

import time

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import ProtocolError, TransportError
from rawkube.gotext import one_line
from rawkube.observe import proxy_heads as heads
from rawkube.observe import proxy_origin as origin
from rawkube.observe.link import Link
from rawkube.observe.proxy_heads import Asked, Refusal
from rawkube.observe.proxy_passage import Passage
from rawkube.observe.proxy_way import Broken, ClientGone, Out, Refused, Way, ready
from rawkube.wire.dial import dial

if TYPE_CHECKING:
    from rawkube.wire.stream import Stream
    from rawkube.wire.teller import Teller

IDLE = 600.0
"""How long a client's connection may wait for its next request, in seconds."""
WHOLE = 60.0
"""How long the head of a request may take."""


class Relay:
    """One client's connection. For one thread, but for `interrupt`."""

    def __init__(self, link: Link, way: Way, conn: int, teller: Teller | None) -> None:
        self.link = link
        self.way = way
        self.conn = conn
        self._teller = teller
        self.incoming = b""  # came from the client, and is not used yet
        self.gone = False  # the client's end has come
        self.up: Stream | None = None
        self._made: tuple[int, bytes | None] = (0, None)
        self._interrupted = False
        self.readable: heads.Pairs = []  # headers that let the page read the answer

    @property
    def idle_since(self) -> float | None:
        """Since when the client has asked for nothing (monotonic); None while it has."""
        return self.link.idle_since

    def interrupt(self) -> None:
        """End it at once, from any thread."""
        self._interrupted = True
        self.link.interrupt()
        if (up := self.up) is not None:
            up.interrupt()

    def serve(self) -> None:
        """Answer requests until one side has enough."""
        error = ""
        try:
            while not self.way.stopping.is_set():
                self.link.idle_since = time.monotonic()
                raw = self._read_head()
                self.link.idle_since = None
                if not raw or not self._request(raw):
                    return
        except ClientGone:
            self._tell_client_gone()
        except Broken as broken:
            error = broken.kind
            if error:
                self.link.reset()
        except (OSError, TransportError) as lost:  # of the client's connection
            self._tell_client_gone(type(lost.__cause__ or lost).__name__)
        finally:
            self.drop()
            self.tell_end("server", error)
            self.link.close()
            self.tell_end("client")

    # The client

    def tell_end(self, side: str, error: str = "") -> None:
        """Tell the tap that a side has ended; once."""
        if self._teller is not None:
            self._teller.ended(side, error)

    def _tell_client_gone(self, error: str = "") -> None:
        """The client's connection has ended; where this proxy has ended it, that is the server's end to the client."""
        self.tell_end("server" if self._interrupted else "client", "" if self._interrupted else error)

    def take(self, end: float = 0.0) -> bool:
        """Read from the client until `end` (monotonic); whether something came, its end included."""
        data = self.link.recv(end)
        if data is None:
            return False
        if not data:
            self.gone = True
            self._tell_client_gone()
        elif self._teller is not None:
            self._teller.sent(data)
        self.incoming += data
        return True

    def _read_head(self) -> bytes:
        """The next request's head; nothing at the end of the connection, or of the client's time."""
        began = bool(self.incoming)
        end = time.monotonic() + (WHOLE if began else IDLE)
        while (at := self.incoming.find(b"\r\n\r\n")) < 0:
            if len(self.incoming) > heads.HEAD_LIMIT:
                self.refuse(Refusal(431, "Request Header Fields Too Large", "the head of a request is too large"))
                return b""
            if self.incoming.lstrip(b"\r\n")[:1] and not self.incoming.lstrip(b"\r\n")[:1].isalpha():
                self.refuse(Refusal(400, "Bad Request", "not an HTTP/1.1 request"))
                return b""
            if self.gone or not self.take(end):
                return b""
            if not began and self.incoming:
                began, end = True, time.monotonic() + WHOLE
        raw, self.incoming = self.incoming[: at + 4], self.incoming[at + 4 :]
        return raw.lstrip(b"\r\n")

    def refuse(self, why: Refusal, *, head_only: bool = False, asked: Asked | None = None) -> None:
        """Answer with a failure of this proxy; the last answer on this connection."""
        self._answer(heads.own_answer(why, head_only=head_only, asked=asked, added=self.readable))

    def _answer(self, data: bytes) -> None:
        out = Out(self.link, self.came)
        out.put(data)
        end = time.monotonic() + 10
        while out.rest and time.monotonic() < end:
            ready([(self.link.fileno(), False, True)], 1.0)
            out.push()
        self.tell_end("server")
        self.link.finish(1)

    def came(self, data: bytes) -> None:
        """Tell the tap what the client was sent."""
        if self._teller is not None:
            self._teller.came(data)

    # The server

    def drop(self) -> None:
        """Close the connection to the server."""
        up, self.up = self.up, None
        if up is not None:
            up.close()

    def stream(self, asked: Asked) -> bool:
        """Have a connection to the server; whether it was there already."""
        way = self.way
        made = way.epoch, way.client.credentials.ca_pem()
        tunnel = bool(asked.upgrade) and way.endpoint.is_forwarded
        if self.up is not None:
            try:
                alive = made == self._made and not tunnel and self.up.recv_now(1) is None
            except TransportError:
                alive = False
            if alive:
                return True
            self.drop()
        self._made = (-1, None) if tunnel else made
        self.up = dial(way.endpoint, timeouts=way.client.timeouts, tap=way.tap, conn=self.conn, tunnel=tunnel)
        return False

    def head(self, asked: Asked) -> bytes:
        """The head for the server, with credentials. Raises ConfigError, CredentialError."""
        way = self.way
        proxy = way.endpoint.proxy
        forwarded = proxy is not None and way.endpoint.is_forwarded and not asked.upgrade
        return heads.for_server(
            asked,
            host=way.endpoint.host_header,
            prefix=way.prefix,
            added=way.client.credentials.headers(now=way.client.clock()),
            plain=way.tap is not None or way.client.access.disable_compression,
            by_proxy=proxy.authorization if proxy is not None and forwarded else None,
        )

    # A request

    def _request(self, raw: bytes) -> bool:
        """Pass one request on, and its answer back; whether another one may follow."""
        try:
            asked = heads.read_request(raw)
        except ProtocolError as error:
            self.refuse(Refusal(400, "Bad Request", one_line(str(error))))
            return False
        self.readable = origin.readable(asked, self.way.origins)
        why = origin.refusal(asked, self.way.origins)
        if why is not None:
            self.refuse(why, head_only=asked.method == "HEAD")
            return False
        if origin.is_preflight(asked):
            self._answer(origin.preflight(asked))
            return False
        passage = Passage(self, asked)
        try:
            return passage.run()
        except Refused as error:
            self.drop()
            why = Refusal(502, "Bad Gateway", one_line(str(error)))
            self.refuse(why, head_only=asked.method == "HEAD", asked=asked)
            return False
