"""Copies between here and a container, over `exec` and the container's own `tar`: what kubectl's `cp` does.

A copy has succeeded when the archive came to its end and the command's status says so; anything less is said. Nothing
here knows where commands run: `Opener` starts one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rawkube._typing import NamedTuple
from rawkube.errors import RawkubeError, TransportError, WaitTimeout
from rawkube.gotext import go_quote
from rawkube.remotecommand import copy_names as names
from rawkube.remotecommand.copy_archive import ArchiveCut
from rawkube.remotecommand.copy_pack import Packer
from rawkube.remotecommand.copy_report import Report
from rawkube.remotecommand.copy_unpack import Unpacker
from rawkube.remotecommand.protocols import STDERR, STDOUT, Protocol
from rawkube.remotecommand.remote import RemoteCommand
from rawkube.remotecommand.result import ExitCode, Failure, Result, Success

VERIFY_AT_ONCE = 64 * 1024 * 1024
"""Up to this size in bytes a single file is verified unless told otherwise: the container reads it once more."""

AUTO, ALWAYS, NEVER = "auto", "always", "never"

_MAX_OUTPUT = 64 * 1024
_MAX_REST = 16 * 1024 * 1024
_LONGEST_PAUSE = 30.0

Opener = Callable[[Sequence[str], bool], RemoteCommand]
"""Starts a command in the container. The second argument: whether it gets input."""


class Options(NamedTuple):
    """How to copy.

    `no_preserve`: do not keep owners and modes. `touch`: nor times. `dereference`: what symbolic links lead to goes
    instead of them. `retries`: how often a broken download is taken up again, negative for ever. `verify`: compare
    checksums of a single file: AUTO (up to VERIFY_AT_ONCE, or when the download was taken up again), ALWAYS, NEVER.
    """

    no_preserve: bool = False
    touch: bool = False
    dereference: bool = False
    retries: int = 0
    verify: str = AUTO


class Outcome(NamedTuple):
    """How a copy ended. `result`: of the container's `tar`; `problem`: what is wrong apart from that, or empty."""

    result: Result
    problem: str = ""


class NoSource(RawkubeError):
    """What is to be copied is not there."""


# Down.


def download(
    start: Opener, source: str, destination: str, options: Options, report: Report, sleep: Callable[[float], None]
) -> Outcome:
    """Copy `source` of the container to the local `destination`.

    What is refused or cannot be written is in `report`. Raises UpgradeRefused, TransportError, CannotWrite.
    """
    command = names.pack(source, dereference=options.dereference)
    unpacker = Unpacker(
        destination,
        names.clean(source).rpartition("/")[2],
        names.prefix_of(source),
        report,
        modes=not options.no_preserve,
        times=not options.touch,
        digest_limit=_digest_limit(options, in_doubt=options.retries != 0),
    )
    problem = ""
    with _Download(start, command, options.retries, report, sleep, lambda: unpacker.complete) as stream:
        try:
            unpacker.run(stream)
        except ArchiveCut as cut:
            problem = str(cut)
        result = stream.finish()
        resumed = stream.tries > 0
    if not report.entries and not problem and isinstance(result, Success):
        problem = "the archive that the container sent is empty"
    if not stream.came and not isinstance(result, Success):  # that says why
        problem = ""
    if isinstance(result, Success) and not problem and unpacker.sha256:
        problem = _verify(start, source, unpacker.size, unpacker.sha256, options, report, doubt=resumed)
    return Outcome(result, problem)


class _Download:
    """The output of a command as a file; taken up again where a broken connection has cut it."""

    def __init__(
        self,
        start: Opener,
        command: Sequence[str],
        retries: int,
        report: Report,
        sleep: Callable[[float], None],
        complete: Callable[[], bool],
    ) -> None:
        self._complete = complete
        self._start = start
        self._words = command
        self._retries = retries
        self._report = report
        self._sleep = sleep
        self._rest = memoryview(b"")
        self._position = self._last = 0
        self._pause = 0.0
        self.tries = 0
        self._command = start(command, False)

    def __enter__(self) -> _Download:
        return self

    def __exit__(self, *about: object) -> None:
        self._command.close()

    def read(self, size: int) -> bytes:
        """At most `size` bytes; b"" at the end. Raises UpgradeRefused, TransportError."""
        while not self._rest:
            output = self._command.receive()
            if output is None:
                if not self._resumes():
                    return b""
            elif output.channel == STDERR:
                self._report.remote(output.data)
            else:
                self._rest = memoryview(output.data)
        piece, self._rest = bytes(self._rest[:size]), self._rest[size:]
        self._position += len(piece)
        return piece

    @property
    def came(self) -> bool:
        """Whether anything of an archive has come."""
        return self._position > 0

    def finish(self) -> Result:
        """How the command ended; what it still has to say is heard first, unless it goes on saying it."""
        heard = 0
        while heard < _MAX_REST and (output := self._command.receive()) is not None:
            heard += len(output.data)
            if output.channel == STDERR:
                self._report.remote(output.data)
        self._command.close()
        return self._command.result

    def _resumes(self) -> bool:
        """Whether there is more to read, from another run of the command."""
        if self._complete() or not self._retries or isinstance(self._command.result, ExitCode | Failure):
            return False
        while self._retries < 0 or self.tries < self._retries:
            self.tries += 1
            self._wait()
            count = f"{self.tries}/{self._retries}" if self._retries > 0 else str(self.tries)
            self._report.note(f"Resuming copy at {self._position} bytes, retry {count}")
            try:
                self._command = self._start(names.resume(self._words, self._position), False)
            except TransportError as error:
                self._report.note(f"warning: {error}")
            else:
                return True
        self._report.note(f"Dropping out copy after {self.tries} retries")
        return False

    def _wait(self) -> None:
        """Not at all if the last run has brought something, else longer each time."""
        self._pause = 0.0 if self._position > self._last else min(max(1.0, self._pause * 2), _LONGEST_PAUSE)
        self._last = self._position
        if self._pause:
            self._sleep(self._pause)


