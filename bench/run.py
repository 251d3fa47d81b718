"""rawkube beside what one would use instead, alternating in one run: medians, spread, ratios.

    python bench/run.py [--only NAME] [--json FILE]

Peers that are not installed are named with the line that installs them, and skipped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench import commands, decoding, workloads
from bench.measure import Row, kubectl, missing

BENCHES: dict[str, tuple[Callable[[int], list[Row]], int]] = {
    "rollout": (commands.bench_rollout, 15),
    "exec": (commands.bench_exec, 15),
    "far": (commands.bench_far, 7),
    "bulk": (commands.bench_bulk, 3),
    "many": (workloads.bench_many, 3),
    "watch": (decoding.bench_watch, 3),
    "kubeconfig": (decoding.bench_kubeconfig, 5),
    "import": (commands.bench_import, 15),
    "seen": (commands.bench_seen, 5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=BENCHES, help="one bench instead of all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    options = parser.parse_args()
    if kubectl() is None:
        missing("all", "kubectl")
    rows: list[Row] = []
    for name, (bench, runs) in BENCHES.items():
        if options.only in (None, name):
            rows += bench(runs)
    print(f"{'bench':<12}{'what':<16}{'rawkube':>12}{'±':>8}{'peer':>12}  {'ratio':>6}  peer is")
    for one in rows:
        ours, theirs = f"{one.ours:.1f} {one.unit}", f"{one.theirs:.1f} {one.unit}"
        print(f"{one.bench:<12}{one.what:<16}{ours:>12}{one.spread:>8.1f}{theirs:>12}  {one.ratio:>6.2f}  {one.peer}")
    if options.json:
        options.json.write_text(json.dumps([{**one._asdict(), "ratio": one.ratio} for one in rows], indent=1))


if __name__ == "__main__":
    main()
