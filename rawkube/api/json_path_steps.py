"""The parts of a JSONPath, as functions from the values found so far to the next ones. Pure.

What they do, in detail and in error, is what k8s.io/client-go `util/jsonpath` does (kubectl 1.37).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence

from rawkube._typing import Any
from rawkube.errors import RawkubeError
from rawkube.gotext import one_line

Value = Any  # what JSON can hold
Values = list[Value]
Step = Callable[[Values], Values]
"""One part of a path: what it makes of all that the parts before it have found."""


class JSONPathError(RawkubeError):
    """A path that cannot be read, or that does not fit the object. The text is kubectl's."""

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text))


class Failed(Exception):
    """A step does not fit. `found`: what had been found by then, which is what a filter asks for that something is."""

    def __init__(self, text: str, found: Values) -> None:
        super().__init__(text)
        self.found = found


def run(steps: Sequence[Step], values: Values) -> Values:
    """The steps one after the other. They raise Failed."""
    for step in steps:
        values = step(values)
    return values


def constant(value: Value) -> Step:
    """A number or boolean of the path itself, once for each value."""
    return lambda values: [value] * len(values)


def literal(text: str) -> Step:
    """A text of the path itself, once, whatever was found before."""
    return lambda values: [text]


def keyword(word: str) -> Step:
    """A bare word: `range`, or one that is wrong here."""

    def step(values: Values) -> Values:
        if word == "range":
            return values
        if word == "end":
            raise Failed("not in range, nothing to end", [])
        raise Failed(f"unrecognized identifier {word}", values)

    return step


def key(name: str) -> Step:
    """What stands under a name; other things than objects have none."""
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _members(value: Value) -> Values:
    """What lies in a value; of a string its bytes, as in Go."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, str):
        return list(value.encode("utf-8", "surrogatepass"))
    return value if isinstance(value, list) else []


def wildcard(values: Values) -> Values:
    """All that lies directly in the values."""
    return [member for value in values for member in _members(value)]


def everything(values: Values) -> Values:
    """The values that hold others, and those below them that do, depth first."""
    found: Values = []
    waiting = values[::-1]
    while waiting:
        value = waiting.pop()
        members = _members(value)
        if members:
            found.append(value)
        if not isinstance(value, str):
            waiting += members[::-1]
    return found


def union(parts: Sequence[Sequence[Step]]) -> Step:
    """`[0,2]`, `['a','b']`: what each part finds."""

    def step(values: Values) -> Values:
        found: Values = []
        for steps in parts:
            try:
                found += run(steps, values)
            except Failed as error:
                raise Failed(str(error), values) from None
        return found

    return step


_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")


def slice(text: str) -> Step:
    """`1`, `-1`, `1:3`, `::2`."""
    match = _SLICE.fullmatch(text)
    if match is None:
        raise JSONPathError(f"invalid array index {text}")
    first, *others = ((part or "") for part in match.groups())
    start = _index(first) if first else 0
    end, stride = (_index(part[1:]) if part[1:] else None for part in others)
    single = not others[0]
    cut = _Slice(start, start + 1 if single else end, stride, single=single)

    def step(values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise Failed(f"{go_type(value)} is not array or slice", values)
            part = cut.of(value, values)
            if part is None:
                return found
            found += part
        return found

    return step


def int64(word: str) -> int:
    """As strconv.Atoi."""
    if len(word) > 40 or not -(2**63) <= (value := int(word)) < 2**63:
        raise ValueError(word)
    return value


def _index(word: str) -> int:
    try:
        return int64(word)
    except ValueError:
        raise JSONPathError(f"array index {word} is not a number") from None


class _Slice:
    """`end` None: to the end. `single`: the end is the start's neighbour, and was not typed."""

    def __init__(self, start: int, end: int | None, step: int | None, *, single: bool) -> None:
        self._start, self._end, self._step, self._single = start, end, step, single

    def of(self, items: Values, values: Values) -> Values | None:
        """The part of a list; None for a slice of nothing, after which kubectl looks at no other list."""
        length = len(items)
        start = self._start + (length if self._start < 0 else 0)
        end = length if self._end is None else self._end
        if end < 0 or (end == 0 and self._single):
            end += length
        if start == end:
            return None
        out = start if not 0 <= start < length else end - 1 if not 0 <= end <= length else None
        if out is not None:
            raise Failed(f"array index out of bounds: index {out}, length {length}", values)
        if start > end:
            raise Failed(f"starting index {start} is greater than ending index {end}", values)
        step = 1 if self._step is None else self._step
        if step <= 0:
            raise Failed("step must be > 0", values)
        return items[start:end:step]


