"""JSONPath: its language, its oddities and its errors, by hand, by chance, and beside the real kubectl."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.json_path import JSONPath, JSONPathError
from rawkube.api.json_path_steps import go_text
from rawkube.go_json import encode
from tests.support.examples import examples, some
from tests.support.run import kubectl_command, run

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "labels": {"app": "x", "app.io/name": "dotted"}},
    "spec": {"n": 3, "f": 1.0, "g": 1000000.5, "t": True, "z": None, "l": [1, 2, 3], "e": [], "u": {"a": "ü"}},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Init", "status": "False", "n": 1.5}],
    },
}

FOUND: dict[str, list[Any]] = {
    "{.status.phase}": ["Running"],
    ".status.phase": ["Running"],
    "status.phase": ["Running"],
    "{status.phase}": ["Running"],
    ".status.nothing": [],
    ".status.phase.deeper": [],
    ".nothing.at[0].all": [],
    ".spec.z": [None],
    ".spec.z.a": [],
    ".spec.l": [[1, 2, 3]],
    ".spec.l[0]": [1],
    ".spec.l[]": [1],
    ".spec.l[-1]": [3],
    ".spec.l[*]": [1, 2, 3],
    ".spec.l[1:3]": [2, 3],
    ".spec.l[:-1]": [1, 2],
    ".spec.l[-2:]": [2, 3],
    ".spec.l[::2]": [1, 3],
    ".spec.l[1:1]": [],
    ".spec.l[0,2]": [1, 3],
    ".spec.e[*]": [],
    ".spec['n','t']": [3, True],
    ".spec['n']": [3],
    r".metadata.labels.app\.io/name": ["dotted"],
    r".metadata.labels['app\.io/name']": ["dotted"],
    ".metadata.labels['app.io/name']": [],
    '.status.conditions[?(@.type=="Ready")].status': ["True"],
    ".status.conditions[?(@.type=='Init')].status": ["False"],
    '.status.conditions[?(@.type!="Ready")].type': ["Init"],
    '.status.conditions[?( @.type == "Ready" )].status': ["True"],
    ".status.conditions[?(@.n)].type": ["Init"],
    ".status.conditions[?(@.n>1.4)].type": ["Init"],
    ".status.conditions[?(@.type[0])].type": ["Ready", "Init"],
    ".spec.l[?(@>=2)]": [2, 3],
    ".spec.l[?(@ < 2)]": [1],
    ".spec.l[?(@.a==1)]": [],
    ".spec.z[0]": [],
    r'.spec "a\x41\u00e9\101\n\U0001F600\"b"': ['aAéA\n😀"b'],
    r".spec 'it\'s'": ["it's"],
    "..type": ["Ready", "Init"],
    "{..conditions[0].type}": ["Ready"],
    ".spec.u.a.*": [0xC3, 0xBC],
    # In braces a path begins with a point, so that these have an empty name before what was typed.
    "['spec']": [],
    "$.spec": [],
    ".spec range": [],
}

WRONG = {
    "": "jsonpath expression cannot be empty",
    "{.a": "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
    "{.a}{.b}": "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
    ".a\n.b": "unclosed action",
    ".a\\": "unclosed action",
    ".spec.l[0": "unterminated array",
    ".spec.l[a]": "invalid array index a",
    ".spec.l[-]": "array index - is not a number",
    ".spec.l[99999999999999999999]": "array index 99999999999999999999 is not a number",
    ".spec[?(@.a": "unterminated filter",
    ".spec[?(@.a)": "unclosed array expect ]",
    '.c[?(@.a=="x"||@.b=="y")]': "unrecognized character in action: U+007C '|'",
    "....a": "invalid multiple recursive descent",
    ".a 'b": "unterminated quoted string",
    r'.a "b\x"': r'unquote string "b\x" error invalid syntax',
    r'.a "b\u00"': r'unquote string "b\u00" error invalid syntax',
    r'.a "b\ud800"': r'unquote string "b\ud800" error invalid syntax',
    r'.a "b\777"': r'unquote string "b\777" error invalid syntax',
    r'.a "b\\"c"': r'unquote string "b\\"c" error invalid syntax',
    ".a ١": "cannot parse number ١",
    ".a -": "cannot parse number -",
    ".a 1.2.3": "cannot parse number 1.2.3",
}

UNFIT = {
    ".spec.l[3]": "array index out of bounds: index 3, length 3",
    ".spec.l[-5]": "array index out of bounds: index -2, length 3",
    ".spec.l[1:9]": "array index out of bounds: index 8, length 3",
    ".spec.l[2:1]": "starting index 2 is greater than ending index 1",
    ".spec.l[::0]": "step must be > 0",
    ".spec.e[0]": "array index out of bounds: index 0, length 0",
    ".spec.n[0]": "int64 is not array or slice",
    ".spec[0]": "map[string]interface {} is not array or slice",
    ".status.phase[0]": "string is not array or slice",
    ".spec.l[?(@==true)]": "incompatible types for comparison",
    ".status[?(@.a)]": "map[string]interface {} is not array or slice and cannot be filtered",
    ".spec.z[?(@.a)]": "<nil> is not array or slice and cannot be filtered",
    ".spec.l[?(@=1)]": "unrecognized filter operator =",
    ".spec.l[?(@>'a')]": "incompatible types for comparison",
    ".status.conditions[?(@.*==1)]": "can only compare one element at a time",
    ".status.conditions[?(@.type[0]==1)]": "string is not array or slice",
    ".status.conditions[?(@==1)]": "invalid type for comparison",
    ".spec.l[?(true<false)]": "invalid type for comparison",
    ".status.*[*].type": "string is not array or slice",
    ".spec foo": "unrecognized identifier foo",
    ".spec end": "not in range, nothing to end",
}


def outcome(text: str, item: Any) -> Any:
    try:
        return JSONPath(text).find(item)
    except JSONPathError as error:
        return f"error: {error}"


def test_what_a_path_finds() -> None:
    assert {text: outcome(text, POD) for text in FOUND} == FOUND


def test_an_escape_may_be_a_byte() -> None:
    assert outcome(r".spec '\xff'", POD) == ["\udcff"]


def test_paths_that_cannot_be_read() -> None:
    said = {}
    for text in WRONG:
        with pytest.raises(JSONPathError) as raised:
            JSONPath(text)
        said[text] = str(raised.value)
    assert said == WRONG


def test_paths_that_do_not_fit_the_object() -> None:
    assert {text: outcome(text, POD) for text in UNFIT} == {text: f"error: {said}" for text, said in UNFIT.items()}


def test_an_error_shows_nothing_of_the_object() -> None:
    said = outcome(".data[?(@.a)]", {"data": {"password": "hunter2"}})
    assert said == "error: map[string]interface {} is not array or slice and cannot be filtered"


def test_the_text_of_a_value() -> None:
    table = {
        3: "3",
        2.0: "2",
        1000000.5: "1.0000005e+06",
        123456.0: "123456",
        1e-05: "1e-05",
        0.0001: "0.0001",
        2**63: "9.223372036854776e+18",
        -2.5: "-2.5",
        1e21: "1e+21",
    }
    assert {value: go_text(value) for value in table} == table
    assert [go_text(value) for value in (True, None, "a b", 0.0, -0.0)] == ["true", "<nil>", "a b", "0", "-0"]
    assert go_text(10**400) == "1" + "0" * 400  # beyond float64


PIECES = [".", "..", "[", "]", "[?(", ")]", "(", ")", "@", "$", "*", ":", ",", "'", '"', "\\", " ", "-", "1", "9" * 30]
PIECES += [
    "a",
    "type",
    "conditions",
    "status",
    "range",
    "end",
    "true",
    "==",
    "<",
    "!=",
    "=",
    "ü",
    "{",
    "}",
    "\n",
    "\x00",
]
paths = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=20)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
)
things = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "type", "status", ""]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(300), deadline=None)
@given(paths, things)
def test_any_path_on_anything_finds_a_list_or_says_why_not(text: str, item: Any) -> None:
    try:
        assert isinstance(JSONPath(text).find(item), list)
    except JSONPathError as error:
        assert str(error).isprintable()


def test_depth_is_no_trouble() -> None:
    deep: Any = {"a": 1}
    for _ in range(20000):
        deep = {"a": deep}
    assert JSONPath("..a").find(deep)[-1] == 1
    with pytest.raises(JSONPathError):
        JSONPath("[?(" * 3000 + "a" + ")]" * 3000)


# Beside the real kubectl.


def generated() -> list[str]:
    """Paths that mostly mean something, the same ones each time."""
    chance = random.Random(7)
    names = [
        ".spec",
        ".status",
        ".metadata",
        ".conditions",
        ".l",
        ".n",
        ".e",
        ".z",
        ".labels",
        ".phase",
        ".type",
        "..type",
    ]
    names += [r".app\.io/name", "['app']", "['n','t']", ".f", ".g", ".*", ".status.conditions", ".spec.l", "..status"]
    filters = ['[?(@.type=="Ready")]', "[?(@.n)]", "[?(@>1)]", "[?(@.n<2.5)]", "[?(@.status!='True')]", '[?(@.n=="a")]']
    ends = ["[0]", "[-1]", "[*]", "[1:]", "[:2]", "[::2]", "[5]", "[0,1]", "[]", *filters]
    found = []
    for _ in range(400):
        parts = [
            chance.choice(names) if chance.random() < 0.7 else chance.choice(ends) for _ in range(chance.randint(1, 4))
        ]
        found.append("".join(parts))
    return [text for text in dict.fromkeys(found) if text.startswith(".") and ".*" not in text]


def printed(values: list[Any]) -> str:
    """As `kubectl -o jsonpath` prints what was found: null as `null`, the rest as `%v` of Go, lists as JSON."""
    shown = [encode(_sorted(one)) if isinstance(one, dict | list) else go_text(one) for one in values]
    return " ".join("null" if one is None else text for one, text in zip(values, shown, strict=True))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


@pytest.mark.kubectl
def test_kubectl_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "pod.json").write_text(json.dumps(POD))
    labelled = {**POD, "metadata": {**POD["metadata"], "labels": {**POD["metadata"]["labels"], "q": "r"}}}

    def kubectl(template: str) -> str:
        args = ("label", "--local", "-f", "pod.json", "q=r", "-o", f"jsonpath={template}")
        ran = run(kubectl_command(), *args, url="http://127.0.0.1:1", home=tmp_path)
        return ran.stdout if ran.code == 0 else ran.stderr.split("\n")[0]

    # Objects have no order in Go: a path that finds several of their values may find them in any.
    everything = [*FOUND, *generated()]
    ours = {"{" + text.strip("{}") + "}": outcome("{" + text.strip("{}") + "}", labelled) for text in everything}
    ours = {text: found for text, found in ours.items() if text[1] == "."}
    fine = {text: printed(found) for text, found in ours.items() if isinstance(found, list) and "range" not in text}
    assert len(fine) > 150
    answers = kubectl("\x1f".join(fine)).split("\x1f")
    assert dict(zip(fine, answers, strict=True)) == fine
    failed = [text for text, found in ours.items() if isinstance(found, str)]
    wrong = [*failed[:8], "{.spec.l[2:1]}", "{.spec.l[::0]}", "{.spec foo}", '{.c[?(@.a=="x"||@.b)]}', "{....a}"]
    for text in some("paths that fail", wrong):  # a process each
        said = str(outcome(text, labelled)).removeprefix("error: ")
        # Of what is no list kubectl prints the value, rawkube the type.
        what, filtered, _ = said.partition(" is not array or slice and cannot be filtered")
        assert (filtered or what) in kubectl(text), text
