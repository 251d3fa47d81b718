"""The part of JSON Schema (draft 06) that the schemas of HAR use: what of a value is not as they say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HAR: dict[str, Any] = json.loads(Path(__file__).with_name("har_schema.json").read_text())
_KNOWN = {
    *("$id", "$schema", "$ref", "type", "required", "properties", "items", "oneOf", "pattern", "format", "min"),
    *("optional", "unique"),  # notes that no draft defines
}
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def faults(value: Any, schema: dict[str, Any], path: str = "$") -> Iterator[str]:
    """One text for each place where a value is not as its schema says."""
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    if "$ref" in schema:
        yield from faults(value, HAR[schema["$ref"].removesuffix("#")], path)
        return
    types = schema.get("type", [])
    if types and not any(_is(value, name) for name in ([types] if isinstance(types, str) else types)):
        yield f"{path}: not {types}"
        return
    if "oneOf" in schema and sum(not list(faults(value, one, path)) for one in schema["oneOf"]) != 1:
        yield f"{path}: not one of"
    if isinstance(value, dict):
        yield from (f"{path}: no {name}" for name in schema.get("required", ()) if name not in value)
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from faults(value[name], inner, f"{path}.{name}")
    if isinstance(value, list) and "items" in schema:
        for at, item in enumerate(value):
            yield from faults(item, schema["items"], f"{path}[{at}]")
    yield from _of_scalar(value, schema, path)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _of_scalar(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{path}: not as the pattern"
    if "min" in schema and isinstance(value, int | float) and value < schema["min"]:
        yield f"{path}: less than {schema['min']}"
    if schema.get("format") == "date-time" and isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            yield f"{path}: no date"
    if schema.get("format") == "uri" and isinstance(value, str):
        parts = urlsplit(value)
        if not (parts.scheme and parts.netloc and value.isascii()) or " " in value:
            yield f"{path}: no URI"
