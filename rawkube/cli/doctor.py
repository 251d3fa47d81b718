"""`rawkube doctor`: a line for each check, as soon as it is known."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator

from rawkube._typing import TYPE_CHECKING
from rawkube.api.client import ApiClient
from rawkube.cli.connection import overrides
from rawkube.cli.output import Output, die_of
from rawkube.cli.text import escape
from rawkube.errors import ConfigError, TransportError, UsageError
from rawkube.gotext import go_quote
from rawkube.kubeconfig import access_from, kuberc
from rawkube.kubeconfig.load import home_directory
from rawkube.observe.doctor import CHECKS, Doctor
from rawkube.observe.doctor.facts import FAIL, Finding
from rawkube.observe.doctor.way import unconfigured
from rawkube.remotecommand.terminal import Stopped, StopSignals

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

_COLOURS = {"pass": "32", "warn": "33", "fail": "31;1", "unknown": "2"}
_RESULT, _CHECK = max(map(len, _COLOURS)), max(map(len, CHECKS))


def doctor(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`doctor`: 0 where nothing failed, else 1; 130 for Ctrl-C."""
    values = parsed.values
    if values["output"] not in ("", "text", "json"):
        raise UsageError(f'--output must be "text" or "json", not {go_quote(values["output"])}')
    show = _Lines(out) if values["output"] != "json" else _Array(out)
    code = 0
    try:
        with StopSignals():
            for finding in _findings(parsed, connect):
                code = code or int(finding.result == FAIL)
                show.finding(finding)
    except Stopped as stopped:
        if stopped.number != signal.SIGINT:
            die_of(stopped.number)
        code = 130
    show.end()
    return code


def _findings(parsed: Parsed, connect: Callable[[], ApiClient]) -> Iterator[Finding]:
    try:
        unusual = _unusual(parsed)
        client = connect()
    except (ConfigError, TransportError) as error:
        yield unconfigured(str(error), error.detail)
        return
    with client:
        yield from Doctor(client, unusual=unusual, pod=parsed.values["pod"], idle=float(parsed.values["idle"])).run()


def _unusual(parsed: Parsed) -> list[str]:
    from rawkube.cli.config_unusual import unusual

    found = access_from(parsed.values["kubeconfig"], overrides(parsed), environ=os.environ)
    preferences = kuberc.load(parsed.values["kuberc"], environ=os.environ, home=home_directory(os.environ))
    return unusual(found, preferences=preferences, now=time.time())


class _Lines:
    """For a person."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._coloured = out.coloured

    def finding(self, finding: Finding) -> None:
        word = finding.result.ljust(_RESULT)
        if self._coloured:
            word = f"\x1b[{_COLOURS[finding.result]}m{word}\x1b[0m"
        text = escape(f"{finding.check.ljust(_CHECK)}  {finding.seen}").replace("\n", "\\n")
        advice = f"  → {escape(finding.advice)}" if finding.advice else ""
        self._out.write(f"{word}  {text}{advice}\n")

    def end(self) -> None:
        """Nothing is left to say."""


class _Array:
    """For a program: one array, an element a line, whole even where it was stopped."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._count = 0

    def finding(self, finding: Finding) -> None:
        before = ",\n" if self._count else "[\n"
        fields = {**finding._asdict(), "seconds": round(finding.seconds, 6)}
        self._out.write(before + json.dumps(fields, ensure_ascii=False))
        self._count += 1

    def end(self) -> None:
        self._out.write("\n]\n" if self._count else "[]\n")
