"""Which Pods are of the newest revision, and which Events are about what."""

from __future__ import annotations

from rawkube.rollout.explain.scene import Scene
from rawkube.rollout.explain.view import View, is_terminating, name_of, ref_of
from tests.support.explained import NOW, Object, clock, old_replica_set, pod, replica_set, workload


def view(scene: Scene) -> View:
    return View(scene, now=NOW)


def names(seen: View) -> tuple[list[str], list[str]]:
    return [name_of(one) for one in seen.new_pods], [name_of(one) for one in seen.old_pods]


def hashed(name: str, label: str, value: str) -> Object:
    return pod(name, labels={label: value})


def test_the_pods_of_a_deployment_go_by_its_replica_sets() -> None:
    pods = [
        *(pod("new-b", owner="r"), pod("new-a", owner="r"), pod("old", owner="o")),
        *(pod("direct"), pod("foreign", owner="x"), pod("orphan", owner="")),
    ]
    stranger = replica_set()
    stranger["metadata"] = {"name": "web-9", "uid": "x", "ownerReferences": [{"uid": "another", "controller": True}]}
    scene = Scene(workload("Deployment"), owned=[old_replica_set(), replica_set(), stranger], pods=pods)
    assert names(view(scene)) == (["new-a", "new-b"], ["direct", "old"])
    assert name_of(view(scene).newest) == "web-1"
    assert [name_of(one) for one in view(scene).owned] == ["web-0", "web-1"]
    not_controller = replica_set()
    not_controller["metadata"]["ownerReferences"][0]["controller"] = False
    assert names(view(scene._replace(owned=[not_controller]))) == ([], ["direct"])


