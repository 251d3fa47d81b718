"""Where a server's answers lead kubectl and rawkube to different ends: each side of each such difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.differential.known_rig import Case, Ended, verify
from tests.differential.rig import KUBECTL, RAWKUBE, lines
from tests.support import workloads
from tests.support.api_server import ApiServer
from tests.support.discovery_server import DiscoveryServer, aggregated, res
from tests.support.lists import Lists, thing
from tests.support.logs_server import Log, LogsServer, Reply, answers, line
from tests.support.pods_server import a_pod, statuses, terminated
from tests.support.revisions import deployment, replica_set, template
from tests.support.script import HANG_UP, Answer, Workload, failure, status
from tests.support.stateful import StatefulServer

TEXT = Log([line(0, "one"), line(1, "two")])
LOG = "/api/v1/namespaces/default/pods/one/log?container=main&follow=true"
NAMES = [res("pods.v1."), res("widgets.v1.g")]
TABLE = ("NAME   READY   AGE", "a      0       5m", "b      0       5m")
ONE_RESOURCE = "error: you may only watch a single resource or type of resource at a time"
NO_WIDGETS = 'error: the server doesn\'t have a resource type "widgets"'


PODS = "/api/v1/namespaces/default/pods"
NO_WATCH = "Error from server (Forbidden): no more watches"


def nothing_but_get() -> ApiServer:
    no = [failure(403, "no")] * 99
    return ApiServer(Workload(workloads.deployment()), answers={"list": no, "watch": list(no), "watch-list": list(no)})


def log_of(*replies: Reply) -> LogsServer:
    return LogsServer([a_pod("one", status=statuses(state=terminated(0)))], {"one/main": replies})


def hangs_up() -> StatefulServer:
    return StatefulServer(deployment(), answers={"patch": [HANG_UP] * 9})


def red_cause() -> StatefulServer:
    cause = {"kubernetes.io/change-cause": "\x1b[31mred\x07"}
    return StatefulServer(deployment(), replica_set("a", 1, template("1"), annotations=cause))


def history(cause: str) -> Ended:
    return Ended(lines("deployment.apps/web ", "REVISION  CHANGE-CAUSE", f"1         {cause}", ""))


def two_deployments() -> ApiServer:
    return ApiServer(Workload(workloads.deployment("one")), Workload(workloads.deployment("two")))


def two_versions() -> DiscoveryServer:
    names = (f"deployments.{version}.apps" for version in ("v1", "v1beta1"))
    return DiscoveryServer([NAMES[0], *(res(name, short="deploy") for name in names)])


def aggregated_as_json() -> DiscoveryServer:
    return DiscoveryServer(NAMES, answers={"/apis": Answer(body=json.dumps(aggregated(NAMES[1:])))})


def pods() -> Lists:
    """Whose first watch is too old."""
    expired = [("ERROR", status(410, "too old"))]
    return Lists(thing("Pod", "a"), thing("Pod", "b"), watches=[expired], ends=True)


CASES = [
    Case("a-patch-that-breaks", hangs_up, "rollout restart deploy/web",
         Ended("", 'error: failed to patch: Patch "URL/apis/apps/v1/namespaces/default/deployments/web?fieldManager=kubectl-rollout": EOF', 1),
         Ended("", "Unable to connect to the server: EOF", 1)),
    Case("an-output-of-kubectl", lambda: StatefulServer(deployment()), "rollout restart deploy/web -o jsonpath={.kind}",
         Ended("Deployment"), Ended("", 'error: rawkube prints -o json, name, yaml, not "jsonpath={.kind}"', 1, [])),
    Case("a-cause-in-red", red_cause, "rollout history deploy/web", history("\x1b[31mred\x07"), history("\\x1b[31mred\\x07")),
    Case("a-file-without-a-name", two_deployments, "rollout status -f HOME/nameless.json", Ended('deployment "one" successfully rolled out\n'),
         Ended("", "error: a Deployment of the manifest has no metadata.name", 1, []),
         files={"nameless.json": {"apiVersion": "apps/v1", "kind": "Deployment"}}),
    Case("a-file-of-what-is-to-come", ApiServer, "wait --for=create -f HOME/c.json --timeout=300ms",
         Ended("", 'Error from server (NotFound): deployments.apps "c" not found', 1, ["get c"]),
         Ended("", "error: timed out waiting for the condition", 1, ["list", "watch rv=100"]), files={"c.json": workloads.deployment("c")}),
    Case("what-may-not-be-watched", nothing_but_get, "wait deploy/web --for=condition=x --timeout=500ms",
         Ended("", "error: timed out waiting for the condition on deployments/web", 1), Ended("", "Error from server (Forbidden): no", 1,
         ["list", "get web", "watch rv=101"])),
    Case("a-creation-that-does-not-come", ApiServer, "wait deploy/web --for=create --timeout=300ms",
         Ended("", "error: timed out waiting for the condition", 1, ["get web"]),
         Ended("", "error: timed out waiting for the condition", 1, ["list", "watch rv=100"])),
    Case("one-object-that-is-watched", lambda: Lists(thing("Pod", "a"), ends=True), "get pod a -w -o name",
         Ended("pod/a\n", NO_WATCH, 1, [f"{PODS}/a", f"{PODS}?fieldSelector=metadata.name%3Da&resourceVersion=0&watch=true"]),
         Ended("pod/a\n", NO_WATCH, 1, [f"{PODS}?fieldSelector=metadata.name%3Da",
               f"{PODS}?allowWatchBookmarks=true&fieldSelector=metadata.name%3Da&resourceVersion=100&watch=true"])),
    Case("a-log-that-breaks", lambda: log_of(TEXT.breaks(40), TEXT), "logs -f one",
         Ended("one\ntwo\n", "error: unexpected EOF", 1), Ended("one\ntwo\n",
         "the log of pod/one/main broke off (unexpected EOF): taken up again from 2026-11-30T10:00:00Z", 0)),
    Case("a-log-that-is-refused", lambda: log_of(answers(failure(403, "no logs"))), "logs -f one --pod-running-timeout=500ms",
         Ended("", "error: context deadline exceeded", 1), Ended("", "Error from server (Forbidden): no logs", 1)),
    Case("several-names", pods, "get pods a b -w", Ended(lines(*TABLE), ONE_RESOURCE, 1), Ended("", ONE_RESOURCE, 1, [])),
    Case("a-version-that-is-too-old", pods, "get pods -w",
         Ended(lines(*TABLE, "STATUS    REASON    MESSAGE", "Failure   Expired   too old")),
         Ended(lines(*TABLE), "Error from server (Forbidden): no more watches", 1)),
    Case("a-short-name-with-a-version", two_versions, "get deploy.v1beta1.apps/a -o name",
         Ended("deployment.apps/a\n", "", 0, ["/apis/apps/v1/namespaces/default/deployments/a"]),
         Ended("deployment.apps/a\n", "", 0, ["/apis/apps/v1beta1/namespaces/default/deployments/a"])),
    Case("the-kind-of-a-collection", lambda: DiscoveryServer(NAMES), "get podlist", Ended("", "Error from server (NotFound): Unable to "
         'list "/v1, Resource=podlists": the server could not find the requested resource', 1),
         Ended("", 'error: the server doesn\'t have a resource type "podlist"', 1)),
    Case("aggregated-as-json", aggregated_as_json, "get widgets/a -o name", Ended("", NO_WIDGETS, 1), Ended("widget.g/a\n")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rawkube(case: Case, tmp_path: Path, hurried: None) -> None:
    verify(RAWKUBE, case, tmp_path)


@pytest.mark.kubectl
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_kubectl(case: Case, tmp_path: Path) -> None:
    assert case.kubectl != case.rawkube
    verify(KUBECTL, case, tmp_path)
