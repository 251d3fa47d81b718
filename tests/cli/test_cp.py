"""`cp` from the command line to files, with a container whose programs run on this machine."""

from __future__ import annotations

import io
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rawkube.cli import cp as cli_cp
from rawkube.cli.output import Output
from tests.support.container import Container
from tests.support.copies import DOWN, OLD, UP, cp, listing, make_tree, places
from tests.support.exec_process import Terminal
from tests.support.rows import looped
from tests.support.websocket import V4, V5


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


@pytest.mark.parametrize("protocol", [V5, V4])
def test_a_tree_goes_up_as_it_is(tree: Path, tmp_path: Path, protocol: str) -> None:
    with Container(protocol=protocol) as server:
        done = cp(server, tree, f"web:{tmp_path}/there")
    assert (done.stdout, done.stderr, done.code) == ("", "", 0)
    assert listing(tmp_path / "there", times=True) == listing(tree, times=True)
    head = server.commands[1][:3]
    assert head == (["tar", "-xf", "-"] if protocol == V5 else ["sh", "-c", head[2]])


@pytest.mark.parametrize("protocol", [V5, V4])
def test_a_tree_comes_down_as_it_is(tree: Path, tmp_path: Path, protocol: str) -> None:
    with Container(protocol=protocol) as server:
        done = cp(server, f"web:{tree}", tmp_path / "here")
    assert done.code == 0
    assert listing(tmp_path / "here", times=True) == listing(tree, times=True)
    assert int((tmp_path / "here").stat().st_mtime) == int(tree.stat().st_mtime)


def test_what_the_container_says_is_shown(tree: Path, tmp_path: Path) -> None:
    with Container() as server:
        done = cp(server, f"web:{tree}", tmp_path / "here")
    assert done.stderr.splitlines()[0] == "tar: Removing leading `/' from member names"
    assert done.stdout == ""


@pytest.mark.parametrize(("source", "destination", "lands"), UP)
def test_where_it_lands_in_the_container(tree: Path, tmp_path: Path, source: str, destination: str, lands: str) -> None:
    (tmp_path / "R").mkdir()
    source, destination, lands = places(tree, tmp_path, source, destination, lands)
    with Container() as server:
        done = cp(server, source, f"web:{destination}")
    assert done.code == 0, done
    assert os.path.lexists(lands), listing(tmp_path / "R")


@pytest.mark.parametrize(("source", "destination", "lands"), DOWN)
def test_where_it_lands_here(tree: Path, tmp_path: Path, source: str, destination: str, lands: str) -> None:
    (tmp_path / "R").mkdir()
    source, destination, lands = places(tree, tmp_path, source, destination, lands)
    with Container() as server:
        done = cp(server, f"ns1/web:{source}", destination)
    assert done.code == 0, done
    assert os.path.lexists(lands), listing(tmp_path / "R")
    assert {request.path.split("/")[4] for request in server.asked if "pods" in request.path} == {"ns1"}


def test_a_file_lands_in_a_directory_that_is_here(tree: Path, tmp_path: Path) -> None:
    with Container() as server:
        done = cp(server, f"web:{tree}/a.txt", tmp_path)
    assert done.code == 0
    assert (tmp_path / "a.txt").read_bytes() == b"hello\n"


def test_names_that_look_like_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-C").write_bytes(b"dash")
    with Container() as server:
        assert cp(server, "web:-C", "got").code == 0
        assert cp(server, "--", "./-C", "web:-x").code == 0
        assert cp(server, "--", "-C", "web:up").code == 0
    assert [Path(name).read_bytes() for name in ("got", "-x", "up")] == [b"dash"] * 3


@pytest.mark.parametrize(
    ("flags", "command"),
    [
        ((), ["tar", "-xf", "-", "-C"]),
        (("--touch",), ["tar", "-xmf", "-", "-C"]),
        (("--no-preserve",), ["tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-", "-C"]),
    ],
)
def test_what_is_run_in_the_container(tree: Path, tmp_path: Path, flags: tuple[str, ...], command: list[str]) -> None:
    with Container() as server:
        assert cp(server, *flags, f"{tree}/a.txt", f"web:{tmp_path}/x").code == 0
    assert server.commands[:2] == [["test", "-d", f"{tmp_path}/x"], [*command, str(tmp_path)]]
    old = int((tmp_path / "x").stat().st_mtime) == OLD
    assert old == (not flags)


def test_without_modes_and_times(tree: Path, tmp_path: Path) -> None:
    with Container() as server:
        assert cp(server, "--no-preserve", "--touch", f"web:{tree}/a.txt", tmp_path / "x").code == 0
    found = (tmp_path / "x").stat()
    assert int(found.st_mtime) != OLD
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(found.st_mode) == 0o666 & ~mask


def test_what_links_lead_to(tree: Path, tmp_path: Path) -> None:
    with Container() as server:
        assert cp(server, "-L", f"web:{tree}/link", tmp_path / "down").code == 0
        assert cp(server, "-L", f"{tree}/link", f"web:{tmp_path}/up").code == 0
        refused = cp(server, f"web:{tree}/link", tmp_path / "none")
    assert (tmp_path / "down").read_bytes() == (tmp_path / "up").read_bytes() == b"hello\n"
    assert refused.code == 1
    assert 'skipping symlink: "' in refused.stderr
    assert not os.path.lexists(tmp_path / "none")


