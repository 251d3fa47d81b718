"""From an archive that a container sends to a local tree, which nothing of it leaves.

Every member is placed by its components (`copy_names.member_parts`), below directories that are directories and no
links; a symbolic link is made only if it stays inside, and never written through. So where something lands does not
depend on what came before. Memory is constant whatever the archive holds.
"""

# Paths are texts here, as the names in an archive are: nothing may normalise them.
# ruff: noqa: PTH101, PTH102, PTH103, PTH108, PTH112, PTH118, PTH120, PTH211

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tarfile
from typing import IO, Any, NamedTuple, Protocol

from rawkube.errors import RawkubeError
from rawkube.gotext import go_quote, one_line
from rawkube.remotecommand.copy_names import Parts, Refused, check_link, member_parts
from rawkube.remotecommand.copy_report import Report

_PIECE = 256 * 1024
_ZEROS = bytes(_PIECE)
_MAX_HEADER = 1024 * 1024
"""The largest name, or set of attributes, in bytes; tarfile holds one in memory."""
_MAX_REST = 16 * 1024 * 1024
"""How much padding may follow the end of the archive (a record of tar's has at most some MiB)."""
_ATTRIBUTES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_LONG_HEADERS = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, *_ATTRIBUTES)
_FATAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Readable(Protocol):
    """Where the bytes of an archive come from."""

    def read(self, size: int, /) -> bytes:
        """At least one byte and at most `size`, b"" at the end."""


class ArchiveCut(RawkubeError):
    """The archive ended too early, or cannot be read further: what it was to bring is not all there."""


class CannotWrite(RawkubeError):
    """The destination cannot take any more (a full disk)."""


