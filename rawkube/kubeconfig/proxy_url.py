"""A proxy's address as Go's net/url reads it: `[scheme://][user[:password]@]host[:port]`. Pure."""

from __future__ import annotations

import re

from rawkube._pattern import pattern
from rawkube._typing import NamedTuple
from rawkube.errors import ConfigError
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig.server_url import host_port

DEFAULT_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}

_BAD_ESCAPE = pattern(r"%(?![0-9A-Fa-f]{2})")


class ProxyURL(NamedTuple):
    """`scheme`: `http`, `https`, `socks5` or `socks5h` (both: the proxy resolves names).

    `username`: None without userinfo; it and `password` are decoded.
    """

    scheme: str
    host: str
    port: int
    username: str | None = None
    password: str = ""

    def __repr__(self) -> str:
        return f"ProxyURL({self.scheme}://{self.host}:{self.port})"


def parse(text: str) -> ProxyURL:
    """The address; without a scheme it is plain http (golang.org/x/net/http/httpproxy).

    Raises ConfigError, whose text holds neither user name nor password.
    """
    scheme, slashes, rest = text.strip().partition("://")
    if not slashes:
        scheme, rest = "http", text.strip().removeprefix("//")
    if (scheme := scheme.lower()) not in DEFAULT_PORTS:
        # What stands before "://" may hold a password that is written wrongly.
        shown = go_quote(scheme) if scheme.replace("+", "").replace("-", "").isalnum() else "in it"
        raise ConfigError(f"unsupported scheme {shown}, must be http, https, or socks5")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    userinfo, at, where = authority.rpartition("@")
    if not where.partition(":")[0]:
        raise ConfigError("the proxy's address has no host")
    host, port = host_port(where)
    if not at:
        return ProxyURL(scheme, host, port or DEFAULT_PORTS[scheme])
    if _BAD_ESCAPE.search(userinfo):
        raise ConfigError('a "%" in the user name or password of a proxy is written %25')
    name, _, password = userinfo.partition(":")
    return ProxyURL(scheme, host, port or DEFAULT_PORTS[scheme], _decoded(name), _decoded(password))


def without_userinfo(url: str) -> str:
    """The address for people: with a mark where user name and password are."""
    before, at, after = url.rpartition("@")
    if not at:
        return one_line(url)
    scheme, slashes, _ = before.partition("://")
    return one_line(f"{scheme}://<redacted>@{after}" if slashes else f"<redacted>@{after}")


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text, errors="surrogateescape")
