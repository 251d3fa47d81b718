"""`--trace`, `-v` and `--record`: what is seen of a command, and what is not."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.observe.conversation import Conversation, Happening
from rawkube.observe.recording import Recording
from rawkube.observe.replay import Replay
from tests.support.here import own_streams, run_here
from tests.support.run import ROOT, environment, kubeconfig
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import Authority

FIXTURES = ROOT / "fixtures"
MARK = "m4rk-of-a-secret"
DONE = 'deployment "web" successfully rolled out\n'


def rawkube(*args: str, config: str) -> tuple[str, str, int]:
    out, err = io.BytesIO(), io.BytesIO()
    code = main(["--kubeconfig", config, *args], out=Output(out, err))
    return out.getvalue().decode(), err.getvalue().decode(), code


def rollout(*flags: str, config: str) -> tuple[str, str, int]:
    return rawkube("rollout", "status", "deployment/web", *flags, config=config)


UPDATE = FIXTURES / "rollout-listwatch/deployment-update.jsonl"


@pytest.fixture
def replay() -> Replay:
    return Replay(UPDATE, speed=None)


def test_a_trace_in_a_file_tells_the_whole_way(replay: Replay, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.touch(mode=0o644)  # of another time, for others to read
    with replay as server:
        stdout, stderr, code = rollout(f"--trace={trace}", config=server.kubeconfig)
    assert (code, stderr) == (0, "")
    assert stdout.endswith(DONE)
    lines = trace.read_text().splitlines()
    assert any("connect 127.0.0.1:" in line for line in lines)
    assert any("→ GET /apis/apps/v1/namespaces/" in line for line in lines)
    assert any("← 200 OK  (" in line for line in lines)
    assert any("← MODIFIED Deployment demo/web rv " in line and "status.updatedReplicas 2→3" in line for line in lines)
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("flags", "shown", "hidden"),
    [
        (["--trace-level=headers"], "200 OK", "MODIFIED"),
        (["--trace-level=events"], "MODIFIED", "chunk "),
        (["--trace-level=frames"], "chunk ", '"kind":"Deployment"'),
        (["--trace-level=bytes"], '"kind":"Deployment', "nothing is hidden"),
        ([], "chunk ", '"kind":"Deployment'),
    ],
)
def test_levels(flags: Sequence[str], shown: str, hidden: str, replay: Replay, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with replay as server:
        assert rollout(f"--trace={trace}", *flags, config=server.kubeconfig)[2] == 0
    text = trace.read_text()
    assert shown in text
    assert hidden not in text


ONCE = ("rollout", "status", "deploy/web", "-w=false")


def test_on_stderr(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Past what the command itself writes: straight to the descriptor."""
    for args, variable, traced in (
        (["--trace"], "", True),
        (["-v6"], "", True),
        (["-v=9"], "", True),
        (["-v", "5"], "", False),
        ([], "1", True),
        ([], "0", False),
        ([], "", False),
    ):
        monkeypatch.setenv("RAWKUBE_TRACE", variable)
        with Replay(UPDATE, speed=None) as server:
            stdout, stderr, code = rawkube(*ONCE, *args, config=server.kubeconfig)
        assert (code, stderr) == (0, ""), (args, variable)
        assert stdout.startswith("Waiting for ")
        told = capfd.readouterr().err
        assert ("→ GET /apis/apps/v1/" in told) is bool(told) is traced, (args, variable, told)


