"""The server's address as client-go reads it (rest.DefaultServerURL, net/url). Pure."""

from __future__ import annotations

from rawkube._typing import NamedTuple
from rawkube.errors import ConfigError
from rawkube.gotext import go_quote

DEFAULT_PORTS = {"http": 80, "https": 443}

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SCHEME = _LETTERS | frozenset("0123456789+-.")
_HEX = frozenset("0123456789abcdefABCDEF")
# RFC 3986: what a path may hold as it is (pchar and "/"), "%" aside.
_IN_PATH = _LETTERS | frozenset("0123456789-._~!$&'()*+,;=:@/")
_IN_HOST = _LETTERS | frozenset("0123456789-._~")
_IN_IPV6 = _HEX | frozenset(":.")


class ServerURL(NamedTuple):
    """`host` without brackets and with the `%zone` of a link-local address; `port` 0 if none is written;
    `prefix`: empty or `/…` without a slash at the end, percent-encoded; `bare`: no scheme was written."""

    scheme: str
    host: str
    port: int = 0
    prefix: str = ""
    bare: bool = False

    @property
    def effective_port(self) -> int:
        """The port that is connected to."""
        return self.port or DEFAULT_PORTS[self.scheme]

    def __str__(self) -> str:
        host = f"[{self.host.replace('%', '%25')}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{f':{self.port}' if self.port else ''}{self.prefix}"


def parse(text: str) -> ServerURL:
    """`scheme://host[:port][/prefix]`, `host`, `host:port`; without a scheme it is plain http, as for
    kubectl.

    Query and fragment are dropped, slashes collapsed. Raises ConfigError; a user name is refused, unshown.
    """
    scheme, rest = _split_scheme(text)
    bare = scheme == "" or not rest.startswith("//") or rest[2:3] in ("", "/", "?", "#")
    if bare:
        scheme, rest = "http", "//" + text
    authority, path = _split_authority(rest[2:])
    if "@" in authority:
        raise ConfigError("the server address holds a user name or password: take it out, use username and password")
    if bare and path not in ("", "/"):
        raise ConfigError(f"host must be a URL or a host:port pair: {go_quote(authority + path)}")
    if scheme not in DEFAULT_PORTS:
        raise ConfigError(f"unsupported protocol scheme {go_quote(scheme)}")
    host, port = host_port(authority)
    return ServerURL(scheme, host, port, _prefix(path), bare)


def join_host_port(host: str, port: str) -> str:
    """`host:port`, with brackets around an IPv6 address that has none."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def _split_scheme(text: str) -> tuple[str, str]:
    scheme, colon, rest = text.partition(":")
    if colon and scheme[:1] in _LETTERS and scheme and set(scheme) <= _SCHEME:
        return scheme.lower(), rest
    return "", text


def _split_authority(rest: str) -> tuple[str, str]:
    end = min((i for i in map(rest.find, "/?#") if i >= 0), default=len(rest))
    authority, path = rest[:end], rest[end:]
    for mark in "#?":
        path = path.partition(mark)[0]
    return authority, path


def host_port(authority: str) -> tuple[str, int]:
    """(host without brackets, port or 0) of `host[:port]`. Raises ConfigError."""
    if authority.startswith("["):
        host, bracket, port = authority[1:].partition("]")
        if not bracket:
            raise ConfigError("missing ']' in host")
        _check_ipv6(host)
        host = host.replace("%25", "%", 1)
    else:
        host, colon, port = authority.partition(":")
        port = colon + port
        if ":" in port[1:]:
            raise ConfigError(f"invalid host {go_quote(authority)}: an IPv6 address needs brackets, [ADDRESS]:PORT")
        host = _ascii_host(host)
    if not host:
        raise ConfigError("the server address has no host")
    return host, _port(port)


def _check_ipv6(host: str) -> None:
    address, _, zone = host.partition("%25")
    if not address or not set(address) <= _IN_IPV6 or not set(zone) <= _IN_HOST:
        raise ConfigError(f"invalid host {go_quote(f'[{host}]')}")


def _ascii_host(host: str) -> str:
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise ConfigError(f"invalid host {go_quote(host)}") from None
    if not set(host) <= _IN_HOST:
        raise ConfigError(f"invalid host {go_quote(host)}")
    return host


def _port(text: str) -> int:
    digits = text[1:]
    if text in ("", ":"):
        return 0
    if text[0] != ":" or not (digits.isascii() and digits.isdigit()) or not 0 < int(digits[:6]) < 65536:
        raise ConfigError(f"invalid port {go_quote(text)} after host")
    return int(digits)


def _prefix(path: str) -> str:
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(_encoded(segment))
    return "".join(f"/{segment}" for segment in segments)


def _encoded(segment: str) -> str:
    """Percent-encoded where it is not yet."""
    if any(ord(character) < 0x20 or character == "\x7f" for character in segment):
        raise ConfigError("net/url: invalid control character in URL")
    for part in segment.split("%")[1:]:
        if not (len(part) >= 2 and set(part[:2]) <= _HEX):
            raise ConfigError(f"invalid URL escape {go_quote('%' + part[:2])}")
    if set(segment) <= _IN_PATH | {"%"}:
        return segment
    return "".join(
        c if c in _IN_PATH or c == "%" else "".join(f"%{b:02X}" for b in c.encode("utf-8", "replace")) for c in segment
    )
