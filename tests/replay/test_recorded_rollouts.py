"""Each recorded `kubectl rollout status` replayed for rawkube: the same stdout and exit code, to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rawkube.observe.replay import Replay
from tests.support.here import run_here

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "fixtures"
RECORDED = sorted([*FIXTURES.glob("rollout-listwatch/*.expected.json"), *FIXTURES.glob("rollout/*.expected.json")])


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix('.expected.json')}"


def sooner(args: list[str]) -> list[str]:
    """The command line; what the server says by a recorded time-out, it says at once here."""
    return ["--timeout=1s" if arg == "--timeout=3s" else arg for arg in args]


@pytest.mark.parametrize("expectation", RECORDED, ids=name_of)
def test_a_recorded_rollout_prints_what_kubectl_printed(expectation: Path) -> None:
    expected = json.loads(expectation.read_text())
    recording = expectation.with_name(expectation.name.replace(".expected.json", ".jsonl"))
    with Replay(recording) as server:
        ran = run_here(*sooner(expected["args"]), config=server.kubeconfig)
    assert ran.stdout == expected["stdout"]
    assert ran.code == expected["exit_code"]
    assert ran.stderr.splitlines()[-1:] == expected["stderr"].splitlines()[-1:]


def test_there_are_recordings() -> None:
    assert len(RECORDED) > 30
