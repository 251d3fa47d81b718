"""Who the user is, fresh whenever it is asked: token files and certificates are rotated while a program runs.

Clocks are monotonic seconds. One object may serve several threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import ConfigError, CredentialError
from rawkube.gotext import go_quote
from rawkube.kubeconfig.access import Access, Origin
from rawkube.kubeconfig.files import Unreadable, read

if TYPE_CHECKING:
    from threading import local

    from rawkube.kubeconfig.exec_output import Credential
    from rawkube.kubeconfig.exec_plugin import ExecPlugin, PluginOptions
    from rawkube.kubeconfig.oidc import OIDC, Fetch

TOKEN_FILE_SECONDS = 50.0
"""A token file is read again after this time (client-go: a minute, and stale ten seconds earlier)."""
CA_SECONDS = 300.0
"""The CA file is compared again after this time (client-go, ClientsAllowCARotation)."""
CERTIFICATE_SECONDS = 1.0
"""Certificate files are read at most once in this time (client-go, cert_rotation)."""

_BEGIN = b"-----BEGIN "
_LONGEST_LABEL = 100
# RFC 9110, 5.6.2: what a header name may hold; "%" is the escape itself.
_IN_NAME = frozenset(b"!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _local() -> local:
    """For the plugin's credential that a thread's last request had."""
    import threading

    return threading.local()


def header_key(key: str) -> str:
    """A key of `as-user-extra` in a header name: each byte that may not stand there is percent-encoded."""
    data = key.encode("utf-8", "replace")
    return "".join(chr(byte) if byte in _IN_NAME else f"%{byte:02X}" for byte in data)


def _checked(name: str, value: str) -> str:
    """A header value that ends no line and starts no other (RFC 9110, 5.5). The message never shows it."""
    if any((c < " " and c != "\t") or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in value):
        raise ConfigError(f"net/http: invalid header field value for {go_quote(name)}")
    return value


class _Cached:
    """Files that are read together, and again when some time has passed; the last good content stays."""

    __slots__ = ("_content", "_files", "_is_ca", "_read_at")

    def __init__(self, *files: str, is_ca: bool = False) -> None:
        self._files = files
        self._is_ca = is_ca
        self._content: tuple[bytes, ...] = ()
        self._read_at = 0.0

    def content(self) -> tuple[bytes, ...]:
        """What the files hold. Raises Unreadable if that was never known."""
        now = time.monotonic()
        if self._content and now - self._read_at < (CA_SECONDS if self._is_ca else CERTIFICATE_SECONDS):
            return self._content
        try:
            self._content = tuple(read(file) for file in self._files)
        except Unreadable:
            if not self._content:
                raise
        self._read_at = now
        return self._content


class Credentials:
    """The credentials of an Access: headers for each request, certificates for each handshake.

    `plugins`: how a credential plugin is run. `fetch`: how the issuer of an auth provider's tokens is asked.
    `on_certificate_change`: called when the client certificate is another
    one than before: connections that were made with the old one should not be used again. `on_note`: is told lines
    for a person.
    """

    def __init__(
        self,
        access: Access,
        *,
        plugins: PluginOptions | None = None,
        fetch: Fetch | None = None,
        on_certificate_change: Callable[[], None] | None = None,
        on_note: Callable[[str], None] | None = None,
    ) -> None:
        self._access = access
        self.on_certificate_change = on_certificate_change
        self.on_note = on_note
        self._plugin_options = plugins
        self._plugin: ExecPlugin | None = None
        self._credential: Credential | None = None  # of the plugin: what the next handshake uses
        self._used = _local() if access.exec is not None else None
        self._provider = _provider(access, fetch, on_note)
        self._file_token = ""
        self._read_at: float | None = None
        self._impersonation = _impersonation(access)
        self._ca = _Cached(access.ca_file, is_ca=True)
        self._last_ca: bytes | None = None
        files = (access.cert_file, access.key_file)
        self._pair = _Cached(*files) if not access.cert_data and not access.key_data else None
        self._last_pair: tuple[bytes, bytes] | None = None

    def __repr__(self) -> str:
        return f"Credentials({self._access!r})"

    def headers(self, *, now: float, authorized: bool = False, within: float | None = None) -> list[tuple[str, str]]:
        """`Authorization` and `Impersonate-*` for a request at `now`. Values are text, UTF-8 on the wire.

        `authorized`: the request has an `Authorization` of its own; nobody is asked for another. `within`: how many
        seconds a plugin may take, if fewer than it has by itself: DeadlineExceeded is raised then. Raises ConfigError
        if a token file was never readable, or a value cannot stand in a header; CredentialError if a plugin gives
        nothing.
        """
        found = "" if authorized else self._authorization(now, within)
        return [
            *([("Authorization", _checked("Authorization", found))] if found else []),
            *self._impersonation,
        ]

    def refresh(self, *, within: float | None = None) -> bool:
        """After a 401 to a request of this thread: the plugin runs, or the token file is read, at once.

        True if that gave another credential: a replay makes sense.
        """
        if self._access.exec is not None:
            return self._refresh_plugin(within)
        if self._provider is not None:
            return self._provider.refresh()
        if not self._access.token_file:
            return False
        before = self._file_token
        try:
            self._file_token = self._read_token()
        except ConfigError:
            return False
        return self._file_token != before

    def ca_pem(self) -> bytes | None:
        """The certificates that are trusted, PEM; None for the system's; empty (an empty file): none at all.

        The file is read again, at most every five minutes; what is empty or bad then leaves what was there.
        Raises ConfigError for a file or data without certificates.
        """
        access = self._access
        if access.ca_data is not None:
            return _checked_ca(access.ca_data, access, "ca_data")
        if not access.ca_file:
            return None
        try:
            (data,) = self._ca.content()
            if self._last_ca is None:
                self._last_ca = _checked_ca(data, access, "ca_file") if data else data
            elif data != self._last_ca and _has_certificate(data):
                self._last_ca = data
        except Unreadable as error:
            raise _config_error(f"unable to load root certificates: {error}", access, "ca_file") from None
        except ConfigError:
            if self._last_ca is None:
                raise
        return self._last_ca

    def client_cert(self) -> tuple[bytes, bytes] | None:
        """The client certificate chain and its key, PEM, or None without one.

        Files are read again, at most once a second. A plugin's is what the headers before had: it does not run for a
        handshake. Raises ConfigError for what cannot be read or is no PEM.
        """
        access = self._access
        if access.exec is not None:
            return self._credential.pair if self._credential is not None else None
        if not access.cert_file and access.cert_data is None:
            return None
        try:
            pair = self._read_pair()
        except Unreadable as error:
            raise _config_error(str(error), access, "cert_file") from None
        for data, what, field in ((pair[0], "certificate", "cert"), (pair[1], "key", "key")):
            if not _pem_blocks(data):
                if self._last_pair is not None:  # half-written: the pair before is still good
                    return self._last_pair
                name = f"{field}_data" if getattr(access, f"{field}_data") else f"{field}_file"
                raise _config_error(f"tls: failed to find any PEM data in {what} input", access, name)
        changed = self._last_pair is not None and pair != self._last_pair
        self._last_pair = pair
        if changed:
            self._tell_of_change()
        return pair

    def _tell_of_change(self) -> None:
        if self.on_certificate_change is not None:
            self.on_certificate_change()

    def _plugin_token(self, within: float | None) -> str:
        """What the plugin says, its certificate kept for the next handshake. Empty if it gives no token."""
        credential = self._take(self._the_plugin().credential(within))
        try:
            return _checked("Authorization", credential.token)
        except ConfigError as error:
            raise CredentialError(str(error), detail=["the credential plugin printed such a token"]) from None

    def _take(self, credential: Credential) -> Credential:
        before, self._credential = self._credential, credential
        assert self._used is not None
        self._used.credential = credential
        if before is not None and before.pair != credential.pair:
            self._tell_of_change()
        return credential

    def _refresh_plugin(self, within: float | None) -> bool:
        used: Credential | None = getattr(self._used, "credential", None)
        if used is None:
            return False  # the request had a credential of its own
        try:
            now = self._take(self._the_plugin().refresh(used, within))
        except CredentialError as error:
            if self.on_note is not None:
                self.on_note(f"refreshing credentials: {str(error).removeprefix('getting credentials: ')}")
            return False
        return (now.token, now.pair) != (used.token, used.pair)

    def _the_plugin(self) -> ExecPlugin:
        if self._plugin is None:
            from rawkube.kubeconfig.exec_plugin import PluginOptions, plugin_for

            self._plugin = plugin_for(self._access, self.ca_pem, self._plugin_options or PluginOptions())
        return self._plugin

    def _read_pair(self) -> tuple[bytes, bytes]:
        access = self._access
        if self._pair is not None:
            certificate, key = self._pair.content()
            return certificate, key
        if self._last_pair is not None:
            return self._last_pair
        certificate = access.cert_data if access.cert_data is not None else read(access.cert_file)
        return certificate, access.key_data if access.key_data is not None else read(access.key_file)

    def _authorization(self, now: float, within: float | None) -> str:
        access = self._access
        if access.exec is not None:
            token = self._plugin_token(within)
        elif self._provider is not None:
            token = self._provider.token()
        else:
            token = self._token(now)
        if token:
            return f"Bearer {token}"
        if access.username:
            from binascii import b2a_base64

            pair = f"{access.username}:{access.password}".encode("utf-8", "replace")
            return "Basic " + b2a_base64(pair, newline=False).decode("ascii")
        return ""

    def _token(self, now: float) -> str:
        access = self._access
        if not access.token_file:
            return access.token
        if self._read_at is None or now - self._read_at >= TOKEN_FILE_SECONDS:
            try:
                self._file_token = self._read_token()
            except ConfigError:
                if not self._file_token and not access.token:
                    raise
            self._read_at = now  # last: another thread that comes meanwhile reads too, and finds a token
        return self._file_token or access.token

    def _read_token(self) -> str:
        file = self._access.token_file
        try:
            token = read(file).decode("utf-8", "replace").strip()
        except Unreadable as error:
            raise _config_error(str(error), self._access, "token_file") from None
        if not token:
            raise _config_error(f"read empty token from file {go_quote(file)}", self._access, "token_file")
        return _checked("Authorization", token)


def _provider(access: Access, fetch: Fetch | None, on_note: Callable[[str], None] | None) -> OIDC | None:
    """Where the tokens of an auth provider come from. Raises ConfigError."""
    if access.auth_provider is None:
        return None
    from rawkube.kubeconfig.oidc import OIDC, fetch_nothing

    try:
        return OIDC(access.auth_provider, fetch or fetch_nothing, on_note=on_note)
    except ConfigError as error:
        raise _config_error(str(error), access, "auth_provider") from None


def _impersonation(access: Access) -> list[tuple[str, str]]:
    if not access.impersonate_user:
        return []
    pairs = [("Impersonate-User", access.impersonate_user)]
    if access.impersonate_uid:
        pairs.append(("Impersonate-Uid", access.impersonate_uid))
    pairs += [("Impersonate-Group", group) for group in access.impersonate_groups]
    for key, values in access.impersonate_extra:
        pairs += [(f"Impersonate-Extra-{header_key(key)}", value) for value in values]
    return [(name, _checked(name, value)) for name, value in pairs]


def _pem_blocks(data: bytes) -> list[tuple[bytes, bytes]]:
    """(label, all of it) of each block of RFC 7468 text."""
    found = []
    endless: set[bytes] = set()  # labels that no end follows, which need not be looked for again
    at = data.find(_BEGIN)
    while at >= 0:
        label, dashes, _ = data[at + len(_BEGIN) : at + _LONGEST_LABEL].partition(b"-----")
        start = at + len(_BEGIN) + len(label) + len(dashes)
        end = -1
        if dashes and label not in endless and data[start : start + 1].isspace():
            end = data.find(b"-----END %b-----" % label, start)
            if end < 0:
                endless.add(label)
            else:
                end += len(b"-----END -----") + len(label)
                found.append((label, data[at:end]))
        at = data.find(_BEGIN, max(end, at + 1))
    return found


def _has_certificate(pem: bytes) -> bool:
    """Whether at least one certificate can be read, which is what makes a CA file good (as in Go)."""
    import ssl

    scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for label, block in _pem_blocks(pem):
        try:
            scratch.load_verify_locations(cadata=block.decode("ascii", "replace"))
        except (ssl.SSLError, ValueError):
            continue
        if label == b"CERTIFICATE":
            return True
    return False


def _checked_ca(data: bytes, access: Access, field: str) -> bytes:
    kinds = [label for label, _ in _pem_blocks(data)]
    if b"CERTIFICATE" in kinds:
        return data
    problem = "no valid certificate authority data seen" if kinds else "unable to parse bytes as PEM block"
    raise _config_error(f"unable to load root certificates: {problem}", access, field)


def _config_error(text: str, access: Access, field: str) -> ConfigError:
    origin = access.origins.get(field, Origin("default"))
    return ConfigError(text, detail=[f"set by {origin}"])
