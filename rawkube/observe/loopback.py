"""Pure: is a request meant for this machine? A page on the web can name any host, and have it resolve to 127.0.0.1.

What serves on loopback without a password looks at the Host header, which a browser fills in from the page's
address (DNS rebinding), and answers only to names that mean this machine.
"""

from __future__ import annotations

import ipaddress
import re

_AUTHORITY = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::\d{0,5})?")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")


def is_loopback(authority: str) -> bool:
    """Whether `HOST[:PORT]` names this machine: `localhost`, names below it (RFC 6761, 6.3), 127.0.0.0/8, ::1."""
    match = _AUTHORITY.fullmatch(authority.strip())
    if match is None:
        return False
    if match[1] is not None:
        return _is_loopback_address(match[1])
    name = match[2].lower().removesuffix(".")
    return name == "localhost" or name.endswith(".localhost") or _is_loopback_address(name)


def stranger(target: str, host: str | None) -> str:
    """The host that a request is meant for if that is not this machine, else empty. `host`: its Host header, or None.

    A target in absolute form (as sent to a proxy) names its host itself, too.
    """
    named = [] if host is None else [host]
    if match := _ABSOLUTE.match(target):
        named.append(match[1].rpartition("@")[2])
    return next((each or "(none)" for each in named if not is_loopback(each)), "")


def _is_loopback_address(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False
