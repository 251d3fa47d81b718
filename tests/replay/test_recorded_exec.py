"""Each recorded `kubectl exec` replayed for rawkube: the same stdout and exit code, to the byte.

What was typed or piped into the recorded client is taken from its frames.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import pytest
from wsproto.frame_protocol import FrameDecoder, Opcode

from rawkube.cli.replay import environment
from rawkube.observe.exchanges import Exchange
from rawkube.observe.recording import Piece
from rawkube.observe.replay import Replay, load
from tests.observe.made import FIXTURES, frame, masked
from tests.support.examples import some
from tests.support.here import Ran, own_streams, run_here

ROOT = Path(__file__).parents[2]
EXEC = FIXTURES / "exec"
KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")


# What a recording tells


class Message(NamedTuple):
    """A WebSocket message: who sent it, on which channel, what."""

    side: str
    channel: int
    payload: bytes


def messages(pieces: Sequence[Piece]) -> Iterator[Message]:
    """The data messages of a session in the order in which they were whole."""
    decoders = {"client": FrameDecoder(client=False), "server": FrameDecoder(client=True)}
    parts = {"client": b"", "server": b""}
    for piece in pieces:
        decoder = decoders[piece.side]
        decoder.receive_bytes(piece.data)
        while (part := decoder.process_buffer()) is not None:
            if part.opcode in (Opcode.BINARY, Opcode.CONTINUATION):
                assert isinstance(part.payload, bytes)
                parts[piece.side] += part.payload
                if part.frame_finished and part.message_finished:
                    message = parts[piece.side]
                    yield Message(piece.side, message[0], message[1:])
                    parts[piece.side] = b""


def session_of(name: str) -> Exchange:
    return next(e for e in load(EXEC / f"{name}.jsonl") if e.answer.status == 101)


def stdin_of(name: str) -> bytes:
    return b"".join(m.payload for m in messages(session_of(name).session) if (m.side, m.channel) == ("client", 0))


def expected_of(name: str) -> dict[str, Any]:
    found = json.loads((EXEC / f"{name}.expected.json").read_text())
    assert isinstance(found, dict)
    return found


def args_of(name: str) -> list[str]:
    """The recorded command line; a word that is left out there (`...`) is the recorded request's."""
    args: list[str] = expected_of(name)["args"]
    if "..." not in args:
        return args
    command = parse_qs(session_of(name).target.partition("?")[2])["command"]
    return [*args[: args.index("--") + 1], *command]


def is_spdy(name: str) -> bool:
    return any("spdy" in e.answer.header("upgrade").lower() for e in load(EXEC / f"{name}.jsonl"))


EXPECTED = [path.name.removesuffix(".expected.json") for path in sorted(EXEC.glob("*.expected.json"))]
WITH_ARGS = [name for name in EXPECTED if "args" in expected_of(name)]
REPLAYED = [name for name in WITH_ARGS if not name.startswith("spdy-")]

# In which recordings rawkube gets something else than kubectl got: why, its exit code, what its last line begins with.
DIFFERENT = {
    "v5-deployment": (
        "kubectl listed the Deployment's pods as protobuf, which rawkube does not read: the replay says so",
        1,
        "Error from server (BadRequest): the recording v5-deployment.jsonl has no answer to GET /api/v1/namespaces/"
        "demo/pods?labelSelector=app%3Dweb; ",
    ),
}


def replay(name: str, args: Sequence[str], stdin: bytes = b"") -> Ran:
    with Replay(EXEC / f"{name}.jsonl") as server, own_streams():
        return run_here(*args, config=server.kubeconfig, stdin=stdin)


def check(name: str, stdout: bytes, stderr: bytes, code: int) -> None:
    expected = expected_of(name)
    if "stdout_sha256" in expected:
        assert hashlib.sha256(stdout).hexdigest() == expected["stdout_sha256"]
    else:
        assert stdout.decode() == expected["stdout"]
    assert code == expected["exit_code"]
    assert stderr.decode().splitlines()[-1:] == expected["stderr"].splitlines()[-1:]


@pytest.mark.parametrize("name", [name for name in REPLAYED if name not in DIFFERENT])
def test_a_recorded_exec_prints_what_kubectl_printed(name: str) -> None:
    args = args_of(name)
    stdin = stdin_of(name) if "-i" in args else b""
    ran = replay(name, args, stdin)
    check(name, ran.data, ran.stderr.encode(), ran.code)


