"""The auth provider `oidc`: one issuer, one API server, two programs; what each sends, and how it ends."""

from __future__ import annotations

import base64
import functools
import io
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.discovery import recorded
from tests.support.run import Result, kubeconfig, kubectl_command, run
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.tls import Authority
from tests.support.warm import warm

Reply = tuple[str, object]
JSON = "application/json"
REVIEW = {
    "kind": "SelfSubjectReview",
    "apiVersion": "authentication.k8s.io/v1",
    "metadata": {},
    "status": {"userInfo": {"username": "jane"}},
}


def jwt(seconds: float) -> str:
    """A token that expires in so many seconds."""
    payload = base64.urlsafe_b64encode(json.dumps({"exp": int(time.time() + seconds)}).encode()).rstrip(b"=").decode()
    return f"e30.{payload}.c2ln"


AUTHORITY = Authority()
TLS = AUTHORITY.server("127.0.0.1")
FRESH = jwt(7200)
GOOD: Reply = ("200 OK", {"id_token": FRESH, "access_token": "a"})


class World:
    """`tokens`: what the token endpoint answers, the last one for ever. `asked`: of the issuer; `sent`: to the API."""

    def __init__(self, *tokens: Reply, discovery: Reply | None = None) -> None:
        self.tokens = list(tokens)
        self.discovery = discovery
        self.asked: list[SeenRequest] = []
        self.sent: list[str | None] = []
        self.api = ScriptedServer(self._api, tls=TLS)
        self.issuer = ScriptedServer(self._issuer)

    def _api(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            if request.path in ("/api", "/apis"):
                body, media = recorded(request.path)
                peer.reply(body, content_type=media)
                continue
            self.sent.append(request.header("authorization"))
            peer.reply(json.dumps(REVIEW), status="201 Created")

    def _issuer(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            self.asked.append(request)
            if request.method == "GET":
                status, value = self.discovery or ("200 OK", {"token_endpoint": f"{self.issuer.url}/token?p=1"})
            else:
                status, value = self.tokens.pop(0) if len(self.tokens) > 1 else self.tokens[0]
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            peer.reply(body, status=status, content_type="text/html" if body.startswith(b"<") else JSON)

    def seen(self) -> list[tuple[str, str, str | None, bytes]]:
        return [(each.method, each.target, each.header("authorization"), each.body) for each in self.asked]


class Case(NamedTuple):
    """`last`: the last line of stderr (where rawkube's is `ours`, that one)."""

    id: str
    world: Callable[[], World]
    config: dict[str, Any]
    last: str = ""
    ours: str | None = None


UNABLE = "Unable to connect to the server: "
NOT_FOUND: Reply = ("404 Not Found", b"<h1>no</h1>")
CASES = [
    Case("valid", lambda: World(GOOD), {"id-token": jwt(7200)}),
    Case("ends within ten seconds", lambda: World(GOOD), {"id-token": jwt(8), "refresh-token": "r 1"}),
    Case("no id-token", lambda: World(GOOD), {"refresh-token": "r+1", "client-secret": "s/e"}),
    Case(
        "no header taken",
        lambda: World(("401 Unauthorized", {}), GOOD),
        {"refresh-token": "r", "client-secret": "s e"},
    ),
    Case("no secret", lambda: World(("401 Unauthorized", {}), GOOD), {"refresh-token": "r"}),
    Case(
        "expired",
        lambda: World(GOOD),
        {"id-token": jwt(-5)},
        f"{UNABLE}No valid id-token, and cannot refresh without refresh-token",
    ),
    Case("no token", lambda: World(GOOD), {"id-token": "abc"}, f"{UNABLE}ID Token is not a valid JWT"),
    Case(
        "no discovery",
        lambda: World(GOOD, discovery=NOT_FOUND),
        {"refresh-token": "r"},
        f'{UNABLE}oidc: failed to query metadata endpoint 404 Not Found: "<h1>no</h1>"',
    ),
    Case(
        "discovery is no JSON",
        lambda: World(GOOD, discovery=("200 OK", b"<h1>")),
        {"refresh-token": "r"},
        f"{UNABLE}oidc: failed to decode provider discovery object: invalid character '<' looking for beginning of value",
    ),
    Case(
        "no endpoint",
        lambda: World(GOOD, discovery=("200 OK", {})),
        {"refresh-token": "r"},
        f"{UNABLE}oidc: discovery object doesn't contain a token_endpoint",
    ),
    Case(
        "revoked",
        lambda: World(("400 Bad Request", {"error": "invalid_grant", "error_description": "revoked"})),
        {"refresh-token": "r"},
        f'{UNABLE}failed to refresh token: oauth2: "invalid_grant" "revoked"',
    ),
    Case(
        "broken",
        lambda: World(("500 Internal Server Error", b"<b>")),
        {"refresh-token": "r"},
        "Response: <b>",
        f"{UNABLE}failed to refresh token: oauth2: cannot fetch token: 500 Internal Server Error: Response: <b>",
    ),
    Case(
        "nothing",
        lambda: World(("200 OK", {})),
        {"refresh-token": "r"},
        f"{UNABLE}failed to refresh token: oauth2: server response missing access_token",
    ),
    Case(
        "no id_token",
        lambda: World(("200 OK", {"access_token": "a"})),
        {"refresh-token": "r"},
        f'{UNABLE}token response did not contain an id_token, either the scope "openid" wasn\'t requested upon login, '
        "or the provider doesn't support id_tokens as part of the refresh response",
    ),
    Case("no client", lambda: World(GOOD), {"client-id": ""}, "error: Must provide client-id"),
    Case(
        "authority",
        lambda: World(GOOD),
        {"refresh-token": "r", "idp-certificate-authority": "/none"},
        "error: open /none: no such file or directory",
    ),
]


@functools.cache
def ours(case_id: str) -> tuple[Result, World]:
    with tempfile.TemporaryDirectory() as home:
        return ask("rawkube", next(case for case in CASES if case.id == case_id), Path(home))


def ask(program: str, case: Case, home: Path) -> tuple[Result, World]:
    world = case.world()
    with world.api, world.issuer:
        config = {"idp-issuer-url": f"{world.issuer.url}/", "client-id": "kube login", **case.config}
        user = {"auth-provider": {"name": "oidc", "config": config}}
        cluster = {"certificate-authority-data": base64.b64encode(AUTHORITY.pem).decode()}
        file = home / "config"
        file.write_text(kubeconfig(world.api.url, cluster=cluster, user=user))
        if program == "kubectl":
            warm(home, world.api.url)
            result = run(kubectl_command(), "auth", "whoami", url=world.api.url, home=home)
        else:
            out, err = io.BytesIO(), io.BytesIO()
            code = main(["--kubeconfig", str(file), "auth", "whoami"], out=Output(out, err))
            result = Result(out.getvalue().decode(), err.getvalue().decode(), code)
    return result, world


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rawkube(case: Case) -> None:
    result, world = ours(case.id)
    assert result.last == (case.last if case.ours is None else case.ours)
    assert result.code == (1 if case.last else 0), result
    token = case.config.get("id-token") if not world.asked else FRESH
    assert world.sent == ([] if case.last else [f"Bearer {token}"])


@pytest.mark.kubectl
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_kubectl_does_the_same(case: Case, tmp_path: Path) -> None:
    result, world = ours(case.id)
    theirs, their_world = ask("kubectl", case, tmp_path)
    assert theirs.last == case.last
    assert (result.stdout, result.code) == (theirs.stdout, theirs.code)
    assert world.seen() == their_world.seen()
    assert world.sent == their_world.sent
