"""Rollouts of the three kinds, to each of their ends."""

from __future__ import annotations

import json
import re

import pytest

from tests.cluster import manifests
from tests.cluster.manifests import container, new_template, pod_spec, rolling
from tests.cluster.rig import Cluster, until

pytestmark = pytest.mark.cluster

NEVER_READY: manifests.Object = {"readinessProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1}}
ABSENT = "rawkube-test.invalid/absent:1"
_WAITING = re.compile(
    r"Waiting for deployment spec update to be observed\.\.\."
    r'|Waiting for deployment "\S+" rollout to finish: '
    r"(\d+ out of \d+ new replicas have been updated|\d+ old replicas are pending termination"
    r"|\d+ of \d+ updated replicas are available)\.\.\."
)


def stuck() -> manifests.Object:
    return pod_spec(container(**NEVER_READY))


def revisions(text: str) -> list[int]:
    return [int(line.split()[0]) for line in text.splitlines() if line[:1].isdigit()]


def status(cluster: Cluster, workload: str, *flags: str) -> list[str]:
    """The lines of a rollout that comes to its end."""
    return cluster.rawkube("rollout", "status", workload, "--timeout=80s", *flags).ok().text.splitlines()


def test_a_deployment_is_updated_taken_back_and_restarted(cluster: Cluster) -> None:
    workload = cluster.rolled_out(manifests.deployment(cluster.name("web"), replicas=3))
    name = workload.partition("/")[2]
    done = f'deployment "{name}" successfully rolled out'
    cluster.patch("Deployment", name, new_template("2"))
    *waiting, last = status(cluster, workload)
    assert last == done
    assert waiting, "three replicas are not updated at once"
    assert [line for line in waiting if not _WAITING.fullmatch(line)] == []
    assert cluster.compare("rollout", "status", workload).text == f"{done}\n"
    assert revisions(cluster.compare("rollout", "history", workload).ok().text) == [1, 2]

    cluster.compare("rollout", "status", workload, "--revision=1").fails(
        1, "error: desired revision (1) is different from the running revision (2)"
    )
    undone = cluster.rawkube("rollout", "undo", workload).ok()
    assert undone.text == f"deployment.apps/{name} rolled back\n"
    assert status(cluster, workload)[-1] == done
    assert revisions(cluster.compare("rollout", "history", workload).text) == [2, 3]
    template = cluster.get("Deployment", name)["spec"]["template"]["metadata"]
    assert not template.get("annotations"), "the template of the first revision has none"

    restarted = cluster.rawkube("rollout", "restart", workload).ok()
    assert restarted.text == f"deployment.apps/{name} restarted\n"
    assert status(cluster, workload)[-1] == done


def test_a_paused_deployment_does_not_go_on(cluster: Cluster) -> None:
    workload = cluster.rolled_out(manifests.deployment(cluster.name("paused")))
    name = workload.partition("/")[2]
    assert cluster.rawkube("rollout", "pause", workload).ok().text == f"deployment.apps/{name} paused\n"
    cluster.compare("rollout", "pause", workload).fails(1, f'error: deployments.apps "{name}" is already paused')
    cluster.compare("rollout", "restart", workload).fails(
        1, f'error: deployments.apps "{name}" can\'t restart paused deployment (run rollout resume first)'
    )
    cluster.patch("Deployment", name, new_template("2"))
    late = cluster.rawkube("rollout", "status", workload, "--timeout=4s")
    late.fails(1, "error: timed out waiting for the condition")
    assert late.text.splitlines()[-1] == (
        f'Waiting for deployment "{name}" rollout to finish: 0 out of 2 new replicas have been updated...'
    )
    assert cluster.rawkube("rollout", "resume", workload).ok().text == f"deployment.apps/{name} resumed\n"
    assert status(cluster, workload)[-1] == f'deployment "{name}" successfully rolled out'


def test_a_stuck_deployment_fails_at_its_deadline_and_is_taken_back(cluster: Cluster) -> None:
    workload = cluster.rolled_out(manifests.deployment(cluster.name("stuck")))
    name = workload.partition("/")[2]
    broken = {**container(), "image": ABSENT, "imagePullPolicy": "Never"}
    spec = {"progressDeadlineSeconds": 8, "template": {"spec": {"containers": [broken]}}}
    cluster.patch("Deployment", name, {"spec": spec})
    soon = cluster.rawkube("rollout", "status", workload, "--fail-fast", "--detailed-exitcode", "-o", "json")
    assert soon.code == 3, soon.describe()
    assert json.loads(soon.text.splitlines()[-1])["type"] in {"result", "summary"}
    failed = cluster.rawkube("rollout", "status", workload)
    failed.fails(1, f'error: deployment "{name}" exceeded its progress deadline')
    assert ABSENT in failed.stderr, "the cause stands above the last line"
    cluster.rawkube("rollout", "undo", workload).ok()
    assert status(cluster, workload)[-1] == f'deployment "{name}" successfully rolled out'


def test_a_deployment_is_deleted_meanwhile(cluster: Cluster) -> None:
    name = cluster.create(manifests.deployment(cluster.name("gone"), stuck()))
    with cluster.start("rollout", "status", f"deployment/{name}", "--explain=never") as following:
        following.look_for("0 of 2 updated replicas are available")
        cluster.delete("Deployment", name)
        following.wait().fails(1, "error: object has been deleted")
    cluster.compare("rollout", "status", f"deployment/{name}").fails(
        1, f'Error from server (NotFound): deployments.apps "{name}" not found'
    )


def test_a_daemon_set_is_updated_and_taken_back(cluster: Cluster) -> None:
    workload = cluster.rolled_out(manifests.daemon_set(cluster.name("agent")))
    name = workload.partition("/")[2]
    done = f'daemon set "{name}" successfully rolled out'
    cluster.patch("DaemonSet", name, new_template("2"))
    *waiting, last = status(cluster, workload)
    assert last == done
    assert [line for line in waiting if not line.startswith("Waiting for daemon set ")] == []
    assert revisions(cluster.compare("rollout", "history", workload).text) == [1, 2]
    assert cluster.rawkube("rollout", "undo", workload).ok().text == f"daemonset.apps/{name} rolled back\n"
    assert status(cluster, workload)[-1] == done
    assert cluster.compare("rollout", "status", workload).text == f"{done}\n"


def test_a_stateful_set_is_updated_and_taken_back(cluster: Cluster) -> None:
    thing = manifests.stateful_set(cluster.name("db"), podManagementPolicy="Parallel", updateStrategy=rolling())
    workload = cluster.rolled_out(thing)
    name = workload.partition("/")[2]
    cluster.patch("StatefulSet", name, new_template("2"))
    assert len(status(cluster, workload)) > 1
    assert revisions(cluster.compare("rollout", "history", workload).text) == [1, 2]
    assert cluster.rawkube("rollout", "undo", workload).ok().text == f"statefulset.apps/{name} rolled back\n"
    status(cluster, workload)
    cluster.compare("rollout", "status", workload).ok()
    found = cluster.get("StatefulSet", name)
    assert found["status"]["updatedReplicas"] == found["status"]["readyReplicas"] == 2


def test_a_partition_ends_an_update_early(cluster: Cluster) -> None:
    thing = manifests.stateful_set(
        cluster.name("part"), replicas=3, podManagementPolicy="Parallel", updateStrategy=rolling(partition=2)
    )
    workload = cluster.rolled_out(thing)
    cluster.patch("StatefulSet", workload.partition("/")[2], new_template("2"))
    done = "partitioned roll out complete: 1 new pods have been updated..."
    assert status(cluster, workload)[-1] == done
    assert cluster.compare("rollout", "status", workload).text == f"{done}\n"


def test_what_cannot_be_followed(cluster: Cluster) -> None:
    name = cluster.create(manifests.stateful_set(cluster.name("on"), updateStrategy={"type": "OnDelete"}, replicas=0))
    only = "error: rollout status is only available for RollingUpdate strategy type"
    cluster.compare("rollout", "status", f"sts/{name}").fails(1, only)
    none = cluster.compare("rollout", "status", "deployment", "-l", "app=nobody").ok()
    assert none.stderr == f"No resources found in {cluster.namespace} namespace.\n"


def test_many_at_once(cluster: Cluster) -> None:
    label = {"metadata": {"labels": {"group": cluster.name("many")}}}
    names = [cluster.create(manifests.deployment(cluster.name("one"), replicas=1)) for _ in range(3)]
    for name in names:
        cluster.patch("Deployment", name, label)
    selector = f"group={label['metadata']['labels']['group']}"
    ended = cluster.rawkube("rollout", "status", "deployment", "-l", selector, "--parallel", "--timeout-total=80s").ok()
    for name in names:
        assert f'deployment "{name}" successfully rolled out' in ended.text.splitlines()
    until(
        lambda: cluster.compare("rollout", "status", "deployment", "-l", selector).text.count("successfully") == 3,
        "kubectl agrees",
    )
