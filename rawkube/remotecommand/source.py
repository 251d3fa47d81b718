"""Where a command's input comes from: bytes, a file, or an iterable of pieces, made into messages of a fair size."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable, Iterator

from rawkube._typing import Any, cast
from rawkube.remotecommand.session import STDIN_PIECE

# For how long, in seconds, small pieces are collected for one message; how many go alone first; how often
# the number for one message is doubled (to 4096).
_QUICK = 0.01
_ALONE = 16
_DOUBLINGS = 12


def check_source(source: object) -> bytes | Iterable[bytes]:
    """Input as a caller gives it: bytes (from bytes-like objects), or the file or iterable itself.

    Raises TypeError for what can give no bytes: text, a file opened for text, None, a list with anything else in it.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, str | io.TextIOBase):
        kind = "a text" if isinstance(source, str) else "a file opened for text"
        raise TypeError(f"stdin must be bytes, or give bytes, and is {kind}")
    if not hasattr(source, "read") and not hasattr(source, "__iter__"):
        raise TypeError(f"stdin must be bytes, a file or an iterable of bytes, not {type(source).__name__}")
    if isinstance(source, list | tuple):
        for piece in source:
            as_bytes(piece)
    return cast("Iterable[bytes]", source)


def as_bytes(piece: object) -> bytes:
    """A piece of input. Raises TypeError for anything but a bytes-like object."""
    if isinstance(piece, bytes):
        return piece
    if isinstance(piece, bytearray | memoryview):
        return bytes(piece)
    raise TypeError(f"input must be bytes, not {type(piece).__name__}")


def messages(source: Iterable[bytes], clock: Callable[[], float] = time.monotonic) -> Iterator[bytes]:
    """The input, in pieces of at most one message each (32 KiB), none of them empty.

    What has `read` is read, with `read1` if it can, which gives what is there; else small pieces are joined for as
    long as they come quickly. Raises TypeError at a piece that is not bytes.
    """
    read = getattr(source, "read1", None) or getattr(source, "read", None)
    joined = _joined(source, clock) if read is None else _read(read)
    return (piece for data in joined for piece in pieces(data))


def pieces(data: bytes) -> Iterator[bytes]:
    """Input in pieces of one message each."""
    for start in range(0, len(data), STDIN_PIECE):
        yield data[start : start + STDIN_PIECE]


def _read(read: Callable[[int], Any]) -> Iterator[bytes]:
    while data := as_bytes(read(STDIN_PIECE)):
        yield data


def _joined(source: Iterable[object], clock: Callable[[], float]) -> Iterator[bytes]:
    """Small pieces together. How many is learnt: nobody knows how long an iterator takes for the next one, so that
    the first ones go alone, then twice as many each time, and after one that was slow it begins again."""
    waiting = bytearray()
    count, most, quick = 0, 1, 0
    began = clock()
    for item in source:
        waiting += as_bytes(item)
        count += 1
        slow = clock() - began > _QUICK
        if slow or count >= most or len(waiting) >= STDIN_PIECE:
            quick = 0 if slow else quick + 1
            most = 1 << min(max(0, quick - _ALONE), _DOUBLINGS)
            yield bytes(waiting)
            waiting.clear()
            count, began = 0, clock()
    yield bytes(waiting)
