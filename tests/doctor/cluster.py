"""An API server as a doctor meets it: healthy, but for what a test changes."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

from rawkube.api.client import ApiClient
from rawkube.kubeconfig.access import Access
from rawkube.observe.doctor import Doctor
from rawkube.observe.doctor.facts import Finding
from rawkube.observe.doctor.probe import Limits
from tests.support.discovery import recorded
from tests.support.script import Answer, failure, hang_up
from tests.support.server import Peer, PeerGone, ScriptedServer, SeenRequest
from tests.support.websocket import V5, Far, switching

TOKEN = "marker-of-the-doctor"
LIMITS = Limits(request=1.0, watch=1)
LONG_ENOUGH = 0.6
"""For how long a server has to keep up a watch of a second that is to pass: for more than half of it."""

BOOKMARK = {
    "type": "BOOKMARK",
    "object": {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}},
    },
}


def kind_of(request: SeenRequest) -> str:
    """What a doctor's request is about: `version`, `whoami`, `right VERB RESOURCE`, `upgrade`, `exec`, `watch`, …"""
    path = request.path
    if path.endswith("/selfsubjectreviews"):
        return "whoami"
    if path.endswith("/selfsubjectaccessreviews"):
        asked = json.loads(request.body)["spec"]["resourceAttributes"]
        return f"right {asked['verb']} {asked['resource']}" + ("/exec" if "subresource" in asked else "")
    if path.endswith("/deployments"):
        return "upgrade" if request.header("Upgrade") else "watch"
    kinds = {"/version": "version", "/api": "discovery", "/apis": "discovery"}
    return kinds.get(path) or ("exec" if path.endswith("/exec") else "pod" if "/pods/" in path else "other")


class Cluster(ScriptedServer):
    """`answers`: by kind of request (or its first word), what is said instead, always.

    `date`: seconds that its clock is ahead. `lasts`: seconds that a watch is kept up. `held`: the events of a watch are kept until its end. `cut`: seconds after
    which a silent stream is closed. `protocol`: of exec. `strips`: no Upgrade header reaches it. `old`: it has no streaming
    lists.
    """

    def __init__(
        self,
        answers: Mapping[str, Answer] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        date: float = 0.0,
        lasts: float = 0.0,
        held: bool = False,
        cut: float = 0.0,
        protocol: str = V5,
        strips: bool = False,
        old: bool = False,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(self._connection, tls=tls)
        self.asked: list[SeenRequest] = []
        self._answers = dict(answers or {})
        self._date = date
        self._lasts = lasts
        self._held = held
        self._cut = cut
        self._protocol = protocol
        self._strips = strips
        self._old = old
        self._headers = headers

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            self.asked.append(request)
            kind = kind_of(request)
            answer = self._answers.get(kind) or self._answers.get(kind.split()[0])
            if answer is None:
                getattr(self, "_" + kind.split()[0])(peer, request)
            elif answer.how == "reply":
                peer.reply(answer.body, status=answer.status, content_type=answer.content_type, headers=answer.headers)
            elif answer.how == "stall":
                peer.stall()
                raise PeerGone
            else:
                hang_up(peer, answer.how)

    def _json(self, peer: Peer, thing: Mapping[str, Any], status: str = "200 OK") -> None:
        date = formatdate(time.time() + self._date, usegmt=True)
        peer.reply(json.dumps(thing), status=status, headers=(("Date", date), *self._headers))

    def _version(self, peer: Peer, request: SeenRequest) -> None:
        self._json(peer, {"major": "1", "minor": "37", "gitVersion": "v1.37.1"})

    def _whoami(self, peer: Peer, request: SeenRequest) -> None:
        known = request.header("Authorization") == f"Bearer {TOKEN}"
        user = {"username": "jane", "groups": ["dev"]} if known else {"username": "system:anonymous", "groups": []}
        self._json(peer, {"kind": "SelfSubjectReview", "status": {"userInfo": user}}, "201 Created")

    def _right(self, peer: Peer, request: SeenRequest) -> None:
        self._json(peer, {"kind": "SelfSubjectAccessReview", "status": {"allowed": True}}, "201 Created")

    def _discovery(self, peer: Peer, request: SeenRequest) -> None:
        body, media = recorded(request.path)
        peer.reply(body, content_type=media)

    def _pod(self, peer: Peer, request: SeenRequest) -> None:
        spec = {"containers": [{"name": "main", "image": "x"}], "nodeName": "n"}
        metadata = {"name": request.path.rsplit("/", 1)[1], "namespace": "default"}
        self._json(peer, {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec})

    def _exec(self, peer: Peer, request: SeenRequest) -> None:
        name = request.path.split("/")[-2]
        if name == "web-0":
            peer.send(switching(request, self._protocol))
            Far(peer, request, self._protocol).end()
            raise PeerGone
        missing = failure(404, f'pods "{name}" not found')
        peer.reply(missing.body, status=missing.status)

    def _upgrade(self, peer: Peer, request: SeenRequest) -> None:
        if self._strips:
            self._watch(peer, request)
            return
        peer.send(switching(request, omit="Sec-WebSocket-Protocol"))
        self._quiet(peer)
        raise PeerGone

    def _watch(self, peer: Peer, request: SeenRequest) -> None:
        if self._old and "sendInitialEvents" in request.query:
            refused = failure(
                422, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            )
            peer.reply(refused.body, status=refused.status)
            return
        event = json.dumps(BOOKMARK if not self._old else BOOKMARK | {"type": "ADDED", "object": {}}) + "\n"
        if int(request.query["timeoutSeconds"]) > 10:
            peer.start_chunked()
            self._quiet(peer)
            raise PeerGone
        if self._held:
            self.stopping.wait(int(request.query["timeoutSeconds"]))
        head = "".join(f"{name}: {value}\r\n" for name, value in self._headers)
        peer.send(
            f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head}Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        peer.chunk(event)
        if not self._held:
            self.stopping.wait(self._lasts)
        peer.end_chunked()

    def _quiet(self, peer: Peer) -> None:
        if self._cut:
            self.stopping.wait(self._cut)
        else:
            peer.stall()


def examined(url: str, *, idle: float = 0.0, pod: str = "", clock: float = 0.0, **access: Any) -> dict[str, Finding]:
    """A whole run against a server: check → finding. `clock`: seconds that this machine is ahead."""
    options = {"token": TOKEN, "namespace": "default", **access}
    with ApiClient(Access(server=url, **options)) as client:
        doctor = Doctor(client, idle=idle, pod=pod, clock=lambda: time.time() + clock, limits=LIMITS)
        found = list(doctor.run())
    assert len({finding.check for finding in found}) == len(found), "each check has one line"
    assert TOKEN not in str(found)
    return {finding.check: finding for finding in found}
