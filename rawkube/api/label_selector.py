"""Pure: the text of a label selector, read and evaluated as the API server does.

    a   !a   a=b   a==b   a!=b   a in (b,c)   a notin (b,c)   a>1   a<1      joined by commas

Tokens, order of the checks and texts are those of `labels.Parse` (k8s.io/apimachinery/pkg/labels).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.selectors import SelectorError, check_key, check_value, invalid
from rawkube.gotext import int64

_SYMBOLS = frozenset("=!(),><")
_SPACE = frozenset(" \t\r\n")
_MARKS = ("!", "=", "==", "!=", "(", ")", ",", ">", "<")
_WORDS = ("in", "notin")
_OPERATORS = {"in": "in", "notin": "notin", "=": "in", "==": "in", "!=": "notin", ">": ">", "<": "<"}
_WORD, _END = "a word", "the end"


class Requirement(NamedTuple):
    """One condition. `op` is `exists`, `absent`, `in`, `notin`, `>`, or `<`."""

    key: str
    op: str
    values: frozenset[str] = frozenset()

    def holds(self, value: str | None) -> bool:
        """Whether a value (None: there is none) meets the condition."""
        if self.op in ("exists", "absent"):
            return (value is not None) == (self.op == "exists")
        if self.op in ("in", "notin"):
            return (value in self.values) == (self.op == "in")
        return _compare(value, self.op, next(iter(self.values)))


def parse_labels(text: str) -> frozenset[Requirement]:
    """The conditions of a label selector, all of which must hold; none for an empty text. Raises SelectorError."""
    return frozenset(_Parser(_tokens(text)).requirements())


def labels_match(requirements: frozenset[Requirement], thing: Mapping[str, Any]) -> bool:
    """Whether an object's labels meet every condition."""
    metadata = thing.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    found: Mapping[str, Any] = labels if isinstance(labels, Mapping) else {}
    return all(requirement.holds(found.get(requirement.key)) for requirement in requirements)


class _Token(NamedTuple):
    kind: str  # a mark, `in`, `notin`, or one of the three below
    text: str


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
            continue
        token, at = _mark(text, at) if text[at] in _SYMBOLS else _word(text, at)
        found.append(token)
    return [*found, _Token(_END, "")]


def _mark(text: str, at: int) -> tuple[_Token, int]:
    """The longest token that begins with the symbol at `at`, and where it ends."""
    end = at + 1
    while text[at : end + 1] in _MARKS and end < len(text):
        end += 1
    return _Token(text[at:end], text[at:end]), end


def _word(text: str, at: int) -> tuple[_Token, int]:
    end = at
    while end < len(text) and text[end] not in _SYMBOLS and text[end] not in _SPACE:
        end += 1
    word = text[at:end]
    return _Token(word if word in _WORDS else _WORD, word), end


class _Parser:
    """One pass over the tokens; the last of them is the end, and is never passed."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            token = self._look()
            if token.kind == _END:
                return found
            if token.kind not in (_WORD, "!"):
                raise SelectorError(f"found '{token.text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            if self._ends():
                return found

    def _ends(self) -> bool:
        """Whether the text ends here; else a comma, and something after it."""
        token = self._take()
        if token.kind == _END:
            return True
        if token.kind != ",":
            raise SelectorError(f"found '{token.text}', expected: ',' or 'end of string'")
        following = self._look()
        if following.kind not in (_WORD, "!"):
            raise SelectorError(f"found '{following.text}', expected: identifier after ','")
        return False

    def _look(self) -> _Token:
        """The next token; `in` and `notin` are words where no operator is expected."""
        token = self._tokens[min(self._at, len(self._tokens) - 1)]
        return _Token(_WORD, token.text) if token.kind in _WORDS else token

    def _take(self) -> _Token:
        token = self._look()
        self._at += 1
        return token

    def _requirement(self) -> Requirement:
        token = self._take()
        absent = token.kind == "!"
        if absent:
            token = self._take()
        if token.kind != _WORD:
            raise SelectorError(f"found '{token.text}', expected: identifier")
        key = token.text
        check_key(key, field="<nil>")
        if absent or self._look().kind in (_END, ","):
            return Requirement(key, "absent" if absent else "exists")
        return self._compared(key)

    def _compared(self, key: str) -> Requirement:
        token = self._tokens[min(self._at, len(self._tokens) - 1)]
        self._at += 1
        if token.kind not in _OPERATORS:
            raise SelectorError(f"found '{token.text}', expected: in, notin, =, ==, !=, gt, lt")
        values = sorted(self._set() if token.kind in _WORDS else {self._exact()})
        if token.kind in _WORDS and not values:
            raise invalid("values", [], "for 'in', 'notin' operators, values set can't be empty")
        if token.kind in "<>" and not _is_int64(values[0]):
            raise invalid("values[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer")
        for index, value in enumerate(values):
            check_value(key, index, value)
        return Requirement(key, _OPERATORS[token.kind], frozenset(values))

    def _exact(self) -> str:
        if self._look().kind in (_END, ","):
            return ""
        token = self._take()
        if token.kind != _WORD:
            raise SelectorError(f"found '{token.text}', expected: identifier")
        return token.text

    def _set(self) -> set[str]:
        token = self._take()
        if token.kind != "(":
            raise SelectorError(f"found '{token.text}' expected: '('")
        first = self._look()
        if first.kind == ")":
            self._take()
            return set()
        if first.kind not in (_WORD, ","):
            raise SelectorError(f"found '{first.text}', expected: ',', ')' or identifier")
        values = self._listed()
        self._take()  # the closing parenthesis
        return values

    def _listed(self) -> set[str]:
        """The words between parentheses; where two commas meet, or one stands at an end, there is an empty one."""
        found: set[str] = set()
        while True:
            token = self._take()
            if token.kind == _WORD:
                found.add(token.text)
                if self._after_word():
                    return found
            elif token.kind == ",":
                if not found:
                    found.add("")
                if self._after_comma(found):
                    return found
            else:
                raise SelectorError(f"found '{token.text}', expected: ',', or identifier")

    def _after_word(self) -> bool:
        token = self._look()
        if token.kind not in (",", ")"):
            raise SelectorError(f"found '{token.text}', expected: ',' or ')'")
        return token.kind == ")"

    def _after_comma(self, found: set[str]) -> bool:
        token = self._look()
        if token.kind == ",":
            self._take()
        if token.kind in (",", ")"):
            found.add("")
        return token.kind == ")"


def _is_int64(text: str) -> bool:
    try:
        int64(text)
    except ValueError:
        return False
    return True


def _compare(value: str | None, op: str, bound: str) -> bool:
    try:
        number, limit = int(value or ""), int(bound)
    except ValueError:
        return False
    return number > limit if op == ">" else number < limit
