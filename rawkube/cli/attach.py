"""`rawkube attach`: arguments → one container → what its process prints, what it reads, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube.api.arguments import Wanted
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.cli.output import Output
from rawkube.cli.sessions import STDIN, STDOUT, Run, check_stdin_end, offered_protocols, open_standard_streams
from rawkube.errors import RawkubeError, StatusError, UsageError
from rawkube.remotecommand.channels import Channels
from rawkube.remotecommand.detach import DetachableChannels, Detached, parse_detach_keys
from rawkube.remotecommand.ended import ContainerEnd, NotKnown, StillRunning, container_end
from rawkube.remotecommand.pods import NoSuchContainer, PodCompleted
from rawkube.remotecommand.protocols import Protocol
from rawkube.remotecommand.request import Streams
from rawkube.remotecommand.result import NoStatus, Result, Success
from rawkube.remotecommand.target import Target, find, read_word
from rawkube.remotecommand.terminal import Mode, Resizes, decide, is_terminal, size

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

RECORDED = (
    "All commands and output from this session will be recorded in container logs, including credentials and "
    "sensitive information passed through the command prompt."
)
NO_PROMPT = "If you don't see a command prompt, try pressing enter."

# The kubelet looks at its containers once a second, then tells the API server.
_STATUS_WAIT = 2.5
_STATUS_LOOK = 0.25


def attach(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`attach`: the exit code of the container where it has ended and the code is known; 0 when it goes on."""
    open_standard_streams()
    values = parsed.values
    wanted = read_arguments(parsed.args, timeout=values["pod-running-timeout"])
    offered = offered_protocols(values["protocol"])
    check_stdin_end(values["stdin-eof"])
    with connect() as client:
        target = _find(client, wanted, container=values["container"], timeout=values["pod-running-timeout"])
        mode, refused = attach_mode(target, stdin=values["stdin"], tty=values["tty"])
        if not values["quiet"]:
            for notice in (target.notice, refused, mode.notice, RECORDED, NO_PROMPT):
                if notice:
                    out.note(notice)
        keys = parse_detach_keys(values["detach-keys"]) if mode.raw else b""
        run = _Attach(client, out, parsed, offered, target, mode, keys)
        return run("attach", target, mode, Streams(stdin=values["stdin"], tty=mode.tty), ())


def read_arguments(args: Sequence[str], *, timeout: float) -> Wanted:
    """What `POD`, `TYPE/NAME` or `TYPE NAME` asks for. Pure. Raises UsageError, in kubectl's words and order."""
    if not args:
        raise UsageError("at least 1 argument is required for attach")
    if len(args) > 2:
        raise UsageError(
            f"expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw {len(args)}: [{' '.join(args)}]"
        )
    if timeout <= 0:
        raise UsageError(
            "--pod-running-timeout must be higher than zero\nSee 'rawkube attach -h' for help and examples"
        )
    if not args[-1]:
        raise UsageError("resource name may not be empty")
    return read_word(args[-1]) if len(args) == 1 or "/" in args[-1] else Wanted(args[0], args[1])


def _find(client: ApiClient, wanted: Wanted, *, container: str, timeout: float) -> Target:
    """The container that is meant; kubectl words two of the errors otherwise than for `exec`."""
    try:
        return find(client, wanted, namespace=client.access.namespace, container=container, timeout=timeout)
    except PodCompleted as error:
        raise PodCompleted(str(error).replace("exec into a container", "attach a container", 1)) from None
    except NoSuchContainer as error:
        raise NoSuchContainer(f"cannot attach to the container: {error}") from None


def attach_mode(target: Target, *, stdin: bool, tty: bool) -> tuple[Mode, str]:
    """How the session uses the local terminal, and a line about a terminal that the container does not have.

    Whether there is one is the container's to say (`tty` of its spec), not the flag's.
    """
    has_tty = _container(target).get("tty") is True
    refused = (
        "" if has_tty or not tty else f"error: Unable to use a TTY - container {target.container} did not allocate one"
    )
    mode = decide(
        stdin=stdin,
        tty=has_tty,
        stdin_is_terminal=is_terminal(STDIN),
        stdout_is_terminal=is_terminal(STDOUT),
    )
    return mode, refused


