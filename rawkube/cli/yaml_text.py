"""Pure: what JSON can hold → YAML, as kubectl writes it (sigs.k8s.io/yaml: go-yaml v2, a port of libyaml).

Mappings are sorted, sequences stand in the column of their key, long scalars are broken at spaces behind column 80.
By hand because PyYAML's emitter decides on quotes and line breaks otherwise, and takes ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cmp_to_key, lru_cache

from rawkube._typing import Any
from rawkube.cli.numbers import yaml_number
from rawkube.kubeconfig.yaml_scalars import plain

Value = Any  # what JSON can hold

WIDTH = 80
"""A scalar is broken at the first space behind this column."""
LONGEST_KEY = 128
"""Bytes; a longer key is written with a question mark."""

_LETTERS = re.compile(r"[^\W\d_]*")
# Scalars of which no more needs to be known (words that mean something else are still looked up).
_SIMPLE = re.compile(r"[A-Za-z/_][-A-Za-z0-9/_.=+()]*(?: [A-Za-z0-9/_(][-A-Za-z0-9/_.=+()]*)*")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIME = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[Tt](\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?(?:Z|[-+](\d\d):(\d\d))"
    r"| (\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?)?",
    re.ASCII,
)
# What libyaml does not call printable; U+2028 and U+2029 are breaks to it, which not every reader keeps.
_SPECIAL = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]| \n")
_HALVES = re.compile("[\ud800-\udfff]")
_INDICATOR = re.compile(r"[#,\[\]{}&*!|>'\"%@`]|[?:-](?: |$)|---|\.\.\.")
_INSIDE = re.compile(r".:(?: |$)| #")
_ESCAPES = {"\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e"}
_ESCAPES |= {'"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P"}

PLAIN, SINGLE, DOUBLE, LITERAL = range(4)


def dump(value: Value) -> str:
    """One document, without `---`, ended by a line feed."""
    lines: list[str] = []
    _Writer(lines.append).root(value)
    return "".join(lines)


class _Writer:
    def __init__(self, put: Callable[[str], None]) -> None:
        self._put = put

    def root(self, value: Value) -> None:
        if isinstance(value, dict) and value:
            self._mapping(value, 0, "")
        elif isinstance(value, list) and value:
            self._sequence(value, 0, "")
        else:
            self._put(scalar(value, 2 if isinstance(value, str) else 0, 0) + "\n")

    def _mapping(self, value: dict[str, Value], indent: int, first: str) -> None:
        """The members in the column `indent`; `first` is what the first one's line needs before it."""
        margin = " " * indent
        for key in sorted_keys(value):
            if is_simple_key(key):
                text = f"{first}{scalar(key, indent + 2, 0, key=True)}:"
                self._put(text)
                self._behind_key(value[key], indent, text, len(margin) - len(first))
            else:
                self._put(f"{first}? {scalar(key, indent + 2, indent + 2)}\n")
                self._put(f"{margin}:")
                self._behind_dash(value[key], indent, margin)
            first = margin

    def _behind_key(self, value: Value, indent: int, text: str, missing: int) -> None:
        if isinstance(value, dict) and value:
            self._put("\n")
            self._mapping(value, indent + 2, " " * (indent + 2))
        elif isinstance(value, list) and value:
            self._put("\n")
            self._sequence(value, indent, " " * indent)
        else:
            self._put(f" {scalar(value, indent + 2, len(text) + missing + 1)}\n")

    def _behind_dash(self, value: Value, indent: int, margin: str) -> None:
        """What follows a `-`, or the `:` of a key with a question mark, on the same line."""
        if isinstance(value, dict) and value:
            self._mapping_inline(value, indent + 2)
        elif isinstance(value, list) and value:
            self._put(" ")
            self._sequence(value, indent + 2, "")
        else:
            self._put(f" {scalar(value, indent + 2, len(margin) + 2)}\n")

    def _mapping_inline(self, value: dict[str, Value], indent: int) -> None:
        self._put(" ")
        self._mapping(value, indent, "")

    def _sequence(self, value: list[Value], indent: int, first: str) -> None:
        margin = " " * indent
        for item in value:
            self._put(f"{first}-")
            self._behind_dash(item, indent, margin)
            first = margin


def sorted_keys(value: Iterable[str]) -> list[str]:
    """Keys in go-yaml's order: numbers inside them by their value, letters behind everything else."""
    keys = sorted(value)
    if all(_LETTERS.fullmatch(key) for key in keys):
        return keys
    return sorted(keys, key=cmp_to_key(_compare))


def _compare(one: str, other: str) -> int:
    return -1 if _is_less(one, other) else 1 if _is_less(other, one) else 0


def _is_less(one: str, other: str) -> bool:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), -1)
    if at < 0:
        return len(one) < len(other)
    a, b = one[at], other[at]
    if a.isalpha() or b.isalpha():
        return a < b if a.isalpha() and b.isalpha() else b.isalpha()
    start = 1 if "0" in (a, b) and _is_inside_number(one, at) else 0
    first, first_end = _number_at(one, at, start)
    second, second_end = _number_at(other, at, start)
    if first != second:
        return first < second
    return first_end < second_end if first_end != second_end else a < b


