"""`rawkube inspect --har`, `--html`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import NamedTuple

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.recordings import FIXTURES
from tests.support.rows import looped


class Done(NamedTuple):
    code: int
    out: str
    err: str


def run(*args: str) -> Done:
    stdout, stderr = io.BytesIO(), io.BytesIO()
    code = main(list(args), out=Output(stdout, stderr))
    return Done(code, stdout.getvalue().decode(), stderr.getvalue().decode())


CAT = str(FIXTURES / "exec/v5-stdin-cat.jsonl")


def test_both_files_of_one_reading(tmp_path: Path) -> None:
    har, html = tmp_path / "o.har", tmp_path / "o.html"
    done = run("inspect", CAT, "--har", str(har), "--html", str(html))
    assert (done.code, done.out, done.err) == (0, f"{har} written\n{html} written\n", "")
    assert len(json.loads(har.read_text())["log"]["entries"]) == 2
    assert "<title>v5-stdin-cat.jsonl</title>" in html.read_text()
    assert [path.stat().st_mode & 0o777 for path in (har, html)] == [0o600, 0o600]


def test_on_stdout_of_one_connection() -> None:
    done = run("inspect", CAT, "--har=-", "--conn=2")
    (entry,) = json.loads(done.out)["log"]["entries"]
    assert entry["response"]["status"] == 101


def test_a_har_is_read_again(tmp_path: Path) -> None:
    har, html = tmp_path / "o.har", tmp_path / "o.html"
    run("inspect", CAT, "--har", str(har))
    assert run("inspect", str(har), "--html", str(html)).code == 0
    assert '"name":"stdin"' in html.read_text()


@looped(
    ("flags", "text"),
    [
        (("--har=a", "--follow"), "--har cannot be used with --follow"),
        (("--html=a", "--diff=b"), "--html cannot be used with --diff"),
        (("--har=a", "--html=a"), "--har and --html would write the same file"),
        (("--html=/nowhere/at/all",), "open /nowhere/at/all: there is no folder /nowhere/at"),
    ],
)
def test_what_cannot_be(flags: tuple[str, ...], text: str) -> None:
    done = run("inspect", CAT, *flags)
    assert (done.code, done.out) == (1, "")
    assert text in done.err


def test_a_cut_recording_is_told_as_far_as_it_goes(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(Path(CAT).read_bytes()[:-20])
    done = run("inspect", str(cut), "--html", str(tmp_path / "o.html"))
    assert done.code == 0
    assert "ends in the middle of a line" in done.err


def test_an_empty_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    done = run("inspect", str(tmp_path / "empty"), "--html", str(tmp_path / "o.html"))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert not (tmp_path / "o.html").exists()
