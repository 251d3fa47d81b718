"""The signals that end a following: when they count, and what they never cut in two."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

from rawkube._threads import in_main_thread
from rawkube._typing import Any, Self

STOPPING: tuple[int, ...] = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)


class Stopped(BaseException):
    """A signal asks for the end. Not an Exception, so that nothing but the command takes it."""


class Signals:
    """Once armed, a signal raises Stopped in the main thread; before, it does what it always does.

    In another thread than the main one, where Python takes no handlers, nothing changes. As a context manager it
    holds a signal back, so that what is being written is written whole; a second one does not wait for that.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}
        self._held = False
        self._over = False

    def arm(self) -> None:
        """From now on. A signal that is ignored (`nohup`) stays so."""
        if not self._before and in_main_thread():
            for number in STOPPING:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._stop)

    def disarm(self) -> None:
        """As it was before. A signal that comes meanwhile comes too late: there is nothing left to stop."""
        self._over = True
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)
        self._over = False

    def __enter__(self) -> Self:
        self._held = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held = False
        if self.number and error is None:
            raise Stopped

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._over:
            return
        first, self.number = not self.number, number
        if not (first and self._held):
            raise Stopped
