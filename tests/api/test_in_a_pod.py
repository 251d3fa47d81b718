"""A pod's own account against a server: the files of a projected volume, tokens that rotate, and the rights of the
README's manifest.
"""

from __future__ import annotations

import io
import json
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

import rawkube
from rawkube.api.client import ApiClient
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.errors import ConfigError, StatusError
from rawkube.kubeconfig import access_from, in_cluster
from rawkube.kubeconfig.access import Overrides
from rawkube.kubeconfig.credentials import TOKEN_FILE_SECONDS
from tests.support.api_server import ApiServer
from tests.support.pods_server import PodsServer, a_pod
from tests.support.rows import looped
from tests.support.script import Answer, Workload, failure
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.tls import Authority
from tests.support.websocket import ERROR, STDOUT, SUCCESS, close_frame, message, says
from tests.support.workloads import deployment

README = (Path(__file__).parents[2] / "README.md").read_text()
AUTHORITY = Authority()
TLS = AUTHORITY.server("127.0.0.1", "::1")
UNAUTHORIZED = failure(401, "Unauthorized")
PODS = rawkube.lookup("pods")
HELLO = says(message(STDOUT, b"hello"), message(ERROR, SUCCESS), close_frame())


class Volume:
    """A projected volume as the kubelet writes it: `token` → `..data/token`, `..data` → the newest folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.rotate("first")
        for name in ("token", "ca.crt", "namespace"):
            (folder / name).symlink_to(f"..data/{name}")

    def rotate(self, token: str) -> None:
        """Another folder, and `..data` is renamed onto the link to the one before."""
        self.count += 1
        data = self.folder / f"..2026_{self.count}"
        data.mkdir()
        for name, content in (("token", token), ("ca.crt", AUTHORITY.pem.decode()), ("namespace", "team")):
            (data / name).write_text(content)
        (self.folder / "..data_tmp").symlink_to(data.name)
        (self.folder / "..data_tmp").rename(self.folder / "..data")


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Volume:
    """A pod: its volume, and nothing else that could lead anywhere."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    monkeypatch.setattr(in_cluster, "SERVICE_ACCOUNT", str(folder))
    for name in ("KUBECONFIG", "KUBERNETES_MASTER", "POD_NAMESPACE", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Volume(folder)


def variables(server: ScriptedServer) -> dict[str, str]:
    host = "::1" if server.listener.family == socket.AF_INET6 else "127.0.0.1"
    return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(server.port)}


