"""What is unusual about a connection that is resolved but not opened: what a person would want to know first.

Files are looked into; no secret is ever in a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from rawkube._typing import Any
from rawkube.errors import ConfigError
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig import Found, executables, plugin_policy, server_url
from rawkube.kubeconfig.access import Access
from rawkube.kubeconfig.credentials import Credentials
from rawkube.kubeconfig.files import Unreadable, read
from rawkube.kubeconfig.kuberc import Preferences
from rawkube.kubeconfig.oidc import expiry
from rawkube.kubeconfig.plugin_policy import Policy

SOON_DAYS = 30
"""A certificate that expires within so many days is worth a line."""
_DAY = 86400.0
_LOCAL = ("localhost", "::1")


def unusual(
    found: Found, *, preferences: Preferences, now: float, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """One line each. `preferences`: of kuberc; `now`: seconds since 1970; `environ`: for `PATH`."""
    access = found.access
    lines = [
        *access.notes,
        *_files(found),
        *_transport(access),
        *_trust(access, now),
        *_client_certificate(access, now),
        *_tokens(access, now),
        *_plugins(found, preferences, environ),
        *_modes(access),
    ]
    return list(dict.fromkeys(one_line(line) for line in lines))


def _files(found: Found) -> Iterator[str]:
    config = found.config
    if config.files:
        yield from (f"{name} does not exist" for name in config.missing)
    if found.access.context == "" and config.contexts:
        yield "no context is chosen: the kubeconfig has no current-context"


def _transport(access: Access) -> Iterator[str]:
    address = server_url.parse(access.server)
    local = address.host in _LOCAL or address.host.startswith("127.")
    if address.scheme == "http" and not local:
        yield f"{access.server} is plain http: what is said can be read and changed on the way"
    if access.insecure:
        where = access.origins.get("insecure")
        yield f"the server's certificate is not checked: whoever answers is believed ({where})"


# Certificates


def _trust(access: Access, now: float) -> Iterator[str]:
    try:
        pem = Credentials(access._replace(exec=None, auth_provider=None)).ca_pem()
    except ConfigError as error:
        yield str(error)
        return
    if pem == b"":
        yield f"{access.ca_file} is empty: no server's certificate is trusted"
    for subject, line in _dates(pem or b"", now):
        yield f"the trusted certificate {subject} {line}"


def _client_certificate(access: Access, now: float) -> Iterator[str]:
    try:
        pair = Credentials(access._replace(exec=None, auth_provider=None)).client_cert()
    except ConfigError as error:
        yield str(error)
        return
    if pair is None:
        return
    first = next(iter(_dates(pair[0], now, leaf=True)), None)
    if first is not None:
        yield f"the client certificate {first[0]} {first[1]}"
    import ssl

    from rawkube.wire import keypair

    try:
        keypair.load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), *pair)
    except ConfigError as error:
        yield f"the client certificate cannot be used: {error}"


def _dates(pem: bytes, now: float, *, leaf: bool = False) -> Iterator[tuple[str, str]]:
    """(subject, what is wrong with its dates) of each certificate where something is; `leaf`: of the first alone."""
    from rawkube.wire import x509
    from rawkube.wire.keypair import pem_blocks

    ders = [der for label, der in pem_blocks(pem) if label == "CERTIFICATE"]
    for der in ders[:1] if leaf else ders:
        try:
            certificate = x509.parse(der)
            begins, ends = (_seconds(text) for text in (certificate.not_before, certificate.not_after))
        except ValueError:
            continue
        line = _period(begins, ends, now)
        if line:
            yield go_quote(certificate.subject), line


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _period(begins: float, ends: float, now: float) -> str:
    if now < begins:
        return f"is not valid before {_day(begins)}"
    if now >= ends:
        return f"expired at {_day(ends)}"
    days = int((ends - now) / _DAY)
    if days >= SOON_DAYS:
        return ""
    left = f"in {days} day{'s' if days != 1 else ''}" if days else "in less than a day"
    return f"expires {left}, at {_day(ends)}"


# Tokens


def _tokens(access: Access, now: float) -> Iterator[str]:
    if access.token_file:
        yield from _token_file(access, now)
    elif access.token:
        yield from _expired("the token", access.token, now)
    provider = access.auth_provider
    if provider is not None:
        config = provider.config
        if not config.get("refresh-token"):
            yield from _expired("the id-token", config.get("id-token") or "", now)
            if not config.get("id-token"):
                yield "the auth provider has neither an id-token nor a refresh-token"
        if str(config.get("idp-issuer-url") or "").startswith("http://"):
            yield "the issuer is asked over plain http: the refresh-token and the client-secret can be read on the way"


def _token_file(access: Access, now: float) -> Iterator[str]:
    try:
        token = read(access.token_file).decode("utf-8", "replace").strip()
    except Unreadable as error:
        yield f"the token file cannot be read: {error}"
        return
    if not token:
        yield f"the token file {access.token_file} is empty"
    else:
        yield from _expired("the token of the token file", token, now)
    if access.token:
        yield "token is used only while the token file cannot be read"


def _expired(what: str, token: str, now: float) -> Iterator[str]:
    """Of a token that says so itself (RFC 7519); others keep their secret."""
    try:
        ends = expiry(token)
        if ends and now >= ends:
            yield f"{what} expired at {_day(ends)}"
    except (ValueError, OverflowError, OSError):
        return


# Plugins


def _plugins(found: Found, preferences: Preferences, environ: Mapping[str, str]) -> Iterator[str]:
    access = found.access
    yield from preferences.notes
    if access.exec is not None:
        yield from _not_run(access.exec.command, preferences.policy or Policy(), environ)
    entry = found.config.users.get(access.user)
    for field, known, what in (
        ("exec", access.exec, "credential plugin"),
        ("auth-provider", access.auth_provider, "auth provider"),
    ):
        value: Any = entry.value.get(field) if entry is not None else None
        if value is not None and known is None and not access.notes:
            name = value.get("command") or value.get("name") or ""
            yield f"the {what} {go_quote(str(name))} is not asked: another credential is set"


def _not_run(command: str, policy: Policy, environ: Mapping[str, str]) -> Iterator[str]:
    """Why a plugin will not be run, looked for as it is when it is."""
    try:
        executables.look_path(command, environ)
    except executables.NotFound as error:
        yield f"the credential plugin cannot be run: {error}"
    try:
        plugin_policy.check(policy, command, lambda name: executables.look_path(name, environ))
    except plugin_policy.NotAllowed as error:
        yield f"the credential plugin may not be run: {error} ({policy.file})"


# Files


def _modes(access: Access) -> Iterator[str]:
    """Files with secrets that other users can read."""
    if os.name == "nt":
        return
    files = [access.key_file] if access.key_file and access.key_data is None else []
    for field in ("token", "password", "key_data"):
        origin = access.origins.get(field)
        if origin is not None and origin.source == "file" and getattr(access, field):
            files.append(origin.name)
    for file in dict.fromkeys(files):
        try:
            mode = os.stat(file).st_mode & 0o777  # noqa: PTH116
        except OSError:
            continue
        if mode & 0o044:
            yield f"{file} holds a secret, and others may read it (mode {mode:04o})"
