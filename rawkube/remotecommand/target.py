"""From the words of an `exec` command line, or a manifest, to one container of one pod.

    NAME, pod/NAME             GET the Pod
    deploy/NAME, svc/NAME, …   GET the object, LIST the pods that its selector selects, take the best
                               none there: WATCH from the list's version, take the first that comes

The requests are those of kubectl 1.37, except that JSON is asked for everywhere. They go over the client's pool, so
that the connection of the last one is idle there when the session asks for its upgrade.
"""

from __future__ import annotations

from collections.abc import Sequence

from rawkube._typing import NamedTuple
from rawkube.api.arguments import Wanted, check_name, parse_arguments
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.mapper import Mapper
from rawkube.api.missing import get_or_explain
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.errors import DeadlineExceeded, RawkubeError, UsageError, WaitTimeout
from rawkube.gotext import one_line
from rawkube.remotecommand.pods import (
    best,
    check_running,
    choose_container,
    is_pod,
    pod_selector,
)

RUNNING_TIMEOUT = 60.0
"""Default of --pod-running-timeout, in seconds."""


class WatchEnded(RawkubeError):
    """The watch for a pod ended before one came."""


class Target(NamedTuple):
    """Where a command is to run. `notice`: the line about a container that nobody named, or None."""

    namespace: str
    pod: str
    container: str
    notice: str | None
    pod_object: Object


# The command line.


def check_arguments(
    args: Sequence[str],
    dash: int,
    files: Sequence[str] = (),
    *,
    timeout: float = RUNNING_TIMEOUT,
    program: str = "rawkube exec",
) -> tuple[Wanted | None, list[str]]:
    """What is named, and the command to run there. Pure.

    `args`: the positionals; `dash`: how many of them stand before `--`, -1 without one; `files`: the values of
    `-f`; `timeout`: --pod-running-timeout in seconds. Where a manifest names the target, the first of the two is
    None. Raises UsageError, in kubectl's words and order.
    """
    help_line = f"See '{program} -h' for help and examples"
    before = len(args) if dash < 0 else dash
    if before > 1 or (dash < 0 and args and files):
        text = "exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead"
        raise UsageError(f"{text}\n{help_line}")
    if timeout <= 0:
        raise UsageError(f"--pod-running-timeout must be higher than zero\n{help_line}")
    word = args[0] if before else ""
    command = list(args[before:])
    if not word and not files:
        raise UsageError("pod, type/name or --filename must be specified")
    if not command:
        raise UsageError("you must specify at least one command for the container")
    wanted = read_word(word) if word else None
    if wanted is not None and files:
        raise UsageError("resource/name arguments cannot be provided when a path is specified")
    return wanted, command


def read_word(word: str) -> Wanted:
    """What `NAME` (a pod) or `TYPE/NAME` asks for. Raises UsageError."""
    return parse_arguments([word])[0] if "/" in word else Wanted("pods", word)


# The server.


def find(
    client: ApiClient,
    wanted: Wanted | None,
    *,
    namespace: str,
    namespace_given: bool = False,
    container: str = "",
    timeout: float = RUNNING_TIMEOUT,
    manifest: Sequence[Object] = (),
) -> Target:
    """The container that `wanted` leads to, or, where that is None, the one object of `manifest`.

    An object of a manifest is used as it is, without asking the server for it; its own namespace counts, unless
    `namespace_given` (the command line has `-n`), when another one is an error. `container`: the value of `-c`, empty
    for none. `timeout`: seconds to wait for a pod where there is none.

    Raises UsageError, NotAttachable, PodCompleted, NoSuchContainer, WaitTimeout, WatchEnded, StatusError,
    TransportError, DecodeError.
    """
    if wanted is None:
        from rawkube.api.manifest import namespace_of

        thing = _only(manifest)
        namespace = namespace_of(thing, namespace, given=namespace_given)
    else:
        resource = Mapper(client).resource(wanted.type)
        check_name(wanted.name)
        thing = get_or_explain(client, resource, namespace if resource.namespaced else "", wanted.name)
        namespace = str(metadata_of(thing).get("namespace") or namespace)
    pod = thing if is_pod(thing) else _pod_behind(client, thing, namespace, timeout)
    return _target(pod, namespace, container)


def _only(manifest: Sequence[Object]) -> Object:
    if len(manifest) != 1:
        detail = [] if manifest else ["the manifest holds no object"]
        raise UsageError("cannot exec into multiple objects at a time", detail=detail)
    return manifest[0]


def _target(pod: Object, namespace: str, container: str) -> Target:
    check_running(pod)
    metadata = metadata_of(pod)
    namespace = str(metadata.get("namespace") or namespace)
    named = {**pod, "metadata": {**metadata, "namespace": namespace}}
    choice = choose_container(named, container)
    name = str(metadata.get("name") or "")
    check_name(name)
    return Target(namespace, name, choice.container, choice.notice, named)


def _pod_behind(client: ApiClient, thing: Object, namespace: str, timeout: float) -> Object:
    selector = pod_selector(thing)
    query = [("labelSelector", selector)] if selector else []
    pods = known("pods")
    listing = client.list(pods, namespace, query=query)
    if listing["items"]:
        return best(listing["items"])
    version = str(metadata_of(listing).get("resourceVersion") or "")
    if version:
        query.append(("resourceVersion", version))
    return first_to_come(client, pods, namespace, query, timeout)


def first_to_come(
    client: ApiClient, pods: Resource, namespace: str, query: list[tuple[str, str]], timeout: float
) -> Object:
    """The first pod that a watch tells of, in whatever phase it is."""
    deadline = client.clock() + timeout
    refused = ""
    try:
        # The deadline ends it, not the silence.
        with client.watch(pods, namespace, query=query, silence=timeout + 15, deadline=deadline) as watch:
            for event in watch:
                if event.type in ("ADDED", "MODIFIED"):
                    return event.object
                refused = str(event.object.get("message") or "") if event.type == "ERROR" else refused
            error = watch.error
    except DeadlineExceeded:
        if client.clock() < deadline:
            raise
        raise WaitTimeout from None
    if client.clock() >= deadline:
        raise WaitTimeout
    why = refused or (str(error) if error is not None else "")
    raise WatchEnded(
        "watch closed before UntilWithoutRetry timeout",
        detail=[f"the watch for a pod ended: {one_line(why)}"] if why else [],
    )
