"""The auth provider `oidc` of a kubeconfig user, as client-go has it (plugin/pkg/client/auth/oidc).

The ID token of the file is used while it is good for more than ten seconds; then the issuer is asked for another
with the refresh token (OpenID Connect Discovery 1.0, section 4; RFC 6749, section 6). Unlike client-go, the new
tokens are kept in memory alone: a kubeconfig is never written.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.errors import ConfigError, TransportError
from rawkube.go_json import syntax_error
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig.access import AuthProvider
from rawkube.kubeconfig.files import Unreadable, read

EXPIRY_SECONDS = 10.0
"""An ID token is not used in the last seconds of its life (client-go, expiryDelta)."""

_REMOVED = {
    "gcp": 'The gcp auth plugin has been removed.\nPlease use the "gke-gcloud-auth-plugin" kubectl/client-go '
    "credential plugin instead.\nSee https://cloud.google.com/blog/products/containers-kubernetes/"
    "kubectl-auth-changes-in-gke for further details",
    "azure": "The azure auth plugin has been removed.\nPlease use the https://github.com/Azure/kubelogin "
    "kubectl/client-go credential plugin instead.\nSee https://kubernetes.io/docs/reference/access-authn-authz/"
    "authentication/#client-go-credential-plugins for further details",
}
_NOT_RENEWABLE = "No valid id-token, and cannot refresh without refresh-token"
_WITHOUT_ID = (
    'token response did not contain an id_token, either the scope "openid" wasn\'t requested upon login, '
    "or the provider doesn't support id_tokens as part of the refresh response"
)
_SHOWN_BODY = 80
_SHOWN_RESPONSE = 300
_LEAST_SECRET = 4  # what is shorter is in every text
_BASE64URL = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


class Fetched(NamedTuple):
    """An answer: its status code and reason, the media type (without parameters, in lower case), the body."""

    status: int
    reason: str
    content_type: str
    body: bytes


Fetch = Callable[[str, str, Sequence[tuple[str, str]], bytes, "bytes | None"], Fetched]
"""method, URL, headers, body, CA certificates (PEM; None: the system's) → the answer. Raises TransportError."""


def fetch_nothing(
    method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes, ca_pem: bytes | None
) -> Fetched:
    """For a program that has no way to an issuer: an ID token that has expired stays so."""
    raise TransportError("no way to the issuer")


def check_provider(provider: AuthProvider) -> None:
    """Raises ConfigError, in client-go's words, for a provider that is not there (any more) or lacks a key."""
    if provider.name != "oidc":
        text = _REMOVED.get(provider.name) or f"no Auth Provider found for name {go_quote(provider.name)}"
        raise ConfigError(text)
    for key in ("idp-issuer-url", "client-id"):
        if not provider.config.get(key):
            raise ConfigError(f"Must provide {key}")


def expiry(token: str) -> float:
    """The `exp` claim of an ID token, seconds since 1970; 0 without one. The signature is not looked at.

    Raises ValueError with client-go's text for what is no JWT.
    """
    parts = token.split(".")
    if len(parts) != 3:
        raise ValueError("ID Token is not a valid JWT")
    payload = _base64url(parts[1])
    try:
        claims = json.loads(payload)
    except ValueError:  # a UnicodeDecodeError is one
        raise ValueError(f"parsing claims: {syntax_error(payload)}") from None
    if not isinstance(claims, dict | None):
        raise ValueError("parsing claims: they are no JSON object")
    when = (claims or {}).get("exp")
    if isinstance(when, bool) or not isinstance(when, int | float | None):
        raise ValueError("parsing claims: exp is no number")
    return float(when or 0)


def _base64url(text: str) -> bytes:
    wrong = next((at for at, char in enumerate(text) if char not in _BASE64URL), -1)
    if wrong < 0 and len(text) % 4 == 1:
        wrong = len(text) - 1
    if wrong >= 0:
        raise ValueError(f"illegal base64 data at input byte {wrong}")
    from base64 import urlsafe_b64decode

    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class OIDC:
    """Where an ID token comes from. One object may serve several threads.

    `on_note` is told once when the issuer has given another refresh token: the one of the file may be worthless
    now. `wall`: seconds since 1970. Raises ConfigError for a configuration that client-go refuses.
    """

    def __init__(
        self,
        provider: AuthProvider,
        fetch: Fetch,
        *,
        on_note: Callable[[str], None] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        check_provider(provider)
        config = provider.config
        self._config = config
        self._fetch = fetch
        self._on_note = on_note
        self._wall = wall
        self._token = config.get("id-token") or ""
        self._refresh_token = config.get("refresh-token") or ""
        self._ca_pem = _ca(config)
        self._in_parameters = False
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"OIDC(issuer={self._config['idp-issuer-url']!r})"

    def token(self) -> str:
        """An ID token that is good for more than ten seconds. Raises TransportError, in client-go's words."""
        with self._lock:
            if self._token and self._is_good():
                return self._token
            if not self._refresh_token:
                raise TransportError(_NOT_RENEWABLE)
            self._renew()
            return self._token

    def refresh(self) -> bool:
        """After a 401: another ID token, if the issuer gives one. True if it did: a replay makes sense."""
        with self._lock:
            if not self._refresh_token:
                return False
            before = self._token
            try:
                self._renew()
            except TransportError:
                return False
            return self._token != before

    def _is_good(self) -> bool:
        try:
            return self._wall() + EXPIRY_SECONDS < expiry(self._token)
        except ValueError as error:
            raise TransportError(str(error)) from None

    def _renew(self) -> None:
        endpoint = self._token_endpoint()
        answer = self._ask_either_way(endpoint)
        token = answer.get("id_token")
        if not isinstance(token, str) or not token:
            raise TransportError(_WITHOUT_ID)
        rotated = answer.get("refresh_token")
        if isinstance(rotated, str) and rotated and rotated != self._refresh_token:
            self._refresh_token = rotated
            self._tell()
        self._token = token

    def _tell(self) -> None:
        if self._on_note is not None:
            issuer = one_line(self._config["idp-issuer-url"])
            self._on_note(
                f"{issuer} has given another refresh token, which is not stored: rawkube writes no kubeconfig, "
                "and the refresh-token in it may be used up"
            )
            self._on_note = None

    def _token_endpoint(self) -> str:
        url = self._config["idp-issuer-url"].removesuffix("/") + "/.well-known/openid-configuration"
        answer = self._get("GET", url, [], b"")
        if answer.status != 200:
            body = answer.body[:_SHOWN_BODY] + (b"..." if len(answer.body) > _SHOWN_BODY else b"")
            status = f"{answer.status} {answer.reason}".strip()
            text = f"oidc: failed to query metadata endpoint {one_line(status)}: {go_quote(body)}"
            raise TransportError(self._hidden(text))
        try:
            metadata = json.loads(answer.body)
        except ValueError:
            why = syntax_error(answer.body)
            raise TransportError(f"oidc: failed to decode provider discovery object: {why}") from None
        endpoint = metadata.get("token_endpoint") if isinstance(metadata, dict) else None
        if not isinstance(endpoint, str) or not endpoint:
            raise TransportError("oidc: discovery object doesn't contain a token_endpoint")
        return endpoint

    def _ask_either_way(self, endpoint: str) -> dict[str, Any]:
        """The client says who it is in a header, or, for issuers that do not take that, in the body
        (golang.org/x/oauth2, AuthStyleAutoDetect)."""
        if not self._in_parameters:
            try:
                return self._ask(endpoint, in_parameters=False)
            except _Refused:
                pass
        try:
            answer = self._ask(endpoint, in_parameters=True)
        except _Refused as error:
            raise TransportError(self._hidden(f"failed to refresh token: {error}")) from None
        self._in_parameters = True
        return answer

    def _ask(self, endpoint: str, *, in_parameters: bool) -> dict[str, Any]:
        client, secret = self._config["client-id"], self._config.get("client-secret") or ""
        form = [("grant_type", "refresh_token"), ("refresh_token", self._refresh_token)]
        headers = [("Content-Type", "application/x-www-form-urlencoded")]
        if in_parameters:
            form = [("client_id", client), *([("client_secret", secret)] if secret else []), *form]
        else:
            from base64 import b64encode

            pair = f"{_escape(client)}:{_escape(secret)}".encode()
            headers.append(("Authorization", f"Basic {b64encode(pair).decode()}"))
        body = "&".join(f"{name}={_escape(value)}" for name, value in form).encode()
        return _token_answer(self._get("POST", endpoint, headers, body, "failed to refresh token: "))

    def _get(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes, prefix: str = "") -> Fetched:
        try:
            return self._fetch(method, url, headers, body, self._ca_pem)
        except TransportError as error:
            # not the kind of the cause: it is not the API server that refused, or has a wrong certificate
            text = f"{prefix}{method.capitalize()} {go_quote(_without_query(url))}: {error}"
            raise TransportError(self._hidden(text), detail=error.detail) from None

    def _hidden(self, text: str) -> str:
        """The text without secrets, should an issuer have repeated one."""
        for secret in (self._refresh_token, self._config.get("client-secret"), self._token):
            if secret and len(secret) >= _LEAST_SECRET:
                text = text.replace(secret, "REDACTED")
        return text


class _Refused(Exception):
    """The token endpoint gave no token; the text is that of golang.org/x/oauth2, on one line."""


def _token_answer(answer: Fetched) -> dict[str, Any]:
    form = answer.content_type in ("application/x-www-form-urlencoded", "text/plain")
    fields = _form(answer.body) if form else _json_fields(answer)
    good = 200 <= answer.status <= 299
    if fields.get("error"):
        parts = [go_quote(str(fields[k])) for k in ("error", "error_description", "error_uri") if fields.get(k)]
        raise _Refused(f"oauth2: {' '.join(parts)}")
    if not good:
        status = one_line(f"{answer.status} {answer.reason}".strip())
        body = one_line(answer.body[:_SHOWN_RESPONSE].decode("utf-8", "replace"))
        raise _Refused(f"oauth2: cannot fetch token: {status}: Response: {body}")
    if not fields.get("access_token"):
        raise _Refused("oauth2: server response missing access_token")
    return fields


def _json_fields(answer: Fetched) -> dict[str, Any]:
    try:
        fields = json.loads(answer.body)
        why = "the answer is no JSON object"
    except ValueError:
        fields, why = None, syntax_error(answer.body)
    if isinstance(fields, dict):
        return fields
    if 200 <= answer.status <= 299:
        raise _Refused(f"oauth2: cannot parse json: {why}")
    return {}


def _form(body: bytes) -> dict[str, Any]:
    from urllib.parse import parse_qsl  # only here: it is slow to import

    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _escape(text: str) -> str:
    """Form-encoded, as Go's url.QueryEscape."""
    data = text.encode("utf-8", "surrogateescape")
    return "".join(chr(b) if b in _UNRESERVED else "+" if b == 0x20 else f"%{b:02X}" for b in data)


def _without_query(url: str) -> str:
    return url.partition("?")[0]


def _ca(config: Mapping[str, str]) -> bytes | None:
    """The certificates that the issuer's must be signed by; None: the system's. Raises ConfigError."""
    data = config.get("idp-certificate-authority-data") or ""
    file = config.get("idp-certificate-authority") or ""
    if data:
        from binascii import Error, a2b_base64

        try:
            pem = a2b_base64("".join(data.split()), strict_mode=True)
        except Error:
            raise ConfigError("illegal base64 data in idp-certificate-authority-data") from None
    elif file:
        try:
            pem = read(file)
        except Unreadable as error:
            raise ConfigError(str(error)) from None
    else:
        return None
    if b"-----BEGIN CERTIFICATE-----" not in pem:
        raise ConfigError("unable to load root certificates: unable to parse bytes as PEM block")
    return pem
