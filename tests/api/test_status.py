"""metav1.Status: taken as it is where there is one, else the substitute that client-go builds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.status import is_failure, retry_after, retry_after_seconds, status_error
from rawkube.errors import StatusError
from rawkube.gotext import go_quote, int64, one_line
from tests.support.examples import examples
from tests.support.recordings import exchanges, name_of, recordings
from tests.support.rows import looped

JSON, TEXT, HTML = "application/json", "text/plain; charset=utf-8", "text/html"
FORBIDDEN = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "pods is forbidden",
    "reason": "Forbidden",
    "code": 403,
}


def error_of(code: int, content_type: str | None, body: bytes | str | dict[str, Any], **what: str) -> StatusError:
    headers = [] if content_type is None else [("Content-Type", content_type)]
    if isinstance(body, dict):
        body = json.dumps(body)
    raw = body.encode() if isinstance(body, str) else body
    asked = {"verb": "GET", "resource": "deployments", "group": "apps", "name": "web", **what}
    return status_error(code, headers, raw, **asked)


AT = "(get deployments.apps web)"

SUBSTITUTES = [
    (400, TEXT, "x", "BadRequest", f"the server rejected our request for an unknown reason {AT}"),
    (401, TEXT, "x", "Unauthorized", f"the server has asked for the client to provide credentials {AT}"),
    (403, TEXT, "  you shall not pass\n", "Forbidden", f"you shall not pass {AT}"),
    (403, TEXT, "", "Forbidden", f" {AT}"),
    (403, None, "", "Forbidden", f" {AT}"),
    (403, JSON, '{"error":"x"}', "Forbidden", f"unknown {AT}"),
    (403, HTML, "<html>\n<b>no</b>", "Forbidden", f"<html>\n<b>no</b> {AT}"),
    (404, TEXT, "404 page not found", "NotFound", f"the server could not find the requested resource {AT}"),
    (
        405,
        TEXT,
        "x",
        "MethodNotAllowed",
        f"the server does not allow this method on the requested resource {AT}",
    ),
    (
        406,
        TEXT,
        "",
        "NotAcceptable",
        f"the server was unable to respond with a content type that the client supports {AT}",
    ),
    (
        406,
        JSON,
        "{}",
        "NotAcceptable",
        f"the server was unable to respond with a content type that the client supports {AT}",
    ),
    (406, TEXT, "nope", "NotAcceptable", f"nope {AT}"),
    (409, TEXT, "x", "Conflict", f"the server reported a conflict {AT}"),
    (415, TEXT, "nope", "UnsupportedMediaType", f"nope {AT}"),
    (415, JSON, "x", "UnsupportedMediaType", f"unknown {AT}"),
    (422, TEXT, "x", "Invalid", f"the server rejected our request due to an error in our request {AT}"),
    (
        429,
        TEXT,
        "x",
        "TooManyRequests",
        f"the server has received too many requests and has asked us to try again later {AT}",
    ),
    (
        500,
        TEXT,
        "",
        "InternalError",
        f'an error on the server ("") has prevented the request from succeeding {AT}',
    ),
    (
        500,
        JSON,
        '{"x":1}',
        "InternalError",
        f'an error on the server ("unknown") has prevented the request from succeeding {AT}',
    ),
    (
        500,
        HTML,
        '<h1>"é\u2028\x01\x7f\t\n\\</h1>'.encode() + b"\xff\xed\xa0\x80",
        "InternalError",
        'an error on the server ("<h1>\\"é\\u2028\\x01\\x7f\\t\\n\\\\</h1>\\xff\\xed\\xa0\\x80") '
        f"has prevented the request from succeeding {AT}",
    ),
    (
        502,
        "text",
        "x",
        "InternalError",
        f'an error on the server ("unknown") has prevented the request from succeeding {AT}',
    ),
    (503, TEXT, "x", "ServiceUnavailable", f"the server is currently unable to handle the request {AT}"),
    (
        504,
        TEXT,
        "x",
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the "
        f"request {AT}",
    ),
    *(
        (
            code,
            TEXT,
            "x",
            "",
            f"the server responded with the status code {code} but did not return more information {AT}",
        )
        for code in (300, 304, 402, 410, 413, 418)
    ),
]


@looped(
    ("code", "content_type", "body", "reason", "message"),
    SUBSTITUTES,
    ids=[f"{code} {str(ct).partition(';')[0]} {body[:12]!r}" for code, ct, body, *_ in SUBSTITUTES],
)
def test_substitutes(code: int, content_type: str | None, body: bytes | str, reason: str, message: str) -> None:
    error = error_of(code, content_type, body)
    assert str(error) == message
    assert (error.code, error.reason) == (code, reason)
    assert error.status["status"] == "Failure"
    details = error.status["details"]
    assert (details["kind"], details["group"], details["name"]) == ("deployments", "apps", "web")
    assert details["causes"][0]["reason"] == "UnexpectedServerResponse"


def test_a_body_in_a_message_is_2048_bytes_at_most() -> None:
    error = error_of(500, TEXT, "a" * 2047 + "ébbb")
    assert "(" + '"' + "a" * 2047 + '\\xc3")' in str(error)


@looped(
    ("what", "suffix"),
    [
        ({}, " (get deployments.apps web)"),
        ({"name": ""}, " (get deployments.apps)"),
        ({"group": "", "resource": "pods"}, " (get pods web)"),
        ({"resource": ""}, ""),
        ({"verb": "PATCH"}, " (patch deployments.apps web)"),
        ({"verb": "watch", "name": ""}, " (get deployments.apps)"),
    ],
    ids=["object", "collection", "core group", "no resource", "another method", "a watch is a GET"],
)
def test_what_was_asked_for_stands_at_the_end(what: dict[str, str], suffix: str) -> None:
    assert str(error_of(404, TEXT, "", **what)) == f"the server could not find the requested resource{suffix}"


@pytest.mark.parametrize("verb", ["POST", "post", "create"])
def test_a_conflict_of_a_post_means_that_the_object_exists(verb: str) -> None:
    assert error_of(409, TEXT, "", verb=verb).reason == "AlreadyExists"


@looped(
    ("content_type", "changed"),
    [
        (JSON, {}),
        ("application/json; charset=utf-8", {}),
        ("APPLICATION/JSON", {}),
        (None, {}),
        (JSON, {"apiVersion": "meta.k8s.io/v1"}),
        (JSON, {"apiVersion": None}),
        (JSON, {"message": None, "reason": None, "code": None, "details": None, "metadata": None}),
        (JSON, {"message": "two\nlines"}),
    ],
    ids=str,
)
def test_a_status_is_taken_as_it_is(content_type: str | None, changed: dict[str, Any]) -> None:
    status = {**FORBIDDEN, **changed}
    error = error_of(403, content_type, status)
    assert error.status == status
    assert str(error) == (status["message"] or "")


@looped(
    ("content_type", "body"),
    [
        (JSON, {**FORBIDDEN, "status": "Success"}),
        (JSON, {"kind": "Status", "apiVersion": "v1", "message": "m"}),
        (JSON, {**FORBIDDEN, "kind": "status"}),
        (JSON, {**FORBIDDEN, "message": 5}),
        (JSON, {**FORBIDDEN, "code": "403"}),
        (JSON, {**FORBIDDEN, "code": True}),
        (JSON, {**FORBIDDEN, "details": []}),
        (JSON, json.dumps(FORBIDDEN)[:-1]),
        (JSON, "[" * 100_000),
        (JSON, '{"kind":"Status","status":"Failure","code":' + "9" * 5000 + "}"),
        (JSON, "null"),
        (JSON, "[]"),
        (JSON, b"\xff"),
        ("application/vnd.x+json", FORBIDDEN),
        ("application/octet-stream", FORBIDDEN),
    ],
    ids=range(15),
)
def test_what_is_no_status_becomes_a_substitute(content_type: str, body: Any) -> None:
    assert str(error_of(403, content_type, body)) == f"unknown {AT}"


def test_a_status_sent_as_text_is_text() -> None:
    assert str(error_of(403, TEXT, FORBIDDEN)) == f"{json.dumps(FORBIDDEN)} {AT}"


@looped(
    ("obj", "failure"),
    [
        (FORBIDDEN, True),
        ({"kind": "Status"}, True),
        ({"kind": "Status", "status": ""}, True),
        ({"kind": "Status", "status": "Success"}, False),
        ({"kind": "Pod", "status": {"phase": "Failed"}}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
    ids=str,
)
def test_a_failure_in_a_good_answer(obj: object, failure: bool) -> None:
    assert is_failure(obj) is failure


@looped(
    ("value", "seconds"),
    [
        *[("0", 0), ("1", 1), ("30", 30), ("007", 7)],
        *[(text, None) for text in ("", "-1", "1.5", "1s", " ", "٣", "9" * 5000, "Wed, 21 Oct 2015 07:28:00 GMT")],
    ],
    ids=lambda value: ascii(value)[:12],
)
def test_retry_after_understands_decimal_integers(value: str, seconds: int | None) -> None:
    assert retry_after([("date", "x"), ("Retry-After", value)]) == seconds


def test_no_retry_after() -> None:
    assert retry_after([]) is None


@looped(
    ("details", "seconds"),
    [
        ({"retryAfterSeconds": 3}, 3),
        ({"retryAfterSeconds": 0}, None),
        ({"retryAfterSeconds": True}, None),
        ({"retryAfterSeconds": "3"}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
    ids=str,
)
def test_retry_after_of_a_status(details: object, seconds: int | None) -> None:
    assert retry_after_seconds({"details": details}) == seconds


def test_a_substitute_keeps_retry_after() -> None:
    error = status_error(429, [("content-type", "text/plain"), ("retry-after", "5")], b"busy")
    assert retry_after_seconds(error.status) == 5
    assert "details" in error.status


def test_recorded_failures() -> None:
    failed = [
        (f"{name_of(path)}-{number}", one)
        for path in recordings("errors", "watch")
        for number, one in enumerate(exchanges(path))
        if one.status >= 400
    ]
    assert len(failed) > 10
    for name, one in failed:
        error = status_error(one.status, one.headers, one.body, verb=one.method)
        if one.body.startswith(b"{"):
            assert (error.status, error.code) == (json.loads(one.body), one.status), name
        else:
            assert one.body == b"404 page not found\n", name
            assert str(error) == "the server could not find the requested resource", name


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(300, 599), st.sampled_from([JSON, TEXT, HTML, "", ";;", "text"]), st.binary(max_size=60))
def test_any_answer_is_a_status_error(code: int, content_type: str, body: bytes) -> None:
    error = status_error(code, [("content-type", content_type)], body)
    assert isinstance(error, StatusError)
    str(error).encode()


@looped(
    ("text", "quoted"),
    [
        ("web", '"web"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("é日😀", '"é日😀"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x1b\x7f", '"\\x00\\x1b\\x7f"'),
        ("\u0085\u00a0\u2028\ufeff\U000e0001", '"\\u0085\\u00a0\\u2028\\ufeff\\U000e0001"'),
        (b"\xff\xc3(", '"\\xff\\xc3("'),
        ("\ud800", '"\\ufffd"'),
    ],
    ids=ascii,
)
def test_text_is_quoted_as_in_go(text: str | bytes, quoted: str) -> None:
    assert go_quote(text) == quoted


def test_one_line_escapes_what_a_terminal_obeys() -> None:
    assert one_line('a"\\b\x1b[0m\n\u2028é') == 'a"\\b\\x1b[0m\\n\\u2028é'


SYNTAX, RANGE = "invalid syntax", "value out of range"


@looped(
    ("text", "result"),
    [
        *[("2", 2), ("+2", 2), ("-3", -3), ("007", 7), ("-0", 0), (str(2**63 - 1), 2**63 - 1)],
        *[(str(-(2**63)), -(2**63)), (str(2**63), RANGE), (str(-(2**63) - 1), RANGE), ("9" * 5000, RANGE)],
        *[(text, SYNTAX) for text in ("", "x", "+", "-", " 2", "1_0", "0x10", "٢", "2 ", "--1", f"{2**63}x")],
        ("99999999999999999999x", RANGE),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_integers_are_read_as_in_go(text: str, result: int | str) -> None:
    if isinstance(result, int):
        assert int64(text) == result
        return
    with pytest.raises(ValueError) as caught:
        int64(text)
    assert str(caught.value) == f"strconv.ParseInt: parsing {go_quote(text)}: {result}"
