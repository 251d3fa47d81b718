"""No usable answer: nobody listens, silence, and TLS that does not hold."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme

from tests.differential.rig import KUBECTL, RAWKUBE, run_in
from tests.support.run import Result, kubeconfig, kubectl_command, run
from tests.support.server import Peer, ScriptedServer

PROGRAMS = [pytest.param(KUBECTL, marks=pytest.mark.kubectl), RAWKUBE]
CERTIFICATE = "Unable to connect to the server: tls: failed to verify certificate: x509: "
# Which of its clocks strikes first decides how kubectl says it.
TIMED_OUT = {
    "context deadline exceeded",
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
    "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def serving(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def status(program: str, url: str, home: Path, *args: str, ca: str = "") -> Result:
    home.mkdir(exist_ok=True)
    cluster = {"certificate-authority": ca} if ca else {}
    # With a token, kubectl does not ask for a user name.
    (home / "config").write_text(kubeconfig(url, cluster=cluster, user={"token": "t0k3n"}))
    words = ("rollout", "status", "deploy/web", *args)
    return run_in(home, *words) if program == RAWKUBE else run(kubectl_command(), *words, url=url, home=home)


def silent(peer: Peer) -> None:
    peer.stall()


@pytest.mark.parametrize("program", PROGRAMS)
def test_nobody_listens(program: str, tmp_path: Path) -> None:
    with ScriptedServer(silent) as server:
        port = server.port
    result = status(program, f"http://127.0.0.1:{port}", tmp_path)
    said = f"The connection to the server 127.0.0.1:{port} was refused"
    said += " - did you specify the right host or port?"
    assert (result.stdout, result.last, result.code) == ("", said, 1)


@pytest.mark.parametrize("program", PROGRAMS)
def test_silence_and_a_request_timeout(program: str, tmp_path: Path) -> None:
    with ScriptedServer(silent) as server:
        result = status(program, server.url, tmp_path, "--request-timeout=300ms")
    assert (result.stdout, result.code) == ("", 1)
    assert result.last.removeprefix("Unable to connect to the server: ") in TIMED_OUT


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("name", "trusted", "said"),
    [
        ("127.0.0.1", False, CERTIFICATE + "certificate signed by unknown authority"),
        (
            "other.example",
            True,
            CERTIFICATE + "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
        ),
        ("127.0.0.2", True, CERTIFICATE + "certificate is valid for 127.0.0.2, not 127.0.0.1"),
    ],
    ids=["unknown-authority", "a-name-only", "another-address"],
)
def test_certificates(program: str, name: str, trusted: bool, said: str, authority: trustme.CA, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    (authority if trusted else trustme.CA()).cert_pem.write_to_path(str(ca))
    with ScriptedServer(silent, tls=serving(authority, name)) as server:
        result = status(program, server.url, tmp_path / "home", ca=str(ca))
    assert (result.stdout, result.last, result.code) == ("", said, 1)


@pytest.mark.parametrize("program", PROGRAMS)
def test_https_to_a_plain_port(program: str, tmp_path: Path) -> None:
    def plain(peer: Peer) -> None:
        peer.read()
        peer.send(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent nonsense.\n")

    with ScriptedServer(plain) as server:
        result = status(program, server.url.replace("http:", "https:"), tmp_path)
    said = "Unable to connect to the server: http: server gave HTTP response to HTTPS client"
    assert (result.stdout, result.last, result.code) == ("", said, 1)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("first", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.7\r\n", 'malformed HTTP response "SSH-2.0-OpenSSH_9.7"'),
        (b"\x15\x03\x01\x00\x02\x02\x46\r\n", r'malformed HTTP response "\x15\x03\x01\x00\x02\x02F"'),
    ],
    ids=["ssh", "tls-alert"],
)
def test_what_answers_speaks_no_http(program: str, first: bytes, said: str, tmp_path: Path) -> None:
    def speak(peer: Peer) -> None:
        peer.read_request()
        peer.send(first)

    with ScriptedServer(speak) as server:
        result = status(program, server.url, tmp_path)
    expected = f"Unable to connect to the server: net/http: HTTP/1.x transport connection broken: {said}"
    assert (result.stdout, result.last, result.code) == ("", expected, 1)
