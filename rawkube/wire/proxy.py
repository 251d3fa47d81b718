"""What is said to a proxy until it lets bytes through: CONNECT, and SOCKS 5. Pure: bytes in, bytes out.

Both sides of a conversation have one form (`Conversation`): send what `start()` gives, read at most `wants`
bytes, `feed` them, send what that gives, and so on until `wants` is 0.

Sources: RFC 9110 section 9.3.6 (CONNECT), RFC 1928 (SOCKS 5), RFC 1929 (its passwords), Go's net/http and
golang.org/x/net/internal/socks for the texts.
"""

from __future__ import annotations

import re
from collections.abc import Generator

import h11

from rawkube._typing import TYPE_CHECKING, NamedTuple, Protocol
from rawkube._version import user_agent
from rawkube.errors import ConnectionLost, ConnectionRefused, ProtocolError, ProxyError
from rawkube.gotext import go_quote, one_line
from rawkube.wire.redact import MASK
from rawkube.wire.x509 import ip_bytes

if TYPE_CHECKING:
    from rawkube.wire.dial import TLSOptions

# The largest head of an answer to CONNECT, and how much of a refusal's body is kept, in bytes.
HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 16 * 1024

_SHOWN_LINES = 8
_SHOWN_WIDTH = 200

# RFC 1928, section 6, in Go's words.
_REPLIES = (
    "succeeded",
    "general SOCKS server failure",
    "connection not allowed by ruleset",
    "network unreachable",
    "host unreachable",
    "connection refused",
    "TTL expired",
    "command not supported",
    "address type not supported",
)


class Proxy(NamedTuple):
    """A proxy on the way to a server.

    `kind`: `http`, `https` (TLS to the proxy, `tls` says how), or `socks5` (names are resolved by the proxy).
    `username`: None without credentials. `origin`: what named this proxy, for messages.
    """

    kind: str
    host: str
    port: int
    username: str | None = None
    password: str = ""
    tls: TLSOptions | None = None
    origin: str = ""

    @property
    def authority(self) -> str:
        """`HOST:PORT`, an IPv6 address in brackets."""
        return join(self.host, self.port)

    @property
    def authorization(self) -> str:
        """The value of `Proxy-Authorization` (RFC 7617), empty without credentials."""
        if self.username is None:
            return ""
        from binascii import b2a_base64

        pair = f"{self.username}:{self.password}".encode("utf-8", "surrogateescape")
        return "Basic " + b2a_base64(pair, newline=False).decode("ascii")

    @property
    def named(self) -> str:
        """The proxy and what named it, for a message."""
        return f"{self} (set by {self.origin})" if self.origin else str(self)

    def __str__(self) -> str:
        return f"{self.kind}://{self.authority}"

    def __repr__(self) -> str:
        return f"Proxy({self}{', with credentials' if self.username is not None else ''})"


