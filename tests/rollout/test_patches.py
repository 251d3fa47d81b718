"""The patches, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from rawkube.errors import RolloutFailed
from rawkube.rollout import patches
from rawkube.rollout.typed import typed
from tests.support.revisions import APPLIED, deployment, other, pod, replica_set, template
from tests.support.rows import looped

NOW = "2026-11-30T18:47:32Z"


def web(**spec: Any) -> dict[str, Any]:
    return typed(deployment(**spec), "Deployment")


@pytest.mark.parametrize(
    "workload", [web(), other("DaemonSet", "a"), other("StatefulSet", "a")], ids=lambda thing: str(thing["kind"])
)
def test_restart(workload: dict[str, Any]) -> None:
    annotations = b'{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-11-30T18:47:32Z"}}'
    assert patches.restart(workload, NOW) == b'{"spec":{"template":{"metadata":%s}}}' % annotations


def test_a_second_restart_within_a_second_changes_nothing() -> None:
    again = web(of={"metadata": {"annotations": {patches.RESTARTED_AT: NOW}}, "spec": {}})
    assert patches.restart(again, NOW) == patches.NOTHING


def test_pause_and_resume() -> None:
    assert patches.pause(web()) == b'{"spec":{"paused":true}}'
    assert patches.resume(web(paused=True)) == b'{"spec":{"paused":null}}'


@looped(
    ("verb", "workload", "problem"),
    [
        (patches.pause, web(paused=True), "is already paused"),
        (patches.pause, other("DaemonSet", "a"), "pausing is not supported"),
        (patches.resume, web(), "is not paused"),
        (patches.resume, pod(), "resuming is not supported"),
        (lambda thing: patches.restart(thing, NOW), pod(), "restarting is not supported"),
        (lambda thing: patches.restart(thing, NOW), web(paused=True), "can't restart paused deployment"),
    ],
)
def test_what_cannot_be_done(verb: Any, workload: dict[str, Any], problem: str) -> None:
    with pytest.raises(RolloutFailed, match=problem):
        verb(workload)


def test_undo_takes_the_template_and_the_annotations_of_the_revision() -> None:
    mine = {"mine": "1", "deployment.kubernetes.io/max-replicas": "4", **APPLIED}
    theirs = {"why": "<b>", "a": "1", "deployment.kubernetes.io/desired-replicas": "3"}
    replicas = typed(replica_set("h", 1, template("1"), annotations=theirs), "ReplicaSet")
    body = patches.undo_deployment(web(annotations=mine), replicas)
    assert body == (
        b'[{"op":"replace","path":"/spec/template","value":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":'
        b'[{"name":"app","image":"img:1","resources":{}}]}}},'
        b'{"op":"replace","path":"/metadata/annotations","value":{"a":"1",'
        b'"deployment.kubernetes.io/max-replicas":"4","deployment.kubernetes.io/revision":"2",'
        b'"kubectl.kubernetes.io/last-applied-configuration":"{\\"a\\":\\"\\u003cb\\u003e\\"}\\n",'
        b'"why":"\\u003cb\\u003e"}}]'
    )


def test_a_revision_is_sent_back_as_it_was_kept() -> None:
    data = {"z": 1, "a": [{"b": "<é>"}], "n": None}
    assert patches.undo_from(data) == '{"z":1,"a":[{"b":"\\u003cé\\u003e"}],"n":null}'.encode()


def test_what_a_controller_would_keep() -> None:
    agent = typed(other("DaemonSet", "agent", template("1")), "DaemonSet")
    assert patches.restore_patch(agent) == (
        b'{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":'
        b'[{"image":"img:1","name":"app","resources":{}}]}}}}'
    )


@looped(
    ("offset", "zone"),
    [(0, "Z"), (3600, "+01:00"), (-12600, "-03:30"), (20700, "+05:45"), (-43200, "-12:00"), (50400, "+14:00")],
)
def test_the_time_is_local_with_its_offset(offset: int, zone: str) -> None:
    assert patches.restart_time((2026, 1, 2, 3, 4, 5, 0, 0, 0), offset) == f"2026-01-02T03:04:05{zone}"
