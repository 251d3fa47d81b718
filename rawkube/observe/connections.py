"""The connections that a server on loopback holds: a thread each, a bounded number, all of them ended at its stop."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rawkube._typing import Protocol

MAX_CONNECTIONS = 256
"""So many connections at once; for one more, the one that has been idle longest is closed, or it is turned away."""

_PAUSE = 0.05
_MOMENT = 0.5
_LAST = 5.0


class Open(Protocol):
    """A connection that is served."""

    @property
    def idle_since(self) -> float | None:
        """Since when it has waited for a request (monotonic); None while it has one."""

    def interrupt(self) -> None:
        """End it at once, from any thread."""


class Connections:
    """Those of one server. `stopping` is set once it is to end.

    `serve(socket)` serves a connection to its end, in a thread of its own; it names what it serves by `held`.
    `busy`: what a connection is sent for which there is no room, empty for nothing.
    """

    def __init__(self, name: str, serve: Callable[[socket.socket], None], *, busy: bytes = b"") -> None:
        self._name = name
        self._serve = serve
        self._busy = busy
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.open: set[Open] = set()
        self.stopping = threading.Event()

    def listen(self, port: int = 0) -> int:
        """Take a port of 127.0.0.1, a free one for 0; nothing is accepted yet. Raises OSError."""
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        found: int = self._listener.getsockname()[1]
        return found

    def abandon(self) -> None:
        """Give the port back, before `start`."""
        self._listener.close()

    def start(self) -> None:
        """Accept connections."""
        self._acceptor = threading.Thread(target=self._accept, name=self._name, daemon=True)
        self._acceptor.start()

    def stop(self) -> None:
        """Close every connection, and wait for the threads."""
        self.stopping.set()
        _wake(self._listener)
        self._acceptor.join()
        self._listener.close()
        with self._lock:
            for one in self.open:
                one.interrupt()
        end = time.monotonic() + _LAST
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    @property
    def running(self) -> int:
        """How many threads have not ended."""
        return sum(thread.is_alive() for thread in self._threads)

    @contextmanager
    def held(self, one: Open) -> Iterator[None]:
        """It is served meanwhile: it may be interrupted."""
        with self._lock:
            self.open.add(one)
        try:
            yield
        finally:
            with self._lock:
                self.open.discard(one)

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                # Too many open files, perhaps: that passes. A stopped server looks the same.
                self.stopping.wait(_PAUSE)
                continue
            if self.stopping.is_set() or not self._room():
                _turn_away(sock, b"" if self.stopping.is_set() else self._busy)
                continue
            thread = threading.Thread(target=self._serve, args=(sock,), name=self._name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _room(self) -> bool:
        """Whether there is room for one more, or is in a moment; the one that is idle longest makes it."""
        end = time.monotonic() + _MOMENT
        asked = False
        while True:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) < MAX_CONNECTIONS:
                return True
            asked = asked or self._drop_idle()
            if time.monotonic() >= end or self.stopping.wait(_PAUSE):
                return False

    def _drop_idle(self) -> bool:
        """Close the connection that has waited longest for a request; whether there was one."""
        with self._lock:
            idle = [(since, one) for one in self.open if (since := one.idle_since) is not None]
        if idle:
            min(idle, key=lambda pair: pair[0])[1].interrupt()
        return bool(idle)


def _turn_away(sock: socket.socket, data: bytes) -> None:
    """Close a connection that is not served, with a word if there is one."""
    try:
        if data:
            sock.setblocking(False)
            sock.send(data)
            sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    sock.close()


def _wake(listener: socket.socket) -> None:
    """Let a thread return from accept: by shutdown where that does it (Linux), else by a connection."""
    try:
        listener.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    try:
        socket.create_connection(listener.getsockname(), timeout=1).close()
    except OSError:
        pass
