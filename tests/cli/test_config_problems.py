"""`rawkube config explain` of a kubeconfig that is wrong: all that is, with file and line, above kubectl's words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rawkube.kubeconfig.access import Overrides
from rawkube.kubeconfig.problems import MOST, all_problems
from tests.support.here import run_here

HEAD = "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
SERVER = "clusters: [{name: c, cluster: {server: 'https://h'}}]\n"
USER = "users: [{name: u, user: {}}]\n"

SHAPES = """\
current-context: c
clusters:
- name: c
  cluster:
    server: [a]
    insecure-skip-tls-verify: 'maybe'
- name: d
  cluster: {certificate-authority-data: '%%%'}
- name: d
  cluster: text
contexts:
- name: c
  context: {cluster: c, user: u, namespace: 5}
- 7
- 8
users: {}
"""

TABLE = {
    "shapes": (
        SHAPES,
        [
            "FILE:5: clusters[c].cluster.server: must be a string, not an array",
            "FILE:6: clusters[c].cluster.insecure-skip-tls-verify: must be true or false, not a string",
            "FILE:8: clusters[d].cluster.certificate-authority-data: must be standard base64",
            "FILE:10: clusters[d].cluster: must be a mapping, not a string",
            "FILE:9: clusters[d]: names differ in a list (the first one: FILE:7)",
            "FILE:13: contexts[c].context.namespace: must be a string, not a number: put it in quotes",
            "FILE:11: contexts[1]: must be a mapping, not a number",
            "FILE:11: contexts[2]: must be a mapping, not a number",
            "FILE:16: users: must be a list, not an object",
        ],
    ),
    "no-yaml": ("a: [b\nc: }\n", ["FILE:2:2: did not find expected ',' or ']'"]),
    "no-mapping": ("- a\n", ["FILE: a kubeconfig is a mapping"]),
    "another-version": (
        "apiVersion: v2\nkind: Config\nusers: 5\n",
        [
            "FILE:2: kind: a kubeconfig has apiVersion v1 and kind Config",
            "FILE:3: users: must be a list, not a number",
        ],
    ),
    "nothing-there": (HEAD, ['user "u" was not found for context "c" (FILE:2)']),
    "no-context": (
        "current-context: x\n" + SERVER,
        ["FILE:1: context was not found for specified context: x"],
    ),
    "values": (
        HEAD + "clusters: [{name: c, cluster: {server: 'ftp://h', proxy-url: 'ldap://x'}}]\n"
        "users: [{name: u, user: {client-certificate: /no/cert, client-key: /no/key}}]\n",
        [
            "FILE:4 (users[u].user.client-certificate): unable to read client-cert /no/cert for u due to "
            "open /no/cert: no such file or directory",
            "FILE:4 (users[u].user.client-key): unable to read client-key /no/key for u due to "
            "open /no/key: no such file or directory",
            'FILE:3 (clusters[c].cluster.proxy-url): invalid \'proxy-url\' "ldap://x" for cluster "c": '
            'unsupported scheme "ldap", must be http, https, or socks5',
            'FILE:3 (clusters[c].cluster.server): unsupported protocol scheme "ftp"',
        ],
    ),
    "credentials-and-namespace": (
        HEAD.replace("user: u", "user: u, namespace: a/b")
        + SERVER
        + "users: [{name: u, user: {username: me, tokenFile: /no/token}}]\n",
        [
            "FILE:4 (users[u].user.tokenFile): username/password or bearer token may be set, but not both",
            "invalid namespace \"a/b\": [may not contain '/']",
        ],
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_all_that_is_wrong(name: str, tmp_path: Path) -> None:
    text, lines = TABLE[name]
    config = tmp_path / "config"
    config.write_text(text)
    ran = run_here("config", "explain", config=config)
    first = run_here("get", "pods", config=config)
    said = [line.replace(str(config), "FILE") for line in ran.stderr.splitlines()]
    assert (ran.code, ran.stdout) == (1, "")
    assert said[: len(lines)] == lines
    # Below stands what every other command says.
    assert ran.stderr.split("\n", len(lines))[-1].splitlines()[-1] == first.last


def test_several_files(tmp_path: Path) -> None:
    """Each with its own problems; one that does not exist is none; a right one counts for what it says."""
    (tmp_path / "a").write_text("users: 1\nclusters: 2\n")
    (tmp_path / "b").write_text("a: [\n")
    (tmp_path / "c").write_text(HEAD + SERVER + USER)
    environ = {"KUBECONFIG": os.pathsep.join(str(tmp_path / name) for name in ("a", "none", "b", "c"))}
    found = all_problems("", Overrides(), environ=environ)
    assert [line.replace(f"{tmp_path}/", "") for line in found] == [
        "a:1: users: must be a list, not a number",
        "a:2: clusters: must be a list, not a number",
        "b:2:1: did not find expected node content",
    ]
    environ = {"KUBECONFIG": os.pathsep.join(str(tmp_path / name) for name in ("none", "c"))}
    assert all_problems("", Overrides(), environ=environ) == []
    assert all_problems("", Overrides(cluster="x", user="y"), environ=environ) == [
        f'no server found for cluster "x" (clusters in {tmp_path}/c: c)',
        f'auth info "y" does not exist (users in {tmp_path}/c: u)',
    ]


def test_no_endless_list_and_no_secret(tmp_path: Path) -> None:
    users = "".join(f"- {{name: u{number}, user: {{token: [hunter2], password: {number}}}}}\n" for number in range(99))
    config = tmp_path / "config"
    config.write_text(f"users:\n{users}")
    found = all_problems(str(config), Overrides(), environ={})
    assert len(found) == MOST and not [line for line in found if "hunter2" in line]
