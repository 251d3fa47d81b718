"""Bytes of one connection: blocking, polled, over TLS, cut, reset."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator

import pytest

from rawkube.errors import ConnectionLost, DeadlineExceeded
from rawkube.wire.dial import Endpoint, TLSOptions, dial
from rawkube.wire.stream import Stream
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import Authority

CA = Authority()


@contextlib.contextmanager
def connected(server: ScriptedServer) -> Iterator[Stream]:
    options = TLSOptions("127.0.0.1", CA.pem) if server.tls else None
    stream = dial(Endpoint("127.0.0.1", server.port, options), conn=3)
    try:
        yield stream
    finally:
        stream.close()


@pytest.fixture(params=["plain", "tls"])
def tls(request: pytest.FixtureRequest) -> ssl.SSLContext | None:
    return CA.server("127.0.0.1") if request.param == "tls" else None


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


def test_pending_shows_what_a_selector_cannot() -> None:
    """Several frames in one TLS record: the rest of the record is in TLS, not in the socket."""

    def one_record(peer: Peer) -> None:
        peer.send(bytes(range(100)))
        peer.stall()

    with ScriptedServer(one_record, tls=CA.server("127.0.0.1")) as server, connected(server) as stream:
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


def test_end_of_stream_with_close_notify() -> None:
    def goodbye(peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        peer.send(b"abc")
        with contextlib.suppress(OSError):
            peer.sock.unwrap()

    with ScriptedServer(goodbye, tls=CA.server("127.0.0.1")) as server, connected(server) as stream:
        assert stream.recv(100, timeout=5) == b"abc"
        assert stream.recv(100, timeout=5) == b""


def test_close_says_goodbye_to_tls() -> None:
    ends: list[str] = []

    def wait_for_the_end(peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        peer.sock.suppress_ragged_eofs = False  # type: ignore[attr-defined]
        ends.append("close_notify" if peer.sock.recv(10) == b"" else "data")

    with ScriptedServer(wait_for_the_end, tls=CA.server("127.0.0.1")) as server, connected(server):
        pass
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


def test_reset_inside_tls_is_an_error_or_an_end() -> None:
    """Python's ssl does not tell a reset from an end without close_notify: neither is an answer."""
    with ScriptedServer(reset_when_asked, tls=CA.server("127.0.0.1")) as server, connected(server) as stream:
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
