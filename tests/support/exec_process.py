"""Runs `exec` as a process: with pipes and files on its streams, or in a pseudo terminal of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from tests.support.run import LONG, environment, kubectl_command, rawkube_command, without_klog

KUBECTL, RAWKUBE = "kubectl", "rawkube"
Stream = int | IO[Any] | None


class Ended(NamedTuple):
    """What a command left; `code` is negative where a signal ended it."""

    stdout: bytes
    stderr: str
    code: int
    seconds: float = 0.0

    @property
    def last(self) -> str:
        """The last line of stderr."""
        lines = self.stderr.splitlines()
        return lines[-1] if lines else ""


def command_of(program: str) -> list[str]:
    return kubectl_command() if program == KUBECTL else rawkube_command()


@contextlib.contextmanager
def signals_reach_commands() -> Iterator[None]:
    """What the tests' own parent ignores (a background job, nohup) is not ignored by a command."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    ignored = [number for number in ending if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


class Running:
    """A started `exec`. Killed at the end of its block, if it still runs."""

    def __init__(
        self,
        args: Sequence[str],
        *,
        url: str,
        home: Path,
        program: str = RAWKUBE,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = subprocess.PIPE,
        stderr: Stream = subprocess.PIPE,
        wrapper: Sequence[str] = (),
        command: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*wrapper, *(command or command_of(program)), "exec", *args],
            env=environment(home, url, **(env or {})),
            cwd=home,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()
        self.process.wait()

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout
        return self.process.stdout

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, stdin: bytes | None = None, timeout: float = LONG) -> Ended:
        """The end of it; AssertionError with what was said so far when it does not come in time."""
        try:
            out, err = self.process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"still running after {timeout} s; {(out or b'')[-300:]!r} {err!r}") from None
        said = without_klog((err or b"").decode())
        return Ended(out or b"", said, self.process.returncode, time.monotonic() - self.started)


def run_exec(
    *args: str,
    url: str,
    home: Path,
    program: str = RAWKUBE,
    stdin: bytes | Stream = subprocess.DEVNULL,
    timeout: float = LONG,
    **env: str,
) -> Ended:
    """Run to the end; `stdin`: bytes come through a pipe."""
    data = stdin if isinstance(stdin, bytes) else None
    given: Stream = subprocess.PIPE if isinstance(stdin, bytes) else stdin
    with Running(args, url=url, home=home, program=program, stdin=given, env=env) as running:
        return running.wait(data, timeout)


class Terminal:
    """A pseudo terminal. `person`: what is typed on and looked at; `program`: what the command has."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        self.person, self.program = pty.openpty()
        self.shown = b""
        self.resize(columns, lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.program)
        os.close(self.person)

    def resize(self, columns: int, lines: int) -> None:
        """As a window manager does it; the kernel tells the foreground processes (SIGWINCH)."""
        fcntl.ioctl(self.person, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def attributes(self) -> list[Any]:
        return termios.tcgetattr(self.program)

    def is_raw(self) -> bool:
        return not self.attributes()[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def type(self, data: bytes) -> None:
        os.write(self.person, data)

    def look_for(self, text: bytes, timeout: float = LONG) -> bytes:
        """Everything shown up to and with a text; AssertionError when it does not come."""
        end = time.monotonic() + timeout
        while text not in self.shown:
            ready, _, _ = select.select([self.person], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} was not shown, only {self.shown!r}"
            self.shown += os.read(self.person, 65536)
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def rest(self) -> bytes:
        """What was shown by now and not yet looked at."""
        while select.select([self.person], [], [], 0)[0]:
            self.shown += os.read(self.person, 65536)
        shown, self.shown = self.shown, b""
        return shown

    def run(
        self,
        *args: str,
        url: str,
        home: Path,
        program: str = RAWKUBE,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        command: Sequence[str] = (),
    ) -> Running:
        """Start `exec` with this terminal as its controlling one and on all streams, except where others are given."""
        # setsid --ctty: the terminal becomes the controlling one of a new session.
        return Running(
            args,
            url=url,
            home=home,
            program=program,
            stdin=self.program if stdin is None else stdin,
            stdout=self.program if stdout is None else stdout,
            stderr=self.program if stderr is None else stderr,
            wrapper=_in_session(self.program),
            command=command,
        )


def _in_session(descriptor: int) -> list[str]:
    """A wrapper that makes the terminal the controlling one of a new session, then becomes the command."""
    name = os.ttyname(descriptor)
    code = (
        "import fcntl, os, sys, termios; os.setsid(); t = os.open(sys.argv[1], os.O_RDWR); "
        "fcntl.ioctl(t, termios.TIOCSCTTY, 0); os.close(t); os.execvp(sys.argv[2], sys.argv[2:])"
    )
    return [sys.executable, "-I", "-S", "-c", code, name]