def _is_inside_number(text: str, at: int) -> bool:
    """Whether a digit other than 0 stands in the digits just before."""
    before = text[:at]
    digits = before[len(before.rstrip("0123456789")) :]
    return bool(digits.strip("0"))


def _number_at(text: str, at: int, value: int) -> tuple[int, int]:
    end = at
    while end < len(text) and text[end].isdecimal():
        value = value * 10 + ord(text[end]) - ord("0")
        end += 1
    return (value + 2**63) % 2**64 - 2**63, end  # int64 of Go, which runs over


def is_simple_key(text: str) -> bool:
    """Whether a key can stand before a colon."""
    if "\n" in text or "\r" in text:
        return False
    return len(text) <= LONGEST_KEY // 4 or len(text.encode("utf-8", "surrogatepass")) <= LONGEST_KEY


def scalar(value: Value, indent: int, column: int, *, key: bool = False) -> str:
    """A scalar (or an empty collection) that begins in `column`, further lines in the column `indent`."""
    if isinstance(value, str):
        return _string(value, indent, column, key)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return yaml_number(value)
    return "{}" if isinstance(value, dict) else "[]"


def _string(text: str, indent: int, column: int, key: bool) -> str:
    kind = style(text)
    if kind == LITERAL:
        return _literal(text, indent)
    if kind == PLAIN and (key or column + len(text) <= WIDTH or " " not in text):
        return text
    if kind == DOUBLE:
        whole = _HALVES.sub("\ufffd", text)  # as Go reads them in JSON
        return _double(text, indent, column, not key) if whole == text else _string(whole, indent, column, key)
    if kind == SINGLE:
        return _folded(text, indent, column, may_break=not key, quote="'")
    return _folded(text, indent, column)


@lru_cache(4096)
def style(text: str) -> int:
    """How a string is written: PLAIN, SINGLE or DOUBLE quoted, LITERAL (as a block)."""
    if len(text) > 16 and _SIMPLE.fullmatch(text):
        return PLAIN
    special = _SPECIAL.search(text) is not None
    if "\n" in text:
        return DOUBLE if special or text.endswith(" ") else LITERAL
    if special or not _is_read_as_string(text):
        return DOUBLE
    return PLAIN if _is_plain(text) else SINGLE


def _is_read_as_string(text: str) -> bool:
    if not text or not isinstance(plain(text), str):
        return False
    return not (text[0] in "0123456789+-" and (_BASE_60.fullmatch(text) or _is_time(text)))


def _is_time(text: str) -> bool:
    """Whether go-yaml reads it as a timestamp."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    year, month, day, *rest = (int(group) if group else 0 for group in match.groups())
    hours, minutes, seconds = (max(rest[i], rest[i + 5]) for i in range(3))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    in_range = hours < 24 and minutes < 60 and seconds < 60 and rest[3] <= 24 and rest[4] < 60
    return in_range and 1 <= month <= 12 and 1 <= day <= days[month - 1]


def _is_plain(text: str) -> bool:
    """Whether a string that is read as one needs no quotes in a block."""
    return not (text[0] == " " or text[-1] == " " or _INDICATOR.match(text) or _INSIDE.search(text))


# Each writer keeps the column as libyaml does: characters written in the line, `indent` after a break.


def _folded(text: str, indent: int, column: int, *, may_break: bool = True, quote: str = "") -> str:
    """A scalar, broken at single spaces behind the width; `quote`: what stands around it, and is doubled inside."""
    parts = [quote]
    margin = "\n" + " " * indent
    column += len(quote)
    spaces = False
    for at, char in enumerate(text):
        if char == " ":
            inside = 0 < at < len(text) - 1 and text[at + 1] != " "
            if may_break and not spaces and column > WIDTH and inside:
                parts.append(margin)
                column = indent
            else:
                parts.append(char)
                column += 1
            spaces = True
        else:
            parts.append(char + char if char == quote else char)
            column += len(parts[-1])
            spaces = False
    parts.append(quote)
    return "".join(parts)


def _double(text: str, indent: int, column: int, may_break: bool) -> str:
    parts = ['"']
    column += 1
    spaces = False
    for at, char in enumerate(text):
        if char == " ":
            if may_break and not spaces and column > WIDTH and 0 < at < len(text) - 1:
                parts.append("\n" + " " * indent + ("\\" if text[at + 1] == " " else ""))
                column = indent + (text[at + 1] == " ")
            else:
                parts.append(char)
                column += 1
            spaces = True
        else:
            parts.append(_escaped(char))
            column += len(parts[-1])
            spaces = False
    parts.append('"')
    return "".join(parts)


def _escaped(char: str) -> str:
    if char in _ESCAPES and char != "\xa0":
        return "\\" + _ESCAPES[char]
    if not _SPECIAL.match(char):
        return char
    code = ord(char)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _literal(text: str, indent: int) -> str:
    margin = " " * indent
    hint = "2" if text[0] in " \n" else ""
    chomp = "-" if text[-1] != "\n" else "+" if text[-2:] in ("\n", "\n\n") else ""
    lines = text.split("\n")
    body = "\n".join(margin + line if line else "" for line in lines)
    return f"|{hint}{chomp}\n{body}".removesuffix("\n")
