"""The real kubectl as the judge of scalars, merge and refusals (`kubectl config view`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import ConfigError
from rawkube.kubeconfig.document import parse
from rawkube.kubeconfig.load import load
from rawkube.kubeconfig.yaml_scalars import key, plain
from tests.kubeconfig.test_load import GO_TYPES
from tests.kubeconfig.test_yaml_scalars import FALSE, NULL, NUMBERS, STRINGS, TRUE

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(KUBECTL is None, reason="no kubectl here"),
]


def kubectl(folder: Path, *files: str, kubeconfig: str = "") -> subprocess.CompletedProcess[str]:
    environ = {"HOME": str(folder), "PATH": os.environ.get("PATH", ""), "KUBECONFIG": ":".join(files)}
    command = [str(KUBECTL), "config", "view", "--raw", "-o", "json"]
    if kubeconfig:
        command += ["--kubeconfig", kubeconfig]
    return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60, check=False)


def view(folder: Path, *files: str) -> dict[str, Any]:
    done = kubectl(folder, *files)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_scalars(tmp_path: Path) -> None:
    texts = [*TRUE, *FALSE, *(t for t in NULL if t), *STRINGS.split(), *(text for text, _ in NUMBERS)]
    lines = [
        "extensions:",
        "- name: a",
        "  extension:",
        "    values:",
        *(f"    - {t}" for t in texts if t not in ("-", "--")),
    ]
    (tmp_path / "c").write_text("\n".join(lines) + "\n")
    found = view(tmp_path, str(tmp_path / "c"))["extensions"][0]["extension"]["values"]
    for text, theirs in zip((t for t in texts if t not in ("-", "--")), found, strict=True):
        ours = plain(text)
        if isinstance(ours, int | float) and not isinstance(ours, bool):
            assert float(theirs) == float(ours), text
        else:
            assert (ours, type(ours)) == (theirs, type(theirs)), text


def test_keys(tmp_path: Path) -> None:
    texts = ["1", "true", "1.5", "y", "1e3", "1e6", "123456.7", "16777217.0", "1e20", "-1.5", "0.1", "1e-4"]
    texts += ["1e-5", "3.4e39", "0x10", "2024-01-02", "-.inf", "name"]
    lines = ["extensions:", "- name: a", "  extension:", *(f"    {t}: v" for t in texts)]
    (tmp_path / "c").write_text("\n".join(lines) + "\n")
    found = view(tmp_path, str(tmp_path / "c"))["extensions"][0]["extension"]
    assert set(found) == {key(plain(text)) for text in texts}


STRUCTURES = """\
extensions:
- name: a
  extension:
    base: &b {k: one, l: 1}
    after: {<<: *b, k: two}
    before: {k: two, <<: *b}
    list: {<<: [{k: x}, {k: y, m: z}]}
    tagged: [!!str 12, !custom 12, ! 12, !!int "7", !!float 1, !!binary aGVsbG8=, !!bool yes, !!null ""]
    text: |
      a
       b
    folded: >-
      a
      b

      c
    quoted: ["y", 'null', "\\u00e9", '']
    empty: {a: , b: [], c: {}}
    twice: 1
    twice: 2
"""


def test_structures(tmp_path: Path) -> None:
    (tmp_path / "c").write_text(STRUCTURES)
    ours = parse(STRUCTURES).value["extensions"][0]["extension"]
    assert view(tmp_path, str(tmp_path / "c"))["extensions"][0]["extension"] == ours


FILES = (
    "clusters: [{name: c, cluster: {server: 'https://one'}}]\ncurrent-context: ''\n",
    "clusters: [{name: c, cluster: {server: 'https://two', tls-server-name: t}}, {name: '1'}, null]\n"
    "users: [{name: u, user: {token: t, as: jane}}, {name: v}]\ncurrent-context: x\n",
    "# nothing",
    '{"users": [{"name": "u", "user": {"username": "other"}}], "contexts": [{"name": "x", "context": {"cluster": "c"}}]}',
    "contexts: [{name: x, context: {cluster: d, namespace: ns}}, {name: z, context: null}]\ncurrent-context: z\n---\na: [",
)


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (1, 0), (3, 1)])
def test_merge(tmp_path: Path, order: tuple[int, ...]) -> None:
    names = []
    for index in order:
        names.append(str(tmp_path / str(index)))
        Path(names[-1]).write_text(FILES[index])
    names.insert(1, "/none")
    theirs = view(tmp_path, *names)
    ours = load(environ={"KUBECONFIG": ":".join(names)})
    assert ours.current_context == theirs["current-context"]
    for section, body in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
        empty = {"server": ""} if section == "clusters" else {"cluster": "", "user": ""} if body == "context" else {}
        found = {name: {**empty, **entry.value} for name, entry in getattr(ours, section).items()}
        assert found == {e["name"]: e[body] for e in theirs[section] or ()}


REFUSED = [
    *(row[0] for row in GO_TYPES[::2]),
    "apiVersion: 1",
    "a: [",
    "a: *b",
    "clusters: [{name: c, cluster: {certificate-authority-data: '<x>'}}]",
    "a: !!int 1.0",
    "<<: 3",
]


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_refusals(tmp_path: Path, text: str) -> None:
    file = str(tmp_path / "c")
    Path(file).write_text(text)
    done = kubectl(tmp_path, kubeconfig=file)
    assert done.returncode == 1
    with pytest.raises(ConfigError) as caught:
        load(file, environ={})
    if ": yaml: " in done.stderr:
        assert f"error: {str(caught.value).partition(': yaml: ')[0]}" == done.stderr.partition(": yaml: ")[0]
    else:
        assert f"error: {caught.value}" == done.stderr.strip()


@pytest.mark.parametrize("section", ["clusters", "users", "contexts", "extensions"])
def test_duplicate_names(tmp_path: Path, section: str) -> None:
    file = str(tmp_path / "c")
    Path(file).write_text(f"{section}: [{{name: a, extension: {{k: v}}}}, {{name: a}}]")
    with pytest.raises(ConfigError) as caught:
        load(file, environ={})
    assert kubectl(tmp_path, kubeconfig=file).stderr.startswith(f"error: {caught.value}")
