"""`rawkube watch` in this process: its lines without the clock, its notes, its code."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.run import kubeconfig


class Watched(NamedTuple):
    """`lines`: stdout without the clock and runs of blanks; `notes`: the lines of stderr."""

    lines: list[str]
    notes: list[str]
    code: int
    stdout: str

    @property
    def events(self) -> list[Any]:
        """The events of `-o json`."""
        return [json.loads(line) for line in self.stdout.splitlines()]


def watch(url: str, home: Path, *args: str) -> Watched:
    config = home / "config"
    config.write_text(kubeconfig(url))
    out, err = io.BytesIO(), io.BytesIO()
    code = main(["--kubeconfig", str(config), "watch", *args], out=Output(out, err))
    stdout = out.getvalue().decode()
    assert "Traceback" not in err.getvalue().decode()
    lines = [" ".join(line.split(" ")[1:] if line[2:3] == ":" else [line]) for line in stdout.splitlines()]
    return Watched([" ".join(line.split()) for line in lines], err.getvalue().decode().splitlines(), code, stdout)