def test_the_newest_replica_set_of_a_deployment() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    hashed_ = {"metadata": {"labels": {"a": "b", "pod-template-hash": "5"}}, "spec": {"containers": []}}
    deployment = workload("Deployment", {"template": template}, annotations={"deployment.kubernetes.io/revision": "4"})
    by_template = replica_set(spec={"template": hashed_})
    by_number = old_replica_set()
    by_number["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "4"}
    assert name_of(view(Scene(deployment, owned=[by_number, by_template])).newest) == "web-1"
    assert name_of(view(Scene(deployment, owned=[by_number])).newest) == "web-0"
    paused = {**deployment, "spec": {**deployment["spec"], "paused": True}}
    assert view(Scene(paused, owned=[by_number])).newest is None
    unseen = {**deployment, "status": {"observedGeneration": 1}}
    assert view(Scene(unseen, owned=[by_number])).newest is None
    assert not view(Scene(unseen)).is_observed


def test_without_a_look_at_replica_sets_names_and_hashes_must_do() -> None:
    def named(name: str, hash_: str, made: str, owner: str = "web") -> Object:
        labels = {"pod-template-hash": hash_}
        owners = [{"uid": "?", "controller": True, "name": f"{owner}-{hash_}"}]
        return pod(name, labels=labels, creationTimestamp=clock(made), ownerReferences=owners)

    pods = [named("a", "1", "14:00:00"), named("b", "2", "14:50:00"), named("c", "2", "14:40:00")]
    foreign = named("d", "3", "14:59:00", owner="other")
    scene = Scene(workload("Deployment"), pods=[*pods, foreign], unseen={"replicasets": "forbidden"})
    assert names(view(scene)) == (["c", "b"], ["a"])
    assert names(view(scene._replace(pods=[]))) == ([], [])


def test_daemon_sets_and_stateful_sets_go_by_a_label() -> None:
    label = "controller-revision-hash"
    pods = [hashed("a", label, "web-7"), hashed("b", label, "web-6"), pod("c")]
    stateful = workload("StatefulSet", status={"updateRevision": "web-7"})
    assert names(view(Scene(stateful, pods=pods))) == (["a"], ["b", "c"])
    behind = workload("StatefulSet", status={"updateRevision": "web-7", "observedGeneration": 1})
    assert names(view(Scene(behind, pods=pods))) == ([], ["a", "b", "c"])

    def revision(number: int, value: str) -> Object:
        owners = [{"uid": "w", "controller": True}]
        metadata = {"name": f"web-{number}", "labels": {label: value}, "ownerReferences": owners}
        return {"kind": "ControllerRevision", "metadata": metadata, "revision": number}

    revisions = [revision(9, "web-6"), revision(10, "web-7"), revision(8, "web-5")]
    daemon = Scene(workload("DaemonSet"), owned=revisions, pods=pods)
    assert names(view(daemon)) == (["a"], ["b", "c"])
    assert name_of(view(daemon).newest) == "web-10"
    forbidden = daemon._replace(owned=(), unseen={"controllerrevisions": "forbidden"})
    assert names(view(forbidden)) == (["a", "b", "c"], [])
    assert names(view(daemon._replace(owned=()))) == ([], ["a", "b", "c"])


def test_all_pods_of_other_kinds_are_new() -> None:
    job = {**workload("Job"), "apiVersion": "batch/v1"}
    assert names(view(Scene(job, pods=[pod("a"), pod("b", owner="x")]))) == (["a"], [])
    alone = pod("a", {"phase": "Running"})
    assert names(view(Scene(alone, pods=[pod("b"), {**alone, "status": {"phase": "Failed"}}]))) == (["a"], [])
    assert (
        view(Scene(alone, pods=[{**alone, "status": {"phase": "Failed"}}])).new_pods[0]["status"]["phase"] == "Failed"
    )
    assert view(Scene(alone)).new_pods == [alone]


def test_events() -> None:
    web = pod("web-0")

    def event(reason: str, involved: Object, **more: object) -> Object:
        return {"involvedObject": involved, "reason": reason, **more}

    mine, named = {"uid": "u-web-0", "kind": "Pod", "name": "web-0"}, {"kind": "Pod", "name": "web-0"}
    events = [
        event("Second", mine, lastTimestamp=clock("14:20:00"), firstTimestamp=clock("14:00:00"), count=4),
        event("Predecessor", {**mine, "uid": "u-earlier"}, lastTimestamp=clock("14:10:00")),
        event("First", {**named, "fieldPath": "spec.initContainers{migrate}"}, eventTime="2026-11-30T14:05:00.000001Z"),
        event("Third", mine, eventTime=clock("14:01:00"), series={"count": 9, "lastObservedTime": clock("14:30:00")}),
        event("Other", {"kind": "ReplicaSet", "name": "web-0"}),
    ]
    seen = view(Scene(workload("StatefulSet"), events=events)).events(web)
    assert [(one.reason, one.count, one.container) for one in seen] == [
        ("First", 1, "migrate"),
        ("Second", 4, ""),
        ("Third", 9, ""),
    ]
    assert (seen[1].first, seen[1].time) == (clock("14:00:00"), clock("14:20:00"))
    assert (seen[2].first, seen[2].time) == (clock("14:01:00"), clock("14:30:00"))


def test_names_times_and_lookups() -> None:
    scene = Scene(
        workload("Deployment", status={"conditions": [{"type": "Available", "status": "False"}]}),
        claims=[{"metadata": {"name": "data"}}],
        nodes=[{"metadata": {"name": "n1"}}],
    )
    seen = view(scene)
    assert (seen.kind, seen.name, seen.namespace, seen.ref) == ("Deployment", "web", "d", "deployment.apps/web")
    assert ref_of(pod("a")) == ref_of({"metadata": {"name": "a"}}) == "pod/a"
    assert seen.claim("data") and seen.node("n1")
    assert not seen.claim("n1") and not seen.node("") and not seen.condition("Progressing")
    assert seen.condition("Available") == {"type": "Available", "status": "False"}
    for text, seconds in {
        clock("14:59:00"): 60.0,
        "2026-11-30T15:59:00+01:00": 60.0,
        clock("15:30:00"): 0.0,
        "": None,
        "soon": None,
        "9" * 10_000: None,
    }.items():
        assert seen.seconds_since(text) == seconds, text
    assert seen.clock(clock("14:59:00")) == "14:59:00Z"
    assert seen.clock("2026-11-29T14:59:00Z") == "2026-11-29T14:59:00Z"
    assert not is_terminating(pod("a")) and is_terminating(pod("a", deletionTimestamp=clock("14:00:00")))
