"""Plays a recorded session to a client: sends when it is time, and listens meanwhile."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable

from rawkube.observe.exchanges import OPEN, RESET
from rawkube.observe.link import LONGEST, Link
from rawkube.observe.pieces import Cut
from rawkube.observe.sessions import Session

# What may be sent of some bytes, and whether the session is broken off behind it.
Cutter = Callable[[bytes], Cut]


def uncut(data: bytes) -> Cut:
    """Everything may be sent."""
    return Cut(data, False)


def play(link: Link, session: Session, *, cut: Cutter = uncut, clock: Callable[[], float] = time.monotonic) -> bool:
    """Serve a session to its end, or until the client goes; the connection is then to be closed.

    Whether it was broken off where `cut` said so. Raises OSError or TransportError where the client breaks the
    connection off.
    """
    unsent = memoryview(b"")
    broken = False
    with selectors.DefaultSelector() as selector:
        selector.register(link, selectors.EVENT_READ)
        while True:
            if not unsent and not broken:
                data, broken = cut(session.take(clock()))
                unsent = memoryview(data)
            unsent = unsent[link.send_now(unsent) :] if unsent else unsent
            if not unsent and (broken or session.ends != OPEN):
                break
            selector.modify(link, selectors.EVENT_READ | (selectors.EVENT_WRITE if unsent else 0))
            wait = 0.0 if link.pending else None if unsent else _seconds(session, clock)
            if (any(mask & selectors.EVENT_READ for _, mask in selector.select(wait)) or link.pending) and not _hear(
                link, session, clock
            ):
                return False
    if not broken:
        end(link, session.ends)
    return broken


def end(link: Link, ends: str) -> None:
    """End a connection as the recorded server did."""
    if ends == RESET:
        link.reset()
    else:
        link.finish()


def _hear(link: Link, session: Session, clock: Callable[[], float]) -> bool:
    """Take what the client has sent; whether it is still there."""
    data = link.recv_now()
    if data:
        session.receive(data, clock())
    return data != b""


def _seconds(session: Session, clock: Callable[[], float]) -> float | None:
    wake = session.wake()
    return None if wake is None else min(max(0.0, wake - clock()), LONGEST)
