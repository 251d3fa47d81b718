"""What a container's main process prints: seen live, and read afterwards."""

from __future__ import annotations

import pytest

from tests.cluster import manifests
from tests.cluster.manifests import container, shell
from tests.cluster.rig import Cluster, until

pytestmark = pytest.mark.cluster

COUNTING = "i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo line $i; done"
COUNTED = "".join(f"line {number}\n" for number in range(1, 501))


def ended_pod(cluster: Cluster, script: str) -> str:
    name = cluster.create(manifests.pod(cluster.name("logs"), container(shell(script)), restartPolicy="Never"))
    until(lambda: cluster.get("Pod", name)["status"].get("phase") in {"Succeeded", "Failed"}, f"{name} did not end")
    return name


def test_attach_shows_what_is_printed_from_now_on(cluster: Cluster) -> None:
    pod = cluster.running_pod(container(shell("i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.2; done")))
    with cluster.start("attach", pod) as watching:
        first = int(watching.look_for("tick ").split()[1])
        for number in (first + 1, first + 2):
            watching.look_for(f"tick {number}\n")


def test_attach_passes_input_and_gives_the_exit_code(cluster: Cluster) -> None:
    script = "read word; echo got $word; exit 4"
    pod = cluster.running_pod(container(shell(script), stdin=True, stdinOnce=True), restartPolicy="Never")
    ended = cluster.rawkube("attach", "-i", pod, stdin=b"hello\n")
    assert (ended.text, ended.code) == ("got hello\n", 4), ended.describe()


def test_logs_are_whole(cluster: Cluster) -> None:
    pod = ended_pod(cluster, COUNTING)
    assert cluster.compare("logs", pod).ok().text == COUNTED
    assert cluster.compare("logs", pod, "--tail=2").ok().text == "line 499\nline 500\n"
    assert cluster.compare("logs", pod, "--limit-bytes=10").ok().text == COUNTED[:10]
    stamped = cluster.compare("logs", pod, "--timestamps", "--prefix").ok().text.splitlines()
    assert len(stamped) == 500 and stamped[0].endswith("Z line 1")
    assert cluster.rawkube("logs", "-f", pod).ok().text == COUNTED, "what has ended is followed to its end"


def test_logs_are_followed_to_the_end(cluster: Cluster) -> None:
    script = "i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo line $i; sleep 0.2; done; exit 3"
    pod = cluster.create(manifests.pod(cluster.name("follow"), container(shell(script)), restartPolicy="Never"))
    until(lambda: cluster.get("Pod", pod)["status"].get("phase") in {"Running", "Failed"}, f"{pod} did not begin")
    ended = cluster.rawkube("logs", "-f", pod).ok()
    assert ended.text == "".join(f"line {number}\n" for number in range(1, 21))


def test_logs_of_the_run_before(cluster: Cluster) -> None:
    pod = cluster.create(manifests.pod(cluster.name("crash"), container(shell("echo broken; exit 1"))))

    def restarted() -> bool:
        statuses = cluster.get("Pod", pod)["status"].get("containerStatuses") or [{}]
        return bool(statuses[0].get("restartCount"))

    until(restarted, f"{pod} was not restarted")
    assert cluster.rawkube("logs", "--previous", pod).ok().text == "broken\n"
    cluster.delete("Pod", pod)


def test_logs_of_several_containers(cluster: Cluster) -> None:
    both = [container(shell(f"echo from {name}; sleep 3600"), name=name) for name in ("one", "two")]
    pod = cluster.running_pod(*both)
    until(lambda: cluster.rawkube("logs", pod, "-c", "two").stdout != b"", "nothing was logged")
    said = cluster.rawkube("logs", "--all-containers", "--prefix", "-l", f"app={pod}")
    assert sorted(said.ok().text.splitlines()) == [f"[pod/{pod}/{name}] from {name}" for name in ("one", "two")]
    assert cluster.compare("logs", pod, "-c", "two").ok().text == "from two\n"
