"""Runs a module's tests at the same time: nearly all that they do is wait for a back-off.

The first test of a module that is called starts all the others in threads; each then only asks for its own result.
Tests that want more than parameters and a directory run as usual, and so does everything under pytest-xdist.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

AT_ONCE = 12
# Fixtures that a test may have and still run in a thread.
HARMLESS = {"tmp_path", "tmp_path_factory", "request", "signals_reach_children"}


class Ahead:
    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(AT_ONCE)
        self.started: dict[str, Future[None]] = {}
        self.modules: set[Path] = set()

    def start_module(self, item: pytest.Function) -> None:
        if item.path in self.modules:
            return
        self.modules.add(item.path)
        for other in item.session.items:
            if isinstance(other, pytest.Function) and other.path == item.path and can_run_ahead(other):
                self.started[other.nodeid] = self.pool.submit(call, other)


def parameters(item: pytest.Function) -> dict[str, object]:
    return dict(item.callspec.params) if hasattr(item, "callspec") else {}


def can_run_ahead(item: pytest.Function) -> bool:
    return set(item.fixturenames) - parameters(item).keys() <= HARMLESS


def call(item: pytest.Function) -> None:
    with tempfile.TemporaryDirectory() as home:
        item.function(**parameters(item), tmp_path=Path(home))


AHEAD: pytest.StashKey[Ahead] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[AHEAD] = Ahead()


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[AHEAD].pool.shutdown(cancel_futures=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if "PYTEST_XDIST_WORKER" in os.environ or not can_run_ahead(pyfuncitem):
        return None
    ahead = pyfuncitem.config.stash[AHEAD]
    ahead.start_module(pyfuncitem)
    ahead.started[pyfuncitem.nodeid].result()
    return True
