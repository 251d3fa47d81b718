"""What `exec` and `attach` share: a session on this process's own streams, from the request to the exit code."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from rawkube._typing import TYPE_CHECKING, Any
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.paths import resource_path
from rawkube.api.upgrade import upgrade
from rawkube.cli.output import Output, die_of
from rawkube.errors import RawkubeError, TransportError, UsageError
from rawkube.remotecommand import protocols
from rawkube.remotecommand.channels import Channels
from rawkube.remotecommand.life_signs import Timing
from rawkube.remotecommand.protocols import Protocol
from rawkube.remotecommand.request import Streams, query
from rawkube.remotecommand.result import Result
from rawkube.remotecommand.session import Local, Session, StdinEnded
from rawkube.remotecommand.target import Target
from rawkube.remotecommand.terminal import Mode, RawMode, Resizes, Stopped, StopSignals, is_terminal, size

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

STDIN, STDOUT, STDERR = 0, 1, 2


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


def timing(values: Mapping[str, Any]) -> Timing:
    """The flags --ping-interval and --ping-timeout; 0 is never."""
    interval, timeout = values["ping-interval"], values["ping-timeout"]
    return Timing(interval if interval > 0 else math.inf, timeout if timeout > 0 else math.inf)


class Run:
    """Runs a session of `exec` or `attach` on this process's own streams."""

    early_ends: tuple[type[BaseException], ...] = (Stopped, StdinEnded)
    """What ends a session from this side, so that the server is told."""

    def __init__(self, client: ApiClient, out: Output, parsed: Parsed, offered: list[Protocol]) -> None:
        self._client = client
        self._out = out
        self._values = parsed.values
        self._offered = offered

    def __call__(self, verb: str, target: Target, mode: Mode, streams: Streams, command: Sequence[str]) -> int:
        """Run the session of a subresource (`exec`, `attach`) to its end; the exit code. Raises RawkubeError."""
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
            session = Session(
                upgraded.stream,
                self._channels(protocol, streams),
                self._local(mode, streams, resizes),
                data=upgraded.data,
                timing=timing(self._values),
                on_stdin_end=lambda: self._stdin_ended(protocol),
            )
            try:
                return session.run()
            except self.early_ends:
                session.interrupt()
                raise
            finally:
                upgraded.stream.close()

    def _channels(self, protocol: Protocol, streams: Streams) -> Channels:
        return Channels(protocol, tty=streams.tty)

    def _local(self, mode: Mode, streams: Streams, resizes: Resizes) -> Local:
        stdin = STDIN if streams.stdin else None
        if not mode.resize:
            return Local(stdin, STDOUT, STDERR)
        return Local(stdin, STDOUT, STDERR, resizes, self._first_size(resizes))

    def _first_size(self, resizes: Resizes) -> tuple[int, int] | None:
        return size(STDOUT)

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
