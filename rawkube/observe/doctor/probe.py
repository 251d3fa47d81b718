"""What a doctor asks of a server: one connection, single requests, watches, upgrades. Facts come back, never errors."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube._version import user_agent
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.discovery import Catalogue, Discovery
from rawkube.api.discovery_documents import ACCEPT, is_aggregated
from rawkube.api.paths import encode_query, resource_path
from rawkube.api.watch import WatchDecoder
from rawkube.errors import DeadlineExceeded, RawkubeError, TransportError
from rawkube.observe.doctor import links
from rawkube.observe.doctor.facts import Answer, Finding, Idle, Ran, Reached, Right, Watched
from rawkube.observe.doctor.way import failed_step
from rawkube.observe.messages import CLOSE, Frame, MessageReader
from rawkube.wire.connect import literal
from rawkube.wire.dial import Endpoint, Timeouts, dial
from rawkube.wire.frames import encode_close
from rawkube.wire.http import Request, Response
from rawkube.wire.stream import Stream
from rawkube.wire.tap import Event, Tap
from rawkube.wire.websocket import new_key, problem_with, request_headers

NOBODY = "rawkube-doctor-asks"
"""The name of a pod that nobody has."""

_BODY = 4 << 20
_NORMAL = 1000  # a close because all is done (RFC 6455, section 7.4.1)
_GOODBYE = 1.0  # seconds
_REST = 3.0  # what is waited beyond the time that a watch was asked for
_SELECTED = ("fieldSelector", f"metadata.name={NOBODY}")
_STREAMED = (
    ("allowWatchBookmarks", "true"),
    ("resourceVersionMatch", "NotOlderThan"),
    ("sendInitialEvents", "true"),
    _SELECTED,
)


class Limits(NamedTuple):
    """Seconds. What a step or a request may take, and for how long a watch is asked for."""

    request: float = 10.0
    watch: int = 2


LIMITS = Limits()
"""For a person who waits."""


class Probe:
    """Asks the server of a client. `namespace`: where rights and watches are asked for."""

    def __init__(self, client: ApiClient, *, namespace: str, clock: Callable[[], float], limits: Limits) -> None:
        self._client = client
        self._namespace = namespace
        self._clock = clock
        self._seconds, self._watch_seconds = limits
        self._deployments = resource_path(known("deployments"), namespace)

    # The connection

    def reach(self) -> Reached:
        """Connect, and close again."""
        endpoint = self._client.pool.endpoint
        events: list[Event] = []
        failed = error = ""
        detail: tuple[str, ...] = ()
        limit = self._seconds
        timeouts = Timeouts(resolve=limit / 2, connect=limit, tls=limit, first_byte=limit)
        try:
            tap = Tap(events.append, *self._passed_on())
            dial(endpoint, timeouts=timeouts, deadline=time.monotonic() + 2.5 * limit, tap=tap).close()
        except RawkubeError as raised:
            step = getattr(raised, "step", "")
            failed = failed_step(
                type(raised).__name__, step, [event.kind for event in events], tunnel=_tunnel(endpoint)
            )
            error, detail = str(raised), raised.detail
        peer = endpoint.proxy.host if endpoint.proxy else endpoint.host
        return Reached(
            host=endpoint.authority,
            peer=peer,
            literal=literal(peer, 0) is not None,
            tls=endpoint.tls is not None,
            proxy=str(endpoint.proxy or ""),
            tunnel=_tunnel(endpoint),
            events=tuple((event.kind, event.data) for event in events),
            failed=failed,
            error=error,
            detail=detail,
            trust=self._trust(),
            now=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock())),
        )

    def chain(self, reached: Reached) -> Finding:
        """The certificates of a server with TLS."""
        if not links.shows_certificates(reached):
            return links.not_known(reached)
        from rawkube.observe.doctor import chain

        endpoint = self._client.pool.endpoint
        timeouts = Timeouts(resolve=self._seconds, connect=self._seconds, tls=self._seconds)
        start = time.monotonic()
        finding = links.chain(chain.sent_by(endpoint, timeouts), chain.trusted_by(endpoint), reached)
        return finding._replace(seconds=time.monotonic() - start)

    def _passed_on(self) -> Sequence[Callable[[Event], None]]:
        """Who else looks on."""
        tap = self._client.tap
        return () if tap is None else (lambda event: tap(event.kind, event.conn, **event.data),)

    def _trust(self) -> str:
        access = self._client.access
        if access.insecure:
            return ""
        if access.ca_data is not None:
            return "the CA of the kubeconfig"
        return access.ca_file or "the system's roots"

    # Requests

    def ask(
        self,
        path: str,
        query: Iterable[tuple[str, str]] = (),
        *,
        method: str = "GET",
        body: bytes = b"",
        headers: Sequence[tuple[str, str]] = (),
        accept: str = "application/json",
    ) -> Answer:
        """One request and its whole answer; of a 101 the head."""
        extra = [("Accept", accept), ("User-Agent", user_agent()), *headers]
        start, at = time.monotonic(), self._clock()
        try:
            with self._send(method, path, query, extra, body, start + self._seconds) as response:
                seconds = time.monotonic() - start
                return _answer(response, seconds, at + seconds / 2)
        except RawkubeError as error:
            return Answer(error=str(error), detail=error.detail, seconds=time.monotonic() - start)

    def _send(
        self,
        method: str,
        path: str,
        query: Iterable[tuple[str, str]],
        headers: Sequence[tuple[str, str]],
        body: bytes,
        deadline: float,
    ) -> Response:
        encoded = encode_query(query)
        target = self._client.address.prefix + path + (f"?{encoded}" if encoded else "")
        return self._client.exchange(Request(method, target, headers, body), deadline=deadline)

    def create(self, path: str, kind: str, fields: Mapping[str, Any]) -> Answer:
        """Have an object answered that the server does not keep; `path` is `GROUP/VERSION/PLURAL`."""
        group_version = path.rpartition("/")[0]
        sent = {"kind": kind, "apiVersion": group_version, "metadata": {}, **fields}
        body = json.dumps(sent, separators=(",", ":")).encode()
        return self.ask(f"/apis/{path}", method="POST", body=body, headers=[("Content-Type", "application/json")])

    def review(self) -> Answer:
        """Whom the server takes one for."""
        answer = Answer()
        for version in ("v1", "v1beta1"):
            answer = self.create(f"authentication.k8s.io/{version}/selfsubjectreviews", "SelfSubjectReview", {})
            if answer.status != 404:
                break
        return answer

    def right(self, verb: str, what: str) -> Right:
        """Whether one may; `what`: `pods/exec`, `deployments.apps`."""
        plural, _, group = what.partition("/")[0].partition(".")
        fields = {
            "namespace": self._namespace,
            "verb": verb,
            "group": group,
            "resource": plural,
            "subresource": what.partition("/")[2],
        }
        spec = {"resourceAttributes": {name: value for name, value in fields.items() if value}}
        answer = self.create(
            "authorization.k8s.io/v1/selfsubjectaccessreviews", "SelfSubjectAccessReview", {"spec": spec}
        )
        status = answer.object.get("status")
        if answer.status not in (200, 201) or not isinstance(status, dict):
            return Right(verb, what, None, answer.message or answer.error or f"{answer.status} {answer.reason}")
        return Right(verb, what, status.get("allowed") is True, str(status.get("reason") or ""))

    def discovery(self) -> tuple[bool | None, int, Mapping[str, str], str]:
        """(aggregated, how many resources, what failed, why nothing is known)."""
        head = self.ask("/apis", accept=ACCEPT)
        aggregated = is_aggregated(head.header("content-type")) if head.status == 200 else None
        found: list[Catalogue] = []
        error = ""

        def look() -> None:
            nonlocal error
            try:
                found.append(Discovery(self._client).catalogue())
            except RawkubeError as raised:
                error = str(raised)

        limit = 2 * self._seconds
        _within(limit, look)
        if not found:
            return aggregated, 0, {}, error or f"not answered in {limit:g} s"
        return aggregated, len(found[0].resources), found[0].failed, ""

    # Upgrades

    def _upgrade_headers(self, key: str, protocols: Sequence[str]) -> list[tuple[str, str]]:
        # A watch is given only to those who say where they come from (golang.org/x/net/websocket).
        address = self._client.address
        origin = f"{address.scheme}://{self._client.pool.endpoint.host_header}"
        return [("User-Agent", user_agent()), ("Origin", origin), *request_headers(key, protocols)]

    def upgrade(self) -> tuple[Answer, str]:
        """A watch as a WebSocket: the answer, and what is wrong with its 101."""
        key = new_key(os.urandom(16))
        query = (("watch", "true"), ("timeoutSeconds", str(self._watch_seconds)), _SELECTED)
        answer = self._ask_upgrade(self._deployments, query, key, ())
        return answer, problem_with(answer.headers, key, ()) if answer.status == 101 else ""

    def exec_of_nobody(self) -> Answer:
        """An exec in a pod that does not exist."""
        path = resource_path(known("pods"), self._namespace, NOBODY, "exec")
        query = [("command", "true"), ("stdout", "true")]
        protocols = ("v5.channel.k8s.io", "v4.channel.k8s.io")
        return self._ask_upgrade(path, query, new_key(os.urandom(16)), protocols)

    def _ask_upgrade(self, path: str, query: Iterable[tuple[str, str]], key: str, protocols: Sequence[str]) -> Answer:
        start, at = time.monotonic(), self._clock()
        headers = self._upgrade_headers(key, protocols)
        try:
            with self._send("GET", path, query, headers, b"", start + self._seconds) as response:
                answer = _answer(response, time.monotonic() - start, at)
                if answer.status == 101:
                    _leave(response.upgraded()[0])
                return answer
        except RawkubeError as error:
            return Answer(error=str(error), detail=error.detail, seconds=time.monotonic() - start)

    def run(self, pod: str) -> Ran:
        """Run `true` in a pod."""
        from rawkube.remotecommand.call import open_exec

        try:
            with open_exec(
                self._client, pod, ["true"], namespace=self._namespace, timeout=1.5 * self._seconds
            ) as command:
                for _ in command:
                    pass
                result = command.result
                known_end = type(result).__name__ in ("Success", "ExitCode", "Failure")
                code = result.exit_code if known_end else None
                return Ran(command.protocol.name, code, command.close_code, result.line)
        except RawkubeError as error:
            return Ran(refused=str(error), detail=error.detail)

    # Watches

    def watch(self) -> Watched:
        """A short watch of Deployments: a streaming list, which ends with a bookmark; else of those that are there."""
        found = self._watch(_STREAMED)
        if found.first is None and (found.answer.status in (0, 200, 400, 406, 422)) and not found.answer.error:
            found = self._watch((("allowWatchBookmarks", "true"),))
        return found

    def _watch(self, query: Iterable[tuple[str, str]]) -> Watched:
        every = [*query, ("watch", "true"), ("timeoutSeconds", str(self._watch_seconds))]
        headers = [("Accept", "application/json"), ("User-Agent", user_agent())]
        start = time.monotonic()
        deadline = start + self._watch_seconds + _REST
        try:
            response = self._send("GET", self._deployments, every, headers, b"", deadline)
        except RawkubeError as error:
            return Watched(Answer(error=str(error), detail=error.detail), self._watch_seconds)
        with response:
            head = time.monotonic() - start
            if response.status != 200:
                return Watched(_answer(response, head, 0.0), self._watch_seconds, head)
            return _watched(response, start, head, self._watch_seconds)

    def idle_watch(self, seconds: float) -> Idle:
        """A watch on which nothing happens."""
        query = [("watch", "true"), ("timeoutSeconds", str(int(seconds) + 30)), _SELECTED]
        headers = [("Accept", "application/json"), ("User-Agent", user_agent())]
        asked = time.monotonic()
        try:
            response = self._send("GET", self._deployments, query, headers, b"", asked + self._seconds + seconds)
        except RawkubeError as error:
            return Idle(seconds, refused=f"no watch: {error}")
        with response:
            if response.status != 200:
                return Idle(seconds, refused=f"no watch: {response.status} {response.reason}")
            return _silence(response, seconds, time.monotonic() - asked)

    def idle_websocket(self, seconds: float) -> Idle:
        """A WebSocket on which nothing happens, pings aside that the server sends."""
        query = [("watch", "true"), ("timeoutSeconds", str(int(seconds) + 30)), _SELECTED]
        headers = self._upgrade_headers(new_key(os.urandom(16)), ())
        try:
            response = self._send("GET", self._deployments, query, headers, b"", time.monotonic() + self._seconds)
        except RawkubeError as error:
            return Idle(seconds, refused=f"no WebSocket: {error}")
        if response.status != 101:
            response.close()
            return Idle(seconds, refused=f"no WebSocket: {response.status} {response.reason}")
        stream, data = response.upgraded()
        try:
            return _silent(stream, data, seconds)
        finally:
            _leave(stream)

    def idle(self, seconds: float) -> dict[str, Idle]:
        """Both at the same time."""
        found: dict[str, Idle] = {}

        def both(name: str, probe: Callable[[float], Idle]) -> threading.Thread:
            thread = threading.Thread(target=lambda: found.update({name: probe(seconds)}), daemon=True, name=name)
            thread.start()
            return thread

        threads = [both("idle watch", self.idle_watch), both("idle websocket", self.idle_websocket)]
        end = time.monotonic() + seconds + 2 * self._seconds
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        for name in ("idle watch", "idle websocket"):
            found.setdefault(name, Idle(seconds, refused="not known in time"))
        return found


def _leave(stream: Stream) -> None:
    """Close a WebSocket as its protocol has it; what the server still says is not waited for."""
    try:
        stream.send(encode_close(_NORMAL), timeout=_GOODBYE)
    except TransportError:  # it has gone already
        pass
    stream.close()


def _tunnel(endpoint: Endpoint) -> bool:
    return endpoint.proxy is not None and not endpoint.is_forwarded


def _answer(response: Response, seconds: float, at: float) -> Answer:
    body = b""
    if response.status != 101:
        try:
            body = _begin(response)
        except TransportError as error:
            return Answer(response.status, response.reason, tuple(response.headers), b"", seconds, str(error), (), at)
    return Answer(response.status, response.reason, tuple(response.headers), body, seconds, "", (), at)


def _begin(response: Response) -> bytes:
    """The body, or its beginning if it does not end: an answer to an upgrade may be a watch."""
    found = b""
    streams = response.status == 200 and "transfer-encoding" in {name for name, _ in response.headers}
    if streams:
        response.set_silence(0.5)
    try:
        for piece in response.chunks():
            found += piece
            if len(found) > _BODY:
                break
    except DeadlineExceeded:
        if not streams:
            raise
    return found


def _watched(response: Response, start: float, head: float, asked: float) -> Watched:
    decoder = WatchDecoder()
    first: float | None = None
    types: list[str] = []
    bookmark = False
    error = ""
    answer = Answer(response.status, response.reason, tuple(response.headers), seconds=head)
    try:
        for piece in response.chunks():
            first = time.monotonic() - start if first is None else first
            for event in decoder.feed(piece):
                types.append(event.type)
                bookmark = bookmark or _ends_initial_events(event.object)
    except DeadlineExceeded:
        error = "it did not end by itself"
    except RawkubeError as raised:
        error = str(raised)
    return Watched(answer, asked, head, first, time.monotonic() - start, tuple(types), bookmark, error)


def _ends_initial_events(thing: Mapping[str, Any]) -> bool:
    metadata = thing.get("metadata")
    notes = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(notes, dict) and notes.get("k8s.io/initial-events-end") == "true"


def _silence(response: Response, seconds: float, head: float) -> Idle:
    """`head`: seconds until the head had come, which may have been held back until the end."""
    since = time.monotonic()
    response.set_silence(seconds)
    error = "the answer ended"
    try:
        for _ in response.chunks():
            since = time.monotonic()
    except DeadlineExceeded:
        error = ""
    except RawkubeError as raised:
        error = str(raised)
    silent = time.monotonic() - since
    if error and head > silent:
        silent, error = head, f"{error}; not even the head came before"
    return Idle(seconds, silent, error)


def _silent(stream: Stream, data: bytes, seconds: float) -> Idle:
    since = time.monotonic()
    reader = MessageReader()
    found = reader.feed(data)
    while True:
        closes = [one for one in found if isinstance(one, Frame) and one.opcode == CLOSE]
        if closes:
            code = int.from_bytes(closes[0].data[:2], "big") or 1005
            return Idle(seconds, time.monotonic() - since, f"closed with {code}")
        try:
            more = stream.recv_by(65536, since + seconds)
        except TransportError as error:
            return Idle(seconds, time.monotonic() - since, str(error))
        if more is None:
            return Idle(seconds, time.monotonic() - since)
        if not more:
            return Idle(seconds, time.monotonic() - since, "the connection ended")
        found = reader.feed(more)
        since = since if not found else time.monotonic()


def _within(seconds: float, work: Callable[[], None]) -> None:
    """Run something that has no deadline of its own; it is left behind if it takes longer."""
    thread = threading.Thread(target=work, daemon=True, name="doctor")
    thread.start()
    thread.join(seconds)
