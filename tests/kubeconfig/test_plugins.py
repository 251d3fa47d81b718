"""How a kubeconfig's `exec` is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import ConfigError
from rawkube.kubeconfig.access import ExecConfig, Overrides
from rawkube.kubeconfig.load import load
from rawkube.kubeconfig.resolve import resolve
from tests.support.plugins import V1, V1BETA1
from tests.support.rows import looped

EXTENSION = "client.authentication.k8s.io/exec"


def plugin(folder: Path, extensions: Any = None, **value: Any) -> ExecConfig:
    """What becomes of that `exec`, in a file of that folder."""
    config = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://h", "extensions": extensions}}],
        "users": [{"name": "u", "user": {"exec": {"apiVersion": V1, "interactiveMode": "Never", **value}}}],
    }
    file = folder / "config"
    file.write_text(json.dumps(config))
    found = resolve(load(str(file), environ={}), Overrides(), environ={}).exec
    assert found is not None
    return found


def test_what_is_not_said(tmp_path: Path) -> None:
    found = plugin(tmp_path, command="login", args=None, env=None, apiVersion=V1BETA1, interactiveMode=None)
    assert found == ExecConfig("login", api_version=V1BETA1, interactive_mode="IfAvailable")


def test_all_of_it(tmp_path: Path) -> None:
    env = [{"name": "A", "value": "b"}, {"name": "C"}]
    found = plugin(tmp_path, command="login", args=["x", None], env=env, installHint="get it")
    assert (found.args, found.env, found.install_hint) == (("x", ""), (("A", "b"), ("C", "")), "get it")


def test_a_path_begins_at_the_kubeconfigs_folder(tmp_path: Path) -> None:
    wanted = {"login": "login", "./login": f"{tmp_path}/login", "bin/../login": f"{tmp_path}/login", "/x/l": "/x/l"}
    assert {text: plugin(tmp_path, command=text).command for text in wanted} == wanted


@looped(
    ("extensions", "told"),
    [
        (None, None),
        ([], None),
        ([None, {"name": "other", "extension": 1}], None),
        ([{"name": "other", "extension": 1}, {"name": EXTENSION, "extension": {"a": 2}}], {"a": 2}),
    ],
)
def test_what_it_is_told_of_the_cluster(tmp_path: Path, extensions: Any, told: Any) -> None:
    found = plugin(tmp_path, extensions, command="login", provideClusterInfo=True)
    assert (found.provide_cluster_info, found.cluster_config) == (True, told)
    assert plugin(tmp_path, extensions, command="login").cluster_config is None


def test_a_version_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        plugin(tmp_path, command="login", apiVersion="client.authentication.k8s.io/v9")
    assert str(raised.value) == 'exec plugin: invalid apiVersion "client.authentication.k8s.io/v9"'
    assert raised.value.detail[-1] == f"what there is: {V1}, {V1BETA1}"
