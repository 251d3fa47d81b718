"""What is nested more deeply than Python goes: JSON of as many levels as encoding/json of Go reads.

Python's reader in C has a bound that cannot be moved. Its twin in Python, and whatever else calls itself in Python
alone, takes no room on the stack of C (since 3.11), and goes as deep as it is allowed to.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]  # the twins, for subclasses
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from types import FrameType
from typing import TypeVar

from rawkube._typing import Any
from rawkube.api.json_end import MAX_DEPTH

T = TypeVar("T")

_READING = 2  # how many calls a level is, while it is read
WRITING = 3
"""The same while it is written, at most."""

_one_at_a_time = threading.RLock()


def deeply(act: Callable[[], T], *, calls: int) -> T:
    """What `act` gives, which may call itself for each of MAX_DEPTH levels, `calls` times each.

    Raises RecursionError beyond that, and what `act` raises.
    """
    frame: FrameType | None = sys._getframe()
    used = 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    with _one_at_a_time:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, used + calls * MAX_DEPTH + 50))
        try:
            return act()
        finally:
            sys.setrecursionlimit(before)


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|([{\[])|[}\]]', re.DOTALL)


def _is_too_deep(text: str) -> bool:
    """Whether more than MAX_DEPTH brackets stand in each other."""
    level = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        if match[0][0] != '"':
            level += 1 if match[1] else -1
            if level > MAX_DEPTH:
                return True
    return False


def decode(text: str, like: json.JSONDecoder) -> Any:  # noqa: ANN401 - what JSON can hold
    """The one value that `text` is, read as `like` reads numbers and constants. Raises ValueError, RecursionError."""
    if _is_too_deep(text):
        raise RecursionError
    decoder = json.JSONDecoder(parse_constant=like.parse_constant, parse_float=like.parse_float)
    decoder.parse_object, decoder.parse_array = JSONObject, JSONArray  # type: ignore[attr-defined]
    decoder.scan_once = py_make_scanner(decoder)  # type: ignore[attr-defined]
    return deeply(lambda: decoder.decode(text), calls=_READING)
