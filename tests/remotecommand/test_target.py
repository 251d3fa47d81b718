"""From the words of a command line to one container: the rules of the words, and what is asked of the server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rawkube.api.arguments import Wanted
from rawkube.api.client import ApiClient
from rawkube.errors import RawkubeError, StatusError, UsageError, WaitTimeout
from rawkube.kubeconfig.access import Access
from rawkube.remotecommand.pods import NoSuchContainer, NotAttachable, PodCompleted
from rawkube.remotecommand.target import Target, WatchEnded, check_arguments, find, read_word
from rawkube.wire.http import Request
from tests.support.rows import looped
from tests.support.server import Peer, ScriptedServer, SeenRequest

Object = dict[str, Any]

# The command line

HELP = "\nSee 'rawkube exec -h' for help and examples"
OLD_FORM = f"exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead{HELP}"
NO_POD = "pod, type/name or --filename must be specified"
NO_COMMAND = "you must specify at least one command for the container"
BOTH = "resource/name arguments cannot be provided when a path is specified"
TIMEOUT = f"--pod-running-timeout must be higher than zero{HELP}"


def split(line: str) -> tuple[list[str], int]:
    """Positionals and the index of `--`, as the flag parser gives them."""
    words = line.split()
    dash = words.index("--") if "--" in words else -1
    return [word for i, word in enumerate(words) if i != dash], dash


@looped(
    ("line", "files", "wanted", "command"),
    [
        ("foo -- cmd", "", Wanted("pods", "foo"), "cmd"),
        ("foo -- cmd -- x", "", Wanted("pods", "foo"), "cmd -- x"),
        ("deploy/web -- sh -c", "", Wanted("deploy", "web"), "sh -c"),
        ("a,b -- cmd", "", Wanted("pods", "a,b"), "cmd"),
        ("-- cmd", "F", None, "cmd"),
        ("-- cmd", "F G", None, "cmd"),
    ],
)
def test_what_is_named_and_what_is_to_run(line: str, files: str, wanted: Wanted | None, command: str) -> None:
    assert check_arguments(*split(line), files.split()) == (wanted, command.split())


@looped(
    ("line", "files", "text"),
    [
        pytest.param("", "", NO_POD, id="none"),
        pytest.param("--", "", NO_POD, id="dash-alone"),
        pytest.param("-- cmd", "", NO_POD, id="cmd-only-after-dash"),
        pytest.param("-- foo cmd", "", NO_POD, id="two-after-dash"),
        pytest.param("foo", "", NO_COMMAND, id="pod-only"),
        pytest.param("foo --", "", NO_COMMAND, id="pod-and-dash"),
        pytest.param("deploy/", "", NO_COMMAND, id="no-command-before-bad-name"),
        pytest.param("foo cmd", "", OLD_FORM, id="no-dash"),
        pytest.param("foo cmd -- bar", "", OLD_FORM, id="extra"),
        pytest.param("foo cmd --", "", OLD_FORM, id="extra-no-command"),
        pytest.param("pod/p pod/q -- x", "", OLD_FORM, id="two-pods"),
        pytest.param("date", "F", OLD_FORM, id="file-and-word"),
        pytest.param("p q -- x", "F", OLD_FORM, id="file-and-two-words"),
        pytest.param("", "F", NO_COMMAND, id="file-only"),
        pytest.param("--", "F", NO_COMMAND, id="file-and-dash"),
        pytest.param("p --", "F", NO_COMMAND, id="file-pod-no-command"),
        pytest.param("p -- x", "F", BOTH, id="file-and-pod"),
        pytest.param("foo/x -- x", "F", BOTH, id="file-and-type"),
        pytest.param("a/b/c -- x", "", "arguments in resource/name form may not have more than one slash", id="slash"),
        pytest.param(
            "deploy/ -- x",
            "F",
            "arguments in resource/name form must have a single resource and name",
            id="bad-word-before-file",
        ),
    ],
)
def test_a_command_line_that_cannot_be(line: str, files: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_arguments(*split(line), files.split())
    assert str(caught.value) == text


def test_an_empty_word_is_no_pod() -> None:
    with pytest.raises(UsageError, match=NO_POD):
        check_arguments(["", "cmd"], 1)
    assert check_arguments(["", "cmd"], 1, ["F"]) == (None, ["cmd"])


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_a_timeout_must_be_something(seconds: float) -> None:
    with pytest.raises(UsageError) as caught:
        check_arguments([], -1, timeout=seconds)
    assert str(caught.value) == TIMEOUT
    with pytest.raises(UsageError) as caught:
        check_arguments(["p", "cmd"], -1, timeout=seconds)
    assert str(caught.value) == OLD_FORM


# The server

PODS = "/api/v1/namespaces/demo/pods"


def pod(name: str = "p1", *, namespace: str = "demo", phase: str = "Running", containers: str = "a") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": "7"},
        "spec": {"nodeName": "n1", "containers": [{"name": each} for each in containers.split()]},
        "status": {"phase": phase},
    }


def workload(kind: str = "Deployment", api_version: str = "apps/v1", **spec: Any) -> Object:
    spec = spec or {"selector": {"matchLabels": {"app": "web"}}}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "namespace": "demo"}, "spec": spec}


def pod_list(*pods: Object, version: str = "41") -> Object:
    items = [{key: each[key] for key in each if key not in ("kind", "apiVersion")} for each in pods]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items}


def missing(qualified: str, name: str) -> Object:
    message = f'{qualified} "{name}" not found'
    details = {"name": name, "kind": qualified}
    return {"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": message} | {
        "details": details
    }


Answer = Callable[[Peer], None] | Object


class Script:
    """Answers each request by the next of `answers`, on whatever connection it comes."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.seen: list[SeenRequest] = []
        self.connections: list[int] = []

    def __call__(self, peer: Peer) -> None:
        while True:
            self.seen.append(peer.read_request())
            self.connections.append(peer.number)
            assert self.answers, f"nobody expected {self.seen[-1].target}"
            answer = self.answers.pop(0)
            if callable(answer):
                answer(peer)
                continue
            code = answer.get("code", 200)
            peer.reply(json.dumps(answer), status=f"{code} Whatever")

    @property
    def asked(self) -> list[str]:
        return [request.target for request in self.seen]


