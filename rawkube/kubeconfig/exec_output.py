"""What a credential plugin printed → a credential. Pure.

One ExecCredential of client.authentication.k8s.io, JSON or YAML, read as client-go reads it and refused in its
words. No text here repeats what the plugin printed, but for names of kinds and versions, and times.
"""

from __future__ import annotations

import re

from rawkube._typing import Any, NamedTuple
from rawkube.go_json import syntax_error
from rawkube.gotext import go_quote
from rawkube.kubeconfig.document import DocumentError, parse
from rawkube.kubeconfig.exec_info import API_VERSIONS, GROUP
from rawkube.kubeconfig.schema import ANYTHING, BOOL, STRING, Kind, SchemaError, check_kind, json_type
from rawkube.kubeconfig.timestamp import TimeError, seconds_of


class Credential(NamedTuple):
    """Who the user is. `token`: a bearer token; `cert`, `key`: PEM; each may be empty, but not all are.

    `expires`: seconds since 1970, None for never.
    """

    token: str = ""
    cert: bytes = b""
    key: bytes = b""
    expires: float | None = None

    @property
    def pair(self) -> tuple[bytes, bytes] | None:
        """The client certificate and its key, None without one."""
        return (self.cert, self.key) if self.cert else None

    def __repr__(self) -> str:
        shown = [f"{name}=<redacted>" for name in ("token", "cert", "key") if getattr(self, name)]
        return f"Credential({', '.join([*shown, f'expires={self.expires}'])})"


class OutputError(ValueError):
    """Why an output is no credential, in client-go's words (below `getting credentials: `)."""


_SCHEME = 'in scheme "pkg/client/auth/exec/exec.go:64"'  # kubectl 1.37; part of the message
_INTERNAL = "__internal"
_HEAD = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_SHOWABLE = re.compile(r"[\w./+:-]{0,100}", re.ASCII)  # a name; a token that stands in its place is longer
_TIME_LIKE = re.compile(r"[0-9TtZz:.,+ -]{0,40}", re.ASCII)

_PLAIN = {"token": STRING, "clientCertificateData": STRING, "clientKeyData": STRING}
_STATUS = {"expirationTimestamp": STRING, **_PLAIN}
_CLUSTER = {
    "server": STRING,
    "tls-server-name": STRING,
    "insecure-skip-tls-verify": BOOL,
    "certificate-authority-data": Kind("[]uint8", "string", base64=True),
    "proxy-url": STRING,
    "disable-compression": BOOL,
    "config": ANYTHING,
}


def _credential_kind(version: str) -> Kind:
    cluster = Kind(f"{version}.Cluster", "object", "Cluster", _CLUSTER)
    spec = {"cluster": cluster, "interactive": BOOL}
    fields = {
        "spec": Kind(f"{version}.ExecCredentialSpec", "object", "ExecCredentialSpec", spec),
        "status": Kind(f"{version}.ExecCredentialStatus", "object", "ExecCredentialStatus", _STATUS),
    }
    return Kind(f"{version}.ExecCredential", "object", "ExecCredential", fields)


def decode(data: bytes, api_version: str) -> Credential:
    """The credential in a plugin's output. `api_version`: what the kubeconfig says. Raises OutputError."""
    value = _parsed(data)
    returned = _version(value)
    status = _status(value, returned)
    if returned != api_version:
        text = f"exec plugin is configured to use API version {api_version}, plugin returned version {returned}"
        raise OutputError(text)
    if status is None:
        raise OutputError("exec plugin didn't return a status field")
    token, cert, key = (status.get(name) or "" for name in _PLAIN)
    if not token and not cert and not key:
        raise OutputError("exec plugin didn't return a token or cert/key pair")
    if bool(cert) != bool(key):
        raise OutputError("exec plugin returned only certificate or key, not both")
    expires = status.get("expirationTimestamp")
    when = None if expires is None else seconds_of(expires)
    return Credential(token, cert.encode("utf-8", "replace"), key.encode("utf-8", "replace"), when)


