"""A connection in the making: the fields of Access, from file entries and flags, each with its origin.
Pure."""

from __future__ import annotations

from rawkube._typing import TYPE_CHECKING, Any
from rawkube.kubeconfig.access import Access, Origin, Overrides
from rawkube.kubeconfig.load import Entry
from rawkube.kubeconfig.schema import data_of

if TYPE_CHECKING:
    from rawkube.kubeconfig.in_cluster import InCluster

_CLUSTER_TEXT = (("server", "server"), ("tls_server_name", "tls-server-name"), ("proxy_url", "proxy-url"))
_CLUSTER_BOOL = (("insecure", "insecure-skip-tls-verify"), ("disable_compression", "disable-compression"))
_USER_TEXT = (("token", "token"), ("username", "username"), ("password", "password"))
_USER_PATH = (("cert_file", "client-certificate"), ("key_file", "client-key"), ("token_file", "tokenFile"))
_USER_DATA = (("cert_data", "client-certificate-data"), ("key_data", "client-key-data"))
_USER_AS = (("impersonate_user", "as"), ("impersonate_uid", "as-uid"))

Value = Any  # of any field

_NO_ACCESS = Access("")._asdict()
CREDENTIALS = (
    "token",
    "token_file",
    "username",
    "password",
    "cert_file",
    "cert_data",
    "exec",
    "auth_provider",
)
"""Fields that say who the user is."""
TLS = ("ca_file", "ca_data", "insecure", "tls_server_name", "cert_file", "cert_data")
"""Fields that mean nothing without TLS."""


class Draft:
    """`values`: by the names of Access, and `proxy_url`, `exec`, `auth_provider`; what is not set is
    absent."""

    __slots__ = ("origins", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}

    def get(self, name: str) -> Value:
        """The value, or one that is false."""
        return self.values.get(name)

    def set(self, name: str, value: Value, origin: Origin) -> None:
        """Sets a field that is not empty; an empty value leaves what was there."""
        if value:
            self.force(name, value, origin)

    def force(self, name: str, value: Value, origin: Origin) -> None:
        """Sets a field, empty or not."""
        self.values[name] = value
        self.origins[name] = origin

    def clear(self, *names: str) -> None:
        """Makes fields as if they had never been set."""
        for name in names:
            self.values.pop(name, None)
            self.origins.pop(name, None)

    def any_of(self, names: tuple[str, ...]) -> str:
        """The first of `names` that is set, or empty."""
        return next((name for name in names if self.values.get(name)), "")

    def access(self) -> Access:
        """What stands here as Access; fields that it does not have are left out."""
        fields = {name: value for name, value in self.values.items() if name in _NO_ACCESS}
        origins = {name: origin for name, origin in self.origins.items() if name in _NO_ACCESS}
        return Access(**{"server": "", **fields, "origins": origins})


def _origin(entry: Entry, field: str) -> Origin:
    return Origin("file", entry.file, entry.line(field), entry.shown(field))


def add_cluster(draft: Draft, entry: Entry) -> None:
    """The fields of a cluster of a file."""
    value = entry.value
    for name, field in (*_CLUSTER_TEXT, *_CLUSTER_BOOL):
        if value.get(field):
            draft.set(name, value[field], _origin(entry, field))
    if value.get("certificate-authority"):
        field = "certificate-authority"
        draft.set("ca_file", entry.path(field), _origin(entry, field))
    if value.get("certificate-authority-data"):
        field = "certificate-authority-data"
        draft.set("ca_data", data_of(value[field]), _origin(entry, field))


def add_user(draft: Draft, entry: Entry) -> None:
    """The fields of a user of a file; `exec` and `auth_provider` as they stand there."""
    value = entry.value
    for name, field in _USER_TEXT:
        if value.get(field):
            draft.set(name, str(value[field]), _origin(entry, field))
    for name, field in _USER_PATH:
        if value.get(field):
            draft.set(name, entry.path(field), _origin(entry, field))
    for name, field in _USER_DATA:
        if value.get(field):
            draft.set(name, data_of(value[field]), _origin(entry, field))
    for name, field in (("exec", "exec"), ("auth_provider", "auth-provider")):
        if value.get(field) is not None:
            draft.force(name, value[field], _origin(entry, field))
    add_impersonation(draft, entry)


