"""Pods without a node: the scheduler's counts in words, gates, preemption, claims."""

from __future__ import annotations

from typing import Any

import pytest

from rawkube.rollout.explain import scheduler_message, scheduling
from rawkube.rollout.explain.finding import MAYBE, WAITS
from rawkube.rollout.explain.scene import Scene
from tests.support.explained import (
    Object,
    clock,
    condition,
    event,
    found,
    pod,
    replica_set,
    unscheduled,
    view,
    workload,
)
from tests.support.rows import looped

AVAILABLE = " nodes are available: "
PREEMPTION = ". preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."

WORDS = {
    "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}"
    + PREEMPTION: "1 of 3 has too little cpu, 2 have the taint a: b",
    "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.": "all 3 have too little nvidia.com/gpu",
    "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No "
    "preemption victims found for incoming pod.": "the only node runs as many Pods as it may",
    "0/4 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 1 node(s) were "
    "unschedulable, 2 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.": (
        "1 of 4 is unreachable, 1 is cordoned, 2 are for the control plane only"
    ),
    "0/2 nodes are available: 2 node(s) had taint {gpu: yes}, that the pod didn't tolerate.": (
        "both have the taint gpu: yes"
    ),
    "0/2 nodes are available: 2 node(s) had untolerated taint(s).": (
        "both have a taint that the Pod does not tolerate"
    ),
    "0/2 nodes are available: 1 Insufficient memory, 1 some new reason, with a comma.": (
        "1 of 2 has too little memory, 1: some new reason, with a comma"
    ),
    "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports": (
        "both have the Pod's host port in use"
    ),
    "0/2 nodes are available: a plugin said no.": "a plugin said no",
    "0/2 nodes are available: ": "the scheduler gives no reason",
    "0/3 nodes are available: 3 node(s) had untolerated taint {a|b: c|d}.": "all 3 have the taint a/b: c/d",
    "no nodes available to schedule pods": "the cluster has none that takes Pods",
    f"0/9{AVAILABLE}{', '.join(f'1 reason {letter}' for letter in 'abcdefgh')}": (
        "1 of 9: reason a, 1: reason b, 1: reason c, 1: reason d, 1: reason e, 1: reason f and 2 more reasons"
    ),
}


def test_the_scheduler_in_words() -> None:
    for message, words in WORDS.items():
        verdict = scheduler_message.read(message)
        assert verdict is not None, message
        assert scheduler_message.in_words(verdict) == f"no node fits: {words}", message
    assert scheduler_message.read("running PreFilter plugin: boom") is None


def _told(status: Object, spec: Object | None = None, **scene: Any) -> list[tuple[str, str, str]]:
    one = pod("web-1-a", status, spec, owner="r", creationTimestamp=clock("14:50:00"))
    return found(scheduling.findings(view(Scene(workload("Deployment"), [replica_set()], [one], **scene))))


def _requests(*each: Object) -> Object:
    return {"containers": [{"name": "app", "resources": {"requests": one}} for one in each]}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"


def _affinity(*terms: Object) -> Object:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


ZONES = {
    "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}, {"key": "x", "operator": "Exists"}]
}
ONE_NODE = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}

