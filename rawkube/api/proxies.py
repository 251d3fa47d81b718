"""From a proxy's address to what the connection layer dials."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rawkube.gotext import one_line
from rawkube.kubeconfig import proxies, proxy_url
from rawkube.kubeconfig.server_url import ServerURL
from rawkube.wire.dial import Endpoint, TLSOptions
from rawkube.wire.http import Response
from rawkube.wire.proxy import Proxy, about_credentials, readable


def proxy_for(url: str, *, origin: str = "", ca_pem: bytes | Callable[[], bytes | None] | None = None) -> Proxy | None:
    """The proxy at this address; None for an empty one. `origin`: what named it.

    `ca_pem`: whom to trust besides the system's roots, if the way to the proxy is TLS. Raises ConfigError.
    """
    if not url:
        return None
    found = proxy_url.parse(url)
    kind = found.scheme.removesuffix("h")
    # Always verified: neither the server's name nor its "skip" are about the proxy.
    tls = TLSOptions(found.host, ca_pem, system_roots=True) if kind == "https" else None
    return Proxy(kind, found.host, found.port, found.username, found.password, tls, origin)


def explain_407(proxy: Proxy, response: Response, body: bytes) -> list[str]:
    """The lines about a proxy that was sent a request, and wants credentials for it."""
    asked = [value for name, value in response.headers if name == "proxy-authenticate"]
    first = one_line(f"the proxy {proxy.named} answered with {response.status} {response.reason}".rstrip())
    return [first, about_credentials(proxy, asked), *readable(body, response.content_type)]


def by_environment(environ: Mapping[str, str]) -> Callable[[ServerURL, Endpoint], Endpoint]:
    """What adds the proxy that the environment names for a server to its endpoint (see `fetch.fetcher`)."""

    def through(address: ServerURL, endpoint: Endpoint) -> Endpoint:
        decision = proxies.decide(address, environ)
        return endpoint._replace(proxy=proxy_for(decision.url, origin=f"${decision.variable}"))

    return through
