"""Proxies as the API client uses them: from an Access, for REST and WebSocket, for httpx; no password in sight."""

from __future__ import annotations

import httpx
import pytest

import rawkube
from rawkube.api.client import ApiClient
from rawkube.api.proxies import by_environment, proxy_for
from rawkube.errors import ConfigError, ProxyError, RawkubeError, StatusError
from rawkube.kubeconfig.access import Access, Origin
from rawkube.kubeconfig.server_url import parse
from rawkube.remotecommand.call import exec as run_command
from rawkube.wire.dial import Endpoint
from rawkube.wire.tap import Event, Tap
from tests.support.client import PODS, Client
from tests.support.proxy import ProxyServer
from tests.support.rows import looped
from tests.support.tls import Authority
from tests.support.websocket import ExecServer

CA = Authority()
MARK = "s3cret-of-a-proxy"


def test_exec_on_an_http_server_goes_through_a_tunnel() -> None:
    """The GET of the pod is sent to the proxy itself, the upgrade is not."""
    with (
        ExecServer() as server,
        ProxyServer(names={"api.test": server.port}) as proxy,
        Client("http://api.test", proxy_url=proxy.address) as client,
    ):
        assert run_command(client, "p", ["true"]).exit_code == 0
    assert [(asked.method, asked.target.partition("?")[0]) for asked in proxy.asked] == [
        ("GET", "http://api.test/api/v1/namespaces/default/pods/p"),
        ("CONNECT", "api.test:80"),
    ]


def test_a_407_to_a_request_is_explained() -> None:
    with ProxyServer(credentials=("me", "right")) as proxy:
        address, origins = proxy.address.replace("right", MARK), {"proxy_url": Origin("env", "HTTP_PROXY")}
        client = Client("http://api.test", proxy_url=address, origins=origins)
        with client, pytest.raises(StatusError) as caught:
            client.get(PODS, "default", "p")
    assert caught.value.code == 407
    assert caught.value.detail == (
        f"the proxy http://127.0.0.1:{proxy.port} (set by $HTTP_PROXY) answered with 407 Proxy Authentication Required",
        "it does not accept the user name and password in the proxy's URL",
        "Cache Access Denied.",
        "Sorry & bye",
    )


@looped("kind", ["http", "https", "socks5"])
@looped("server", ["https://api.test", "http://api.test"])
def test_a_password_is_nowhere(kind: str, server: str) -> None:
    """Neither where all goes well, nor where it is refused, nor where nobody listens."""
    said: list[str] = []
    events: list[Event] = []
    tls = CA.server("127.0.0.1") if kind == "https" else None
    with ProxyServer(kind, credentials=("me", "right"), tls=tls) as proxy:
        access = Access(server, ca_data=CA.pem, proxy_url=proxy.address.replace("right", MARK))
        said.append(repr(access))
        with ApiClient(access, tap=Tap(events.append), sleep=lambda _: None) as client:
            said += [repr(client.pool.endpoint), repr(client.credentials)]
            said += failure_of(client)
    with ApiClient(access, tap=Tap(events.append), sleep=lambda _: None) as client:
        said += failure_of(client)
    said.append(str(events))
    assert len(said) > 5
    encoded = "bWU6" + "czNjcmV0LW9mLWEtcHJveHk="  # me:s3cret-of-a-proxy
    assert not [text for text in said if MARK in text or encoded in text]


def failure_of(client: ApiClient) -> list[str]:
    with pytest.raises(RawkubeError) as caught:
        client.get(PODS, "default", "p")
    return [str(caught.value), repr(caught.value), *caught.value.detail]


def test_httpx_hears_of_a_proxy() -> None:
    with ProxyServer(answer=b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n") as proxy:
        access = Access("https://api.test", proxy_url=proxy.address)
        with rawkube.Client(access) as client, pytest.raises(httpx.ProxyError, match="Bad Gateway") as caught:
            client.get("/x")
    assert isinstance(caught.value.__cause__, ProxyError)


def test_no_proxy_for_an_empty_address() -> None:
    assert proxy_for("") is None


@looped(
    ("environ", "server", "wanted"),
    [
        ({}, "https://issuer.test", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://issuer.test", "http://p:1 (set by $HTTPS_PROXY)"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "issuer.test"}, "https://issuer.test", None),
        ({"http_proxy": "p:1"}, "http://issuer.test", "http://p:1 (set by $http_proxy)"),
    ],
)
def test_the_environments_proxy_for_another_server(environ: dict[str, str], server: str, wanted: str | None) -> None:
    proxy = by_environment(environ)(parse(server), Endpoint("issuer.test", 443)).proxy
    assert (proxy.named if proxy else None) == wanted


def test_a_bad_address_is_an_error_at_once() -> None:
    with pytest.raises(ConfigError):
        ApiClient(Access("https://h", proxy_url=f"http://me:{MARK}@:x"))
