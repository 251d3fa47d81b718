"""Several containers' logs, followed at once: what comes, in the order in which it comes.

Threads follow the logs and feed one bounded queue, which the caller empties: a caller that stalls stalls the logs.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from rawkube.api.client import ApiClient
from rawkube.errors import RawkubeError
from rawkube.remotecommand.logs import Followed, Source, Timing, Wanted

_WAITING = 32
# How soon a thread notices, in seconds, that it is to stop.
_LOOK = 0.2
_STOPPING = 3.0
_USUAL = Timing()


class Chunk(NamedTuple):
    """Bytes of one of the logs, by its place: whole lines, unless one is longer than is kept."""

    at: int
    data: bytes


class Note(NamedTuple):
    """A line for a person."""

    text: str


class Ended(NamedTuple):
    """One of the logs is over; `error`: not as it should."""

    at: int
    error: RawkubeError | None = None


def follow_all(
    client: ApiClient, sources: Sequence[Source], wanted: Wanted, *, starting: float = 0.0, timing: Timing = _USUAL
) -> Generator[Chunk | Note | Ended, None, None]:
    """What comes from all of these logs, until each has ended. Closing the iterator ends what still runs.

    `starting` as in Followed.
    """
    crew = _Crew(client, sources, wanted, starting, timing)
    crew.start()
    try:
        running = len(sources)
        while running:
            item = crew.items.get()
            if isinstance(item, BaseException):
                raise item
            running -= isinstance(item, Ended)
            yield item
    finally:
        crew.stop()


class _Stopping(BaseException):
    """Nobody wants to know any more."""


class _Crew:
    """The threads. What one of them did not expect, it hands over as an exception."""

    def __init__(
        self, client: ApiClient, sources: Sequence[Source], wanted: Wanted, starting: float, timing: Timing
    ) -> None:
        self.items: queue.Queue[Chunk | Note | Ended | BaseException] = queue.Queue(_WAITING)
        self._stopping = threading.Event()
        common: dict[str, Any] = {"on_note": self._note, "sleep": self._sleep, "starting": starting, "timing": timing}
        self._followed = [Followed(client, source, wanted, **common) for source in sources]
        # Daemons: one that hangs in a connection attempt must not keep the process.
        self._threads = [
            threading.Thread(target=self._work, args=(at,), daemon=True) for at in range(len(self._followed))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for followed in self._followed:
            followed.interrupt()
        end = time.monotonic() + _STOPPING
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _work(self, at: int) -> None:
        try:
            self._put(self._follow(at))
        except _Stopping:
            pass
        except BaseException as error:
            self._hand_over(error)

    def _follow(self, at: int) -> Ended:
        try:
            with closing(self._followed[at].chunks()) as chunks:
                for data in chunks:
                    if data:
                        self._put(Chunk(at, data))
        except RawkubeError as error:
            return Ended(at, error)
        return Ended(at)

    def _hand_over(self, error: BaseException) -> None:
        try:
            self._put(error)
        except _Stopping:
            pass

    def _note(self, text: str) -> None:
        self._put(Note(text))

    def _sleep(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _Stopping

    def _put(self, item: Chunk | Note | Ended | BaseException) -> None:
        while not self._stopping.is_set():
            try:
                self.items.put(item, timeout=_LOOK)
                return
            except queue.Full:
                pass
        raise _Stopping
