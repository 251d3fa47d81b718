"""The real kubectl through the same proxies: the same question, the same decision, the same last line."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

import rawkube
from rawkube.errors import RawkubeError
from rawkube.kubeconfig.access import Overrides
from tests.differential.rig import KUBECTL, RAWKUBE, run_in
from tests.support.api_server import ApiServer
from tests.support.proxy import ProxyServer, Tunnel
from tests.support.run import LONG, Result, kubeconfig, kubectl_command, run
from tests.support.script import Workload
from tests.support.server import SeenRequest
from tests.support.tls import Authority
from tests.support.warm import warm
from tests.support.workloads import deployment

CA = Authority()
NAME = "api.test"
BOTH = [pytest.param(KUBECTL, marks=pytest.mark.kubectl), RAWKUBE]
UNABLE = "Unable to connect to the server: "
PLAIN = b"HTTP/1.0 400 Bad Request\r\n\r\n"
GONE = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"


def status(program: str, home: Path, proxy: str, *, url: str = f"https://{NAME}:6443", **more: str) -> Result:
    """`rollout status` through this proxy."""
    home.mkdir(exist_ok=True)
    (home / "ca.pem").write_bytes(CA.pem)
    cluster = {"proxy-url": proxy} if proxy else {}
    cluster |= {"certificate-authority": "ca.pem"} if url.startswith("https") else {}
    (home / "config").write_text(kubeconfig(url, cluster=cluster, user={"token": "t0k3n"}))
    words = ("rollout", "status", "deploy/web", "--timeout=10s")
    if program == RAWKUBE:
        return run_in(home, *words, **more)
    warm(home, url)
    return run(kubectl_command(), *words, url=url, home=home, timeout=LONG, **more)


def proxy_server(kind: str, **options: Any) -> ProxyServer:
    return ProxyServer(kind, tls=CA.server("127.0.0.1") if kind == "https" else None, **options)


# What the proxy is asked


def asked(request: SeenRequest) -> tuple[str, str, str | None, str | None]:
    return request.method, request.target, request.header("Host"), request.header("Proxy-Authorization")


@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize("kind", ["http", "https", "socks5"])
@pytest.mark.parametrize("credentials", [None, ("us er", "p:w@/é")], ids=["open", "password"])
def test_a_tunnel(program: str, kind: str, credentials: tuple[str, str] | None, tmp_path: Path) -> None:
    with (
        ApiServer(Workload(deployment()), tls=CA.server(NAME)) as server,
        proxy_server(kind, names={NAME: server.port}, credentials=credentials) as proxy,
    ):
        result = status(program, tmp_path, proxy.address)
    assert (result.stdout, result.code) == ('deployment "web" successfully rolled out\n', 0)
    if kind == "socks5":
        assert set(proxy.tunnels) == {Tunnel("name", NAME, 6443)}
        assert set(proxy.greetings) == {b"\5\2\0\2" if credentials else b"\5\1\0"}
        assert set(proxy.logins) == ({credentials} if credentials else set())
    else:
        basic = "Basic dXMgZXI6cDp3QC/DqQ==" if credentials else None
        assert set(map(asked, proxy.asked)) == {("CONNECT", f"{NAME}:6443", f"{NAME}:6443", basic)}
    assert not [request for request in server.asked if request.header("Proxy-Authorization")]


@pytest.mark.parametrize("program", BOTH)
def test_the_absolute_form(program: str, tmp_path: Path) -> None:
    with (
        ApiServer(Workload(deployment())) as server,
        ProxyServer(names={NAME: server.port}, credentials=("a", "b")) as proxy,
    ):
        result = status(program, tmp_path, proxy.address, url=f"http://{NAME}")
    assert (result.stdout, result.code) == ('deployment "web" successfully rolled out\n', 0)
    assert {(method, host, basic) for method, _, host, basic in map(asked, proxy.asked)} == {
        ("GET", NAME, "Basic YTpi")
    }
    paths = {request.target.partition("?")[0] for request in proxy.asked if "/deployments" in request.target}
    assert {path.removesuffix("/web") for path in paths} == {
        f"http://{NAME}/apis/apps/v1/namespaces/default/deployments"
    }


# What fails


FAILURES: list[tuple[str, str, dict[str, Any], str]] = [
    ("502", "http", {"answer": GONE}, UNABLE + "Bad Gateway"),
    ("502 over TLS", "https", {"answer": GONE}, UNABLE + "Bad Gateway"),
    ("redirect", "http", {"answer": b"HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n"}, UNABLE + "Found"),
    ("ssh", "http", {"answer": b"SSH-2.0-x\r\n"}, UNABLE + 'malformed HTTP response "SSH-2.0-x"'),
    (
        "ruleset",
        "socks5",
        {"answer": b"\5\2\0\1\0\0\0\0\0\0"},
        UNABLE + f"socks connect tcp PROXY->{NAME}:6443: unknown error connection not allowed by ruleset",
    ),
    ("cut", "socks5", {"answer": b"\5"}, UNABLE + f"socks connect tcp PROXY->{NAME}:6443: unexpected EOF"),
    (
        "no socks",
        "socks5",
        {"answer": b"HTTP/1.1 400 Bad"},
        UNABLE + f"socks connect tcp PROXY->{NAME}:6443: unexpected protocol version 72",
    ),
    (
        "refused behind it",
        "socks5",
        {"names": {NAME: 1}},
        f"The connection to the server {NAME}:6443 was refused - did you specify the right host or port?",
    ),
    ("nothing behind it", "http", {"names": {NAME: 1}}, UNABLE + "Bad Gateway"),
]


@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize(("kind", "options", "last"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES])
def test_the_last_line(program: str, kind: str, options: dict[str, Any], last: str, tmp_path: Path) -> None:
    with proxy_server(kind, **options) as proxy:
        result = status(program, tmp_path, proxy.address)
    assert (result.stdout, result.code) == ("", 1)
    assert result.last == last.replace("PROXY", f"127.0.0.1:{proxy.port}")


@pytest.mark.parametrize(
    ("answer", "last"),
    [
        # A tunnel to rawkube (RFC 9110), with somebody at its end who speaks no TLS.
        (b"202 Accepted", {KUBECTL: "Accepted", RAWKUBE: "http: server gave HTTP response to HTTPS client"}),
        (b"502 ", {KUBECTL: "", RAWKUBE: "HTTP status 502"}),
        (b"502", {KUBECTL: "unknown status code", RAWKUBE: "HTTP status 502"}),
    ],
    ids=["202", "no reason", "no reason and no space"],
)
@pytest.mark.parametrize("program", BOTH)
def test_answers_to_connect_that_mean_something_else(
    program: str, answer: bytes, last: dict[str, str], tmp_path: Path
) -> None:
    with proxy_server("http", answer=b"HTTP/1.1 " + answer + b"\r\n\r\n" + PLAIN) as proxy:
        result = status(program, tmp_path, proxy.address)
    assert (result.last, result.code) == (UNABLE + last[program], 1)


@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize(
    ("kind", "last"),
    [
        ("http", UNABLE + "Proxy Authentication Required"),
        (
            "socks5",
            UNABLE + f"socks connect tcp PROXY->{NAME}:6443: username/password authentication failed",
        ),
    ],
)
def test_a_wrong_password(program: str, kind: str, last: str, tmp_path: Path) -> None:
    with proxy_server(kind, credentials=("me", "right")) as proxy:
        result = status(program, tmp_path, proxy.address.replace("right", "s3cret"))
    assert (result.last, result.code) == (last.replace("PROXY", f"127.0.0.1:{proxy.port}"), 1)
    if program == RAWKUBE:
        assert "s3cret" not in result.stderr
        assert "it does not accept the user name and password in the proxy's URL" in result.stderr


@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize("kind", ["http", "socks5"])
def test_a_dead_proxy(program: str, kind: str, tmp_path: Path) -> None:
    with proxy_server(kind) as proxy:
        pass
    result = status(program, tmp_path, proxy.address)
    last = f"The connection to the server {NAME}:6443 was refused - did you specify the right host or port?"
    assert (result.last, result.code) == (last, 1)
    if program == RAWKUBE:
        assert f"is the proxy {kind}://127.0.0.1:{proxy.port} (set by " in result.stderr


@pytest.mark.parametrize("program", BOTH)
def test_a_proxy_that_is_not_trusted(program: str, tmp_path: Path) -> None:
    with ProxyServer("https", tls=Authority("other").server("127.0.0.1")) as proxy:
        result = status(program, tmp_path, proxy.address)
    last = UNABLE + "proxyconnect tcp: tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert (result.last, result.code) == (last, 1)


@pytest.mark.parametrize("program", BOTH)
def test_a_proxy_of_the_environment_and_the_systems_roots(program: str, tmp_path: Path) -> None:
    roots = tmp_path / "roots.pem"
    roots.write_bytes(CA.pem)
    with (
        ApiServer(Workload(deployment()), tls=CA.server(NAME)) as server,
        proxy_server("https", names={NAME: server.port}) as proxy,
    ):
        result = status(program, tmp_path, "", HTTPS_PROXY=proxy.address, SSL_CERT_FILE=str(roots))
    assert (result.stdout, result.code) == ('deployment "web" successfully rolled out\n', 0)
    assert proxy.tunnels


@pytest.mark.parametrize("program", BOTH)
def test_in_a_cgi_program(program: str, tmp_path: Path) -> None:
    with ProxyServer() as proxy:
        result = status(
            program, tmp_path, "", url=f"http://{NAME}", HTTP_PROXY=proxy.address, REQUEST_METHOD="GET", NO_PROXY=NAME
        )
    assert not proxy.asked
    said = "refusing to use HTTP_PROXY value in CGI environment; see golang.org/s/cgihttpproxy"
    assert (result.last, result.code) == ((UNABLE if program == KUBECTL else "error: ") + said, 1)


# Which proxy


DECISIONS: list[tuple[str, str]] = [
    (server, no_proxy)
    for server in ("https://a.b.example:6443", "https://B.example")
    for no_proxy in (
        "",
        "x.example",
        "b.example",
        " , b.example ,",
        "B.EXAMPLE",
        "example",
        "ample",
        ".b.example",
        "*.b.example",
        "*",
        "x,*",
        "b.example:6443",
        "b.example:443",
        ".b.example:6443",
        ":6443",
        "a.b.example.",
        "10.0.0.0/8",
        "b.example/8",
    )
] + [
    (server, no_proxy)
    for server in ("https://0.0.0.0:1",)
    for no_proxy in (
        "0.0.0.0",
        "0.0.0.0:1",
        "0.0.0.0:2",
        "0.0.0.0/8",
        "0.0.0.0/99",
        "1.0.0.0/8",
        "0",
        "[0.0.0.0]:1",
        "::ffff:0.0.0.0",
    )
]


def through_kubectl(home: Path, server: str, environ: dict[str, str]) -> None:
    home.mkdir(exist_ok=True)
    (home / "config").write_text(kubeconfig(server, user={"token": "t0k3n"}))
    run(kubectl_command(), "get", "--raw", "/x", "--request-timeout=5s", url=server, home=home, timeout=LONG, **environ)


def through_rawkube(server: str, environ: dict[str, str]) -> None:
    overrides = Overrides(server=server, token="t0k3n", request_timeout=5.0)
    with contextlib.suppress(RawkubeError), rawkube.connect(overrides=overrides, environ=environ) as client:
        client.send("GET", "/x").close()


@pytest.mark.kubectl
@pytest.mark.parametrize(("server", "no_proxy"), DECISIONS)
def test_the_decision(server: str, no_proxy: str, tmp_path: Path) -> None:
    seen = []
    with ProxyServer(answer=GONE) as proxy:
        environ = {"HTTPS_PROXY": f"127.0.0.1:{proxy.port}", "NO_PROXY": no_proxy}
        through_kubectl(tmp_path, server, environ)
        seen.append({asked(request)[:2] for request in proxy.asked})
        proxy.asked.clear()
        through_rawkube(server, {"HOME": str(tmp_path), **environ})
        seen.append({asked(request)[:2] for request in proxy.asked})
    assert seen[0] == seen[1]


@pytest.mark.kubectl
@pytest.mark.parametrize(
    "names",
    [
        {"HTTPS_PROXY": "URL", "https_proxy": "http://127.0.0.1:1"},
        {"https_proxy": "URL"},
        {"HTTP_PROXY": "URL"},
        {"ALL_PROXY": "URL", "all_proxy": "URL"},
        {"HTTPS_PROXY": "URL", "NO_PROXY": "x", "no_proxy": "b.example"},
        {"HTTPS_PROXY": "URL", "no_proxy": "b.example"},
        {"HTTPS_PROXY": "URL", "REQUEST_METHOD": "GET"},
    ],
)
def test_the_variables(names: dict[str, str], tmp_path: Path) -> None:
    seen = []
    with ProxyServer(answer=GONE) as proxy:
        environ = {name: value.replace("URL", proxy.address) for name, value in names.items()}
        through_kubectl(tmp_path, "https://b.example", environ)
        seen.append(bool(proxy.asked))
        proxy.asked.clear()
        through_rawkube("https://b.example", {"HOME": str(tmp_path), **environ})
        seen.append(bool(proxy.asked))
    assert seen[0] == seen[1]
