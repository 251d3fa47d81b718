"""`rollout status --progress`: the rows of the table, how they are drawn, and when there are lines instead."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rawkube.api.builtin import lookup
from rawkube.cli.live_rows import BAD, BUSY, GOOD, WARN, Board, bar, revision_of
from rawkube.cli.output import Output
from rawkube.errors import RolloutFailed
from rawkube.rollout.counters import Counters
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.happenings import (
    COMPLETE,
    FAILED,
    Cleared,
    Explained,
    Found,
    Happening,
    Note,
    Overall,
    Result,
    State,
    Workload,
)
from rawkube.rollout.status import evaluate
from tests.support.cluster import Cluster
from tests.support.exec_process import Terminal
from tests.support.following import status
from tests.support.run import environment, rawkube_command
from tests.support.workloads import deployment, statefulset

NOTE = "pip install 'rawkube[ui]'"


def workload(name: str, kind: str = "Deployment", namespace: str = "default") -> Workload:
    resource = lookup(kind)
    assert resource
    return Workload(resource, namespace, name)


def state(thing: dict[str, Any]) -> State:
    return State(workload(thing["metadata"]["name"], thing["kind"]), thing, evaluate(thing))


def finding(text: str, resolves: str = MAYBE) -> Finding:
    return Finding(code=text, text=text, object="pod/web-0", resolves=resolves)


def board(*happenings: Happening, namespaces: bool = False) -> Board:
    made = Board(namespaces=namespaces)
    for number, happening in enumerate(happenings):
        made.take(happening, float(number))
    return made


def test_a_row_says_where_its_workload_is() -> None:
    web = workload("web")
    first = state(deployment("web", u=1, a=2, revision="7"))
    table: list[tuple[list[Happening], str, str]] = [
        ([], "1 out of 3 new replicas have been updated...", BUSY),
        ([Found(web, finding("heals")), Found(web, finding("slow", WAITS))], "heals", WARN),
        ([Found(web, finding("heals")), Found(web, finding("hopeless", NEVER))], "hopeless", BAD),
        ([Found(web, finding("heals")), Cleared(web, finding("heals"))], first.progress.message.split(": ")[1], BUSY),
        ([Found(web, finding("a\x1b[31m[red]b\nc"))], "a\\x1b[31m[red]b c", WARN),
        ([Found(web, finding("heals")), Result(web, COMPLETE, None, 3.0)], "complete", GOOD),
        ([Found(web, finding("slow", WAITS)), Result(web, FAILED, RolloutFailed("gone"), 3.0)], "gone", BAD),
        ([Found(web, finding("heals")), Result(web, FAILED, RolloutFailed("gone"), 3.0)], "heals", BAD),
        ([Result(web, FAILED, RolloutFailed("gone"), 3.0, why=Explained((finding("looked at"),)))], "looked at", BAD),
    ]
    for more, why, mood in table:
        row = board(first, *more).picture(10, 5.0).rows[0]
        ended = isinstance(more[-1], Result) if more else False
        assert row[:1] + row[2:] == ("web", "3s" if ended else "5s", "7", why, mood), more
        assert row.counts == "1/0/2 of 3"
    assert board(Found(web, finding("early"))).picture(10, 5.0).rows[0].counts == ""


def test_names_tell_what_differs() -> None:
    things = [state(deployment("web")), state(statefulset("db"))]
    names = [[row.name for row in board(*some).picture(9, 0.0).rows] for some in (things[:1], things)]
    assert names == [["web"], ["deployment.apps/web", "statefulset.apps/db"]]
    assert board(things[0], namespaces=True).picture(9, 0.0).rows[0].name == "default/web"
    assert revision_of({"status": {"updateRevision": "db-5d4f"}}) == "5d4f"
    assert revision_of({"metadata": {"annotations": None}}) == ""


def test_the_bar_is_full_only_when_all_is_available() -> None:
    for numbers, drawn in (
        (Counters(3, 3, 0, 3, 3), "░" * 6),
        (Counters(3, 4, 1, 3, 3), "██░░░░"),
        (Counters(3, 3, 3, 2, 1), "██▓▓▒▒"),
        (Counters(3, 3, 3, 3, 3), "█" * 6),
        (Counters(0, 0, 0, 0, 0), "█" * 6),
        (Counters(3, 1, None, 1, 2), "████░░"),
        (Counters(), ""),
        (Counters(3, 3, 3, -1, 99), "█" * 6),
    ):
        assert bar(numbers, 6) == drawn, numbers


def five_hundred() -> Board:
    made = board(*(state(deployment(f"w{number:03}", u=1)) for number in range(500)))
    for number in range(450):
        made.take(Result(workload(f"w{number:03}"), COMPLETE), 600.0)
    made.take(Result(workload("w499"), FAILED, RolloutFailed("exceeded")), 600.0)
    return made


def test_many_find_room() -> None:
    made = five_hundred()
    picture = made.picture(22, 610.0)
    assert len(picture.rows) == 20
    assert [picture.rows[0].name, picture.rows[1].name, picture.rows[-1].name] == ["w499", "w450", "w468"]
    assert picture.more == "… and 480 more (450 complete)"
    assert picture.total == "450 of 500 complete, 1 failed, 49 under way, 10m"
    assert made.picture(501, 610.0).more == ""
    assert len(made.picture(1, 610.0).rows) == 0
    made.take(Note(workload(""), "connection lost\x1b", lost=True), 611.0)
    assert made.picture(22, 611.0).total.endswith("connection lost\\x1b")
    made.take(Note(workload(""), "connected again"), 612.0)
    assert "conn" not in made.picture(22, 612.0).total


def test_no_line_is_wider_than_the_terminal() -> None:
    pytest.importorskip("rich")
    from rich.console import Console

    from rawkube.cli.live_table import table

    made = five_hundred()
    made.take(Found(workload("w470"), finding("数" * 90 + "[bold]")), 600.0)
    for width in (20, 49, 60, 100, 200):
        console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
        with console.capture() as capture:
            console.print(table(made.picture(22, 610.0), width - 1))
        lines = capture.get().splitlines()
        assert len(lines) == 23, width
        from rich.cells import cell_len

        assert max(map(cell_len, map(plain, lines))) < width, width
        assert plain(lines[1]).startswith("w4"), width


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def following(terminal: Terminal, url: str, home: Path, **env: str) -> subprocess.Popen[bytes]:
    command = [*rawkube_command(), "rollout", "status", "deploy", "--all", "--progress"]
    stream = terminal.program
    return subprocess.Popen(
        command, env=environment(home, url, **env), stdin=stream, stdout=stream, stderr=stream, start_new_session=True
    )


def test_on_a_terminal(tmp_path: Path) -> None:
    """Grows with what happens, fits when the terminal is made narrower; the end stays, with the cursor shown."""
    pytest.importorskip("rich")
    things = [deployment("a"), deployment("b", u=1), deployment("c", u=2)]
    with Cluster(*things) as cluster, Terminal(100, 24) as terminal:
        process = following(terminal, cluster.url, tmp_path, TERM="xterm", NO_COLOR="1")
        terminal.look_for(b"1 of 3 complete, 2 under way")
        terminal.resize(60, 24)
        for _ in range(2):  # the first may have been drawn for the old width
            terminal.look_for(b"\r\x1b[2K")
        shown = terminal.look_for(b"under way").decode()
        assert max(len(plain(line)) for line in shown.splitlines()) < 60
        cluster.put(deployment("b"))
        terminal.look_for(b"2 of 3 complete")
        cluster.put(deployment("c", u=2, condition=("Progressing", "False", "ProgressDeadlineExceeded")))
        last = terminal.look_for(b"\x1b[?25h").decode()
        assert "2 of 3 complete, 1 failed" in last
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", last)
        assert process.wait(20) == 1
        after = terminal.rest().decode()
        assert 'error: deployment.apps/c: deployment "c" exceeded its progress deadline' in after


def test_of_nothing_there_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    from rawkube.cli.live_table import LiveTable

    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    shown = LiveTable(Output(screen, io.BytesIO()))
    shown.tell(Overall(COMPLETE))
    shown.finish()
    assert screen.getvalue() == b""


def test_interrupted(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    with Cluster(deployment("b", u=1)) as cluster, Terminal(100, 24) as terminal:
        before = terminal.attributes()
        process = following(terminal, cluster.url, tmp_path, TERM="xterm")
        terminal.look_for(b"1 under way")
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(20) == 1
        rest = terminal.rest()
        assert b"1 interrupted" in rest and rest.rstrip().endswith(b"\x1b[?25h")
        assert terminal.attributes() == before


class Screen(io.BytesIO):
    def isatty(self) -> bool:
        return True


def test_lines_where_there_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rawkube.cli.reporters import reporter_for
    from rawkube.cli.rollout_options import Options

    with Cluster(deployment("a")) as cluster:
        ended = status(cluster.url, tmp_path, "deploy/a", "--progress")
    assert (ended.lines, ended.notes, ended.code) == (['deployment "a" successfully rolled out'], [], 0)
    ended = status(cluster.url, tmp_path, "deploy/a", "--progress", "-o", "json")
    assert ended.notes == ["error: only one of --output and --progress can be specified"]

    options = Options("", True, False, "live", None, False, False, False, evaluate, lambda *_: "", None, True)
    monkeypatch.setitem(sys.modules, "rawkube.cli.live_table", None)
    for term, notes in (("dumb", 0), ("xterm", 1)):
        monkeypatch.setenv("TERM", term)
        error = io.BytesIO()
        assert type(reporter_for(options, Output(Screen(), error))).__name__ == "LineReporter"
        assert error.getvalue().decode().count(NOTE) == notes, term
    monkeypatch.delitem(sys.modules, "rawkube.cli.live_table")
    monkeypatch.setitem(sys.modules, "rich.cells", ModuleType("rich.cells"))  # another rich, without `cell_len`
    error = io.BytesIO()
    assert type(reporter_for(options, Output(Screen(), error))).__name__ == "LineReporter"
    assert error.getvalue().decode().count(NOTE) == 1


def test_a_full_disk_is_told_to_who_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    from rawkube.cli.live_table import LiveTable
    from rawkube.errors import RawkubeError

    class Full(Screen):
        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setenv("TERM", "xterm")
    shown = LiveTable(Output(Full(), io.BytesIO()))
    shown.tell(state(deployment("a", u=1)))
    try:
        with pytest.raises(RawkubeError, match="write stdout: no space left"):
            shown.tell(state(deployment("a", u=2)))
    finally:
        shown.finish()
