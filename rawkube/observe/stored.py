"""A recording whose bytes stay in its file: exchanges as of `exchanges`, read again when they are served."""

from __future__ import annotations

import os
import shutil
import threading
import weakref
from collections.abc import Iterator

from rawkube._typing import BinaryIO
from rawkube.errors import RecordingError
from rawkube.gotext import one_line
from rawkube.observe.exchanges import read_exchanges
from rawkube.observe.recording import MAX_LINE, Piece, Recording

_BUFFER = 64 * 1024


class StoredRecording:
    """A recording, read once from its beginning to its end. Safe for several threads afterwards.

    `exchanges`: those that it holds, whose bytes are read when they are asked for; that raises RecordingError where the
    file has been changed meanwhile. What cannot be read twice (a pipe) is copied to a nameless temporary file.
    Raises RecordingError where the recording cannot be read, or holds no exchange.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.place = -1
        self.last = Piece(0, 0, 0.0, "client")
        self._read = False  # to its end; before that the file must stay where it is
        self._lock = threading.Lock()
        self._file = self._open()
        # Closed with the last exchange, which may outlive the server.
        weakref.finalize(self, self._file.close)
        self._recording = Recording(self.path, file=self._file)
        self.exchanges = read_exchanges(self._pieces(), self)
        self._read = True
        self.last = self.last._replace(data=b"")  # no more of it is kept
        if not self.exchanges:
            raise RecordingError(f"{one_line(self.path)}: holds no HTTP/1.1 request")

    def again(self, place: int) -> Piece:
        """The piece whose line begins there. Raises RecordingError."""
        with self._lock:
            back = -1 if self._read else self._file.tell()
            try:
                self._file.seek(place)
                line = self._file.readline(MAX_LINE + 1)
                if back >= 0:
                    self._file.seek(back)
            except OSError:
                raise self.changed() from None
        try:
            return self._recording.piece_of(line)
        except RecordingError:
            raise self.changed() from None

    def changed(self) -> RecordingError:
        """What to raise where the file is not what it was."""
        return RecordingError(f"{one_line(self.path)} has been changed while it was served")

    def _pieces(self) -> Iterator[Piece]:
        for piece in self._recording:
            self.place, self.last = self._recording.place, piece
            yield piece

    def _open(self) -> BinaryIO:
        try:
            file = open(self.path, "rb", buffering=_BUFFER)  # noqa: PTH123, SIM115 - kept open while it is served
            return file if file.seekable() else _copied(file)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise RecordingError(f"open {one_line(self.path)}: {reason}") from None


def _copied(file: BinaryIO) -> BinaryIO:
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the other one would be
    with file:
        shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy
