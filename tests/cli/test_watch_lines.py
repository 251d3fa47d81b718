"""What `rawkube watch` prints for one event."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.departed import DELETED, LEFT, UNKNOWN, Departure
from rawkube.api.object_store import INITIAL, RELIST, WATCH, Seen
from rawkube.cli.watch_lines import Event, Lines, state_of, to_json, to_name
from tests.support.client import DEPLOYMENTS, NODES, PODS
from tests.support.examples import examples
from tests.support.rows import looped
from tests.support.workloads import deployment

Object = dict[str, Any]


def web(version: str = "2", **more: Any) -> Object:
    thing = deployment(**more)
    thing["metadata"]["resourceVersion"] = version
    return thing


def told(
    kind: str,
    item: Object,
    before: Object | None = None,
    *,
    origin: str = WATCH,
    departure: Departure | None = None,
    resource: Any = DEPLOYMENTS,
) -> Event:
    return Event(Seen(kind, item, before, origin), resource, "18:02:12", "2026-11-30T18:02:12.345Z", departure)


TEXTS: dict[str, tuple[Event, str]] = {
    "listed": (told("ADDED", web(), origin=INITIAL), "LISTED   Deployment default/web 2 0/3 ready"),
    "added": (told("ADDED", web()), "ADDED    Deployment default/web 2 0/3 ready"),
    "modified": (
        told("MODIFIED", web(u=2), web("1", u=1)),
        "MODIFIED Deployment default/web 2 status.updatedReplicas 1→2",
    ),
    "two changes": (
        told("MODIFIED", web(u=2, a=1), web("1", u=1)),
        "MODIFIED Deployment default/web 2 status.updatedReplicas 1→2, status.availableReplicas 3→1",
    ),
    "nothing to show": (
        told("MODIFIED", web("2"), web("1")),
        "MODIFIED Deployment default/web 2 (nothing that is shown here)",
    ),
    "modified, unknown before": (told("MODIFIED", web(u=2)), "MODIFIED Deployment default/web 2 0/3 ready"),
    "deleted": (told("DELETED", web(u=2), web(u=1)), "DELETED  Deployment default/web 2"),
    "deleted, with a selector": (
        told("DELETED", web(u=2), web(u=2), departure=Departure(DELETED)),
        "DELETED  Deployment default/web 2",
    ),
    "left": (
        told("DELETED", web(), web(), departure=Departure(LEFT, web("3", labels={"tier": "y"}))),
        'LEFT     Deployment default/web 2 matches the selector no more: +metadata.labels {"tier":"y"}',
    ),
    "deleted or left": (
        told("DELETED", web(), web(), departure=Departure(UNKNOWN, why="no\nentry")),
        "DELETED  Deployment default/web 2 deleted, or it matches the selector no more (it cannot be read: no\\nentry)",
    ),
    "relisted": (
        told("MODIFIED", web(u=2), web("1", u=1), origin=RELIST),
        "MODIFIED Deployment default/web 2 status.updatedReplicas 1→2, seen by listing again",
    ),
    "gone in a relist": (
        told("DELETED", web(), web(), origin=RELIST),
        "DELETED  Deployment default/web 2 seen by listing again",
    ),
    "no namespace": (
        told("ADDED", {"kind": "Node", "metadata": {"name": "n", "resourceVersion": "5"}}, resource=NODES),
        "ADDED    Node n 5",
    ),
    "bookmark": (
        told("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "12746"}}, resource=PODS),
        "BOOKMARK Pod 12746",
    ),
    "end of the initial events": (
        told("BOOKMARK", {"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}),
        "BOOKMARK Deployment 7 end of the initial events",
    ),
    "an empty object": (told("ADDED", {}), "ADDED    Deployment -"),
}


@looped("name", TEXTS)
def test_a_line(name: str) -> None:
    event, text = TEXTS[name]
    assert Lines().text(event) == f"18:02:12 {text}\n"


def test_columns_stand_below_each_other() -> None:
    lines = Lines()
    short, long = (told("ADDED", {"metadata": {"name": name, "resourceVersion": "5"}}) for name in ("a", "a-long-name"))
    lines.widen([short, long])
    first, second = lines.text(short), lines.text(long)
    assert first.index(" 5") == second.index(" 5") == second.index("name") + 4


def test_a_very_long_name_does_not_move_every_later_line() -> None:
    lines = Lines()
    lines.text(told("ADDED", {"metadata": {"name": "x" * 250}}))
    assert len(lines.text(told("ADDED", {"metadata": {"name": "a", "resourceVersion": "1"}}))) < 100


def test_a_line_has_an_end() -> None:
    before, after = ({"metadata": {"labels": {f"label-{n}": f"{v}" for n in range(100)}}} for v in "ab")
    line = Lines().text(told("MODIFIED", after, before))
    assert len(line) < 350 and line.endswith(" more\n")
    assert Lines().diff(told("MODIFIED", after, before)).count("\n") == 101


def test_conditions_are_told_without_their_clocks_and_order() -> None:
    one, other = (
        {"type": kind, "status": "True", "lastTransitionTime": "1", "lastUpdateTime": "1"} for kind in ("A", "B")
    )
    before, after = (
        {"status": {"conditions": [one, other]}},
        {"status": {"conditions": [other, one | {"status": "False", "lastTransitionTime": "2"}]}},
    )
    assert Lines().text(told("MODIFIED", after, before)).endswith(" status.conditions[A].status True→False\n")
    lines = Lines().diff(told("MODIFIED", after, before)).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        "status.conditions[A].status True→False",
        'status.conditions[A].lastTransitionTime "1"→"2"',
        "status.conditions order A,B→B,A",
    ]


def test_diff_of_what_is_new_and_of_what_goes() -> None:
    assert Lines().diff(told("ADDED", web())) == "18:02:12 ADDED    Deployment default/web 2 0/3 ready\n"
    lines = Lines().diff(told("DELETED", web(u=2), web(u=1))).splitlines()
    assert lines[1:] == ["    status.updatedReplicas 1→2"]


@looped(
    ("item", "state"),
    [
        ({}, ""),
        ({"status": None, "spec": []}, ""),
        ({"spec": {"replicas": 3}, "status": {"readyReplicas": 2}}, "2/3 ready"),
        ({"spec": {"replicas": 3}}, "0/3 ready"),
        ({"status": {"desiredNumberScheduled": 2, "numberReady": 1}}, "1/2 ready"),
        ({"status": {"phase": "Run\x1bning"}}, "Run\\x1bning"),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "not Ready"),
        ({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, "Complete"),
        ({"status": {"conditions": [{"type": "Failed", "status": "False"}, 3, {"type": []}]}}, ""),
        ({"metadata": {"deletionTimestamp": "now"}, "status": {"phase": "Running"}}, "Running, being deleted"),
    ],
)
def test_what_an_object_is_like(item: Object, state: str) -> None:
    assert state_of(item) == state


class TestJSON:
    def test_keys(self) -> None:
        found = json.loads(to_json(told("MODIFIED", web(u=2), web("1", u=1))))
        assert list(found) == ["type", "resourceVersion", "time", "object", "changes"]
        assert found["changes"] == [{"path": "status.updatedReplicas", "before": 1, "after": 2}]
        assert (found["type"], found["resourceVersion"]) == ("MODIFIED", "2")
        assert found["time"] == "2026-11-30T18:02:12.345Z"
        assert found["object"] == web(u=2)

    def test_what_is_not_there_has_no_key_and_null_has_one(self) -> None:
        found = json.loads(
            to_json(
                told(
                    "MODIFIED",
                    {"a": None, "l": [{"name": "y"}, {"name": "x"}]},
                    {"b": 1, "l": [{"name": "x"}, {"name": "y"}]},
                )
            )
        )
        assert found["changes"] == [
            {"path": "b", "before": 1},
            {"path": "l", "before": ["x", "y"], "after": ["y", "x"], "order": True},
            {"path": "a", "after": None},
        ]

    def test_where_a_state_was_seen(self) -> None:
        assert json.loads(to_json(told("ADDED", web(), origin=INITIAL)))["initial"] is True
        assert json.loads(to_json(told("ADDED", web(), origin=RELIST)))["relist"] is True
        left = json.loads(to_json(told("DELETED", web(), web(), departure=Departure(LEFT, web("3", u=9)))))
        assert (left["type"], left["departure"]) == ("DELETED", "left")
        assert left["changes"] == [{"path": "status.updatedReplicas", "before": 3, "after": 9}]

    def test_changes_of_a_secret_hold_no_value(self) -> None:
        before, after = ({"kind": "Secret", "data": {"a": value}} for value in ("old", "new"))
        event = told("MODIFIED", after, before)
        assert json.loads(to_json(event))["changes"] == [
            {"path": "data.a", "before": "<redacted>", "after": "<redacted>"}
        ]
        assert "new" not in Lines().text(event) + Lines().diff(event)

    @settings(max_examples=examples(100), deadline=None)
    @given(st.text(st.characters(exclude_categories=[]), max_size=20))
    def test_any_text_is_one_line_of_json(self, text: str) -> None:
        line = to_json(told("ADDED", {"metadata": {"name": text}}))
        assert line.endswith("\n") and line.count("\n") == 1
        assert json.loads(line.encode("utf-8"))["object"]["metadata"]["name"] == text
        assert not any(0x7F <= ord(char) < 0xA0 or char in "\u2028\u2029\u202e" for char in line)


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=10), st.text(max_size=10))
def test_any_text_is_one_printable_line(one: str, other: str) -> None:
    before, after = ({"kind": text, "metadata": {"name": text, "x": {text: text}}} for text in (one, other))
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        line = Lines().text(told(kind, after, before))
        assert line[:-1].isprintable()
        assert line[-1] == "\n"
    assert to_name(told("ADDED", after))[:-1].isprintable()


def test_names() -> None:
    assert to_name(told("ADDED", web())) == "deployment.apps/web\n"
    assert to_name(told("ADDED", {"metadata": {"name": "a"}}, resource=PODS)) == "pod/a\n"
