"""Which causes of one workload are told of, and when: they come and go more often than a person wants to read. Pure.

A container that crashes again and again runs in between, and its finding is gone as long as it does. So a cause is
told of as cleared only when it has been gone for a while, and what merely takes its time only when it takes long.
"""

from __future__ import annotations

from collections.abc import Iterable

from rawkube._typing import NamedTuple
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS, Finding

GONE = 10.0
"""Seconds for which a cause must have been absent to be told of as cleared."""

LASTS = {NEVER: 0.0, MAYBE: 1.0, WAITS: 10.0}
"""Seconds for which a cause must have been seen to be told of."""

AGAIN = 15.0
"""Seconds between two tellings of one cause that shows itself in another way."""

Key = tuple[str, str, str]


class Told(NamedTuple):
    """What is to be told of a finding: that it is there, there in another way (`again`), or `cleared`."""

    finding: Finding
    again: bool = False
    cleared: bool = False


class _Cause:
    """One finding. `since`: when it was first seen; `gone`: since when it has not been; `told`: when it was told of."""

    __slots__ = ("finding", "gone", "said", "since", "time", "told")

    def __init__(self, finding: Finding, now: float, time: str) -> None:
        self.time = time
        self.finding = finding
        self.since = now
        self.gone: float | None = None
        self.told: float | None = None
        self.said = finding


class Causes:
    """The causes of one workload. Times are of any clock that only goes forward, in seconds."""

    def __init__(self) -> None:
        self._causes: dict[Key, _Cause] = {}

    @property
    def present(self) -> tuple[Finding, ...]:
        """What is there now, told of or not, and what is only just not seen; in the order in which it came."""
        return tuple(cause.finding for cause in self._causes.values())

    def update(self, findings: Iterable[Finding], now: float, *, time: str = "") -> list[Told]:
        """What is seen now; what there is to tell by that. `time`: RFC 3339, since when it is there if nothing says."""
        seen = {finding.key: finding for finding in findings}
        for key, finding in seen.items():
            cause = self._causes.setdefault(key, _Cause(finding, now, finding.since or time))
            cause.finding = finding._replace(log=finding.log or cause.finding.log, since=finding.since or cause.time)
            cause.gone = None
        for key, cause in self._causes.items():
            if key not in seen and cause.gone is None:
                cause.gone = now
        return self.due(now)

    def due(self, now: float) -> list[Told]:
        """What there is to tell because of the time that has passed."""
        told = []
        for key, cause in list(self._causes.items()):
            when = _due(cause)
            if when is None or when > now:
                continue
            if cause.gone is None:
                told.append(Told(cause.finding, again=cause.told is not None))
                cause.told, cause.said = now, cause.finding
                continue
            del self._causes[key]
            if cause.told is not None:
                told.append(Told(cause.finding, cleared=True))
        return told

    @property
    def next_due(self) -> float | None:
        """When there is something to tell next, if nothing changes until then; None: never."""
        return min((when for cause in self._causes.values() if (when := _due(cause)) is not None), default=None)


def _due(cause: _Cause) -> float | None:
    if cause.gone is not None:
        return cause.gone + GONE if cause.told is not None else cause.gone
    if cause.told is None:
        return cause.since + LASTS.get(cause.finding.resolves, LASTS[MAYBE])
    return cause.told + AGAIN if _differs(cause.said, cause.finding) else None


def _differs(said: Finding, now: Finding) -> bool:
    """Whether it shows itself in a way that a person wants to hear of: more Pods, or no hope any more."""
    return len(now.objects) > len(said.objects) or (now.resolves == NEVER != said.resolves)
