"""What lists and events tell that is new; and what became of an object that a watch calls DELETED."""

from __future__ import annotations

from typing import Any

from rawkube.api.departed import DELETED, LEFT, UNKNOWN, departure
from rawkube.api.object_store import INITIAL, RELIST, WATCH, ObjectStore, Seen
from tests.support.answers import AnsweringServer
from tests.support.client import PODS, Client
from tests.support.rows import looped
from tests.support.script import HANG_UP, Answer, failure

Object = dict[str, Any]


def obj(name: str, version: int, uid: str | None = "u", **more: Any) -> Object:
    metadata = {"name": name, "namespace": "demo", "resourceVersion": str(version), **({"uid": uid} if uid else {})}
    return {"kind": "Pod", "metadata": metadata | more}


def told(seen: list[Seen]) -> list[tuple[str, str, str | None, str]]:
    """(type, name@version, the version before, origin)."""
    return [
        (
            one.type,
            f"{one.object['metadata']['name']}@{one.object['metadata']['resourceVersion']}",
            one.before["metadata"]["resourceVersion"] if one.before else None,
            one.origin,
        )
        for one in seen
    ]


def test_the_first_list_is_what_there_is() -> None:
    assert told(ObjectStore().listed([obj("a", 1), obj("b", 2)])) == [
        ("ADDED", "a@1", None, INITIAL),
        ("ADDED", "b@2", None, INITIAL),
    ]


def test_a_later_list_is_the_differences() -> None:
    store = ObjectStore()
    store.listed([obj("same", 1), obj("gone", 2), obj("new", 3), obj("other", 4, "u1")])
    again = store.listed([obj("same", 1), obj("new", 5), obj("other", 6, "u2"), obj("added", 7)])
    assert told(again) == [
        ("DELETED", "gone@2", "2", RELIST),
        ("MODIFIED", "new@5", "3", RELIST),
        ("DELETED", "other@4", "4", RELIST),
        ("ADDED", "other@6", None, RELIST),
        ("ADDED", "added@7", None, RELIST),
    ]
    assert store.listed([obj("same", 1), obj("new", 5), obj("other", 6, "u2"), obj("added", 7)]) == []


def test_events_come_with_the_state_before() -> None:
    store = ObjectStore()
    store.listed([obj("a", 1)])
    events = [("MODIFIED", obj("a", 2)), ("ADDED", obj("b", 3)), ("DELETED", obj("a", 4)), ("ADDED", obj("a", 5))]
    assert told([store.changed(*event) for event in events]) == [
        ("MODIFIED", "a@2", "1", WATCH),
        ("ADDED", "b@3", None, WATCH),
        ("DELETED", "a@4", "2", WATCH),
        ("ADDED", "a@5", None, WATCH),
    ]
    assert store.listed([obj("a", 5), obj("b", 3)]) == []


def test_another_uid_is_another_object() -> None:
    store = ObjectStore()
    store.listed([obj("a", 1, "u1")])
    assert store.changed("MODIFIED", obj("a", 2, "u2")).before is None
    assert store.changed("MODIFIED", obj("a", 3, None)).before is not None


def test_one_name_in_two_namespaces() -> None:
    store = ObjectStore()
    store.listed([obj("a", 1), obj("a", 2, namespace="other")])
    assert len(store.listed([])) == 2


def test_managed_fields_are_left_out_and_the_given_object_stays() -> None:
    given = obj("a", 1, managedFields=[{"manager": "m"}])
    [seen] = ObjectStore().listed([given])
    assert "managedFields" not in seen.object["metadata"]
    assert "managedFields" in given["metadata"]


def test_slim_keeps_what_tells_objects_apart() -> None:
    store = ObjectStore(slim=True)
    [seen] = store.listed([{**obj("a", 1), "spec": {"large": "x" * 1000}}])
    assert seen.object["spec"]
    before = store.changed("MODIFIED", obj("a", 2)).before
    assert before is not None and before == obj("a", 1)


def test_odd_objects_do_no_harm() -> None:
    store = ObjectStore()
    assert len(store.listed([{}, {"metadata": None}, {"metadata": {"name": None, "uid": 3}}])) == 1
    store.changed("ADDED", {"metadata": []})


@looped(
    ("answer", "how"),
    [
        (failure(404, "not found"), DELETED),
        (Answer(body='{"kind":"Pod","metadata":{"name":"a","uid":"u"}}'), LEFT),
        (Answer(body='{"kind":"Pod","metadata":{"name":"a"}}'), LEFT),
        (Answer(body='{"kind":"Pod","metadata":{"name":"a","uid":"another"}}'), DELETED),
        (failure(403, "pods is forbidden"), UNKNOWN),
        (failure(500, "etcd"), UNKNOWN),
        (Answer(body="<html>"), UNKNOWN),
        (HANG_UP, UNKNOWN),
    ],
    ids=["404", "there", "there without uid", "another", "403", "500", "no object", "no answer"],
)
def test_gone_or_only_out_of_the_selection(answer: Answer, how: str) -> None:
    with AnsweringServer(*[answer] * 12) as server, Client(server.url) as client:
        found = departure(client, PODS, obj("a", 1))
        assert server.asked[0].path == "/api/v1/namespaces/demo/pods/a"
    assert found.how == how
    assert (found.now is not None) == (how == LEFT)
    assert bool(found.why) == (how == UNKNOWN)
