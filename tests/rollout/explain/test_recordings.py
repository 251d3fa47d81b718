"""Every recorded workload that cannot finish: which findings it gives, word by word."""

from __future__ import annotations

from rawkube.rollout.explain import explain
from rawkube.rollout.explain.finding import CODES, MAYBE, NEVER, WAITS
from rawkube.rollout.explain.scene import Scene
from tests.support.rows import looped
from tests.support.scenes import NAMES, scene_of

# What a Deployment that does not move says of its deadline is said once, in `DEADLINE`.
DEADLINE = ("ProgressDeadline", "ProgressDeadlineNever")

# The name of a recording: the findings as (code, whether it can heal, text).
EXPECTED: dict[str, list[tuple[str, str, str]]] = {
    "bad-command": [
        (
            "CommandNotFound",
            NEVER,
            '2 of 2 pods: container app cannot start: its command "/no/such/binary" does not exist in the image, '
            "tried again 4 times",
        )
    ],
    "crash-exit": [
        ("ContainerCrashes", MAYBE, "2 of 2 pods: container app crashes with exit code 1, restarted 4 times")
    ],
    "crash-later": [
        ("ContainerCrashes", MAYBE, "2 of 2 pods: container app crashes with exit code 2, restarted 3 times")
    ],
    "ds-crash": [("ContainerCrashes", MAYBE, "container app crashes with exit code 1, restarted 5 times")],
    "healthy": [],
    "image-name": [
        (
            "ImageNameInvalid",
            NEVER,
            '2 of 2 pods: container app cannot start: "UPPER/Case::bad" is no valid name of an image: '
            "repository name (Case) must be lowercase",
        )
    ],
    "image-never": [
        (
            "ImageNeverPulled",
            NEVER,
            '2 of 2 pods: container app cannot start: image "docker.io/library/absent:1" is not on the node, '
            "and imagePullPolicy Never forbids to pull it",
        )
    ],
    "image-pull": [
        (
            "ImageRegistryUnreachable",
            MAYBE,
            '2 of 2 pods: container app cannot start: the registry of image "registry.invalid/team/app:v9" cannot be '
            "reached: dial tcp: lookup registry.invalid on 10.255.255.53:53: no such host",
        )
    ],
    "init-fails": [
        ("InitContainerFails", MAYBE, "2 of 2 pods: init container migrate fails with exit code 3, restarted 4 times")
    ],
    "init-slow": [
        (
            "InitContainerRuns",
            WAITS,
            "2 of 2 pods: init container wait-for-db has not ended yet, it has been running since 18:45:28Z",
        )
    ],
    "limit-range": [
        (
            "LimitRange",
            NEVER,
            "a Pod cannot be created: a LimitRange forbids it: minimum memory usage per Container is 128Mi, "
            "but request is 64Mi",
        )
    ],
    "liveness-fails": [
        (
            "LivenessProbeFails",
            MAYBE,
            "2 of 2 pods: container app is killed because its liveness probe (false) fails, restarted 5 times: "
            "no output",
        )
    ],
    "min-ready": [
        (
            "MinReadySeconds",
            WAITS,
            "2 ready Pods count as available only after minReadySeconds (3600), at 19:45:29Z: 58m1s are left",
        )
    ],
    "missing-configmap": [
        ("ConfigMapMissing", MAYBE, '2 of 2 pods: container app cannot start: ConfigMap "nope" does not exist')
    ],
    "missing-secret-key": [
        ("SecretMissing", MAYBE, '2 of 2 pods: container app cannot start: Secret "nope" does not exist')
    ],
    "missing-volume": [
        ("ConfigMapMissing", MAYBE, '2 of 2 pods: volume "v" cannot be mounted: ConfigMap "nope" does not exist')
    ],
    "oom": [
        (
            "OOMKilled",
            MAYBE,
            "2 of 2 pods: container app is killed for using more than its memory limit of 16Mi (OOMKilled), "
            "restarted 4 times",
        )
    ],
    "pvc-missing": [("ClaimMissing", MAYBE, '2 of 2 pods: PersistentVolumeClaim "nope" does not exist')],
    "pvc-pending": [
        (
            "ClaimPending",
            MAYBE,
            '2 of 2 pods: PersistentVolumeClaim "claimed" is not bound: storage class "nosuch" does not exist',
        )
    ],
    "quota": [
        (
            "QuotaExceeded",
            MAYBE,
            'a Pod cannot be created: the quota "pods" leaves no room (pods: 1 requested, 1 of 1 used)',
        )
    ],
    "readiness-fails": [
        (
            "ReadinessProbeFails",
            MAYBE,
            "2 of 2 pods: the readiness probe (cat /tmp/never) of container app has been failing since 18:45:27Z: "
            "cat: can't open '/tmp/never': No such file or directory",
        )
    ],
    "service-account-missing": [
        ("ServiceAccountMissing", MAYBE, 'a Pod cannot be created: ServiceAccount "nope" does not exist')
    ],
    "startup-fails": [
        (
            "StartupProbeFails",
            MAYBE,
            "2 of 2 pods: container app is killed because its startup probe (TCP port 9) fails, restarted 5 times: "
            "dial tcp 10.244.0.201:9: connect: connection refused",
        )
    ],
    "sts-first-pod": [
        (
            "ReadinessProbeFails",
            MAYBE,
            "the readiness probe (false) of container app has been failing since 18:45:28Z: no output",
        ),
        (
            "PodBlocksOthers",
            WAITS,
            "sts-first-pod-1 and sts-first-pod-2 are not created before sts-first-pod-0 is ready "
            "(podManagementPolicy is OrderedReady)",
        ),
    ],
    "sts-pvc-pending": [
        (
            "ClaimPending",
            MAYBE,
            'PersistentVolumeClaim "data-sts-pvc-pending-0" is not bound: it names no storage class, and no free '
            "PersistentVolume fits it",
        ),
        (
            "PodBlocksOthers",
            WAITS,
            "sts-pvc-pending-1 is not created before sts-pvc-pending-0 is ready (podManagementPolicy is OrderedReady)",
        ),
    ],
    "unschedulable-cpu": [
        ("Unschedulable", MAYBE, "2 of 2 pods: no node fits: the only node has too little cpu; the Pod asks for 64 cpu")
    ],
    "unschedulable-selector": [
        (
            "Unschedulable",
            MAYBE,
            "2 of 2 pods: no node fits: the only node is ruled out by the node selector disk=ssd",
        )
    ],
}
LOGS = {
    "crash-exit": ("starting", "cannot reach database at db:5432"),
    "crash-later": ("up", "panic: out of cheese"),
    "ds-crash": ("no kernel module",),
    "init-fails": ("relation users does not exist", "migrating"),
    "oom": ("Killed",),
}


