"""A server on loopback, and the command that runs with it: its environment, its signals, its exit code."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType, TracebackType

from rawkube._threads import in_main_thread
from rawkube._typing import Protocol
from rawkube.cli.commands import FIRST_WORDS
from rawkube.cli.output import Output
from rawkube.gotext import one_line

# A first word after `--` that is one of these is a command of rawkube, any other one a program.
RAWKUBE_COMMANDS = FIRST_WORDS

_LOOPBACK = ("127.0.0.1", "localhost")
_GRACE = 0.5
# What a terminal sends to all of its foreground processes by a key.
_FROM_TERMINAL = (signal.SIGINT, getattr(signal, "SIGQUIT", signal.SIGINT))
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


class Served(Protocol):
    """A server that serves while it is entered; the rest is known from then on."""

    kubeconfig: str

    @property
    def folder(self) -> str:
        """A private directory."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


def run_with(
    server: Served,
    command: Sequence[str] | None,
    *,
    environ: Mapping[str, str] = os.environ,
    rawkube_commands: Collection[str] = RAWKUBE_COMMANDS,
) -> int:
    """Serve while a command runs, or until Ctrl-C without one.

    Gives the command's exit code: 128+N where signal N killed it, 127 without such a program, 126 where it
    cannot be run.
    """
    if not command:
        return serve(server)
    argv = [*own_program(), *command] if command[0] in rawkube_commands else command
    with Child() as child, server:
        return child.run(argv, environment(environ, server.kubeconfig, server.folder))


def own_program() -> list[str]:
    """How this very rawkube is run again, whatever Python files the current directory holds."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    code = (
        "import sys; home = sys.argv.pop(1); home in sys.path or sys.path.insert(0, home); "
        "from rawkube.__main__ import run; run()"
    )
    return [sys.executable, "-P", "-c", code, home]


def environment(environ: Mapping[str, str], kubeconfig: str, folder: str) -> dict[str, str]:
    """A command's environment: the server's kubeconfig, a kubectl cache of its own, no proxy for loopback."""
    changed = {"KUBECONFIG": kubeconfig, "KUBECACHEDIR": os.path.join(folder, "cache")}  # noqa: PTH118
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [host.strip() for host in environ.get(name, "").split(",") if host.strip()]
        changed[name] = ",".join(dict.fromkeys((*hosts, *_LOOPBACK)))
    return {**environ, **changed}


def serve(server: Served) -> int:
    """Print the kubeconfig to use, and serve until a signal."""
    stopped = threading.Event()
    with _handling(_ENDING, lambda number, frame: stopped.set()), server:
        Output().write(f"export KUBECONFIG={shlex.quote(server.kubeconfig)}\n")
        stopped.wait()
    return 0


class Child:
    """A command that gets the signals meant for it, while this process stays to clean up."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def __enter__(self) -> Child:
        self._handling = _handling(_ENDING, self._signalled)
        self._handling.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._handling.__exit__(None, None, None)

    def run(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command to its end; its exit code as a shell tells it."""
        if self._early:
            return 128 + self._early[0]
        try:
            self._process = subprocess.Popen(argv, env=env)  # noqa: S603 - running it is what was asked for
        except OSError as error:
            return _not_run(argv[0], error)
        for number in self._early:
            self._pass_on(number)
        code = self._process.wait()
        return 128 - code if code < 0 else code

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        elif number not in _FROM_TERMINAL:
            self._pass_on(number)
        elif not _in_foreground():
            # Whoever signals a whole group has reached the command too: it gets the time to end by itself.
            timer = threading.Timer(_GRACE, self._pass_on, (number,))
            timer.daemon = True
            timer.start()

    def _pass_on(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)


def _not_run(program: str, error: OSError) -> int:
    name = one_line(program)
    if isinstance(error, FileNotFoundError):
        where = "" if os.sep in program else " in $PATH"
        print(f'error: exec: "{name}": executable file not found{where}', file=sys.stderr)
        return 127
    print(f'error: exec: "{name}": {(error.strerror or str(error)).lower()}', file=sys.stderr)
    return 126


def _in_foreground() -> bool:
    """Whether a terminal's Ctrl-C reaches this process and its children alike."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


@contextmanager
def _handling(names: Sequence[str], handler: object) -> Iterator[None]:
    """Handle signals meanwhile. Only the main thread can."""
    before = {}
    if in_main_thread():
        for name in names:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None:
                before[number] = signal.signal(number, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
