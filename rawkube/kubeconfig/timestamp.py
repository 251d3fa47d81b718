"""RFC 3339 times as Go's time.Parse reads them, with its words for those that it refuses. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from rawkube._typing import NamedTuple
from rawkube.gotext import go_quote

LAYOUT = "2006-01-02T15:04:05Z07:00"

_ELEMENTS = tuple(
    (re.compile(pattern, re.ASCII), name)
    for pattern, name in (
        (r"\d{4}", "2006"),
        ("-", "-"),
        (r"\d\d", "01"),
        ("-", "-"),
        (r"\d\d", "02"),
        ("T", "T"),
        (r"\d\d?", "15"),
        (":", ":"),
        (r"\d\d", "04"),
        (":", ":"),
        (r"\d\d", "05"),
        (r"(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d)", "Z07:00"),
    )
)
_ZONE = re.compile(r"([-+])(\d\d):(\d\d)$", re.ASCII)


class TimeError(ValueError):
    """The text is Go's, and holds the time."""


class _Parts(NamedTuple):
    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int


def seconds_of(text: str) -> float:
    """The time in seconds since 1970. Raises TimeError."""
    found, rest = _cut(text)
    shown = go_quote(text)
    zone = found.pop()
    if rest:
        raise TimeError(f"parsing time {shown}: extra text: {go_quote(rest)}")
    parts = _Parts(*(int(piece) for piece in found if piece.isdigit()))
    offset = _ZONE.search(zone)
    hours, minutes = (int(offset[2]), int(offset[3])) if offset else (0, 0)
    wrong = _out_of_range(parts, hours, minutes)
    if wrong:
        raise TimeError(f"parsing time {shown}: {wrong} out of range")
    east = (hours * 3600 + minutes * 60) * (-1 if offset and offset[1] == "-" else 1)
    fraction = zone[: offset.start() if offset else -1].replace(",", ".")
    return _unix(parts) - east + float(fraction or "0")


def _cut(text: str) -> tuple[list[str], str]:
    """The pieces of the time, and what follows it."""
    found: list[str] = []
    rest = text
    for pattern, name in _ELEMENTS:
        match = pattern.match(rest)
        if match is None:
            raise TimeError(f"parsing time {go_quote(text)} as {go_quote(LAYOUT)}: {_cannot(rest, name)}")
        found.append(match[0])
        rest = rest[match.end() :]
    return found, rest


def _cannot(rest: str, name: str) -> str:
    return f"cannot parse {go_quote(rest)} as {go_quote(name)}"


def _out_of_range(parts: _Parts, hours: int, minutes: int) -> str:
    """The first part that there is no such of, as Go checks them; empty if all is well."""
    days = _days_before(parts.year, parts.month + 1) - _days_before(parts.year, parts.month)
    checks: tuple[tuple[bool, str], ...] = (
        (1 <= parts.month <= 12, "month"),
        (parts.hour < 24, "hour"),
        (parts.minute < 60, "minute"),
        (parts.second < 60, "second"),
        (hours <= 24, "time zone offset hour"),
        (minutes < 60, "time zone offset minute"),
        (1 <= parts.day <= days, "day"),
    )
    return next((name for good, name in checks if not good), "")


def _days_before(year: int, month: int) -> int:
    """Days from the year 0 to the first of a month (13: of the next January), in the Gregorian calendar."""
    # With March as the first month, a leap day ends the year, and the months' lengths repeat every five.
    years, months = divmod(year * 12 + month - 3, 12)
    return years * 365 + years // 4 - years // 100 + years // 400 + (months * 153 + 2) // 5


def _unix(parts: _Parts) -> int:
    days = _days_before(parts.year, parts.month) - _days_before(1970, 1) + parts.day - 1
    return days * 86400 + parts.hour * 3600 + parts.minute * 60 + parts.second


Clock = Callable[[], float]
"""Seconds since 1970."""
