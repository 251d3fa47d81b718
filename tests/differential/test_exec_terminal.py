"""`exec` in a terminal, and signals: what kubectl sends and how it ends is what rawkube sends and how it ends."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.test_exec import sent
from tests.support.examples import some
from tests.support.exec_process import KUBECTL, RAWKUBE, Running, Terminal, signals_reach_commands
from tests.support.run import kubectl_command
from tests.support.server import PeerGone
from tests.support.websocket import RESIZE, ExecServer, Far, exit_status

PROGRAMS = [pytest.param(KUBECTL, marks=pytest.mark.kubectl), RAWKUBE]


@pytest.fixture(autouse=True, scope="module")
def signals() -> Iterator[None]:
    with signals_reach_commands():
        yield


def interactive(far: Far) -> None:
    assert far.next()[0] == RESIZE  # kubectl does not always send it before what is typed
    far.out(b"$ ")
    line = b""
    while b"\r" not in line:
        line += far.next()[1]
    far.out(line + b"\n")
    far.next()
    far.next()
    far.end(exit_status(7))


def session(program: str, home: Path) -> tuple[list[tuple[str, bytes]], bytes, int, str]:
    """(what was sent, what was shown, exit code, query) of an interactive session."""
    with Terminal(132, 43) as terminal, ExecServer(interactive) as server:
        before = terminal.attributes()
        with terminal.run("-it", "p", "--", "sh", url=server.url, home=home, program=program) as running:
            shown = terminal.look_for(b"$ ")
            assert terminal.is_raw()
            terminal.type(b"exit\r")
            shown += terminal.look_for(b"\r\n")
            terminal.resize(100, 30)
            far = server.far[0]
            while not any(payload.startswith(b'{"Width":100') for _, payload in far.messages()):
                assert running.process.poll() is None
            terminal.type(b"\x03")
            code = running.process.wait(20)
        assert terminal.attributes() == before
        shown += terminal.rest()
    return sent(server), shown, code, server.upgrades[0].target


@pytest.mark.kubectl
def test_an_interactive_session(tmp_path: Path) -> None:
    kubectl_command()
    assert session(RAWKUBE, tmp_path / "rawkube") == session(KUBECTL, tmp_path / "kubectl")


def waiting(far: Far) -> None:
    far.out(b"ready")
    far.until_gone()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("number", some("raw", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"], 2))
def test_a_signal_in_a_raw_terminal(program: str, number: str, tmp_path: Path) -> None:
    with Terminal() as terminal, ExecServer(waiting) as server:
        before = terminal.attributes()
        with terminal.run("-it", "p", "--", "x", url=server.url, home=tmp_path, program=program) as running:
            terminal.look_for(b"ready")
            running.send(signal.Signals[number])
            code = running.process.wait(20)
        assert terminal.attributes() == before
        assert (code, terminal.rest()) == (1, b"")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("number", some("usual", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"], 2))
def test_a_signal_with_a_terminal_in_its_usual_mode(program: str, number: str, tmp_path: Path) -> None:
    # 130 for SIGINT: what a shell calls a command that Ctrl-C has ended.
    expected = 130 if program == RAWKUBE and number == "SIGINT" else 1
    with Terminal() as terminal, ExecServer(waiting) as server:
        with terminal.run("-i", "p", "--", "x", url=server.url, home=tmp_path, program=program) as running:
            terminal.look_for(b"ready")
            running.send(signal.Signals[number])
            code = running.process.wait(20)
        assert (code, terminal.rest()) == (expected, b"")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("number", some("none", ["SIGINT", "SIGPIPE", "SIGTERM", "SIGHUP"], 2))
def test_a_signal_without_a_terminal(program: str, number: str, tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"ready")
        with contextlib.suppress(PeerGone):
            while number == "SIGPIPE":
                far.out(b"more")
            far.until_gone()

    with (
        ExecServer(script) as server,
        Running(["p", "--", "x"], url=server.url, home=tmp_path, program=program) as running,
    ):
        assert running.stdout.read(5) == b"ready"
        if number == "SIGPIPE":
            running.stdout.close()
        else:
            running.send(signal.Signals[number])
        code = running.process.wait(20)
        assert running.process.stderr
        said = running.process.stderr.read()
    # As a shell names them.
    assert (code if code >= 0 else 128 - code, said) == (128 + signal.Signals[number], b"")
