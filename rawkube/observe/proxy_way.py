"""What all connections of the reverse proxy share, and what their parts do: to wait, to send, to give up."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Collection

from rawkube._typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rawkube.api.client import ApiClient
    from rawkube.wire.tap import Tap


class Way:
    """What all connections share: the server, the credentials, who may ask."""

    def __init__(self, client: ApiClient, tap: Tap | None, origins: Collection[str], stopping: threading.Event) -> None:
        self.client = client
        self.tap = tap
        self.origins = origins
        self.endpoint = client.pool.endpoint
        self.prefix = client.address.prefix
        scheme = "https" if self.endpoint.tls else "http"
        self.server = f"{scheme}://{self.endpoint.host_header}"
        self.stopping = stopping
        self.epoch = 0
        client.credentials.on_certificate_change = self._changed

    def _changed(self) -> None:
        self.epoch += 1


class _End(Protocol):
    def send_now(self, data: memoryview, /) -> int: ...


class Out:
    """What is yet to be sent to one side."""

    def __init__(self, end: _End, told: Callable[[bytes], None] | None = None) -> None:
        self._end = end
        self._told = told
        self.rest = memoryview(b"")

    def put(self, data: bytes) -> None:
        """Send it, as far as that needs no waiting."""
        self.rest = memoryview(bytes(self.rest) + data if self.rest else data)
        self.push()

    def push(self) -> bool:
        """Go on; whether anything was taken."""
        began = len(self.rest)
        while self.rest and (sent := self._end.send_now(self.rest)):
            if self._told is not None:
                self._told(bytes(self.rest[:sent]))
            self.rest = self.rest[sent:]
        return len(self.rest) < began


class ClientGone(Exception):
    """The client has closed its connection, or broken it."""


class Refused(Exception):
    """There is no answer of the server; why."""


class Broken(Exception):
    """The answer broke off. `kind`: the name of what broke it, empty where the server just ended it."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def ready(wanted: list[tuple[int, bool, bool]], seconds: float | None) -> set[int]:
    """Which descriptors can be read or written, as wanted (descriptor, read, write), within so many seconds."""
    wanted = [each for each in wanted if each[1] or each[2]]
    if not hasattr(select, "poll"):  # Windows
        reads, writes = [fd for fd, read, _ in wanted if read], [fd for fd, _, write in wanted if write]
        found = select.select(reads, writes, writes, seconds)
        return {fd for fds in found for fd in fds}
    poll = select.poll()
    for fd, read, write in wanted:
        poll.register(fd, (select.POLLIN if read else 0) | (select.POLLOUT if write else 0))
    return {fd for fd, _ in poll.poll(None if seconds is None else int(seconds * 1000 + 0.999))}
