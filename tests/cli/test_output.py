"""stdout and stderr of a command: what is escaped, what is coloured, what happens when nobody reads."""

from __future__ import annotations

import io
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rawkube.cli.output import Output
from rawkube.errors import ConnectionRefused, RawkubeError, StatusError, UsageError
from tests.support.api_server import ApiServer
from tests.support.run import ROOT, environment, rawkube_command, run
from tests.support.script import Workload
from tests.support.workloads import deployment


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


class Gone(io.BytesIO):
    """A stream that nobody can write to."""

    def write(self, data: object) -> int:
        raise BrokenPipeError


class Screen:
    """An Output and what it has written."""

    def __init__(self, stderr: io.BytesIO | None = None) -> None:
        self.stdout, self.stderr = io.BytesIO(), stderr or io.BytesIO()
        self.out = Output(self.stdout, self.stderr)

    @property
    def shown(self) -> tuple[str, str]:
        return self.stdout.getvalue().decode(), self.stderr.getvalue().decode()


class TestText:
    def test_where_it_goes(self) -> None:
        screen = Screen()
        screen.out.line("state")
        screen.out.write("as it is")
        screen.out.note("by the way")
        screen.out.warning("soon gone")
        screen.out.errors([RawkubeError("bad")])
        assert screen.shown == ("state\nas it is", "by the way\nWarning: soon gone\nerror: bad\n")

    HOSTILE = "a\x1b[2J\rb\x9b1m\x7f\x00é\u2028\tz"
    SAFE = "a\\x1b[2J\\x0db\\x9b1m\\x7f\\x00é\u2028\tz"

    def test_what_comes_from_a_server_cannot_drive_the_terminal(self) -> None:
        screen = Screen()
        screen.out.line(self.HOSTILE)
        screen.out.note(self.HOSTILE)
        screen.out.warning(self.HOSTILE)
        screen.out.errors([RawkubeError(self.HOSTILE, detail=[self.HOSTILE])])
        safe = self.SAFE
        assert screen.shown == (f"{safe}\n", f"{safe}\nWarning: {safe}\n{safe}\nerror: {safe}\n")

    def test_bytes_of_a_command_line_come_out_as_they_went_in(self) -> None:
        screen = Screen()
        screen.out.line(os.fsdecode(b"caf\xe9"))
        assert screen.stdout.getvalue() == b"caf\xe9\n"

    def test_half_a_surrogate_pair_is_replaced(self) -> None:
        """JSON can spell it, UTF-8 cannot."""
        screen = Screen()
        screen.out.line("a\ud800b")
        screen.out.errors([StatusError({"message": "\udfff", "reason": "Expired"})])
        assert screen.shown == ("a\ufffdb\n", "Error from server (Expired): \ufffd\n")

    @pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
    def test_the_locale_makes_no_difference(self, locale: str, tmp_path: Path) -> None:
        with ApiServer(Workload(deployment()), warnings=["schön alt"]) as server:
            result = run(
                rawkube_command(),
                "rollout",
                "status",
                "deployment/web",
                url=server.url,
                home=tmp_path,
                LC_ALL=locale,
                PYTHONCOERCECLOCALE="0",
                PYTHONUTF8="0",
            )
        assert result.stderr == "Warning: schön alt\n"


class TestErrors:
    def test_what_rawkube_adds_stands_above_kubectls_line(self) -> None:
        screen = Screen()
        screen.out.errors([ConnectionRefused("x", server="h:1", detail=["tried 10.0.0.1", "set by --server"])])
        assert screen.shown[1].splitlines() == [
            "tried 10.0.0.1",
            "set by --server",
            "The connection to the server h:1 was refused - did you specify the right host or port?",
        ]

    def test_several_errors_have_their_details_first_and_each_once(self) -> None:
        screen = Screen()
        first, second = UsageError("one", detail=["same", "mine"]), UsageError("two", detail=["same", "yours"])
        screen.out.errors([first, second])
        assert screen.shown[1].splitlines() == ["same", "mine", "yours", "one", "two"]