def stream(*events: tuple[str, Object], how: str = "end") -> Callable[[Peer], None]:
    def send(peer: Peer) -> None:
        peer.start_chunked()
        for kind, item in events:
            peer.chunk(json.dumps({"type": kind, "object": item}) + "\n")
        {"end": peer.end_chunked, "stay": peer.stall, "reset": peer.reset}[how]()

    return send


def run(script: Script, word: str, **options: Any) -> Target:
    with ScriptedServer(script) as server, ApiClient(Access(server=server.url)) as client:
        wanted = read_word(word) if word else None
        return find(client, wanted, **{"namespace": "demo", "timeout": 5.0, **options})


@pytest.mark.parametrize("word", ["p1", "pod/p1", "pods/p1", "po/p1", "Pod/p1"])
def test_a_pod_costs_one_get(word: str) -> None:
    script = Script(pod(containers="a b"))
    found = run(script, word)
    assert found[:4] == ("demo", "p1", "a", 'Defaulted container "a" out of: a, b')
    assert found.pod_object["kind"] == "Pod"
    assert script.asked == [f"{PODS}/p1"]
    assert script.seen[0].header("Accept") == "application/json, */*"


@looped(
    ("word", "path", "thing"),
    [
        ("deploy/web", "/apis/apps/v1/namespaces/demo/deployments/web", workload()),
        ("rs/web", "/apis/apps/v1/namespaces/demo/replicasets/web", workload("ReplicaSet")),
        ("sts/web", "/apis/apps/v1/namespaces/demo/statefulsets/web", workload("StatefulSet")),
        ("ds/web", "/apis/apps/v1/namespaces/demo/daemonsets/web", workload("DaemonSet")),
        ("job/web", "/apis/batch/v1/namespaces/demo/jobs/web", workload("Job", "batch/v1")),
        (
            "rc/web",
            "/api/v1/namespaces/demo/replicationcontrollers/web",
            workload("ReplicationController", "v1", selector={"app": "web"}),
        ),
        ("svc/web", "/api/v1/namespaces/demo/services/web", workload("Service", "v1", selector={"app": "web"})),
    ],
)
def test_a_workload_costs_a_get_and_a_list(word: str, path: str, thing: Object) -> None:
    script = Script(thing, pod_list(pod("p1", phase="Pending"), pod("p2")))
    assert run(script, word)[:3] == ("demo", "p2", "a")
    assert script.asked == [path, f"{PODS}?labelSelector=app%3Dweb"]
    assert "protobuf" not in "".join(str(request.headers) for request in script.seen)


