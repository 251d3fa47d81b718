"""Where rawkube knowingly connects otherwise than kubectl, or not at all: each side of each such difference."""

from __future__ import annotations

import io
import json
import re
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube._version import __version__
from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.differential.rig import KUBECTL, RAWKUBE
from tests.support.discovery import recorded
from tests.support.plugins import V1
from tests.support.run import Result, kubeconfig, kubectl_command, run
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.tls import Authority
from tests.support.warm import warm

CA = Authority()
OTHER = CA.issue("other")
LISTED = "pod/p"
OWN_VERSION = __version__.rpartition(".")[0]
PODS = '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"p"}}]}'
UNABLE = "Unable to connect to the server: "
NO_AUTHORITY = UNABLE + "tls: failed to verify certificate: x509: certificate signed by unknown authority"
TOO_MANY = "error: more than one authentication method found for test; found [token basicAuth], only one is allowed"
NO_PEM = "error: unable to load root certificates: unable to parse bytes as PEM block"


class Ended(NamedTuple):
    """What was said: the first line of stdout, or the last of stderr where it failed. `sent`: what the requests carried."""

    said: str
    sent: tuple[str | None, ...] = ()


class Case(NamedTuple):
    """A kubeconfig (`text`: all of it), flags, and how each program ends.

    `server`: `tls`, `plain`, or `wildcard` (for `*.test` alone). `look`: the header of the requests that counts, or
    `target`. `own`: the words where rawkube's are others. HOME, URL, PORT are what they say.
    """

    id: str
    kubectl: Ended
    rawkube: Ended
    user: Mapping[str, Any] = {"token": "t"}
    cluster: Mapping[str, Any] = {"certificate-authority": "ca.pem"}
    words: str = "get pods -o name"
    own: str = ""
    server: str = "tls"
    url: str = "URL"
    look: str = "authorization"
    text: str = ""
    files: Mapping[str, bytes] = {}


