"""What kubeconfig, flags and environment come to: plain data for the floors above. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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


class Access(NamedTuple):
    """One resolved connection: how an API server is reached, and as whom. Nothing of it has been opened.

    `server`: `scheme://host[:port][/prefix]` without a slash at the end. `ca_data`, `ca_file`: PEM (both
    empty: the system's roots); `cert_data`, `key_data` or `cert_file`, `key_file`: PEM. `impersonate_extra`:
    (key, values) pairs. `request_timeout`: seconds, 0 for none. `origins`: by field name. `notes`: lines for
    a person.
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
    origins: Mapping[str, Origin] = {}
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return _shown(self)


_SECRET = frozenset(("token", "password", "cert_data", "key_data"))


def _shown(data: Access | Overrides) -> str:
    """Every field that is set; of secrets only that they are."""
    fields = [
        f"{name}={'<redacted>' if name in _SECRET else repr(value)}"
        for name, value in zip(data._fields, data, strict=True)
        if value
    ]
    return f"{type(data).__name__}({', '.join(fields)})"
