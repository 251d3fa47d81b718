"""The merged kubeconfig, flags and environment → one connection. Pure: nothing is opened.

kubectl 1.37's order (clientcmd, DeferredLoadingClientConfig): choose the context, its cluster and its user,
lay the flags over them, validate, and fall back to the pod's own account where nobody named a server. Unlike
kubectl: a flag always beats the file, a context that names a missing entry is an error, and no credential is
dropped unsaid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import ConfigError
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig import draft as drafts
from rawkube.kubeconfig import proxies, server_url
from rawkube.kubeconfig.access import Access, AuthProvider, Origin, Overrides
from rawkube.kubeconfig.draft import CREDENTIALS, TLS, Draft
from rawkube.kubeconfig.load import Config, Entry
from rawkube.kubeconfig.server_url import ServerURL
from rawkube.kubeconfig.validate import Unreadable, problems_of, validate

if TYPE_CHECKING:
    from rawkube.kubeconfig.in_cluster import InCluster

__all__ = ["DEFAULT_SERVER", "Access", "Origin", "Overrides", "resolve"]

DEFAULT_SERVER = "http://localhost:8080"
"""Where kubectl looks for an API server when nothing names one (`$KUBERNETES_MASTER` can)."""

_SHOWN_NAMES = 10


class _Chosen:
    """The entries that names lead to, None where there is none."""

    __slots__ = ("cluster", "cluster_name", "context", "context_name", "user", "user_name")

    def __init__(self, config: Config, flags: Overrides) -> None:
        self.context_name = flags.context or config.current_context
        self.context = _context(config, flags, self.context_name)
        body = self.context.value if self.context else {}
        self.cluster_name: str = flags.cluster or body.get("cluster") or ""
        self.user_name: str = flags.user or body.get("user") or ""
        self.cluster = config.clusters.get(self.cluster_name) if self.cluster_name else None
        self.user = config.users.get(self.user_name) if self.user_name else None

    def missing(self, config: Config, flags: Overrides) -> Iterator[ConfigError]:
        """What is named and not there, as far as no flag does without it."""
        if self.cluster_name and self.cluster is None:
            if flags.cluster:
                text = f"no server found for cluster {go_quote(flags.cluster)}"
                yield ConfigError(text, detail=_known("clusters", config.clusters, config))
            elif not flags.server:
                yield self._missing("cluster", self.cluster_name)
        if self.user_name and self.user is None:
            if flags.user:
                text = f"auth info {go_quote(flags.user)} does not exist"
                yield ConfigError(text, detail=_known("users", config.users, config))
            elif not (flags.token or flags.username or flags.client_certificate):
                yield self._missing("user", self.user_name)

    def _missing(self, what: str, name: str) -> ConfigError:
        place = f" ({self.context.place(what)})" if self.context else ""
        text = f"{what} {go_quote(name)} was not found for context {go_quote(self.context_name)}{place}"
        return ConfigError(text)


def _known(what: str, entries: Mapping[str, Entry], config: Config) -> list[str]:
    names = [one_line(name) for name in sorted(entries)][:_SHOWN_NAMES]
    more = ", …" if len(entries) > len(names) else ""
    if not config.files:
        return ["no kubeconfig was found"]
    files = ", ".join(map(one_line, config.files))
    return [f"{what} in {files}: {', '.join(names) or 'none'}{more}"]


def _context(config: Config, flags: Overrides, name: str) -> Entry | None:
    if not name:
        return None
    found = config.contexts.get(name)
    if found is None:
        text = f"context was not found for specified context: {one_line(name)}"
        detail = _known("contexts", config.contexts, config)
        file, line = config.current_context_at
        if not flags.context:
            detail.insert(0, f"current-context is set by {Origin('file', file, line)}")
        raise ConfigError(text, in_configuration=True, detail=detail)
    return found


def resolve(
    config: Config,
    overrides: Overrides,
    *,
    environ: Mapping[str, str],
    in_cluster: InCluster | None = None,
    unreadable: Unreadable = lambda _: "",
) -> Access:
    """The connection that kubeconfig, flags and environment mean.

    `environ`: for `KUBERNETES_MASTER` and the proxy variables. `in_cluster`: the pod's own account, None
    outside a pod. `unreadable`: asked for each certificate file (validate.Unreadable). Raises ConfigError.
    """
    chosen = _Chosen(config, overrides)
    for error in chosen.missing(config, overrides):
        raise error
    draft = _file_draft(chosen)
    default = environ.get("KUBERNETES_MASTER") or DEFAULT_SERVER
    # a proxy of the file says that its cluster is meant, and must not be passed by
    as_pod = in_cluster if draft.get("server") in (None, default) and not draft.get("proxy_url") else None
    drafts.add_flags(draft, overrides)
    validate(draft, user=chosen.user_name, cluster=chosen.cluster_name, unreadable=unreadable)
    notes = _notes_about_files(config, environ, nowhere=not draft.get("server") and as_pod is None)
    if as_pod is not None:
        draft = _pod_draft(as_pod, chosen, overrides)
        notes += as_pod.notes + _note_about_unused_user(chosen)
    if not draft.get("server"):
        draft.force("server", default, _default_origin(environ))
    server = _server(draft, chosen)
    why_proxy = _proxy(draft, server, environ)
    notes += _secure(draft, chosen, server)
    _namespace(draft, chosen, overrides, in_cluster)
    return draft.access()._replace(
        server=str(server),
        context=chosen.context_name,
        cluster="" if as_pod else chosen.cluster_name,
        user="" if as_pod else chosen.user_name,
        proxy_why=why_proxy,
        notes=notes,
    )


def _file_draft(chosen: _Chosen) -> Draft:
    """What the chosen entries say."""
    draft = Draft()
    if chosen.cluster:
        drafts.add_cluster(draft, chosen.cluster)
    if chosen.user:
        drafts.add_user(draft, chosen.user)
    return draft


def problems(
    config: Config, overrides: Overrides, *, environ: Mapping[str, str], unreadable: Unreadable = lambda _: ""
) -> list[ConfigError]:
    """Everything for which resolve() would raise, as far as one thing can be looked at without another."""
    try:
        chosen = _Chosen(config, overrides)
    except ConfigError as error:
        return [error]
    found = [*chosen.missing(config, overrides)]
    draft = _file_draft(chosen)
    drafts.add_flags(draft, overrides)
    names = {"user": chosen.user_name, "cluster": chosen.cluster_name}
    wrong = problems_of(draft, unreadable=unreadable, **names)
    found += [
        ConfigError(text, detail=[f"set by {draft.origins[name]}"] if name in draft.origins else [])
        for text, name in wrong
    ]
    draft.clear(*(name for _, name in wrong))

    def connection() -> None:
        if draft.get("server"):
            server = _server(draft, chosen)
            _proxy(draft, server, environ)
            if not wrong:
                _secure(draft, chosen, server)

    for look in (connection, lambda: _namespace(draft, chosen, overrides, None)):
        try:
            look()
        except ConfigError as error:
            found.append(error)
    return found


def _default_origin(environ: Mapping[str, str]) -> Origin:
    return Origin("env", "KUBERNETES_MASTER") if environ.get("KUBERNETES_MASTER") else Origin("default")


def _pod_draft(pod: InCluster, chosen: _Chosen, flags: Overrides) -> Draft:
    """The pod's own account; flags and impersonation lie over it, a login by flag replaces the pod's."""
    draft = Draft()
    drafts.add_in_cluster(draft, pod)
    if flags.client_certificate:
        draft.clear("token_file")
    if chosen.user:
        drafts.add_impersonation(draft, chosen.user)
    drafts.add_flags(draft, flags)
    return draft


def _note_about_unused_user(chosen: _Chosen) -> tuple[str, ...]:
    own = Draft()
    if chosen.user:
        drafts.add_user(own, chosen.user)
    if chosen.user is None or not own.any_of(CREDENTIALS):
        return ()
    where = chosen.user.place()
    return (f"user {go_quote(chosen.user_name)} ({where}) is not used: without a server, the pod's own account is",)


def _notes_about_files(config: Config, environ: Mapping[str, str], *, nowhere: bool) -> tuple[str, ...]:
    if config.missing and not config.files:
        names = ", ".join(map(one_line, config.missing))
        if environ.get("KUBECONFIG"):
            return (f"KUBECONFIG names no file that exists: {names}",)
        return (f"no kubeconfig: {names} does not exist, and KUBECONFIG is not set or empty",) if nowhere else ()
    if config.files and config.empty and nowhere:
        return (f"no configuration in {', '.join(map(one_line, config.files))}",)
    return ()


def _server(draft: Draft, chosen: _Chosen) -> ServerURL:
    try:
        server = server_url.parse(draft.get("server"))
    except ConfigError as error:
        raise ConfigError(str(error), detail=[f"server is set by {draft.origins['server']}"]) from None
    if server.bare:
        with_it = draft.any_of(TLS) or draft.any_of(CREDENTIALS)
        if with_it:
            text = f"server {go_quote(draft.get('server'))} has no scheme, which means plain http, "
            text += f"but {_spoken(with_it)} is set"
            detail = [f"{_spoken(n)} is set by {draft.origins[n]}" for n in ("server", with_it)]
            raise ConfigError(f"{text}: write https:// before it", detail=detail)
    return server


def _spoken(name: str) -> str:
    return {
        "ca_file": "certificate-authority",
        "ca_data": "certificate-authority-data",
        "insecure": "insecure-skip-tls-verify",
        "cert_file": "client-certificate",
        "cert_data": "client-certificate-data",
        "token_file": "tokenFile",
    }.get(name, name.replace("_", "-"))


def _proxy(draft: Draft, server: ServerURL, environ: Mapping[str, str]) -> str:
    """Settles `proxy_url`, as the address that is used; why it is used, or none is, in words."""
    why = "it is configured, and then used for every request: NO_PROXY and loopback make no exception"
    if not draft.get("proxy_url"):
        decision = proxies.decide(server, environ)
        origin = Origin("env", decision.variable) if decision.variable else Origin("default")
        draft.force("proxy_url", decision.url, origin)
        why = decision.why
    if draft.get("proxy_url"):
        from rawkube.kubeconfig import proxy_url

        try:
            proxy_url.parse(draft.get("proxy_url"))
        except ConfigError as error:
            shown = go_quote(proxy_url.without_userinfo(draft.get("proxy_url")))
            origin = draft.origins["proxy_url"]
            raise ConfigError(f"invalid proxy {shown}: {error}", detail=[f"it is set by {origin}"]) from None
    return why


def _secure(draft: Draft, chosen: _Chosen, server: ServerURL) -> tuple[str, ...]:
    """Takes credentials and TLS settings away where there is no TLS; the notes say what is not sent."""
    if server.scheme == "https":
        _check_credentials(draft, chosen)
        return ()
    credential = draft.any_of(CREDENTIALS)
    origin = draft.origins.get(credential)
    draft.clear(*CREDENTIALS, *TLS, "key_file", "key_data")
    if credential:
        what = f"{_spoken(credential)}, set by {origin}, is not used"
        return (f"no credential is sent over plain http ({server}): {what}",)
    return ()


def _check_credentials(draft: Draft, chosen: _Chosen) -> None:
    if draft.get("insecure") and (draft.get("ca_file") or draft.get("ca_data")):
        text = "specifying a root certificates file with the insecure flag is not allowed"
        raise ConfigError(text, detail=[f"insecure-skip-tls-verify is set by {draft.origins['insecure']}"])
    bearer = draft.any_of(("token", "token_file"))
    if bearer and draft.get("username"):
        text = "username/password or bearer token may be set, but not both"
        detail = [f"{_spoken(name)} is set by {draft.origins[name]}" for name in (bearer, "username")]
        raise ConfigError(text, detail=detail)
    if draft.get("password") and not draft.get("username"):
        where = draft.origins["password"]
        raise ConfigError(f"user {go_quote(chosen.user_name)} has a password but no username ({where})")
    header = bearer or draft.get("username")
    certificate = draft.any_of(("cert_file", "cert_data"))
    if draft.get("exec") is not None:
        from rawkube.kubeconfig import plugins

        config = plugins.exec_config(draft, chosen.user, chosen.cluster)
        draft.clear("exec") if header or certificate else draft.values.update(exec=config)
    if draft.get("auth_provider") is not None:
        draft.clear("auth_provider") if header else draft.values.update(auth_provider=_auth_provider(draft))


def _auth_provider(draft: Draft) -> AuthProvider:
    """The auth provider of a draft that nothing goes before. Raises ConfigError for one that cannot be used."""
    from rawkube.kubeconfig.oidc import check_provider  # few users have one

    value = draft.get("auth_provider")
    config = {key: text or "" for key, text in (value.get("config") or {}).items()}
    provider = AuthProvider(value.get("name") or "", config)
    try:
        check_provider(provider)
    except ConfigError as error:
        raise ConfigError(str(error), detail=[f"set by {draft.origins['auth_provider']}"]) from None
    return provider


def _namespace(draft: Draft, chosen: _Chosen, flags: Overrides, pod: InCluster | None) -> None:
    named = chosen.context.value.get("namespace") if chosen.context else ""
    if flags.namespace:
        namespace, origin = flags.namespace, Origin("flag", "--namespace")
    elif named and chosen.context:
        entry = chosen.context
        namespace, origin = (
            named,
            Origin("file", entry.file, entry.line("namespace"), entry.shown("namespace")),
        )
    elif pod is not None:
        namespace, origin = pod.namespace, Origin("in-cluster", pod.namespace_from)
    else:
        namespace, origin = "default", Origin("default")
    _check_namespace(namespace)
    draft.force("namespace", namespace, origin)
    draft.force("namespace_from", str(origin), origin)


def _check_namespace(name: str) -> None:
    """A namespace is a segment of a path; kubectl checks no more than that."""
    problems = [f"may not be '{name}'"] if name in (".", "..") else []
    problems += [f"may not contain '{bad}'" for bad in "/%" if bad in name]
    if problems:
        raise ConfigError(f"invalid namespace {go_quote(name)}: [{', '.join(problems)}]")
