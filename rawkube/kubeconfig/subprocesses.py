"""Running a program for what it prints, in a bounded time, and ending it with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from rawkube._threads import in_main_thread
from rawkube._typing import IO
from rawkube.gotext import one_line
from rawkube.kubeconfig.signals import Deferred, FatalSignals

GRACE = 0.5
"""Seconds that a program has after SIGTERM; and that its output may stay open when it has ended."""
_LOOK = 0.1
_PIECE = 65536


class NotStarted(Exception):
    """The program could not be started; the text is Go's (`fork/exec F: permission denied`)."""


class TooLong(Exception):
    """It ran for longer than it may, and was ended."""


class TooMuch(Exception):
    """It printed more than it may, and was ended."""


def run(
    argv: Sequence[str], file: str, env: Mapping[str, str], *, stdin: bool, timeout: float, limit: int
) -> tuple[int, bytes]:
    """(exit code, stdout) of a program; the code is negative where a signal ended it.

    `file`: what is executed. `stdin`: whether it gets this process's, else it gets none. `timeout`: seconds, 0 for
    no limit. `limit`: bytes of output. However this ends, the program has ended too. Raises NotStarted, TooLong,
    TooMuch.
    """
    started: list[tuple[subprocess.Popen[bytes], bool]] = []
    with FatalSignals():
        try:
            with Deferred():
                started.append(_start(argv, file, env, stdin))
            ((process, _),) = started
            output = _Output(process.stdout, limit)
            output.wait(process, timeout)
            output.wait_for_end(process, timeout)
            return process.returncode, output.content()
        finally:
            for process, alone in started:
                if process.poll() is None:
                    _end(process, alone)


def _start(argv: Sequence[str], file: str, env: Mapping[str, str], stdin: bool) -> tuple[subprocess.Popen[bytes], bool]:
    """The started program, and whether it has a process group of its own.

    It has none where there is a terminal: a program in the background could not ask there, and Ctrl-C would not
    reach it. And none in another thread than the main one, where nobody would end it with this process.
    """
    if any("\0" in name + value for name, value in env.items()):
        raise NotStarted("exec: environment variable contains NUL")
    alone = os.name == "posix" and in_main_thread() and not _has_terminal()
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's kubeconfig names it
            list(argv),
            executable=file,
            env=dict(env),
            stdin=None if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0 if alone else None,
        )
    except OSError as error:
        raise NotStarted(f"fork/exec {one_line(file)}: {(error.strerror or '').lower()}") from None
    except ValueError:  # NUL in an argument
        raise NotStarted(f"fork/exec {one_line(file)}: invalid argument") from None
    return process, alone


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        return False
    return True


class _Output:
    """The stdout of a process, read in a thread (a pipe cannot be waited for everywhere)."""

    def __init__(self, pipe: IO[bytes] | None, limit: int) -> None:
        self._pipe = pipe
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._started = time.monotonic()
        self._reader = threading.Thread(target=self._read, name="plugin output", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._pipe is not None
        # The thread closes what it reads: something that the program left behind may keep it waiting for long.
        with self._pipe as pipe:
            while self._size <= self._limit and (piece := pipe.read(_PIECE)):
                self._pieces.append(piece)
                self._size += len(piece)

    def content(self) -> bytes:
        return b"".join(self._pieces)

    def wait(self, process: subprocess.Popen[bytes], timeout: float) -> None:
        """Until the end of the output; or shortly after the end of the process, if something that it left behind
        keeps the pipe open."""
        while True:
            self._reader.join(_LOOK)
            if not self._reader.is_alive():
                break
            if process.poll() is not None:
                self._reader.join(GRACE)
                break
            self._check_time(timeout)
        if self._size > self._limit:
            raise TooMuch

    def wait_for_end(self, process: subprocess.Popen[bytes], timeout: float) -> None:
        """Until the end of a process that has closed its stdout, which is when most end."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK)
                return
            self._check_time(timeout)

    def _check_time(self, timeout: float) -> None:
        if timeout and time.monotonic() - self._started >= timeout:
            raise TooLong


def _end(process: subprocess.Popen[bytes], alone: bool) -> None:
    """Ends a process and what it started: SIGTERM, then SIGKILL."""
    if os.name != "posix":
        process.kill()
        process.wait(GRACE)
        return
    members = [] if alone else _descendants(process.pid)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if alone:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        else:
            if process.poll() is None:
                process.send_signal(number)
            for member in members:
                _signal(member, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)


def _signal(member: tuple[int, str], number: int) -> None:
    if _stat(member[0])[1] == member[1]:  # else another process has that number now
        with suppress(ProcessLookupError, PermissionError):
            os.kill(member[0], number)


def _descendants(pid: int) -> list[tuple[int, str]]:
    """(pid, time of its start) of every process below one, where there is /proc; else none."""
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []
    parents = {one: _stat(one) for one in pids}
    found: dict[int, str] = {}
    above = {pid}
    while above:
        below = {one for one, (parent, _) in parents.items() if parent in above and one not in found}
        found.update({one: parents[one][1] for one in below})
        above = below
    return list(found.items())


def _stat(pid: int) -> tuple[int, str]:
    """(parent, time of its start), (0, "") if there is no such process (proc(5))."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0, ""
    return int(fields[1]), fields[19].decode("ascii", "replace")
