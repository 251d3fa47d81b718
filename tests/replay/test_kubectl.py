"""The real kubectl against every recorded rollout: it must say what it said to the real cluster.

kubectl 1.37 asks with a streaming list, or (told so by a feature gate) with LIST and WATCH, whichever of the
two the recording was made with.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rawkube.cli.replay import environment
from rawkube.observe.replay import Replay
from tests.observe.made import FIXTURES

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")
EXPECTED = sorted(FIXTURES.glob("rollout*/*.expected.json"))

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(KUBECTL is None, reason="no kubectl"),
]


def recording(expected: Path) -> Path:
    return expected.with_name(expected.name.replace(".expected.json", ".jsonl"))


def run(expected: Path, streaming: bool) -> tuple[dict[str, Any], list[str]]:
    """What kubectl printed, and how its requests were answered."""
    assert KUBECTL is not None
    args = json.loads(expected.read_text())["args"]
    with Replay(recording(expected)) as server:
        env = environment(os.environ, server.kubeconfig, server.folder)
        env["KUBE_FEATURE_WatchListClient"] = str(streaming).lower()
        done = subprocess.run([KUBECTL, *args], env=env, capture_output=True, text=True, timeout=60, check=False)
        told = {"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.returncode}
        return told, [f"{a.method} {a.target}" for a in server.unmatched]


# With LIST and WATCH: what was recorded as a streaming list, and one recording of its own kind.
WAYS = {True: EXPECTED, False: [e for e in EXPECTED if e.parent.name == "rollout" or "-update-2" in e.name]}


@pytest.mark.parametrize("streaming", WAYS, ids=["streaming-list", "list-watch"])
def test_kubectl_says_what_it_said(streaming: bool) -> None:
    """All at once, since some wait for their --timeout; what differs is told for all of them."""
    assert len(WAYS[streaming]) > 20
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda expected: run(expected, streaming), WAYS[streaming]))
    wrong = {}
    for expected, (told, unmatched) in zip(WAYS[streaming], found, strict=True):
        wanted = json.loads(expected.read_text())
        differs = {key: (told[key], wanted[key]) for key in told if told[key] != wanted[key]}
        if differs or unmatched:
            wrong[f"{expected.parent.name}/{expected.name}"] = (differs, unmatched)
    assert wrong == {}
