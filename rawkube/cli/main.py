"""The command line: which command, its output, and the one place that turns errors into text and a code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module

from rawkube.cli.command import Command
from rawkube.cli.commands import read_command
from rawkube.cli.flags import Parsed
from rawkube.cli.output import Output
from rawkube.errors import RawkubeError


def main(argv: Sequence[str], *, out: Output | None = None) -> int:
    """Run one command line (without the program's name) and give the exit code."""
    out = out or Output()
    try:
        command, parsed = read_command(argv)
        code = _run(command, parsed, out)
    except RawkubeError as error:
        out.errors([error])
        return 1
    except RecursionError:
        if os.environ.get("RAWKUBE_TRACEBACK"):
            raise
        out.errors([RawkubeError("what was read is nested too deeply")])
        return 1
    except Exception as error:
        if os.environ.get("RAWKUBE_TRACEBACK"):
            raise
        what = f"rawkube itself failed: {type(error).__name__}: {' '.join(str(error).split())}"
        out.errors([RawkubeError(what, detail=["please report this; RAWKUBE_TRACEBACK=1 shows where it was"])])
        return 1
    return code or _warnings_are_errors(parsed, out)


def _run(command: Command, parsed: Parsed, out: Output) -> int:
    if parsed.values["help"] or not command.run:
        from rawkube.cli.help import help_text

        out.write(help_text(command))
        # A command that only has commands below it was not told what to do: kubectl's help, and its code 1.
        return 1 if command.group and not parsed.values["help"] else 0
    module, _, name = command.run.partition(":")
    run = getattr(import_module(f"rawkube.cli.{module}"), name)
    if not command.connects:
        code: int = run(parsed, out)
        return code
    from rawkube.cli.connection import connector

    code = run(parsed, connector(parsed, out), out)
    return code


def _warnings_are_errors(parsed: Parsed, out: Output) -> int:
    if not parsed.values["warnings-as-errors"] or not out.warnings:
        return 0
    plural = "" if out.warnings == 1 else "s"
    out.errors([RawkubeError(f"{out.warnings} warning{plural} received")])
    return 1