def _lists(values: Values) -> Iterator[Values]:
    """Each value, which has to be a list."""
    for value in values:
        if not isinstance(value, list):
            raise Failed(f"{go_type(value)} is not array or slice and cannot be filtered", values)
        yield value


def exists(steps: Sequence[Step]) -> Step:
    """`[?(@.a)]`: the members of a list in which the steps find something."""

    def is_there(item: Value) -> bool:
        try:
            return bool(run(steps, [item]))
        except Failed as error:
            return bool(error.found)

    return lambda values: [item for items in _lists(values) for item in items if is_there(item)]


def filtered(left: Sequence[Step], sign: str, right: Sequence[Step]) -> Step:
    """`[?(@.a=="b")]`: the members of a list for which a comparison is true."""

    def fits(item: Value, values: Values, found: Values) -> bool:
        try:
            sides = [run(left, [item])]
            sides += [run(right, [item])] if len(sides[0]) == 1 else []
        except Failed as error:
            raise Failed(str(error), values) from None
        if any(len(side) > 1 for side in sides):
            raise Failed("can only compare one element at a time", values)
        if not all(sides):
            return False
        return _compare(sides[0][0], sign, sides[1][0], found)

    def step(values: Values) -> Values:
        found: Values = []
        for items in _lists(values):
            for item in items:
                if fits(item, values, found):
                    found.append(item)
        return found

    return step


_SIGNS: dict[str, Callable[[Value, Value], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compare(left: Value, sign: str, right: Value, found: Values) -> bool:
    """As the comparisons of Go's text/template: of two strings, two numbers of one type, two booleans (`==`, `!=`)."""
    if sign not in _SIGNS:
        raise Failed(f"unrecognized filter operator {sign}", found)
    kinds = [go_type(value) for value in (left, right)]
    if not all(kind in ("string", "bool", "int64", "float64") for kind in kinds):
        raise Failed("invalid type for comparison", found)
    if kinds[0] != kinds[1]:
        raise Failed("incompatible types for comparison", found)
    if kinds[0] == "bool" and sign not in ("==", "!="):
        raise Failed("invalid type for comparison", found)
    return bool(_SIGNS[sign](left, right))


# Go's view of a value.


def go_type(value: Value) -> str:
    """The Go type of a value as decoded from JSON."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64" if -(2**63) <= value < 2**63 else "float64"
    kinds = ((float, "float64"), (str, "string"), (list, "[]interface {}"), (dict, "map[string]interface {}"))
    return next((name for type_, name in kinds if isinstance(value, type_)), "<nil>")


def go_text(value: str | int | float | bool | None) -> str:
    """A value as `%v` of Go writes it: `True` → `true`, null → `<nil>`, `1000000.5` → `1.0000005e+06`."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return "<nil>" if value is None else str(value).lower()
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return str(value)
    try:
        return _go_float(float(value))
    except OverflowError:  # Go would not have read it
        return str(value)


def _go_float(value: float) -> str:
    """strconv.FormatFloat(value, 'g', -1, 64): an exponent below 1e-4 and from 1e6."""
    from decimal import Decimal

    number = Decimal(repr(value)).normalize()
    sign, digits, least = number.as_tuple()
    exponent = len(digits) + int(least) - 1
    if not value or -4 <= exponent < 6:
        return format(number, "f")
    fraction = "".join(map(str, digits[1:]))
    return f"{'-' * sign}{digits[0]}{'.' * bool(fraction)}{fraction}e{exponent:+03d}"
