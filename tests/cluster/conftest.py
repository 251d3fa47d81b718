"""The suite is collected only where `-m` speaks of the cluster, and runs only where there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import gate, manifests
from tests.cluster.rig import Cluster, held

# What runs always: it needs no cluster.
_ALWAYS = "test_rehearsal.py"
_FOLDER = f"{Path(__file__).parent}{os.sep}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Not even imported unasked. None leaves it to pytest."""
    unasked = not gate.is_asked(config.option.markexpr)
    is_test = collection_path.name.startswith("test_") and collection_path.name != _ALWAYS
    return True if unasked and is_test and collection_path.parent == Path(__file__).parent else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if gate.kubeconfig() is None:
        unasked = pytest.mark.skip(reason=gate.UNASKED)
        for item in filter(_needs_cluster, items):
            item.add_marker(unasked)


def _needs_cluster(item: pytest.Item) -> bool:
    return str(item.path).startswith(_FOLDER) and item.path.name != _ALWAYS


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A namespace for this process."""
    config = gate.kubeconfig()
    assert config, gate.UNASKED
    with Cluster.new(config, tmp_path_factory.mktemp("home")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def shell(cluster: Cluster) -> str:
    """A Pod that sleeps, which no test ends or changes but in its /tmp."""
    return cluster.running_pod(manifests.container())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test that restarts the API server runs, with its fixtures, while no other test does, in any process."""
    config = gate.kubeconfig()
    if not _needs_cluster(item) or config is None or not config.is_file():
        return (yield)
    with held(config, alone=item.get_closest_marker("restarts") is not None):
        return (yield)
