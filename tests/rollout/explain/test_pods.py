"""Pods as a whole: volumes, network, rejected and evicted ones, Jobs; and how findings are put together and ordered."""

from __future__ import annotations

from rawkube.rollout.explain.finding import CODES, MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.explain.grouping import grouped
from rawkube.rollout.explain.scene import Scene
from rawkube.rollout.explain.view import View
from tests.support.contained import end, look, over, pod_of, running, told, waiting
from tests.support.explained import NOW, Object, clock, condition, workload
from tests.support.rows import looped

CREATING = waiting("ContainerCreating")
V = 'MountVolume.SetUp failed for volume "v" : '

# Reason and message of an Event about a Pod that is being set up: what is found.
SET_UP: dict[tuple[str, str], tuple[str, str, str]] = {
    ("FailedMount", V + 'secret "tls" not found'): (
        "SecretMissing",
        MAYBE,
        'volume "v" cannot be mounted: Secret "tls" does not exist',
    ),
    ("FailedMount", V + "references non-existent secret key: ca.crt"): (
        "SecretKeyMissing",
        NEVER,
        'volume "v" cannot be mounted: the Secret of the volume has no key "ca.crt"',
    ),
    ("FailedMount", V + "references non-existent config key: a"): (
        "ConfigMapKeyMissing",
        NEVER,
        'volume "v" cannot be mounted: the ConfigMap of the volume has no key "a"',
    ),
    ("FailedMount", V + "failed to sync configmap cache: timed out waiting for the condition"): (
        "ConfigMapUnread",
        MAYBE,
        'volume "v" cannot be mounted: the kubelet has not yet been able to read its ConfigMaps',
    ),
    ("FailedMount", V + "hostPath type check failed: /data is not a directory"): (
        "VolumeMountFailed",
        MAYBE,
        'volume "v" cannot be mounted: hostPath type check failed: /data is not a directory',
    ),
    (
        "FailedMount",
        "Unable to attach or mount volumes: unmounted volumes=[data v], unattached volumes=[], failed to process "
        "volumes=[]: timed out waiting for the condition",
    ): ("VolumeMountFailed", MAYBE, "mounting volumes takes too long: data v"),
    (
        "FailedMount",
        "Unable to attach or mount volumes: unmounted volumes=[data]: error processing PVC d/data: failed to fetch PVC "
        'from API server: persistentvolumeclaim "data" not found',
    ): ("ClaimMissing", MAYBE, 'a volume cannot be mounted: PersistentVolumeClaim "data" does not exist'),
    (
        "FailedAttachVolume",
        'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) web-0-x',
    ): (
        "VolumeInUse",
        MAYBE,
        'volume "pvc-1" is still in use by another Pod: Volume is already used by pod(s) web-0-x',
    ),
    (
        "FailedAttachVolume",
        'AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = NotFound desc = no such disk',
    ): ("VolumeAttachFailed", MAYBE, 'volume "pvc-1" cannot be attached to the node: no such disk'),
    (
        "FailedCreatePodSandBox",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0abc": '
        'plugin type="calico" failed (add): connection is unauthorized',
    ): (
        "PodNetworkFailed",
        MAYBE,
        'the network of the Pod cannot be set up: plugin type="calico" failed (add): connection is unauthorized',
    ),
    ("FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = no space"): (
        "PodSandboxFailed",
        MAYBE,
        "the Pod's sandbox cannot be made: no space",
    ),
    ("NetworkNotReady", "network is not ready: container runtime network not ready: cni plugin not initialized"): (
        "PodNetworkFailed",
        MAYBE,
        "the network of the Pod cannot be set up: container runtime network not ready: cni plugin not initialized",
    ),
}


def only(found: list[Finding]) -> Finding:
    assert len(found) == 1, found
    assert found[0].code in CODES
    return found[0]


@looped(("said", "expected"), SET_UP.items(), ids=lambda value: value[0])
def test_a_pod_that_is_not_set_up(said: tuple[str, str], expected: tuple[str, str, str]) -> None:
    failed = told(*said, container="", at="14:59:00")
    one = only(look(pod_of([CREATING]), events=[failed]))
    assert (one.code, one.resolves, one.text) == expected
    assert (one.evidence[0].source, one.since) == (f"event {said[0]}", clock("14:55:00"))
    overcome = told("Pulling", 'Pulling image "x"', at="14:59:10")
    assert only(look(pod_of([CREATING]), events=[failed, overcome])).code == "ImagePulling"
    assert look(pod_of([running("14:59:55")], phase="Running"), events=[failed]) == []


