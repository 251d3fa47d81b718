"""The fixture that runs a module's cases; which comparisons with kubectl are made by default."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.rig import Runs, make_runs

# Of what is compared with the real kubectl, this part is by default: a process each makes them the dearest tests by far.
# RAWKUBE_TEST_EVERY_WAY=1 compares everything.
ONE_IN = 3


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    yield from make_runs(request)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("RAWKUBE_TEST_EVERY_WAY"):
        return
    chosen = [item for item in items if not _is_left_out(item)]
    config.hook.pytest_deselected(items=[item for item in items if _is_left_out(item)])
    items[:] = chosen


def _is_left_out(item: pytest.Item) -> bool:
    """The same on every machine and in every worker: by the test's name alone."""
    here = Path(__file__).parent in item.path.parents
    return here and item.get_closest_marker("kubectl") is not None and zlib.crc32(item.name.encode()) % ONE_IN != 0
