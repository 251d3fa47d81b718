"""Through real proxies on loopback: who is asked what, what fails and how it is said, how long it may take."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import (
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    ProtocolError,
    ProxyError,
    ResolveError,
    TLSError,
    TransportError,
)
from rawkube.wire.dial import Endpoint, Timeouts, TLSOptions, dial
from rawkube.wire.http import Request
from rawkube.wire.pool import Pool
from rawkube.wire.proxy import Connect, Proxy
from rawkube.wire.stream import Stream
from rawkube.wire.tap import Event, Tap
from tests.support.proxy import ProxyServer, Tunnel
from tests.support.rows import looped
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.tls import Authority

CA = Authority()
NAME = "api.test"  # only the proxy knows where it is
TRUSTED = TLSOptions(NAME, CA.pem)
KINDS = ["http", "https", "socks5"]


def through(proxy: ProxyServer, **more: Any) -> Proxy:
    """What a client is told of this proxy."""
    user, password = proxy.credentials or (None, "")
    tls = TLSOptions("127.0.0.1", CA.pem) if proxy.tls else None
    return Proxy(proxy.kind, "127.0.0.1", proxy.port, user, password, tls)._replace(**more)


def proxy_server(kind: str, **options: Any) -> ProxyServer:
    return ProxyServer(kind, tls=CA.server("127.0.0.1") if kind == "https" else None, **options)


class Echo:
    """Answers every request with `{}`, and keeps what it saw."""

    def __init__(self) -> None:
        self.seen: list[SeenRequest] = []

    def __call__(self, peer: Peer) -> None:
        while True:
            self.seen.append(peer.read_request())
            peer.reply("{}")


def failing(proxy: ProxyServer, seen_as: Proxy | None = None, **options: Any) -> TransportError:
    """The error of a dial through this proxy."""
    there = Endpoint(NAME, 6443, TRUSTED, seen_as or through(proxy))
    with pytest.raises(TransportError) as caught:
        dial(there, **options)
    assert caught.value.server == f"{NAME}:6443"
    return caught.value


@looped("credentials", [None, ("us er", "p:w@/")], ids=["open", "password"])
@looped("secure", [True, False], ids=["https server", "http server"])
@looped("kind", KINDS)
@looped("piece", [0, 1], ids=["whole", "a byte at a time"])
def test_requests(kind: str, secure: bool, credentials: tuple[str, str] | None, piece: int) -> None:
    echo = Echo()
    with (
        ScriptedServer(echo, tls=CA.server(NAME) if secure else None) as server,
        proxy_server(kind, names={NAME: server.port}, credentials=credentials, piece=piece) as proxy,
    ):
        pool = Pool(Endpoint(NAME, 6443, TRUSTED if secure else None, through(proxy)))
        for target in ("/a?b=c", "/d"):
            assert pool.request(Request("GET", target)).read() == b"{}"
        pool.close()
    assert [(seen.target, seen.header("Host")) for seen in echo.seen] == [
        ("/a?b=c", f"{NAME}:6443"),
        ("/d", f"{NAME}:6443"),
    ]
    assert not [seen for seen in echo.seen if seen.header("Proxy-Authorization")]
    if kind == "socks5":
        assert proxy.tunnels == [Tunnel("name", NAME, 6443)]
        assert proxy.logins == ([credentials] if credentials else [])
    elif secure:
        assert proxy.tunnels == [Tunnel("connect", NAME, 6443)]  # one connection for both
    else:
        assert [asked.target for asked in proxy.asked] == [f"http://{NAME}:6443/a?b=c", f"http://{NAME}:6443/d"]
    wanted = "Basic dXMgZXI6cDp3QC8=" if credentials else None
    assert {asked.header("Proxy-Authorization") for asked in proxy.asked} <= {wanted}


@pytest.mark.parametrize("kind", ["http", "https"])
def test_an_upgrade_goes_through_a_tunnel(kind: str) -> None:
    """For http servers too: a proxy that reads requests passes on nothing that is no HTTP."""
    seen: list[SeenRequest] = []

    def switch(peer: Peer) -> None:
        seen.append(peer.read_request())
        peer.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello")
        peer.send(peer.read())

    with ScriptedServer(switch) as server, proxy_server(kind, names={NAME: server.port}) as proxy:
        pool = Pool(Endpoint(NAME, 80, None, through(proxy)))
        response = pool.request(Request("GET", "/x", [("Upgrade", "x"), ("Connection", "Upgrade")]))
        stream, early = response.upgraded()
        while len(early) < 5:
            early += stream.recv(5, timeout=5)
        stream.send(b"back", timeout=5)
        assert (early, stream.recv(4, timeout=5)) == (b"hello", b"back")
        stream.close()
    assert [(asked.method, asked.target) for asked in proxy.asked] == [("CONNECT", f"{NAME}:80")]
    assert (seen[0].target, seen[0].header("Proxy-Authorization")) == ("/x", None)


@pytest.mark.parametrize("secure", [True, False])
def test_a_server_whose_first_bytes_come_with_the_answer(secure: bool) -> None:
    """What came behind the head of the answer is the server's, whatever is on top."""
    answer = b"HTTP/1.1 200 OK\r\n\r\n"

    def both(peer: Peer) -> None:
        peer.read_request()
        if not secure:
            peer.send(answer + b"220 hello")
            peer.stall()
            return
        # A server that speaks first in TLS says that it does not understand.
        peer.send(answer + b"\x15\x03\x03\x00\x02\x02\x28")
        peer.stall()

    with ScriptedServer(both) as proxy:
        there = Endpoint(NAME, 25, TRUSTED if secure else None, Proxy("http", "127.0.0.1", proxy.port))
        if secure:
            with pytest.raises(TLSError, match=r"^remote error: tls: handshake failure$"):
                dial(there)
        else:
            stream = dial(there, tunnel=True)
            assert stream.recv(100, timeout=5) == b"220 hello"
            stream.close()


