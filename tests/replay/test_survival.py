"""A replay server among bad clients, and among many good ones."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rawkube.cli.replay import environment
from rawkube.observe import connections, incoming
from rawkube.observe.exchanges import Exchange, read_exchanges
from rawkube.observe.replay import Replay
from tests.observe.made import FIXTURES, Script, answer, chunk, frame, get, masked, piece, start, switching, upgrade
from tests.replay.test_server import connect, fetch, read_all, read_until, wait_for
from tests.replay.test_sessions import CLOSE, echoing
from tests.replay.test_sessions import rest as rest_of

ROOT = Path(__file__).parents[2]
PLAIN = [pytest.param(False, id="plain"), pytest.param(True, id="tls")]


def small() -> list[Exchange]:
    return Script().ask("/a", answer("a")).exchanges()


def reached(server: Replay) -> socket.socket:
    """A connection, inside TLS where the server wants it."""
    host, port = server.url.partition("://")[2].split(":")
    sock = socket.create_connection((host, int(port)), timeout=10)
    if server.url.startswith("http:"):
        return sock
    context = ssl.create_default_context(cadata=server._ca.decode())
    return context.wrap_socket(sock, server_hostname="127.0.0.1", suppress_ragged_eofs=False)


def asks(server: Replay) -> None:
    """Somebody else is still answered."""
    with reached(server) as sock:
        sock.sendall(get("/a").encode())
        assert read_until(sock, b"\r\n\r\na") == answer("a")


@pytest.mark.parametrize("host", ["example.com", "a", "10.0.0.1:80", "localhost.example.com"])
def test_a_strangers_name_is_refused(host: str) -> None:
    """What a page on the web, whose name was made to mean 127.0.0.1, would ask."""
    with Replay(small()) as server, connect(server) as sock:
        sock.sendall(f"GET /a HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        told = read_all(sock)
        assert told.startswith(b"HTTP/1.1 403 Forbidden\r\n")
        assert f"the host {host} is not this machine".encode() in told
        assert server.refused() == [f"refused: /a of the host {host}"]
        asks(server)


def test_a_request_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming.read_request, "__kwdefaults__", {"idle": 600.0, "whole": 0.2})
    with Replay(small()) as server, connect(server) as slow:
        slow.sendall(b"GET /a HT")
        told = read_all(slow)
        assert told.startswith(b"HTTP/1.1 400 ") and b"a request that is not whole after 0.2 s" in told
        asks(server)


def test_an_idle_connection_is_closed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming.read_request, "__kwdefaults__", {"idle": 0.2, "whole": 60.0})
    with Replay(small()) as server, connect(server) as idle:
        assert read_all(idle) == b""


@pytest.mark.parametrize("tls", PLAIN)
def test_stopping_with_half_open_clients(tls: bool) -> None:
    server = Replay(small(), tls=tls)
    with server, contextlib.ExitStack() as stack:
        host, port = server.url.partition("://")[2].split(":")
        for data in (b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"):
            sock = stack.enter_context(socket.create_connection((host, int(port)), timeout=10))
            sock.sendall(data)
        asks(server)
        wait_for(lambda: len(server._connections.open) == 3)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 3
    assert server._connections.running == 0


def test_many_connections_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that has been idle longest is closed for one more; one that is being answered never."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 4)
    watch = "/w?watch=true"
    script = Script().ask("/a", answer("a")).watch(watch, (0, start()), (0, chunk("x")))
    with Replay(script.exchanges()) as server, contextlib.ExitStack() as stack:
        busy = [stack.enter_context(connect(server)) for _ in range(2)]
        for sock in busy:
            sock.sendall(get(watch).encode())
            read_until(sock, chunk("x"))
        idle = []
        for _ in range(2):
            idle.append(stack.enter_context(connect(server)))
            idle[-1].sendall(get("/a").encode())
            read_until(idle[-1], answer("a"))
            wait_for(lambda: sum(link.idle_since is not None for link in server._connections.open) == len(idle))
        asks(server)
        assert read_all(idle[0]) == b""
        busy += [stack.enter_context(connect(server)) for _ in range(2)]
        for sock in busy[2:]:
            sock.sendall(get(watch).encode())
            read_until(sock, chunk("x"))
        with connect(server) as one_more:
            assert read_all(one_more).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        busy[0].close()
        wait_for(lambda: len(server._connections.open) < 4)
        asks(server)


def test_no_more_descriptors_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """accept(2) fails with EMFILE, and the server goes on when that is over."""
    failed = threading.Event()
    accept = socket.socket.accept

    def failing(self: socket.socket) -> tuple[socket.socket, object]:
        if not failed.is_set():
            failed.set()
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", failing)
    with Replay(small()) as server:
        asks(server)
    assert failed.is_set()


def test_garbage_from_many_at_once() -> None:
    with Replay(small()) as server:

        def one(i: int) -> bool:
            with connect(server) as sock:
                sock.sendall(bytes((i * 7 + j * j) % 256 for j in range(3000)) + b"\r\n\r\n")
                return read_all(sock).startswith(b"HTTP/1.1 400 ")

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(one, range(48)))
        asks(server)


# TLS


def test_https_as_a_client_sees_it() -> None:
    with Replay(small(), tls=True) as server:
        assert server.url.startswith("https://127.0.0.1:")
        for name in ("127.0.0.1", "localhost", "::1"):
            context = ssl.create_default_context(cadata=server._ca.decode())
            with connect_raw(server) as raw, context.wrap_socket(raw, server_hostname=name) as sock:
                sock.sendall(get("/a").encode())
                assert read_until(sock, b"\r\n\r\na") == answer("a")
        with connect_raw(server) as raw, pytest.raises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(raw, server_hostname="127.0.0.1")


def connect_raw(server: Replay) -> socket.socket:
    host, port = server.url.partition("://")[2].split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def test_no_key_is_left_in_the_folder() -> None:
    with Replay(small(), tls=True) as server:
        assert [path.name for path in Path(server.folder).iterdir()] == ["kubeconfig"]
        assert "PRIVATE" not in Path(server.kubeconfig).read_text()


def test_plain_http_on_a_tls_port() -> None:
    with Replay(small(), tls=True) as server:
        with connect_raw(server) as sock:
            sock.sendall(get("/a").encode())
            assert read_all(sock) == (
                b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
            )
        wait_for(lambda: server.refused() == ["refused: an HTTP request on a TLS connection"])
        asks(server)


def test_tls_ends_are_as_recorded() -> None:
    """A close comes with TLS's close_notify, a reset without."""
    closing = [piece("client", 0, get("/a")), piece("server", 1, start() + "5\r\nab"), piece("server", 2, eof=True)]
    resetting = [*closing[:2], piece("server", 2, error="ConnectionResetError")]
    for pieces, ends in ((closing, None), (resetting, OSError)):
        exchanges = read_exchanges(pieces)
        with Replay(exchanges, tls=True) as server, reached(server) as sock:
            sock.sendall(get("/a").encode())
            if ends is None:
                assert read_all(sock).endswith(b"5\r\nab")
            else:
                with pytest.raises(ends):
                    read_all(sock)


