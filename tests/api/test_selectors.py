"""Label selectors as text: the forms of apimachinery, and its complaints."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawkube.api.selectors import SelectorError, from_label_selector, from_map
from tests.support.rows import looped


def needs(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@looped(
    ("labels", "expressions", "text"),
    [
        pytest.param({}, [], "", id="empty"),
        pytest.param(None, None, "", id="null-parts"),
        pytest.param({"app": "web"}, [], "app=web", id="label"),
        pytest.param({"b": "1", "a": ""}, [], "a=,b=1", id="sorted-by-key"),
        pytest.param(
            {"app": "web"},
            [
                needs("n", "DoesNotExist"),
                needs("k", "NotIn", "z"),
                needs("env", "In", "b", "a"),
                needs("e", "Exists"),
            ],
            "app=web,e,env in (a,b),k notin (z),!n",
            id="every-operator",
        ),
        pytest.param({}, [needs("a", "In", "x")], "a in (x)", id="set-of-one"),
        pytest.param(
            {"a": "1", "c": ""},
            [needs("a", "In", "z", "b", "b"), needs("a", "DoesNotExist"), needs("B", "Exists")],
            "B,a=1,a in (b,b,z),!a,c=",
            id="one-key-often",
        ),
        pytest.param({"example.com/tier": "a.b-c_d"}, [], "example.com/tier=a.b-c_d", id="prefix"),
    ],
)
def test_text_of_a_label_selector(labels: Any, expressions: Any, text: str) -> None:
    assert from_label_selector({"matchLabels": labels, "matchExpressions": expressions}) == text


def test_no_selector_at_all_selects_everything() -> None:
    assert from_label_selector(None) == from_label_selector({}) == from_map(None) == from_map({}) == ""


def test_text_of_a_map() -> None:
    assert from_map({"tier": "b", "app": "web"}) == "app=web,tier=b"


NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NO_VALUES = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"


@looped(
    ("labels", "expressions", "text"),
    [
        ({}, [needs("a", "Foo")], '"Foo" is not a valid label selector operator'),
        ({}, [needs("a", "in", "x")], '"in" is not a valid label selector operator'),
        ({}, [needs("a", "In")], NO_VALUES),
        ({}, [needs("a", "NotIn")], NO_VALUES),
        (
            {},
            [needs("a", "Exists", "x")],
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
        ({}, [{"key": 7, "operator": "Exists"}], "key: Invalid value: 7: must be a string"),
        ({"a" * 64: "c"}, [], f'key: Invalid value: "{"a" * 64}": name part must be no more than 63 characters'),
        ({}, [needs("a b", "Exists")], f'key: Invalid value: "a b": {NAME_RULE}'),
        ({"a b": "c"}, [], f'key: Invalid value: "a b": {NAME_RULE}'),
        ({"": "c"}, [], f'key: Invalid value: "": name part must be non-empty; {NAME_RULE}'),
        ({"/a": "c"}, [], 'key: Invalid value: "/a": prefix part must be non-empty'),
        ({}, [needs("a", "In", "x y", "b")], f'values[0][a]: Invalid value: "x y": {VALUE_RULE}'),
        ({"a": 1}, [], "values[0][a]: Invalid value: 1: must be a string"),
        ({"a": "x" * 64}, [], f'values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 characters'),
        (["a"], [], 'matchLabels: Invalid value: ["a"]: must be an object'),
        ({}, {"a": 1}, 'matchExpressions: Invalid value: {"a":1}: must be a list'),
        ({}, ["a"], 'matchExpressions: Invalid value: "a": must be an object'),
    ],
)
def test_what_means_nothing(labels: Any, expressions: Any, text: str) -> None:
    with pytest.raises(SelectorError) as caught:
        from_label_selector({"matchLabels": labels, "matchExpressions": expressions})
    assert str(caught.value) == text


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=4))
def test_no_label_can_add_a_requirement(labels: dict[str, str]) -> None:
    try:
        text = from_map(labels)
    except SelectorError:
        return
    assert dict(part.split("=") for part in text.split(",") if part) == labels
