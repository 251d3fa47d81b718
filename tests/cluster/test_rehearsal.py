"""What the suite on a real cluster is made of, on a cluster in memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest as suite
from tests.cluster import conftest, gate, manifests, rig, test_exec, test_watch
from tests.cluster.rehearsal import Rehearsal
from tests.cluster.rig import Cluster
from tests.support.run import ROOT, kubeconfig


@pytest.fixture(scope="module")
def memory() -> Iterator[Rehearsal]:
    with Rehearsal() as server:
        yield server


@pytest.fixture(scope="module")
def rehearsed(memory: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("home")
    config = home / "config"
    config.write_text(kubeconfig(memory.url))
    with Cluster.new(config, home) as cluster:
        assert memory.namespaces == [cluster.namespace]
        yield cluster
    assert memory.namespaces == []


@pytest.fixture(autouse=True)
def no_kubectl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig, "find_kubectl", lambda: "")


def test_objects_are_made_changed_and_deleted(rehearsed: Cluster) -> None:
    workload = rehearsed.rolled_out(manifests.deployment(rehearsed.name("web")))
    kind, _, name = workload.partition("/")
    assert kind == "deployment"
    before = rehearsed.get("Deployment", name)
    after = rehearsed.patch("Deployment", name, manifests.new_template("2"))
    assert after["spec"]["template"]["metadata"]["annotations"] == {"rawkube-test/turn": "2"}
    assert after["spec"]["template"]["spec"] == before["spec"]["template"]["spec"]
    rehearsed.delete("Deployment", name)
    missing = f'Error from server (NotFound): deployments.apps "{name}" not found'
    rehearsed.compare("get", "deployment", name).fails(1, missing)
    with pytest.raises(AssertionError, match="not found"):
        rehearsed.get("Deployment", name)


def test_commands_and_watches(rehearsed: Cluster) -> None:
    pod = rehearsed.running_pod()
    test_exec.test_the_words_of_a_command_arrive_as_they_are(rehearsed, pod)
    test_exec.test_input_and_output_of_5_mb(rehearsed, pod)
    test_exec.test_the_library(rehearsed, pod)
    test_watch.test_watch_shows_each_change(rehearsed)


def test_the_namespace_is_deleted_after_a_failure(memory: Rehearsal, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(kubeconfig(memory.url))
    there = list(memory.namespaces)
    with pytest.raises(ZeroDivisionError), Cluster.new(config, tmp_path) as cluster:
        assert cluster.namespace in memory.namespaces
        memory.kept.append(cluster.namespace)  # the first attempt to delete it fails
        raise ZeroDivisionError
    assert memory.namespaces == there and not memory.kept


def test_what_does_not_come_is_told_with_what_was_said(rehearsed: Cluster) -> None:
    with rehearsed.start("version", "--client") as running, pytest.raises(AssertionError, match="rawkube"):
        running.look_for("no such line", timeout=10)
    with rehearsed.start("watch", "configmaps") as running, pytest.raises(AssertionError, match="still runs"):
        running.wait(0.1)
    with pytest.raises(AssertionError, match="it did not within 0"):
        rig.until(lambda: False, "it did not", timeout=0)


def test_a_kubeconfig_that_leads_nowhere_is_one_line(memory: Rehearsal, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(kubeconfig(memory.url))
    assert gate.problem(config) == ""
    memory.allowed = False
    try:
        assert "may not create namespaces" in gate.problem(config)
    finally:
        memory.allowed = True
    assert gate.problem(tmp_path / "none").endswith("none: there is no such file")
    config.write_text(kubeconfig("http://127.0.0.1:1"))
    assert "127.0.0.1:1 was refused" in gate.problem(config)


def test_the_suite_is_asked_for_by_its_mark() -> None:
    said = {"": False, "cluster": True, "cluster and not restarts": True, "kubectl": False, "clusters": False}
    assert {words: gate.is_asked(words) for words in said} == said
    assert gate.kubeconfig({}) is None and gate.kubeconfig({gate.VARIABLE: ""}) is None
    assert gate.kubeconfig({gate.VARIABLE: "a"}) == Path("a").absolute()


def asked(mark: str) -> Any:
    """What pytest's configuration says of it."""
    return SimpleNamespace(option=SimpleNamespace(markexpr=mark, collectonly=False))


def test_unasked_nothing_is_even_imported() -> None:
    here = Path(conftest.__file__).parent
    for name, ignored in {"test_exec.py": True, "test_rehearsal.py": None, "rig.py": None}.items():
        assert conftest.pytest_ignore_collect(here / name, asked("")) is ignored, name
        assert conftest.pytest_ignore_collect(here / name, asked("cluster")) is None, name
    assert conftest.pytest_ignore_collect(here.parent / "cli" / "test_exec.py", asked("")) is None


def test_a_wrong_kubeconfig_ends_the_run_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gate.VARIABLE, "/nowhere")
    with pytest.raises(pytest.UsageError, match=r"=/nowhere: there is no such file$"):
        suite.pytest_configure(asked("cluster"))
    suite.pytest_configure(asked(""))
    collecting = asked("cluster")
    collecting.option.collectonly = True
    suite.pytest_configure(collecting)
    worker = asked("cluster")
    worker.workerinput = {}
    suite.pytest_configure(worker)


def test_without_the_variable_each_test_is_skipped_and_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "cluster", "tests/cluster"]
    home = {"PATH": os.defpath, "HOME": str(tmp_path)}
    done = subprocess.run(command, env=home, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert gate.UNASKED in done.stdout
    assert re.search(r"^\d+ skipped, \d+ deselected", done.stdout, re.MULTILINE), done.stdout


def test_a_token_is_the_only_credential_of_a_limited_user() -> None:
    whole = json.loads(kubeconfig("https://a:1", user={"client-certificate-data": "x", "token": "y"}))
    limited = manifests.with_token(whole, "z")
    assert [user["user"] for user in limited["users"]] == [{"token": "z"}]
    assert limited["clusters"] == whole["clusters"]
