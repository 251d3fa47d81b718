"""`rawkube config explain`: what the connection is made of, and where each part came from. Nothing is connected."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.cli.columns import columns
from rawkube.cli.connection import overrides
from rawkube.cli.flags import Parsed
from rawkube.cli.output import Output
from rawkube.errors import ConfigError, UsageError
from rawkube.gotext import go_quote
from rawkube.kubeconfig import Found, access_from, kuberc, server_url
from rawkube.kubeconfig.access import Access, AuthProvider, ExecConfig, Origin, Overrides
from rawkube.kubeconfig.load import Config, Entry, home_directory
from rawkube.kubeconfig.text import place
from rawkube.kubeconfig.view import OMITTED, REDACTED, hides, without_password, without_secrets


class Fact(NamedTuple):
    """A value (what JSON can hold) and where it came from, for a person."""

    value: Any
    source: str


Tree = dict[str, "Fact | Tree"]  # `tls` → `ca` → Fact


def explain(parsed: Parsed, out: Output) -> int:
    """`config explain`: a table, what is unusual, what is shadowed; or all of it as JSON."""
    form = parsed.values["output"]
    if form not in ("", "text", "json"):
        raise UsageError(f'--output must be "text" or "json", not {go_quote(form)}')
    flags = overrides(parsed)
    try:
        found = access_from(parsed.values["kubeconfig"], flags, environ=os.environ)
    except ConfigError as error:
        from rawkube.kubeconfig.problems import all_problems

        every = all_problems(parsed.values["kubeconfig"], flags, environ=os.environ)
        error.detail = tuple(line for line in every if line != str(error)) or error.detail
        raise
    from rawkube.cli.config_unusual import unusual

    facts = _facts(found, flags)
    preferences = kuberc.load(parsed.values["kuberc"], environ=os.environ, home=home_directory(os.environ))
    odd = unusual(found, preferences=preferences, now=time.time())
    shadowed = [_shadowed(entry, found.config) for entry in found.config.shadowed]
    if form == "json":
        shown = {**_as_json(facts), "files": _files(found.config), "shadowed": shadowed, "unusual": odd}
        out.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
        return 0
    for line in columns([("WHAT", "VALUE", "FROM"), *_rows(facts)]):
        out.line(line)
    _section(out, "Unusual:", odd)
    _section(out, "Not used, as an earlier file has the name:", [f"{s['entry']} at {s['at']}" for s in shadowed])
    return 0


def _section(out: Output, title: str, lines: Iterable[str]) -> None:
    for number, line in enumerate(lines):
        if not number:
            out.write(f"\n{title}\n")
        out.line(f"  {line}")


def _shadowed(entry: Entry, config: Config) -> dict[str, str]:
    section = entry.shown().partition("[")[0]
    used: Entry = getattr(config, section)[entry.name]
    return {"entry": entry.shown(), "at": entry.place(), "used": used.place()}


def _files(config: Config) -> dict[str, list[str]]:
    return {"read": list(config.files), "missing": list(config.missing)}


def _as_json(tree: Tree) -> dict[str, Any]:
    return {
        name: {"value": fact.value, "source": fact.source} if isinstance(fact, Fact) else _as_json(fact)
        for name, fact in tree.items()
    }


def _rows(tree: Tree, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    for name, fact in tree.items():
        if isinstance(fact, Fact):
            yield prefix + name, _text(fact.value), fact.source
        else:
            yield from _rows(fact, f"{prefix}{name}.")


def _text(value: object) -> str:
    if value is None or value == "":
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# The facts


def _facts(found: Found, flags: Overrides) -> Tree:
    access = found.access
    return {
        "context": Fact(access.context or None, _context_source(found.config, flags)),
        "cluster": Fact(access.cluster or None, _named_by(found, flags, "cluster")),
        "user": Fact(access.user or None, _named_by(found, flags, "user")),
        "server": Fact(access.server, _source(access, "server")),
        "tls": _tls(access),
        "auth": _auth(access),
        "namespace": Fact(access.namespace, _source(access, "namespace")),
        "proxy": _proxy(access),
        "impersonation": _impersonation(access),
        **_rest(access),
    }


def _source(access: Access, *fields: str) -> str:
    origins = (access.origins.get(field) for field in fields)
    return str(next((origin for origin in origins if origin is not None), Origin("default")))


def _context_source(config: Config, flags: Overrides) -> str:
    if flags.context:
        return "--context"
    file, line = config.current_context_at
    return f"{place(file, line)} (current-context)" if config.current_context else "default"


def _named_by(found: Found, flags: Overrides, field: str) -> str:
    if getattr(flags, field):
        return f"--{field}"
    context = found.config.contexts.get(found.access.context)
    if context is None or not context.value.get(field):
        return "default"
    return str(Origin("file", context.file, context.line(field), context.shown(field)))


def _tls(access: Access) -> Tree:
    address = server_url.parse(access.server)
    if address.scheme != "https":
        why = f"plain http: {_source(access, 'server')}"
        return {name: Fact(None, why) for name in ("ca", "server_name", "verify")}
    if access.insecure:
        ca = Fact(None, f"not looked at: {_source(access, 'insecure')}")
    elif access.ca_data is not None:
        ca = Fact(OMITTED, _source(access, "ca_data"))
    else:
        ca = Fact(access.ca_file or "system roots", _source(access, "ca_file"))
    name = Fact(access.tls_server_name or address.host, _source(access, "tls_server_name", "server"))
    return {"ca": ca, "server_name": name, "verify": Fact(not access.insecure, _source(access, "insecure"))}


def _auth(access: Access) -> Tree:
    field, method = _method(access)
    facts: Tree = {"method": Fact(method, _source(access, field) if field else "default")}
    shown: Mapping[str, Any] = {
        "token": REDACTED if access.token else "",
        "token_file": access.token_file,
        "username": access.username,
        "password": REDACTED if access.password else "",
        "cert_file": access.cert_file if access.cert_data is None else "",
        "cert_data": OMITTED if access.cert_data is not None else "",
        "key_file": access.key_file if access.key_data is None else "",
        "key_data": REDACTED if access.key_data is not None else "",
        "exec": _plugin(access.exec),
        "auth_provider": _provider(access.auth_provider),
    }
    called = {"cert_file": "certificate", "cert_data": "certificate", "key_file": "key", "key_data": "key"}
    for name, value in shown.items():
        if value:
            facts[called.get(name, name)] = Fact(value, _source(access, name))
    return facts


def _method(access: Access) -> tuple[str, str]:
    """The field that says who the user is, and a word for the way."""
    for field, word in (
        ("token_file", "token-file"),
        ("token", "token"),
        ("username", "basic"),
        ("exec", "exec"),
        ("auth_provider", "auth-provider"),
        ("cert_data", "client-certificate"),
        ("cert_file", "client-certificate"),
    ):
        if getattr(access, field):
            return field, word
    return "", "none"


def _plugin(plugin: ExecConfig | None) -> dict[str, Any]:
    if plugin is None:
        return {}
    return {
        "command": plugin.command,
        "args": without_secrets(plugin.args),
        "env": [name for name, _ in plugin.env],
        "apiVersion": plugin.api_version,
        "interactiveMode": plugin.interactive_mode,
    }


def _provider(provider: AuthProvider | None) -> dict[str, Any]:
    if provider is None:
        return {}
    config = {key: REDACTED if hides(key) and value else value for key, value in provider.config.items()}
    return {"name": provider.name, "config": config}


def _proxy(access: Access) -> Fact:
    source = _source(access, "proxy_url")
    why = access.proxy_why
    return Fact(without_password(access.proxy_url) or None, f"{source}: {why}" if why else source)


def _impersonation(access: Access) -> Fact:
    if not access.impersonate_user:
        return Fact(None, "default")
    value: dict[str, Any] = {"user": access.impersonate_user}
    if access.impersonate_uid:
        value["uid"] = access.impersonate_uid
    if access.impersonate_groups:
        value["groups"] = list(access.impersonate_groups)
    if access.impersonate_extra:
        value["extra"] = {key: list(values) for key, values in access.impersonate_extra}
    fields = ("impersonate_user", "impersonate_uid", "impersonate_groups", "impersonate_extra")
    sources = dict.fromkeys(str(access.origins[field]) for field in fields if field in access.origins)
    return Fact(value, ", ".join(sources))


def _rest(access: Access) -> Tree:
    facts: Tree = {}
    if access.request_timeout:
        facts["request_timeout"] = Fact(access.request_timeout, _source(access, "request_timeout"))
    if access.disable_compression:
        facts["disable_compression"] = Fact(True, _source(access, "disable_compression"))
    return facts
