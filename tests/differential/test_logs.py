"""`logs`: one scripted server, two programs. What kubectl prints and asks for is what rawkube prints and asks for."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.logs_server import Log, LogsServer, Reply, answers, line
from tests.support.pods_server import a_pod, statuses, terminated
from tests.support.run import environment, kubectl_command, without_klog
from tests.support.script import Answer, failure
from tests.support.warm import warm

Object = dict[str, Any]
NAMESPACE = "/namespaces/default"


def log(*texts: str, **more: Any) -> Log:
    return Log([line(at, text) for at, text in enumerate(texts)], **more)


def annotated(pod: Object, container: str) -> Object:
    pod["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": container}
    return pod


def owner(kind: str, name: str = "web", selector: Any = None) -> Object:
    group = {"Deployment": "apps/v1", "CronJob": "batch/v1"}.get(kind, "v1")
    spec = {} if selector is None else {"selector": selector}
    return {"kind": kind, "apiVersion": group, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def with_status(name: str, phase: str = "Running", *, ready: str = "", restarts: int = 0, born: str = "") -> Object:
    """A pod of the app `many`."""
    status: Object = {"containerStatuses": [{"name": "main", "restartCount": restarts}]}
    if ready:
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": ready}]
    pod = a_pod(name, phase=phase, labels={"app": "many"}, status=status)
    pod["metadata"]["creationTimestamp"] = born or None
    return pod


MORNING, NOON = "2026-11-30T09:00:00Z", "2026-11-30T12:00:00Z"


def world() -> LogsServer:
    binary = Log([line(0, b"\xff\xfe\x00"), line(1, b"no end", end=b"")])
    waiting = answers(failure(400, 'container "main" in pod "waits" is waiting to start: ContainerCreating'))
    pods = [
        a_pod("one"),
        a_pod("multi", "a", "b", labels={"app": "web"}, initContainers=[{"name": "i"}]),
        annotated(a_pod("chosen", "a", "b"), "b"),
        annotated(a_pod("mischosen", "a", "b"), "zz"),
        a_pod("w1", labels={"app": "web"}),
        a_pod("w2", labels={"app": "web"}),
        a_pod("binary"),
        a_pod("cut"),
        a_pod("waits"),
        a_pod("half", "a", "b"),
        a_pod("over", status=statuses(state=terminated(0))),
    ]
    logs: dict[str, Sequence[Reply]] = {
        "one/main": [log("x", "y", "z")],
        "multi/a": [log("a1", "a2")],
        "multi/b": [log("b1")],
        "multi/i": [log("i1")],
        "chosen/b": [log("d")],
        "mischosen/a": [log("m")],
        "w1/main": [log("w1")],
        "w2/main": [log("w2")],
        "binary/main": [binary],
        "cut/main": [log("hello", "world").breaks(8)],
        "waits/main": [waiting],
        "half/a": [log("hello", "world").breaks(8)],
        "half/b": [log("fine")],
        "over/main": [log("x", "y")],
    }
    return LogsServer(pods, logs, objects())


def objects() -> dict[str, Object | Answer]:
    selector = {"matchLabels": {"app": "web"}}
    return {
        f"/apis/apps/v1{NAMESPACE}/deployments/web": owner("Deployment", selector=selector),
        f"/apis/apps/v1{NAMESPACE}/deployments/many": owner("Deployment", "many", {"matchLabels": {"app": "many"}}),
        f"/apis/batch/v1{NAMESPACE}/cronjobs/web": owner("CronJob"),
        f"/api/v1{NAMESPACE}/configmaps/web": owner("ConfigMap"),
        f"/api/v1{NAMESPACE}/services/web": owner("Service"),
        f"/api/v1{NAMESPACE}/pods/forbidden": failure(403, 'pods "forbidden" is forbidden'),
        f"/api/v1{NAMESPACE}/pods/html": Answer("404 Not Found", "<html>", content_type="text/html"),
    }


class Outcome(NamedTuple):
    """`asked`: sorted where the order is chance (kubectl walks over a Go map)."""

    stdout: bytes
    last: str
    code: int
    asked: list[str]


def of_kubectl(args: Sequence[str], home: Path, server: LogsServer) -> Outcome:
    with server:
        env = environment(home, server.url)
        warm(home, server.url)
        command = [*kubectl_command(), "logs", *args]
        ran = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    said = without_klog(ran.stderr.decode()).replace("kubectl", "rawkube").splitlines()
    return Outcome(ran.stdout, said[-1] if said else "", ran.returncode, server.targets())


def of_rawkube(args: Sequence[str], home: Path, server: LogsServer) -> Outcome:
    out, err = io.BytesIO(), io.BytesIO()
    with server:
        config = environment(home, server.url)["KUBECONFIG"]
        code = main(["--kubeconfig", config, "logs", *args], out=Output(out, err))
    said = err.getvalue().decode().splitlines()
    return Outcome(out.getvalue(), said[-1] if said else "", code, server.targets())


def in_any_order(outcome: Outcome) -> Outcome:
    return outcome._replace(
        stdout=b"".join(sorted(outcome.stdout.splitlines(keepends=True))), asked=sorted(outcome.asked)
    )


def without_what_following_takes(outcome: Outcome) -> Outcome:
    """rawkube asks for timestamps, limits the bytes itself, and looks at the pod when the log has ended."""
    asked = [each.replace("&timestamps=true", "") for each in outcome.asked]
    asked = [re.sub("&limitBytes=[0-9]+", "", each) for each in asked]
    return outcome._replace(asked=list(dict.fromkeys(asked)))


ONE = [
    "one",
    "pod/one",
    "pods one",
    "multi",
    "multi -c b",
    "multi b",
    "multi b -c a",
    "multi -c zz",
    "multi --all-containers -c a",
    "multi --all-pods",
    "chosen",
    "chosen --all-pods",
    "mischosen",
    "deploy/web",
    "deploy/web --all-pods -c a",
    "-l app=web -c b",
    "-l app=zz",
    "-l app=zz --tail=-5",
    "-l app=web one",
    "-l app=web --tail=-5",
    "-l app=web -f --max-log-requests=2",
    "deploy/web --all-pods -f --max-log-requests=2",
    "multi -f --all-containers --max-log-requests=2",
    "a b c",
    "",
    "--all-pods",
    "one/",
    "/one",
    "a/b/c",
    "pod/One_",
    "binary",
    "binary --prefix",
    "binary -f",
    "cut",
    "cut --prefix",
    "cut --ignore-errors",
    "waits",
    "waits -f --pod-running-timeout=100ms",
    "waits -f --ignore-errors",
    "waits --ignore-errors",
    "one --tail=0",
    "one --tail=2",
    "one --tail=x",
    "one --tail=1 -l=",
    "one --since=5s",
    "one --since=1500ms",
    "one --since=-5s",
    "one --since=0s",
    "one --since=x",
    "one --since-time=2026-11-30T10:00:01Z",
    "one --since-time=2026-11-30T12:00:01.5+02:00",
    "one --since-time=",
    "one --since-time=x",
    "one --since-time=2026-11-30",
    "one --since-time=2026-11-30T10:00:01",
    "one --since-time=2026-13-30T10:00:01Z",
    "one --since-time=2026-02-30T10:00:01Z",
    "one --since-time=2026-11-30T10:00:01+0200",
    "one --since-time=2026-11-30T10:00:01Zz",
    "one --since-time=2026-11-30T24:00:01Z",
    "one --since=5s --since-time=2026-11-30T10:00:01Z",
    "one --limit-bytes=3",
    "one --limit-bytes=-3",
    "one --limit-bytes=0",
    "one --timestamps",
    "one --prefix --timestamps",
    "one -p",
    "one -p -f",
    "one -f",
    "over -f",
    "one -f --limit-bytes=3",
    "one -f --timestamps --prefix",
    "one --insecure-skip-tls-verify-backend",
    "one --pod-running-timeout=0s",
    "one --all-pods --prefix=false",
    "one --max-log-requests=0",
    "cm/web",
    "svc/web",
    "cronjob/web",
    "foo/one",
    "nope",
    "deploy/nope",
    "nope -n other",
    "forbidden",
    "html",
]
MANY = [
    "multi --all-containers",
    "multi --all-containers --prefix",
    "multi --all-containers --all-pods",
    "multi -f --all-containers",
    "deploy/web --all-pods",
    "deploy/web --all-containers",
    "deploy/web --all-pods --all-containers",
    "-l app=web",
    "-l app=web --all-pods",
    "-l app=web --all-containers",
    "-l app=web --tail=-1 --prefix",
    "-l app=web -f --prefix",
    "half --all-containers --ignore-errors --prefix",
]


@pytest.mark.kubectl
@pytest.mark.parametrize("words", ONE)
def test_as_kubectl(words: str, tmp_path: Path) -> None:
    kubectl = of_kubectl(words.split(), tmp_path / "k", world())
    rawkube = of_rawkube(words.split(), tmp_path / "r", world())
    if "-f" in words.split():
        kubectl, rawkube = without_what_following_takes(kubectl), without_what_following_takes(rawkube)
    assert rawkube == kubectl


@pytest.mark.kubectl
@pytest.mark.parametrize("words", MANY)
def test_several_as_kubectl(words: str, tmp_path: Path) -> None:
    kubectl = in_any_order(without_what_following_takes(of_kubectl(words.split(), tmp_path / "k", world())))
    rawkube = in_any_order(without_what_following_takes(of_rawkube(words.split(), tmp_path / "r", world())))
    looks = {f"pods/{name}" for name in ("multi", "w1", "w2") if "-f" in words.split()}
    assert set(rawkube.asked) - looks == set(kubectl.asked) - looks
    assert rawkube._replace(asked=[]) == kubectl._replace(asked=[])


BETTER = [
    (with_status("a"), with_status("b", ready=NOON)),
    (with_status("a", ready=NOON), with_status("b", ready=MORNING)),
    (with_status("a", "Pending"), with_status("b", "Unknown")),
    (with_status("a", "Unknown"), with_status("b", "Failed")),
    (with_status("a", "Succeeded"), with_status("b", "Running")),
    (with_status("a", restarts=1), with_status("b", restarts=3)),
    (with_status("a", born=NOON), with_status("b", born=MORNING)),
    (with_status("a"), with_status("b", born=MORNING)),
    (with_status("a", "Failed", restarts=3), with_status("b", "Running", ready=NOON)),
]


@pytest.mark.kubectl
@pytest.mark.parametrize("pods", BETTER, ids=range(len(BETTER)))
def test_the_same_pod_of_several(pods: tuple[Object, Object], tmp_path: Path) -> None:
    logs = {"a/main": [log("a")], "b/main": [log("b")]}
    kubectl = of_kubectl(["deploy/many"], tmp_path / "k", LogsServer(pods, logs, objects()))
    assert of_rawkube(["deploy/many"], tmp_path / "r", LogsServer(pods, logs, objects())) == kubectl
    assert kubectl.last.startswith("Found 2 pods, using pod/")
