"""Where a command of rawkube knowingly says or asks for something else than kubectl's: each side of each such difference."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rawkube.cli.commands import all_commands, read_command
from rawkube.cli.tables.global_flags import GLOBAL_FLAGS
from rawkube.cli.yaml_text import sorted_keys
from rawkube.errors import UsageError
from tests.differential.known_rig import Case, Ended, requests, run_here, verify
from tests.differential.rig import KUBECTL, RAWKUBE, lines
from tests.support import workloads
from tests.support.api_server import ApiServer
from tests.support.discovery_server import DiscoveryServer, res
from tests.support.lists import Lists, thing
from tests.support.logs_server import Log, LogsServer, line
from tests.support.pods_server import a_pod, statuses, terminated
from tests.support.revisions import controller_revision, other, template
from tests.support.run import kubeconfig, kubectl_command, run
from tests.support.script import Object, Workload, deleted, error, failure, pause
from tests.support.stateful import StatefulServer


def works(*objects: Object) -> Callable[[], ApiServer]:
    return lambda: ApiServer(*map(Workload, objects))


def keeps(*objects: Object) -> Callable[[], StatefulServer]:
    return lambda: StatefulServer(*objects)


def serves(*names: str) -> Callable[[], DiscoveryServer]:
    return lambda: DiscoveryServer([res("pods.v1."), *map(res, names)])


def refused(last: str, asked: Sequence[str] | None = ()) -> Ended:
    return Ended("", f"error: {last}", 1, asked)


def pods() -> Lists:
    return Lists(thing("Pod", "a", labels={"x": "y"}), thing("Pod", "b"))


def same_kind() -> DiscoveryServer:
    return DiscoveryServer([res("as.v1.g", kind="Same"), res("bs.v1.g", kind="Same")])


def map_of(**data: str) -> Callable[[], Lists]:
    return lambda: Lists(thing("ConfigMap", "c", data=data))


def shown_map(*data: str) -> Ended:
    rest = (
        "kind: ConfigMap",
        "metadata:",
        "  name: c",
        "  namespace: default",
        '  resourceVersion: "7"',
        "  uid: uid-c",
    )
    return Ended(lines("apiVersion: v1", "data:", *data, *rest))


def logs_of_several() -> LogsServer:
    one = a_pod(
        "one", "b", "a", labels={"app": "x"}, initContainers=[{"name": "i"}], ephemeralContainers=[{"name": "e"}]
    )
    names = ["one/i", "one/b", "one/a", "one/e", "another/main"]
    return LogsServer([one, a_pod("another", labels={"app": "x"})], {name: [Log([line(0, name)])] for name in names})


def log_that_ends() -> LogsServer:
    pod = a_pod("one", status=statuses(state=terminated(0)))
    return LogsServer([pod], {"one/main": [Log([line(0, "text")])]})


def waits(text: str, name: str = "a") -> str:
    return lines(f'Waiting for deployment "{name}" rollout to finish: {text}...')


def expires() -> ApiServer:
    return ApiServer(Workload(workloads.deployment(u=1), steps=[pause(0.1), error(410), pause(0.1), deleted()]))


def merged() -> StatefulServer:
    """Revision 1 of a DaemonSet, whose patch does not say that the template is replaced."""
    agent = other("DaemonSet", "agent")
    side: Object = {"containers": [{"name": "side", "image": "img:side"}]}
    first = controller_revision(agent, 1, {}, data={"spec": {"template": {"spec": side}}})
    return StatefulServer(agent, first, controller_revision(agent, 2, template("2")))


def described(*containers: tuple[str, str]) -> Ended:
    found = ["daemonset.apps/agent with revision #1", "Pod Template:", "  Labels:\tapp=web", "  Containers:"]
    for name, image in containers:
        found += [f"   {name}:", f"    Image:\t{image}", "    Port:\t<none>", "    Host Port:\t<none>"]
        found += ["    Environment:\t<none>", "    Mounts:\t<none>"]
    return Ended(lines(*found, "  Volumes:\t<none>", "  Node-Selectors:\t<none>", "  Tolerations:\t<none>", ""))


def misread(line: int) -> Ended:
    said = f"error parsing HOME/two.yaml: error converting YAML to JSON: yaml: line {line}: did not find expected node content"
    return Ended("", said, 1)


TIMED_OUT = "timed out waiting for the condition"
UNREADABLE = workloads.deployment("b") | {"spec": {"replicas": "x"}}
NO_INT32 = "failed to convert *unstructured.Unstructured to *v1.Deployment: unrecognized type: int32"
LARGE = workloads.deployment("a", r=-5, t=2**31 - 1, u=-1, a=-1)
OLD = {"apiVersion": "extensions/v1beta1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}}
ELSEWHERE = OLD | {"apiVersion": "apps/v1", "metadata": {"name": "web", "namespace": "other"}}
CHART = {"apiVersion": "helm.example.com/v1", "kind": "Chart", "metadata": {"name": "a"}}
SECRET = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "status": {"x": "s3cret", "conditions": "s3cret"},
}
MANIFEST = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
POD: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
ANOTHER = 'the namespace from the provided object "other" does not match the namespace "demo". You must pass ' \
    "'--namespace=other' to perform this operation."  # fmt: skip
ONE_LOG = "/api/v1/namespaces/default/pods/one/log?container=main&follow=true"
STREAM = "watch-list"

ROLLOUTS = [
    Case("a-counter-that-is-none", works(workloads.deployment("a"), UNREADABLE), "rollout status deploy",
         refused("json: cannot unmarshal string into Go struct field DeploymentSpec.items.spec.replicas of type int32", None),
         Ended(lines('deployment "a" successfully rolled out'), f"error: {NO_INT32}", 1)),
    Case("counters-far-apart", works(LARGE), "rollout status deploy/a -w=false",
         Ended(waits("-2147483648 old replicas are pending termination")),
         Ended(waits("2147483648 old replicas are pending termination"))),
    Case("a-kind-that-kubectl-does-not-hold", serves("charts.v1.helm.example.com"), "rollout status -f HOME/chart.json",
         refused('unable to decode "HOME/chart.json": no kind "Chart" is registered for version "helm.example.com/v1" in '
                 'scheme "pkg/scheme/scheme.go:28"'),
         refused("no status viewer has been implemented for Chart.helm.example.com",
                 ["/apis/helm.example.com/v1/namespaces/default/charts/a"]), files={"chart.json": CHART}),
    Case("an-old-api-version", serves("deployments.v1beta1.extensions"), "rollout restart deployments.v1beta1.extensions/web",
         Ended("deployment.extensions/web restarted\n"), refused('deployments.extensions "web" restarting is not supported', None)),
    Case("a-file-of-another-namespace", keeps(), "rollout restart -n demo -f HOME/web.json",
         Ended("", 'Error from server (NotFound): namespaces "other" not found', 1, None), refused(ANOTHER),
         files={"web.json": ELSEWHERE}),
    Case("the-line-of-an-error", keeps(), "rollout restart -f HOME/two.yaml",
         misread(1), misread(6), files={"two.yaml": f"{MANIFEST}---\nx: [\n"}),
    Case("a-revision-that-is-merged", merged, "rollout history ds/agent --revision=1",
         described(("side", "img:side"), ("app", "img:2")), described(("side", "img:side"))),
    Case("a-second-streaming-list", expires, "rollout status deploy/web",
         Ended(waits("1 out of 3 new replicas have been updated", "web") * 2, "error: object has been deleted", 1,
               ["get web", STREAM, f"{STREAM} rv=101"]),
         Ended("deployment.apps/web\n" * 2, "listed again: no differences", 0, [STREAM, STREAM]),
         own="watch deployment/web --initial-events -o name --count=2"),
]  # fmt: skip

WAITS = [
    Case("no-time-for-the-second", works(workloads.deployment("a"), workloads.deployment("b")),
         "wait --for=delete deploy/a deploy/b --timeout=300ms", Ended("", "context deadline exceeded", 1),
         Ended("", f"{TIMED_OUT} on deployments/b", 1)),
    Case("a-filter-on-text", works(SECRET), 'wait pod/p --for=jsonpath={.status.x[?(@.a=="b")].c}=true --timeout=5s',
         refused("s3cret is not array or slice and cannot be filtered", None),
         refused("string is not array or slice and cannot be filtered", None)),
    Case("conditions-that-are-text", works(SECRET), "wait pod/p --for=condition=Ready --timeout=5s",
         refused(".status.conditions accessor error: s3cret is of the type string, expected []interface{}", None),
         refused(".status.conditions accessor error: it is of the type string, expected []interface{}", None)),
]  # fmt: skip

LOGS = [
    Case("a-log-that-is-followed", log_that_ends, "logs -f one --limit-bytes=2", Ended("te", "", 0, [
        "/api/v1/namespaces/default/pods/one", f"{ONE_LOG}&limitBytes=2"]),
        Ended("te", "", 0, ["/api/v1/namespaces/default/pods/one", f"{ONE_LOG}&timestamps=true"])),
    Case("a-log-up-to-its-end", log_that_ends, "logs -f one", Ended("text\n", "", 0, [
        "/api/v1/namespaces/default/pods/one", ONE_LOG]),
        Ended("text\n", "", 0, ["/api/v1/namespaces/default/pods/one", f"{ONE_LOG}&timestamps=true",
                                "/api/v1/namespaces/default/pods/one"])),
    Case("logs-of-several", logs_of_several, "logs -l app=x --all-containers",
         Ended(lines("another/main", "one/a", "one/b", "one/e", "one/i")),
         Ended(lines("one/i", "one/b", "one/a", "one/e", "another/main")), unordered=True),
]  # fmt: skip

GETS = [
    Case("files-with-a-selector", pods, "get -f HOME/a.json -l x=y -o name", Ended("pod/a\n"),
         refused("a selector cannot be used with --filename"), files={"a.json": POD}),
    Case("a-file-without-a-name", pods, "get -f HOME/a.json", Ended(lines("NAME   AGE", "       <unknown>")),
         refused("resource name may not be empty"), files={"a.json": POD | {"metadata": {"generateName": "a-"}}}),
    Case("line-separators", map_of(a="x\u2028y\u2029z"), "get cm c -o yaml", shown_map("  a: 'x\u2028    y\u2029    z'"),
         shown_map('  a: "x\\Ly\\Pz"')),
    Case("delete", map_of(a="x\x7fz"), "get cm c -o yaml", refused("yaml: control characters are not allowed", None),
         shown_map('  a: "x\\x7Fz"')),
    Case("next-line", map_of(a="x\x85z"), "get cm c -o yaml", shown_map("  a: x z"), shown_map('  a: "x\\Nz"')),
    Case("an-empty-name", serves(), "get pods a EMPTY", Ended(lines("NAME   AGE", "a      <unknown>"), "error: resource name may "
         "not be empty", 1), refused("resource name may not be empty")),
    Case("two-resources-of-one-kind", same_kind, "get as/x -o name",
         Ended("same.g/x\n", "", 0, ["/apis/g/v1/namespaces/default/bs/x"]),
         Ended("same.g/x\n", "", 0, ["/apis/g/v1/namespaces/default/as/x"])),
]  # fmt: skip

CASES = [*ROLLOUTS, *WAITS, *LOGS, *GETS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rawkube(case: Case, tmp_path: Path) -> None:
    verify(RAWKUBE, case, tmp_path)


@pytest.mark.kubectl
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_kubectl(case: Case, tmp_path: Path) -> None:
    assert case.kubectl != case.rawkube
    verify(KUBECTL, case, tmp_path)


TEMPLATES = {"allow-missing-template-keys", "template"}
NOT_THERE = {
    **{f"rollout {verb}": TEMPLATES for verb in ("history", "undo", "restart", "pause", "resume")},
    "wait": TEMPLATES | {"local"},
    "get": TEMPLATES | {"kustomize", "output-watch-events", "raw", "server-print", "show-kind", "sort-by", "subresource"},
    "api-resources": {"show-managed-fields"},
    "config view": TEMPLATES | {"show-managed-fields"},
    "auth whoami": TEMPLATES | {"show-managed-fields"},
    "proxy": {"accept-hosts", "accept-paths", "address", "api-prefix", "append-server-path", "disable-filter", "keepalive",
              "reject-methods", "reject-paths", "unix-socket", "www", "www-prefix"},
}  # fmt: skip
"""Flags that kubectl's command has, and rawkube's has not."""
COMPLETE = [
    "rollout status",
    "exec",
    "attach",
    "logs",
    "cp",
    "config get-contexts",
    "auth can-i",
]
KNOWN = {" ".join(command.words): {flag.name for flag in command.flags} for command in all_commands()}
GLOBAL = {flag.name for flag in GLOBAL_FLAGS}


@pytest.mark.parametrize("command", NOT_THERE)
def test_flags_that_rawkube_has_not(command: str) -> None:
    assert NOT_THERE[command] & (KNOWN[command] | GLOBAL) == set()
    for flag in NOT_THERE[command]:
        with pytest.raises(UsageError, match=f"^unknown flag: --{flag}"):
            read_command([*command.split(), f"--{flag}=x"])


@pytest.mark.kubectl
@pytest.mark.parametrize("command", [*NOT_THERE, *COMPLETE])
def test_flags_that_kubectl_has(command: str, tmp_path: Path) -> None:
    told = run(kubectl_command(), *command.split(), "--help", url="", home=tmp_path).stdout
    theirs = set(re.findall(r"^ {4,6}(?:-\w, )?--([\w-]+)=", told, re.MULTILINE))
    assert len(theirs) > 1
    assert theirs - KNOWN[command] - GLOBAL == NOT_THERE.get(command, set())


def test_flags_that_mean_nothing(tmp_path: Path) -> None:
    flags = "--cache-dir=/none --match-server-version --profile=cpu --profile-output=/none/x --vmodule=a=9 --log-flush-frequency=1s"
    assert {flag.name for flag in GLOBAL_FLAGS if flag.ignored} == set(re.findall(r"--([\w-]+)", flags))
    with pods() as server:
        (tmp_path / "config").write_text(kubeconfig(server.url))
        ran = run_here(["get", "pods", "-o", "name", *flags.split()], tmp_path)
        assert (ran.stdout, ran.stderr, ran.code, requests(server)) == (
            "pod/a\npod/b\n", "", 0, ["/api/v1/namespaces/default/pods?limit=500"]
        )  # fmt: skip


OWN_FLAGS = {
    "rollout status": ["--explain", "--fail-fast", "--all", "-A", "--parallel", "--prefix", "--require", "--any", "--timeout-total",
                       "-o", "--detailed-exitcode", "--progress", "--any-kind"],
    "wait": ["--any", "--fail-on"],
}  # fmt: skip


@pytest.mark.kubectl
@pytest.mark.parametrize("command", OWN_FLAGS)
def test_flags_that_only_rawkube_has(command: str, tmp_path: Path) -> None:
    told = run(kubectl_command(), *command.split(), "--help", url="", home=tmp_path).stdout
    for flag in OWN_FLAGS[command]:
        assert f"{flag}=" not in told and f"{flag}, " not in told, flag
        assert flag.removeprefix("--") in KNOWN[command] or flag in ("-A", "-o")


@pytest.mark.parametrize("keys", [*itertools.permutations(["b9", "b10", "b1a"])])
def test_keys_whose_order_goes_round_in_a_circle(keys: Sequence[str]) -> None:
    """kubectl has them in the order in which its map happened to give them."""
    assert sorted_keys(keys) == ["b10", "b1a", "b9"]


def test_a_proxy_listens_where_nobody_does() -> None:
    assert read_command(["proxy"])[1].values["port"] == 0


@pytest.mark.kubectl
def test_what_kubectls_proxy_does_unasked(tmp_path: Path) -> None:
    told = run(kubectl_command(), "proxy", "--help", url="", home=tmp_path).stdout
    assert "--port=8001:" in told
    assert "--reject-paths='^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach':" in told


def test_a_failing_discovery_is_asked_once(tmp_path: Path) -> None:
    with DiscoveryServer([res("pods.v1.")], answers={"/apis": failure(503, "words of the server")}) as server:
        (tmp_path / "config").write_text(kubeconfig(server.url))
        ran = run_here(["get", "nosuch"], tmp_path)
        assert [each.path for each in server.asked] == ["/api", "/apis"]
    said = "Error from server (ServiceUnavailable): the server is currently unable to handle the request"
    assert ran.stderr.splitlines() == ["the server says: words of the server", said]
