"""Resolve and connect: every failure, every deadline, IPv6, several addresses."""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rawkube.errors import ConfigError, ConnectError, ConnectionLost, ConnectionRefused, DeadlineExceeded, ResolveError
from rawkube.wire import connect as connecting
from rawkube.wire import dial as dialling
from rawkube.wire import tls
from rawkube.wire.dial import Endpoint, Timeouts, TLSOptions, dial
from rawkube.wire.tap import Event, Tap
from tests.support.rows import looped
from tests.support.server import Peer, ScriptedServer


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def full_backlog() -> Iterator[int]:
    """A listener whose queue is full: further connections get no answer."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def lookup_returns(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int]) -> None:
    def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        families = [socket.AF_INET6 if ":" in host else socket.AF_INET for host, _ in addresses]
        return [(f, socket.SOCK_STREAM, 6, "", a) for f, a in zip(families, addresses, strict=True)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def say_hello(peer: Peer) -> None:
    peer.send(b"hello")


def test_refused() -> None:
    port = unused_port()
    with pytest.raises(ConnectionRefused) as caught:
        dial(Endpoint("127.0.0.1", port))
    assert str(caught.value) == f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert caught.value.server == f"127.0.0.1:{port}"


@looped("host", ["no-such-host.invalid", "", "a" * 64 + ".invalid", "a..b", "a:b", "x\0y", "ä" * 70])
def test_a_name_without_an_address(host: str) -> None:
    with pytest.raises(ResolveError) as caught:
        dial(Endpoint(host, 443))
    shown = host.replace("\0", "\\x00")
    assert str(caught.value) == f"dial tcp: lookup {shown}: no such host"


def test_a_resolver_that_fails_for_now_is_not_called_no_such_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(ResolveError, match=r"^dial tcp: lookup h\.test: temporary failure in name resolution$"):
        dial(Endpoint("h.test", 1))


@pytest.mark.parametrize(
    ("limits", "in_seconds", "step", "text"),
    [
        (Timeouts(resolve=0.1), None, "resolve", "dial tcp: lookup slow.test: i/o timeout"),
        (
            Timeouts(),
            0.1,
            "request",
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
        ),
    ],
)
def test_a_slow_resolver(
    monkeypatch: pytest.MonkeyPatch, limits: Timeouts, in_seconds: float | None, step: str, text: str
) -> None:
    release = threading.Event()

    def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        release.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        with pytest.raises(DeadlineExceeded) as caught:
            deadline = None if in_seconds is None else time.monotonic() + in_seconds
            dial(Endpoint("slow.test", 1), timeouts=limits, deadline=deadline)
    finally:
        release.set()
    assert (caught.value.step, str(caught.value)) == (step, text)


def test_an_address_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: Any, **__: Any) -> None:
        raise AssertionError("an IP address needs no resolver")

    with ScriptedServer(say_hello) as server:
        monkeypatch.setattr(connecting, "resolve", no_thread)
        stream = dial(Endpoint("127.0.0.1", server.port))
        assert stream.recv(10, timeout=5) == b"hello"
        stream.close()


def test_ipv6() -> None:
    with ScriptedServer(say_hello, family=socket.AF_INET6) as server:
        endpoint = Endpoint("::1", server.port)
        assert endpoint.authority == f"[::1]:{server.port}"
        stream = dial(endpoint)
        assert stream.recv(10, timeout=5) == b"hello"
        assert stream.names.endswith(f"->[::1]:{server.port}")
        stream.close()


def test_refused_over_ipv6_has_brackets() -> None:
    port = unused_port()
    with pytest.raises(ConnectionRefused, match=rf"^dial tcp \[::1\]:{port}: connect: connection refused$"):
        dial(Endpoint("::1", port))


@looped(
    ("endpoint", "header"),
    [
        (Endpoint("h", 80), "h"),
        (Endpoint("h", 443), "h:443"),
        (Endpoint("h", 443, TLSOptions("h")), "h"),
        (Endpoint("h", 6443, TLSOptions("h")), "h:6443"),
        (Endpoint("::1", 80), "[::1]"),
        (Endpoint("fe80::1%eth0", 8080), "[fe80::1]:8080"),
    ],
)
def test_host_header(endpoint: Endpoint, header: str) -> None:
    assert endpoint.host_header == header


@pytest.mark.parametrize("by_deadline", [False, True])
def test_connect_timeout(by_deadline: bool) -> None:
    with full_backlog() as port:
        deadline = time.monotonic() + 0.2 if by_deadline else None
        limits = Timeouts() if by_deadline else Timeouts(connect=0.2)
        with pytest.raises(DeadlineExceeded) as caught:
            dial(Endpoint("127.0.0.1", port), timeouts=limits, deadline=deadline)
    assert caught.value.step == ("request" if by_deadline else "connect")
    if not by_deadline:
        assert str(caught.value) == f"dial tcp 127.0.0.1:{port}: i/o timeout"
    assert f"127.0.0.1:{port}" in caught.value.detail[0]


def test_tls_is_prepared_while_the_connection_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(tls, "context_for", lambda options: asked.append(options.server_name))
    with full_backlog() as port, pytest.raises(DeadlineExceeded):
        dial(Endpoint("127.0.0.1", port, TLSOptions("name.test", b"")), timeouts=Timeouts(connect=0.1))
    assert asked == ["name.test"]


def test_that_nobody_is_there_comes_before_a_bad_authority() -> None:
    bad = TLSOptions("127.0.0.1", b"no certificate")
    with pytest.raises(ConnectionRefused):
        dial(Endpoint("127.0.0.1", unused_port(), bad))
    with ScriptedServer(say_hello) as server, pytest.raises(ConfigError):
        dial(Endpoint("127.0.0.1", server.port, bad))


def test_the_next_address_is_tried_when_one_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(say_hello) as server:
        lookup_returns(monkeypatch, ("127.0.0.1", unused_port()), ("127.0.0.1", server.port))
        stream = dial(Endpoint("two.test", server.port))
        assert stream.recv(10, timeout=5) == b"hello"
        stream.close()


def test_the_next_address_is_tried_beside_one_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(say_hello) as server, full_backlog() as silent:
        lookup_returns(monkeypatch, ("127.0.0.1", silent), ("127.0.0.1", server.port))
        start = time.monotonic()
        stream = dial(Endpoint("two.test", server.port))
        assert time.monotonic() - start >= connecting.NEXT_ADDRESS_AFTER
        assert stream.names.endswith(f":{server.port}")
        stream.close()


def test_all_addresses_fail_and_the_refusal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = unused_port(), unused_port()
    lookup_returns(monkeypatch, ("127.0.0.1", one), ("::1", two))
    with pytest.raises(ConnectionRefused) as caught:
        dial(Endpoint("two.test", one))
    assert str(caught.value) == f"dial tcp 127.0.0.1:{one}: connect: connection refused"
    assert caught.value.detail[1] == f"dial tcp [::1]:{two}: connect: connection refused"


def test_a_way_that_is_not_there_is_no_refusal() -> None:
    # 240.0.0.0/4 is reserved: Linux refuses to route it, without a packet.
    with pytest.raises((ConnectError, DeadlineExceeded)) as caught:
        dial(Endpoint("255.255.255.255", 1), timeouts=Timeouts(connect=0.2))
    assert not isinstance(caught.value, ConnectionRefused)
    assert str(caught.value).startswith("dial tcp 255.255.255.255:1: ")


def test_a_connection_that_is_reset_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its other end has no address any more."""
    dead = socket.socket()
    monkeypatch.setattr(dialling, "_connected", lambda *_: dead)
    with pytest.raises(ConnectionLost, match=r"^read tcp h:1: read: connection reset by peer$"):
        dial(Endpoint("h", 1, TLSOptions("h", None)))
    assert dead.fileno() < 0
    with socket.socket() as other:
        events: list[Event] = []
        dialling._tell_connected(Tap(events.append), 7, other, 0.0)
        assert events == []