class _Member(tarfile.TarInfo):
    """A header of an archive. What tarfile takes for a quiet end of the archive is an error here."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> _Member:
        found = super().frombuf(buf, encoding or "utf-8", errors)
        if found.size < 0 or (found.type in _LONG_HEADERS and found.size > _MAX_HEADER):
            raise tarfile.ReadError("a header of an impossible size")
        return found

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _Member:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # the block of zeros: the true end
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None


class _Directory(NamedTuple):
    """A directory that was made, and whose mode and time are set when all that belongs in it has come."""

    parts: Parts
    path: str
    member: tarfile.TarInfo


class Unpacker:
    """Writes the members of one archive to `destination`, by kubectl's rules for where they land.

    What was packed becomes `destination` itself, whether or not there is such a directory; a file whose destination
    is a directory lands in it as `base`. `prefix`: how the names of members begin. `modes`, `times`: keep them (of
    the modes, what belongs to reading, writing and running). `digest_limit`: the largest file that, copied alone,
    has its SHA-256 computed.
    """

    def __init__(
        self,
        destination: str,
        base: str,
        prefix: Parts,
        report: Report,
        *,
        modes: bool = True,
        times: bool = True,
        digest_limit: int = -1,
    ) -> None:
        # The destination is the user's word: links that lead to it are followed.
        self._root = os.path.realpath(destination)
        self._shown = destination
        self._base = base
        self._prefix = prefix
        self._report = report
        self._modes = modes
        self._times = times
        self._digest_limit = digest_limit
        self._open: list[_Directory] = []
        self._checked: Parts | None = None
        self._doing = ""
        self.complete = False
        self.size = 0
        self.sha256 = ""

    def run(self, source: Readable) -> None:
        """Unpack everything, up to the mark at the end of the archive.

        Raises ArchiveCut, CannotWrite, and what reading raises. What is refused, or cannot be written, is reported.
        """
        try:
            archive = tarfile.open(  # noqa: SIM115 - a stream, closed by its owner
                fileobj=source,  # type: ignore[call-overload]
                mode="r|",
                bufsize=_PIECE,
                tarinfo=_Member,
                encoding="utf-8",
                errors="surrogateescape",
            )
            while (member := archive.next()) is not None:
                archive.members.clear()  # they would be kept for ever
                self._take(archive, member)
            self._doing = ""
            self.complete = True
            _check_rest(archive)
        except (tarfile.TarError, ValueError, OverflowError) as error:
            where = f"{self._doing}: " if self._doing else ""
            raise ArchiveCut(f"{where}the archive ended too early ({one_line(str(error))})") from None
        finally:
            self._leave(())

    # One member.

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self._doing = one_line(member.name)
        self._report.begin(member.name, member.size if member.isreg() else 0)
        try:
            parts = member_parts(member.name, self._prefix)
            self._leave(parts)
            self._place(archive, member, parts)
        except Refused as refused:
            self._report.problem(f"warning: skipping {_what(member)}: {refused}")
        except OSError as error:
            if error.errno in _FATAL:
                raise CannotWrite(f"write {go_quote(member.name)}: {_cause(error)}") from None
            self._report.problem(f"warning: cannot write {go_quote(member.name)}: {_cause(error)}")

    def _place(self, archive: tarfile.TarFile, member: tarfile.TarInfo, parts: Parts) -> None:
        if member.isdir():
            self._directory(member, parts)
        elif member.isreg():
            self._file(archive, member, parts)
        elif not parts and (member.issym() or member.islnk()):
            raise Refused("a link alone has nothing to lead to here (-L copies what it leads to)")
        elif member.issym():
            self._symlink(member, parts)
        elif member.islnk():
            self._hard_link(member, parts)
        else:
            raise Refused("only files, directories and links are copied")

    def _directory(self, member: tarfile.TarInfo, parts: Parts) -> None:
        if not parts:
            made = not os.path.isdir(self._root)
            os.makedirs(self._root, mode=0o755, exist_ok=True)
            path = self._root
        else:
            path = os.path.join(self._parent(parts), parts[-1])
            made = _make_directory(path, 0o700 if self._modes else 0o755)
        if made:
            self._open.append(_Directory(parts, path, member))

    def _leave(self, parts: Parts) -> None:
        """Finish the directories that what comes next is not in."""
        while self._open and (not parts or parts[: len(self._open[-1].parts)] != self._open[-1].parts):
            directory = self._open.pop()
            self._attributes(directory.path, directory.member)

    def _parent(self, parts: Parts) -> str:
        """The directory that something belongs in, made where it is missing. Raises Refused, OSError."""
        parent = parts[:-1]
        path = os.path.join(self._root, *parent)
        if parent == self._checked:
            return path
        os.makedirs(self._root, mode=0o755, exist_ok=True)
        self._walk(parent, make=True)
        self._checked = parent
        return path

    def _walk(self, parent: Parts, *, make: bool) -> None:
        path = self._root
        for part in parent:
            path = os.path.join(path, part)
            if make:
                _make_directory(path, 0o755)
            elif not stat.S_ISDIR(os.lstat(path).st_mode):
                raise Refused(f"it leads through {go_quote(path)}, which is no directory")

    # Files.

    def _file(self, archive: tarfile.TarFile, member: tarfile.TarInfo, parts: Parts) -> None:
        if parts:
            path = os.path.join(self._parent(parts), parts[-1])
        else:
            os.makedirs(os.path.dirname(self._root), mode=0o755, exist_ok=True)
            path = os.path.join(self._root, self._base) if os.path.isdir(self._root) else self._root
        data = archive.extractfile(member)
        assert data is not None
        descriptor = _open_for_writing(path, 0o600 if self._modes else 0o666, special=not parts)
        try:
            plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            self._copy(data, descriptor, member, plain=plain, digest=not parts and member.size <= self._digest_limit)
            if plain:
                self._attributes(descriptor, member)
        finally:
            os.close(descriptor)

    def _copy(self, data: IO[bytes], descriptor: int, member: tarfile.TarInfo, *, plain: bool, digest: bool) -> None:
        sha256 = hashlib.sha256() if digest else None
        done, hole = 0, False
        while done < member.size:
            self._doing = f"{one_line(member.name)}: {done} of {member.size} bytes arrived"
            piece = data.read(min(_PIECE, member.size - done))
            if not piece:
                raise tarfile.ReadError("unexpected end of data")
            # Zeros are not written but left out: a sparse file stays sparse.
            hole = plain and piece == (_ZEROS if len(piece) == _PIECE else _ZEROS[: len(piece)])
            if hole:
                os.lseek(descriptor, len(piece), os.SEEK_CUR)
            else:
                _write(descriptor, piece)
            if sha256 is not None:
                sha256.update(piece)
            done += len(piece)
            self._report.moved(len(piece))
        if hole:
            os.ftruncate(descriptor, done)
        self.size = done
        self.sha256 = sha256.hexdigest() if sha256 is not None else ""

    def _attributes(self, where: int | str, member: tarfile.TarInfo) -> None:
        try:
            if self._modes:
                os.chmod(where, member.mode & 0o777)
            if self._times:
                os.utime(where, (member.mtime, member.mtime))
        except (OSError, OverflowError, ValueError) as error:
            self._report.note(f"warning: the mode or time of {go_quote(member.name)} is not kept: {_cause(error)}")

    # Links.

    def _symlink(self, member: tarfile.TarInfo, parts: Parts) -> None:
        check_link(parts[:-1], member.linkname)
        parent = self._parent(parts)
        # What was there before may hold links of its own.
        leads = os.path.realpath(os.path.join(parent, member.linkname))
        if leads != self._root and not leads.startswith(os.path.join(self._root, "")):
            raise Refused("it leads out of the destination")
        path = os.path.join(parent, parts[-1])
        _remove(path)
        os.symlink(member.linkname, path)
        if self._times and os.utime in os.supports_follow_symlinks:
            try:
                os.utime(path, (member.mtime, member.mtime), follow_symlinks=False)
            except (OSError, OverflowError, ValueError):
                pass

    def _hard_link(self, member: tarfile.TarInfo, parts: Parts) -> None:
        try:
            first = member_parts(member.linkname, self._prefix)
        except Refused as refused:
            raise Refused(f"it leads to {go_quote(member.linkname)}, and {refused}") from None
        source = os.path.join(self._root, *first)
        self._walk(first[:-1], make=False)
        if not stat.S_ISREG(os.lstat(source).st_mode):
            raise Refused(f"it leads to {go_quote(member.linkname)}, which is no file")
        path = os.path.join(self._parent(parts), parts[-1])
        if path != source:
            _remove(path)
            os.link(source, path)


def _check_rest(archive: tarfile.TarFile) -> None:
    """Read to the end of the stream: behind the end of an archive there is nothing but zeros."""
    stream: Any = archive.fileobj
    rest = 0
    while piece := stream.read(64 * 1024):
        rest += len(piece)
        if piece != _ZEROS[: len(piece)] or rest > _MAX_REST:
            raise tarfile.ReadError("data behind the end of the archive")


def _what(member: tarfile.TarInfo) -> str:
    """`symlink: "a" -> "b"`, as kubectl names one, and the like."""
    if member.issym() or member.islnk():
        kind = "symlink" if member.issym() else "hard link"
        return f"{kind}: {go_quote(member.name)} -> {go_quote(member.linkname)}"
    kinds = {
        tarfile.CHRTYPE: "device",
        tarfile.BLKTYPE: "device",
        tarfile.FIFOTYPE: "pipe",
        tarfile.DIRTYPE: "directory",
    }
    return f"{kinds.get(member.type, 'file')}: {go_quote(member.name)}"


def _cause(error: Exception) -> str:
    cause = error.strerror if isinstance(error, OSError) else None
    return one_line((cause or str(error)).lower())


def _make_directory(path: str, mode: int) -> bool:
    """Whether the directory was made; False where there is one. Raises Refused for a link to one, OSError."""
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        found = os.lstat(path).st_mode
        if stat.S_ISLNK(found):
            raise Refused(f"{go_quote(path)} is a symbolic link here, and links are not written through") from None
        if not stat.S_ISDIR(found):
            raise Refused(f"{go_quote(path)} is no directory here") from None
        return False
    return True


def _open_for_writing(path: str, mode: int, *, special: bool) -> int:
    """A descriptor of an empty file.

    A file that is there already keeps its inode, unless that has other names too: these may be anywhere. `special`:
    a device or pipe that the user has named may be written to. Raises OSError.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, mode)
    if special and (stat.S_ISCHR(found.st_mode) or stat.S_ISFIFO(found.st_mode)):
        return os.open(path, os.O_WRONLY | _NO_FOLLOW)
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        try:
            return os.open(path, os.O_WRONLY | os.O_TRUNC | _NO_FOLLOW)
        except PermissionError:  # of the file; its directory may allow another one
            pass
    _remove(path)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, mode)


def _remove(path: str) -> None:
    """Make room for a file or link; a directory is never removed (IsADirectoryError)."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        os.unlink(path)
    except FileNotFoundError:
        pass


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
