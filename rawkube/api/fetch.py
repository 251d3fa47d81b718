"""One request to a server that is not the API server: the issuer of an OpenID Connect token.

Over the same door as every other request, with the proxies of the environment; redirects are not followed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube._version import user_agent
from rawkube.errors import ConfigError, TransportError
from rawkube.gotext import go_quote
from rawkube.kubeconfig import server_url
from rawkube.kubeconfig.oidc import Fetch, Fetched
from rawkube.wire.dial import Endpoint, Timeouts, TLSOptions
from rawkube.wire.http import Request
from rawkube.wire.pool import Pool

if TYPE_CHECKING:
    from rawkube.wire.tap import Tap

FETCH_SECONDS = 30.0
"""How long one request to an issuer may take in all."""
MAX_BODY = 1 << 20
"""Bytes of an answer (golang.org/x/oauth2 reads as many)."""

Dress = Callable[[server_url.ServerURL, Endpoint], Endpoint]
"""Says how a server is reached: adds the proxy that applies to it."""


def fetcher(
    *,
    timeouts: Timeouts | None = None,
    tap: Tap | None = None,
    through: Dress = lambda url, endpoint: endpoint,
    clock: Callable[[], float] = time.monotonic,
) -> Fetch:
    """The function that a credential source asks other servers with. It raises TransportError.

    `through` adds the proxy to an endpoint; the tap is told of the request as of any other.
    """

    def fetch(method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes, ca_pem: bytes | None) -> Fetched:
        address, target = _split(url)
        tls = TLSOptions(address.host, ca_pem) if address.scheme == "https" else None
        endpoint = through(address, Endpoint(address.host, address.effective_port, tls))
        pool = Pool(endpoint, timeouts=timeouts or Timeouts(), tap=tap, max_idle=0)
        sent = [("User-Agent", user_agent()), ("Accept-Encoding", "gzip"), *headers]
        try:
            with pool.request(Request(method, target, sent, body), deadline=clock() + FETCH_SECONDS) as answer:
                return Fetched(answer.status, answer.reason, answer.content_type, answer.read(MAX_BODY))
        finally:
            pool.close()

    return fetch


def _split(url: str) -> tuple[server_url.ServerURL, str]:
    """Where a URL's server is, and the target of the request: path and query as they stand there."""
    scheme, colon, rest = url.partition("://")
    if not colon:
        raise TransportError('unsupported protocol scheme ""')
    if scheme.lower() not in server_url.DEFAULT_PORTS:
        raise TransportError(f"unsupported protocol scheme {go_quote(scheme)}")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    try:
        address = server_url.parse(f"{scheme}://{rest[:end]}")
    except ConfigError as error:
        raise TransportError(str(error)) from None
    target = rest[end:].partition("#")[0]
    if not target.startswith("/"):
        target = "/" + target
    if any(not "!" <= char <= "~" for char in target):
        raise TransportError("net/url: invalid control character in URL")
    return address, target