def test_a_session_inside_tls() -> None:
    of = echoing(piece("server", 5, CLOSE), piece("server", 5, eof=True))
    with Replay(of, tls=True) as server, reached(server) as sock:
        sock.sendall(upgrade().encode())
        head = switching().encode()
        assert read_until(sock, b"\r\n\r\n") == head
        sock.sendall(masked(b"\0one\n"))
        assert rest_of(sock) == frame(b"\1one\n") + CLOSE


def test_much_both_ways_at_once_inside_tls() -> None:
    from tests.replay.test_sessions import recorded

    size, count = 60_000, 60
    pieces = []
    for i in range(count):
        pieces.append(piece("client", 3 + i, masked(b"\0" + b"i" * size)))
        pieces.append(piece("server", 3.5 + i, frame(b"\1" + b"o" * size)))
    with Replay(recorded(*pieces, piece("server", 999, eof=True)), tls=True) as server, reached(server) as sock:
        sock.sendall(upgrade().encode())
        read_until(sock, b"\r\n\r\n")
        got: list[bytes] = []
        reader = threading.Thread(target=lambda: got.append(rest_of(sock)))
        reader.start()
        sock.sendall(masked(b"\0" + b"i" * size) * count)
        reader.join(30)
        assert len(got[0]) == len(frame(b"\1" + b"o" * size)) * count


def test_without_cryptography_openssl_makes_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    with Replay(small(), tls=True) as server:
        asks(server)
        assert [path.name for path in Path(server.folder).iterdir()] == ["kubeconfig"]


def test_without_either_there_is_one_clear_line(tmp_path: Path) -> None:
    code = "import sys; sys.modules['cryptography'] = None; from rawkube.__main__ import run; run()"
    file = str(FIXTURES / "rollout" / "deployment-done.jsonl")
    env = {**os.environ, "PATH": str(tmp_path)}
    command = [sys.executable, "-c", code, "replay", file, "--tls", "--", "rollout", "status", "deployment/web"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=30)
    wanted = "TLS needs the Python package cryptography (pip install 'rawkube[tls]') or the program openssl"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {wanted}\n")


# Many good ones


def test_rawkubes_at_once() -> None:
    """Four of them follow the same rollout, each from its beginning to its end."""
    file = FIXTURES / "rollout-listwatch" / "deployment-update.jsonl"
    command = [sys.executable, "-m", "rawkube", "rollout", "status", "deployment/web"]
    with Replay(file, tls=True) as server:
        env = environment(os.environ, server.kubeconfig, server.folder)

        def one(_: int) -> str:
            return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60).stdout

        with ThreadPoolExecutor(4) as pool:
            told = set(pool.map(one, range(4)))
    assert len(told) == 1
    assert told.pop().endswith('deployment "web" successfully rolled out\n')


def test_many_requests_on_many_connections() -> None:
    script = Script()
    for i in range(20):
        script.ask(f"/{i}", answer(f"answer {i}"))
    with Replay(script.exchanges()) as server:

        def one(i: int) -> bytes:
            return fetch(server, f"/{i % 20}")[2]

        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(one, range(100))) == [f"answer {i % 20}".encode() for i in range(100)]
        assert (len(server.requests), server.unmatched, server.unasked) == (100, [], [])
