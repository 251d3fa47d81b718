"""What kubectl refuses in the entries that a context selects. Pure.

Conditions, order and texts are clientcmd's (validateAuthInfo, validateClusterInfo).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rawkube._typing import Any
from rawkube.errors import ConfigError
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig.draft import Draft

Unreadable = Callable[[str], str]
"""A path → why it cannot be opened, empty if it can."""

_INTERACTIVE = ("Never", "IfAvailable", "Always")
_HAS_DEFAULT_MODE = ("client.authentication.k8s.io/v1alpha1", "client.authentication.k8s.io/v1beta1")


def validate(draft: Draft, *, user: str, cluster: str, unreadable: Unreadable) -> None:
    """Raises ConfigError that holds every problem of the draft, in kubectl's order and words."""
    found = problems_of(draft, user=user, cluster=cluster, unreadable=unreadable)
    if not found:
        return
    problems = [problem for problem, _ in found]
    detail = [f"{draft.origins[name]}" for _, name in found if name in draft.origins]
    if len(problems) == 1:
        raise ConfigError(problems[0], detail=_came_from(detail))
    text = f"invalid configuration: [{', '.join(problems)}]"
    raise ConfigError(text, problems=problems, in_configuration=True, detail=_came_from(detail))


def problems_of(draft: Draft, *, user: str, cluster: str, unreadable: Unreadable) -> list[tuple[str, str]]:
    """Each problem, and the field of the draft that it is about."""
    return [*_user_problems(draft, one_line(user), unreadable), *_cluster_problems(draft, cluster, unreadable)]


def _came_from(origins: list[str]) -> list[str]:
    return [f"set by {origin}" for origin in dict.fromkeys(origins)]


Problems = Iterator[tuple[str, str]]  # the text, and the field of the draft that it is about


def _user_problems(draft: Draft, user: str, unreadable: Unreadable) -> Problems:
    if draft.get("cert_file") or draft.get("cert_data"):
        yield from _certificate_problems(draft, user, unreadable)
    if draft.get("exec") is not None:
        yield from _exec_problems(draft.get("exec"), draft.get("auth_provider") is not None, user)
    if draft.get("token") and (draft.get("username") or draft.get("password")):
        text = f"more than one authentication method found for {user}; "
        yield text + "found [token basicAuth], only one is allowed", "token"
    others = draft.any_of(("impersonate_uid", "impersonate_groups", "impersonate_extra"))
    if others and not draft.get("impersonate_user"):
        yield f"requesting uid, groups or user-extra for {user} without impersonating a user", others


def _certificate_problems(draft: Draft, user: str, unreadable: Unreadable) -> Problems:
    if draft.get("cert_file") and draft.get("cert_data"):
        text = f"client-cert-data and client-cert are both specified for {user}. client-cert-data will override."
        yield text, "cert_file"
    if draft.get("key_file") and draft.get("key_data"):
        text = f"client-key-data and client-key are both specified for {user}; client-key-data will override"
        yield text, "key_file"
    if not draft.get("key_file") and not draft.get("key_data"):
        text = f"client-key-data or client-key must be specified for {user} "
        text += "to use the clientCert authentication method."
        yield text, draft.any_of(("cert_file", "cert_data"))
    yield from _file_problem(draft, "cert_file", "client-cert", user, unreadable)
    yield from _file_problem(draft, "key_file", "client-key", user, unreadable)


def _file_problem(draft: Draft, name: str, word: str, owner: str, unreadable: Unreadable) -> Problems:
    path = draft.get(name)
    reason = unreadable(path) if path else ""
    if reason:
        yield f"unable to read {word} {one_line(path)} for {owner} due to {reason}", name


def _exec_problems(plugin: dict[str, Any], has_provider: bool, user: str) -> Problems:
    suffix = f"for {user} to use exec authentication plugin"
    if has_provider:
        yield f"authProvider cannot be provided in combination with an exec plugin for {user}", "exec"
    if not plugin.get("command"):
        yield f"command must be specified {suffix}", "exec"
    if not plugin.get("apiVersion"):
        yield f"apiVersion must be specified {suffix}", "exec"
    if not all((variable or {}).get("name") for variable in plugin.get("env") or ()):
        yield f"env variable name must be specified {suffix}", "exec"
    mode = plugin.get("interactiveMode") or ""
    if not mode and plugin.get("apiVersion") not in _HAS_DEFAULT_MODE:
        yield f"interactiveMode must be specified {suffix}", "exec"
    elif mode and mode not in _INTERACTIVE:
        yield f"invalid interactiveMode for {user}: {go_quote(mode)}", "exec"


def _cluster_problems(draft: Draft, cluster: str, unreadable: Unreadable) -> Problems:
    if draft.get("proxy_url"):
        problem = proxy_url_problem(draft.get("proxy_url"))
        if problem:
            from rawkube.kubeconfig.proxy_url import without_userinfo

            shown = go_quote(without_userinfo(draft.get("proxy_url")))
            yield f"invalid 'proxy-url' {shown} for cluster {go_quote(cluster)}: {problem}", "proxy_url"
    if draft.get("ca_file") and draft.get("ca_data"):
        text = f"certificate-authority-data and certificate-authority are both specified for {one_line(cluster)}. "
        yield text + "certificate-authority-data will override.", "ca_file"
    yield from _file_problem(draft, "ca_file", "certificate-authority", one_line(cluster), unreadable)


def proxy_url_problem(text: str) -> str:
    """Why `text` is no proxy, in kubectl's words; empty if it is one (socks5h, which is socks5, too)."""
    scheme, colon, _ = text.partition(":")
    named = bool(colon) and scheme[:1].isalpha() and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()
    if colon and not named and "/" not in scheme and "@" not in scheme:
        return "could not parse: first path segment in URL cannot contain colon"
    scheme = scheme.lower() if named else ""
    if scheme in ("http", "https", "socks5", "socks5h"):
        return ""
    return f"unsupported scheme {go_quote(scheme)}, must be http, https, or socks5"