def test_an_address_that_this_machine_cannot_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """No IPv6 in this kernel: the next address counts."""

    class WithoutIPv6(socket.socket):
        def __init__(self, family: int = -1, *more: Any, **named: Any) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, "")
            super().__init__(family, *more, **named)

    with ScriptedServer(say_hello) as server:
        lookup_returns(monkeypatch, ("::1", server.port), ("127.0.0.1", server.port))
        monkeypatch.setattr(socket, "socket", WithoutIPv6)
        dial(Endpoint("two.test", server.port)).close()
        lookup_returns(monkeypatch, ("::1", server.port))
        with pytest.raises(ConnectError, match=r"address family not supported"):
            dial(Endpoint("one.test", server.port))


def test_options_of_the_socket() -> None:
    with ScriptedServer(say_hello) as server:
        stream = dial(Endpoint("localhost", server.port))
        sock = stream.bare()
        assert sock is not None
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
        stream.close()


def test_events() -> None:
    events: list[Event] = []
    with ScriptedServer(say_hello) as server:
        dial(Endpoint("localhost", server.port), tap=Tap(events.append), conn=7).close()
    assert [(e.kind, e.conn) for e in events] == [("resolve", 7), ("connect", 7)]
    assert events[0].data["host"] == "localhost"
    assert "127.0.0.1" in events[0].data["addresses"]
    assert events[1].data["address"] == "127.0.0.1"
    assert events[1].data["port"] == server.port