def test_several_volumes_that_fail_are_told_apart() -> None:
    events = [
        told(
            "FailedMount", 'MountVolume.SetUp failed for volume "a" : configmap "x" not found', "14:59:00", container=""
        ),
        told("FailedMount", 'MountVolume.SetUp failed for volume "b" : secret "y" not found', "14:59:01", container=""),
        told(
            "FailedMount",
            "Unable to attach or mount volumes: unmounted volumes=[a b]: timed out",
            "14:59:09",
            container="",
        ),
    ]
    found = look(pod_of([CREATING]), events=events)
    assert [one.text for one in found] == [
        'volume "a" cannot be mounted: ConfigMap "x" does not exist',
        'volume "b" cannot be mounted: Secret "y" does not exist',
    ]
    attach = told("FailedAttachVolume", 'AttachVolume.Attach failed for volume "p" : no', "14:59:00", container="")
    done = told("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "p"', "14:59:30", container="")
    assert only(look(pod_of([CREATING]), events=[attach, done])).code == "PodCreating"


def test_what_takes_its_time() -> None:
    pulling = told("Pulling", 'Pulling image "reg.example/team/app:1"', "14:56:00", first="14:56:00")
    one = only(look(pod_of([CREATING]), events=[pulling]))
    assert (one.code, one.resolves, one.container) == ("ImagePulling", WAITS, "app")
    assert one.text == 'the node has been pulling image "reg.example/team/app:1" since 14:56:00Z'
    slow = only(look(pod_of([CREATING])))
    assert (slow.code, slow.resolves) == ("PodCreating", WAITS)
    assert slow.text == 'node "n1" has been setting up the Pod since 14:50:00Z'
    assert look(pod_of([CREATING], conditions=[condition("PodScheduled", "True", since="14:59:51")])) == []


def test_pods_that_are_no_concern() -> None:
    broken = [waiting("InvalidImageName")]
    assert look(pod_of(broken)) != []
    leaving = pod_of(broken)
    leaving["metadata"]["deletionTimestamp"] = clock("14:59:00")
    assert look(leaving) == []
    assert look(pod_of(broken, phase="Succeeded")) == []
    assert look(pod_of(broken, owner="other")) == []
    assert look(pod_of(broken, spec={"nodeName": ""})) == []


# Reason and message of a Pod that failed: what is found.
FAILED = {
    ("Evicted", "The node was low on resource: memory."): (
        "PodEvicted",
        "the Pod was evicted: The node was low on resource: memory.",
    ),
    ("Preempting", ""): ("PodPreempted", "the Pod had to make room for a critical one"),
    ("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed"): (
        "PodRejected",
        "the Pod was rejected by its node (NodeAffinity): Pod was rejected: Predicate NodeAffinity failed",
    ),
    ("OutOfcpu", ""): ("PodRejected", "the Pod was rejected by its node (OutOfcpu)"),
    ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"): (
        "PodDeadlineExceeded",
        "the Pod was stopped at its activeDeadlineSeconds: Pod was active on the node longer than the specified deadline",
    ),
    ("Terminated", "Pod was terminated in response to imminent node shutdown."): (
        "NodeShutdown",
        "the Pod was stopped because its node shut down: Pod was terminated in response to imminent node shutdown.",
    ),
    ("NodeLost", "Node n1 which was running pod web-1-a is unresponsive"): (
        "NodeLost",
        "the node of the Pod is lost: Node n1 which was running pod web-1-a is unresponsive",
    ),
    ("", ""): ("PodFailed", "the Pod has failed"),
}


def test_pods_that_failed_as_a_whole() -> None:
    for (reason, message), expected in FAILED.items():
        made = pod_of([over(end(137), restarts=1)] if reason else [], phase="Failed", reason=reason, message=message)
        one = only(look(made))
        assert (one.code, one.text, one.resolves) == (*expected, NEVER if reason == "DeadlineExceeded" else MAYBE)


def test_a_failed_pod_that_was_replaced_is_no_cause() -> None:
    ready = [condition("Ready", "True")]
    evicted = pod_of(phase="Failed", reason="Evicted", name="web-1-b")
    running_ = pod_of([running("14:50:00", ready=True)], phase="Running", conditions=ready)
    deployment = workload("Deployment", {"replicas": 1})
    assert look(evicted, running_, of=deployment) == []
    assert only(look(evicted, running_)).code == "PodEvicted"
    stateful = workload("StatefulSet", {"replicas": 1}, {"updateRevision": "web-7"})
    evicted["metadata"] |= {
        "labels": {"controller-revision-hash": "web-7"},
        "ownerReferences": [{"uid": "w", "controller": True}],
    }
    assert only(look(evicted, of=stateful)).code == "PodEvicted"


def test_readiness_gates() -> None:
    gates = {"readinessGates": [{"conditionType": "lb.example/target"}, {"conditionType": "lb.example/fine"}]}
    conditions = [condition("ContainersReady", "True"), condition("lb.example/fine", "True")]
    made = pod_of([running("14:50:00", ready=True)], spec=gates, phase="Running", conditions=conditions)
    one = only(look(made))
    assert (one.code, one.text) == (
        "ReadinessGateWaits",
        'readiness gate "lb.example/target" of the Pod is not true: it is not set yet',
    )
    made["status"]["conditions"].append(condition("lb.example/target", "False", "Unhealthy", "no answer"))
    assert only(look(made)).text.endswith('" of the Pod is not true: no answer')


