"""What kubeconfig, flags and environment come to: plain data for the floors above. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.gotext import one_line
from rawkube.kubeconfig.text import place


class Origin(NamedTuple):
    """Where a value came from.

    `source`: `file`, `flag`, `env`, `in-cluster` or `default`; `name`: path, flag with its dashes, or
    variable; `line`: from 1, 0 if unknown; `field`: the place in the file (`clusters[dev].cluster.server`).
    """

    source: str
    name: str = ""
    line: int = 0
    field: str = ""

    def __str__(self) -> str:
        if self.source == "env":
            return f"${self.name}"
        if self.source == "file":
            shown = place(self.name, self.line)
            return f"{shown} ({self.field})" if self.field else shown
        return one_line(self.name) or self.source


class Overrides(NamedTuple):
    """Flags that beat the files, named as kubectl's. Empty, or None, is "not given".

    `as_user`, `as_uid`, `as_groups`, `as_user_extra` are `--as` and its relatives (extra: `key=value` each);
    `request_timeout` is in seconds, 0 for no limit.
    """

    context: str = ""
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    server: str = ""
    tls_server_name: str = ""
    certificate_authority: str = ""
    insecure_skip_tls_verify: bool | None = None
    client_certificate: str = ""
    client_key: str = ""
    token: str = ""
    username: str = ""
    password: str = ""
    as_user: str = ""
    as_uid: str = ""
    as_groups: tuple[str, ...] | None = None
    as_user_extra: tuple[str, ...] = ()
    proxy_url: str = ""
    disable_compression: bool | None = None
    request_timeout: float | None = None

    def __repr__(self) -> str:
        return _shown(self)


class ExecConfig(NamedTuple):
    """How a credential plugin is run (client.authentication.k8s.io).

    `command`: as it is looked up: cleaned, and beside its kubeconfig when it has a separator. `env`: (name, value)
    pairs, over the environment. `interactive_mode`: `Never`, `IfAvailable` or `Always`. `cluster_config`: the
    cluster's extension `client.authentication.k8s.io/exec`, None without one.
    """

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"
    cluster_config: Any = None

    def __repr__(self) -> str:
        shown = [f"command={self.command!r}"]
        shown += ["args=<redacted>"] if self.args else []  # people pass secrets as arguments, too
        shown += [f"env={[name for name, _ in self.env]}"] if self.env else []
        shown += [f"api_version={self.api_version!r}", f"interactive_mode={self.interactive_mode!r}"]
        return f"ExecConfig({', '.join(shown)})"


class AuthProvider(NamedTuple):
    """A user's `auth-provider`: its name, and its configuration as it stands in the file."""

    name: str
    config: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"AuthProvider(name={self.name!r}, config={sorted(self.config)})"


class Access(NamedTuple):
    """One resolved connection: how an API server is reached, and as whom. Nothing of it has been opened.

    `server`: `scheme://host[:port][/prefix]` without a slash at the end. `ca_data`, `ca_file`: PEM (both
    empty: the system's roots); `cert_data`, `key_data` or `cert_file`, `key_file`: PEM. `impersonate_extra`:
    (key, values) pairs. `request_timeout`: seconds, 0 for none. `exec`, `auth_provider`: who is asked for
    the credential. `proxy_url`: the proxy that applies, empty for none; `proxy_why`: why, in words. `origins`: by
    field name. `notes`: lines for a person.
    """

    server: str
    namespace: str = "default"
    namespace_from: str = "default"
    context: str = ""
    cluster: str = ""
    user: str = ""
    ca_file: str = ""
    ca_data: bytes | None = None
    insecure: bool = False
    tls_server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    cert_data: bytes | None = None
    key_data: bytes | None = None
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    impersonate_user: str = ""
    impersonate_uid: str = ""
    impersonate_groups: tuple[str, ...] = ()
    impersonate_extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    disable_compression: bool = False
    request_timeout: float = 0.0
    exec: ExecConfig | None = None
    auth_provider: AuthProvider | None = None
    proxy_url: str = ""
    proxy_why: str = ""
    origins: Mapping[str, Origin] = {}
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return _shown(self)


_SECRET = frozenset(("token", "password", "cert_data", "key_data"))


def _without_password(url: str) -> str:
    before, at, after = url.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return f"{scheme + slashes if slashes else ''}<redacted>@{after}" if at else url


def _shown(data: Access | Overrides) -> str:
    """Every field that is set; of secrets only that they are."""
    values = {name: value for name, value in zip(data._fields, data, strict=True) if value}
    if "proxy_url" in values:
        values["proxy_url"] = _without_password(str(values["proxy_url"]))
    fields = [f"{name}={'<redacted>' if name in _SECRET else repr(value)}" for name, value in values.items()]
    return f"{type(data).__name__}({', '.join(fields)})"
