"""JSON as Go's encoding/json writes it, and its words for bytes that are no JSON (kubectl quotes them). Pure."""

from __future__ import annotations

from rawkube._pattern import pattern
from rawkube._typing import Any
from rawkube.gotext import go_quote

_SPACE = pattern(rb"[ \t\r\n]*")
_IN_STRING = pattern(rb'(?>[^"\\\x00-\x1f]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_DIGITS = pattern(rb"[0-9]*")
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_END = "unexpected end of JSON input"


# encoding/json escapes what HTML would obey, and the line ends of JavaScript.
_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_SURROGATE = pattern("[\ud800-\udfff]")
_CONSTANTS = ((None, "null"), (True, "true"), (False, "false"))


def encode(value: Any) -> str:  # noqa: ANN401 - what JSON can hold
    """`value` as `json.Marshal` writes it: no spaces, keys in the order that they have.

    Numbers that are whole lose their point (`1.0` → `1`); what is no UTF-8 becomes U+FFFD.
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(str(key))}:{encode(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(encode, value)) + "]"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float):
        return _float(value)
    return next((text for constant, text in _CONSTANTS if value is constant), str(value))


def _string(text: str) -> str:
    from json import dumps

    return dumps(_SURROGATE.sub("\ufffd", text), ensure_ascii=False).translate(_ESCAPED)


def _float(value: float) -> str:
    """Go's float64: as few digits as tell it from its neighbours; an exponent below 1e-6 and from 1e21 on."""
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - only NaN differs from itself
        raise ValueError("json: unsupported value")
    if value and not 1e-6 <= abs(value) < 1e21:
        mantissa, _, exponent = repr(value).partition("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
    if value == int(value):
        return str(int(value))
    from decimal import Decimal

    return format(Decimal(repr(value)), "f")


class _Wrong(Exception):
    """The text is Go's."""


def syntax_error(data: bytes) -> str:
    """Why `data`, which is known not to decode, is no JSON: `unexpected end of JSON input`."""
    try:
        _scan(data + b" ")  # as Go does at the end, so that a cut literal or number is an error of its own
    except _Wrong as error:
        return str(error)
    return "exceeded max depth"


def _wrong(data: bytes, at: int, where: str) -> _Wrong:
    if at >= len(data):
        return _Wrong(_END)
    char = chr(data[at])
    quoted = {"'": r"'\''", '"': "'\"'"}.get(char) or f"'{go_quote(char)[1:-1]}'"
    return _Wrong(f"invalid character {quoted} {where}")


def _skip(data: bytes, at: int) -> int:
    match = _SPACE.match(data, at)
    return match.end() if match else at


def _scan(data: bytes) -> None:
    """Raises _Wrong at the first byte that Go would stop at."""
    opened = bytearray()  # the brackets around the current place
    at = _skip(data, 0)
    while True:
        at = _scan_value(data, at, opened)
        if opened and data[at - 1 : at] in (b"{", b"["):  # just opened: a first member, or its end
            at = _skip(data, at)
            if data[at : at + 1] != _closer(opened):
                at = _scan_key(data, at) if opened[-1:] == b"{" else at
                continue
        at = _scan_after(data, at, opened)
        if at < 0:
            return


def _closer(opened: bytearray) -> bytes:
    return b"}" if opened[-1:] == b"{" else b"]"


def _scan_after(data: bytes, at: int, opened: bytearray) -> int:
    """What follows a value: closing brackets, then a comma (→ where the next value begins) or the end (→ -1)."""
    while True:
        at = _skip(data, at)
        if not opened:
            if at < len(data):
                raise _wrong(data, at, "after top-level value")
            return -1
        char = data[at : at + 1]
        if char == _closer(opened):
            del opened[-1]
            at += 1
        elif char == b",":
            at = _skip(data, at + 1)
            return _scan_key(data, at) if opened[-1:] == b"{" else at
        else:
            where = "after object key:value pair" if opened[-1:] == b"{" else "after array element"
            raise _wrong(data, at, where)


def _scan_key(data: bytes, at: int) -> int:
    if data[at : at + 1] != b'"':
        raise _wrong(data, at, "looking for beginning of object key string")
    at = _skip(data, _scan_string(data, at + 1))
    if data[at : at + 1] != b":":
        raise _wrong(data, at, "after object key")
    return _skip(data, at + 1)


def _scan_value(data: bytes, at: int, opened: bytearray) -> int:
    char = data[at : at + 1]
    if char in (b"{", b"[") and char:
        opened += char
        return at + 1
    if char == b'"':
        return _scan_string(data, at + 1)
    if char and char in b"-0123456789":
        return _scan_number(data, at)
    if char and char[0] in _LITERALS:
        return _scan_literal(data, at, _LITERALS[char[0]])
    raise _wrong(data, at, "looking for beginning of value")


def _scan_literal(data: bytes, at: int, literal: bytes) -> int:
    for offset, expected in enumerate(literal):
        if data[at + offset : at + offset + 1] != bytes((expected,)):
            raise _wrong(data, at + offset, f"in literal {literal.decode()} (expecting '{chr(expected)}')")
    return at + len(literal)


def _scan_digits(data: bytes, at: int, where: str) -> int:
    match = _DIGITS.match(data, at)
    end = match.end() if match else at
    if end == at:
        raise _wrong(data, at, where)
    return end


def _scan_number(data: bytes, at: int) -> int:
    if data[at : at + 1] == b"-":
        at += 1
    at = at + 1 if data[at : at + 1] == b"0" else _scan_digits(data, at, "in numeric literal")
    if data[at : at + 1] == b".":
        at = _scan_digits(data, at + 1, "after decimal point in numeric literal")
    if data[at : at + 1] in (b"e", b"E"):
        at += 2 if data[at + 1 : at + 2] in (b"+", b"-") else 1
        at = _scan_digits(data, at, "in exponent of numeric literal")
    return at


def _scan_string(data: bytes, at: int) -> int:
    """From behind the opening quote to behind the closing one."""
    match = _IN_STRING.match(data, at)
    at = match.end() if match else at
    char = data[at : at + 1]
    if char == b'"':
        return at + 1
    if char != b"\\":
        raise _wrong(data, at, "in string literal")
    if data[at + 1 : at + 2] != b"u":
        raise _wrong(data, at + 1, "in string escape code")
    at += 2
    while data[at : at + 1] and data[at : at + 1] in b"0123456789abcdefABCDEF":
        at += 1
    raise _wrong(data, at, r"in \u hexadecimal character escape")
