"""The local terminal: what the flags come to, raw mode and the way back from it, sizes, signals."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.remotecommand.terminal import (
    NO_TTY,
    TTY_INTO_FILE,
    Mode,
    RawMode,
    Resizes,
    Stopped,
    StopSignals,
    decide,
    is_terminal,
    raw_attributes,
    size,
)

ROOT = Path(__file__).parents[2]

PLAIN = Mode(tty=False, raw=False, resize=False, notice=None)


@pytest.mark.parametrize("stdout_is_terminal", [True, False])
@pytest.mark.parametrize(
    ("flags", "stdin_is_terminal", "mode"),
    [
        pytest.param("", True, PLAIN, id="neither"),
        pytest.param("-t", True, PLAIN, id="t-without-i"),
        pytest.param("-t", False, PLAIN, id="t-without-i-from-a-pipe"),
        pytest.param("-i", True, PLAIN, id="i-alone-stays-cooked"),
        pytest.param("-i", False, PLAIN, id="i-from-a-pipe"),
        pytest.param("-i -t", False, Mode(False, False, False, NO_TTY), id="it-from-a-pipe"),
    ],
)
def test_no_terminal_is_used(flags: str, stdin_is_terminal: bool, mode: Mode, stdout_is_terminal: bool) -> None:
    found = decide(
        stdin="-i" in flags,
        tty="-t" in flags,
        stdin_is_terminal=stdin_is_terminal,
        stdout_is_terminal=stdout_is_terminal,
    )
    assert found == mode


def test_a_terminal_on_both_sides() -> None:
    found = decide(stdin=True, tty=True, stdin_is_terminal=True, stdout_is_terminal=True)
    assert found == Mode(tty=True, raw=True, resize=True, notice=None)


def test_a_terminal_whose_output_goes_elsewhere() -> None:
    found = decide(stdin=True, tty=True, stdin_is_terminal=True, stdout_is_terminal=False)
    assert found == Mode(tty=True, raw=True, resize=False, notice=TTY_INTO_FILE)


class Pair(NamedTuple):
    """A pseudo terminal: what the person types on and looks at, and what the program has."""

    person: int
    program: int

    def attributes(self) -> list[Any]:
        return termios.tcgetattr(self.program)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.program, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@pytest.fixture
def terminal() -> Iterator[Pair]:
    pair = Pair(*pty.openpty())
    yield pair
    os.close(pair.person)
    os.close(pair.program)


def test_what_is_a_terminal(terminal: Pair, tmp_path: Path) -> None:
    assert is_terminal(terminal.program)
    with (tmp_path / "file").open("w") as file:
        assert not is_terminal(file.fileno())
    assert not is_terminal(-1)


# Raw mode


def test_raw_mode_is_that_of_kubectl(terminal: Pair) -> None:
    with RawMode(terminal.program):
        i, o, c, local, _, _, characters = terminal.attributes()
    assert i == 0
    assert not o & termios.OPOST
    assert not local & (termios.ICANON | termios.ECHO | termios.ECHONL | termios.ISIG | termios.IEXTEN)
    assert c & termios.CSIZE == termios.CS8
    assert not c & termios.PARENB
    assert characters[termios.VMIN] == 1 or characters[termios.VMIN] == b"\x01"
    assert characters[termios.VTIME] == 0 or characters[termios.VTIME] == b"\x00"


def test_flags_that_have_nothing_to_do_with_it_stay() -> None:
    kept = termios.IXOFF | termios.IXANY
    characters: list[Any] = [b"\x00"] * 32
    made = raw_attributes([kept | termios.ICRNL, termios.OPOST, termios.CREAD, termios.ECHOE, 15, 15, characters])
    assert made[0] == kept
    assert made[2] & termios.CREAD
    assert made[3] == termios.ECHOE
    assert characters == [b"\x00"] * 32  # the original is what is restored


def test_ctrl_c_and_ctrl_d_are_bytes(terminal: Pair) -> None:
    with RawMode(terminal.program):
        os.write(terminal.person, b"\x03\x04\r")
        seen = b""
        while len(seen) < 3:
            seen += os.read(terminal.program, 16)
        assert seen == b"\x03\x04\r"
        assert not select.select([terminal.person], [], [], 0)[0]  # no echo


def test_restored_at_the_end(terminal: Pair) -> None:
    before = terminal.attributes()
    with RawMode(terminal.program):
        assert terminal.attributes() != before
    assert terminal.attributes() == before


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_restored_after_an_exception(terminal: Pair, error: type[BaseException]) -> None:
    before = terminal.attributes()
    with pytest.raises(error), RawMode(terminal.program):
        raise error
    assert terminal.attributes() == before


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_restored_by_a_signal(terminal: Pair, name: str) -> None:
    number = getattr(signal, name)
    before, handler = terminal.attributes(), signal.getsignal(number)
    with pytest.raises(Stopped) as caught, RawMode(terminal.program):
        try:
            signal.raise_signal(number)
        finally:
            assert terminal.attributes() == before, "restored before anybody else has to do something"
    assert caught.value.number == number
    assert signal.getsignal(number) == handler


def test_restored_even_if_set_twice_by_the_same_terminal(terminal: Pair) -> None:
    before = terminal.attributes()
    with RawMode(terminal.program), RawMode(terminal.program):
        pass
    assert terminal.attributes() == before


def test_a_terminal_that_is_gone_hides_no_error(terminal: Pair) -> None:
    descriptor = os.dup(terminal.program)
    with pytest.raises(RuntimeError, match="the real reason"), RawMode(descriptor):
        os.close(descriptor)
        raise RuntimeError("the real reason")


def test_no_terminal_is_an_error_and_leaves_the_signals_alone(tmp_path: Path) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    with (tmp_path / "file").open("w") as file, pytest.raises(OSError), RawMode(file.fileno()):
        pass
    assert signal.getsignal(signal.SIGTERM) == handler


def test_raw_mode_in_another_thread_touches_no_signals(terminal: Pair) -> None:
    before, handler = terminal.attributes(), signal.getsignal(signal.SIGTERM)
    seen: list[Any] = []

    def use() -> None:
        with RawMode(terminal.program):
            seen.append((terminal.attributes() != before, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == [(True, handler)]
    assert terminal.attributes() == before


CHILD = """
import os, sys, time
from rawkube.remotecommand.terminal import RawMode, Stopped
try:
    while True:
        with RawMode(0):
            os.write(1, b"raw")
            if sys.argv[1] == "stay":
                time.sleep(60)
            if sys.argv[1] == "raise":
                raise RuntimeError
            if sys.argv[1] == "exit":
                sys.exit(7)