@looped(
    ("words", "text"),
    [
        ((), "source and destination are required"),
        (("a",), "source and destination are required"),
        (("a", "b", "c"), "source and destination are required"),
        (("a", "b"), "one of src or dest must be a remote file specification"),
        (("p:/x", "p:/y"), "one of src or dest must be a local file specification"),
        (("p:", "a"), "filepath can not be empty"),
        (("", "b"), "filepath can not be empty"),
        ((":x", "p:/y"), "filespec must match the canonical format: [[namespace/]pod:]file/path"),
        (("a/b/c:/x", "y"), "filespec must match the canonical format: [[namespace/]pod:]file/path"),
        (("nope/x", "p:/x"), "nope/x doesn't exist in local filesystem"),
        (("--verify=no", "a", "p:/x"), '--verify must be "auto", "always" or "never", not "no"'),
    ],
)
def test_command_lines_that_cannot_be(words: tuple[str, ...], text: str) -> None:
    with Container() as server:
        done = cp(server, *words)
    assert (done.code, done.stderr) == (1, f"error: {text}\n")
    assert server.asked == []


# The terminal


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_cp, "_REDRAW", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    (tmp_path / "data").write_bytes(bytes(1_000_000))
    with Container() as server, Terminal() as terminal, open(terminal.program, "w", closefd=False) as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        shown: list[bytes] = []
        reader = threading.Thread(target=lambda: shown.append(terminal.look_for(b"100% of data", 5)))
        reader.start()
        assert cp(server, f"web:{tmp_path}/data", tmp_path / "got").code == 0
        reader.join(10)
    assert b"KiB/s, " in shown[0] or b"MiB/s, " in shown[0]


@looped(
    ("done", "size", "total", "seconds", "width", "line"),
    [
        (512, 1024, 512, 1.0, 80, "512 B, 512 B/s, 50% of a"),
        (0, 0, 3 << 30, 2.0, 80, "3.0 GiB, 1.5 GiB/s, a"),
        (1, 3, 1 << 45, 0.0, 80, "32.0 TiB, 0 B/s, 33% of a"),
        (512, 1024, 512, 1.0, 10, "512 B, 51"),
    ],
)
def test_the_line_of_progress(done: int, size: int, total: int, seconds: float, width: int, line: str) -> None:
    assert cli_cp.progress_line("a", done, size, total, seconds, width) == f"{line}\x1b[K"


def test_names_in_the_progress_obey_nobody() -> None:
    assert "\x1b]" not in cli_cp.progress_line("\x1b]0;x\a", 0, 0, 0, 1.0, 80)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def shown_by(work: Callable[[cli_cp.Shown, Clock], None]) -> list[str]:
    """The lines on stderr."""
    err, clock = io.BytesIO(), Clock()
    work(cli_cp.Shown(Output(io.BytesIO(), err), clock), clock)
    return err.getvalue().decode().splitlines()


def test_what_the_container_says_is_shown_line_by_line() -> None:
    def work(shown: cli_cp.Shown, clock: Clock) -> None:
        shown.remote(b"one\ntw")
        shown.remote(b"o\n" + b"x" * 4096)
        shown.remote(b"x")  # a line of any length is not held
        shown.remote(b"rest\x1b")
        shown.end()

    assert shown_by(work) == ["one", "two", "x" * 4097, "rest\\x1b"]


def test_of_many_warnings_the_first_ones() -> None:
    def work(shown: cli_cp.Shown, clock: Clock) -> None:
        for number in range(23):
            shown.note(f"warning: {number}")
        shown.note("something else")
        shown.end()
        shown.end()

    said = [*(f"warning: {number}" for number in range(20)), "something else", "... and 3 more warnings"]
    assert shown_by(work) == said


def test_progress_is_drawn_now_and_then_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with Terminal() as terminal, open(terminal.program, "w", closefd=False) as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)

        def work(shown: cli_cp.Shown, clock: Clock) -> None:
            shown.begin("dir/data", 2048)
            clock.now = 1.0
            shown.moved(1024)
            clock.now = 1.1
            shown.moved(512)
            shown.note("between")
            clock.now = 2.0
            shown.moved(512)
            shown.end()

        assert shown_by(work) == ["between"]
        seen = terminal.look_for(b"100% of data\x1b[K\r\x1b[K", 5)
    assert seen.count(b" of data") == 2
    assert b"1.0 KiB, 1.0 KiB/s, 50% of data\x1b[K\r\x1b[K" in seen


def test_a_terminal_that_has_gone_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(cli_cp, "_REDRAW", 0.0)
    with Terminal() as terminal, open(terminal.program, "w", closefd=False) as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        shown = cli_cp.Shown(Output(io.BytesIO(), io.BytesIO()), Clock())
    shown._terminal = 2**20  # nothing is open there
    shown.begin("data", 1)
    shown.moved(1)
    assert shown.bytes == 1


def test_without_a_stderr_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert shown_by(lambda shown, clock: shown.begin("data", 1)) == []
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO()))
    assert cli_cp._width() == 80
