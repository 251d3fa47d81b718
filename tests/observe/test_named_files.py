"""A file that a variable names and that cannot be written: one line, before anything is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.here import run_here
from tests.support.server import Peer, ScriptedServer


@pytest.mark.parametrize("variable", ["RECORD", "TRACE"])
@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("{0}/no/", "open {0}/no/: there is no folder {0}/no"),
        ("{0}/no/x", "open {0}/no/x: there is no folder {0}/no"),
        ("{0}/file/x", "open {0}/file/x: not a directory"),
    ],
)
def test_a_variable(variable: str, named: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Peer] = []
    (tmp_path / "file").touch()
    name = f"RAWKUBE_{variable}"
    monkeypatch.setenv(name, named.format(tmp_path))
    with ScriptedServer(asked.append) as server:
        ran = run_here("--server", server.url, "get", "pods", config=os.devnull)
    advice = "unset it, or let it name a file in a folder that is there and can be written to"
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr == f"error: ${name}: {why.format(tmp_path)}; {advice}\n"
    assert asked == []
