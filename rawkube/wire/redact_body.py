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
_DATA = frozenset(("data", "stringData"))  # of a Secret, or of a patch, which does not say its kind
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
_NOTHING = b'"' + MASK.encode() + b'"'
_FORM = "application/x-www-form-urlencoded"


NONE, OBJECT, LOGIN = "", "object", "login"


def secrets_of(target: str, content_type: str = "") -> str:
    """What secrets the bodies of a request for this target, and of its answer, may hold: NONE, OBJECT or LOGIN.

    `content_type`: the request's own, where it has one: a form posted to anybody is a login.
    """
    segments = _segments(target)
    if content_type.partition(";")[0].strip().lower() == _FORM:
        return LOGIN
    if segments[-3:-2] == ["pods"]:
        return NONE  # what passes in an exec is no object, whatever the pod is called
    if _RESOURCES & set(segments) or ("serviceaccounts" in segments and segments[-1] == "token"):
        return OBJECT
    if "api" in segments or "apis" in segments:
        return NONE
    return LOGIN if any(word in segment for segment in segments for word in _PATH_WORDS) else NONE


def _segments(target: str) -> list[str]:
    """The path, as a server reads it, without the name of the namespace."""
    path = target.partition("?")[0]
    if "%" in path:
        from urllib.parse import unquote

        path = unquote(path)
    segments = path.lower().split("/")
    if "namespaces" in segments:
        at = segments.index("namespaces") + 1
        del segments[at : at + 1]
    return segments


def body(data: bytes, content_type: str, *, login: bool = False) -> bytes:
    """A whole body without its secrets; what is neither JSON nor a form is replaced as a whole.

    Several JSON values, one a line, stay lines (a watch). An empty body stays empty. `login`: no text is shown but
    addresses and RFC 6749's own words, since an issuer's error may repeat what it was sent.
    """
    if not data.strip():
        return data
    if content_type.partition(";")[0].strip().lower() == _FORM:
        return "&".join(map(_pair, data.decode("latin-1").split("&"))).encode()
    masked = _without_text if login else _masked
    try:
        return _dump(masked(json.loads(data))) + (b"\n" if data.endswith(b"\n") else b"")
    except (ValueError, RecursionError):
        if "yaml" in content_type.lower():
            return _NOTHING  # a line of YAML may look like JSON
        return b"\n".join(line and _line(line, masked) for line in data.split(b"\n"))


def _line(line: bytes, masked: Callable[[Value], Value]) -> bytes:
    try:
        value = json.loads(line)
        return _dump(masked(value)) if isinstance(value, dict) else _NOTHING
    except (ValueError, RecursionError):
        return _NOTHING


def _pair(pair: str) -> str:
    """A field of a form; what has no plain name may be no form at all, whatever its type says."""
    name, equals, value = pair.partition("=")
    return f"{name}={MASK}" if equals and value and _WORD.fullmatch(name) else MASK


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


def _masked(value: Value) -> Value:
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if not isinstance(value, dict):
        return value
    # An operation of a JSON patch (RFC 6902): its value may be a datum, or the whole of them.
    secret = _DATA | {"value"} if "op" in value and "path" in value else _DATA
    return {key: _hidden(item) if key in secret else _field(key, item) for key, item in value.items()}


def _hidden(value: Value) -> Value:
    """The keys of a map are shown, and what is empty."""
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else value and MASK


def _field(key: str, value: Value) -> Value:
    if (key in _SECRET_FIELDS or key in _COPIES) and isinstance(value, str) and value:
        return MASK
    return _masked(value)
