"""Pure: how long something has existed, as kubectl's tables say it (apimachinery's duration.HumanDuration)."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def age(timestamp: object, now: float) -> str:
    """How long ago an RFC 3339 `timestamp` was at `now` (seconds since the epoch); `<unknown>` where it is none."""
    if not isinstance(timestamp, str):
        return "<unknown>"
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<unknown>"
    return human_duration(now - (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp())


def human_duration(seconds: float) -> str:
    """Seconds in at most two units: `90s`, `5m30s`, `3h`, `2d4h`, `3y12d`."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    for limit, unit, letter, part, rest in _STEPS:
        if whole < limit:
            return _two(whole, unit, letter, part, rest)
    return f"{whole // _YEAR}y"


# Up to how many seconds: the unit, and the smaller one that follows (0: none).
_STEPS = (
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def _two(whole: int, unit: int, letter: str, part: int, rest: str) -> str:
    more = whole % unit // part if part else 0
    return f"{whole // unit}{letter}" + (f"{more}{rest}" if more else "")
