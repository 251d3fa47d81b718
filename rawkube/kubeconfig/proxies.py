"""Which proxy Go's HTTP client would use for a server (golang.org/x/net/http/httpproxy). Pure.

`HTTPS_PROXY` (else `https_proxy`) for https, `HTTP_PROXY` for http, unless `NO_PROXY` names the host or the
host is this machine. `ALL_PROXY` means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.errors import ConfigError
from rawkube.gotext import go_quote
from rawkube.kubeconfig.server_url import ServerURL

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network


class Decision(NamedTuple):
    """`variable`: the one that decided, empty for none. `url`: its value, empty for a direct connection. `why`: in
    words."""

    variable: str
    url: str
    why: str


def decide(server: ServerURL, environ: Mapping[str, str]) -> Decision:
    """Which proxy of the environment applies to `server`.

    Raises ConfigError in a CGI program (`REQUEST_METHOD`): there `HTTP_PROXY` is the client's header `Proxy`.
    """
    upper = "HTTPS_PROXY" if server.scheme == "https" else "HTTP_PROXY"
    name = _first(environ, upper)
    if not name:
        return Decision("", "", "no proxy is configured")
    if upper == "HTTP_PROXY" and environ.get("REQUEST_METHOD"):
        text = "refusing to use HTTP_PROXY value in CGI environment; see golang.org/s/cgihttpproxy"
        raise ConfigError(text, detail=["REQUEST_METHOD is set, which makes this a CGI program"])
    host = server.host.lower()
    address = _address(host.partition("%")[0])
    if host == "localhost" or (address is not None and address.is_loopback):
        return Decision("", "", f"loopback is never proxied by {name}")
    exceptions = _first(environ, "NO_PROXY")
    for entry in environ.get(exceptions, "").split(","):
        if _matches(entry.strip().lower(), host, address, server.effective_port):
            return Decision(exceptions, "", f"{exceptions} names it: {go_quote(entry.strip())}")
    unnamed = f", and {exceptions} does not name it" if exceptions else ""
    return Decision(name, environ[name], f"{name} applies to {server.scheme} servers{unnamed}")


def _first(environ: Mapping[str, str], upper: str) -> str:
    """The upper-case name if it is set, else the lower-case one, else empty."""
    return next((name for name in (upper, upper.lower()) if environ.get(name)), "")


def from_environment(server: ServerURL, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """(variable, its value) that applies to `server`, or None for a direct connection."""
    decision = decide(server, environ)
    return (decision.variable, decision.url) if decision.url else None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    from ipaddress import ip_address

    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _matches(entry: str, host: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
    """Whether one entry of `NO_PROXY` means this host: `*`, CIDR, IP[:port], `domain[:port]`, `.sub`,
    `*.sub`."""
    if entry == "*":
        return True
    network = _network(entry)
    if network is not None:
        return address is not None and address in network
    name, wanted_port = _split_port(_ascii(entry))
    if not name or (wanted_port and wanted_port != str(port)):
        return False
    named = _address(name) if "%" not in name else None  # Go: an address with a zone is none here
    if named is not None or address is not None:
        return named == address
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith("." + name)


def _network(entry: str) -> IPv4Network | IPv6Network | None:
    """CIDR as Go's net.ParseCIDR has it: a length, no mask; `::ffff:10.0.0.0/104` is `10.0.0.0/8`."""
    start, slash, length = entry.partition("/")
    if not slash or not (length.isascii() and length.isdigit()) or "%" in start:
        return None
    from ipaddress import ip_network

    try:
        network = ip_network(entry, strict=False)
    except ValueError:
        return None
    mapped = getattr(network.network_address, "ipv4_mapped", None)
    return network if mapped is None else ip_network((mapped, network.prefixlen - 96))


def _ascii(entry: str) -> str:
    if entry.isascii():
        return entry
    try:
        return entry.encode("idna").decode("ascii")
    except UnicodeError:
        return entry


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        return (name, port[1:]) if port.startswith(":") else (entry, "")
    name, colon, port = entry.partition(":")
    return (entry, "") if ":" in port else (name, port if colon else "")
