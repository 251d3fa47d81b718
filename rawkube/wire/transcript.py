"""Pure: what passes on one connection, as it may be shown. Secrets are taken out, WebSocket masks undone.

Bytes of both sides go in as they were read or sent, pieces come out, cut at the same places as far as nothing has to be
held: a head or a trailer section is held until it is whole, a body that may hold secrets until its end (a line of a
watch until its own). HTTP/1.1 framing is followed as far as that needs (RFC 9112, section 6); what cannot be read as
HTTP passes as it is if the server sent it, and is left out if it is the client's, whose head may hold a credential.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from rawkube._typing import NamedTuple
from rawkube.wire import redact_body
from rawkube.wire.frame_mask import ZeroMask
from rawkube.wire.framing import Framing, Head, trailer
from rawkube.wire.redact import MASK
from rawkube.wire.secret_body import SecretBody

CLIENT, SERVER = "client", "server"
_HEAD_END = re.compile(rb"\n\r?\n")
HEAD_LIMIT = 1024 * 1024
"""The largest head that is looked at, in bytes."""

_LEFT_OUT = b"\x81\x0a" + MASK.encode()  # a text frame in place of all that follow


class Piece(NamedTuple):
    """What one side sent. `redacted`: it is not what was on the wire."""

    side: str
    data: bytes
    redacted: bool = False


class Asked(NamedTuple):
    """What the answer to a request depends on."""

    method: str
    secret: str  # of redact_body


class Transcript:
    """One connection. `secrets`: pass everything on as it is, but for the masks."""

    def __init__(self, *, secrets: bool = False) -> None:
        self._asked: deque[Asked] = deque()
        self._client = _Client(self._asked, secrets)
        self._server = _Server(self._asked, secrets, self._client)

    def client(self, data: bytes) -> list[Piece]:
        """Bytes that the client sent."""
        return self._client.feed(data)

    def server(self, data: bytes) -> list[Piece]:
        """Bytes that the server sent."""
        return self._server.feed(data)

    def end(self, side: str) -> list[Piece]:
        """That side has ended: what was held comes out, as far as it may."""
        return (self._client if side == CLIENT else self._server).end()


class _Side:
    """One direction: heads, bodies, then perhaps another protocol."""

    side = ""

    # What differs between the sides.
    _looks_right: Callable[[bytes], bool]
    _not_http: Callable[[], list[Piece]]
    _cut_head: Callable[[bytes], Piece]
    _begin: Callable[[bytes], list[Piece]]

    def __init__(self, asked: deque[Asked], secrets: bool) -> None:
        self._asked = asked
        self._secrets = secrets
        self._held = bytearray()
        self._state = self._head
        self._frame = Framing(0)
        self._secret: SecretBody | None = None
        self._rest = b""

    def feed(self, data: bytes) -> list[Piece]:
        """Take bytes, give what can be shown."""
        found: list[Piece] = []
        self._rest = data
        while self._rest:
            found += self._state()
        return found

    def end(self) -> list[Piece]:
        """What is held at the end of the stream."""
        if self._secret is not None:
            secret, self._secret = self._secret, None
            return [Piece(self.side, secret.finish(), True)]
        held, self._held = bytes(self._held), bytearray()
        if not held:
            return []
        if self._state == self._trailer:
            return [self._cut_trailer(held)]
        return [self._cut_head(held)]

    def _cut_trailer(self, held: bytes) -> Piece:
        whole, end, _ = held.rpartition(b"\n")  # a line that was cut may be a credential
        return Piece(self.side, trailer(whole + end)[0], True)

    def _take(self) -> bytes:
        rest, self._rest = self._rest, b""
        return rest

    def _piece(self, data: bytes, redacted: bool = False) -> list[Piece]:
        return [Piece(self.side, data, redacted)] if data else []

    # The states. Each takes something off `_rest`.

    def _head(self) -> list[Piece]:
        self._held += self._take()
        ended = _HEAD_END.search(self._held)
        if ended is None:
            if len(self._held) > HEAD_LIMIT or not self._looks_right(bytes(self._held[:16])):
                return self._not_http()
            return []
        end = ended.end()
        head, self._rest = bytes(self._held[:end]), bytes(self._held[end:])
        self._held.clear()
        if not self._looks_right(head):
            self._held += head
            return self._not_http()
        return self._begin(head)

    def _body(self) -> list[Piece]:
        """A body that holds no secret: passed on as it comes, up to its end."""
        data = self._take()
        used = self._frame.feed(data)
        self._rest = data[used:]
        found = self._piece(data[:used])
        if self._frame.trailer_at >= 0 and not self._secrets:
            found = self._begin_trailer(data[: self._frame.trailer_at], data[self._frame.trailer_at : used])
        if self._frame.over:
            self._next()
        return found

    def _begin_trailer(self, body: bytes, section: bytes) -> list[Piece]:
        """A trailer section that has come whole passes together with the body's end; else it is held."""
        if self._frame.over:
            shown, changed = trailer(section)
            return self._piece(body + shown, changed)
        self._held += section
        self._state = self._trailer
        return self._piece(body)

    def _trailer(self) -> list[Piece]:
        data = self._take()
        used = self._frame.feed(data)
        self._held += data[:used]
        self._rest = data[used:]
        if self._frame.over:
            held, self._held = bytes(self._held), bytearray()
            self._next()
            return self._piece(*trailer(held))
        if len(self._held) > HEAD_LIMIT:
            self._held.clear()
            self._state = self._left_out
            return [Piece(self.side, b"", True)]
        return []

    def _secret_body(self) -> list[Piece]:
        assert self._secret is not None
        data = self._take()
        used = self._frame.feed(data, self._secret.add)
        self._rest = data[used:]
        if not self._frame.over:
            return self._piece(self._secret.lines(), True)
        secret, self._secret = self._secret, None
        self._next()
        return self._piece(secret.finish(), True)

    def _as_it_is(self) -> list[Piece]:
        return self._piece(self._take())

    def _left_out(self) -> list[Piece]:
        self._take()
        return []

    def _next(self) -> None:
        self._state = self._head

    def _enter(self, head: Head, secret: str, framing: Framing) -> list[Piece]:
        """Go on to the body behind a head; gives the head, or holds it where the body changes its length."""
        self._frame = framing
        shown, changed = (head.raw, False) if self._secrets else head.redacted()
        if framing.over:
            self._next()
            return self._piece(shown, changed)
        if not secret or self._secrets:
            self._state = self._body
            return self._piece(shown, changed)
        self._state = self._secret_body
        self._secret = SecretBody(head, shown, framing, login=secret == redact_body.LOGIN)
        return self._piece(self._secret.head_now(), True)


