"""Other clients through `rawkube proxy`: they print what they print without it, and the recording replays to the same."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.running import environment
from rawkube.observe.exchanges import Exchange
from rawkube.observe.recording import Recording
from rawkube.observe.replay import Replay, load
from tests.observe.made import FIXTURES
from tests.proxy.rig import TOKEN
from tests.replay.test_recorded_exec import stdin_of
from tests.support.discovery import recorded as discovery
from tests.support.examples import some
from tests.support.logs_server import Log, LogsServer, line
from tests.support.run import kubeconfig
from tests.support.server import Peer, PeerGone, ScriptedServer
from tests.support.streams import run_with_streams
from tests.support.tls import Authority
from tests.support.websocket import ExecServer, Far, accept_for, exit_status, pod

ROOT = Path(__file__).parents[2]
KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl") or ""
CURL = shutil.which("curl") or ""
RAWKUBE = [sys.executable, "-m", "rawkube"]
kubectl = pytest.mark.skipif(not KUBECTL, reason="no kubectl")
curl = pytest.mark.skipif(not CURL, reason="no curl")


class Ran(NamedTuple):
    """What a command left."""

    stdout: bytes
    stderr: str
    code: int


def ran(command: Sequence[str], env: dict[str, str], stdin: bytes = b"") -> Ran:
    done = subprocess.run(command, env=env, cwd=ROOT, input=stdin, capture_output=True, timeout=60, check=False)
    return Ran(done.stdout, done.stderr.decode(), done.returncode)


def home(url: str, folder: Path, ca: bytes = b"") -> dict[str, str]:
    """An environment with a kubeconfig for a server; one inside TLS is sent a token."""
    file = folder / "config"
    trust = {"certificate-authority-data": base64.b64encode(ca).decode()} if ca else {}
    file.write_text(kubeconfig(url, cluster=trust, user={"token": TOKEN} if ca else {}))
    return environment({**os.environ, "PYTHONPATH": str(ROOT)}, str(file), str(folder))


def through(
    url: str, folder: Path, command: Sequence[str], *flags: str, stdin: bytes = b"", ca: bytes = b"", **env: str
) -> Ran:
    """Run a command through the proxy; `FOLDER/recording.jsonl` is what passed."""
    flags = (f"--record={folder / 'recording.jsonl'}", *flags, "--", *command)
    return ran_here(*flags, env=home(url, folder, ca) | env, stdin=stdin)


def ran_here(*words: str, env: dict[str, str], stdin: bytes = b"") -> Ran:
    """`rawkube proxy WORDS`, which starts what is behind `--` from this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        done = run_with_streams("proxy", *words, stdin=stdin)
    return Ran(done.stdout, done.stderr, done.code)


def replayed(folder: Path, command: Sequence[str], stdin: bytes = b"") -> Ran:
    with Replay(folder / "recording.jsonl") as server:
        return ran(command, environment(os.environ, server.kubeconfig, server.folder), stdin)


RECORDED = [
    *(f"rollout/{name}" for name in ("deployment-update", "deployment-not-found")),
    *(f"verbs/{name}" for name in ("undo", "get-table")),
    *(f"exec/v5-{name}" for name in ("exit-3", "large", "stdin-cat", "not-found", "binary")),
]


def compare(name: str, folder: Path) -> list[object]:
    """kubectl on a recording: without the proxy, with it, and on what the proxy recorded."""
    folder.mkdir(parents=True)
    expected = json.loads((FIXTURES / f"{name}.expected.json").read_text())
    note = json.loads((FIXTURES / f"{name}.jsonl").read_text().splitlines()[0])["note"]
    args = [KUBECTL, *(expected["args"] or note.removeprefix("kubectl 1.37.1 ").split())]
    if "..." in args:
        from tests.replay.test_recorded_exec import args_of

        args = [KUBECTL, *args_of(name.partition("/")[2])]
    stdin = stdin_of(name.partition("/")[2]) if "-i" in args else b""
    folder_of = FIXTURES / "discovery"
    if name == "verbs/get-table":
        folder_of = folder / "discovery"
        folder_of.mkdir()
        shutil.copy(FIXTURES / "discovery" / "crds-and-broken-apiservice.jsonl", folder_of)
    with Replay(FIXTURES / f"{name}.jsonl", discovery=folder_of) as server:
        bare = ran(args, environment(os.environ, server.kubeconfig, server.folder), stdin)
        space = server.namespace
    with Replay(FIXTURES / f"{name}.jsonl", discovery=folder_of) as server:
        proxied = through(server.url, folder, args, f"--namespace={space}", stdin=stdin)
    return [bare, proxied, replayed(folder, args, stdin)]


