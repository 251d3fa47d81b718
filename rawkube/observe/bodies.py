"""Pure: the body of an answer that somebody looks on at, as the object that it may be."""

from __future__ import annotations

import json

from rawkube._typing import Any


def object_of(data: bytes | bytearray | str) -> dict[str, Any]:
    """The JSON object that `data` is; empty if it is none."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