# What fails


def test_a_dead_proxy() -> None:
    with ProxyServer() as proxy:
        pass
    error = failing(proxy, through(proxy, origin="$HTTPS_PROXY"))
    assert isinstance(error, ConnectionRefused)
    assert str(error) == f"proxyconnect tcp: dial tcp 127.0.0.1:{proxy.port}: connect: connection refused"
    assert error.detail[0] == f"the way to {NAME}:6443 is the proxy http://127.0.0.1:{proxy.port} (set by $HTTPS_PROXY)"


def test_a_proxy_without_an_address() -> None:
    with pytest.raises(ResolveError, match=r"^proxyconnect tcp: dial tcp: lookup no\.invalid: no such host$"):
        dial(Endpoint(NAME, 1, None, Proxy("http", "no.invalid", 1)))


@pytest.mark.parametrize("kind", ["http", "https"])
def test_a_password_that_is_missing_or_wrong(kind: str) -> None:
    with proxy_server(kind, credentials=("me", "right")) as proxy:
        missing = failing(proxy, through(proxy, username=None))
        wrong = failing(proxy, through(proxy, password="s3cret"))
    for error, advice in ((missing, "it wants a user name and a password"), (wrong, "it does not accept")):
        assert isinstance(error, ProxyError)
        assert (str(error), error.status) == ("Proxy Authentication Required", 407)
        assert error.detail[0].endswith(f"answered CONNECT {NAME}:6443 with 407 Proxy Authentication Required")
        assert error.detail[1].startswith(advice)
        assert error.detail[2:] == ("Cache Access Denied.", "Sorry & bye")
    assert "s3cret" not in str(wrong) + "".join(wrong.detail)


