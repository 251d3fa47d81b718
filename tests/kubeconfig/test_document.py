"""YAML and JSON documents: values, lines, bounds, and errors that show nothing of the text."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.kubeconfig.document import DocumentError, parse
from rawkube.kubeconfig.event_yaml import MAX_DEPTH
from tests.support.examples import examples
from tests.support.rows import looped

ROOT = Path(__file__).parents[2]

both_parsers = pytest.mark.parametrize("pure", [False, True], ids=["libyaml", "pure"])


@both_parsers
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("  \n", None),
        ("# only a comment\n", None),
        ("---\n", None),
        ("a: 1\nb: [x, 'y', y]\n", {"a": 1, "b": ["x", "y", True]}),
        ('a: "1"\nb: |\n  x\n  y\n', {"a": "1", "b": "x\ny\n"}),
        ("a: 1\n---\nb: 2\n", {"a": 1}),
        ("# c\n---\n---\nreal: 1\n", None),
        ("---\nreal: 1\n", {"real": 1}),
        ("a: 1\na: 2\n", {"a": 2}),
        ("1: a\ntrue: b\n1.5: c\n", {"1": "a", "true": "b", "1.5": "c"}),
        ("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("&k a: 1\nb: *k\n", {"a": 1, "b": "a"}),
        ("a: !!str 12\nb: !custom 12\nc: ! 12\n", {"a": "12", "b": "12", "c": "12"}),
        ("a:\n  - b:\n    - - c\n", {"a": [{"b": [["c"]]}]}),
        ("{a: 1, b: {c: d}}", {"a": 1, "b": {"c": "d"}}),
        ("'<<': 1\n", {"<<": 1}),
        ("a: <<\n", {"a": "<<"}),
    ],
)
def test_values(text: str, value: object, pure: bool) -> None:
    assert parse(text, pure=pure).value == value


@both_parsers
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("b: &x {k: one}\na:\n  <<: *x\n  k: two\n", "two"),
        ("b: &x {k: one}\na:\n  k: two\n  <<: *x\n", "one"),
        ("b: &x {k: one}\nc: &y {k: two}\na:\n  <<: [*x, *y]\n", "one"),
        ("b: &x {k: one}\na:\n  !!merge <<: *x\n", "one"),
    ],
    ids=["key-after-merge", "merge-after-key", "first-of-a-list", "tagged"],
)
def test_merge_keys(text: str, value: str, pure: bool) -> None:
    assert parse(text, pure=pure).value["a"] == {"k": value}


@looped(
    ("text", "value"),
    [
        ('{"a": "1"}', {"a": "1"}),
        ('\n {"a": 1}{"a": 2}', {"a": 1}),
        ('{"a": 1} trailing', {"a": 1}),
        ('{"a": "\\/\\ud83d\\ude00"}', {"a": "/\U0001f600"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_json_values(text: str, value: object) -> None:
    assert parse(text).value == value


YAML_LINES = """\
clusters:
- name: one
  cluster:
    server: x
- cluster: {server: y,
    token: z}
  name: two
