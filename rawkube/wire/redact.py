"""What is a secret in the head of a message, and what stands in its place.

Pure. Values are masked by the name of the header or of the query parameter, never by what they look like.
"""

from __future__ import annotations

from collections.abc import Iterable

MASK = "<redacted>"

# The subprotocol that carries a bearer token where no header can be sent (apiserver,
# authentication/request/websocket).
BEARER_SUBPROTOCOL = "base64url.bearer.authorization.k8s.io."

_CREDENTIALS = frozenset({"authorization", "proxy-authorization"})
_URLS = frozenset(
    (
        *("location", "content-location", "referer", "origin", "link", "refresh"),
        *("x-original-url", "x-original-uri", "x-rewrite-url", "x-forwarded-uri"),  # what an ingress was asked for
    )
)
_SCHEMES = {"bearer": "Bearer", "basic": "Basic", "negotiate": "Negotiate", "digest": "Digest"}
_SECRET_WORDS = (
    *("token", "secret", "password", "passwd", "api-key", "api_key", "apikey", "authorization"),
    *("credential", "auth-key", "auth_key", "-signature", "cookie"),
)
_SECRET_PARAMETERS = frozenset({"code", "sig", "signature", "assertion", "client_assertion"})


def headers(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """`[[name, value], …]` with the secret values masked, in the same order."""
    return [[name, _header(name.lower(), value)] for name, value in pairs]


def _header(name: str, value: str) -> str:
    if name in _CREDENTIALS:
        return _credentials(value)
    if name == "sec-websocket-protocol":
        return ", ".join(_subprotocol(entry.strip()) for entry in value.split(","))
    if name in _URLS:
        return target(value)
    if any(word in name for word in _SECRET_WORDS):
        return MASK
    return value


def _credentials(value: str) -> str:
    """The scheme may be shown (RFC 9110, section 11.4); a value without one is a secret as a whole."""
    scheme, space, _ = value.strip().partition(" ")
    known = _SCHEMES.get(scheme.lower()) if space else None
    return f"{known} {MASK}" if known else MASK


def _subprotocol(entry: str) -> str:
    if entry.lower().startswith(BEARER_SUBPROTOCOL):
        return entry[: len(BEARER_SUBPROTOCOL)] + MASK
    return entry


def target_line(line: str) -> str:
    """The first line of a head with the target of a request masked; a status line as it is."""
    method, space, rest = line.partition(" ")
    where, last, version = rest.rpartition(" ")
    if not last or line.startswith("HTTP/"):
        return line
    return f"{method}{space}{target(where)}{last}{version}"


def target(path_and_query: str) -> str:
    """A request target or a URL with userinfo and the values of secret query parameters masked."""
    url, hash_sign, fragment = path_and_query.partition("#")
    url, question, query = url.partition("?")
    if "://" in url:
        url = _without_userinfo(url)
    if question:
        url += "?" + _query(query)
    # The implicit flow of OAuth hands tokens over in the fragment (RFC 6749, section 4.2.2).
    return url + "#" + _query(fragment) if hash_sign else url


def _without_userinfo(url: str) -> str:
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    _, at, host = authority.rpartition("@")
    return f"{scheme}://{MASK}@{host}{slash}{path}" if at else url


def _query(query: str) -> str:
    # A semicolon parts parameters too, for servers older than the URL standard.
    return "&".join(";".join(map(_parameter, part.split(";"))) for part in query.split("&"))


def _parameter(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}={MASK}" if equals and _is_secret(name) else pair


def _is_secret(name: str) -> bool:
    if "%" in name or "+" in name:
        from urllib.parse import unquote_plus

        name = unquote_plus(name)
    name = name.lower()
    return name in _SECRET_PARAMETERS or any(word in name for word in _SECRET_WORDS)
