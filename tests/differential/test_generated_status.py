"""Generated states: one kubectl judges dozens of objects at once, and rawkube says the same line of each.

The counters, generations, conditions, strategies and revisions are drawn by a seeded generator: small numbers that
meet often, numbers that are absent, null, negative or large. What is no int32 is not here (for kubectl one such object
spoils the list), nor are differences that are none (they wrap around).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.differential.rig import run_here
from tests.support.api_server import ApiServer
from tests.support.examples import EVERY_WAY
from tests.support.run import kubectl_command, run
from tests.support.script import Object, Workload

pytestmark = pytest.mark.kubectl

# The more are tried when RAWKUBE_TEST_EVERY_WAY is set.
SEEDS = 100 if EVERY_WAY else 2
OBJECTS = 40
ODD = [None, -1, -7, 10, 2**30]
REASONS = ["ProgressDeadlineExceeded", "NewReplicaSetAvailable", "", None]
STRATEGIES = ["RollingUpdate", "RollingUpdate", "RollingUpdate", "OnDelete", "Recreate", "", None]
REVISIONS = ["1", "2", "2", "2", "02", "+2", "", "x", "99999999999999999999", "-1", " 2"]


def sometimes(pick: random.Random, share: float, **fields: Callable[[], Any]) -> Object:
    """These fields; each is left out in that share of cases."""
    return {name: make() for name, make in fields.items() if pick.random() >= share}


def counter(pick: random.Random, odd: float) -> Callable[[], Any]:
    return lambda: pick.choice(ODD) if pick.random() < odd else pick.choice([0, 1, 2, 2, 3, 3, 3])


def deployment(pick: random.Random, count: Callable[[], Any]) -> Object:
    def conditions() -> Any:
        made = [
            sometimes(
                pick,
                0.1,
                type=lambda: pick.choice(["Progressing", "Progressing", "Available"]),
                status=lambda: pick.choice(["True", "False"]),
                reason=lambda: pick.choice(REASONS),
                message=lambda: "m",
            )
            for _ in range(pick.choice([0, 1, 1, 2, 3]))
        ]
        return made if pick.random() < 0.95 else None

    counters = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), count)
    spec = sometimes(pick, 0.2, replicas=count, paused=lambda: pick.random() < 0.2)
    return {"spec": spec, "status": sometimes(pick, 0.2, conditions=conditions, **counters)}


def daemonset(pick: random.Random, count: Callable[[], Any]) -> Object:
    names = ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady")
    spec = sometimes(pick, 0.1, updateStrategy=lambda: {"type": pick.choice(STRATEGIES)})
    return {"spec": spec, "status": sometimes(pick, 0.2, **dict.fromkeys(names, count))}


def statefulset(pick: random.Random, count: Callable[[], Any]) -> Object:
    def strategy() -> Object:
        rolling = {"rollingUpdate": lambda: sometimes(pick, 0.3, partition=count)}
        return {"type": pick.choice(STRATEGIES)} | sometimes(pick, 0.4, **rolling)

    names = ("replicas", "readyReplicas", "updatedReplicas", "currentReplicas", "availableReplicas")
    revisions = {name: lambda: pick.choice(["a", "a", "b", ""]) for name in ("currentRevision", "updateRevision")}
    spec = sometimes(pick, 0.1, replicas=count, updateStrategy=strategy)
    return {"spec": spec, "status": sometimes(pick, 0.1, **dict.fromkeys(names, count), **revisions)}


MAKERS = {"Deployment": deployment, "DaemonSet": daemonset, "StatefulSet": statefulset}


def made(pick: random.Random, kind: str, name: str, *, odd: float) -> Object:
    count = counter(pick, odd)
    generations = {"generation": lambda: pick.choice([0, 1, 1, 2])}
    revision = {"annotations": lambda: {"deployment.kubernetes.io/revision": pick.choice(REVISIONS)}}
    thing = MAKERS[kind](pick, count)
    if pick.random() < 0.9:
        thing["status"]["observedGeneration"] = pick.choice([0, 1, 2, 2, 3])
    metadata = {"name": name, "namespace": "default", **sometimes(pick, 0.1, **generations, **revision)}
    for part in ("spec", "status"):
        if pick.random() < 0.03:
            thing[part] = pick.choice([None, {}])
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, **thing}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_same_line_of_each(seed: int, tmp_path: Path) -> None:
    """Every third seed has counters as no controller writes them; every third asks for a revision."""
    pick = random.Random(seed)
    odd, args = (0.1 if seed % 3 == 1 else 0.0), (["--revision=2"] if seed % 3 == 2 else [])
    for kind in MAKERS:
        objects = [made(pick, kind, f"{kind[0].lower()}{number}", odd=odd) for number in range(OBJECTS)]
        with ApiServer(*map(Workload, objects)) as server:
            words = (kind.lower(), "--watch=false", *args)
            home = tmp_path / kind
            theirs = run(kubectl_command(), "rollout", "status", *words, url=server.url, home=home)
            found = run_here(words, server.url, home)
        assert theirs.stdout.count("\n") > 3, theirs.stderr
        ours = [*found.stdout.splitlines(), "--", *found.stderr.splitlines(), str(found.code)]
        expected = [*theirs.stdout.splitlines(), "--", *theirs.stderr.splitlines(), str(theirs.code)]
        assert ours == expected, f"{kind} of seed {seed}: {objects}"
