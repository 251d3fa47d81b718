"""Credential plugins: what kubectl tells them, takes from them and says about them, rawkube does too."""

from __future__ import annotations

import io
import json
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.api_server import ApiServer
from tests.support.plugins import V1, V1BETA1, credential, shell, user
from tests.support.run import environment, kubeconfig, kubectl_command, without_klog
from tests.support.tls import Authority
from tests.support.warm import warm

pytestmark = pytest.mark.kubectl

COMMAND = ("rollout", "status", "deploy/web")
DUMP = """for a; do echo "[$a]"; done > "$(dirname "$0")/seen"
env | grep -a '^KUBERNETES_EXEC_INFO=\\|^OWN=\\|^FILE=' | sort >> "$(dirname "$0")/seen"
cat "$(dirname "$0")/output" """


class Row(NamedTuple):
    """`output`: what the plugin prints. `plugin`, `cluster`: what the kubeconfig says beside the usual; `kuberc`: the
    preferences. `http`: the server is one without TLS (there is none)."""

    id: str
    output: str = credential(token="t")
    body: str = DUMP
    plugin: Mapping[str, Any] = {}
    cluster: Mapping[str, Any] = {}
    kuberc: Any = None
    http: bool = False


class Seen(NamedTuple):
    """What came of it: the last words, the code, the Authorization of each request (once), what the plugin saw."""

    said: str
    code: int
    authorization: frozenset[str | None]
    dump: str


@cache
def authority() -> Authority:
    return Authority()


