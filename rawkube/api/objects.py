"""Pure: a JSON answer → an object or a list of objects, or a DecodeError in client-go's words."""

from __future__ import annotations

import json

from rawkube._typing import Any
from rawkube.errors import DecodeError
from rawkube.gotext import go_quote, one_line

Object = dict[str, Any]
"""A Kubernetes object, as decoded from JSON."""

_INFINITE = (float("inf"), float("-inf"))
_SHOWN = 200
"""How many characters of an answer a message shows."""


def _no_constant(text: str) -> None:
    # Python reads NaN and Infinity, which are no JSON, and which no printer could write again.
    raise ValueError(f"invalid character {text.lstrip('-')[0]!r} looking for beginning of value")


def _finite(text: str) -> float:
    number = float(text)
    if number in _INFINITE:
        raise ValueError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


def _decode(text: str) -> Any:  # noqa: ANN401 - what JSON can hold
    try:
        return _DECODER.decode(text)
    except RecursionError:
        from rawkube.api import deep

        return deep.decode(text, _DECODER)


def decode_object(body: bytes, content_type: str) -> Object:
    """A JSON object with a kind. `content_type`: the header's value, empty where there was none. Raises DecodeError."""
    media = content_type.partition(";")[0].strip().lower()
    if media and media != "application/json":
        raise DecodeError(f"serializer for {one_line(content_type)} doesn't exist", detail=_seen(body))
    try:
        # As in Go, whatever is not UTF-8 is replaced: one odd annotation must not hide an object.
        decoded = _decode(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        text = f"couldn't get version/kind; json parse error: {_json_error(body, error)}"
        raise DecodeError(text, detail=_seen(body)) from None
    if not isinstance(decoded, dict):
        text = "couldn't get version/kind; json parse error: the answer is no JSON object"
        raise DecodeError(text, detail=_seen(body))
    if not isinstance(decoded.get("kind"), str) or not decoded["kind"]:
        raise DecodeError(f"Object 'Kind' is missing in '{_start(body)}'")
    return decoded


def complete_list(listing: Object) -> Object:
    """A list whose items carry their kind and apiVersion; `items` is always there. Raises DecodeError for no list."""
    kind = str(listing["kind"])
    if kind == "Table":
        return {**listing, "items": rows_of(listing)}
    items = listing.get("items")
    if not kind.endswith("List") or not isinstance(items, list | None):
        raise DecodeError(f"the server was asked for a list and sent {one_line(kind)}")
    for item in items or []:
        if not isinstance(item, dict):
            raise DecodeError(f"the server sent a {one_line(kind)} with an item that is no object")
        item.setdefault("kind", kind.removesuffix("List"))
        if "apiVersion" in listing:
            item.setdefault("apiVersion", listing["apiVersion"])
    return {**listing, "items": items or []}


def rows_of(table: Object) -> list[Object]:
    """A `meta.k8s.io` Table as Tables of one row each; the `metadata` of each is that of the row's object.

    Raises DecodeError where the rows are none.
    """
    rows = table.get("rows")
    if not isinstance(rows, list | None) or not all(isinstance(row, dict) for row in rows or []):
        raise DecodeError("the server sent a Table whose rows are none")
    return [{**table, "metadata": metadata_of(_object_of(row)), "rows": [row]} for row in rows or []]


def _object_of(row: Object) -> Object:
    about = row.get("object")
    return about if isinstance(about, dict) else {}


def metadata_of(item: Object) -> dict[str, Any]:
    """The `metadata` of an object, an empty dict where it has none."""
    metadata = item.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _json_error(body: bytes, error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "exceeded max depth"
    start = body.lstrip()[:1]
    if not start:
        return "unexpected end of JSON input"
    if isinstance(error, json.JSONDecodeError) and error.pos <= len(body) - len(body.lstrip()):
        return f"invalid character {start.decode('latin-1')!r} looking for beginning of value"
    if isinstance(error, json.JSONDecodeError):
        return _syntax_error(error)
    text = str(error)
    return text if text.startswith(("invalid", "json:")) else "a number is too long"


def _syntax_error(error: json.JSONDecodeError) -> str:
    """What Go says of it, as far as Python tells enough."""
    at = error.pos
    if error.msg.startswith("Unterminated string") or at >= len(error.doc.rstrip()):
        return "unexpected end of JSON input"
    where = "after top-level value" if error.msg == "Extra data" else f"at character {at + 1}"
    return f"invalid character {go_quote(error.doc[at], mark=chr(39))} {where}"


def _seen(body: bytes) -> list[str]:
    """The first bytes of an answer, for a person who must find out who sent it."""
    if not body:
        return ["the server's answer was empty"]
    return [f"the server's answer ({len(body)} bytes) begins: {_start(body)}"]


def _start(body: bytes) -> str:
    text = one_line(body[: 4 * _SHOWN].decode("utf-8", "replace").strip())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