except Stopped as stopped:
    os._exit(100 + stopped.number)
"""


def start_child(terminal: Pair, what: str) -> subprocess.Popen[bytes]:
    environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CHILD, what]
    child = subprocess.Popen(
        command, stdin=terminal.program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert child.stdout
    assert child.stdout.read(3) == b"raw"
    return child


def end_child(child: subprocess.Popen[bytes]) -> int:
    try:
        child.communicate(timeout=30)
    finally:
        child.kill()
    return child.returncode


@pytest.mark.parametrize(("what", "code"), [("raise", 1), ("exit", 7)])
def test_a_process_that_ends_leaves_the_terminal_as_it_was(terminal: Pair, what: str, code: int) -> None:
    before = terminal.attributes()
    assert end_child(start_child(terminal, what)) == code
    assert terminal.attributes() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_told_to_end_leaves_the_terminal_as_it_was(terminal: Pair, number: int) -> None:
    before = terminal.attributes()
    child = start_child(terminal, "stay")
    assert terminal.attributes() != before
    child.send_signal(number)
    assert end_child(child) == 100 + number
    assert terminal.attributes() == before


def test_a_signal_at_any_moment_leaves_the_terminal_as_it_was(terminal: Pair) -> None:
    """The child enters and leaves raw mode as fast as it can; the signal hits it wherever it is."""
    before = terminal.attributes()
    for turn in range(4):
        child = start_child(terminal, "again")
        assert child.stdout
        child.stdout.read(3 * (turn + 1))
        child.terminate()
        # Outside the block the default action ends it.
        assert end_child(child) in (100 + signal.SIGTERM, -signal.SIGTERM)
        assert terminal.attributes() == before


# Signals


def test_after_the_first_signal_nothing_disturbs_the_way_out() -> None:
    said: list[str] = []
    with pytest.raises(Stopped) as caught, StopSignals(lambda: said.append("stop")):
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGINT)
            said.append("cleaned up")
    assert said == ["stop", "cleaned up"]
    assert caught.value.number == signal.SIGTERM


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


# Sizes


def test_the_size(terminal: Pair) -> None:
    terminal.resize(132, 43)
    assert size(terminal.program) == (132, 43)


@pytest.mark.parametrize(("columns", "lines"), [(0, 0), (0, 24), (80, 0)])
def test_a_size_of_nothing_is_none(terminal: Pair, columns: int, lines: int) -> None:
    terminal.resize(columns, lines)
    assert size(terminal.program) is None


def test_what_is_no_terminal_has_no_size(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        assert size(file.fileno()) is None
    assert size(-1) is None


def is_ready(resizes: Resizes, seconds: float = 0) -> bool:
    return bool(select.select([resizes], [], [], seconds)[0])


def test_a_change_of_size_wakes_a_waiting_loop(terminal: Pair) -> None:
    terminal.resize(80, 24)
    with Resizes(terminal.program) as resizes:
        assert not is_ready(resizes)
        assert resizes.take() is None
        terminal.resize(100, 30)
        signal.raise_signal(signal.SIGWINCH)
        assert is_ready(resizes)
        assert resizes.take() == (100, 30)
        assert not is_ready(resizes)
        assert resizes.take() is None


def test_a_signal_from_outside_ends_the_waiting(terminal: Pair) -> None:
    terminal.resize(80, 24)
    with Resizes(terminal.program) as resizes:
        main = threading.get_ident()
        timer = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGWINCH))
        timer.start()
        assert is_ready(resizes, 30)
        assert resizes.take() == (80, 24), "told even if nothing has changed"
        timer.join()


def test_many_changes_count_as_one(terminal: Pair) -> None:
    with Resizes(terminal.program) as resizes:
        for columns in range(1, 101):
            terminal.resize(columns, 5)
            signal.raise_signal(signal.SIGWINCH)
        assert resizes.take() == (100, 5)
        assert resizes.take() is None


def test_a_flood_of_changes_does_not_block(terminal: Pair) -> None:
    terminal.resize(80, 24)
    with Resizes(terminal.program) as resizes:
        for _ in range(70_000):  # more than a pipe holds
            resizes.note()
        while resizes.take():
            pass
        assert not is_ready(resizes)


def test_the_handler_is_what_it_was(terminal: Pair) -> None:
    before = signal.getsignal(signal.SIGWINCH)
    with Resizes(terminal.program) as resizes:
        descriptor = resizes.fileno()
    assert signal.getsignal(signal.SIGWINCH) == before
    with pytest.raises(OSError):
        os.fstat(descriptor)
