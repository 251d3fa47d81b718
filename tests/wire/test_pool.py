"""Which connection serves a request: reuse, dead ones, repeats, threads."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import pytest

from rawkube.errors import ConnectionLost, ConnectionRefused, ProtocolError, TransportError
from rawkube.wire.dial import Endpoint, TLSOptions
from rawkube.wire.http import Request
from rawkube.wire.pool import Pool
from rawkube.wire.tap import Event, Tap
from tests.support.rows import looped
from tests.support.server import Peer, PeerGone, ScriptedServer
from tests.support.tls import Authority

GET = Request("GET", "/")
UPGRADE = Request("GET", "/exec", [("Connection", "Upgrade"), ("Upgrade", "websocket")])
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def forever(peer: Peer) -> None:
    while True:
        peer.read_request()
        peer.send(OK)


def one_answer_each(peer: Peer) -> None:
    """Answer once, and hang up when the next request comes: the idle connection looks alive until it is used."""
    peer.read_request()
    peer.send(OK)
    with contextlib.suppress(PeerGone):
        peer.read_request()


def pool_for(server: ScriptedServer, **more: object) -> contextlib.closing[Pool]:
    return contextlib.closing(Pool(Endpoint("127.0.0.1", server.port), **more))  # type: ignore[arg-type]


def served_by(pool: Pool, request: Request = GET) -> int:
    """The number of the connection that served a request."""
    with pool.request(request) as response:
        assert response.status == 200
        response.read()
        return response.conn


def test_a_connection_is_reused() -> None:
    with ScriptedServer(forever) as server, pool_for(server) as pool:
        for _ in range(3):
            assert pool.request(GET).read() == b"{}"
        assert server.connections == 1


def test_a_connection_in_use_is_not() -> None:
    with ScriptedServer(forever) as server, pool_for(server) as pool:
        one, two = pool.request(GET), pool.request(GET)
        assert one.conn != two.conn
        assert two.read() == b"{}"
        assert one.read() == b"{}"
        assert server.connections == 2
        assert served_by(pool) == one.conn  # the one that was used last


def test_a_connection_that_was_closed_while_idle_is_not_used() -> None:
    closed = threading.Event()

    def close_after_one(peer: Peer) -> None:
        peer.read_request()
        peer.send(OK)
        peer.close()
        closed.set()

    events: list[Event] = []
    with ScriptedServer(close_after_one) as server, pool_for(server, tap=Tap(events.append)) as pool:
        pool.request(GET).read()
        assert closed.wait(5)
        # Even what is never repeated goes through: the dead connection is seen before anything is sent.
        assert pool.request(Request("POST", "/", body=b"{}")).read() == b"{}"
        assert server.connections == 2
    assert "closed by the server while idle" in [e.data["why"] for e in events if e.kind == "close"]
    assert not [e for e in events if e.kind == "retry"]


def test_garbage_on_an_idle_connection() -> None:
    sent = threading.Event()

    def more_than_asked(peer: Peer) -> None:
        peer.read_request()
        peer.send(OK)
        if peer.number == 1:
            peer.send(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            sent.set()
        peer.stall()

    with ScriptedServer(more_than_asked) as server, pool_for(server) as pool:
        pool.request(GET).read()
        assert sent.wait(5)
        served_by(pool)
        assert server.connections == 2


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_request_that_may_be_repeated_is(method: str) -> None:
    events: list[Event] = []
    with ScriptedServer(one_answer_each) as server, pool_for(server, tap=Tap(events.append)) as pool:
        pool.request(GET).read()
        served_by(pool, Request(method, "/"))
        assert server.connections == 2
    (retry,) = (e for e in events if e.kind == "retry")
    assert retry.data["attempt"] == 1
    assert retry.data["why"] == "EOF" or "reset" in retry.data["why"]


@looped(
    "request_",
    [Request("POST", "/", body=b"{}"), Request("PATCH", "/"), Request("DELETE", "/"), UPGRADE],
    ids=["POST", "PATCH", "DELETE", "upgrade"],
)
def test_a_request_that_may_not_be_repeated_is_not(request_: Request) -> None:
    with ScriptedServer(one_answer_each) as server, pool_for(server) as pool:
        pool.request(GET).read()
        with pytest.raises(ConnectionLost) as caught:
            pool.request(request_)
        assert not caught.value.answered
        assert server.connections == 1


def test_a_fresh_connection_is_not_tried_twice() -> None:
    def hang_up(peer: Peer) -> None:
        peer.read_request()

    with ScriptedServer(hang_up) as server, pool_for(server) as pool:
        with pytest.raises(ConnectionLost, match=r"^EOF$"):
            pool.request(GET)
        assert server.connections == 1


def test_half_an_answer_is_not_repeated() -> None:
    def half(peer: Peer) -> None:
        peer.read_request()
        peer.send(OK)
        peer.read_request()
        peer.send(b"HTTP/1.1 200")

    with ScriptedServer(half) as server, pool_for(server) as pool:
        pool.request(GET).read()
        with pytest.raises(ConnectionLost, match=r"^unexpected EOF$") as caught:
            pool.request(GET)
        assert caught.value.answered
        assert server.connections == 1


def test_exec_uses_the_connection_of_the_get_before() -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(OK)
        peer.read_request()
        peer.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhi")

    with ScriptedServer(handler) as server, pool_for(server) as pool:
        pool.request(GET).read()
        stream, rest = pool.request(UPGRADE).upgraded()
        got = rest or stream.recv(2, timeout=5)
        assert got == b"hi"
        stream.close()
        assert server.connections == 1


def test_an_upgraded_connection_does_not_come_back() -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        peer.stall()

    with ScriptedServer(handler) as server, pool_for(server) as pool:
        pool.request(UPGRADE).close()
        pool.request(UPGRADE).close()
        assert server.connections == 2


def test_tickets_of_tls_do_not_make_a_connection_look_dead() -> None:
    ca = Authority()
    with ScriptedServer(forever, tls=ca.server("127.0.0.1")) as server:
        endpoint = Endpoint("127.0.0.1", server.port, TLSOptions("127.0.0.1", ca.pem))
        with contextlib.closing(Pool(endpoint)) as pool:
            for _ in range(5):
                assert pool.request(GET).read() == b"{}"
        assert server.connections == 1


def test_idle_connections_are_few() -> None:
    with ScriptedServer(forever) as server, pool_for(server, max_idle=1) as pool:
        answers = [pool.request(GET) for _ in range(3)]
        for answer in answers:
            answer.read()
        last = pool.request(GET)
        assert last.conn == answers[-1].conn
        assert served_by(pool) not in {a.conn for a in answers}
        last.read()


def test_no_idle_connection_at_all() -> None:
    with ScriptedServer(forever) as server, pool_for(server, max_idle=0) as pool:
        pool.request(GET).read()
        pool.request(GET).read()
        assert server.connections == 2


def test_idle_connections_grow_old(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(forever) as server, pool_for(server, idle_seconds=50.0) as pool:
        pool.request(GET).read()
        now = time.monotonic()
        monkeypatch.setattr("rawkube.wire.pool.time.monotonic", lambda: now + 60)
        pool.request(GET).read()
        assert server.connections == 2


def test_a_closed_pool() -> None:
    with ScriptedServer(forever) as server, pool_for(server) as pool:
        pool.request(GET).read()
        late = pool.request(GET)
        pool.close()
        assert late.read() == b"{}"
        with pytest.raises(TransportError, match=r"^the pool is closed$"):
            pool.request(GET)


def test_a_request_that_cannot_be_sent_does_not_leak() -> None:
    with ScriptedServer(forever) as server, pool_for(server) as pool:
        with pytest.raises(ProtocolError):
            pool.request(Request("GET", "/", [("X", "a\nb")]))
        assert pool.request(GET).read() == b"{}"


def test_refused() -> None:
    with ScriptedServer(forever) as server:
        endpoint = Endpoint("127.0.0.1", server.port)
    with pytest.raises(ConnectionRefused):
        Pool(endpoint).request(GET)


def test_numbers_are_of_the_process() -> None:
    with ScriptedServer(forever) as server, pool_for(server) as one, pool_for(server) as two:
        first = one.request(GET)
        numbers = [first.conn, served_by(two), served_by(one)]
        first.read()
    assert numbers == sorted(set(numbers))


def test_several_threads() -> None:
    def echo(peer: Peer) -> None:
        while True:
            target = peer.read_request().target.encode()
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(target) + target)

    wrong: list[bytes] = []

    def work(pool: Pool, number: int) -> Callable[[], None]:
        def run() -> None:
            for i in range(50):
                target = f"/{number}/{i}"
                if (body := pool.request(Request("GET", target)).read()) != target.encode():
                    wrong.append(body)

        return run

    with ScriptedServer(echo) as server, pool_for(server) as pool:
        threads = [threading.Thread(target=work(pool, n)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not wrong
        assert server.connections <= 8 + 50
