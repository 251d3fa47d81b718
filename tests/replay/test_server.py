from __future__ import annotations

import gc
import gzip
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rawkube.errors import RecordingError
from rawkube.observe.deliver import schedule, suited, watch_limit
from rawkube.observe.exchanges import Exchange, read_exchanges
from rawkube.observe.link import Link
from rawkube.observe.replay import Replay, discovery_folder, load
from tests.observe.made import (
    DEPLOYMENTS,
    FIXTURES,
    JSON,
    Script,
    answer,
    chunk,
    deployment,
    event,
    get,
    listing,
    piece,
    start,
    written,
)

WATCH = "/l?watch=true&resourceVersion=1"


def connect(server: Replay) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def read_all(sock: socket.socket) -> bytes:
    data = b""
    while more := sock.recv(65536):
        data += more
    return data


def read_until(sock: socket.socket, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        more = sock.recv(1)
        assert more, data
        data += more
    return data


def fetch(server: Replay, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    client = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    try:
        client.request("GET", target, headers={"Accept": JSON, **headers})
        told = client.getresponse()
        return told.status, {name.lower(): value for name, value in told.getheaders()}, told.read()
    finally:
        client.close()


def test_the_bytes_are_as_recorded_and_the_connection_is_kept() -> None:
    odd = b"HTTP/1.1 200 oh  well\r\nx-Odd:  a\r\nTransfer-Encoding: chunked\r\n\r\n"
    odd += b"003;x=y\r\nabc\r\n0\r\nT: x\r\n\r\n"
    with (
        Replay(Script().ask("/odd", odd).ask("/b", answer("b")).exchanges()) as server,
        connect(server) as sock,
    ):
        for _ in range(2):
            sock.sendall(get("/odd").encode())
            assert read_until(sock, b"T: x\r\n\r\n") == odd
            sock.sendall(get("/b").encode())
            assert read_until(sock, answer("b")) == answer("b")
    assert [(a.method, a.target, a.how) for a in server.requests[:2]] == [
        ("GET", "/odd", "recorded"),
        ("GET", "/b", "recorded"),
    ]
    assert ("Accept", JSON) in server.requests[0].headers


def test_requests_may_come_early() -> None:
    script = Script().ask("/a", answer("a")).ask("/b", answer("b"))
    with Replay(script.exchanges()) as server, connect(server) as sock:
        sock.sendall((get("/a") + get("/b") + get("/a")).encode())
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == answer("a") + answer("b") + answer("a")


def test_several_connections_at_once() -> None:
    script = Script().watch(WATCH, (0, start()), (0, chunk("x"))).ask("/b", answer("b"))
    with Replay(script.exchanges()) as server, connect(server) as one, connect(server) as two:
        for sock in (one, two):
            sock.sendall(get(WATCH).encode())
            read_until(sock, chunk("x"))
        assert fetch(server, "/b")[2] == b"b"


def test_request_bodies_and_100_continue() -> None:
    with Replay(Script().ask("/a", answer("ok"), method="POST").exchanges()) as server:
        with connect(server) as sock:
            head = "POST /a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
            sock.sendall(head.encode())
            assert read_until(sock, b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
            sock.sendall(chunk("bo") + chunk("dy") + b"0\r\n\r\n")
            assert read_until(sock, answer("ok")) == answer("ok")
        assert server.requests[0].body == b"body"


BAD = {
    "garbage": b"\x16\x03\x01\x02\0\x01\0\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "header": b"GET / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n",
    "length": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    "chunk": b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "too long": b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 400_000,
    "cut": b"GET / HT",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests_get_400(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with Replay(Script().ask("/a", answer("a")).exchanges()) as server, connect(server) as sock:
        sock.sendall(BAD[name])
        if name == "cut":
            sock.shutdown(socket.SHUT_WR)
        told = read_all(sock)
    head, _, body = told.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert json.loads(body)["reason"] == "BadRequest"
    assert [asked.how for asked in server.unmatched] == ["bad"]
    assert capfd.readouterr() == ("", "")


def test_an_unknown_path_and_the_report() -> None:
    with Replay(Script().ask("/a", answer("a")).ask("/b", answer("b")).exchanges()) as server:
        status, headers, body = fetch(server, "/nosuch")
        assert (status, headers["content-type"]) == (400, "application/json")
        assert json.loads(body)["message"].startswith("the recording has no answer to GET /nosuch; recorded: GET /a; ")
        fetch(server, "/b")
    assert [asked.target for asked in server.unmatched] == ["/nosuch"]
    assert [exchange.target for exchange in server.unasked] == ["/a"]
    assert server.report() == ["not recorded: GET /nosuch", "not asked for: GET /a"]


# How an answer ends


def test_a_recorded_clients_end_leaves_the_stream_open() -> None:
    with Replay(Script().watch(WATCH, (0, start()), (0, chunk("x"))).exchanges()) as server:
        with connect(server) as sock:
            sock.sendall(get(WATCH).encode())
            read_until(sock, chunk("x"))
            sock.settimeout(0.2)
            with pytest.raises(TimeoutError):
                sock.recv(1)
        with connect(server) as other:
            other.sendall(get(WATCH).encode())
            read_until(other, chunk("x"))
            server.stop()
            assert other.recv(1) == b""


def test_the_watchs_own_timeout_ends_it_cleanly() -> None:
    with (
        Replay(Script().watch(WATCH, (0, start()), (0, chunk("x"))).ask("/b", answer("b")).exchanges()) as server,
        connect(server) as sock,
    ):
        began = time.monotonic()
        sock.sendall(get(f"{WATCH}&timeoutSeconds=1").encode())
        assert read_until(sock, b"0\r\n\r\n") == start().encode() + chunk("x") + b"0\r\n\r\n"
        assert 0.9 < time.monotonic() - began < 5
        sock.sendall(get("/b").encode())
        assert read_until(sock, answer("b")) == answer("b")


def test_a_chunk_that_was_cut_cannot_end_cleanly() -> None:
    with (
        Replay(Script().watch(WATCH, (0, start()), (0, "5\r\nab")).exchanges()) as server,
        connect(server) as sock,
    ):
        sock.sendall(get(f"{WATCH}&timeoutSeconds=1").encode())
        read_until(sock, b"5\r\nab")
        sock.settimeout(1.3)
        with pytest.raises(TimeoutError):
            sock.recv(1)


@pytest.mark.parametrize("seconds", ["0", "-1", "x", "", "9" * 5000])
def test_timeouts_that_are_none(seconds: str) -> None:
    assert watch_limit(f"{WATCH}&timeoutSeconds={seconds}") is None
    assert watch_limit("/l?timeoutSeconds=5") is None
    assert watch_limit(f"{WATCH}&timeoutSeconds=5") == 5


def ending(*after: str) -> list[Exchange]:
    pieces = [piece("client", 0, get("/a")), piece("server", 1, start() + "5\r\nab")]
    return read_exchanges([*pieces, *(piece("server", 2, eof=True, error=error) for error in after)])


def test_a_server_that_closed_closes() -> None:
    with Replay(ending("")) as server, connect(server) as sock:
        sock.sendall(get("/a").encode())
        assert read_all(sock) == start().encode() + b"5\r\nab"


def test_a_server_that_broke_off_tls_closes() -> None:
    with Replay(ending("SSLError")) as server, connect(server) as sock:
        sock.sendall(get("/a").encode())
        assert read_all(sock).endswith(b"5\r\nab")


def test_a_server_that_reset_resets() -> None:
    with Replay(ending("ConnectionResetError")) as server, connect(server) as sock:
        sock.sendall(get("/a").encode())
        with pytest.raises(ConnectionResetError):
            read_all(sock)


def test_a_server_that_never_answered() -> None:
    pieces = [piece("client", 0, get("/a")), piece("server", 1, eof=True)]
    with Replay(read_exchanges(pieces)) as server, connect(server) as sock:
        sock.sendall(get("/a").encode())
        assert read_all(sock) == b""


def test_connection_close_is_honoured_on_either_side() -> None:
    script = Script().ask("/a", answer("a", extra="Connection: close\r\n")).ask("/b", answer("b"))
    with Replay(script.exchanges()) as server, connect(server) as one, connect(server) as two:
        one.sendall(get("/a").encode())
        assert read_all(one).endswith(b"\r\n\r\na")
        two.sendall(b"GET /b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert read_all(two) == answer("b")


def test_http_1_0_gets_no_chunks() -> None:
    script = Script().watch("/l", (0, start()), (0, chunk("ab")), (0, chunk("c")), (0, "0\r\n\r\n"))
    with Replay(script.exchanges()) as server, connect(server) as sock:
        sock.sendall(b"GET /l HTTP/1.0\r\n\r\n")
        head, _, body = read_all(sock).partition(b"\r\n\r\n")
    assert (b"chunked" in head, body) == (False, b"abc")


# Speed


class FakeClock:
    """A clock that waiting moves, and nothing else."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def wait(self, link: Link, seconds: float | None) -> bool:
        assert seconds is not None
        self.waits.append(round(seconds, 6))
        self.now += seconds
        return False


TIMED: list[tuple[float | None, list[float]]] = [
    (None, []),
    (1.0, [1, 2, 3]),
    (4.0, [0.25, 0.5, 0.75]),
    (0.5, [2, 4, 6]),
]


@pytest.mark.parametrize(("speed", "waits"), TIMED)
def test_delays_count_from_the_request_and_are_divided_by_the_speed(speed: float | None, waits: list[float]) -> None:
    clock = FakeClock()
    script = Script().watch("/l", (1, start()), (3, chunk("a")), (6, chunk("b") + b"0\r\n\r\n"))
    server = Replay(script.exchanges(), speed=speed, clock=lambda: clock.now, wait=clock.wait)
    with server:
        assert fetch(server, "/l")[2] == b"ab"
    assert clock.waits == waits


def test_a_timeout_before_the_recordings_end() -> None:
    clock = FakeClock()
    script = Script().watch(WATCH, (0, start()), (1, chunk("a")), (60, chunk("b")))
    with Replay(script.exchanges(), speed=1, clock=lambda: clock.now, wait=clock.wait) as server:
        assert fetch(server, f"{WATCH}&timeoutSeconds=5")[2] == b"a"
    assert clock.waits == [1, 4]


def test_a_derived_watch_keeps_its_times() -> None:
    clock = FakeClock()
    events = [chunk(event("MODIFIED", deployment("web", v))) for v in (2, 3, 4)]
    script = Script().watch(WATCH, (0, start()), (10, events[0]), (12, events[1]), (15, events[2] + b"0\r\n\r\n"))
    with Replay(script.exchanges(), speed=2, clock=lambda: clock.now, wait=clock.wait) as server:
        body = fetch(server, "/l?watch=true&resourceVersion=2")[2]
    assert clock.waits in ([1, 1.5], [1.0, 1.5, 0.0])
    assert body.count(b"\n") == 2


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
def test_no_speed(speed: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Replay(ending(""), speed=speed)


def test_real_delays() -> None:
    script = Script().watch("/l", (0.1, start()), (0.4, chunk("a") + b"0\r\n\r\n"))
    with Replay(script.exchanges(), speed=2) as server:
        began = time.monotonic()
        fetch(server, "/l")
        assert 0.19 < time.monotonic() - began < 3


def test_a_client_that_goes_is_noticed_while_waiting() -> None:
    script = Script().watch("/l", (0, start()), (600, chunk("a")))
    with Replay(script.exchanges(), speed=1) as server:
        with connect(server) as sock:
            sock.sendall(get("/l").encode())
            read_until(sock, b"\r\n\r\n")
        wait_for(lambda: not server._connections.open)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_stopping_ends_waiting_threads_even_behind_an_early_request() -> None:
    script = Script().watch(WATCH, (0, start()), (0, chunk("x")))
    server = Replay(script.exchanges())
    with server, connect(server) as sock:
        sock.sendall(get(WATCH).encode() + get(WATCH).encode())
        read_until(sock, chunk("x"))
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 4
    assert server._connections.running == 0


# Encodings


PACKED = gzip.compress(b'{"a": 1}' * 100)


def packed() -> list[Exchange]:
    return Script().ask("/a", answer(PACKED, extra="Content-Encoding: gzip\r\n")).exchanges()


@pytest.mark.parametrize("accepted", ["gzip", "deflate, gzip;q=1.0"])
def test_gzip_as_recorded(accepted: str) -> None:
    with Replay(packed()) as server:
        _, headers, body = fetch(server, "/a", **{"Accept-Encoding": accepted})
    assert (headers["content-encoding"], body) == ("gzip", PACKED)


@pytest.mark.parametrize("accepted", ["identity", "", "gzip;q=0"])
def test_gzip_decoded(accepted: str) -> None:
    with Replay(packed()) as server:
        _, headers, body = fetch(server, "/a", **{"Accept-Encoding": accepted})
    assert ("content-encoding" in headers, body) == (False, gzip.decompress(PACKED))


def test_gzip_that_cannot_be_decoded_is_sent_as_it_is() -> None:
    told = Script().ask("/a", answer(b"\x1f\x8bno", extra="Content-Encoding: gzip\r\n")).exchanges()[0].answer
    assert suited(told, "identity", old=False) is told


def test_a_rewritten_answer_is_framed_anew() -> None:
    told = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n" + '{"data":"<redacted>"}'
    pieces = [piece("client", 0, get("/a")), piece("server", 1, told, redacted=True)]
    pieces += [piece("client", 2, get("/b")), piece("server", 3, answer("b"))]
    with Replay(read_exchanges(pieces)) as server:
        assert fetch(server, "/a")[2] == b'{"data":"<redacted>"}'
        assert fetch(server, "/b")[2] == b"b"


def test_the_real_gzip_recording() -> None:
    with Replay(FIXTURES / "watch" / "gzip.jsonl") as server:
        plain = fetch(server, "/api/v1/pods", **{"Accept-Encoding": "identity"})[2]
        packed = fetch(server, "/api/v1/pods", **{"Accept-Encoding": "gzip"})[2]
    assert gzip.decompress(packed) == plain
    assert json.loads(plain)["kind"] == "PodList"


# Files


def test_the_kubeconfig_and_its_private_folder() -> None:
    with Replay(Script().ask(DEPLOYMENTS, answer(listing(1))).exchanges()) as server:
        config = json.loads(Path(server.kubeconfig).read_text())
        folder = Path(server.kubeconfig).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert config["clusters"][0]["cluster"] == {"server": server.url}
        assert config["contexts"][0]["context"] == {
            "cluster": "replay",
            "user": "replay",
            "namespace": "demo",
        }
    assert not folder.exists()


def test_a_file_is_read_and_a_cut_one_as_far_as_it_goes(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", Script().ask("/a", answer("a")).pieces)
    with file.open("a") as stream:
        stream.write('{"conn": 9, "t": 99, "fr')
    with Replay(str(file)) as server:
        assert fetch(server, "/a")[2] == b"a"
        assert "the recording a.jsonl has no answer" in json.loads(fetch(server, "/b")[2])["message"]


def test_a_file_without_a_request(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", [])
    with pytest.raises(RecordingError, match=r"a\.jsonl: holds no HTTP/1\.1 request$"):
        load(file)
    with pytest.raises(RecordingError):
        Replay(tmp_path)


def test_where_discovery_is_looked_for(tmp_path: Path) -> None:
    assert discovery_folder(None) == FIXTURES / "discovery"
    assert discovery_folder(tmp_path / "a.jsonl") == FIXTURES / "discovery"
    (tmp_path / "discovery").mkdir()
    assert discovery_folder(tmp_path / "sub" / "a.jsonl") == FIXTURES / "discovery"
    written(tmp_path / "discovery" / "x.jsonl", Script().ask("/api", answer('{"kind":"mine"}')).pieces)
    (tmp_path / "discovery" / "broken.jsonl").write_text("no recording")
    (tmp_path / "sub").mkdir()
    file = written(tmp_path / "sub" / "a.jsonl", Script().ask("/a", answer("a")).pieces)
    assert discovery_folder(file) == tmp_path / "discovery"
    with Replay(file) as server:
        assert json.loads(fetch(server, "/api")[2]) == {"kind": "mine"}
        assert server.requests[0].how == "discovery"


DESCRIPTORS = Path("/proc/self/fd")


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="open files cannot be counted")
def test_nothing_is_left_open() -> None:
    gc.collect()
    before, threads = len(list(DESCRIPTORS.iterdir())), threading.active_count()
    for _ in range(3):
        with Replay(Script().ask("/a", answer("a")).exchanges()) as server:
            fetch(server, "/a")
    assert (len(list(DESCRIPTORS.iterdir())), threading.active_count()) == (before, threads)


def test_a_schedule_is_as_recorded() -> None:
    told = load(FIXTURES / "rollout" / "deployment-scale-up.jsonl")[-1].answer
    times = [round(due, 4) for due, _ in schedule(told, 2)]
    assert times[0] == 0.0021
    assert times[1:] == [1.2004, 1.2204, 1.2406]
    assert {due for due, _ in schedule(told, None)} == {0.0}
