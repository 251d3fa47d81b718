"""What happens to the objects of a scripted API server, and to the watches on them."""

from __future__ import annotations

import copy
import json
import select
import socket
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from tests.support.server import Peer, PeerGone

if TYPE_CHECKING:
    from tests.support.api_server import ApiServer

Object = dict[str, Any]


class Answer(NamedTuple):
    """An answer as a test wants it. `how` may be `close`, `reset` or `stall` instead of an answer."""

    status: str = "200 OK"
    body: bytes | str = ""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    how: str = "reply"


# In a list of answers: this one request is served as usual.
AS_USUAL = Answer(how="usual")
HANG_UP = Answer(how="close")
RESET = Answer(how="reset")
SILENCE = Answer(how="stall")

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def status(code: int, message: str, *, reason: str | None = None, details: Object | None = None) -> Object:
    """A `metav1.Status` of a failure. `reason` "" leaves it out."""
    reason = REASONS.get(code, "") if reason is None else reason
    found: Object = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
    }
    if reason:
        found["reason"] = reason
    if details is not None:
        found["details"] = details
    return found | {"code": code}


def failure(
    code: int,
    message: str,
    *,
    reason: str | None = None,
    details: Object | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> Answer:
    """An HTTP answer whose body is a Status."""
    body = json.dumps(status(code, message, reason=reason, details=details))
    return Answer(f"{code} Failure", body, headers=headers)


class EndOfStream(Exception):
    """The watch is over; the connection serves the next request."""


class Step(NamedTuple):
    """What happens next. `after`: a LIST runs it too, once the server has been in use so long (seconds)."""

    run: Callable[[Stream], None]
    after: float | None = None


class Workload:
    """One object's life. `found`: what a GET of it answers, whatever the script says."""

    def __init__(
        self,
        *states: Object,
        steps: Iterable[Step] = (),
        resource: str = "",
        name: str = "",
        namespace: str = "default",
        found: Object | None = None,
    ) -> None:
        first = states[0] if states else found or {}
        self.resource = resource or str(first.get("kind", "Deployment")).lower() + "s"
        self.name = name or str(first.get("metadata", {}).get("name", "web"))
        self.namespace = namespace
        self.states = states
        self.steps = list(steps)
        self.found = found
        self.history: list[tuple[int, str, Object]] = []
        self.current: Object | None = None
        self.fresh = True

    def record(self, kind: str, thing: Object, version: int) -> Object:
        thing = copy.deepcopy(thing)
        metadata = thing.setdefault("metadata", {})
        metadata.setdefault("namespace", self.namespace)
        metadata.setdefault("uid", f"uid-of-{metadata.get('name')}")
        metadata["resourceVersion"] = str(version)
        self.history.append((version, kind, thing))
        if metadata.get("name") == self.name:
            self.current = None if kind == "DELETED" else thing
        return thing


def go_silent(peer: Peer) -> NoReturn:
    peer.stall()
    raise PeerGone


def hang_up(peer: Peer, how: str = "close") -> NoReturn:
    if how == "reset":
        peer.reset()
    raise PeerGone


class Stream:
    """An open watch (or, with no peer, the mere passing of time) that the steps act on."""

    def __init__(self, server: ApiServer, peer: Peer | None, workload: Workload) -> None:
        self.server = server
        self.maybe_peer = peer
        self.workload = workload

    @property
    def peer(self) -> Peer:
        assert self.maybe_peer, "this step needs a watch"
        return self.maybe_peer

    def run(self) -> NoReturn:
        while True:
            self.check()
            due = self.workload.steps[0].after if self.workload.steps else None
            self.pause(due - self.server.age if due is not None else 0)
            with self.server.lock:
                step = self.workload.steps.pop(0) if self.workload.steps else None
            if step is None:
                go_silent(self.peer)
            step.run(self)

    def check(self) -> None:
        """Raises PeerGone when nobody reads any more: the steps that are left are for the next watch."""
        if self.server.stopping.is_set():
            raise PeerGone
        sock = self.peer.sock
        try:
            ready, _, _ = select.select([sock], [], [], 0)
            if ready and not self.server.tls and not sock.recv(1, socket.MSG_PEEK):
                raise PeerGone
        except (OSError, ValueError) as error:
            raise PeerGone from error

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.check()
            self.server.stopping.wait(min(0.02, max(0.0, end - time.monotonic())))

    def send(self, data: bytes) -> None:
        size = self.server.piece or len(data)
        for start in range(0, len(data), size):
            self.peer.chunk(data[start : start + size])

    def send_event(self, kind: str, thing: Object) -> None:
        self.send(json.dumps({"type": kind, "object": thing}, ensure_ascii=False).encode() + b"\n")

    def send_bookmark(self, version: int, *, end: bool = False) -> None:
        metadata: Object = {"resourceVersion": str(version)}
        if end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        self.send_event("BOOKMARK", {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata})

    def change(self, kind: str, thing: Object | None) -> Object:
        """Something happens to the object; returns it as the server tells it."""
        with self.server.lock:
            thing = thing if thing is not None else self.workload.current
            assert thing is not None, "nothing there to change"
            return self.workload.record(kind, thing, self.server.next_version())

    def show_current(self) -> None:
        if self.workload.current is not None:
            self.send_event("ADDED", self.workload.current)

    def replay(self, version: int) -> None:
        for at, kind, thing in list(self.workload.history):
            if at > version:
                self.send_event(kind, thing)

    def finish(self) -> NoReturn:
        self.peer.end_chunked()
        raise EndOfStream


# The steps of a script


def _changes(kind: str, thing: Object | None, after: float | None = None) -> Step:
    def run(stream: Stream) -> None:
        told = stream.change(kind, thing)
        if stream.maybe_peer:
            stream.send_event(kind, told)

    return Step(run, after)


def added(thing: Object) -> Step:
    return _changes("ADDED", thing)


def appears(thing: Object, *, after: float) -> Step:
    """The object is created so many seconds later, for a LIST as for a watch."""
    return _changes("ADDED", thing, after)


def modified(thing: Object) -> Step:
    return _changes("MODIFIED", thing)


def deleted() -> Step:
    return _changes("DELETED", None)


def unseen(kind: str, thing: Object | None = None) -> Step:
    """Something happens and this watch is not told: a later LIST or WATCH is."""

    def run(stream: Stream) -> None:
        stream.change(kind, thing)

    return Step(run)


def bookmark(version: int = 0) -> Step:
    """A BOOKMARK of a newer version of the cluster, or of the one that is named."""
    return Step(lambda stream: stream.send_bookmark(version or stream.server.next_version()))


def error(code: int, message: str = "", *, reason: str | None = None) -> Step:
    """An ERROR event, after which a server ends the stream."""

    def run(stream: Stream) -> None:
        stream.send_event("ERROR", status(code, message or f"scripted {code}", reason=reason))
        stream.finish()

    return Step(run)


def sends(data: bytes, *, end: bool = False) -> Step:
    """These bytes, as one chunk, whatever they are; `end`: and then the end of the stream."""

    def run(stream: Stream) -> None:
        stream.send(data)
        if end:
            stream.finish()

    return Step(run)


def pause(seconds: float) -> Step:
    return Step(lambda stream: stream.pause(seconds))


def close() -> Step:
    """The end of the stream as HTTP has it; the connection stays."""
    return Step(Stream.finish)


def cuts(thing: Object, *, end: bool = True) -> Step:
    """The object changes, half of the event is sent; then the body ends, with its last chunk or without."""

    def run(stream: Stream) -> None:
        told = stream.change("MODIFIED", thing)
        data = json.dumps({"type": "MODIFIED", "object": told}).encode()
        stream.peer.chunk(data[: len(data) // 2])
        if end:
            stream.finish()
        hang_up(stream.peer)

    return Step(run)


def drops(how: str = "close") -> Step:
    """The connection ends without the last chunk: by FIN (`close`) or RST (`reset`)."""
    return Step(lambda stream: hang_up(stream.peer, how))


def forgets() -> Step:
    """Versions before the present one are compacted: a watch from them gets ERROR 410."""

    def run(stream: Stream) -> None:
        stream.server.compacted = stream.server.next_version()

    return Step(run)


def then_answers(kind: str, *answers: Answer) -> Step:
    """The next requests of that kind are answered so."""

    def run(stream: Stream) -> None:
        stream.server.answers.setdefault(kind, []).extend(answers)

    return Step(run)


def goes_away(seconds: float) -> Step:
    """The connection is dropped and new ones are refused for so long."""

    def run(stream: Stream) -> None:
        stream.server.go_away(seconds)
        hang_up(stream.peer)

    return Step(run)
