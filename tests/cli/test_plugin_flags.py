"""What a command says about stdin, and the flags for credential plugins."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rawkube.cli.commands import read_command
from rawkube.cli.connection import use_of_stdin
from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.plugins import TokenServer, shell, user
from tests.support.rows import looped
from tests.support.run import kubeconfig


@looped(
    ("line", "use"),
    [
        ("exec -i web -- sh", "used by --stdin"),
        ("exec web -- sh", ""),
        ("attach -i web", "used by --stdin"),
        ("attach web", ""),
        ("exec -f - -- ls", "used by stdin resource manifest reader"),
        ("exec -f web.yaml -- ls", ""),
        ("cp web:/a b", ""),
    ],
)
def test_what_reads_stdin(line: str, use: str) -> None:
    _, parsed = read_command(line.split())
    assert use_of_stdin(parsed) == use


def run(folder: Path, command: str, *flags: str) -> str:
    """The last line of stderr of a command that has to ask the plugin."""
    err = io.BytesIO()
    with TokenServer() as server:
        (folder / "config").write_text(kubeconfig(server.url, cluster=server.cluster(), user=user(command)))
        words = ["--kubeconfig", str(folder / "config"), "--kuberc", "/dev/null", *flags]
        assert main([*words, "rollout", "status", "deploy/web"], out=Output(io.BytesIO(), err)) == 1
        assert server.tokens == []
    return err.getvalue().decode().splitlines()[-1]


def test_the_time_of_a_plugin(tmp_path: Path) -> None:
    command = shell(tmp_path, "exec sleep 60")
    said = run(tmp_path, command, "--plugin-timeout=200ms")
    text = f"getting credentials: exec: executable {command} did not end within 200ms"
    assert said == f"Unable to connect to the server: {text}"


def test_the_preferences(tmp_path: Path) -> None:
    value = {"apiVersion": "kubectl.config.k8s.io/v1beta1", "kind": "Preference", "credentialPluginPolicy": "DenyAll"}
    (tmp_path / "rc").write_text(json.dumps(value))
    said = run(tmp_path, shell(tmp_path, "exit 9"), f"--kuberc={tmp_path}/rc")
    assert said.endswith(f'plugin "{tmp_path}/plugin" not allowed: policy set to "DenyAll"')
    assert run(tmp_path, shell(tmp_path, "exit 9"), "--kuberc=/no/such") == (
        "error occurred while applying preferences kuberc error kuberc: open /no/such: no such file or directory"
    )