def _container(target: Target, *kinds: str) -> dict[str, object]:
    """The container's part of the Pod's spec, of any of these kinds (all of them by default)."""
    spec = target.pod_object["spec"]  # it has a container, so it is there
    for kind in kinds or ("containers", "initContainers", "ephemeralContainers"):
        for each in spec.get(kind) or []:
            if isinstance(each, dict) and each.get("name") == target.container:
                found: dict[str, object] = each
                return found
    return {}


class _Attach(Run):
    """A session of `attach` on this process's own streams, and what became of the container."""

    early_ends = (*Run.early_ends, Detached)

    def __init__(
        self,
        client: ApiClient,
        out: Output,
        parsed: Parsed,
        offered: list[Protocol],
        target: Target,
        mode: Mode,
        keys: bytes,
    ) -> None:
        super().__init__(client, out, parsed, offered)
        self._target = target
        self._mode = mode
        self._keys = keys
        self._detached = False

    def _session(self, verb: str, target: Target, mode: Mode, streams: Streams, command: Sequence[str]) -> Result:
        try:
            return super()._session(verb, target, mode, streams, command)
        except Detached:
            self._detached = True
            return Success()

    def _channels(self, protocol: Protocol, streams: Streams) -> Channels:
        if self._keys:
            return DetachableChannels(protocol, self._keys, tty=True)
        return super()._channels(protocol, streams)

    def _first_size(self, resizes: Resizes) -> tuple[int, int] | None:
        """One more than it is; the size itself follows as a change. So the program draws its screen anew."""
        found = size(STDOUT)
        if found is None:
            return None
        resizes.note()
        return found[0] + 1, found[1] + 1

    def _finish(self, result: Result) -> int:
        quiet = self._values["quiet"]
        if isinstance(result, Success) and self._mode.raw and not quiet:
            self._out.line(self._reattach())
        code = result.exit_code
        if isinstance(result, Success | NoStatus) and not self._detached:
            code = self._containers_code(quiet=quiet) or code
        if result.line:
            self._out.note(result.line)
        return code

    def _reattach(self) -> str:
        target = self._target
        command = f"'rawkube attach {target.pod} -c {target.container} -n {target.namespace} -i -t'"
        if _container(target, "ephemeralContainers"):
            return (
                "Session ended, the ephemeral container will not be restarted but may be reattached using "
                f"{command} if it is still running"
            )
        return f"Session ended, resume using {command} command"

    def _containers_code(self, *, quiet: bool) -> int:
        """The exit code that the Pod tells, 0 where it tells none; and a line about it."""
        end = self._container_end()
        name = f'container "{self._target.container}" of pod {self._target.pod}'
        if isinstance(end, ContainerEnd):
            line = f"{name} ended with exit code {end.code}" + (f" ({end.reason})" if end.reason else "")
        elif isinstance(end, StillRunning):
            line = f"{name} is still running"
        else:
            line = f"how {name} ended is not known: {end.why}"
        code = end.code if isinstance(end, ContainerEnd) else 0
        if code or not quiet:
            self._out.note(line)
        # What an exit status cannot hold (Windows containers end with 32 bits) is 1, not by chance 0.
        return code if 0 <= code <= 255 else 1

    def _container_end(self) -> ContainerEnd | StillRunning | NotKnown:
        """Asked of the Pod, for as long as it may not know yet."""
        client, target = self._client, self._target
        until = client.clock() + _STATUS_WAIT
        while True:
            try:
                pod = client.get(known("pods"), target.namespace, target.pod)
            except StatusError as error:
                gone = error.code == 404
                return NotKnown("the pod is gone" if gone else str(error))
            except RawkubeError as error:
                return NotKnown(str(error))
            end = container_end(target.pod_object, pod, target.container)
            if not isinstance(end, StillRunning) or client.clock() >= until:
                return end
            client.sleep(_STATUS_LOOK)
