"""Quantities of resources (`500m`, `1536Mi`, `1e3`): their value, and the one way in which the API writes each. Pure.

Grammar and canonical form are those of k8s.io/apimachinery `resource.Quantity`: no fraction, the largest suffix, binary
suffixes stay binary. What is smaller than a nano is rounded up.
"""

from __future__ import annotations

import re
from fractions import Fraction

from rawkube._typing import NamedTuple
from rawkube.errors import RolloutFailed

_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE][+-]?[0-9]{1,4}", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_LARGEST = 2**63 - 1


class _Read(NamedTuple):
    """A quantity as written: its number, the digits before and behind the point, the suffix."""

    number: Fraction
    whole: str
    part: str
    suffix: str


def value(text: str) -> Fraction:
    """The number that a quantity stands for. Raises RolloutFailed in apimachinery's words."""
    return _read(text).number


def canonical(text: str) -> str:
    """The quantity as the API writes it: `1000m` → `1`, `1.5Gi` → `1536Mi`; what has no shorter form stays as it is.

    Raises RolloutFailed.
    """
    read = _read(text)
    number = Fraction(_away_from_zero(read.number * 10**9), 10**9)
    if not number:
        return "0"
    is_binary = read.suffix.endswith("i")
    if is_binary and number > _LARGEST:
        number = Fraction(_LARGEST)
    if is_binary and abs(number) >= 1024 and number.denominator == 1:
        digits, power = _in_powers(int(number), 1024, len(_BINARY) - 1)
        suffix, is_same = _BINARY[power], _BINARY[power] == read.suffix
    else:
        exponent = _EXPONENT.fullmatch(read.suffix)
        limit = 9 if exponent is None else 3 + len(str(number))
        digits, power = _in_powers(int(number * 10**9), 1000, limit)
        power = 3 * power - 9
        suffix = _DECIMAL_SUFFIX[power] if exponent is None else f"e{power}" if power else ""
        is_same = power == (int(read.suffix[1:]) if exponent else _DECIMAL.get(read.suffix))
    # apimachinery keeps the spelling (`+1`, `1E3`) of what is canonical but for it.
    kept = is_same and not read.part and abs(digits) == int(read.whole or "0")
    return text.strip() if kept else f"{digits}{suffix}"


def units(text: str, *, milli: bool = False) -> int:
    """The value in whole units (or thousandths), rounded away from zero."""
    return _away_from_zero(value(text) * (1000 if milli else 1))


def _read(text: str) -> _Read:
    found = _FORM.fullmatch(text.strip())
    if found is None or not found[0]:
        raise RolloutFailed(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    whole, part, suffix = found[2], found[3] or "", found[4]
    number = Fraction(int(f"{whole}{part}" or "0"), 10 ** len(part)) * _factor(suffix)
    return _Read(-number if found[1] == "-" else number, whole, part, suffix)


def _factor(suffix: str) -> Fraction:
    if suffix in _DECIMAL:
        return Fraction(10) ** _DECIMAL[suffix]
    if suffix in _BINARY:
        return Fraction(1024) ** _BINARY.index(suffix)
    if not _EXPONENT.fullmatch(suffix):
        raise RolloutFailed("unable to parse quantity's suffix")
    return Fraction(10) ** int(suffix[1:])


def _away_from_zero(number: Fraction) -> int:
    whole = -(-abs(number.numerator) // number.denominator)
    return whole if number > 0 else -whole


def _in_powers(number: int, base: int, limit: int) -> tuple[int, int]:
    """The number without its factors of `base`, and how many these were, `limit` at most."""
    power = 0
    while number % base == 0 and power < limit:
        number, power = number // base, power + 1
    return number, power
