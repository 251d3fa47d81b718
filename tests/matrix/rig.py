"""An API server over TLS that remembers by which way each request came in."""

from __future__ import annotations

import json
import ssl
from typing import Any, NamedTuple

from tests.support.server import Peer, SeenRequest
from tests.support.websocket import ExecServer, pod

# What the certificate is for; `localhost` is where the server is.
NAME = "k8api.test"


class Seen(NamedTuple):
    """What the server saw of one request."""

    what: str
    authorization: str | None
    certificate: str
    sni: str | None
    host: str | None


class Server(ExecServer):
    """An API server that asks for client certificates, but does without."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(tls=tls)
        self.seen: list[Seen] = []
        self.headers: list[tuple[str, str]] = []
        self.certificate = ""
        self._names: list[str | None] = []
        tls.sni_callback = lambda _sock, name, _context: self._names.append(name)

    def _connection(self, peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        subject: Any = (peer.sock.getpeercert() or {}).get("subject", ())
        self.certificate = next((pair[0][1] for pair in subject if pair[0][0] == "commonName"), "")
        super()._connection(peer)

    def note(self, what: str, request: SeenRequest) -> None:
        header = request.header
        seen = Seen(what, header("Authorization"), self.certificate, self._names[-1], header("Host"))
        self.seen.append(seen)
        self.headers += request.headers

    def _answer(self, peer: Peer, request: SeenRequest) -> None:
        if request.query.get("watch") != "true":
            self.note("get", request)
            super()._answer(peer, request)
            return
        self.note("watch", request)
        peer.start_chunked()
        peer.chunk(json.dumps({"type": "ADDED", "object": pod()}) + "\n")
        peer.end_chunked()

    def _exec(self, peer: Peer, request: SeenRequest) -> None:
        self.note("exec", request)
        super()._exec(peer, request)