@looped(
    ("kind", "answer", "error", "text"),
    [
        ("http", b"HTTP/1.1 502 Bad Gateway\r\n\r\noops", ProxyError, "Bad Gateway"),
        ("https", b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 50\r\n\r\noops", ProxyError, "Bad Gateway"),
        ("http", b"HTTP/1.1 200 OK\r\n", ConnectionLost, "unexpected EOF"),
        ("https", b"HTTP/1.1 2", ConnectionLost, "unexpected EOF"),
        ("http", b"SSH-2.0-x\r\n", ProtocolError, 'malformed HTTP response "SSH-2.0-x"'),
        ("socks5", b"\5\2\0\1\0\0\0\0\0\0", ProxyError, "SOCKS: unknown error connection not allowed by ruleset"),
        ("socks5", b"\5\5\0\1\0\0\0\0\0\0", ConnectionRefused, "SOCKS: unknown error connection refused"),
        ("socks5", b"\5", ProxyError, "SOCKS: unexpected EOF"),
        ("socks5", b"HTTP/1.1 400 Bad", ProtocolError, "SOCKS: unexpected protocol version 72"),
    ],
)
def test_refusals(kind: str, answer: bytes, error: type[TransportError], text: str) -> None:
    with proxy_server(kind, answer=answer) as proxy:
        found = failing(proxy)
    assert type(found) is error
    assert str(found) == text.replace("SOCKS", f"socks connect tcp 127.0.0.1:{proxy.port}->{NAME}:6443")
    assert f"127.0.0.1:{proxy.port}" in found.detail[0]
    assert "oops" not in text and ("oops" in found.detail) == (b"oops" in answer)


def test_a_proxy_that_does_not_reach_the_server() -> None:
    with ProxyServer(names={NAME: 1}) as proxy:
        error = failing(proxy)
    assert (str(error), error.detail[1]) == ("Bad Gateway", "no way")


@looped("kind", KINDS)
@looped("by_deadline", [True, False], ids=["deadline", "limit"])
def test_a_proxy_that_says_nothing(kind: str, by_deadline: bool) -> None:
    start = time.monotonic()
    with proxy_server(kind, hang=True) as proxy:
        error = failing(
            proxy,
            deadline=start + 0.3 if by_deadline else None,
            timeouts=Timeouts() if by_deadline else Timeouts(first_byte=0.3),
        )
    assert isinstance(error, DeadlineExceeded)
    assert error.step == ("request" if by_deadline else "proxy")
    assert 0.25 < time.monotonic() - start < 5


def test_a_refusal_is_told_though_its_body_does_not_end() -> None:
    def dribble(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 1000\r\n\r\nnot you")
        peer.stall()

    start = time.monotonic()
    with ScriptedServer(dribble) as server, pytest.raises(ProxyError, match=r"^Forbidden$") as caught:
        dial(Endpoint(NAME, 1, TRUSTED, Proxy("http", "127.0.0.1", server.port)), timeouts=Timeouts(first_byte=0.3))
    assert caught.value.detail[-1] == "not you"
    assert time.monotonic() - start < 2


def test_a_refusal_is_told_though_the_connection_breaks_behind_it() -> None:
    def cut_off(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 1000\r\n\r\nnot you")
        peer.reset()

    with ScriptedServer(cut_off) as server, pytest.raises(ProxyError, match=r"^Forbidden$"):
        dial(Endpoint(NAME, 1, TRUSTED, Proxy("http", "127.0.0.1", server.port)))


def test_what_ends_the_conversation_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, for instance."""

    def interrupted(self: Connect) -> bytes:
        raise KeyboardInterrupt

    def listen(peer: Peer) -> None:
        try:
            peer.read()
        finally:
            ended.set()

    ended = threading.Event()
    monkeypatch.setattr(Connect, "start", interrupted)
    with ScriptedServer(listen) as server, pytest.raises(KeyboardInterrupt):
        try:
            dial(Endpoint(NAME, 1, TRUSTED, Proxy("http", "127.0.0.1", server.port)))
        finally:
            assert ended.wait(5)


def test_the_deadline_of_the_request_is_not_the_proxys() -> None:
    with proxy_server("http") as proxy:
        error = failing(proxy, deadline=time.monotonic() - 1)
    assert isinstance(error, DeadlineExceeded) and error.step == "request"
    assert not str(error).startswith("proxyconnect")
    assert "is the proxy" in error.detail[0]


def test_a_proxy_that_does_not_finish_tls() -> None:
    with ScriptedServer(Peer.stall) as server, pytest.raises(DeadlineExceeded) as caught:
        tls = TLSOptions("127.0.0.1", CA.pem)
        dial(Endpoint(NAME, 1, None, Proxy("https", "127.0.0.1", server.port, tls=tls)), timeouts=Timeouts(tls=0.2))
    assert (str(caught.value), caught.value.step) == ("proxyconnect tcp: net/http: TLS handshake timeout", "tls")


def test_a_server_that_does_not_finish_tls_inside() -> None:
    with ScriptedServer(Peer.stall) as server, proxy_server("https", names={NAME: server.port}) as proxy:
        error = failing(proxy, timeouts=Timeouts(tls=0.3))
    assert str(error) == "net/http: TLS handshake timeout"
    assert "reached through the proxy" in error.detail[0]


# TLS


@pytest.mark.parametrize(
    ("name", "trusted", "said"),
    [
        ("127.0.0.1", False, "certificate signed by unknown authority"),
        ("other.test", True, "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"),
    ],
)
def test_a_proxy_that_is_not_trusted_hears_no_password(name: str, trusted: bool, said: str) -> None:
    heard: list[bytes] = []
    authority = CA if trusted else Authority("other")
    with ScriptedServer(lambda peer: heard.append(peer.read()), tls=authority.server(name)) as server:
        tls = TLSOptions("127.0.0.1", CA.pem)
        with pytest.raises(TLSError) as caught:
            dial(Endpoint(NAME, 1, TRUSTED, Proxy("https", "127.0.0.1", server.port, "u", "s3cret", tls)))
    assert str(caught.value) == f"proxyconnect tcp: tls: failed to verify certificate: x509: {said}"
    assert not heard


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_not_trusted(kind: str) -> None:
    """Its certificate is looked at through a second tunnel, and nothing is sent to it."""
    heard: list[bytes] = []
    context = Authority("other").server(NAME)
    with (
        ScriptedServer(lambda peer: heard.append(peer.read()), tls=context) as server,
        proxy_server(kind, names={NAME: server.port}, credentials=("a", "b")) as proxy,
    ):
        error = failing(proxy)
    assert str(error) == "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert f"for {NAME}" in error.detail[0]
    assert len(proxy.tunnels) == 2
    assert not heard


def test_http_where_tls_was_wanted_inside() -> None:
    def plain(peer: Peer) -> None:
        peer.read()
        peer.send(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent nonsense.\n")

    with ScriptedServer(plain) as server, proxy_server("https", names={NAME: server.port}) as proxy:
        assert str(failing(proxy)) == "http: server gave HTTP response to HTTPS client"


@pytest.mark.parametrize("kind", KINDS)
def test_the_client_certificate_is_for_the_server_alone(kind: str) -> None:
    clients = Authority("clients")
    pair = clients.issue("me@example.org")
    asked: list[str | None] = []

    def check(peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        asked.append("cert" if peer.sock.getpeercert() else None)
        checked.set()

    checked = threading.Event()
    options = TRUSTED._replace(client_cert=lambda: (pair.cert, pair.key))
    outer = CA.server("127.0.0.1")
    outer.verify_mode = ssl.CERT_OPTIONAL
    outer.load_verify_locations(cadata=clients.pem.decode())
    shown: list[object] = []

    class Watching(ProxyServer):
        def _http(self, peer: Peer) -> None:
            if isinstance(peer.sock, ssl.SSLSocket):
                shown.append(peer.sock.getpeercert())
            super()._http(peer)

    with (
        ScriptedServer(check, tls=CA.server(NAME, clients=clients)) as server,
        Watching(kind, names={NAME: server.port}, tls=outer if kind == "https" else None) as proxy,
    ):
        stream = dial(Endpoint(NAME, 6443, options, through(proxy)))
        assert checked.wait(10)
        stream.close()
    assert asked == ["cert"]
    assert shown == ([None] if kind == "https" else [])


def test_the_systems_roots_and_the_clusters_ca_are_trusted_for_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, cluster = Authority("system"), Authority("cluster")
    (tmp_path / "roots.pem").write_bytes(system.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "roots.pem"))
    for authority in (system, cluster):
        with ScriptedServer(Echo()) as server, ProxyServer("https", tls=authority.server("127.0.0.1")) as proxy:
            tls = TLSOptions("127.0.0.1", cluster.pem, system_roots=True)
            dial(Endpoint("127.0.0.1", server.port, None, through(proxy, tls=tls)), tunnel=True).close()
        assert proxy.tunnels


# Addresses


@pytest.mark.parametrize(("host", "how"), [("127.0.0.1", "ipv4"), ("::1", "ipv6"), ("localhost", "name")])
def test_socks_address_types(host: str, how: str) -> None:
    with ScriptedServer(Echo()) as server, ProxyServer("socks5") as proxy:
        dial(Endpoint(host, server.port, None, through(proxy))).close()
    assert proxy.tunnels == [Tunnel(how, host, server.port)]


# The tap


@pytest.mark.parametrize(
    ("kind", "kinds", "method"),
    [
        ("http", ["connect", "proxy", "tls"], "CONNECT"),
        ("https", ["connect", "tls", "proxy", "tls"], "CONNECT"),
        ("socks5", ["connect", "proxy", "tls"], "SOCKS5"),
    ],
)
def test_events(kind: str, kinds: list[str], method: str) -> None:
    events: list[Event] = []
    with (
        ScriptedServer(Echo(), tls=CA.server(NAME)) as server,
        proxy_server(kind, names={NAME: server.port}, credentials=("me", "s3cret")) as proxy,
    ):
        dial(Endpoint(NAME, 6443, TRUSTED, through(proxy)), tap=Tap(events.append), conn=7).close()
        with contextlib.suppress(TransportError):
            dial(
                Endpoint(NAME, 6443, TRUSTED, through(proxy, password="0ther")), tap=Tap(events.append), conn=8
            ).close()
    assert [event.kind for event in events if event.conn == 7] == kinds
    told, refused = [event.data for event in events if event.kind == "proxy"]
    assert told.pop("seconds") >= 0
    assert told == {
        "proxy": f"{kind}://127.0.0.1:{proxy.port}",
        "target": f"{NAME}:6443",
        "method": method,
        "authenticated": True,
        "status": 0 if kind == "socks5" else 200,
        "reason": "succeeded" if kind == "socks5" else "Connection established",
    }
    assert refused["status"] == (-1 if kind == "socks5" else 407)
    assert not {"s3cret", "0ther"} & set(str(events).split("'"))


def test_requests_to_a_proxy_are_told_without_credentials() -> None:
    events: list[Event] = []
    with (
        ScriptedServer(Echo()) as server,
        ProxyServer(names={NAME: server.port}, credentials=("me", "s3cret")) as proxy,
    ):
        pool = Pool(Endpoint(NAME, 80, None, through(proxy)), tap=Tap(events.append))
        assert pool.request(Request("GET", "/x")).read() == b"{}"
        pool.close()
    request = next(event.data for event in events if event.kind == "request")
    assert request["target"] == "/x"
    assert ["Proxy-Authorization", "Basic <redacted>"] in request["headers"]
    assert "bWU6czNjcmV0" not in str(events)


# No leaks


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Stream]]:
    """Every stream that is made; all must be closed at the end."""
    made: list[Stream] = []
    before = Stream.__init__

    def remember(self: Stream, *args: Any, **kwargs: Any) -> None:
        before(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(Stream, "__init__", remember)
    yield made
    assert made and all(stream.fileno() == -1 for stream in made)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["refused", "untrusted", "cut"])
def test_nothing_stays_open(kind: str, how: str, opened: list[Stream]) -> None:
    answer = {"refused": b"HTTP/1.1 502 No\r\n\r\n", "cut": b"HTTP"}.get(how, b"")
    with (
        ScriptedServer(Peer.stall, tls=Authority("other").server(NAME)) as server,
        proxy_server(kind, names={NAME: server.port}, answer=answer) as proxy,
    ):
        failing(proxy)


def test_a_reset_by_the_proxy() -> None:
    def reset(peer: Peer) -> None:
        peer.read_request()
        peer.reset()

    with ScriptedServer(reset) as server, pytest.raises(ConnectionLost, match=r"connection reset by peer$"):
        dial(Endpoint(NAME, 1, TRUSTED, Proxy("http", "127.0.0.1", server.port)))


def test_an_interrupt_ends_a_wait_inside_a_tunnel() -> None:
    with (
        ScriptedServer(Peer.stall, tls=CA.server(NAME)) as server,
        proxy_server("https", names={NAME: server.port}) as proxy,
    ):
        stream = dial(Endpoint(NAME, 6443, TRUSTED, through(proxy)))
        stream.interrupt()
        assert stream.recv(1, timeout=5) == b""
        stream.close()
        assert isinstance(proxy.listener, socket.socket)