def job(*conditions: Object, **spec: object) -> Object:
    return {**workload("Job", {"backoffLimit": 4, **spec}, {"conditions": list(conditions)}), "apiVersion": "batch/v1"}


def test_jobs() -> None:
    failed = pod_of([over(end(1))], owner="w", phase="Failed", spec={"restartPolicy": "Never"})
    over_limit = condition("Failed", "True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    found = look(failed, of=job(over_limit))
    assert [(one.code, one.resolves, one.object, one.text) for one in found] == [
        (
            "JobFailed",
            NEVER,
            "job.batch/web",
            "the Job has failed: its Pods failed more often than its backoffLimit of 4 allows",
        ),
        ("ContainerCrashes", MAYBE, "pod/web-1-a", "container app failed with exit code 1"),
    ]
    assert look(failed, of=job(condition("Complete", "True"))) == []
    late = only(look(of=job(condition("Failed", "True", "DeadlineExceeded", "x"), activeDeadlineSeconds=60)))
    assert (late.code, late.text) == (
        "JobDeadlineExceeded",
        "the Job has failed: it ran longer than its activeDeadlineSeconds of 60 allows",
    )
    policy = only(look(of=job(condition("FailureTarget", "True", "PodFailurePolicy", "exit code 42"))))
    assert policy.text == "the Job has failed: exit code 42"
    assert only(look(of=job(suspend=True))).code == "JobSuspended"
    assert look(of=job()) == []


def test_a_pod_is_its_own_workload() -> None:
    alone = pod_of([over(end(0, "Completed"), restarts=2)], phase="Running")
    one = only(look(alone, of=alone))
    assert one.text.endswith("but the containers of a Pod with restartPolicy Always must not end, restarted 2 times")
    assert only(look(of=pod_of([waiting("ErrImageNeverPull")]))).code == "ImageNeverPulled"


def test_the_pods_of_a_replica_set() -> None:
    replica_set = workload("ReplicaSet", {"replicas": 1})
    assert only(look(pod_of([waiting("ErrImageNeverPull")], owner="w"), of=replica_set)).code == "ImageNeverPulled"


def test_grouping_and_order() -> None:
    """Causes that differ only by what differs from Pod to Pod are one; others are not."""

    def crash(name: str, code: int, restarts: int = 0) -> Object:
        return pod_of([over(end(code), restarts=restarts)], name=name, phase="Running")

    def refused(name: str, address: str) -> Object:
        said = (
            f"failed to do request: dial tcp {address}: connect: connection refused for {name} node 0123456789abcdef01"
        )
        return pod_of([waiting("ErrImagePull", said)], name=name)

    slow = pod_of([CREATING], name="web-1-z")
    made = [
        slow,
        *(crash("web-1-c", 1, 2), crash("web-1-b", 1, 5), crash("web-1-d", 2), crash("web-1-e", 1)),
        *(refused("web-1-f", "10.0.0.1:443"), refused("web-1-g", "10.0.0.2:443")),
        pod_of([waiting("InvalidImageName", "x")], name="web-1-y"),
    ]
    expected = [
        ("ImageNameInvalid", "pod/web-1-y", 0, 0, 0),
        ("ContainerCrashes", "pod/web-1-b", 3, 8, 5),
        ("ImageRegistryUnreachable", "pod/web-1-f", 2, 8, 0),
        ("ContainerCrashes", "pod/web-1-d", 0, 0, 0),
        ("PodCreating", "pod/web-1-z", 0, 0, 0),
    ]
    for given in (made, made[::-1]):
        found = look(*given)
        assert [(one.code, one.object, len(one.objects), one.of, one.restarts) for one in found] == expected
    assert found[1].text == "3 of 8 pods: container app crashes with exit code 1, restarted 5 times"
    assert found[1].objects == ("pod/web-1-b", "pod/web-1-c", "pod/web-1-e")
    assert found[3].text == "container app crashes with exit code 2"


def test_the_day_is_told_where_it_is_another_one() -> None:
    init = {"name": "wait"}
    made = pod_of([waiting("PodInitializing")], init=[init], inits=[running("14:57:00", name="wait")])
    assert only(look(made, now=NOW + 86400)).text.endswith("since 2026-11-30T14:57:00Z")


def test_the_same_of_one_object_is_told_once() -> None:
    one = Finding("NodeGone", "its node is gone", "pod/web-1-a")
    seen = View(Scene(workload("Deployment")), now=NOW)
    assert grouped(seen, [one, one._replace(since=clock("14:00:00"))]) == [one]
    assert [each.object for each in grouped(seen, [one, one._replace(object="pod/web-1-b")])] == ["pod/web-1-a"]
