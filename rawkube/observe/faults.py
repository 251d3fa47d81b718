"""Faults that a replay puts into its answers: how each is written, and when it strikes.

    after=N:KIND[,match=PART][,times=M|all]

`after`: how many pieces have been sent before it. A piece is an event of a watch, a line of a followed log, a
WebSocket message that carries something, or any other answer as a whole. `match`: only requests count whose target
(path and query, as sent) holds this text. `times`: it strikes so often (once), and counts anew after each time.

A fault strikes as soon as so many pieces have been sent: in the stream that sent the last of them, else in place of
the next answer.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

from rawkube._typing import NamedTuple

CLOSE = "close"  # the connection is closed in an orderly way
RESET = "reset"  # the connection is reset
STALL = "stall"  # nothing more comes, the connection stays open
TRUNCATE = "truncate"  # half of the next piece, then the connection is closed
GARBAGE = "garbage"  # bytes that are no HTTP, no event and no frame, then the connection is closed
STATUS = "status"  # in place of the next answer: this status

KINDS = (CLOSE, RESET, STALL, TRUNCATE, GARBAGE, STATUS)
IN_STREAMS = (CLOSE, RESET, STALL, GARBAGE)
"""Those that strike behind a piece of a stream."""
BEFORE_STREAMS = (CLOSE, RESET, STALL, GARBAGE, STATUS)
"""Those that strike in place of an answer that is a stream."""

# No HTTP status line, no chunk size, no frame (its reserved bits are set), no UTF-8, no JSON.
GARBAGE_BYTES = b"\xff\xfe\x00\x15 garbage \xf0\x28\x8c\x28\r\n" * 4
_ALL = 0
_STATUSES = range(200, 600)


class Fault(NamedTuple):
    """One fault. `text`: as it was written. `times`: how often it strikes, 0 for without end."""

    text: str
    kind: str
    after: int
    status: int = 0
    match: str = ""
    times: int = 1


class Struck(NamedTuple):
    """A fault that struck, and the request whose answer it struck."""

    fault: Fault
    method: str
    target: str


def parse_fault(text: str) -> Fault:
    """Read a fault. Raises ValueError, which says what is wrong."""
    fault = Fault(text, "", 0)
    seen = set()
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name in seen or name not in ("after", "match", "times"):
            raise ValueError(
                f"{name} is given twice" if name in seen else "must be after=N:KIND[,match=PART][,times=M]"
            )
        seen.add(name)
        fault = _with(fault, name, value)
    if not fault.kind:
        raise ValueError("must be after=N:KIND[,match=PART][,times=M]")
    return fault


def _with(fault: Fault, name: str, value: str) -> Fault:
    if name == "match":
        if not value:
            raise ValueError("match needs a part of a path")
        return fault._replace(match=value)
    if name == "times":
        return fault._replace(times=_ALL if value == "all" else _number(name, value, 1))
    count, _, kind = value.partition(":")
    fault = fault._replace(after=_number(name, count, 0))
    kind, _, code = kind.partition("=")
    if kind not in KINDS or (code and kind != STATUS):
        raise ValueError("what happens must be close, reset, stall, truncate, garbage or status=CODE")
    if kind == STATUS and not (code.isascii() and code.isdecimal() and len(code) == 3 and int(code) in _STATUSES):
        raise ValueError("a status must be a number from 200 to 599")
    return fault._replace(kind=kind, status=int(code or 0))


def _number(name: str, value: str, least: int) -> int:
    if not (value.isascii() and value.isdecimal() and len(value) <= 9 and int(value) >= least):
        raise ValueError(f"{name} needs a whole number, {least} or more")
    return int(value)


class _State:
    """How far one fault has come."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.count = 0
        self.times = 0

    def concerns(self, target: str) -> bool:
        return self.fault.match in target and (self.fault.times == _ALL or self.times < self.fault.times)


class FaultPlan:
    """The faults of a server, for all of its connections. Safe for several threads. `struck`: what happened."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self._states = [_State(fault) for fault in faults]
        self._lock = threading.Lock()
        self.struck: list[Struck] = []

    def concerns(self, target: str) -> bool:
        """Whether there is a fault that may still strike an answer to this request, or counts its pieces."""
        return bool(self._states) and any(state.concerns(target) for state in self._states)

    def sent(self, target: str) -> None:
        """A piece was sent."""
        with self._lock:
            for state in self._states:
                if state.concerns(target):
                    state.count += 1

    def due(self, method: str, target: str, kinds: Collection[str] = KINDS) -> Fault | None:
        """The fault, of these kinds, that strikes now."""
        with self._lock:
            for state in self._states:
                if state.fault.kind in kinds and state.concerns(target) and state.count >= state.fault.after:
                    state.count = 0
                    state.times += 1
                    self.struck.append(Struck(state.fault, method, target))
                    return state.fault
        return None

    def report(self) -> list[str]:
        """A line for each fault: whether, and where, it struck."""
        with self._lock:
            found = []
            for state in self._states:
                at = [f"{s.method} {s.target}" for s in self.struck if s.fault is state.fault]
                where = f"struck in {'; '.join(at)}" if at else f"did not strike, after {state.count} pieces"
                found.append(f"fault {state.fault.text}: {where}")
            return found
