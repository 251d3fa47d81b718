"""A scripted server of container logs: what a kubelet answers for `pods/NAME/log`, and how it may break off.

    web = Log([line(0, "one"), line(1, "two")])
    with LogsServer([a_pod("web")], {"web/main": [web.breaks(12), web]}) as server:
        ...

Each request for a container's log takes the next of its answers; the last one stays.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.support.discovery import recorded
from tests.support.script import Answer, failure
from tests.support.server import Peer, PeerGone, ScriptedServer, SeenRequest

Object = dict[str, Any]
# Answers one request; PeerGone ends the connection.
Reply = Callable[[Peer, SeenRequest], None]

BASE = "2026-11-30T10:00:"


class Line(NamedTuple):
    """One line of a container's log, with its end, as the kubelet has it."""

    stamp: str
    data: bytes


def line(seconds: float, text: str | bytes, *, end: bytes = b"\n") -> Line:
    """A line that was written so many seconds after ten o'clock; nanoseconds as the kubelet writes them."""
    data = text.encode() if isinstance(text, str) else text
    whole, nanoseconds = divmod(round(seconds * 10**9), 10**9)
    return Line(f"{BASE}{whole:02d}.{nanoseconds:09d}Z", data + end)


class Log:
    """A container's log. `how` it ends: `end` (the container has ended), `close`, `reset`, `hang` (goes on).

    `cut`: how many bytes of the answer come at most, before it ends so. `fine`: whether `sinceTime` counts with its
    fraction; a kubelet gets whole seconds.
    """

    def __init__(self, lines: Sequence[Line], how: str = "end", *, cut: int | None = None, piece: int = 0) -> None:
        self.lines = list(lines)
        self.how = how
        self.cut = cut
        self.piece = piece

    def breaks(self, cut: int, how: str = "close") -> Log:
        return Log(self.lines, how, cut=cut, piece=self.piece)

    def body(self, query: Mapping[str, str]) -> bytes:
        since = query.get("sinceTime", "").removesuffix("Z")
        chosen = [each for each in self.lines if each.stamp[: len(since)] >= since]
        if "tailLines" in query:
            tail = int(query["tailLines"])
            chosen = chosen[len(chosen) - tail :] if 0 <= tail < len(chosen) else chosen
        stamps = query.get("timestamps") == "true"
        data = b"".join((each.stamp.encode() + b" " if stamps else b"") + each.data for each in chosen)
        return data[: int(query["limitBytes"])] if "limitBytes" in query else data

    def __call__(self, peer: Peer, request: SeenRequest) -> None:
        data = self.body(request.query)
        data = data if self.cut is None else data[: self.cut]
        peer.start_chunked(content_type="text/plain")
        for start in range(0, len(data), self.piece or len(data) or 1):
            peer.chunk(data[start : start + (self.piece or len(data))])
        if self.how == "end":
            peer.end_chunked()
            return
        if self.how == "hang":
            peer.stall()
        if self.how == "reset":
            # So that what was sent is read before the reset reaches the client.
            peer.sock.settimeout(0.2)
            try:
                peer.sock.recv(1)
            except OSError:
                pass
            peer.reset()
        raise PeerGone


def answers(answer: Answer) -> Reply:
    def reply(peer: Peer, request: SeenRequest) -> None:
        if answer.how != "reply":
            raise PeerGone
        peer.reply(answer.body, status=answer.status, content_type=answer.content_type, headers=answer.headers)

    return reply


class LogsServer(ScriptedServer):
    """See above. `objects`: answers by path. `pods` may change while it runs; a list of Pods: one after another."""

    def __init__(
        self,
        pods: Sequence[Object],
        logs: Mapping[str, Sequence[Reply]] = {},
        objects: Mapping[str, Object | Answer] = {},
    ) -> None:
        super().__init__(self._connection)
        self.pods: dict[str, list[Object]] = {}
        for pod in pods:
            self.pods.setdefault(pod["metadata"]["name"], []).append(pod)
        self.logs = {name: list(replies) for name, replies in logs.items()}
        self.objects = dict(objects)
        self.asked: list[SeenRequest] = []
        self.lock = threading.Lock()

    def log_queries(self) -> list[dict[str, str]]:
        return [each.query for each in self.asked if each.path.endswith("/log")]

    def targets(self) -> list[str]:
        """The requests for namespaced things in short: `pods/web/log?container=main`."""
        prefix = "/namespaces/"
        asked = [each.target for each in self.asked if each.path not in ("/api", "/apis")]
        return [each.partition(prefix)[2].partition("/")[2] or each for each in asked]

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            with self.lock:
                self.asked.append(request)
            self._reply(peer, request)

    def _reply(self, peer: Peer, request: SeenRequest) -> None:
        parts = request.path.split("/")
        if request.path in ("/api", "/apis"):
            body, content_type = recorded(request.path)
            peer.reply(body, content_type=content_type)
        elif request.path in self.objects:
            found = self.objects[request.path]
            if isinstance(found, Answer):
                answers(found)(peer, request)
            else:
                peer.reply(json.dumps(found))
        elif parts[-1] == "log":
            self._log(peer, request, parts[-2])
        elif parts[-1] == "pods" and parts[-2] != "pods":
            self._list(peer, request)
        elif parts[-1] in self.pods and parts[-2] == "pods":
            peer.reply(json.dumps(self._pod(parts[-1])))
        else:
            details = {"name": parts[-1], "kind": parts[-2]}
            missing = failure(404, f'{parts[-2]} "{parts[-1]}" not found', details=details)
            peer.reply(missing.body, status=missing.status)

    def _pod(self, name: str) -> Object:
        with self.lock:
            found = self.pods[name]
            return found.pop(0) if len(found) > 1 else found[0]

    def _log(self, peer: Peer, request: SeenRequest, pod: str) -> None:
        name = f"{pod}/{request.query.get('container', '')}"
        with self.lock:
            replies = self.logs.get(name)
            reply = replies.pop(0) if replies and len(replies) > 1 else replies[0] if replies else None
        if reply is None:
            missing = failure(400, f"container {name} has no log")
            peer.reply(missing.body, status=missing.status)
        else:
            reply(peer, request)

    def _list(self, peer: Peer, request: SeenRequest) -> None:
        wanted = [term.partition("=")[::2] for term in request.query.get("labelSelector", "").split(",") if term]
        items = [
            pods[0]
            for pods in self.pods.values()
            if all(pods[0]["metadata"]["labels"].get(key) == value for key, value in wanted)
        ]
        listing = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": items}
        peer.reply(json.dumps(listing))
