"""Objects as JSON and YAML: kubectl's text, which reads back as the object."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.builtin import known
from rawkube.cli.numbers import general_number, json_number, yaml_number
from rawkube.cli.printers import full_name, to_json, to_yaml, without_managed_fields
from rawkube.cli.yaml_text import sorted_keys
from rawkube.kubeconfig.document import parse
from tests.support.examples import examples
from tests.support.rows import looped


def test_json_is_sorted_and_indented_by_four() -> None:
    assert to_json({"b": [1, {"a": None}], "a": {}, "c": []}) == (
        '{\n    "a": {},\n    "b": [\n        1,\n        {\n            "a": null\n        }\n    ],\n    "c": []\n}\n'
    )


@looped(
    ("text", "shown"),
    [
        ("<a&b>", r'"\u003ca\u0026b\u003e"'),
        ("\u2028\u2029", r'"\u2028\u2029"'),
        ("é🚀", '"é🚀"'),
        ("\x00\b\f\n\r\t\x1b", r'"\u0000\b\f\n\r\t\u001b"'),
        ('"\\', r'"\"\\"'),
        ("\x7f\x85", '"\x7f\x85"'),
    ],
)
def test_json_strings(text: str, shown: str) -> None:
    assert to_json({text: text}) == f"{{\n    {shown}: {shown}\n}}\n"


@looped(
    ("value", "as_json", "as_yaml"),
    [
        (0, "0", "0"),
        (2**63 - 1, "9223372036854775807", "9223372036854775807"),
        (2**64, "18446744073709552000", "1.8446744073709552e+19"),
        (10**400, "", ""),
        (1.0, "1", "1"),
        (1.5, "1.5", "1.5"),
        (1e20, "100000000000000000000", "1e+20"),
        (1e19, "10000000000000000000", "10000000000000000000"),
        (1e21, "1e+21", "1e+21"),
        (1e-6, "0.000001", "1e-06"),
        (1e-7, "1e-7", "1e-07"),
        (0.0001, "0.0001", "0.0001"),
        (1234567.8, "1234567.8", "1.2345678e+06"),
        (123456.7, "123456.7", "123456.7"),
        (-2.5e-10, "-2.5e-10", "-2.5e-10"),
        (5e-324, "5e-324", "5e-324"),
    ],
)
def test_numbers(value: float, as_json: str, as_yaml: str) -> None:
    if as_json:
        assert (json_number(value), yaml_number(value)) == (as_json, as_yaml)
    else:  # Python reads more digits than Go; nothing that is served has them
        assert json_number(value)


@looped(
    ("value", "shown"),
    [(100000.0, "100000"), (1e6, "1e+06"), (0.1, "0.1"), (7, "7"), (2**70, "1.1805916207174113e+21")],
)
def test_numbers_as_go_shows_them_elsewhere(value: float, shown: str) -> None:
    assert general_number(value) == shown


@looped(
    ("text", "shown"),
    [
        *[(word, f'"{word}"') for word in ("", "null", "~", "true", "y", "No", "0x1f", "1e3", "1_000", "0755", "1:30")],
        *[(word, f'"{word}"') for word in ("2024-01-01", "2024-1-1", "2026-11-30T17:47:24Z", ".5", "5.", "08", ".inf")],
        *[(word, word) for word in ("a", "tRUE", "NaN", "2024-13-01", "2024-02-30", "<<", "=", "1.2.3", "a:b", "a#b")],
        *[(word, word) for word in ("-a", "a, b", "a[0]", "x y", "é", "\xa0", "1.5Gi", "100m", "a'b", "=~")],
        *[(word, f"'{word}'") for word in ("- a", "-", "a: b", "a:", "a #b", "#a", "@a", "`a", "%a", "*a", "&a", "!a")],
        *[(word, f"'{word}'") for word in ("|a", ">a", "{a", "[a", "]", "? a", "? ", '"a"', " a", "a ", " ", "--- a")],
        ("'a'", "'''a'''"),
        ("🚀", '"\\U0001F680"'),
        ("a\tb", '"a\\tb"'),
        ("\x00\a\b\v\f\r\x1b\x7f\x85\u2028", '"\\0\\a\\b\\v\\f\\r\\e\\x7F\\N\\L"'),
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n\n", "|+\n  a\n\n"),
        ("\n", "|2+\n"),
        (" a\nb", "|2-\n   a\n  b"),
        ("a \nb", '"a \\nb"'),
        ("a\n\tb", '"a\\n\\tb"'),
        ("a\nb ", '"a\\nb "'),
        ("word " * 20 + "end", "word " * 15 + "word\n  " + "word " * 4 + "end"),
        ("x" * 100, "x" * 100),
        ("x" * 100 + "  y z", "x" * 100 + "  y\n  z"),
        ("it's: " * 20, "'" + "it''s: " * 11 + "it''s:\n  " + "it''s: " * 7 + "it''s: '"),
        ("\a" + "word " * 20 + "end", '"\\a' + "word " * 15 + "word\n  " + "word " * 4 + 'end"'),
        ("\a" + "word  " * 16 + "end", '"\\a' + "word  " * 12 + "word\n  \\ " + "word  " * 3 + 'end"'),
        ("a\ud83db", "a\ufffdb"),
        ("\a\ud83d", '"\\a\ufffd"'),
    ],
)
def test_yaml_strings(text: str, shown: str) -> None:
    assert to_yaml({"k": text}) == f"k: {shown}\n"


@looped(
    ("value", "shown"),
    [
        ({"a": None, "b": True, "c": {}, "d": [], "e": {"f": 1}}, "a: null\nb: true\nc: {}\nd: []\ne:\n  f: 1\n"),
        ({"a": [1, {"b": 2, "c": [3]}, [4, 5]]}, "a:\n- 1\n- b: 2\n  c:\n  - 3\n- - 4\n  - 5\n"),
        ({"a": ["x\ny"], "b": {"c": "x\ny\n"}}, "a:\n- |-\n  x\n  y\nb:\n  c: |\n    x\n    y\n"),
        ({"x" * 129: 1}, "? " + "x" * 129 + "\n: 1\n"),
        ({"a\nb": {"c": 1}}, "? |-\n  a\n  b\n: c: 1\n"),
        ({"a\nb": [1]}, "? |-\n  a\n  b\n: - 1\n"),
        ({"1": 1, "true": 2, "": 3}, '"": 3\n"1": 1\n"true": 2\n'),
        ([], "[]\n"),
        ([1, "b"], "- 1\n- b\n"),
        ({}, "{}\n"),
        ("a", "a\n"),
    ],
)
def test_yaml_collections(value: Any, shown: str) -> None:
    assert to_yaml(value) == shown


@looped(
    "keys",
    [
        ["a", "b", "ab"],
        ["b9", "b10", "b100"],
        ["a-b", "a.b", "a/b", "ab"],
        ["A", "Z", "a"],
        ["0", "1", "2", "10"],
        ["a", "a0", "a1"],
        ["-1", "1", "a"],
    ],
)
def test_keys_in_natural_order(keys: list[str]) -> None:
    expected = ["a", "ab", "b"] if "ab" in keys and "b" in keys else keys
    assert sorted_keys(reversed(keys)) == expected


def test_managed_fields_are_hidden_in_a_copy() -> None:
    item: dict[str, Any] = {"metadata": {"name": "a", "managedFields": [1]}, "spec": {}}
    assert without_managed_fields(item) == {"metadata": {"name": "a"}, "spec": {}}
    assert item["metadata"]["managedFields"] == [1]
    assert without_managed_fields({"metadata": None}) == {"metadata": None}


def test_full_names() -> None:
    assert full_name(known("pods"), "a") == "pod/a"
    assert full_name(known("deploy"), "web") == "deployment.apps/web"


# What JSON can hold, with much of what is special in YAML.
SPECIAL = st.sampled_from(list("ab01 -:#,[]{}&*!|>'\"%@`?=.\\/\n\t~<_+é🚀\u2028\x85\x7f\x00\r"))
TEXT = st.text(SPECIAL, max_size=12) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TEXT |= st.lists(st.sampled_from(["word", "it's", "a:", "#", "", "- x", "é"]), max_size=40).map(" ".join)
# Written as kubectl writes it, `<<` is read back as what it means in YAML 1.1: the mapping to merge.
KEYS = TEXT.filter(lambda text: text != "<<")
SCALAR: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT
# A float that is whole is written, and so read, as an integer.
SCALAR |= st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: not value.is_integer())
VALUES = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


@given(st.dictionaries(TEXT, VALUES, max_size=4))
@settings(max_examples=examples(60), deadline=None)
def test_json_reads_back(value: dict[str, Any]) -> None:
    text = to_json(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029]", text)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
@settings(max_examples=examples(60), deadline=None)
def test_yaml_reads_back_as_kubectl_reads_it(value: dict[str, Any]) -> None:
    assert parse("# YAML, whatever it begins with\n" + to_yaml(value)).value == value


STRINGS = st.dictionaries(TEXT, st.lists(TEXT, max_size=3) | TEXT, max_size=4)


@given(STRINGS)
@settings(max_examples=examples(60), deadline=None)
def test_yaml_reads_back_with_pyyaml(value: dict[str, Any]) -> None:
    assert yaml.load(to_yaml(value), yaml.BaseLoader) == value
