"""Pure: which pages may use a reverse proxy on loopback, and what lets a browser hand them the answers.

The pages of this machine may ask. Those of an origin that was named may ask and read: they get the headers of the
Fetch standard (CORS protocol), and their preflights are answered here, since what a server says about origins is about
its own. Credentials of the browser are never asked for: the proxy adds the user's.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from rawkube.gotext import one_line
from rawkube.observe.loopback import is_loopback, stranger
from rawkube.observe.proxy_heads import Asked, Pairs, Refusal, path_of

_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_SECONDS = "600"  # that a browser may remember it
_NAMES = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")


def refusal(asked: Asked, origins: Collection[str]) -> Refusal | None:
    """Why a request must not be passed on: it may come from a page on the web. `origins`: pages that may ask."""
    if host := stranger(asked.target, asked.header("host")):
        text = f"the host {one_line(host)} is not this machine: rawkube proxy serves 127.0.0.1 and localhost only"
        return Refusal(403, "Forbidden", text)
    origin = asked.header("origin")
    if origin is not None and not _may_ask(origin, origins):
        return Refusal(403, "Forbidden", f"pages of {one_line(origin)} may not use this proxy (--allow-origin)")
    # An image or a script of a page elsewhere names no origin.
    if origin is None and (asked.header("sec-fetch-site") or "").lower() == "cross-site":
        return Refusal(403, "Forbidden", "pages of other sites may not use this proxy")
    if is_preflight(asked) and origin not in origins:
        text = f"pages of {one_line(str(origin))} may not read what this proxy answers (--allow-origin)"
        return Refusal(403, "Forbidden", text)
    if asked.method == "CONNECT" or not path_of(asked.target).startswith("/"):
        return Refusal(400, "Bad Request", "a request's target must be a path")
    return None


def _may_ask(origin: str, origins: Collection[str]) -> bool:
    if origin in origins:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and is_loopback(parts.netloc)


def is_preflight(asked: Asked) -> bool:
    """Whether a browser asks what a page may ask for (Fetch, CORS-preflight request)."""
    return (
        asked.method == "OPTIONS"
        and asked.header("origin") is not None
        and asked.header("access-control-request-method") is not None
    )


def readable(asked: Asked, origins: Collection[str]) -> Pairs:
    """The headers of an answer that let a page of these origins read it; none where no origin was named.

    A cache must know that they depend on who asks, also where nobody does.
    """
    if not origins:
        return []
    found = [("Vary", "Origin")]
    origin = asked.header("origin")
    if origin is not None and origin in origins:
        found += [("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", "*")]
    return found


def preflight(asked: Asked) -> bytes:
    """The answer to a preflight of an origin that was named. It ends the connection."""
    wanted = asked.header("access-control-request-headers") or ""
    pairs = [
        ("Access-Control-Allow-Origin", asked.header("origin") or ""),
        ("Access-Control-Allow-Methods", _METHODS),
        ("Access-Control-Max-Age", _SECONDS),
        ("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
    ]
    if _NAMES.fullmatch(wanted):
        pairs.append(("Access-Control-Allow-Headers", wanted))
    if asked.header("access-control-request-private-network") is not None:
        pairs.append(("Access-Control-Allow-Private-Network", "true"))
    lines = ["HTTP/1.1 204 No Content", *(f"{name}: {value}" for name, value in pairs), "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")
