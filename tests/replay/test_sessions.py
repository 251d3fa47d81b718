"""Recorded WebSocket sessions on a socket."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest

from rawkube.observe.exchanges import Exchange, read_exchanges
from rawkube.observe.recording import Piece
from rawkube.observe.replay import Replay
from tests.observe.made import ACCEPT, EXEC, KEY, answer, frame, get, masked, piece, switching, upgrade

POD = EXEC.partition("/exec")[0]
CLOSE = frame(b"\x03\xe8", 8)
HEAD = switching().encode()


def recorded(*pieces: Piece) -> list[Exchange]:
    """A GET of the Pod, then the upgrade on another connection, as kubectl does it."""
    start = [
        piece("client", 0, get(POD)),
        piece("server", 0.5, answer("{}")),
        piece("client", 1, upgrade(), conn=2),
        piece("server", 2, switching(), conn=2),
    ]
    return read_exchanges(p._replace(line=i) for i, p in enumerate([*start, *(p._replace(conn=2) for p in pieces)], 2))


def echoing(*ends: Piece) -> list[Exchange]:
    return recorded(piece("client", 3, masked(b"\0one\n")), piece("server", 4, frame(b"\1one\n")), *ends)


def connect(server: Replay) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def read(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        assert more, data
        data += more
    return data


def rest(sock: socket.socket) -> bytes:
    data = b""
    while more := sock.recv(65536):
        data += more
    return data


def opened(server: Replay) -> socket.socket:
    sock = connect(server)
    sock.sendall(upgrade().encode())
    assert read(sock, len(HEAD)) == HEAD
    return sock


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_get_then_the_upgrade_on_one_connection() -> None:
    with Replay(echoing(piece("server", 5, CLOSE), piece("server", 5, eof=True))) as server, connect(server) as sock:
        sock.sendall(get(POD).encode())
        assert read(sock, len(answer("{}"))) == answer("{}")
        sock.sendall(upgrade().encode())
        assert read(sock, len(HEAD)) == HEAD
        sock.sendall(masked(b"\0one\n", mask=b"abcd"))
        assert rest(sock) == frame(b"\1one\n") + CLOSE
    assert [(a.method, a.how) for a in server.requests] == [("GET", "recorded")] * 2
    assert (server.unmatched, server.unasked) == ([], [])


def test_the_key_is_answered() -> None:
    asked = upgrade().replace(KEY, "AAAAAAAAAAAAAAAAAAAAAA==")
    with Replay(recorded(piece("server", 3, eof=True))) as server, connect(server) as sock:
        sock.sendall(asked.encode())
        assert rest(sock) == switching(accept="ICX+Yqv66kxgM0FcWaLWlFLwTAI=").encode()
    assert ACCEPT in switching()


def test_frames_that_came_with_the_request() -> None:
    with Replay(echoing(piece("server", 5, eof=True))) as server, connect(server) as sock:
        sock.sendall(upgrade().encode() + masked(b"\0one\n"))
        assert rest(sock) == HEAD + frame(b"\1one\n")


def test_a_refused_upgrade_leaves_the_connection_in_use() -> None:
    with Replay(echoing()) as server, connect(server) as sock:
        sock.sendall(upgrade(offered="v4.channel.k8s.io").encode())
        told = sock.recv(65536)
        assert told.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"the recorded session speaks v5.channel.k8s.io" in told
        sock.sendall(upgrade().encode())
        assert read(sock, len(HEAD)) == HEAD
    assert [a.how for a in server.requests] == ["missing", "recorded"]


def test_pings_are_answered_and_a_close_is_echoed() -> None:
    with Replay(echoing()) as server, opened(server) as sock:
        sock.sendall(masked(b"are you there", 9))
        assert read(sock, 15) == frame(b"are you there", 10)
        sock.sendall(masked(b"\x03\xe8bye", 8))
        assert rest(sock) == CLOSE
        wait_for(lambda: len(server._connections.open) == 1)


def test_fin_without_a_close() -> None:
    with Replay(echoing(piece("server", 5, eof=True))) as server, opened(server) as sock:
        sock.sendall(masked(b"\0one\n") + masked(b"\0more"))
        assert rest(sock) == frame(b"\1one\n")


def test_unread_input_does_not_take_the_last_frames_with_it() -> None:
    """A close with input unread would reset the connection."""
    with Replay(echoing(piece("server", 5, CLOSE), piece("server", 5, eof=True))) as server, opened(server) as sock:
        sock.sendall(masked(b"\0one\n") + masked(b"\0" + b"x" * 100_000))
        assert rest(sock) == frame(b"\1one\n") + CLOSE


def test_a_reset() -> None:
    with Replay(echoing(piece("server", 5, error="ConnectionResetError"))) as server, opened(server) as sock:
        sock.sendall(masked(b"\0one\n"))
        with pytest.raises(ConnectionResetError):
            rest(sock)


def test_behind_the_recorded_clients_end_it_stays_open_until_the_client_goes() -> None:
    with Replay(echoing(piece("client", 5, eof=True), piece("server", 6, CLOSE))) as server:
        with opened(server) as sock:
            sock.sendall(masked(b"\0one\n"))
            assert read(sock, 7) == frame(b"\1one\n")
            sock.settimeout(0.2)
            with pytest.raises(TimeoutError):
                sock.recv(1)
            assert len(server._connections.open) == 1
        wait_for(lambda: not server._connections.open)


@pytest.mark.parametrize("data", [b"\0" * 100, b"GET / HTTP/1.1\r\n\r\n", frame(b"\0one\n"), b"\xff" * 1000])
def test_a_client_that_breaks_the_protocol(data: bytes) -> None:
    with Replay(echoing()) as server, opened(server) as sock:
        sock.sendall(data)
        told = rest(sock)
        assert (told[0], told[2:4]) == (0x88, b"\x03\xea")
        # The server goes on.
        with opened(server) as other:
            other.sendall(masked(b"\0one\n"))
            assert read(other, 7) == frame(b"\1one\n")


def test_a_client_that_goes_in_the_middle_of_a_frame() -> None:
    with Replay(echoing()) as server:
        with opened(server) as sock:
            sock.sendall(masked(b"\0one\n")[:-2])
        with opened(server) as reset:
            reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        wait_for(lambda: not server._connections.open)


def test_a_client_that_goes_while_output_waits() -> None:
    much = [piece("server", 3, frame(b"\1" + b"x" * 65000)) for _ in range(200)]
    with Replay(recorded(*much)) as server:
        with opened(server) as sock:
            read(sock, 10)
        wait_for(lambda: not server._connections.open)


def test_much_both_ways_at_once() -> None:
    """Nobody waits for the other to read first."""
    size, count = 60_000, 100
    pieces = []
    for i in range(count):
        pieces.append(piece("client", 3 + i, masked(b"\0" + b"i" * size)))
        pieces.append(piece("server", 3.5 + i, frame(b"\1" + b"o" * size)))
    with Replay(recorded(*pieces, piece("server", 999, eof=True))) as server, opened(server) as sock:
        sock.settimeout(20)
        sent = masked(b"\0" + b"i" * size) * count
        sock.sendall(sent)
        assert len(rest(sock)) == len(frame(b"\1" + b"o" * size)) * count


def test_two_sessions_at_once() -> None:
    of = echoing(piece("server", 5, CLOSE), piece("server", 5, eof=True))
    with Replay(of) as server, opened(server) as one, opened(server) as two:
        one.sendall(masked(b"\0on"))
        two.sendall(masked(b"\0one\n"))
        assert rest(two) == frame(b"\1one\n") + CLOSE
        one.sendall(masked(b"\0e\n"))
        assert rest(one) == frame(b"\1one\n") + CLOSE


def test_stopping_ends_a_session() -> None:
    server = Replay(echoing())
    with server, opened(server) as sock:
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 4
        assert sock.recv(1) == b""
    assert server._connections.running == 0


def test_delays_and_speed() -> None:
    """From the request a second to the head, then two to the output; ten times as fast."""
    with Replay(recorded(piece("server", 4, frame(b"\1a"))), speed=10) as server:
        began = time.monotonic()
        with opened(server) as sock:
            at_head = time.monotonic() - began
            read(sock, 4)
            at_output = time.monotonic() - began
    assert 0.09 < at_head < at_output
    assert 0.29 < at_output < 5
