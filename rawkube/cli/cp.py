"""`rawkube cp`: files between here and a container, what was not copied by name, and an exit code that tells."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube.api.arguments import Wanted
from rawkube.api.client import ApiClient
from rawkube.cli.output import Output, die_of
from rawkube.cli.sessions import offered_protocols
from rawkube.cli.sessions import timing as timing_of
from rawkube.errors import UsageError
from rawkube.gotext import one_line
from rawkube.remotecommand.call import ask
from rawkube.remotecommand.copy import (
    ALWAYS,
    AUTO,
    NEVER,
    Opener,
    Options,
    Outcome,
    check_source,
    download,
    upload,
)
from rawkube.remotecommand.copy_names import Spec, read_specs
from rawkube.remotecommand.copy_report import Report, quoted
from rawkube.remotecommand.remote import RemoteCommand
from rawkube.remotecommand.request import Streams
from rawkube.remotecommand.target import Target, find
from rawkube.remotecommand.terminal import Stopped, StopSignals

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

_REDRAW = 0.2
_MAX_WARNINGS = 20


def cp(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`cp`: 0 when everything is where it should be; else 1, or the code of the container's `tar`."""
    values = parsed.values
    source, destination = read_specs(parsed.args)
    offered = offered_protocols(values["protocol"])
    options = _options(parsed)
    if destination.pod:
        check_source(source.path)
    timing = timing_of(values)
    report = Shown(out, time.monotonic)
    with connect() as client:
        target = _target(client, source if source.pod else destination, values["container"])
        if target.notice and not values["quiet"]:
            out.note(target.notice)

        def start(command: Sequence[str], stdin: bool) -> RemoteCommand:
            return RemoteCommand(
                ask(client, target, command, Streams(stdin=stdin), offered), stdin=stdin, timing=timing
            )

        try:
            with StopSignals():
                outcome = _copy(start, source, destination, options, report)
        except Stopped as stopped:
            report.end()
            report.interrupted()
            if stopped.number == signal.SIGINT:
                return 130
            die_of(stopped.number)
        finally:
            report.end()
    return _finish(outcome, report, out)


def _options(parsed: Parsed) -> Options:
    values = parsed.values
    if values["verify"] not in (AUTO, ALWAYS, NEVER):
        raise UsageError(f'--verify must be "auto", "always" or "never", not "{values["verify"]}"')
    return Options(
        no_preserve=values["no-preserve"],
        touch=values["touch"],
        dereference=values["dereference"],
        retries=values["retries"],
        verify=values["verify"],
    )


def _target(client: ApiClient, spec: Spec, container: str) -> Target:
    namespace = spec.namespace or client.access.namespace
    return find(client, Wanted("pods", spec.pod), namespace=namespace, container=container)


def _copy(start: Opener, source: Spec, destination: Spec, options: Options, report: Report) -> Outcome:
    if source.pod:
        return download(start, source.path, destination.path, options, report, time.sleep)
    return upload(start, source.path, destination.path, options, report)


def _finish(outcome: Outcome, report: Report, out: Output) -> int:
    if outcome.problem:
        out.note(f"error: {outcome.problem}")
    if outcome.result.line:
        out.note(outcome.result.line)
    elif report.problems and not outcome.problem:
        plural = "" if report.problems == 1 else "s"
        out.note(f"error: not everything was copied: {report.problems} problem{plural}, {report.entries} entries")
    return outcome.result.exit_code or int(bool(outcome.problem or report.problems))


class Shown(Report):
    """A report that is shown on stderr: lines as they come, and, on a terminal, how far the copy is."""

    def __init__(self, out: Output, clock: Callable[[], float]) -> None:
        super().__init__()
        self._out = out
        self._clock = clock
        self._started = self._drawn = clock()
        self._line = b""
        self._name = ""
        self._size = self._done = 0
        self._terminal = sys.stderr.fileno() if _is_terminal() else -1
        self._visible = False
        self._warnings = 0

    def begin(self, name: str, size: int) -> None:
        """An entry is begun."""
        super().begin(name, size)
        if self._terminal >= 0:
            self._name, self._size, self._done = name, size, 0
            self._draw()

    def moved(self, count: int) -> None:
        """So many bytes of the entry have gone over."""
        super().moved(count)
        if self._terminal >= 0:
            self._done += count
            self._draw()

    def note(self, text: str) -> None:
        """One line for a person; of the warnings, the first ones."""
        if text.startswith("warning: "):
            self._warnings += 1
            if self._warnings > _MAX_WARNINGS:
                return
        self._show(text)

    def _show(self, text: str) -> None:
        self.clear()
        self._out.note(one_line(text))

    def interrupted(self) -> None:
        """The user has stopped it: what is not whole is named."""
        what = f"{quoted(self.partial)} is only partly written" if self.partial else "not everything was copied"
        self._show(f"interrupted: the copy is incomplete: {what}")

    def remote(self, data: bytes) -> None:
        """What the container has said, line by line: it names files as the container pleases."""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._show(line.decode("utf-8", "replace"))
        if len(self._line) > 4096:
            self._end_line()

    def _end_line(self) -> None:
        line, self._line = self._line, b""
        if line:
            self._show(line.decode("utf-8", "replace"))

    def end(self) -> None:
        """Nothing more comes."""
        self.clear()
        self._end_line()
        more, self._warnings = self._warnings - _MAX_WARNINGS, 0
        if more > 0:
            self._show(f"... and {more} more warnings")

    def clear(self) -> None:
        """Take the line that shows how far it is away."""
        if self._visible:
            self._visible = False
            self._raw("\r\x1b[K")

    def _draw(self) -> None:
        now = self._clock()
        if now - self._drawn < _REDRAW:
            return
        self._drawn = now
        self._visible = True
        self._raw("\r" + progress_line(self._name, self._done, self._size, self.bytes, now - self._started, _width()))

    def _raw(self, text: str) -> None:
        try:
            os.write(self._terminal, text.encode("utf-8", "replace"))
        except OSError:
            pass


def progress_line(name: str, done: int, size: int, total: int, seconds: float, width: int) -> str:
    """`12.3 MiB, 4.1 MiB/s, 45% of a.bin`, cut to the width, and what clears the rest of the line. Pure."""
    name = name.rstrip("/").rpartition("/")[2]
    part = f"{done * 100 // size}% of " if size else ""
    rate = total / seconds if seconds > 0 else 0.0
    text = f"{size_text(total)}, {size_text(rate)}/s, {part}{one_line(name)}"
    return f"{text[: max(0, width - 1)]}\x1b[K"


def size_text(count: float) -> str:
    """`512 B`, `1.5 KiB`, `3.2 GiB`. Pure."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM", "") != "dumb"
    except (AttributeError, ValueError):
        return False


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
