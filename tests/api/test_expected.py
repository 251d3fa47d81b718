"""What is waited for: the forms of `--for`, and which of an object's states they are true of."""

from __future__ import annotations

from typing import Any

import pytest

from rawkube.api.expected import CREATED, DELETED, ConditionIs, FieldIs, conditions_of, is_outdated, read
from rawkube.api.json_path import JSONPath, JSONPathError
from rawkube.api.waited import Unwanted, Waited, read_goals
from rawkube.errors import DecodeError, UsageError
from tests.support.rows import looped

Object = dict[str, Any]


def obj(*conditions: Any, generation: int | None = None, **status: Any) -> Object:
    return {"metadata": {"generation": generation}, "status": {"conditions": list(conditions), **status}}


def ready(status: Any = "True", **more: Any) -> Object:
    return {"type": "Ready", "status": status, **more}


@looped(
    ("text", "said"),
    [
        ("Create", CREATED),
        ("DELETE", DELETED),
        ("condition=Ready", "condition Ready=true"),
        ("condition=Ready=False", "condition Ready=False"),
        ("condition=Ready=", "condition Ready="),
        ("jsonpath={.status.phase}", "field {.status.phase}"),
        ("jsonpath={.status.phase}='Running'", "field {.status.phase}=Running"),
        ('jsonpath={.c[?(@.a=="b")].d}=x', 'field {.c[?(@.a=="b")].d}=x'),
    ],
)
def test_forms(text: str, said: str) -> None:
    assert str(read(text)) == said


@looped(
    ("text", "error", "said"),
    [
        ("ready", UsageError, 'unrecognized condition: "ready"'),
        ("condition", UsageError, 'unrecognized condition: "condition"'),
        ("jsonpath", UsageError, 'unrecognized condition: "jsonpath"'),
        ("jsonpath={.a}=b=c", UsageError, "jsonpath wait format must be "),
        ("jsonpath={.a}=", UsageError, "jsonpath wait has to have a value after equal sign"),
        ("jsonpath={.a}=''", UsageError, "jsonpath wait has to have a value after equal sign"),
        ("jsonpath={.a", JSONPathError, "unexpected path string"),
    ],
)
def test_what_is_no_form(text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as raised:
        read(text)
    assert str(raised.value).startswith(said)


@looped(
    ("state", "met"),
    [
        (obj(ready()), True),
        (obj(ready("TRUE")), True),
        (obj({"type": "READY", "status": "true"}), True),
        (obj(ready("False")), False),
        (obj(ready(None)), False),
        (obj({"type": 7, "status": "True"}, ready()), True),
        (obj("odd", ready()), False),
        (obj(), False),
        ({}, False),
        (obj(ready(observedGeneration=1), generation=2), False),
        (obj(ready(observedGeneration=2), generation=2, observedGeneration=1), True),
        (obj(ready(), generation=2, observedGeneration=1), False),
        (obj(ready(), generation=2), True),
        (obj(ready(observedGeneration=True), generation=2), True),
    ],
)
def test_conditions(state: Object, met: bool) -> None:
    assert ConditionIs("Ready").met(state) is met


def test_conditions_that_are_none() -> None:
    for status, said in (
        ([], "[]interface {}, expected map[string]interface{}"),
        ({"conditions": "x"}, "string, expected []interface{}"),
    ):
        with pytest.raises(DecodeError) as raised:
            conditions_of({"status": status})
        assert str(raised.value) == f".status.conditions accessor error: it is of the type {said}"
    assert not is_outdated({"metadata": None}, {"observedGeneration": 1})


@looped(
    ("path", "value", "met"),
    [
        ("{.a}", "", True),
        ("{.b}", "", False),
        ("{.a}", "x y", True),
        ("{.a}", "x", False),
        ("{.n}", "3", True),
        ("{.l}", "", True),
    ],
)
def test_fields(path: str, value: str, met: bool) -> None:
    assert FieldIs(JSONPath(path), value).met({"a": " x y ", "n": 3, "l": [1, 2]}) is met


def test_fields_that_cannot_be_compared() -> None:
    for path, said in (
        ("{.l[*]}", "given jsonpath expression matches more than one value"),
        ("{.l}", "jsonpath leads"),
    ):
        with pytest.raises(JSONPathError, match=said):
            FieldIs(JSONPath(path), "1").met({"l": [1, 2]})


def met(waited: Waited, state: Object | None) -> list[str]:
    return [goal.text for goal in waited.take(state)]


PHASE = "jsonpath={.status.phase}=Running"


def test_goals_are_met_one_after_the_other() -> None:
    waited = Waited(read_goals([PHASE, "condition=Ready", "create"]))
    assert waited.may_be_absent
    assert met(waited, None) == []
    assert met(waited, obj(ready(), phase="Pending")) == ["create"]
    assert (met(waited, obj(ready(), phase="Running")), waited.done) == ([PHASE, "condition=Ready"], True)


def test_any_of_several() -> None:
    waited = Waited(read_goals([PHASE, "condition=Ready"], any_of=True))
    assert not waited.may_be_absent
    assert (met(waited, obj(phase="Pending")), waited.done) == ([], False)
    assert (met(waited, obj(ready(), phase="Pending")), waited.done) == (["condition=Ready"], True)


def test_what_must_not_be() -> None:
    waited = Waited(read_goals(["condition=Ready"], ["delete", "condition=Failed"]))
    assert met(waited, None) == []  # what was never there is not deleted
    assert met(waited, obj(phase="Pending")) == []
    assert waited.may_be_absent
    with pytest.raises(Unwanted, match=r"^condition=Failed is met$") as failed:
        waited.take(obj({"type": "Failed", "status": "True"}))
    assert failed.value.object is not None
    with pytest.raises(Unwanted, match=r"^delete is met$") as gone:
        waited.take(None)
    assert (gone.value.object, gone.value.goal.text) == (None, "delete")


def test_deletion() -> None:
    for goals, states, done in (
        (["delete"], [None], [([], True)]),
        (["delete"], [obj(), None], [([], False), (["delete"], True)]),
        (["create", "delete"], [None, obj(), None], [([], False), (["create"], False), (["delete"], True)]),
        (["delete", PHASE], [obj(), None], [([], False), (["delete"], True)]),  # what is gone meets nothing more
        ([PHASE, "delete"], [obj(), None], [([], False), ([], False)]),
    ):
        waited = Waited(read_goals(goals))
        assert [(met(waited, state), waited.done) for state in states] == done, goals