@pytest.mark.kubectl
@kubectl
def test_kubectl_says_the_same(tmp_path: Path) -> None:
    failing = "exec/v5-exit-3"
    tried = dict.fromkeys([failing, *some("proxied", RECORDED, 7)])
    found = {name: compare(name, tmp_path / name) for name in tried}
    assert {name: three for name, three in found.items() if len(set(three)) > 1} == {}
    assert found[failing][0].code == 3  # type: ignore[attr-defined]


@pytest.mark.kubectl
@kubectl
@pytest.mark.parametrize("program", ["kubectl", "rawkube"])
def test_a_mebibyte_in_and_out_of_exec(program: str, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096

    def echo(far: Far) -> None:
        got = far.stdin()
        for at in range(0, len(got), 32768):
            far.out(got[at : at + 32768])
        far.end(exit_status(7))

    command = [KUBECTL] if program == "kubectl" else []
    command += ["exec", "-i", "p", "--", "cat"]
    with ExecServer(echo) as server:
        got = through(server.url, tmp_path, command, stdin=data)
    assert (got.stdout == data, got.code) == (True, 7), got.stderr
    assert got.stderr.splitlines()[-1] == "command terminated with exit code 7"
    again = replayed(tmp_path, command if program == "kubectl" else [*RAWKUBE, *command], data)
    assert again == got
    # The recorded frames of the client have masks of zeros.
    with Recording(tmp_path / "recording.jsonl") as recording:
        assert data[:4096] in b"".join(piece.data for piece in recording if piece.side == "client")


@pytest.mark.kubectl
@kubectl
def test_a_followed_log(tmp_path: Path) -> None:
    log = Log([line(0, f"line {n}") for n in range(100)])
    command = [KUBECTL, "logs", "-f", "p"]
    with LogsServer([pod()], {"p/main": [log]}) as server:
        got = through(server.url, tmp_path, command)
    assert got == (b"".join(b"line %d\n" % n for n in range(100)), "", 0)
    assert replayed(tmp_path, command) == got


@pytest.mark.kubectl
@kubectl
def test_cp(tmp_path: Path) -> None:
    for way in ("bare", "proxy"):
        (tmp_path / way).mkdir()
    with Replay(FIXTURES / "verbs/cp-down.jsonl") as server:
        env = environment(os.environ, server.kubeconfig, server.folder)
        bare = ran([KUBECTL, "cp", "shell:/tmp/up", str(tmp_path / "bare" / "down")], env)
        space = server.namespace
    with Replay(FIXTURES / "verbs/cp-down.jsonl") as server:
        command = [KUBECTL, "cp", "shell:/tmp/up", str(tmp_path / "proxy" / "down")]
        got = through(server.url, tmp_path, command, f"--namespace={space}")
    # What tar warns of, kubectl mostly prints, but not always: it does not wait for it.
    assert (got.stderr.replace("/proxy/", "/bare/"), got.code) == (bare.stderr, bare.code)
    files = [sorted(str(p.relative_to(top)) for p in top.rglob("*")) for top in (tmp_path / "bare", tmp_path / "proxy")]
    assert files[0] == files[1] != []


# SPDY


def parrot(name: str, path: str, upgrade: Exchange, pieces: list[Any]) -> ScriptedServer:
    """Says what the recorded server said after an upgrade, when the client has sent as many bytes."""

    def handler(peer: Peer) -> None:
        while not (request := peer.read_request()).path.endswith(path):
            if "/pods/" in request.path:
                peer.reply(json.dumps(pod("shell", "demo")))
            else:
                body, media = discovery(request.path)
                peer.reply(body, content_type=media)
        key = request.header("Sec-WebSocket-Key")
        head = b"".join(chunk.data for chunk in upgrade.answer.raw)
        if key:
            head = re.sub(rb"(?i)(sec-websocket-accept: )[^\r]*", rb"\g<1>" + accept_for(key).encode(), head)
        peer.send(head)
        wanted = got = 0
        for piece in pieces:
            if piece.side == "client":
                wanted += len(piece.data)
                continue
            while got < wanted:
                got += len(peer.read())
            peer.send(piece.data)
        try:
            while True:
                peer.read()
        except PeerGone:
            pass

    return ScriptedServer(handler)


def recorded(name: str, path: str) -> ScriptedServer:
    exchange = next(e for e in load(FIXTURES / f"exec/{name}.jsonl") if e.target.partition("?")[0].endswith(path))
    with Recording(FIXTURES / f"exec/{name}.jsonl") as recording:
        pieces = [p for p in recording if p.conn == 2]
    start = next(n for n, p in enumerate(pieces) if p.side == "server") + 1
    return parrot(name, path, exchange, pieces[start:])


@pytest.mark.kubectl
@kubectl
def test_exec_by_spdy(tmp_path: Path) -> None:
    command = [KUBECTL, "exec", "-n", "demo", "shell", "--", "echo", "hi"]
    trace = tmp_path / "trace"
    with recorded("spdy-1.27", "/exec") as server:
        got = through(server.url, tmp_path, command, f"--trace={trace}", KUBECTL_REMOTE_COMMAND_WEBSOCKETS="false")
    assert got == (b"hi\n", "", 0)
    assert "← upgraded to SPDY/3.1" in trace.read_text()


# curl, and what this program does itself


def test_port_forward_by_websocket(tmp_path: Path) -> None:
    """A SPDY connection inside of WebSocket messages."""
    if not KUBECTL:
        pytest.skip("no kubectl")
    said = []
    for way in ("bare", "proxy"):
        folder = tmp_path / way
        folder.mkdir()
        with recorded("port-forward", "/portforward") as server:
            env = home(server.url, folder)
            through = [] if way == "bare" else [*RAWKUBE, "proxy", f"--record={folder / 'recording.jsonl'}", "--"]
            command = [*through, KUBECTL, "port-forward", "-n", "demo", "pod/shell", ":80"]
            with subprocess.Popen(
                command, env=env, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                assert process.stdout and process.stderr
                try:
                    first = process.stdout.readline()
                    port = int(first.split("127.0.0.1:")[1].split()[0])
                    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
                        sock.sendall(
                            b"GET / HTTP/1.1\r\nHost: 127.0.0.1:18099\r\nUser-Agent: curl/8.14.1\r\nAccept: */*\r\n\r\n"
                        )
                        assert sock.recv(100) == b""
                    told = process.stderr.readline()
                finally:
                    process.send_signal(signal.SIGTERM)
                    process.communicate(timeout=20)
            said.append(re.sub(r"^\S+ \S+ +\d+ |localPort=\d+", "", told))
    assert said[0] == said[1]
    assert "error forwarding port 80 to pod" in said[0]


@curl
def test_curl_watches(tmp_path: Path) -> None:
    with Replay(FIXTURES / "watch/list-then-watch.jsonl") as server:
        watch = next(e.target for e in server.exchanges if "watch=" in e.target)
        bare = ran([CURL, "-sS", "-m", "1", server.url + watch], dict(os.environ))
    with Replay(FIXTURES / "watch/list-then-watch.jsonl") as server:
        script = f"""{CURL} -sS -m 1 "$(sed -n 's/.*"server": "\\(.*\\)".*/\\1/p' "$KUBECONFIG"){watch}" """
        trace = tmp_path / "trace"
        got = through(server.url, tmp_path, ["sh", "-c", script], f"--trace={trace}")
    assert got.stdout == bare.stdout != b""
    assert got.code == bare.code
    assert re.search(r"← (ADDED|MODIFIED) \w+ \S+ rv \d+", trace.read_text())


def test_rawkube_itself(tmp_path: Path) -> None:
    command = ["rollout", "status", "deployment/web"]
    with Replay(FIXTURES / "rollout/deployment-update.jsonl") as server:
        bare = ran([*RAWKUBE, *command], environment(os.environ, server.kubeconfig, server.folder))
        space = server.namespace
    with Replay(FIXTURES / "rollout/deployment-update.jsonl") as server:
        got = through(server.url, tmp_path, command, f"--namespace={space}", RAWKUBE_TRACE=str(tmp_path / "trace"))
    assert got == bare
    assert replayed(tmp_path, [*RAWKUBE, *command]) == got
    assert oct((tmp_path / "recording.jsonl").stat().st_mode & 0o777) == "0o600"
    assert (tmp_path / "trace").read_text().count("→ GET") >= 2


# The command line


@pytest.fixture
def secret_server() -> Iterator[tuple[ScriptedServer, bytes]]:
    value = base64.b64encode(b"marker-in-a-secret").decode()
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "x"}, "data": {"k": value}}

    def handler(peer: Peer) -> None:
        while True:
            assert peer.read_request().header("Authorization") == f"Bearer {TOKEN}"
            peer.reply(json.dumps(secret), headers=(("Set-Cookie", "marker-in-a-cookie"),))

    authority = Authority()
    with ScriptedServer(handler, tls=authority.server("127.0.0.1")) as server:
        yield server, authority.pem


