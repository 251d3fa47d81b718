"""A marker planted in every kind of credential is in nothing that rawkube says: no output, error, note or repr."""

from __future__ import annotations

import base64
import io
import json
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.api.client import ApiClient
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.errors import RawkubeError
from rawkube.kubeconfig import access_from
from rawkube.kubeconfig.access import Overrides
from rawkube.wire.tap import Event, Tap
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import Authority

MARK = "Mark3rInEveryCredential"
AUTHORITY = Authority()
PAIR = AUTHORITY.issue("client")


def forms() -> list[str]:
    """The marker as it stands, percent-encoded, and in base64 at each of the three places of a group."""
    found = [MARK, MARK.replace("3", "%33")]
    for shift in range(3):
        text = base64.b64encode(b"x" * shift + MARK.encode()).decode()
        found.append(text[4 if shift else 0 : -4])  # what the neighbours have no part in
    return found


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def jwt(exp: int) -> str:
    return f"e30.{b64(json.dumps({'exp': exp}).encode()).rstrip('=')}.{MARK}"


class World(NamedTuple):
    """Servers on loopback: the API's (401 to all), an issuer that repeats what it was sent, and a folder."""

    api: str
    issuer: str
    folder: Path


def refuse(peer: Peer) -> None:
    while True:
        peer.read_request()
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401}
        peer.reply(json.dumps({**status, "message": "Unauthorized"}), status="401 Unauthorized")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "token").write_text(f"{MARK}\n")
    (folder / "bad-token").write_text(f"{MARK}\n{MARK}")
    (folder / "key.pem").write_bytes(f"{MARK}\n".encode() + PAIR.key)
    (folder / "key-no-pem").write_text(MARK)
    (folder / "cert.pem").write_bytes(PAIR.cert)
    plugin = folder / "plugin"
    version = "client.authentication.k8s.io/v1"
    output = json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": {"token": MARK}})
    plugin.write_text(f"#!/bin/sh\nprintf '%s\\n' '{output}'\n[ \"$*\" != fail ]\n")
    plugin.chmod(0o700)

    def issuer_script(peer: Peer) -> None:
        while True:
            request = peer.read_request()
            if request.method == "GET":
                peer.reply(json.dumps({"token_endpoint": f"{issuer.url}/token"}))
            else:
                said = json.dumps({"error": request.body.decode(), "error_description": MARK})
                peer.reply(said, status="400 Bad Request")

    api = ScriptedServer(refuse, tls=AUTHORITY.server("127.0.0.1"))
    issuer = ScriptedServer(issuer_script)
    with api, issuer:
        yield World(api.url, issuer.url, folder)


Fields = dict[str, Any]


class Plant(NamedTuple):
    """What is planted: fields of the user and of the cluster, flags, variables."""

    id: str
    user: Callable[[World], Fields] = lambda world: {}
    cluster: Callable[[World], Fields] = lambda world: {}
    flags: Sequence[str] = ()
    environ: Sequence[tuple[str, str]] = ()


def plugin(world: World, *args: str, **env: str) -> Fields:
    variables = [{"name": name, "value": value} for name, value in env.items()]
    version = "client.authentication.k8s.io/v1"
    command = str(world.folder / "plugin")
    plug = {"apiVersion": version, "command": command, "args": list(args), "env": variables, "interactiveMode": "Never"}
    return {"exec": plug}


def oidc(world: World, **config: str) -> Fields:
    named = {key.replace("_", "-"): value for key, value in config.items()}
    return {"auth-provider": {"name": "oidc", "config": {"idp-issuer-url": world.issuer, "client-id": "c", **named}}}


