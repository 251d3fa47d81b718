"""Commands that cannot be started. Pure.

Where the cause is told depends on the moment: in `waiting` (RunContainerError), or, while the kubelet waits before it
tries again (CrashLoopBackOff), in the end of the last try (StartError, ContainerCannotRun). Texts of runc, crun and
containerd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rawkube.rollout.explain.containers import Container, times
from rawkube.rollout.explain.fields import clip, raw, text
from rawkube.rollout.explain.finding import MAYBE, NEVER, Finding

_ENDS = ("StartError", "ContainerCannotRun", "RunContainerError")

# The command is in group 1, or not told.
_NOT_FOUND = re.compile(
    r'exec: "?([^":]{1,200})"?: (?:executable file not found|stat [^:]+: no such file)'
    r'|exec(?:utable file)?:? [`"]?([^`":]{1,200})[`"]?(?: not found in \$PATH|: No such file or directory)'
    r"|no such file or directory|executable file not found",
    re.IGNORECASE,
)
_DENIED = re.compile(r'exec: "?([^":]{1,200})"?:.*permission denied|permission denied', re.IGNORECASE)
_FORMAT = re.compile(r"exec format error", re.IGNORECASE)
_DIRECTORY = re.compile(r'(?:chdir to cwd|mkdir) \("?([^")]{1,200})"?\)|exec: "?([^":]{1,200})"?: is a directory')
_MEMORY = re.compile(r"OOM-killed|memory limit too low|memory\.max", re.IGNORECASE)
_PREFIX = re.compile(
    r"(?:failed to (?:create|start) containerd task: |failed to create shim(?: task)?: |OCI runtime failed: "
    r"|OCI runtime create failed: |(?:runc|crun) create failed: |unable to start container process: "
    r"|rpc error: code = \w+ desc = |Error response from daemon: |failed to start container \"?\w*\"?: "
    r"|starting container process caused: )*"
)


def findings_of(container: Container) -> Iterator[Finding]:
    """Why the command of a container cannot be started, if that is what keeps it from running."""
    message = _message(container)
    if not message:
        return
    code, words, advice, resolves = _meaning(message)
    evidence = container.seen_waiting() if container.reason == "RunContainerError" else container.seen_ended()
    failed = container.events("Failed")
    yield container.finding(
        code,
        f"{container} cannot start: {words}{times(container.restarts, 'tried again')}",
        resolves=resolves,
        advice=advice,
        evidence=(evidence,),
        since=failed[0].first if failed else text(container.last, "finishedAt"),
    )


def _message(container: Container) -> str:
    """What the runtime said, empty if the container was started."""
    if container.reason == "RunContainerError":
        return container.message or container.reason
    if container.running or raw(container.last, "reason") not in _ENDS:
        return ""
    return clip(raw(container.last, "message"), 4096) or text(container.last, "reason")


def _meaning(message: str) -> tuple[str, str, str, str]:
    """Code, words, advice, NEVER or MAYBE."""
    if _MEMORY.search(message):
        return "OOMKilled", "its memory limit is too low to start", "raise resources.limits.memory", NEVER
    if _FORMAT.search(message):
        words = (
            "its command is no program for this node (exec format error: another architecture, or a script without #!)"
        )
        return (
            "CommandNotExecutable",
            words,
            "build the image for the node's architecture, or correct the script",
            NEVER,
        )
    directory = _DIRECTORY.search(message)
    if directory:
        name = directory[1] or directory[2]
        return "CommandNotExecutable", f'"{clip(name)}" is not what it should be: {_inner(message)}', _COMMAND, NEVER
    denied = _DENIED.search(message)
    if denied:
        words = f"{_command(denied[1])} may not be executed (permission denied)"
        return (
            "CommandNotExecutable",
            words,
            "make it executable in the image (chmod +x), or correct the command",
            NEVER,
        )
    missing = _NOT_FOUND.search(message)
    if missing and "mount" not in message.lower():
        name = missing[1] or missing[2]
        return "CommandNotFound", f"{_command(name)} does not exist in the image", _COMMAND, NEVER
    return "ContainerStartFailed", _inner(message), "see the Events of the Pod", MAYBE


_COMMAND = "correct the command of the container, or build an image that has it"


def _command(name: str | None) -> str:
    return f'its command "{clip(name)}"' if name else "its command"


def _inner(message: str) -> str:
    found = _PREFIX.match(message)
    return clip(message[found.end() :] if found else message) or clip(message)
