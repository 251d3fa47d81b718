"""The command line: which command, its output, and the one place that turns errors into text and a code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from rawkube.cli.commands import Command, find_topic, read_command
from rawkube.cli.flags import Parsed
from rawkube.cli.output import Output
from rawkube.errors import RawkubeError, UsageError


def main(argv: Sequence[str], *, out: Output | None = None) -> int:
    """Run one command line (without the program's name) and give the exit code."""
    out = out or Output()
    try:
        command, parsed = read_command(argv)
        code = _run(command, parsed, out)
    except RawkubeError as error:
        out.errors([error])
        return 1
    except Exception as error:
        if os.environ.get("RAWKUBE_TRACEBACK"):
            raise
        what = f"rawkube itself failed: {type(error).__name__}: {' '.join(str(error).split())}"
        out.errors([RawkubeError(what, detail=["please report this; RAWKUBE_TRACEBACK=1 shows where it was"])])
        return 1
    return code or _warnings_are_errors(parsed, out)


def _run(command: Command, parsed: Parsed, out: Output) -> int:
    words = " ".join(command.words)
    if parsed.values["help"] or words not in _COMMANDS:
        _help(command, out)
        # A command that only has commands below it was not told what to do: kubectl's help, and its code 1.
        return 1 if words == "rollout" and not parsed.values["help"] else 0
    return _COMMANDS[words](parsed, out)


def _help(command: Command, out: Output) -> None:
    from rawkube.cli.help import help_text

    out.write(help_text(command))


def _rollout_status(parsed: Parsed, out: Output) -> int:
    from rawkube.cli.connection import connector
    from rawkube.cli.rollout import rollout_status

    return rollout_status(parsed, connector(parsed, out), out)


def _exec(parsed: Parsed, out: Output) -> int:
    from rawkube.cli.connection import connector
    from rawkube.cli.exec import exec_command

    if "parallel" in parsed.given or "selector" in parsed.given:
        from rawkube.cli.exec_many import exec_many

        return exec_many(parsed, connector(parsed, out), out)
    return exec_command(parsed, connector(parsed, out), out)


def _attach(parsed: Parsed, out: Output) -> int:
    from rawkube.cli.attach import attach
    from rawkube.cli.connection import connector

    return attach(parsed, connector(parsed, out), out)


def _cp(parsed: Parsed, out: Output) -> int:
    from rawkube.cli.connection import connector
    from rawkube.cli.cp import cp

    return cp(parsed, connector(parsed, out), out)


def _replay(parsed: Parsed, out: Output) -> int:
    from rawkube.cli.replay import parse_speed, replay_command

    named = parsed.args if parsed.dash < 0 else parsed.args[: parsed.dash]
    command = [] if parsed.dash < 0 else parsed.args[parsed.dash :]
    if len(named) != 1:
        raise UsageError("replay takes one recording, and a command after --\nSee 'rawkube replay --help' for usage.")
    return replay_command(named[0], parse_speed(parsed.values["speed"]), command)


def _version(parsed: Parsed, out: Output) -> int:
    from rawkube.cli.version import version

    return version(parsed, out)


def _help_topic(parsed: Parsed, out: Output) -> int:
    _help(find_topic(parsed.args), out)
    return 0


_COMMANDS: dict[str, Callable[[Parsed, Output], int]] = {
    "rollout status": _rollout_status,
    "exec": _exec,
    "attach": _attach,
    "cp": _cp,
    "replay": _replay,
    "version": _version,
    "help": _help_topic,
}


def _warnings_are_errors(parsed: Parsed, out: Output) -> int:
    if not parsed.values["warnings-as-errors"] or not out.warnings:
        return 0
    plural = "" if out.warnings == 1 else "s"
    out.errors([RawkubeError(f"{out.warnings} warning{plural} received")])
    return 1
