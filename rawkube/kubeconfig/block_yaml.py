"""The part of YAML that programs write kubeconfigs in, read line by line. Pure.

Block mappings and lists, plain scalars of one line, quoted ones without escapes, `{}` and `[]`: what kubectl and the
tools of clouds write. It saves the import of PyYAML, which takes longer than a round trip to the API server. Whatever
else a text holds is left to PyYAML as a whole, the errors too.
"""

from __future__ import annotations

from rawkube._typing import Any
from rawkube.kubeconfig.yaml_scalars import plain

Value = Any  # what JSON can hold

DEEPEST = 40
"""Lists and mappings inside one another; deeper ones are not for this reader."""

_LONGEST_KEY = 120
# What a word may begin with: no indicator (YAML 1.1, section 5.3), but for a dash that begins a word.
_FIRST = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+~=$<-")


class Map(dict[str, Any]):
    """A mapping from YAML. `lines`: the line of each key, from 1."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}


class NotPlain(ValueError):
    """The text is not of the part of YAML that is read here."""


class _Open:
    """A list or mapping whose end has not come."""

    __slots__ = ("column", "key", "node")

    def __init__(self, column: int, node: Value) -> None:
        self.column = column
        self.node = node
        self.key: str | None = None  # the key whose value may stand on the lines that follow


def parse(text: str) -> Value:
    """The one document of `text`. Raises NotPlain."""
    if not text.isascii() or not text.replace("\n", "").isprintable():
        raise NotPlain
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        written = line.rstrip(" ")
        if written and not written.lstrip(" ").startswith("#"):
            reader.take(written, number)
    if reader.root is None:
        raise NotPlain
    return reader.root


class _Reader:
    """Lines → values."""

    def __init__(self) -> None:
        self.root: Value = None
        self._stack: list[_Open] = []
        self._begun = False

    def take(self, line: str, number: int) -> None:
        """One line that is neither empty nor a comment."""
        if line == "---" and not self._begun:
            self._begun = True
            return
        self._begun = True
        body = line.lstrip(" ")
        column = len(line) - len(body)
        if not body.startswith("- "):
            key, scalar = _field(body)
            if key is None:
                raise NotPlain
            self._put(self._map_at(column), key, scalar, number)
            return
        elements = self._list_at(column)
        body = body[2:].lstrip(" ")
        key, scalar = _field(body)
        if key is None:
            elements.append(_value(body))
        else:
            self._put(self._opened(len(line) - len(body), Map()), key, scalar, number)

    def _put(self, fields: Map, key: str, scalar: str, number: int) -> None:
        """A key, and its value where that stands on the same line."""
        self._stack[-1].key = None if scalar else key
        fields[key] = _value(scalar) if scalar else None
        fields.lines[key] = number

    def _list_at(self, column: int) -> Value:
        """The list whose dashes stand in this column."""
        stack = self._stack
        while stack and stack[-1].column > column:
            stack.pop()
        # A key's list may stand as far to the left as the key.
        if stack and stack[-1].column == column and stack[-1].key is None and stack[-1].node.__class__ is Map:
            raise NotPlain
        if stack and stack[-1].node.__class__ is list:
            if stack[-1].column != column:
                raise NotPlain
            return stack[-1].node
        return self._opened(column, [])

    def _map_at(self, column: int) -> Value:
        """The mapping whose keys stand in this column."""
        stack = self._stack
        while stack and stack[-1].column >= column:
            if stack[-1].column == column and stack[-1].node.__class__ is Map:
                return stack[-1].node
            stack.pop()
        if stack and stack[-1].node.__class__ is list:
            raise NotPlain
        return self._opened(column, Map())

    def _opened(self, column: int, node: Value) -> Value:
        """A new list or mapping: the document, a list's element, or the value of the key before it."""
        stack = self._stack
        if stack:
            _put(stack[-1], node)
        elif self.root is not None or column:
            raise NotPlain
        else:
            self.root = node
        if len(stack) >= DEEPEST:
            raise NotPlain
        stack.append(_Open(column, node))
        return node


def _put(top: _Open, node: Value) -> None:
    if top.node.__class__ is list:
        top.node.append(node)
    elif top.key is None:
        raise NotPlain
    else:
        top.node[top.key] = node
        top.key = None


def _field(text: str) -> tuple[str | None, str]:
    """The key at the beginning of a line, None for none, and what stands behind its colon."""
    key, colon, rest = text.partition(":")
    if not colon or rest[:1] not in ("", " ") or not 0 < len(key) <= _LONGEST_KEY or key[0] in "-./":
        return None, text
    if not f"_{key.replace('-', '_').replace('.', '_').replace('/', '_')}".isidentifier():
        return None, text
    if plain(key) is not key:  # a number, a word with a meaning
        raise NotPlain
    return key, rest.lstrip(" ")


def _value(text: str) -> Value:
    """A scalar, or an empty list or mapping. Raises NotPlain."""
    first = text[0]
    if first in "\"'":
        inner = text[1:-1]
        if len(text) < 2 or text[-1] != first or first in inner or (first == '"' and "\\" in inner):
            raise NotPlain
        return inner
    if text == "{}":
        return Map()
    if text == "[]":
        return []
    if first not in _FIRST or text[:2] in ("-", "- ") or ": " in text or " #" in text or text[-1] == ":":
        raise NotPlain
    return plain(text)
