"""Plain scalars as kubectl reads them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.kubeconfig.yaml_scalars import TAG, Binary, ScalarError, key, plain, tagged
from tests.support.examples import examples
from tests.support.rows import looped

TRUE = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"]
FALSE = ["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"]
NULL = ["", "~", "null", "Null", "NULL"]
STRINGS = (
    "tRUE yES nULL oN 1:30 12:30:45 2024-01-01 2024-01-01T00:00:00Z - + . .. -- -a a1 _1 0b 0x 0b2 0o8 1e 1e+ 1.2.3 "
    "1e400 .5e400 0x1p3 0x1.8p1 .e3 ._5 .Infinity inf nan NaN infinity "
    "0xFFFFFFFFFFFFFFFFF -0xFFFFFFFFFFFFFFFF -0b-11 "
    "<< ="
)
NUMBERS: list[tuple[str, int | float]] = [
    ("6e3", 6000),
    ("06e3", 6000),
    ("1E3", 1000),
    ("1e+3", 1000),
    ("1.e3", 1000),
    (".5e3", 500),
    ("1.0", 1),
    ("5.", 5),
    ("1.0e+3", 1000),
    ("0755", 493),
    ("0o755", 493),
    ("0O7", 7),
    ("08", 8),
    ("089", 89),
    ("0888", 888),
    ("0x1F", 31),
    ("0X1f", 31),
    ("0b11", 3),
    ("0B11", 3),
    ("1_000", 1000),
    ("1__0", 10),
    ("0_7", 7),
    ("0x_1F", 31),
    ("18446744073709551615", 18446744073709551615),
    ("18446744073709551616", 1.8446744073709552e19),
    ("+18446744073709551615", 1.8446744073709552e19),
    ("-9223372036854775808", -9223372036854775808),
    ("-9223372036854775809", -9.223372036854776e18),
    ("+.5", 0.5),
    ("-.5", -0.5),
    (".5_0", 0.5),
    ("+1", 1),
    ("+_1", 1),
    ("-0b11", -3),
    ("0b-11", -3),
    ("0b+11", 3),
    ("-0x1F", -31),
    ("1e-400", 0),
    ("07777777777777777777777777", 7.777777777777778e24),
    ("00", 0),
    ("-0", 0),
]


@looped("text", TRUE)
def test_words_for_true(text: str) -> None:
    assert plain(text) is True


@looped("text", FALSE)
def test_words_for_false(text: str) -> None:
    assert plain(text) is False


@looped("text", NULL)
def test_words_for_null(text: str) -> None:
    assert plain(text) is None


@looped("text", STRINGS.split())
def test_what_stays_text(text: str) -> None:
    assert plain(text) == text


@looped(("text", "value"), NUMBERS)
def test_numbers(text: str, value: float) -> None:
    found = plain(text)
    assert found == value
    assert isinstance(found, int | float)
    assert not isinstance(found, bool)


@pytest.mark.parametrize(("text", "value"), [(".inf", math.inf), ("+.Inf", math.inf), ("-.INF", -math.inf)])
def test_infinity(text: str, value: float) -> None:
    assert plain(text) == value


def test_not_a_number() -> None:
    value = plain(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)


@looped(
    ("text", "tag", "value"),
    [
        ("123", "str", "123"),
        ("", "str", ""),
        ("yes", "bool", True),
        ("5", "int", 5),
        ("1", "float", 1.0),
        ("~", "null", None),
        ("2024-01-01", "timestamp", "2024-01-01"),
        ("aGVsbG8=", "binary", "hello"),
        ("aGVs\n bG8=", "binary", "hello"),
        ("12", "set", "12"),
    ],
)
def test_explicit_tags(text: str, tag: str, value: object) -> None:
    assert tagged(text, TAG + tag) == value


def test_a_tag_that_is_not_yamls_own_leaves_the_text() -> None:
    assert tagged("12", "!custom") == "12"


def test_binary_is_told_from_text() -> None:
    assert isinstance(tagged("aGVsbG8=", TAG + "binary"), Binary)


@looped(
    ("text", "tag", "message"),
    [
        ("1.0", "int", "cannot decode !!float as a !!int"),
        ("s3cret", "int", "cannot decode !!str as a !!int"),
        ("s3cret", "bool", "cannot decode !!str as a !!bool"),
        ("s3cret", "timestamp", "cannot decode !!str as a !!timestamp"),
        ("<s3cret>", "binary", "!!binary value contains invalid base64 data"),
    ],
)
def test_a_tag_that_does_not_fit(text: str, tag: str, message: str) -> None:
    with pytest.raises(ScalarError) as caught:
        tagged(text, TAG + tag)
    assert str(caught.value) == message


@looped(
    ("text", "name"),
    [
        ("1", "1"),
        ("0x10", "16"),
        ("true", "true"),
        ("y", "true"),
        ("n", "false"),
        ("1.5", "1.5"),
        ("-1.5", "-1.5"),
        ("1e3", "1000"),
        ("1e6", "1e+06"),
        ("123456.7", "123456.7"),
        ("16777217.0", "1.6777216e+07"),
        ("1e20", "1e+20"),
        ("0.1", "0.1"),
        ("0.0001", "0.0001"),
        ("1e-5", "1e-05"),
        ("3.4e39", ".inf"),
        ("-.inf", "-.inf"),
        (".nan", ".nan"),
        ("0.0", "0"),
        ("name", "name"),
        ("2024-01-01", "2024-01-01"),
    ],
)
def test_keys_are_text(text: str, name: str) -> None:
    assert key(plain(text)) == name


def test_null_is_no_key() -> None:
    with pytest.raises(ScalarError, match="unsupported map key"):
        key(None)


def by_the_rules(text: str) -> object:
    """The rules in another form: words, then what Go's ParseInt(s, 0, 64) takes, then the float pattern."""
    words = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False), **dict.fromkeys(NULL)}
    if text in words:
        return words[text]
    digits = text.replace("_", "") if text[0] != "." else text
    for pattern, base, skip in (
        ("0x[0-9a-f]+", 16, 2),
        ("0b[01]+", 2, 2),
        ("0o[0-7]+", 8, 2),
        ("0[0-7]+", 8, 1),
        ("0|[1-9][0-9]*", 10, 0),
    ):
        if text[0] in "+-0123456789" and re.fullmatch(f"[-+]?(?:{pattern})", digits.lower()):
            sign = -1 if digits[0] == "-" else 1
            return sign * int(digits.lstrip("+-")[skip:], base)
    if text[0] in "+-.0123456789" and re.fullmatch(r"[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?", digits.lower()):
        return float(digits)
    return text


@settings(max_examples=examples(200), deadline=None)
@given(st.text("0123456789abox_+-.eyn~:", min_size=0, max_size=8))
def test_any_short_scalar_follows_the_rules(text: str) -> None:
    if re.match(r"-?0b", text.replace("_", "")) or (text.startswith(".") and ("_" in text or text == ".nan")):
        return  # oddities with rows of their own above
    wanted = by_the_rules(text)
    found = plain(text)
    if isinstance(wanted, float) and math.isinf(wanted):
        wanted = text
    assert found == wanted
    assert isinstance(found, bool) == isinstance(wanted, bool)


@given(st.text(max_size=30))
@settings(max_examples=examples(100), deadline=None)
def test_any_text_is_read_without_an_error(text: str) -> None:
    value = plain(text)
    assert isinstance(value, str) is (value == text)
    if value is not None:
        assert isinstance(key(value), str)
