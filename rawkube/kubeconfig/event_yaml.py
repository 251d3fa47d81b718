"""All of YAML → plain Python data, each field with its line. Opens nothing.

Built from the parser's events (libyaml's when PyYAML has it) with kubectl's scalar rules; no tag constructs anything.
Nesting, aliases and numbers are bounded.
"""

from __future__ import annotations

from collections.abc import Callable

import yaml

from rawkube._pattern import pattern
from rawkube._typing import Any
from rawkube.kubeconfig.block_yaml import Map
from rawkube.kubeconfig.document import DocumentError
from rawkube.kubeconfig.yaml_scalars import TAG, ScalarError, key, plain, tagged

MAX_DEPTH = 500
"""Lists and mappings inside one another."""
MAX_ALIASED = 1_000_000
"""Values that aliases and merges may repeat, in all: an alias counts for every value inside it."""

Value = Any  # what JSON can hold
Event = Any  # of PyYAML, which has two parsers
Parser = Any


def _parser(text: str, pure: bool) -> Parser:
    c_parser = getattr(yaml, "CParser", None) or getattr(getattr(yaml, "_yaml", None), "CParser", None)
    if c_parser is None or pure:
        return _pure_parser(text)
    return c_parser(text)


def _pure_parser(text: str) -> Parser:
    from yaml.parser import Parser as EventParser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class PureParser(Reader, Scanner, EventParser):
        def __init__(self, stream: str) -> None:
            Reader.__init__(self, stream)
            Scanner.__init__(self)
            EventParser.__init__(self)

    return PureParser(text)


# A quoted word in a problem of the parser can be a piece of the file: a tag, an anchor.
_QUOTED = pattern(r"""(['"])(?!<)(?:(?!\1).){5,}\1""")


def first_document(text: str, *, pure: bool = False) -> Value:
    """The first document of `text`, None where it is empty. `pure`: PyYAML's own parser, not libyaml's.

    Raises DocumentError.
    """
    try:
        return _Builder(_parser(text, pure)).first_document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _QUOTED.sub("…", str(error.problem or error.context or "unreadable"))
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise DocumentError(problem, line, column) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position] if isinstance(error.position, int) else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise DocumentError("control characters are not allowed", line, column) from None


class _Open:
    """A list or mapping whose end has not come."""

    __slots__ = ("anchor", "before", "key", "key_line", "node")

    def __init__(self, node: Value, anchor: str | None, before: int) -> None:
        self.node = node
        self.anchor = anchor
        self.before = before  # how many values stood before it
        self.key: Any = _NO_KEY
        self.key_line = 0


_NO_KEY: Any = object()
_MERGE: Any = object()


class _Builder:
    """Events → values. It keeps its own stack, so that depth is a number and not the interpreter's."""

    def __init__(self, parser: Parser) -> None:
        self._next_event: Callable[[], Any] = parser.get_event
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0
        self._repeated = 0
        self._root: Any = None

    def first_document(self) -> Value:
        # by name: the same events come from libyaml's parser and from the pure one
        handlers = {
            "ScalarEvent": self._scalar,
            "AliasEvent": self._alias,
            "MappingStartEvent": self._open_mapping,
            "SequenceStartEvent": self._open_list,
            "MappingEndEvent": self._close,
            "SequenceEndEvent": self._close,
        }
        while True:
            event = self._next_event()
            handler = handlers.get(event.__class__.__name__)
            if handler is not None:
                handler(event)
            elif event.__class__.__name__ in ("DocumentEndEvent", "StreamEndEvent"):
                return self._root

    def _scalar(self, event: Event) -> None:
        text, tag = event.value, event.tag
        stack = self._stack
        if tag is None or tag == "!":
            if not event.implicit[0] or tag:
                value = text  # quoted, or with the tag that says "as it stands"
            elif text == "<<" and stack and stack[-1].key is _NO_KEY and isinstance(stack[-1].node, Map):
                value = _MERGE
            else:
                value = plain(text)
        elif tag == TAG + "merge":
            value = _MERGE if text == "<<" else text
        else:
            value = self._checked(event, tagged, text, tag)
        self._count += 1
        if event.anchor is not None:
            self._anchors[event.anchor] = (None if value is _MERGE else value, 1)
        self._add(value, event)

    def _checked(self, event: Event, function: Callable[..., Any], *values: Value) -> Value:
        try:
            return function(*values)
        except ScalarError as error:
            raise _at(event, str(error)) from None

    def _alias(self, event: Event) -> None:
        if event.anchor not in self._anchors:
            raise _at(event, "unknown anchor referenced")
        value, size = self._anchors[event.anchor]
        if size == 0:
            raise _at(event, "anchor contains itself")
        self._repeat(event, size)
        self._add(value, event)

    def _repeat(self, event: Event, values: int) -> None:
        self._count += values
        self._repeated += values
        if self._repeated > MAX_ALIASED:
            raise _at(event, "document contains excessive aliasing")

    def _open_mapping(self, event: Event) -> None:
        self._open(event, Map())

    def _open_list(self, event: Event) -> None:
        self._open(event, [])

    def _open(self, event: Event, node: Value) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise _at(event, f"exceeded max depth of {MAX_DEPTH}")
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, 0)
        self._stack.append(_Open(node, event.anchor, self._count))
        self._count += 1

    def _close(self, event: Event) -> None:
        done = self._stack.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = (done.node, self._count - done.before)
        self._add(done.node, event)

    def _add(self, value: Value, event: Event) -> None:
        if not self._stack:
            self._root = None if value is _MERGE else value
            return
        top = self._stack[-1]
        node = top.node
        if node.__class__ is list:
            node.append(value)
        elif top.key is _NO_KEY:
            self._take_key(top, value, event)
        else:
            if top.key is _MERGE:
                self._merge(node, value, event)
            else:
                node[top.key] = value
                node.lines[top.key] = top.key_line
            top.key = _NO_KEY

    def _take_key(self, top: _Open, value: Value, event: Event) -> None:
        if value.__class__ is not str and value is not _MERGE:
            if isinstance(value, dict | list):
                raise _at(event, "invalid map key: a mapping or a list")
            value = self._checked(event, key, value)
        top.key = value
        top.key_line = event.start_mark.line + 1

    def _merge(self, node: Map, value: Value, event: Event) -> None:
        """`<<`: go-yaml merges where the key stands, so that it overrides what came before it in the
        mapping."""
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(one, Map) for one in maps):
            raise _at(event, "map merge requires map or sequence of maps as the value")
        for one in reversed(maps):  # of several, the first has the last word
            self._repeat(event, len(one) + 1)
            node.update(one)
            node.lines.update(one.lines)


def _at(event: Event, problem: str) -> DocumentError:
    mark = event.start_mark
    return DocumentError(problem, mark.line + 1, mark.column + 1)
