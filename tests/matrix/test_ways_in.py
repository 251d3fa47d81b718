"""Every trust × every identity × every way, each with a GET, a watch and an exec: the server saw what was configured.

A test is one connection's configuration, in a kubeconfig file; the three requests go over it one after another. By
default every two of trust, identity and way meet; with RAWKUBE_TEST_EVERY_WAY=1 all three do.
"""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rawkube
from rawkube.remotecommand.call import exec as run_command
from tests.matrix.rig import NAME, Seen, Server
from tests.support.client import PODS
from tests.support.examples import EVERY_WAY
from tests.support.proxy import ProxyServer, Tunnel
from tests.support.run import kubeconfig
from tests.support.tls import Authority, Pair

PASSWORD = ("us er", "p@ss:/")
TRUSTS = ["ca-file", "ca-data", "system", "skip"]
IDENTITIES = ["token", "token-file", "cert-file", "cert-data", "plugin-token", "plugin-cert", "none"]
WAYS = ["direct", "http", "https", "socks5"]


class Lab:
    """The server, the proxies, and the files of everyone who is to be trusted."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self.cluster, self.clients, self.proxies = Authority("cluster"), Authority("clients"), Authority("proxies")
        self.me: Pair = self.clients.issue("me.test", common_name="me")
        tls = self.cluster.server(NAME)
        tls.verify_mode = ssl.CERT_OPTIONAL
        tls.load_verify_locations(cadata=self.clients.pem.decode())
        self.server = stack.enter_context(Server(tls))
        self.ways = {
            kind: stack.enter_context(
                ProxyServer(
                    kind,
                    credentials=PASSWORD,
                    tls=self.proxies.server("127.0.0.1") if kind == "https" else None,
                )
            )
            for kind in WAYS[1:]
        }
        for name, data in {
            "ca.pem": self.cluster.pem,
            "proxies.pem": self.proxies.pem,
            "all.pem": self.proxies.pem + self.cluster.pem,
            "cert.pem": self.me.cert,
            "key.pem": self.me.key,
            "token": b"t0k3n-of-a-file\n",
        }.items():
            (folder / name).write_bytes(data)

    def trust(self, how: str) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {
            "ca-file": {"certificate-authority": "ca.pem"},
            "ca-data": {"certificate-authority-data": base64.b64encode(self.cluster.pem).decode()},
            "system": {},
            "skip": {"insecure-skip-tls-verify": True},
        }
        return found[how]

    def identity(self, how: str) -> dict[str, Any]:
        cert, key = (base64.b64encode(pem).decode() for pem in self.me)
        found: dict[str, dict[str, Any]] = {
            "token": {"token": "t0k3n"},
            "token-file": {"tokenFile": "token"},
            "cert-file": {"client-certificate": "cert.pem", "client-key": "key.pem"},
            "cert-data": {"client-certificate-data": cert, "client-key-data": key},
            "plugin-token": self.plugin({"token": "t0k3n-of-a-plugin"}),
            "plugin-cert": self.plugin(
                {"clientCertificateData": self.me.cert.decode(), "clientKeyData": self.me.key.decode()}
            ),
            "none": {},
        }
        return found[how]

    def plugin(self, status: dict[str, str]) -> dict[str, Any]:
        api = "client.authentication.k8s.io/v1"
        answer = self.folder / f"{next(iter(status))}.json"
        answer.write_text(json.dumps({"apiVersion": api, "kind": "ExecCredential", "status": status}))
        return {
            "exec": {
                "apiVersion": api,
                "command": "cat",
                "args": [str(answer)],
                "interactiveMode": "Never",
            }
        }

    def way(self, how: str) -> dict[str, Any]:
        return {} if how == "direct" else {"proxy-url": self.ways[how].address}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with contextlib.ExitStack() as stack:
        yield Lab(tmp_path_factory.mktemp("lab"), stack)


AUTHORIZATION = {
    "token": "Bearer t0k3n",
    "token-file": "Bearer t0k3n-of-a-file",
    "plugin-token": "Bearer t0k3n-of-a-plugin",
}


def together() -> Iterator[tuple[str, str, str]]:
    """A Latin square: for each two, one of the third."""
    for i, trust in enumerate(TRUSTS):
        for j, identity in enumerate(IDENTITIES):
            for k, way in enumerate(WAYS):
                if EVERY_WAY or (i + j + k) % len(WAYS) == 0:
                    yield trust, identity, way


@pytest.mark.parametrize(("trust", "identity", "way"), list(together()))
def test_what_the_server_saw(trust: str, identity: str, way: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(lab.folder / ("all.pem" if trust == "system" else "proxies.pem")))
    cluster = {"tls-server-name": NAME, **lab.trust(trust), **lab.way(way)}
    config = lab.folder / "config"
    config.write_text(kubeconfig(f"https://localhost:{lab.server.port}", cluster=cluster, user=lab.identity(identity)))
    lab.server.seen.clear()
    for proxy in lab.ways.values():
        proxy.tunnels.clear()

    with rawkube.connect(kubeconfig=str(config), environ={"PATH": "/usr/bin:/bin"}) as client:
        assert client.get(PODS, "default", "p")["metadata"]["name"] == "p"
        with client.watch(PODS, "default", silence=10) as watch:
            assert [event.type for event in watch] == ["ADDED"]
        assert run_command(client, "p", ["true"], container="main").exit_code == 0

    authorization = AUTHORIZATION.get(identity)
    certificate = "me" if "cert" in identity else ""
    assert {each.what for each in lab.server.seen} == {"get", "watch", "exec"}
    wanted = Seen("", authorization, certificate, NAME, f"localhost:{lab.server.port}")
    assert {each._replace(what="") for each in lab.server.seen} == {wanted}
    how = "name" if way == "socks5" else "connect"
    for kind, proxy in lab.ways.items():
        assert set(proxy.tunnels) == ({Tunnel(how, "localhost", lab.server.port)} if kind == way else set())
    assert not [name for name, _ in lab.server.headers if name.lower().startswith("proxy")]
