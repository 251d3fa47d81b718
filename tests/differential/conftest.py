"""The fixture that runs a module's cases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.rig import Runs, make_runs


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    yield from make_runs(request)
