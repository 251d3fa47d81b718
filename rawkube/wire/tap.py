"""The sink that every floor tells its events to.

An event is plain data: a kind, the number of the connection, the seconds since the tap was made, and a dict
of strings, numbers and lists. Secrets are removed before an event is told (`redact.py`), so no consumer can
forget to. A tap is optional everywhere (`tap: Tap | None`): with None nothing is computed.

The kinds, and what their data holds:

    resolve   host, addresses [str], seconds
    connect   address, port, seconds
    proxy     proxy (kind://HOST:PORT), target, method (CONNECT or SOCKS5), authenticated (bool: credentials were
              offered), status, reason, seconds; requests that a proxy is sent itself are `request` events
    tls       server_name, version, cipher, alpn, subject, issuer, not_after, names [str], seconds; with an https
              proxy there are two, and `proxy` between them
    request   method, target (redacted), headers [[name, value]] (redacted)
    response  status, reason, headers [[name, value]] (redacted), seconds (to the first byte)
    chunk     size (bytes of one HTTP chunk's or read's payload), start, end (bools: chunk boundaries)
    end       bytes (of the body, as sent), seconds (since the request)
    retry     why, wait (seconds), attempt
    close     why
    watch     type, kind, namespace, name, resourceVersion
    note      text
    credentials  method (as `config explain` names it), source; told by the command line
    bytes     side (client or server), data (what passed inside TLS, redacted: `transcript.py`), redacted (bool)
    eof       side, error (the name of an exception, or empty): that side ended, or broke

The last two are told if `Tap.wire` is true, which is dearer than all others together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rawkube._typing import Any, NamedTuple


class Event(NamedTuple):
    """One happening on the wire. `conn` is 0 where no connection is concerned; `t` is in seconds."""

    kind: str
    conn: int
    t: float
    data: dict[str, Any]


class Tap:
    """Passes events on to its consumers, in order, one at a time, whatever thread tells them.

    `wire`: whether the bytes of each connection are told too; `secrets`: with the secrets that are in them.
    """

    def __init__(
        self,
        *consumers: Callable[[Event], None],
        clock: Callable[[], float] = time.monotonic,
        wire: bool = False,
        secrets: bool = False,
    ) -> None:
        self.wire = wire
        self.secrets = secrets
        self._consumers = consumers
        self._clock = clock
        self._start = clock()
        self._lock = threading.Lock()

    def __call__(self, kind: str, conn: int = 0, **data: object) -> None:
        """Tell one event: its kind (see the module's table) and its data."""
        with self._lock:
            event = Event(kind, conn, self._clock() - self._start, data)
            for consumer in self._consumers:
                consumer(event)
