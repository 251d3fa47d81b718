from __future__ import annotations

from rawkube.api.warning_header import parse_warnings
from tests.support.rows import looped


@looped(
    ("values", "texts"),
    [
        (['299 - "old API"'], ["old API"]),
        (['299 - "one", 299 - "two"'], ["one", "two"]),
        (['299 - "one"', '299 - "two"'], ["one", "two"]),
        ([r'299 - "say \"hi\" \\ there"'], [r'say "hi" \ there']),
        (['299 - "a, b", 299 - "c"'], ["a, b", "c"]),
        (['299 kube "x" "Wed, 21 Oct 2015 07:28:00 GMT"'], ["x"]),
        (['199 - "stale"', '299 - "x"'], ["x"]),
        (['299 - "unfinished'], []),
        (["nonsense", ""], []),
        (['299 - ""'], [""]),
        (['299 - "caf\xc3\xa9"'], ["café"]),
        (['299 - "caf\xe9"'], ["café"]),
    ],
)
def test_texts_of_code_299(values: list[str], texts: list[str]) -> None:
    assert parse_warnings(values) == texts
