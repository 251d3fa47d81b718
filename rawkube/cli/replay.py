"""`rawkube replay FILE [FLAGS] -- COMMAND…`: a recorded API server, and a command that asks it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from rawkube.cli.commands import FIRST_WORDS
from rawkube.cli.flags import Parsed
from rawkube.cli.output import Output
from rawkube.errors import UsageError
from rawkube.gotext import one_line

if TYPE_CHECKING:
    from rawkube.observe.faults import Fault
    from rawkube.observe.replay import Replay

# A first word after `--` that is one of these is a command of rawkube, any other one a program.
RAWKUBE_COMMANDS = FIRST_WORDS

_LOOPBACK = ("127.0.0.1", "localhost")
_GRACE = 0.5
# What a terminal sends to all of its foreground processes by a key.
_FROM_TERMINAL = (signal.SIGINT, getattr(signal, "SIGQUIT", signal.SIGINT))
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


def replay(parsed: Parsed, out: Output) -> int:
    """`replay`: one recording, and the command behind `--`."""
    named = parsed.args if parsed.dash < 0 else parsed.args[: parsed.dash]
    command = [] if parsed.dash < 0 else parsed.args[parsed.dash :]
    if len(named) != 1:
        raise UsageError("replay takes one recording, and a command after --\nSee 'rawkube replay --help' for usage.")
    values = parsed.values
    return replay_command(
        named[0],
        parse_speed(values["speed"]),
        command,
        tls=values["tls"],
        loop=values["loop"],
        strict=values["strict"],
        faults=parse_faults(values["fault"]),
    )


def parse_speed(text: str) -> float | None:
    """The value of `--speed`: a number above 0, or `max` (None). Raises UsageError."""
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        raise UsageError(f'invalid argument "{text}" for "--speed" flag: a number above 0, or max')
    return speed


def parse_faults(texts: Sequence[str]) -> list[Fault]:
    """The values of `--fault`. Raises UsageError."""
    from rawkube.observe.faults import parse_fault

    found = []
    for text in texts:
        try:
            found.append(parse_fault(text))
        except ValueError as error:
            raise UsageError(
                f'invalid argument "{one_line(text)}" for "--fault" flag: {one_line(str(error))}'
            ) from None
    return found


def replay_command(
    file: str,
    speed: float | None,
    command: list[str] | None,
    *,
    tls: bool = False,
    loop: bool = False,
    strict: bool = False,
    faults: Sequence[Fault] = (),
    rawkube_commands: Collection[str] = RAWKUBE_COMMANDS,
) -> int:
    """Serve a recording (`speed`: None as fast as can be) while a command runs, or until Ctrl-C without one.

    Gives the command's exit code: 128+N where signal N killed it, 127 without such a program, 126 where it
    cannot be run; with `strict` 1 where something came that is not recorded. Raises RecordingError where the recording
    cannot be read, RawkubeError where there is no certificate for `tls`.
    """
    from rawkube.observe.replay import Replay

    server = Replay(file, speed=speed, tls=tls, loop=loop, strict=strict, faults=faults)
    if not command:
        return _afterwards(server, strict, _serve(server))
    argv = [*own_program(), *command] if command[0] in rawkube_commands else command
    with _Child() as child, server:
        code = child.run(argv, environment(os.environ, server.kubeconfig, server.folder))
    return _afterwards(server, strict, code)


def _afterwards(server: Replay, strict: bool, code: int) -> int:
    """Tell what became of faults, and, with `strict`, what is not as recorded; the exit code."""
    out = Output()
    for line in server.faults.report():
        out.note(one_line(line))
    refused = server.refused() if strict else []
    for line in refused:
        out.note(f"error: {line}")
    return 1 if refused else code


def own_program() -> list[str]:
    """How this very rawkube is run again, whatever Python files the current directory holds."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    code = (
        "import sys; home = sys.argv.pop(1); home in sys.path or sys.path.insert(0, home); "
        "from rawkube.__main__ import run; run()"
    )
    return [sys.executable, "-P", "-c", code, home]


def environment(environ: Mapping[str, str], kubeconfig: str, folder: str) -> dict[str, str]:
    """A command's environment: the replay's kubeconfig, a kubectl cache of its own, no proxy for loopback."""
    changed = {"KUBECONFIG": kubeconfig, "KUBECACHEDIR": os.path.join(folder, "cache")}  # noqa: PTH118
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [host.strip() for host in environ.get(name, "").split(",") if host.strip()]
        changed[name] = ",".join(dict.fromkeys((*hosts, *_LOOPBACK)))
    return {**environ, **changed}


def _serve(server: Replay) -> int:
    stopped = threading.Event()
    with _handling(_ENDING, lambda number, frame: stopped.set()), server:
        Output().write(f"export KUBECONFIG={shlex.quote(server.kubeconfig)}\n")
        stopped.wait()
    return 0


class _Child:
    """A command that gets the signals meant for it, while this process stays to clean up."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def __enter__(self) -> _Child:
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
    if threading.current_thread() is threading.main_thread():
        for name in names:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None:
                before[number] = signal.signal(number, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
