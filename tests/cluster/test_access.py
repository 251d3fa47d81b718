"""A user with few rights, `proxy`, `doctor`, and recordings of what passed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster import manifests
from tests.cluster.manifests import new_template
from tests.cluster.rig import Cluster, until

pytestmark = pytest.mark.cluster

_READING = ("get", "list", "watch")


class Limited(NamedTuple):
    """A ServiceAccount that may follow rollouts and run commands, and nothing else."""

    name: str
    kubeconfig: Path


@pytest.fixture(scope="module")
def limited(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    name = cluster.create(manifests.service_account(cluster.name("limited")))
    rules = [("apps", ["deployments"], _READING), ("", ["pods"], _READING), ("", ["pods/exec"], ["get", "create"])]
    cluster.create(manifests.role(name, *rules))
    cluster.create(manifests.role_binding(name, cluster.namespace))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token = cluster.post(cluster.path("ServiceAccount", name) + "/token", request)["status"]["token"]
    whole = cluster.rawkube("config", "view", "--minify", "--flatten", "-o", "json").ok()
    config = tmp_path_factory.mktemp("limited") / "config"
    config.touch(mode=0o600)
    config.write_text(json.dumps(manifests.with_token(json.loads(whole.stdout), token)))
    until(
        lambda: cluster.rawkube("auth", "can-i", "list", "pods", kubeconfig=config).code == 0,
        "the Role of the ServiceAccount did not count",
    )
    yield Limited(name, config)
    config.unlink()


def test_a_limited_user_does_what_it_may(cluster: Cluster, shell: str, limited: Limited) -> None:
    who = cluster.rawkube("auth", "whoami", "-o", "json", kubeconfig=limited.kubeconfig).ok()
    user = f"system:serviceaccount:{cluster.namespace}:{limited.name}"
    assert json.loads(who.stdout)["status"]["userInfo"]["username"] == user
    workload = cluster.rolled_out(manifests.deployment(cluster.name("seen"), replicas=1))
    cluster.rawkube("rollout", "status", workload, kubeconfig=limited.kubeconfig).ok()
    ended = cluster.rawkube("exec", shell, "--", "sh", "-c", "exit 3", kubeconfig=limited.kubeconfig)
    ended.fails(3, "command terminated with exit code 3")


def test_a_limited_user_is_told_what_it_may_not(cluster: Cluster, shell: str, limited: Limited) -> None:
    user = f"system:serviceaccount:{cluster.namespace}:{limited.name}"
    where = f'in the namespace "{cluster.namespace}"'
    refused = {
        (
            "get",
            "secrets",
        ): f'secrets is forbidden: User "{user}" cannot list resource "secrets" in API group "" {where}',
        ("rollout", "status", "daemonset/a"): (
            f'daemonsets.apps "a" is forbidden: User "{user}" cannot get resource "daemonsets" in API group "apps" {where}'
        ),
        ("logs", shell): (
            f'pods "{shell}" is forbidden: User "{user}" cannot get resource "pods/log" in API group "" {where}'
        ),
    }
    for args, message in refused.items():
        ended = cluster.rawkube(*args, kubeconfig=limited.kubeconfig)
        ended.fails(1, f"Error from server (Forbidden): {message}")
    wrong = cluster.rawkube("--token=wrong", "get", "pods", kubeconfig=limited.kubeconfig)
    assert wrong.code == 1 and "You must be logged in to the server" in wrong.last, wrong.describe()


def test_proxy_passes_requests_watches_and_sessions(cluster: Cluster, shell: str) -> None:
    through = ["proxy", "--"]
    where = f"--namespace={cluster.namespace}"
    said = cluster.rawkube(*through, "get", "pods", shell, "-o", "name", where).ok()
    assert said.text == f"pod/{shell}\n"
    workload = cluster.rolled_out(manifests.deployment(cluster.name("proxied"), replicas=1))
    assert "successfully rolled out" in cluster.rawkube(*through, "rollout", "status", workload, where).ok().text
    ended = cluster.rawkube(*through, "exec", "-i", where, shell, "--", "sh", "-c", "wc -c; exit 6", stdin=b"12345")
    assert (ended.text.strip(), ended.code) == ("5", 6), ended.describe()


def test_doctor_finds_nothing_wrong(cluster: Cluster, shell: str) -> None:
    said = cluster.rawkube("doctor", "-o", "json", "--pod", shell)
    checks = json.loads(said.stdout)
    assert [check for check in checks if check["result"] == "fail"] == []
    assert said.code == 0
    passed = {check["check"] for check in checks if check["result"] == "pass"}
    assert {"server", "identity", "discovery", "rollout rights", "exec rights", "watch"} <= passed, said.text


def test_a_recorded_rollout_is_replayed(cluster: Cluster, tmp_path: Path) -> None:
    workload = cluster.rolled_out(manifests.deployment(cluster.name("recorded")))
    cluster.patch("Deployment", workload.partition("/")[2], new_template("2"))
    where = f"--namespace={cluster.namespace}"
    file = tmp_path / "rollout.jsonl"
    live = cluster.rawkube("rollout", "status", workload, f"--record={file}", "--timeout=80s").ok()
    assert file.stat().st_mode & 0o077 == 0, "a recording is its maker's alone"
    again = cluster.rawkube("replay", str(file), "--speed=max", "--", "rollout", "status", workload, where).ok()
    assert again.stdout == live.stdout


def test_a_recorded_session_is_replayed(cluster: Cluster, shell: str, tmp_path: Path) -> None:
    where = f"--namespace={cluster.namespace}"
    file = tmp_path / "exec.jsonl"
    args = ["exec", shell, where, "--", "sh", "-c", "echo out; echo err >&2; exit 3"]
    live = cluster.rawkube(f"--record={file}", *args)
    assert (live.text, live.code) == ("out\n", 3), live.describe()
    again = cluster.rawkube("replay", str(file), "--speed=max", "--strict", "--", *args)
    assert (again.stdout, again.code) == (live.stdout, live.code), again.describe()
