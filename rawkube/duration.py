"""Pure: durations as Go writes and reads them (package `time`: `ParseDuration`, `Duration.String`).

A Go duration is a count of nanoseconds in 64 bits, about 292 years at most. The functions without
`nanoseconds` in their name speak seconds, as Python does.
"""

from __future__ import annotations

from rawkube.errors import UsageError

_SECOND = 10**9
_LIMIT = 1 << 63
_WIDTH = len(str(_LIMIT))
_DIGITS = "0123456789"

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # the micro sign
    "\u03bcs": 10**3,  # the Greek letter
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}

# client-go, tools/clientcmd: ParseTimeout.
_BAD_TIMEOUT = (
    "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a "
    "corresponding time unit (e.g. 1s | 2m | 3h)"
)


def parse_duration(text: str) -> float:
    """Seconds of a Go duration (`1h2m3.5s`, `-5s`, `0`). UsageError with Go's own text where it is none."""
    return parse_nanoseconds(text) / _SECOND


def format_duration(seconds: float) -> str:
    """Seconds as Go's `Duration.String` writes them: `0s`, `500ms`, `1.5s`, `1m0s`, `1h0m0s`."""
    return format_nanoseconds(round(seconds * _SECOND))


def parse_request_timeout(text: str) -> float:
    """Seconds of `--request-timeout`, 0.0 for none: whole seconds (`3`) or a Go duration (`1.5s`, `2m`).

    An empty value, and a negative duration, are no limit, as in client-go. UsageError for anything else.
    """
    if not text:
        return 0.0
    digits = text.removeprefix("+").lstrip("0") or "0"
    if text.isascii() and text.removeprefix("+").isdecimal() and len(digits) <= _WIDTH and int(digits) < _LIMIT:
        return float(digits)
    try:
        return max(parse_duration(text), 0.0)
    except UsageError:
        raise UsageError(_BAD_TIMEOUT) from None


def parse_nanoseconds(text: str) -> int:
    """Nanoseconds of a Go duration, in the range of int64. UsageError with Go's own text where it is none."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total = 0
    while rest:
        term, rest = _term(rest, text)
        total += term
        if total > _LIMIT:
            raise _invalid(text)
    if text[0] == "-":
        return -total
    if total == _LIMIT:
        raise _invalid(text)
    return total


def _term(rest: str, text: str) -> tuple[int, str]:
    """The first number with its unit, as nanoseconds, and what follows it."""
    whole, rest = _digits(rest)
    fraction = ""
    point = rest.startswith(".")
    if point:
        fraction, rest = _digits(rest[1:])
    if not whole and not fraction:
        raise _invalid(text)
    value = _whole(whole, text)
    unit, rest = _unit(rest)
    if not unit:
        raise UsageError(f"time: missing unit in duration {_quote(text)}")
    if unit not in _UNITS:
        raise UsageError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
    return value * _UNITS[unit] + _fraction(fraction, _UNITS[unit]), rest


def _digits(text: str) -> tuple[str, str]:
    rest = text.lstrip(_DIGITS)
    return text[: len(text) - len(rest)], rest


def _unit(text: str) -> tuple[str, str]:
    """Everything up to the next point or digit."""
    end = next((at for at, char in enumerate(text) if char in _DIGITS or char == "."), len(text))
    return text[:end], text[end:]


def _whole(digits: str, text: str) -> int:
    digits = digits.lstrip("0")
    if len(digits) > _WIDTH or int(digits or "0") > _LIMIT:
        raise _invalid(text)
    return int(digits or "0")


def _fraction(digits: str, unit: int) -> int:
    """The part behind the point, cut to whole nanoseconds; Go reads as many digits as 63 bits hold, then a float."""
    value, scale = 0, 1.0
    for digit in digits:
        following = value * 10 + int(digit)
        if following >= _LIMIT:
            break
        value, scale = following, scale * 10
    return int(float(value) * (float(unit) / scale))


def _invalid(text: str) -> UsageError:
    return UsageError(f"time: invalid duration {_quote(text)}")


def _quote(text: str) -> str:
    """As package `time` quotes: quotes and backslashes with a backslash, other than printable ASCII as bytes."""
    shown = []
    for char in text:
        if char in '"\\':
            shown.append("\\" + char)
        elif " " <= char < "\x7f":
            shown.append(char)
        else:
            shown += [f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape")]
    return f'"{"".join(shown)}"'


def format_nanoseconds(nanoseconds: int) -> str:
    """Nanoseconds as Go's `Duration.String` writes them."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest < _SECOND:
        return sign + _below_a_second(rest)
    minutes, rest = divmod(rest, 60 * _SECOND)
    hours, minutes = divmod(minutes, 60)
    seconds = _decimal(rest, _SECOND) + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds


def _below_a_second(nanoseconds: int) -> str:
    if not nanoseconds:
        return "0s"
    for unit, size in (("ms", 10**6), ("\u00b5s", 10**3)):
        if nanoseconds >= size:
            return _decimal(nanoseconds, size) + unit
    return f"{nanoseconds}ns"


def _decimal(value: int, size: int) -> str:
    """`value / size` in decimals, without zeros at the end; `size` is a power of ten."""
    whole, rest = divmod(value, size)
    return f"{whole}.{rest:0{len(str(size)) - 1}}".rstrip("0").rstrip(".") if rest else str(whole)