PODS: dict[str, tuple[Object, Object, str, str, str]] = {
    "what the Pod asks for": (
        unscheduled("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."),
        _requests({"cpu": "64"}, {"cpu": "500m"}),
        "Unschedulable",
        "no node fits: the only node has too little cpu, it has too little memory; the Pod asks for 64 + 500m cpu",
        MAYBE,
    ),
    "node selector and affinity": (
        unscheduled(f"0/3 nodes are available: 3 {AFFINITY}."),
        {
            "nodeSelector": {"disk": "ssd"},
            **_affinity(ZONES, {"matchExpressions": [{"key": "y", "operator": "DoesNotExist"}]}),
        },
        "Unschedulable",
        "no node fits: all 3 are ruled out by the node selector disk=ssd and the node affinity zone in (a, b),x or !y",
        MAYBE,
    ),
    "a Pod of a DaemonSet": (
        unscheduled("0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."),
        {**_affinity(ONE_NODE), **_requests({"cpu": "2"})},
        "Unschedulable",
        "the node n2 does not fit: it has too little cpu; the Pod asks for 2 cpu",
        MAYBE,
    ),
    "a Pod of a DaemonSet whose node is gone": (
        unscheduled(f"0/2 nodes are available: 2 {AFFINITY}."),
        _affinity(ONE_NODE),
        "Unschedulable",
        "no node fits: both are ruled out by the affinity to the node n2",
        MAYBE,
    ),
    "a volume in another place": (
        unscheduled("0/2 nodes are available: 2 node(s) had volume node affinity conflict."),
        {},
        "VolumeNodeConflict",
        "no node fits: both are out of reach of the Pod's volume (volume node affinity conflict)",
        MAYBE,
    ),
    "an unknown form": (
        unscheduled("something\x1b[31m new"),
        {},
        "Unschedulable",
        r"no node fits: something\x1b[31m new",
        MAYBE,
    ),
    "a scheduler that fails": (
        unscheduled("boom", "SchedulerError"),
        {},
        "SchedulerFailed",
        "the scheduler failed: boom",
        MAYBE,
    ),
    "gates": (
        unscheduled("", "SchedulingGated"),
        {"schedulingGates": [{"name": "a.io/x"}, {"name": "b.io/y"}]},
        "SchedulingGated",
        "scheduling is held back by a.io/x and b.io/y (spec.schedulingGates)",
        MAYBE,
    ),
    "preemption": (
        {**unscheduled("0/1 nodes are available: 1 Insufficient cpu."), "nominatedNodeName": "n1"},
        {},
        "Preempting",
        "waits for Pods of lower priority to leave the node n1",
        WAITS,
    ),
    "no scheduler": (
        {"phase": "Pending"},
        {"schedulerName": "mine"},
        "NotScheduled",
        "no scheduler has looked for a node yet; the one that has to is mine",
        MAYBE,
    ),
}


@looped("name", PODS)
def test_a_pod_without_a_node(name: str) -> None:
    status, spec, code, text, resolves = PODS[name]
    assert _told(status, spec) == [(code, text, resolves)]


def test_a_pod_that_names_its_node() -> None:
    template = {"template": {"spec": {"nodeName": "n9"}}}
    one = pod("web-a", {"phase": "Pending"}, {"nodeName": "n9"}, creationTimestamp=clock("14:50:00"))
    scene = Scene(workload("ReplicaSet", template), pods=[one])
    text = "the Pod names its node, n9, and no kubelet of that name has taken it"
    assert found(scheduling.findings(view(scene))) == [("NodeNameWaits", text, MAYBE)]
    one["status"]["startTime"] = clock("14:50:01")
    assert not found(scheduling.findings(view(scene)))


@pytest.mark.parametrize(
    ("status", "spec"),
    [
        ({"phase": "Running", "conditions": [condition("PodScheduled", "True")]}, {"nodeName": "n1"}),
        ({"phase": "Pending", "conditions": [condition("PodScheduled", "True")]}, {"nodeName": "n1"}),
        ({"phase": "Failed"}, {}),
        ({"phase": "Pending", "conditions": [condition("PodScheduled", "True")]}, {}),
    ],
)
def test_a_pod_with_a_node_is_no_finding(status: Object, spec: Object) -> None:
    assert not _told(status, spec)


def test_a_scheduler_has_some_time_to_look() -> None:
    for created, expected in (("14:59:55", []), ("14:59:45", ["NotScheduled"]), ("soon", [])):
        one = pod("web-a", {"phase": "Pending"}, creationTimestamp=clock(created))
        seen = view(Scene(workload("ReplicaSet"), pods=[one]))
        assert [finding.code for finding in scheduling.findings(seen)] == expected, created


def test_what_to_do_about_a_pod_that_fits_nowhere() -> None:
    for reason, code, advice in [
        ("had volume node affinity conflict", "VolumeNodeConflict", "let the Pod run where its volume is, or "),
        ("had untolerated taint {a: b}", "Unschedulable", "add a toleration to the Pod template, or "),
        ("didn't match Pod's node affinity/selector", "Unschedulable", "change the node selector or affinity, or "),
        ("have no reason", "Unschedulable", "see kubectl describe pod web-a -n d"),
    ]:
        one = pod("web-a", unscheduled(f"0/1 nodes are available: 1 node(s) {reason}."))
        (finding,) = scheduling.findings(view(Scene(workload("ReplicaSet"), pods=[one])))
        assert (finding.code, finding.advice[: len(advice)]) == (code, advice)


