"""One harness for some seconds, in this process: with atheris where there is one, else by changes at random."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HAS_ATHERIS = importlib.util.find_spec("atheris") is not None
_SLOW = 10.0  # seconds that an input may take on a busy machine


def run(name: str, seconds: float, seed: int, folder: Path, *, guided: bool) -> int:
    """0, or 1 for an input that breaks the harness: it is a file in `folder` then. Says what was done."""
    if guided:
        return _guided(name, seconds, seed, folder)
    from tests.fuzz.harnesses import HARNESSES

    harness = HARNESSES[name]
    choose = random.Random(seed)
    pool = list(harness.seeds())
    waiting = list(pool)
    count, end = 0, time.monotonic() + seconds
    while waiting or time.monotonic() < end:
        data = waiting.pop() if waiting else harness.mutate(choose.choice(pool), choose)
        began = time.monotonic()
        try:
            harness.check(data)
            took = time.monotonic() - began
            assert took < _SLOW, f"took {took:.1f} s"
        except Exception:
            traceback.print_exc()
            path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            print(f"{count} inputs; the last one is {path}")
            return 1
        count += 1
        if count % 50 == 0:  # changes of changes
            pool[choose.randrange(len(pool))] = data[:20000]
    print(f"{count} inputs")
    return 0


def _guided(name: str, seconds: float, seed: int, folder: Path) -> int:
    atheris: Any = importlib.import_module("atheris")  # not everywhere, and without types

    # Until the end: functions of rawkube import others when they are called.
    with atheris.instrument_imports(include=["rawkube"], enable_loader_override=False):
        from tests.fuzz.harnesses import HARNESSES

        harness = HARNESSES[name]
        corpus = folder / f"{name}-corpus"
        corpus.mkdir(exist_ok=True)
        for number, data in enumerate(harness.seeds()):
            (corpus / f"seed-{number}").write_bytes(data)

        def changed(data: bytes, most: int, number: int) -> bytes:
            choose = random.Random(number)
            if choose.random() < 0.5 and harness.mutate.__name__ == "mutate_bytes":
                return bytes(atheris.Mutate(data, most))
            return harness.mutate(data, choose)[:most]

        options = {
            "max_total_time": max(1, int(seconds)),
            "seed": seed,
            "timeout": 25,
            "rss_limit_mb": 2048,
            "max_len": 100_000,
            "print_final_stats": 1,
            "artifact_prefix": f"{folder / name}-",
        }
        words = [sys.argv[0], *(f"-{key}={value}" for key, value in options.items()), str(corpus)]
        atheris.Setup(words, harness.check, custom_mutator=changed)
        atheris.Fuzz()
    return 0