@pytest.mark.parametrize("name", DIFFERENT, ids=[f"{name}: {row[0]}" for name, row in DIFFERENT.items()])
def test_where_it_differs(name: str) -> None:
    _, code, line = DIFFERENT[name]
    ran = replay(name, args_of(name))
    assert (ran.stdout, ran.code) == ("", code)
    assert ran.stderr.splitlines()[-1].startswith(line)


def test_there_are_recordings() -> None:
    assert set(DIFFERENT) < set(REPLAYED)
    assert len(REPLAYED) > 14
    assert [name for name in WITH_ARGS if is_spdy(name)] == ["spdy-1.27"]
    assert len(stdin_of("v5-stdin-wc")) == 200_000


def test_a_spdy_session_is_named() -> None:
    ran = replay("spdy-1.27", args_of("spdy-1.27"))
    assert (ran.stdout, ran.code) == ("", 1)
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("error: unable to upgrade connection: the recording spdy-1.27.jsonl has no answer to GET ")
    assert last.endswith(": the recorded session speaks SPDY/3.1, which is not replayed; only WebSocket channels are")


def test_a_pipe_is_no_terminal() -> None:
    ran = replay("v5-tty-not-a-terminal", ["exec", "-it", "shell", "--", "sh"], stdin_of("v5-tty-not-a-terminal"))
    transcript = expected_of("v5-tty-not-a-terminal")["transcript"].splitlines()
    assert (ran.stdout, ran.code) == ("", 1)
    assert ran.stderr.replace("\r", "\n").splitlines() == transcript[:-1]


# Terminals


