"""Bodies that are objects or lists, and all those that are not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.objects import complete_list, decode_object, metadata_of
from rawkube.errors import DecodeError
from tests.support.examples import examples
from tests.support.rows import looped

JSON = "application/json"


@looped("media", [JSON, "", "application/json; charset=utf-8", "Application/JSON;x=y", " application/json "])
def test_an_object(media: str) -> None:
    assert decode_object(b' {"kind":"Pod","n":9007199254740993} \n', media) == {"kind": "Pod", "n": 9007199254740993}


@looped(
    "media",
    ["text/plain; charset=utf-8", "application/vnd.kubernetes.protobuf", "application/yaml", "application/x+json"],
)
def test_another_content_type_is_not_guessed_at(media: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_object(b'{"kind":"Pod"}', media)
    assert str(raised.value) == f"serializer for {media} doesn't exist"
    assert raised.value.detail == ('the server\'s answer (14 bytes) begins: {"kind":"Pod"}',)


@looped(
    ("body", "text"),
    [
        (b"", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (b" \n", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (b"<html>", "couldn't get version/kind; json parse error: invalid character '<' looking for beginning of value"),
        (b"\n not json", "couldn't get version/kind; json parse error: invalid character 'n' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "couldn't get version/kind; json parse error: invalid character 'ï' looking for beginning of value"),
        (b"[]", "couldn't get version/kind; json parse error: the answer is no JSON object"),
        (b"null", "couldn't get version/kind; json parse error: the answer is no JSON object"),
        (b'"Pod"', "couldn't get version/kind; json parse error: the answer is no JSON object"),
        (b"{}", "Object 'Kind' is missing in '{}'"),
        (b'{"kind":""}', "Object 'Kind' is missing in '{\"kind\":\"\"}'"),
        (b'{"kind":7}', "Object 'Kind' is missing in '{\"kind\":7}'"),
    ],
    ids=lambda value: value.decode("latin-1") if isinstance(value, bytes) else "",
)  # fmt: skip
def test_what_is_no_object(body: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_object(body, JSON)
    assert str(raised.value) == text


@looped(
    ("body", "text"),
    [
        (b'{"kind":', "unexpected end of JSON input"),
        (b'{"kind":"Pod"', "unexpected end of JSON input"),
        (b'{"kind":"Po', "unexpected end of JSON input"),
        (b'{"kind":"Pod"}{}', "invalid character '{' after top-level value"),
        (b'{"kind":"Pod","x":[1 2]}', "invalid character '2' at character 22"),
        (b'{"kind":"Pod","x":NaN}', "invalid character 'N' looking for beginning of value"),
        (b'{"kind":"Pod","x":-Infinity}', "invalid character 'I' looking for beginning of value"),
        (b'{"kind":"Pod","x":-1e999}', "json: cannot unmarshal number -1e999 into Go value of type float64"),
        (b'{"kind":"Pod","x":' + b"1" * 5000 + b"}", "a number is too long"),
    ],
    ids=lambda value: value[:24].decode() if isinstance(value, bytes) else "",
)  # fmt: skip
def test_what_no_printer_could_write_again_is_no_json(body: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_object(body, JSON)
    assert str(raised.value) == f"couldn't get version/kind; json parse error: {text}"


def test_numbers_are_kept() -> None:
    numbers = decode_object(b'{"kind":"Pod","x":[1.5,1e3,-0.0,7]}', JSON)["x"]
    assert numbers == [1.5, 1000.0, 0.0, 7] and isinstance(numbers[3], int)


@looped(
    "body",
    [b'{"kind":', b'{"kind":"Pod"', b'{"kind":"Pod"} x', b'{"kind":"Pod"}{}', b'{"kind":"Po\nd"}', b'{"kind":"Pod",}',
     b'{"kind":"Pod","n":' + b"1" * 5000 + b"}", b'{"kind":' + b"[" * 100_000],
    ids=["cut", "open", "more", "two", "line-feed", "comma", "long-number", "deep"],
)  # fmt: skip
def test_broken_json_is_one_line_and_shows_how_it_begins(body: bytes) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_object(body, JSON)
    assert str(raised.value).startswith("couldn't get version/kind; json parse error: ")
    assert str(raised.value).isprintable()
    assert raised.value.detail[0].startswith(f"the server's answer ({len(body)} bytes) begins: {{")


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    body = b'{"kind":"Pod","note":"\xc3\xa9\xff"}'
    assert decode_object(body, JSON)["note"] == "é\ufffd"


def test_an_empty_answer_says_so() -> None:
    with pytest.raises(DecodeError) as raised:
        decode_object(b"", JSON)
    assert raised.value.detail == ("the server's answer was empty",)


def test_what_is_shown_of_an_answer_is_short_and_harmless() -> None:
    with pytest.raises(DecodeError) as raised:
        decode_object(b"<p>\x1b[2J\r\xff" + b"x" * 5000, JSON)
    (shown,) = raised.value.detail
    assert shown.isprintable() and len(shown) < 280
    assert r"<p>\x1b[2J\r" in shown and shown.endswith("…")


@settings(max_examples=examples(100))
@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_a_decode_error(body: bytes) -> None:
    try:
        assert decode_object(body, "")["kind"]
    except DecodeError as error:
        assert str(error).isprintable()


class TestLists:
    def test_items_get_the_kind_and_version_that_servers_leave_out(self) -> None:
        listing = {
            "kind": "DeploymentList",
            "apiVersion": "apps/v1",
            "metadata": {"resourceVersion": "5"},
            "items": [{}],
        }
        assert complete_list(listing) == {**listing, "items": [{"kind": "Deployment", "apiVersion": "apps/v1"}]}

    def test_items_that_have_them_keep_them(self) -> None:
        items = [{"kind": "Pod", "apiVersion": "v1"}, {"kind": "Node", "apiVersion": "v1"}]
        assert complete_list({"kind": "List", "apiVersion": "v1", "items": items})["items"] == items

    @pytest.mark.parametrize("empty", [{}, {"items": None}, {"items": []}], ids=json.dumps)
    def test_no_items(self, empty: dict[str, Any]) -> None:
        assert complete_list({"kind": "PodList", **empty})["items"] == []

    @looped(
        ("listing", "text"),
        [
            ({"kind": "Pod"}, "the server was asked for a list and sent Pod"),
            ({"kind": "Lis\x1b"}, r"the server was asked for a list and sent Lis\x1b"),
            ({"kind": "PodList", "items": {}}, "the server was asked for a list and sent PodList"),
            ({"kind": "PodList", "items": "x"}, "the server was asked for a list and sent PodList"),
            ({"kind": "PodList", "items": [{}, None]}, "the server sent a PodList with an item that is no object"),
        ],
    )
    def test_what_is_no_list(self, listing: dict[str, Any], text: str) -> None:
        with pytest.raises(DecodeError) as raised:
            complete_list(listing)
        assert str(raised.value) == text


@looped("thing", [{}, {"metadata": None}, {"metadata": []}, {"metadata": "x"}, {"metadata": {}}], ids=json.dumps)
def test_metadata_that_is_not_there_is_empty(thing: dict[str, Any]) -> None:
    assert metadata_of(thing) == {}


def test_metadata() -> None:
    assert metadata_of({"metadata": {"name": "a"}}) == {"name": "a"}


def test_the_rows_of_a_table() -> None:
    about = {"metadata": {"name": "a", "resourceVersion": "7"}}
    table = {"kind": "Table", "columnDefinitions": [], "metadata": {"resourceVersion": "9"}}
    rows = [{"cells": ["a"], "object": about}, {"cells": ["b"]}, {"cells": ["c"], "object": "odd"}]
    found = complete_list({**table, "rows": rows})
    assert found["metadata"] == {"resourceVersion": "9"}
    assert [one["rows"] for one in found["items"]] == [[row] for row in rows]
    assert [one["metadata"] for one in found["items"]] == [about["metadata"], {}, {}]
    assert complete_list({**table, "rows": None})["items"] == complete_list(table)["items"] == []
    wrongs: list[Any] = [{}, ["a"], 7]
    for wrong in wrongs:
        with pytest.raises(DecodeError, match="a Table whose rows are none"):
            complete_list({**table, "rows": wrong})
