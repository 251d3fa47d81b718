"""A picture that is drawn in the same place of a terminal: what the user had above it stays, whatever its width."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from rawkube.cli.live_canvas import HIDE, SHOW, Canvas, Line, breaks_lines
from tests.support.cluster import Cluster
from tests.support.exec_process import Terminal
from tests.support.run import environment, rawkube_command
from tests.support.workloads import deployment

PART = re.compile(r"\x1b\[\??(\d*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


class Paper:
    """As much of a terminal as a canvas needs. `breaks`: lines are broken anew when it is made narrower, else cut."""

    def __init__(self, width: int, *, breaks: bool) -> None:
        self.rows: list[str] = [""]
        self.row = self.column = 0
        self.width = width
        self.breaks = breaks

    def write(self, text: str) -> None:
        for part in PART.finditer(text):
            if part[0] == "\r":
                self.column = 0
            elif part[0] == "\n":
                self._down()
            elif part[2] == "A":
                self.row = max(0, self.row - int(part[1] or 1))
            elif part[2] == "K":
                assert part[1] == "2"
                self.rows[self.row] = ""
            elif part[2] is None:
                self._text(part[0])

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")

    def _text(self, text: str) -> None:
        assert len(text) <= self.width, "the canvas is never given a line that is too long"
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[: self.column] + text + row[self.column + len(text) :]
        self.column += len(text)

    def resize(self, width: int) -> None:
        self.width = width
        rows: list[str] = []
        for number, text in enumerate(self.rows):
            pieces = (
                [text[at : at + width] for at in range(0, len(text) or 1, width)] if self.breaks else [text[:width]]
            )
            if number == self.row:
                cursor = len(rows) + min(self.column // width, len(pieces) - 1)
            rows += pieces
        self.rows, self.row = rows, cursor


def picture(width: int, number: int) -> list[Line]:
    lines = ["NAME STATUS", *(f"service-{row} ".ljust(width - 1, "x") for row in range(4)), f"sum {number}"]
    return [Line(f"\x1b[31m{text}\x1b[0m", len(text)) for text in lines]


def shown(lines: list[Line]) -> list[str]:
    return [line.text[5:-4] for line in lines]


@pytest.mark.parametrize("breaks", [True, False])
@pytest.mark.parametrize("widths", [(80, 80), (80, 50, 30), (80, 25), (30, 80, 31, 79)])
def test_what_stands_above_stays(breaks: bool, widths: tuple[int, ...]) -> None:
    paper, canvas = Paper(widths[0], breaks=breaks), Canvas(breaks_lines=breaks)
    paper.write("my own\r\noutput\r\n")
    for number, width in enumerate(widths):
        paper.resize(width)
        for _ in range(2):
            paper.write(canvas.draw(picture(width, number), width))
        assert [*filter(None, paper.rows)] == ["my own", "output", *shown(picture(width, number))]


def test_of_a_terminal_that_is_not_known_nothing_is_erased_that_is_not_the_picture() -> None:
    """It breaks lines, and the canvas does not know that: a part of the old picture stays, and all of the user's."""
    paper, canvas = Paper(80, breaks=True), Canvas(breaks_lines=False)
    paper.write("my own\r\noutput\r\n" + canvas.draw(picture(80, 1), 80))
    paper.resize(50)
    paper.write(canvas.draw(picture(50, 2), 50))
    assert paper.rows[:2] == ["my own", "output"]
    assert [*filter(None, paper.rows)][-6:] == shown(picture(50, 2))


def test_a_picture_of_fewer_lines_leaves_none_of_the_one_before() -> None:
    paper, canvas = Paper(80, breaks=False), Canvas(breaks_lines=False)
    paper.write(canvas.draw(picture(80, 1), 80) + canvas.draw(picture(80, 2)[-2:], 80))
    assert [*filter(None, paper.rows)] == shown(picture(80, 2)[-2:])


def test_left_it_is_drawn_anew_where_the_cursor_is() -> None:
    canvas = Canvas(breaks_lines=False)
    assert canvas.leave() == ""
    assert canvas.draw([Line("a", 1)], 80) == f"{HIDE}a"
    assert canvas.draw([Line("b", 1)], 80) == "\r\x1b[2Kb"
    assert canvas.leave() == SHOW
    assert canvas.draw([Line("c", 1)], 80) == f"{HIDE}c"


@pytest.mark.parametrize(
    ("environ", "known"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "linux"}, False),
        ({}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7006"}, True),
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, True),
        ({"TERM": "tmux-256color"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "screen", "STY": "1.pts-0", "VTE_VERSION": "7006"}, False),
    ],
)
def test_which_terminals_break_lines(environ: dict[str, str], known: bool) -> None:
    assert breaks_lines(environ) == known


def test_stopped_by_ctrl_z_the_cursor_is_shown_and_hidden_again(tmp_path: Path) -> None:
    """The process has no shell that could let it go on, so that the kernel does at once."""
    pytest.importorskip("rich")
    command = [*rawkube_command(), "rollout", "status", "deploy/a", "--progress", "--explain=never"]
    with Cluster(deployment("a", u=1)) as cluster, Terminal(100, 24) as terminal:
        stream, env = terminal.program, environment(tmp_path, cluster.url, TERM="xterm")
        process = subprocess.Popen(command, env=env, stdin=stream, stdout=stream, stderr=stream, start_new_session=True)
        terminal.look_for(b"1 under way")
        for _ in range(2):
            os.kill(process.pid, signal.SIGTSTP)
            terminal.look_for(SHOW.encode())
            terminal.look_for(HIDE.encode())
            terminal.look_for(b"1 under way")
        cluster.put(deployment("a"))
        assert process.wait(20) == 0
        assert terminal.rest().endswith(SHOW.encode())
