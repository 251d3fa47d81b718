"""`exec` as a process, when signals, readers, the server or the amount of data are not as one would wish."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.bulk_exec_server import bulk_server, digest_of, stream_of
from tests.support.exec_process import Running, Stream, run_exec, signals_reach_commands
from tests.support.run import kubeconfig
from tests.support.script import Answer
from tests.support.server import Peer, PeerGone, ScriptedServer
from tests.support.tls import Authority
from tests.support.websocket import (
    CLOSE,
    HALF_CLOSE,
    ExecServer,
    Far,
    close_frame,
    exit_status,
    message,
    says,
)

MIB = 1 << 20
READING = "error: error reading from error stream: "


@pytest.fixture(autouse=True, scope="module")
def signals_reach_children() -> Iterator[None]:
    with signals_reach_commands():
        yield


# Signals, without a terminal


class Closes:
    """A script that says `ready`, and how the client took its leave."""

    def __init__(self) -> None:
        self.told: list[bytes] = []

    def __call__(self, far: Far) -> None:
        far.out(b"ready")
        assert far.wait_close() == 1000
        self.told = [got.payload for got in far.seen if got.opcode != 9]


@pytest.mark.parametrize("flags", [[], ["-i"]], ids=["", "i"])
@pytest.mark.parametrize(
    ("number", "code"),
    [("SIGINT", 130), ("SIGTERM", -15), ("SIGHUP", -1), ("SIGQUIT", -3)],
    ids=str,
)
def test_a_signal_ends_it_with_a_clean_close(number: str, code: int, flags: list[str], tmp_path: Path) -> None:
    script = Closes()
    args = [*flags, "p", "--", "x"]
    with (
        ExecServer(script) as server,
        Running(args, url=server.url, home=tmp_path, stdin=subprocess.PIPE) as running,
    ):
        assert running.stdout.read(5) == b"ready"
        running.send(signal.Signals[number])
        assert running.process.wait(20) == code
        assert running.wait().stderr == ""
    assert script.told == [bytes((HALF_CLOSE, 0)), (1000).to_bytes(2, "big")]


def test_a_signal_while_much_is_being_sent_breaks_no_frame(tmp_path: Path) -> None:
    sizes: list[int] = []

    def script(far: Far) -> None:
        far.out(b"ready")
        sizes.append(len(far.stdin(MIB)))
        while (got := far.read()).opcode != CLOSE:
            sizes.append(len(got.payload))
        assert got.payload == (1000).to_bytes(2, "big")

    with (
        ExecServer(script) as server,
        Path("/dev/zero").open("rb") as zeros,
        Running(["-i", "p", "--", "x"], url=server.url, home=tmp_path, stdin=zeros) as running,
    ):
        assert running.stdout.read(5) == b"ready"
        while not sizes:
            assert running.process.poll() is None
        running.send(signal.SIGINT)
        assert running.process.wait(20) == 130
    assert sum(sizes) > MIB


def test_a_signal_while_the_upgrade_is_awaited(tmp_path: Path) -> None:
    with (
        ExecServer(refusals=[Answer(how="stall")]) as server,
        Running(["p", "--", "x"], url=server.url, home=tmp_path) as running,
    ):
        while not server.upgrades:
            assert running.process.poll() is None
        running.send(signal.SIGINT)
        assert (running.process.wait(20), running.wait().stderr) == (130, "")


def test_a_signal_while_the_reader_of_stdout_sleeps(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        with contextlib.suppress(PeerGone):
            far.out(b"x" * 8 * MIB)

    with (
        ExecServer(script) as server,
        Running(["p", "--", "x"], url=server.url, home=tmp_path) as running,
    ):
        assert running.stdout.read(1) == b"x"
        running.send(signal.SIGINT)
        assert running.process.wait(20) == 130


def test_a_process_that_was_stopped_for_longer_than_the_limit_of_silence(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"ready")
        assert far.stdin() == b"more"
        far.end(exit_status(4))

    args = ["--ping-interval=10s", "--ping-timeout=2s", "-i", "p", "--", "x"]
    with (
        ExecServer(script) as server,
        Running(args, url=server.url, home=tmp_path, stdin=subprocess.PIPE) as running,
    ):
        assert running.stdout.read(5) == b"ready"
        running.send(signal.SIGSTOP)
        os.waitid(os.P_PID, running.process.pid, os.WSTOPPED | os.WNOWAIT)
        server.stopping.wait(3.5)
        running.send(signal.SIGCONT)
        ended = running.wait(b"more")
    assert (ended.last, ended.code) == ("command terminated with exit code 4", 4)


# Readers and writers on this side


def test_a_closed_stdout_is_sigpipe_without_a_word(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"ready")
        with contextlib.suppress(PeerGone):
            while True:
                far.out(b"more" * 1000)

    with ExecServer(script) as server, Running(["p", "--", "x"], url=server.url, home=tmp_path) as running:
        assert running.stdout.read(5) == b"ready"
        running.stdout.close()
        assert running.process.wait(20) == -signal.SIGPIPE
        assert running.process.stderr
        assert running.process.stderr.read() == b""


def test_a_stdin_that_says_nothing_does_not_delay_the_end(tmp_path: Path) -> None:
    with (
        ExecServer(lambda far: far.end(exit_status(6))) as server,
        Running(["-i", "p", "--", "x"], url=server.url, home=tmp_path, stdin=subprocess.PIPE) as running,
    ):
        assert running.process.wait(20) == 6


def test_a_reader_that_sleeps_loses_nothing(tmp_path: Path) -> None:
    said: list[bool] = []

    def script(far: Far) -> None:
        far.raw(b"".join(message(1, b"%08d" % number) for number in range(20_000)))
        said.append(True)
        far.end()

    with ExecServer(script) as server, Running(["p", "--", "x"], url=server.url, home=tmp_path) as running:
        assert os.read(running.stdout.fileno(), 8) == b"00000000"
        server.stopping.wait(0.5)
        ended = running.wait()
    assert ended.stdout == b"".join(b"%08d" % number for number in range(1, 20_000))
    assert ended.code == 0


# The server


@pytest.mark.parametrize("reset", [False, True], ids=["fin", "rst"])
def test_the_server_goes_while_much_is_being_sent(reset: bool, tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"out")
        far.stdin(100_000)
        if reset:
            far.peer.reset()

    with ExecServer(script) as server, Path("/dev/zero").open("rb") as zeros:
        ended = run_exec("-i", "p", "--", "x", url=server.url, home=tmp_path, stdin=zeros)
    assert (ended.stdout, ended.code, len(ended.stderr.splitlines())) == (b"out", 1, 1)
    assert ended.last.startswith(READING + "next reader: ")


def test_no_answer_to_the_upgrade(tmp_path: Path) -> None:
    with ExecServer(refusals=[Answer(how="stall")]) as server:
        ended = run_exec("--request-timeout=1s", "p", "--", "x", url=server.url, home=tmp_path)
    said = "error: context deadline exceeded (Client.Timeout exceeded while awaiting headers)\n"
    assert (ended.stdout, ended.stderr, ended.code) == (b"", said, 1)
    assert len(server.upgrades) == 1


def test_a_request_timeout_does_not_limit_the_session(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.peer.stopping.wait(1.5)
        far.end(exit_status(3))

    with ExecServer(script) as server:
        ended = run_exec("--request-timeout=1s", "p", "--", "x", url=server.url, home=tmp_path)
    assert ended.code == 3
    assert "timeout=1s" in server.upgrades[0].target


def test_the_command_is_not_run_twice_when_the_answer_is_lost(tmp_path: Path) -> None:
    with ExecServer(refusals=[Answer(how="close")]) as server:
        ended = run_exec("p", "--", "x", url=server.url, home=tmp_path)
    assert (ended.stderr, ended.code, len(server.upgrades)) == ("error: unexpected EOF\n", 1, 1)


def test_a_server_that_speaks_http_behind_the_101(tmp_path: Path) -> None:
    with ExecServer(says(b"HTTP/1.1 200 OK\r\n\r\n")) as server:
        ended = run_exec("p", "--", "x", url=server.url, home=tmp_path)
    assert (ended.stdout, ended.code, len(ended.stderr.splitlines())) == (b"", 1, 1)
    assert ended.stderr.startswith(READING + "next reader: websocket: ")


def test_nobody_listens(tmp_path: Path) -> None:
    with ScriptedServer(Peer.stall) as server:
        url = server.url
    ended = run_exec("p", "--", "x", url=url, home=tmp_path)
    assert ended.code == 1
    assert ended.last.startswith("The connection to the server 127.0.0.1:")


def trusting(home: Path, url: str, ca: bytes | str) -> None:
    path = home / "ca.pem"
    path.write_bytes(ca if isinstance(ca, bytes) else ca.encode())
    user = {"token": "t0k3n"}
    (home / "config").write_text(kubeconfig(url, cluster={"certificate-authority": str(path)}, user=user))


def test_over_tls_all_is_the_same_and_the_token_stays_unseen(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        assert far.stdin() == b"in"
        far.raw(message(1, b"a") + message(1, b"b") + message(3, exit_status(3)) + close_frame())
        assert far.wait_close() == 1000
        far.until_gone()

    authority = Authority()
    with ExecServer(script, tls=authority.server("127.0.0.1")) as server:
        trusting(tmp_path, server.url, authority.pem)
        ended = run_exec("-i", "p", "--", "x", url=server.url, home=tmp_path, stdin=b"in")
    assert (ended.stdout, ended.stderr, ended.code) == (b"ab", "command terminated with exit code 3\n", 3)
    assert server.on == [1, 1]
    assert [request.header("Authorization") for request in server.asked] == ["Bearer t0k3n"] * 2


def test_the_end_of_tls_without_a_close(tmp_path: Path) -> None:
    authority = Authority()
    with ExecServer(lambda far: far.out(b"x"), tls=authority.server("127.0.0.1")) as server:
        trusting(tmp_path, server.url, authority.pem)
        ended = run_exec("p", "--", "x", url=server.url, home=tmp_path)
    said = READING + "next reader: websocket: close 1006 (abnormal closure): unexpected EOF"
    assert (ended.stdout, ended.last, ended.code) == (b"x", said, 1)


# Much data, over TLS, to and from a process of its own

# Runs a command and writes down its peak of memory: that of a direct child would be ours, from before its exec.
MEASURE = """
import os, sys
child = os.fork()
if not child:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(usage.ru_maxrss))
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""
PEAK = 40 * MIB


