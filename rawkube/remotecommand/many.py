"""One command in many containers at once: each line of their output with the container's name before it.

A crew runs the commands; what they write comes in whole lines. A caller that stalls stalls the commands. There is no
input.
"""

from __future__ import annotations

import queue
from collections.abc import Generator, Iterator, Sequence

from rawkube._typing import NamedTuple
from rawkube.api.client import ApiClient
from rawkube.api.crew import Crew
from rawkube.errors import RawkubeError, WaitTimeout
from rawkube.gotext import one_line
from rawkube.remotecommand.call import ask
from rawkube.remotecommand.life_signs import Timing
from rawkube.remotecommand.protocols import OFFERED, STDERR, STDOUT, Protocol
from rawkube.remotecommand.remote import RemoteCommand
from rawkube.remotecommand.request import Streams
from rawkube.remotecommand.result import ExitCode, Result
from rawkube.remotecommand.target import Target

LONGEST_LINE = 256 * 1024
"""How much of one line is kept, in bytes, until its end has come: a longer one is broken there."""

PARALLEL = 4
"""How many commands run at once, unless the caller says otherwise."""

_WAITING = 32
# How soon a thread notices, in seconds, that it is to stop.
_LOOK = 0.2
_USUAL = Timing()


class Job(NamedTuple):
    """One container to run the command in. `label` stands before each line."""

    label: str
    target: Target


class Lines(NamedTuple):
    """Whole lines, labelled and each ended by a line feed. `channel`: 1 stdout, 2 stderr."""

    label: str
    channel: int
    data: bytes


class Ended(NamedTuple):
    """One of the commands is over: its `result`, or the `error` that kept it from running.

    With neither, nobody waited for its end.
    """

    label: str
    result: Result | None = None
    error: RawkubeError | None = None

    @property
    def exit_code(self) -> int:
        """The command's own code, or 1 where it did not run or its end is not known."""
        return self.result.exit_code if self.result is not None else 1

    @property
    def line(self) -> str:
        """How it failed, in one line (kubectl's); empty for success."""
        if self.result is not None:
            return self.result.line
        return f"error: {self.error or 'not finished'}"

    @property
    def brief(self) -> str:
        """How it failed, in a word or two."""
        if self.result is None and self.error is None:
            return "not finished"
        return f"exit code {self.result.code}" if isinstance(self.result, ExitCode) else "error"


class LineCutter:
    """Bytes in as they come, whole lines out, each behind a label. A carriage return is a byte as any other."""

    def __init__(self, label: str, longest: int = LONGEST_LINE) -> None:
        self._prefix = f"[{label}] ".encode("utf-8", "replace")
        self._longest = longest
        self._rest = bytearray()

    def feed(self, data: bytes) -> bytes:
        """The lines that are whole by now; one that is longer than it may be is broken."""
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = bytes(self._rest) + whole[0]
            self._rest.clear()
        self._rest += rest
        out = bytearray()
        for line in whole:
            self._add(out, line)
        while len(self._rest) > self._longest:
            self._add(out, bytes(self._rest[: self._longest]))
            del self._rest[: self._longest]
        return bytes(out)

    def end(self) -> bytes:
        """The last line, if it had no end."""
        out = bytearray()
        if self._rest:
            self._add(out, bytes(self._rest))
            self._rest.clear()
        return bytes(out)

    def _add(self, out: bytearray, line: bytes) -> None:
        for start in range(0, len(line) or 1, self._longest):
            out += self._prefix + line[start : start + self._longest] + b"\n"


def label_of(target: Target) -> str:
    """`POD`, or `POD/CONTAINER` where the pod has several containers, of whatever kind."""
    spec = target.pod_object.get("spec")
    found = [spec.get(kind) for kind in ("containers", "initContainers", "ephemeralContainers")] if spec else []
    several = sum(len(each) for each in found if isinstance(each, list)) > 1
    return one_line(f"{target.pod}/{target.container}" if several else target.pod)


def run_many(
    client: ApiClient,
    jobs: Sequence[Job],
    command: Sequence[str],
    *,
    parallel: int = PARALLEL,
    protocols: Sequence[Protocol] = OFFERED,
    timing: Timing = _USUAL,
) -> Generator[Lines | Ended, None, None]:
    """Run a command in each of these containers, at most `parallel` at once: lines as they come, and each one's end.

    Closing the iterator (or an exception inside its loop) ends what still runs: its connections are closed.
    """
    commands = _Commands(client, jobs, command, protocols, timing)
    with commands.crew as crew:
        for _ in range(min(parallel, len(jobs))):
            crew.add(None, commands.run)
        yield from crew.values()


class _Commands:
    """The commands: each thread of the crew takes the next one, until there is none."""

    def __init__(
        self,
        client: ApiClient,
        jobs: Sequence[Job],
        command: Sequence[str],
        protocols: Sequence[Protocol],
        timing: Timing,
    ) -> None:
        self.crew: Crew[None, Lines | Ended] = Crew(limit=_WAITING)
        self._client = client
        self._command = command
        self._protocols = protocols
        self._timing = timing
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        for job in jobs:
            self._jobs.put(job)

    def run(self) -> Iterator[Lines | Ended]:
        """What comes of one command after the other."""
        while True:
            self.crew.check()  # no command begins once nobody reads any more
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            try:
                yield Ended(job.label, (yield from self._one(job)))
            except RawkubeError as error:
                yield Ended(job.label, None, error)

    def _one(self, job: Job) -> Generator[Lines, None, Result]:
        upgraded = ask(self._client, job.target, self._command, Streams(), self._protocols)
        cutters = {channel: LineCutter(job.label) for channel in (STDOUT, STDERR)}
        # Left by an exception (nobody reads any more), the connection is closed in a hurry.
        with RemoteCommand(upgraded, stdin=False, timing=self._timing) as command:
            for channel, data in self._outputs(command):
                if lines := cutters[channel].feed(data):
                    yield Lines(job.label, channel, lines)
            for channel, cutter in cutters.items():
                if lines := cutter.end():
                    yield Lines(job.label, channel, lines)
            return command.result

    def _outputs(self, command: RemoteCommand) -> Iterator[tuple[int, bytes]]:
        while True:
            self.crew.check()
            try:
                output = command.receive(_LOOK)
            except WaitTimeout:
                continue
            if output is None:
                return
            yield output
