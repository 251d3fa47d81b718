"""The command that runs with a server: the signals meant for it, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from rawkube.cli import running
from rawkube.cli.running import Child
from tests.support.rows import looped

WAITS = "exec sleep 20"


def run(script: str, *, until: Callable[[], None] = lambda: None) -> int:
    with Child() as child:
        until()
        return child.run(["sh", "-c", script], os.environ)


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@looped(
    ("script", "code"),
    [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + signal.SIGTERM), ("kill -KILL $$", 128 + signal.SIGKILL)],
)
def test_its_code_as_a_shell_tells_it(script: str, code: int) -> None:
    assert run(script) == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_passed_on(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    assert run(f"kill -{number.name[3:]} $PPID; {WAITS}") == 128 + number
    assert signal.getsignal(number) is before


def test_after_a_signal_nothing_is_started(tmp_path: Path) -> None:
    assert run(f"touch {tmp_path}/started", until=lambda: send(signal.SIGTERM)) == 128 + signal.SIGTERM
    assert not (tmp_path / "started").exists()


def test_a_signal_while_it_is_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen

    def slowly(*args: object, **options: object) -> object:
        send(signal.SIGTERM)
        return start(*args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(running, "subprocess", types.SimpleNamespace(Popen=slowly))
    assert run(WAITS) == 128 + signal.SIGTERM


@pytest.fixture
def waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a script begins with that goes on once its end is waited for: before, a signal is an early one."""
    fifo = tmp_path / "go"
    os.mkfifo(fifo)

    class Awaited(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            fifo.write_text("go\n")
            return super().wait(timeout)

    monkeypatch.setattr(running, "subprocess", types.SimpleNamespace(Popen=Awaited))
    return f"read go < {fifo}"


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, group: int | None) -> list[int]:
    """There is a terminal, whose foreground group is that one (None: it is nobody's); what was closed."""
    closed: list[int] = []

    def foreground(descriptor: int) -> int:
        if group is None:
            raise OSError
        return group

    changed = {"open": lambda *_: 99, "close": closed.append, "tcgetpgrp": foreground}
    monkeypatch.setattr(running, "os", types.SimpleNamespace(**{**vars(os), **changed}))
    return closed


def test_ctrl_c_on_a_terminal_reaches_the_command_without_help(
    waited_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command has the signal already, and would have it twice."""
    monkeypatch.setattr(running, "_GRACE", 0.0)
    closed = on_a_terminal(monkeypatch, os.getpgrp())
    assert run(f"trap 'exit 9' INT; {waited_for}; kill -INT $PPID; exit 3") == 3
    assert closed == [99]


@pytest.mark.parametrize("group", [0, None])
def test_ctrl_c_that_did_not_come_from_the_terminal_is_passed_on(
    group: int | None, waited_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_GRACE", 0.0)
    closed = on_a_terminal(monkeypatch, group)
    assert run(f"{waited_for}; kill -INT $PPID; {WAITS}") == 128 + signal.SIGINT
    assert closed == [99]


def test_a_signal_for_a_command_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent to a process id that may be another's by now."""
    with Child() as child:
        assert child.run(["true"], os.environ) == 0
        send(signal.SIGTERM)


def test_without_signals_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thread that can handle none, and where there is none of that name (Windows has no SIGHUP)."""
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(run("exit 4")))
    thread.start()
    thread.join()
    assert codes == [4]
    monkeypatch.delattr(signal, "SIGHUP")
    assert run("exit 5") == 5


@looped(
    ("program", "said", "code"),
    [
        ("no-such-program", 'error: exec: "no-such-program": executable file not found in $PATH\n', 127),
        ("/no/such", 'error: exec: "/no/such": executable file not found\n', 127),
        ("/", 'error: exec: "/": permission denied\n', 126),
    ],
)
def test_what_cannot_be_run(program: str, said: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with Child() as child:
        assert child.run([program], os.environ) == code
    assert capsys.readouterr().err == said
