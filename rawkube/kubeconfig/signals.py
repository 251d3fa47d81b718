"""Signals while a program is run for this one: it must not outlive this process by a signal's doing.

Only the main thread handles signals in Python; in another thread nothing here does anything.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

from rawkube._threads import in_main_thread

Handler = Callable[[int, FrameType | None], object]

# SIGHUP: there is none on Windows.
_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class _Killed(BaseException):
    """A signal came whose action is to end this process."""


class FatalSignals:
    """Within: a signal that would end the process at once raises instead, so that what is to be done is done; at the
    end of it, the signal ends the process all the same. One that is ignored, or has a handler, is left alone."""

    def __init__(self) -> None:
        self._taken: list[int] = []
        self._came = 0

    def __enter__(self) -> None:
        if not in_main_thread():
            return
        for number in _ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._raise)
                self._taken.append(number)

    def _raise(self, number: int, _: FrameType | None) -> None:
        self._came = number
        raise _Killed

    def __exit__(self, *about: object) -> None:
        for number in self._taken:
            signal.signal(number, signal.SIG_DFL)
        if self._came:
            signal.raise_signal(self._came)


class Deferred:
    """Within: no signal's handler runs, so that none raises between the start of a process and the place that ends
    it; what comes is handled at the end."""

    def __init__(self) -> None:
        self._handlers: dict[int, Handler] = {}
        self._came: list[int] = []

    def __enter__(self) -> None:
        if not in_main_thread():
            return
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._came.append(number)

    def __exit__(self, *about: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for number in self._came:
            self._handlers[number](number, None)
