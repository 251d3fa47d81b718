"""`get --watch` on one scripted server: kubectl's lines, as long as its watch lasts."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.differential.get_rig import KUBECTL, THINGS, Case, Worlds, observe, world, worlds
from tests.differential.rig import RAWKUBE
from tests.support.lists import Lists, thing

__all__ = ["worlds"]

CHANGES = [
    ("MODIFIED", thing("Pod", "a", status={"ready": 1}, resourceVersion="8")),
    ("ADDED", thing("Pod", "a-very-long-name", labels={"x": "y"})),
    ("DELETED", thing("Pod", "a", status={"ready": 1})),
]
WATCHES = [
    "pods -w",
    "pods --watch",
    "pods -w -A",
    "pods --watch-only",
    "pods -w --no-headers -o wide",
    "pods -w --show-labels -L x",
    "pods -w -n xx",
    "pods -w -o name",
    "pods -w -o json",
    "pods -w -o yaml",
    "pods -w -o yaml -n xx",
    "pods --watch-only -o json",
    "pods -w -l app=a",
    "pod a -w",
    "pod a -w -o json",
    "pod/a --watch-only -o name",
    "deploy -w",
]


@pytest.mark.kubectl
@pytest.mark.parametrize("args", WATCHES)
@pytest.mark.parametrize("tables", [True, False], ids=["tables", "objects"])
def test_both_print_the_same_changes(args: str, tables: bool) -> None:
    """kubectl ends with its watch; rawkube opens another one, which is refused. Each has a server of its own."""
    case = Case("watch", lambda: Lists(*THINGS, watches=[CHANGES], ends=True, tables=tables), args)
    with ExitStack() as one, ExitStack() as other:
        kubectl, ours = observe(KUBECTL, case, Worlds(one)), observe(RAWKUBE, case, Worlds(other))
    assert ours.outcome.stdout == kubectl.outcome.stdout
    assert kubectl.outcome.code == 0
    assert ours.outcome[1:] == ("Error from server (Forbidden): no more watches\n", 1)


@pytest.mark.kubectl
@pytest.mark.parametrize(
    "args",
    [
        "pods,svc -w",
        "pod nope -w",
        "pod nope -w --ignore-not-found",
        "pod a -w -A",
        "nosuch -w",
        "pods -w -o json --show-labels",
    ],
)
def test_both_refuse_to_watch(args: str, worlds: Worlds) -> None:
    case = Case("watch", world(), args)
    assert observe(RAWKUBE, case, worlds).outcome == observe(KUBECTL, case, worlds).outcome
