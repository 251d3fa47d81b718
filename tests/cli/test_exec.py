"""`rawkube exec` as a process: its streams, its flags, and interactive sessions in a pseudo terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.exec_process import Ended, Running, Terminal, run_exec, signals_reach_commands
from tests.support.here import own_streams, run_at
from tests.support.script import AS_USUAL, failure
from tests.support.server import PeerGone
from tests.support.websocket import (
    HALF_CLOSE,
    PING,
    RESIZE,
    STDIN,
    V1,
    V4,
    V5,
    ExecServer,
    Far,
    exit_status,
    words,
)

EVERY_BYTE = bytes(range(256))
NO_TTY = "Unable to use a TTY - input is not a terminal or the right kind of file"
TTY_INTO_FILE = "warning: the output is not a terminal: -t mixes stderr into it, echoes the input and ends lines with"
V4_BASE64 = "v4.base64.channel.k8s.io"


@pytest.fixture(autouse=True, scope="module")
def signals() -> Iterator[None]:
    with signals_reach_commands():
        yield


def echo(far: Far) -> None:
    """What comes on stdin goes out on stdout."""
    far.out(far.stdin())
    far.end()


def run_here(*args: str, url: str, home: Path, stdin: bytes | None = None) -> Ended:
    """In this process: for what is no matter of processes."""
    with own_streams():
        ran = run_at(url, "exec", *args, home=home, stdin=stdin)
    return Ended(ran.data, ran.stderr, ran.code, ran.seconds)


def query(server: ExecServer) -> str:
    (request,) = server.upgrades
    return request.target.partition("?")[2]


# The streams


def test_bytes_are_bytes_whatever_the_locale(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(EVERY_BYTE)
        far.err(b"\xff\xfe oops \xe2\x82")
        far.end(exit_status(5))

    with ExecServer(script) as server, Running(["p", "--", "x"], url=server.url, home=tmp_path) as running:
        out, err = running.process.communicate(timeout=20)
    assert (out, running.process.returncode) == (EVERY_BYTE, 5)
    assert err == b"\xff\xfe oops \xe2\x82command terminated with exit code 5\n"


def test_one_connection_for_the_pod_and_its_command(tmp_path: Path) -> None:
    with ExecServer() as server:
        assert run_exec("p", "--", "true", url=server.url, home=tmp_path).code == 0
    assert server.on == [1, 1]
    assert [request.path for request in server.asked] == [
        "/api/v1/namespaces/default/pods/p",
        "/api/v1/namespaces/default/pods/p/exec",
    ]


def test_stdin_from_a_pipe(tmp_path: Path) -> None:
    data = os.urandom(200_000)
    with ExecServer(echo) as server:
        ended = run_exec("-i", "p", "--", "cat", url=server.url, home=tmp_path, stdin=data)
    assert (ended.stdout == data, ended.stderr, ended.code) == (True, "", 0)


def test_stdin_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(EVERY_BYTE * 400)
    with ExecServer(echo) as server, (tmp_path / "in").open("rb") as file:
        ended = run_exec("-i", "p", "--", "cat", url=server.url, home=tmp_path, stdin=file)
    assert (ended.stdout, ended.code) == (EVERY_BYTE * 400, 0)


def test_stdin_from_nowhere(tmp_path: Path) -> None:
    with ExecServer(echo) as server:
        assert run_exec("-i", "p", "--", "cat", url=server.url, home=tmp_path)[:3] == (b"", "", 0)
    assert server.far[0].messages() == [(HALF_CLOSE, b"\0")]


def test_without_i_stdin_is_not_touched(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"mine")
    with ExecServer() as server, os.fdopen(reader, "rb", 0) as mine:
        assert run_exec("p", "--", "x", url=server.url, home=tmp_path, stdin=mine).code == 0
        os.close(writer)
        assert mine.read() == b"mine"
    assert "stdin" not in query(server)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_as_dev_null(closed: str, tmp_path: Path) -> None:
    def script(far: Far) -> None:
        assert far.stdin() == b""
        far.out(b"out")
        far.err(b"err")
        far.end(exit_status(3))

    shell = ["/bin/sh", "-c", f'"$@" {closed}', "sh"]
    with (
        ExecServer(script) as server,
        Running(["-i", "p", "--", "x"], url=server.url, home=tmp_path, wrapper=shell) as running,
    ):
        ended = running.wait()
    assert ended.code == 3
    assert ended.stdout == (b"" if ">&- " in closed + " " and not closed.startswith("2") else b"out")
    assert ended.stderr == ("" if "2>&-" in closed else "errcommand terminated with exit code 3\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"x" * 1000)
        far.until_gone()

    with (
        ExecServer(script) as server,
        Path("/dev/full").open("wb") as full,
        Running(["p", "--", "x"], url=server.url, home=tmp_path, stdout=full) as running,
    ):
        ended = running.wait()
    assert (ended.stderr, ended.code) == ("error: the output cannot be written: no space left on device\n", 1)


# Flags


def test_every_argument_arrives_unchanged(tmp_path: Path) -> None:
    command = [
        "sh",
        "-c",
        "a;b & c+d # e%20",
        "x\ny\r\t",
        "",
        "é€\U0001f600",
        "a=b&c",
        "--flag",
        "--",
        "\x7f\x01",
        "-it",
    ]
    with ExecServer() as server:
        assert run_here("-n", "ns", "p", "--", *command, url=server.url, home=tmp_path).code == 0
    assert words(server.upgrades[0]) == command
    assert query(server).isascii()


def test_an_argument_that_is_no_text(tmp_path: Path) -> None:
    """A name of a file may be any bytes; the API server gets those bytes."""
    with ExecServer() as server:
        shell = ["/bin/sh", "-c", '"$@" "$(printf "\\377")"', "sh"]
        with Running(["p", "--", "ls"], url=server.url, home=tmp_path, wrapper=shell) as running:
            assert running.wait().code == 0
    assert query(server).startswith("command=ls&command=%FF&container=main")


@pytest.mark.parametrize(
    ("protocol", "status", "said", "code"),
    [
        (V5, exit_status(3), "command terminated with exit code 3", 3),
        (V4, exit_status(3), "command terminated with exit code 3", 3),
        (V4_BASE64, exit_status(3), "command terminated with exit code 3", 3),
        (V1, b"it failed", "error: error executing remote command: it failed", 1),
        ("base64.channel.k8s.io", b"", "", 0),
    ],
)
def test_a_named_protocol_is_offered_alone(protocol: str, status: bytes, said: str, code: int, tmp_path: Path) -> None:
    def script(far: Far) -> None:
        assert far.stdin(3) == b"abc"
        far.out(EVERY_BYTE)
        far.status(status)
        far.close()
        far.until_gone()

    with ExecServer(script) as server:
        args = ("--protocol", protocol, "-i", "p", "--", "x")
        ended = run_here(*args, url=server.url, home=tmp_path, stdin=b"abc")
    assert server.upgrades[0].header("Sec-WebSocket-Protocol") == protocol
    assert (ended.stdout, ended.last if code else "", ended.code) == (EVERY_BYTE, said, code)


def test_several_protocols_in_their_order(tmp_path: Path) -> None:
    with ExecServer(protocol=V4) as server:
        args = (f"--protocol={V1}", f"--protocol={V4}", "p", "--", "x")
        assert run_here(*args, url=server.url, home=tmp_path).code == 0
    assert server.upgrades[0].header("Sec-WebSocket-Protocol") == f"{V1}, {V4}"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--protocol=v9"], 'error: unknown protocol "v9"; known are v5.channel.k8s.io, v4.channel.k8s.io, '),
        (["--stdin-eof=maybe"], 'error: --stdin-eof must be "wait", "close" or "error", not "maybe"'),
    ],
)
def test_words_that_mean_nothing(args: Sequence[str], said: str, tmp_path: Path) -> None:
    ended = run_here(*args, "p", "--", "x", url="http://127.0.0.1:1", home=tmp_path)
    assert ended.code == 1
    assert ended.stderr.startswith(said)


@pytest.mark.parametrize(
    ("choice", "said", "code"),
    [
        ("wait", "the input ended, which v4.channel.k8s.io cannot tell the command: it goes on waiting for more", 0),
        ("close", "the input ended, which v4.channel.k8s.io cannot tell the command: closing the connection", 1),
        ("error", "error: the input ended, which v4.channel.k8s.io cannot tell the command (--stdin-eof=error)", 1),
    ],
)
def test_the_end_of_the_input_where_it_cannot_be_told(choice: str, said: str, code: int, tmp_path: Path) -> None:
    codes: list[int] = []

    def script(far: Far) -> None:
        assert far.stdin(3) == b"abc"
        if choice == "wait":
            far.wait_for(PING)
            far.end()
        else:
            codes.append(far.wait_close())
            far.close()

    with ExecServer(script, protocol=V4) as server:
        args = ("--stdin-eof", choice, "--ping-interval=200ms", "-i", "p", "--", "x")
        ended = run_here(*args, url=server.url, home=tmp_path, stdin=b"abc")
    assert ended.code == code
    assert ended.stderr.startswith(said)
    assert ended.stderr.count("the input ended") == 1
    assert codes == [] if choice == "wait" else [1000]


def test_the_pod_of_a_file(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"hi")
        far.end()

    manifest = tmp_path / "pod.yaml"
    manifest.write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}")
    with ExecServer(script) as server:
        ended = run_here("-f", str(manifest), "--", "x", url=server.url, home=tmp_path)
        assert (ended.stdout, ended.stderr, ended.code) == (b"hi", "", 0)
        assert server.upgrades[0].path == "/api/v1/namespaces/default/pods/p/exec"


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with ExecServer() as server:
        ended = run_here("-f", "nowhere.yaml", "--", "x", url=server.url, home=tmp_path)
        assert (ended.stdout, ended.code, server.upgrades) == (b"", 1, [])
    assert ended.stderr == 'error: the path "nowhere.yaml" does not exist\n'


def test_silence_ends_it(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.pongs = False
        far.until_gone()

    args = ("--ping-interval=100ms", "--ping-timeout=300ms", "p", "--", "x")
    with ExecServer(script) as server:
        ended = run_here(*args, url=server.url, home=tmp_path)
    assert ended.code == 1
    assert ended.last.startswith("error: error reading from error stream: next reader: read tcp 127.0.0.1:")
    assert ended.last.endswith(": i/o timeout")


def test_zero_is_no_pings_and_no_limit(tmp_path: Path) -> None:
    def quiet(far: Far) -> None:
        far.peer.stopping.wait(0.5)
        far.end()
        assert not far.messages()
        assert all(got.opcode != PING for got in far.seen)

    with ExecServer(quiet) as server:
        args = ("--ping-interval=0", "--ping-timeout=0s", "p", "--", "x")
        assert run_here(*args, url=server.url, home=tmp_path).code == 0


# Refusals


def test_a_refusal_says_why_and_its_own_words_last(tmp_path: Path) -> None:
    answer = failure(403, 'pods "p" is forbidden: no pods/exec', headers=(("Via", "1.1 gate"),))
    with ExecServer(refusals=[answer]) as server:
        ended = run_here("-i", "p", "--", "x", url=server.url, home=tmp_path, stdin=b"unsent")
    assert (ended.stdout, ended.code) == (b"", 1)
    assert ended.stderr.splitlines() == [
        "the server answered 403 Failure",
        "a WebSocket to a pod needs the verb get, and from Kubernetes 1.35 on create too, on pods/exec",
        "Via: 1.1 gate",
        'error: unable to upgrade connection: pods "p" is forbidden: no pods/exec',
    ]
    assert len(server.upgrades) == 1


def test_retry_after_is_waited_for_before_stdin_is_read(tmp_path: Path) -> None:
    later = failure(429, "not now", headers=(("Retry-After", "1"),))
    with ExecServer(echo, refusals=[later, AS_USUAL]) as server:
        ended = run_here("-i", "p", "--", "cat", url=server.url, home=tmp_path, stdin=b"abc")
    assert (ended.stdout, ended.code) == (b"abc", 0)
    assert ended.seconds >= 1


# Without a terminal where one is asked for


@pytest.mark.parametrize("quiet", [False, True], ids=["", "quiet"])
def test_it_from_a_pipe(quiet: bool, tmp_path: Path) -> None:
    args = ("-it", *(["-q"] if quiet else []), "p", "--", "cat")
    with ExecServer(echo) as server:
        ended = run_exec(*args, url=server.url, home=tmp_path, stdin=b"abc")
    assert (ended.stdout, ended.stderr, ended.code) == (b"abc", "" if quiet else NO_TTY + "\n", 0)
    assert query(server) == "command=cat&container=main&stderr=true&stdin=true&stdout=true"


def test_t_without_i_is_nothing(tmp_path: Path) -> None:
    with Terminal() as terminal, ExecServer() as server:
        with terminal.run("-t", "p", "--", "x", url=server.url, home=tmp_path) as running:
            assert running.process.wait(20) == 0
        assert terminal.rest() == b""
    assert query(server) == "command=x&container=main&stderr=true&stdout=true"


# A terminal


def test_an_interactive_session(tmp_path: Path) -> None:
    told: list[tuple[int, bytes]] = []

    def script(far: Far) -> None:
        told.append(far.next())
        far.out(b"$ ")
        line = b""
        while not line.endswith(b"\r"):
            line += far.next()[1]
        far.out(line + b"\n\x1b[1mhello\x1b[0m\r\n")
        told.append(far.next())
        told.append(far.next())
        far.end(exit_status(7))

    with Terminal(132, 43) as terminal, ExecServer(script) as server:
        before = terminal.attributes()
        with terminal.run("-it", "p", "--", "sh", url=server.url, home=tmp_path) as running:
            terminal.look_for(b"$ ")
            assert terminal.is_raw()
            terminal.type(b"echo hello\r")
            # No echo and no translation on this side: only what the far side says.
            assert terminal.look_for(b"\x1b[0m\r\n") == b"echo hello\r\n\x1b[1mhello\x1b[0m\r\n"
            terminal.resize(100, 30)
            while len(told) < 2:
                assert running.process.poll() is None
            terminal.type(b"\x03")
            assert running.process.wait(20) == 7
        assert terminal.attributes() == before
        assert terminal.look_for(b"\n").strip() == b"command terminated with exit code 7"
    assert told == [
        (RESIZE, b'{"Width":132,"Height":43}\n'),
        (RESIZE, b'{"Width":100,"Height":30}\n'),
        (STDIN, b"\x03"),
    ]
    assert query(server) == "command=sh&container=main&stdin=true&stdout=true&tty=true"


def test_every_byte_that_is_typed_and_shown(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.next()
        far.out(b"ready")
        got = far.stdin(256)
        assert got == EVERY_BYTE
        far.out(EVERY_BYTE)
        far.end()

    with Terminal() as terminal, ExecServer(script) as server:
        with terminal.run("-it", "p", "--", "x", url=server.url, home=tmp_path) as running:
            terminal.look_for(b"ready")
            terminal.type(EVERY_BYTE)
            assert running.process.wait(20) == 0
        assert terminal.rest() == EVERY_BYTE


@pytest.mark.parametrize("columns", [0, 80])
def test_a_size_of_nothing_is_not_sent(columns: int, tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"ready")
        assert far.next()[0] == (RESIZE if columns else STDIN)
        far.end()

    with (
        Terminal(columns, 24 if columns else 0) as terminal,
        ExecServer(script) as server,
        terminal.run("-it", "p", "--", "x", url=server.url, home=tmp_path) as running,
    ):
        terminal.look_for(b"ready")
        terminal.type(b"x")
        assert running.process.wait(20) == 0


def test_output_into_a_file(tmp_path: Path) -> None:
    """A warning, raw mode, and no size at all."""

    def script(far: Far) -> None:
        far.err(b"no such channel")
        far.out(b"ready")
        assert far.next() == (STDIN, b"x")
        far.end()
        assert [channel for channel, _ in far.messages()] == [STDIN]

    with Terminal() as terminal, ExecServer(script) as server:
        before = terminal.attributes()
        with terminal.run(
            "-it", "p", "--", "x", url=server.url, home=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as running:
            assert running.stdout.read(5) == b"ready"
            assert terminal.is_raw()
            terminal.type(b"x")
            ended = running.wait()
        assert terminal.attributes() == before
    assert (ended.stdout, ended.code) == (b"", 0)
    assert ended.stderr.startswith(TTY_INTO_FILE)


def waiting(far: Far) -> None:
    far.out(b"ready")
    far.until_gone()


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_sets_the_terminal_back(number: str, tmp_path: Path) -> None:
    with Terminal() as terminal, ExecServer(waiting) as server:
        before = terminal.attributes()
        with terminal.run("-it", "p", "--", "x", url=server.url, home=tmp_path) as running:
            terminal.look_for(b"ready")
            assert terminal.is_raw()
            running.send(signal.Signals[number])
            assert running.process.wait(20) == 1
        assert terminal.attributes() == before
        assert terminal.rest() == b""


@pytest.mark.parametrize("how", ["fin", "rst", "1011", "violation"])
def test_the_end_of_the_server_sets_the_terminal_back(how: str, tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"ready")
        assert far.stdin(1) == b"x"
        if how == "rst":
            far.peer.reset()
        elif how == "1011":
            far.close(1011, b"sorry")
        elif how == "violation":
            far.raw(b"\x81\x00")
            far.until_gone()

    with Terminal() as terminal, ExecServer(script) as server:
        before = terminal.attributes()
        with terminal.run("-it", "p", "--", "x", url=server.url, home=tmp_path) as running:
            terminal.look_for(b"ready")
            terminal.type(b"x")
            assert running.process.wait(20) == 1
        assert terminal.attributes() == before
        # The line comes behind the return to the usual mode: with CR LF.
        assert terminal.look_for(b"\r\n").startswith(b"error: error reading from error stream: ")


def test_a_refusal_sets_the_terminal_back(tmp_path: Path) -> None:
    with Terminal() as terminal, ExecServer(refusals=[failure(500, "broken")]) as server:
        before = terminal.attributes()
        with terminal.run("-it", "p", "--", "x", url=server.url, home=tmp_path) as running:
            assert running.process.wait(20) == 1
        assert terminal.attributes() == before
        assert terminal.look_for(b"broken\r\n").endswith(b"error: unable to upgrade connection: broken\r\n")


INSIDE = """
import sys
from rawkube.remotecommand import session
def fail(self, events):
    raise ValueError("inside")