class TestWarnings:
    def test_each_text_once(self) -> None:
        screen = Screen()
        for text in ["a", "b", "a", "b", "a "]:
            screen.out.warning(text)
        assert screen.shown[1] == "Warning: a\nWarning: b\nWarning: a \n"
        assert screen.out.warnings == 3

    def test_none(self) -> None:
        assert Screen().out.warnings == 0

    @pytest.mark.parametrize(
        ("terminal", "environ", "coloured"),
        [
            (True, {"TERM": "xterm"}, True),
            (False, {"TERM": "xterm"}, False),
            (True, {"TERM": "dumb"}, False),
            (True, {"TERM": ""}, False),
            (True, {}, False),
            (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
            (True, {"TERM": "xterm", "NO_COLOR": ""}, False),
        ],
    )
    def test_colours(
        self, terminal: bool, environ: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("TERM", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        screen = Screen(Terminal() if terminal else io.BytesIO())
        screen.out.warning("old")
        assert screen.shown[1] == ("\x1b[33;1mWarning:\x1b[0m old\n" if coloured else "Warning: old\n")


class TestNobodyReads:
    def test_a_closed_stderr_is_no_reason_to_stop(self) -> None:
        screen = Screen(Gone())
        screen.out.note("x")
        screen.out.warning("x")
        screen.out.errors([RawkubeError("x")])
        screen.out.line("goes on")
        assert screen.shown[0] == "goes on\n"
        assert screen.out.warnings == 1

    def in_a_shell(self, script: str, *args: str, home: Path, url: str = "http://127.0.0.1:1") -> tuple[str, str]:
        """What a shell script prints in which `"$@"` is `rawkube ARGS`."""
        command = ["sh", "-c", script, "sh", *rawkube_command(), *args]
        ran = subprocess.run(command, env=environment(home, url), cwd=ROOT, capture_output=True, text=True, timeout=30)
        return ran.stdout, ran.stderr

    def test_a_reader_that_has_gone_ends_it_as_it_ends_any_program(self, tmp_path: Path) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        command = ["sh", "-c", '"$@"; echo "code $?" >&2', "sh", *rawkube_command(), "version"]
        env = environment(tmp_path, "http://127.0.0.1:1")
        ran = subprocess.run(command, env=env, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=30)
        os.close(writing)
        assert ran.stderr == "code 141\n"

    @pytest.mark.parametrize(
        ("script", "args", "code"),
        [
            ('"$@" >&-; echo "code $?"', ("version",), 0),
            ('"$@" 2>&-; echo "code $?"', ("nonsense",), 1),
            ('"$@" >&- 2>&-; echo "code $?"', ("nonsense",), 1),
            ('"$@" <&- >&- 2>&-; echo "code $?"', ("version",), 0),
        ],
        ids=["stdout", "stderr", "both", "all"],
    )
    def test_closed_from_the_start(self, script: str, args: tuple[str, ...], code: int, tmp_path: Path) -> None:
        assert self.in_a_shell(script, *args, home=tmp_path) == (f"code {code}\n", "")

    def test_a_closed_stdout_is_not_taken_for_a_connection(self, tmp_path: Path) -> None:
        """The first descriptor that is free is 1: what is printed must not end up in a request."""
        with ApiServer(Workload(deployment())) as server:
            script = '"$@" >&-; echo "code $?"'
            args = ("rollout", "status", "deployment/web")
            assert self.in_a_shell(script, *args, home=tmp_path, url=server.url) == ("code 0\n", "")
            assert [request.method for request in server.asked] == ["GET"]

    def test_a_pipe_that_does_not_block_is_waited_for(self) -> None:
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        text = "x" * 300_000  # more than a pipe holds
        with open(writing, "wb") as pipe, ThreadPoolExecutor(1) as pool:  # noqa: PTH123

            def read_all() -> int:
                with open(reading, "rb") as end:  # noqa: PTH123
                    return len(end.read())

            read = pool.submit(read_all)
            Output(pipe.raw, io.BytesIO()).write(text)  # type: ignore[arg-type]
            pipe.close()
            assert read.result() == len(text)

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
    def test_a_full_disk_is_an_error(self, tmp_path: Path) -> None:
        shown = self.in_a_shell('"$@" >/dev/full; echo "code $?"', "version", home=tmp_path)
        assert shown == ("code 1\n", "error: write stdout: no space left on device\n")
