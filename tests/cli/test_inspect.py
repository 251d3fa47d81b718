"""`rawkube inspect`: recordings shown, filtered, summed up, followed, compared; and what is no recording.

What is changed of a recording is changed here; nothing that was not recorded passes for a recording.
"""

from __future__ import annotations

import gc
import io
import json
import signal
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.observe.levels import LEVELS
from tests.support.examples import examples, some
from tests.support.run import environment

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDINGS = sorted(FIXTURES.rglob("*.jsonl"))
EXEC = FIXTURES / "exec/v5-stdin-cat.jsonl"
EXIT_3 = FIXTURES / "exec/v5-exit-3.jsonl"
LARGE = FIXTURES / "exec/v5-large.jsonl"
ROLLOUT = FIXTURES / "rollout-listwatch/deployment-update.jsonl"
HEAD = b'{"format": "rawkube-wire/1", "client": "c", "server": "s", "note": "n"}\n'


def inspect(*args: str | Path) -> tuple[int, str, str]:
    """The exit code, stdout and stderr."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    code = main(["inspect", *map(str, args)], out=Output(stdout, stderr))
    return code, stdout.getvalue().decode(), stderr.getvalue().decode()


def shown(*args: str | Path) -> str:
    code, stdout, stderr = inspect(*args)
    assert (code, stderr) == (0, "")
    return stdout


def facts(*args: str | Path) -> list[dict[str, Any]]:
    lines = shown(*args, "-o", "json").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("path", some("levels", RECORDINGS, 4), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_recording_opens_at_every_level(path: Path) -> None:
    sizes = [len(shown(path, f"--level={level}")) for level in LEVELS]
    assert sizes == sorted(sizes)
    found = facts(path, "--level=bytes")
    assert (found[0]["kind"], found[-1]["kind"]) == ("recording", "summary")
    kinds = [fact["kind"] for fact in found]
    assert found[-1]["requests"] == kinds.count("request") > 0
    assert found[-1]["bytes"]["server"] > 0
    assert {fact["from"] for fact in found[1:-1]} <= {"client", "server"}


def test_a_rollout() -> None:
    text = shown(ROLLOUT)
    assert "status.updatedReplicas 2→3" in text
    assert "(6.2 ms)" in text
    (summary,) = [fact for fact in facts(ROLLOUT) if fact["kind"] == "summary"]
    (watch,) = summary["watches"]
    assert watch["events"] == {"MODIFIED": 9}
    assert 1.1 < watch["longestSilence"] < 1.3
    assert summary["statuses"] == {"200": 3}


def test_a_session_in_the_summary() -> None:
    text = shown(EXIT_3, "--summary")
    (line,) = [line for line in text.splitlines() if line.startswith("session")]
    assert "exit code 3" in line
    assert "← stdout 4 B" in line
    assert "→ GET" not in text
    (session,) = facts(LARGE, "--summary")[-1]["sessions"]
    assert session["channels"]["← stdout"] == 300_000
    assert session["protocol"] == "v5.channel.k8s.io"
    assert ["server", 1000] in session["closes"]


def test_messages_are_shown_when_asked_for() -> None:
    assert "one" not in shown(EXEC)
    assert "stdin 8 B" in shown(EXEC, "--level=frames")
    only = shown(EXEC, "--channel=stdin").partition("\n\n")[0]
    assert '→ stdin 8 B "one' in only
    assert "stdout" not in only
    assert "stdout 8 B" in shown(EXEC, "--channel=1,stdin")
    assert "/exec" in shown(EXEC, "--channel=stdin", "--type=request,message").partition("\n\n")[0]


def test_types() -> None:
    kinds = [fact["kind"] for fact in facts(EXEC, "--type=message,status")]
    assert set(kinds) == {"message", "status", "summary"}
    assert [fact["kind"] for fact in facts(EXEC, "--type=body")][:-1] == ["request-end", "response-end", "request-end"]
    assert "frame binary" in shown(EXEC, "--type=frame")
    sent = [fact["data"] for fact in facts(EXEC, "--type=message") if fact.get("name") == "stdin"]
    assert sent == ["one\ntwo\n"]


def test_connections_and_paths() -> None:
    assert {fact["conn"] for fact in facts(EXEC, "--conn=2") if "conn" in fact} == {2}
    assert {fact["conn"] for fact in facts(EXEC, "--conn=2", "--conn=1") if "conn" in fact} == {1, 2}
    found = facts(EXEC, "--path=/exec")
    assert {fact["request"] for fact in found if "request" in fact} == {2}
    assert found[-1]["requests"] == 1
    assert facts(EXEC, "--path=/nowhere")[-1]["requests"] == 0


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    found = [fact for fact in facts(FIXTURES / "exec/v5-binary.jsonl", "--type=message") if "dataBase64" in fact]
    assert found


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "inspect takes one recording"),
        (("a", "b"), "inspect takes one recording"),
        ((str(EXEC), "--level=loud"), "--level must be one of headers, events, frames, bytes"),
        ((str(EXEC), "--type=nothing"), "--type nothing: no kind of happening"),
        ((str(EXEC), "--channel=nothing"), "--channel nothing: no channel"),
        ((str(EXEC), "--conn=x"), "--conn"),
        ((str(EXEC), "-o", "yaml"), '--output must be "text" or "json"'),
        ((str(EXEC), "--diff=x", "--follow"), "--diff compares whole recordings"),
        (("-", "--diff=-"), "cannot be compared with itself"),
    ],
)
def test_command_lines_that_cannot_be_read(args: tuple[str, ...], said: str) -> None:
    code, stdout, stderr = inspect(*args)
    assert (code, stdout) == (1, "")
    assert said in stderr


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "an empty file, not a recording (rawkube-wire/1)"),
        (b"\n", "an empty file, not a recording (rawkube-wire/1)"),
        (b"\x7fELF\0\0\xff\n\n", ":1: not a recording: the first line does not say rawkube-wire/1"),
        (b"\0" * 1000, ":1: not a recording: the first line does not say rawkube-wire/1"),
        (b'{"kind": "Pod"}\n', ":1: not a recording: the first line does not say rawkube-wire/1"),
        (b"{\n", ":1: not a recording: the first line does not say rawkube-wire/1"),
        (b'{"log": {"entries": [', "a HAR file that is damaged or cut"),
        (b'{"log": {}}', "a HAR file that is damaged or cut"),
        (HEAD + b'{"conn": 1}\n', ":2: t is no number of seconds"),
        (HEAD + b"nothing\n", ":2: not a JSON object"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, data: bytes, said: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    for more in ((), ("-o", "json"), ("--diff", str(EXEC))):
        code, _, stderr = inspect(file, *more)
        assert code == 1
        assert said in stderr
        assert stderr.count("\n") == 1


def test_a_directory_and_nothing(tmp_path: Path) -> None:
    assert inspect(tmp_path)[2] == f"error: open {tmp_path}: is a directory\n"
    assert inspect(tmp_path / "x")[2] == f"error: open {tmp_path}/x: no such file or directory\n"


def test_what_came_before_the_damage_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "damaged.jsonl"
    lines = EXEC.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:5]) + b"{damage\n" + b"".join(lines[5:]))
    code, stdout, stderr = inspect(file)
    assert code == 1
    assert "200 OK" in stdout
    assert stderr == f"error: {file}:6: not a JSON object (a cut or damaged line)\n"


def test_unknown_members_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "later.jsonl"
    lines = [json.loads(line) | {"later": [1]} for line in EXEC.read_text().split("\n") if line]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert shown(file) == shown(EXEC)


def test_two_recordings_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "both.jsonl"
    file.write_bytes(EXEC.read_bytes() + EXIT_3.read_bytes())
    found = facts(file)
    assert [fact["kind"] for fact in found].count("recording") == 2
    one, other = facts(EXEC)[-1], facts(EXIT_3)[-1]
    assert found[-1]["requests"] == one["requests"] + other["requests"]
    assert found[-1]["connections"] == one["connections"] + other["connections"]
    assert [session["exitCode"] for session in found[-1]["sessions"]] == [0, 3]


@pytest.mark.parametrize("path", [EXEC, ROLLOUT], ids=["exec", "rollout"])
def test_a_recording_may_be_cut_at_any_line(tmp_path: Path, path: Path) -> None:
    file = tmp_path / "cut.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    before = 0
    for count in range(1, len(lines) + 1):
        file.write_bytes(b"".join(lines[:count]))
        now = facts(file, "--level=bytes")[-1]["bytes"]
        assert now is None or now["server"] >= before
        before = now["server"] if now else 0


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_a_recording_may_be_cut_anywhere(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([EXEC, EXIT_3, ROLLOUT, FIXTURES / "watch/gzip.jsonl"]))
    whole = path.read_bytes()
    at = data.draw(st.integers(whole.index(b"\n") + 1, len(whole)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cut.jsonl"
        file.write_bytes(whole[:at])
        code, stdout, stderr = inspect(file, "-o", "json")
    assert code == 0
    assert all(json.loads(line) for line in stdout.splitlines())
    assert stderr == "" or stderr.endswith("ends in the middle of a line: its writer was stopped\n")


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "evil.jsonl"
    evil = "\x1b]0;x\x07\x9b31m\u202e"
    pieces = [
        {"conn": 1, "t": 0, "from": "client", "text": f"GET /{evil} HTTP/1.1\r\nX: {evil}\r\n\r\n"},
        {"conn": 1, "t": 0, "from": "server", "text": f"HTTP/1.1 200 {evil}\r\nContent-Length: 9\r\n\r\n{evil}"},
        {"conn": 1, "t": 0, "from": "server", "error": evil},
    ]
    head = {"format": "rawkube-wire/1", "client": evil, "server": evil, "note": evil}
    file.write_text("".join(json.dumps(line) + "\n" for line in (head, *pieces)))
    for args in (("--level=bytes",), ("-o", "json", "--level=bytes"), ("--diff", str(EXEC))):
        _, stdout, stderr = inspect(file, *args)
        assert not set("\x1b\x07\x9b\u202e") & set(stdout + stderr)
        assert stdout


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "rawkube", "inspect", *args]


def test_a_pipe(tmp_path: Path) -> None:
    env = environment(tmp_path, "http://127.0.0.1:1")
    with EXEC.open("rb") as stdin:
        ran = subprocess.run(command("-"), stdin=stdin, capture_output=True, env=env)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.decode() == shown(EXEC)


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    env = environment(tmp_path, "http://127.0.0.1:1")
    started = subprocess.Popen(
        command(str(LARGE), "--level=bytes"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    )
    assert started.stdout is not None
    assert started.stderr is not None
    with started:
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == -signal.SIGPIPE


def test_follow(tmp_path: Path) -> None:
    """A recording that is written while it is read, a line in two halves; Ctrl-C ends it with a summary."""
    lines = EXEC.read_bytes().splitlines(keepends=True)
    file = tmp_path / "growing.jsonl"
    file.write_bytes(b"")
    env = environment(tmp_path, "http://127.0.0.1:1")
    started = subprocess.Popen(command("-f", str(file)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    stuck = threading.Timer(30, started.kill)
    stuck.start()
    assert started.stdout is not None
    assert started.stderr is not None
    with started, file.open("ab", buffering=0) as growing:
        growing.write(lines[0] + lines[1][:20])
        assert started.stdout.readline().startswith(b"recording of kubectl")
        growing.write(lines[1][20:])
        assert started.stdout.readline().endswith(b"GET /api/v1/namespaces/demo/pods/shell\n")
        growing.write(b"".join(lines[2:]))
        seen = b""
        while b"status Success" not in seen:
            line = started.stdout.readline()
            assert line
            seen += line
        growing.truncate(0)
        assert started.stderr.readline().endswith(b"growing.jsonl was emptied: from its beginning again\n")
        growing.write(b"".join(EXIT_3.read_bytes().splitlines(keepends=True)))
        while b"status NonZeroExitCode 3" not in seen:
            line = started.stdout.readline()
            assert line
            seen += line
        started.send_signal(signal.SIGINT)
        rest = started.stdout.read()
        assert started.stderr.read() == b""
    stuck.cancel()
    assert started.returncode == 130
    assert b"session  v5.channel.k8s.io" in rest


def many(file: Path, connections: int) -> Path:
    """A recording made here, of requests that are all on connections of their own."""
    lines = [HEAD.decode()]
    for conn in range(1, connections + 1):
        sent = {"conn": conn, "t": conn / 10, "from": "client", "text": f"GET /x/{conn}?watch=1 HTTP/1.1\r\n\r\n"}
        body = json.dumps({"type": "ADDED", "object": {"kind": "Pod", "metadata": {"name": "a"}, "n": conn}})
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        lines += [json.dumps(sent), json.dumps({**sent, "from": "server", "text": head + body})]
        lines += [
            json.dumps({"conn": conn, "t": conn / 10, "from": side, "eof": True}) for side in ("client", "server")
        ]
    file.write_text("\n".join(lines).replace("\n\n", "\n") + "\n")
    return file


@pytest.fixture
def tidy() -> Iterator[None]:
    """Garbage goes at once, whatever the version of Python."""
    before = gc.get_threshold()
    gc.set_threshold(50, 5, 5)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("tidy")
def test_what_is_kept_does_not_grow_with_the_recording(tmp_path: Path) -> None:
    peaks = []
    for connections in (60, 60, 240):
        file = many(tmp_path / "many.jsonl", connections)
        tracemalloc.start()
        code = main(["inspect", str(file), "--summary"], out=Output(Nowhere(), io.BytesIO()))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert code == 0
    assert peaks[2] < peaks[1] + 250_000, peaks  # 180 connections that were kept would cost some 2 KB each
    found = facts(file, "--summary")[-1]
    assert (found["connections"], found["requests"]) == (240, 240)
    assert len(found["watches"]) + found["moreWatches"] == 240 > len(found["watches"])


class Nowhere(io.BytesIO):
    def write(self, data: Any) -> int:
        return len(data)


def test_compared() -> None:
    code, stdout, stderr = inspect(EXEC, "--diff", EXEC)
    assert (code, stderr) == (0, "")
    assert stdout.startswith("Alike: 2 exchanges.")
    code, stdout, stderr = inspect(EXEC, "--diff", EXIT_3)
    assert (code, stderr) == (1, "")
    first, *rest = stdout.splitlines()
    assert "query is command=cat stdin=true in A" in first
    assert "  exit code" in rest
    code, stdout, stderr = inspect(EXEC, "--diff", EXIT_3, "-o", "json")
    assert (code, stderr) == (1, "")
    found = [json.loads(line) for line in stdout.splitlines()]
    assert {"query", "exit code", "half-close"} <= {fact.get("what") for fact in found}
    assert found[-1]["alike"] is False
    assert found[-1]["differences"] == len(found) - 1
