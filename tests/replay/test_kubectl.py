"""The real kubectl against every recorded command: it must say what it said to the real cluster.

kubectl 1.37 asks with a streaming list, or (told so by a feature gate) with LIST and WATCH, whichever of the
two the recording was made with. `exec` is in test_recorded_exec, recordings of several commands are in
test_kubectl_transcripts.
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
from tests.support.examples import some

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")
EXPECTED = sorted(FIXTURES.glob("rollout*/*.expected.json"))
VERBS = [e for e in sorted(FIXTURES.glob("verbs/*.expected.json")) if not e.name.startswith(("cp-", "logs"))]
NOT_HERE = {
    "verbs/cp-down": "several programs, in test_kubectl_transcripts",
    "verbs/cp-missing": "its words were not written down, in test_kubectl_transcripts",
    "verbs/cp-up": "needs files, in test_kubectl_transcripts",
    "verbs/logs": "several commands, in test_kubectl_transcripts",
    "discovery/kubectl-ambiguous": "several commands, in test_kubectl_transcripts",
}

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(KUBECTL is None, reason="no kubectl"),
]


def recording(expected: Path) -> Path:
    return expected.with_name(expected.name.replace(".expected.json", ".jsonl"))


def arguments(expected: Path) -> list[str]:
    """The command line; where the recorder did not write it down, the recording's note has it."""
    written: list[str] | None = json.loads(expected.read_text())["args"]
    note: str = json.loads(recording(expected).read_text().splitlines()[0])["note"]
    return written or note.removeprefix("kubectl 1.37.1 ").split()


def run(
    expected: Path, streaming: bool, *, discovery: Path | None = None, strict: bool = False, tls: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """What kubectl printed, and which of its requests were not recorded."""
    assert KUBECTL is not None
    args = arguments(expected)
    with Replay(recording(expected), discovery=discovery, strict=strict, tls=tls) as server:
        env = environment(os.environ, server.kubeconfig, server.folder)
        env["KUBE_FEATURE_WatchListClient"] = str(streaming).lower()
        done = subprocess.run([KUBECTL, *args], env=env, capture_output=True, text=True, timeout=60, check=False)
        told = {"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.returncode}
        return told, server.refused()


# With LIST and WATCH: what was recorded as a streaming list, and one recording of its own kind.
WAYS = {True: EXPECTED, False: [e for e in EXPECTED if e.parent.name == "rollout" or "-update-2" in e.name]}


def wrong(expected: list[Path], found: list[tuple[dict[str, Any], list[str]]]) -> dict[str, object]:
    """What differs from what was recorded, for each recording where something does."""
    differing: dict[str, object] = {}
    for path, (told, unmatched) in zip(expected, found, strict=True):
        wanted = json.loads(path.read_text())
        differs = {key: (told[key], wanted[key]) for key in told if told[key] != wanted[key]}
        if differs or unmatched:
            differing[f"{path.parent.name}/{path.name}"] = (differs, unmatched)
    return differing


def together(
    expected: list[Path], streaming: bool, *, one_in: int = 10, strict: bool = False, tls: bool = False
) -> dict[str, object]:
    """Run the part that is tried, some at once, since some wait for their --timeout; what differs."""
    expected = list(some(f"{streaming} {strict} {tls}", expected, one_in))
    with ThreadPoolExecutor(6) as pool:
        return wrong(expected, list(pool.map(lambda path: run(path, streaming, strict=strict, tls=tls), expected)))


@pytest.mark.parametrize("streaming", WAYS, ids=["streaming-list", "list-watch"])
def test_kubectl_says_what_it_said(streaming: bool) -> None:
    assert len(WAYS[streaming]) > 20
    assert together(WAYS[streaming], streaming) == {}


ALIKE = [e for e in VERBS if not e.name.startswith("get-table")]
# Those that wait for a --timeout are played once, above.
QUICK = [e for e in EXPECTED if not e.name.startswith(("deployment-paused", "deployment-timeout"))]
OWN_WAY = [*ALIKE, *(e for e in QUICK if e.parent.name == "rollout")]


def test_kubectl_verbs_say_what_they_said() -> None:
    """rollout history, undo, restart, pause, resume: the warnings of the server, the exit code, too."""
    assert len(ALIKE) == 13
    assert together(ALIKE, True, one_in=6) == {}


def test_a_table_with_the_discovery_of_its_server(tmp_path: Path) -> None:
    """The recording lacks discovery, and its server had a custom resource that a warning speaks of."""
    shutil.copy(FIXTURES / "discovery" / "crds-and-broken-apiservice.jsonl", tmp_path)
    table = FIXTURES / "verbs" / "get-table.expected.json"
    assert wrong([table], [run(table, True, discovery=tmp_path)]) == {}


def test_strictly_kubectl_asks_what_it_asked_in_its_order() -> None:
    """Each with the way of asking that it was recorded with."""
    assert together(OWN_WAY, True, strict=True) == {}


def test_list_and_watch_strictly_and_inside_tls() -> None:
    asked = [e for e in QUICK if e.parent.name == "rollout-listwatch"]
    assert len(asked) > 15
    assert together(asked, False, strict=True, tls=True) == {}


def test_every_recording_of_a_command_is_played_or_named() -> None:
    played = {*EXPECTED, *VERBS}
    every = {e for e in FIXTURES.glob("*/*.expected.json") if e.parent.name != "exec"}
    assert {f"{e.parent.name}/{e.name.removesuffix('.expected.json')}" for e in every - played} == set(NOT_HERE)
