"""Columns as Go's text/tabwriter aligns them."""

from __future__ import annotations

from rawkube.rollout.tabs import aligned
from tests.support.rows import looped


@looped(
    ("text", "columns"),
    [
        ("", ""),
        ("a\n", "a\n"),
        ("a\tb\n", "a  b\n"),
        ("a\tb\nlong\tc\n", "a     b\nlong  c\n"),
        ("a\tb\tc\nlong\tx\n", "a     b  c\nlong  x\n"),
        ("long\tb\nnone\na\tb\n", "long  b\nnone\na  b\n"),
        ("a\tlonger\tc\nb\n\nd\te\tf\n", "a  longer  c\nb\n\nd  e  f\n"),
        ("é\tb\nab\tc\n", "é   b\nab  c\n"),
        ("\tb\nab\tc\n", "    b\nab  c\n"),
        ("a\t\n", "a  \n"),
    ],
)
def test_columns(text: str, columns: str) -> None:
    assert aligned(text) == columns