def test_the_file_of_a_variable(replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAWKUBE_TRACE", str(tmp_path / "t"))
    monkeypatch.setenv("RAWKUBE_RECORD", str(tmp_path))
    with replay as server:
        _, stderr, code = rawkube(*ONCE, config=server.kubeconfig)
    assert (code, stderr) == (0, "")
    assert "→ GET" in (tmp_path / "t").read_text()
    (made,) = tmp_path.glob("rawkube-*.jsonl")
    with Recording(made) as recording:
        assert any(b"GET /apis" in piece.data for piece in recording)


# Recordings.


def conversation(path: Path) -> list[tuple[str, object]]:
    """What happened, without what differs from time to time: times, ports, keys, cuts."""
    told, found = Conversation(), []
    with Recording(path) as recording:
        for piece in recording:
            found += told.feed(piece.conn, piece.t, piece.side, piece.data)
    return [said for happening in found if (said := _said(happening))]


def _said(happening: Happening) -> tuple[str, object] | None:
    data = happening.data
    if happening.kind == "request":
        return happening.kind, (data["method"], data["target"].partition("timeoutSeconds")[0])
    if happening.kind == "response":
        return happening.kind, data["status"]
    if happening.kind == "watch":
        return happening.kind, (data["type"], data["name"], data["resourceVersion"], data["changes"])
    if happening.kind == "message" and data["size"]:
        return happening.kind, (data["name"], data["size"], data["data"])
    if happening.kind in ("status", "close", "upgrade"):
        return happening.kind, data
    return None


COMMANDS = {
    "rollout-listwatch/deployment-update": "rollout status deployment/web -n demo",
    "rollout-listwatch/deployment-deleted": "rollout status deployment/gone -n demo",
    "rollout-listwatch/statefulset-update": "rollout status sts/db -n demo",
    "rollout-listwatch/daemonset-update": "rollout status ds/agent -n demo",
    "rollout/deployment-not-found": "rollout status deployment/nope -n demo",
    "rollout/several": "rollout status deployment/web daemonset/agent deployment/nope -n demo",
    "exec/v5-exit-3": "exec shell -n demo -- sh -c 'echo out; echo err >&2; exit 3'",
    "exec/v5-large": "exec shell -n demo -- X",
    "verbs/get-table": "get deploy,ds,sts,pods -n demo",
    "verbs/history": "rollout history deployment/web -n demo",
    "watch/list-then-watch": "watch deployment/web -n demo --count=9",
}


def words_of(name: str) -> list[str]:
    import shlex

    words = shlex.split(COMMANDS[name])
    if words[-1] == "X":  # the command that was recorded
        expected = json.loads((FIXTURES / f"{name}.expected.json").read_text())["args"]
        words[words.index("--") :] = expected[expected.index("--") :]
    return words


@pytest.mark.parametrize("name", COMMANDS)
def test_a_recording_of_a_replay_is_the_same_conversation(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    recordings = [FIXTURES / f"{name}.jsonl", tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    ran = []
    for source, made in pairwise(recordings):
        with Replay(source, speed=None) as server, own_streams():
            ran.append(run_here(f"--record={made}", *words_of(name), config=server.kubeconfig))
    if name != "watch/list-then-watch":  # its lines begin with the time
        assert (ran[0].data, ran[0].code) == (ran[1].data, ran[1].code), ran
    assert ran[0].data or ran[0].code
    assert conversation(recordings[1]) == conversation(recordings[2])


def test_a_recording_is_replayed_with_its_secrets_out(tmp_path: Path) -> None:
    body = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"a": MARK}}

    def serve(peer: Peer) -> None:
        peer.read_request()
        peer.reply(json.dumps(body))

    authority = Authority()
    made, trace = tmp_path / "r.jsonl", tmp_path / "t"
    with ScriptedServer(serve, tls=authority.server("127.0.0.1")) as server:
        config = tmp_path / "config"
        config.write_text(kubeconfig(server.url))
        flags = [f"--token={MARK}", "--insecure-skip-tls-verify", f"--record={made}", f"--trace={trace}"]
        stdout, stderr, code = rawkube(
            "get", "secret", "s", "-o", "json", *flags, "--trace-level=bytes", config=str(config)
        )
    assert code == 0, stderr
    assert MARK in stdout
    assert MARK not in made.read_text() + trace.read_text() + stderr
    assert "tls TLSv1." in trace.read_text()
    assert "credentials" in trace.read_text() or "bearer token" in trace.read_text()
    with Replay(made, speed=None) as replayed:
        shown = json.loads(rawkube("get", "secret", "s", "-o", "json", config=replayed.kubeconfig)[0])
    assert shown["data"] == {"a": "<redacted>"}


def test_secrets_are_kept_where_that_is_asked_for_and_said_loudly(tmp_path: Path) -> None:
    def serve(peer: Peer) -> None:
        peer.read_request()
        peer.reply(json.dumps({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"a": MARK}}))

    made = tmp_path / "r.jsonl"
    with ScriptedServer(serve) as server:
        config = tmp_path / "config"
        config.write_text(kubeconfig(server.url))
        _, stderr, code = rawkube(
            "get", "secret", "s", "-o", "name", f"--record={made}", "--record-secrets", config=str(config)
        )
    assert code == 0
    assert "SECRETS ARE RECORDED" in stderr
    assert MARK in made.read_text()


def test_a_trace_of_a_session(tmp_path: Path) -> None:
    trace = tmp_path / "t"
    with Replay(FIXTURES / "exec/v5-exit-3.jsonl", speed=None) as server, own_streams():
        ran = run_here(f"--trace={trace}", *words_of("exec/v5-exit-3"), config=server.kubeconfig)
    assert (ran.code, ran.stdout) == (3, "out\n")
    text = trace.read_text()
    for line in (
        "upgraded to a WebSocket, v5.channel.k8s.io",
        '← stdout 4 B "out\\n"',
        '← stderr 4 B "err\\n"',
        "← status NonZeroExitCode 3",
        "← close 1000",
        "→ close 1000",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--trace-level=loud"], '--trace-level must be one of headers, events, frames, bytes, not "loud"'),
        (["--trace=/no/such/folder/t"], "--trace: open /no/such/folder/t: there is no folder /no/such/folder; name "),
        (["--record=/no/such/folder/r"], "--record: open /no/such/folder/r: there is no folder /no/such/folder; name "),
    ],
)
def test_what_cannot_be(flags: list[str], text: str, replay: Replay) -> None:
    with replay as server:
        stdout, stderr, code = rollout(*flags, config=server.kubeconfig)
    assert (stdout, code) == ("", 1)
    assert text in stderr
    assert server.unmatched == []


def test_nothing_of_it_is_loaded_without_being_asked(replay: Replay, tmp_path: Path) -> None:
    code = "import sys; from rawkube.cli.main import main; main(sys.argv[1:]); print([m for m in sys.modules if 'observe' in m])"
    with replay as server:
        env = environment(tmp_path, server.url, PYTHONPATH=str(ROOT))
        command = [sys.executable, "-c", code, "rollout", "status", "deploy/web", "-w=false", "-n=demo"]
        ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert ran.stdout.splitlines()[-1] == "[]", ran
    assert os.environ.get("RAWKUBE_TRACE") is None
