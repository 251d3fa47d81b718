"""The real kubectl against recordings of several commands, or of commands that need files or a second program."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rawkube.cli.replay import environment
from rawkube.observe.replay import Replay, load
from tests.observe.made import FIXTURES
from tests.replay.test_recorded_exec import messages

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")
# Recordings of commands that are not played to kubectl here, and why.
NOT_PLAYED = {
    "exec/port-forward": "the bytes in its frames are a SPDY connection, in which another program's request is packed",
}
# The sessions of exec, in test_recorded_exec; a terminal's, too.
EXEC = "exec/"

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(KUBECTL is None, reason="no kubectl"),
]


def expected(name: str) -> dict[str, Any]:
    found = json.loads((FIXTURES / f"{name}.expected.json").read_text())
    assert isinstance(found, dict)
    return found


def kubectl(server: Replay, args: Sequence[str], **how: Any) -> subprocess.CompletedProcess[str]:
    assert KUBECTL is not None
    env = environment(os.environ, server.kubeconfig, server.folder)
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.run([KUBECTL, *args], env=env, text=True, timeout=60, check=False, **how)


def test_logs() -> None:
    commands = [
        ["logs", "multi", "--all-containers", "--tail=3"],
        ["logs", "deploy/web", "--tail=2"],
        ["logs", "nope"],
    ]
    bodies = [e.answer.body for e in load(FIXTURES / "verbs/logs.jsonl") if e.target.partition("?")[0].endswith("/log")]
    said = b"".join(chunk.data for body in bodies for chunk in body).decode()
    with Replay(FIXTURES / "verbs/logs.jsonl") as server:
        ran = [kubectl(server, args) for args in commands]
        assert (server.unmatched, server.unasked) == ([], [])
    assert [done.returncode for done in ran] == [0, 0, 1]
    assert "".join(done.stdout for done in ran) == said
    # One line is of the server's discovery, which is not in the recording.
    lines = expected("verbs/logs")["stderr"].splitlines()
    assert "".join(done.stderr for done in ran).splitlines() == lines[1:]


def test_ambiguous_names() -> None:
    """Discovery is in the recording: asked for once, kept, asked for again with its ETag."""
    name = "discovery/kubectl-ambiguous"
    told: list[str] = []
    blocks = expected(name)["transcript"].removesuffix("exit code 1\n").split("== ")[1:]
    with Replay(FIXTURES / f"{name}.jsonl", strict=True) as server:
        for block in blocks:
            word = block.partition("\n")[0]
            done = kubectl(server, ["get", word], stderr=subprocess.STDOUT)
            told.append(f"{word}\n{done.stdout}")
        assert server.refused() == []
    assert told == blocks
    assert done.returncode == 1


def test_cp_out_of_a_pod(tmp_path: Path) -> None:
    name = "verbs/cp-down"
    with Replay(FIXTURES / f"{name}.jsonl", strict=True) as server:
        done = kubectl(server, ["cp", "shell:/tmp/up", str(tmp_path / "down")])
        assert server.refused() == []
    assert (done.returncode, done.stdout) == (0, "tar: removing leading '/' from member names\n")
    assert done.stderr.replace(str(tmp_path), "/tmp/rec") == expected(name)["stderr"]
    copied = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert copied == expected(name)["transcript"].splitlines()[1:-1]


def test_cp_of_what_is_not_there(tmp_path: Path) -> None:
    """kubectl ends before or after it has passed on what the container said: nothing was printed then, or both lines."""
    with Replay(FIXTURES / "verbs/cp-missing.jsonl", strict=True) as server:
        done = kubectl(server, ["cp", "shell:/srv/absent", str(tmp_path / "absent")])
        assert server.refused() == []
    session = load(FIXTURES / "verbs/cp-missing.jsonl")[1].session
    said = b"".join(m.payload for m in messages(session) if (m.side, m.channel) == ("server", 2)).decode()
    assert "absent" in said
    assert set((done.stdout + done.stderr).splitlines()) <= set(said.splitlines())
    assert done.returncode == expected("verbs/cp-missing")["exit_code"]


def test_cp_into_a_pod(tmp_path: Path) -> None:
    """The files are those that the recorded kubectl sent."""
    name = "verbs/cp-up"
    session = load(FIXTURES / f"{name}.jsonl")[-1].session
    sent = b"".join(m.payload for m in messages(session) if (m.side, m.channel) == ("client", 0))
    with tarfile.open(fileobj=io.BytesIO(sent)) as archive:
        archive.extractall(tmp_path, filter="data")
        root = archive.getnames()[0].split("/")[0]
    with Replay(FIXTURES / f"{name}.jsonl", strict=True) as server:
        done = kubectl(server, ["cp", str(tmp_path / root), "shell:/tmp/up"])
        assert server.refused() == []
    wanted = expected(name)
    assert (done.stdout, done.stderr, done.returncode) == (wanted["stdout"], wanted["stderr"], wanted["exit_code"])


def until(server: Replay, args: Sequence[str], lines: int) -> tuple[list[str], str]:
    """Run kubectl until it has printed so many lines, and end it as `timeout` does. Its stdout and stderr."""
    assert KUBECTL is not None
    env = environment(os.environ, server.kubeconfig, server.folder)
    process = subprocess.Popen([KUBECTL, *args], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert process.stdout and process.stderr
        found = [process.stdout.readline() for _ in range(lines)]
        process.terminate()
        return found + process.stdout.readlines(), process.stderr.read()


def test_attach_and_a_followed_log() -> None:
    name = "exec/attach-tty-less"
    *ticks, last = expected(name)["transcript"].splitlines(keepends=True)
    with Replay(FIXTURES / f"{name}.jsonl", strict=True) as server:
        attached, notes = until(server, ["attach", "ticker"], 6)
        followed, _ = until(server, ["logs", "-f", "--tail=3", "ticker"], 7)
        assert server.refused() == []
    assert attached + followed == ticks
    assert notes == expected(name)["stderr"]
    assert last == "exit code 124\n"


def test_what_is_not_played_is_named() -> None:
    """Every other recording of exec has its command line written down, or is a terminal's."""
    terminals = {"exec/v5-tty-not-a-terminal", "exec/v5-tty-terminal"}
    paths = FIXTURES.glob("exec/*.expected.json")
    transcripts = {
        f"exec/{p.name.removesuffix('.expected.json')}" for p in paths if "args" not in json.loads(p.read_text())
    }
    assert transcripts - terminals - {"exec/attach-tty-less"} == set(NOT_PLAYED)
