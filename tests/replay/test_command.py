from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rawkube.cli.replay import environment, own_program, parse_speed, replay_command
from rawkube.errors import RecordingError, UsageError
from tests.observe.made import DEPLOYMENTS, Script, answer, listing, written
from tests.support.streams import Caught, run_with_streams

ROOT = Path(__file__).parents[2]

# Starts three times as fast as a program with json and urllib.
ASK = """
import os, socket, sys
host, _, port = open(os.environ["KUBECONFIG"]).read().split('"http://')[1].split('"')[0].partition(":")
def ask(path=sys.argv[1]):
    with socket.create_connection((host, int(port)), 10) as sock:
        sock.sendall(f"GET {path} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode())
        data = b""
        while more := sock.recv(4096):
            data += more
    head, _, body = data.decode().partition("\\r\\n\\r\\n")
    status = head.split()[1]
    sys.stdout.write(body if status == "200" else status)
    return status
"""
ASK_ONCE = f"{ASK}\nraise SystemExit(ask() != '200')"
WITH_PROXIES = """
import json, os, sys, urllib.request
config = json.load(open(os.environ["KUBECONFIG"]))
url = config["clusters"][0]["cluster"]["server"] + sys.argv[1]
sys.stdout.write(urllib.request.urlopen(url, timeout=10).read().decode())
"""


@pytest.fixture
def recording(tmp_path: Path) -> str:
    script = Script().ask("/a", answer("hello", content_type="text/plain")).ask(DEPLOYMENTS, answer(listing(1)))
    return str(written(tmp_path / "a.jsonl", script.pieces))


def python(code: str, *args: str) -> list[str]:
    return [sys.executable, "-S", "-c", textwrap.dedent(code), *args]


