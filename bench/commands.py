"""Whole processes: what a start costs, what a round trip costs, how fast bytes pass through exec."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable

from bench.measure import MIB, Cost, Row, compared, in_turn, kubectl, missing, process, rawkube
from bench.server import api_server

BULK = 1024 * MIB
ROUND_TRIP = 0.05

STATUS = ("rollout", "status", "deployment/web")
TRUE = ("exec", "p", "--", "true")

# The least that tells whether a Deployment is rolled out.
CLIENTS = {
    "kubernetes": (
        "from kubernetes import client, config\n"
        "config.load_kube_config()\n"
        "found = client.AppsV1Api().read_namespaced_deployment('web', 'demo')\n"
        "print(found.status.updated_replicas == found.spec.replicas)\n"
    ),
    "kr8s": (
        "from kr8s.objects import Deployment\n"
        "found = Deployment.get('web', namespace='demo')\n"
        "print(found.raw['status']['updatedReplicas'] == found.raw['spec']['replicas'])\n"
    ),
    "lightkube": (
        "from lightkube import Client\n"
        "from lightkube.resources.apps_v1 import Deployment\n"
        "found = Client().get(Deployment, 'web', namespace='demo')\n"
        "print(found.status.updatedReplicas == found.spec.replicas)\n"
    ),
}


def _both(env: dict[str, str], words: tuple[str, ...]) -> dict[str, Callable[[], Cost]]:
    candidates = {"rawkube": lambda: process(rawkube(*words), env)}
    if (peer := kubectl()) is not None:
        candidates["kubectl"] = lambda: process([peer, *words], env)
    return candidates


def bench_rollout(runs: int) -> list[Row]:
    """`rollout status` of a finished Deployment: kubectl with a warm discovery cache, and the Python clients."""
    with api_server() as env:
        candidates = _both(env, STATUS)
        for name, code in CLIENTS.items():
            if importlib.util.find_spec(name):
                candidates[name] = lambda code=code: process([sys.executable, "-c", code], env)  # type: ignore[misc]
            else:
                missing("rollout", name)
        return compared("rollout", in_turn(runs, candidates))


def bench_exec(runs: int) -> list[Row]:
    """`exec POD -- true`."""
    with api_server() as env:
        return compared("exec", in_turn(runs, _both(env, TRUE)))


def bench_far(runs: int) -> list[Row]:
    """Both, where a round trip takes 50 ms."""
    with api_server(ROUND_TRIP) as env:
        rows = []
        for what, words in (("rollout", STATUS), ("exec", TRUE)):
            costs = in_turn(runs, _both(env, words))
            rows += [one for one in compared("50 ms away", costs, what=what) if one.unit == "ms"]
        return rows


def bench_bulk(runs: int) -> list[Row]:
    """1 GiB out of a container, and 1 GiB into one. The limit: a loop that receives and decrypts, and does no more."""
    with api_server() as env:
        candidates = _both(env, ("exec", "p", "--", "source", str(BULK)))
        limit = [sys.executable, "-m", "bench.receive", str(BULK)]
        candidates["bare ssl"] = lambda: process(limit, env)
        rows = compared("1 GiB", in_turn(runs, candidates), what="out", cpu=True)
        with tempfile.TemporaryFile() as file:
            os.truncate(file.fileno(), BULK)

            def fed(command: list[str]) -> Cost:
                file.seek(0)
                return process(command, env, stdin=file.fileno())

            words = ("exec", "-i", "p", "--", "sink")
            feeding = {"rawkube": lambda: fed(rawkube(*words))}
            if (peer := kubectl()) is not None:
                feeding["kubectl"] = lambda: fed([peer, *words])
            rows += compared("1 GiB", in_turn(runs, feeding), what="in", cpu=True)
        return rows


def bench_import(runs: int) -> list[Row]:
    """`import rawkube`, beside a bare Python."""
    with api_server() as env:
        costs = in_turn(
            runs,
            {
                "rawkube": lambda: process([sys.executable, "-c", "import rawkube"], env),
                "bare python": lambda: process([sys.executable, "-c", "pass"], env),
            },
        )
        return [one for one in compared("import", costs) if one.unit == "ms"]


def bench_seen(runs: int) -> list[Row]:
    """64 MiB of stdout by exec with --trace and with --record, beside the same command without."""
    work = ("--", "source", str(64 * MIB))
    with api_server() as env, tempfile.TemporaryDirectory() as directory:
        rows = []
        for what, flag in (("--trace", "--trace=/dev/null"), ("--record", f"--record={directory}/r.jsonl")):
            candidates = {
                "rawkube": lambda flag=flag: process(rawkube("exec", "p", flag, *work), env),  # type: ignore[misc]
                "unseen": lambda: process(rawkube("exec", "p", *work), env),
            }
            rows += [one for one in compared("seen", in_turn(runs, candidates), what=what) if one.unit == "ms"]
        return rows
