"""YAML scalars as kubectl reads them (sigs.k8s.io/yaml on go-yaml v2), not as YAML 1.2 or PyYAML do. Pure.

Booleans are the words of YAML 1.1 including `y` and `n`; `0755`, `0o755`, `0x1F`, `0b11` and `1_000` are
integers; what is no valid octal (`089`) is a decimal float; there are no sexagesimal numbers and no dates.
"""

from __future__ import annotations

import binascii
import re
import struct

from rawkube._pattern import pattern

Scalar = None | bool | int | float | str

TAG = "tag:yaml.org,2002:"

_WORDS: dict[str, tuple[str, Scalar]] = {"<<": ("merge", "<<")}
_WORDS |= dict.fromkeys(("", "~", "null", "Null", "NULL"), ("null", None))
_WORDS |= dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), ("bool", True))
_WORDS |= dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), ("bool", False))
_WORDS |= dict.fromkeys((".nan", ".NaN", ".NAN"), ("float", float("nan")))
_WORDS |= dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), ("float", float("inf")))
_WORDS |= dict.fromkeys(("-.inf", "-.Inf", "-.INF"), ("float", float("-inf")))

_NUMERIC_START = frozenset("0123456789+-.")
# Go's ParseInt with base 0: a prefix chooses the base, and a bare leading zero means octal.
_INTEGER = pattern(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))", re.ASCII)
_BASES = ((2, 16), (3, 2), (4, 8), (5, 10))
_FLOAT = pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_POINT_FLOAT = pattern(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?", re.ASCII)
# go-yaml's own reading of binary numbers, which lets a sign stand after the prefix.
_SIGNED_BINARY = pattern(r"0b([-+]?[01]+)|-0b([01]+)", re.ASCII)
_DATE = pattern(r"[0-9]{4}-", re.ASCII)

_SMALLEST, _LARGEST, _LARGEST_UNSIGNED = -(2**63), 2**63 - 1, 2**64 - 1
_LONGEST_INTEGER = 70  # characters: 64 binary digits, prefix, sign; what is longer fits into no integer of Go


class ScalarError(ValueError):
    """A scalar that its explicit tag does not allow. The text never holds the scalar itself."""


class Binary(str):
    """What `!!binary` decoded to, as text: unlike a plain string, it is not base64 any more."""

    __slots__ = ()


def _integer(text: str) -> int | None:
    """`text` as a 64-bit integer of Go (int64, else uint64 without a sign), None if it is none."""
    match = _INTEGER.fullmatch(text) if len(text) <= _LONGEST_INTEGER else None
    if match is None:
        return None
    group, base = next((g, b) for g, b in _BASES if match[g] is not None)
    value = int(match[group], base)
    if match[1] == "-":
        value = -value
    top = _LARGEST if match[1] else _LARGEST_UNSIGNED
    return value if _SMALLEST <= value <= top else None


def _finite(text: str) -> float | None:
    value = float(text)  # Go calls a number that is too large an error, and the scalar stays a string
    return None if value in (float("inf"), float("-inf")) else value


def _number(text: str) -> int | float | None:
    if text[0] == ".":
        return _finite(text) if _POINT_FLOAT.fullmatch(text) else None
    digits = text.replace("_", "")
    whole = _integer(digits)
    if whole is not None:
        return whole
    if _FLOAT.fullmatch(digits):
        return _finite(digits)
    match = _SIGNED_BINARY.fullmatch(digits) if len(digits) <= _LONGEST_INTEGER else None
    if match is None:
        return None
    value = int(match[1], 2) if match[1] else -int(match[2], 2)
    return value if _SMALLEST <= value <= _LARGEST_UNSIGNED else None


def _typed(text: str) -> tuple[str, Scalar]:
    word = _WORDS.get(text)
    if word is not None:
        return word
    if text[0] in _NUMERIC_START:
        number = _number(text)
        if number is not None:
            return ("int" if isinstance(number, int) else "float"), number
    return "str", text


def plain(text: str) -> Scalar:
    """The value of an unquoted scalar without a tag, as kubectl 1.37 reads it."""
    if text and text[0] not in _NUMERIC_START and text not in _WORDS:
        return text  # nearly all of them
    return _typed(text)[1]


def tagged(text: str, tag: str) -> Scalar:
    """The value of a scalar with an explicit tag (`!!str`, in full `tag:yaml.org,2002:str`), quoted or not.

    A tag that is not YAML's own leaves the text as it is. Raises ScalarError where text and tag do not agree.
    """
    short = tag.removeprefix(TAG)
    if tag == short or short not in ("bool", "int", "float", "null", "timestamp", "binary"):
        return text
    if short == "binary":
        return _binary(text)
    found, value = _typed(text)
    if short == found:
        return value
    if short == "float" and isinstance(value, int) and found == "int":
        return float(value)
    if short == "timestamp" and _DATE.match(text):
        return text
    raise ScalarError(f"cannot decode !!{found} as a !!{short}")


def _binary(text: str) -> Binary:
    try:
        data = binascii.a2b_base64("".join(text.split()), strict_mode=True)
    except ValueError:
        raise ScalarError("!!binary value contains invalid base64 data") from None
    return Binary(data.decode("utf-8", "replace"))


def _single(value: float) -> float:
    """The nearest 32-bit number, infinite where there is none."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return value * float("inf")


def _short_float(value: float) -> str:
    """Go's `FormatFloat(value, 'g', -1, 32)`: as few digits as tell the 32-bit number from its neighbours."""
    single = _single(value)
    if single in (float("inf"), float("-inf")):
        return ".inf" if single > 0 else "-.inf"
    shown = next(s for s in (f"{single:.{n}e}" for n in range(9)) if _single(float(s)) == single)
    mantissa, _, exponent = shown.partition("e")
    if -5 < int(exponent) < 6:
        digits = len(mantissa.lstrip("-").replace(".", ""))
        return f"{float(shown):.{max(digits - 1 - int(exponent), 0)}f}"
    return f"{mantissa}e{int(exponent):+03d}"


def key(value: object) -> str:
    """A mapping key as text: `1` → `"1"`, `y` → `"true"`, `1.5` → `"1.5"`. Raises ScalarError for null."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 - only NaN differs from itself
            return ".nan"
        return _short_float(value)
    raise ScalarError("unsupported map key: null")