def test_what_an_autoscaler_says_is_evidence() -> None:
    one = pod("web-a", unscheduled("0/1 nodes are available: 1 Insufficient cpu."))
    said = event(one, "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")
    scene = Scene(workload("ReplicaSet"), pods=[one], events=[said])
    (finding,) = scheduling.findings(view(scene))
    assert [one.source for one in finding.evidence] == [
        "pod/web-a: status.conditions[PodScheduled]",
        "event NotTriggerScaleUp",
    ]


UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
VOLUME = {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}
LOCAL = {"volumes": [{"name": "scratch", "ephemeral": {}}]}

CLAIMS: dict[str, tuple[str, Object, str, str, list[tuple[str, str, str]]]] = {
    "missing": (
        '0/1 nodes are available: persistentvolumeclaim "data" not found. not found',
        {},
        "",
        "",
        [("ClaimMissing", 'PersistentVolumeClaim "data" does not exist', MAYBE)],
    ),
    "no event": (
        UNBOUND,
        {"status": {"phase": "Pending"}},
        "",
        "",
        [("ClaimPending", 'PersistentVolumeClaim "data" is not bound: it names no storage class', MAYBE)],
    ),
    "external": (
        UNBOUND,
        {"status": {"phase": "Pending"}, "spec": {"storageClassName": "ebs"}},
        "ExternalProvisioning",
        "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com' or manually by",
        [
            (
                "ClaimPending",
                'PersistentVolumeClaim "data" is not bound: the provisioner "ebs.csi.aws.com" has not made its volume '
                "yet",
                MAYBE,
            )
        ],
    ),
    "being made": (
        UNBOUND,
        {"status": {"phase": "Pending"}},
        "Provisioning",
        "External provisioner is provisioning volume for claim",
        [("ClaimPending", 'PersistentVolumeClaim "data" is not bound: its volume is being made', WAITS)],
    ),
    "failed": (
        UNBOUND,
        {"status": {"phase": "Pending"}},
        "ProvisioningFailed",
        "rpc error: no space",
        [("ClaimPending", 'PersistentVolumeClaim "data" is not bound: rpc error: no space', MAYBE)],
    ),
    "waits for the Pod": (
        "0/1 nodes are available: 1 Insufficient cpu.",
        {"status": {"phase": "Pending"}},
        "WaitForFirstConsumer",
        "waiting for first consumer to be created before binding",
        [("Unschedulable", "no node fits: the only node has too little cpu", MAYBE)],
    ),
    "lost": (
        UNBOUND,
        {"status": {"phase": "Lost"}, "spec": {"volumeName": "pv-1"}},
        "",
        "",
        [("ClaimLost", 'PersistentVolumeClaim "data" has lost its volume "pv-1"', "never")],
    ),
    "deleted": (
        '0/1 nodes are available: persistentvolumeclaim "data" is being deleted.',
        {"status": {"phase": "Bound"}, "metadata": {"deletionTimestamp": clock("14:00:00")}},
        "",
        "",
        [("ClaimDeleted", 'PersistentVolumeClaim "data" is being deleted', MAYBE)],
    ),
    "bound": (
        UNBOUND,
        {"status": {"phase": "Bound"}},
        "",
        "",
        [("Unschedulable", "no node fits: a PersistentVolumeClaim of the Pod is not bound", MAYBE)],
    ),
}


@looped("name", CLAIMS)
def test_claims(name: str) -> None:
    message, fields, reason, said, expected = CLAIMS[name]
    metadata = {"name": "data", "uid": "c", **fields.get("metadata", {})}
    claim = {"kind": "PersistentVolumeClaim", **fields, "metadata": metadata}
    events = [event(claim, reason, said)] if reason else []
    assert _told(unscheduled(message), VOLUME, claims=[claim] if fields else [], events=events) == expected


def test_the_claim_of_an_ephemeral_volume_has_the_name_of_the_pod_in_it() -> None:
    claim = {"metadata": {"name": "web-1-a-scratch", "uid": "c"}, "status": {"phase": "Pending"}}
    ((code, text, _),) = _told(unscheduled(UNBOUND), LOCAL, claims=[claim])
    assert (code, '"web-1-a-scratch" is not bound' in text) == ("ClaimPending", True)
