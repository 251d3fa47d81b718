"""Several resources in one command: order, errors, exit codes, selectors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.rig import Case, Runs, both, lines
from tests.support.api_server import ApiServer
from tests.support.script import Workload, deleted, failure, modified, pause
from tests.support.workloads import Object, daemonset, deployment, statefulset

TIMED_OUT = "timed out waiting for the condition"
DEADLINE = ("Progressing", "False", "ProgressDeadlineExceeded")


def ok(name: str) -> str:
    return f'deployment "{name}" successfully rolled out'


def waiting(name: str) -> str:
    return f'Waiting for deployment "{name}" rollout to finish: 1 out of 3 new replicas have been updated...'


def gone(name: str) -> str:
    return f'Error from server (NotFound): deployments.apps "{name}" not found'


def world(*things: Object) -> Callable[[], ApiServer]:
    return lambda: ApiServer(*[Workload(thing) for thing in things])


WEB, API, STUCK = deployment("web"), deployment("api"), deployment("stuck", u=1)
LABELLED = [
    deployment("one", labels={"app": "x"}),
    deployment("two", labels={"app": "y"}),
    deployment("three", labels={"app": "x"}),
]

CASES = [
    Case("names-in-order", world(API, WEB), ["deploy", "web", "api"], lines(ok("web"), ok("api"))),
    Case("pairs-in-order", world(API, WEB), ["deploy/web", "deploy/api"], lines(ok("web"), ok("api"))),
    Case("the-same-one-twice", world(WEB), ["deploy/web", "deploy/web"], lines(ok("web"), ok("web"))),
    Case(
        "types-times-names",
        world(deployment("x"), daemonset("x"), deployment("y"), daemonset("y")),
        ["deploy,ds", "x", "y"],
        lines(
            ok("x"),
            ok("y"),
            'daemon set "x" successfully rolled out',
            'daemon set "y" successfully rolled out',
        ),
    ),
    Case(
        "mixed-types",
        world(WEB, daemonset(), statefulset(rolling={"partition": 0})),
        ["sts/db", "deploy/web", "ds/agent"],
        lines(
            "partitioned roll out complete: 3 new pods have been updated...",
            ok("web"),
            'daemon set "agent" successfully rolled out',
        ),
    ),
    Case(
        "one-after-another",
        lambda: ApiServer(
            Workload(STUCK, steps=[pause(0.2), modified(deployment("stuck"))]),
            Workload(deployment("web", u=1), steps=[modified(WEB)]),
        ),
        ["deploy", "stuck", "web"],
        lines(waiting("stuck"), ok("stuck"), waiting("web"), ok("web")),
        list_watch=True,
    ),
    Case("one-missing", world(WEB), ["deploy", "nope", "web"], lines(ok("web")), gone("nope"), 1),
    Case("the-last-is-missing", world(WEB), ["deploy", "web", "nope"], lines(ok("web")), gone("nope"), 1),
    Case("two-missing", world(WEB), ["deploy", "nope", "web", "no"], lines(ok("web")), gone("no"), 1),
    Case(
        "two-time-out",
        world(STUCK, deployment("slow", u=1)),
        ["deploy", "stuck", "slow", "--timeout=500ms"],
        lines(waiting("stuck"), waiting("slow")),
        TIMED_OUT,
        1,
    ),
    Case(
        "one-times-out",
        world(STUCK, WEB),
        ["deploy", "stuck", "web", "--timeout=500ms"],
        lines(waiting("stuck"), ok("web")),
        "error: " + TIMED_OUT,
        1,
    ),
    Case(
        "missing-and-late",
        world(STUCK),
        ["deploy", "nope", "stuck", "--timeout=500ms"],
        lines(waiting("stuck")),
        TIMED_OUT,
        1,
    ),
    Case(
        "failed-and-missing",
        world(deployment("bad", condition=DEADLINE)),
        ["deploy", "bad", "nope"],
        "",
        gone("nope"),
        1,
    ),
    Case(
        "deleted-and-done",
        lambda: ApiServer(Workload(STUCK, steps=[deleted()]), Workload(WEB)),
        ["deploy", "stuck", "web"],
        lines(waiting("stuck"), ok("web")),
        "error: object has been deleted",
        1,
    ),
    Case(
        "not-done-without-watch",
        world(STUCK, WEB),
        ["deploy", "stuck", "web", "--watch=false"],
        lines(waiting("stuck"), ok("web")),
    ),
    Case(
        "kinds-without-rollout",
        lambda: ApiServer(
            Workload({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, resource="pods"),
            Workload({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}}),
            Workload(WEB),
        ),
        ["pod/p", "rs/r", "deploy/web"],
        lines(ok("web")),
        "no status viewer has been implemented for ReplicaSet.apps",
        1,
    ),
    Case(
        "pod",
        lambda: ApiServer(Workload({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, resource="pods")),
        ["pod/p"],
        "",
        "error: no status viewer has been implemented for Pod",
        1,
    ),
    Case(
        "job",
        lambda: ApiServer(Workload({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}})),
        ["job/j"],
        "",
        "error: no status viewer has been implemented for Job.batch",
        1,
    ),
    Case("a-pod-that-is-missing", world(), ["pod/p"], "", 'Error from server (NotFound): pods "p" not found', 1),
    Case("all-of-a-type", world(*LABELLED), ["deployments"], lines(ok("one"), ok("two"), ok("three"))),
    Case("by-label", world(*LABELLED), ["deploy", "-l", "app=x"], lines(ok("one"), ok("three"))),
    Case("by-label-long-flag", world(*LABELLED), ["deploy", "--selector=app=y"], lines(ok("two"))),
    Case(
        "by-label-of-several-types",
        world(*LABELLED, daemonset("four", labels={"app": "x"})),
        ["deploy,ds", "-l", "app=x"],
        lines(ok("one"), ok("three"), 'daemon set "four" successfully rolled out'),
    ),
    Case(
        "by-label-one-fails",
        world(deployment("one", labels={"app": "x"}, condition=DEADLINE), deployment("two", labels={"app": "x"})),
        ["deploy", "-l", "app=x"],
        lines(ok("two")),
        'error: deployment "one" exceeded its progress deadline',
        1,
    ),
    Case(
        "by-label-two-time-out",
        world(*[deployment(name, u=1, labels={"app": "x"}) for name in ("one", "two")]),
        ["deploy", "-l", "app=x", "--timeout=300ms"],
        lines(waiting("one"), waiting("two")),
        TIMED_OUT,
        1,
    ),
    Case(
        "none-with-the-label",
        world(WEB),
        ["deploy", "-l", "app=z"],
        "",
        "No resources found in default namespace.",
    ),
    Case("none-of-a-type", world(), ["sts"], "", "No resources found in default namespace."),
    Case("none-in-a-namespace", world(), ["deploy", "-n", "demo"], "", "No resources found in demo namespace."),
    Case(
        "list-is-forbidden",
        lambda: ApiServer(Workload(WEB), answers={"list": [failure(403, "deployments.apps is forbidden")] * 9}),
        ["deploy"],
        "",
        "Error from server (Forbidden): deployments.apps is forbidden",
        1,
    ),
    Case(
        "list-of-a-selector-is-bad",
        lambda: ApiServer(answers={"list": [failure(400, 'unable to parse requirement: found "="')] * 9}),
        ["deploy", "-l", "==="],
        "",
        'Error from server (BadRequest): Unable to find "apps/v1, Resource=deployments" that match label'
        ' selector "===", field selector "": unable to parse requirement: found "="',
        1,
    ),
    Case(
        "all-of-one-kind-without-rollout",
        lambda: ApiServer(
            *[
                Workload({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}, resource="pods")
                for name in "pq"
            ]
        ),
        ["pods"],
        "",
        "no status viewer has been implemented for Pod",
        1,
    ),
    Case(
        "other-namespace",
        lambda: ApiServer(Workload(deployment(), namespace="demo"), Workload(STUCK)),
        ["deploy/web", "--namespace", "demo"],
        lines(ok("web")),
    ),
    Case("missing-in-another-namespace", world(), ["deploy/web", "-n", "demo"], "", gone("web"), 1),
    Case(
        "missing-namespace",
        world(),
        ["deploy/web", "-n", "foo"],
        "",
        'Error from server (NotFound): namespaces "foo" not found',
        1,
    ),
    Case(
        "two-missing-in-a-missing-namespace",
        world(),
        ["deploy", "a", "b", "-n", "foo"],
        "",
        'Error from server (NotFound): namespaces "foo" not found',
        1,
    ),
    *[
        Case(f"spelling-{spelling}", world(WEB), [f"{spelling}/web"], lines(ok("web")))
        for spelling in (
            "deploy",
            "deployment",
            "deployments",
            "Deployment",
            "DEPLOYMENTS",
            "deployments.apps",
            "deployments.v1.apps",
            "deployment.apps",
            "deployment.v1.apps",
            "deploy.apps",
        )
    ],
]


@pytest.mark.parametrize(("program", "case"), both(CASES))
def test_several(program: str, case: Case, runs: Runs) -> None:
    runs.check(program, case)


@pytest.mark.parametrize(
    ("program", "case"),
    both(
        [
            Case(
                "two-errors-in-order",
                world(deployment("bad", condition=DEADLINE), WEB),
                ["deploy", "nope", "bad", "web"],
                lines(ok("web")),
                'deployment "bad" exceeded its progress deadline',
                1,
            )
        ]
    ),
)
def test_the_errors_stand_in_order(program: str, case: Case, runs: Runs) -> None:
    runs.check(program, case)
    said = runs.start(program, case).result().result.stderr.splitlines()
    assert said[-2:] == [gone("nope"), 'deployment "bad" exceeded its progress deadline']
