"""In one process: how fast watch events and kubeconfigs are read."""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from bench.measure import ROOT, Row, alternate, row

# As rawkube/__main__.py sets them.
GC_THRESHOLDS = (20_000, 20, 50)


def _events(size: int) -> bytes:
    """Real Deployment events, from the recording of a rolling update, over and over."""
    from tests.support.recordings import exchanges  # the tests' own reader of recordings

    path = ROOT / "fixtures" / "rollout-listwatch" / "deployment-update.jsonl"
    body = next(e.body for e in exchanges(path) if "watch=true" in e.target)
    return body * (size // len(body) + 1)


def bench_watch(runs: int) -> list[Row]:
    """Decode 200 MB of watch events in pieces of 64 KiB, and 20 MB in small ones, beside json.loads on the lines.

    Both with the garbage collector as the commands have it, and once more as Python has it.
    """
    before = gc.get_threshold()
    try:
        gc.set_threshold(*GC_THRESHOLDS)
        rows = _watch(runs, ((200_000_000, 65536), (20_000_000, 1000)))
        gc.set_threshold(*before)
        return rows + _watch(runs, ((40_000_000, 65536),), ", usual gc")
    finally:
        gc.set_threshold(*before)


def _watch(runs: int, sizes: Iterable[tuple[int, int]], note: str = "") -> list[Row]:
    rows = []
    for size, piece in sizes:
        data = _events(size)
        lines = data.splitlines()

        def ours(data: bytes = data, piece: int = piece, count: int = len(lines)) -> float:
            from rawkube.api.watch import WatchDecoder

            started = time.perf_counter()
            decoder = WatchDecoder()
            found = 0
            for at in range(0, len(data), piece):
                found += len(decoder.feed(data[at : at + piece]))
            assert found + len(decoder.end()) == count
            return (time.perf_counter() - started) * 1000

        def theirs(lines: list[bytes] = lines) -> float:
            started = time.perf_counter()
            for line in lines:
                json.loads(line)
            return (time.perf_counter() - started) * 1000

        what = f"{size // 1_000_000} MB{note}" if note else f"{size // 1_000_000} MB by {piece}"
        rows.append(row("watch", what, "ms", *alternate(runs, ours, theirs), "json.loads"))
    return rows


def bench_kubeconfig(runs: int) -> list[Row]:
    """Load a kubeconfig of 2,000 contexts, beside the C YAML loader's parse of the same file."""
    import yaml

    from rawkube.kubeconfig.load import load

    if not yaml.__with_libyaml__:
        print("kubeconfig: PyYAML has no C loader here")
        return []
    names = [f"cluster-{i:04}" for i in range(2000)]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": names[-1],
        "clusters": [
            {"name": n, "cluster": {"server": f"https://{n}.example:6443", "certificate-authority-data": "QUFB" * 200}}
            for n in names
        ],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n, "namespace": "demo"}} for n in names],
        "users": [{"name": n, "user": {"token": "dG9r" * 40}} for n in names],
    }
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "config"
        path.write_text(yaml.dump(config, Dumper=yaml.CSafeDumper))

        def ours() -> float:
            started = time.perf_counter()
            assert len(load(str(path), environ={}).contexts) == 2000
            return (time.perf_counter() - started) * 1000

        def theirs() -> float:
            started = time.perf_counter()
            yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
            return (time.perf_counter() - started) * 1000

        size = path.stat().st_size / 1e6
        return [row("kubeconfig", f"{size:.1f} MB", "ms", *alternate(runs, ours, theirs), "yaml.CSafeLoader")]