class Bulk(NamedTuple):
    running: Running
    peak_file: Path

    def peak(self) -> int:
        """In bytes."""
        unit = 1 if sys.platform == "darwin" else 1024
        return int(self.peak_file.read_text()) * unit


@contextlib.contextmanager
def bulk(home: Path, *args: str, stdin: Stream = subprocess.DEVNULL) -> Iterator[Bulk]:
    file = home / "peak"
    with bulk_server() as server:
        trusting(home, server.url, server.ca)
        wrapper = [sys.executable, "-I", "-S", "-c", MEASURE, str(file)]
        with Running(args, url=server.url, home=home, stdin=stdin, wrapper=wrapper) as running:
            yield Bulk(running, file)


def test_much_output_in_little_memory(tmp_path: Path) -> None:
    size, digest = 64 * MIB, hashlib.sha256()
    with bulk(tmp_path, "p", "--", "source", str(size)) as run:
        while piece := run.running.stdout.read(MIB):
            digest.update(piece)
        assert run.running.process.wait(20) == 0
        assert run.peak() < PEAK
    assert digest.hexdigest() == digest_of(size)


def test_much_input_in_little_memory(tmp_path: Path) -> None:
    size = 44 * MIB
    with bulk(tmp_path, "-i", "p", "--", "sink", stdin=subprocess.PIPE) as run:
        for piece in stream_of(size):
            run.running.stdin.write(piece)
        run.running.stdin.close()
        digest, largest = run.running.stdout.read().split()
        assert run.running.process.wait(20) == 0
        assert run.peak() < PEAK
    assert (digest.decode(), int(largest)) == (digest_of(size), 32 * 1024 + 1)


def test_a_reader_that_wants_one_byte_of_endless_output(tmp_path: Path) -> None:
    with bulk(tmp_path, "p", "--", "flood") as run:
        assert len(run.running.stdout.read(1)) == 1
        started = time.monotonic()
        run.running.stdout.close()
        assert run.running.process.wait(20) == 128 + signal.SIGPIPE
        assert time.monotonic() - started < 5
        assert run.peak() < PEAK
