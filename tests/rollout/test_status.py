"""kubectl's table of rollout states, row by row, and against what kubectl printed for a real cluster."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.watch import WatchDecoder, WatchEvent
from rawkube.errors import RolloutFailed
from rawkube.rollout.status import (
    NotConvertible,
    Progress,
    ProgressDeadlineExceeded,
    RevisionMismatch,
    UnsupportedKind,
    WrongStrategy,
    evaluate,
    unsupported_kind,
    viewer_kind,
)
from tests.support.examples import examples
from tests.support.recordings import Exchange, exchanges, expected, name_of, recordings
from tests.support.rows import looped

Object = dict[str, Any]


def deployment(
    g: int = 1,
    o: int = 1,
    r: int | None = 1,
    t: int = 0,
    u: int = 0,
    a: int = 0,
    *,
    name: str = "foo",
    conditions: object = None,
    annotations: object = None,
    **spec: object,
) -> Object:
    """g, o: generations; r: spec.replicas; t, u, a: replicas, updated, available."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "generation": g, "annotations": annotations},
        "spec": {"replicas": r, **spec},
        "status": {
            "observedGeneration": o,
            "replicas": t,
            "updatedReplicas": u,
            "availableReplicas": a,
            "conditions": conditions,
        },
    }


def daemon_set(g: int = 1, o: int = 1, u: int = 0, d: int = 0, a: int = 0, strategy: object = ...) -> Object:
    """g, o: generations; u, d, a: updated, desired, available."""
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "foo", "generation": g},
        "spec": {"updateStrategy": {"type": "RollingUpdate"} if strategy is ... else strategy},
        "status": {
            "observedGeneration": o,
            "updatedNumberScheduled": u,
            "desiredNumberScheduled": d,
            "numberAvailable": a,
        },
    }