def test_a_program_asks_the_recording(recording: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert replay_command(recording, None, python(ASK_ONCE, "/a")) == 0
    assert capfd.readouterr() == ("hello", "")


def test_proxies_are_not_asked(
    recording: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "example.com")
    assert replay_command(recording, None, python(WITH_PROXIES, "/a")) == 0
    assert capfd.readouterr() == ("hello", "")


def test_the_environment() -> None:
    env = environment({"HOME": "/h", "KUBECONFIG": "x", "NO_PROXY": "a, b,localhost"}, "/t/kubeconfig", "/t")
    assert env == {
        "HOME": "/h",
        "KUBECONFIG": "/t/kubeconfig",
        "KUBECACHEDIR": "/t/cache",
        "NO_PROXY": "a,b,localhost,127.0.0.1",
        "no_proxy": "127.0.0.1,localhost",
    }


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_the_exit_code(recording: str, code: str, expected: int) -> None:
    assert replay_command(recording, None, python(code)) == expected


def test_the_folder_is_private_and_removed(recording: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = """
        import os
        print(os.environ["KUBECONFIG"], oct(os.stat(os.path.dirname(os.environ["KUBECONFIG"])).st_mode)[-3:])
    """
    assert replay_command(recording, None, python(code)) == 0
    path, mode = capfd.readouterr().out.split()
    assert mode == "700"
    assert not Path(path).parent.exists()


def test_no_such_program(recording: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert replay_command(recording, None, ["no-such\nprogram"]) == 127
    assert capfd.readouterr().err == 'error: exec: "no-such\\nprogram": executable file not found in $PATH\n'
    assert replay_command(recording, None, [str(tmp_path / "nope")]) == 127
    assert capfd.readouterr().err == f'error: exec: "{tmp_path}/nope": executable file not found\n'
    assert replay_command(recording, None, [str(tmp_path)]) == 126
    assert capfd.readouterr().err == f'error: exec: "{tmp_path}": permission denied\n'


def test_a_command_of_rawkube(recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is run by this Python, whatever program of that name there is."""
    program = tmp_path / "program.py"
    program.write_text("import sys; sys.exit(10 + len(sys.argv[1:]))")
    monkeypatch.setattr("rawkube.cli.running.own_program", lambda: [sys.executable, str(program)])
    command = ["rollout", "status", "deployment/web"]
    assert replay_command(recording, None, command) == 13
    assert replay_command(recording, None, ["mine", "x"], rawkube_commands={"mine"}) == 12
    assert replay_command(recording, None, command, rawkube_commands=()) == 127


def test_rawkube_is_run_again_whatever_the_current_directory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json.py", "rawkube.py", "signal.py"):
        (tmp_path / name).write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    ran = subprocess.run([*own_program(), "version"], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("rawkube ")


def test_what_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingError):
        replay_command(str(tmp_path / "nope"), None, python("raise SystemExit(0)"))


@pytest.mark.parametrize(("text", "speed"), [("max", None), ("1", 1.0), ("0.5", 0.5), ("10", 10.0)])
def test_speed(text: str, speed: float | None) -> None:
    assert parse_speed(text) == speed


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "nan", "inf", "Max"])
def test_no_speed(text: str) -> None:
    with pytest.raises(UsageError, match="a number above 0, or max"):
        parse_speed(text)


def run(*words: str) -> Caught:
    return run_with_streams("replay", "--speed=max", *words)


def test_strict(recording: str) -> None:
    """Another order, and more than is recorded: a line each, and exit code 1 whatever the command's is."""
    done = run(recording, "--strict", "--", *python(ASK_ONCE, "/a"))
    assert (done.code, done.stdout, done.stderr) == (0, b"hello", "")
    twice = python(f"{ASK}\nask(); ask('/')", "/a")
    done = run(recording, "--strict", "--", *twice)
    assert (done.code, done.stdout, done.stderr) == (1, b"hello400", "error: not recorded: GET /\n")
    assert run(recording, "--", *twice).code == 0


def test_strict_without_a_command(recording: str) -> None:
    command = [sys.executable, "-m", "rawkube", "replay", recording, "--strict"]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        config = first_line(process).removeprefix("export KUBECONFIG=")
        env = {**os.environ, "KUBECONFIG": config}
        assert subprocess.run(python(ASK_ONCE, "/none"), env=env, capture_output=True, timeout=20).returncode == 1
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (1, "error: not recorded: GET /none\n")


def test_faults_are_told_at_the_end(recording: str) -> None:
    faults = ["--fault=after=0:status=503", "--fault", "after=9:close,match=/b"]
    done = run(recording, *faults, "--", *python(f"{ASK}\nask()", "/a"))
    assert (done.code, done.stdout) == (0, b"503")
    assert done.stderr.splitlines() == [
        "fault after=0:status=503: struck in GET /a",
        "fault after=9:close,match=/b: did not strike, after 0 pieces",
    ]


def test_a_fault_that_is_none(recording: str) -> None:
    done = run(recording, "--fault=after=x:close", "--", "true")
    assert (done.code, done.stdout) == (1, b"")
    assert done.stderr.splitlines()[0] == (
        'error: invalid argument "after=x:close" for "--fault" flag: after needs a whole number, 0 or more'
    )


def test_loop(tmp_path: Path) -> None:
    script = Script().ask("/a", answer("1")).ask("/a", answer("2"))
    file = str(written(tmp_path / "a.jsonl", script.pieces))
    five = f"{ASK}\nfor _ in range(5): ask()"
    assert run(file, "--", *python(five, "/a")).stdout == b"12222"
    assert run(file, "--loop", "--", *python(five, "/a")).stdout == b"12121"


def test_rollouts_one_after_the_other_with_loop_and_tls() -> None:
    """Each begins at the beginning."""
    file = str(ROOT / "fixtures" / "rollout-listwatch" / "deployment-update.jsonl")
    once = "main(['rollout', 'status', 'deployment/web'])"
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from rawkube.cli.main import main; {once}; {once}"
    done = run(file, "--loop", "--tls", "--", sys.executable, "-c", code)
    lines = done.stdout.splitlines()
    half = len(lines) // 2
    assert (done.code, done.stderr, half > 2) == (0, "", True)
    assert lines == lines[:half] * 2


RUN = """
import json, sys
from rawkube.cli.replay import replay_command
sys.exit(replay_command(*json.loads(sys.argv[1])))
"""


def started(file: str, command: list[str] | None) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", RUN, json.dumps([file, None, command])]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def rest(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=20)
    return out


WAIT = """
import os, signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append("INT"))
signal.signal(signal.SIGTERM, lambda *_: got.append("TERM"))
print(os.environ["KUBECONFIG"], flush=True)
end = time.monotonic() + 15
while not got and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.2)
print(*got)
sys.exit(3)
"""


def test_signals_go_to_the_child_and_the_parent_cleans_up(recording: str) -> None:
    """All of them at once: each waits a moment for a second signal that must not come."""
    ways = [(number, kill) for number in (signal.SIGINT, signal.SIGTERM) for kill in (os.kill, os.killpg)]
    processes = [started(recording, python(WAIT)) for _ in ways]
    for (number, kill), process in zip(ways, processes, strict=True):
        config = Path(first_line(process))
        assert config.exists()
        kill(process.pid, number)
        told = rest(process).split()
        assert process.returncode == 3
        assert told[0] == number.name.removeprefix("SIG")
        assert number != signal.SIGINT or told == ["INT"]
        assert not config.parent.exists()


def test_without_a_command_it_serves_until_told_to_stop(recording: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = started(recording, None)
        line = first_line(process)
        assert line.startswith("export KUBECONFIG=")
        config = Path(line.removeprefix("export KUBECONFIG="))
        address = json.loads(config.read_text())["clusters"][0]["cluster"]["server"].removeprefix("http://")
        asking = http.client.HTTPConnection(address, timeout=20)
        asking.request("GET", "/a")
        assert asking.getresponse().read() == b"hello"
        asking.close()
        process.send_signal(number)
        assert (rest(process), process.returncode) == ("", 0)
        assert not config.parent.exists()


def test_the_line_is_for_a_shell(recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "a b"))
    process = started(recording, None)
    line = first_line(process)
    shown = subprocess.run(["sh", "-c", f'{line}; cat "$KUBECONFIG"'], capture_output=True, check=True)
    assert json.loads(shown.stdout)["kind"] == "Config"
    process.terminate()
    rest(process)


def test_it_starts_fast() -> None:
    code = "import sys, rawkube.cli.replay, rawkube.observe.replay; print(*sorted(sys.modules))"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"httpx", "asyncio", "argparse", "logging", "tempfile"} & set(loaded)
    began = time.monotonic()
    assert replay_command(str(ROOT / "fixtures/rollout/deployment-update.jsonl"), None, ["true"]) == 0
    assert time.monotonic() - began < 5