# Up.


def upload(start: Opener, source: str, destination: str, options: Options, report: Report) -> Outcome:
    """Copy the local `source` to `destination` of the container, or into it where that is a directory.

    What cannot be read is in `report`. Raises NoSource, UpgradeRefused, TransportError.
    """
    check_source(source)
    if Path(source).is_symlink() and not options.dereference:
        report.note(f"{go_quote(source)} is a symbolic link, and is copied as one (-L copies what it leads to)")
    exists, protocol = _is_directory(start, destination)
    place = names.destination_in(destination, source) if exists else names.clean(destination)
    directory, name = names.split(place)
    packer = Packer(
        source,
        name,
        report,
        dereference=options.dereference,
        digest_limit=_digest_limit(options, in_doubt=False),
    )
    command = names.unpack(directory, no_preserve=options.no_preserve, touch=options.touch)
    result, problem = _send(start, command, packer, protocol, report)
    if isinstance(result, Success) and not problem and packer.sha256:
        problem = _verify(start, place, packer.size, packer.sha256, options, report)
    return Outcome(result, problem)


def _digest_limit(options: Options, *, in_doubt: bool) -> int:
    """Up to which size of a file its checksum is wanted."""
    if options.verify == NEVER:
        return -1
    return VERIFY_AT_ONCE if options.verify == AUTO and not in_doubt else sys.maxsize


def check_source(source: str) -> None:
    """Raises NoSource, in kubectl's words, if there is nothing to copy."""
    if not Path(source).exists():
        raise NoSource(f"{source} doesn't exist in local filesystem")


def _is_directory(start: Opener, path: str) -> tuple[bool, Protocol]:
    """Whether a path of the container is a directory, and the subprotocol that was spoken."""
    with start(["test", "-d", names.argument(path)], False) as command:
        _collect(command)
        result, protocol = command.result, command.protocol
    if isinstance(result, Success | ExitCode | Failure):
        return isinstance(result, Success), protocol
    raise TransportError(result.text)


def _send(
    start: Opener, command: Sequence[str], packer: Packer, protocol: Protocol, report: Report
) -> tuple[Result, str]:
    """Send the archive to the command; how that ended, and what else is wrong."""
    if protocol.half_close:
        running = start(command, True)
        if running.protocol.half_close:
            with running:
                return _pump(running, packer, report, None)
        running.close()  # another server, an older one
    size = packer.measure()
    with start(names.limited(command, size), True) as running:
        return _pump(running, packer, report, size)


def _pump(running: RemoteCommand, packer: Packer, report: Report, size: int | None) -> tuple[Result, str]:
    sink = _Upload(running, report, size)
    problem = early = ""
    try:
        packer.write(sink)
        sink.end()
    except _Ended:
        early = "the command in the container ended before it had everything"
    except _Grown:
        problem = "what is copied has grown meanwhile"
        running.close()
    while (output := running.receive()) is not None:
        if output.channel == STDERR:
            report.remote(output.data)
    result = running.result
    return result, problem or (early if isinstance(result, Success) else "")


class _Ended(Exception):
    """Nobody reads the archive any more."""


class _Grown(Exception):
    """The archive is longer than was measured."""


class _Upload:
    """The input of a command as a file. `size`: exactly so many bytes are sent, where the end cannot be told."""

    def __init__(self, command: RemoteCommand, report: Report, size: int | None) -> None:
        self._command = command
        self._report = report
        self._left = size
        self._over = False

    def write(self, data: bytes) -> int:
        """Send all of it. Raises _Ended if the command had ended before; _Grown."""
        if self._over:
            raise _Ended
        if self._left is not None:
            if len(data) > self._left:
                raise _Grown
            self._left -= len(data)
        self._command.write(data)
        self._listen()
        return len(data)

    def _listen(self) -> None:
        """Take what has come meanwhile."""
        try:
            while (output := self._command.receive(0)) is not None:
                if output.channel == STDERR:
                    self._report.remote(output.data)
        except WaitTimeout:
            return
        # Not an error yet: busybox's tar ends before it has the last zeros.
        self._over = True

    def end(self) -> None:
        """Tell the end of the input, or send as much as was announced."""
        if self._left is None:
            self._command.close_stdin()
        while self._left and not self._over:
            self.write(bytes(min(self._left, _MAX_OUTPUT)))


# Both.


def _collect(command: RemoteCommand) -> bytes:
    """What a command prints, up to a bound."""
    found = b""
    for channel, data in command:
        if channel == STDOUT and len(found) < _MAX_OUTPUT:
            found += data
    return found


def _verify(
    start: Opener,
    path: str,
    size: int,
    sha256: str,
    options: Options,
    report: Report,
    *,
    doubt: bool = False,
) -> str:
    """Compare the checksum of a file with that of the container's; what is wrong, or empty."""
    if options.verify == AUTO and size > VERIFY_AT_ONCE and not doubt:
        return ""
    try:
        with start(names.checksum(path, size), False) as command:
            theirs = names.read_checksum(_collect(command))
    except RawkubeError as error:
        if options.verify == ALWAYS:
            return f"the copy could not be verified: {error}"
        report.note(f"warning: the copy could not be verified: {error}")
        return ""
    if not theirs:
        return "the copy could not be verified: the container has no sha256sum" if options.verify == ALWAYS else ""
    if theirs != sha256:
        return f"the copy of {go_quote(path)} differs: SHA-256 {sha256} here, {theirs} in the container"
    return ""
