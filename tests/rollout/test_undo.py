"""Which revision is meant, and what is sent for it; what is said where it cannot be had."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rawkube.errors import RolloutFailed, StatusError
from rawkube.rollout.revisions import read_history
from rawkube.rollout.undo import CLIENT, SERVER, apply_warning, undo
from tests.support.client import DEPLOYMENTS, resource
from tests.support.revisions import APPLIED, agent, db, deployment, replica_set, template, web, with_history

Object = dict[str, Any]
FAILED = StatusError({"message": "no", "reason": "Forbidden", "code": 403})


class Fake:
    """Answers from objects, as a client would; `failing`: a verb that is answered with an error."""

    def __init__(self, objects: Sequence[Object], failing: str = "", error: StatusError = FAILED) -> None:
        self.workload, *self.holders = objects
        self.failing, self.error = failing, error
        self.sent: list[tuple[Any, str, Any]] = []

    def _fail(self, verb: str) -> None:
        if self.failing == verb:
            raise self.error

    def get(self, *_: object) -> Object:
        self._fail("get")
        return self.workload

    def list(self, *_: object, query: object) -> Object:
        self._fail("list")
        return {"items": self.holders}

    def patch(self, _: object, namespace: str, name: str, body: bytes, content_type: str, *, query: object) -> None:
        self._fail("patch")
        self.sent.append((json.loads(body), content_type, query))


def undone(client: Fake, **how: Any) -> str:
    kind = client.workload["kind"].lower() + "s"
    return undo(client, resource(kind), "default", client.workload["metadata"]["name"], **how)  # type: ignore[arg-type]


def of_sets(*numbers: int | str | None) -> list[Object]:
    """A Deployment with a ReplicaSet of each of these revisions, whose images are told by their places."""
    sets = [replica_set(f"h{at}", number, template(f"of-{at}")) for at, number in enumerate(numbers)]
    return [deployment(of=template("present")), *sets]


def test_a_deployment_goes_back() -> None:
    client = Fake(web())
    assert undone(client) == "rolled back"
    [(patch, content_type, query)] = client.sent
    assert content_type == "application/json-patch+json"
    assert patch[0]["value"]["spec"]["containers"][0]["image"] == "img:1"
    assert query == []
    assert undone(client, dry_run=SERVER) == "rolled back"
    assert client.sent[1][2] == [("dryRun", "All")]
    shown = undone(client, dry_run=CLIENT)
    assert "img:1" in shown and len(client.sent) == 2
    assert undone(client, to_revision=2) == "skipped rollback (current template already matches revision 2)"
    assert len(client.sent) == 2


@pytest.mark.parametrize(
    ("numbers", "image"),
    [
        ((1, 2, 3), "of-1"),
        ((3, 1, 2), "of-2"),
        ((2, None, 1), "of-2"),
        ((2, "none", 1), "of-2"),
        ((5, 5, 4), "of-1"),
    ],
)
def test_the_revision_before_the_last(numbers: tuple[int | str | None, ...], image: str) -> None:
    assert f"img:{image}" in undone(Fake(of_sets(*numbers)), dry_run=CLIENT)


@pytest.mark.parametrize(
    ("objects", "to", "text"),
    [
        (web(), -1, "unable to find specified revision -1 in history"),
        (web(), 9, "unable to find specified revision 9 in history"),
        (of_sets(4), 0, 'no rollout history found for deployment "web"'),
        (agent("1"), 0, "no last revision to roll back to"),
        (db("1", "2"), 9, "unable to find specified revision 9 in history"),
        (
            with_history(deployment(paused=True), template("1"), template("2")),
            0,
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again",
        ),
    ],
)
def test_what_cannot_be_undone(objects: list[Object], to: int, text: str) -> None:
    client = Fake(objects)
    with pytest.raises(RolloutFailed) as raised:
        undone(client, to_revision=to)
    assert (str(raised.value), client.sent) == (text, [])


@pytest.mark.parametrize("make", [agent, db])
def test_a_daemon_set_and_a_stateful_set_go_back(make: Callable[..., list[Object]]) -> None:
    client = Fake(make("1", "2"))
    assert undone(client) == "rolled back"
    [(patch, content_type, _)] = client.sent
    assert content_type == "application/strategic-merge-patch+json"
    assert patch["spec"]["template"]["spec"]["containers"][0]["image"] == "img:1"
    assert undone(client, to_revision=1, dry_run=CLIENT).startswith("will roll back to Pod Template:\n")


def test_a_patch_that_is_refused() -> None:
    with pytest.raises(RolloutFailed, match=r"^failed restoring revision 1: no$"):
        undone(Fake(web(), "patch"), to_revision=1)


def test_a_warning_for_what_apply_has_written() -> None:
    assert apply_warning(DEPLOYMENTS, deployment()) == ""
    assert apply_warning(DEPLOYMENTS, deployment(annotations=APPLIED)).startswith(
        "Warning: resource deployments/web was previously managed with 'kubectl apply'. "
    )


# Where a history cannot be read.

NOT_FOUND = StatusError({"message": "no such thing", "reason": "NotFound", "code": 404})
FIND = 'Unable to find "replicasets" that match label selector "app=web", field selector "": no such thing'


@pytest.mark.parametrize(
    ("objects", "failing", "error", "text"),
    [
        (web(), "get", FAILED, "failed to retrieve {} web: no"),
        (agent(), "get", FAILED, "failed to retrieve DaemonSet agent: no"),
        (web(), "list", FAILED, "failed to retrieve replica sets from deployment web: no"),
        (web(), "list", NOT_FOUND, f"failed to retrieve replica sets from deployment web: {FIND}"),
        (
            [deployment(selector={})],
            "list",
            NOT_FOUND,
            'failed to retrieve replica sets from deployment web: Unable to list "replicasets": no such thing',
        ),
        (db(), "list", NOT_FOUND, "unable to find history controlled by StatefulSet db: no such thing"),
    ],
)
def test_a_history_that_cannot_be_read(objects: list[Object], failing: str, error: StatusError, text: str) -> None:
    for verb, kind in (("history", "deployment"), ("undo", "Deployment")):
        client = Fake(objects, failing, error)
        word, name = client.workload["kind"].lower() + "s", client.workload["metadata"]["name"]
        with pytest.raises(RolloutFailed) as raised:
            read_history(client, resource(word), "default", name, verb=verb)  # type: ignore[arg-type]
        assert str(raised.value) == text.format(kind)


def test_a_selector_that_means_nothing() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["x"]}]}
    for objects, start in [
        ([deployment(selector=bad)], "failed to retrieve replica sets from deployment web: "),
        (
            [agent()[0] | {"spec": {**agent()[0]["spec"], "selector": bad}}],
            "failed to create selector for DaemonSet agent: ",
        ),
    ]:
        with pytest.raises(RolloutFailed) as raised:
            undone(Fake(objects))
        assert str(raised.value).startswith(start) and "Near" in str(raised.value)


def test_the_revisions_of_a_history_by_their_numbers() -> None:
    for objects in (web(), db()):
        client = Fake(objects)
        word, name = client.workload["kind"].lower() + "s", client.workload["metadata"]["name"]
        assert sorted(read_history(client, resource(word), "default", name).revisions()) == [1, 2]  # type: ignore[arg-type]
