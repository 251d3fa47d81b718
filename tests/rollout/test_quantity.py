"""Quantities; the canonical forms are those that kubectl 1.37.1 prints."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawkube.errors import RolloutFailed
from rawkube.rollout.quantity import canonical, units, value
from tests.support.rows import looped

# What is written, and its canonical form.
_FORMS = """
0 0      0Gi 0     -0 0      00 0       0.0 0       +0 0       . 0        E 0
1 1      100 100   1000 1k   1000m 1    1500m 1500m  1.5 1500m  0.1 100m   .5 500m
5. 5.    5.0m 5m   007 007   +10 +10    +1000 1k    01000 1k   -1000m -1  -1.5 -1500m
1e3 1e3  1E3 1E3   1e+3 1e+3  1E1 10    1E4 10e3    5e-1 500e-3  1e-3 1e-3  1e-10 1e-9
1e19 10e18  1E1000 10e999  12e6 12e6  100E3 100E3
1Ki 1Ki  1024 1024  1024Ki 1Mi  1000Ki 1000Ki  0.5Ki 512  1.5Gi 1536Mi  1.1Gi 1181116006400m  2.5Ki 2560
-1.5Ki -1536  8Ei 9223372036854775807  10E 10E  1000000k 1G  0.1n 1n  1.23456789012345678901 1234567891n
12345678901234567890 12345678901234567890
"""


_WORDS = _FORMS.split()


@looped(("text", "form"), list(zip(_WORDS[::2], _WORDS[1::2], strict=True)))
def test_the_canonical_form(text: str, form: str) -> None:
    assert canonical(text) == form
    assert canonical(canonical(text)) == form


@looped("text", ["", "x", "0x1", "1 2", " ", "٣", "1.2.3"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(RolloutFailed, match="quantities must match the regular expression"):
        value(text)


@looped("text", ["--1", "1e", "1ei", "1KiKi", "1mm", "1e99999999"])
def test_an_unknown_suffix(text: str) -> None:
    with pytest.raises(RolloutFailed, match="unable to parse quantity's suffix"):
        value(text)


@pytest.mark.parametrize(
    ("text", "whole", "milli"), [("1500m", 2, 1500), ("-1500m", -2, -1500), ("1Ki", 1024, 1024000), ("1u", 1, 1)]
)
def test_units_are_rounded_away_from_zero(text: str, whole: int, milli: int) -> None:
    assert units(text) == whole
    assert units(text, milli=True) == milli


NUMBERS = st.integers(-(10**9), 10**9)
SUFFIXES = st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"])


@given(NUMBERS, st.integers(0, 999), SUFFIXES)
def test_the_canonical_form_is_worth_the_same(whole: int, part: int, suffix: str) -> None:
    text = f"{whole}.{part:03}{suffix}"
    assert value(canonical(text)) == value(text)


def test_the_value_is_exact() -> None:
    assert value("0.1") == Fraction(1, 10)
