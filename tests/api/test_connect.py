"""`connect()`: from kubeconfig, overrides and environment to requests."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rawkube.api.client import ApiClient
from rawkube.api.connect import connect
from rawkube.errors import ConfigError
from rawkube.kubeconfig.access import Overrides
from rawkube.wire.dial import Timeouts
from rawkube.wire.tap import Event, Tap
from tests.support.answers import OBJECT, AnsweringServer
from tests.support.run import kubeconfig
from tests.support.script import Answer
from tests.support.tls import Authority

CONTEXTS = ["dev", "prod"]


def ask(client: ApiClient) -> None:
    client.send("GET", "/x").read()


def two_contexts(url: str) -> str:
    """Each context has a cluster with a prefix of its name, and a namespace of it."""
    return json.dumps(
        {
            "current-context": "dev",
            "contexts": [
                {"name": name, "context": {"cluster": name, "user": "", "namespace": f"of-{name}"}} for name in CONTEXTS
            ],
            "clusters": [{"name": name, "cluster": {"server": f"{url}/{name}"}} for name in CONTEXTS],
        }
    )


@pytest.mark.parametrize("how", ["file", "variable", "process"])
def test_where_the_kubeconfig_is(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(file) if how == "process" else str(tmp_path / "none"))
    with AnsweringServer() as server:
        file.write_text(two_contexts(server.url))
        if how == "file":
            client = connect(kubeconfig=str(file))
        else:
            client = connect(environ={"KUBECONFIG": str(file)} if how == "variable" else None)
        with client:
            ask(client)
    assert server.asked[0].target == "/dev/x"


@pytest.mark.parametrize(
    ("arguments", "prefix", "namespace"),
    [
        ({}, "dev", "of-dev"),
        ({"context": "prod"}, "prod", "of-prod"),
        ({"namespace": "mine"}, "dev", "mine"),
        ({"overrides": Overrides(context="prod", namespace="mine")}, "prod", "mine"),
        ({"overrides": Overrides(cluster="prod")}, "prod", "of-dev"),
        ({"context": "prod", "overrides": Overrides(context="dev", namespace="mine")}, "prod", "mine"),
        ({"namespace": "this", "overrides": Overrides(namespace="that")}, "dev", "this"),
    ],
    ids=str,
)
def test_arguments_and_overrides(arguments: dict[str, Any], prefix: str, namespace: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(two_contexts("http://127.0.0.1:1"))
    with connect(kubeconfig=str(file), environ={}, **arguments) as client:
        assert client.access.server == f"http://127.0.0.1:1/{prefix}"
        assert client.access.namespace == namespace


def test_nothing_is_opened_before_the_first_request(tmp_path: Path) -> None:
    file = tmp_path / "config"
    with AnsweringServer() as server:
        file.write_text(kubeconfig(server.url))
        with connect(kubeconfig=str(file), environ={}):
            pass
    assert server.connections == 0


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "no such file or directory"),
        ("current-context: none", "context was not found for specified context: none"),
        (two_contexts("ftp://h"), 'unsupported protocol scheme "ftp"'),
    ],
    ids=["missing", "context", "scheme"],
)
def test_what_cannot_be_connected_to(content: str | None, text: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError) as raised:
        connect(kubeconfig=str(file), environ={})
    assert text in str(raised.value)


def test_all_of_it_over_tls(tmp_path: Path) -> None:
    authority, clients = Authority("servers"), Authority("clients")
    mine = clients.issue("client.example", common_name="jane")
    cluster = {"certificate-authority-data": base64.b64encode(authority.pem).decode(), "tls-server-name": "api.example"}
    user = {
        "token": "t0k3n",
        "client-certificate-data": base64.b64encode(mine.cert).decode(),
        "client-key-data": base64.b64encode(mine.key).decode(),
        "as": "joe",
    }
    warned: list[str] = []
    events: list[Event] = []
    answer = Answer(body=OBJECT.body, headers=(("Warning", '299 - "soon gone"'),))
    file = tmp_path / "config"
    with AnsweringServer(answer, tls=authority.server("api.example", clients=clients)) as server:
        file.write_text(kubeconfig(server.url + "/k8s", cluster=cluster, user=user))
        client = connect(
            kubeconfig=str(file),
            environ={},
            on_warning=warned.append,
            tap=Tap(events.append),
            timeouts=Timeouts(connect=7.0),
        )
        with client:
            ask(client)
            assert client.timeouts.connect == 7.0
    (request,) = server.asked
    assert request.target == "/k8s/x"
    assert request.header("host") == f"127.0.0.1:{server.port}"
    assert request.header("authorization") == "Bearer t0k3n"
    assert request.header("impersonate-user") == "joe"
    assert warned == ["soon gone"]
    assert [event.data["server_name"] for event in events if event.kind == "tls"] == ["api.example"]