def test_every_kind_of_requirement_in_the_query() -> None:
    expressions = [
        {"key": "n", "operator": "DoesNotExist"},
        {"key": "k", "operator": "NotIn", "values": ["z"]},
        {"key": "env", "operator": "In", "values": ["b", "a"]},
        {"key": "e", "operator": "Exists"},
    ]
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
    script = Script(workload(selector=selector), pod_list(pod()))
    run(script, "deploy/web")
    query = "labelSelector=app%3Dweb%2Ce%2Cenv+in+%28a%2Cb%29%2Ck+notin+%28z%29%2C%21n"
    assert script.asked[1] == f"{PODS}?{query}"


def test_no_selector_means_every_pod_of_the_namespace() -> None:
    script = Script(workload(selector={}), pod_list(pod()))
    run(script, "deploy/web")
    assert script.asked[1] == PODS


def test_a_pending_pod_is_not_waited_for() -> None:
    script = Script(workload(), pod_list(pod(phase="Pending")))
    assert run(script, "deploy/web").pod == "p1"


def test_all_on_one_connection_which_is_idle_afterwards() -> None:
    script = Script(workload(), pod_list(pod()), {"kind": "Whatever"})
    with ScriptedServer(script) as server, ApiClient(Access(server=server.url)) as client:
        find(client, Wanted("deploy", "web"), namespace="demo")
        with client.exchange(Request("GET", "/next", [])) as response:
            response.read()
    assert script.connections == [1, 1, 1]


# Waiting for a pod


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED"])
def test_the_first_pod_that_comes_is_taken_whatever_its_phase(kind: str) -> None:
    events = [("BOOKMARK", {"kind": "Pod"}), ("DELETED", pod("gone")), (kind, pod("p9", phase="Pending"))]
    script = Script(workload(), pod_list(), stream(*events, how="stay"))
    assert run(script, "deploy/web").pod == "p9"
    assert script.asked[2] == f"{PODS}?labelSelector=app%3Dweb&resourceVersion=41&watch=true"
    assert script.seen[2].header("Accept") == "application/json"


def test_nobody_comes_in_time() -> None:
    script = Script(workload(), pod_list(), stream(("DELETED", pod()), how="stay"))
    with pytest.raises(WaitTimeout) as caught:
        run(script, "deploy/web", timeout=0.2)
    assert str(caught.value) == "timed out waiting for the condition"


def test_not_even_the_watch_is_answered_in_time() -> None:
    with pytest.raises(WaitTimeout):
        run(Script(workload(), pod_list(), lambda peer: peer.stall()), "deploy/web", timeout=0.2)


@pytest.mark.parametrize(
    ("watch", "detail"),
    [
        pytest.param(stream(), "", id="clean-end"),
        pytest.param(stream(("DELETED", pod())), "", id="only-other-events"),
        pytest.param(stream(how="reset"), "reset by peer", id="reset"),
        pytest.param(
            stream(("ERROR", {"kind": "Status", "message": "too old resource version"})),
            "the watch for a pod ended: too old resource version",
            id="error-event",
        ),
    ],
)
def test_the_watch_ends_before_anybody_comes(watch: Answer, detail: str) -> None:
    script = Script(workload(), pod_list(), watch)
    with pytest.raises(WatchEnded) as caught:
        run(script, "deploy/web")
    assert str(caught.value) == "watch closed before UntilWithoutRetry timeout"
    assert detail in "".join(caught.value.detail)
    assert len(script.asked) == 3


