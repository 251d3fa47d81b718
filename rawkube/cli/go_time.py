"""Pure: a time on the command line, read as Go's `time.Parse(time.RFC3339, …)` reads it, with its error texts."""

from __future__ import annotations

from rawkube.errors import UsageError
from rawkube.gotext import go_quote

_LAYOUT = "2006-01-02T15:04:05Z07:00"


def parse_rfc3339(text: str) -> str:
    """`2024-08-30T06:00:00+02:00` in UTC and whole seconds, as `metav1.Time` is written. Raises UsageError."""
    from datetime import UTC, datetime, timedelta

    reader = _Reader(text)
    year = reader.number("2006", 4, "", 0, 9999)
    reader.literal("-")
    month = reader.number("01", 2, "month", 1, 12)
    reader.literal("-")
    day = reader.number("02", 2, "", 0, 99)
    reader.literal("T")
    hour = reader.hour()
    reader.literal(":")
    minute = reader.number("04", 2, "minute", 0, 59)
    reader.literal(":")
    second = reader.number("05", 2, "second", 0, 59)
    reader.fraction()
    offset = reader.zone()
    if reader.rest:
        raise UsageError(f"parsing time {go_quote(text)}: extra text: {go_quote(reader.rest)}")
    try:
        time = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - timedelta(minutes=offset)
    except ValueError:
        raise reader.out_of_range("day") from None
    except OverflowError:
        raise reader.out_of_range("year") from None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.rest = text

    def literal(self, mark: str) -> None:
        if not self.rest.startswith(mark):
            raise self._cannot(mark)
        self.rest = self.rest[1:]

    def number(self, element: str, width: int, name: str, low: int, high: int) -> int:
        digits = self.rest[:width]
        if len(digits) < width or not _are_digits(digits):
            raise self._cannot(element)
        if not low <= int(digits) <= high:
            raise self.out_of_range(name)
        self.rest = self.rest[width:]
        return int(digits)

    def hour(self) -> int:
        """One digit or two."""
        width = 2 if _are_digits(self.rest[:2]) and len(self.rest) > 1 else 1
        return self.number("15", width, "hour", 0, 23)

    def fraction(self) -> None:
        if self.rest[:1] in (".", ",") and _are_digits(self.rest[1:2]):
            self.rest = self.rest[1:].lstrip("0123456789")

    def zone(self) -> int:
        """The offset from UTC in minutes."""
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return 0
        word = self.rest[:6]
        if len(word) < 6 or word[0] not in "+-" or word[3] != ":" or not _are_digits(word[1:3] + word[4:]):
            raise self._cannot("Z07:00")
        hours, minutes = int(word[1:3]), int(word[4:])
        if hours > 24 or minutes > 60:
            raise self.out_of_range("time zone offset " + ("hour" if hours > 24 else "minute"))
        self.rest = self.rest[6:]
        return (hours * 60 + minutes) * (-1 if word[0] == "-" else 1)

    def out_of_range(self, name: str) -> UsageError:
        return UsageError(f"parsing time {go_quote(self._text)}: {name} out of range")

    def _cannot(self, element: str) -> UsageError:
        where = f"parsing time {go_quote(self._text)} as {go_quote(_LAYOUT)}"
        return UsageError(f"{where}: cannot parse {go_quote(self.rest)} as {go_quote(element)}")


def _are_digits(text: str) -> bool:
    return bool(text) and text.isascii() and text.isdigit()