def stateful_set(
    g: int = 1,
    o: int = 2,
    y: int = 3,
    c: int = 0,
    u: int = 0,
    *,
    r: int | None = 3,
    rolling: object = None,
    strategy: str | None = "RollingUpdate",
    cr: str = "",
    ur: str = "",
) -> Object:
    """g, o: generations; y, c, u: ready, current, updated; r: spec.replicas; cr, ur: revisions."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "foo", "generation": g},
        "spec": {"replicas": r, "updateStrategy": {"type": strategy, "rollingUpdate": rolling}},
        "status": {
            "observedGeneration": o,
            "readyReplicas": y,
            "currentReplicas": c,
            "updatedReplicas": u,
            "currentRevision": cr,
            "updateRevision": ur,
        },
    }


def progressing(reason: str, kind: str = "Progressing", status: str = "False") -> Object:
    return {"type": kind, "status": status, "reason": reason}


LATE = progressing("ProgressDeadlineExceeded")
DEPLOYMENT = 'Waiting for deployment "foo" rollout to finish: '
DEPLOYMENT_DONE = 'deployment "foo" successfully rolled out'
DEPLOYMENT_UNSEEN = "Waiting for deployment spec update to be observed..."
DAEMON_SET = 'Waiting for daemon set "foo" rollout to finish: '
DAEMON_SET_DONE = 'daemon set "foo" successfully rolled out'
PARTITION = "Waiting for partitioned roll out to finish: "
PARTITION_DONE = "partitioned roll out complete: "

PROGRESS: dict[str, tuple[Object, str, bool]] = {
    "dep-none-updated": (
        deployment(0, 1, 1, 1, 0, 1),
        f"{DEPLOYMENT}0 out of 1 new replicas have been updated...",
        False,
    ),
    "dep-old-left": (
        deployment(1, 1, 1, 2, 1, 2),
        f"{DEPLOYMENT}1 old replicas are pending termination...",
        False,
    ),
    "dep-unavailable": (
        deployment(1, 1, 2, 2, 2, 1),
        f"{DEPLOYMENT}1 of 2 updated replicas are available...",
        False,
    ),
    "dep-ok": (deployment(1, 1, 2, 2, 2, 2), DEPLOYMENT_DONE, True),
    "dep-unobserved": (deployment(2, 1, 2, 2, 2, 2), DEPLOYMENT_UNSEEN, False),
    "dep-deadline-of-an-old-generation": (
        deployment(3, 2, 3, 3, 3, 3, conditions=[LATE]),
        DEPLOYMENT_UNSEEN,
        False,
    ),
    "dep-counters-of-an-old-generation": (deployment(2, 1, 3, 3, 3, 3), DEPLOYMENT_UNSEEN, False),
    "dep-deadline-reason-of-another-condition": (
        deployment(1, 1, 1, 1, 1, 1, conditions=[progressing("ProgressDeadlineExceeded", "Available")]),
        DEPLOYMENT_DONE,
        True,
    ),
    "dep-only-the-first-condition-of-a-type-counts": (
        deployment(1, 1, 1, 1, 1, 1, conditions=[progressing("Fine"), LATE]),
        DEPLOYMENT_DONE,
        True,
    ),
    "dep-progress-is-no-failure": (
        deployment(1, 1, 1, 1, 1, 0, conditions=[progressing("NewReplicaSetAvailable")]),
        f"{DEPLOYMENT}0 of 1 updated replicas are available...",
        False,
    ),
    "dep-null-condition": (deployment(1, 1, 1, 1, 1, 1, conditions=[None]), DEPLOYMENT_DONE, True),
    "dep-no-replicas-field": (deployment(r=None), DEPLOYMENT_DONE, True),
    "dep-zero-old": (deployment(1, 1, 0, 2, 0, 2), f"{DEPLOYMENT}2 old replicas are pending termination...", False),
    "dep-old-one-is-available": (
        deployment(1, 1, 1, 2, 1, 1),
        f"{DEPLOYMENT}1 old replicas are pending termination...",
        False,
    ),
    "dep-paused": (
        deployment(1, 1, 3, 3, 0, 3, paused=True, conditions=[progressing("DeploymentPaused", status="Unknown")]),
        f"{DEPLOYMENT}0 out of 3 new replicas have been updated...",
        False,
    ),
    "dep-max-unavailable-is-not-subtracted": (
        deployment(1, 1, 1, 1, 1, 0, strategy={"rollingUpdate": {"maxUnavailable": 1}}),
        f"{DEPLOYMENT}0 of 1 updated replicas are available...",
        False,
    ),
    "dep-whole-float": (deployment(r=3.0), f"{DEPLOYMENT}0 out of 3 new replicas have been updated...", False),  # type: ignore[arg-type]
    "ds-none-updated": (
        daemon_set(0, 1, 0, 1, 0),
        f"{DAEMON_SET}0 out of 1 new pods have been updated...",
        False,
    ),
    "ds-unavailable": (
        daemon_set(1, 1, 2, 2, 1),
        f"{DAEMON_SET}1 of 2 updated pods are available...",
        False,
    ),
    "ds-available-is-counted-out-of-desired": (
        daemon_set(1, 1, 5, 2, 1),
        f"{DAEMON_SET}1 of 2 updated pods are available...",
        False,
    ),
    "ds-ok": (daemon_set(1, 1, 2, 2, 2), DAEMON_SET_DONE, True),
    "ds-unobserved": (
        daemon_set(2, 1, 2, 2, 2),
        "Waiting for daemon set spec update to be observed...",
        False,
    ),
    "ds-empty": (daemon_set(), DAEMON_SET_DONE, True),
    "ds-sequence-1": (
        daemon_set(2, 2, 1, 2, 1),
        f"{DAEMON_SET}1 out of 2 new pods have been updated...",
        False,
    ),
    "ds-sequence-2": (daemon_set(2, 2, 2, 2, 1), f"{DAEMON_SET}1 of 2 updated pods are available...", False),
    "ds-sequence-3": (daemon_set(2, 2, 2, 2, 2), DAEMON_SET_DONE, True),
    "sts-unobserved": (
        stateful_set(2, 1, 3, 3),
        "Waiting for statefulset spec update to be observed...",
        False,
    ),
    "sts-never-observed": (
        stateful_set(0, 0),
        "Waiting for statefulset spec update to be observed...",
        False,
    ),
    "sts-unready": (stateful_set(1, 2, 2, 3), "Waiting for 1 pods to be ready...", False),
    "sts-part-done": (
        stateful_set(1, 2, 3, 2, 1, rolling={"partition": 2}),
        f"{PARTITION_DONE}1 new pods have been updated...",
        True,
    ),
    "sts-part-wait": (
        stateful_set(1, 2, 3, 3, 0, rolling={"partition": 2}),
        f"{PARTITION}0 out of 1 new pods have been updated...",
        False,
    ),
    "sts-partition-0-wait": (
        stateful_set(u=1, rolling={"partition": 0}),
        f"{PARTITION}1 out of 3 new pods have been updated...",
        False,
    ),
    "sts-partition-beyond-replicas": (
        stateful_set(u=0, rolling={"partition": 5}),
        f"{PARTITION_DONE}0 new pods have been updated...",
        True,
    ),
    "sts-negative-partition": (
        stateful_set(u=1, rolling={"partition": -1}),
        f"{PARTITION}1 out of 4 new pods have been updated...",
        False,
    ),
    "sts-rolling-update-empty": (
        stateful_set(u=3, rolling={}),
        f"{PARTITION_DONE}3 new pods have been updated...",
        True,
    ),
    "sts-no-replicas-field": (
        stateful_set(y=0, r=None, rolling={"partition": 0}),
        f"{PARTITION_DONE}0 new pods have been updated...",
        True,
    ),
    "sts-done": (
        stateful_set(1, 2, 3, 3, 3, cr="foo", ur="foo"),
        "statefulset rolling update complete 3 pods at revision foo...",
        True,
    ),
    "sts-revisions-differ": (
        stateful_set(u=2, cr="s-1", ur="s-2"),
        "waiting for statefulset rolling update to complete 2 pods at revision s-2...",
        False,
    ),
}


@looped(("obj", "message", "done"), PROGRESS.values(), ids=PROGRESS)
def test_progress(obj: Object, message: str, done: bool) -> None:
    before = copy.deepcopy(obj)
    assert evaluate(obj) == Progress(message, done)
    assert obj == before


@looped(
    ("partition", "updated", "done"),
    [(p, u, u >= 5 - p) for p in range(7) for u in range(6)],
)
def test_partitions_of_five(partition: int, updated: int, done: bool) -> None:
    obj = stateful_set(y=5, u=updated, r=5, rolling={"partition": partition})
    assert evaluate(obj).done is done


@looped("kind", ["Deployment", "DaemonSet"])
@looped("api_version", ["apps/v1", "apps/v1beta2", "extensions/v1beta1"])
def test_absent_counters_are_zero(kind: str, api_version: str) -> None:
    obj = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "foo", "generation": 8},
        "spec": {"replicas": 0, "updateStrategy": {"type": "RollingUpdate"}},
        "status": {"observedGeneration": 8},
    }
    assert evaluate(obj).done


RU_ONLY = "rollout status is only available for RollingUpdate strategy type"
BAD_REVISION = 'cannot get the revision of deployment "foo": strconv.ParseInt: parsing '

FAILURES: dict[str, tuple[Object, int, type[RolloutFailed], str]] = {
    "dep-deadline": (
        deployment(conditions=[LATE]),
        0,
        ProgressDeadlineExceeded,
        'deployment "foo" exceeded its progress deadline',
    ),
    "dep-deadline-whatever-the-condition-s-status": (
        deployment(1, 1, 1, 1, 1, 1, conditions=[{**LATE, "status": "True"}]),
        0,
        ProgressDeadlineExceeded,
        'deployment "foo" exceeded its progress deadline',
    ),
    "dep-rev-diff": (
        deployment(annotations={"deployment.kubernetes.io/revision": "2"}),
        7,
        RevisionMismatch,
        "desired revision (7) is different from the running revision (2)",
    ),
    "dep-rev-before-generation": (
        deployment(5, 1, annotations={"deployment.kubernetes.io/revision": "2"}),
        7,
        RevisionMismatch,
        "desired revision (7) is different from the running revision (2)",
    ),
    "dep-rev-none": (
        deployment(),
        7,
        RevisionMismatch,
        "desired revision (7) is different from the running revision (0)",
    ),
    "dep-rev-bad": (
        deployment(annotations={"deployment.kubernetes.io/revision": "x"}),
        7,
        RevisionMismatch,
        f'{BAD_REVISION}"x": invalid syntax',
    ),
    "dep-rev-empty": (
        deployment(annotations={"deployment.kubernetes.io/revision": ""}),
        7,
        RevisionMismatch,
        f'{BAD_REVISION}"": invalid syntax',
    ),
    "dep-rev-too-large": (
        deployment(annotations={"deployment.kubernetes.io/revision": "9223372036854775808"}),
        2,
        RevisionMismatch,
        f'{BAD_REVISION}"9223372036854775808": value out of range',
    ),
    "ds-ondelete": (daemon_set(2, 1, strategy={"type": "OnDelete"}), 0, WrongStrategy, RU_ONLY),
    "ds-nostrategy": (daemon_set(strategy=None), 0, WrongStrategy, RU_ONLY),
    "sts-ondelete": (stateful_set(1, 1, 1, strategy="OnDelete"), 0, WrongStrategy, RU_ONLY),
    "sts-nostrategy": (stateful_set(strategy=None), 0, WrongStrategy, RU_ONLY),
    **{
        f"unsupported {api_version} {kind}": (
            {"apiVersion": api_version, "kind": kind},
            0,
            UnsupportedKind,
            f"no status viewer has been implemented for {shown}",
        )
        for api_version, kind, shown in (
            ("v1", "Pod", "Pod"),
            ("apps/v1", "ReplicaSet", "ReplicaSet.apps"),
            ("extensions/v1beta1", "StatefulSet", "StatefulSet.extensions"),
            ("shop.example.com/v1", "Deployment", "Deployment.shop.example.com"),
            ("v1", "Deployment", "Deployment"),
        )
    },
}


@looped(("obj", "revision", "kind", "text"), FAILURES.values(), ids=FAILURES)
def test_failures(obj: Object, revision: int, kind: type[RolloutFailed], text: str) -> None:
    with pytest.raises(RolloutFailed) as caught:
        evaluate(obj, revision=revision)
    assert str(caught.value) == text
    assert type(caught.value) is kind


@pytest.mark.parametrize("value", ["2", "+2", "002"])
def test_the_revision_asked_for(value: str) -> None:
    obj = deployment(1, 1, 1, 1, 1, 1, annotations={"deployment.kubernetes.io/revision": value})
    assert evaluate(obj, revision=2).done


@pytest.mark.parametrize("obj", [daemon_set(), stateful_set(u=3, rolling={})], ids=["DaemonSet", "StatefulSet"])
def test_only_deployments_look_at_the_revision(obj: Object) -> None:
    assert evaluate(obj, revision=99).done


def test_names_are_quoted_as_in_go() -> None:
    assert evaluate(deployment(r=0, name='a"é\u2028\x07b')).message == (
        'deployment "a\\"é\\u2028\\ab" successfully rolled out'
    )


def changed(obj: Object, path: str, value: object) -> Object:
    obj = copy.deepcopy(obj)
    *parents, last = path.split(".")
    target = obj
    for key in parents:
        target[key] = target.get(key) or {}
        target = target[key]
    target[last] = value
    return obj


WRONG_TYPES = [
    (deployment(), "spec.replicas", "x", "unrecognized type: int32"),
    (deployment(), "spec.replicas", True, "unrecognized type: int32"),
    (deployment(), "spec.replicas", {}, "unrecognized type: int32"),
    (deployment(), "spec.replicas", [], "unrecognized type: int32"),
    (deployment(), "spec.replicas", 1.5, "cannot convert float64 to int32"),
    (deployment(), "spec.replicas", float("inf"), "cannot convert float64 to int32"),
    (deployment(), "spec.replicas", float("nan"), "cannot convert float64 to int32"),
    (deployment(), "spec.replicas", 2**31, "cannot convert int64 to int32"),
    (deployment(), "spec.replicas", 2**70, "cannot convert float64 to int32"),
    (deployment(), "metadata.generation", True, "unrecognized type: int64"),
    (deployment(), "metadata.generation", "1", "unrecognized type: int64"),
    (deployment(), "metadata.generation", 2**63, "cannot convert float64 to int64"),
    (deployment(), "metadata.name", 5, "cannot convert int64 to string"),
    (deployment(), "metadata.name", 1.5, "unrecognized type: string"),
    (deployment(), "metadata.name", [], "unrecognized type: string"),
    (deployment(), "metadata", "x", "cannot restore struct from: string"),
    (deployment(), "metadata.annotations", "x", "cannot restore map from string"),
    (deployment(), "metadata.annotations", [], "cannot restore map from slice"),
    (deployment(), "metadata.annotations", {"a": 1}, "cannot convert int64 to string"),
    (deployment(), "spec", [], "cannot restore struct from: slice"),
    (deployment(), "spec", True, "cannot restore struct from: bool"),
    (deployment(), "spec", 1.5, "cannot restore struct from: float64"),
    (deployment(), "spec", 3, "cannot restore struct from: int64"),
    (deployment(), "status.conditions", "x", "cannot restore slice from string"),
    (deployment(), "status.conditions", {}, "cannot restore slice from map"),
    (deployment(), "status.conditions", ["x"], "cannot restore struct from: string"),
    (
        deployment(),
        "status.conditions",
        [{"type": 1}],
        "cannot convert int64 to v1.DeploymentConditionType",
    ),
    (deployment(), "status.conditions", [{"type": True}], "unrecognized type: string"),
    (deployment(), "status.conditions", [{"reason": 2}], "cannot convert int64 to string"),
    (daemon_set(), "status.numberAvailable", "x", "unrecognized type: int32"),
    (daemon_set(), "spec", "x", "cannot restore struct from: string"),
    (stateful_set(), "spec.updateStrategy", "x", "cannot restore struct from: string"),
    (
        stateful_set(),
        "spec.updateStrategy.type",
        1,
        "cannot convert int64 to v1.StatefulSetUpdateStrategyType",
    ),
    (stateful_set(), "spec.updateStrategy.rollingUpdate", [], "cannot restore struct from: slice"),
    (stateful_set(), "spec.updateStrategy.rollingUpdate.partition", "x", "unrecognized type: int32"),
    (stateful_set(), "status.currentRevision", 1, "cannot convert int64 to string"),
    (stateful_set(), "status.updateRevision", [], "unrecognized type: string"),
]


@looped(
    ("obj", "path", "value", "why"),
    WRONG_TYPES,
    ids=[f"{obj['kind']} {path}={value!r}" for obj, path, value, _ in WRONG_TYPES],
)
def test_wrong_types(obj: Object, path: str, value: object, why: str) -> None:
    with pytest.raises(NotConvertible) as caught:
        evaluate(changed(obj, path, value))
    into = f"*v1.{obj['kind']}"
    assert str(caught.value) == f"failed to convert *unstructured.Unstructured to {into}: {why}"


@pytest.mark.parametrize("path", ["metadata", "metadata.name", "metadata.annotations", "spec", "spec.replicas"])
def test_null_is_absent(path: str) -> None:
    assert evaluate(changed(deployment(1, 1, 1, 1, 1, 1), path, None)).done


def test_a_null_status_is_not_observed() -> None:
    assert evaluate(changed(deployment(), "status", None)) == Progress(DEPLOYMENT_UNSEEN, False)


def test_kinds_with_and_without_a_rollout() -> None:
    assert viewer_kind("apps", "StatefulSet")
    assert not viewer_kind("extensions", "StatefulSet")
    assert unsupported_kind("apps", "Deployment") == ""
    assert unsupported_kind("", "Pod") == "no status viewer has been implemented for Pod"
    assert unsupported_kind("apps", "ReplicaSet") == "no status viewer has been implemented for ReplicaSet.apps"


# What kubectl printed for recorded traffic.


def states(exchange: Exchange, *, streaming: bool) -> Iterator[Object | None]:
    """The object's states that kubectl shows; None: it was deleted."""
    decoder = WatchDecoder()
    events = decoder.feed(exchange.body) + decoder.end()
    last: WatchEvent | None = None
    synced = not streaming
    for event in events:
        if event.ends_initial_events:
            synced = True
            if last is not None:
                yield last.object
        elif event.type == "BOOKMARK":
            continue
        elif not synced:
            last = event if event.type != "DELETED" else None
        else:
            yield event.object if event.type != "DELETED" else None