def test_every_recording_has_a_row() -> None:
    assert sorted(EXPECTED) == NAMES


@looped("name", NAMES)
def test_findings(name: str) -> None:
    scene, now = scene_of(name)
    found = explain(scene, now=now)
    assert [(one.code, one.resolves, one.text) for one in found if one.code not in DEADLINE] == EXPECTED[name]
    assert {one.code for one in found} <= CODES.keys()
    assert next((one.log for one in found if one.log), ()) == LOGS.get(name, ())
    is_stuck_deployment = scene.workload["kind"] == "Deployment" and bool(EXPECTED[name])
    assert sum(one.code in DEADLINE for one in found) == is_stuck_deployment
    for one in found:
        assert one.evidence and all(seen.source and seen.text for seen in one.evidence), one
        assert one.text.isprintable() and one.since.startswith("2026-11-30T18:"), one
        assert not one.objects or one.object in one.objects or not one.object.startswith("pod/"), one


def test_other_workloads_of_the_namespace_are_not_blamed() -> None:
    broken, now = scene_of("crash-exit")
    fine, _ = scene_of("healthy")
    mixed = fine._replace(
        owned=[*fine.owned, *broken.owned],
        pods=[*broken.pods, *fine.pods],
        events=[*broken.events, *fine.events],
        logs=broken.logs,
    )
    assert explain(mixed, now=now) == []
    assert [one.code for one in explain(mixed._replace(workload=broken.workload), now=now)][:1] == ["ContainerCrashes"]


@looped("name", NAMES)
def test_without_events_and_logs_the_status_alone_is_explained(name: str) -> None:
    """As where RBAC forbids them."""
    scene, now = scene_of(name)
    found = explain(scene._replace(events=(), logs={}, unseen={"events": "forbidden"}), now=now)
    codes = [one.code for one in found if one.code not in DEADLINE]
    same = [code for code, _, _ in EXPECTED[name]]
    assert codes == WITHOUT_EVENTS.get(name, same)


# What looks different then.
WITHOUT_EVENTS = {
    "liveness-fails": ["ContainerCrashes"],
    "missing-volume": ["PodCreating"],
    "readiness-fails": ["NotReady"],
    "startup-fails": ["ContainerCrashes"],
    "sts-first-pod": ["NotReady", "PodBlocksOthers"],
}


def test_nothing_is_said_of_an_empty_scene() -> None:
    assert explain(Scene({}), now=0.0) == []
