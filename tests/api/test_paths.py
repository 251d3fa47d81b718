"""Paths and queries, compared with what Go's encoders give and with the standard library's own."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote_plus, unquote

from hypothesis import given
from hypothesis import strategies as st

from rawkube.api.builtin import lookup
from rawkube.api.paths import encode_query, escape_query, escape_segment, resource_path
from tests.support.rows import looped

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@looped(
    ("text", "segment", "query"),
    [
        ("web", "web", "web"),
        ("a b", "a%20b", "a+b"),
        ("web,api", "web,api", "web%2Capi"),
        ("a/b", "a%2Fb", "a%2Fb"),
        ("a=b&c+d", "a=b&c+d", "a%3Db%26c%2Bd"),
        ("ü", "%C3%BC", "%C3%BC"),
        ("a~b-c._", "a~b-c._", "a~b-c._"),
        ("a%b?c#d;e", "a%25b%3Fc%23d;e", "a%25b%3Fc%23d%3Be"),
    ],
)
def test_encodings_are_gos(text: str, segment: str, query: str) -> None:
    assert escape_segment(text) == segment
    assert escape_query(text) == query


@given(TEXT)
def test_query_values_come_back(text: str) -> None:
    assert escape_query(text) == quote_plus(text, safe="~")
    assert unquote(escape_segment(text)) == text


@given(st.lists(st.tuples(TEXT, TEXT)))
def test_a_query_is_sorted_by_name_and_keeps_the_order_of_values(pairs: list[tuple[str, str]]) -> None:
    decoded = parse_qsl(encode_query(pairs), keep_blank_values=True, encoding="utf-8")
    expected = sorted(pairs, key=lambda pair: pair[0])
    if expected == [("", "")]:  # "=" alone
        return
    assert decoded == [pair for pair in expected if pair != ("", "")] or decoded == expected


@looped(
    ("word", "namespace", "name", "path"),
    [
        ("deploy", "demo", "", "/apis/apps/v1/namespaces/demo/deployments"),
        ("deploy", "demo", "web", "/apis/apps/v1/namespaces/demo/deployments/web"),
        ("pods", "demo", "a b", "/api/v1/namespaces/demo/pods/a%20b"),
        ("nodes", "demo", "n1", "/api/v1/nodes/n1"),
        ("namespaces", "", "demo", "/api/v1/namespaces/demo"),
    ],
)
def test_resource_paths(word: str, namespace: str, name: str, path: str) -> None:
    resource = lookup(word)
    assert resource is not None
    assert resource_path(resource, namespace, name) == path


def test_a_subresource_follows_the_name() -> None:
    pods = lookup("pods")
    assert pods is not None
    assert resource_path(pods, "demo", "p", "exec") == "/api/v1/namespaces/demo/pods/p/exec"
