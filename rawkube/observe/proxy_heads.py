"""Pure: the heads of HTTP/1.1 messages on their way through a reverse proxy (RFC 9110, section 7; RFC 9112).

Hop-by-hop headers are dropped, and whatever is a client's own credential; ours are added. What cannot be read without
doubt is refused: two readers that disagree on where a message ends are a hole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import h11

from rawkube._typing import NamedTuple
from rawkube.errors import ProtocolError
from rawkube.observe.upgrades import kind_of
from rawkube.wire.framing import Framing
from rawkube.wire.redact import BEARER_SUBPROTOCOL

HEAD_LIMIT = 256 * 1024
_LINE_LIMIT = 64 * 1024
_HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "transfer-encoding", "upgrade")
)
# A page's origin is judged here; the server would not know it. Browsers keep cookies for a host, whatever the port:
# those of other programs on this machine are not for the server, nor its own for them.
_OURS = frozenset(("host", "authorization", "origin", "content-length", "cookie"))
_THEIRS = frozenset(("content-length", "set-cookie"))
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")

Pairs = list[tuple[str, str]]


class Malformed(ProtocolError):
    """A body whose chunks cannot be read."""


class Body(Framing):
    """Where a body ends, strictly: `feed` raises Malformed for chunks that are none."""

    def feed(self, data: bytes, tell: object = None) -> int:
        """How many of these bytes belong to the body; `tell` is given the payload."""
        used = super().feed(data, tell) if callable(tell) else super().feed(data)
        if len(self._line) > _LINE_LIMIT:
            raise Malformed("malformed chunked encoding (a line that does not end)")
        return used

    def _ended(self, line: bytes) -> None:
        size = line.partition(b";")[0].strip()
        if (self._part == "size" and not _SIZE.fullmatch(size)) or (self._part == "end" and line):
            raise Malformed("malformed chunked encoding")
        super()._ended(line)


class Asked(NamedTuple):
    """A request's head. `old`: HTTP/1.0. `keeps`: the client may ask again on this connection."""

    method: str
    target: str
    headers: Pairs
    body: Body
    upgrade: str
    old: bool
    keeps: bool

    def header(self, name: str) -> str | None:
        """The values of a header (lower case) joined, None without one."""
        return _value(self.headers, name)

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again unseen, where an idle connection turns out to be dead."""
        return self.method in ("GET", "HEAD", "OPTIONS") and self.body.over and not self.upgrade


class Said(NamedTuple):
    """An answer's head. `keeps`: the server's connection may be used again."""

    status: int
    reason: str
    headers: Pairs
    body: Body
    keeps: bool

    @property
    def interim(self) -> bool:
        """Whether another head follows."""
        return 100 <= self.status < 200 and self.status != 101


class Refusal(NamedTuple):
    """Why a request is not passed on."""

    code: int
    phrase: str
    text: str


def read_request(raw: bytes) -> Asked:
    """A whole head. Raises ProtocolError."""
    reader = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_LIMIT)
    try:
        reader.receive_data(raw)
        event = reader.next_event()
    except h11.RemoteProtocolError as error:
        raise ProtocolError(f"not an HTTP/1.1 request: {str(error).partition(':')[0]}") from None
    # A line end without CR may have ended the head before its end.
    if not isinstance(event, h11.Request) or reader.trailing_data[0]:
        raise ProtocolError("not an HTTP/1.1 request")
    pairs = _pairs(event)
    old = event.http_version < b"1.1"
    if _value(pairs, "transfer-encoding") is not None and (old or _value(pairs, "content-length") is not None):
        raise ProtocolError("not an HTTP/1.1 request: two ways to find the end of its body")
    options = _options(pairs)
    upgrade = (_value(pairs, "upgrade") or "").strip() if "upgrade" in options and not old else ""
    if not kind_of(upgrade):  # h2c: what is not passed on
        upgrade = ""
    keeps = not old and "close" not in options
    return Asked(event.method.decode(), event.target.decode(), pairs, _body(pairs, 0), upgrade, old, keeps)


def read_answer(raw: bytes, asked: Asked) -> Said:
    """A whole head. Raises ProtocolError."""
    if not raw.startswith(b"HTTP/1."):
        raise ProtocolError("malformed HTTP response")
    reader = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
    proposed = [("Connection", "Upgrade"), ("Upgrade", asked.upgrade)] if asked.upgrade else []
    reader.send(h11.Request(method=asked.method, target="/", headers=[("Host", "x"), *proposed]))
    reader.send(h11.EndOfMessage())
    try:
        reader.receive_data(raw)
        event = reader.next_event()
    except h11.RemoteProtocolError as error:
        raise ProtocolError(f"malformed HTTP response ({str(error).partition(':')[0]})") from None
    if not isinstance(event, (h11.Response, h11.InformationalResponse)) or reader.trailing_data[0]:
        raise ProtocolError("malformed HTTP response")
    pairs = _pairs(event)
    status = event.status_code
    if status == 101:
        body = Body(-1)
    elif asked.method == "HEAD" or status < 200 or status in (204, 304):
        body = Body(0)
    else:
        body = _body(pairs, -1)
    keeps = event.http_version >= b"1.1" and "close" not in _options(pairs) and not body.until_the_end
    return Said(status, bytes(event.reason).decode("latin-1"), pairs, body, keeps)


def for_server(
    asked: Asked,
    *,
    host: str,
    prefix: str,
    added: Iterable[tuple[str, str]],
    plain: bool,
    by_proxy: str | None = None,
) -> bytes:
    """The head as the server gets it.

    `added`: credentials; where they impersonate, nothing of the client's impersonation is left. `plain`: ask for no
    compression. `by_proxy`: the value of Proxy-Authorization (may be empty) where a proxy is sent the request.
    """
    added = list(added)
    dropped = _HOP_BY_HOP | _OURS | _options(asked.headers)
    if plain:
        dropped |= {"accept-encoding"}
    acting = any(name.lower().startswith("impersonate-") for name, _ in added)
    target = prefix + path_of(asked.target)
    if by_proxy is not None:
        target = f"http://{host}{target}"
    pairs: Pairs = [("Host", host)]
    for name, value in asked.headers:
        low = name.lower()
        if low in dropped or (acting and low.startswith("impersonate-")):
            continue
        kept = _without_bearer(value) if low == "sec-websocket-protocol" else value
        if kept or not value:
            pairs.append((name, kept))
    if plain and not asked.upgrade:
        pairs.append(("Accept-Encoding", "identity"))
    if by_proxy:
        pairs.append(("Proxy-Authorization", by_proxy))
    pairs += _framing(asked.headers, asked.body)
    if asked.upgrade:
        pairs += [("Connection", "Upgrade"), ("Upgrade", asked.upgrade)]
    head = [f"{asked.method} {target} HTTP/1.1".encode("latin-1")]
    head += [f"{name}: {value}".encode("latin-1") for name, value in pairs]
    head += [f"{name}: {value}".encode() for name, value in added]
    return b"\r\n".join((*head, b"", b""))


def for_client(said: Said, asked: Asked, *, keeps: bool, prefix: str, server: str, added: Pairs | None = None) -> bytes:
    """The head as the client gets it.

    `keeps`: the connection stays. `server`: its URL, without the prefix. `added`: headers of this proxy's own.
    """
    switching = said.status == 101
    dropped = _HOP_BY_HOP | _THEIRS | _options(said.headers)
    pairs: Pairs = []
    for name, value in said.headers:
        if name.lower() not in dropped and not name.lower().startswith("access-control-"):
            pairs.append((name, _location(value, prefix, server) if name.lower() == "location" else value))
    if not (asked.old and said.body.chunked):
        pairs += _framing(said.headers, said.body)
    if switching:
        pairs += [("Connection", "Upgrade"), ("Upgrade", _value(said.headers, "upgrade") or "")]
    elif not said.interim:
        pairs += added or []
        pairs += [] if keeps else [("Connection", "close")]
    lines = [f"HTTP/1.1 {said.status} {said.reason}", *(f"{name}: {value}" for name, value in pairs), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def own_answer(
    why: Refusal, *, head_only: bool = False, asked: Asked | None = None, added: Iterable[tuple[str, str]] = ()
) -> bytes:
    """A failure of this proxy, as the API server tells its own: a `metav1.Status`. It ends the connection.

    Plain text where `asked` is client-go's discovery, which shows no other reason than that. `added`: more headers.
    """
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"rawkube proxy: {why.text}",
        "reason": why.phrase.replace(" ", ""),
        "code": why.code,
    }
    body, media = json.dumps(status).encode() + b"\n", "application/json"
    if asked is not None and "apidiscovery.k8s.io" in (asked.header("accept") or ""):
        body, media = f"rawkube proxy: {why.text}\n".encode(), "text/plain; charset=utf-8"
    head = f"HTTP/1.1 {why.code} {why.phrase}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in added)
    return head.encode("latin-1") + b"Connection: close\r\n\r\n" + (b"" if head_only else body)


def path_of(target: str) -> str:
    """A target without the scheme and the host that it may have."""
    match = _ABSOLUTE.match(target)
    path = target[match.end() :] if match else target
    return "/" + path if match and not path.startswith("/") else path


def _location(value: str, prefix: str, server: str) -> str:
    """Where a redirect leads, as seen from this side; elsewhere stays elsewhere."""
    path = value.removeprefix(server) if value.startswith(server + "/") else value
    return path[len(prefix) :] if path.startswith(prefix + "/") else path


def _without_bearer(value: str) -> str:
    words = [word.strip() for word in value.split(",")]
    return ", ".join(word for word in words if not word.lower().startswith(BEARER_SUBPROTOCOL))


def _framing(pairs: Pairs, body: Body) -> Pairs:
    if body.chunked:
        return [("Transfer-Encoding", "chunked")]
    length = _value(pairs, "content-length")
    return [] if length is None else [("Content-Length", length)]


def _body(pairs: Pairs, unsaid: int) -> Body:
    if _value(pairs, "transfer-encoding") is not None:
        return Body(-1, chunked=True)  # h11 takes no other coding
    length = _value(pairs, "content-length")
    return Body(unsaid if length is None else int(length))


def _pairs(event: h11.Request | h11.Response | h11.InformationalResponse) -> Pairs:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()]


def _value(pairs: Pairs, name: str) -> str | None:
    values = [value for key, value in pairs if key.lower() == name]
    if name == "content-length":  # several that are the same are one (RFC 9110, section 8.6)
        values = values[:1]
    return ", ".join(values) if values else None


def _options(pairs: Pairs) -> frozenset[str]:
    """What Connection names."""
    return frozenset(word.strip().lower() for word in (_value(pairs, "connection") or "").split(","))
