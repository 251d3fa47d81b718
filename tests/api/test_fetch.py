"""Requests to the issuer of tokens: over the same door, with a trust and a proxy of their own."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from rawkube.api.fetch import MAX_BODY, fetcher
from rawkube.api.proxies import by_environment
from rawkube.errors import ProtocolError, TLSError, TransportError
from rawkube.wire.tap import Event, Tap
from tests.support.proxy import ProxyServer
from tests.support.rows import looped
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.tls import Authority

FORM = [("Content-Type", "application/x-www-form-urlencoded"), ("Authorization", "Basic c2VjcmV0")]


class Issuer(ScriptedServer):
    """Answers every request alike, and keeps it."""

    def __init__(self, tls: Authority | None = None, **reply: object) -> None:
        super().__init__(self._serve_one, tls=tls.server("127.0.0.1") if tls else None)
        self.asked: list[SeenRequest] = []
        self.reply = {"body": b"{}", **reply}

    def _serve_one(self, peer: Peer) -> None:
        while True:
            self.asked.append(peer.read_request())
            peer.reply(**self.reply)  # type: ignore[arg-type]


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer(status="200 Fine", content_type="Text/Plain; charset=utf-8") as server:
        yield server


def test_what_is_sent_and_what_comes(issuer: Issuer) -> None:
    got = fetcher()("POST", f"{issuer.url}/a//token?p=x%2Fy&q#frag", FORM, b"grant_type=refresh_token", None)
    assert got == (200, "Fine", "text/plain", b"{}")
    (request,) = issuer.asked
    assert (request.method, request.target) == ("POST", "/a//token?p=x%2Fy&q")
    assert request.body == b"grant_type=refresh_token"
    assert request.header("authorization") == "Basic c2VjcmV0"
    assert (request.header("user-agent") or "").startswith("rawkube/")


@pytest.mark.parametrize(("tail", "target"), [("", "/"), ("?a=b", "/?a=b"), ("/", "/")])
def test_targets(issuer: Issuer, tail: str, target: str) -> None:
    fetcher()("GET", issuer.url + tail, [], b"", None)
    assert issuer.asked[0].target == target


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with Issuer(status="302 Found", headers=(("Location", "http://127.0.0.1:1/"),)) as server:
        assert fetcher()("GET", server.url, [], b"", None)[:2] == (302, "Found")
        assert len(server.asked) == 1


def test_compressed() -> None:
    with Issuer(body=gzip.compress(b"text"), headers=(("Content-Encoding", "gzip"),)) as server:
        assert fetcher()("GET", server.url, [], b"", None).body == b"text"


def test_an_answer_without_end_is_not_kept() -> None:
    with Issuer(body=b"x" * (MAX_BODY + 1)) as server, pytest.raises(ProtocolError):
        fetcher()("GET", server.url, [], b"", None)


def test_whom_it_trusts() -> None:
    authority = Authority()
    with Issuer(authority) as server:
        assert fetcher()("GET", server.url, [], b"", authority.pem).status == 200
        for wrong in (None, Authority("other").pem):
            with pytest.raises(TLSError, match="certificate signed by unknown authority"):
                fetcher()("GET", server.url, [], b"", wrong)
        assert len(server.asked) == 1


def test_the_proxy_of_the_environment_for_this_server() -> None:
    authority = Authority()
    with Issuer(Authority()) as unused, Issuer() as plain, ProxyServer(names={"issuer.test": plain.port}) as proxy:
        environ = {"HTTP_PROXY": proxy.url, "HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "direct.test"}
        through = fetcher(through=by_environment(environ))
        assert through("GET", "http://issuer.test/x", [], b"", None).status == 200
        assert [request.target for request in proxy.asked] == ["http://issuer.test/x"]
        assert through("GET", plain.url, [], b"", None).status == 200  # loopback
        assert len(proxy.asked) == 1
        with pytest.raises(TransportError, match="refused"):
            through("GET", "https://issuer.test/x", [], b"", authority.pem)
        assert unused.asked == []


@looped(
    ("url", "text"),
    [
        ("foo bar/x", 'unsupported protocol scheme ""'),
        ("ftp://foo/x", 'unsupported protocol scheme "ftp"'),
        ("http://", "host must be a URL or a host:port pair"),
        ("http://u:secret@h/x", "the server address holds a user name or password"),
        ("http://h/a b", "invalid control character in URL"),
        ("http://h/a\r\nX: y", "invalid control character in URL"),
    ],
)
def test_addresses_that_are_none(url: str, text: str) -> None:
    with pytest.raises(TransportError, match=text) as caught:
        fetcher()("GET", url, [], b"", None)
    assert "secret" not in str(caught.value)


def test_the_tap_is_told_and_no_secret(issuer: Issuer) -> None:
    events: list[Event] = []
    fetcher(tap=Tap(events.append))("POST", f"{issuer.url}/token", FORM, b"refresh_token=MARK", None)
    assert [event.kind for event in events if event.kind in ("request", "response")] == ["request", "response"]
    told = str(events)
    assert "MARK" not in told
    assert "c2VjcmV0" not in told
