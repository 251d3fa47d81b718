"""Durations as Go reads and writes them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.duration import (
    format_duration,
    format_nanoseconds,
    parse_duration,
    parse_nanoseconds,
    parse_request_timeout,
)
from rawkube.errors import UsageError
from tests.support.examples import examples
from tests.support.rows import looped

BAD_TIMEOUT = (
    "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a "
    "corresponding time unit (e.g. 1s | 2m | 3h)"
)


@looped(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("+0", 0),
        ("0s", 0),
        ("5s", 5_000_000_000),
        ("+5s", 5_000_000_000),
        ("-5s", -5_000_000_000),
        ("1h2m3.5s", 3_723_500_000_000),
        ("1.5h", 5_400_000_000_000),
        (".5s", 500_000_000),
        ("5.s", 5_000_000_000),
        ("1ms1us1ns", 1_001_001),
        ("1\u00b5s", 1_000),
        ("1\u03bcs", 1_000),
        ("1s1h", 3_601_000_000_000),
        ("0.1ns", 0),
        ("007s", 7_000_000_000),
        ("0.3333333333333333333h", 1_200_000_000_000),
        ("0.9223372036854775807999999h", 3_320_413_933_267),
        ("9223372036854775807ns", (1 << 63) - 1),
        ("-9223372036854775808ns", -(1 << 63)),
        ("2562047h47m16.854775807s", (1 << 63) - 1),
    ],
)
def test_a_duration_is_read(text: str, nanoseconds: int) -> None:
    assert parse_nanoseconds(text) == nanoseconds
    assert parse_duration(text) == nanoseconds / 1e9


@looped(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("+", 'time: invalid duration "+"'),
        ("x", 'time: invalid duration "x"'),
        (".s", 'time: invalid duration ".s"'),
        ("--5s", 'time: invalid duration "--5s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1s1", 'time: missing unit in duration "1s1"'),
        ("5.", 'time: missing unit in duration "5."'),
        ("5y", 'time: unknown unit "y" in duration "5y"'),
        ("5S", 'time: unknown unit "S" in duration "5S"'),
        ("5 s", 'time: unknown unit " s" in duration "5 s"'),
        ("1e3s", 'time: unknown unit "e" in duration "1e3s"'),
        ("1.5hh", 'time: unknown unit "hh" in duration "1.5hh"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("9223372036854775807ns1ns", 'time: invalid duration "9223372036854775807ns1ns"'),
        ("9223372036854775807ns2ns", 'time: invalid duration "9223372036854775807ns2ns"'),
        ("99999999999999999999y", 'time: invalid duration "99999999999999999999y"'),
        (
            '1h\a"\\é\x7f',
            'time: unknown unit "h\\x07\\"\\\\\\xc3\\xa9\\x7f" in duration "1h\\x07\\"\\\\\\xc3\\xa9\\x7f"',
        ),
        ("\udcff", 'time: invalid duration "\\xff"'),
        ("٣s", 'time: invalid duration "\\xd9\\xa3s"'),
    ],
)
def test_what_is_no_duration_is_refused_in_the_words_of_go(text: str, error: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_duration(text)
    assert str(caught.value) == error


def test_an_endless_number_is_refused_and_not_computed() -> None:
    with pytest.raises(UsageError, match="time: invalid duration"):
        parse_duration("9" * 100_000 + "s")
    with pytest.raises(UsageError, match="Invalid timeout value"):
        parse_request_timeout("9" * 100_000)


@looped(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (500_000_000, "500ms"),
        (1_500_000_000, "1.5s"),
        (10_000_000_000, "10s"),
        (60_000_000_000, "1m0s"),
        (245_000_000_000, "4m5s"),
        (245_001_000_000, "4m5.001s"),
        (3_600_000_000_000, "1h0m0s"),
        (18_367_001_000_000, "5h6m7.001s"),
        (-1_500_000_000, "-1.5s"),
        (480_000_000_001, "8m0.000000001s"),
        ((1 << 63) - 1, "2562047h47m16.854775807s"),
        (-(1 << 63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_is_written(nanoseconds: int, text: str) -> None:
    assert format_nanoseconds(nanoseconds) == text


@looped(("seconds", "text"), [(0, "0s"), (60, "1m0s"), (1.5, "1.5s"), (0.5, "500ms"), (0.1 + 0.2, "300ms")])
def test_seconds_are_written(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-(10**12), 10**12))
@settings(max_examples=examples(200), deadline=None)
def test_what_is_written_is_read_back(nanoseconds: int) -> None:
    assert parse_nanoseconds(format_nanoseconds(nanoseconds)) == nanoseconds


@given(st.text(alphabet="0123456789.-+smhnuµ x\udcff", max_size=12))
@settings(max_examples=examples(200), deadline=None)
def test_any_text_is_a_duration_or_a_usage_error(text: str) -> None:
    try:
        assert abs(parse_nanoseconds(text)) <= 1 << 63
    except UsageError as error:
        assert str(error).startswith("time: ")


@looped(
    ("text", "seconds"),
    [
        ("", 0.0),
        ("0", 0.0),
        ("3", 3.0),
        ("+3", 3.0),
        ("007", 7.0),
        ("1.5s", 1.5),
        ("500ms", 0.5),
        ("1m", 60.0),
        ("-1s", 0.0),
        ("99999999999", 99999999999.0),
    ],
)
def test_a_request_timeout_is_read(text: str, seconds: float) -> None:
    assert parse_request_timeout(text) == seconds


@looped("text", ["x", "-1", "0x3", "1_0", " 1", "1.5", "5y", "99999999999999999999", "٣"])
def test_a_bad_request_timeout_is_refused_in_the_words_of_kubectl(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_request_timeout(text)
    assert str(caught.value) == BAD_TIMEOUT
