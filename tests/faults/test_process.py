"""Signals, a closed stdout, silent ports, and TLS where there is none."""

from __future__ import annotations

import functools
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from tests.faults.rig import DONE, OK, STARTED, UPDATED_1, no_traceback, started, status
from tests.support.api_server import ApiServer
from tests.support.run import kubeconfig
from tests.support.script import SILENCE, Workload, modified
from tests.support.server import Peer, ScriptedServer

STOPPING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
CONNECT = "Unable to connect to the server: "


@pytest.fixture(autouse=True, scope="module")
def signals_reach_children() -> Iterator[None]:
    """Signals that the tests' own parent ignores (a background job, nohup) are ignored by children too."""
    ignored = [number for number in STOPPING if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize("number", STOPPING, ids=lambda number: number.name)
def test_a_signal_while_watching_ends_with_1_and_without_a_word(number: signal.Signals, tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED)) as server, started(server.url, tmp_path) as running:
        assert running.read_line() == UPDATED_1
        wait_for(server, "watch rv=101")
        running.send(number)
        result = running.wait(20)
    assert (result.stdout, result.stderr, result.code) == ("", "", 1)


@pytest.mark.parametrize("number", STOPPING[:2], ids=lambda number: number.name)
def test_a_signal_before_the_first_answer_kills(number: signal.Signals, tmp_path: Path) -> None:
    with ApiServer(answers={"list": [SILENCE]}) as server, started(server.url, tmp_path) as running:
        wait_for(server, "list")
        running.send(number)
        result = running.wait(20)
    assert (result.stdout, result.stderr, result.code) == ("", "", -number)


def wait_for(server: ApiServer, request: str) -> None:
    """Until the server has seen it."""
    for _ in range(1000):
        if request in server.seen():
            return
        server.stopping.wait(0.01)
    raise AssertionError(f"never asked: {request}; only {server.seen()}")


def test_a_closed_stdout_kills_with_sigpipe(tmp_path: Path) -> None:
    workload = Workload(STARTED, steps=[modified(STARTED)] * 2000)
    with ApiServer(workload) as server, started(server.url, tmp_path) as running:
        assert running.read_line() == UPDATED_1
        assert running.process.stdout
        running.process.stdout.close()
        running.process.wait(20)
        assert running.process.stderr
        said = running.process.stderr.read()
        code = running.process.returncode
    assert (said, code) == (b"", -signal.SIGPIPE)


def test_every_line_comes_at_once(tmp_path: Path) -> None:
    """stdout is a pipe here, and nothing waits in a buffer until the end."""
    with ApiServer(Workload(STARTED)) as server, started(server.url, tmp_path) as running:
        assert running.read_line() == UPDATED_1
        assert running.process.poll() is None


def test_a_port_that_accepts_and_is_silent(tmp_path: Path) -> None:
    with ScriptedServer(lambda peer: peer.stall()) as server:
        result = status(server.url, tmp_path, "--request-timeout=1s", timeout=20)
    assert result.last == CONNECT + ("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
    assert (result.stdout, result.code) == ("", 1)
    assert 0.9 <= result.seconds < 15


def test_a_port_that_is_silent_during_the_handshake(tmp_path: Path) -> None:
    with ScriptedServer(lambda peer: peer.stall()) as server:
        url = server.url.replace("http:", "https:")
        result = status(url, tmp_path, "--request-timeout=1s", timeout=20)
    assert (result.stdout, result.code) == ("", 1)
    assert result.last.startswith(CONNECT)
    assert 0.9 <= result.seconds < 15


def test_silence_in_the_middle_of_a_body(tmp_path: Path) -> None:
    def half(peer: Peer) -> None:
        peer.read_request()
        peer.start_chunked()
        peer.chunk('{"kind":"DeploymentList",')
        peer.stall()

    with ScriptedServer(half) as server:
        result = status(server.url, tmp_path, "--request-timeout=1s", timeout=20)
    no_traceback(result)
    assert (result.stdout, result.code) == ("", 1)
    assert "context deadline exceeded" in result.last


@functools.cache
def authority() -> trustme.CA:
    return trustme.CA()


def serving_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("127.0.0.1").configure_cert(context)
    return context


def trusting(url: str, home: Path) -> None:
    ca = home / "ca.pem"
    authority().cert_pem.write_to_path(str(ca))
    user = {"token": "t0k3n"}
    (home / "config").write_text(kubeconfig(url, cluster={"certificate-authority": str(ca)}, user=user))


def test_over_tls_all_is_the_same(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[modified(DONE)]), tls=serving_tls()) as server:
        trusting(server.url, tmp_path)
        result = status(server.url, tmp_path)
        assert (result.stdout, result.stderr, result.code) == (UPDATED_1 + OK, "", 0)
        assert server.connections == 1
        assert {request.header("authorization") for request in server.asked} == {"Bearer t0k3n"}


def test_https_to_a_plain_port(tmp_path: Path) -> None:
    with ScriptedServer(lambda peer: peer.reply("{}", status="400 Bad Request")) as server:
        result = status(server.url.replace("http:", "https:"), tmp_path)
    said = CONNECT + "http: server gave HTTP response to HTTPS client"
    assert (result.stdout, result.last, result.code) == ("", said, 1)
