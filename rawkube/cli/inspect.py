"""`rawkube inspect FILE`: a recording or HAR, shown; `--diff`: two of them, compared."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from rawkube._typing import TYPE_CHECKING, Any, BinaryIO
from rawkube.cli import inspect_files
from rawkube.cli.flags import Parsed
from rawkube.cli.output import Output, die_of
from rawkube.cli.text import escape
from rawkube.errors import RecordingError, UsageError
from rawkube.gotext import go_quote, one_line
from rawkube.observe.conversation import Happening
from rawkube.observe.inspect import STDIN, Inspected
from rawkube.observe.levels import LEVELS
from rawkube.observe.recording import SupportsReadline
from rawkube.observe.story import Exchange, Story, Wanted, channels_of, json_of, kinds_of, to_json
from rawkube.observe.summary import Summary, lines_of_summary
from rawkube.observe.trace import lines_of
from rawkube.remotecommand.terminal import Stopped, StopSignals

if TYPE_CHECKING:
    from rawkube.observe.compare import Comparison, Difference

_AT_ONCE = 64 * 1024
_LOOK_AGAIN = 0.1
_USAGE = "See 'rawkube inspect --help' for usage."


def inspect(parsed: Parsed, out: Output) -> int:
    """`inspect`: 0 shown or alike, 1 where two recordings differ, 130 for Ctrl-C. Raises RecordingError, UsageError."""
    wanted = _wanted(parsed)
    values = parsed.values
    if len(parsed.args) != 1:
        raise UsageError(f"inspect takes one recording\n{_USAGE}")
    if values["output"] not in ("", "text", "json"):
        raise UsageError(f'--output must be "text" or "json", not {go_quote(values["output"])}')
    (path,) = parsed.args
    if inspect_files.asked(values):
        return inspect_files.write(_taken(path, wanted, out), path, values, out)
    if values["diff"]:
        return _diff(parsed, path, values["diff"], out)
    shown = _Shown(out, wanted, values)
    if not values["follow"]:
        return shown.all_of(path)
    try:
        with StopSignals():
            return shown.all_of(path, follow=True)
    except Stopped as stopped:
        if stopped.number != signal.SIGINT:
            die_of(stopped.number)
        shown.finish()
        return 130


def _wanted(parsed: Parsed) -> Wanted:
    values = parsed.values
    if values["level"] not in LEVELS:
        raise UsageError(f"--level must be one of {', '.join(LEVELS)}, not {go_quote(values['level'])}")
    for number in values["conn"]:
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise UsageError(f"--conn {go_quote(number)}: the number of a connection")
    return Wanted(
        LEVELS.index(values["level"]),
        frozenset(int(number) for number in values["conn"]),
        channels_of(values["channel"]),
        kinds_of(values["type"]),
        values["path"],
    )


class _Shown:
    """What one file's conversation prints."""

    def __init__(self, out: Output, wanted: Wanted, values: dict[str, Any]) -> None:
        self._out = out
        self._wanted = wanted
        self._json = values["output"] == "json"
        self._only_summary = values["summary"]
        self._summary = Summary()
        self._held: list[str] = []
        self._size = 0
        self._at_once = values["follow"]

    def all_of(self, path: str, *, follow: bool = False) -> int:
        """To the end of the file, and the summary. What came before the damage of a file is shown."""
        inspected = Inspected(
            path, stdin=_stdin(), follow=_followed(path, self._out) if follow else None, on_bytes=self._passed
        )
        story = Story()
        with inspected:
            try:
                for happening in inspected:
                    self._add(happening, story.of(happening))
            except RecordingError:
                self._flush()
                raise
        self.finish()
        if inspected.cut:
            self._out.note(f"{one_line(inspected.name)} ends in the middle of a line: its writer was stopped")
        return 0

    def _passed(self, conn: int, t: float, side: str, size: int) -> None:
        if not self._wanted.path and (not self._wanted.conns or conn in self._wanted.conns):
            self._summary.passed(conn, t, side, size)

    def _add(self, happening: Happening, exchange: Exchange | None) -> None:
        if not self._wanted.takes(happening, exchange):
            return
        self._summary.add(happening, exchange)
        if self._only_summary or not self._wanted.shows(happening):
            return
        if self._json:
            self._print(json_of(happening, exchange, contents=self._wanted.level == len(LEVELS) - 1))
            return
        where = f"{happening.t:8.3f}  #{happening.conn} " if happening.conn else ""
        for line in _lines(happening, self._wanted.line_level):
            self._print(where + line)

    def finish(self) -> None:
        """The summary."""
        facts = self._summary.facts()
        if self._json:
            self._print(to_json({"kind": "summary", **facts}))
        else:
            if not self._only_summary:
                self._print("")
            for line in lines_of_summary(facts):
                self._print(line)
        self._flush()

    def _print(self, line: str) -> None:
        self._held.append(escape(line) + "\n")
        self._size += len(line)
        if self._at_once or self._size > _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        text, self._held, self._size = "".join(self._held), [], 0
        if text:
            self._out.write(text)


