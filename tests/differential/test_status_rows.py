"""One object, one state: every row of kubectl's status viewers, its neighbours, and unreadable objects.

Then the rows of a kind one after another, as an update goes through them.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.rig import Case, Ours, Outcome, Runs, both, lines
from tests.support.api_server import ApiServer
from tests.support.script import Object, Workload, modified
from tests.support.workloads import daemonset, deployment, statefulset

TIMED_OUT = "error: timed out waiting for the condition"
ONLY_ROLLING = "error: rollout status is only available for RollingUpdate strategy type"
UNOBSERVED = "Waiting for deployment spec update to be observed..."


def world(thing: Object) -> Any:
    return lambda: ApiServer(Workload(thing))


def target(thing: Object) -> str:
    return f"{thing['kind'].lower()}/{thing['metadata']['name']}"


def waits(name: str, thing: Object, text: str, *args: str) -> Case:
    """Not done: one line; without a watch that is all."""
    return Case(name, world(thing), [target(thing), "--watch=false", *args], lines(text))


def done(name: str, thing: Object, text: str, *args: str) -> Case:
    return Case(name, world(thing), [target(thing), *args], lines(text), seen=["list"])


def fails(name: str, thing: Object, text: str, *args: str) -> Case:
    return Case(name, world(thing), [target(thing), *args], "", text, 1)


def rollout(text: str, name: str = "web") -> str:
    return f'Waiting for deployment "{name}" rollout to finish: {text}...'


OK = 'deployment "web" successfully rolled out'
DEADLINE = ("Progressing", "False", "ProgressDeadlineExceeded")

UNREADABLE = deployment() | {"spec": {"replicas": "x"}}
UNCONVERTIBLE = "error: failed to convert *unstructured.Unstructured to *v1.Deployment: unrecognized type: int32"

DEPLOYMENTS = [
    waits(
        "none-updated",
        deployment("foo", g=0, o=1, r=1, t=1, u=0, a=1),
        rollout("0 out of 1 new replicas have been updated", "foo"),
    ),
    waits("old-left", deployment(r=1, t=2, u=1, a=2), rollout("1 old replicas are pending termination")),
    waits("unavailable", deployment(r=2, t=2, u=2, a=1), rollout("1 of 2 updated replicas are available")),
    done("deployment-done", deployment(r=2, t=2, u=2, a=2), OK),
    waits("unobserved", deployment(g=2, o=1), UNOBSERVED),
    waits("unobserved-without-status", deployment(g=1, o=None, t=None, u=None, a=None), UNOBSERVED),
    done("revision-same", deployment(revision="2"), OK, "--revision=2"),
    fails(
        "revision-differs",
        deployment(revision="2"),
        "error: desired revision (7) is different from the running revision (2)",
        "--revision=7",
    ),
    fails(
        "revision-none",
        deployment(),
        "error: desired revision (7) is different from the running revision (0)",
        "--revision=7",
    ),
    fails(
        "revision-no-number",
        deployment(revision="x"),
        'error: cannot get the revision of deployment "web": strconv.ParseInt: parsing "x": invalid syntax',
        "--revision=7",
    ),
    fails(
        "revision-too-large",
        deployment(revision="99999999999999999999"),
        'error: cannot get the revision of deployment "web": strconv.ParseInt: parsing'
        ' "99999999999999999999": value out of range',
        "--revision=7",
    ),
    fails(
        "revision-empty",
        deployment(revision=""),
        'error: cannot get the revision of deployment "web": strconv.ParseInt: parsing "": invalid syntax',
        "--revision=7",
    ),
    fails(
        "revision-before-generation",
        deployment(g=5, o=4, revision="2"),
        "error: desired revision (7) is different from the running revision (2)",
        "--revision=7",
    ),
    done("revision-not-asked-for", deployment(revision="x"), OK),
    fails(
        "deadline-exceeded",
        deployment(condition=DEADLINE),
        'error: deployment "web" exceeded its progress deadline',
    ),
    fails(
        "deadline-exceeded-status-true",
        deployment(condition=("Progressing", "True", "ProgressDeadlineExceeded")),
        'error: deployment "web" exceeded its progress deadline',
    ),
    waits("deadline-of-the-old-generation", deployment(g=3, o=2, condition=DEADLINE), UNOBSERVED),
    done(
        "deadline-on-another-condition",
        deployment(condition=("Available", "False", "ProgressDeadlineExceeded")),
        OK,
    ),
    done(
        "new-replica-set-available",
        deployment(condition=("Progressing", "True", "NewReplicaSetAvailable")),
        OK,
    ),
    done("no-replicas-field", deployment(r=None, t=None, u=None, a=None), OK),
    waits(
        "no-replicas-field-old-left",
        deployment(r=None, t=1, u=None, a=1),
        rollout("1 old replicas are pending termination"),
    ),
    done("scaled-to-zero", deployment(r=0, t=None, u=None, a=None), OK),
    waits("zero-old-left", deployment(r=0, t=2, u=None, a=2), rollout("2 old replicas are pending termination")),
    waits(
        "paused",
        deployment(t=3, u=None, a=3, paused=True),
        rollout("0 out of 3 new replicas have been updated"),
    ),
    waits(
        "available-may-be-old",
        deployment(r=1, t=2, u=1, a=1),
        rollout("1 old replicas are pending termination"),
    ),
    waits("one-replica", deployment(r=1, t=1, u=1, a=0), rollout("0 of 1 updated replicas are available")),
    done("observed-ahead", deployment(g=1, o=4), OK),
    done("no-generation", deployment(g=None, o=None), OK),
    done("name-with-dots", deployment("a.b-c"), 'deployment "a.b-c" successfully rolled out'),
    done("more-available-than-updated", deployment(r=3, t=3, u=3, a=5), OK),
    Case(
        "replicas-is-text",
        lambda: ApiServer(Workload(UNREADABLE, found=deployment())),
        ["deploy/web"],
        "",
        UNCONVERTIBLE,
        1,
    ),
    Case(
        "replicas-is-text-in-the-answer-to-get-too",
        world(UNREADABLE),
        ["deploy/web"],
        "",
        "error: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        1,
        ours=Ours(
            "rawkube sends no GET whose answer Go would refuse: the LIST's text",
            Outcome("", UNCONVERTIBLE, 1),
        ),
    ),
]


def ds(text: str) -> str:
    return f'Waiting for daemon set "agent" rollout to finish: {text}...'


DS_OK = 'daemon set "agent" successfully rolled out'

DAEMONSETS = [
    waits("ds-none-updated", daemonset(g=0, d=1, u=0, a=0), ds("0 out of 1 new pods have been updated")),
    waits("ds-unavailable", daemonset(a=1), ds("1 of 2 updated pods are available")),
    waits("ds-desired-is-named", daemonset(d=2, u=3, a=1), ds("1 of 2 updated pods are available")),
    done("ds-done", daemonset(), DS_OK),
    waits("ds-unobserved", daemonset(g=2), "Waiting for daemon set spec update to be observed..."),
    done("ds-nothing-desired", daemonset(d=0, u=0, a=0), DS_OK),
    done("ds-no-counters", daemonset(d=None, u=None, a=None), DS_OK),
    done("ds-revision-ignored", daemonset(), DS_OK, "--revision=9"),
    fails("ds-on-delete", daemonset(strategy="OnDelete"), ONLY_ROLLING),
    fails("ds-no-strategy", daemonset(strategy=None), ONLY_ROLLING),
    fails("ds-on-delete-unobserved", daemonset(g=2, strategy="OnDelete"), ONLY_ROLLING),
]

STS_UNOBSERVED = "Waiting for statefulset spec update to be observed..."


def parts(updated: int) -> str:
    return f"partitioned roll out complete: {updated} new pods have been updated..."


STATEFULSETS = [
    fails("sts-on-delete", statefulset(y=1, u=0, c=0, strategy="OnDelete"), ONLY_ROLLING),
    fails("sts-no-strategy", statefulset(strategy=None), ONLY_ROLLING),
    waits("sts-unobserved", statefulset(g=2, o=1, u=0), STS_UNOBSERVED),
    waits("sts-observed-nothing", statefulset(g=0, o=0), STS_UNOBSERVED),
    waits("sts-observed-absent", statefulset(g=None, o=None), STS_UNOBSERVED),
    waits("sts-not-ready", statefulset(o=2, y=2, u=0), "Waiting for 1 pods to be ready..."),
    waits(
        "sts-not-ready-before-partition",
        statefulset(y=1, u=0, rolling={"partition": 2}),
        "Waiting for 2 pods to be ready...",
    ),
    done("sts-partition-done", statefulset(o=2, u=1, c=2, rolling={"partition": 2}), parts(1)),
    waits(
        "sts-partition-waits",
        statefulset(o=2, u=0, rolling={"partition": 2}),
        "Waiting for partitioned roll out to finish: 0 out of 1 new pods have been updated...",
    ),
    waits(
        "sts-partition-zero-waits",
        statefulset(u=1, rolling={"partition": 0}),
        "Waiting for partitioned roll out to finish: 1 out of 3 new pods have been updated...",
    ),
    waits(
        "sts-partition-zero-updated-absent",
        statefulset(u=None, current="s-1", update="s-1", rolling={"partition": 0}),
        "Waiting for partitioned roll out to finish: 0 out of 3 new pods have been updated...",
    ),
    done("sts-partition-zero-done", statefulset(rolling={"partition": 0}), parts(3)),
    done("sts-partition-equal", statefulset(u=0, rolling={"partition": 3}), parts(0)),
    done("sts-partition-beyond", statefulset(u=0, rolling={"partition": 5}), parts(0)),
    done("sts-rolling-empty", statefulset(rolling={}), parts(3)),
    done("sts-rolling-empty-none-updated", statefulset(u=0, rolling={}), parts(0)),
    done("sts-only-max-unavailable", statefulset(u=0, rolling={"maxUnavailable": 1}), parts(0)),
    done("sts-no-replicas-field", statefulset(r=None, y=0, u=0, rolling={"partition": 0}), parts(0)),
    done(
        "sts-done",
        statefulset("foo", o=2, current="foo", update="foo"),
        "statefulset rolling update complete 3 pods at revision foo...",
    ),
    waits(
        "sts-revision-differs",
        statefulset(u=2, current="s-1", update="s-2"),
        "waiting for statefulset rolling update to complete 2 pods at revision s-2...",
    ),
    done(
        "sts-no-revisions",
        statefulset(),
        "statefulset rolling update complete 3 pods at revision ...",
    ),
    done("sts-scaled-to-zero", statefulset(r=0, y=None, u=None, c=None, rolling={"partition": 0}), parts(0)),
]

TIMEOUTS = [
    Case(
        "timeout-not-done",
        world(deployment(u=1, t=3)),
        ["deploy/web", "--timeout=300ms"],
        lines(rollout("1 out of 3 new replicas have been updated")),
        TIMED_OUT,
        1,
    ),
    Case(
        "timeout-zero-is-none",
        world(deployment()),
        ["deploy/web", "--timeout=0s"],
        lines(OK),
    ),
    Case(
        "timeout-negative-is-none",
        world(deployment()),
        ["deploy/web", "--timeout=-5s"],
        lines(OK),
        notices=True,
    ),
    Case("watch-false-done", world(deployment()), ["deploy/web", "-w=false"], lines(OK)),
    Case(
        "watch-false-as-an-argument-of-its-own",
        world(deployment()),
        ["deploy", "web", "-w", "false"],
        lines(OK),
        'Error from server (NotFound): deployments.apps "false" not found',
        1,
    ),
    Case(
        "watch-false-failed",
        world(deployment(condition=DEADLINE)),
        ["deploy/web", "--watch=false"],
        "",
        'error: deployment "web" exceeded its progress deadline',
        1,
    ),
]

ONE_AFTER_ANOTHER = [
    Case(
        "daemon-set-updates",
        lambda: ApiServer(Workload(daemonset(u=1, a=1), steps=[modified(daemonset(a=1)), modified(daemonset())])),
        ["ds/agent"],
        lines(
            'Waiting for daemon set "agent" rollout to finish: 1 out of 2 new pods have been updated...',
            'Waiting for daemon set "agent" rollout to finish: 1 of 2 updated pods are available...',
            'daemon set "agent" successfully rolled out',
        ),
        list_watch=True,
    ),
    Case(
        "stateful-set-updates",
        lambda: ApiServer(
            Workload(
                statefulset(y=2, u=1, rolling={"partition": 0}),
                steps=[
                    modified(statefulset(u=1, rolling={"partition": 0})),
                    modified(statefulset(rolling={"partition": 0})),
                ],
            )
        ),
        ["sts/db"],
        lines(
            "Waiting for 1 pods to be ready...",
            "Waiting for partitioned roll out to finish: 1 out of 3 new pods have been updated...",
            "partitioned roll out complete: 3 new pods have been updated...",
        ),
        list_watch=True,
    ),
]

CASES = DEPLOYMENTS + DAEMONSETS + STATEFULSETS + TIMEOUTS + ONE_AFTER_ANOTHER


@pytest.mark.parametrize(("program", "case"), both(CASES))
def test_rows(program: str, case: Case, runs: Runs) -> None:
    runs.check(program, case)
