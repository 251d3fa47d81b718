"""Pure: when a session pings, gives a silent server up, and closes what stays open behind the command's status.

Points in time come in (seconds of one clock), what is due comes out.
"""

from __future__ import annotations

from rawkube._typing import NamedTuple

CLOSING = 2.0
"""Seconds that the answer to this side's close may take."""

SIGN_OF_LIFE = 1024
"""Input of more bytes than this that the connection takes proves life, as a received frame does: a slow line is no
dead one. Pings are smaller: into a dead connection's buffer they would go for long."""

SILENCE, GRACE, UNANSWERED = "silence", "grace", "unanswered"


class Timing(NamedTuple):
    """Seconds; `math.inf` is never.

    `ping_timeout`: how long the server may say nothing at all. `status_grace`: how long it may stay open and silent
    after the command's status.
    """

    ping_interval: float = 5.0
    ping_timeout: float = 60.0
    status_grace: float = 10.0


class LifeSigns:
    """The times of one session.

    `heard`: when any frame came last; `told`: when one came that says something (no ping, no pong); `pinged`: when
    this side pinged last; `close_by`: until when a close that was sent may stay unanswered, 0.0 before it is sent.
    """

    __slots__ = ("close_by", "heard", "pinged", "timing", "told")

    def __init__(self, timing: Timing, now: float) -> None:
        self.timing = timing
        self.heard = self.told = self.pinged = now
        self.close_by = 0.0

    def away(self, seconds: float) -> None:
        """So long nobody on this side listened: that is not the server's silence."""
        self.heard += seconds
        self.told += seconds

    def listening_since(self, now: float) -> None:
        """Nobody on this side has listened until now."""
        self.heard = self.told = now

    def due(self, now: float, *, has_status: bool) -> str:
        """What has come due: UNANSWERED (a close), SILENCE (the server's), GRACE (after the status), or nothing."""
        if self.close_by and now >= self.close_by:
            return UNANSWERED
        if now - self.heard >= self.timing.ping_timeout:
            return SILENCE
        if has_status and now - self.told >= self.timing.status_grace:
            return GRACE
        return ""

    def must_ping(self, now: float) -> bool:
        """Whether a ping is due; it then counts as sent."""
        if now - self.pinged < self.timing.ping_interval:
            return False
        self.pinged = now
        return True

    def next(self, *, has_status: bool) -> float:
        """The next point in time at which something may come due."""
        ends = [self.next_ping, self.heard + self.timing.ping_timeout]
        if self.close_by:
            ends.append(self.close_by)
        elif has_status:
            ends.append(self.told + self.timing.status_grace)
        return min(ends)

    @property
    def next_ping(self) -> float:
        """When the next ping is due."""
        return self.pinged + self.timing.ping_interval

    def closing(self, now: float) -> bool:
        """Whether this side is to say close now: the first time it is asked, when it also starts to wait."""
        if self.close_by:
            return False
        self.close_by = now + CLOSING
        return True
