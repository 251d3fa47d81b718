"""One YAML or JSON document → plain Python data in which every field still knows its line. Opens nothing.

JSON is read as such, plain block YAML line by line (`block_yaml`), and all other YAML from PyYAML's events
(`event_yaml`), which is imported when the first such text comes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rawkube._pattern import pattern
from rawkube._typing import Any
from rawkube.kubeconfig import block_yaml
from rawkube.kubeconfig.block_yaml import Map

Path = Sequence[str | int]
Value = Any  # what JSON can hold


class DocumentError(ValueError):
    """A text that is no document: `line`, `column` count from 1 (0: unknown). The message shows nothing of
    it."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.line = line
        self.column = column


class Document:
    """What a text holds: `value` (the first document) and where each field stands."""

    __slots__ = ("_json", "_json_lines", "value")

    def __init__(self, value: Value, json_text: str = "") -> None:
        self.value = value
        self._json = json_text
        self._json_lines: dict[tuple[str | int, ...], int] | None = None

    def line(self, path: Path) -> int:
        """The line of the field at `path` (keys, list indexes), or of the nearest field around it; 0 if
        unknown."""
        if self._json:
            return self._line_in_json(tuple(path))
        value, line = self.value, 0
        for step in path:
            if isinstance(value, Map) and isinstance(step, str):
                line = value.lines.get(step, line)
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
                line = min(value.lines.values(), default=line) if isinstance(value, Map) else line
            else:
                break
        return line

    def _line_in_json(self, path: tuple[str | int, ...]) -> int:
        if self._json_lines is None:
            self._json_lines = dict(_json_places(self._json))
        while path and path not in self._json_lines:
            path = path[:-1]
        return self._json_lines.get(path, 0)


def parse(text: str, *, pure: bool = False) -> Document:
    """The first document of `text`, JSON or YAML; empty text is the document None.

    `pure`: PyYAML's own parser, whatever the text. Raises DocumentError.
    """
    if text.lstrip()[:1] == "{":
        document = _from_json(text)
        if document is not None:
            return document
    return Document(_from_yaml(text, pure))


def _from_yaml(text: str, pure: bool) -> Value:
    if not pure:
        try:
            return block_yaml.parse(text)
        except block_yaml.NotPlain:
            pass
    from rawkube.kubeconfig.event_yaml import first_document

    return first_document(text, pure=pure)


def _from_json(text: str) -> Document | None:
    """None where the text is no JSON: `{` can begin YAML too."""
    from json import JSONDecoder

    start = len(text) - len(text.lstrip())
    try:
        value, end = JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return Document(value, text[:end])


_JSON_PIECE = pattern(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|\n', re.DOTALL)


def _json_places(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """(path, line) of every field and list element of `text`, which is one JSON value."""
    line = 1
    path: list[str | int] = []  # a step for each open brace: the key or the index inside it
    awaits_key = False
    for match in _JSON_PIECE.finditer(text):
        piece = match[0]
        if piece == "\n":
            line += 1
        elif piece in "{[":
            path.append("" if piece == "{" else 0)
            awaits_key = piece == "{"
        elif piece in "}]":
            path.pop()
            awaits_key = False
        elif piece == ",":
            awaits_key = isinstance(path[-1], str)
            if isinstance(path[-1], int):
                path[-1] += 1
                yield tuple(path), line
        elif awaits_key:
            path[-1] = _json_string(piece)
            awaits_key = False
            yield tuple(path), line


def _json_string(piece: str) -> str:
    if "\\" not in piece:
        return piece[1:-1]
    from json import loads

    return str(loads(piece))
