"""A recording or a HAR file, read from its beginning to its end, as what happened.

    with Inspected("session.jsonl") as inspected:
        for happening in inspected:
            ...

Each recording in the file (there may be several: `cat A B`) begins with a happening of the kind `recording` (data:
file, server, client, note), without a connection. The connections of a later one are numbered on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rawkube._typing import BinaryIO, Self
from rawkube.errors import RecordingError
from rawkube.gotext import one_line
from rawkube.observe.conversation import CLIENT, Conversation, Happening
from rawkube.observe.recording import MAX_LINE, Description, Recording, SupportsReadline

STDIN = "-"
_HAR_HEAD = 64
_HAR = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:')


class Inspected:
    """An open file; iterate it once, for `Happening`s. A context manager.

    `path`: a file, or `-` for `stdin`. `on_bytes(conn, t, side, size)` is told the bytes as they are read (a HAR does
    not tell them). `follow(file)`: gives what to read a file from that grows. Raises RecordingError where the file
    cannot be read, now or while it is iterated.
    """

    def __init__(
        self,
        path: str,
        *,
        stdin: BinaryIO | None = None,
        follow: Callable[[BinaryIO], SupportsReadline] | None = None,
        on_bytes: Callable[[int, float, str, int], None] = lambda conn, t, side, size: None,
    ) -> None:
        self.name = "stdin" if path == STDIN else path
        self.cut = False
        self._on_bytes = on_bytes
        file = stdin if path == STDIN and stdin is not None else _open(path)
        self._file = _Begun(follow(file) if follow else file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Happening]:
        if self._is_har():
            from rawkube.observe.har_reader import read_har

            yield from read_har(self.name, self._file.read())
        else:
            yield from self._recorded()

    def _is_har(self) -> bool:
        try:
            return bool(_HAR.match(self._file.beginning(_HAR_HEAD)))
        except OSError as error:
            raise RecordingError(f"read {one_line(self.name)}: {(error.strerror or str(error)).lower()}") from None

    def _recorded(self) -> Iterator[Happening]:
        recording = Recording(self.name, file=self._file, several=True)
        part, before, highest = recording.part, 0, 0
        conversation = Conversation()
        yield self._described(recording.description)
        for piece in recording:
            if recording.part != part:
                part, before, conversation = recording.part, highest, Conversation()
                yield self._described(recording.description)
            conn = piece.conn + before
            highest = max(highest, conn)
            self._on_bytes(conn, piece.t, piece.side, len(piece.data))
            if piece.data:
                yield from conversation.feed(conn, piece.t, piece.side, piece.data)
            if piece.eof or piece.error:
                yield from conversation.end(conn, piece.t, piece.side, piece.error)
        self.cut = recording.cut

    def _described(self, description: Description) -> Happening:
        return Happening("recording", 0, 0.0, CLIENT, {"file": self.name, **description._asdict()})


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")  # noqa: PTH123 - kept open while it is read
    except OSError as error:
        raise RecordingError(f"open {one_line(path)}: {(error.strerror or str(error)).lower()}") from None


class _Begun:
    """A file whose beginning has been looked at."""

    def __init__(self, file: SupportsReadline) -> None:
        self._file = file
        self._lines: list[bytes] = []

    def beginning(self, size: int) -> bytes:
        """Whole lines from the beginning, until there are `size` bytes or the first one ends an object."""
        found = b"".join(self._lines)
        while len(found.strip()) < size and not found.rstrip().endswith(b"}"):
            line = self._file.readline(MAX_LINE + 1)
            if not line:
                break
            self._lines.append(line)
            found += line
        return found

    def readline(self, size: int = -1, /) -> bytes:
        return self._lines.pop(0) if self._lines else self._file.readline(size)

    def read(self) -> bytes:
        """All of it."""
        found = list(self._lines)
        self._lines.clear()
        while line := self._file.readline(MAX_LINE):
            found.append(line)
        return b"".join(found)

    def close(self) -> None:
        self._file.close()
