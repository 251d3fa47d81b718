"""Which proxy Go's HTTP client would use for a server (golang.org/x/net/http/httpproxy). Pure.

`HTTPS_PROXY` (else `https_proxy`) for https, `HTTP_PROXY` for http, unless `NO_PROXY` names the host or the
host is this machine. `ALL_PROXY` means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rawkube.kubeconfig.server_url import ServerURL

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network


def from_environment(server: ServerURL, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """(variable, its value) that applies to `server`, or None for a direct connection."""
    upper = "HTTPS_PROXY" if server.scheme == "https" else "HTTP_PROXY"
    name = next((n for n in (upper, upper.lower()) if environ.get(n)), "")
    if not name:
        return None
    exceptions = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if _is_direct(server.host.lower(), server.effective_port, exceptions):
        return None
    return name, environ[name]


def _is_direct(host: str, port: int, exceptions: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry.strip().lower(), host, address, port) for entry in exceptions.split(","))


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
    name, wanted_port = _split_port(entry)
    if not name or (wanted_port and wanted_port != str(port)):
        return False
    named = _address(name)
    if named is not None or address is not None:
        return named == address
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith("." + name)


def _network(entry: str) -> IPv4Network | IPv6Network | None:
    if "/" not in entry:
        return None
    from ipaddress import ip_network

    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        return name, port.removeprefix(":")
    name, colon, port = entry.partition(":")
    return (entry, "") if ":" in port else (name, port if colon else "")
