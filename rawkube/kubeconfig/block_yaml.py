"""The part of YAML that programs write kubeconfigs in, read line by line. Pure.

Block mappings and lists, plain scalars of one line, quoted ones without escapes, `{}` and `[]`: what kubectl and the
tools of clouds write. It saves the import of PyYAML, which takes longer than a round trip to the API server. Whatever
else a text holds is left to PyYAML as a whole, the errors too.
"""

from __future__ import annotations

from rawkube._pattern import pattern
from rawkube._typing import Any
from rawkube.kubeconfig.yaml_scalars import plain

Value = Any  # what JSON can hold

DEEPEST = 40
"""Lists and mappings inside one another; deeper ones are not for this reader."""

_KEY = r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,120}"
# No indicator at the start (YAML 1.1, section 5.3), but for a dash that begins a word.
_SCALAR = r"""(?:[A-Za-z0-9_./+~=$<]|-(?=[^ ]))[^#:]*(?:(?:(?<! )\#|:(?! |$))[^#:]*)*|"[^"\\]*"|'[^']*'|\{\}|\[\]"""
# indentation, the dash of a list's element, a key, a scalar
_LINE = pattern(rf"( *)(-  *)?(?:({_KEY}):(?:  *|$))?({_SCALAR})?")


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
        self._match = _LINE.fullmatch

    def take(self, line: str, number: int) -> None:
        """One line that is neither empty nor a comment."""
        if line == "---" and not self._begun:
            self._begun = True
            return
        self._begun = True
        found = self._match(line)
        if found is None:
            raise NotPlain
        spaces, dash, key, scalar = found.groups()
        column = len(spaces)
        if dash:
            self._element(column, key is None, scalar)
            column += len(dash)
        if key is not None:
            self._field(column, key, scalar, number, opened=bool(dash))
        elif not dash:
            raise NotPlain

    def _element(self, column: int, is_scalar: bool, scalar: str | None) -> None:
        """The dash of a list's element; if that is a scalar, the element."""
        elements = self._list_at(column)
        if is_scalar:
            if scalar is None:
                raise NotPlain
            elements.append(_value(scalar))

    def _field(self, column: int, key: str, scalar: str | None, number: int, *, opened: bool) -> None:
        """A key, and its value where that stands on the same line."""
        if plain(key) is not key:
            raise NotPlain
        fields = self._opened(column, Map()) if opened else self._map_at(column)
        top = self._stack[-1]
        top.key = key if scalar is None else None
        fields[key] = None if scalar is None else _value(scalar)
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


def _value(scalar: str) -> Value:
    first = scalar[0]
    if first in "\"'":
        return scalar[1:-1]
    if first == "{":
        return Map()
    return [] if first == "[" else plain(scalar)
