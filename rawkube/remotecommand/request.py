"""Pure: the request that starts a command in a container, or attaches to one (`pods/exec`, `pods/attach`)."""

from __future__ import annotations

from collections.abc import Sequence

from rawkube._typing import NamedTuple


class Streams(NamedTuple):
    """Which streams are wanted. With a tty there is no stderr: the container's terminal holds both."""

    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False


def query(container: str, streams: Streams, command: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The parameters of `PodExecOptions` or `PodAttachOptions` (core/v1): a word of the command each, in order.

    False values are left out, as kubectl does.
    """
    wanted = streams._replace(stderr=streams.stderr and not streams.tty)
    flags = [(name, "true") for name, on in zip(wanted._fields, wanted, strict=True) if on]
    return [*(("command", word) for word in command), ("container", container), *flags]
