"""The merged kubeconfig as a file again, as `kubectl config view` shows it. Pure, but for the reader it is handed.

Fields stand in the order of kubectl's JSON. Unlike kubectl, what is shown without `raw` holds no secret at all: a
password in a URL, a plugin's environment and an auth provider's tokens are left out, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from rawkube._typing import Any
from rawkube.errors import ConfigError
from rawkube.gotext import one_line
from rawkube.kubeconfig.load import Config, Entry
from rawkube.kubeconfig.schema import data_of

REDACTED = "REDACTED"
OMITTED = "DATA+OMITTED"

Value = Any  # what JSON can hold

_CLUSTER = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
    "extensions",
)
_CONTEXT = ("cluster", "user", "namespace", "extensions")
_USER = (
    *("client-certificate", "client-certificate-data", "client-key", "client-key-data", "token", "tokenFile"),
    *("as", "as-uid", "as-groups", "as-user-extra", "username", "password", "auth-provider", "exec", "extensions"),
)
_DATA = {
    "certificate-authority-data": "certificate-authority",
    "client-certificate-data": "client-certificate",
    "client-key-data": "client-key",
}
_PLUGIN = ("command", "args", "env", "apiVersion", "installHint", "provideClusterInfo", "interactiveMode")
_SECRET_NAME = re.compile(r"secret|token|password|passwd|credential", re.IGNORECASE)
_SECRET_FLAG = re.compile(r"--?[a-z0-9-]*(?:secret|token|password|passwd)[a-z0-9-]*", re.IGNORECASE)


def view(
    config: Config,
    *,
    context: str = "",
    minify: bool = False,
    raw: bool = False,
    flatten: Callable[[str], bytes] | None = None,
) -> dict[str, Any]:
    """The configuration as one object (`kind: Config`).

    `minify`: only what the context (`context`, else the current one) uses. `raw`: with its secrets. `flatten` reads
    a file: certificates and keys then stand in the object itself, and secrets do too, as in kubectl. Raises
    ConfigError for what minify cannot find, and what `flatten` raises.
    """
    current = (context if minify else "") or config.current_context
    sections = {"clusters": config.clusters, "users": config.users, "contexts": config.contexts}
    if minify:
        sections = _used(config, current)
    shown = _Shown(redact=not raw and flatten is None, read=flatten)
    found: dict[str, Any] = {"kind": "Config", "apiVersion": "v1"}
    if config.preferences:
        found["preferences"] = _preferences(config.preferences)
    for section, show in (("clusters", shown.cluster), ("users", shown.user), ("contexts", shown.context)):
        entries = [sections[section][name] for name in sorted(sections[section])]
        found[section] = [{"name": entry.name, section[:-1]: show(entry)} for entry in entries] or None
    found["current-context"] = current
    if config.extensions:
        found["extensions"] = _extensions(config.extensions)
    return found


def _used(config: Config, current: str) -> dict[str, dict[str, Entry]]:
    """The entries that a context uses (clientcmd, MinifyConfig)."""
    if not current:
        raise ConfigError("current-context must exist in order to minify")
    found = config.contexts.get(current)
    if found is None:
        raise ConfigError(f"cannot locate context {one_line(current)}")
    used: dict[str, dict[str, Entry]] = {"contexts": {current: found}}
    for section, entries in (("clusters", config.clusters), ("users", config.users)):
        name = found.value.get(section[:-1]) or ""
        if name and name not in entries:
            raise ConfigError(f"cannot locate {section[:-1]} {one_line(name)}")
        used[section] = {name: entries[name]} if name else {}
    return used


def _preferences(value: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"colors": True} if value.get("colors") else {}
    if value.get("extensions"):
        shown["extensions"] = _extensions(value["extensions"])
    return shown


def _extensions(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "extension": _sorted(found[name])} for name in sorted(found)]


def _sorted(value: Value) -> Value:
    """An opaque value, keys sorted as Go prints a map."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