STARTED = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A command in a terminal of its own. `seen`: everything that came out of it."""

    def __init__(self, command: Sequence[str], size: tuple[int, int], env: dict[str, str] | None = None) -> None:
        self._master, slave = pty.openpty()
        self.seen = b""
        self.resize(*size)
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        argv = [sys.executable, "-c", STARTED, *command]
        self.process = subprocess.Popen(
            argv, stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, env=env, start_new_session=True
        )

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def type(self, data: bytes) -> None:
        os.write(self._master, data)

    def read_until(self, count: int) -> None:
        """Wait until so many bytes have been seen."""
        end = time.monotonic() + 30
        while len(self.seen) < count:
            ready, _, _ = select.select([self._master], [], [], max(0, end - time.monotonic()))
            assert ready, self.seen
            self.seen += os.read(self._master, 65536)

    def finish(self) -> int:
        code = self.process.wait(30)
        while select.select([self._master], [], [], 0)[0]:
            self.seen += os.read(self._master, 65536)
        return code

    @property
    def restored(self) -> bool:
        return termios.tcgetattr(self._slave) == self.before


def act(terminal: Terminal, story: Sequence[Message]) -> bytes:
    """Do what the recorded user did, each thing after the output that came before it; all of the output."""
    output = b""
    first = True
    for message in story:
        if (message.side, message.channel) == ("server", 1):
            output += message.payload
        elif message.side == "client" and message.channel == 0:
            terminal.read_until(len(output))
            terminal.type(message.payload)
        elif message.side == "client" and message.channel == 4 and not first:
            terminal.read_until(len(output))
            terminal.resize(*size_of(message))
        first &= message.channel != 4
    return output


def size_of(message: Message) -> tuple[int, int]:
    told = re.fullmatch(rb'\{"Width":(\d+),"Height":(\d+)\}\n?', message.payload)
    assert told
    return int(told[1]), int(told[2])


def play_in_terminal(command: Sequence[str], of: Exchange, env: dict[str, str] | None = None) -> tuple[bytes, bytes]:
    """Run a command as the recorded user did. What was seen, and what the container said."""
    story = list(messages(of.session))
    size = size_of(next(m for m in story if m.channel == 4))
    with Terminal(command, size, env) as terminal:
        output = act(terminal, story)
        assert terminal.finish() == 7
        assert terminal.restored
        return terminal.seen, output


def test_a_recorded_terminal_session() -> None:
    name = "v5-tty-terminal"
    command = [sys.executable, "-m", "rawkube", "replay", str(EXEC / f"{name}.jsonl"), "--speed=max"]
    seen, output = play_in_terminal([*command, "--", "exec", "-it", "shell", "--", "sh"], session_of(name))
    assert seen == output + b"command terminated with exit code 7\r\n"
    transcript = expected_of(name)["transcript"]
    assert transcript.startswith(seen.decode().replace("\r\n", "\n").replace("\r", "\n"))


# The sessions of a hand-made client, which asked for no Pod: that comes from another recording of the same Pod.

POD = next(e for e in load(EXEC / "v5-hello.jsonl") if e.target.endswith("/pods/shell"))
RAWKUBE = [sys.executable, "-m", "rawkube", "exec"]


@pytest.mark.parametrize("name", ["v4-tty-resize", "v5-tty-resize"])
def test_a_terminal_session_of_another_client(name: str) -> None:
    of = session_of(name)
    with Replay([POD, of]) as server:
        env = environment(os.environ, server.kubeconfig, server.folder)
        seen, output = play_in_terminal([*RAWKUBE, "-it", "shell", "--", "sh"], of, env)
    assert seen == output + b"command terminated with exit code 7\r\n"
    assert (server.unmatched, server.unasked) == ([], [])


# The older protocols word the failure of a command otherwise; v1 carries it as plain text, not as an exit code.
V1_TEXT = "error: error executing remote command: command terminated with non-zero exit code: "
WORDED = {
    "v4-exit-3": (["v4.channel.k8s.io"], 3, "command terminated with exit code 3"),
    "v4-base64-exit-3": (["v4.base64.channel.k8s.io"], 3, "command terminated with exit code 3"),
    "v1-exit-3": (["channel.k8s.io"], 1, V1_TEXT),
    "base64-exit-3": (["base64.channel.k8s.io"], 1, V1_TEXT),
    "v4-v5-offered": ([], 3, "command terminated with exit code 3"),
    "v5-v4-offered": ([], 3, "command terminated with exit code 3"),
    "v3-exit-3": ([], 1, "error: unable to upgrade connection: empty server response"),
    "unknown-protocol": ([], 1, "error: unable to upgrade connection: empty server response"),
    "no-protocol": ([], 1, "error: unable to upgrade connection: the recording has no answer to GET "),
}


@pytest.mark.parametrize("name", WORDED)
def test_every_protocol(name: str) -> None:
    offered, code, line = WORDED[name]
    of = load(EXEC / f"{name}.jsonl")
    with Replay([POD, *of]) as server:
        command = ["exec", *(f"--protocol={each}" for each in offered), "shell", "--"]
        with own_streams():
            ran = run_here(*command, "sh", "-c", "echo out; echo err >&2; exit 3", config=server.kubeconfig)
    told = ran.stderr.splitlines()
    assert ran.code == code
    assert told[-1].startswith(line)
    if of[-1].answer.status == 101 and name != "no-protocol":
        assert (ran.stdout, told[0]) == ("out\n", "err")


# The real kubectl


@pytest.mark.kubectl
@pytest.mark.skipif(KUBECTL is None, reason="no kubectl")
def test_kubectl_says_what_it_said() -> None:
    """Some at once."""
    tried = some("exec", REPLAYED, 6)
    with ThreadPoolExecutor(3) as pool:
        ran = list(pool.map(kubectl, tried))
    for name, done in zip(tried, ran, strict=True):
        check(name, done.stdout, done.stderr, done.returncode)
        assert "stderr" not in expected_of(name) or done.stderr.decode() == expected_of(name)["stderr"]


def kubectl(name: str) -> subprocess.CompletedProcess[bytes]:
    assert KUBECTL is not None
    args = args_of(name)
    stdin = stdin_of(name) if "-i" in args else b""
    with Replay(EXEC / f"{name}.jsonl") as server:
        env = environment(os.environ, server.kubeconfig, server.folder)
        return subprocess.run([KUBECTL, *args], env=env, input=stdin, capture_output=True, timeout=60)


@pytest.mark.kubectl
@pytest.mark.skipif(KUBECTL is None, reason="no kubectl")
def test_kubectl_in_a_terminal() -> None:
    assert KUBECTL is not None
    of = session_of("v5-tty-terminal")
    with Replay(EXEC / "v5-tty-terminal.jsonl") as server:
        env = environment(os.environ, server.kubeconfig, server.folder)
        seen, output = play_in_terminal([KUBECTL, "exec", "-it", "shell", "--", "sh"], of, env)
    assert seen == output + b"command terminated with exit code 7\r\n"


def test_the_messages_of_a_session() -> None:
    pieces = [
        Piece(1, 1, 0.0, "client", masked(b"\0one", mask=b"abcd")[:5]),
        Piece(2, 1, 0.0, "server", frame(b"\1", fin=False)),
        Piece(3, 1, 0.0, "client", masked(b"\0one", mask=b"abcd")[5:]),
        Piece(4, 1, 0.0, "server", frame(b"hi", 0) + frame(b"", 9)),
    ]
    assert list(messages(pieces)) == [Message("client", 0, b"one"), Message("server", 1, b"hi")]
