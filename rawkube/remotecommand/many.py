"""One command in many containers at once: each line of their output with the container's name before it.

Threads run the commands and put whole lines into one bounded queue, which the caller empties: a caller that stalls
stalls the commands. There is no input.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Iterator, Sequence

from rawkube._typing import NamedTuple
from rawkube.api.client import ApiClient
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
_STOPPING = 3.0
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
    crew = _Crew(client, jobs, command, protocols, timing)
    crew.start(min(parallel, len(jobs)))
    try:
        running = len(jobs)
        while running:
            item = crew.results.get()
            if isinstance(item, BaseException):
                raise item
            running -= isinstance(item, Ended)
            yield item
    finally:
        crew.stop()


class _Stopping(BaseException):
    """Nobody wants to know any more: no `Exception`, so that the connection is closed in a hurry."""


class _Crew:
    """The threads. What one of them did not expect, it hands over as an exception."""

    def __init__(
        self,
        client: ApiClient,
        jobs: Sequence[Job],
        command: Sequence[str],
        protocols: Sequence[Protocol],
        timing: Timing,
    ) -> None:
        self.results: queue.Queue[Lines | Ended | BaseException] = queue.Queue(_WAITING)
        self._client = client
        self._command = command
        self._protocols = protocols
        self._timing = timing
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        for job in jobs:
            self._jobs.put(job)

    def start(self, count: int) -> None:
        # Daemons: one that hangs in a connection attempt must not keep the process.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        end = time.monotonic() + _STOPPING
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                self._put(self._end_of(self._jobs.get_nowait()))
        except (queue.Empty, _Stopping):
            pass
        except BaseException as error:
            self._hand_over(error)

    def _hand_over(self, error: BaseException) -> None:
        try:
            self._put(error)
        except _Stopping:
            pass

    def _put(self, item: Lines | Ended | BaseException) -> None:
        while not self._stopping.is_set():
            try:
                self.results.put(item, timeout=_LOOK)
                return
            except queue.Full:
                pass
        raise _Stopping

    def _end_of(self, job: Job) -> Ended:
        try:
            return Ended(job.label, self._run(job))
        except RawkubeError as error:
            return Ended(job.label, None, error)

    def _run(self, job: Job) -> Result:
        upgraded = ask(self._client, job.target, self._command, Streams(), self._protocols)
        cutters = {channel: LineCutter(job.label) for channel in (STDOUT, STDERR)}
        with RemoteCommand(upgraded, stdin=False, timing=self._timing) as command:
            for channel, data in self._outputs(command):
                self._tell(job.label, channel, cutters[channel].feed(data))
            for channel, cutter in cutters.items():
                self._tell(job.label, channel, cutter.end())
            return command.result

    def _outputs(self, command: RemoteCommand) -> Iterator[tuple[int, bytes]]:
        while not self._stopping.is_set():
            try:
                output = command.receive(_LOOK)
            except WaitTimeout:
                continue
            if output is None:
                return
            yield output
        raise _Stopping

    def _tell(self, label: str, channel: int, data: bytes) -> None:
        if data:
            self._put(Lines(label, channel, data))
