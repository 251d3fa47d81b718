"""Whom `rawkube proxy` leaves stdin to: the command behind `--`, and without one whoever asks for a credential."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rawkube.cli import connection
from rawkube.errors import ConfigError
from tests.support.here import run_at


@pytest.mark.parametrize(
    ("line", "use"),
    [("proxy -- kubectl get pods", "used by the command behind --"), ("proxy", ""), ("get pods", "")],
)
def test_who_has_stdin(line: str, use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def connect(**options: Any) -> None:
        seen.append(options["stdin_reserved"])
        raise ConfigError("that is enough")

    monkeypatch.setattr(connection, "connect", connect)
    assert run_at("http://127.0.0.1:1", *line.split(), home=tmp_path).last == "error: that is enough"
    assert seen == [use]