session.Session._take = fail
from rawkube.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_an_exception_inside_sets_the_terminal_back(tmp_path: Path) -> None:
    program = [sys.executable, "-c", INSIDE]
    with Terminal() as terminal, ExecServer(waiting) as server:
        before = terminal.attributes()
        with terminal.run("-it", "p", "--", "x", url=server.url, home=tmp_path, command=program) as running:
            assert running.process.wait(20) == 1
        assert terminal.attributes() == before
        assert b"error: rawkube itself failed: ValueError: inside\r\n" in terminal.look_for(b"inside\r\n")


def test_ctrl_c_with_i_alone_interrupts_and_closes(tmp_path: Path) -> None:
    """The terminal keeps its usual mode: the line is echoed here, and Ctrl-C is a signal."""
    codes: list[int] = []

    def script(far: Far) -> None:
        assert far.stdin(3) == b"hi\n"
        far.out(b"ready")
        codes.append(far.wait_close())

    with Terminal() as terminal, ExecServer(script) as server:
        before = terminal.attributes()
        with terminal.run("-i", "p", "--", "x", url=server.url, home=tmp_path) as running:
            terminal.type(b"hi\n")
            assert terminal.look_for(b"ready") == b"hi\r\nready"
            assert terminal.attributes() == before
            terminal.type(b"\x03")
            assert running.process.wait(20) == 130
        assert terminal.attributes() == before
    assert codes == [1000]
    assert before[3] & termios.ECHO


def test_the_terminal_goes_away(tmp_path: Path) -> None:
    """Its window is closed: SIGHUP, and an end of stdin."""
    gone: list[bool] = []

    def script(far: Far) -> None:
        far.out(b"ready")
        try:
            far.until_gone()
        except PeerGone:
            pass
        gone.append(True)

    terminal = Terminal()
    with ExecServer(script) as server, terminal.run("-it", "p", "--", "x", url=server.url, home=tmp_path) as running:
        terminal.look_for(b"ready")
        terminal.__exit__(None, None, None)
        assert running.process.wait(20) == 1
    assert gone == [True]
