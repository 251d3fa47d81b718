"""The numbers by which people see how far a rollout is."""

from __future__ import annotations

from typing import Any

from rawkube.rollout.counters import Counters, counters


def thing(kind: str, status: object = None, **spec: object) -> dict[str, Any]:
    return {"kind": kind, "spec": spec, "status": {} if status is None else status}


def test_the_numbers_of_every_kind() -> None:
    replicas = {"replicas": 3, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 0}
    scheduled = {
        **{"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "updatedNumberScheduled": 3},
        **{"numberReady": 2, "numberAvailable": 1},
    }
    for kind, status, spec, expected in [
        ("Deployment", replicas, {"replicas": 4}, (4, 3, 2, 1, 0)),
        ("StatefulSet", replicas, {"replicas": 4}, (4, 3, 2, 1, 0)),
        ("Rollout", replicas, {"replicas": 4}, (4, 3, 2, 1, 0)),
        ("DaemonSet", scheduled, {}, (5, 4, 3, 2, 1)),
        ("Job", {"active": 1, "ready": 0, "succeeded": 2}, {"completions": 3}, (3, 1, None, 0, 2)),
        ("ReplicaSet", replicas, {"replicas": 4}, (4, 3, None, 1, 0)),
        ("ReplicationController", replicas, {"replicas": 4}, (4, 3, None, 1, 0)),
    ]:
        assert counters(thing(kind, status, **spec)) == Counters(*expected), kind


def test_what_is_left_out_of_a_known_status_is_zero_and_else_unknown() -> None:
    assert counters(thing("Deployment")) == Counters(None, 0, 0, 0, 0)
    assert counters(thing("Deployment", "broken")) == Counters(None, 0, 0, 0, 0)
    assert counters(thing("Rollout")) == Counters()
    assert counters({}) == Counters()


def test_what_is_no_number_is_unknown() -> None:
    odd = {"replicas": "3", "updatedReplicas": True, "readyReplicas": 1.0, "availableReplicas": None}
    assert counters(thing("Deployment", odd, replicas=False)) == Counters(None, None, None, None, 0)
