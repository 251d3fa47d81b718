"""The text of a label selector, read and evaluated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawkube.api.label_selector import Requirement, labels_match, parse_labels
from rawkube.api.selectors import SelectorError
from tests.support.rows import looped

LABELS = {"app": "web", "tier": "", "example.com/size": "7"}

MATCHES = {
    "": True,
    "app=web": True,
    "app==web": True,
    "app = web": True,
    "app=db": False,
    "tier=": True,
    "app=": False,
    "app!=db": True,
    "app!=web": False,
    "none!=web": True,
    "none=web": False,
    "none=": False,
    "app": True,
    "none": False,
    "!app": False,
    "!none": True,
    "! none": True,
    "app in (web)": True,
    "app in (db, web)": True,
    "app in (db)": False,
    "none in (web)": False,
    "tier in (,x)": True,
    "app notin (db,x)": True,
    "app notin (web)": False,
    "none notin (web)": True,
    "app=web,tier": True,
    "app=web,!tier": False,
    "app in (web,db),tier notin (x,y),!none": True,
    "example.com/size=7": True,
    "example.com/size>6": True,
    "example.com/size>7": False,
    "example.com/size<10": True,
    "app>1": False,
    "none<1": False,
}


@looped(("selector", "matches"), MATCHES.items())
def test_label_selectors(selector: str, matches: bool) -> None:
    assert labels_match(parse_labels(selector), {"metadata": {"labels": LABELS}}) is matches


@looped("obj", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"labels": None}}])
def test_an_object_without_labels(obj: dict[str, Any]) -> None:
    assert labels_match(parse_labels("!app,app!=web"), obj)
    assert not labels_match(parse_labels("app"), obj)


IN = "unable to parse requirement: "

# What labels.Parse of apimachinery says.
WRONG = {
    "===": "found '==', expected: !, identifier, or 'end of string'",
    "=x": "found '=', expected: !, identifier, or 'end of string'",
    "app=a=b": "found '=', expected: ',' or 'end of string'",
    "a,": "found '', expected: identifier after ','",
    "a,=,b": "found '=', expected: identifier after ','",
    "a b": IN + "found 'b', expected: in, notin, =, ==, !=, gt, lt",
    "a in b": IN + "found 'b' expected: '('",
    "a in (": IN + "found '', expected: ',', ')' or identifier",
    "a in (b": IN + "found '', expected: ',' or ')'",
    "a in (b c)": IN + "found 'c', expected: ',' or ')'",
    "a in (b,(": IN + "found '(', expected: ',', or identifier",
    "a in (=)": IN + "found '=', expected: ',', ')' or identifier",
    "a in ()": IN + "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    "!": IN + "found '', expected: identifier",
    "!!a": IN + "found '!', expected: identifier",
    "a==(": IN + "found '(', expected: identifier",
    "a>b": IN + "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
}


@looped(("selector", "text"), WRONG.items())
def test_what_is_no_selector(selector: str, text: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_labels(selector)
    assert str(caught.value) == text


@pytest.mark.parametrize(("selector", "rule"), [("-a", "name part must consist of"), ("a=-", "a valid label must be")])
def test_keys_and_values_are_those_that_a_label_can_have(selector: str, rule: str) -> None:
    with pytest.raises(SelectorError, match=rule):
        parse_labels(selector)


@looped(
    ("selector", "requirement"),
    [
        ("in", Requirement("in", "exists")),
        ("in=notin", Requirement("in", "in", frozenset({"notin"}))),
        ("in in (in)", Requirement("in", "in", frozenset({"in"}))),
        ("a in (,)", Requirement("a", "in", frozenset({""}))),
        ("a in (b,,c)", Requirement("a", "in", frozenset({"b", "", "c"}))),
        ("a=", Requirement("a", "in", frozenset({""}))),
        ("a\t!=\n b", Requirement("a", "notin", frozenset({"b"}))),
    ],
)
def test_words_and_spaces(selector: str, requirement: Requirement) -> None:
    assert parse_labels(selector) == {requirement}


def test_the_order_and_the_spelling_make_no_difference() -> None:
    assert parse_labels("a=b,c in (d,e)") == parse_labels("c in (e, d),a==b")


@given(st.text(alphabet="ab=!,() <>in", max_size=12))
def test_any_text_is_a_selector_or_one_error(text: str) -> None:
    try:
        requirements = parse_labels(text)
    except SelectorError as error:
        assert "\n" not in str(error)
    else:
        assert labels_match(requirements, {}) in (True, False)
