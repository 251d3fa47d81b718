"""`rawkube replay FILE [FLAGS] -- COMMAND…`: a recorded API server, and a command that asks it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube.cli.flags import Parsed
from rawkube.cli.output import Output
from rawkube.cli.running import RAWKUBE_COMMANDS, environment, own_program, run_with
from rawkube.errors import UsageError
from rawkube.gotext import one_line

if TYPE_CHECKING:
    from rawkube.observe.faults import Fault
    from rawkube.observe.replay import Replay

__all__ = ["environment", "own_program", "parse_faults", "parse_speed", "replay", "replay_command"]


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
    return _afterwards(server, strict, run_with(server, command, rawkube_commands=rawkube_commands))


def _afterwards(server: Replay, strict: bool, code: int) -> int:
    """Tell what became of faults, and, with `strict`, what is not as recorded; the exit code."""
    out = Output()
    for line in server.faults.report():
        out.note(one_line(line))
    refused = server.refused() if strict else []
    for line in refused:
        out.note(f"error: {line}")
    return 1 if refused else code
