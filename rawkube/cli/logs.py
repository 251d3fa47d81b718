"""`rawkube logs`: arguments → the logs that are meant → their bytes on stdout."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from rawkube._typing import TYPE_CHECKING
from rawkube.api.client import ApiClient
from rawkube.cli.go_time import parse_rfc3339
from rawkube.cli.output import Output
from rawkube.errors import RawkubeError, UsageError
from rawkube.remotecommand.log_lines import Prefixer
from rawkube.remotecommand.log_target import Choice, find_object, selected_pods, sources, sources_of_pods
from rawkube.remotecommand.logs import Followed, Source, Wanted, read
from rawkube.remotecommand.logs_many import Chunk, Ended, follow_all
from rawkube.remotecommand.terminal import Stopped, StopSignals

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

TAIL_WITH_SELECTOR = 10
_HELP = "See 'rawkube logs -h' for help and examples"
_EXPECTED = (
    "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\n"
    "POD or TYPE/NAME is a required argument for the logs command"
)


def logs(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """Show logs; 0 when each was shown to its end, 1 otherwise."""
    wanted = check(parsed)
    with connect() as client:
        try:
            with StopSignals():
                found = _find(parsed, client, out)
                if found is None:
                    return 0
                _Show(client, out, parsed, wanted).run(found)
        except Stopped:
            return 1  # as kubectl, which takes every one of these signals
    return 0


# The command line. Pure.


def check(parsed: Parsed) -> Wanted:
    """What is wanted of each log, as far as that is known before a server is asked. Raises UsageError."""
    values, args = parsed.values, parsed.args
    if len(args) > 2 or (not args and not values["selector"]):
        raise UsageError(f"{_EXPECTED}\n{_HELP}")
    if args and values["selector"]:
        raise UsageError(f"only a selector (-l) or a POD name is allowed\n{_HELP}")
    since_time = parse_rfc3339(values["since-time"]) if values["since-time"] else ""
    if values["pod-running-timeout"] <= 0:
        raise UsageError("--pod-running-timeout must be higher than zero")
    tail = values["tail"]
    if values["selector"] and tail == -1 and "tail" not in parsed.given:
        tail = TAIL_WITH_SELECTOR
    return Wanted(
        follow=values["follow"],
        previous=values["previous"],
        tail=tail,
        since_seconds=math.ceil(values["since"]),
        since_time=since_time,
        timestamps=values["timestamps"],
        limit=values["limit-bytes"],
        insecure=values["insecure-skip-tls-verify-backend"],
    )


def check_values(parsed: Parsed) -> Choice:
    """What kubectl looks at only when it has found what was named. Raises UsageError, in its words and order."""
    values, args = parsed.values, parsed.args
    inline = args[1] if len(args) > 1 else ""
    if values["since-time"] and values["since"]:
        raise UsageError("at most one of `sinceTime` or `sinceSeconds` may be specified")
    container = inline or values["container"]
    if container and values["all-containers"]:
        raise UsageError(f"--all-containers=true should not be specified with container name {container}")
    if inline and "container" in parsed.given:
        raise UsageError("only one of -c or an inline [CONTAINER] arg is allowed")
    if values["limit-bytes"] < 0:
        raise UsageError("--limit-bytes must be greater than 0")
    if values["since"] < 0:
        raise UsageError("--since must be greater than 0")
    if values["tail"] < -1:
        raise UsageError("--tail must be greater than or equal to -1")
    return Choice(container, values["all-containers"], values["all-pods"], values["pod-running-timeout"])


# The server.


def _find(parsed: Parsed, client: ApiClient, out: Output) -> list[Source] | None:
    """The logs that are meant; None where a selector selects no pod."""
    namespace, selector = client.access.namespace, parsed.values["selector"]
    if selector:
        pods = selected_pods(client, selector, namespace)
        if not pods:
            out.note(f"No resources found in {namespace} namespace.")
        choice = check_values(parsed)
        found = sources_of_pods(pods, namespace, choice, out.note) if pods else None
    else:
        thing = find_object(client, parsed.args[0], namespace)
        found = sources(client, thing, namespace, check_values(parsed), out.note)
    most = parsed.values["max-log-requests"]
    if found and parsed.values["follow"] and 1 < len(found) > most:
        raise RawkubeError(
            f"you are attempting to follow {len(found)} log streams, but maximum allowed concurrency is {most}, "
            "use --max-log-requests to increase the limit"
        )
    return found


class _Show:
    """Writes logs to stdout."""

    def __init__(self, client: ApiClient, out: Output, parsed: Parsed, wanted: Wanted) -> None:
        self._client = client
        self._out = out
        self._wanted = wanted
        self._prefixed = parsed.values["prefix"] or parsed.values["all-pods"]
        self._ignore = parsed.values["ignore-errors"]
        self._starting = 0.0 if self._ignore else parsed.values["pod-running-timeout"]

    def run(self, found: Sequence[Source]) -> None:
        """Show them all. Raises RawkubeError."""
        if self._wanted.follow and len(found) > 1:
            self._together(found)
            return
        for source in found:
            prefixer = self._prefixer(source)
            try:
                for data in self._chunks(source):
                    self._out.data(prefixer.feed(data))
            except RawkubeError as error:
                self._failed(error)

    def _chunks(self, source: Source) -> Iterator[bytes]:
        if self._wanted.follow:
            return Followed(
                self._client, source, self._wanted, on_note=self._out.note, starting=self._starting
            ).chunks()
        return read(self._client, source, self._wanted)

    def _prefixer(self, source: Source) -> Prefixer:
        return Prefixer(f"[{source.label}] ".encode("utf-8", "replace") if self._prefixed else b"")

    def _failed(self, error: RawkubeError) -> None:
        if not self._ignore:
            raise error
        self._out.line(f"error: {error}")

    def _together(self, found: Sequence[Source]) -> None:
        """All at once. A line that another log's line would break into is ended first."""
        prefixers = [self._prefixer(source) for source in found]
        turn = prefixers[0]
        with closing(follow_all(self._client, found, self._wanted, starting=self._starting)) as items:
            for item in items:
                if isinstance(item, Chunk):
                    mine = prefixers[item.at]
                    interrupted = turn.interrupt() if mine is not turn else b""
                    turn = mine
                    self._out.data(interrupted + mine.feed(item.data))
                elif isinstance(item, Ended):
                    if item.error is not None:
                        self._failed(item.error)
                else:
                    self._out.note(item.text)
