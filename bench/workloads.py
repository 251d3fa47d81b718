"""Following 1, 50 and 500 finished Deployments: rawkube at once over one watch, kubectl one after another.

The server counts: requests and bytes stand beside time and memory.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from bench.measure import Cost, Row, compared, in_turn, kubectl, process, rawkube, row
from bench.server import api_server

SIZES = (1, 50, 500)


def bench_many(runs: int) -> list[Row]:
    """`rollout status deployment -l size=N`, to the end."""
    rows = []
    with api_server() as env:
        for size in SIZES:
            words = ("-n", "many", "rollout", "status", "deployment", "-l", f"size={size}")
            candidates = {"rawkube": partial(process, rawkube(*words, "--parallel"), env)}
            if (peer := kubectl()) is not None:
                candidates["kubectl"] = partial(process, [peer, *words], env)
            rows += compared("many", in_turn(runs, candidates), what=str(size), cpu=True)
            rows += _traffic(size, candidates, env)
    return rows


def _traffic(size: int, candidates: Mapping[str, Callable[[], Cost]], env: dict[str, str]) -> list[Row]:
    counted = {}
    for name, run in candidates.items():
        before = _counters(env)
        run()
        after = _counters(env)
        counted[name] = [b - a for a, b in zip(before, after, strict=True)]
    ours, *peers = counted
    rows = []
    for peer in peers:
        for at, (figure, unit) in enumerate((("requests", ""), ("bytes", "KiB"))):
            mine, theirs = (counted[name][at] / (1024 if unit else 1) for name in (ours, peer))
            rows.append(row("many", f"{size} {figure}", unit, [mine, mine], [theirs, theirs], peer))
    return rows


def _counters(env: dict[str, str]) -> tuple[int, int]:
    """How many requests the server has had, and how many bytes it has sent, without this one."""
    import base64

    cluster = yaml.safe_load(Path(env["KUBECONFIG"]).read_text())["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    where = urlsplit(cluster["server"])
    context = ssl.create_default_context(cadata=authority)
    connection = http.client.HTTPSConnection(str(where.hostname), where.port, context=context)
    try:
        connection.request("GET", "/counters")
        found = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    return found["requests"], found["bytes"]
