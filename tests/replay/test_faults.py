"""Faults on a socket, and what clients make of them: rawkube, and the real kubectl."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rawkube.cli.replay import environment
from rawkube.observe.exchanges import Exchange
from rawkube.observe.faults import GARBAGE_BYTES, parse_fault
from rawkube.observe.replay import Replay
from tests.observe.made import FIXTURES, Script, answer, chunk, frame, get, masked, piece, start, upgrade
from tests.replay.test_server import connect, read_all, read_until
from tests.replay.test_sessions import CLOSE, HEAD, recorded, rest
from tests.support.here import own_streams, run_here
from tests.support.run import Result

ROOT = Path(__file__).parents[2]
KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")
kubectl = pytest.mark.skipif(KUBECTL is None, reason="no kubectl")

WATCH = "/l?watch=true&resourceVersion=1"
EVENTS = ["one\n", "two\n", "three\n"]


def watched(*, ends: bool = False) -> list[Exchange]:
    """A watch of three events, in two reads; and something else to ask for."""
    last = [(0.0, "0\r\n\r\n")] if ends else []
    script = Script().watch(WATCH, (0, start()), (0, chunk(EVENTS[0]) + chunk(EVENTS[1])), (0, chunk(EVENTS[2])), *last)
    return script.ask("/b", answer("whole")).exchanges()


def replayed(exchanges: list[Exchange], *faults: str) -> Replay:
    return Replay(exchanges, faults=[parse_fault(text) for text in faults])


def sent(server: Replay, target: str = WATCH) -> bytes:
    """Everything that one connection brings."""
    with connect(server) as sock:
        sock.sendall(get(target).encode())
        return read_all(sock)


ONE, TWO = chunk(EVENTS[0]), chunk(EVENTS[1])


def test_a_close_behind_an_event() -> None:
    with replayed(watched(), "after=1:close") as server:
        assert sent(server).endswith(b"\r\n\r\n" + ONE)
    assert server.faults.report() == [f"fault after=1:close: struck in GET {WATCH}"]


def test_it_strikes_once() -> None:
    with replayed(watched(ends=True), "after=2:close") as server, connect(server) as sock:
        assert sent(server).endswith(ONE + TWO)
        sock.sendall(get(WATCH).encode())
        assert read_until(sock, b"0\r\n\r\n").endswith(ONE + TWO + chunk(EVENTS[2]) + b"0\r\n\r\n")


def test_a_reset_behind_an_event() -> None:
    with replayed(watched(), "after=2:reset") as server, pytest.raises(ConnectionResetError):
        sent(server)


def test_a_stall() -> None:
    with replayed(watched(ends=True), "after=2:stall") as server, connect(server) as sock:
        sock.sendall(get(WATCH).encode())
        read_until(sock, TWO)
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            sock.recv(1)


def test_half_an_event() -> None:
    with replayed(watched(), "after=1:truncate") as server:
        assert sent(server).endswith(ONE + TWO[: len(TWO) // 2])


def test_garbage_behind_an_event() -> None:
    with replayed(watched(), "after=1:garbage") as server:
        assert sent(server).endswith(ONE + GARBAGE_BYTES)


def test_a_status_in_place_of_the_next_answer() -> None:
    with replayed(watched(ends=True), "after=3:status=429") as server, connect(server) as sock:
        sock.sendall(get(WATCH).encode())
        read_until(sock, b"0\r\n\r\n")
        sock.sendall(get("/b").encode())
        told = read_until(sock, b"0\r\n\r\n")
        head, _, body = told.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
        assert b"\r\nRetry-After: 1" in head
        assert json.loads(body.split(b"\r\n")[1])["message"] == "rawkube replay --fault after=3:status=429"
        sock.sendall(get("/b").encode())
        assert read_until(sock, b"whole") == answer("whole")


WHOLE = {
    "close": b"",
    "truncate": answer("whole")[:-3],
    "garbage": GARBAGE_BYTES,
}


@pytest.mark.parametrize("kind", WHOLE)
def test_in_place_of_a_whole_answer(kind: str) -> None:
    """It is the second answer that is struck, on whatever connection it is asked for."""
    with replayed(watched(), f"after=1:{kind}") as server, connect(server) as sock:
        for _ in range(2):
            sock.sendall(get("/b").encode())
        assert read_all(sock) == answer("whole") + WHOLE[kind]


def test_a_reset_in_place_of_an_answer() -> None:
    with replayed(watched(), "after=0:reset") as server, pytest.raises(ConnectionResetError):
        sent(server, "/b")


def test_a_stall_in_place_of_an_answer() -> None:
    with replayed(watched(), "after=0:stall,match=/b") as server, connect(server) as sock:
        sock.settimeout(0.2)
        sock.sendall(get("/b").encode())
        with pytest.raises(TimeoutError):
            sock.recv(1)


def test_only_where_it_matches() -> None:
    with replayed(watched(), "after=0:status=500,match=watch=true,times=2") as server, connect(server) as sock:
        sock.sendall(get("/b").encode())
        assert read_until(sock, b"whole") == answer("whole")
        for status in (b"500 Internal Server Error", b"500 Internal Server Error", b"200 OK"):
            sock.sendall(get(WATCH).encode())
            assert read_until(sock, b"\r\n") == b"HTTP/1.1 " + status + b"\r\n"
            if status != b"200 OK":
                read_until(sock, b"}\n")


def test_without_a_fault_the_bytes_are_as_recorded() -> None:
    """A fault that concerns another request changes nothing."""
    with replayed(watched(), "after=0:close,match=/other") as server, connect(server) as sock:
        sock.sendall(get(WATCH).encode())
        assert read_until(sock, chunk(EVENTS[2])) == start().encode() + ONE + TWO + chunk(EVENTS[2])


# WebSocket sessions

OUTPUT = [frame(b"\1one"), frame(b"\1two"), frame(b"\3{}")]


def opened(server: Replay) -> socket.socket:
    sock = connect(server)
    sock.sendall(upgrade().encode())
    return sock


def session() -> list[Exchange]:
    return recorded(piece("server", 3, b"".join(OUTPUT)), piece("server", 4, CLOSE), piece("server", 4, eof=True))


@pytest.mark.parametrize(
    ("kind", "last"),
    [("close", b""), ("truncate", OUTPUT[1][:4]), ("garbage", GARBAGE_BYTES)],
    ids=lambda x: str(x)[:9],
)
def test_a_session_is_broken_off_between_messages(kind: str, last: bytes) -> None:
    with replayed(session(), f"after=1:{kind}") as server, opened(server) as sock:
        assert rest(sock) == HEAD + OUTPUT[0] + last


def test_a_session_is_reset() -> None:
    with replayed(session(), "after=2:reset") as server, opened(server) as sock, pytest.raises(ConnectionResetError):
        rest(sock)


def test_a_session_stalls_and_the_client_goes() -> None:
    with replayed(session(), "after=2:stall") as server:
        with opened(server) as sock:
            read_until(sock, OUTPUT[1])
            sock.sendall(masked(b"are you there", 9))
            sock.settimeout(0.2)
            with pytest.raises(TimeoutError):
                sock.recv(1)
        server.stop()
        assert server._connections.running == 0


def test_an_upgrade_is_refused() -> None:
    with replayed(session(), "after=0:status=403,match=/exec") as server, opened(server) as sock:
        assert read_until(sock, b"\r\n") == b"HTTP/1.1 403 Forbidden\r\n"


# Clients

ROLLOUT = FIXTURES / "rollout-listwatch" / "deployment-update.jsonl"
WORDS = ["rollout", "status", "deployment/web"]
DONE = 'deployment "web" successfully rolled out\n'


def run(recording: Path, faults: Sequence[str], command: Sequence[str]) -> tuple[Result, Replay]:
    """A command against a recording with faults: of kubectl, or of rawkube, which runs in this process."""
    with Replay(recording, faults=[parse_fault(text) for text in faults]) as server:
        if command[0] != KUBECTL:
            with own_streams():
                return run_here(*command, config=server.kubeconfig), server
        env = environment(os.environ, server.kubeconfig, server.folder)
        env["KUBE_FEATURE_WatchListClient"] = "false"
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    return Result(done.stdout, done.stderr, done.returncode), server


# In the middle of the watch: the client asks again, and sees the end of the rollout.
MENDED = (
    "after=2:close,match=watch=true",
    "after=2:reset,match=watch=true",
    "after=2:truncate,match=watch=true",
    "after=2:garbage,match=watch=true",
    "after=0:status=503,match=watch=true",
    "after=0:status=429,match=watch=true,times=2",
)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", MENDED)
def test_rawkube_goes_on_after_a_broken_watch(fault: str) -> None:
    done, server = run(ROLLOUT, [fault], WORDS)
    assert done.stdout.endswith(DONE), done.stderr
    assert done.code == 0
    assert server.faults.struck
    assert len([asked for asked in server.requests if "watch=true" in asked.target]) > 1


@pytest.mark.kubectl
@kubectl
@pytest.mark.parametrize("fault", [f for f in MENDED if "status" not in f])
def test_kubectl_goes_on_after_a_broken_watch(fault: str) -> None:
    assert KUBECTL is not None
    done, server = run(ROLLOUT, [fault], [KUBECTL, *WORDS])
    assert (done.stdout[-len(DONE) :], done.code) == (DONE, 0), done.stderr
    assert server.faults.struck


CLIENTS = [
    pytest.param([], id="rawkube"),
    pytest.param([KUBECTL], id="kubectl", marks=[pytest.mark.kubectl, kubectl]),
]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_watch_that_stalls_ends_with_the_timeout(client: list[str]) -> None:
    fault = "after=2:stall,match=watch=true,times=all"
    done, server = run(ROLLOUT, [fault], [*client, *WORDS, "--timeout=1s"])
    assert (done.code, done.stderr.splitlines()[-1]) == (1, "error: timed out waiting for the condition")
    assert len(server.faults.struck) == 1


@pytest.mark.parametrize("client", CLIENTS)
def test_several_faults_one_after_the_other(client: list[str]) -> None:
    faults = [f"after={n}:{kind},match=watch=true" for n, kind in enumerate(("close", "reset", "truncate"), 1)]
    done, server = run(ROLLOUT, faults, [*client, *WORDS])
    assert (done.stdout[-len(DONE) :], done.code) == (DONE, 0), done.stderr
    assert [struck.fault.kind for struck in server.faults.struck] == ["close", "reset", "truncate"]


HELLO = FIXTURES / "exec" / "v5-hello.jsonl"
EXEC = ["exec", "shell", "--", "sh", "-c", "echo hello; echo oops >&2"]
# Behind the second message of the session, whose third is its status.
BROKEN = {
    "after=2:close,match=/exec": r"error: .*(close|EOF|lost|ended)",
    "after=2:reset,match=/exec": r"error: .*connection reset by peer",
    "after=2:truncate,match=/exec": r"error: .*(close|EOF|lost|ended)",
    "after=2:garbage,match=/exec": r"error: .*",
    "after=0:status=403,match=/exec": r"(error|Error from server).*after=0:status=403",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_rawkube_says_that_a_session_broke(fault: str) -> None:
    done, server = run(HELLO, [fault], EXEC)
    assert server.faults.struck
    assert done.code == 1
    assert re.match(BROKEN[fault], done.stderr.splitlines()[-1]), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.kubectl
@kubectl
@pytest.mark.parametrize("fault", BROKEN)
def test_kubectl_says_that_a_session_broke(fault: str) -> None:
    assert KUBECTL is not None
    done, server = run(HELLO, [fault], [KUBECTL, *EXEC])
    assert server.faults.struck
    assert done.code == 1, done.stderr
    assert "rror" in done.stderr.splitlines()[-1]
