"""Everything together: files, flags, environment and the pod's own account → one connection."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rawkube.errors import ConfigError
from rawkube.kubeconfig import access_from
from rawkube.kubeconfig.access import Overrides

ROOT = Path(__file__).parents[2]

SPLIT_1 = "clusters: [{name: c, cluster: {server: https://h, certificate-authority: ca.pem}}]\n"
SPLIT_2 = (
    "users: [{name: u, user: {tokenFile: t}}]\n"
    "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
    "current-context: x\n"
)


def test_a_configuration_in_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("1", SPLIT_1), ("2", SPLIT_2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config").write_text(text)
    (tmp_path / "1" / "ca.pem").touch()
    monkeypatch.chdir(tmp_path)
    found = access_from(environ={"KUBECONFIG": "1/config:/none:2/config"})
    assert found.access.ca_file == f"{tmp_path}/1/ca.pem"
    assert found.access.token_file == f"{tmp_path}/2/t"
    assert found.config.missing == ("/none",)
    assert found.in_cluster is None


def test_certificate_files_are_looked_for(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(SPLIT_1 + "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n")
    with pytest.raises(ConfigError) as caught:
        access_from(str(tmp_path / "config"), environ={})
    assert str(caught.value) == (
        f"unable to read certificate-authority {tmp_path}/ca.pem for c "
        f"due to open {tmp_path}/ca.pem: no such file or directory"
    )
    assert caught.value.detail == (f"set by {tmp_path}/config:1 (clusters[c].cluster.certificate-authority)",)


def test_in_a_pod(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    environ = {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    found = access_from("", Overrides(as_user="jane"), environ=environ, service_account=str(tmp_path))
    assert found.access.server == "https://[::1]:443"
    assert found.access.impersonate_user == "jane"
    assert found.access.ca_file == ""
    assert "Expected to load root CA config" in found.access.notes[-1]
    with pytest.raises(ConfigError, match="stat /none: no such file or directory"):
        access_from("/none", environ=environ, service_account=str(tmp_path))
    environ["KUBECONFIG"] = "/none"
    found = access_from(environ=environ, service_account=str(tmp_path))
    assert found.access.server == "https://[::1]:443"
    assert found.access.notes[0] == "KUBECONFIG names no file that exists: /none"


SCRIPT = """
import sys
from rawkube.kubeconfig import access_from
access_from(sys.argv[1], environ={})
slow = ["yaml", "httpx", "urllib", "pathlib", "dataclasses", "ipaddress", "ssl", "socket", "logging", "select"]
print([name for name in slow if name in sys.modules])
"""


def test_nothing_slow_is_imported(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text('{"clusters": [{"name": "c", "cluster": {"server": "https://h"}}]}')
    done = subprocess.run(
        [sys.executable, "-S", "-c", SCRIPT, str(file)], check=True, cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
