"""Plays a recorded session to a client on a socket: sends when it is time, and listens meanwhile."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Callable

from rawkube.observe.exchanges import OPEN, RESET
from rawkube.observe.sessions import Session

_READ = 256 * 1024
_LINGER = 2.0


def play(sock: socket.socket, session: Session, *, clock: Callable[[], float] = time.monotonic) -> None:
    """Serve a session to its end, or until the client goes; the connection is then to be closed.

    Raises OSError where the client breaks the connection off.
    """
    sock.setblocking(False)
    unsent = memoryview(b"")
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        while True:
            unsent = _send(sock, unsent or memoryview(session.take(clock())))
            if not unsent and session.ends != OPEN:
                break
            selector.modify(sock, selectors.EVENT_READ | (selectors.EVENT_WRITE if unsent else 0))
            ready = selector.select(None if unsent else _seconds(session, clock))
            if any(mask & selectors.EVENT_READ for _, mask in ready):
                data = sock.recv(_READ)
                if not data:
                    return
                session.receive(data, clock())
    _end(sock, session.ends)


def _send(sock: socket.socket, data: memoryview) -> memoryview:
    """Send what the socket takes; the rest."""
    try:
        return data[sock.send(data) :] if data else data
    except BlockingIOError:
        return data


def _seconds(session: Session, clock: Callable[[], float]) -> float | None:
    wake = session.wake()
    return None if wake is None else min(max(0.0, wake - clock()), 1_000_000.0)


def _end(sock: socket.socket, ends: str) -> None:
    if ends == RESET:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return
    # Closing with unread input would reset the connection, and could take the last frames with it.
    sock.shutdown(socket.SHUT_WR)
    end = time.monotonic() + _LINGER
    while (left := end - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            if not sock.recv(_READ):
                return
        except TimeoutError:
            return
