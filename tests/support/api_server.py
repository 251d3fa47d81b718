"""A scripted Kubernetes API server on loopback.

    web = Workload(deployment(u=1), steps=[modified(deployment(u=3)), close()])
    with ApiServer(web) as server:
        ... server.url ... server.seen()

A workload has states and steps. The states are what is there at the start: a LIST shows the last of them, a
streaming list (`sendInitialEvents=true`) all, then its bookmark. The steps are what happens afterwards, on
whichever watch is open; a watch that was opened from resourceVersion N gets what came after N first, then runs
the steps that are left. When they are used up, the stream stays open and silent. So one script serves clients of
both kinds: those that stream the list, and those that LIST and then WATCH.

`answers` holds what is answered instead, per kind of request (`get`, `list`, `watch`, `watch-list`,
`namespace`, `discovery`), one each time, in order.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.support.discovery import kind_of, knows_group, recorded
from tests.support.script import (
    AS_USUAL,
    Answer,
    EndOfStream,
    Object,
    Stream,
    Workload,
    failure,
    go_silent,
    hang_up,
    status,
)
from tests.support.server import Peer, ScriptedServer, SeenRequest


class ApiServer(ScriptedServer):
    """The server. `asked` holds every request, `seen()` the ones about workloads, in short."""

    def __init__(
        self,
        *workloads: Workload,
        answers: Mapping[str, Sequence[Answer]] | None = None,
        warnings: Sequence[str] = (),
        namespaces: Sequence[str] = ("default", "demo"),
        piece: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(self._connection, tls=tls)
        self.workloads = list(workloads)
        self.answers = {kind: list(queue) for kind, queue in (answers or {}).items()}
        self.warnings = tuple(("Warning", f'299 - "{text}"') for text in warnings)
        self.namespaces = namespaces
        self.piece = piece
        self.version = 100
        self.compacted = 0
        self.lock = threading.RLock()
        self.asked: list[SeenRequest] = []
        self.times: list[float] = []
        self.on: list[int] = []
        self._timers: list[threading.Thread] = []
        for workload in self.workloads:
            for number, state in enumerate(workload.states):
                workload.record("MODIFIED" if number else "ADDED", state, self.next_version())

    def next_version(self) -> int:
        with self.lock:
            self.version += 1
            return self.version

    @property
    def age(self) -> float:
        """Seconds since the first request."""
        return time.monotonic() - self.times[0]

    # What the client asked

    def seen(self, *, discovery: bool = False) -> list[str]:
        """The requests in short, such as `list`, `watch rv=101`, `get web`, `watch-list rv=101`."""
        short = [describe(request) for request in self.asked]
        return [line for line in short if discovery or line != "discovery"]

    def gaps(self, kind: str) -> list[float]:
        """Seconds between one request of that kind and the next."""
        times = [when for when, request in zip(self.times, self.asked, strict=True) if kind_of_request(request) == kind]
        return [later - earlier for earlier, later in itertools.pairwise(times)]

    # One connection

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            with self.lock:
                self.asked.append(request)
                self.times.append(time.monotonic())
                self.on.append(peer.number)
            kind = kind_of_request(request)
            queue = self.answers.get(kind)
            answer = queue.pop(0) if queue else AS_USUAL
            with contextlib.suppress(EndOfStream):
                self._serve_request(peer, request, kind, answer)

    def _serve_request(self, peer: Peer, request: SeenRequest, kind: str, answer: Answer) -> None:
        if answer.how == "usual":
            getattr(self, "_" + kind.replace("-", "_"))(peer, request)
        elif answer.how == "reply":
            peer.reply(answer.body, status=answer.status, content_type=answer.content_type, headers=answer.headers)
        else:
            go_silent(peer) if answer.how == "stall" else hang_up(peer, answer.how)

    def _reply(self, peer: Peer, thing: Object, code: str = "200 OK") -> None:
        peer.reply(json.dumps(thing), status=code, headers=self.warnings)

    def _refuse(self, peer: Peer, answer: Answer) -> None:
        peer.reply(answer.body, status=answer.status, headers=answer.headers, content_type=answer.content_type)

    def _discovery(self, peer: Peer, request: SeenRequest) -> None:
        body, content_type = recorded(request.path)
        peer.reply(body, content_type=content_type)

    def _namespace(self, peer: Peer, request: SeenRequest) -> None:
        name = request.path.rsplit("/", 1)[1]
        if name in self.namespaces:
            self._reply(peer, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
        else:
            self._refuse(peer, not_found("namespaces", name))

    def _get(self, peer: Peer, request: SeenRequest) -> None:
        where = Path.of(request)
        self._run_due()
        with self.lock:
            thing = next((w.found or w.current for w in self.workloads if where.names(w)), None)
        if not where.known:
            self._refuse(peer, where.unknown())
        elif thing is None:
            self._refuse(peer, not_found(where.qualified, where.name))
        else:
            self._reply(peer, thing)

    def _list(self, peer: Peer, request: SeenRequest) -> None:
        where = Path.of(request)
        if not where.known:
            self._refuse(peer, where.unknown())
            return
        self._run_due()
        with self.lock:
            items = [w.current for w in self.workloads if w.current and where.selects(w)]
            version = self.version
            for workload in self.workloads:
                workload.fresh = workload.fresh and not where.selects(workload)
        # As real servers do: the items of a list do not repeat its kind.
        items = [{key: item[key] for key in item if key not in {"kind", "apiVersion"}} for item in items]
        head = {"kind": where.kind + "List", "apiVersion": where.api_version}
        self._reply(peer, head | {"metadata": {"resourceVersion": str(version)}, "items": items})

    def _run_due(self) -> None:
        """Lets happen what waits for nothing but time."""
        for workload in self.workloads:
            step = workload.steps[0] if workload.steps else None
            if step and step.after is not None and self.age > step.after:
                step.run(Stream(self, None, workload))
                workload.steps.pop(0)

    # Watches

    def _watch(self, peer: Peer, request: SeenRequest) -> None:
        where = Path.of(request)
        version = request.query.get("resourceVersion", "")
        workload = self._watched(where)
        stream = self._open(peer, workload)
        if version in {"", "0"}:
            stream.show_current()
        elif not version.isdecimal():
            raise AssertionError(f"a watch from resourceVersion {version!r}")
        elif int(version) < self.compacted:
            stream.send_event("ERROR", status(410, f"too old resource version: {version} ({self.compacted})"))
            stream.finish()
        else:
            stream.replay(int(version))
        stream.run()

    def _watch_list(self, peer: Peer, request: SeenRequest) -> None:
        workload = self._watched(Path.of(request))
        stream = self._open(peer, workload)
        with self.lock:
            fresh, workload.fresh = workload.fresh, False
            version = self.version
        if fresh:
            stream.replay(0)
        else:
            stream.show_current()
        stream.send_bookmark(version, end=True)
        stream.run()

    def _watched(self, where: Path) -> Workload:
        for workload in self.workloads:
            if where.selects(workload):
                return workload
        # Nothing of that name: an empty, silent watch.
        return Workload(resource=where.resource, name=where.name or "-")

    def _open(self, peer: Peer, workload: Workload) -> Stream:
        lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in self.warnings]
        peer.send("\r\n".join(lines).encode() + b"\r\n\r\n")
        return Stream(self, peer, workload)

    # Being away

    def go_away(self, seconds: float) -> None:
        """Refuse connections for so long, then listen again on the same port."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._acceptor.join()

        def come_back() -> None:
            self.stopping.wait(seconds)
            self.listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
            self._acceptor = threading.Thread(target=self._accept, daemon=True)
            self._acceptor.start()
            self.back.set()

        self.back = threading.Event()
        timer = threading.Thread(target=come_back, daemon=True)
        self._timers.append(timer)
        timer.start()

    def __exit__(self, *about: Any) -> None:
        self.stopping.set()
        for timer in self._timers:
            timer.join()
        super().__exit__(*about)


