"""Plain block YAML, read line by line: the same as from PyYAML's events, or not read at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rawkube.kubeconfig.block_yaml import DEEPEST, Map, NotPlain, parse
from rawkube.kubeconfig.document import DocumentError
from rawkube.kubeconfig.event_yaml import first_document
from tests.support.examples import examples
from tests.support.rows import looped

KUBECONFIG = """\
# written by a tool
---
apiVersion: v1
kind: Config
preferences: {}
current-context: "dev"
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://10.0.0.1:6443
    insecure-skip-tls-verify: false
  name: dev
contexts:
  - name: dev
    context:
      cluster: dev
      user: 'dev user'
      namespace:

users:
-   name: dev user
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: aws
        args:
        - --region
        - eu-west-1
        -   "a: b # c"
        env: []
        provideClusterInfo: y
"""

PLAIN = [
    ("a: 1\n", {"a": 1}),
    ("a:\n", {"a": None}),
    ("a: x y  z  \n", {"a": "x y  z"}),
    ("a: b:c#d\n", {"a": "b:c#d"}),
    ("a: http://x\n", {"a": "http://x"}),
    ("a: [] \nb: {}\n", {"a": [], "b": {}}),
    ("a: \"#: '\"\nb: '\"'\n", {"a": "#: '", "b": '"'}),
    ("a: 1\na: 2\n", {"a": 2}),
    ("- a\n- -b\n- ~\n", ["a", "-b", None]),
    ("- a: 1\n  b: 2\n- c:\n    d: 3\n", [{"a": 1, "b": 2}, {"c": {"d": 3}}]),
    ("a:\n- 1\nb:\n  - 2\nc:\n    d: 3\n", {"a": [1], "b": [2], "c": {"d": 3}}),
    ("a:\n- b:\n  - c\n  - d\n- e\n", {"a": [{"b": ["c", "d"]}, "e"]}),
    ("a: 0x10\nb: yes\nc: 1_0\nd: 1e3\n", {"a": 16, "b": True, "c": 10, "d": 1000.0}),
    ("a.b/c-d_e: f\n", {"a.b/c-d_e": "f"}),
]

# For PyYAML: what this reader does not know, and what is no YAML at all.
OTHER = [
    "", "\n", "# a\n", "---\n", "a\n", "a: 1\n...\n", "---\n---\na: 1\n", "a: 1\n---\nb: 2\n", "%YAML 1.1\n---\na: 1\n",
    " a: 1\n", "a: 1\n b: 2\n", "a:\n  b: 1\n c: 2\n", "a:\n    b: 1\n  c: 2\n", "a: 1\n- b\n", "- a\nb: 1\n", "- a\n  b: 1\n",
    "- a\n  - b\n", "a:\n  - b\n - c\n", "a:\n  b\n", "a: b\n  c\n", "a: b: c\n", "a: b:\n", "a: b # c\n", "a: #b\n", "a: *b\n",
    "a: &b c\n", "a: !b c\n", "a: |\n  b\n", "a: >\n  b\n", "a: [b]\n", "a: {b: c}\n", "a: @b\n", "a: `b\n", "a: %b\n", "a: ,b\n",
    "a: ? b\n", "? a\n", "a: - b\n", "a: -\n", "-\n", "- - a\n", "a: 'b''c'\n", 'a: "b\\n"\n', "a: 'b' c\n", "a: 'b\n  c'\n", "<<: a\n",
    "'a': b\n", "1: a\n", "y: a\n", "null: a\n", "a:b\n", "a:\tb\n", "\ta: b\n", "a: b\r\n", "a: \u00e9\n", "a: \x00\n", "a: \x85\n", "{}", "[]",
    "a" * 200 + ": b\n", "".join(f"{' ' * i}a:\n" for i in range(DEEPEST + 1)),
]  # fmt: skip


def same(found: Any, expected: Any) -> bool:
    """Equal, of the same types, each field on the same line."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, Map):
        return (
            list(found) == list(expected)
            and found.lines == expected.lines
            and all(same(found[key], expected[key]) for key in found)
        )
    if isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected) or found != found  # NaN


def check(text: str) -> None:
    """What is read here is what PyYAML's events say; what those refuse is refused."""
    try:
        found = parse(text)
    except NotPlain:
        return
    try:
        expected = first_document(text)
    except DocumentError as error:
        raise AssertionError(f"{text!r} is {found!r} here; {error}") from None
    assert same(found, expected), f"{text!r}: {found!r}, not {expected!r}"


@looped("text", [text for text, _ in PLAIN])
def test_values(text: str) -> None:
    assert parse(text) == dict(PLAIN)[text]
    check(text)


def test_a_kubeconfig_cut_anywhere() -> None:
    assert parse(KUBECONFIG)["users"][0]["user"]["exec"]["args"] == ["--region", "eu-west-1", "a: b # c"]
    for end in range(len(KUBECONFIG) + 1):
        check(KUBECONFIG[:end])


@looped("text", OTHER)
def test_what_is_left_to_pyyaml(text: str) -> None:
    with pytest.raises(NotPlain):
        parse(text)


pieces = st.sampled_from(
    ["a: ", "b:", "- ", "-", " ", "  ", "x", "1", "\n", "\n", "\n  ", "\n- ", "\n  - ", "\na:", ": ", " #", "#", "'", '"', "{}", "[]",
     "---", "...", "~", "&", "*", "!", "|", ">", "?", "%", "@", ",", "y", "<<", "\\", "=", "\t", "\r", ".5", "0o7"]
)  # fmt: skip


@settings(max_examples=examples(1200))
@given(st.lists(pieces, max_size=24).map("".join))
@example("a:\n- x\n  b: 1\n")
def test_it_never_reads_what_pyyaml_reads_otherwise(text: str) -> None:
    check(text)


@settings(max_examples=examples(400))
@given(st.data())
def test_a_kubeconfig_with_something_changed(data: st.DataObject) -> None:
    lines = KUBECONFIG.split("\n")
    number = data.draw(st.integers(0, len(lines) - 1))
    at = data.draw(st.integers(0, len(lines[number])))
    gone = data.draw(st.integers(0, 3))
    lines[number] = lines[number][:at] + data.draw(pieces) + lines[number][at + gone :]
    check("\n".join(lines))
