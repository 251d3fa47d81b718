"""From a local tree to the archive that a container unpacks, in constant memory.

The format is GNU's: names are bytes as they are, long ones and large files are understood by GNU tar, busybox and
bsdtar alike (busybox ignores pax's). As from kubectl, a directory that holds something needs no entry of its own; here
it gets one where its mode is not the usual one.
"""

# Paths are texts here, as the names in an archive are: nothing may normalise them.
# ruff: noqa: PTH115, PTH118, PTH208

from __future__ import annotations

import functools
import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator

from rawkube._typing import IO, Any, NamedTuple, Protocol
from rawkube.gotext import one_line
from rawkube.remotecommand.copy_report import Report, quoted

_PIECE = 256 * 1024
_USUAL_MODE = 0o755
_ENCODING, _ERRORS = "utf-8", "surrogateescape"


class Writable(Protocol):
    """Where the bytes of an archive go."""

    def write(self, data: bytes, /) -> object:
        """Take all of it."""


class Entry(NamedTuple):
    """What becomes one member: its header, and the file that its data comes from, or None."""

    header: tarfile.TarInfo
    path: str
    file: IO[bytes] | None


class Packer:
    """Makes an archive of `source`, whose topmost member is called `name` (empty: only what the directory holds).

    `dereference`: what symbolic links lead to goes instead of them. `digest_limit`: the largest file that, copied
    alone, has its SHA-256 computed. What cannot be read is reported and left out.
    """

    def __init__(
        self, source: str, name: str, report: Report, *, dereference: bool = False, digest_limit: int = -1
    ) -> None:
        self._source = source
        self._name = name
        self._report = report
        self._stat = os.stat if dereference else os.lstat
        self._dereference = dereference
        self._digest_limit = digest_limit
        self._links: dict[tuple[int, int], str] = {}
        self.size = 0
        self.sha256 = ""

    def write(self, target: Writable) -> None:
        """Write the whole archive, its end included. Raises what writing raises."""
        archive = tarfile.open(  # noqa: SIM115 - closed below, or left as it is when writing failed
            fileobj=target,  # type: ignore[call-overload]
            mode="w|",
            bufsize=_PIECE,
            format=tarfile.GNU_FORMAT,
            encoding=_ENCODING,
            errors=_ERRORS,
            copybufsize=_PIECE,
        )
        stream: Any = archive.fileobj
        try:
            for entry in self._entries():
                self._report.begin(entry.header.name, entry.header.size)
                self._add(archive, entry)
                archive.members.clear()  # they would be kept for ever
            archive.close()
        finally:
            stream.closed = True  # or, when it is thrown away, it writes what it still has

    def measure(self) -> int:
        """How many bytes `write` writes, if nothing changes meanwhile. Reads no file."""
        quiet = Packer(self._source, self._name, Report(), dereference=self._dereference)
        total = 2 * tarfile.BLOCKSIZE
        for header, _, file in quiet._entries():
            if file is not None:
                file.close()
            total += len(header.tobuf(tarfile.GNU_FORMAT, _ENCODING, _ERRORS))
            total += -(-header.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
        return -(-total // tarfile.RECORDSIZE) * tarfile.RECORDSIZE

    def _add(self, archive: tarfile.TarFile, entry: Entry) -> None:
        if entry.file is None:
            archive.addfile(entry.header)
            return
        with entry.file as file:
            single = entry.path == self._source and entry.header.size <= self._digest_limit
            data = _Exactly(file, entry.header, self._report, digest=single)
            archive.addfile(entry.header, data)
            if single:
                self.size, self.sha256 = entry.header.size, data.hexdigest()

    # The tree.

    def _entries(self) -> Iterator[Entry]:
        """Everything, parents before what they hold, in the order of names."""
        waiting = [(self._source, self._name, frozenset[tuple[int, int]]())]
        while waiting:
            path, name, above = waiting.pop()
            try:
                found = self._stat(path)
                if not stat.S_ISDIR(found.st_mode):
                    yield from self._single(path, name, found)
                    continue
                here = (found.st_dev, found.st_ino)
                if here in above:
                    self._report.problem(f"warning: {quoted(path)} leads back to a directory that it is in, skipping")
                    continue
                inside = sorted(os.listdir(path), reverse=True)
            except OSError as error:
                self._report.problem(f"warning: cannot read {quoted(path)}: {_cause(error)}")
                continue
            if name and (not inside or stat.S_IMODE(found.st_mode) != _USUAL_MODE):
                yield Entry(_header(name, found, tarfile.DIRTYPE), path, None)
            passed = above | {here} if self._dereference else above
            waiting += [(os.path.join(path, each), f"{name}/{each}" if name else each, passed) for each in inside]

    def _single(self, path: str, name: str, found: os.stat_result) -> Iterator[Entry]:
        """What is no directory. Raises OSError."""
        if stat.S_ISLNK(found.st_mode):
            header = _header(name, found, tarfile.SYMTYPE)
            header.linkname = os.readlink(path)
            yield Entry(header, path, None)
        elif not stat.S_ISREG(found.st_mode):
            self._report.problem(f"warning: {quoted(path)} is no file, directory or link, skipping")
        elif (key := (found.st_dev, found.st_ino)) in self._links:
            header = _header(name, found, tarfile.LNKTYPE)
            header.linkname = self._links[key]
            yield Entry(header, path, None)
        else:
            # Not waiting for a writer, should a pipe have taken the file's place.
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            file = open(descriptor, "rb", buffering=0)  # noqa: SIM115, PTH123 - goes with the entry
            header = _header(name, os.fstat(descriptor), tarfile.REGTYPE)
            if found.st_nlink > 1:
                self._links[key] = name
            yield Entry(header, path, file)


class _Exactly:
    """Reads as many bytes as the header promises, whatever has become of the file since; zeros for what is missing."""

    def __init__(self, file: IO[bytes], header: tarfile.TarInfo, report: Report, *, digest: bool) -> None:
        self._file = file
        self._header = header
        self._report = report
        self._sha256 = hashlib.sha256() if digest else None
        self._done = 0
        self._short = False

    def read(self, size: int = -1, /) -> bytes:
        data = self._some(size)
        if len(data) < size:
            if not self._short:
                self._short = True
                count = f"{self._done + len(data)} of {self._header.size}"
                self._report.problem(
                    f"warning: {quoted(self._header.name)}: only {count} bytes could be read, the rest is zeros"
                )
            data += bytes(size - len(data))
        if self._sha256 is not None:
            self._sha256.update(data)
        self._done += size
        self._report.moved(size)
        return data

    def _some(self, size: int) -> bytes:
        """As many of `size` bytes as there are."""
        found = b""
        try:
            while not self._short and len(found) < size and (piece := self._file.read(size - len(found))):
                found += piece
        except OSError as error:
            self._report.note(f"warning: cannot read {quoted(self._header.name)}: {_cause(error)}")
        return found

    def hexdigest(self) -> str:
        """The SHA-256 of what was read."""
        return self._sha256.hexdigest() if self._sha256 is not None else ""


def _header(name: str, found: os.stat_result, kind: bytes) -> tarfile.TarInfo:
    """As Go's `tar.FileInfoHeader`: mode, owner by number and name, time in whole seconds."""
    header = tarfile.TarInfo(name)
    header.type = kind
    header.mode = stat.S_IMODE(found.st_mode)
    header.size = found.st_size if kind == tarfile.REGTYPE else 0
    header.mtime = int(found.st_mtime)
    header.uid, header.gid = found.st_uid, found.st_gid
    header.uname, header.gname = _user_name(found.st_uid), _group_name(found.st_gid)
    return header


@functools.cache
def _user_name(number: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError, OverflowError):
        return ""


@functools.cache
def _group_name(number: int) -> str:
    try:
        import grp

        return grp.getgrgid(number).gr_name
    except (ImportError, KeyError, OverflowError):
        return ""


def _cause(error: OSError) -> str:
    return one_line((error.strerror or str(error)).lower())
