"""`config …`: the same files, two programs; what kubectl prints is what rawkube prints."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.run import Result, kubectl_command, run

# No secret that rawkube hides and kubectl shows: those are looked at elsewhere.
ONE = """\
apiVersion: v1
kind: Config
current-context: dev
preferences: {colors: true, extensions: [{name: b, extension: {}}, {name: a, extension: {z: 1}}]}
clusters:
- name: c
  cluster:
    server: https://127.0.0.1:6443/a?b&<c>
    certificate-authority: ca.pem
    tls-server-name: foo
    unknown: field
    extensions: [{name: x, extension: {b: [x, y, null], a: 1, c: {}, d: "1"}}]
- name: d
  cluster: {server: 'http://h', certificate-authority-data: "aGVs\\nbG8=", proxy-url: 'socks5://proxy:3128',
    disable-compression: true, insecure-skip-tls-verify: true}
- name: "1"
contexts:
- {name: dev, context: {cluster: c, user: u, namespace: ns}}
- name: empty
- {name: two, context: {cluster: d, user: v, namespace: "", extensions: [{name: e, extension: null}]}}
- {name: lost, context: {cluster: none, user: u}}
- {name: lonely, context: {cluster: c, user: none}}
users:
- name: u
  user: {token: sekret, as: jane, as-groups: [a, null], as-uid: "7", as-user-extra: {k: [v1, null], a: [], n: null},
    client-certificate: c.pem, client-key: sub/../k.pem}
- name: v
  user: {username: bob, password: hunter2, client-certificate-data: aGVsbG8=, client-key-data: aGVsbG8=, tokenFile: tok}
- name: e
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plug/x, args: [a, null],
    env: [{name: A, value: ""}, {}], interactiveMode: Never, provideClusterInfo: true, installHint: "hi\\nthere"}}
- {name: e2, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: plug, args: null, env: []}}}
- {name: e3, user: {exec: {}}}
- {name: o, user: {auth-provider: {name: oidc, config: {idp-issuer-url: https://i, client-id: x, other: null}}}}
- {name: o2, user: {auth-provider: {}}}
- {name: nn, user: null}
- {name: "y", user: {username: "multi\\nline\\n", tokenFile: " lead", as: "- x", as-groups: [], as-user-extra: {}}}
extensions: [{name: top, extension: {z: 1}}, {name: bottom, extension: "0x10"}]
"""
TWO = """\
clusters: [{name: c, cluster: {server: https://other}}, {name: further, cluster: {server: https://further}}]
users: [{name: u, user: {token: other}}]
contexts: [{name: dev, context: {cluster: further}}, {name: third, context: {cluster: further, user: u}}]
current-context: third
preferences: {extensions: [{name: a, extension: other}, {name: c, extension: 3}]}
extensions: [{name: top, extension: other}]
"""
NULLS = "{clusters: [null], users: null, contexts: [{name: a}], current-context: ''}"
FILES = {"one": ONE, "sub/two": TWO, "nulls": NULLS, "empty": "", "ca.pem": "A", "c.pem": "B", "k.pem": "C", "tok": "t"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


class Case(NamedTuple):
    """`files`: KUBECONFIG, in the home folder. `words`: behind `config`."""

    words: str
    files: Sequence[str] = ("one",)


VIEWS = [
    Case("view"),
    Case("view -o json"),
    Case("view --raw"),
    Case("view --raw -ojson"),
    Case("view --minify"),
    Case("view --minify -o json --context=two"),
    Case("view --context=two"),
    Case("view --minify --context=empty"),
    Case("view --minify --context=nosuch"),
    Case("view --minify --context=lost"),
    Case("view --minify --context=lonely"),
    Case("view --minify", ["empty"]),
    Case("view --minify --user=v --cluster=d -n x --token=t --server=https://x"),
    Case("view --minify --flatten"),
    Case("view --flatten --minify --context=third", ["sub/two"]),
    Case("view", ["empty"]),
    Case("view -o json", ["nulls"]),
    Case("view --raw", ["one", "sub/two", "none"]),
    Case("view --minify -o json", ["sub/two", "one"]),
    Case("view --raw", ["none"]),
    Case("view --merge=false"),
    Case("view x y"),
    Case("current-context"),
    Case("current-context --context=two ignored"),
    Case("current-context", ["empty"]),
    Case("current-context", ["nulls", "sub/two"]),
    Case("get-contexts"),
    Case("get-contexts", ["empty"]),
    Case("get-contexts two dev --no-headers"),
    Case("get-contexts dev dev"),
    Case("get-contexts nope two nope2"),
    Case("get-contexts nope"),
    Case("get-contexts -o name"),
    Case("get-contexts -o name two nope"),
    Case("get-contexts -o wide"),
    Case("get-contexts", ["one", "sub/two"]),
    Case("nosuch"),
    Case("nosuch more"),
]


def ours(case: Case, home: Path, patch: pytest.MonkeyPatch) -> Result:
    patch.setenv("KUBECONFIG", ":".join(case.files))
    patch.chdir(home)
    out, err = io.BytesIO(), io.BytesIO()
    code = main(["config", *case.words.split()], out=Output(out, err))
    return Result(out.getvalue().decode(), err.getvalue().decode(), code)


@pytest.mark.kubectl
@pytest.mark.parametrize("case", VIEWS, ids=[f"{case.words} of {' '.join(case.files)}" for case in VIEWS])
def test_kubectl_prints_the_same(case: Case, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["config", *case.words.split()]
    theirs = run(kubectl_command(), *words, url="", home=home, KUBECONFIG=":".join(case.files))
    found = ours(case, home, monkeypatch)
    assert (found.stdout, found.code) == (theirs.stdout, theirs.code)
    assert found.stderr.splitlines() == theirs.stderr.replace("kubectl", "rawkube").splitlines()


def test_a_flattened_file_is_whole(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is taken away so leads to the same place: read again, it is the same."""
    flat = ours(Case("view --flatten --minify -o json"), home, monkeypatch)
    value = json.loads(flat.stdout)
    assert value["clusters"][0]["cluster"]["certificate-authority-data"] == "QQ=="
    assert value["users"][0]["user"]["token"] == "sekret"
    (home / "flat").write_text(flat.stdout)
    again = ours(Case("view --raw -o json", ["flat"]), home, monkeypatch)
    assert again.stdout == flat.stdout
