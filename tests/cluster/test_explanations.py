"""Workloads that cannot finish, and what is said of each, by its code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster import manifests
from tests.cluster.manifests import Object, container, pod_spec, shell
from tests.cluster.rig import Cluster

pytestmark = pytest.mark.cluster


def env_from(kind: str) -> list[dict[str, Any]]:
    return [{"name": "A", "valueFrom": {f"{kind}KeyRef": {"name": "nope", "key": "a"}}}]


ABSENT = {**container(), "image": "rawkube-test.invalid/absent:1", "imagePullPolicy": "Never"}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "nope"}}
FAILING: Object = {"readinessProbe": {"exec": {"command": ["cat", "/tmp/never"]}, "periodSeconds": 1}}
STUCK: dict[str, tuple[str, Object]] = {
    "image that is not there": ("ImageNeverPulled", pod_spec(ABSENT)),
    "image without a valid name": ("ImageNameInvalid", pod_spec({**container(), "image": "UPPER/Case::bad"})),
    "command that is not there": ("CommandNotFound", pod_spec(container(["/no/such/binary"]))),
    "crash": ("ContainerCrashes", pod_spec(container(shell("echo no database; exit 3")))),
    "init container that fails": ("InitContainerFails", pod_spec(initContainers=[container(["false"], name="init")])),
    "init container that goes on": ("InitContainerRuns", pod_spec(initContainers=[container(name="init")])),
    "no ConfigMap": ("ConfigMapMissing", pod_spec(container(env=env_from("configMap")))),
    "no Secret": ("SecretMissing", pod_spec(container(env=env_from("secret")))),
    "no claim": ("ClaimMissing", pod_spec(volumes=[CLAIM])),
    "no ServiceAccount": ("ServiceAccountMissing", pod_spec(serviceAccountName="nope")),
    "no node": ("Unschedulable", pod_spec(nodeSelector={"rawkube-test/no": "node"})),
    "readiness": ("ReadinessProbeFails", pod_spec(container(**FAILING))),
}


@pytest.mark.parametrize("what", STUCK)
def test_the_cause_is_named(cluster: Cluster, what: str) -> None:
    code, template = STUCK[what]
    name = cluster.create(manifests.deployment(cluster.name("stuck"), template, replicas=1))
    try:
        with cluster.start("rollout", "status", f"deployment/{name}", "-o", "json", "--explain=live") as following:
            line = json.loads(following.look_for(f'"code": "{code}"', timeout=60))
    finally:
        cluster.delete("Deployment", name)
    assert line["type"] == "finding"
    finding = line["finding"]
    assert (finding["code"], line["workload"]["name"]) == (code, name)
    assert finding["evidence"], "a finding says what it was seen by"


def test_what_is_well_has_no_finding(cluster: Cluster) -> None:
    workload = cluster.rolled_out(manifests.deployment(cluster.name("well"), replicas=1))
    ended = cluster.rawkube("rollout", "status", workload, "-o", "json", "--explain=live").ok()
    assert "finding" not in [json.loads(line)["type"] for line in ended.text.splitlines()]
