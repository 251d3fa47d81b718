"""Pure: objects as kubectl prints them: `-o json`, `-o yaml`, `-o name`."""

from __future__ import annotations

from collections.abc import Callable
from json.encoder import encode_basestring
from typing import TypeVar

from rawkube._typing import Any
from rawkube.api.objects import Object
from rawkube.api.resource import Resource
from rawkube.cli.numbers import json_number

Value = Any  # what JSON can hold
T = TypeVar("T")

# What encoding/json escapes in a string beyond what JSON asks for, so that it may stand in HTML and JavaScript.
_FOR_HTML = (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))
_STEP = "    "


def to_json(value: Value) -> str:
    """What JSON can hold as `-o json` prints it: keys sorted, four spaces a level; one line feed at the end."""
    return indented_json(value) + "\n"


def indented_json(value: Value, margin: str = "") -> str:
    """As to_json(), for a value at some depth: further lines begin with `margin`; no line feed at the end."""
    text = "".join(_in_depth(lambda: _json_parts(value, "\n" + margin)))
    for char, escaped in _FOR_HTML:
        if char in text:
            text = text.replace(char, escaped)
    return text


def _json_parts(value: Value, margin: str) -> list[str]:
    parts: list[str] = []
    _json(value, margin, parts)
    return parts


def _in_depth(write: Callable[[], T]) -> T:
    """What `write` gives, which calls itself for each level: again with room for more, where there was too little."""
    try:
        return write()
    except RecursionError:
        from rawkube.api import deep

        return deep.deeply(write, calls=deep.WRITING)


def _json(value: Value, margin: str, parts: list[str]) -> None:
    """`margin` is the line feed and the spaces before the closing bracket."""
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif isinstance(value, dict):
        _json_object(value, margin, parts)
    elif isinstance(value, list):
        _json_array(value, margin, parts)
    elif value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    else:
        parts.append(json_number(value))


def _json_object(value: dict[str, Value], margin: str, parts: list[str]) -> None:
    if not value:
        parts.append("{}")
        return
    inner = margin + _STEP
    before = "{" + inner
    for key in sorted(value):
        item = value[key]
        if isinstance(item, str):  # most of them
            parts.append(f"{before}{encode_basestring(key)}: {encode_basestring(item)}")
        else:
            parts.append(f"{before}{encode_basestring(key)}: ")
            _json(item, inner, parts)
        before = "," + inner
    parts.append(margin + "}")


def _json_array(value: list[Value], margin: str, parts: list[str]) -> None:
    if not value:
        parts.append("[]")
        return
    inner = margin + _STEP
    before = "[" + inner
    for item in value:
        parts.append(before)
        _json(item, inner, parts)
        before = "," + inner
    parts.append(margin + "]")


def to_yaml(value: Value) -> str:
    """What JSON can hold as `-o yaml` prints it, without `---`; one line feed at the end."""
    from rawkube.cli.yaml_text import dump

    return _in_depth(lambda: dump(value))


def full_name(resource: Resource, name: str) -> str:
    """As `-o name`: `pod/a`, `deployment.apps/web`."""
    return f"{kind_name(resource)}/{name}"


def kind_name(resource: Resource) -> str:
    """The kind with its group, in lower case: `pod`, `deployment.apps`."""
    kind = resource.kind.lower()
    return f"{kind}.{resource.group}" if resource.group else kind


def without_managed_fields(item: Object) -> Object:
    """The object without `metadata.managedFields`, which kubectl hides; the object itself is left as it is."""
    metadata = item.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return item
    return {**item, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
