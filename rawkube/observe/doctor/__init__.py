"""Why does exec or watch break here? One run of checks against one connection, a finding each as it is known.

    for finding in Doctor(client).run():
        print(finding.result, finding.check, finding.seen, finding.advice)

Nothing is changed on the server, and no command is run in a pod unless one is named. Each check has its own deadline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from rawkube.api.client import ApiClient
from rawkube.errors import RawkubeError
from rawkube.kubeconfig.access import Access, Origin
from rawkube.kubeconfig.view import without_password
from rawkube.observe.doctor import uses, way
from rawkube.observe.doctor.facts import FAIL, Finding, Right, without
from rawkube.observe.doctor.probe import LIMITS, NOBODY, Limits, Probe
from rawkube.wire.connect import literal

CHECKS = (
    *("configuration", "proxy", "credentials", "name", "tcp", "tunnel", "tls", "chain", "server", "latency", "clock"),
    *("identity", "discovery", "rollout rights", "exec rights", "upgrade", "exec way", "watch", "bookmarks"),
    *("exec", "idle watch", "idle websocket"),
)
"""Every check, in order.

`tunnel`: with a proxy; `tls`, `chain`: with https; `exec`: with a pod; the last two: with `idle`.
"""

_SAMPLES = 3
_ROLLOUT = [(verb, f"{plural}.apps") for plural in ("deployments", "daemonsets", "statefulsets")
            for verb in ("get", "list", "watch")]  # fmt: skip
_NEEDED = tuple(f"{verb} deployments.apps" for verb in ("get", "list", "watch"))
_EXEC = (("get", "pods"), ("get", "pods/exec"), ("create", "pods/exec"))

_KINDS = (
    ("token_file", "bearer token of a file"),
    ("token", "bearer token"),
    ("username", "user name and password"),
    ("exec", "credential plugin"),
    ("auth_provider", "auth provider"),
    ("cert_data", "client certificate"),
    ("cert_file", "client certificate"),
)


class Doctor:
    """A run against the server of a client.

    `unusual`: lines about the configuration that are worth a look. `pod`: where `true` is to be run. `idle`: for so
    many seconds connections are left silent, 0: none is.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        unusual: Iterable[str] = (),
        pod: str = "",
        idle: float = 0.0,
        clock: Callable[[], float] = time.time,
        limits: Limits = LIMITS,
    ) -> None:
        self._client = client
        self._unusual = tuple(unusual)
        self._pod = pod
        self._idle = idle
        self._namespace = client.access.namespace
        self._probe = Probe(client, namespace=self._namespace, clock=clock, limits=limits)
        self._kind = credential_kind(client.access)
        self._sent: list[str] = []
        self._version = ""

    def run(self) -> Iterator[Finding]:
        """The findings, each as soon as it is known; once each. No credential is in them, though a server echo it."""
        for finding in self._found():
            secrets = self._secrets()
            yield finding._replace(seen=without(finding.seen, secrets), advice=without(finding.advice, secrets))

    def _secrets(self) -> list[str]:
        """What is sent as a credential, as it is known by now."""
        access = self._client.access
        return [access.token, access.password, *self._sent]

    def _found(self) -> Iterator[Finding]:
        yield from way.configuration(_summary(self._client.access), self._unusual)
        yield self._proxy()
        credential = self._credentials()
        yield credential
        reached = self._probe.reach()
        yield from way.connection(reached)
        if reached.tls:
            yield self._probe.chain(reached)
        broken = reached.failed or (credential.check if credential.result == FAIL else "")
        if broken:
            yield from self._not_tried("server", broken)
        else:
            yield from self._spoken()

    def _not_tried(self, first: str, why: str) -> list[Finding]:
        wanted = [*CHECKS[CHECKS.index(first) : CHECKS.index("exec")]]
        wanted += ["exec"] if self._pod else []
        wanted += CHECKS[-2:] if self._idle else []
        return way.unreached(wanted, f"{why} failed")

    # The way

    def _credentials(self) -> Finding:
        access = self._client.access
        kind, source = self._kind
        start = time.monotonic()
        error: RawkubeError | None = None
        try:
            headers = self._client.credentials.headers(now=self._client.clock())
            self._sent = [value.rpartition(" ")[2] for name, value in headers if name.lower() == "authorization"]
            self._client.credentials.client_cert()
        except RawkubeError as raised:
            error = raised
        if access.impersonate_user:
            source += f"; acting as {access.impersonate_user}"
        seconds = time.monotonic() - start
        return uses.credentials(kind, source, str(error or ""), error.detail if error else (), seconds)

    def _proxy(self) -> Finding:
        access = self._client.access
        origin = access.origins.get("proxy_url")
        host = self._client.pool.endpoint.host
        private = literal(host, 0) is not None and way.is_private([host])
        known = origin is not None and origin.source != "default"
        why = "; ".join(part for part in (str(origin) if known else "", access.proxy_why) if part)
        by_environment = origin is not None and origin.source == "env"
        return way.proxy(without_password(access.proxy_url), why, by_environment=by_environment, private=private)

    # The server

    def _spoken(self) -> Iterator[Finding]:
        version = self._probe.ask("/version")
        finding = way.server(version, self._client.access.server)
        yield finding
        if finding.result == FAIL:
            yield from self._not_tried("latency", "server")
            return
        samples = [self._probe.ask("/version") for _ in range(_SAMPLES)]
        yield way.latency([answer.seconds for answer in samples if answer.status])
        yield way.clock(version)
        self._version = str(version.object.get("gitVersion") or "")
        finding = uses.identity(self._probe.review(), self._kind[0])
        yield finding
        if finding.result == FAIL:
            yield from self._not_tried("discovery", "identity")
            return
        for check in (self._discovery, self._rollout_rights, self._exec_rights, self._upgrade, self._exec_way):
            yield _timed(check)
        yield from self._watches()
        if self._pod:
            yield _timed(lambda: uses.ran(self._probe.run(self._pod)))
        if self._idle:
            found = self._probe.idle(self._idle)
            yield from (uses.idle(name, found[name]) for name in CHECKS[-2:])

    def _discovery(self) -> Finding:
        return uses.discovery(*self._probe.discovery())

    def _rights(self, wanted: Sequence[tuple[str, str]]) -> list[Right]:
        found: list[Right] = []
        for verb, what in wanted:
            found.append(self._probe.right(verb, what))
            if found[0].allowed is None:
                break  # it will not tell the others either
        return found

    def _rollout_rights(self) -> Finding:
        return uses.rights("rollout rights", self._rights(_ROLLOUT), self._namespace, needed=_NEEDED)

    def _exec_rights(self) -> Finding:
        return uses.rights("exec rights", self._rights(_EXEC), self._namespace)

    def _upgrade(self) -> Finding:
        return uses.upgrade(*self._probe.upgrade())

    def _exec_way(self) -> Finding:
        return uses.exec_way(self._probe.exec_of_nobody(), NOBODY, self._version)

    def _watches(self) -> Iterator[Finding]:
        found = self._probe.watch()
        yield uses.watch(found)
        yield uses.bookmarks(found)


def credential_kind(access: Access) -> tuple[str, str]:
    """In words, and where it comes from; both empty without one."""
    for field, kind in _KINDS:
        if getattr(access, field):
            return kind, str(access.origins.get(field, ""))
    return "", ""


def _summary(access: Access) -> str:
    named = f"context {access.context}, " if access.context else ""
    origin = access.origins.get("server") or Origin("default")
    return f"{named}{access.server} (from {origin}), namespace {access.namespace}"


def _timed(check: Callable[[], Finding]) -> Finding:
    start = time.monotonic()
    finding = check()
    return finding if finding.seconds else finding._replace(seconds=time.monotonic() - start)