class _Shown:
    """How entries are shown. `redact`: without secrets; `read`: puts files into the entry."""

    def __init__(self, *, redact: bool, read: Callable[[str], bytes] | None) -> None:
        self._redact = redact
        self._read = read

    def cluster(self, entry: Entry) -> dict[str, Any]:
        value = self._fields(entry, _CLUSTER)
        for field in ("server", "proxy-url"):
            if self._redact and value.get(field):
                value[field] = without_password(value[field])
        return value

    def context(self, entry: Entry) -> dict[str, Any]:
        return self._fields(entry, _CONTEXT)

    def user(self, entry: Entry) -> dict[str, Any]:
        value = self._fields(entry, _USER)
        if self._redact:
            value |= {field: REDACTED for field in ("token", "password") if value.get(field)}
        if entry.value.get("as-groups"):
            value["as-groups"] = _texts(entry.value["as-groups"])
        if entry.value.get("as-user-extra"):
            extra = entry.value["as-user-extra"]
            value["as-user-extra"] = {k: None if extra[k] is None else _texts(extra[k]) for k in sorted(extra)}
        if entry.value.get("auth-provider") is not None:
            value["auth-provider"] = self._provider(entry.value["auth-provider"])
        if entry.value.get("exec") is not None:
            value["exec"] = self._plugin(entry.value["exec"])
        return {field: value[field] for field in _USER if field in value}

    def _fields(self, entry: Entry, fields: Iterable[str]) -> dict[str, Any]:
        always = _CLUSTER[:1] if fields is _CLUSTER else _CONTEXT[:2] if fields is _CONTEXT else ()
        found: dict[str, Any] = {f: entry.value.get(f) or "" for f in fields if entry.value.get(f) or f in always}
        for field, file in _DATA.items():
            self._data(found, entry, field, file)
        if "extensions" in found:
            items: list[dict[str, Any]] = [item or {} for item in entry.value["extensions"]]
            found["extensions"] = _extensions({item.get("name") or "": item.get("extension") for item in items})
        return {field: found[field] for field in fields if field in found}

    def _data(self, found: dict[str, Any], entry: Entry, field: str, file: str) -> None:
        data = data_of(entry.value.get(field))
        if self._read is not None and found.get(file):
            data = self._read(entry.path(file)) if data is None else data
            del found[file]
        if data is not None:
            found[field] = OMITTED if self._redact else _base64(data)

    def _provider(self, value: Mapping[str, Any]) -> dict[str, Any]:
        config = value.get("config")
        if config is not None:
            hidden = {key for key in config if self._redact and config[key] and hides(key)}
            config = {key: REDACTED if key in hidden else config[key] or "" for key in sorted(config)}
        return {"name": value.get("name") or "", "config": config}

    def _plugin(self, value: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {field: value[field] for field in _PLUGIN if value.get(field)}
        found["command"] = value.get("command") or ""
        found["provideClusterInfo"] = bool(value.get("provideClusterInfo"))
        args, env = value.get("args"), value.get("env")
        found["args"] = args if args is None else self._args(_texts(args))
        found["env"] = env if env is None else [self._variable(each or {}) for each in env]
        if not value.get("interactiveMode") and str(value.get("apiVersion") or "").endswith(("/v1alpha1", "/v1beta1")):
            found["interactiveMode"] = "IfAvailable"
        return {field: found[field] for field in _PLUGIN if field in found}

    def _variable(self, value: Mapping[str, Any]) -> dict[str, str]:
        text = value.get("value") or ""
        return {"name": value.get("name") or "", "value": REDACTED if text and self._redact else text}

    def _args(self, args: list[str]) -> list[str]:
        return without_secrets(args) if self._redact else args


def _texts(values: Iterable[str | None]) -> list[str]:
    return [value or "" for value in values]


def _base64(data: bytes) -> str:
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode("ascii")


def hides(key: str) -> bool:
    """Whether the value of this key of an auth provider's configuration is a secret."""
    return _SECRET_NAME.search(key) is not None


def without_password(url: str) -> str:
    """A URL whose password, if it has one, is not shown."""
    before, at, after = url.rpartition("@")
    if not at:
        return url
    scheme, slashes, userinfo = before.rpartition("://")
    user, colon, _ = userinfo.partition(":")
    return f"{scheme}{slashes}{user if colon else REDACTED}{colon and ':' + REDACTED}@{after}"


def without_secrets(args: Iterable[str]) -> list[str]:
    """Arguments of a plugin, with what follows a flag such as `--client-secret` left out."""
    shown: list[str] = []
    hide_next = False
    for arg in args:
        name, equals, _ = arg.partition("=")
        secret = _SECRET_FLAG.fullmatch(name) is not None
        shown.append(REDACTED if hide_next else f"{name}={REDACTED}" if secret and equals else arg)
        hide_next = secret and not equals and not hide_next
    return shown
