"""Pure: content negotiation (RFC 9110, sections 12.5.1 and 12.5.3) between a client and recorded answers.

Kubernetes adds parameters to media types: `as`, `g` and `v` ask for a Table or an aggregated discovery
document.
"""

from __future__ import annotations

# Encodings of an API object. Other types (a log's text/plain) are sent whatever was asked for.
_ENCODINGS = (
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
    "application/cbor",
)
_FORM = ("as", "g", "v")

LAST_RESORT = 1000


def rank(accept: str, content_type: str, *, table: bool = False) -> int | None:
    """The place of an answer in what a client accepts: 0 is best, None is not at all.

    `table`: the answer is a Table (its Content-Type does not tell). What only a wildcard accepts and is not
    plain JSON comes after everything else (LAST_RESORT).
    """
    kind, form = _media_type(content_type)
    if kind not in _ENCODINGS:
        return 0
    plain = not table and "as" not in form
    for place, (asked, wanted) in enumerate(_accepted(accept)):
        if asked in ("*/*", "application/*"):
            return place if plain and kind == "application/json" else LAST_RESORT + place
        same_form = wanted == form or (table and wanted.get("as") == "table")
        if asked == kind and (same_form if "as" in wanted else plain):
            return place
    return None


def accepts_encoding(accept_encoding: str, coding: str) -> bool:
    """Whether a client takes a content coding such as gzip. It takes none that it does not name."""
    for item in accept_encoding.lower().split(","):
        name, *params = (part.strip() for part in item.split(";"))
        if name in (coding, "*"):
            return _quality(params) > 0
    return False


def _accepted(accept: str) -> list[tuple[str, dict[str, str]]]:
    """What is accepted, best first: by q, then in the client's order."""
    found = []
    for item in (accept or "*/*").lower().split(","):
        quality = _quality([part.strip() for part in item.split(";")[1:]])
        if quality > 0:
            found.append((quality, _media_type(item)))
    return [media for _, media in sorted(found, key=lambda pair: -pair[0])]


def _media_type(text: str) -> tuple[str, dict[str, str]]:
    kind, *params = (part.strip() for part in text.lower().split(";"))
    pairs = (param.partition("=") for param in params)
    return kind, {name.strip(): value.strip() for name, _, value in pairs if name.strip() in _FORM}


def _quality(params: list[str]) -> float:
    for param in params:
        name, _, value = param.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0
