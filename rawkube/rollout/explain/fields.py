"""Reads JSON of any shape: whatever a server put where, the answer has the type that was asked for. Pure.

A path is a row of keys: `text(pod, "status", "phase")`. What is missing or of another type is empty.
"""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import Any
from rawkube.gotext import one_line

Value = Any  # what JSON can hold

SHOWN = 400
"""How many characters of a text from the cluster a finding shows."""

_NOTHING: Mapping[str, Any] = {}


def at(thing: Value, *path: str) -> Value:
    """What stands there, None if nothing does."""
    for key in path:
        if type(thing) is not dict and not isinstance(
            thing, Mapping
        ):  # the first is much quicker, and nearly always so
            return None
        thing = thing.get(key)
    return thing


def mapping(thing: Value, *path: str) -> Mapping[str, Any]:
    """The JSON object that stands there."""
    found = at(thing, *path)
    return found if isinstance(found, Mapping) else _NOTHING


def items(thing: Value, *path: str) -> list[Mapping[str, Any]]:
    """The JSON objects of the array that stands there."""
    found = at(thing, *path)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []


def text(thing: Value, *path: str) -> str:
    """The string that stands there, as one line of bounded length."""
    found = raw(thing, *path)
    return clip(found) if found else ""


def raw(thing: Value, *path: str) -> str:
    """The string that stands there as it is: to compare and to search, never to show."""
    found = at(thing, *path)
    return found if isinstance(found, str) else ""


def number(thing: Value, *path: str, default: int = 0) -> int:
    """The integer that stands there; `default` where there is none, or one beyond 64 bits."""
    found = at(thing, *path)
    is_one = isinstance(found, int) and not isinstance(found, bool)
    return found if is_one and -(2**63) <= found < 2**63 else default


def flag(thing: Value, *path: str) -> bool:
    """Whether true stands there."""
    return at(thing, *path) is True


def clip(words: str, limit: int = SHOWN) -> str:
    """`words` as one line: control characters escaped, the middle left out where it is longer than `limit`."""
    words = words.strip()
    if len(words) > limit:
        # What went wrong often stands at the end: `…: not found`.
        words = f"{words[: limit // 2]} … {words[-(limit // 2) :]}"
    line = one_line(words)
    return line if len(line) <= 2 * limit else line[: 2 * limit] + "…"