def join(host: str, port: int) -> str:
    """`HOST:PORT`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Conversation(Protocol):
    """One side of what is said before the tunnel is open.

    `wants`: at most how many bytes to read next; 0: the tunnel is open. `leftover`: bytes of the server that came
    with the proxy's last word. `status`, `reason`: the proxy's verdict, for the tap.
    """

    wants: int
    leftover: bytes
    status: int
    reason: str

    def start(self) -> bytes:
        """What is sent first."""

    def feed(self, data: bytes) -> bytes:
        """Take bytes (b"": the end of the stream); what is to be sent next. Raises TransportError."""

    def refusal(self) -> ProxyError | None:
        """The refusal that is on its way: its head has come, the rest is not waited for."""


# CONNECT


class Connect:
    """CONNECT through an HTTP proxy to `host`:`port`."""

    def __init__(self, proxy: Proxy, host: str, port: int) -> None:
        self.proxy = proxy
        self.target = join(host.partition("%")[0] if ":" in host else host, port)
        self.wants = HEAD_LIMIT
        self.leftover = b""
        self.status = 0
        self.reason = ""
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
        self._first = b""
        self._asked: list[str] = []  # Proxy-Authenticate
        self._media = ""
        self._body = b""

    def start(self) -> bytes:
        """The request."""
        pairs = [("Host", self.target), ("User-Agent", user_agent())]
        if self.proxy.authorization:
            pairs.append(("Proxy-Authorization", self.proxy.authorization))
        raw = [(name.encode("ascii"), value.encode("latin-1")) for name, value in pairs]
        head = self._h11.send(h11.Request(method="CONNECT", target=self.target, headers=raw))
        return head + self._h11.send(h11.EndOfMessage())

    def feed(self, data: bytes) -> bytes:
        """Raises ProxyError (refused), ProtocolError (no HTTP), ConnectionLost (the end before an answer)."""
        if not self._first.startswith(b"HTTP/"):
            self._first += data[:64]
            if not self._first[:5].startswith(b"HTTP/"[: len(self._first)]):
                raise self._malformed()
        try:
            self._h11.receive_data(data)
            self._take_events()
        except h11.RemoteProtocolError as error:
            if self.status:
                raise self._refused() from None
            if not data:
                raise ConnectionLost("unexpected EOF") from None
            if error.error_status_hint == 431:
                raise ProtocolError(f"the proxy's answer to CONNECT exceeds {HEAD_LIMIT} bytes") from None
            raise self._malformed() from None
        return b""

    def _take_events(self) -> None:
        while True:
            event = self._h11.next_event()
            if isinstance(event, h11.Response):
                self._take_head(event)
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) >= BODY_LIMIT:
                    raise self._refused()
            elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                raise self._refused()
            elif event is h11.PAUSED:
                self.wants = 0
                self.leftover = self._h11.trailing_data[0]
                return
            elif event is h11.NEED_DATA:
                return

    def _take_head(self, head: h11.Response) -> None:
        self.status = head.status_code
        self.reason = one_line(head.reason.decode("utf-8", "replace"))
        for name, value in head.headers:
            if name == b"proxy-authenticate":
                self._asked.append(value.decode("latin-1"))
            elif name == b"content-type":
                self._media = value.decode("latin-1").partition(";")[0].strip().lower()

    def refusal(self) -> ProxyError | None:
        """The refusal, once its head has come."""
        return self._refused() if self.status and self.wants else None

    def _malformed(self) -> ProtocolError:
        line = self._first.partition(b"\n")[0].rstrip(b"\r")[:60]
        return ProtocolError(f"malformed HTTP response {go_quote(line)}")

    def _refused(self) -> ProxyError:
        """kubectl's text is the reason phrase alone (Go's net/http)."""
        said = f"{self.status} {self.reason}".strip()
        detail = [f"the proxy {self.proxy.named} answered CONNECT {self.target} with {said}"]
        if self.status == 407:
            detail.append(about_credentials(self.proxy, self._asked))
        detail += readable(self._without_credentials(self._body), self._media)
        return ProxyError(self.reason or f"HTTP status {self.status}", status=self.status, detail=detail)

    def _without_credentials(self, body: bytes) -> bytes:
        """A page about an error may repeat what was asked."""
        secrets = (self.proxy.authorization.partition(" ")[2], self.proxy.password)
        for secret in filter(None, secrets):
            body = body.replace(secret.encode("utf-8", "surrogateescape"), MASK.encode())
        return body


def about_credentials(proxy: Proxy, asked: list[str]) -> str:
    """What to do about a 407. `asked`: the values of its `Proxy-Authenticate`."""
    schemes = [one_line(value.partition(" ")[0]) for value in asked]
    if schemes and "basic" not in map(str.lower, schemes):
        return f"it wants {', '.join(schemes)} authentication; rawkube knows Basic alone"
    if proxy.username is None:
        return f"it wants a user name and a password, in the proxy's URL: {proxy.kind}://USER:PASSWORD@…"
    return "it does not accept the user name and password in the proxy's URL"


def readable(body: bytes, media: str) -> list[str]:
    """The first lines of a text for people, HTML without its tags."""
    text = body.decode("utf-8", "replace")
    if "html" in media or text.lstrip()[:1] == "<":
        text = re.sub(r"(?is)<(style|script|head|title)\b.*?(</\1>|\Z)|<!--.*?-->", " ", text)
        text = re.sub(r"<[^>]*>?", " ", text)
        text = re.sub(r"[ \t]+", " ", text)
        for entity, char in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&nbsp;", " "), ("&amp;", "&")):
            text = text.replace(entity, char)
    lines = [one_line(line.strip())[:_SHOWN_WIDTH] for line in text.splitlines() if line.strip()]
    return lines[:_SHOWN_LINES]


# SOCKS 5


class Socks5:
    """A SOCKS 5 CONNECT to `host`:`port`. A name is passed on as a name: the proxy resolves it.

    It wants as many bytes as the next field has, so nothing of the server is ever taken.
    """

    leftover = b""

    def __init__(self, proxy: Proxy, host: str, port: int) -> None:
        self.proxy = proxy
        self.target = join(host, port)
        self.status = -1
        self.reason = ""
        self.wants = 0
        self._host = host
        self._port = port
        self._held = b""
        self._steps = self._conversation()

    def start(self) -> bytes:
        """The greeting."""
        out, self.wants = next(self._steps)
        return out

    def feed(self, data: bytes) -> bytes:
        """Raises ProxyError (refused), ProtocolError (no SOCKS 5), ConnectionLost (the end before an answer)."""
        if not data:
            raise ConnectionLost("unexpected EOF" if self._held else "EOF")
        self._held += data
        self.wants -= len(data)
        if self.wants > 0:
            return b""
        field, self._held = self._held, b""
        try:
            out, self.wants = self._steps.send(field)
        except StopIteration:
            return b""
        return out

    def refusal(self) -> ProxyError | None:
        """A refusal is one field, so there is never half of one."""
        return None

    def _conversation(self) -> Generator[tuple[bytes, int], bytes, None]:
        """Yields (what is sent, how many bytes are read next)."""
        request = b"\5\1\0" + self._address() + self._port.to_bytes(2, "big")
        methods = b"\0" if self.proxy.username is None else b"\0\2"
        version, method = yield b"\5" + bytes((len(methods),)) + methods, 2
        _check_version(version)
        if method == 2 and self.proxy.username is not None:
            yield from self._log_in()
        elif method == 0xFF:
            raise self._refused("no acceptable authentication methods", self._about_credentials())
        elif method:
            raise self._refused(f"unsupported authentication method {method}")
        answer = yield request, 4
        _check_version(answer[0])
        self.status = answer[1]
        self.reason = _REPLIES[answer[1]] if answer[1] < len(_REPLIES) else f"unknown code: {answer[1]}"
        if answer[1] == 5:
            raise ConnectionRefused(f"unknown error {self.reason}", detail=[self._who(), f"it says: {self.reason}"])
        if answer[1]:
            raise self._refused(f"unknown error {self.reason}")
        if answer[2]:
            raise ProtocolError("non-zero reserved field")
        yield from self._bound_address(answer[3])

    def _bound_address(self, kind: int) -> Generator[tuple[bytes, int], bytes, None]:
        """The address that the proxy uses; nobody needs it."""
        if kind == 3:
            (size,) = yield b"", 1
        elif kind in (1, 4):
            size = 4 if kind == 1 else 16
        else:
            raise ProtocolError(f"unknown address type {kind}")
        yield b"", size + 2

    def _log_in(self) -> Generator[tuple[bytes, int], bytes, None]:
        texts = (self.proxy.username or "", self.proxy.password)
        name, password = (text.encode("utf-8", "surrogateescape") for text in texts)
        if not 0 < len(name) < 256 or len(password) > 255:
            raise self._refused("invalid username/password", "each has at most 255 bytes, and the name at least one")
        version, status = yield b"\1" + _counted(name) + _counted(password), 2
        if version != 1:
            raise ProtocolError("invalid username/password version")
        if status:
            text = "it does not accept the user name and password in the proxy's URL"
            raise self._refused("username/password authentication failed", text)

    def _address(self) -> bytes:
        packed = ip_bytes(self._host)
        if packed is not None:
            return (b"\1" if len(packed) == 4 else b"\4") + packed
        name = self._host.encode("ascii", "replace")
        if len(name) > 255:
            raise self._refused("FQDN too long")
        return b"\3" + _counted(name)

    def _about_credentials(self) -> str:
        if self.proxy.username is None:
            return "it wants a user name and a password, in the proxy's URL: socks5://USER:PASSWORD@…"
        return "it accepts neither a connection without a password nor one with a user name and password"

    def _refused(self, text: str, *detail: str) -> ProxyError:
        return ProxyError(text, status=max(self.status, 0), detail=[self._who(), *detail])

    def _who(self) -> str:
        return f"the proxy {self.proxy.named} did not connect to {self.target}"


def _counted(data: bytes) -> bytes:
    return bytes((len(data),)) + data


def _check_version(version: int) -> None:
    if version != 5:
        raise ProtocolError(f"unexpected protocol version {version}")
