"""An upgrade on the wire: the connection it takes, what a 101 must hold, what a refusal says, what is repeated."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rawkube.api.builtin import lookup
from rawkube.api.client import ApiClient
from rawkube.api.upgrade import Upgraded, upgrade
from rawkube.errors import ConnectionLost, ProtocolError, TransportError, UpgradeRefused
from rawkube.kubeconfig.access import Access
from tests.support.rows import looped
from tests.support.script import AS_USUAL, HANG_UP, RESET, Answer, failure
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.tls import Authority
from tests.support.websocket import V4, V5, ExecServer, Far, close_frame, message, switching

PATH = "/api/v1/namespaces/default/pods/p/exec"
QUERY = [("command", "true"), ("container", "main"), ("stdout", "true")]
OFFERED = [V5, V4]
UNABLE = "unable to upgrade connection: "


class Client(ApiClient):
    """A client that never sleeps; `waits` holds what it would have slept."""

    def __init__(self, server: str, **access: Any) -> None:
        self.waits: list[float] = []
        super().__init__(Access(server, **access), sleep=self.waits.append)

    def upgrade(self) -> Upgraded:
        return upgrade(self, PATH, QUERY, OFFERED)


def refused(server: ExecServer, **access: Any) -> UpgradeRefused:
    with Client(server.url, **access) as client, pytest.raises(UpgradeRefused) as raised:
        client.upgrade()
    return raised.value


# A 101


@pytest.mark.parametrize("protocol", OFFERED)
def test_the_chosen_protocol_is_told(protocol: str) -> None:
    with ExecServer(Far.until_gone, protocol=protocol) as server, Client(server.url) as client:
        upgraded = client.upgrade()
        upgraded.stream.close()
    assert upgraded.protocol == protocol


def test_the_connection_that_carried_the_get_is_taken() -> None:
    pods = lookup("pods")
    assert pods is not None
    with ExecServer(Far.until_gone) as server, Client(server.url) as client:
        client.get(pods, "default", "p")
        client.upgrade().stream.close()
    assert (server.connections, server.on) == (1, [1, 1])


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_bytes_in_the_packet_of_the_101_are_not_lost(tls: bool) -> None:
    authority = Authority()
    rest = message(1) + message(1, b"hello") + close_frame()

    def handshake(request: SeenRequest) -> bytes:
        return switching(request) + rest

    context = authority.server("127.0.0.1") if tls else None
    with (
        ExecServer(Far.until_gone, handshake=handshake, tls=context) as server,
        Client(server.url, ca_data=authority.pem) as client,
    ):
        upgraded = client.upgrade()
        got = upgraded.data
        while len(got) < len(rest):
            got += upgraded.stream.recv(4096, timeout=10)
        upgraded.stream.close()
    assert got == rest


def test_the_request_names_no_representation_and_no_encoding() -> None:
    with ExecServer(Far.until_gone) as server, Client(server.url) as client:
        client.upgrade().stream.close()
    (request,) = server.asked
    names = [name.lower() for name, _ in request.headers]
    assert sorted(names) == sorted(
        [
            *("host", "user-agent", "connection", "upgrade"),
            *("sec-websocket-version", "sec-websocket-key", "sec-websocket-protocol"),
        ]
    )
    assert request.method == "GET"


def test_each_upgrade_has_a_key_of_its_own() -> None:
    with ExecServer(Far.until_gone) as server, Client(server.url) as client:
        for _ in range(2):
            client.upgrade().stream.close()
    one, other = (request.header("Sec-WebSocket-Key") for request in server.asked)
    assert one != other


def test_credentials_and_impersonation_go_along() -> None:
    authority = Authority()
    access = {"token": "t0k3n", "impersonate_user": "jane", "ca_data": authority.pem}
    with (
        ExecServer(Far.until_gone, tls=authority.server("127.0.0.1")) as server,
        Client(server.url, **access) as client,
    ):
        client.upgrade().stream.close()
    assert server.asked[0].header("Authorization") == "Bearer t0k3n"
    assert server.asked[0].header("Impersonate-User") == "jane"


def sound(**changed: str) -> Callable[[SeenRequest], bytes]:
    return lambda request: switching(request, **changed)


@looped(
    "handshake",
    [
        pytest.param(sound(Connection="keep-alive, Upgrade"), id="a-list-in-connection"),
        pytest.param(sound(Upgrade="WebSocket", Connection="upgrade"), id="other-cases"),
        pytest.param(sound(Server="x", Date="Mon, 30 Nov 2026 17:59:34 GMT"), id="more-headers"),
        pytest.param(lambda r: b"HTTP/1.1 100 Continue\r\n\r\n" + switching(r), id="behind-100-continue"),
        pytest.param(lambda r: switching(r).replace(b" Switching Protocols", b" "), id="no-reason"),
    ],
)
def test_a_sound_101(handshake: Callable[[SeenRequest], bytes]) -> None:
    with ExecServer(Far.until_gone, handshake=handshake) as server, Client(server.url) as client:
        upgraded = client.upgrade()
        upgraded.stream.close()
    assert (upgraded.protocol, upgraded.data) == (V5, b"")


@looped(
    ("handshake", "said"),
    [
        pytest.param(sound(Sec_WebSocket_Accept="AAAA"), "its Sec-WebSocket-Accept does not", id="wrong-accept"),
        pytest.param(sound(omit="Sec-WebSocket-Accept"), "its Sec-WebSocket-Accept does not", id="no-accept"),
        pytest.param(sound(omit="Upgrade"), "its 101 does not name websocket in Upgrade", id="no-upgrade"),
        pytest.param(sound(omit="Connection"), "its 101 does not name Upgrade in Connection", id="no-connection"),
        pytest.param(sound(omit="Sec-WebSocket-Protocol"), "it chose no subprotocol", id="no-protocol"),
        pytest.param(sound(protocol="v3.channel.k8s.io"), "not offered: v3.channel.k8s.io", id="unoffered"),
        pytest.param(
            sound(Sec_WebSocket_Extensions="permessage-deflate"), "invalid compression negotiation", id="deflate"
        ),
    ],
)
def test_an_unsound_101_is_refused_and_the_connection_closed(
    handshake: Callable[[SeenRequest], bytes], said: str
) -> None:
    gone = []

    def script(far: Far) -> None:
        far.until_gone()
        gone.append(True)

    with ExecServer(script, handshake=handshake) as server:
        error = refused(server)
    assert error.code == 101
    assert str(error).startswith(UNABLE)
    assert said in str(error)
    assert gone == [True]


# A refusal

STATUS = failure(403, 'pods "p" is forbidden: User "jane" cannot get resource "pods/exec"')
HTML = Answer("403 Forbidden", "<h3>Unauthorized</h3>", content_type="text/html")


@looped(
    ("answer", "said"),
    [
        pytest.param(STATUS, 'pods "p" is forbidden: User "jane" cannot get resource "pods/exec"', id="status"),
        pytest.param(Answer("500 Oops", '{"error":"no route"}'), "no route", id="error-of-a-json-body"),
        pytest.param(Answer("500 Oops", '{"message":""}'), '{"message":""}', id="an-empty-message"),
        pytest.param(Answer("502 Bad Gateway", "bad gateway\n", content_type="text/plain"), "bad gateway", id="text"),
        pytest.param(HTML, "<h3>Unauthorized</h3>", id="html"),
        pytest.param(Answer("403 Forbidden", ""), "empty server response", id="empty"),
        pytest.param(Answer("404 Not Found", " \r\n "), "empty server response", id="white-space"),
        pytest.param(Answer("400 Bad Request", b"\xff\x00\x1b[2J"), "�\\x00\\x1b[2J", id="binary"),
        pytest.param(Answer("500 Oops", "[1, 2]"), "[1, 2]", id="json-that-is-no-object"),
        pytest.param(Answer("500 Oops", "two\nlines"), "two\\nlines", id="two-lines"),
        pytest.param(Answer("200 OK", "hello", content_type="text/plain"), "hello", id="200"),
        pytest.param(Answer("302 Found", "", headers=(("Location", "https://e/"),)), "empty server response", id="302"),
    ],
)
def test_what_a_refusal_says(answer: Answer, said: str) -> None:
    with ExecServer(refusals=[answer]) as server:
        error = refused(server)
    assert str(error) == UNABLE + said
    assert error.code == int(answer.status.split()[0])
    assert error.detail[0] == f"the server answered {answer.status}"
    assert len(server.asked) == 1


def test_a_chunked_body_is_read_whole() -> None:
    text = json.dumps({"kind": "Status", "message": "pod p does not have a host assigned"})

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.start_chunked(status="500 Internal Server Error")
        for piece in itertools.batched(text, 7) if hasattr(itertools, "batched") else [text[:9], text[9:]]:
            peer.chunk("".join(piece))
        peer.end_chunked()
        peer.stall()

    with ScriptedServer(handler) as server, Client(server.url) as client, pytest.raises(UpgradeRefused) as raised:
        client.upgrade()
    assert str(raised.value) == UNABLE + "pod p does not have a host assigned"


@pytest.mark.parametrize("head", ["Content-Length: 1000", "Transfer-Encoding: chunked", "Connection: close"])
def test_a_body_that_ends_early_is_still_a_refusal(head: str) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(f"HTTP/1.1 503 Unavailable\r\n{head}\r\n\r\n".encode())

    with ScriptedServer(handler) as server, Client(server.url) as client, pytest.raises(UpgradeRefused) as raised:
        client.upgrade()
    assert (raised.value.code, str(raised.value)) == (503, UNABLE + "empty server response")


def test_a_long_body_is_cut() -> None:
    with ExecServer(refusals=[Answer("500 Oops", "x" * 100_000)]) as server:
        error = refused(server)
    assert str(error) == UNABLE + "x" * 2048 + "…"


def hinted(answer: Answer) -> list[str]:
    with ExecServer(refusals=[answer]) as server:
        return list(refused(server).detail[1:])


def test_hints() -> None:
    verb = "a WebSocket to a pod needs the verb get, and from Kubernetes 1.35 on create too, on pods/exec"
    assert hinted(STATUS) == [verb]
    stripped = "something between has taken the Upgrade header away: a proxy or balancer without WebSockets"
    middle = (("Via", "1.1 alb\x07"), ("Server", "nginx"))
    asked = failure(400, "Upgrade request required", headers=middle)
    assert hinted(asked) == [stripped, "Via: 1.1 alb\\a", "Server: nginx"]
    assert hinted(Answer("200 OK", "hello")) == [stripped]
    assert (
        hinted(HTML)
        == hinted(Answer("502 Bad Gateway", '{"error":"x"}'))
        == ["this is no Status of an API server: a proxy between may have refused (kubectl proxy does)"]
    )
    assert hinted(failure(500, "container not found")) == []
    assert hinted(failure(404, "not found")) == ["is the server's address right, path included?"]
    assert hinted(failure(401, "Unauthorized")) == ["the credentials were not accepted"]
    moved = Answer("302 Found", "", headers=(("Location", "https://elsewhere/?token=s3cr3t"),))
    assert hinted(moved) == ["Location: https://elsewhere/?token=<redacted>"]


# What is repeated


@pytest.mark.parametrize("code", [429, 500, 503])
def test_retry_after_is_waited_for(code: int) -> None:
    later = failure(code, "not now", headers=(("Retry-After", "7"),))
    with ExecServer(Far.until_gone, refusals=[later, later, AS_USUAL]) as server, Client(server.url) as client:
        client.upgrade().stream.close()
    assert client.waits == [7.0, 7.0]
    assert len(server.asked) == 3


@pytest.mark.parametrize("code", [429, 500, 503])
def test_without_it_the_refusal_is_final(code: int) -> None:
    with ExecServer(refusals=[failure(code, "no")]) as server:
        assert refused(server).code == code
    assert len(server.asked) == 1


def test_a_401_reads_the_token_file_again_once(tmp_path: Path) -> None:
    authority = Authority()
    token = tmp_path / "token"
    token.write_text("old")
    seen: list[str | None] = []

    def handler(peer: Peer) -> None:
        while True:
            request = peer.read_request()
            seen.append(request.header("Authorization"))
            token.write_text("new")
            peer.reply(failure(401, "Unauthorized").body, status="401 Unauthorized")

    access = {"token_file": str(token), "ca_data": authority.pem}
    with (
        ScriptedServer(handler, tls=authority.server("127.0.0.1")) as server,
        Client(server.url, **access) as client,
        pytest.raises(UpgradeRefused, match="Unauthorized"),
    ):
        client.upgrade()
    assert seen == ["Bearer old", "Bearer new"]


@looped("answer", [HANG_UP, RESET], ids=["fin", "rst"])
@looped("idle", [False, True], ids=["new-connection", "idle-connection"])
def test_nothing_is_repeated_when_the_connection_breaks_behind_the_request(answer: Answer, idle: bool) -> None:
    pods = lookup("pods")
    assert pods is not None
    with ExecServer(refusals=[answer]) as server, Client(server.url) as client:
        if idle:
            client.get(pods, "default", "p")
        with pytest.raises(ConnectionLost):
            client.upgrade()
    assert sum(request.path == PATH for request in server.asked) == 1
    assert client.waits == []


@pytest.mark.parametrize("said", [b"HTTP/1.1 101 Switching", b"SSH-2.0-x\r\n", b"HTTP/1.1 101 x\r\nbad header\r\n\r\n"])
def test_half_an_answer_or_none_is_no_refusal(said: bytes) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(said)

    with ScriptedServer(handler) as server, Client(server.url) as client, pytest.raises(TransportError) as raised:
        client.upgrade()
    assert isinstance(raised.value, ConnectionLost | ProtocolError)
    assert server.connections == 1


def test_an_idle_connection_that_the_server_has_closed_is_not_taken() -> None:
    pods = lookup("pods")
    assert pods is not None
    closed: list[bool] = []

    def handler(peer: Peer) -> None:
        request = peer.read_request()
        if peer.number == 1:
            peer.reply(json.dumps({"kind": "Pod", "metadata": {"name": "p"}}))
            peer.close()
            closed.append(True)
            return
        peer.send(switching(request))
        Far(peer).until_gone()

    with ScriptedServer(handler) as server, Client(server.url) as client:
        client.get(pods, "default", "p")
        while not closed:
            pass
        client.upgrade().stream.close()
    assert server.connections == 2
