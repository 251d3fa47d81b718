"""Bytes of one connection: blocking, polled, over TLS, over TLS inside TLS, cut, reset."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import cast

import pytest

from rawkube.errors import ConnectionLost, DeadlineExceeded
from rawkube.wire.dial import Endpoint, TLSOptions, dial
from rawkube.wire.proxy import Proxy
from rawkube.wire.stream import Stream, wait_for
from rawkube.wire.teller import Teller
from tests.support.proxy import ProxyServer
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import Authority

CA = Authority()
# The servers of these are reached through a proxy that is spoken to over TLS itself.
NESTED: list[ssl.SSLContext] = []


@contextlib.contextmanager
def connected(server: ScriptedServer) -> Iterator[Stream]:
    options = TLSOptions("127.0.0.1", CA.pem) if server.tls else None
    with contextlib.ExitStack() as stack:
        proxy = None
        if server.tls in NESTED:
            between = stack.enter_context(ProxyServer("https", tls=CA.server("127.0.0.1")))
            proxy = Proxy("https", "127.0.0.1", between.port, tls=options)
        stream = dial(Endpoint("127.0.0.1", server.port, options, proxy), conn=3)
        stack.callback(stream.close)
        yield stream


def nested() -> ssl.SSLContext:
    context = CA.server("127.0.0.1")
    NESTED.append(context)
    return context


@pytest.fixture(params=["plain", "tls", "nested"])
def tls(request: pytest.FixtureRequest) -> Iterator[ssl.SSLContext | None]:
    yield None if request.param == "plain" else nested() if request.param == "nested" else CA.server("127.0.0.1")
    NESTED.clear()


@pytest.fixture(params=["tls", "nested"])
def inner(request: pytest.FixtureRequest) -> Iterator[ssl.SSLContext]:
    yield nested() if request.param == "nested" else CA.server("127.0.0.1")
    NESTED.clear()


def echo(peer: Peer) -> None:
    while True:
        peer.send(peer.read())


def test_there_and_back(tls: ssl.SSLContext | None) -> None:
    with ScriptedServer(echo, tls=tls) as server, connected(server) as stream:
        stream.send(b"ping", timeout=5)
        assert stream.recv(100, timeout=5) == b"ping"
        stream.send(memoryview(b"pong"), timeout=5)
        assert stream.recv(2, timeout=5) == b"po"
        assert stream.recv(100, timeout=None) == b"ng"
        assert stream.conn == 3


def test_silence(tls: ssl.SSLContext | None) -> None:
    with ScriptedServer(Peer.stall, tls=tls) as server, connected(server) as stream:
        start = time.monotonic()
        with pytest.raises(DeadlineExceeded, match=r"^read tcp 127\.0\.0\.1:\d+->127\.0\.0\.1:\d+: i/o timeout$") as e:
            stream.recv(1, timeout=0.2)
        assert e.value.step == "silence"
        assert 0.2 <= time.monotonic() - start < 5


def test_a_peer_that_does_not_read(tls: ssl.SSLContext | None) -> None:
    gate = threading.Event()

    def never_read(peer: Peer) -> None:
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        gate.wait(10)

    with ScriptedServer(never_read, tls=tls) as server, connected(server) as stream:
        try:
            with pytest.raises(DeadlineExceeded) as caught:
                stream.send(bytes(64 * 1024 * 1024), timeout=0.2)
        finally:
            gate.set()
    assert caught.value.step == "send"


def test_a_large_write_arrives_whole(tls: ssl.SSLContext | None) -> None:
    data = bytes(range(256)) * 20_000

    def count(peer: Peer) -> None:
        got = bytearray()
        while len(got) < len(data):
            got += peer.read()
        peer.send(b"same" if got == data else b"different")

    with ScriptedServer(count, tls=tls) as server, connected(server) as stream:
        stream.send(data, timeout=30)
        assert stream.recv(100, timeout=30) == b"same"


def test_polled(tls: ssl.SSLContext | None) -> None:
    """What a selector loop does: nothing waits, 0 and None say so."""
    data = bytes(range(256)) * 8192
    with ScriptedServer(echo, tls=tls) as server, connected(server) as stream:
        assert stream.recv_now(10) is None
        out, got = memoryview(data), bytearray()
        end = time.monotonic() + 30
        while len(got) < len(data):
            assert time.monotonic() < end
            if not stream.pending():
                select.select([stream.fileno()], [stream.fileno()] if out else [], [], 5)
            out = out[stream.send_now(out) :] if out else out
            while piece := stream.recv_now(65536):
                got += piece
        assert got == data


class Taking:
    """A TLS socket that takes records as it is told: all of one, or raises."""

    def __init__(self, *outcomes: OSError | None) -> None:
        self.outcomes = list(outcomes)
        self.took: list[int] = []
        self.asked: list[int] = []
        self.corks: list[int] = []

    def send(self, data: memoryview) -> int:
        self.asked.append(len(data))
        if self.outcomes and (error := self.outcomes.pop(0)) is not None:
            raise error
        self.took.append(len(data))
        return len(data)

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self.corks.append(value)

    def setblocking(self, blocking: bool) -> None: ...

    def do_handshake(self) -> None: ...

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 1

    getpeername = getsockname


def taking(*outcomes: OSError | None) -> tuple[Taking, Stream]:
    sock = Taking(*outcomes)
    return sock, Stream(cast(ssl.SSLSocket, sock))


def test_records_that_are_taken_at_once_are_one_call() -> None:
    sock, stream = taking()
    assert stream.send_now(bytes(40_000)) == 40_000
    assert sock.took == [16384, 16384, 7232]
    assert sock.corks == ([1, 0] if hasattr(socket, "TCP_CORK") else [])
    assert stream.send_now(b"x") == 1
    assert len(sock.corks) in (0, 2)  # a record alone goes at once
    assert stream.send_now(bytes(5 << 20)) == 1 << 20  # then the caller looks at the clock


def test_a_record_that_has_to_wait_is_repeated_with_its_length() -> None:
    sock, stream = taking(None, ssl.SSLWantWriteError(), ssl.SSLWantWriteError(), None)
    data = memoryview(bytes(20_000))
    assert stream.send_now(data) == 16384
    assert stream.send_now(data[16384:]) == 0
    assert stream.send_now(bytes(data[16384:]) + bytes(20_000)) == 23_616
    assert sock.asked == [16384, 3616, 3616, 3616, 16384, 3616]


def test_a_record_that_may_not_be_held_back_is_sent_all_the_same() -> None:
    """No TCP below, or TLS inside something else."""
    sock, stream = taking()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Taking, "setsockopt", refused)
        assert stream.send_now(bytes(40_000)) == 40_000
        patch.setattr("rawkube.wire.stream._CORK", None)
        assert stream.send_now(bytes(40_000)) == 40_000
    assert sock.took == [16384, 16384, 7232] * 2


def refused(*_: object) -> None:
    raise OSError(errno.EOPNOTSUPP, "not supported")


class Told:
    """In place of a Teller."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...]] = []

    def came(self, data: bytes) -> None:
        self.heard.append(("came", data.decode()))

    def sent(self, data: bytes) -> None:
        self.heard.append(("sent", data.decode()))

    def ended(self, side: str, error: str) -> None:
        self.heard.append((side, error))


