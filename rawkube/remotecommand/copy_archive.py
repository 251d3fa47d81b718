"""Reading an archive that a container sends: nothing in it makes this wait, or keep, more than what really comes.

`tarfile` takes a missing end for a quiet one, reads on for sizes that are only claimed, and keeps what headers hold.
Here each of these is an error, and says which it is: an archive that stops too early, or one that is broken.
"""

from __future__ import annotations

import tarfile

from rawkube._typing import Any, Protocol
from rawkube.errors import RawkubeError
from rawkube.gotext import go_quote, one_line

PIECE = 256 * 1024
"""How much is read at once, in bytes."""
_ZEROS = bytes(64 * 1024)
_MAX_HEADER = 1024 * 1024
"""The largest name, or set of attributes, in bytes; tarfile holds one in memory."""
_MAX_MAP = 16 * 1024 * 1024
"""The longest list of where the data of a sparse file is, in bytes; tarfile holds it in memory."""
_MAX_REST = 16 * 1024 * 1024
"""How much padding may follow the end of the archive (a record of tar's has at most some MiB)."""
_MAX_LINE = 60
_MAGIC = slice(257, 262)
_ATTRIBUTES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_LONG_HEADERS = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, *_ATTRIBUTES)

UNREADABLE = (tarfile.TarError, ValueError, OverflowError, LookupError, RecursionError)
"""What tarfile raises for an archive that is cut or broken."""


class Readable(Protocol):
    """Where the bytes of an archive come from."""

    def read(self, size: int, /) -> bytes:
        """At least one byte and at most `size`, b"" at the end."""


class ArchiveCut(RawkubeError):
    """The archive ended too early, or cannot be read further: what it was to bring is not all there."""


class Broken(tarfile.TarError):
    """The archive says what cannot be. The text says what, as a noun."""


class Source:
    """A stream for tarfile, which asks on and on behind the end: the second time is an error.

    `head`: the first block, for the message if it is none of an archive. `ended`: the stream has come to its end.
    """

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.head = b""
        self.ended = False

    def read(self, size: int, /) -> bytes:
        """As the stream's. Raises tarfile.ReadError behind the end, and what reading raises."""
        if self.ended:
            raise tarfile.ReadError("unexpected end of data")
        piece = self._stream.read(size)
        self.ended = not piece
        if len(self.head) < tarfile.BLOCKSIZE:
            self.head += piece[: tarfile.BLOCKSIZE - len(self.head)]
        return piece

    def wrong(self, error: Exception, *, begun: bool) -> str:
        """What to say about an error of UNREADABLE. `begun`: there was a member before."""
        if not begun and not self._is_archive():
            if not self.head:
                return "the container sent nothing"
            return f"what the container sent is no tar archive: {_first_line(self.head)}"
        if isinstance(error, Broken) or not self.ended:
            return f"the archive is broken ({one_line(str(error))})"
        return "the archive ended too early"

    def _is_archive(self) -> bool:
        if len(self.head) < _MAGIC.stop:
            return b"\0" in self.head  # behind a name, which a text has not
        return self.head[_MAGIC] == b"ustar"


def _first_line(data: bytes) -> str:
    line, more, _ = data.lstrip().partition(b"\n")
    return go_quote(line[:_MAX_LINE]) + ("..." if len(line) > _MAX_LINE or more else "")


class _Bounded:
    """Stands for an archive, and for its stream, while tarfile reads the map of a sparse file."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self.fileobj = self
        self.offset = 0
        self._stream: Any = archive.fileobj
        self._end = self._stream.tell() + _MAX_MAP

    def tell(self) -> int:
        return int(self._stream.tell())

    def read(self, size: int) -> bytes:
        if self.tell() >= self._end:
            raise Broken("a sparse file of too many pieces")
        return bytes(self._stream.read(size))


class _Member(tarfile.TarInfo):
    """A header of an archive. What tarfile takes for a quiet end of the archive is an error here."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> _Member:
        found = super().frombuf(buf, encoding or "utf-8", errors)
        if found.size < 0 or (found.type in _LONG_HEADERS and found.size > _MAX_HEADER):
            raise Broken("a header of an impossible size")
        return found

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _Member:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # the block of zeros: the true end
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None

    def _proc_gnusparse_10(self, member: tarfile.TarInfo, headers: object, archive: tarfile.TarFile) -> None:
        super()._proc_gnusparse_10(member, headers, _Bounded(archive))  # type: ignore[misc]

    def _proc_sparse(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        bounded = _Bounded(archive)
        found: tarfile.TarInfo = super()._proc_sparse(bounded)  # type: ignore[misc]
        archive.offset = bounded.offset
        return found


class Reader:
    """The members of an archive, one after the other, and the data of the last one. `source`: where it comes from.

    All methods raise what reading raises, and UNREADABLE.
    """

    def __init__(self, source: Source) -> None:
        self._archive = tarfile.open(  # noqa: SIM115 - a stream, closed by its owner
            fileobj=source,  # type: ignore[call-overload]
            mode="r|",
            bufsize=PIECE,
            tarinfo=_Member,
            encoding="utf-8",
            errors="surrogateescape",
        )
        self._stream: Any = self._archive.fileobj

    def next(self) -> tarfile.TarInfo | None:
        """The next member; None at the mark that ends the archive."""
        found: tarfile.TarInfo | None = self._archive.next()
        self._archive.members.clear()  # they would be kept for ever
        return found

    def begin(self, member: tarfile.TarInfo) -> None:
        """Go to where the data of a member begins."""
        self._stream.seek(member.offset_data)

    def read(self, size: int) -> bytes:
        """So many bytes of data, fewer only at the end of the stream. Raises tarfile.ReadError if there are none."""
        piece = bytes(self._stream.read(size))
        if not piece:
            raise tarfile.ReadError("unexpected end of data")
        return piece

    def check_rest(self) -> None:
        """Read to the end of the stream: behind the end of an archive there is nothing but zeros."""
        rest, size = 0, len(_ZEROS)
        while size == len(_ZEROS):
            piece = self._stream.read(len(_ZEROS))
            size = len(piece)
            rest += size
            if piece != _ZEROS[:size] or rest > _MAX_REST:
                raise Broken("data behind the end of the archive")


def extents(member: tarfile.TarInfo) -> list[tuple[int, int]]:
    """(start, length) of the data of a file, in order; what lies between is zeros. Raises Broken if that cannot be."""
    places: list[tuple[int, int]] | None = getattr(member, "sparse", None)
    if member.size < 0:
        raise Broken("a header of an impossible size")
    if places is None:
        return [(0, member.size)]
    found, end = [], 0
    for start, length in places:
        if length > 0 and start >= end:
            found.append((start, length))
        elif length:
            raise Broken("a sparse file whose pieces overlap")
        end = max(end, start + length)
    # tarfile drops what ends the map of the old format, so there the size stands for itself.
    if end > member.size or (end < member.size and "GNU.sparse.major" in member.pax_headers):
        raise Broken(f"a sparse file of {member.size} bytes whose map ends at {end}")
    return found
