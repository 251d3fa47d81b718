"""Pure: the bytes of recorded messages: held in memory, left where they are recorded, or made when they are wanted."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from rawkube._typing import Any, NamedTuple, Protocol
from rawkube.errors import RecordingError
from rawkube.observe.recording import Piece

_BEGINNING = 200
_ENTRY = struct.Struct("<qIId?")  # the place of the piece, where in it, how much, delay, whole
_PIECE = struct.Struct("<qI")  # its place, and how much of its beginning is none of it


class Chunk(NamedTuple):
    """Bytes that came at once, `delay` seconds after the request. `whole`: an HTTP chunk ends with them."""

    delay: float
    data: bytes
    whole: bool = True


class Source(Protocol):
    """Where pieces are recorded. They are read in order, and can be had again."""

    place: int
    """Where the piece is that was read last."""
    last: Piece
    """That piece."""

    def again(self, place: int) -> Piece:
        """The piece at a place. Raises RecordingError where it is no longer there."""

    def changed(self) -> RecordingError:
        """What to raise where it is not what it was."""


class _Sequence(Sequence[Chunk]):
    """What can only be gone through; a single chunk is looked for from the start."""

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - an int or a slice, as of Sequence
        return next(islice(self, at, None)) if at == 0 and self else tuple(self)[at]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)


class Made(_Sequence):
    """Chunks that `make` gives, anew each time: an answer that is made of another one while it is sent."""

    def __init__(self, make: Callable[[], Iterator[Chunk]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Chunk]:
        return self._make()


class Stored(_Sequence):
    """Chunks whose bytes stay where they are recorded: 25 bytes each, whatever their size."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._entries = bytearray()
        self._place = self._searched = 0
        self.beginning = b""

    def append(self, chunk: Chunk) -> None:
        """One more; its bytes are part of the source's last piece, behind those of the chunk before it."""
        if len(self) < 2:
            self.beginning = (self.beginning + chunk.data)[:_BEGINNING]
        if self._source.place != self._place:
            self._place, self._searched = self._source.place, 0
        start = self._source.last.data.index(chunk.data, self._searched)
        self._searched = start + len(chunk.data)
        self._entries += _ENTRY.pack(self._place, start, len(chunk.data), chunk.delay, chunk.whole)

    def clear(self) -> None:
        """None of them."""
        self._entries.clear()
        self.beginning = b""

    def __len__(self) -> int:
        return len(self._entries) // _ENTRY.size

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __iter__(self) -> Iterator[Chunk]:
        at, data = -1, b""
        for place, start, size, delay, whole in _ENTRY.iter_unpack(self._entries):
            if place != at:
                at, data = place, self._source.again(place).data
            found = data[start : start + size]
            if len(found) != size:
                raise self._source.changed()
            yield Chunk(delay, found, whole)

    @property
    def last_delay(self) -> float:
        """The delay of the last one."""
        delay: float = _ENTRY.unpack_from(self._entries, len(self._entries) - _ENTRY.size)[3]
        return delay


class StoredPieces(Sequence[Piece]):
    """Pieces that stay where they are recorded."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._entries = bytearray()

    def append(self, piece: Piece) -> None:
        """One more: the source's last piece, or the end of it."""
        self._entries += _PIECE.pack(self._source.place, len(self._source.last.data) - len(piece.data))

    def __len__(self) -> int:
        return len(self._entries) // _PIECE.size

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - an int or a slice, as of Sequence
        return tuple(self)[at]

    def __iter__(self) -> Iterator[Piece]:
        for place, skipped in _PIECE.iter_unpack(self._entries):
            piece = self._source.again(place)
            yield piece._replace(data=piece.data[skipped:]) if skipped else piece


def beginning(chunks: Sequence[Chunk]) -> bytes:
    """The first bytes, of two chunks at most."""
    if isinstance(chunks, Stored):
        return chunks.beginning
    return b"".join(chunk.data for chunk in islice(chunks, 2))[:_BEGINNING]


def last_delay(chunks: Sequence[Chunk]) -> float:
    """The delay of the last one; there must be one."""
    return chunks.last_delay if isinstance(chunks, Stored) else chunks[-1].delay
