"""Discovery documents of both shapes: what they say, and what is made of odd ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.discovery_documents import Root, failure, is_aggregated, is_stale, read_resources, read_root
from rawkube.api.resource import Resource
from rawkube.errors import DecodeError, RawkubeError, StatusError
from tests.support.discovery import CONTENT_TYPE
from tests.support.discovery_server import BETA, aggregated, legacy_groups, legacy_list, res
from tests.support.examples import examples
from tests.support.recordings import FIXTURES, Exchange, exchanges
from tests.support.rows import looped

PODS = res("pods.v1.", short="po", cats="all")
WIDGETS = res("widgets.v1.example.com", short="wi wid", cats="all shop", verbs="get list")
NODES = res("nodes.v1.", namespaced=False)
HERE = FIXTURES / "discovery"


def read(document: Any, content_type: str = CONTENT_TYPE) -> Root:
    return read_root(json.dumps(document).encode(), content_type)


@looped(
    ("content_type", "is_it"),
    [
        (CONTENT_TYPE, True),
        (BETA, True),
        ("application/json; v=v2;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io", True),
        (CONTENT_TYPE + ";charset=utf-8", True),
        (CONTENT_TYPE + ";profile=nopeer", True),
        ('Application/JSON; G="apidiscovery.k8s.io"; V=v2; AS=APIGroupDiscoveryList', True),
        ("application/json", False),
        ("text/json", False),
        ("text/html", False),
        ("", False),
        (CONTENT_TYPE.replace("v2", "v3"), False),
        (CONTENT_TYPE.replace("application/json", "text/json"), False),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupList", False),
        ("application/json;;;=;g", False),
    ],
)
def test_the_content_type_of_an_aggregated_document(content_type: str, is_it: bool) -> None:
    assert is_aggregated(content_type) is is_it


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_an_aggregated_document(version: str) -> None:
    found = read(aggregated([PODS, NODES, WIDGETS], version=version))
    assert [one for one in found.resources if "/" not in one.plural] == [PODS, NODES, WIDGETS]
    assert [(group.name, group.versions, group.preferred) for group in found.groups] == [
        ("", ("v1",), "v1"),
        ("example.com", ("v1",), "v1"),
    ]
    assert (found.aggregated, found.pending, found.failed) == (True, (), {})


def test_legacy_documents() -> None:
    core = read({"kind": "APIVersions", "versions": ["v1"]}, "application/json")
    assert (core.pending, core.groups[0].preferred, core.aggregated) == ((("", "v1"),), "v1", False)
    groups = read(legacy_groups([WIDGETS, WIDGETS._replace(version="v2")]), "application/json")
    assert groups.pending == (("example.com", "v1"), ("example.com", "v2"))
    listed = read_resources(json.dumps(legacy_list([WIDGETS], "example.com/v1")).encode(), "example.com", "v1")
    assert listed[0] == WIDGETS
    assert [one.plural for one in listed] == ["widgets", "widgets/status"]


@looped(
    ("document", "content_type", "is_aggregated"),
    [
        (aggregated([PODS]), "application/json", True),
        (aggregated([PODS]), "", True),
        ({"items": []}, CONTENT_TYPE, True),
        ({"kind": "APIGroupList", "groups": []}, CONTENT_TYPE, False),
        ({"groups": []}, "application/json", False),
        ({"versions": ["v1"]}, "application/json", False),
    ],
    ids=["aggregated-as-json", "aggregated-without-type", "no-kind", "groups-as-aggregated", "groups", "versions"],
)
def test_the_kind_decides_then_the_content_type(document: Any, content_type: str, is_aggregated: bool) -> None:
    assert read(document, content_type).aggregated is is_aggregated


def test_a_stale_version_is_none_of_the_groups_versions() -> None:
    both = [res("a.v2.example.com"), res("a.v1.example.com")]
    found = read(aggregated(both, stale=["example.com/v2"]))
    assert found.groups == (("example.com", ("v1",), "v1"),)
    assert found.failed == {"example.com/v2": "stale GroupVersion discovery: example.com/v2"}
    assert is_stale(found.failed["example.com/v2"])
    assert {one.version for one in found.resources} == {"v1"}


@pytest.mark.parametrize("kind", [None, {"group": "", "version": "", "kind": ""}, "Pod"], ids=str)
def test_a_parent_without_a_kind_is_not_listed_but_what_is_below_it_is(kind: Any) -> None:
    scale = {"subresource": "scale", "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}}
    entry = {"resource": "things", "singularResource": "thing", "scope": "Namespaced", "responseKind": kind}
    entry["subresources"] = [scale, {"subresource": "status"}, {"subresource": ""}]
    document = {"kind": "APIGroupDiscoveryList", "items": [{"versions": [{"version": "v1", "resources": [entry]}]}]}
    found = read(document)
    assert [(one.plural, one.singular, one.kind, one.namespaced) for one in found.resources] == [
        ("things/scale", "thing", "Scale", True)
    ]


@looped(
    ("plural", "kind", "singular"),
    [
        ("networkpolicies", "NetworkPolicy", "networkpolicy"),
        ("endpoints", "Endpoints", "endpoints"),
        ("gateways", "Gateway", "gateway"),
        ("people", "Person", "person"),
    ],
)
def test_a_missing_singular_is_the_kind_in_lower_case(plural: str, kind: str, singular: str) -> None:
    odd = Resource("g", "v1", plural, "", kind, (), True, ())
    aggregated_ = [one for one in read(aggregated([odd])).resources if one.plural == plural]
    legacy = read_resources(json.dumps(legacy_list([odd], "g/v1")).encode(), "g", "v1")
    assert {aggregated_[0].singular, legacy[0].singular} == {singular}
    assert legacy[1].singular == ""


def test_a_malformed_version_is_reported_and_the_rest_is_kept() -> None:
    versions = [{"groupVersion": "a/b/c", "version": "c"}, {"groupVersion": "a/v1", "version": "v1"}]
    document = {"kind": "APIGroupList", "groups": [{"name": "a", "versions": versions}]}
    found = read(document, "application/json")
    assert found.failed == {"a/b/c": "unexpected GroupVersion string: a/b/c"}
    assert found.pending == (("a", "v1"),)


ODD = [None, 1, "x", [], {}, [None], [1, "x"], {"a": 1}]


@looped("odd", ODD, ids=str)
@looped("key", ["items", "versions", "resources", "responseKind", "verbs", "shortNames", "subresources", "metadata"])
def test_values_of_another_type_are_left_out(key: str, odd: Any) -> None:
    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: odd if name == key else change(inner) for name, inner in value.items()}
        return [change(inner) for inner in value] if isinstance(value, list) else value

    for one in read(change(aggregated([PODS, WIDGETS]))).resources:
        assert one.plural.partition("/")[0] in ("pods", "widgets")
        assert all(isinstance(verb, str) for verb in one.verbs)
    resources = read_resources(json.dumps(change(legacy_list([WIDGETS], "example.com/v1"))).encode(), "g", "v1")
    assert all(isinstance(name, str) for one in resources for name in one.short_names)


@looped(
    ("body", "text"),
    [
        (b"<html>", "invalid character '<' looking for beginning of value"),
        (b"  nope", "invalid character 'n' looking for beginning of value"),
        (b"", "unexpected end of JSON input"),
        (b'{"kind": "APIGr', "unexpected end of JSON input"),
        (b'{"kind": ', "unexpected end of JSON input"),
        (b"[]", "the server's discovery document is no JSON object"),
        (b"{}", "the server was asked for a discovery document and sent an object without a kind"),
        (b'{"kind":"Pod\\n"}', "the server was asked for a discovery document and sent a Pod\\n"),
        (b"[" * 100_000, "exceeded max depth"),
    ],
    ids=["html", "text", "empty", "cut", "cut-at-a-value", "list", "no-kind", "pod", "deep"],
)
def test_what_is_no_document(body: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read_root(body, "application/json")
    assert str(caught.value) == text
    assert len(caught.value.detail) == 1
    if body != b"{}":  # a list of resources needs no kind
        with pytest.raises(DecodeError) as caught:
            read_resources(body, "g", "v1")
        assert str(caught.value) == text


def test_a_failure_that_comes_with_a_200() -> None:
    body = json.dumps({"kind": "Status", "status": "Failure", "message": "no", "code": 500}).encode()
    with pytest.raises(StatusError, match="no"):
        read_root(body, "application/json")


def test_every_cut_of_a_document_is_an_error() -> None:
    for document, content_type in ((aggregated([PODS, WIDGETS]), CONTENT_TYPE), (legacy_groups([WIDGETS]), "")):
        body = json.dumps(document).encode()
        for end in range(len(body)):
            with pytest.raises(DecodeError):
                read_root(body[:end], content_type)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "items", "versions", "resources", "resource", "name", "groups"]), inner
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(150), deadline=None)
@given(JSON, st.sampled_from([CONTENT_TYPE, "application/json", ""]))
def test_any_json_is_read_or_refused(document: Any, content_type: str) -> None:
    try:
        read(document, content_type)
        read_resources(json.dumps(document).encode(), "g", "v1")
    except RawkubeError as error:
        assert str(error).isprintable()


@looped(
    ("code", "content_type", "body", "text", "said"),
    [
        (403, "application/json", '{"kind":"Status","status":"Failure","message":"no no"}', "unknown", "no no"),
        (403, "text/plain", "go away", "go away", ""),
        (404, "application/json", "{}", "the server could not find the requested resource", ""),
        (503, "text/html", "<html>", "the server is currently unable to handle the request", ""),
        (
            500,
            "application/json",
            "",
            'an error on the server ("unknown") has prevented the request from succeeding',
            "",
        ),
    ],
    ids=["forbidden", "plain", "not-found", "proxy", "internal"],
)
def test_failures_in_kubectls_words_with_the_servers_above(
    code: int, content_type: str, body: str, text: str, said: str
) -> None:
    error = failure(code, [("Content-Type", content_type)], body.encode())
    assert (str(error), error.code) == (text, code)
    assert error.detail == ((f"the server says: {said}",) if said else ())


# Recorded documents.


def recorded(name: str) -> list[Exchange]:
    return [one for one in exchanges(HERE / name) if one.status == 200]


def whole(name: str) -> list[Resource]:
    """The resources of the aggregated documents."""
    found: list[Resource] = []
    for one in recorded(name):
        content_type = dict(one.headers)["content-type"]
        if is_aggregated(content_type):
            found += read_root(one.body, content_type).resources
    return found


def from_legacy(name: str) -> list[Resource]:
    found: list[Resource] = []
    for one in recorded(name):
        parts = one.path.strip("/").split("/")
        if parts[0] == "api" and len(parts) == 2:
            found += read_resources(one.body, "", parts[1])
        elif parts[0] == "apis" and len(parts) == 3:
            found += read_resources(one.body, parts[1], parts[2])
    return found


def test_both_shapes_of_one_server_say_the_same() -> None:
    one, other = whole("aggregated.jsonl"), from_legacy("legacy.jsonl")

    def plain(resources: list[Resource]) -> set[Resource]:
        return {resource for resource in resources if "/" not in resource.plural}

    assert plain(one) == plain(other)
    assert len(plain(one)) == 68
    assert {(r.group, r.version, r.plural, r.kind) for r in one} == {
        (r.group, r.version, r.plural, r.kind) for r in other
    }


def test_the_recorded_server_with_a_broken_api() -> None:
    apis = [one for one in recorded("crds-and-broken-apiservice.jsonl") if one.path == "/apis"]
    found = read_root(apis[0].body, dict(apis[0].headers)["content-type"])
    assert found.failed == {"metrics.example.com/v1beta1": "stale GroupVersion discovery: metrics.example.com/v1beta1"}
    legacy = read_root(apis[1].body, dict(apis[1].headers)["content-type"])
    assert [group.name for group in found.groups] == [group.name for group in legacy.groups]
    assert ("metrics.example.com", "v1beta1") in legacy.pending


def test_what_says_too_little_is_left_out() -> None:
    nameless = aggregated([PODS, NODES])
    del nameless["items"][0]["versions"][0]["resources"][0]["resource"]
    assert [one for one in read(nameless).resources if "/" not in one.plural] == [NODES]
    assert read({"kind": "APIVersions"}, "application/json") == Root()
    versions = [{}, {"groupVersion": "apps/v1", "version": "v1"}]
    found = read({"kind": "APIGroupList", "groups": [{"name": "apps", "versions": versions}]}, "application/json")
    assert [(group.name, group.versions) for group in found.groups] == [("apps", ("v1",))]


@looped(
    ("body", "text"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":"b', "unexpected end of JSON input"),
        (b"<html>", "invalid character '<' looking for beginning of value"),
        (b'{"a" 1}', "Expecting ':' delimiter: line 1 column 6 (char 5)"),
        (b"[" * 100_000, "exceeded max depth"),
        (b"9" * 5000, "Exceeds the limit (4300 digits) for integer string conversion"),
        (b"[]", "the server's discovery document is no JSON object"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_what_is_no_json_object(body: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as raised:
        read_root(body, "application/json")
    assert str(raised.value).startswith(text)