class Path(NamedTuple):
    """A request's path and selectors, taken apart."""

    group: str
    version: str
    namespace: str
    resource: str
    name: str
    labels: str
    by_name: str

    @classmethod
    def of(cls, request: SeenRequest) -> Path:
        parts = [unquote(part) for part in request.path.strip("/").split("/")]
        group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        query = request.query
        by_name = query.get("fieldSelector", "").removeprefix("metadata.name=")
        name = "/".join(rest[1:])
        return cls(group, version, namespace, rest[0], name, query.get("labelSelector", ""), by_name)

    @property
    def qualified(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def kind(self) -> str:
        return kind_of(self.group, self.version, self.resource) or ""

    @property
    def known(self) -> bool:
        return bool(self.kind)

    def unknown(self) -> Answer:
        """What an API server answers for a resource (a Status) or a group (text) that it does not have."""
        if knows_group(self.group, self.version):
            return failure(404, "the server could not find the requested resource", details={})
        return Answer("404 Not Found", "404 page not found\n", content_type="text/plain; charset=utf-8")

    def names(self, workload: Workload) -> bool:
        same = (workload.resource, workload.namespace) == (self.resource, self.namespace)
        return same and self.name == workload.name

    def selects(self, workload: Workload) -> bool:
        if workload.resource != self.resource or self.namespace not in {"", workload.namespace}:
            return False
        if self.by_name:
            return self.by_name == workload.name
        wanted = dict(term.replace("==", "=").split("=") for term in self.labels.split(",") if term)
        labels = ((workload.current or {}).get("metadata") or {}).get("labels") or {}
        return all(labels.get(key) == value for key, value in wanted.items())


def kind_of_request(request: SeenRequest) -> str:
    """`discovery`, `namespace`, `get`, `list`, `watch` or `watch-list`."""
    parts = request.path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if not rest:
        return "discovery"
    if rest[0] == "namespaces" and len(rest) == 2:
        return "namespace"
    if request.query.get("watch") == "true":
        return "watch-list" if request.query.get("sendInitialEvents") == "true" else "watch"
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    return "list" if len(rest) == 1 else "get"


def describe(request: SeenRequest) -> str:
    kind = kind_of_request(request)
    if kind in {"discovery", "namespace"}:
        return kind
    query = request.query
    words = [kind] + ([Path.of(request).name] if kind == "get" else [])
    words += [f"rv={query['resourceVersion']}"] if "resourceVersion" in query else []
    words += [f"limit={query['limit']}"] if "limit" in query else []
    return " ".join(words)


def not_found(qualified: str, name: str) -> Answer:
    resource, _, group = qualified.partition(".")
    details = {"name": name, "group": group, "kind": resource}
    return failure(
        404, f'{qualified} "{name}" not found', details={key: details[key] for key in details if details[key]}
    )
