"""Pure: the names of a copy: what goes where, what a member of an archive may be called, where a link may lead.

Names that come out of an archive are the container's word: they are judged here, and nothing else decides where
something is written. Bytes that are no UTF-8 are kept (error handler `surrogateescape`).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence

from rawkube._typing import NamedTuple
from rawkube.errors import RawkubeError, UsageError
from rawkube.gotext import go_quote

Parts = tuple[str, ...]
"""The components of a relative path, without `.` and `..`; empty for the place itself."""

# What means something in a local name besides the slash: nothing, but on Windows.
_LOCAL_SPECIAL = frozenset("\\:" if os.sep == "\\" else "")


class Refused(RawkubeError):
    """Something of an archive that is not written. The text says why, in the middle of a sentence."""


class Spec(NamedTuple):
    """One side of a copy: `[[NAMESPACE/]POD:]PATH`. `pod` is empty for this side. No slash at the end of `path`."""

    namespace: str
    pod: str
    path: str


# The command line, with kubectl's texts.


def read_specs(args: Sequence[str]) -> tuple[Spec, Spec]:
    """Source and destination, of which exactly one is in a pod. Raises UsageError in kubectl's words."""
    if len(args) != 2:
        raise UsageError("source and destination are required")
    source, destination = read_spec(args[0]), read_spec(args[1])
    if source.pod and destination.pod:
        raise UsageError("one of src or dest must be a local file specification")
    if not source.path or not destination.path:
        raise UsageError("filepath can not be empty")
    if not source.pod and not destination.pod:
        raise UsageError("one of src or dest must be a remote file specification")
    return source, destination


def read_spec(word: str) -> Spec:
    """`[[NAMESPACE/]POD:]PATH`: what stands before the first colon names a pod. Raises UsageError."""
    place, colon, path = word.partition(":")
    if not colon:
        return Spec("", "", without_slash(word))
    namespace, _, pod = place.rpartition("/")
    if not pod or "/" in namespace:
        raise UsageError("filespec must match the canonical format: [[namespace/]pod:]file/path")
    return Spec(namespace, pod, without_slash(path))


def without_slash(path: str) -> str:
    """The path without the one slash at its end that kubectl takes away."""
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


# Paths in the container.


def clean(path: str) -> str:
    """Go's `path.Clean`: no `.`, no `..` but at the start, no double slash."""
    found = posixpath.normpath(path)
    return found[1:] if found.startswith("//") else found


def argument(path: str) -> str:
    """A path as a word of a command, which takes none for a flag."""
    return f"./{path}" if path.startswith("-") else path


def source_argument(path: str) -> str:
    """What `tar` is told to pack. A `..` within is resolved here: the programs cut such names in ways of their own."""
    return argument(clean(path) if ".." in path.split("/") else path)


def prefix_of(path: str) -> Parts:
    """How the names of members begin when `tar` has packed a path: without the root, and what leads above."""
    parts = [part for part in clean(path).split("/") if part not in ("", ".")]
    while parts and parts[0] == "..":
        del parts[0]
    return tuple(parts)


def destination_in(directory: str, source: str) -> str:
    """Where in a directory of the container a local source lands; `.` and `..` stand for what they hold."""
    base = posixpath.basename(source.replace(os.sep, "/"))
    return clean(directory) if base in ("", ".", "..") else clean(f"{directory}/{base}")


def split(path: str) -> tuple[str, str]:
    """(directory to unpack in, name of the topmost member) for a destination; the name is empty for `/` and `.`."""
    path = clean(path)
    base = posixpath.basename(path)
    if base in ("", ".", ".."):
        return path, ""
    return posixpath.dirname(path) or ".", base


# Names in an archive.


def member_parts(name: str, prefix: Parts) -> Parts:
    """Where a member belongs, below the destination. Raises Refused for a name that leads anywhere else."""
    if name.startswith("/"):
        raise Refused("its name is absolute")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise Refused('its name holds ".."')
    if any(_LOCAL_SPECIAL & set(part) or "\0" in part for part in parts):
        raise Refused("its name cannot be one here")
    if parts[: len(prefix)] != prefix:
        raise Refused(f"it is not part of {go_quote('/'.join(prefix))}")
    return parts[len(prefix) :]


def check_link(parent: Parts, target: str) -> None:
    """Raises Refused unless a symbolic link in the directory `parent` stays below the destination.

    `..` may stand only at the start: behind another name it would mean what that name leads to, and that may be a
    link itself. So a link that is allowed starts in a real directory inside, and goes down from there.
    """
    if not target or target.startswith("/") or _LOCAL_SPECIAL & set(target):
        raise Refused("it leads to an absolute path" if target else "it leads nowhere")
    parts = [part for part in target.split("/") if part not in ("", ".")]
    ups = 0
    while ups < len(parts) and parts[ups] == "..":
        ups += 1
    if ups > len(parent):
        raise Refused("it leads out of the destination")
    if ".." in parts[ups:]:
        raise Refused('it leads through a name and back by ".."')


# Commands in the container.


def pack(path: str, *, dereference: bool = False) -> list[str]:
    """The command that writes the archive of a path to its output."""
    return ["tar", "chf" if dereference else "cf", "-", source_argument(path)]


# The exit code is tar's, not that of the last command of the pipe, which POSIX gives.
_RESUME = 'exec 3>&1; code=$({ { "$@"; echo $? >&4; } | tail -c+%d >&3; } 4>&1); exit $code'


def resume(command: Sequence[str], position: int) -> list[str]:
    """The same command, its output without the first `position` bytes."""
    return ["sh", "-c", _RESUME % (position + 1), "sh", *command]


def unpack(directory: str, *, no_preserve: bool = False, touch: bool = False) -> list[str]:
    """The command that unpacks the archive on its input in a directory (kubectl's; it always has `-m`: touch)."""
    if no_preserve:
        return ["tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-", "-C", argument(directory)]
    return ["tar", "-xmf" if touch else "-xf", "-", "-C", argument(directory)]


def limited(command: Sequence[str], size: int) -> list[str]:
    """A command whose input ends after `size` bytes, for the subprotocols that cannot tell an end.

    GNU tar needs it: behind the end of an archive it reads on to the end of its input.
    """
    return ["sh", "-c", f'head -c {size} | "$@"', "sh", *command]


def checksum(path: str, size: int) -> list[str]:
    """The command that prints the SHA-256 of the first `size` bytes of a file; a log may have grown meanwhile."""
    return ["sh", "-c", f'head -c {size} "$1" | sha256sum', "sh", argument(path)]


def read_checksum(output: bytes) -> str:
    """The checksum in what `sha256sum` printed, empty where there is none."""
    word = output.split(None, 1)[0].decode("ascii", "replace") if output.strip() else ""
    return word.lower() if len(word) == 64 and not set(word.lower()) - set("0123456789abcdef") else ""
