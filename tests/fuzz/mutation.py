"""Changes of inputs at random: of bytes, and of JSON that stays JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

_BYTES = (
    b"",
    b"\0",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b" ",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"-1",
    b"0",
    b"9" * 5000,
)
_MORE = (
    b"{",
    b"}",
    b"[" * 2000,
    b'"',
    b"'",
    b"\\",
    b"%",
    b":",
    b"=",
    b",",
    b"/",
    b"..",
    b"!",
    b"(",
    b")",
    b"NaN",
    b"\x1b[2J",
)
_DIGITS = (
    "²".encode(),
    "٣".encode(),
    b"1" * 400,
    b"1_0",
    b"0x10",
    b"+5",
    b"-5",
    b"1e999",
    b"18446744073709551616",
    b"\x7e\0\5",
    b"\x7f",
)
TOKENS = (*_BYTES, *_MORE, *_DIGITS)
LEAVES: tuple[Any, ...] = (
    *("", "\x1b[2J\n", "x" * 9999, "\ud800", "2026-99-99T", "9999999%", "²", "0001-01-01T00:00:00Z", "1e999"),
    *(
        -1,
        0,
        1,
        2**63,
        -(2**70),
        10**400,
        1e300,
        0.5,
        True,
        False,
        None,
        [],
        {},
        [[]],
        [None],
        [{}],
        {"": None},
        {"a": [1]},
    ),
)

Mutate = Callable[[bytes, random.Random], bytes]


def mutate_bytes(data: bytes, choose: random.Random) -> bytes:
    """A few changes."""
    changed = bytearray(data)
    for _ in range(choose.choice((1, 1, 2, 3, 6))):
        start = choose.randint(0, len(changed))
        end = min(len(changed), start + choose.choice((0, 1, 1, 2, 4, 20, 200)))
        kind = choose.randrange(4)
        if kind == 0:
            changed[start:end] = choose.choice(TOKENS)
        elif kind == 1:
            changed[start:end] = choose.randbytes(end - start)
        elif kind == 2:
            changed[start:start] = changed[start:end] * choose.choice((1, 1, 2, 50))
        else:
            del changed[start:end]
    return bytes(changed)


def mutate_json(data: bytes, choose: random.Random) -> bytes:
    """A few changes of the values; of the bytes where it is no JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(data, choose)
    places = [place for place in _places(value) if place is not None]
    for holder, key in choose.sample(places, min(len(places), choose.choice((1, 1, 2, 4)))):
        _change(holder, key, choose, places)
    return json.dumps(value).encode()


def _places(value: Any) -> Sequence[tuple[Any, Any]]:
    keys: list[Any] = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


def _change(holder: Any, key: Any, choose: random.Random, places: Sequence[tuple[Any, Any]]) -> None:
    try:
        kind = choose.randrange(4)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            other, of = choose.choice(places)
            holder[key] = json.loads(json.dumps(other[of]))
        elif kind == 2 and isinstance(holder[key], str):
            text = holder[key].encode("utf-8", "surrogatepass")
            holder[key] = mutate_bytes(text, choose).decode("utf-8", "replace")[:20000]
        else:
            holder[key] = choose.choice(LEAVES)
    except (LookupError, ValueError):  # an earlier change took the place away, or put it into itself
        pass
