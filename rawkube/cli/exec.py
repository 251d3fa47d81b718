"""`rawkube exec`: arguments → one container → its command's output on this side's streams, and its exit code."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.paths import resource_path
from rawkube.api.upgrade import upgrade
from rawkube.cli.output import Output, die_of
from rawkube.errors import RawkubeError, TransportError, UsageError
from rawkube.remotecommand import protocols
from rawkube.remotecommand.channels import Channels
from rawkube.remotecommand.protocols import Protocol
from rawkube.remotecommand.request import Streams, query
from rawkube.remotecommand.result import Result
from rawkube.remotecommand.session import Local, Session, StdinEnded, Timing
from rawkube.remotecommand.target import Target, check_arguments, find
from rawkube.remotecommand.terminal import (
    Mode,
    RawMode,
    Resizes,
    Stopped,
    StopSignals,
    decide,
    is_terminal,
    size,
)

if TYPE_CHECKING:
    from rawkube.api.objects import Object
    from rawkube.cli.flags import Parsed

STDIN, STDOUT, STDERR = 0, 1, 2


def exec_command(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`exec`: the exit code of the command, or 1 when it could not be run or its end is not known."""
    open_standard_streams()
    values = parsed.values
    files = values["filename"]
    timeout = values["pod-running-timeout"]
    wanted, command = check_arguments(parsed.args, parsed.dash, files, timeout=timeout)
    offered = offered_protocols(values["protocol"])
    check_stdin_end(values["stdin-eof"])
    with connect() as client:
        target = find(
            client,
            wanted,
            namespace=client.access.namespace,
            namespace_given="namespace" in parsed.given,
            container=values["container"],
            timeout=timeout,
            manifest=_manifest(files),
        )
        mode = terminal_mode(parsed)
        if not values["quiet"]:
            for notice in (target.notice, mode.notice):
                if notice:
                    out.note(notice)
        streams = Streams(stdin=values["stdin"], tty=mode.tty)
        run = _Run(client, out, parsed, offered)
        return run("exec", target, mode, streams, command)


def open_standard_streams() -> None:
    """Put /dev/null where a standard stream is closed (`<&-`), or a connection would take its number (as Go does)."""
    for descriptor in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one


def offered_protocols(names: Sequence[str]) -> list[Protocol]:
    """The subprotocols to offer: those of `--protocol`, or the usual ones. Raises UsageError."""
    found = [protocols.find(name) for name in names]
    for name, protocol in zip(names, found, strict=True):
        if protocol is None:
            known = ", ".join(each.name for each in protocols.PROTOCOLS)
            raise UsageError(f'unknown protocol "{name}"; known are {known}')
    return [protocol for protocol in found if protocol] or list(protocols.OFFERED)


def check_stdin_end(word: str) -> None:
    """Raises UsageError unless `word` is a value of `--stdin-eof`."""
    if word not in ("wait", "close", "error"):
        raise UsageError(f'--stdin-eof must be "wait", "close" or "error", not "{word}"')


def terminal_mode(parsed: Parsed) -> Mode:
    """How the session uses the local terminal."""
    return decide(
        stdin=parsed.values["stdin"],
        tty=parsed.values["tty"],
        stdin_is_terminal=is_terminal(STDIN),
        stdout_is_terminal=is_terminal(STDOUT),
    )


def _manifest(files: Sequence[str]) -> list[Object]:
    if not files:
        return []
    from rawkube.api.manifest import read_manifests

    read = read_manifests(files, stdin=lambda: sys.stdin.buffer.read() if sys.stdin else b"")
    if read.errors:
        raise read.errors[0]
    return read.objects


class _Run:
    """Runs a session of `exec` or `attach` on this process's own streams."""

    def __init__(self, client: ApiClient, out: Output, parsed: Parsed, offered: list[Protocol]) -> None:
        self._client = client
        self._out = out
        self._values = parsed.values
        self._offered = offered

    def __call__(self, verb: str, target: Target, mode: Mode, streams: Streams, command: Sequence[str]) -> int:
        local_terminal = streams.stdin and is_terminal(STDIN)
        try:
            with self._signals(mode):
                result = self._session(verb, target, mode, streams, command)
        except Stopped as stopped:
            return self._stopped(stopped.number, local_terminal, mode)
        except BrokenPipeError:
            die_of(signal.SIGPIPE)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise RawkubeError(f"the output cannot be written: {why}") from None
        except StdinEnded as ended:
            raise RawkubeError(str(ended)) from None
        return self._finish(result)

    def _signals(self, mode: Mode) -> AbstractContextManager[object]:
        return RawMode(STDIN) if mode.raw else StopSignals()

    def _session(self, verb: str, target: Target, mode: Mode, streams: Streams, command: Sequence[str]) -> Result:
        path = resource_path(known("pods"), target.namespace, target.pod, verb)
        parameters = query(target.container, streams, command)
        try:
            upgraded = upgrade(self._client, path, parameters, [each.name for each in self._offered])
        except TransportError as error:
            # Not "Unable to connect to the server": the server has just shown the pod (kubectl's words).
            text = "unexpected EOF" if str(error) == "EOF" else str(error)
            raise RawkubeError(text, detail=error.detail) from None
        protocol = protocols.find(upgraded.protocol)
        assert protocol is not None
        with Resizes(STDOUT) as resizes:
            local = Local(
                STDIN if streams.stdin else None,
                STDOUT,
                STDERR,
                resizes if mode.resize else None,
                size(STDOUT) if mode.resize else None,
            )
            session = Session(
                upgraded.stream,
                Channels(protocol, tty=streams.tty),
                local,
                data=upgraded.data,
                timing=self._timing(),
                on_stdin_end=lambda: self._stdin_ended(protocol),
            )
            try:
                return session.run()
            except (Stopped, StdinEnded):
                session.interrupt()
                raise
            finally:
                upgraded.stream.close()

    def _timing(self) -> Timing:
        interval, timeout = self._values["ping-interval"], self._values["ping-timeout"]
        return Timing(interval if interval > 0 else math.inf, timeout if timeout > 0 else math.inf)

    def _stdin_ended(self, protocol: Protocol) -> bool:
        text = f"the input ended, which {protocol.name} cannot tell the command"
        choice = self._values["stdin-eof"]
        if choice == "error":
            raise StdinEnded(f"{text} (--stdin-eof=error)")
        what = "closing the connection" if choice == "close" else "it goes on waiting for more"
        self._out.note(f"{text}: {what} (--stdin-eof)")
        return bool(choice == "close")

    def _stopped(self, number: int, local_terminal: bool, mode: Mode) -> int:
        if number == signal.SIGINT and not mode.raw:
            return 130
        if local_terminal:
            return 1
        die_of(number)

    def _finish(self, result: Result) -> int:
        if result.line:
            self._out.note(result.line)
        return result.exit_code