def test_a_refused_watch_is_its_own_error() -> None:
    refusal = {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no watching"}
    with pytest.raises(StatusError, match="no watching"):
        run(Script(workload(), pod_list(), refusal), "deploy/web")


# What is not there, and what cannot be


def test_a_missing_pod_in_an_existing_namespace() -> None:
    script = Script(missing("pods", "p1"), {"kind": "Namespace", "apiVersion": "v1"})
    with pytest.raises(StatusError) as caught:
        run(script, "p1")
    assert str(caught.value) == 'pods "p1" not found'
    assert script.asked == [f"{PODS}/p1", "/api/v1/namespaces/demo"]


def test_a_missing_namespace_is_what_is_told() -> None:
    with pytest.raises(StatusError) as caught:
        run(Script(missing("deployments.apps", "web"), missing("namespaces", "demo")), "deploy/web")
    assert str(caught.value) == 'namespaces "demo" not found'


def test_a_namespace_that_may_not_be_read_is_not_missing() -> None:
    refusal = {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}
    with pytest.raises(StatusError) as caught:
        run(Script(missing("pods", "p1"), refusal), "p1")
    assert str(caught.value) == 'pods "p1" not found'


def test_the_namespace_default_is_not_asked_for() -> None:
    script = Script(missing("pods", "p1"))
    with pytest.raises(StatusError):
        run(script, "p1", namespace="default")
    assert len(script.asked) == 1


def test_what_has_no_namespace_is_not_missing_with_one() -> None:
    script = Script(missing("nodes", "n1"))
    with pytest.raises(StatusError, match='nodes "n1" not found'):
        run(script, "node/n1")
    assert script.asked == ["/api/v1/nodes/n1"]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("..", "invalid resource name \"..\": [may not be '..']"),
        ("deploy/a%b", "invalid resource name \"a%b\": [may not contain '%']"),
    ],
)
def test_a_word_that_leads_nowhere_contacts_nobody(word: str, text: str) -> None:
    script = Script()
    with pytest.raises(UsageError) as caught:
        run(script, word)
    assert str(caught.value) == text
    assert not script.asked


@pytest.mark.parametrize(
    ("word", "thing", "text"),
    [
        (
            "cm/web",
            workload("ConfigMap", "v1"),
            "cannot attach to *v1.ConfigMap: selector for *v1.ConfigMap not implemented",
        ),
        (
            "node/web",
            workload("Node", "v1"),
            "cannot attach to *v1.Node: selector for *v1.Node not implemented",
        ),
        (
            "svc/web",
            workload("Service", "v1", ports=[]),
            "cannot attach to *v1.Service: invalid service 'web': Service is defined without a selector",
        ),
    ],
)
def test_what_stands_for_no_pods(word: str, thing: Object, text: str) -> None:
    script = Script(thing)
    with pytest.raises(NotAttachable) as caught:
        run(script, word)
    assert str(caught.value) == text
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("found", "container", "error", "text"),
    [
        (
            pod(phase="Succeeded"),
            "zz",
            PodCompleted,
            "cannot exec into a container in a completed pod; current phase is Succeeded",
        ),
        (pod(), "zz", NoSuchContainer, "container zz is not valid for pod p1 out of: a"),
        (pod(containers=""), "", NoSuchContainer, "pod demo/p1 does not have any containers"),
    ],
)
def test_a_pod_that_will_not_do(found: Object, container: str, error: type[RawkubeError], text: str) -> None:
    with pytest.raises(error) as caught:
        run(Script(found), "p1", container=container)
    assert str(caught.value) == text


# Manifests


def test_a_pod_from_a_manifest_is_used_as_it_is() -> None:
    script = Script()
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1"}, "spec": {"containers": [{"name": "a"}]}}
    assert run(script, "", manifest=[bare])[:4] == ("demo", "p1", "a", None)
    assert not script.asked


def test_a_workload_from_a_manifest_is_used_as_it_is() -> None:
    script = Script(pod_list(pod("p2", namespace="other")))
    thing = workload() | {"metadata": {"name": "web", "namespace": "other"}}
    assert run(script, "", manifest=[thing])[:2] == ("other", "p2")
    assert script.asked == ["/api/v1/namespaces/other/pods?labelSelector=app%3Dweb"]


def test_a_manifest_of_another_namespace_than_the_one_given() -> None:
    with pytest.raises(UsageError, match='the namespace from the provided object "demo" does not match'):
        run(Script(), "", manifest=[pod()], namespace="foo", namespace_given=True)


@pytest.mark.parametrize("manifest", [[], [pod(), pod("p2")]])
def test_exactly_one_object(manifest: list[Object]) -> None:
    with pytest.raises(UsageError) as caught:
        run(Script(), "", manifest=manifest)
    assert str(caught.value) == "cannot exec into multiple objects at a time"


def test_a_manifest_without_a_name() -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}, "spec": pod()["spec"]}
    with pytest.raises(UsageError, match="resource name may not be empty"):
        run(Script(), "", manifest=[bare])
