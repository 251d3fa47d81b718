"""Kinds beyond kubectl's three: what is said of each state, by hand and from a real cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api import expected
from rawkube.errors import RawkubeError, RolloutFailed
from rawkube.rollout.kinds import judge, unsupported
from rawkube.rollout.status import UnsupportedKind, evaluate
from tests.support.examples import examples
from tests.support.recordings import FIXTURES, exchanges
from tests.support.workloads import Object, daemonset, deployment, statefulset


def thing(
    kind: str, name: str, status: object = None, *, g: int | None = 1, spec: object = None, **metadata: Any
) -> Object:
    """`kind`: `KIND.VERSION[.GROUP]`. g: the generation."""
    word, version, *group = kind.split(".", 2)
    found: Object = {
        "apiVersion": "/".join([*group, version]),
        "kind": word,
        "metadata": {"name": name, "namespace": "demo", **({} if g is None else {"generation": g}), **metadata},
    }
    if spec is not None:
        found["spec"] = spec
    if status is not None:
        found["status"] = status
    return found


def cond(kind: str, status: str = "True", reason: str = "", message: str = "", **more: Any) -> Object:
    told = {"type": kind, "status": status, "reason": reason, "message": message}
    return {key: value for key, value in told.items() if value} | more


def conds(*found: Object, **more: Any) -> Object:
    return {"conditions": list(found), **more}


def told(obj: Object, **how: Any) -> str:
    """The line; `= ` before it when it is done, `! ` before an error."""
    try:
        progress = judge(obj, **{"any_kind": True, **how})
    except RawkubeError as error:
        return f"! {error}"
    return ("= " if progress.done else "") + progress.message


def job(status: object, **spec: Any) -> Object:
    return thing("Job.v1.batch", "load", status, spec={"completions": 3, "parallelism": 1, **spec})


def pod(status: object, containers: int = 2, **metadata: Any) -> Object:
    return thing(
        "Pod.v1", "web-0", status, spec={"containers": [{"name": f"c{n}"} for n in range(containers)]}, **metadata
    )


def replica_set(o: int | None, replicas: int, available: int, *conditions: Object, wanted: int | None = 3) -> Object:
    status = {
        "observedGeneration": o,
        "replicas": replicas,
        "availableReplicas": available,
        "conditions": list(conditions),
    }
    return thing("ReplicaSet.v1.apps", "web-7d4", status, spec={} if wanted is None else {"replicas": wanted})


def release(status: object, *, g: int = 2, **metadata: Any) -> Object:
    return thing("Release.v1.app.example.com", "api", status, g=g, **metadata)


def argo(status: object, *, g: int = 4, **metadata: Any) -> Object:
    return thing("Rollout.v1alpha1.argoproj.io", "web", status, g=g, **metadata)


def clone_set(
    u: int, t: int, a: int, *, o: int = 1, partition: object = None, paused: bool = False, **more: Any
) -> Object:
    """Of 4: updated u, replicas t, available a."""
    status = {"observedGeneration": o, "updatedReplicas": u, "replicas": t, "availableReplicas": a, **more}
    spec = {"replicas": 4, "updateStrategy": {"type": "InPlaceIfPossible", "partition": partition, "paused": paused}}
    return thing("CloneSet.v1alpha1.apps.kruise.io", "web", status, spec=spec)


def kruise_set(u: int, a: int, **strategy: Any) -> Object:
    status = {"observedGeneration": 1, "updatedReplicas": u, "replicas": 3, "availableReplicas": a}
    spec = {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", **strategy}}
    return thing("StatefulSet.v1beta1.apps.kruise.io", "db", status, spec=spec)


def merged(obj: Object, **status: Any) -> Object:
    return obj | {"status": obj["status"] | status}


def kruise_daemons(u: int, a: int, **rolling: Any) -> Object:
    status = {"observedGeneration": 1, "desiredNumberScheduled": 4, "currentNumberScheduled": 4}
    status |= {"updatedNumberScheduled": u, "numberAvailable": a}
    return thing(
        "DaemonSet.v1alpha1.apps.kruise.io", "agent", status, spec={"updateStrategy": {"rollingUpdate": rolling}}
    )


JOB, POD, SET = (
    'Waiting for job "load" to complete: ',
    'Waiting for pod "web-0" to be ready: ',
    'Waiting for replica set "web-7d4" ',
)
API, ARGO, CLONES = (
    'Waiting for release "api" to be ready: ',
    'Waiting for rollout "web" to finish: ',
    'Waiting for clone set "web" ',
)
SCHEDULED = cond("PodScheduled")

STATES: list[tuple[Object, str]] = [
    (job(None), JOB + "0 of 3 pods have succeeded..."),
    (job({"succeeded": 1, "active": 1}), JOB + "1 of 3 pods have succeeded..."),
    (job({"succeeded": 2, "failed": 1}), JOB + "2 of 3 pods have succeeded, 1 has failed..."),
    (job({"failed": 2}, completions=1), JOB + "0 of 1 pod has succeeded, 2 have failed..."),
    (job({"succeeded": 1}, completions=None), JOB + "1 pod has succeeded..."),
    (job({"succeeded": 2}, completions=None), JOB + "2 pods have succeeded..."),
    (job({}, suspend=True), JOB + "it is suspended..."),
    (job(conds(cond("Suspended"), succeeded=1), suspend=True), JOB + "it is suspended..."),
    (job(conds(cond("SuccessCriteriaMet"), succeeded=3)), JOB + "3 of 3 pods have succeeded..."),
    (job(conds(cond("Complete"), succeeded=3)), '= job "load" is complete'),
    (job(conds(cond("Complete", "False"), succeeded=1)), JOB + "1 of 3 pods have succeeded..."),
    (
        job(conds(cond("FailureTarget", "True", "BackoffLimitExceeded", "Too many"), failed=1)),
        JOB + "it is failing: Too many (BackoffLimitExceeded)...",
    ),
    (
        job(conds(cond("Failed", "True", "DeadlineExceeded", "Job was active\nlonger"))),
        '! job "load" failed: Job was active longer (DeadlineExceeded)',
    ),
    (job(conds(cond("Failed"))), '! job "load" failed'),
    # Pods.
    (pod(None), POD + "it is not scheduled..."),
    (
        pod(conds(cond("PodScheduled", "False", "Unschedulable", "0/3 nodes are available"), phase="Pending")),
        POD + "it is not scheduled: 0/3 nodes are available (Unschedulable)...",
    ),
    (pod(conds(SCHEDULED, phase="Pending")), POD + "0 of 2 containers are ready..."),
    (
        pod(
            conds(
                SCHEDULED,
                cond("Ready", "False"),
                phase="Running",
                containerStatuses=[{"ready": True}, {"ready": False}],
            )
        ),
        POD + "1 of 2 containers are ready...",
    ),
    (pod(conds(SCHEDULED), containers=1), POD + "0 of 1 container is ready..."),
    (
        pod(
            conds(
                SCHEDULED,
                cond("Ready", "False", "ReadinessGatesNotReady", 'gate "lb" is missing'),
                containerStatuses=[{"ready": True}] * 2,
            )
        ),
        POD + 'its containers are: gate "lb" is missing (ReadinessGatesNotReady)...',
    ),
    (pod(conds(SCHEDULED, cond("Ready"), phase="Running")), '= pod "web-0" is ready'),
    (pod(conds(SCHEDULED, cond("Ready", observedGeneration=1)), g=2), POD + "0 of 2 containers are ready..."),
    (pod(conds(cond("Ready")), deletionTimestamp="2026-11-30T18:00:00Z"), POD + "it is being deleted..."),
    (pod({"phase": "Succeeded"}), '= pod "web-0" has succeeded'),
    (
        pod({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}),
        '! pod "web-0" failed: low on memory (Evicted)',
    ),
    (
        pod({"phase": "Failed", "containerStatuses": [{"name": "c0", "state": {"terminated": {"exitCode": 3}}}]}),
        '! pod "web-0" failed: container "c0" ended with exit code 3',
    ),
    (
        pod(
            {
                "phase": "Failed",
                "containerStatuses": [
                    "odd",
                    {"name": "c0", "state": {"terminated": {"exitCode": 0}}},
                    {"name": "c1", "state": {"terminated": {"exitCode": 2}}},
                ],
            }
        ),
        '! pod "web-0" failed: container "c1" ended with exit code 2',
    ),
    (
        pod({"phase": "Failed", "containerStatuses": [{"name": "c0", "state": {"terminated": {"exitCode": 0}}}]}),
        '! pod "web-0" failed',
    ),
    (pod({"phase": "Failed"}), '! pod "web-0" failed'),
    # ReplicaSets.
    (replica_set(None, 0, 0), "Waiting for replica set spec update to be observed..."),
    (replica_set(0, 3, 3), "Waiting for replica set spec update to be observed..."),
    (replica_set(1, 1, 1), SET + "to be available: 1 of 3 replicas have been created..."),
    (
        replica_set(1, 1, 1, cond("ReplicaFailure", "True", "FailedCreate", "exceeded quota: q")),
        SET + "to be available: 1 of 3 replicas have been created (exceeded quota: q (FailedCreate))...",
    ),
    (replica_set(1, 5, 3), SET + "to be available: 2 replicas are pending termination..."),
    (replica_set(1, 3, 2), SET + "to be available: 2 of 3 replicas are available..."),
    (replica_set(1, 3, 3), '= replica set "web-7d4" is available: 3 of 3 replicas'),
    (replica_set(1, 1, 1, wanted=None), '= replica set "web-7d4" is available: 1 of 1 replicas'),
    (
        thing("ReplicationController.v1", "old", {"observedGeneration": 1}, spec={"replicas": 0}),
        '= replication controller "old" is available: 0 of 0 replicas',
    ),
    # Custom resources.
    (release(None), API + "it has no status yet..."),
    (release({}), API + "it has no status yet..."),
    (release({"conditions": []}), API + "it has no status yet..."),
    (release(conds(cond("Ready"), observedGeneration=1)), "Waiting for release spec update to be observed..."),
    (release(conds(cond("Ready", observedGeneration=1))), API + "Ready is of an earlier generation..."),
    (release(conds(cond("Ready"), observedGeneration=2)), '= release "api" is ready'),
    (release(conds(cond("Ready"))), '= release "api" is ready'),
    (release(conds(cond("Ready", "False", "BadChart", "no chart"))), API + "no chart (BadChart)..."),
    (release(conds(cond("Ready", "Unknown"))), API + "Ready is Unknown..."),
    (release(conds(cond("Available", "False", "Starting"))), API + "Starting..."),
    (release(conds(cond("Available"))), '= release "api" is available'),
    (
        release(conds(cond("Ready"), cond("Reconciling", "True", "Progressing", "2 of 3"))),
        API + "2 of 3 (Progressing)...",
    ),
    (release(conds(cond("Reconciling"))), API + "its controller is at work..."),
    (
        release(conds(cond("Stalled", "True", "BadChart", "no chart"))),
        '! release "api" is stalled: no chart (BadChart)',
    ),
    (release(conds(cond("Ready"), cond("Stalled", "True", observedGeneration=1))), '= release "api" is ready'),
    (release(conds(cond("Stalled", "False"))), '= release "api" is current: it is neither reconciling nor stalled'),
    (release({"observedGeneration": 2}), '= release "api" is current: its controller is done with generation 2'),
    (release(conds(cond("Ready")), deletionTimestamp="2026-11-30T18:00:00Z"), API + "it is being deleted..."),
    (release({"phase": "Deployed"}), "! no status viewer has been implemented for Release.app.example.com"),
    (release(conds(cond("Synced"))), "! no status viewer has been implemented for Release.app.example.com"),
    (thing("ConfigMap.v1", "settings", g=None), "! no status viewer has been implemented for ConfigMap"),
    (
        thing("NetworkPolicy.v1.networking.k8s.io", "deny"),
        "! no status viewer has been implemented for NetworkPolicy.networking.k8s.io",
    ),
    (
        thing("Node.v1", "n1", conds(cond("Ready", "False", "KubeletNotReady"))),
        'Waiting for node "n1" to be ready: KubeletNotReady...',
    ),
    # Argo.
    (argo(None), "Waiting for rollout spec update to be observed..."),
    (argo({"observedGeneration": "3", "phase": "Healthy"}), "Waiting for rollout spec update to be observed..."),
    (argo({"observedGeneration": "4", "phase": "Healthy"}), '= rollout "web" successfully rolled out'),
    (argo({"observedGeneration": "6f7b9", "phase": "Healthy"}), '= rollout "web" successfully rolled out'),
    (argo({"observedGeneration": "4", "phase": "Progressing", "message": "more replicas"}), ARGO + "more replicas..."),
    (argo({"observedGeneration": "4"}), ARGO + "its controller has not told where it is..."),
    (
        argo({"observedGeneration": "4", "phase": "Paused", "message": "CanaryPauseStep"}),
        ARGO + "it is paused: CanaryPauseStep...",
    ),
    (argo({"phase": "Paused", "controllerPause": True}), ARGO + "it is about to go on after a pause..."),
    (
        argo({"phase": "Degraded", "abort": True, "message": "RolloutAborted: failed"}),
        '! rollout "web" is degraded: RolloutAborted: failed',
    ),
    (argo({"phase": "Progressing", "abort": True}), '! rollout "web" is aborted'),
    (
        argo(
            {"phase": "Healthy", "workloadObservedGeneration": "1"},
            annotations={"rollout.argoproj.io/workload-generation": "2"},
        ),
        "Waiting for rollout spec update to be observed...",
    ),
    # OpenKruise.
    (clone_set(4, 4, 4, o=0), "Waiting for clone set spec update to be observed..."),
    (clone_set(1, 4, 4), CLONES + "rollout to finish: 1 out of 4 new replicas have been updated..."),
    (
        clone_set(1, 4, 4, paused=True),
        CLONES + "rollout to finish: 1 out of 4 new replicas have been updated (it is paused)...",
    ),
    (clone_set(4, 5, 4), CLONES + "rollout to finish: 1 old replicas are pending termination..."),
    (clone_set(4, 4, 3), CLONES + "rollout to finish: 3 of 4 replicas are available..."),
    (clone_set(4, 4, 4), '= clone set "web" successfully rolled out'),
    (
        clone_set(1, 4, 4, partition=3),
        '= clone set "web" successfully rolled out: 1 of 4 replicas, as its partition says',
    ),
    (clone_set(1, 4, 4, partition="50%"), CLONES + "rollout to finish: 1 out of 2 new replicas have been updated..."),
    (
        clone_set(2, 4, 4, partition="30%", expectedUpdatedReplicas=3),
        CLONES + "rollout to finish: 2 out of 3 new replicas have been updated...",
    ),
    (
        kruise_set(1, 3, rollingUpdate={"partition": 1}),
        'Waiting for advanced stateful set "db" rollout to finish: 1 out of 2 new replicas have been updated...',
    ),
    (kruise_set(3, 2), 'Waiting for advanced stateful set "db" rollout to finish: 2 of 3 replicas are available...'),
    (kruise_set(3, 3), '= advanced stateful set "db" successfully rolled out'),
    # With one revision all Pods are of it, whatever is counted.
    (
        merged(kruise_set(0, 3), currentRevision="db-1", updateRevision="db-1"),
        '= advanced stateful set "db" successfully rolled out',
    ),
    (
        kruise_set(0, 3, type="OnDelete"),
        '! the update strategy of advanced stateful set "db" is OnDelete: there is no rollout',
    ),
    (
        kruise_daemons(1, 4),
        'Waiting for advanced daemon set "agent" rollout to finish: 1 out of 4 new replicas have been updated...',
    ),
    (
        kruise_daemons(2, 4, partition=2),
        '= advanced daemon set "agent" successfully rolled out: 2 of 4 replicas, as its partition says',
    ),
]


def test_states() -> None:
    assert [(told(obj), text) for obj, text in STATES if told(obj) != text] == []


def test_the_three_kinds_keep_their_table() -> None:
    for obj in (deployment(), deployment(u=1), daemonset(a=1), statefulset(y=1)):
        assert judge(obj) == judge(obj, any_kind=True) == evaluate(obj)
    assert told(deployment(revision="3"), revision=2).startswith("! desired revision (2)")


def test_other_kinds_have_to_be_asked_for() -> None:
    problem = "no status viewer has been implemented for "
    for obj, kind in (
        (job(None), "Job.batch"),
        (pod(None), "Pod"),
        (release(conds(cond("Ready"))), "Release.app.example.com"),
    ):
        assert told(obj, any_kind=False) == f"! {problem}{kind}"
        assert unsupported(*reversed(kind.partition(".")[::2])) == problem + kind
        assert unsupported(*reversed(kind.partition(".")[::2]), any_kind=True) == ""
    assert unsupported("apps", "Deployment") == ""


def test_what_cannot_be_told_says_what_would_tell() -> None:
    with pytest.raises(UnsupportedKind) as raised:
        judge(release({"phase": "Deployed"}), any_kind=True)
    assert raised.value.detail == (
        'release "api" cannot be followed: its status has no observedGeneration, and no condition Ready, Reconciling '
        "or Stalled; --condition or --field can say when it is done",
    )


DEPLOYED = release({"phase": "Deployed", "observedGeneration": 2, **conds(cond("Ready", "False", "X"), cond("Synced"))})
WANTED: list[tuple[Object, list[str], list[str], str]] = [
    (DEPLOYED, ["Synced"], [], '= release "api" is ready: condition Synced=true'),
    (
        DEPLOYED,
        ["synced=TRUE"],
        ["status.phase=Deployed"],
        '= release "api" is ready: condition synced=TRUE, field status.phase=Deployed',
    ),
    (DEPLOYED, ["Ready"], [], API + "condition Ready=true is not met: False, X..."),
    (DEPLOYED, ["Other"], [], API + "condition Other=true is not met..."),
    (DEPLOYED, [], [".status.phase=Failed"], API + "field .status.phase=Failed is not met..."),
    (DEPLOYED, [], ["{.status.url}"], API + "field {.status.url} is not met..."),
    (
        release({"phase": "Deployed"}),
        [],
        ["status.phase=Deployed"],
        '= release "api" is ready: field status.phase=Deployed',
    ),
    (
        release(conds(cond("Synced"), observedGeneration=1)),
        ["Synced"],
        [],
        "Waiting for release spec update to be observed...",
    ),
    (release(conds(cond("Synced"), cond("Stalled"))), ["Synced"], [], '! release "api" is stalled'),
    (
        release(conds(cond("Synced", observedGeneration=1))),
        ["Synced"],
        [],
        API + "condition Synced=true is not met: of an earlier generation...",
    ),
    (
        thing("ConfigMap.v1", "settings"),
        [],
        ["data.a"],
        'Waiting for configmap "settings" to be ready: field data.a is not met...',
    ),
    (release({"list": [1, 2]}), [], ["status.list[*]=1"], "! given jsonpath expression matches more than one value"),
    (job(conds(cond("Complete"))), ["Audited"], [], "Waiting for job/load: condition Audited=true is not met..."),
    (job({"succeeded": 1}), ["Audited"], [], JOB + "1 of 3 pods have succeeded..."),
    (deployment(), ["Available"], [], "Waiting for deployment/web: condition Available=true is not met..."),
    (deployment(), [], ["status.replicas=3"], '= deployment "web" successfully rolled out'),
]


def test_conditions_and_fields() -> None:
    wrong = []
    for obj, conditions, fields, text in WANTED:
        how = {
            "conditions": [expected.condition(one) for one in conditions],
            "fields": [expected.field(one) for one in fields],
        }
        if (said := told(obj, **how)) != text:
            wrong.append((said, text))
    assert wrong == []


# From a real cluster.


def recorded(name: str) -> Iterable[Object]:
    """The states of the object of a recording, in order: the LIST's, then the WATCH's."""
    for exchange in exchanges(FIXTURES / "rollout-listwatch" / f"{name}.jsonl"):
        if "fieldSelector=metadata.name" not in exchange.target:
            continue
        if exchange.query.get("watch"):
            events = [json.loads(line) for line in exchange.body.splitlines() if line.strip()]
            yield from (event["object"] for event in events if event["type"] != "BOOKMARK")
        else:
            listing = json.loads(exchange.body)
            kind = {"kind": listing["kind"].removesuffix("List"), "apiVersion": listing["apiVersion"]}
            yield from (kind | item for item in listing["items"])


def test_recordings() -> None:
    lines = {
        name: list(dict.fromkeys(map(told, recorded(name)))) for name in ("custom-resource", "job-works", "job-fails")
    }
    fails = 'Waiting for job "fails" to complete: '
    assert lines == {
        "custom-resource": [
            API + "it has no status yet...",
            API + "2 of 3 steps done (Progressing)...",
            '! release "api" is stalled: chart not found (BadChart)',
            "Waiting for release spec update to be observed...",
            '= release "api" is ready',
        ],
        "job-works": ['= job "works" is complete'],
        "job-fails": [
            fails + "0 of 1 pod has succeeded...",
            fails + "0 of 1 pod has succeeded, 1 has failed...",
            fails + "it is failing: Job has reached the specified backoff limit (BackoffLimitExceeded)...",
            '! job "fails" failed: Job has reached the specified backoff limit (BackoffLimitExceeded)',
        ],
    }


def test_pods_of_recordings() -> None:
    said = set()
    for name in ("job-works", "job-fails"):
        for exchange in exchanges(FIXTURES / "rollout-listwatch" / f"{name}.jsonl"):
            if exchange.path.endswith("/pods"):
                pods = json.loads(exchange.body)["items"]
                said |= {
                    told({"apiVersion": "v1", "kind": "Pod", **item}).replace(item["metadata"]["name"], "P")
                    for item in pods
                }
    assert said == {'= pod "P" has succeeded', '! pod "P" failed: container "j" ended with exit code 4'}


# Whatever a controller writes.

keys = st.sampled_from(
    [
        "conditions",
        "type",
        "status",
        "reason",
        "message",
        "observedGeneration",
        "replicas",
        "phase",
        "spec",
        "suspend",
        "updateStrategy",
        "partition",
        "containerStatuses",
        "name",
        "state",
        "generation",
        "metadata",
        "succeeded",
        "completions",
        "annotations",
    ]
)
scalars = st.none() | st.booleans() | st.integers(-2, 5) | st.sampled_from(["True", "Ready", "4", "", "\x1b[2J", "50%"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=4), max_leaves=10
)
kinds = st.sampled_from([obj for obj, _ in STATES])


@settings(max_examples=examples(200), deadline=None)
@given(kinds, st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, values, max_size=4), st.booleans())
def test_odd_objects_are_judged_or_refused(obj: Object, spec: Object, status: Object, wanted: bool) -> None:
    conditions = [expected.condition("Ready")] if wanted else []
    try:
        progress = judge(obj | {"spec": spec, "status": status}, any_kind=True, conditions=conditions)
    except RawkubeError as error:
        assert str(error).isprintable()
    else:
        assert progress.message.isprintable()


def test_a_failure_is_one_for_programs() -> None:
    with pytest.raises(RolloutFailed):
        judge(job(conds(cond("Failed"))), any_kind=True)