def test_how_a_connection_broke_is_told() -> None:
    _, stream = taking(ssl.SSLWantWriteError(), None, BrokenPipeError(errno.EPIPE, "Broken pipe"))
    told = stream.told = cast(Teller, Told())
    assert stream.send_now(b"abc") == 0
    assert stream.send_now(b"abc") == 3
    with pytest.raises(ConnectionLost, match="broken pipe"):
        stream.send_now(b"d")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Taking, "recv", refused, raising=False)
        with pytest.raises(ConnectionLost):
            stream.recv_now(1)
    assert cast(Told, told).heard == [("sent", "abc"), ("client", "BrokenPipeError"), ("server", "OSError")]


def test_where_there_is_no_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has select() alone."""
    monkeypatch.delattr(select, "poll")
    here, there = socket.socketpair()
    with here, there:
        assert not wait_for(here.fileno(), write=False, end=time.monotonic())
        assert wait_for(here.fileno(), write=True, end=None)
        there.send(b"x")
        assert wait_for(here.fileno(), write=False, end=None)


def test_what_was_sent_before_a_failure_counts() -> None:
    sock, stream = taking(None, ConnectionResetError(errno.ECONNRESET, "reset"))
    assert stream.send_now(bytes(20_000)) == 16384
    with pytest.raises(ConnectionLost, match="connection reset by peer"):
        stream.send_now(bytes(3616))
    assert sock.corks[-1:] == ([0] if hasattr(socket, "TCP_CORK") else [])


def test_pending_shows_what_a_selector_cannot(inner: ssl.SSLContext) -> None:
    """Several frames in one TLS record: the rest of the record is in TLS, not in the socket."""

    def one_record(peer: Peer) -> None:
        peer.send(bytes(range(100)))
        peer.stall()

    with ScriptedServer(one_record, tls=inner) as server, connected(server) as stream:
        assert stream.pending() == 0
        assert stream.recv(10, timeout=5) == bytes(range(10))
        assert stream.pending() == 90
        assert not select.select([stream.fileno()], [], [], 0)[0]
        assert stream.recv_now(1000) == bytes(range(10, 100))
        assert stream.pending() == 0
        assert stream.recv_now(1) is None


def test_pending_of_a_plain_stream_is_zero() -> None:
    with ScriptedServer(lambda peer: peer.send(b"abc")) as server, connected(server) as stream:
        assert stream.recv(1, timeout=5) == b"a"
        assert stream.pending() == 0


def test_end_of_stream(tls: ssl.SSLContext | None) -> None:
    with ScriptedServer(lambda peer: peer.send(b"abc"), tls=tls) as server, connected(server) as stream:
        assert stream.recv(100, timeout=5) == b"abc"
        assert stream.recv(100, timeout=5) == b""  # TLS: without close_notify
        assert stream.recv_now(100) == b""


def test_end_of_stream_with_close_notify(inner: ssl.SSLContext) -> None:
    def goodbye(peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        peer.send(b"abc")
        with contextlib.suppress(OSError):
            peer.sock.unwrap()

    with ScriptedServer(goodbye, tls=inner) as server, connected(server) as stream:
        assert stream.recv(100, timeout=5) == b"abc"
        assert stream.recv(100, timeout=5) == b""


def test_close_says_goodbye_to_tls(inner: ssl.SSLContext) -> None:
    ends: list[str] = []
    seen = threading.Event()

    def wait_for_the_end(peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        peer.send(b"x")
        peer.sock.suppress_ragged_eofs = False  # type: ignore[attr-defined]
        ends.append("close_notify" if peer.sock.recv(10) == b"" else "data")
        seen.set()

    with ScriptedServer(wait_for_the_end, tls=inner) as server, connected(server) as stream:
        # What is left unread makes a close a reset, which may overtake the goodbye.
        assert stream.recv(9, timeout=5) == b"x"
        stream.close()
        assert seen.wait(5)  # before the proxy between goes, too
    assert ends == ["close_notify"]


def reset_when_asked(peer: Peer) -> None:
    peer.read()
    peer.reset()


def test_reset() -> None:
    with ScriptedServer(reset_when_asked) as server, connected(server) as stream:
        stream.send(b"x", timeout=5)
        with pytest.raises(ConnectionLost) as caught:
            stream.recv(10, timeout=5)
    names = r"read tcp 127\.0\.0\.1:\d+->127\.0\.0\.1:\d+: read: connection reset by peer"
    assert caught.match(f"^{names}$")
    assert not caught.value.answered


def test_reset_inside_tls_is_an_error_or_an_end(inner: ssl.SSLContext) -> None:
    """Python's ssl does not tell a reset from an end without close_notify: neither is an answer."""
    with ScriptedServer(reset_when_asked, tls=inner) as server, connected(server) as stream:
        stream.send(b"x", timeout=5)
        with contextlib.suppress(ConnectionLost):
            assert stream.recv(10, timeout=5) == b""


