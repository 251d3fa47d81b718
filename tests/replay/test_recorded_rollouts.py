"""Each recorded `kubectl rollout status` replayed for rawkube: the same stdout and exit code, to the byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "fixtures"
RECORDED = sorted([*FIXTURES.glob("rollout-listwatch/*.expected.json"), *FIXTURES.glob("rollout/*.expected.json")])


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix('.expected.json')}"


@pytest.mark.parametrize("expectation", RECORDED, ids=name_of)
def test_a_recorded_rollout_prints_what_kubectl_printed(expectation: Path) -> None:
    expected = json.loads(expectation.read_text())
    recording = expectation.with_name(expectation.name.replace(".expected.json", ".jsonl"))
    ran = subprocess.run(
        [sys.executable, "-m", "rawkube", "replay", str(recording), "--speed=max", "--", *expected["args"]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout == expected["stdout"]
    assert ran.returncode == expected["exit_code"]
    assert ran.stderr.splitlines()[-1:] == expected["stderr"].splitlines()[-1:]


def test_there_are_recordings() -> None:
    assert len(RECORDED) > 30