def runs(path: Path) -> Iterator[Iterator[Object | None]]:
    """One run of states for each workload of a recorded command, in order."""
    listed: list[Object] = []
    for one in exchanges(path):
        if one.query.get("watch") == "true":
            streaming = "sendInitialEvents" in one.query
            yield iter([*listed, *states(one, streaming=streaming)])
            listed = []
        elif one.query.get("fieldSelector"):
            answer = json.loads(one.body)
            common = {"apiVersion": answer["apiVersion"], "kind": answer["kind"].removesuffix("List")}
            listed = [{**common, **item} for item in answer["items"]]


def shown(path: Path) -> tuple[str, str]:
    """(stdout, last error) of the recorded command, by our decoder and table."""
    args = expected(path)["args"]
    revision = next((int(a.partition("=")[2]) for a in args if a.startswith("--revision=")), 0)
    lines, failure = "", ""
    for run in runs(path):
        for obj in run:
            if obj is None:
                failure = "object has been deleted"
                break
            try:
                progress = evaluate(obj, revision=revision)
            except RolloutFailed as error:
                failure = str(error)
                break
            lines += f"{progress.message}\n"
            if progress.done or "--watch=false" in args:
                break
    return lines, failure


RECORDED = [path for path in recordings("rollout", "rollout-listwatch") if path.with_suffix(".expected.json").exists()]