def test_writing_to_a_closed_peer() -> None:
    with ScriptedServer(reset_when_asked) as server, connected(server) as stream:
        stream.send(b"x", timeout=5)
        select.select([stream.fileno()], [], [], 5)
        with pytest.raises(ConnectionLost, match=r"^write tcp .*: write: (broken pipe|connection reset by peer)$"):
            for _ in range(3):
                stream.send(b"x", timeout=5)


def test_use_after_close(tls: ssl.SSLContext | None) -> None:
    with ScriptedServer(echo, tls=tls) as server, connected(server) as stream:
        stream.close()
        stream.close()
        assert stream.fileno() == -1
        assert stream.pending() == 0
        with pytest.raises(ConnectionLost, match=r"use of closed network connection$"):
            stream.recv_now(1)
        with pytest.raises(ConnectionLost, match=r"use of closed network connection$"):
            stream.send_now(b"x")


def test_interrupt_wakes_a_reader(tls: ssl.SSLContext | None) -> None:
    with ScriptedServer(Peer.stall, tls=tls) as server, connected(server) as stream:
        threading.Timer(0.1, stream.interrupt).start()
        assert stream.recv(1, timeout=10) == b""


def test_several_records_that_came_together() -> None:
    """Inside one record of the proxy's TLS: no selector tells of the second, nor of the end after it."""
    context = nested()

    def two_records(peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        peer.read()
        peer.send(b"one")
        peer.send(b"two")
        with contextlib.suppress(OSError):
            peer.sock.unwrap()
        peer.stall()

    with ScriptedServer(two_records, tls=context) as server, connected(server) as stream:
        stream.send(b"?", timeout=5)
        got, end = b"", time.monotonic() + 10
        while not got.endswith(b"two"):
            assert time.monotonic() < end
            if not stream.pending():
                assert select.select([stream.fileno()], [], [], 5)[0]
            got += stream.recv_now(1) or b""
        while not stream.pending() and not select.select([stream.fileno()], [], [], 0.05)[0]:
            assert time.monotonic() < end
        assert stream.recv(1, timeout=5) == b""
        assert got == b"onetwo"


def test_unread() -> None:
    with ScriptedServer(lambda peer: peer.send(b"def")) as server, connected(server) as stream:
        stream.unread(b"abc")
        assert (stream.pending(), stream.bare()) == (3, None)
        assert stream.recv(2, timeout=5) == b"ab"
        assert stream.recv_now(9) == b"c"
        assert stream.pending() == 0
        assert stream.recv(9, timeout=5) == b"def"
        assert stream.bare() is not None
