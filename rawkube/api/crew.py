"""Several sources that are read at once, a thread each, into one bounded queue.

    with Crew(limit=256) as crew:
        crew.add("pods", lambda: watch_of_pods.steps())
        for name, item in crew.items(deadline=None): ...

A source that is quicker than its reader waits. What a source raises comes out as its last item, an `Ended`.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from rawkube._typing import NamedTuple

K = TypeVar("K")
T = TypeVar("T")

_LOOK = 0.2  # seconds after which a thread that waits for room looks whether anybody still reads
_STOPPING = 1.0  # seconds that the threads get to end; they are daemons, and keep nothing if they do not


class Over(BaseException):
    """Nobody reads any more: the thread of a source ends."""


class Ended(NamedTuple):
    """A source's last item: it came to its end, or raised `error`."""

    error: BaseException | None


# As much as the main thread mostly has: from Python 3.13 on, its reader of JSON goes 10,000 levels down, whatever room
# there is, and macOS and musl give other threads a sixteenth of this.
_STACK = 8 * 1024 * 1024


def _start(thread: threading.Thread) -> None:
    try:
        before = threading.stack_size(_STACK)
    except (ValueError, RuntimeError):  # not to be had here
        thread.start()
        return
    try:
        thread.start()
    finally:
        threading.stack_size(before)


class Crew(Generic[K, T]):
    """The threads. For one reader. `limit`: how many items may wait for it."""

    def __init__(self, *, limit: int = 256) -> None:
        self._items: queue.Queue[tuple[K, T | Ended]] = queue.Queue(limit)
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._interrupts: list[Callable[[], None]] = []
        self._running = 0

    def __enter__(self) -> Crew[K, T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> int:
        """How many sources have not given their Ended to the reader."""
        return self._running

    def add(self, key: K, source: Callable[[], Iterable[T]], *, interrupt: Callable[[], None] | None = None) -> None:
        """Read a source in a thread of its own. `interrupt()`: ends what it waits for, from another thread."""
        if interrupt:
            self._interrupts.append(interrupt)
        self._running += 1
        thread = threading.Thread(target=self._work, args=(key, source), daemon=True)
        self._threads.append(thread)
        _start(thread)

    def get(self, timeout: float | None = None) -> tuple[K, T | Ended] | None:
        """The next item with the key of its source; None when none came within `timeout` seconds."""
        try:
            key, item = self._items.get(timeout=None if timeout is None else max(0.0, timeout))
        except queue.Empty:
            return None
        self._running -= isinstance(item, Ended)
        return key, item

    def items(self) -> Iterator[tuple[K, T | Ended]]:
        """All items, until every source has ended."""
        while self._running and (found := self.get()) is not None:
            yield found

    def values(self) -> Iterator[T]:
        """What all sources give, until each has ended; what one of them raises is raised."""
        for _, item in self.items():
            if not isinstance(item, Ended):
                yield item
            elif item.error is not None:
                raise item.error

    def put(self, key: K, item: T) -> None:
        """An item from aside, from any thread; raises Over when nobody reads any more."""
        self._put(key, item)

    def sleep(self, seconds: float) -> None:
        """For a source that pauses: raises Over when nobody reads any more."""
        if self._over.wait(seconds):
            raise Over

    def check(self) -> None:
        """For a source that waits for long: raises Over when nobody reads any more."""
        if self._over.is_set():
            raise Over

    def stop(self) -> None:
        """Nobody reads any more: end the sources."""
        self._over.set()
        for interrupt in self._interrupts:
            interrupt()
        end = time.monotonic() + _STOPPING
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _work(self, key: K, source: Callable[[], Iterable[T]]) -> None:
        ended = Ended(None)
        try:
            for item in source():
                self._put(key, item)
        except Over:
            return
        except BaseException as error:
            ended = Ended(error)
        try:
            self._put(key, ended)
        except Over:
            pass

    def _put(self, key: K, item: T | Ended) -> None:
        while not self._over.is_set():
            try:
                self._items.put((key, item), timeout=_LOOK)
                return
            except queue.Full:
                pass
        raise Over
