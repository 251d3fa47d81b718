"""What a controller waits for: persons, settings, other Pods, nodes, Pods that end, the deadline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rawkube.rollout.explain import controllers, deadline, leaving, nodes, stateful_sets
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS
from rawkube.rollout.explain.scene import Scene
from rawkube.rollout.explain.view import View
from tests.support.explained import (
    Object,
    clock,
    condition,
    event,
    found,
    old_replica_set,
    pod,
    ready,
    replica_set,
    unscheduled,
    view,
    workload,
)
from tests.support.recordings import FIXTURES, exchanges
from tests.support.rows import looped

Told = list[tuple[str, str, str]]


def _of(kind: str, spec: Object | None = None, status: Object | None = None, **scene: Any) -> Told:
    meta = scene.pop("meta", {})
    seen = view(Scene(workload(kind, spec, status, **meta), **scene))
    return found([*controllers.findings(seen), *stateful_sets.findings(seen)])


# Waiting for a person, or for the controller.


def _last_recorded(name: str) -> View:
    """The last state of the workload in a recording of `rollout status`, seen at its last answer."""
    states: list[Object] = []
    for answer in exchanges(FIXTURES / "rollout-listwatch" / f"{name}.jsonl"):
        if answer.path.startswith("/apis/apps/v1/namespaces"):
            for line in answer.body.splitlines():
                body = json.loads(line)
                states += [{"kind": body["kind"].removesuffix("List"), **one} for one in body.get("items") or []]
                states += [body["object"]] if body.get("type") in ("ADDED", "MODIFIED") else []
    return View(Scene({"apiVersion": "apps/v1", **states[-1]}), now=1796062800.0)


RECORDED = {
    "deployment-paused": [("Paused", "the rollout is paused", NEVER)],
    "deployment-done": [],
    "deployment-update": [],
    "statefulset-update": [],
    "daemonset-update": [],
    "statefulset-ondelete": [
        (
            "OnDelete",
            "2 Pods stay at the old revision until somebody deletes them: the update strategy is OnDelete",
            NEVER,
        )
    ],
    "statefulset-partition": [
        ("Partition", "db-0 and db-1 stay at the old revision: the partition of the update is 2", NEVER)
    ],
    "deployment-bad-image": [
        (
            "ProgressDeadlineExceeded",
            "there was no progress for the 8s that progressDeadlineSeconds allows",
            MAYBE,
        )
    ],
}


def test_recorded_rollouts() -> None:
    modules = (controllers, stateful_sets, leaving, nodes, deadline)
    told = {}
    for name in RECORDED:
        seen = _last_recorded(name)
        told[name] = found([one for module in modules for one in module.findings(seen)])
    assert told == RECORDED


@pytest.mark.parametrize(
    ("spec", "meta", "expected"),
    [
        ({}, {"generation": 3}, "its controller has not seen the present spec (generation 3; it has seen 2)"),
        # A change of a moment ago is nothing to wonder at; one of the status is none of the spec.
        ({}, {"generation": 3, "managedFields": [{"time": clock("14:59:58")}]}, ""),
        (
            {},
            {"generation": 3, "managedFields": [{"time": clock("14:59:58"), "subresource": "status"}]},
            "its controller has not seen the present spec (generation 3; it has seen 2)",
        ),
        # Of a new object the first change is its creation.
        ({}, {"generation": 1, "observed": 0, "creationTimestamp": clock("14:59:58")}, ""),
        (
            {},
            {"generation": 1, "observed": 0},
            "its controller has not seen the present spec (generation 1; it has seen 0)",
        ),
    ],
)
def test_a_controller_that_looks_away(spec: Object, meta: Object, expected: str) -> None:
    status = {"replicas": 1, "observedGeneration": meta.get("observed", 2)}
    told = _of("Deployment", spec, status, meta=meta)
    assert told == ([("NotObserved", expected, MAYBE)] if expected else [])


def test_a_kind_whose_controller_does_not_say_what_it_has_seen() -> None:
    old = {"generation": 3, "creationTimestamp": clock("14:00:00")}
    for kind, codes in (("Deployment", ["NotObserved"]), ("Job", []), ("Rollout", [])):
        assert [code for code, *_ in _of(kind, status={"observedGeneration": None}, meta=old)] == codes, kind
    assert [code for code, *_ in _of("Rollout", meta=old)] == ["NotObserved"]  # it has seen 2


def test_no_pod_is_wanted() -> None:
    told = ("ScaledToZero", "no Pod is wanted: spec.replicas is 0", NEVER)
    for kind, left, expected in (("ReplicaSet", 0, [told]), ("ReplicaSet", 1, []), ("Deployment", 1, [])):
        assert _of(kind, {"replicas": 0}, {"replicas": left, "updatedReplicas": 0}) == expected, (kind, left)


def test_old_pods_wait_for_somebody_to_delete_them() -> None:
    hash_: Object = {"labels": {"controller-revision-hash": "1"}}
    pods = [pod("web-0", ready(), **hash_), pod("web-1", ready(), deletionTimestamp=clock("15:00:00"), **hash_)]
    for kind in ("StatefulSet", "DaemonSet"):
        spec = {"updateStrategy": {"type": "OnDelete"}}
        told = _of(kind, spec, {"updateRevision": "2"}, pods=pods)
        text = "1 Pod stays at the old revision until somebody deletes it (web-0): the update strategy is OnDelete"
        assert told == [("OnDelete", text, NEVER)]


def test_old_pods_that_cannot_be_seen_are_counted_by_the_status() -> None:
    spec = {"updateStrategy": {"type": "OnDelete"}}
    text = "2 Pods stay at the old revision until somebody deletes them: the update strategy is OnDelete"
    told = [("OnDelete", text, NEVER)]
    daemons = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 1}
    assert _of("DaemonSet", spec, daemons) == told
    assert _of("StatefulSet", spec, {"replicas": 3, "updatedReplicas": 1}) == told
    assert _of("StatefulSet", spec, {"replicas": 3, "updatedReplicas": 3}) == []
    new = pod("web-0", ready(), labels={"controller-revision-hash": "2"})
    assert _of("StatefulSet", spec, {"replicas": 3, "updatedReplicas": 1, "updateRevision": "2"}, pods=[new]) == []


def test_a_partition_keeps_nothing_where_there_is_one_revision_only() -> None:
    spec = {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
    status = {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 1, "updateRevision": "2"}
    text = "web-0 and web-1 stay at the old revision: the partition of the update is 2"
    assert _of("StatefulSet", spec, {**status, "currentRevision": "1"}) == [("Partition", text, NEVER)]
    assert _of("StatefulSet", spec, {**status, "currentRevision": "2"}) == []


def test_min_ready_seconds() -> None:
    pods = [
        pod("web-a", ready(since="14:59:00"), owner="r"),
        pod("web-b", ready(since="14:59:20"), owner="r"),
        pod("web-c", ready(since="14:59:50", is_ready=False), owner="r"),
        pod("web-d", ready(since="14:58:00"), owner="r"),
    ]
    one = workload("Deployment", {"minReadySeconds": 90, "replicas": 4}, {"updatedReplicas": 4})
    (finding,) = controllers.findings(view(Scene(one, [replica_set()], pods)))
    assert found([finding]) == [
        (
            "MinReadySeconds",
            "2 ready Pods count as available only after minReadySeconds (90), at 15:00:50Z: 50s are left",
            WAITS,
        )
    ]
    assert (finding.objects, finding.of) == (("pod/web-a", "pod/web-b"), 4)


@looped(
    ("setting", "expected"),
    [
        (0, "maxUnavailable is 0"),
        ("0%", "maxUnavailable is 0%"),
        ("25%", "maxUnavailable is 25% of 3, rounded down to 0"),
        (1, ""),
        ("50%", ""),
        ("many", ""),
        (None, ""),
    ],
)
def test_new_pods_without_room_beside_the_old(setting: object, expected: str) -> None:
    spec = {"replicas": 3, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": setting}}}
    new = pod("web-new", unscheduled("0/1 nodes are available: 1 Insufficient cpu."), owner="r")
    old = pod("web-old", ready(), owner="o")
    owned = [replica_set(), old_replica_set()]
    told = _of("Deployment", spec, {"updatedReplicas": 1}, owned=owned, pods=[new, old])
    start = "the new Pods need room beside the old ones, which stay until new ones are available: "
    assert told == ([("SurgeNeedsRoom", start + expected, MAYBE)] if expected else [])
    assert not _of("Deployment", spec, {"updatedReplicas": 1}, owned=owned, pods=[new])


def test_the_budget_of_a_daemon_set() -> None:
    labels: list[Object] = [{"labels": {"controller-revision-hash": one}} for one in "21"]
    pods = [pod("web-a", ready(is_ready=False), **labels[0]), pod("web-b", ready(), **labels[1])]
    owner = {"uid": "w", "controller": True}
    revision = {"metadata": {"name": "web-2", "ownerReferences": [owner], **labels[0]}, "revision": 2}
    for setting, is_told in ((1, True), ("20%", True), (2, False), ("70%", False)):
        spec = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": setting}}}
        told = _of("DaemonSet", spec, {"desiredNumberScheduled": 2}, owned=[revision], pods=pods)
        text = f"1 old Pod is not replaced while 1 new Pod is not ready: maxUnavailable is {setting}"
        assert told == ([("UpdateBudgetUsed", text, WAITS)] if is_told else []), setting


# StatefulSets.

PARALLEL = {"podManagementPolicy": "Parallel"}


def _stateful(spec: Object, *pods: str) -> Told:
    """Pods as `ORDINAL REVISION ready|broken|ending`."""
    made = []
    for words in pods:
        ordinal, revision, state = words.split()
        ending: Object = {"deletionTimestamp": clock("15:00:00")} if state == "ending" else {}
        status = ready(is_ready=state == "ready")
        made.append(pod(f"web-{ordinal}", status, labels={"controller-revision-hash": revision}, **ending))
    strategy = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}}
    return _of("StatefulSet", {"replicas": 3, **strategy, **spec}, {"updateRevision": "new"}, pods=made)


OLD_ONE = (
    "is still of an old revision and not ready; the controller waits for it to become ready before it updates any "
    "Pod, this one too"
)
ORDERED = " (podManagementPolicy is OrderedReady)"
STATEFUL: dict[str, tuple[Object, list[str], Told]] = {
    "the first Pod": (
        {},
        ["0 new broken"],
        [("PodBlocksOthers", f"web-1 and web-2 are not created before web-0 is ready{ORDERED}", WAITS)],
    ),
    "many Pods": (
        {"replicas": 9, "ordinals": {"start": 4}},
        ["4 new ready", "5 new broken"],
        [("PodBlocksOthers", f"web-6, web-7, web-8 and 4 more are not created before web-5 is ready{ORDERED}", WAITS)],
    ),
    "in parallel nobody waits to be created": (PARALLEL, ["0 new broken"], []),
    "an update": (
        {},
        ["0 old ready", "1 old ready", "2 new broken"],
        [("PodBlocksOthers", "web-1 and web-0 are not updated before web-2 is ready", WAITS)],
    ),
    "an update in parallel": (
        PARALLEL,
        ["0 old ready", "1 new broken", "2 new ready"],
        [("PodBlocksOthers", "web-0 is not updated before web-1 is ready", WAITS)],
    ),
    "an update with a partition": (
        {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}},
        ["0 old ready", "1 old ready", "2 new broken"],
        [],
    ),
    "the Pod of a broken revision": (
        {},
        ["0 other ready", "1 other ready", "2 broken broken"],
        [("OldPodBlocks", f"web-2 {OLD_ONE}", MAYBE)],
    ),
    "in parallel a broken Pod is replaced": (PARALLEL, ["0 other ready", "1 other ready", "2 broken broken"], []),
    "nobody waits behind the last one": ({}, ["0 new broken", "1 old ready", "2 old ready"], []),
    "one that is ending is replaced": ({}, ["0 old ready", "1 old ready", "2 old ending"], []),
    "all is well": ({}, ["0 new ready", "1 new ready", "2 new ready"], []),
}


def test_pods_of_a_stateful_set_that_wait_for_one() -> None:
    assert {name: _stateful(spec, *pods) for name, (spec, pods, _) in STATEFUL.items()} == {
        name: told for name, (_, _, told) in STATEFUL.items()
    }


# Nodes.


def _node(status: str, reason: str = "", message: str = "", **spec: Any) -> Object:
    return {
        "metadata": {"name": "n1"},
        "spec": spec,
        "status": {"conditions": [condition("Ready", status, reason, message)]},
    }


UNREACHABLE: Object = {"taints": [{"key": "node.kubernetes.io/unreachable", "timeAdded": clock("14:50:00")}]}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (
            _node("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
            ("NodeNotReady", 'its node "n1" does not respond (Kubelet stopped posting node status)', MAYBE),
        ),
        (_node("False", "KubeletNotReady"), ("NodeNotReady", 'its node "n1" is not ready (KubeletNotReady)', MAYBE)),
        (_node("True", **UNREACHABLE), ("NodeNotReady", 'its node "n1" is unreachable', MAYBE)),
        ({"metadata": {"name": "n2"}}, ("NodeGone", 'its node "n1" is gone', MAYBE)),
        (_node("True"), None),
    ],
)
def test_nodes(node: Object, expected: tuple[str, str, str] | None) -> None:
    one = pod("web-a", ready(is_ready=False), {"nodeName": "n1"})
    told = found(nodes.findings(view(Scene(workload("ReplicaSet"), pods=[one], nodes=[node]))))
    assert told == ([expected] if expected else [])
    # A Pod that is ready is not kept back by its node.
    well = pod("web-a", ready(), {"nodeName": "n1"})
    assert not found(nodes.findings(view(Scene(workload("ReplicaSet"), pods=[well], nodes=[node]))))


def test_nodes_that_could_not_be_seen_are_not_gone() -> None:
    one = pod("web-a", ready(is_ready=False), {"nodeName": "n1"})
    for scene in (
        Scene(workload("ReplicaSet"), pods=[one]),
        Scene(workload("ReplicaSet"), pods=[one], nodes=[_node("True")], unseen={"nodes": "forbidden"}),
    ):
        assert not found(nodes.findings(view(scene)))


def test_the_only_node_that_was_asked_for_is_gone() -> None:
    one = pod("web-a", ready(is_ready=False), {"nodeName": "n1"})
    for gone, codes in (["n1"], ["NodeGone"]), (["n2"], []):
        scene = Scene(workload("ReplicaSet"), pods=[one], gone_nodes=gone)
        assert [finding.code for finding in nodes.findings(view(scene))] == codes


def test_a_daemon_set_that_no_node_wants() -> None:
    none = view(Scene(workload("DaemonSet", status={"desiredNumberScheduled": 0})))
    assert [one.code for one in nodes.findings(none)] == ["NoNodes"]
    assert not found(nodes.findings(view(Scene(workload("DaemonSet", status={"desiredNumberScheduled": 1})))))


# Pods that end.

RECREATE = {"strategy": {"type": "Recreate"}}
LEAVING: dict[str, tuple[Object, Object, Told]] = {
    "within the usual time": ({"deletionTimestamp": clock("15:00:02"), "deletionGracePeriodSeconds": 30}, {}, []),
    "a long grace period": (
        {"deletionTimestamp": clock("15:09:00"), "deletionGracePeriodSeconds": 600},
        {},
        [
            (
                "StillTerminating",
                "it is ending and may take until 15:09:00Z: its grace period is 10m0s",
                WAITS,
            )
        ],
    ),
    "too long": (
        {"deletionTimestamp": clock("14:58:00")},
        RECREATE,
        [
            (
                "StillTerminating",
                "it should have ended 2m0s ago, when its grace period was over; the strategy is Recreate, so no new "
                "Pod is created before",
                MAYBE,
            )
        ],
    ),
    "finalizers": (
        {"deletionTimestamp": clock("14:58:00"), "finalizers": ["a.io/x", 7, "b.io/\x1by"]},
        {},
        [("FinalizerLeft", r"it is deleted, but kept by a.io/x and b.io/\x1by in its finalizers", MAYBE)],
    ),
    "not deleted": ({"finalizers": ["a.io/x"]}, {}, []),
}


def test_pods_that_do_not_end() -> None:
    for name, (metadata, spec, expected) in LEAVING.items():
        old = pod("web-old", ready(), owner="o", **metadata)
        owned = [replica_set(), old_replica_set()]
        scene = Scene(workload("Deployment", {"replicas": 1, **spec}), owned, [old])
        assert found(leaving.findings(view(scene))) == expected, name


def test_a_pod_on_a_node_that_does_not_respond() -> None:
    one = pod("web-0", ready(), {"nodeName": "n1"}, deletionTimestamp=clock("14:58:00"), labels={"app": "web"})
    budgets = [
        {"metadata": {"name": "no"}, "spec": {"selector": {"matchLabels": {"app": "other"}}}},
        {"metadata": {"name": "bad"}, "spec": {"selector": {"matchLabels": 7}}},
        {
            "metadata": {"name": "pdb"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": 0},
        },
    ]
    scene = Scene(workload("StatefulSet"), pods=[one], nodes=[_node("Unknown")], budgets=budgets)
    (finding,) = leaving.findings(view(scene))
    assert found([finding]) == [
        (
            "LeavingOnLostNode",
            'nobody can tell whether it has ended, because its node "n1" does not respond; a new Pod of its name '
            "cannot be created before",
            MAYBE,
        )
    ]
    assert finding.advice == (
        "once the node is off for good: kubectl delete pod web-0 --force --grace-period=0 -n d; "
        'PodDisruptionBudget "pdb" is not to blame: it limits evictions only'
    )


def test_a_pod_that_cannot_be_killed() -> None:
    one = pod("web-0", ready(), {"nodeName": "n1"}, deletionTimestamp=clock("14:58:00"))
    said = event(one, "FailedKillPod", "error killing pod: context deadline exceeded")
    (finding,) = leaving.findings(view(Scene(workload("StatefulSet"), pods=[one], events=[said])))
    assert finding.evidence[1].text == "error killing pod: context deadline exceeded"
    assert finding.advice == "see the kubelet's log on the node n1"


# The deadline.

PROGRESSING = condition("Progressing", "True", "ReplicaSetUpdated", since="14:58:00")
AVAILABLE = condition("Progressing", "True", "NewReplicaSetAvailable", since="14:58:00")
NEVER_FAILED = "the Deployment will never be declared failed: "
DEADLINES: dict[str, tuple[Object, Object, Told]] = {
    "left": (
        {"progressDeadlineSeconds": 600},
        PROGRESSING,
        [
            (
                "ProgressDeadline",
                "no progress since 14:58:00Z; 8m0s of the 10m0s of progressDeadlineSeconds are left, until 15:08:00Z",
                WAITS,
            )
        ],
    ),
    "over": (
        {"progressDeadlineSeconds": 60},
        PROGRESSING,
        [
            (
                "ProgressDeadline",
                "no progress since 14:58:00Z; the 1m0s of progressDeadlineSeconds are over",
                WAITS,
            )
        ],
    ),
    "a moment ago": ({"progressDeadlineSeconds": 600}, {**PROGRESSING, "lastUpdateTime": clock("14:59:55")}, []),
    "no limit": (
        {"progressDeadlineSeconds": 2147483647},
        PROGRESSING,
        [("ProgressDeadlineNever", f"{NEVER_FAILED}progressDeadlineSeconds sets no limit", WAITS)],
    ),
    "it was complete before": (
        {"progressDeadlineSeconds": 600},
        AVAILABLE,
        [
            (
                "ProgressDeadlineNever",
                f"{NEVER_FAILED}the condition Progressing still says that the new ReplicaSet is available",
                WAITS,
            )
        ],
    ),
    "paused": ({"progressDeadlineSeconds": 600, "paused": True}, PROGRESSING, []),
    "complete": ({"progressDeadlineSeconds": 600, "replicas": 0}, AVAILABLE, []),
}


def test_deadlines() -> None:
    for name, (spec, progressing, expected) in DEADLINES.items():
        one = workload("Deployment", {"replicas": 1, **spec}, {"conditions": [progressing]})
        assert found(deadline.findings(view(Scene(one)))) == expected, name
