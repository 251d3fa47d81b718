"""Reading: get, watch, wait; through a restart of the API server, too."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.cluster import manifests
from tests.cluster.manifests import Object, config_map, container, pod_spec
from tests.cluster.rig import PATIENCE, Cluster, until

pytestmark = pytest.mark.cluster

RESTART = os.environ.get("RAWKUBE_TEST_RESTART_COMMAND", "")
_RESTARTING = 120.0


def test_get(cluster: Cluster) -> None:
    workload = cluster.rolled_out(manifests.deployment(cluster.name("got"), replicas=1))
    name = workload.partition("/")[2]
    assert cluster.compare("get", "deployment", name, "-o", "name").ok().text == f"deployment.apps/{name}\n"
    one = json.loads(cluster.compare("get", "deploy", name, "-o", "json").ok().stdout)
    assert one["metadata"]["name"] == name
    cluster.compare("get", workload, "-o", "yaml").ok()
    pods = cluster.compare("get", "rs,pods", "-l", f"app={name}", "-o", "name", "--chunk-size=1").ok().text
    assert [line.partition("/")[0] for line in pods.split()] == ["replicaset.apps", "pod"]
    table = cluster.rawkube("get", "deploy", name).ok().text.splitlines()
    assert table[0].split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert table[1].split()[:4] == [name, "1/1", "1", "1"]
    missing = 'Error from server (NotFound): pods "nobody" not found'
    cluster.compare("get", "pod", "nobody").fails(1, missing)


def test_watch_shows_each_change(cluster: Cluster) -> None:
    name = cluster.create(config_map(cluster.name("watched"), a="0"))
    with cluster.start("watch", f"configmap/{name}", "-o", "json", "--count=5", "--timeout=80s") as watching:
        watching.look_for('"initial":true')
        for value in "123":
            cluster.patch("ConfigMap", name, {"data": {"a": value}})
        cluster.delete("ConfigMap", name)
        events = [json.loads(line) for line in watching.wait().ok().text.splitlines()]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]
    assert [event["object"]["data"]["a"] for event in events] == ["0", "1", "2", "3", "3"]


def test_the_server_may_stream_what_there_is(cluster: Cluster) -> None:
    name = cluster.create(config_map(cluster.name("streamed"), a="0"))
    flags = ["--initial-events", "-o", "name", "--count=1", "--timeout=60s"]
    assert cluster.rawkube("watch", f"configmap/{name}", *flags).ok().text == f"configmap/{name}\n"


def test_a_watch_that_the_server_ends_goes_on(cluster: Cluster) -> None:
    name = cluster.create(config_map(cluster.name("short"), a="0"))
    flags = ["-o", "json", "--watch-timeout=2s", "--count=3", "--timeout=80s"]
    with cluster.start("watch", f"configmap/{name}", *flags) as watching:
        watching.look_for('"initial":true')
        for value in ("1", "2"):
            subprocess.run(["sleep", "3"], check=True)  # the server ends the watch after two seconds
            cluster.patch("ConfigMap", name, {"data": {"a": value}})
            watching.look_for(f'"a":"{value}"')
        events = [json.loads(line) for line in watching.wait().ok().text.splitlines()]
    assert [event["object"]["data"]["a"] for event in events] == ["0", "1", "2"]


def test_wait(cluster: Cluster) -> None:
    pod = cluster.running_pod()
    assert cluster.compare("wait", f"pod/{pod}", "--for=condition=Ready").ok().text == f"pod/{pod} condition met\n"
    with cluster.start("wait", f"pod/{pod}", "--for=delete", "--timeout=60s") as waiting:
        cluster.delete("Pod", pod)
        assert waiting.wait().ok().text == f"pod/{pod} condition met\n"
    never = cluster.create(config_map(cluster.name("never"), a="0"))
    late = cluster.rawkube("wait", f"configmap/{never}", "--for=jsonpath={.data.a}=1", "--timeout=2s")
    late.fails(1, f"error: timed out waiting for the condition on configmaps/{never}")


@pytest.mark.restarts
@pytest.mark.skipif(not RESTART, reason="RAWKUBE_TEST_RESTART_COMMAND says nothing about restarting the API server")
def test_watches_live_through_a_restart_of_the_api_server(cluster: Cluster) -> None:
    waiting_for_file: Object = {"readinessProbe": {"exec": {"command": ["cat", "/tmp/go"]}, "periodSeconds": 1}}
    template = pod_spec(container(**waiting_for_file))
    held = cluster.create(manifests.deployment(cluster.name("held"), template, replicas=1))
    name = cluster.create(config_map(cluster.name("restarted"), a="0"))
    with (
        cluster.start("watch", f"configmap/{name}", "-o", "json") as watching,
        cluster.start("rollout", "status", f"deployment/{held}", "--explain=never") as following,
    ):
        watching.look_for('"initial":true')
        following.look_for("0 of 1 updated replicas are available")
        subprocess.run(["sh", "-c", RESTART], check=True, timeout=_RESTARTING, stdin=subprocess.DEVNULL)
        until(lambda: cluster.rawkube("raw", "/readyz").code == 0, "the API server did not come back", _RESTARTING)
        cluster.patch("ConfigMap", name, {"data": {"a": "after"}})
        watching.look_for('"a":"after"')
        going = ["exec", f"deployment/{held}", "--", "touch", "/tmp/go"]
        until(lambda: cluster.rawkube(*going).code == 0, "the kubelet did not come back", _RESTARTING)
        ended = following.wait(PATIENCE).ok()
    assert ended.text.splitlines()[-1] == f'deployment "{held}" successfully rolled out'
