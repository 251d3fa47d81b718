"""Pure: JSON's numbers as Go writes them (encoding/json; strconv.FormatFloat with the format `g`)."""

from __future__ import annotations

_LEAST, _MOST = -(2**63), 2**63 - 1
_MOST_UNSIGNED = 2**64 - 1


def json_number(value: int | float) -> str:
    """As encoding/json: digits without an exponent from 1e-6 to below 1e21. An integer beyond 64 bits is a float."""
    if isinstance(value, int):
        if _LEAST <= value <= _MOST:
            return str(value)
        value = _float(value)
    sign, digits, point = _shortest(value)
    if value and not 1e-6 <= abs(value) < 1e21:
        return sign + _scientific(digits, point, 1)
    return sign + _positional(digits, point)


def general_number(value: int | float) -> str:
    """As the format `g`: a float has an exponent below 1e-4 and from 1e6 (strconv: the shortest form's precision)."""
    if isinstance(value, int):
        if _LEAST <= value <= _MOST:
            return str(value)
        value = _float(value)
    sign, digits, point = _shortest(value)
    if value and not -4 <= point - 1 < 6:
        return sign + _scientific(digits, point, 2)
    return sign + _positional(digits, point)


def yaml_number(value: int | float) -> str:
    """As kubectl's YAML shows it: written as JSON, read again, whole numbers of 64 bits as such."""
    text = json_number(value)
    if text.lstrip("-").isdecimal() and _LEAST <= int(text) <= _MOST_UNSIGNED:
        return str(int(text))
    return general_number(float(value))


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, the fewest digits that tell the number, and where its point stands among them."""
    text = repr(value)
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return sign, digits.rstrip("0") or "0", point if digits else 1


def _scientific(digits: str, point: int, width: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    exponent = point - 1
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):0{width}}"


def _positional(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    whole = digits[:point].ljust(point, "0")
    return f"{whole}.{digits[point:]}" if len(digits) > point else whole
