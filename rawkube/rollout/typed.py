"""Objects as values of the API's Go types, and as the JSON that Go writes for them. Pure.

`typed` does what decoding into a Go type and encoding again do (encoding/json, with the rules of apimachinery): fields
in the type's order, unknown ones dropped, quantities and times in their canonical form, empty ones left out unless
the type says otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from rawkube._typing import Any
from rawkube.api.objects import Object
from rawkube.errors import RolloutFailed
from rawkube.rollout import quantity
from rawkube.rollout.api_types import Field, fields_of

Value = Any  # what JSON can hold


def typed(thing: Object, kind: str) -> Object:
    """An object of a Go type (`Deployment`, `PodTemplateSpec`), fields in the type's order.

    Raises RolloutFailed in Go's words where a field has a type that the API does not have there.
    """
    found: Object = _Decoder(_canonical_quantity).value(thing, kind, kind, "")
    return found


def same(one: Object, other: Object, kind: str) -> bool:
    """Whether two objects mean the same (`apiequality.Semantic.DeepEqual`): quantities by value, empty as absent."""
    decoder = _Decoder(_quantity_value, nothing=[])
    return bool(decoder.value(one, kind, kind, "") == decoder.value(other, kind, kind, ""))


def to_go_json(value: Value, *, indent: int | None = None) -> str:
    """JSON as `json.Marshal` writes it: compact (or indented), `<`, `>`, `&`, U+2028 and U+2029 escaped.

    Half of a surrogate pair, which UTF-8 cannot hold, is U+FFFD, as in Go.
    """
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, separators=separators, indent=indent)
    return _HTML.sub(_escaped, text)


_HTML = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


def _canonical_quantity(text: str) -> Value:
    return quantity.canonical(text)


def _quantity_value(text: str) -> Value:
    return quantity.value(text)


_ZERO: dict[str, Value] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "intstr": 0,
    "time": None,
    "time0": None,
}
_JSON_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "bool": (bool,), "int32": (int,), "int64": (int,)}
_MARKS = ("*", "[]", "{}")


class _Decoder:
    """`quantities` gives a quantity's form; `nothing` stands for a list that is not there but is written."""

    def __init__(self, quantities: Callable[[str], Value], *, nothing: Value = None) -> None:
        self._quantity = quantities
        self._nothing = nothing

    def value(self, value: Value, kind: str, owner: str, path: str) -> Value:
        """`owner`: the struct that the field is in; `path`: where it is, for an error."""
        mark = next((mark for mark in _MARKS if kind.startswith(mark)), "")
        inner = kind[len(mark) :]
        if not mark:
            fields = fields_of(kind)
            return self._scalar(value, kind, owner, path) if fields is None else self._struct(value, kind, fields, path)
        if value is None:
            return None
        if mark == "*":
            return self.value(value, inner, owner, path)
        self._check(value, (list,) if mark == "[]" else (dict,), kind, owner, path)
        if mark == "[]":
            return [self.value(item, inner, owner, path) for item in value]
        return {key: self.value(value[key], inner, owner, path) for key in sorted(value)}

    def _struct(self, value: Value, kind: str, fields: tuple[Field, ...], path: str) -> Object:
        if value is None:
            value = {}
        self._check(value, (dict,), f"v1.{kind}", kind, path)
        found: Object = {}
        for field in fields:
            where = f"{path}.{field.name}" if path else field.name
            one = self.value(value.get(field.name), field.type, kind, where)
            if field.always or not _is_empty(one, field.type):
                found[field.name] = self._nothing if one is None and field.type.startswith("[]") else one
        return found

    def _scalar(self, value: Value, kind: str, owner: str, path: str) -> Value:
        if kind == "quantity":
            return self._quantity(str(value) if value is not None else "0")
        if value is None:
            return _ZERO.get(kind)
        if kind in _JSON_TYPES:
            self._check(value, _JSON_TYPES[kind], kind, owner, path)
        return value

    def _check(self, value: Value, types: tuple[type, ...], kind: str, owner: str, path: str) -> None:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            where = f"Go struct field {owner}.{path} of type {_go_type(kind)}"
            raise RolloutFailed(f"json: cannot unmarshal {_json_type(value)} into {where}")


def _is_empty(value: Value, kind: str) -> bool:
    """Whether `omitempty` leaves it out: a Go struct never is, and so a quantity and a time (but `time0`)."""
    if kind.startswith("*"):
        return value is None
    if kind.startswith(("[]", "{}")) or kind in ("string", "bool", "int32", "int64", "any"):
        return not value
    return kind == "time0" and value is None


def _go_type(kind: str) -> str:
    if kind.startswith("{}"):
        return f"map[string]{_go_type(kind[2:])}"
    if kind.startswith(("*", "[]")):
        mark = "*" if kind[0] == "*" else "[]"
        return mark + _go_type(kind.removeprefix(mark))
    return f"v1.{kind}" if fields_of(kind) is not None else kind


def _json_type(value: Value) -> str:
    """What Go's decoder calls a JSON value."""
    names = ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")
