"""What to ask for, to explain a workload."""

from __future__ import annotations

from typing import Any

from rawkube.rollout.belongings import (
    Crashed,
    claims_of,
    crashed,
    nodes_of,
    owned_plural,
    pod_selector,
    stuck,
    uid_of,
)
from rawkube.rollout.explain.scene import Scene
from rawkube.rollout.explain.view import name_of
from tests.support.contained import end, over, pod_of, running, waiting
from tests.support.explained import clock, pod, ready, replica_set, view, workload


def test_where_revisions_are_kept() -> None:
    assert [owned_plural(kind) for kind in ("Deployment", "StatefulSet", "DaemonSet", "Job")] == [
        "replicasets",
        "controllerrevisions",
        "controllerrevisions",
        "",
    ]


def test_the_selector_of_the_pods() -> None:
    def of(kind: str, selector: object, **metadata: Any) -> dict[str, Any]:
        return {"kind": kind, "metadata": metadata, "spec": {"selector": selector}}

    labels = {"matchLabels": {"app": "web"}}
    for obj, expected in [
        (of("Deployment", labels), "app=web"),
        (of("Deployment", {}), None),
        (of("Deployment", {"matchLabels": {"a b": "c"}}), None),
        (of("ReplicationController", {"app": "web"}), "app=web"),
        (of("ReplicationController", {}), None),
        (of("Job", labels, name="load"), "app=web"),
        (of("Job", None, name="load"), "job-name=load"),
        (of("Job", None), None),
    ]:
        assert pod_selector(obj) == expected, obj


def test_the_pods_that_may_tell_why() -> None:
    done = {"phase": "Succeeded"}
    going: dict[str, Any] = {"deletionTimestamp": clock("15:00:00")}
    pods = [
        *(pod("well", ready(), owner="r"), pod("broken", ready(is_ready=False), owner="r")),
        *(pod("done", done, owner="r"), pod("leaving", ready(), owner="r", **going)),
        *(pod("old", ready(), owner="o"), pod("old-leaving", ready(), owner="o", **going)),
    ]
    older = replica_set(spec={"template": {"spec": {"old": True}}})
    older["metadata"] |= {"name": "web-0", "uid": "o"}
    scene = Scene(workload("Deployment"), owned=[replica_set(), older], pods=pods)
    assert [name_of(one) for one in stuck(view(scene))] == ["broken", "leaving", "old-leaving"]


def test_containers_that_ended_of_each_name_first_one() -> None:
    bad, well = end(3), end(0, "Completed")
    pods = [
        pod_of([waiting("CrashLoopBackOff", last=bad, restarts=2)], name="a", inits=[over(well, name="init")]),
        pod_of([over(bad), running("14:59:00", restarts=1, name="side")], name="b"),
        pod_of([over(well), running("14:59:00", restarts=1, name="ready", ready=True)], name="c"),
        pod_of([over(well, restarts=4, name="ends")], name="d"),
        pod_of([over(bad)], name=""),
    ]
    assert crashed(pods) == [
        Crashed("a", "app", True),
        Crashed("b", "side", True),
        Crashed("d", "ends", False),
        Crashed("b", "app", False),
    ]


def test_claims_nodes_and_uids() -> None:
    volumes = [{"persistentVolumeClaim": {"claimName": "data"}}, {"name": "own", "ephemeral": {}}, {"name": "other"}]
    waits = pod("a", {"phase": "Pending"}, {"volumes": volumes, "nodeName": "n2"})
    runs = pod(
        "b", {"phase": "Running"}, {"volumes": [{"persistentVolumeClaim": {"claimName": "x"}}], "nodeName": "n1"}
    )
    nowhere = pod("c", {"phase": "Pending"})
    assert claims_of([waits, runs, waits]) == ["data", "a-own"]
    assert nodes_of([waits, runs, nowhere, waits]) == ["n2", "n1"]
    assert (uid_of(waits), uid_of({}), uid_of(None)) == ("u-a", "", "")
