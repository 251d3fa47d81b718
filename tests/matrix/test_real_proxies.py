"""Proxies that others wrote: squid, microsocks, haproxy in front of squid; each with a GET, a watch and an exec."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rawkube.api.client import ApiClient
from rawkube.errors import ProxyError, TransportError
from rawkube.kubeconfig.access import Access
from rawkube.remotecommand.call import exec as run_command
from tests.matrix.rig import NAME, Server
from tests.support.client import PODS
from tests.support.daemons import PASSWORD, USER, free_port, haproxy, microsocks, squid
from tests.support.run import kubeconfig, rawkube_command, start
from tests.support.tls import Authority
from tests.support.websocket import Far

CA = Authority()
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}@"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(CA.server(NAME)) as running:
        yield running


@pytest.fixture(scope="module")
def proxies() -> Iterator[dict[str, str]]:
    """Name → address of each that is installed."""
    folder = Path(tempfile.mkdtemp())  # not tmp_path: squid drops its rights, and must read its files still
    folder.chmod(0o755)
    found: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        for password in (False, True):
            login = LOGIN if password else ""
            suffix = " with a password" if password else ""
            if (daemon := squid(folder, password=password)) is not None:
                port = stack.enter_context(daemon)
                found[f"squid{suffix}"] = f"http://{login}127.0.0.1:{port}"
                if (front := haproxy(folder, CA.issue("127.0.0.1"), port)) is not None:
                    found[f"haproxy{suffix}"] = f"https://{login}127.0.0.1:{stack.enter_context(front)}"
            if (daemon := microsocks(password=password)) is not None:
                found[f"microsocks{suffix}"] = f"socks5://{login}127.0.0.1:{stack.enter_context(daemon)}"
        yield found


NAMES = [f"{name}{suffix}" for name in ("squid", "haproxy", "microsocks") for suffix in ("", " with a password")]


def address(proxies: dict[str, str], name: str) -> str:
    if name not in proxies:
        pytest.skip(f"no {name.partition(' ')[0]} here (apt-get install squid microsocks haproxy)")
    return proxies[name]


def connected(server: Server, proxy: str, **more: Any) -> ApiClient:
    access = Access(
        f"https://localhost:{server.port}", ca_data=CA.pem, tls_server_name=NAME, token="t0k3n", proxy_url=proxy, **more
    )
    return ApiClient(access, sleep=lambda _: None)


@pytest.mark.parametrize("name", NAMES)
def test_get_watch_exec(name: str, proxies: dict[str, str], server: Server) -> None:
    server.seen.clear()
    with connected(server, address(proxies, name)) as client:
        assert client.get(PODS, "default", "p")["metadata"]["name"] == "p"
        with client.watch(PODS, "default", silence=10) as watch:
            assert [event.type for event in watch] == ["ADDED"]
        assert run_command(client, "p", ["true"], container="main").exit_code == 0
    assert {seen.what for seen in server.seen} == {"get", "watch", "exec"}
    assert {seen.authorization for seen in server.seen} == {"Bearer t0k3n"}


@pytest.mark.parametrize("name", NAMES)
def test_much_input_and_output(name: str, proxies: dict[str, str], server: Server, tmp_path: Path) -> None:
    """The command line's own loop, which waits for the connection, the terminal and signals at once."""
    proxy = address(proxies, name)
    size = 2_000_000

    def script(far: Far) -> None:
        data = far.stdin()
        assert len(data) == size
        for at in range(0, size, 30_000):
            far.out(data[at : at + 30_000])
        far.end()

    before, server.script = server.script, script
    try:
        (tmp_path / "ca.pem").write_bytes(CA.pem)
        cluster = {"certificate-authority": "ca.pem", "tls-server-name": NAME, "proxy-url": proxy}
        url = f"https://localhost:{server.port}"
        (tmp_path / "config").write_text(kubeconfig(url, cluster=cluster, user={"token": "t0k3n"}))
        (tmp_path / "input").write_bytes(bytes(range(250)) * (size // 250))
        words = ["sh", "-c", 'exec "$@" < input', "sh", *rawkube_command()]
        with start(words, "exec", "-i", "p", "--", "cat", url=url, home=tmp_path) as running:
            out, err = running.process.communicate(timeout=60)
    finally:
        server.script = before
    assert (running.process.returncode, err.decode()) == (0, "")
    assert out == bytes(range(250)) * (size // 250)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("password")])
def test_a_wrong_password(name: str, proxies: dict[str, str], server: Server) -> None:
    proxy = address(proxies, name).replace(LOGIN, "me:wr0ng@")
    with connected(server, proxy) as client, pytest.raises(TransportError) as caught:
        client.get(PODS, "default", "p")
    said = [str(caught.value), *caught.value.detail]
    assert isinstance(caught.value, ProxyError)
    if "microsocks" in name:
        assert said[0].endswith("username/password authentication failed")
    else:
        assert said[0] == "Proxy Authentication Required"
        assert any("Cache Access Denied" in line for line in said)
    assert "it does not accept the user name and password in the proxy's URL" in said
    assert "wr0ng" not in "".join(said)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_is_not_there(name: str, proxies: dict[str, str]) -> None:
    proxy = address(proxies, name)
    access = Access(f"https://127.0.0.1:{free_port()}", ca_data=CA.pem, token="t0k3n", proxy_url=proxy)
    with ApiClient(access) as client, pytest.raises(TransportError) as caught:
        client.get(PODS, "default", "p")
    if "microsocks" in name:
        assert str(caught.value).endswith("unknown error connection refused")
    else:
        assert (str(caught.value), getattr(caught.value, "status", 0)) == ("Service Unavailable", 503)
        assert any("could not be retrieved" in line for line in caught.value.detail)
