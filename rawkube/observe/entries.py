"""Pure: happenings → requests with their answers, bodies together, and what each further happening belongs to.

    entries = Entries(kept=64 * 1024)
    for happening in …:
        entry = entries.add(happening)      # None: it belongs to no request

What is kept is bounded: of each body the beginning, and of all bodies together `total` bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rawkube._typing import Any
from rawkube.observe.conversation import CLIENT, Happening

Headers = Sequence[tuple[str, str]]


class Body:
    """A body: `size` bytes as sent, `plain` bytes when decoded, `data` the beginning of those."""

    __slots__ = ("data", "plain", "size")

    def __init__(self) -> None:
        self.size = 0
        self.plain = 0
        self.data = bytearray()

    @property
    def cut(self) -> bool:
        """Whether more came than was kept."""
        return len(self.data) < self.plain


class Entry:
    """One request and what came of it. Times are seconds since the start; None where it did not happen.

    `started`: the request; `sent`: its end; `answered`: the head of the answer; `ended`: the end of the answer or of
    the session; `last`: anything that belongs to it. `error`: how it broke, `inside`: what that cut off.
    `own`: room for who collects.
    """

    __slots__ = (
        *("conn", "method", "target", "headers", "body", "started", "sent"),
        *("status", "reason", "answer_headers", "answer", "answered", "ended", "last"),
        *("protocol", "websocket", "error", "inside", "own"),
    )

    def __init__(self, conn: int, t: float, method: str, target: str, headers: Headers) -> None:
        self.conn = conn
        self.method, self.target, self.headers = method, target, headers
        self.body = Body()
        self.started = self.last = t
        self.sent: float | None = None
        self.status, self.reason = 0, ""
        self.answer_headers: Headers = ()
        self.answer = Body()
        self.answered: float | None = None
        self.ended: float | None = None
        self.protocol: str | None = None
        self.websocket = False
        self.error = self.inside = ""
        self.own: list[Any] = []


class _Conn:
    """Which requests of one connection wait, which one is answered, and which one became a session."""

    def __init__(self) -> None:
        self.waiting: deque[Entry] = deque()
        self.asking: Entry | None = None
        self.answering: Entry | None = None
        self.session: Entry | None = None
        self.ended: set[str] = set()


class Entries:
    """Puts happenings in the order of time together. `all`: in the order of the requests; `left_out`: beyond `most`."""

    def __init__(self, *, kept: int, total: int, most: int) -> None:
        self.all: list[Entry] = []
        self.left_out = 0
        self._kept = kept
        self._total = total
        self._most = most
        self._conns: dict[int, _Conn] = {}

    def add(self, happening: Happening) -> Entry | None:
        """The entry that a happening belongs to."""
        if not happening.conn:
            return None
        conn = self._conns.setdefault(happening.conn, _Conn())
        take = _TAKES.get(happening.kind)
        entry = take(self, conn, happening) if take else conn.session or conn.answering
        if entry is not None:
            entry.last = max(entry.last, happening.t)
        return entry

    def room(self, wanted: int) -> int:
        """How many of so many bytes may be kept; they are counted as kept."""
        granted = min(wanted, self._total)
        self._total -= granted
        return granted

    def first_to_end(self, happening: Happening) -> bool:
        """Whether no side of this connection had ended before this `end`: what follows an end is no news."""
        return self._conns[happening.conn].ended <= {happening.side} if happening.conn in self._conns else False

    def _request(self, conn: _Conn, happening: Happening) -> Entry:
        data = happening.data
        entry = Entry(happening.conn, happening.t, data["method"], data["target"], data["headers"])
        conn.asking = entry
        conn.waiting.append(entry)
        self._know(entry)
        return entry

    def _know(self, entry: Entry) -> None:
        if len(self.all) < self._most:
            self.all.append(entry)
        else:
            self.left_out += 1

    def _request_end(self, conn: _Conn, happening: Happening) -> Entry | None:
        if conn.asking is not None:
            conn.asking.sent = happening.t
            conn.asking.body.size = conn.asking.body.plain = happening.data["size"]
            self._keep(conn.asking.body, happening.data["body"])
        return conn.asking

    def _response(self, conn: _Conn, happening: Happening) -> Entry:
        data = happening.data
        if 100 <= data["status"] < 200 and data["status"] != 101 and conn.waiting:
            return conn.waiting[0]
        if conn.waiting:
            entry = conn.waiting.popleft()
        else:  # the recording began in the middle
            entry = Entry(happening.conn, happening.t, "", "", ())
            self._know(entry)
        entry.status, entry.reason, entry.answer_headers = data["status"], data["reason"], data["headers"]
        entry.answered = happening.t
        conn.answering = entry
        return entry

    def _chunk(self, conn: _Conn, happening: Happening) -> Entry | None:
        entry, data = conn.answering, happening.data
        if entry is not None:
            entry.answer.size += data["size"]
            entry.answer.plain += len(data["data"])
            self._keep(entry.answer, data["data"])
        return entry

    def _keep(self, body: Body, data: bytes) -> None:
        room = max(0, min(self._kept - len(body.data), len(data)))
        body.data += data[: self.room(room)]

    def _response_end(self, conn: _Conn, happening: Happening) -> Entry | None:
        entry, conn.answering = conn.answering, None
        if entry is None:
            return None
        entry.ended = happening.t
        entry.error = entry.inside = ""
        if not entry.answer.plain:  # told as a whole, as by a HAR
            entry.answer.size = happening.data["size"]
            entry.answer.plain = max(entry.answer.size, len(happening.data["body"]))
            self._keep(entry.answer, happening.data["body"])
        return entry

    def _upgrade(self, conn: _Conn, happening: Happening) -> Entry | None:
        conn.session, conn.answering = conn.answering, None
        if conn.session is not None:
            conn.session.protocol = happening.data["protocol"]
            conn.session.websocket = happening.data["websocket"]
        return conn.session

    def _end(self, conn: _Conn, happening: Happening) -> Entry | None:
        first = not conn.ended - {happening.side}
        conn.ended.add(happening.side)
        entry = conn.session or conn.answering or (conn.waiting[0] if conn.waiting else None)
        if entry is not None and first and not entry.error:
            entry.error, entry.inside = _how(happening), happening.data["inside"]
        if entry is not None and conn.session is not None and entry.ended is None:
            entry.ended = happening.t
        return entry


def _how(happening: Happening) -> str:
    who = "the client" if happening.side == CLIENT else "the server"
    if happening.data["error"]:
        return f"{who}'s side broke: {happening.data['error']}"
    return f"{who} ended the connection"


_TAKES = {
    "request": Entries._request,
    "request-end": Entries._request_end,
    "response": Entries._response,
    "chunk": Entries._chunk,
    "response-end": Entries._response_end,
    "upgrade": Entries._upgrade,
    "end": Entries._end,
}
