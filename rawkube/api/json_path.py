r"""kubectl's JSONPath, as `kubectl wait --for=jsonpath=…` takes it. Pure.

    .status.phase   status.phase   {.status.phase}   {status.phase}          all the same
    .spec.containers[0].image   [-1]   [1:3]   [::2]   [*]   [0,2]          indexes, slices, unions
    .status.conditions[?(@.type=="Ready")].status                            filters: == != < <= > >=, or that it is
    .metadata.labels.app\.kubernetes\.io/name   .metadata.labels['a\.b']     a point that belongs to a name
    ..image                                                                  at any depth

The language, its oddities and its errors are those of k8s.io/client-go `util/jsonpath` (kubectl 1.37), with missing
keys allowed: a path that leads nowhere finds nothing. One text differs: the error for a filter on what is no list
names the type, where kubectl prints the value, which may be a secret.
"""

from __future__ import annotations

import re

from rawkube.api import json_path_steps as walk
from rawkube.api.json_path_steps import JSONPathError, Step, Value, Values

__all__ = ["JSONPath", "JSONPathError"]


class JSONPath:
    """A path, read. Raises JSONPathError for one that cannot be."""

    def __init__(self, text: str) -> None:
        self.text = text
        parser = _Parser(_bare(text))
        self._steps = parser.steps()
        self._ranges = parser.ranges

    def find(self, item: Value) -> Values:
        """What the path leads to, in order; empty for nothing. Raises JSONPathError where the object does not fit."""
        try:
            found = walk.run(self._steps, [item])
        except walk.Failed as error:
            raise JSONPathError(str(error)) from None
        # `range` begins a loop over what follows the braces; nothing does.
        return [] if self._ranges else found


_RELAXED = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")


def _bare(text: str) -> str:
    """What stands in the braces of `{.a.b}`, with its point, however much of that was typed (kubectl: relaxed)."""
    if not text:
        raise JSONPathError("jsonpath expression cannot be empty")
    match = _RELAXED.fullmatch(text)
    if match is None:
        forms = "'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'"
        raise JSONPathError(f"unexpected path string, expected a {forms}")
    return "." + (match[1] or match[2])


# Reading.

_KEY = re.compile(r"'([^']*)'")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)")
_ENDS_NAME = frozenset(" \t\r\n.,[]$@{}")
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_ESCAPE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})")


