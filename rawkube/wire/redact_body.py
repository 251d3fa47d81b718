"""Pure: which bodies may hold secrets, and the same bodies without them.

Which, is told by the path: Secrets, tokens and their reviews, and the token endpoints of identity providers. What, by
the kind of the object and the names of its fields, never by what a value looks like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from rawkube._typing import Any
from rawkube.wire.redact import MASK

Value = Any  # what JSON can hold

_RESOURCES = frozenset(("secrets", "tokenreviews", "tokenrequests"))
_PATH_WORDS = ("token", "oauth", "openid", "login")
_SECRET_FIELDS = frozenset(
    (
        *("token", "id_token", "access_token", "refresh_token", "client_secret", "password", "assertion", "code"),
        *("clientKeyData", "clientCertificateData", "client-key-data", "id-token", "refresh-token", "client-secret"),
    )
)
# A copy of the whole object, in one string.
_COPIES = frozenset(("kubectl.kubernetes.io/last-applied-configuration",))
_WORD = re.compile("[A-Za-z_]{1,40}")
_ADDRESS = re.compile(r"https?://[^\s?#@]+")
_FORM = "application/x-www-form-urlencoded"


NONE, OBJECT, LOGIN = "", "object", "login"


def secrets_of(target: str, content_type: str = "") -> str:
    """What secrets the bodies of a request for this target, and of its answer, may hold: NONE, OBJECT or LOGIN.

    `content_type`: the request's own, where it has one: a form posted to anybody is a login.
    """
    path = target.partition("?")[0].lower()
    segments = path.split("/")
    if content_type.partition(";")[0].strip().lower() == _FORM:
        return LOGIN
    if _RESOURCES & set(segments) or ("serviceaccounts" in segments and segments[-1] == "token"):
        return OBJECT
    if "api" in segments or "apis" in segments:
        return NONE
    return LOGIN if any(word in segment for segment in segments for word in _PATH_WORDS) else NONE


def body(data: bytes, content_type: str, *, login: bool = False) -> bytes:
    """A whole body without its secrets; what is neither JSON nor a form is replaced as a whole.

    Several JSON values, one a line, stay lines (a watch). An empty body stays empty. `login`: no text is shown but
    addresses and RFC 6749's own words, since an issuer's error may repeat what it was sent.
    """
    if not data.strip():
        return data
    if content_type.partition(";")[0].strip().lower() == _FORM:
        return "&".join(f"{pair.partition('=')[0]}={MASK}" for pair in data.decode("latin-1").split("&")).encode()
    masked = _without_text if login else _masked
    try:
        return _dump(masked(json.loads(data))) + (b"\n" if data.endswith(b"\n") else b"")
    except (ValueError, RecursionError):
        return b"\n".join(line and _line(line, masked) for line in data.split(b"\n"))


def _line(line: bytes, masked: Callable[[Value], Value]) -> bytes:
    try:
        return _dump(masked(json.loads(line)))
    except (ValueError, RecursionError):
        return b'"' + MASK.encode() + b'"'


def _without_text(value: Value, key: str = "") -> Value:
    if isinstance(value, dict):
        return {name: _without_text(item, str(name)) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_text(item, key) for item in value]
    if not isinstance(value, str) or not value:
        return value
    if key in ("error", "token_type") and _WORD.fullmatch(value):
        return value
    return value if key.endswith(("_endpoint", "_uri", "issuer")) and _ADDRESS.fullmatch(value) else MASK


def _dump(value: Value) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _masked(value: Value, kind: str = "") -> Value:
    if isinstance(value, list):
        return [_masked(item, kind) for item in value]
    if not isinstance(value, dict):
        return value
    own = value.get("kind")
    kind = own.removesuffix("List") if isinstance(own, str) and own.endswith("List") else own or kind
    return {key: _field(key, item, str(kind)) for key, item in value.items()}


def _field(key: str, value: Value, kind: str) -> Value:
    if kind == "Secret" and key in ("data", "stringData") and isinstance(value, dict):
        return dict.fromkeys(value, MASK)
    if (key in _SECRET_FIELDS or key in _COPIES) and isinstance(value, str) and value:
        return MASK
    # The objects of a watch event and the items of a list say what they are, or are what the list says.
    return _masked(value, kind if key in ("items", "object") else "")
