"""The account that a pod is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawkube.errors import ConfigError
from rawkube.kubeconfig.in_cluster import detect, require

CA = "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"
ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("t\n")
    (tmp_path / "ca.crt").write_text(CA)
    (tmp_path / "namespace").write_text("team\n")
    return tmp_path


def test_all_of_it(folder: Path) -> None:
    found = detect(ENVIRON, folder=str(folder))
    assert found == (
        "https://10.0.0.1:443",
        f"{folder}/token",
        f"{folder}/ca.crt",
        "team",
        f"{folder}/namespace",
        (),
    )
    assert require(ENVIRON, folder=str(folder)) == found


@pytest.mark.parametrize(
    ("host", "server"),
    [
        ("fd00:beef::1", "https://[fd00:beef::1]:443"),
        ("[::1]", "https://[::1]:443"),
        ("api", "https://api:443"),
    ],
)
def test_hosts(folder: Path, host: str, server: str) -> None:
    found = detect({**ENVIRON, "KUBERNETES_SERVICE_HOST": host}, folder=str(folder))
    assert found is not None
    assert found.server == server


@pytest.mark.parametrize("name", ENVIRON)
def test_both_variables_are_needed(folder: Path, name: str) -> None:
    assert detect({**ENVIRON, name: ""}, folder=str(folder)) is None
    with pytest.raises(ConfigError) as caught:
        require({**ENVIRON, name: ""}, folder=str(folder))
    assert str(caught.value) == (
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
    )


def test_the_token_file_is_needed(folder: Path) -> None:
    (folder / "token").unlink()
    assert detect(ENVIRON, folder=str(folder)) is None
    (folder / "token").mkdir()
    assert detect(ENVIRON, folder=str(folder)) is None
    with pytest.raises(ConfigError, match="token: no such file or directory"):
        require(ENVIRON, folder=str(folder))


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_without_a_usable_ca_the_systems_roots_are_used(folder: Path, content: str | None) -> None:
    (folder / "ca.crt").unlink()
    if content is not None:
        (folder / "ca.crt").write_text(content)
    found = detect(ENVIRON, folder=str(folder))
    assert found is not None
    assert found.ca_file == ""
    assert found.notes[0].startswith(f"Expected to load root CA config from {folder}/ca.crt")


@pytest.mark.parametrize(
    ("variable", "content", "wanted"),
    [
        ("mine", "team\n", ("mine", "$POD_NAMESPACE")),
        ("", " team \n", ("team", "{}/namespace")),
        ("", " \n", ("default", "default")),
        ("", None, ("default", "default")),
    ],
)
def test_namespace(folder: Path, variable: str, content: str | None, wanted: tuple[str, str]) -> None:
    (folder / "namespace").unlink()
    if content is not None:
        (folder / "namespace").write_text(content)
    found = detect({**ENVIRON, "POD_NAMESPACE": variable}, folder=str(folder))
    assert found is not None
    assert (found.namespace, found.namespace_from) == (wanted[0], wanted[1].format(folder))
