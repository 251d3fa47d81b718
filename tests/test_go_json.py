"""Text and JSON as Go writes them, and Go's words for what is no JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.go_json import encode, syntax_error
from rawkube.gotext import go_quote, int64, one_line
from tests.support.examples import examples
from tests.support.rows import looped


@looped(
    ("value", "text"),
    [
        ({"b": [1, True, None], "a": (False, "x")}, '{"b":[1,true,null],"a":[false,"x"]}'),
        ("<&>\u2028\u2029é\x7f", '"\\u003c\\u0026\\u003e\\u2028\\u2029é\x7f"'),
        ("\ud83d", '"\ufffd"'),
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (10**30, "1" + "0" * 30),
    ],
)
def test_as_go_writes_it(value: Any, text: str) -> None:
    assert encode(value) == text


def test_numbers_that_json_has_not() -> None:
    for value in (float("nan"), float("inf"), float("-inf")):
        with pytest.raises(ValueError, match="json: unsupported value"):
            encode([value])


@looped(
    ("data", "text"),
    [
        (b"", "unexpected end of JSON input"),
        (b" [", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'"abc', "unexpected end of JSON input"),
        (b"<a>", "invalid character '<' looking for beginning of value"),
        (b"'", r"invalid character '\'' looking for beginning of value"),
        (b'[1 "', "invalid character '\"' after array element"),
        (b"\xc3\xa9", "invalid character 'Ã' looking for beginning of value"),
        (b"{1", "invalid character '1' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 2}', "invalid character '2' after object key:value pair"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"[[1],{}]x", "invalid character 'x' after top-level value"),
        (b"{} []", "invalid character '[' after top-level value"),
        (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
        (b"[nil]", "invalid character 'i' in literal null (expecting 'u')"),
        (b"fals\n", "invalid character '\\n' in literal false (expecting 'e')"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b"1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"-0.5e+", "invalid character ' ' in exponent of numeric literal"),
        (b"1E5x", "invalid character 'x' after top-level value"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b'"\\q"', "invalid character 'q' in string escape code"),
        (b'"\\u12x"', "invalid character 'x' in \\u hexadecimal character escape"),
        (b'["\\u00e9\\n", -1.5e-3, true, {"a": {"b": []}}]', "exceeded max depth"),  # nothing else is wrong with it
    ],
)
def test_words_for_what_is_no_json(data: bytes, text: str) -> None:
    assert syntax_error(data) == text


@settings(max_examples=examples(100), deadline=None)
@given(st.text('[]{}",:\\ u0e1.-tn', max_size=12))
def test_what_python_reads_has_no_error(text: str) -> None:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        assert syntax_error(text.encode()) != "exceeded max depth"
    else:
        assert syntax_error(text.encode()) == "exceeded max depth"


@looped(
    ("text", "quoted"),
    [
        ('a"b\\', r'"a\"b\\"'),
        (b"a\xff", r'"a\xff"'),
        ("\a\b\f\n\r\t\v\x00\x7f", r'"\a\b\f\n\r\t\v\x00\x7f"'),
        ("é\u2028\U000e0001\ud800", r'"é\u2028\U000e0001\ufffd"'),
    ],
)
def test_quoted(text: str | bytes, quoted: str) -> None:
    assert go_quote(text) == quoted


def test_one_line_leaves_what_can_be_printed() -> None:
    assert (one_line('a"b\\'), one_line("a\nb\x1b[2J"), go_quote("'", mark="'")) == (
        'a"b\\',
        r"a\nb\x1b[2J",
        r"'\''",
    )


def test_whole_numbers() -> None:
    good = {"0": 0, "+7": 7, "-007": -7, "9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63)}
    assert {text: int64(text) for text in good} == good
    syntax, too_large = "invalid syntax", "value out of range"
    bad = {"": syntax, "-": syntax, "1x": syntax, "١": syntax, "9223372036854775808": too_large}
    # The digits are read first, whatever comes behind them.
    for text, problem in {**bad, "99999999999999999999x": too_large, "9" * 5000: too_large}.items():
        with pytest.raises(ValueError) as raised:
            int64(text)
        assert str(raised.value) == f"strconv.ParseInt: parsing {go_quote(text)}: {problem}"
