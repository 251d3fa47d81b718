"""`rawkube exec`: arguments → one container → its command's output on this side's streams, and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube.api.client import ApiClient
from rawkube.cli.output import Output
from rawkube.cli.sessions import STDIN, STDOUT, Run, check_stdin_end, offered_protocols, open_standard_streams
from rawkube.remotecommand.request import Streams
from rawkube.remotecommand.target import check_arguments, find
from rawkube.remotecommand.terminal import Mode, decide, is_terminal

if TYPE_CHECKING:
    from rawkube.api.objects import Object
    from rawkube.cli.flags import Parsed


def exec_any(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`exec` in one container, or in the Pods that -l or several names stand for."""
    if "parallel" in parsed.given or "selector" in parsed.given:
        from rawkube.cli.exec_many import exec_many

        return exec_many(parsed, connect, out)
    return exec_command(parsed, connect, out)


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
        run = Run(client, out, parsed, offered)
        return run("exec", target, mode, streams, command)


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