def _lines(happening: Happening, level: int) -> list[str]:
    data = happening.data
    if happening.kind == "recording":
        of = f" of {one_line(data['client'])}" if data["client"] else ""
        with_server = f" with {one_line(data['server'])}" if data["server"] else ""
        return [f"recording{of}{with_server}{': ' + one_line(data['note']) if data['note'] else ''}"]
    if happening.kind == "frame":
        arrow = "→" if happening.side == "client" else "←"
        return [f"{arrow} frame {data['opcode']} {data['size']} B{'' if data['final'] else ', to be continued'}"]
    return lines_of(happening, level)


def _stdin() -> BinaryIO:
    return sys.stdin.buffer


def _followed(path: str, out: Output) -> Callable[[BinaryIO], SupportsReadline]:
    """What follows a file; the standard input ends when it ends."""

    def follow(file: BinaryIO) -> SupportsReadline:
        return file if path == STDIN or not file.seekable() else _Growing(file, path, out)

    return follow


class _Growing:
    """A file to whose end lines are still written. It gives whole lines, and never ends."""

    def __init__(self, file: BinaryIO, path: str, out: Output) -> None:
        self._file = file
        self._path = path
        self._out = out
        self._begun = b""
        self._position = 0

    def readline(self, size: int = -1, /) -> bytes:
        while True:
            self._begun += self._file.readline(size if size < 0 else size - len(self._begun))
            if self._begun.endswith(b"\n") or len(self._begun) == size:
                line, self._begun = self._begun, b""
                self._position += len(line)
                return line
            self._wait()

    def _wait(self) -> None:
        time.sleep(_LOOK_AGAIN)
        if self._file.seek(0, 2) < self._position + len(self._begun):
            self._out.note(f"{one_line(self._path)} was emptied: from its beginning again")
            self._begun, self._position = b"", 0
        self._file.seek(self._position + len(self._begun))

    def close(self) -> None:
        self._file.close()


def _diff(parsed: Parsed, a: str, b: str, out: Output) -> int:
    from rawkube.observe.compare import compare, facts_of
    from rawkube.observe.compared import exchanges_of

    if parsed.values["follow"] or parsed.values["summary"]:
        raise UsageError("--diff compares whole recordings: not with --follow or --summary")
    if a == b == STDIN:
        raise UsageError("the standard input cannot be compared with itself")
    wanted = _wanted(parsed)
    comparison = compare(*(exchanges_of(_taken(path, wanted, out)) for path in (a, b)))
    if parsed.values["output"] == "json":
        lines: Iterable[str] = map(to_json, facts_of(comparison))
    else:
        lines = _lines_of_diff(comparison, a, b)
    out.write("".join(escape(line) + "\n" for line in lines))
    return 1 if comparison.differences else 0


def _taken(path: str, wanted: Wanted, out: Output) -> Iterator[Happening]:
    story = Story()
    with Inspected(path, stdin=_stdin()) as inspected:
        for happening in inspected:
            if wanted.takes(happening, story.of(happening)):
                yield happening
    if inspected.cut:
        out.note(f"{one_line(inspected.name)} ends in the middle of a line: its writer was stopped")


def _lines_of_diff(comparison: Comparison, a: str, b: str) -> Iterator[str]:
    from rawkube.observe.compare import sentence

    found = comparison.differences
    if found:
        yield f"{sentence(found[0])}."
        if len(found) > 1:
            yield f"That is the first of {len(found)} differences."
    else:
        yield f"Alike: {comparison.matched} exchanges."
    yield ""
    yield f"A  {one_line(a)}"
    yield f"B  {one_line(b)}"
    before: tuple[int, int] | None = None
    for one in found:
        if one.exchanges != before:
            yield ""
            yield f"{one.target}  ({_where(one)})"
            before = one.exchanges
        more = f", and in {len(one.also)} more exchange{'s' if len(one.also) > 1 else ''}" if one.also else ""
        yield f"  {one.what}{more}"
        yield f"    A  {one.a}"
        yield f"    B  {one.b}"
    if comparison.apart:
        yield ""
        yield "Not counted, since they differ by nature:"
        for name, mine, others in comparison.apart:
            yield f"  {name}: {mine} in A, {others} in B"


def _where(one: Difference) -> str:
    places = [f"{name} #{conn}" for name, conn in zip("AB", one.conns, strict=True) if conn]
    return f"{', '.join(places)}, at {one.t:.3f} s"
