"""Manifests: what `-f` names, taken apart into objects, and kubectl's complaints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.manifest import Manifests, namespace_of, objects_of, read_manifests
from rawkube.errors import UsageError
from tests.support.examples import examples
from tests.support.rows import looped

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n"
JSON_POD = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"}}'
GO_STRUCT = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


def told(manifests: Manifests | list[dict[str, Any] | UsageError]) -> list[str]:
    """`Kind/name` of an object, the text of an error, in order."""
    found = manifests.found if isinstance(manifests, Manifests) else manifests
    return [
        str(one) if isinstance(one, UsageError) else f"{one['kind']}/{(one.get('metadata') or {}).get('name')}"
        for one in found
    ]


def read(text: str | bytes) -> list[str]:
    return told(objects_of(text.encode() if isinstance(text, str) else text, "F"))


@looped(
    ("text", "objects"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("\n# nothing\n---\n# more of it\n...\n", "", id="comments"),
        pytest.param(POD % "a", "Pod/a", id="yaml"),
        pytest.param("\ufeff" + POD % "a", "Pod/a", id="byte-order-mark"),
        pytest.param((POD % "a").replace("\n", "\r\n"), "Pod/a", id="crlf"),
        pytest.param(f"---\n# one\n---\n{POD % 'a'}--- # two\n{POD % 'b'}---\n", "Pod/a Pod/b", id="documents"),
        pytest.param(JSON_POD % "a", "Pod/a", id="json"),
        pytest.param(f"{JSON_POD % 'a'}\n{JSON_POD % 'b'}{JSON_POD % 'c'}", "Pod/a Pod/b Pod/c", id="json-stream"),
        pytest.param(f"{JSON_POD % 'a'}\n---\n{POD % 'b'}", "Pod/a Pod/b", id="json-then-yaml"),
        pytest.param(
            f"{POD % 'a'}---\n{JSON_POD % 'b'}\n{JSON_POD % 'c'}", "Pod/a Pod/b Pod/c", id="yaml-then-json-stream"
        ),
        pytest.param("{apiVersion: v1, kind: Pod, metadata: {name: a}}", "Pod/a", id="yaml-in-braces"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    x: |\n      ---\n      y\n",
            "Pod/a",
            id="dashes-in-text",
        ),
        pytest.param("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n", "Pod/None", id="list"),
        pytest.param("apiVersion: v1\nkind: List\n", "List/None", id="list-without-items-is-an-object"),
        pytest.param("apiVersion: v1\nkind: List\nitems: null\n", "", id="list-of-null"),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n"
            "  - {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- {apiVersion: apps/v1, kind: Deployment}\n",
            "Pod/a Deployment/None",
            id="list-in-list",
        ),
        pytest.param("apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]", "Pod/a", id="typed-list"),
    ],
)
def test_objects_of_a_text(text: str, objects: str) -> None:
    assert read(text) == objects.split()


def test_scalars_are_those_of_kubectl() -> None:
    text = POD % "a" + "data: {a: yes, b: 0o17, c: 2001-01-01, d: 1_000, e: '1'}\n"
    (found,) = objects_of(text.encode(), "F")
    assert isinstance(found, dict)
    assert found["data"] == {"a": True, "b": 15, "c": "2001-01-01", "d": 1000, "e": "1"}


def test_an_item_of_a_typed_list_gets_its_kind_and_version() -> None:
    (found,) = objects_of(b'{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"spec":{}}]}', "F")
    assert found == {"kind": "Deployment", "apiVersion": "apps/v1", "spec": {}}


DECODE = 'unable to decode "F": '
JSON_ERROR = "couldn't get version/kind; json parse error: json: cannot unmarshal "


@looped(
    ("text", "error"),
    [
        ("hello", f"{DECODE}{JSON_ERROR}string into Go value of type {GO_STRUCT}"),
        ("[1, 2]", f"{DECODE}{JSON_ERROR}array into Go value of type {GO_STRUCT}"),
        ("1", f"{DECODE}{JSON_ERROR}number into Go value of type {GO_STRUCT}"),
        ("kind: 1\napiVersion: v1", f"{DECODE}{JSON_ERROR}number into Go struct field .kind of type string"),
        ('{"kind":"Pod"}', f"{DECODE}Object 'apiVersion' is missing in '{{\"kind\":\"Pod\"}}'"),
        ("apiVersion: v1", f"{DECODE}Object 'Kind' is missing in '{{\"apiVersion\":\"v1\"}}'"),
        ('{"kind":"Pod","apiVersion":"a/b/c"}', f"{DECODE}unexpected GroupVersion string: a/b/c"),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: n}",
            f"{DECODE}json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: 5}",
            f"{DECODE}json: cannot unmarshal number into Go struct field ObjectMeta.metadata.namespace of type string",
        ),
        (
            "a: b: c",
            "error parsing F: error converting YAML to JSON: yaml: line 1: "
            "mapping values are not allowed in this context",
        ),
        (b"a: \xff", "error parsing F: not UTF-8 text (byte 3)"),
        (
            "apiVersion: v1\nkind: List\nitems: [{metadata: {name: x}}, {kind: Pod, apiVersion: v1}]",
            "Object 'Kind' is missing in '{\"metadata\":…}'",
        ),
        (
            "apiVersion: v1\nkind: List\nitems: [1]",
            f"{JSON_ERROR}number into Go value of type {GO_STRUCT}",
        ),
    ],
)
def test_one_text_one_complaint(text: str | bytes, error: str) -> None:
    assert read(text) == [error]


def test_a_document_that_is_no_object_does_not_hide_the_others() -> None:
    found = read(f"hello\n---\n{POD % 'a'}---\nkind: Pod\n---\n{POD % 'b'}")
    assert [one[:16] for one in found] == ["unable to decode", "Pod/a", "unable to decode", "Pod/b"]


def test_after_text_that_cannot_be_parsed_nothing_is_believed() -> None:
    found = read(f"{POD % 'a'}---\nx: [\n---\n{POD % 'b'}")
    assert found[0] == "Pod/a"
    assert found[1:] == [
        "error parsing F: error converting YAML to JSON: yaml: line 6: did not find expected node content"
    ]


def test_an_object_on_the_line_of_the_separator_is_refused_as_kubectl_does() -> None:
    assert read(f"{POD % 'a'}--- {{kind: Pod}}\n") == [
        "Pod/a",
        "error parsing F: invalid Yaml document separator: {kind: Pod}",
    ]


def test_no_complaint_shows_what_a_secret_holds() -> None:
    shown = read('{"apiVersion":"v1","data":{"password":"aHVudGVyMg=="}}') + read("- apiVersion: v1\n  data: hunter2\n")
    assert len(shown) == 2
    assert "aHVudGVyMg" not in shown[0]
    assert "hunter2" not in shown[1]


# Files


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.yaml", "a.yml", "c.json", "d.txt", "sub/e.yaml", "sub/deep/f.yaml", ".g.yaml"):
        path = tmp_path / "dir" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = JSON_POD if name.endswith("json") else POD
        path.write_text(text % path.name.strip(".")[0])
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("names", "recursive", "objects"),
    [
        pytest.param(["dir/d.txt"], False, "d", id="a-named-file-may-be-called-anything"),
        pytest.param(["dir"], False, "g a b c", id="directory"),
        pytest.param(["dir"], True, "g a b c f e", id="recursive"),
        pytest.param(["dir/b.yaml", "dir/a.yml", "dir/b.yaml"], False, "b a b", id="order-as-named"),
        pytest.param(["dir/*.y*ml"], False, "g a b", id="pattern"),
        pytest.param(["dir/[^ab.s]*"], False, "c d", id="complement"),
        pytest.param(["dir/b.yaml", "empty"], False, "b", id="an-empty-directory-after-a-file"),
    ],
)
@pytest.mark.usefixtures("tree")
def test_names(names: list[str], recursive: bool, objects: str) -> None:
    assert told(read_manifests(names, recursive=recursive)) == [f"Pod/{name}" for name in objects.split()]


def test_a_name_that_is_a_pattern_too_means_the_file(tree: Path) -> None:
    (tree / "dir/[ab].yaml").write_text(POD % "literal")
    assert told(read_manifests(["dir/[ab].yaml"])) == ["Pod/literal"]


@pytest.mark.parametrize(
    ("names", "errors"),
    [
        (["nope"], ['the path "nope" does not exist']),
        (["dir/b.yaml/x"], ['the path "dir/b.yaml/x" cannot be accessed: stat dir/b.yaml/x: not a directory']),
        (["zz*.yaml"], ['the path "zz*.yaml" does not exist']),
        (["["], ['pattern "[" is not valid: syntax error in pattern']),
        (["empty"], ["error reading [empty]: recognized file extensions are [.json .yaml .yml]"]),
        (["empty", "dir/b.yaml"], ["error reading [empty]: recognized file extensions are [.json .yaml .yml]"]),
        (["nope", "dir/b.yaml", "nope2"], ['the path "nope" does not exist', 'the path "nope2" does not exist']),
        (["https://example.com/x"], ['a manifest is not fetched from a URL: "https://example.com/x"']),
        (["a\0b"], ['the path "a\\x00b" cannot be accessed: stat a\\x00b: invalid argument']),
    ],
)
@pytest.mark.usefixtures("tree")
def test_names_that_lead_nowhere(names: list[str], errors: list[str]) -> None:
    found = read_manifests(names)
    assert told(found) == errors
    assert not found.objects
    assert [str(error) for error in found.errors] == errors


def test_one_broken_file_does_not_hide_the_next(tree: Path) -> None:
    (tree / "bad").write_text("a: b: c")
    found = read_manifests(["bad", "dir/b.yaml"])
    assert told(found)[1] == "Pod/b"
    assert str(found.errors[0]).startswith("error parsing bad: ")


def test_standard_input_is_a_name_like_the_others(tree: Path) -> None:
    found = read_manifests(["dir/a.yml", "-"], stdin=(POD % "s" + "---\nx: [").encode)
    assert told(found)[:2] == ["Pod/a", "Pod/s"]
    assert str(found.errors[0]).startswith("error parsing STDIN: ")


def test_standard_input_is_read_only_where_it_is_named(tree: Path) -> None:
    def never() -> bytes:
        raise AssertionError("read")

    assert told(read_manifests(["dir/a.yml"], stdin=never)) == ["Pod/a"]


@looped(
    ("own", "given", "namespace"),
    [("", False, "here"), ("", True, "here"), ("there", False, "there"), ("here", True, "here")],
)
def test_the_namespace_of_an_object(own: str, given: bool, namespace: str) -> None:
    thing = {"kind": "Pod", "metadata": {"name": "a", **({"namespace": own} if own else {})}}
    assert namespace_of(thing, "here", given=given) == namespace


def test_two_namespaces_are_one_too_many() -> None:
    with pytest.raises(UsageError) as caught:
        namespace_of({"metadata": {"namespace": "bar"}}, "foo", given=True)
    assert str(caught.value) == (
        'the namespace from the provided object "bar" does not match the namespace "foo". '
        "You must pass '--namespace=bar' to perform this operation."
    )


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=5))
def test_documents_of_both_kinds_in_any_order(documents: list[tuple[str, bool]]) -> None:
    text = "---\n".join((JSON_POD + "\n" if as_json else POD) % name for name, as_json in documents)
    assert read(text) == [f"Pod/{name}" for name, _ in documents]


@settings(max_examples=examples(100))
@given(st.binary(max_size=60) | st.text(alphabet="-{}[]\"':, ab\n#.%&*!|>", max_size=60))
def test_any_bytes_end_in_objects_or_one_line_complaints(data: bytes | str) -> None:
    for one in objects_of(data if isinstance(data, bytes) else data.encode(), "F"):
        assert isinstance(one, UsageError)  # nothing random has a kind
        assert str(one).isprintable()


def test_a_stream_of_many_values_takes_time_that_grows_with_it_only() -> None:
    many = json.dumps({"apiVersion": "v1", "kind": "Pod"}) + "\n"
    assert len(objects_of((many * 20_000).encode(), "F")) == 20_000
