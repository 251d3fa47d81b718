"""Which pod of several, which container of a pod, and which kinds stand for pods."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.remotecommand.pods import (
    DEFAULT_CONTAINER,
    Choice,
    NoSuchContainer,
    NotAttachable,
    PodCompleted,
    best,
    best_for_logs,
    check_running,
    choose_container,
    containers_for_logs,
    is_pod,
    pod_selector,
)
from tests.support.examples import examples
from tests.support.rows import looped

Object = dict[str, Any]

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"


def pod(
    name: str = "p",
    *,
    node: str = "n1",
    phase: str = "Running",
    ready: str | None = "True",
    ready_since: str | None = EARLY,
    deleted: str | None = None,
    restarts: tuple[int, ...] = (0,),
    sidecar_restarts: int = 0,
    created: str | None = EARLY,
) -> Object:
    metadata: Object = {"name": name, "namespace": "demo", "creationTimestamp": created}
    if deleted:
        metadata["deletionTimestamp"] = deleted
    condition: Object = {"type": "Ready", "status": ready, "lastTransitionTime": ready_since}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "nodeName": node,
            "containers": [{"name": f"c{i}"} for i, _ in enumerate(restarts)],
            "initContainers": [{"name": "sidecar", "restartPolicy": "Always"}, {"name": "once"}],
        },
        "status": {
            "phase": phase,
            "conditions": [{"type": "PodScheduled", "status": "True"}] + ([condition] if ready else []),
            "containerStatuses": [{"name": f"c{i}", "restartCount": count} for i, count in enumerate(restarts)],
            "initContainerStatuses": [
                {"name": "sidecar", "restartCount": sidecar_restarts},
                {"name": "once", "restartCount": 9},
            ],
        },
    }


WORSE_AND_BETTER = [
    pytest.param(pod(node=""), pod(), id="unassigned-assigned"),
    pytest.param(pod(phase="Pending"), pod(phase="Unknown"), id="pending-unknown"),
    pytest.param(pod(phase="Unknown"), pod(phase="Running"), id="unknown-running"),
    pytest.param(pod(phase="Succeeded"), pod(phase="Unknown"), id="succeeded-unknown"),
    pytest.param(pod(ready="False"), pod(), id="not-ready-ready"),
    pytest.param(pod(ready=None), pod(), id="no-condition-ready"),
    pytest.param(pod(deleted=EARLY), pod(), id="deleting-not-deleting"),
    pytest.param(pod(deleted=EARLY), pod(deleted=LATE), id="deleted-earlier-later"),
    pytest.param(pod(ready_since=LATE), pod(ready_since=EARLY), id="ready-newer-older"),
    pytest.param(pod(ready_since=None), pod(ready_since=LATE), id="ready-unknown-known"),
    pytest.param(pod(restarts=(3,)), pod(restarts=(2,)), id="restarts"),
    pytest.param(pod(restarts=(0, 3)), pod(restarts=(2, 2)), id="restarts-of-the-worst-container"),
    pytest.param(pod(sidecar_restarts=3), pod(sidecar_restarts=2), id="restarts-of-a-sidecar"),
    pytest.param(pod(created=LATE), pod(created=EARLY), id="newer-older"),
    pytest.param(pod(created=None), pod(created=LATE), id="unknown-age-known"),
    pytest.param(pod(created="0001-01-01T00:00:00Z"), pod(created=LATE), id="zero-age-known"),
    # Each rule is stronger than all below it.
    pytest.param(pod(node="", created=EARLY), pod(phase="Pending", ready=None, created=LATE), id="node-first"),
    pytest.param(pod(phase="Pending"), pod(ready="False", restarts=(9,)), id="phase-before-ready"),
    pytest.param(pod(ready="False"), pod(deleted=EARLY), id="ready-before-deleted"),
    pytest.param(pod(deleted=EARLY, restarts=(0,)), pod(ready_since=LATE, restarts=(9,)), id="deleted-before-age"),
    pytest.param(pod(ready_since=LATE), pod(restarts=(9,)), id="ready-time-before-restarts"),
    pytest.param(pod(restarts=(2,)), pod(sidecar_restarts=9), id="containers-before-sidecars"),
    pytest.param(pod(sidecar_restarts=1, created=EARLY), pod(created=LATE), id="restarts-before-age"),
]


@looped(("worse", "better"), WORSE_AND_BETTER)
def test_the_better_of_two_pods(worse: Object, better: Object) -> None:
    worse["metadata"]["name"], better["metadata"]["name"] = "worse", "better"
    assert best([worse, better]) is better
    assert best([better, worse]) is better


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": "Pending"},  # Pending, Succeeded, Failed count alike
        {"created": "2026-01-01T01:00:00+01:00"},  # the same moment
        {"ready_since": "2026-01-01T00:00:00.000Z"},
    ],
)
def test_of_equally_good_pods_the_first(changes: dict[str, Any]) -> None:
    one = pod("one", phase="Failed") if "phase" in changes else pod("one")
    other = pod("other", **changes)
    assert best([one, other]) is one
    assert best([other, one]) is other


def test_a_ready_time_counts_between_ready_pods_only() -> None:
    one, other = pod("one", ready="False", ready_since=LATE), pod("other", ready="False", ready_since=EARLY)
    assert best([one, other]) is one


def test_one_pod_is_the_best_whatever_it_is() -> None:
    assert best([{}]) == {}


PODS = st.builds(
    pod,
    node=st.sampled_from(["", "n1", "n2"]),
    phase=st.sampled_from(["Running", "Running", "Pending", "Unknown", "Failed"]),
    ready=st.sampled_from(["True", "True", "False", None]),
    ready_since=st.sampled_from([EARLY, LATE, None]),
    deleted=st.sampled_from([None, None, EARLY, LATE]),
    restarts=st.lists(st.integers(0, 2), max_size=2).map(tuple),
    sidecar_restarts=st.integers(0, 2),
    created=st.sampled_from([EARLY, LATE, None]),
)


def is_worse(one: Object, other: Object) -> bool:
    """The rules as they are told, one after the other, on the values that `PODS` can have."""
    pairs: list[tuple[int, int]] = []

    def compare(value: Any) -> None:
        pairs.append((value(one), value(other)))

    def ready(each: Object) -> Object:
        found: Object = next((c for c in each["status"]["conditions"] if c["type"] == "Ready"), {})
        return found

    def rank(time: str | None) -> int:
        return {EARLY: 2, LATE: 1, None: 0}[time]

    compare(lambda p: bool(p["spec"]["nodeName"]))
    compare(lambda p: {"Running": 2, "Unknown": 1}.get(p["status"]["phase"], 0))
    compare(lambda p: ready(p).get("status") == "True")
    compare(lambda p: "deletionTimestamp" not in p["metadata"])
    if all("deletionTimestamp" in p["metadata"] for p in (one, other)):
        compare(lambda p: p["metadata"]["deletionTimestamp"] == LATE)
    if all(ready(p).get("status") == "True" for p in (one, other)):
        compare(lambda p: rank(ready(p)["lastTransitionTime"]))
    compare(lambda p: -max((s["restartCount"] for s in p["status"]["containerStatuses"]), default=0))
    compare(lambda p: -p["status"]["initContainerStatuses"][0]["restartCount"])
    compare(lambda p: rank(p["metadata"]["creationTimestamp"]))
    return next((mine < its for mine, its in pairs if mine != its), False)


@settings(max_examples=examples(150))
@given(st.lists(PODS, min_size=1, max_size=6))
def test_no_pod_is_better_than_the_best_and_none_before_it_as_good(pods: list[Object]) -> None:
    chosen = best(pods)
    at = next(i for i, each in enumerate(pods) if each is chosen)
    assert not any(is_worse(chosen, each) for each in pods)
    assert all(is_worse(each, chosen) for each in pods[:at])


# Containers


def containers(regular: str = "", ephemeral: str = "", init: str = "", default: str | None = None) -> Object:
    def named(names: str) -> list[Object]:
        return [{"name": name} for name in names.split()]

    spec = {"containers": named(regular), "ephemeralContainers": named(ephemeral), "initContainers": named(init)}
    annotations = {} if default is None else {DEFAULT_CONTAINER: default}
    return {"metadata": {"name": "p", "namespace": "demo", "annotations": annotations}, "spec": spec}


@looped(
    ("thing", "wanted", "container", "notice"),
    [
        pytest.param(containers("a"), "", "a", None, id="only-one"),
        pytest.param(containers("a b"), "", "a", 'Defaulted container "a" out of: a, b', id="first-of-two"),
        pytest.param(
            containers("a b", "e1", "i1 i2"),
            "",
            "a",
            'Defaulted container "a" out of: a, b, e1 (ephem), i1 (init), i2 (init)',
            id="all-kinds",
        ),
        pytest.param(
            containers("a", init="i1"), "", "a", 'Defaulted container "a" out of: a, i1 (init)', id="one-and-init"
        ),
        pytest.param(containers("a b"), "b", "b", None, id="named"),
        pytest.param(containers("a", "e1", "i1"), "e1", "e1", None, id="named-ephemeral"),
        pytest.param(containers("a", "e1", "i1"), "i1", "i1", None, id="named-init"),
        pytest.param(containers(init="i1"), "i1", "i1", None, id="named-init-alone"),
        pytest.param(containers("a b", default="b"), "", "b", None, id="annotation"),
        pytest.param(containers("a", init="i1", default="i1"), "", "i1", None, id="annotation-init"),
        pytest.param(containers("a b", default="b"), "a", "a", None, id="flag-before-annotation"),
        pytest.param(
            containers("a b", default=""), "", "a", 'Defaulted container "a" out of: a, b', id="empty-annotation"
        ),
    ],
)
def test_the_container(thing: Object, wanted: str, container: str, notice: str | None) -> None:
    assert choose_container(thing, wanted) == Choice(container, notice)


@looped(
    ("thing", "wanted", "text"),
    [
        (
            containers("a b", "e1", "i1"),
            "ZZ",
            "container ZZ is not valid for pod p out of: a, b, e1 (ephem), i1 (init)",
        ),
        (containers(), "x", "container x is not valid for pod p out of: "),
        (containers("a", default="zz"), "", "container zz is not valid for pod p out of: a"),
        (containers(), "", "pod demo/p does not have any containers"),
        (containers(init="i1", default="i1"), "", "pod demo/p does not have any containers"),
        ({}, "", "pod / does not have any containers"),
        (containers("a"), "a\x1b[2J", "container a\\x1b[2J is not valid for pod p out of: a"),
    ],
)
def test_no_container(thing: Object, wanted: str, text: str) -> None:
    with pytest.raises(NoSuchContainer) as caught:
        choose_container(thing, wanted)
    assert str(caught.value) == text


def test_another_annotation_plays_no_role() -> None:
    thing = containers("a b")
    thing["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-logs-container": "b"}
    assert choose_container(thing).container == "a"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_runs_nothing(phase: str) -> None:
    with pytest.raises(PodCompleted) as caught:
        check_running(pod(phase=phase))
    assert str(caught.value) == f"cannot exec into a container in a completed pod; current phase is {phase}"


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", ""])
def test_any_other_phase_is_the_servers_to_judge(phase: str) -> None:
    check_running(pod(phase=phase))
    check_running({})


# Kinds

LABELS = {"matchLabels": {"app": "web"}}


def thing(api_version: str, kind: str, selector: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web"}, "spec": {"selector": selector}}


@looped(
    ("api_version", "kind", "selector", "text"),
    [
        ("apps/v1", "Deployment", LABELS, "app=web"),
        ("apps/v1", "ReplicaSet", LABELS, "app=web"),
        ("apps/v1", "StatefulSet", LABELS, "app=web"),
        ("apps/v1", "DaemonSet", LABELS, "app=web"),
        ("apps/v1beta2", "StatefulSet", LABELS, "app=web"),
        ("extensions/v1beta1", "Deployment", LABELS, "app=web"),
        ("batch/v1", "Job", LABELS, "app=web"),
        ("v1", "ReplicationController", {"app": "web", "a": "b"}, "a=b,app=web"),
        ("v1", "Service", {"app": "web"}, "app=web"),
        ("apps/v1", "Deployment", {}, ""),
        ("apps/v1", "Deployment", None, ""),
        ("v1", "ReplicationController", None, ""),
    ],
)
def test_what_stands_for_pods(api_version: str, kind: str, selector: Any, text: str) -> None:
    assert pod_selector(thing(api_version, kind, selector)) == text


@looped(
    ("api_version", "kind", "selector", "text"),
    [
        ("v1", "ConfigMap", None, "cannot attach to *v1.ConfigMap: selector for *v1.ConfigMap not implemented"),
        ("batch/v1", "CronJob", None, "cannot attach to *v1.CronJob: selector for *v1.CronJob not implemented"),
        ("extensions/v1beta1", "StatefulSet", LABELS, "cannot attach to *v1beta1.StatefulSet: selector for "),
        (
            "v1",
            "Service",
            None,
            "cannot attach to *v1.Service: invalid service 'web': Service is defined without a selector",
        ),
        (
            "v1",
            "Service",
            {},
            "cannot attach to *v1.Service: invalid service 'web': Service is defined without a selector",
        ),
        (
            "apps/v1",
            "Deployment",
            {"matchExpressions": [{"key": "a", "operator": "Foo"}]},
            'cannot attach to *v1.Deployment: invalid label selector: "Foo" is not a valid label selector operator',
        ),
    ],
)
def test_what_does_not(api_version: str, kind: str, selector: Any, text: str) -> None:
    with pytest.raises(NotAttachable) as caught:
        pod_selector(thing(api_version, kind, selector))
    assert str(caught.value).startswith(text)


def test_what_a_pod_is() -> None:
    assert is_pod(pod())
    assert not is_pod({**pod(), "apiVersion": "example.com/v1"})
    assert not is_pod(thing("v1", "Service", {}))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
PLACES = [
    ("metadata",),
    ("metadata", "deletionTimestamp"),
    ("spec",),
    ("spec", "containers"),
    ("spec", "initContainers"),
    ("status",),
    ("status", "phase"),
    ("status", "conditions"),
    ("status", "containerStatuses"),
]


@settings(max_examples=examples(100))
@given(st.sampled_from(PLACES), JUNK)
def test_no_shape_of_a_pod_breaks_the_choice(place: tuple[str, ...], junk: Any) -> None:
    odd = copy.deepcopy(pod())
    at = odd
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = junk
    assert best([pod(), odd, pod()]) in (pod(), odd)
    try:
        check_running(odd)
        choose_container(odd)
    except (NoSuchContainer, PodCompleted):
        pass


# Logs


def test_the_pod_whose_log_is_shown() -> None:
    """Each is better than the next one."""
    ranked = [
        pod(restarts=(3,)),
        pod(restarts=(2,), sidecar_restarts=5),
        pod(restarts=(2,)),
        pod(created=EARLY),
        pod(created=LATE),
        pod(created=None),
        pod(ready_since=LATE),
        pod(ready_since="soon"),
        pod(ready="False"),
        pod(phase="Unknown"),
        pod(phase="Pending"),
        pod(node=""),
    ]
    for better, worse in pairwise(ranked):
        assert best_for_logs([worse, better]) is better, (better, worse)
    assert best_for_logs([ranked[-1]]) is ranked[-1]


def test_a_time_without_a_zone_is_utc() -> None:
    naive, earlier = pod(created="2026-01-01T00:00:01"), pod(created=EARLY)
    assert best_for_logs([naive, earlier]) is earlier
    assert best_for_logs([naive, pod(created="2026-01-01T00:00:02Z")]) is naive


LOGS: dict[str, Any] = {
    "containers": [{"name": "a"}, {"name": "b"}],
    "initContainers": [{"name": "i"}],
    "ephemeralContainers": [{"name": "e"}],
}
OUT_OF = 'Defaulted container "a" out of: a, b, e (ephem), i (init)'


def with_default(name: str) -> Object:
    annotations = {DEFAULT_CONTAINER: name} if name else {}
    return {"metadata": {"name": "p", "annotations": annotations}, "spec": LOGS}


def test_the_containers_whose_logs_are_shown() -> None:
    missing = 'Default container name "x" not found in pod p'
    for default, wanted, every, expected in [
        ("", "", True, (["i", "a", "b", "e"], [])),
        ("", "", False, (["a"], [OUT_OF])),
        ("b", "", False, (["b"], [])),
        ("e", "", False, (["e"], [])),
        ("x", "", False, (["a"], [missing, OUT_OF])),
        ("x", "i", False, (["i"], [])),
    ]:
        assert containers_for_logs(with_default(default), wanted, every=every) == expected, (default, wanted, every)
    with pytest.raises(NoSuchContainer):
        containers_for_logs(with_default(""), "y")
