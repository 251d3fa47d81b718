"""An input that says itself how it is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

_MOST_PIECES = 100


def cut(data: bytes) -> tuple[bytes, list[bytes]]:
    """The bytes behind the first one, whole and in pieces of as many bytes as the first one says."""
    size, rest = max(1, data[0] if data else 1), data[1:]
    ends = range(size, min(len(rest), size * _MOST_PIECES), size)
    starts = [0, *ends]
    return rest, [rest[start:end] for start, end in zip(starts, [*ends, len(rest)], strict=True) if start < end]


def merged(items: Iterable[tuple[Any, bytes]]) -> Iterator[tuple[Any, bytes]]:
    """Neighbours with the same key as one."""
    last: tuple[Any, bytes] | None = None
    for key, data in items:
        if last is not None and last[0] == key:
            last = key, last[1] + data
        else:
            if last is not None:
                yield last
            last = key, data
    if last is not None:
        yield last
