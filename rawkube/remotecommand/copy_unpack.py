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

from rawkube._typing import NamedTuple
from rawkube.errors import RawkubeError
from rawkube.gotext import one_line
from rawkube.remotecommand.copy_archive import PIECE, UNREADABLE, ArchiveCut, Readable, Reader, Source, extents
from rawkube.remotecommand.copy_names import Parts, Refused, check_link, member_parts
from rawkube.remotecommand.copy_report import Report, cut, quoted

_ZEROS = bytes(PIECE)
_MAX_ZEROS = 8 * 1024 * 1024 * 1024
"""How many bytes of the holes of one file are hashed, or written to a pipe: holes are claimed, and cost nothing."""
_FATAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class CannotWrite(RawkubeError):
    """The destination cannot take any more (a full disk), or nothing at all (a file where a directory goes)."""


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
        stream = Source(source)
        try:
            archive = Reader(stream)
            while (member := archive.next()) is not None:
                self._take(archive, member)
            self._doing = ""
            self.complete = True
            archive.check_rest()
        except UNREADABLE as error:
            where = f"{self._doing}: " if self._doing else ""
            begun = self.complete or self._report.entries > 0
            raise ArchiveCut(f"{where}{stream.wrong(error, begun=begun)}") from None
        finally:
            self._leave(())

    # One member.

    def _take(self, archive: Reader, member: tarfile.TarInfo) -> None:
        self._doing = one_line(cut(member.name))
        self._report.begin(member.name, member.size if member.isreg() else 0)
        try:
            parts = member_parts(member.name, self._prefix)
            self._leave(parts)
            self._place(archive, member, parts)
        except Refused as refused:
            self._report.problem(f"warning: skipping {_what(member)}: {refused}")
        except OSError as error:
            if error.errno in _FATAL:
                raise CannotWrite(f"write {quoted(member.name)}: {_cause(error)}") from None
            self._report.problem(f"warning: cannot write {quoted(member.name)}: {_cause(error)}")
        self._report.partial = ""  # not where it was interrupted

    def _place(self, archive: Reader, member: tarfile.TarInfo, parts: Parts) -> None:
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
            self._make_root()
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
        self._make_root()
        self._walk(parent, make=True)
        self._checked = parent
        return path

    def _make_root(self) -> None:
        """Raises CannotWrite, once for all that would go there, and OSError."""
        if os.path.lexists(self._root) and not os.path.isdir(self._root):
            raise CannotWrite(f"{quoted(self._shown)} is no directory here, and a directory is copied")
        os.makedirs(self._root, mode=0o755, exist_ok=True)

    def _walk(self, parent: Parts, *, make: bool) -> None:
        path = self._root
        for part in parent:
            path = os.path.join(path, part)
            if make:
                _make_directory(path, 0o755)
            elif not stat.S_ISDIR(os.lstat(path).st_mode):
                raise Refused(f"it leads through {quoted(path)}, which is no directory")

    # Files.

    def _file(self, archive: Reader, member: tarfile.TarInfo, parts: Parts) -> None:
        if parts:
            path = os.path.join(self._parent(parts), parts[-1])
        else:
            os.makedirs(os.path.dirname(self._root), mode=0o755, exist_ok=True)
            path = os.path.join(self._root, self._base) if os.path.isdir(self._root) else self._root
        places = extents(member)
        self._report.partial = path
        descriptor = _open_for_writing(path, 0o600 if self._modes else 0o666, special=not parts)
        try:
            plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            archive.begin(member)
            target = _Target(descriptor, plain=plain, digest=not parts and member.size <= self._digest_limit)
            self._copy(archive, target, member, places)
            self._note_digest(member, target)
            if plain:
                self._attributes(descriptor, member)
        finally:
            os.close(descriptor)

    def _copy(self, archive: Reader, target: _Target, member: tarfile.TarInfo, places: list[tuple[int, int]]) -> None:
        name = self._doing
        for start, length in (*places, (member.size, 0)):
            self._report.moved(start - target.done)
            target.skip(start - target.done)
            while target.done < start + length:
                self._doing = f"{name}: {target.done} of {member.size} bytes arrived"
                piece = archive.read(min(PIECE, start + length - target.done))
                target.write(piece)
                self._report.moved(len(piece))
        self._doing = name
        target.end()

    def _note_digest(self, member: tarfile.TarInfo, target: _Target) -> None:
        self.size, self.sha256 = member.size, target.hexdigest()
        if target.too_sparse:
            self._report.note(f"warning: {quoted(member.name)} is not verified: it has too large holes")

    def _attributes(self, where: int | str, member: tarfile.TarInfo) -> None:
        try:
            if self._modes:
                os.chmod(where, member.mode & 0o777)
            if self._times:
                os.utime(where, (member.mtime, member.mtime))
        except (OSError, OverflowError, ValueError) as error:
            self._report.note(f"warning: the mode or time of {quoted(member.name)} is not kept: {_cause(error)}")

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
            raise Refused(f"it leads to {quoted(member.linkname)}, and {refused}") from None
        source = os.path.join(self._root, *first)
        self._walk(first[:-1], make=False)
        if not stat.S_ISREG(os.lstat(source).st_mode):
            raise Refused(f"it leads to {quoted(member.linkname)}, which is no file")
        path = os.path.join(self._parent(parts), parts[-1])
        if path != source:
            _remove(path)
            os.link(source, path)


