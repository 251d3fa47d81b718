from __future__ import annotations

from typing import Any

import pytest

from rawkube.remotecommand.log_end import ENDED, GONE, RESTARTED, RUNS, fate, instance
from tests.support.pods_server import a_pod, statuses, terminated
from tests.support.rows import looped

RUNNING: dict[str, Any] = {"running": {}}
WAITING: dict[str, Any] = {"waiting": {"reason": "CrashLoopBackOff"}}


def pod(state: dict[str, Any] | None = None, *, last: str = "", ident: str = "c1", uid: str = "u") -> dict[str, Any]:
    before = terminated(1, ident=last) if last else {}
    made = a_pod("p", status=statuses(state=state, last=before, ident=ident) if state is not None else None)
    made["metadata"]["uid"] = uid
    return made


@looped(
    ("now", "followed", "expected"),
    [
        pytest.param(pod(RUNNING), "c1", RUNS, id="runs"),
        pytest.param(pod(RUNNING), "", RUNS, id="runs, and it was not known which run is followed"),
        pytest.param(pod(terminated(0)), "c1", ENDED, id="ended"),
        pytest.param(pod(terminated(0)), "", ENDED, id="ended, not known which run"),
        pytest.param(pod(WAITING, last="c1"), "c1", ENDED, id="waits for its next run"),
        pytest.param(pod(WAITING, last="c1", ident=""), "c1", ENDED, id="waits, without an ID"),
        pytest.param(pod(WAITING, last="c2", ident=""), "c1", GONE, id="waits after another run"),
        pytest.param(pod(RUNNING, last="c1", ident="c2"), "c1", RESTARTED, id="runs again"),
        pytest.param(pod(terminated(1, ident="c2"), last="c1", ident="c2"), "c1", RESTARTED, id="ran again"),
        pytest.param(pod(RUNNING, last="c2", ident="c3"), "c1", GONE, id="runs a third time"),
        pytest.param(pod(RUNNING, ident="c2"), "c1", GONE, id="another run, nothing of the one before"),
        pytest.param(pod(RUNNING, uid="v"), "c1", GONE, id="another pod of that name"),
        pytest.param(pod(None), "c1", ENDED, id="no status"),
        pytest.param({**pod(None), "status": {"containerStatuses": ["x", None]}}, "c1", ENDED, id="an unsound status"),
        pytest.param({**pod(None), "status": None}, "c1", ENDED, id="none at all"),
    ],
)
def test_what_became_of_a_container(now: dict[str, Any], followed: str, expected: str) -> None:
    assert fate(now, "main", followed, of=pod(RUNNING)) == expected


def test_init_and_ephemeral_containers_have_runs_too() -> None:
    made = pod(None)
    made["status"]["initContainerStatuses"] = [{"name": "i", "containerID": "ci"}]
    made["status"]["ephemeralContainerStatuses"] = [{"name": "e", "containerID": "ce"}]
    assert [instance(made, name) for name in ("i", "e", "main")] == ["ci", "ce", ""]