@pytest.mark.parametrize("kept", [False, True])
def test_secrets(kept: bool, tmp_path: Path, secret_server: tuple[ScriptedServer, bytes]) -> None:
    value = base64.b64encode(b"marker-in-a-secret").decode()
    command = [*RAWKUBE, "raw", "/api/v1/namespaces/x/secrets/a", "-H", "Authorization: Bearer marker-of-the-client"]
    flags = ["--trace", "--trace-level=bytes", *(["--record-secrets"] if kept else [])]
    server, ca = secret_server
    got = through(server.url, tmp_path, command, *flags, ca=ca)
    assert (value.encode() in got.stdout, got.code) == (True, 0), got.stderr
    told = (tmp_path / "recording.jsonl").read_text()
    assert ("SECRETS ARE RECORDED" in got.stderr) == kept
    assert "marker-in-a-cookie" not in told  # it is not passed on
    for marker in (value, "marker-of-the-client"):
        assert (marker in told) == kept
        assert kept or marker not in got.stderr
    assert TOKEN not in told + got.stderr  # ours is not on this side


def test_served_until_a_signal(tmp_path: Path, secret_server: tuple[ScriptedServer, bytes]) -> None:
    server, ca = secret_server
    env = home(server.url, tmp_path, ca)
    with subprocess.Popen([*RAWKUBE, "proxy"], env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        file = Path(process.stdout.readline().removeprefix("export KUBECONFIG=").strip())
        assert oct(file.stat().st_mode & 0o777) == "0o600"
        got = ran([*RAWKUBE, "raw", "/x"], env | {"KUBECONFIG": str(file)})
        assert b"marker-in-a-secret" in base64.b64decode(json.loads(got.stdout)["data"]["k"])
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("words", "last"),
    [
        (["extra"], "See 'rawkube proxy --help' for usage."),
        (["--port=70000"], 'error: invalid argument "70000" for "--port" flag: a number from 0 to 65535'),
        (
            ["--record=/nowhere/x"],
            "error: --record: open /nowhere/x: there is no folder /nowhere; "
            "name a file in a folder that is there and can be written to",
        ),
        (["--", "/nowhere/program"], 'error: exec: "/nowhere/program": executable file not found'),
    ],
)
def test_what_cannot_be(words: list[str], last: str, tmp_path: Path) -> None:
    got = ran_here(*words, env=home("http://127.0.0.1:1", tmp_path))
    assert got.stderr.splitlines()[-1] == last
    assert got.code == (127 if words[0] == "--" else 1)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        got = ran_here(f"--port={port}", env=home("http://127.0.0.1:1", tmp_path))
    assert (got.stderr, got.code) == (f"error: listen tcp 127.0.0.1:{port}: address already in use\n", 1)
