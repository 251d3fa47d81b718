"""Commands in containers, for programs: run one and have what it left, or start one and hold it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from rawkube._typing import NamedTuple
from rawkube.api.arguments import Wanted, check_name
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.paths import resource_path
from rawkube.api.upgrade import Upgraded, upgrade
from rawkube.errors import RawkubeError, UsageError
from rawkube.remotecommand.life_signs import Timing
from rawkube.remotecommand.protocols import OFFERED, STDOUT, V5, Protocol
from rawkube.remotecommand.remote import RemoteCommand
from rawkube.remotecommand.request import Streams, query
from rawkube.remotecommand.result import Result
from rawkube.remotecommand.source import check_source
from rawkube.remotecommand.target import Target, find, read_word

_USUAL = Timing()
_FOREVER = float("inf")


class CommandFailed(RawkubeError):
    """A command did not end with exit code 0. `completed`: what it left."""

    def __init__(self, completed: Completed) -> None:
        super().__init__(completed.result.line.removeprefix("error: "))
        self.completed = completed

    @property
    def exit_code(self) -> int:
        """The command's own code; 1 where it did not run, or how it ended is not known."""
        return self.completed.exit_code


class Completed(NamedTuple):
    """What a command left.

    `exit_code`: its own, or 1 where it did not run or its end is not known; `result` tells these apart.
    `close_code`: how the connection ended (RFC 6455, 7.4), 1006 without a close frame.
    """

    stdout: bytes
    stderr: bytes
    exit_code: int
    close_code: int
    result: Result


def open_exec(
    client: ApiClient,
    pod: str,
    command: Sequence[str],
    *,
    namespace: str | None = None,
    container: str = "",
    stdin: bool = False,
    tty: bool = False,
    protocols: Sequence[Protocol] | None = None,
    timeout: float | None = None,
    timing: Timing = _USUAL,
) -> RemoteCommand:
    """Start a command in a container of a pod.

    `pod`: `NAME`, or `TYPE/NAME` of what pods stand behind (`deploy/web`). `command`: its words; no shell reads
    them. `namespace`: that of the client's context for None. `container`: the pod's default for empty. `stdin`:
    whether input will be written. `protocols`: the subprotocols to offer, best first; v5, then v4 for None.
    `timeout`: seconds until the command has to be over.

    Raises what `find` raises, UpgradeRefused, TransportError; and before anything is sent UsageError (no command, a
    name that cannot be one), TypeError and ValueError (a command that is no sequence of texts, a timeout that is no
    number, or negative).
    """
    words = check_command(command)
    check_timeout(timeout)
    wanted = _read_pod(pod)
    since = time.monotonic()
    target = find(client, wanted, namespace=namespace or client.access.namespace, container=container)
    upgraded = ask(client, target, words, Streams(stdin=stdin, tty=tty), protocols or OFFERED)
    try:
        return RemoteCommand(upgraded, stdin=stdin, tty=tty, timeout=timeout, since=since, timing=timing)
    except BaseException:
        upgraded.stream.close()
        raise


def ask(
    client: ApiClient, target: Target, command: Sequence[str], streams: Streams, protocols: Sequence[Protocol]
) -> Upgraded:
    """Start a command in a container that is known already. Raises UpgradeRefused, TransportError."""
    path = resource_path(known("pods"), target.namespace, target.pod, "exec")
    return upgrade(client, path, query(target.container, streams, command), [each.name for each in protocols])


def check_command(command: Sequence[str]) -> list[str]:
    """The words of a command. Raises UsageError for none, TypeError for anything but a sequence of texts; one text
    is none, as nobody knows its words."""
    if isinstance(command, str | bytes | bytearray | memoryview) or not isinstance(command, Sequence):
        raise TypeError("a command is a list of words, such as ['ls', '-l']; for a shell: ['sh', '-c', TEXT]")
    if not command:
        raise UsageError("you must specify at least one command for the container")
    for word in command:
        if not isinstance(word, str):
            raise TypeError(f"a word of a command is a str, not {type(word).__name__}: {word!r}")
    return list(command)


def check_timeout(timeout: float | None) -> None:
    """Raises TypeError unless it is None or a number, ValueError if it is negative, or not a number (NaN)."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout must be a number of seconds or None, not {type(timeout).__name__}")
    if not 0 <= timeout <= _FOREVER:
        raise ValueError(f"timeout must be a number of seconds, zero or more: {timeout}")


def _read_pod(pod: str) -> Wanted:
    """What `NAME` or `TYPE/NAME` asks for. Raises UsageError for what cannot be one, TypeError."""
    if not isinstance(pod, str):
        raise TypeError(f"a pod is named by a str, not {type(pod).__name__}")
    wanted = read_word(pod)
    if not wanted.type.partition(".")[0]:
        check_name(pod)  # no type begins with a dot: this is a path
    check_name(wanted.name)
    return wanted


def exec(
    client: ApiClient,
    pod: str,
    command: Sequence[str],
    *,
    stdin: bytes | bytearray | memoryview | Iterable[bytes] = b"",
    namespace: str | None = None,
    container: str = "",
    timeout: float | None = None,
    check: bool = False,
    protocols: Sequence[Protocol] | None = None,
) -> Completed:
    """Run a command in a container, and give what it left, as subprocess.run does.

    `stdin`: its whole input, or a file opened for reading bytes (anything with `read`), or an iterable of pieces,
    of which small ones are joined while they come quickly; with empty bytes it gets no input at all. With input, only
    v5 is offered unless `protocols` says otherwise: no other subprotocol can say where the input ends. `timeout`:
    seconds until it has to be over, from now on; the requests before the command have limits of their own, and closing
    the connection may take 0.2 s. `check`: raise CommandFailed for any end but success. The rest as for open_exec.

    Raises as open_exec does (TypeError for input that is not bytes, too), and WaitTimeout, with the connection closed
    (the command may go on), CommandFailed.
    """
    source = check_source(stdin)
    fed = not isinstance(source, bytes) or bool(source)
    running = open_exec(
        client,
        pod,
        command,
        namespace=namespace,
        container=container,
        stdin=fed,
        protocols=protocols or ((V5,) if fed else OFFERED),
        timeout=timeout,
    )
    with running:
        if fed:
            running.feed([source] if isinstance(source, bytes) else source)
        completed = _collect(running)
    if check and completed.exit_code:
        raise CommandFailed(completed)
    return completed


def _collect(running: RemoteCommand) -> Completed:
    stdout, stderr = bytearray(), bytearray()
    for channel, data in running:
        (stdout if channel == STDOUT else stderr).extend(data)
    result = running.result
    return Completed(bytes(stdout), bytes(stderr), result.exit_code, running.close_code, result)
