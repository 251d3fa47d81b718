"""Pure: the `Warning` response header (RFC 7234 section 5.5), by which an API server speaks to its users.

API servers send code 299 only (KEP-1693); other codes come from caches and are none of the user's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rawkube._pattern import pattern

# warn-code SP warn-agent SP warn-text [SP warn-date]; the text is a quoted string with backslash escapes.
_WARNING = pattern(r'\s*(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?\s*(?:,|$)')


def parse_warnings(values: Iterable[str]) -> list[str]:
    """The texts of all warnings of code 299 in these header values; what is malformed is passed over.

    API servers send UTF-8, which HTTP's own reading of a header (ISO 8859-1) takes apart: it is put together again.
    """
    texts = []
    for value in map(_utf8, values):
        position = 0
        while match := _WARNING.match(value, position):
            position = match.end()
            if match[1] == "299":
                texts.append(re.sub(r"\\(.)", r"\1", match[3]))
            if position >= len(value):
                break
    return texts


def _utf8(value: str) -> str:
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
