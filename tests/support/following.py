"""`rawkube rollout status` in this process: what it prints, and its JSON, every line of it checked by the schema."""

from __future__ import annotations

import io
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.run import kubeconfig


class Followed(NamedTuple):
    stdout: str
    stderr: str
    code: int

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()

    @property
    def notes(self) -> list[str]:
        return self.stderr.splitlines()

    @property
    def records(self) -> list[Any]:
        """The JSON Lines, valid ones."""
        return checked(self.stdout)

    @property
    def types(self) -> list[str]:
        """Each record in short: `observed web`, `result web complete`, `result * complete`."""
        return [in_short(record) for record in self.records]


def status(url: str, home: Path, *args: str) -> Followed:
    config = home / "config"
    config.write_text(kubeconfig(url))
    out, err = io.BytesIO(), io.BytesIO()
    code = main(["--kubeconfig", str(config), "rollout", "status", *args], out=Output(out, err))
    assert "itself failed" not in err.getvalue().decode(), err.getvalue().decode()
    return Followed(out.getvalue().decode(), err.getvalue().decode(), code)


@cache
def validator() -> Draft202012Validator:
    schema = json.loads((files("rawkube") / "schemas" / "rollout-status-1.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def checked(stdout: str) -> list[Any]:
    """The objects of JSON Lines that the schema allows; the last one tells the end of all, no other does."""
    assert stdout.endswith("\n") and stdout.isascii()
    records = [json.loads(line) for line in stdout.splitlines()]
    for record in records:
        validator().validate(record)
    assert [record["type"] == "result" and record["workload"] is None for record in records] == [
        *[False] * (len(records) - 1),
        True,
    ]
    return records


def in_short(record: Any) -> str:
    whose = record["workload"]["name"] if record["workload"] else "*"
    return " ".join(filter(None, (record["type"], whose, record.get("outcome"), record.get("finding", {}).get("code"))))
