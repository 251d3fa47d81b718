"""Which objects are a workload's revisions, in which order, and how they read."""

from __future__ import annotations

import pytest

from rawkube.api.objects import Object
from rawkube.errors import RolloutFailed
from rawkube.rollout import history
from rawkube.rollout.history import CHANGE_CAUSE, Revision
from rawkube.rollout.typed import typed
from tests.support.revisions import controller_revision, deployment, other, replica_set, template
from tests.support.rows import looped

WEB = typed(deployment(), "Deployment")


def names(items: list[Object]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


@looped(
    ("group", "kind", "text"),
    [
        ("apps", "Deployment", ""),
        ("extensions", "DaemonSet", ""),
        ("apps", "StatefulSet", ""),
        ("", "Pod", 'no history viewer has been implemented for "Pod"'),
        ("apps", "ReplicaSet", 'no history viewer has been implemented for "ReplicaSet.apps"'),
        ("batch", "Job", 'no history viewer has been implemented for "Job.batch"'),
        (
            "",
            "ConfigMap",
            'error retrieving history for "ConfigMap", no visitor method exists for { ConfigMap}',
        ),
        (
            "networking.k8s.io",
            "Ingress",
            'error retrieving history for "Ingress.networking.k8s.io", no visitor method exists for '
            "{networking.k8s.io Ingress}",
        ),
    ],
)
def test_kinds_without_revisions(group: str, kind: str, text: str) -> None:
    assert history.unsupported(group, kind, "history viewer", "history") == text


def test_the_texts_of_a_history() -> None:
    first, second = (
        Revision(number, cause, typed(template("1"), "PodTemplateSpec"), {})
        for number, cause in ((1, ""), (2, "a reason"))
    )
    revisions = {2: second, 1: first}
    assert history.text_of(revisions, 0) == "\nREVISION  CHANGE-CAUSE\n1         <none>\n2         a reason\n"
    assert history.text_of(revisions, 2).startswith("with revision #2\nPod Template:\n")
    assert history.text_of({}, 0) == f"\n{history.NO_HISTORY}"
    assert history.text_of({}, 3) == f"with revision #3\n{history.NO_HISTORY}"
    assert history.chosen(revisions, 0) == [first, second]
    assert history.chosen(revisions, 1) == [first]
    with pytest.raises(RolloutFailed, match="unable to find the specified revision"):
        history.text_of(revisions, 3)


def test_the_present_revision_of_a_deployment_may_be_missing() -> None:
    items = [replica_set("b", 2, template("1")), replica_set("a", 1, template("1"))]
    elsewhere = typed({**deployment(), "spec": {**deployment()["spec"], "template": template("another")}}, "Deployment")
    assert sorted(names(history.replica_sets_in_order(elsewhere, items))) == ["web-a", "web-b"]


def test_a_revision_that_is_no_number_is_left_out() -> None:
    odd = replica_set("a", 1, template("1"))
    odd["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "one"
    assert list(history.of_replica_sets([odd, replica_set("b", 2, template("1"))])) == [2]


def test_only_what_is_controlled_counts() -> None:
    mine = replica_set("a", 1, template("1"))
    another = replica_set("b", 2, template("1"), uid="another")
    not_controller = replica_set("c", 3, template("1"))
    not_controller["metadata"]["ownerReferences"][0]["controller"] = False
    orphan = replica_set("d", 4, template("1"))
    del orphan["metadata"]["ownerReferences"]
    assert names(history.controlled_by([mine, another, not_controller, orphan], WEB)) == ["web-a"]
    assert history.controlled_by([orphan], {"metadata": {}}) == []


def test_replica_sets_stand_by_age_then_name_and_the_present_one_last() -> None:
    items = [
        replica_set("c", 1, template("1"), created="2026-01-02T00:00:00Z"),
        replica_set("p", 2, template("2"), created="2025-01-01T00:00:00Z"),
        replica_set("b", 3, template("3"), created="2026-01-01T00:00:00Z"),
        replica_set("a", 4, template("4"), created="2026-01-01T00:00:00Z"),
        replica_set("q", 5, template("2"), created="2025-01-02T00:00:00Z"),
    ]
    assert names(history.replica_sets_in_order(WEB, items)) == ["web-q", "web-a", "web-b", "web-c", "web-p"]


def test_the_hash_label_makes_no_difference() -> None:
    with_hash = replica_set("a", 1, template("1"))["spec"]["template"]
    assert with_hash["metadata"]["labels"]["pod-template-hash"] == "a"
    assert history.is_same_template(with_hash, template("1"))
    assert not history.is_same_template(with_hash, template("2"))
    assert "pod-template-hash" not in history.without_hash(with_hash)["metadata"]["labels"]


@looped(("revision", "number"), [(7, 7), (None, 0), ("x", None), ("", None), ("-3", -3), ("9" * 30, None)])
def test_the_number_of_a_replica_set(revision: int | str | None, number: int | None) -> None:
    assert history.number_of(replica_set("a", revision, template())) == number


def test_a_cause_stands_in_the_template_that_is_shown() -> None:
    item = typed(replica_set("a", 1, template("1"), annotations={CHANGE_CAUSE: "why"}), "ReplicaSet")
    (found,) = history.of_replica_sets([item]).values()
    assert found.template["metadata"]["annotations"] == {CHANGE_CAUSE: "why"}
    assert "annotations" not in found.shown["spec"]["template"]["metadata"]
    assert found.cause == "why"


def test_of_revisions_with_one_number_the_last_counts() -> None:
    items = [typed(replica_set(name, 1, template(name)), "ReplicaSet") for name in ("a", "b")]
    assert history.of_replica_sets(items)[1].shown["metadata"]["name"] == "web-b"


def test_a_controller_revision_restores_the_template() -> None:
    agent = typed(other("DaemonSet", "agent", template("2", hostNetwork=True), minReadySeconds=5), "DaemonSet")
    found = history.of_controller_revisions(agent, [controller_revision(agent, 3, template("1"))])[3]
    assert found.template["spec"]["containers"][0]["image"] == "img:1"
    assert "hostNetwork" not in found.template["spec"]
    assert found.shown["spec"]["minReadySeconds"] == 5


@pytest.mark.parametrize(
    ("patch", "spec"),
    [
        ({"spec": {"minReadySeconds": None}}, {}),
        ({"spec": {"minReadySeconds": 9}}, {"minReadySeconds": 9}),
        ({}, {"minReadySeconds": 5}),
        (None, None),
    ],
)
def test_other_patches(patch: Object | None, spec: Object | None) -> None:
    agent = typed(other("DaemonSet", "agent", minReadySeconds=5), "DaemonSet")
    found = history.restored(agent, patch)
    if spec is not None:
        assert found["spec"].get("minReadySeconds") == spec.get("minReadySeconds")


def test_the_table() -> None:
    rows = [Revision(10, "", {}, {}), Revision(2, "first", {}, {})]
    assert history.table(rows) == "REVISION  CHANGE-CAUSE\n2         first\n10        <none>\n"


def test_no_history() -> None:
    assert history.text_of({}, 0) == "\nNo rollout history found."
    assert history.text_of({}, 3) == "with revision #3\nNo rollout history found."


def test_a_revision_that_is_not_there() -> None:
    with pytest.raises(RolloutFailed, match="unable to find the specified revision"):
        history.chosen({1: Revision(1, "", {}, {})}, 2)