@looped("path", RECORDED, ids=name_of)
def test_recorded_rollouts(path: Path) -> None:
    want = expected(path)
    lines, failure = shown(path)
    assert lines == want["stdout"]
    if failure:
        assert want["stderr"] == f"error: {failure}\n"
        assert want["exit_code"] == 1


def test_the_recordings_hold_every_kind_of_end() -> None:
    ends = [shown(path)[1] for path in RECORDED]
    assert len(RECORDED) >= 40
    for end in ("object has been deleted", "progress deadline", "different from", "only available for"):
        assert any(end in found for found in ends), end


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
PATHS = st.sampled_from(
    [
        *("apiVersion", "kind", "metadata", "metadata.name", "metadata.generation", "metadata.annotations"),
        *("spec", "spec.replicas", "spec.updateStrategy", "spec.updateStrategy.type", "status"),
        *("spec.updateStrategy.rollingUpdate", "spec.updateStrategy.rollingUpdate.partition"),
        *("status.conditions", "status.observedGeneration", "status.replicas", "status.updatedReplicas"),
        *("status.readyReplicas", "status.numberAvailable", "status.currentRevision", "status.updateRevision"),
    ]
)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from([deployment(), daemon_set(), stateful_set(), stateful_set(rolling={"partition": 1})]),
    PATHS,
    JSON,
    st.integers(-1, 3),
)
def test_nothing_but_a_failure_is_raised(obj: Object, path: str, value: object, revision: int) -> None:
    try:
        progress = evaluate(changed(obj, path, value), revision=revision)
    except RolloutFailed as error:
        assert str(error)
    else:
        assert progress.message
