"""`rawkube exec -l SELECTOR`, `rawkube exec --parallel N POD…`: one command in many pods, line by line."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Sequence
from contextlib import closing

from rawkube._typing import TYPE_CHECKING
from rawkube.api.arguments import Wanted
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.objects import metadata_of
from rawkube.cli.output import Output, die_of
from rawkube.cli.sessions import offered_protocols
from rawkube.cli.sessions import timing as timing_of
from rawkube.errors import RawkubeError, TransportError, UsageError
from rawkube.gotext import go_quote, one_line
from rawkube.remotecommand.many import Ended, Job, Lines, label_of, run_many
from rawkube.remotecommand.pods import PodCompleted
from rawkube.remotecommand.protocols import Protocol
from rawkube.remotecommand.target import Target, find, read_word
from rawkube.remotecommand.terminal import Stopped, StopSignals

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

_DESCRIPTORS = {1: 1, 2: 2}


def exec_many(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`exec` in many pods: the highest of the exit codes; 1 for a pod that it could not be run in."""
    wanted, command = read_arguments(parsed)
    offered = offered_protocols(parsed.values["protocol"])
    with connect() as client:
        many = _Many(client, out, parsed)
        try:
            with StopSignals():
                return many.run(wanted, command, offered)
        except Stopped as stopped:
            if stopped.number == signal.SIGINT:
                return 130
            die_of(stopped.number)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise RawkubeError(f"the output cannot be written: {why}") from None


def read_arguments(parsed: Parsed) -> tuple[list[Wanted], list[str]]:
    """The pods that are named (none with a selector) and the command. Pure. Raises UsageError."""
    values, args = parsed.values, parsed.args
    help_line = "See 'rawkube exec -h' for help and examples"
    names = args[: max(parsed.dash, 0)]
    command = args[len(names) :]
    if parsed.dash < 0 and args:
        text = "exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead"
        raise UsageError(f"{text}\n{help_line}")
    for flag in ("stdin", "tty"):
        if values[flag]:
            raise UsageError(f"--{flag} cannot be used with many pods: there is no input for them\n{help_line}")
    if values["filename"]:
        raise UsageError(f"--filename cannot be used with many pods\n{help_line}")
    if values["parallel"] < 1:
        raise UsageError(f"--parallel must be at least 1: {values['parallel']}\n{help_line}")
    if values["pod-running-timeout"] <= 0:
        raise UsageError(f"--pod-running-timeout must be higher than zero\n{help_line}")
    _check_what(names, values["selector"], command)
    return [read_word(name) for name in names], command


def _check_what(names: Sequence[str], selector: str, command: Sequence[str]) -> None:
    if names and selector:
        raise UsageError("name cannot be provided when a selector is specified")
    if not names and not selector.strip():
        raise UsageError("pods or a selector must be specified")
    if not command:
        raise UsageError("you must specify at least one command for the container")


class _Many:
    """The pods of one command line, and how it went in each."""

    def __init__(self, client: ApiClient, out: Output, parsed: Parsed) -> None:
        self._client = client
        self._out = out
        self._values = parsed.values
        self._namespace = client.access.namespace
        self._ends: list[Ended] = []

    def run(self, wanted: Sequence[Wanted], command: Sequence[str], offered: Sequence[Protocol]) -> int:
        """Run it in all of them, and say in which it failed, or had not finished at a signal; the exit code."""
        targets = self._named(wanted) if wanted else self._selected()
        jobs = [Job(label_of(target), target) for target in targets]
        parallel, timing = self._values["parallel"], timing_of(self._values)
        many = run_many(self._client, jobs, command, parallel=parallel, protocols=offered, timing=timing)
        try:
            with closing(many):
                for item in many:
                    self._show(item)
        except Stopped:
            over = {end.label for end in self._ends}
            self._ends.extend(Ended(job.label) for job in jobs if job.label not in over)
            self._summary()
            raise
        return self._summary()

    def _named(self, wanted: Sequence[Wanted]) -> list[Target]:
        """One pod for each name, each pod once. Where a name leads to none, the others are gone to all the same."""
        found: dict[tuple[str, str, str], Target] = {}
        for one in wanted:
            try:
                target = self._find(one)
            except TransportError:
                raise
            except RawkubeError as error:
                word = one.name if one.type == "pods" else f"{one.type}/{one.name}"
                self._show(Ended(one_line(word), None, error))
            else:
                found.setdefault(target[:3], target)
        return list(found.values())

    def _find(self, wanted: Wanted) -> Target:
        timeout = self._values["pod-running-timeout"]
        container = self._values["container"]
        return find(self._client, wanted, namespace=self._namespace, container=container, timeout=timeout)

    def _selected(self) -> list[Target]:
        """The pods that the selector selects and that are not finished."""
        selector = self._values["selector"]
        listing = self._client.list(known("pods"), self._namespace, query=[("labelSelector", selector)])
        targets = []
        for pod in listing["items"]:
            name = one_line(str(metadata_of(pod).get("name") or ""))
            try:
                targets.append(self._target(pod))
            except PodCompleted as error:
                self._out.note(f"[{name}] left out: {error}")
            except RawkubeError as error:
                self._show(Ended(name, None, error))
        if not targets and not self._ends:
            raise RawkubeError(
                f"no pod to run a command in matches {go_quote(selector)} in {self._namespace} namespace"
            )
        return targets

    def _target(self, pod: dict[str, object]) -> Target:
        container = self._values["container"]
        return find(self._client, None, namespace=self._namespace, container=container, manifest=[pod])

    def _show(self, item: Lines | Ended) -> None:
        if isinstance(item, Lines):
            try:
                write_all(_DESCRIPTORS[item.channel], item.data)
            except BrokenPipeError:
                die_of(signal.SIGPIPE)  # at once: nobody is left to wait for
            return
        self._ends.append(item)
        for line in item.error.detail if item.error is not None else ():
            self._out.note(f"[{item.label}] {line}")
        if item.line:
            self._out.note(f"[{item.label}] {item.line}")

    def _summary(self) -> int:
        failed = sorted((end for end in self._ends if end.exit_code), key=lambda end: end.label)
        if failed:
            named = ", ".join(f"{end.label} ({end.brief})" for end in failed)
            self._out.note(f"failed in {len(failed)} of {len(self._ends)} pods: {named}")
        return max((end.exit_code for end in self._ends), default=0)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, however long the reader takes. Raises OSError."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # somebody has made the pipe or terminal that is shared with them non-blocking
            select.select([], [descriptor], [])
