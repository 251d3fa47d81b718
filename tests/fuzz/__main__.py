"""`python -m tests.fuzz [--seconds N] [--jobs N] [NAME …]`: each harness in a process of its own.

`--input FILE NAME` gives a harness one input, such as the file that a failed run left.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.loop import HAS_ATHERIS, run


def main() -> int:
    options = _options()
    if options.child:
        return run(options.names[0], options.seconds, options.seed, options.folder, guided=options.guided)
    from tests.fuzz.harnesses import HARNESSES

    names = options.names or list(HARNESSES)
    if unknown := sorted(set(names) - set(HARNESSES)):
        print(f"no harness {', '.join(unknown)}; there are {', '.join(HARNESSES)}", file=sys.stderr)
        return 2
    if options.input:
        for name in names:
            HARNESSES[name].check(options.input.read_bytes())
        return 0
    options.folder = options.folder or Path(tempfile.mkdtemp(prefix="rawkube-fuzz-"))
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}, {'guided by coverage' if options.guided else 'at random'}", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        failed = [
            name for name, code in zip(names, pool.map(lambda one: _one(one, options), names), strict=True) if code
        ]
    if failed:
        print(f"broken: {', '.join(failed)}; the inputs are in {options.folder}", file=sys.stderr)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=20, help="for each harness (default 20)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="harnesses at a time")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the changes at random")
    parser.add_argument("--folder", type=Path, help="where inputs are left that break a harness (a temporary one)")
    parser.add_argument("--input", type=Path, metavar="FILE", help="check this input alone")
    parser.add_argument("--random", dest="guided", action="store_false", default=HAS_ATHERIS, help="without atheris")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def _one(name: str, options: argparse.Namespace) -> int:
    words = [sys.executable, "-m", "tests.fuzz", "--child", f"--seconds={options.seconds}", f"--seed={options.seed}"]
    words += [f"--folder={options.folder}", *([] if options.guided else ["--random"]), name]
    began = time.monotonic()
    ran = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
    )
    count = re.findall(r"^stat::number_of_executed_units: (\d+)|^(\d+) inputs", ran.stdout, re.MULTILINE)
    inputs = "".join(count[-1]) if count else "no"
    print(
        f"{name:13} {inputs:>9} inputs  {time.monotonic() - began:5.1f} s  {'BROKEN' if ran.returncode else 'ok'}",
        flush=True,
    )
    if ran.returncode:
        print(ran.stdout[-8000:], file=sys.stderr, flush=True)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
