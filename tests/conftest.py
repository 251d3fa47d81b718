"""For the whole suite."""

from __future__ import annotations

import os


def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: two workers a core, since much of what is tested is waiting done right."""
    return 2 * (os.cpu_count() or 1)
