"""What differs between two states of an object: found, told in one line, and enough to make the later from the earlier."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.changes import (
    ABSENT,
    CLOCKWORK,
    NOISE,
    REDACTED,
    Change,
    apply_changes,
    changes,
    one_line_of,
    path_of,
    redacted,
    same,
)
from tests.support.examples import examples
from tests.support.recordings import FIXTURES, exchanges
from tests.support.rows import looped
from tests.support.workloads import deployment


def lines(before: dict[str, Any] | None, after: dict[str, Any] | None, **more: Any) -> list[str]:
    return [one_line_of(change) for change in changes(before, after, **more)]


def pod(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "Pod", "spec": {"containers": list(containers)}, **more}


A, B, C = ({"name": name, "image": f"{name}:1"} for name in "abc")


@looped(
    ("before", "after", "said"),
    [
        (deployment(u=1), deployment(u=2), ["status.updatedReplicas 1→2"]),
        (deployment(u=None), deployment(u=2), ["+status.updatedReplicas 2"]),
        (deployment(u=2), deployment(u=None), ["-status.updatedReplicas"]),
        ({"a": 1}, {"a": None}, ["a 1→null"]),
        ({"a": None}, {}, ["-a"]),
        ({}, {"a": None}, ["+a null"]),
        ({"a": 1}, {"a": True}, ["a 1→true"]),
        ({"a": 1}, {"a": "1"}, ['a 1→"1"']),
        ({"a": "x"}, {"a": "true"}, ['a x→"true"']),
        ({"a": "x y"}, {"a": ""}, ['a "x y"→""']),
        ({"a": {"b": {}}}, {"a": {"b": {"c": 1}}}, ["+a.b.c 1"]),
        ({"a": {"b": 1}}, {"a": [1]}, ['a {"b":1}→[1]']),
        (
            {"metadata": {"labels": {"x.io/tier": "a"}}},
            {"metadata": {"labels": {"x.io/tier": "b"}}},
            ["metadata.labels[x.io/tier] a→b"],
        ),
        (pod(A, B), pod(A, C, B), ['+spec.containers[c] {"name":"c","image":"c:1"}']),
        (pod(A, C, B), pod(A, B), ["-spec.containers[c]"]),
        (pod(A, B), pod(A, {**B, "image": "b:2"}), ["spec.containers[b].image b:1→b:2"]),
        (pod(A, B), pod({**B, "image": "b:2"}, A), ["spec.containers[b].image b:1→b:2", "spec.containers order a,b→b,a"]),
        (
            {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            ["status.conditions[Ready].status False→True"],
        ),
        (
            {"ports": [{"port": 80, "nodePort": 1}, {"port": 81}]},
            {"ports": [{"port": 80, "nodePort": 2}, {"port": 81}]},
            ["ports[=80].nodePort 1→2"],
        ),
        (
            {"m": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]},
            {"m": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b", "readOnly": True}]},
            ["+m[/b].readOnly true"],
        ),
        ({"args": ["a", "b", "c"]}, {"args": ["a", "x", "c"]}, ["args[1] b→x"]),
        ({"args": ["a", "c"]}, {"args": ["a", "b", "c"]}, ["+args[1] b"]),
        ({"args": ["a", "b", "c"]}, {"args": ["c"]}, ["-args[0]", "-args[1]"]),
        ({"l": [{"name": "a"}, {"name": "a"}]}, {"l": [{"name": "a"}]}, ["-l[1]"]),
        ({"l": [{"name": "0"}]}, {"l": [{"name": "0", "a b": 1}]}, ['+l["0"]["a b"] 1']),
    ],
)  # fmt: skip
def test_what_is_said(before: dict[str, Any], after: dict[str, Any], said: list[str]) -> None:
    assert lines(before, after) == said
    assert same(apply_changes(before, changes(before, after)), after)


def test_a_new_and_a_vanished_object_are_one_change() -> None:
    assert changes(None, {"a": 1}) == [Change("", ABSENT, {"a": 1}, ())]
    assert lines(None, {"a": 1}) == ['+object {"a":1}']
    assert lines({"a": 1}, None) == ["-object"]
    assert changes(None, {"a": 1})[0].added and changes({"a": 1}, None)[0].removed


def test_noise_is_left_out_unless_it_is_asked_for() -> None:
    before = {"metadata": {"resourceVersion": "1", "managedFields": [{"manager": "a"}], "generation": 1}}
    after = {"metadata": {"resourceVersion": "2", "managedFields": [{"manager": "b"}], "generation": 2}}
    assert lines(before, after) == ["metadata.generation 1→2"]
    assert len(lines(before, after, without=())) == 3
    assert changes({"metadata": {}}, {"metadata": {"managedFields": []}}) == []
    added = changes({"metadata": {}}, {"metadata": {"managedFields": []}}, without=())
    assert [change.path for change in added] == ["metadata.managedFields"]


def test_what_is_left_out_may_be_below_an_item_of_a_list() -> None:
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "1"}
    before, after = ({"status": {"conditions": [{**ready, "lastHeartbeatTime": time}]}} for time in "12")
    assert lines(before, after) == ['status.conditions[Ready].lastHeartbeatTime "1"→"2"']
    assert lines(before, after, without=(*NOISE, *CLOCKWORK)) == []


def test_a_very_deep_object_is_one_change() -> None:
    def nested(depth: int, value: int) -> dict[str, Any]:
        for _ in range(depth):
            value = {"a": value}  # type: ignore[assignment]
        return {"kind": "Thing", "a": value}

    assert lines(nested(50, 1), nested(50, 2)) == [f"{'a.' * 50}a 1→2"]
    assert lines(nested(960, 1), nested(960, 2)) == ["object <nested too deeply>→<nested too deeply>"]
    assert lines(None, nested(960, 2)) == ["+object <nested too deeply>"]


class TestSecrets:
    def test_values_are_never_shown_and_differences_are(self) -> None:
        before = {"kind": "Secret", "type": "Opaque", "data": {"a": "c2VjcmV0", "b": "c2FtZQ==", "c": "Z29uZQ=="}}
        after = {"kind": "Secret", "type": "other", "data": {"a": "b3RoZXI=", "b": "c2FtZQ==", "d": "bmV3"}}
        assert lines(before, after) == [
            "type Opaque→other",
            "data.a <redacted>→<redacted>",
            "-data.c",
            "+data.d <redacted>",
        ]

    @looped("field", ["data", "stringData"])
    @looped("value", [{"password": "hunter2"}, "hunter2", ["hunter2"]], ids=["map", "text", "list"])
    def test_however_it_comes(self, field: str, value: Any) -> None:
        secret = {"kind": "Secret", "metadata": {"name": "a"}, field: value}
        empty = {"kind": "Secret", "metadata": {"name": "a"}}
        states: list[dict[str, Any] | None] = [None, empty, {**empty, field: {"password": "x"}}, secret]
        for before in states:
            for after in states:
                for without in (NOISE, ()):
                    assert "hunter2" not in repr(changes(before, after, without=without))
        assert "hunter2" not in repr(redacted(secret))

    def test_the_copy_that_apply_keeps(self) -> None:
        key = "kubectl.kubernetes.io/last-applied-configuration"
        before, after = (
            {"kind": "Secret", "metadata": {"annotations": {key: f'{{"data":{{"a":"hunter{number}"}}}}', "x": "y"}}}
            for number in (1, 2)
        )
        assert lines(before, after) == []
        assert lines(before, after, without=()) == [f"metadata.annotations[{key}] <redacted>→<redacted>"]
        assert redacted(before)["metadata"]["annotations"] == {key: "<redacted>", "x": "y"}

    def test_other_kinds_are_shown(self) -> None:
        config = {"kind": "ConfigMap", "data": {"a": "1"}}
        assert redacted(config) == config
        assert lines(config, {**config, "data": {"a": "b"}}) == ['data.a "1"→b']


class TestText:
    def test_long_values_are_cut(self) -> None:
        [line] = lines({"a": ""}, {"a": "x" * 500})
        assert len(line) < 80 and line.endswith("…")
        [change] = changes({"a": ""}, {"a": "x" * 500})
        assert one_line_of(change, longest=0).count("x") == 500

    def test_of_two_long_values_the_difference_is_shown(self) -> None:
        start = "registry.example.com/some/very/long/path/to/an/image/that/goes/on:"
        [line] = lines({"image": start + "v1"}, {"image": start + "v2"})
        assert "v1→" in line and line.endswith("v2") and len(line) < 80

    @looped("text", ["a\nb", "\x1b[31m", "\u2028", "\u202e", "\x85", "\x00", "\x7f", "→"])
    def test_no_control_character_is_left(self, text: str) -> None:
        for before, after in (
            ({"a": text}, {"a": text * 2}),
            ({"a": {}}, {"a": {text: 1}}),
            ({"a": [{"name": text}]}, {"a": []}),
            ({"a": {text: {"b": 1}}}, {"a": {text: {"b": {text: text}}}}),
        ):
            [line] = lines(before, after)
            assert line.isprintable()
            if text == "→":
                assert line.count("→") == 1 or '"' in line

    def test_a_path_says_what_is_a_name_and_what_a_position(self) -> None:
        [change] = changes({"l": [[1], [2]]}, {"l": [[1], [3]]})
        assert change.path == path_of(change.steps) == "l[1][0]"


scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1", "true"])
named = st.lists(st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"v": scalars}), max_size=4)
numbered = st.lists(st.fixed_dictionaries({"port": st.integers(0, 3)}, optional={"v": scalars}), max_size=4)
values = st.recursive(
    scalars | named | numbered,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "name", "type"]), inner, max_size=3)
        | st.lists(st.fixed_dictionaries({"name": st.sampled_from("abc"), "v": inner}), max_size=4)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(["a", "b", "name", "spec"]), values, max_size=3)


@settings(max_examples=examples(120), deadline=None)
@given(before=objects, after=objects)
def test_the_changes_lead_from_the_one_to_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    kept = copy.deepcopy((before, after))
    found = changes(before, after, without=())
    assert same(apply_changes(before, found), after)
    assert same([*kept], [before, after]), "nothing that was given may change"
    assert (found == []) == same(before, after)
    for change in found:
        assert one_line_of(change).isprintable()


def edited(draw: st.DrawFn, items: list[str]) -> list[str]:
    kept = [item for item in items if draw(st.booleans())]
    for name in draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=3)):
        kept.insert(draw(st.integers(0, len(kept))), name)
    return kept


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    items = list("abcde")
    return items, edited(draw, items)


@settings(max_examples=examples(100), deadline=None)
@given(edits())
def test_each_named_item_that_comes_or_goes_is_one_change(pair: tuple[list[str], list[str]]) -> None:
    old, new = pair
    before, after = ({"l": [{"name": name, "v": 1} for name in names]} for names in (old, new))
    found = changes(before, after)
    assert len(found) == len(set(old) ^ set(new))
    assert same(apply_changes(before, found), after)


def test_a_recorded_rollout_is_told_by_what_counts() -> None:
    [watch] = [one for one in exchanges(FIXTURES / "watch" / "list-then-watch.jsonl") if "watch" in one.query]
    states = [json.loads(line) for line in watch.body.splitlines()]
    states = [state["object"] for state in states if state["type"] == "MODIFIED"]
    said = [lines(*pair, without=(*NOISE, *CLOCKWORK)) for pair in itertools.pairwise(states)]
    assert any("status.updatedReplicas" in line for one in said for line in one), said
    assert not any("managedFields" in line for one in said for line in one)
    for pair in itertools.pairwise(states):
        assert same(apply_changes(pair[0], changes(*pair, without=())), pair[1])


def test_of_what_was_not_there() -> None:
    found = changes(None, A)
    assert same(apply_changes(None, found), A)
    assert apply_changes(A, changes(A, None)) is ABSENT
    assert (repr(ABSENT), bool(ABSENT)) == ("ABSENT", False)


def test_values_of_a_secret_are_in_no_repr() -> None:
    def secret(value: str) -> dict[str, Any]:
        return {"kind": "Secret", "data": {"a": value}, "stringData": value}

    found = changes(secret("hunter1"), secret("hunter2"))
    assert len(found) == 2 and "hunter" not in repr(found) and REDACTED in repr(found)
    assert changes(secret("hunter1"), secret("hunter1")) == []