def _undecodable(text: str) -> OutputError:
    return OutputError(f"decoding stdout: {text}")


def _no_version(text: str) -> OutputError:
    return _undecodable(f"couldn't get version/kind; json parse error: {text}")


def _parsed(data: bytes) -> dict[str, Any]:
    value = _from_json(data) if data.lstrip(b" \t\r\n")[:1] == b"{" else _from_yaml(data)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _no_version(f"json: cannot unmarshal {json_type(value)} into Go value of type {_HEAD}")
    return value


def _from_json(data: bytes) -> Any:  # noqa: ANN401 - what JSON can hold
    from json import loads

    try:
        return loads(data.decode("utf-8", "replace"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _no_version(syntax_error(data)) from None


def _no_constant(name: str) -> None:
    raise ValueError(name)  # NaN, Infinity: Python's own


# What libyaml's parser says; all else is said by its scanner, and go-yaml counts their lines differently.
_SAID_BY_PARSER = re.compile(r"did not find expected (?:<|node content|',' or '[]}]'|'-' indicator|key$)")


def _from_yaml(data: bytes) -> Any:  # noqa: ANN401 - what YAML can hold
    try:
        return parse(data.decode("utf-8-sig")).value
    except UnicodeDecodeError:
        raise _undecodable("yaml: invalid leading UTF-8 octet") from None
    except DocumentError as error:
        text = str(error)
        behind = error.line - 1
        line = behind if _SAID_BY_PARSER.match(text) else error.line
        at = f"line {line}: " if behind > 0 and "control characters" not in text else ""
        raise _undecodable(f"yaml: {at}{text}") from None


def _shown(name: str) -> str:
    return name if _SHOWABLE.fullmatch(name) else "<redacted>"


def _head(value: dict[str, Any], field: str) -> str:
    """`apiVersion` or `kind`, which Go finds in any case; the last one counts."""
    named = [inner for key, inner in value.items() if key.lower() == field.lower() and inner is not None]
    for inner in named:
        if not isinstance(inner, str):
            text = f"json: cannot unmarshal {json_type(inner)} into Go struct field .{field} of type string"
            raise _no_version(text)
    return named[-1] if named else ""


def _version(value: dict[str, Any]) -> str:
    """The version that the output is of, `…/__internal` if it says none. Raises OutputError for another kind."""
    version, kind = _head(value, "apiVersion"), _head(value, "kind") or "ExecCredential"
    if version.count("/") > 1:
        raise _undecodable(f"unexpected GroupVersion string: {_shown(version)}")
    version = version or f"{GROUP}/{_INTERNAL}"
    if kind != "ExecCredential" or version not in (*API_VERSIONS, f"{GROUP}/{_INTERNAL}"):
        of = f"version {go_quote(_shown(version))}"
        if version.endswith("/" + _INTERNAL):
            of = f'the internal version of group "{_shown(version.split("/")[0])}"'
        raise _undecodable(f"no kind {go_quote(_shown(kind))} is registered for {of} {_SCHEME}")
    return version


def _status(value: dict[str, Any], version: str) -> dict[str, Any] | None:
    if version not in API_VERSIONS:
        return None  # Go decodes it as nothing, and complains about the version
    wrong: SchemaError | None = None
    try:
        check_kind(value, _credential_kind(version.rpartition("/")[2]))
    except SchemaError as error:
        wrong = error
    status = value.get("status")
    _check_time(status.get("expirationTimestamp") if isinstance(status, dict) else None)
    if wrong is not None:
        raise _undecodable(str(wrong))
    return status if isinstance(status, dict) else None


def _check_time(text: Any) -> None:  # noqa: ANN401 - what JSON can hold
    if not isinstance(text, str):
        return
    try:
        seconds_of(text)
    except TimeError as error:
        if _TIME_LIKE.fullmatch(text):
            raise _undecodable(str(error)) from None
        raise _undecodable('parsing time "<redacted>": it is not as RFC 3339 has it') from None
