"""Whatever stands in whatever field: a detector never fails, and what it says is one line of bounded length."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.rollout.explain import admission, controllers, deadline, leaving, nodes, scheduling, stateful_sets
from rawkube.rollout.explain.finding import CODES, MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.explain.scene import Scene
from tests.support.examples import examples
from tests.support.explained import (
    Object,
    clock,
    condition,
    event,
    old_replica_set,
    pod,
    ready,
    replica_set,
    unscheduled,
    view,
    workload,
)

LONGEST = 3000  # characters: several texts of the cluster, each bounded, and escapes

DENIED = 'pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
UNSCHEDULED = unscheduled("0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}.")
SPEC = {
    "replicas": 3,
    "minReadySeconds": 900,
    "progressDeadlineSeconds": 600,
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}},
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1, "maxUnavailable": 1}},
}
STATUS = {
    "updateRevision": "2",
    "currentRevision": "1",
    "desiredNumberScheduled": 3,
    "conditions": [
        condition("Progressing", "True", "ReplicaSetUpdated"),
        condition("ReplicaFailure", "True", "FailedCreate", DENIED),
    ],
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
POD_SPEC = {
    "nodeSelector": {"disk": "ssd"},
    "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [TERM]}}},
    "containers": [{"resources": {"requests": {"cpu": "1"}}}],
    "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}, {"name": "v", "ephemeral": {}}],
    "schedulingGates": [{"name": "a"}],
}


def _pods(new: str, old: str) -> list[Object]:
    hashes = [{"labels": {"controller-revision-hash": one, "app": "web"}} for one in "21"]
    going = {"deletionTimestamp": clock("14:50:00"), "finalizers": ["a"], **hashes[1]}
    return [
        pod("web-2", UNSCHEDULED, POD_SPEC, owner=new, **hashes[0]),
        pod("web-1", ready(), {"nodeName": "n1"}, owner=new, **hashes[0]),
        pod("web-0", ready(is_ready=False), {"nodeName": "n1"}, owner=old, **hashes[1]),
        pod("web-3", ready(), {"nodeName": "n2"}, owner=old, **going),
    ]


def _fields(kind: str) -> dict[str, Any]:
    one = workload(kind, SPEC, STATUS)
    of_deployment = kind == "Deployment"
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "uid": "c"}, "status": {"phase": "Pending"}}
    node = {
        "metadata": {"name": "n1"},
        "spec": {"taints": [{"key": "node.kubernetes.io/unreachable"}]},
        "status": {"conditions": [condition("Ready", "Unknown", message="stopped")]},
    }
    budget = {"spec": {"selector": {"matchLabels": {"app": "web"}}}, "status": {"disruptionsAllowed": 0}}
    events = [
        event(one, "FailedCreate", DENIED),
        event(claim, "ProvisioningFailed", 'storageclass.storage.k8s.io "x" not found'),
    ]
    return {
        "workload": one,
        "owned": [replica_set(STATUS), old_replica_set()] if of_deployment else [],
        "pods": _pods("r", "o") if of_deployment else _pods("w", "w"),
        "events": events,
        "claims": [claim],
        "nodes": [node],
        "budgets": [budget],
    }


def _told(fields: dict[str, Any]) -> list[Finding]:
    modules = (scheduling, admission, controllers, stateful_sets, leaving, nodes, deadline)
    seen = view(Scene(**fields))
    return [one for module in modules for one in module.findings(seen)]


def _paths(thing: Any) -> list[tuple[Any, ...]]:
    """Every place in a tree of JSON."""
    inside = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    return [path for key, value in inside for path in [(key,), *((key, *rest) for rest in _paths(value))]]


KINDS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "Pod")
SCENES = {kind: _fields(kind) for kind in KINDS}
PATHS = {kind: _paths(SCENES[kind]) for kind in KINDS}

NASTY = st.sampled_from(
    ["", "\x1b[2J\n", "x" * 9999, "\ud800", -1, 0, 2**63, -(2**70), 1e300, True, None, "2026-99-99T", "9999999%"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | NASTY
JSON = st.recursive(
    LEAVES, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=6), one, max_size=3), max_leaves=6
)


def _put(thing: Any, path: tuple[Any, ...], value: Any) -> None:
    """Puts a value into a tree; no matter if an earlier change has taken the place away."""
    *parents, last = path
    with suppress(TypeError, KeyError, IndexError):
        for key in parents:
            thing = thing[key]
        thing[last] = value


def test_each_scene_has_findings_to_begin_with() -> None:
    codes = {kind: {one.code for one in _told(SCENES[kind])} for kind in KINDS}
    assert codes["Deployment"] >= {
        "Unschedulable",
        "ClaimPending",
        "QuotaExceeded",
        "MinReadySeconds",
        "SurgeNeedsRoom",
    }
    assert codes["Deployment"] >= {"LeavingOnLostNode", "ProgressDeadline"} or codes["Deployment"] >= {"FinalizerLeft"}
    assert codes["StatefulSet"] >= {"Unschedulable", "OldPodBlocks"}
    assert codes["DaemonSet"] >= {"Unschedulable", "UpdateBudgetUsed"}


@settings(max_examples=examples(250), deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.tuples(st.integers(0, 10**6), JSON), min_size=1, max_size=3))
def test_any_json_in_any_field(kind: str, changes: list[tuple[int, Any]]) -> None:
    fields = copy.deepcopy(SCENES[kind])
    for at, value in changes:
        path = PATHS[kind][at % len(PATHS[kind])]
        if len(path) > 1:
            _put(fields, path, value)
    for one in _told(fields):
        texts = [one.text, one.advice, one.object, *(part for said in one.evidence for part in said)]
        assert all(text.isprintable() and len(text) < LONGEST for text in texts), one
        assert one.resolves in (NEVER, MAYBE, WAITS) and one.code in CODES


@settings(max_examples=examples(200), deadline=None)
@given(
    st.text(max_size=40),
    st.sampled_from(["0/3 nodes are available: ", "0/9 nodes are available: 1 ", "is forbidden: exceeded quota: ", ""]),
)
def test_any_message(rest: str, start: str) -> None:
    fields = copy.deepcopy(SCENES["Deployment"])
    fields["pods"][0]["status"]["conditions"][0]["message"] = start + rest * 300
    fields["owned"][0]["status"]["conditions"][1]["message"] = start + rest * 300
    assert all(one.text.isprintable() and len(one.text) < LONGEST for one in _told(fields))
