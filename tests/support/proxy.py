"""A proxy on loopback: CONNECT and absolute form (over TCP or TLS), or SOCKS 5; with or without a password.

    with ProxyServer(names={"api.test": server.port}) as proxy:
        ... proxy.url ... proxy.tunnels ... proxy.asked ...

`names`: what a name leads to (a port on loopback); of any other target the port alone counts. `credentials`: (user,
password) that it wants. `answer`: said instead of opening a tunnel, after which the connection is closed; `piece`: how
many bytes of the answer go out at a time. `hang`: nothing is said at all.
"""

from __future__ import annotations

import base64
import contextlib
import selectors
import socket
import ssl
import threading
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from tests.support.server import Peer, PeerGone, ScriptedServer, SeenRequest


class Tunnel(NamedTuple):
    """What a tunnel was asked for: the address type of SOCKS (`name`, `ipv4`, `ipv6`; `connect` for CONNECT)."""

    how: str
    host: str
    port: int


class ProxyServer(ScriptedServer):
    """See above. `asked`: requests of HTTP; `tunnels`: those that were asked for; `logins`: of SOCKS."""

    def __init__(
        self,
        kind: str = "http",
        *,
        names: Mapping[str, int] | None = None,
        credentials: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        answer: bytes = b"",
        piece: int = 0,
        hang: bool = False,
    ) -> None:
        super().__init__(self._socks5 if kind == "socks5" else self._http, tls=tls)
        self.kind = kind
        self.names = dict(names or {})
        self.credentials = credentials
        self.answer = answer
        self.piece = piece
        self.hang = hang
        self.asked: list[SeenRequest] = []
        self.tunnels: list[Tunnel] = []
        self.logins: list[tuple[str, str]] = []
        self.greetings: list[bytes] = []

    @property
    def address(self) -> str:
        """As a client writes it, with the credentials that are wanted."""
        user = ":".join(quote(part, safe="") for part in self.credentials) + "@" if self.credentials else ""
        return f"{self.kind}://{user}127.0.0.1:{self.port}"

    def _say(self, peer: Peer, data: bytes) -> None:
        size = self.piece or len(data) or 1
        for start in range(0, len(data), size):
            peer.send(data[start : start + size])

    def _reach(self, host: str, port: int) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.names.get(host, port)))

    # HTTP

    def _http(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            self.asked.append(request)
            if self.hang:
                peer.stall()
                return
            if not self._may_pass(request):
                body = (
                    b"<html><title>x</title><body>\n<h1>Cache Access Denied.</h1>\n<p>Sorry &amp; bye</p></body></html>"
                )
                peer.reply(
                    body,
                    status="407 Proxy Authentication Required",
                    content_type="text/html; charset=utf-8",
                    headers=(("Proxy-Authenticate", 'Basic realm="the test"'),),
                )
                continue
            if self.answer:
                self._say(peer, self.answer)
                return
            if request.method == "CONNECT":
                self._connect(peer, request.target)
                return
            self._forward(peer, request)

    def _may_pass(self, request: SeenRequest) -> bool:
        if self.credentials is None:
            return True
        wanted = "Basic " + base64.b64encode(":".join(self.credentials).encode()).decode()
        return request.header("Proxy-Authorization") == wanted

    def _connect(self, peer: Peer, target: str) -> None:
        host, _, port = target.rpartition(":")
        self.tunnels.append(Tunnel("connect", host.strip("[]"), int(port)))
        try:
            far = self._reach(host.strip("[]"), int(port))
        except OSError:
            peer.reply(b"no way\n", status="502 Bad Gateway", content_type="text/plain")
            return
        self._say(peer, b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
        relay(peer, far, self.stopping)

    def _forward(self, peer: Peer, request: SeenRequest) -> None:
        url = urlsplit(request.target)
        assert url.scheme == "http", request.target
        with self._reach(url.hostname or "", url.port or 80) as far:
            target = url._replace(scheme="", netloc="").geturl()
            lines = [f"{request.method} {target} HTTP/1.1"]
            lines += [f"{n}: {v}" for n, v in request.headers if n.lower() not in ("proxy-authorization", "connection")]
            far.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + request.body)
            head = b""
            while b"\r\n\r\n" not in head:
                if not (piece := far.recv(65536)):
                    raise PeerGone
                head += piece
            # Each connection serves one request.
            peer.send(head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            relay(peer, far, self.stopping)
        raise PeerGone

    # SOCKS 5 (RFC 1928, 1929)

    def _exactly(self, peer: Peer, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = peer.sock.recv(size - len(data))
            if not piece:
                raise PeerGone
            data += piece
        return data

    def _socks5(self, peer: Peer) -> None:
        try:
            self._greet(peer)
        except OSError:
            raise PeerGone from None

    def _greet(self, peer: Peer) -> None:
        head = self._exactly(peer, 2)
        methods = self._exactly(peer, head[1])
        self.greetings.append(head + methods)
        if self.hang:
            peer.stall()
            return
        if self.credentials is not None:
            if 2 not in methods:
                self._say(peer, b"\5\xff")
                return
            self._say(peer, b"\5\2")
            if not self._login(peer):
                return
        else:
            self._say(peer, b"\5\0")
        self._request(peer)

    def _login(self, peer: Peer) -> bool:
        _, size = self._exactly(peer, 2)
        name = self._exactly(peer, size).decode()
        password = self._exactly(peer, self._exactly(peer, 1)[0]).decode()
        self.logins.append((name, password))
        good = (name, password) == self.credentials
        self._say(peer, b"\1" + (b"\0" if good else b"\1"))
        return good

    def _request(self, peer: Peer) -> None:
        _, command, _, kind = self._exactly(peer, 4)
        assert command == 1
        if kind == 3:
            host = self._exactly(peer, self._exactly(peer, 1)[0]).decode("ascii")
        else:
            family = socket.AF_INET if kind == 1 else socket.AF_INET6
            host = socket.inet_ntop(family, self._exactly(peer, 4 if kind == 1 else 16))
        port = int.from_bytes(self._exactly(peer, 2), "big")
        self.tunnels.append(Tunnel({1: "ipv4", 3: "name", 4: "ipv6"}[kind], host, port))
        if self.answer:
            self._say(peer, self.answer)
            return
        try:
            far = self._reach(host, port)
        except OSError:
            self._say(peer, b"\5\5\0\1\0\0\0\0\0\0")
            return
        self._say(peer, b"\5\0\0\1\x7f\0\0\1\x12\x34")
        relay(peer, far, self.stopping)


_HELD = 256 * 1024


def relay(peer: Peer, far: socket.socket, stopping: threading.Event) -> None:
    """Bytes both ways until one side is over or the test is."""
    near = peer.sock
    waiting = {near: bytearray(), far: bytearray(peer._buffer)}  # by where they go
    peer._buffer = b""
    with far, contextlib.suppress(OSError):
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        near.setblocking(False)
        far.setblocking(False)
        while not stopping.is_set():
            for source, sink in ((near, far), (far, near)):
                if not _take(source, waiting[sink]):
                    sink.settimeout(5)
                    sink.sendall(waiting[sink])
                    return
            for sink, data in waiting.items():
                _give(sink, data)
            _wait(near, far, waiting)


def _take(source: socket.socket, held: bytearray) -> bool:
    while len(held) < _HELD:
        try:
            data = source.recv(65536)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        if not data:
            return False
        held += data
    return True


def _give(sink: socket.socket, held: bytearray) -> None:
    while held:
        try:
            # SSL_write wants the same bytes again after it would have blocked: they are, as the front stays.
            del held[: sink.send(bytes(held[:16384]))]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return


def _wait(near: socket.socket, far: socket.socket, waiting: Mapping[socket.socket, bytearray]) -> None:
    with selectors.DefaultSelector() as selector:
        for here, other in ((near, far), (far, near)):
            events = selectors.EVENT_READ if len(waiting[other]) < _HELD else 0
            events |= selectors.EVENT_WRITE if waiting[here] else 0
            if events:
                selector.register(here, events)
        selector.select(0.05)