class _Parser:
    """Reads what stands in one pair of braces. The closing one is part of the text, since a `\\` may hide it."""

    def __init__(self, text: str) -> None:
        self._text = text + "}"
        self._at = 0
        self._steps: list[Step] = []
        self.ranges = False

    def steps(self) -> list[Step]:
        """Raises JSONPathError."""
        text = self._text
        while not text.startswith("}", self._at):
            if text.startswith("[?(", self._at):
                self._at += 3
                self._filter()
            elif text.startswith("..", self._at):
                self._at += 2
                self._descend()
            else:
                self._next()
        return self._steps

    def _sub(self, text: str) -> list[Step]:
        parser = _Parser(text)
        steps = parser.steps()
        self.ranges = self.ranges or parser.ranges
        return steps

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> None:
        char = self._peek()
        if not char or char in "\r\n":
            raise JSONPathError("unclosed action")
        if char in "+-" or char.isdecimal():
            return self._number()
        if _is_word(char):
            return self._identifier()
        self._at += 1
        readers = {"[": self._array, ".": self._field, '"': self._quoted, "'": self._quoted}
        if char in readers:
            readers[char]()
        elif char not in " @$":
            raise JSONPathError(f"unrecognized character in action: {_code_point(char)}")
        return None

    def _identifier(self) -> None:
        start = self._at
        while self._peek() and self._peek() not in _ENDS_NAME:
            self._at += 1
        word = self._text[start : self._at]
        self.ranges = self.ranges or word == "range"
        self._steps.append(walk.constant(word == "true") if word in ("true", "false") else walk.keyword(word))

    def _descend(self) -> None:
        if self._steps and self._steps[-1] is walk.everything:
            raise JSONPathError("invalid multiple recursive descent")
        self._steps.append(walk.everything)
        if _is_word(self._peek()):
            self._field()

    def _field(self) -> None:
        start = self._at
        while (char := self._peek()) and char not in _ENDS_NAME:
            self._at += 2 if char == "\\" else 1
        self._at = min(self._at, len(self._text))
        name = self._text[start : self._at]
        self._steps.append(walk.wildcard if name == "*" else walk.key(name.replace("\\", "")))

    def _number(self) -> None:
        start = self._at
        self._at += self._peek() in "+-"
        while (char := self._peek()) and (char == "." or char.isdecimal()):
            self._at += 1
        word = self._text[start : self._at]
        value = _number_of(word)
        if value is None:
            raise JSONPathError(f"cannot parse number {word}")
        self._steps.append(walk.constant(value))

    def _quoted(self) -> None:
        start = self._at - 1
        quote = self._text[start]
        while True:
            char = self._peek()
            if not char or char == "\n":
                raise JSONPathError("unterminated quoted string")
            self._at += 1
            if char == quote and self._text[self._at - 2] != "\\":
                break
        word = self._text[start : self._at]
        self._steps.append(walk.literal(_unquoted(word)))

    def _array(self) -> None:
        start = self._at
        while (char := self._peek()) != "]":
            if not char or char == "\n":
                raise JSONPathError("unterminated array")
            self._at += 1
        text = self._text[start : self._at]
        self._at += 1
        parts = text.split(",")
        if len(parts) > 1:
            self._steps.append(walk.union([self._sub(f"[{part.strip(' ')}]") for part in parts]))
        elif match := _KEY.fullmatch(text):
            self._steps += self._sub(f".{match[1]}")
        else:
            self._steps.append(walk.slice(":" if text == "*" else text))

    def _filter(self) -> None:
        start = self._at
        self._to_end_of_filter()
        text = self._text[start : self._at - 1]
        if self._peek() != "]":
            raise JSONPathError("unclosed array expect ]")
        self._at += 1
        match = _COMPARISON.fullmatch(text)
        if match is None:
            self._steps.append(walk.exists(self._sub(text)))
        else:
            self._steps.append(walk.filtered(self._sub(match[1]), match[2], self._sub(match[3])))

    def _to_end_of_filter(self) -> None:
        """To behind the `)` that is in no quotation; one quotation is known of, as in kubectl."""
        quote, closed = "", False
        while True:
            char = self._peek()
            if not char or char == "\n":
                raise JSONPathError("unterminated filter")
            self._at += 1
            if char in "\"'" and not quote:
                quote = char
            elif char in "\"'" and char == quote and self._text[self._at - 2] != "\\":
                closed = True
            elif char == ")" and bool(quote) == closed:
                return


def _is_word(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _code_point(char: str) -> str:
    """As `%#U` of Go: `U+007C '|'`."""
    return f"U+{ord(char):04X}" + (f" '{char}'" if char.isprintable() else "")


def _number_of(word: str) -> int | float | None:
    if not word.isascii():
        return None
    try:
        return walk.int64(word)
    except ValueError:
        pass
    try:
        value = float(word)
    except ValueError:
        return None
    return None if abs(value) == float("inf") else value


def _unquoted(word: str) -> str:
    """Without its quotes; escapes as in Go (strconv.UnquoteChar), in either kind of quotes."""
    quote, text = word[0], word[1:-1]
    parts: list[str] = []
    while text:
        char, text = text[0], text[1:]
        if char == "\\":
            char, text = _escaped(text, quote)
        elif char == quote:
            char = ""
        if not char:
            raise JSONPathError(f"unquote string {word} error invalid syntax")
        parts.append(char)
    return "".join(parts)


def _escaped(text: str, quote: str) -> tuple[str, str]:
    """What the escape at the start of `text`, behind its `\\`, stands for, and the rest; empty where it is none."""
    char = text[:1]
    if char and char == quote:
        return char, text[1:]
    if char in _SIMPLE:
        return _SIMPLE[char], text[1:]
    match = _ESCAPE.match(text)
    if match is None:
        return "", text
    byte, rest = match[1] or match[4], text[match.end() :]
    code = int(match[1] or match[2] or match[3] or match[4], 8 if match[4] else 16)
    if (byte and code > 0xFF) or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return "", text
    # \xff is a byte, and not that character.
    return (bytes((code,)).decode("utf-8", "surrogateescape") if byte else chr(code)), rest
