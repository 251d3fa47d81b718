"""What passes through the reverse proxy, byte by byte, and how it ends."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rawkube.observe import proxy_passage
from rawkube.wire.tap import Event
from tests.proxy.rig import TOKEN, ask, connect, proxied, read_until, rest
from tests.support.server import Peer, PeerGone, ScriptedServer, SeenRequest
from tests.support.tls import Authority


def answering(*replies: bytes) -> tuple[ScriptedServer, list[SeenRequest]]:
    seen: list[SeenRequest] = []

    def handler(peer: Peer) -> None:
        while True:
            seen.append(peer.read_request())
            peer.send(replies[min(len(seen), len(replies)) - 1])

    return ScriptedServer(handler), seen


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def test_the_head_of_a_request() -> None:
    server, seen = answering(OK)
    sent = ask(
        "/a?b=%2F",
        "Authorization: Bearer of-the-client",
        "Connection: keep-alive, X-Hop",
        "X-Hop: 1",
        "Keep-Alive: 5",
        "TE: trailers",
        "Proxy-Authorization: Basic eA==",
        "Origin: http://localhost:3000",
        "X-Kept: é",
    )
    with server, proxied(server.url + "/prefix") as proxy, connect(proxy) as sock:
        sock.sendall(sent)
        assert read_until(sock, b"{}") == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        sock.sendall(ask())  # the connections are kept, on both sides
        read_until(sock, b"{}")
        assert server.connections == 1
    assert (seen[0].method, seen[0].target) == ("GET", "/prefix/a?b=%2F")
    assert seen[0].headers == [
        ("Host", f"127.0.0.1:{server.port}"),
        ("X-Kept", "é".encode().decode("latin-1")),
        ("Authorization", f"Bearer {TOKEN}"),
    ]


@pytest.mark.parametrize(("ours", "left"), [("", ["root", "system:masters"]), ("jane", ["jane"])])
def test_impersonation_is_ours_where_there_is_any(ours: str, left: list[str]) -> None:
    server, seen = answering(OK)
    with server, proxied(server.url, impersonate_user=ours) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", "Impersonate-User: root", "Impersonate-Group: system:masters"))
        read_until(sock, b"{}")
    assert [value for name, value in seen[0].headers if name.startswith("Imp")] == left


def test_another_protocol_is_not_upgraded_to() -> None:
    server, seen = answering(OK)
    with server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMA"))
        read_until(sock, b"{}")
    assert [name for name, _ in seen[0].headers] == ["Host", "Authorization"]


@pytest.mark.parametrize(
    ("lines", "host"),
    [
        ((), "evil.example"),
        ((), "169.254.169.254"),
        (("Origin: https://evil.example",), "127.0.0.1"),
        (("Origin: null",), "127.0.0.1"),
        (("Sec-Fetch-Site: cross-site",), "127.0.0.1"),
    ],
)
def test_pages_on_the_web_are_refused(lines: tuple[str, ...], host: str) -> None:
    server, seen = answering(OK)
    with server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", *lines, host=host))
        head, _, body = rest(sock).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert json.loads(body)["kind"] == "Status"
    assert seen == []


def test_an_origin_that_was_allowed() -> None:
    server, seen = answering(OK)
    with server, proxied(server.url, origins=["https://a.example"]) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", "Origin: https://a.example"))
        read_until(sock, b"{}")
    assert len(seen) == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\x01 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\nab",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\nHost: localhost\n\nGET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT a:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 300_000,
    ],
)
def test_garbage(garbage: bytes) -> None:
    server, seen = answering(OK)
    with server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(garbage)
        assert rest(sock)[:10] == b"HTTP/1.1 4"
    assert seen == []


def test_chunks_that_are_none_in_a_request() -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.stall()

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", "Transfer-Encoding: chunked", method="POST") + b"zz\r\nab\r\n")
        assert rest(sock).startswith(b"HTTP/1.1 400")


def test_chunks_come_at_once_as_they_were_sent() -> None:
    go = threading.Event()

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.start_chunked()
        peer.chunk("one")
        assert go.wait(10)
        peer.chunk("two")
        peer.end_chunked()
        peer.stall()

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask())
        assert read_until(sock, b"one\r\n").endswith(b"\r\n\r\n3\r\none\r\n")
        go.set()
        assert read_until(sock, b"0\r\n\r\n") == b"3\r\ntwo\r\n0\r\n\r\n"


def test_an_old_client_gets_no_chunks() -> None:
    server, _ = answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
    with server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(b"GET /x HTTP/1.0\r\n\r\n")
        assert rest(sock) == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nonetwo"


def test_head_and_continue() -> None:
    def handler(peer: Peer) -> None:
        assert peer.read_request().method == "HEAD"
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
        while b"\r\n\r\n" not in peer._buffer:
            peer._more()
        peer._buffer = b""
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert peer.read() == b"body"
        peer.send(OK)

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask(method="HEAD"))
        assert b"Content-Length: 99" in read_until(sock, b"\r\n\r\n")
        sock.sendall(ask("/x", "Expect: 100-continue", "Content-Length: 4", method="PUT"))
        assert read_until(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"body")
        assert read_until(sock, b"{}").startswith(b"HTTP/1.1 200")


def test_requests_in_a_row_without_waiting() -> None:
    server, seen = answering(OK)
    with server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/1") + ask("/2") + ask("/3", "Connection: close"))
        assert rest(sock).count(b"{}") == 3
    assert [each.target for each in seen] == ["/1", "/2", "/3"]


@pytest.mark.parametrize("tls", [False, True])
def test_large_bodies_both_ways_held_back_by_a_slow_side(tls: bool) -> None:
    size = 32 << 20
    sent, digests = threading.Event(), []

    def handler(peer: Peer) -> None:
        head = peer.read()
        while b"\r\n\r\n" not in head:
            head += peer.read()
        body = head.partition(b"\r\n\r\n")[2]
        digest, got = hashlib.sha256(body), len(body)
        while got < size:
            data = peer.read()
            digest.update(data)
            got += len(data)
        digests.append(digest.hexdigest())
        peer.send(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        peer.send(bytes(size))
        sent.set()

    authority = Authority()
    context = authority.server("127.0.0.1") if tls else None
    trust: dict[str, Any] = {"ca_data": authority.pem} if tls else {}
    with ScriptedServer(handler, tls=context) as server, proxied(server.url, **trust) as proxy, connect(proxy) as sock:
        body = hashlib.sha256(b"x").digest() * (size // 32)
        sock.sendall(ask("/x", f"Content-Length: {size}", method="POST") + body)
        head = read_until(sock, b"\r\n\r\n")
        assert not sent.wait(0.3), "a proxy that holds 32 MiB"
        left = size - len(head.partition(b"\r\n\r\n")[2])
        while left:
            data = sock.recv(1 << 20)
            assert data
            left -= len(data)
    assert digests == [hashlib.sha256(body).hexdigest()]


# Ends


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("framing", ["Transfer-Encoding: chunked", "Content-Length: 99"])
def test_a_body_that_breaks_off(how: str, framing: str) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n5\r\nab".encode())
        time.sleep(0.1)
        peer.reset() if how == "reset" else peer.close()

    told: list[Event] = []
    with ScriptedServer(handler) as server, proxied(server.url, told=told) as proxy, connect(proxy) as sock:
        sock.sendall(ask())
        assert read_until(sock, b"5\r\nab").endswith(b"\r\n\r\n5\r\nab")
        if how == "close":
            assert sock.recv(10) == b""
        else:
            with pytest.raises(ConnectionResetError):
                sock.recv(10)
    ends = {e.data["side"]: e.data["error"] for e in told if e.kind == "eof"}
    assert ends["server"] == ("" if how == "close" else "ConnectionResetError")


def test_a_body_up_to_the_end_that_is_reset_has_no_end() -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\nabc")
        time.sleep(0.1)
        peer.reset()

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask())
        with pytest.raises(ConnectionResetError):
            rest(sock)


def test_chunks_that_are_none_reach_the_client() -> None:
    server, _ = answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab")
    with server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask())
        assert rest(sock).endswith(b"\r\n\r\nzz\r\nab")


def test_a_client_that_goes_ends_its_watch() -> None:
    gone = threading.Event()

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.start_chunked()
        peer.chunk("one")
        try:
            peer.read()
        except PeerGone:
            gone.set()

    with ScriptedServer(handler) as server, proxied(server.url) as proxy:
        with connect(proxy) as sock:
            sock.sendall(ask())
            read_until(sock, b"one")
        assert gone.wait(5)


def test_a_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with proxied(f"http://127.0.0.1:{port}") as proxy, connect(proxy) as sock:
        sock.sendall(ask())
        head, _, body = rest(sock).partition(b"\r\n\r\n")
        with connect(proxy) as another:
            another.sendall(ask("/api", "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"))
            text = rest(another).partition(b"\r\n\r\n")[2].decode()
    assert text == f"rawkube proxy: dial tcp 127.0.0.1:{port}: connect: connection refused\n"
    assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert json.loads(body) == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "BadGateway", "code": 502,
        "message": f"rawkube proxy: dial tcp 127.0.0.1:{port}: connect: connection refused",
    }  # fmt: skip


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 101 Oh\r\n\r\n"])
def test_an_answer_that_is_none(said: bytes) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(said)

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask())
        assert rest(sock).startswith(b"HTTP/1.1 502 Bad Gateway\r\n")


def test_an_idle_connection_that_died_is_replaced() -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(OK)

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        for _ in range(3):
            sock.sendall(ask())
            read_until(sock, b"{}")
        assert server.connections == 3


@pytest.mark.parametrize("body", [b"", b"hello"])
def test_a_401_is_answered_with_fresh_credentials(tmp_path: Path, body: bytes) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    seen: list[SeenRequest] = []

    def handler(peer: Peer) -> None:
        while True:
            seen.append(peer.read_request())
            if seen[-1].header("Authorization") == "Bearer new":
                peer.send(OK)
            else:
                file.write_text("new")
                peer.reply("no", status="401 Unauthorized")

    access: dict[str, Any] = {"token": "", "token_file": str(file)}
    with ScriptedServer(handler) as server, proxied(server.url, **access) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", f"Content-Length: {len(body)}", method="POST") + body)
        assert read_until(sock, b"{}").startswith(b"HTTP/1.1 200")
    assert [each.body for each in seen] == [body, body]


def test_a_401_that_stays() -> None:
    server, seen = answering(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
    with server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask())
        assert read_until(sock, b"no").startswith(b"HTTP/1.1 401")
    assert len(seen) == 1


def test_an_early_answer_to_a_large_body() -> None:
    def handler(peer: Peer) -> None:
        peer.read()
        peer.reply("too large", status="413 Payload Too Large")
        peer.stall()

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", "Content-Length: 99999999", method="POST") + b"x" * 1000)
        assert rest(sock).endswith(b"too large")


# Upgrades


SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n"
UPGRADE = ("Connection: Upgrade", "Upgrade: SPDY/3.1")


def test_a_tunnel_keeps_its_half_close() -> None:
    def handler(peer: Peer) -> None:
        assert peer.read_request().header("Upgrade") == "SPDY/3.1"
        peer.send(SWITCH + b"first")
        data = b""
        try:
            while True:
                data += peer.read()
        except PeerGone:
            peer.send(data[::-1])

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", *UPGRADE) + b"ab")
        got = read_until(sock, b"first")
        assert b"Upgrade: SPDY/3.1\r\n" in got
        sock.sendall(b"cd")
        sock.shutdown(socket.SHUT_WR)
        assert rest(sock) == b"dcba"


def test_the_servers_half_close_is_kept() -> None:
    got: list[bytes] = []

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(SWITCH)
        peer.sock.shutdown(socket.SHUT_WR)
        got.append(peer.read())

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", *UPGRADE))
        assert rest(sock).startswith(b"HTTP/1.1 101")
        sock.sendall(b"late")
        sock.shutdown(socket.SHUT_WR)
        end = time.monotonic() + 5
        while not got and time.monotonic() < end:
            time.sleep(0.01)
    assert got == [b"late"]


def test_a_tunnel_whose_server_does_not_read_waits() -> None:
    """The limit for sending is one for requests: a command need not read its input."""
    read = threading.Event()
    size = 32 << 20

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(SWITCH)
        assert read.wait(10)
        left = size
        while left:
            left -= len(peer.read())
        peer.send(b"all")

    with ScriptedServer(handler) as server, proxied(server.url) as proxy, connect(proxy) as sock:
        client = proxy._way.client
        client.timeouts = client.timeouts._replace(send=0.1)
        sock.sendall(ask("/x", *UPGRADE))
        read_until(sock, b"\r\n\r\n")
        threading.Timer(0.4, read.set).start()
        sock.sendall(bytes(size))
        assert read_until(sock, b"all") == b"all"


def test_a_client_that_goes_ends_its_tunnel_inside_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_passage, "_HALF_CLOSED_TLS", 0.2)
    gone = threading.Event()

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(SWITCH)
        try:
            assert peer.read() == b"last"
            peer.read()
        except PeerGone:
            gone.set()

    authority = Authority()
    trust: dict[str, Any] = {"ca_data": authority.pem}
    server = ScriptedServer(handler, tls=authority.server("127.0.0.1"))
    with server, proxied(server.url, **trust) as proxy:
        with connect(proxy) as sock:
            sock.sendall(ask("/x", *UPGRADE))
            read_until(sock, b"\r\n\r\n")
            sock.sendall(b"last")
        assert gone.wait(5)


def test_a_bearer_subprotocol_of_the_client_is_dropped() -> None:
    server, seen = answering(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
    offered = "Sec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0"
    with server, proxied(server.url) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/x", "Connection: Upgrade", "Upgrade: websocket", offered))
        read_until(sock, b"no")
    assert seen[0].header("Sec-WebSocket-Protocol") == "v5.channel.k8s.io"


# Many


def test_a_hundred_clients_at_once() -> None:
    together = threading.Barrier(100, timeout=20)

    def handler(peer: Peer) -> None:
        target = peer.read_request().target
        together.wait()
        peer.reply(target)

    with ScriptedServer(handler) as server, proxied(server.url) as proxy:

        def one(number: int) -> bytes:
            with connect(proxy) as sock:
                sock.settimeout(30)
                sock.sendall(ask(f"/{number}", "Connection: close"))
                return rest(sock).rpartition(b"/")[2]

        with ThreadPoolExecutor(100) as pool:
            assert list(pool.map(one, range(100))) == [str(n).encode() for n in range(100)]


def test_nothing_secret_is_told() -> None:
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "marker-in-a-secret"}}
    body = json.dumps(secret).encode()
    reply = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    server, _ = answering(reply)
    told: list[Event] = []
    with server, proxied(server.url, told=told) as proxy, connect(proxy) as sock:
        path = "/api/v1/namespaces/demo/secrets/a?token=marker-in-a-query"
        sock.sendall(ask(path, "Authorization: Bearer marker-of-the-client", "Cookie: marker-in-a-cookie"))
        assert body in read_until(sock, body)
    assert [e.data["side"] for e in told if e.kind == "bytes"][:2] == ["client", "server"]
    assert "marker" not in repr(told)
