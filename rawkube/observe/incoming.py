"""Reads requests (HTTP/1.1, RFC 9112) from a client's connection."""

from __future__ import annotations

import time

import h11

from rawkube._typing import NamedTuple
from rawkube.observe.exchanges import Headers, head_of
from rawkube.observe.link import Link

MAX_HEAD = 256 * 1024
MAX_BODY = 64 * 1024 * 1024
IDLE = 600.0
"""How long a connection may wait for its next request, in seconds."""
WHOLE = 60.0
"""How long a request may take from its first byte to its last, in seconds."""


class Incoming(NamedTuple):
    """A request. `rest`: what came behind it."""

    head: h11.Request
    body: bytes
    rest: bytes

    @property
    def method(self) -> str:
        """Such as `GET`."""
        return self.head.method.decode("latin-1")

    @property
    def target(self) -> str:
        """As it was sent, with its query."""
        return self.head.target.decode("latin-1")

    @property
    def headers(self) -> Headers:
        """With their names as they were written."""
        return head_of(self.head)

    @property
    def old(self) -> bool:
        """Whether the client may not understand chunks (HTTP/1.0)."""
        return self.head.http_version < b"1.1"

    @property
    def last(self) -> bool:
        """Whether the client wants the connection closed after the answer."""
        return self.old or "close" in (self.header("connection") or "").lower()

    def header(self, name: str) -> str | None:
        """The first header of that name (lower case), None where there is none."""
        wanted = name.encode("latin-1")
        return next((bytes(v).decode("latin-1") for key, v in self.head.headers if key == wanted), None)


def read_request(link: Link, data: bytes, *, idle: float = IDLE, whole: float = WHOLE) -> Incoming | None:
    """The next request, None at the end of the connection, or of the client's time. `data`: what came already.

    Raises h11.RemoteProtocolError for what is no request, and for one that takes too long.
    """
    http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    end = time.monotonic() + (whole if data else idle)
    began = bool(data)
    if data:
        http.receive_data(data)
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            if http.they_are_waiting_for_100_continue:
                link.send(http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            more = link.recv(end)
            if more is None and not began:
                return None
            if more is None:
                raise h11.RemoteProtocolError(f"a request that is not whole after {whole:g} s")
            if not began:
                began, end = True, time.monotonic() + whole
            http.receive_data(more)
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                raise h11.RemoteProtocolError(f"a body longer than {MAX_BODY} bytes")
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return Incoming(head, bytes(body), http.trailing_data[0])
        else:
            return None
