"""For the whole suite."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.support import examples

LIMIT = 120.0
"""Seconds for a test with its fixtures. None needs more than a few: one that does waits for what never comes."""

MEMORY = Path("/dev/shm")
ROOM = 2 << 30
"""Bytes that must be free in memory for the files of the tests: far more than they have been seen to need."""

examples.register()

# A shell that runs the tests in the background has them ignore Ctrl-C (nohup: the hang-up), and commands inherit that: the
# signals that are tested would never come.
if threading.current_thread() is threading.main_thread():
    for _name, _usual in (
        ("SIGINT", signal.default_int_handler),
        ("SIGQUIT", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    ):
        if hasattr(signal, _name) and signal.getsignal(getattr(signal, _name)) is signal.SIG_IGN:
            signal.signal(getattr(signal, _name), _usual)


def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: two workers a core, since much of what is tested is waiting done right."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected is kept: looking through ten thousand tests for garbage costs each worker seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """A test that takes longer than its limit fails, and says where each of its threads is."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return (yield)
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, LIMIT, LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of each table of comparisons with kubectl a part stays, one row at least."""
    if not examples.EVERY_WAY:
        left_out = _left_out(items)
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _left_out(items: list[pytest.Item]) -> set[pytest.Item]:
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("kubectl") and hasattr(item, "callspec"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {item for rows in tables.values() for item in _unchosen(rows)}


def _unchosen(rows: list[pytest.Item]) -> set[pytest.Item]:
    tried = [item for item in rows if examples.chosen(item.name)]
    return set(rows) - set(tried or [min(rows, key=lambda item: item.name)])


def _too_long(number: int, frame: FrameType | None) -> None:
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        pytest.fail(f"not done after {LIMIT:.0f} s\n{file.read()}")


def pytest_configure(config: pytest.Config) -> None:
    if _takes_files():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    _refuse_a_cluster_that_is_not_there(config)


def _takes_files() -> bool:
    """Whether the files of the tests go into memory: a disk takes half a minute to make and delete some 17,000.

    A plugin is a file that is run, so not where nothing may be run.
    """
    if not hasattr(os, "statvfs") or not os.access(MEMORY, os.W_OK):
        return False
    found = os.statvfs(MEMORY)
    return found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & getattr(os, "ST_NOEXEC", 0)


def _refuse_a_cluster_that_is_not_there(config: pytest.Config) -> None:
    """Where the cluster suite is asked for and cannot run, that is said once, before anything is collected."""
    if "cluster" not in config.option.markexpr or config.option.collectonly or hasattr(config, "workerinput"):
        return
    from tests.cluster import gate

    named = gate.kubeconfig()
    if named is not None and gate.is_asked(config.option.markexpr) and (why := gate.problem(named)):
        raise pytest.UsageError(why)


@pytest.fixture
def hurried() -> Iterator[None]:
    """Pauses take a tenth of their time: tests/support/hurry.py."""
    from tests.support import hurry

    with hurry.hurried():
        yield
