"""Pure: what happened, with the request that each happening belongs to; what is shown of it; the same as JSON.

story = Story()
for happening in …:
    exchange = story.of(happening)
    if wanted.takes(happening, exchange) and wanted.shows(happening):
        …
"""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.errors import UsageError
from rawkube.gotext import one_line
from rawkube.observe.conversation import CHANNELS, CLIENT, Happening, is_watch
from rawkube.observe.levels import LEVELS
from rawkube.observe.trace import level_of_kind

KINDS: Mapping[str, frozenset[str]] = {
    kind: frozenset((kind,))
    for kind in (
        *("recording", "request", "request-end", "response", "chunk", "watch", "undecodable", "response-end"),
        *("upgrade", "frame", "message", "status", "ping", "pong", "close", "raw", "end"),
    )
} | {"body": frozenset(("request-end", "response-end"))}
"""What may be named to be shown, and the kinds of happenings that it means."""

_ALWAYS = "recording"


class Exchange:
    """One request and what came of it, as far as it has passed. `number`: counted from 1 over all connections."""

    __slots__ = ("conn", "first_byte", "method", "number", "status", "t", "target", "watched")

    def __init__(self, number: int, happening: Happening) -> None:
        self.number = number
        self.conn = happening.conn
        self.method: str = happening.data["method"]
        self.target: str = happening.data["target"]
        self.t = happening.t
        self.status = 0
        self.first_byte: float | None = None
        self.watched = is_watch(self.target)


class _Conn:
    """Which request the two sides of a connection are at."""

    __slots__ = ("asked", "ended", "last", "now")

    def __init__(self) -> None:
        self.asked: deque[Exchange] = deque()
        self.now: dict[str, Exchange] = {}
        self.last: Exchange | None = None
        self.ended: set[str] = set()


class Story:
    """Finds the exchange of each happening; they must be told in order."""

    def __init__(self) -> None:
        self._conns: dict[int, _Conn] = {}
        self._count = 0

    def of(self, happening: Happening) -> Exchange | None:
        """The exchange that a happening belongs to; None: to none, or to a request that was not seen."""
        if not happening.conn:
            return None
        if happening.kind == "end" and happening.conn not in self._conns:
            return None  # a side that had ended broke
        conn = self._conns.setdefault(happening.conn, _Conn())
        if happening.kind == "request":
            self._count += 1
            conn.last = Exchange(self._count, happening)
            conn.now[CLIENT] = conn.last
            conn.asked.append(conn.last)
        elif happening.kind == "response":
            _answer(conn, happening)
        found = conn.now.get(happening.side) or conn.last
        if happening.kind == "end":
            conn.ended.add(happening.side)
            if len(conn.ended) == 2:
                del self._conns[happening.conn]
        return found


def _answer(conn: _Conn, happening: Happening) -> None:
    if not conn.asked:
        return
    status = happening.data["status"]
    informational = 100 <= status < 200 and status != 101
    exchange = conn.asked[0] if informational else conn.asked.popleft()
    conn.now[happening.side] = exchange
    if not informational:
        exchange.status, exchange.first_byte = status, happening.data["seconds"]
    if status == 101:
        conn.now = dict.fromkeys(("client", "server"), exchange)


class Wanted(NamedTuple):
    """What is shown. `level`: an index of `LEVELS`; a kind or a channel that is named is shown at every level."""

    level: int = LEVELS.index("events")
    conns: frozenset[int] = frozenset()
    channels: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    path: str = ""

    def takes(self, happening: Happening, exchange: Exchange | None) -> bool:
        """Whether it passed where one wants to look: on these connections, for this path."""
        if happening.kind == _ALWAYS:
            return True
        if self.conns and happening.conn not in self.conns:
            return False
        return not self.path or (exchange is not None and self.path in exchange.target)

    def shows(self, happening: Happening) -> bool:
        """Whether a line is shown of it."""
        kind = happening.kind
        if kind == _ALWAYS:
            return not self.kinds or kind in self.kinds
        if self.channels and kind in ("message", "status"):
            return bool(_channels_of(happening) & self.channels) and (not self.kinds or kind in self.kinds)
        if self.kinds or self.channels:
            return kind in self.kinds
        return level_of_kind(kind) <= self.level

    @property
    def line_level(self) -> int:
        """The level at which a line is made, once it is shown: contents only where they are asked for."""
        return max(self.level, LEVELS.index("frames")) if self.kinds or self.channels else self.level


def _channels_of(happening: Happening) -> set[str]:
    if happening.kind == "status":
        return {"error", "3"}
    number = happening.data["channel"]
    return {happening.data["name"], "" if number is None else str(number)} - {""}


def kinds_of(names: tuple[str, ...]) -> frozenset[str]:
    """The kinds that these names mean. Raises UsageError."""
    found: frozenset[str] = frozenset()
    for name in names:
        if name not in KINDS:
            raise UsageError(f"--type {one_line(name)}: no kind of happening, there are: {', '.join(sorted(KINDS))}")
        found |= KINDS[name]
    return found


def channels_of(names: tuple[str, ...]) -> frozenset[str]:
    """The channels, by name or number. Raises UsageError."""
    for name in names:
        if name not in CHANNELS.values() and not (name.isascii() and name.isdigit()):
            raise UsageError(
                f"--channel {one_line(name)}: no channel, there are: {', '.join(CHANNELS.values())}, 0 to 255"
            )
    return frozenset(names)


def json_of(happening: Happening, exchange: Exchange | None, *, contents: bool) -> str:
    """One line of JSON, ASCII. `contents`: with the beginning of bodies and of bytes that cannot be read further."""
    line: dict[str, Any] = {"kind": happening.kind}
    if happening.conn:
        line |= {"conn": happening.conn, "t": round(happening.t, 6), "from": happening.side}
    if exchange is not None:
        line["request"] = exchange.number
    for name, value in happening.data.items():
        if not isinstance(value, bytes):
            line[name] = round(value, 6) if isinstance(value, float) else value
        elif (contents and happening.kind != "chunk") or happening.kind in ("message", "ping", "pong"):
            line |= bytes_of(name, value)
    return to_json(line)


def bytes_of(name: str, data: bytes) -> dict[str, str]:
    """`{NAME: text}`, or `{NAMEBase64: …}` where the bytes are no UTF-8."""
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode("ascii")}


def to_json(line: Mapping[str, Any]) -> str:
    """One line of ASCII; an object that has no JSON (NaN, too deep) becomes null."""
    try:
        return json.dumps(line, allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps({**line, "object": None})
