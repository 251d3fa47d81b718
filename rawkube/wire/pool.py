"""Which connection serves a request: one that is idle, or a new one."""

from __future__ import annotations

import itertools
import time

from rawkube._threads import Lock
from rawkube._typing import TYPE_CHECKING
from rawkube.errors import ConnectionLost, TransportError
from rawkube.wire.dial import Endpoint, Timeouts, dial
from rawkube.wire.http import Connection, Request, Response

if TYPE_CHECKING:
    from rawkube.wire.tap import Tap

# What may be repeated without asking, when a connection that had been idle turns out to be dead (RFC 9110,
# section 9.2.2; narrower than its "idempotent", as the floors above know of no PUT or DELETE that may run
# twice unseen).
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})

_DEFAULT_TIMEOUTS = Timeouts()

# One series for the whole process, so that two pools with one tap are told apart.
_numbers = itertools.count(1)


def next_number() -> int:
    """The number of a connection, for the tap; no other one in this process has it."""
    return next(_numbers)


class Pool:
    """Connections to one endpoint. For any number of threads.

    `max_idle`: how many idle connections are kept. `idle_seconds`: for how long (Go's net/http: 90 s).
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeouts: Timeouts = _DEFAULT_TIMEOUTS,
        tap: Tap | None = None,
        max_idle: int = 4,
        idle_seconds: float = 90.0,
    ) -> None:
        self.endpoint = endpoint
        self.timeouts = timeouts
        self._tap = tap
        self._max_idle = max_idle
        self._idle_seconds = idle_seconds
        self._idle: list[Connection] = []
        self._oldest = 0  # connections with a smaller number are not used again
        self._closed = False
        self._lock = Lock()

    def request(self, request: Request, *, timeouts: Timeouts | None = None, deadline: float | None = None) -> Response:
        """Send a request and return the head of its answer. `deadline` (monotonic) bounds all of it.

        A GET, HEAD or OPTIONS that meets a dead idle connection is repeated at once; an upgrade never is,
        once sent. Raises TransportError and its kinds, ConfigError (a key pair that cannot be used).
        """
        timeouts = timeouts or self.timeouts
        if request.is_upgrade and self.endpoint.is_forwarded:
            # A proxy that reads requests does not pass on what is no HTTP: through it, as kubectl and browsers do.
            return self._dial(timeouts, deadline, tunnel=True).request(request, timeouts=timeouts, deadline=deadline)
        while (connection := self._take()) is not None:
            try:
                return connection.request(request, timeouts=timeouts, deadline=deadline)
            except ConnectionLost as error:
                if error.answered or request.is_upgrade or request.method not in _REPEATABLE:
                    raise
                if self._tap is not None:
                    self._tap("retry", connection.conn, why=str(error), wait=0.0, attempt=1)
        return self._dial(timeouts, deadline).request(request, timeouts=timeouts, deadline=deadline)

    def _take(self) -> Connection | None:
        """The connection that was used last and is still alive."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if time.monotonic() - connection.used > self._idle_seconds:
                connection.close("idle for too long")
            elif connection.is_alive():
                return connection
            else:
                connection.close("closed by the server while idle")

    def _dial(self, timeouts: Timeouts, deadline: float | None, *, tunnel: bool = False) -> Connection:
        if self._closed:
            raise TransportError("the pool is closed", server=self.endpoint.authority)
        there = self.endpoint
        stream = dial(there, timeouts=timeouts, deadline=deadline, tap=self._tap, conn=next(_numbers), tunnel=tunnel)
        if self._tap is not None and self._tap.wire:
            from rawkube.wire.teller import Teller

            stream.told = Teller(self._tap, stream.conn)
        by_proxy = there.proxy.authorization if there.proxy and there.is_forwarded and not tunnel else None
        return Connection(stream, host=there.host_header, by_proxy=by_proxy, tap=self._tap, released=self._release)

    def _release(self, connection: Connection) -> None:
        with self._lock:
            unwanted = self._closed or connection.conn < self._oldest
            if not unwanted:
                self._idle.append(connection)
            surplus = self._idle[: -self._max_idle or None]
            self._idle = self._idle[len(surplus) :]
        if unwanted:
            surplus.append(connection)
        for old in surplus:
            old.close("no idle connection is needed, or not this one")

    def close_idle(self, why: str) -> None:
        """Close the idle connections: what they were made with has changed. Those in use are closed after it."""
        with self._lock:
            self._oldest = next(_numbers)
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close(why)

    def close(self) -> None:
        """Close the idle connections. Those in use are closed when their answers have been read."""
        with self._lock:
            self._closed = True
        self.close_idle("the pool is closed")