class _Client(_Side):
    side = CLIENT

    def __init__(self, asked: deque[Asked], secrets: bool) -> None:
        super().__init__(asked, secrets)
        self._mask = ZeroMask()

    def switch(self, *, websocket: bool, secret: bool) -> None:
        """The server has switched protocols. `secret`: what follows is objects that hold secrets."""
        if self._state == self._trailer:  # which will not be whole any more
            self._held.clear()
        self._state = self._left_out if secret else self._frames if websocket else self._as_it_is

    def _frames(self) -> list[Piece]:
        return self._piece(self._mask.feed(self._take()))

    def _looks_right(self, start: bytes) -> bool:
        # A method is letters (RFC 9110, section 9.1); TLS and SOCKS begin with other bytes.
        return start[:1].isalpha()

    def _not_http(self) -> list[Piece]:
        self._held.clear()
        self._state = self._left_out
        return [Piece(self.side, b"", True)]

    def _cut_head(self, held: bytes) -> Piece:
        whole, end, _ = held.rpartition(b"\n")  # a line that was cut may be a credential
        return Piece(self.side, Head(whole + end).redacted()[0], True)

    def _begin(self, raw: bytes) -> list[Piece]:
        head = Head(raw)
        method, _, rest = head.start.partition(" ")
        target = rest.rpartition(" ")[0]
        secret = redact_body.secrets_of(target, head.value("content-type"))
        self._asked.append(Asked(method, secret))
        return self._enter(head, secret, head.framing(0))

    def end(self) -> list[Piece]:
        """As above; the start of a frame is shown too."""
        return super().end() + self._piece(self._mask.end())


class _Server(_Side):
    side = SERVER

    def __init__(self, asked: deque[Asked], secrets: bool, client: _Client) -> None:
        super().__init__(asked, secrets)
        self._other = client
        self._had_secret = False

    def _looks_right(self, start: bytes) -> bool:
        return start.startswith(b"HTTP/"[: len(start)])

    def _not_http(self) -> list[Piece]:
        held, self._held = bytes(self._held), bytearray()
        if self._had_secret:  # the rest of a body that is longer than its head says
            self._state = self._left_out
            return [Piece(self.side, b"", True)]
        self._state = self._as_it_is
        return self._piece(held)

    def _cut_head(self, held: bytes) -> Piece:
        whole, end, _ = held.rpartition(b"\n")
        return Piece(self.side, Head(whole + end).redacted()[0] if whole else held, bool(whole))

    def _begin(self, raw: bytes) -> list[Piece]:
        head = Head(raw)
        code = head.start[9:12]
        status = int(code) if code.isascii() and code.isdigit() else 0
        if status == 101:
            websocket = "websocket" in head.value("upgrade").lower()
            secret = bool(self._asked and self._asked[0].secret) and not self._secrets
            self._state = self._left_out if secret else self._as_it_is
            self._other.switch(websocket=websocket, secret=secret)
            shown = self._piece(head.raw if self._secrets else head.redacted()[0])
            return [*shown, Piece(self.side, _LEFT_OUT if websocket else b"", True)] if secret else shown
        if 100 <= status < 200:
            return self._piece(*((raw, False) if self._secrets else head.redacted()))
        asked = self._asked.popleft() if self._asked else Asked("", redact_body.LOGIN)
        self._had_secret = bool(asked.secret) and not self._secrets
        empty = asked.method == "HEAD" or status in (204, 304)
        return self._enter(head, asked.secret, Framing(0) if empty else head.framing(-1))