def add_impersonation(draft: Draft, entry: Entry) -> None:
    """`as`, `as-uid`, `as-groups`, `as-user-extra` of a user of a file."""
    value = entry.value
    for name, field in _USER_AS:
        if value.get(field):
            draft.set(name, value[field], _origin(entry, field))
    if value.get("as-groups"):
        groups = tuple(group or "" for group in value["as-groups"])
        draft.set("impersonate_groups", groups, _origin(entry, "as-groups"))
    if value.get("as-user-extra"):
        extra = tuple((k, tuple(v or "" for v in values or ())) for k, values in value["as-user-extra"].items())
        draft.set("impersonate_extra", extra, _origin(entry, "as-user-extra"))


def add_in_cluster(draft: Draft, found: InCluster) -> None:
    """A pod's own connection."""
    draft.set("server", found.server, Origin("in-cluster", "$KUBERNETES_SERVICE_HOST"))
    draft.set("token_file", found.token_file, Origin("in-cluster", found.token_file))
    draft.set("ca_file", found.ca_file, Origin("in-cluster", found.ca_file))


def add_flags(draft: Draft, flags: Overrides) -> None:
    """Flags beat what is there, and take away what would contradict them."""
    _cluster_flags(draft, flags)
    _user_flags(draft, flags)
    _impersonation_flags(draft, flags)


def _flag(name: str) -> Origin:
    return Origin("flag", "--" + name)


def _cluster_flags(draft: Draft, flags: Overrides) -> None:
    if flags.server:
        draft.clear("tls_server_name")  # it was the name of another server
    if flags.insecure_skip_tls_verify is not None:
        draft.force("insecure", flags.insecure_skip_tls_verify, _flag("insecure-skip-tls-verify"))
        if flags.insecure_skip_tls_verify:
            draft.clear("ca_file", "ca_data")
    if flags.certificate_authority:
        draft.clear("ca_data")
        if not flags.insecure_skip_tls_verify:
            draft.clear("insecure")
    if flags.disable_compression is not None:
        draft.force("disable_compression", flags.disable_compression, _flag("disable-compression"))
    draft.set("server", flags.server, _flag("server"))
    draft.set("tls_server_name", flags.tls_server_name, _flag("tls-server-name"))
    draft.set("ca_file", flags.certificate_authority, _flag("certificate-authority"))
    draft.set("proxy_url", flags.proxy_url, _flag("proxy-url"))
    draft.set("request_timeout", flags.request_timeout, _flag("request-timeout"))


def _user_flags(draft: Draft, flags: Overrides) -> None:
    if flags.token:
        draft.clear("token_file", "username", "password")
    if flags.username or flags.password:
        draft.clear("token", "token_file")
    if flags.client_certificate:
        draft.clear("cert_data")
    if flags.client_key:
        draft.clear("key_data")
    draft.set("token", flags.token, _flag("token"))
    draft.set("username", flags.username, _flag("username"))
    draft.set("password", flags.password, _flag("password"))
    draft.set("cert_file", flags.client_certificate, _flag("client-certificate"))
    draft.set("key_file", flags.client_key, _flag("client-key"))


def _impersonation_flags(draft: Draft, flags: Overrides) -> None:
    draft.set("impersonate_user", flags.as_user, _flag("as"))
    draft.set("impersonate_uid", flags.as_uid, _flag("as-uid"))
    draft.set("impersonate_groups", flags.as_groups, _flag("as-group"))
    extra: dict[str, tuple[str, ...]] = {}
    for item in flags.as_user_extra:
        key, equals, value = item.partition("=")
        if equals:
            extra[key] = (*extra.get(key, ()), value)
    if extra:
        merged = {**dict(draft.get("impersonate_extra") or ()), **extra}
        draft.set("impersonate_extra", tuple(merged.items()), _flag("as-user-extra"))
