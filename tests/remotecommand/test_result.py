"""The error channel → how the command ended: the tables of kubectl's decoder and this client's stricter rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.remotecommand.protocols import PROTOCOLS, V1, V1_BASE64, V4, V4_BASE64, V5, Protocol
from rawkube.remotecommand.result import (
    INCOMPLETE,
    ExitCode,
    Failure,
    Interrupted,
    NoStatus,
    Success,
    decode,
    holds_status,
    interrupted,
)
from tests.support.examples import examples
from tests.support.rows import looped


def non_zero(*causes: Any) -> bytes:
    return json.dumps({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": list(causes)}}).encode()


def exit_cause(text: object) -> dict[str, object]:
    return {"reason": "ExitCode", "message": text}


P = "error: error stream protocol error: "

# name, what stands on the error channel, last line on stderr, exit code
TABLE = [
    ("success", b'{"status":"Success"}', "", 0),
    ("success of a real server", b'{"metadata":{},"status":"Success"}', "", 0),
    ("success with a space", b'{"status": "Success" }', "", 0),
    ("success with white space around", b' {"status":"Success"}\n', "", 0),
    ("success and other keys", b'{"status":"Success","code":500,"reason":"NonZeroExitCode","x":[1]}', "", 0),
    ("exit code 42", non_zero(exit_cause("42")), "command terminated with exit code 42", 42),
    ("exit code 0 as a failure", non_zero(exit_cause("0")), "command terminated with exit code 0", 0),
    ("exit code 255", non_zero(exit_cause("255")), "command terminated with exit code 255", 255),
    ("leading zeros", non_zero(exit_cause("0007")), "command terminated with exit code 7", 7),
    ("first ExitCode cause", non_zero({"reason": "x"}, exit_cause("3"), exit_cause("4")), "command terminated with exit code 3", 3),
    ("exit code 256", non_zero(exit_cause("256")), f'{P}invalid exit code value "256"', 1),
    ("exit code -1", non_zero(exit_cause("-1")), f'{P}invalid exit code value "-1"', 1),
    ("exit code +1", non_zero(exit_cause("+1")), f'{P}invalid exit code value "+1"', 1),
    ("exit code abc", non_zero(exit_cause("abc")), f'{P}invalid exit code value "abc"', 1),
    ("exit code in other digits", non_zero(exit_cause("٣")), f'{P}invalid exit code value "٣"', 1),
    ("exit code with a space", non_zero(exit_cause("3 ")), f'{P}invalid exit code value "3 "', 1),
    ("exit code of 5000 digits", non_zero(exit_cause("9" * 5000)), f'{P}invalid exit code value "{"9" * 5000}"', 1),
    ("exit code empty", non_zero(exit_cause("")), f'{P}invalid exit code value ""', 1),
    ("exit code absent", non_zero({"reason": "ExitCode"}), f'{P}invalid exit code value ""', 1),
    ("no ExitCode cause", non_zero({"reason": "foo"}), f"{P}no ExitCode cause given", 1),
    ("no cause", non_zero(), f"{P}no ExitCode cause given", 1),
    ("null cause", non_zero(None), f"{P}no ExitCode cause given", 1),
    ("a cause that is a text", non_zero("x"), P + 'json: cannot unmarshal string into Go struct field Status.details.causes of type v1.StatusCause in "{\\"status\\": \\"Failure\\", \\"reason\\": \\"NonZeroExitCode\\", \\"details\\": {\\"causes\\": [\\"x\\"]}}"', 1),
    ("no causes", b'{"status":"Failure","reason":"NonZeroExitCode","details":{}}', f"{P}no ExitCode cause given", 1),
    ("no details", b'{"status":"Failure","reason":"NonZeroExitCode"}', f"{P}details must be set", 1),
    ("null details", b'{"status":"Failure","reason":"NonZeroExitCode","details":null}', f"{P}details must be set", 1),
    ("failure", b'{"status": "Failure", "message": "foobar" }', "error: foobar", 1),
    ("failure without a message", b'{"status":"Failure","reason":"InternalError"}', "error: ", 1),
    ("failure with causes but another reason", b'{"status":"Failure","reason":"X","message":"m","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}', "error: m", 1),
    ("empty object", b"{}", f"{P}unknown error", 1),
    ("null", b"null", f"{P}unknown error", 1),
    ("another status", b'{"status":"success"}', f"{P}unknown error", 1),
    ("names in another case", b'{"Status":"Failure","MESSAGE":"m"}', "error: m", 1),
    ("bytes that are no UTF-8", b'{"status":"Failure","message":"\xff"}', "error: �", 1),
    ("a lone surrogate", b'{"status":"Success","message":"\\ud800"}', "", 0),
    ("a long number", b'{"status":"Success","x":' + b"9" * 5000 + b"}", "", 0),
    # not JSON: the words of Go's encoding/json
    ("cut", b"{", P + 'unexpected end of JSON input in "{"', 1),
    ("white space", b" \n", P + 'unexpected end of JSON input in " \\n"', 1),
    ("text", b"plain text", P + "invalid character 'p' looking for beginning of value in \"plain text\"", 1),
    ("two objects", b'{"status":"Success"}{}', P + 'invalid character \'{\' after top-level value in "{\\"status\\":\\"Success\\"}{}"', 1),
    ("NaN", b'{"a":NaN}', P + "invalid character 'N' looking for beginning of value in \"{\\\"a\\\":NaN}\"", 1),
    ("a byte order mark", b"\xef\xbb\xbf{}", P + "invalid character 'ï' looking for beginning of value in \"\ufeff{}\"".replace("\ufeff", "\\ufeff"), 1),
    # JSON, but no Status
    ("an array", b"[]", P + 'json: cannot unmarshal array into Go value of type v1.Status in "[]"', 1),
    ("a number", b"42", P + 'json: cannot unmarshal number into Go value of type v1.Status in "42"', 1),
    ("a string", b'"x"', P + 'json: cannot unmarshal string into Go value of type v1.Status in "\\"x\\""', 1),
    ("a status that is a number", b'{"status":5}', P + 'json: cannot unmarshal number into Go struct field Status.status of type string in "{\\"status\\":5}"', 1),
    ("details that are a list", b'{"details":[]}', P + 'json: cannot unmarshal array into Go struct field Status.details of type v1.StatusDetails in "{\\"details\\":[]}"', 1),
]  # fmt: skip


@looped(("data", "line", "code"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_v4_and_v5_decode_a_status_as_kubectl_does(data: bytes, line: str, code: int) -> None:
    for protocol in (V5, V4, V4_BASE64):
        result = decode(protocol, data)
        assert (result.line, result.exit_code) == (line, code), protocol.name


def test_the_types_tell_the_outcomes_apart() -> None:
    status = {"status": "Failure", "message": "no", "code": 500}
    assert isinstance(decode(V5, b'{"status":"Success"}'), Success)
    assert decode(V5, non_zero(exit_cause("3"))) == ExitCode(3, "command terminated with exit code 3")
    assert decode(V5, json.dumps(status).encode()) == Failure("no", status)
    undecodable = decode(V5, b"x")
    assert isinstance(undecodable, Failure)
    assert undecodable.status == {}


@pytest.mark.parametrize("protocol", [V5, V4, V4_BASE64], ids=lambda protocol: protocol.name)
def test_silence_is_no_success_where_a_status_is_due(protocol: Protocol) -> None:
    result = decode(protocol, b"")
    assert isinstance(result, NoStatus)
    assert result.text == "connection closed before the command's status was received; its output may be incomplete"
    assert result.exit_code == 1


@pytest.mark.parametrize("protocol", [V1, V1_BASE64], ids=lambda protocol: protocol.name)
def test_v1_is_text_and_silence_is_success(protocol: Protocol) -> None:
    assert isinstance(decode(protocol, b""), Success)
    failed = decode(protocol, b"some error")
    assert (failed.line, failed.exit_code) == ("error: error executing remote command: some error", 1)
    assert decode(protocol, b'{"status":"Success"}').exit_code == 1


GO_JSON = [
    (b"", "unexpected end of JSON input"),
    (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
    (b"trux", "invalid character 'x' in literal true (expecting 'e')"),
    (b"falsy", "invalid character 'y' in literal false (expecting 'e')"),
    (b"nil", "invalid character 'i' in literal null (expecting 'u')"),
    (b"-", "invalid character ' ' in numeric literal"),
    (b"-x", "invalid character 'x' in numeric literal"),
    (b"01", "invalid character '1' after top-level value"),
    (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
    (b"1ex", "invalid character 'x' in exponent of numeric literal"),
    (b"1e+", "invalid character ' ' in exponent of numeric literal"),
    (b"+1", "invalid character '+' looking for beginning of value"),
    (b'"a', "unexpected end of JSON input"),
    (b'"a\n"', r"invalid character '\n' in string literal"),
    (b'"a\\x"', "invalid character 'x' in string escape code"),
    (b'"a\\u12g4"', r"invalid character 'g' in \u hexadecimal character escape"),
    (b'"a\\', "invalid character ' ' in string escape code"),
    (b"'a'", r"invalid character '\'' looking for beginning of value"),
    (b"{a", "invalid character 'a' looking for beginning of object key string"),
    (b'{"a"}', "invalid character '}' after object key"),
    (b'{"a" 1', "invalid character '1' after object key"),
    (b'{"a":1 "b"', "invalid character '\"' after object key:value pair"),
    (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
    (b'{"a":}', "invalid character '}' looking for beginning of value"),
    (b"[1 2]", "invalid character '2' after array element"),
    (b"[1,]", "invalid character ']' looking for beginning of value"),
    (b"[}", "invalid character '}' looking for beginning of value"),
    (b"[[]", "unexpected end of JSON input"),
    (b'{"a":[{"b":[]}]', "unexpected end of JSON input"),
    (b'{"a":[{"b":[]}]]', "invalid character ']' after object key:value pair"),
    (b"{}\xc3\xa9", "invalid character 'Ã' after top-level value"),
    (b"\x00", r"invalid character '\x00' looking for beginning of value"),
    (b"<html>", "invalid character '<' looking for beginning of value"),
]


@looped(("data", "text"), GO_JSON, ids=[repr(data) for data, _ in GO_JSON])
def test_what_is_no_json_is_told_in_the_words_of_go(data: bytes, text: str) -> None:
    found = decode(V5, data or b" ")
    assert isinstance(found, Failure)
    assert found.message.startswith(f"error stream protocol error: {text} in ")


def test_nesting_without_end_is_told() -> None:
    assert "JSON input" in decode(V5, b"[" * 20_000).line
    assert "exceeded max depth" in decode(V5, b"[" * 20_000 + b"]" * 20_000).line


def test_a_long_error_channel_is_shown_in_part() -> None:
    assert len(decode(V5, b"x" * 1_000_000).line) < 5000


@given(st.binary(max_size=60) | st.text("{}[]\",:\\u01e-.tfnrlsa \n'", max_size=30).map(str.encode))
@settings(max_examples=examples(300), deadline=None)
def test_anything_decodes_to_something(data: bytes) -> None:
    for protocol in PROTOCOLS:
        result = decode(protocol, data)
        assert isinstance(result.line, str)
        assert 0 <= result.exit_code <= 255


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.data())
@settings(max_examples=examples(150), deadline=None)
def test_a_cut_json_document_is_an_unexpected_end(value: Any, draw: st.DataObject) -> None:
    whole = json.dumps({"a": value}).encode()
    cut = whole[: draw.draw(st.integers(1, len(whole) - 1))]
    # Go puts a space behind the end: within a literal, a number or an escape, that is what is wrong.
    assert decode(V5, cut).line.startswith(
        (
            f"{P}unexpected end of JSON input in ",
            f"{P}invalid character ' ' in ",
            f"{P}invalid character ' ' after decimal point in ",
        )
    )


LOST = "error reading from error stream: next reader: websocket: close 1006 (abnormal closure): unexpected EOF"


def test_an_abnormal_end_names_the_status_that_had_come() -> None:
    result = interrupted(LOST, V5, non_zero(exit_cause("4")), 1006)
    assert isinstance(result, Interrupted)
    assert result.text == f"{LOST} (the command's status had come before: exit code 4)"
    assert result.had == ExitCode(4, "command terminated with exit code 4")
    assert (result.exit_code, result.close_code) == (1, 1006)


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b'{"status":"Success"}', " (the command's status had come before: success)"),
        (b'{"status":"Failure","message":"a\\nb"}', " (the command's status had come before: a\\nb)"),
        (b'{"sta', ' (on the error channel: "{\\"sta")'),
        (b"", ""),
    ],
)
def test_an_abnormal_end_is_a_failure_whatever_had_come(data: bytes, end: str) -> None:
    result = interrupted(LOST, V5, data, 1006)
    assert result.line == f"error: {LOST}{end}"
    assert result.exit_code == 1
    assert isinstance(result, Interrupted if "status" in end else NoStatus)


def test_without_a_status_the_text_says_so() -> None:
    assert NoStatus().line == f"error: {INCOMPLETE}"


@looped(
    ("protocol", "data", "whole"),
    [
        (V5, b'{"status":"Success"}', True),
        (V5, b'{"status":"Success"}\n', True),
        (V5, b'{"status":"Success"', False),
        (V5, b'{"a":{}', False),
        (V5, b'{}{"a":1}', False),
        (V5, b"text}", False),
        (V5, b"", False),
        (V1, b'{"status":"Success"}', False),
    ],
)
def test_a_whole_status_is_recognised_before_the_end(protocol: Protocol, data: bytes, whole: bool) -> None:
    assert holds_status(protocol, data) is whole