current-context: c
"""


def test_lines_of_yaml() -> None:
    document = parse(YAML_LINES)
    assert document.line(("clusters", 0, "cluster", "server")) == 4
    assert document.line(("clusters", 0)) == 2
    assert document.line(("clusters", 1, "cluster", "token")) == 6
    assert document.line(("current-context",)) == 8
    assert document.line(("clusters", 0, "cluster", "absent")) == 3
    assert document.line(("absent", 3)) == 0


def test_lines_of_json() -> None:
    value = {
        "a": 'x"\\[{,',
        "clusters": [{"name": "one"}, {"name": "two", "cluster": {"server": "y", "l": [1, {}]}}],
    }
    text = json.dumps(value, indent=1)
    document = parse(text)
    for path, needle in (
        (("clusters", 1, "cluster", "server"), '"server"'),
        (("clusters", 1, "name"), '"two"'),
        (("clusters",), '"clusters"'),
    ):
        assert text.splitlines()[document.line(path) - 1].strip().startswith((needle, '"name": ' + needle))
    assert document.line(("clusters", 1, "cluster", "absent")) == document.line(("clusters", 1, "cluster"))


def test_lines_of_json_with_escapes_and_with_something_behind_it() -> None:
    document = parse('\n{"x": 1,\n"\\u0061\\"\\n": [2,\n3]} } ,\n{"y": 1}')
    assert document.value == {"x": 1, 'a"\n': [2, 3]}
    assert [document.line(path) for path in (("x",), ('a"\n',), ('a"\n', 1), ("y",))] == [2, 3, 3, 0]


@both_parsers
@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("a: b\n  c: d\n", 2, 4, "mapping values are not allowed"),
        ("a:\n\t- b\n", 2, 1, "cannot start any token"),
        ("a: *s3cret\n", 1, 4, "unknown anchor referenced"),
        ("a: !!int s3cret\n", 1, 4, "cannot decode !!str as a !!int"),
        ("null: 1\n", 1, 1, "unsupported map key"),
        ("[a]: 1\n", 1, 3, "invalid map key"),
        ("<<: 3\n", 1, 5, "map merge requires map"),
        ("a: &x\n  b: *x\n", 2, 6, "anchor contains itself"),
        ("a: b\nc: \0\n", 2, 4, "control characters are not allowed"),
        ("a: !s3cret!x y\n", 1, 4, "found undefined tag handle"),
    ],
)
def test_errors_name_line_and_column(text: str, line: int, column: int, problem: str, pure: bool) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(text, pure=pure)
    assert problem in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "s3cret" not in str(caught.value)


@both_parsers
@pytest.mark.parametrize("opening", ["[\n", "{a: ", "- ", '{"a":'], ids=["list", "mapping", "block", "json"])
def test_deep_nesting_ends_in_an_error(opening: str, pure: bool) -> None:
    with pytest.raises(DocumentError, match=f"exceeded max depth of {MAX_DEPTH}"):
        parse(opening * 20_000, pure=pure)


def test_deep_nesting_in_one_line_ends_in_an_error() -> None:
    with pytest.raises(DocumentError, match="exceeded max"):
        parse("[" * 1_000_000)


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


def test_an_alias_bomb_ends_in_an_error() -> None:
    start = time.process_time()
    with pytest.raises(DocumentError, match="document contains excessive aliasing"):
        parse(bomb(30))
    assert time.process_time() - start < 5


def test_a_merge_bomb_ends_in_an_error() -> None:
    keys = ", ".join(f"k{i}: 1" for i in range(2000))
    text = f"a: &a {{{keys}}}\n" + "".join(f"b{i}: {{<<: *a}}\n" for i in range(2000))
    with pytest.raises(DocumentError, match="document contains excessive aliasing"):
        parse(text)


def test_a_few_aliases_do_no_harm() -> None:
    assert len(parse(bomb(5)).value["a4"]) == 9


def test_numbers_of_any_length_are_bounded() -> None:
    assert parse("a: " + "9" * 100_000).value == {"a": "9" * 100_000}
    assert parse('{"a": ' + "9" * 100_000 + "}").value == {"a": "9" * 100_000}


def test_json_and_plain_yaml_need_no_pyyaml() -> None:
    code = (
        "import sys; from rawkube.kubeconfig.document import parse; parse('{\"a\": 1}'); "
        "parse('a:\\n- b: 1\\n'); assert 'yaml' not in sys.modules; parse('a: [1]'); assert 'yaml' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


text = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | text | st.integers(-(2**63), 2**63),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(text, values, max_size=4))
def test_yaml_and_json_of_a_value_read_the_same(value: dict[str, object]) -> None:
    assert parse(json.dumps(value)).value == value
    as_yaml = yaml.safe_dump(value, default_style='"', explicit_start=True)
    assert parse(as_yaml).value == value
    assert parse(as_yaml, pure=True).value == value