def observe(program: str, row: Row, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    folder.mkdir()
    (folder / "output").write_text(row.output)
    command = shell(folder, row.body, name="cred")
    server = ApiServer(tls=authority().server("127.0.0.1"))
    with server:
        url = "http://127.0.0.1:1" if row.http else server.url
        cluster: dict[str, Any] = {"certificate-authority-data": b64encode(authority().pem).decode(), **row.cluster}
        config = kubeconfig(url, cluster={} if row.http else cluster, user=user(**{"command": command, **row.plugin}))
        (folder / "config").write_text(config)
        env = environment(folder, url, OWN="own", FILE="own")
        warm(folder, url)
        env["PATH"] = f"{folder}:{env['PATH']}"
        words = [*COMMAND]
        if row.kuberc is not None:
            (folder / "rc").write_text(json.dumps(row.kuberc))
            words += ["--kuberc", str(folder / "rc")]
        code, stderr = run(program, words, env, monkeypatch)
        tidy = stderr.replace(str(folder), "DIR").replace(f"127.0.0.1:{server.port}", "SERVER")
        authorization = frozenset(request.header("authorization") for request in server.asked)
    seen = folder / "seen"
    dump = seen.read_text().replace(f"127.0.0.1:{server.port}", "SERVER") if seen.exists() else ""
    return Seen(last_words(tidy), code, authorization, dump)


def run(program: str, words: list[str], env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    if program == "kubectl":
        done = subprocess.run(
            [*kubectl_command(), *words],
            env=env,
            cwd=env["HOME"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, without_klog(done.stderr)
    err = io.BytesIO()
    with monkeypatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        patch.chdir(env["HOME"])
        return main(words, out=Output(io.BytesIO(), err)), err.getvalue().decode()


def last_words(stderr: str) -> str:
    """From kubectl's own words on: the last line, or a whole block of help."""
    _, found, rest = stderr.rpartition("Unable to connect to the server: ")
    return found + rest if found else stderr.rstrip("\n").rpartition("\n")[2]


HEAD = f'"apiVersion":"{V1}","kind":"ExecCredential"'
EXTENSION = {"b": 1.50, "a": "<x>&\u2028é", "n": None, "l": [1, 2.0, 1e20, 1e21, 1e-7, 0.1], "o": {"z": True, "y": ""}}


def preference(policy: str, *commands: str) -> dict[str, Any]:
    value: dict[str, Any] = {"apiVersion": "kubectl.config.k8s.io/v1beta1", "kind": "Preference"}
    value["credentialPluginPolicy"] = policy
    return value | ({"credentialPluginAllowlist": [{"command": command} for command in commands]} if commands else {})


ROWS = [
    Row("token"),
    Row("args-env", plugin={
        "args": ["a b", "$HOME", "", "*", None],
        "env": [{"name": "FILE", "value": "1"}, {"name": "FILE", "value": "2"},
                {"name": "KUBERNETES_EXEC_INFO", "value": "x"}],
    }),
    Row("nulls", output=credential(V1BETA1, token="t"),
        plugin={"args": None, "env": None, "apiVersion": V1BETA1, "interactiveMode": None}),
    Row("cluster", plugin={"provideClusterInfo": True}, cluster={
        "tls-server-name": "127.0.0.1", "disable-compression": True,
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": EXTENSION}],
    }),
    Row("cluster-without-extension", plugin={"provideClusterInfo": True}),
    Row("http", http=True),
    Row("bare-name", plugin={"command": "cred"}),
    Row("beside-the-file", plugin={"command": "./x/../cred"}),
    Row("nowhere", plugin={"command": "no-such-plugin"}),
    Row("hint", plugin={"command": "no-such-plugin", "installHint": "\x1b[1mbold\x1b[0m\nx  \n"}),
    Row("no-file", plugin={"command": "/no/such"}),
    Row("no-program", plugin={"command": "./config"}),
    Row("folder", plugin={"command": "/tmp/"}),
    Row("exit-3", body="echo to you >&2; exit 3"),
    Row("killed", body="kill -9 $$"),
    Row("always", plugin={"interactiveMode": "Always"}),
    Row("old-version", plugin={"apiVersion": "client.authentication.k8s.io/v1alpha1"}),
    Row("nul-in-env", plugin={"env": [{"name": "A", "value": "a\0b"}]}),
    Row("empty", output=""),
    Row("text", output="hello world"),
    Row("list", output="[1]"),
    Row("cut", output='{"a":'),
    Row("comma", output='{"a":1,}'),
    Row("after", output=credential(token="t") + " x"),
    Row("yaml", output=f"apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: t\n"),
    Row("yaml-line", output="a: 1\nb: c: d\n"),
    Row("yaml-node", output="a: 1\nb: [\n"),
    Row("other-kind", output=f'{{"apiVersion":"{V1}","kind":"Foo"}}'),
    Row("other-group", output='{"apiVersion":"v1","kind":"Pod"}'),
    Row("other-version", output=credential(V1BETA1, token="t")),
    Row("no-version", output='{"kind":"ExecCredential","status":{"token":"t"}}'),
    Row("kind-only", output='{"kind":"Foo"}'),
    Row("any-case", output=f'{{"APIVERSION":"{V1}","status":{{"token":"t"}}}}'),
    Row("no-status", output=f"{{{HEAD}}}"),
    Row("no-token", output=credential()),
    Row("half-a-pair", output=credential(clientKeyData="x")),
    Row("bad-pair", output=credential(clientCertificateData="x", clientKeyData="y")),
    Row("number", output=f'{{{HEAD},"status":{{"token":3}}}}'),
    Row("bad-time", output=credential(token="t", expirationTimestamp="2030-13-01T00:00:00Z")),
    Row("no-header", output=credential(token="a\nb")),
    Row("deny", kuberc=preference("DenyAll")),
    Row("listed", kuberc=preference("Allowlist", "cred")),
    Row("unlisted", kuberc=preference("Allowlist", "other")),
    Row("no-list", kuberc=preference("Allowlist")),
    Row("list-beside-all", kuberc=preference("AllowAll", "x")),
    Row("unresolvable", kuberc=preference("Allowlist", "x"), plugin={"command": "no-such-plugin"}),
    Row("unknown-policy", kuberc=preference("Foo")),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_as_kubectl(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = observe("kubectl", row, tmp_path / "kubectl", monkeypatch)
    assert observe("rawkube", row, tmp_path / "rawkube", monkeypatch) == kubectl
    if kubectl.authorization and row.body == DUMP:
        assert "KUBERNETES_EXEC_INFO={" in kubectl.dump
    assert kubectl.code == 1  # there is no such deployment, or no credential