class Gate(ScriptedServer):
    """Serves who has the token `good`, everybody else a 401. `asked`: what came."""

    def __init__(self, good: str, *, family: socket.AddressFamily = socket.AF_INET) -> None:
        super().__init__(self._serve_pods, tls=TLS, family=family)
        self.good = good
        self.asked: list[SeenRequest] = []

    def tokens(self) -> list[str | None]:
        return [request.header("authorization") for request in self.asked]

    def _serve_pods(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            self.asked.append(request)
            if request.header("authorization") != f"Bearer {self.good}":
                peer.reply(UNAUTHORIZED.body, status="401 Unauthorized")
            elif request.query.get("watch"):
                peer.start_chunked()
                peer.chunk('{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}}\n')
                peer.end_chunked()
            else:
                peer.reply('{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}')


def client(server: ScriptedServer) -> ApiClient:
    return ApiClient(access_from(environ=variables(server)).access)


def list_pods(connected: ApiClient) -> None:
    assert PODS
    connected.list(PODS, connected.access.namespace)


def watch_pods(connected: ApiClient) -> None:
    assert PODS
    with connected.watch(PODS, connected.access.namespace, silence=5) as watch:
        assert [event.type for event in watch] == ["ADDED"]


@pytest.mark.parametrize("use", [list_pods, watch_pods])
def test_a_401_reads_the_token_that_has_taken_its_place(volume: Volume, use: Callable[[ApiClient], None]) -> None:
    with Gate("first") as server, client(server) as connected:
        use(connected)
        volume.rotate("second")
        server.good = "second"
        use(connected)
        use(connected)
        assert server.tokens() == ["Bearer first", "Bearer first", "Bearer second", "Bearer second"]
        assert server.asked[0].path == "/api/v1/namespaces/team/pods"


def test_a_second_401_is_final(volume: Volume) -> None:
    with Gate("third") as server, client(server) as connected:
        with pytest.raises(StatusError, match="Unauthorized"):
            list_pods(connected)  # the same token still: nothing to try
        assert server.tokens() == ["Bearer first"]
        volume.rotate("second")
        with pytest.raises(StatusError, match="Unauthorized"):
            list_pods(connected)
        assert server.tokens() == ["Bearer first", "Bearer first", "Bearer second"]


def test_without_a_401_it_is_read_again_after_a_while(volume: Volume) -> None:
    with Gate("first") as server, client(server) as connected:
        credentials = connected.credentials
        assert credentials.headers(now=0.0) == [("Authorization", "Bearer first")]
        volume.rotate("second")
        assert credentials.headers(now=TOKEN_FILE_SECONDS - 1) == [("Authorization", "Bearer first")]
        assert credentials.headers(now=TOKEN_FILE_SECONDS) == [("Authorization", "Bearer second")]


def test_exec_after_a_rotation(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    with TeamServer(refusals=[UNAUTHORIZED, Answer(how="usual")]) as server:
        for name, value in variables(server).items():
            monkeypatch.setenv(name, value)
        with rawkube.connect() as connected:
            headers = connected.credentials.headers(now=connected.clock())
            assert headers == [("Authorization", "Bearer first")]
            volume.rotate("second")
            done = rawkube.exec(connected, "web-0", ["true"])
    assert done.stdout == b"hello"
    tokens = [each.header("authorization") for each in server.asked if each.path.endswith("/exec")]
    assert tokens == ["Bearer first", "Bearer second"]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_a_service_host_of_ipv6(volume: Volume) -> None:
    try:
        server = Gate("first", family=socket.AF_INET6)
    except OSError:
        pytest.skip("no address ::1 here")
    with server, client(server) as connected:
        list_pods(connected)
        assert server.asked[0].header("host") == f"[::1]:{server.port}"


# What is missing

NOWHERE = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": "/none"}


def test_a_pod_without_a_token_is_told_so(volume: Volume) -> None:
    (volume.folder / "token").unlink()
    found = access_from(environ=NOWHERE)
    assert found.access.server == "http://localhost:8080"
    assert found.access.notes[-1] == (
        f"KUBERNETES_SERVICE_HOST is set, but the pod has no account of its own: open {volume.folder}/token: "
        "no such file or directory (automountServiceAccountToken: false?)"
    )
    (volume.folder / "token").mkdir()
    assert "token: is a directory" in access_from(environ=NOWHERE).access.notes[-1]


def test_half_of_the_variables(volume: Volume) -> None:
    environ = {**NOWHERE, "KUBERNETES_SERVICE_PORT": ""}
    assert "KUBERNETES_SERVICE_PORT is not" in access_from(environ=environ).access.notes[-1]
    assert all("KUBERNETES_SERVICE" not in note for note in access_from(environ={"HOME": "/none"}).access.notes)


def test_a_server_that_is_named_needs_no_account(volume: Volume, tmp_path: Path) -> None:
    (volume.folder / "token").unlink()
    file = tmp_path / "config"
    file.write_text("clusters: [{name: c, cluster: {server: 'https://h'}}]\n")
    assert access_from(str(file), Overrides(cluster="c"), environ=NOWHERE).access.notes == ()


def test_an_empty_token(volume: Volume) -> None:
    volume.rotate("\n")
    with Gate("x") as server, client(server) as connected, pytest.raises(ConfigError) as caught:
        list_pods(connected)
    assert str(caught.value) == f'read empty token from file "{volume.folder}/token"'


def test_without_its_ca_the_systems_roots_decide(volume: Volume) -> None:
    (volume.folder / "ca.crt").unlink()
    with Gate("first") as server, client(server) as connected:
        assert "Expected to load root CA config" in connected.access.notes[-1]
        with pytest.raises(rawkube.RawkubeError, match="certificate signed by unknown authority"):
            list_pods(connected)
        assert server.asked == []


# The rights of the README


class Rule(NamedTuple):
    """One rule of a Role (rbac.authorization.k8s.io/v1)."""

    groups: list[str]
    resources: list[str]
    verbs: list[str]

    def covers(self, verb: str, group: str, resource: str) -> bool:
        pairs = ((self.groups, group), (self.resources, resource), (self.verbs, verb))
        return all(value in listed or "*" in listed for listed, value in pairs)


def block() -> str:
    found = re.search(r"### In a Pod\n.*?```yaml\n(.*?)```", README, re.DOTALL)
    assert found, "the README has no manifest for a Pod"
    return found[1]


def manifests(text: str) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def rules(text: str) -> list[Rule]:
    role = manifests(text)["Role"]
    return [Rule(each["apiGroups"], each["resources"], each["verbs"]) for each in role["rules"]]


def with_comments(text: str) -> str:
    """The manifest with the rules that stand in comments."""
    return re.sub(r"^# (- apiGroups|  resources|  verbs)", r"\1", text, flags=re.MULTILINE)


def needed(request: SeenRequest) -> Iterator[tuple[str, str, str]]:
    """(verb, group, resource) that an API server asks its authorizer about; exec by GET needs create from 1.35 on."""
    parts = request.path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    rest = rest[2:] if rest[0] == "namespaces" and len(rest) > 2 else rest
    resource = "/".join((rest[0], *rest[2:]))
    if request.method != "GET":
        yield {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[request.method], group, resource
    elif request.query.get("watch"):
        yield "watch", group, resource
    else:
        yield ("get" if len(rest) > 1 else "list"), group, resource
    if len(rest) > 2 and rest[2] in ("exec", "attach"):
        yield "create", group, resource


class TeamServer(PodsServer):
    """The namespace of the pod: a Deployment `web` and its pod."""

    def __init__(self, *, refusals: Sequence[Answer] = ()) -> None:
        labels = {"app": "web"}
        super().__init__({"web-0": HELLO}, [a_pod("web-0", labels=labels)], refusals=refusals)
        self.pods["web-0"]["metadata"]["namespace"] = "team"
        self.tls = TLS

    def _answer(self, peer: Peer, request: SeenRequest) -> None:
        if request.path.endswith("/deployments/web"):
            metadata = {"name": "web", "namespace": "team"}
            spec = {"selector": {"matchLabels": {"app": "web"}}}
            peer.reply(json.dumps({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata, "spec": spec}))
        else:
            super()._answer(peer, request)


def asked_by(server: ApiServer | TeamServer, words: Sequence[str], patch: pytest.MonkeyPatch) -> list[SeenRequest]:
    with server:
        for name, value in variables(server).items():
            patch.setenv(name, value)
        main(words, out=Output(io.BytesIO(), io.BytesIO()))
    assert server.asked
    assert all(each.header("authorization") == "Bearer first" for each in server.asked)
    return server.asked


def rollout_server() -> ApiServer:
    done, going = deployment(), deployment("api", u=1)
    return ApiServer(Workload(done, namespace="team"), Workload(going, namespace="team"), tls=TLS)


# What every account may ask for (system:discovery), and what may be refused without harm: whether the namespace of
# something that is not there is.
FREE = ("/api", "/apis", "/api/v1/namespaces/team")
ROLLOUTS = [
    ["rollout", "status", "deployment/web"],
    ["rollout", "status", "deployment/api", "--timeout=400ms", "--explain=never"],
    ["rollout", "status", "deployment/none"],
    ["rollout", "status", "deployment", "-l", "app=web", "--timeout=400ms", "--explain=never"],
    ["rollout", "status", "sts/none"],
    ["rollout", "status", "ds/none"],
]
EXECS = [
    ["exec", "web-0", "--", "true"],
    ["exec", "deploy/web", "--", "true"],
    ["attach", "web-0"],
    ["cp", "web-0:/etc/none", "/none/x"],
]


@pytest.mark.parametrize("words", [*ROLLOUTS, *EXECS], ids=" ".join)
def test_the_manifest_allows_what_the_commands_ask(
    volume: Volume, words: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = rollout_server() if words[0] == "rollout" else TeamServer()
    granted = rules(block())
    for request in asked_by(server, words, monkeypatch):
        if request.path in FREE:
            continue
        assert "/namespaces/team/" in request.path
        for asked in needed(request):
            assert any(rule.covers(*asked) for rule in granted), asked


def test_the_manifest_grants_no_more_than_is_used(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    """A right that no command above needs would be one too many, but for reading and watching what it names."""
    used = set()
    for words in (*ROLLOUTS, *EXECS):
        server = rollout_server() if words[0] == "rollout" else TeamServer()
        for request in asked_by(server, words, monkeypatch):
            used |= set(needed(request)) if request.path not in FREE else set()
    resources = {(group, resource) for _, group, resource in used}
    for rule in rules(block()):
        assert set(rule.verbs) <= {"get", "list", "watch", "create"}
        assert {(group, resource) for group in rule.groups for resource in rule.resources} <= resources


def test_the_manifest_is_whole() -> None:
    found = manifests(block())
    role, binding, account = found["Role"], found["RoleBinding"], found["ServiceAccount"]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role["metadata"]["name"]}
    assert binding["roleRef"] == reference
    (subject,) = binding["subjects"]
    assert (subject["kind"], subject["name"]) == ("ServiceAccount", account["metadata"]["name"])
    assert subject["namespace"]  # an API server asks for it


@looped(
    "asked",
    [
        ("get", "", "pods/log"),
        ("patch", "apps", "deployments"),
        ("list", "apps", "replicasets"),
        ("list", "apps", "controllerrevisions"),
        ("list", "", "events"),
    ],
    ids=" ".join,
)
def test_rights_for_more_stand_in_comments(asked: tuple[str, str, str]) -> None:
    assert not any(rule.covers(*asked) for rule in rules(block()))
    assert any(rule.covers(*asked) for rule in rules(with_comments(block())))