KEY = f"{MARK}\n".encode() + PAIR.key
PLANTS = [
    Plant("token", lambda w: {"token": MARK}),
    Plant("token with a line end", lambda w: {"token": f"{MARK}\nX: y"}),
    Plant("token that is a JWT", lambda w: {"token": jwt(5)}),
    Plant("token by flag", flags=[f"--token={MARK}"]),
    Plant("token file", lambda w: {"tokenFile": str(w.folder / "token")}),
    Plant("token file with a line end", lambda w: {"tokenFile": str(w.folder / "bad-token")}),
    Plant("password", lambda w: {"username": "me", "password": MARK}),
    Plant("password without a name", lambda w: {"password": MARK}),
    Plant("password by flag", flags=["--username=me", f"--password={MARK}"]),
    Plant("password and token", lambda w: {"username": "me", "password": MARK, "token": MARK}),
    Plant("key data", lambda w: {"client-certificate-data": b64(PAIR.cert), "client-key-data": b64(KEY)}),
    Plant(
        "key data that is no key",
        lambda w: {"client-certificate-data": b64(PAIR.cert), "client-key-data": b64(MARK.encode())},
    ),
    Plant("key data that is no base64", lambda w: {"client-certificate-data": "QQ==", "client-key-data": f"<{MARK}>"}),
    Plant("key file", lambda w: {"client-certificate": f"{w.folder}/cert.pem", "client-key": f"{w.folder}/key.pem"}),
    Plant(
        "key file, no key",
        lambda w: {"client-certificate": f"{w.folder}/cert.pem", "client-key": f"{w.folder}/key-no-pem"},
    ),
    Plant("plugin's environment", lambda w: plugin(w, SECRET=MARK)),
    Plant("plugin that fails", lambda w: plugin(w, "fail", SECRET=MARK)),
    Plant("plugin's argument", lambda w: plugin(w, "--client-secret", MARK, f"--token={MARK}")),
    Plant("id-token", lambda w: oidc(w, id_token=jwt(2**40))),
    Plant("id-token of the past", lambda w: oidc(w, id_token=jwt(5))),
    Plant("id-token that is none", lambda w: oidc(w, id_token=MARK)),
    Plant("refresh-token", lambda w: oidc(w, refresh_token=MARK)),
    Plant("client-secret", lambda w: oidc(w, refresh_token=f"r{MARK}", client_secret=MARK)),
    Plant("provider that is gone", lambda w: {"auth-provider": {"name": "gcp", "config": {"access-token": MARK}}}),
    Plant("proxy", cluster=lambda w: {"proxy-url": f"http://me:{MARK}@127.0.0.1:1"}),
    Plant("proxy of another scheme", cluster=lambda w: {"proxy-url": f"ftp://me:{MARK}@127.0.0.1:1"}),
    Plant("proxy by flag", flags=[f"--proxy-url=socks5://me:{MARK}@127.0.0.1:1"]),
    Plant(
        "proxy by variable",
        cluster=lambda w: {"server": "https://h.invalid"},
        environ=[("HTTPS_PROXY", f"http://me:{MARK}@127.0.0.1:1")],
    ),
    Plant("server", cluster=lambda w: {"server": f"https://me:{MARK}@127.0.0.1:1"}),
    Plant("over plain http", lambda w: {"token": MARK}, lambda w: {"server": "http://127.0.0.1:1"}),
    Plant("with the key of another", lambda w: {"token": MARK, "client-certificate-data": b64(PAIR.cert)}),
]
COMMANDS = [
    ["config", "view"],
    ["config", "view", "-o", "json", "--minify"],
    ["config", "explain"],
    ["config", "explain", "-o", "json"],
    ["config", "get-contexts"],
    ["auth", "whoami"],
    ["auth", "can-i", "get", "pods"],
    ["rollout", "status", "deployment/web", "--timeout=1s"],
    ["exec", "web", "--", "true"],
]


@pytest.fixture(params=PLANTS, ids=[plant.id for plant in PLANTS])
def planted(request: pytest.FixtureRequest, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A kubeconfig with the marker; the flags that go with it."""
    plant: Plant = request.param
    for name in list(os.environ):
        if name.upper().endswith("_PROXY") or name.startswith("KUBE"):
            monkeypatch.delenv(name)
    for name, value in plant.environ:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    cluster = {"server": world.api, "certificate-authority-data": b64(AUTHORITY.pem), **plant.cluster(world)}
    config = {
        "current-context": "t",
        "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t"}}],
        "clusters": [{"name": "t", "cluster": cluster}],
        "users": [{"name": "t", "user": plant.user(world)}],
    }
    (tmp_path / "config").write_text(json.dumps(config, indent=1))
    return ["--kubeconfig", str(tmp_path / "config"), *plant.flags]


def check(text: str) -> None:
    for form in forms():
        assert form not in text


def test_the_marker_would_be_found() -> None:
    for shift in range(6):
        wrapped = b64(b"x" * shift + MARK.encode() + b"yz")
        assert any(form in wrapped for form in forms())


@pytest.mark.parametrize("level", ["0", "10"])
def test_no_command_says_it(planted: list[str], level: str, capfd: pytest.CaptureFixture[str]) -> None:
    for words in COMMANDS if level == "0" else COMMANDS[3:7]:
        out, err = io.BytesIO(), io.BytesIO()
        main([*words[:2], f"-v={level}", *planted, *words[2:]], out=Output(out, err))
        check(out.getvalue().decode() + err.getvalue().decode())
        check("".join(capfd.readouterr()))


def test_no_repr_no_error_and_no_event_holds_it(planted: list[str]) -> None:
    names = {"token": "token", "username": "username", "password": "password", "proxy-url": "proxy_url"}
    flags = dict(flag[2:].split("=", 1) for flag in planted[2:])
    overrides = Overrides(**{names[name]: value for name, value in flags.items()})  # type: ignore[arg-type]
    events: list[Event] = []
    texts = [repr(overrides)]
    try:
        access = access_from(planted[1], overrides, environ=os.environ).access
        texts += [repr(access), repr(access.exec), repr(access.auth_provider), *access.notes]
        with ApiClient(access, tap=Tap(events.append)) as client:
            texts += [repr(client.credentials), repr(client.pool.endpoint)]
            with client.send("GET", "/api") as response:
                texts.append(repr(response.headers))
    except RawkubeError as error:
        texts += [repr(error), str(error), *error.detail, "".join(traceback.format_exception_only(error))]
    check("\n".join([*texts, *map(str, events)]))