@pytest.fixture(autouse=True)
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded is asked for without compression."""
    monkeypatch.delenv("RAWKUBE_RECORD", raising=False)


def flow(cluster: str, user: str, server: str = "URL") -> str:
    """A kubeconfig in the flow style of YAML."""
    return (
        f"{{clusters: [{{name: c, cluster: {{server: {server}, certificate-authority: ca.pem}}}}], "
        f"contexts: [{{name: x, context: {{cluster: {cluster}, user: {user}}}}}], "
        "users: [{name: u, user: {token: t}}], current-context: x}"
    )


SEEN = Ended(LISTED, ("Bearer t",))
PLUGIN = "Unable to connect to the server: getting credentials: exec: executable HOME/plugin failed with exit code 3"
CASES = [
    Case("token-beside-a-file", Ended(LISTED, ("Bearer file",)), Ended(LISTED, ("Bearer flag",)),
         user={"tokenFile": "token"}, words="get pods -o name --token=flag", files={"token": b"file"}),
    Case("password-beside-a-token", Ended(TOO_MANY), Ended(LISTED, ("Basic dTpw",)),
         words="get pods -o name --username=u --password=p"),
    Case("token-beside-a-password", Ended(TOO_MANY), SEEN, user={"username": "u", "password": "p"},
         words="get pods -o name --token=t"),
    Case("removed-provider-beside-a-token",
         Ended("See https://cloud.google.com/blog/products/containers-kubernetes/kubectl-auth-changes-in-gke for further details"),
         SEEN, user={"token": "t", "auth-provider": {"name": "gcp"}}),
    Case("question-mark", Ended("error: error loading config file \"HOME/config\": yaml: did not find expected ',' or '}'"),
         SEEN, text=flow("c", "u", "URL?a=b")),
    Case("insecure-undone", SEEN, Ended(NO_AUTHORITY), cluster={"insecure-skip-tls-verify": True},
         words="get pods -o name --insecure-skip-tls-verify=false"),
    Case("compression-undone", Ended(LISTED, (None,)), Ended(LISTED, ("gzip",)), look="accept-encoding",
         cluster={"certificate-authority": "ca.pem", "disable-compression": True},
         words="get pods -o name --disable-compression=false"),
    Case("no-such-cluster", Ended("The connection to the server localhost:8080 was refused - did you specify the right host or port?"),
         Ended('error: cluster "gone" was not found for context "x" (HOME/config:1)'), text=flow("gone", "u")),
    Case("no-such-user", Ended("error: EOF"), Ended('error: user "gone" was not found for context "x" (HOME/config:1)'),
         text=flow("c", "gone")),
    Case("no-scheme", Ended(LISTED, (None,)), Ended('error: server "127.0.0.1:PORT" has no scheme, which means plain http, '
         "but token is set: write https:// before it"), cluster={}, server="plain", url="127.0.0.1:PORT"),
    Case("password-in-the-url", Ended(LISTED, ("Basic bWU6cHc=",)),
         Ended("error: the server address holds a user name or password: take it out, use username and password"),
         url="https://me:pw@127.0.0.1:PORT"),
    Case("nobody", Ended("error: EOF"), Ended(LISTED, (None,)), user={}),
    Case("redirect", Ended(LISTED, ("Bearer t", "Bearer t")), Ended(
         UNABLE + 'the server answered 302 and redirects to "/pods"; it is not followed', ("Bearer t",)),
         words="get --raw /moved", own="raw /moved"),
    Case("query", Ended(LISTED, ("/pods?a=2&b=1",)), Ended(LISTED, ("/pods?b=1&a=2",)), look="target",
         words="get --raw /pods?b=1&a=2", own="raw /pods?b=1&a=2"),
    Case("byte-order-mark", Ended(NO_PEM), SEEN, cluster={"certificate-authority": "odd.pem"},
         files={"odd.pem": b"\xef\xbb\xbf" + CA.pem}),
    Case("indented", Ended(NO_PEM), SEEN, cluster={"certificate-authority": "odd.pem"},
         files={"odd.pem": b"".join(b"  " + line for line in CA.pem.splitlines(keepends=True))}),
    Case("one-label-behind-the-star", SEEN, Ended(
         UNABLE + "tls: failed to verify certificate: x509: Hostname mismatch, certificate is not valid for 'a.test'."),
         cluster={"certificate-authority": "ca.pem", "tls-server-name": "a.test"}, server="wildcard"),
    Case("no-certificate", Ended(LISTED, (None,)), Ended("error: tls: failed to find any PEM data in certificate input"),
         user={"client-certificate": "odd.pem", "client-key": "odd.pem"}, files={"odd.pem": b"x"}),
    Case("key-of-another", Ended(LISTED, (None,)), Ended("error: tls: private key does not match public key"),
         user={"client-certificate": "cert.pem", "client-key": "key.pem"},
         files={"cert.pem": CA.issue("me").cert, "key.pem": OTHER.key}),
    Case("plugin-that-fails", Ended(PLUGIN, ("run",) * 5), Ended(PLUGIN, ("run",)), look="runs",
         user={"exec": {"command": "./plugin", "apiVersion": V1, "interactiveMode": "Never"}},
         files={"plugin": b'#!/bin/sh\necho run >> "$(dirname "$0")/runs"\nexit 3\n'}),
    Case("preferences-without-a-connection",
         Ended('error occurred while applying preferences unknown plugin policy: "Foo"'), Ended(f"rawkube {OWN_VERSION}"),
         words="version --client --kuberc HOME/rc", files={"rc": json.dumps({"apiVersion": "kubectl.config.k8s.io/v1beta1",
         "kind": "Preference", "credentialPluginPolicy": "Foo"}).encode()}),
    *(Case(f"view {output}", Ended(said), Ended(
        f'error: unable to match a printer suitable for the output format "{output}", allowed formats are: json,yaml'),
        words=f"config view -o {output}") for output, said in (("jsonpath={.kind}", "Config"), ("kyaml", "---"))),
    Case("names-of-the-program", Ended(LISTED, ("kubectl get",)), Ended(LISTED, (None,)), look="kubectl-command"),
    Case("versions-of-http", Ended(LISTED, ("http/1.1",)), Ended(LISTED, (None,)), look="offered"),
    Case("preferences-for-flags", SEEN, Ended("NAME   AGE", ("Bearer t",)), words="get pods --kuberc HOME/rc", files={"rc": json.dumps({
        "apiVersion": "kubectl.config.k8s.io/v1beta1", "kind": "Preference",
        "defaults": [{"command": "get", "options": [{"name": "output", "default": "name"}]}]}).encode()}),
    Case("version", Ended("Client Version: v1.37", ("/version?timeout=32s",)), Ended(f"rawkube {OWN_VERSION}"), words="version", look="target"),
    Case("whoami-name", Ended("selfsubjectreview.authentication.k8s.io/<unknown>", ("/apis/authentication.k8s.io/v1/selfsubjectreviews",)),
         Ended('error: unable to match a printer suitable for the output format "name", allowed formats are: json,yaml'),
         words="auth whoami -o name", look="target"),
    Case("whoami", Ended("ATTRIBUTE   VALUE", ("application/vnd.kubernetes.protobuf",)),
         Ended("ATTRIBUTE   VALUE", ("application/json",)), words="auth whoami", look="content-type"),
]  # fmt: skip
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
REVIEW["status"] = {"userInfo": {"username": "jane"}}


class Server(ScriptedServer):
    """Pods for everybody; `/moved` leads to them. `asked`: all but discovery. `offered`: the version of HTTP that was
    agreed on, in TLS (it knows of 1.1 alone), if the client has offered any."""

    def __init__(self, kind: str) -> None:
        names = {"tls": "127.0.0.1", "wildcard": "*.test"}
        tls = CA.server(names[kind]) if kind in names else None
        if tls:
            tls.set_alpn_protocols(["http/1.1"])
        super().__init__(self._connection, tls=tls)
        self.asked: list[SeenRequest] = []
        self.offered: str | None = None

    def _connection(self, peer: Peer) -> None:
        if isinstance(peer.sock, ssl.SSLSocket):
            self.offered = peer.sock.selected_alpn_protocol()
        while True:
            request = peer.read_request()
            if request.path in ("/api", "/apis"):
                body, media = recorded(request.path)
                peer.reply(body, content_type=media)
                continue
            self.asked.append(request)
            if request.path == "/moved":
                peer.reply("", status="302 Found", headers=(("Location", "/pods"),))
            elif request.path == "/version":
                peer.reply('{"major": "1", "minor": "37", "gitVersion": "v1.37.0"}')
            elif request.method == "POST":
                peer.reply(json.dumps(REVIEW), status="201 Created")
            else:
                peer.reply(LISTED if request.path == "/pods" else PODS)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with Server("tls") as tls, Server("plain") as plain, Server("wildcard") as wildcard:
        yield {"tls": tls, "plain": plain, "wildcard": wildcard}


def ended(program: str, case: Case, server: Server, home: Path, patch: pytest.MonkeyPatch) -> Ended:
    server.asked.clear()
    write(case, server, home)
    words = (case.own if program == RAWKUBE and case.own else case.words).replace("HOME", str(home)).split()
    if program == KUBECTL:
        if case.look != "runs":  # discovery is a part of what runs a plugin
            warm(home, server.url)
        ran = run(kubectl_command(), *words, url=server.url, home=home)
    else:
        patch.chdir(home)
        out, err = io.BytesIO(), io.BytesIO()
        code = main(["--kubeconfig", str(home / "config"), *words], out=Output(out, err))
        ran = Result(out.getvalue().decode(), err.getvalue().decode(), code)
    said = ran.last if ran.code else re.sub(r"( v?\d+\.\d+)\.\d+.*", r"\1", ran.stdout.partition("\n")[0])
    return Ended(
        said.replace(str(home), "HOME").replace(f"127.0.0.1:{server.port}", "127.0.0.1:PORT"), sent(case, server, home)
    )


def write(case: Case, server: Server, home: Path) -> None:
    url = case.url.replace("URL", server.url).replace("PORT", str(server.port))
    text = case.text.replace("URL", server.url) or kubeconfig(url, cluster=case.cluster, user=case.user)
    for name, data in {"config": text.encode(), "ca.pem": CA.pem, **case.files}.items():
        (home / name).write_bytes(data)
        (home / name).chmod(0o700)


def sent(case: Case, server: Server, home: Path) -> tuple[str | None, ...]:
    if case.look == "runs":
        return tuple((home / "runs").read_text().split())
    if case.look == "offered":
        return (server.offered,)
    return tuple(each.target if case.look == "target" else each.header(case.look) for each in server.asked)


def names(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", CASES, ids=names)
def test_rawkube(case: Case, servers: dict[str, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended(RAWKUBE, case, servers[case.server], tmp_path, monkeypatch) == case.rawkube


@pytest.mark.kubectl
@pytest.mark.parametrize("case", CASES, ids=names)
def test_kubectl(case: Case, servers: dict[str, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert case.kubectl != case.rawkube
    assert ended(KUBECTL, case, servers[case.server], tmp_path, monkeypatch) == case.kubectl