class _Target:
    """The file that is written, from its start to its end. `plain`: it may have holes. `done`: bytes so far.

    `too_sparse`: the checksum that was wanted is not computed.
    """

    def __init__(self, descriptor: int, *, plain: bool, digest: bool) -> None:
        self._descriptor = descriptor
        self._plain = plain
        self._sha256 = hashlib.sha256() if digest else None
        self._skipped = 0
        self._hole = False
        self.done = 0
        self.too_sparse = False

    def write(self, piece: bytes) -> None:
        """Write data. Raises OSError."""
        # Zeros are not written but left out: a sparse file stays sparse.
        self._hole = self._plain and piece == (_ZEROS if len(piece) == PIECE else _ZEROS[: len(piece)])
        if self._hole:
            os.lseek(self._descriptor, len(piece), os.SEEK_CUR)
        else:
            _write(self._descriptor, piece)
        if self._sha256 is not None:
            self._sha256.update(piece)
        self.done += len(piece)

    def skip(self, count: int) -> None:
        """Leave out so many bytes, which are zeros. Raises Refused where that would take for ever, OSError."""
        if not count:
            return
        self._skipped += count
        if self._skipped > _MAX_ZEROS:
            self.too_sparse = self.too_sparse or self._sha256 is not None
            self._sha256 = None
            if not self._plain:
                raise Refused("it consists of holes, and they cannot be written there")
        if self._plain:
            os.lseek(self._descriptor, count, os.SEEK_CUR)
            self._hole = True
        if self._sha256 is not None or not self._plain:
            self._zeros(count)
        self.done += count

    def _zeros(self, count: int) -> None:
        while count:
            piece = _ZEROS[: min(PIECE, count)]
            if not self._plain:
                _write(self._descriptor, piece)
            if self._sha256 is not None:
                self._sha256.update(piece)
            count -= len(piece)

    def end(self) -> None:
        """Give the file its size, if it ends in a hole. Raises OSError."""
        if self._hole:
            os.ftruncate(self._descriptor, self.done)

    def hexdigest(self) -> str:
        """The SHA-256 of everything, empty if it was not wanted, or would have taken for ever."""
        return self._sha256.hexdigest() if self._sha256 is not None else ""


def _what(member: tarfile.TarInfo) -> str:
    """`symlink: "a" -> "b"`, as kubectl names one, and the like."""
    if member.issym() or member.islnk():
        kind = "symlink" if member.issym() else "hard link"
        return f"{kind}: {quoted(member.name)} -> {quoted(member.linkname)}"
    kinds = {
        tarfile.CHRTYPE: "device",
        tarfile.BLKTYPE: "device",
        tarfile.FIFOTYPE: "pipe",
        tarfile.DIRTYPE: "directory",
    }
    return f"{kinds.get(member.type, 'file')}: {quoted(member.name)}"


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
            raise Refused(f"{quoted(path)} is a symbolic link here, and links are not written through") from None
        if not stat.S_ISDIR(found):
            raise Refused(f"{quoted(path)} is no directory here") from None
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
