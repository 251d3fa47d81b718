"""Pure: what passed on connections, piece by piece → what happened, in the words of HTTP, watch and channels.

    conversation = Conversation()
    for piece in recording:
        for happening in conversation.feed(piece.conn, piece.t, piece.side, piece.data):
            ...

Serves a recording that is read, a command that is traced, and a proxy that looks on. Nothing that comes in raises. The
kinds, and what their data holds:

    request        method, target, headers [(name, value)]
    request-end    size (bytes of the body), body (its beginning)
    response       status, reason, headers, seconds (since the request)
    chunk          size (bytes of one read's payload), data (the same, decoded)
    watch          type, object (as decoded), of (Kind), name (NAMESPACE/NAME), resourceVersion, changes [str]
    undecodable    text: what comes on a watch is no event from here on
    response-end   size (as sent), body (the beginning, decoded), seconds
    upgrade        protocol (the WebSocket subprotocol; SPDY/3.1 and the like as they are), websocket (bool)
    frame          opcode, final, size
    message        channel (int, None: none), name, size, data (the beginning), text (bool)
    status         what the error channel said: exit_code, line, reason
    ping, pong     data; of a pong: seconds since the ping
    close          code, reason
    raw            size, data (the beginning), what: bytes that cannot be read further
    end            error (how that side broke, may be empty), inside (what was cut off, may be empty)
"""

from __future__ import annotations

import base64
import json
from collections import deque
from urllib.parse import parse_qsl

from rawkube._typing import Any, NamedTuple
from rawkube.api.changes import CLOCKWORK, NOISE, changes, one_line_of
from rawkube.api.objects import Object, metadata_of
from rawkube.api.watch import WatchDecoder, WatchEvent
from rawkube.errors import RawkubeError
from rawkube.observe.messages import CLOSE, KEPT, OPCODES, PING, PONG, Frame, Message, MessageReader
from rawkube.remotecommand import protocols, result
from rawkube.remotecommand.protocols import ERROR, HALF_CLOSE, RESIZE, STDERR, STDIN, STDOUT
from rawkube.remotecommand.result import ExitCode, Failure, Result
from rawkube.wire.body import Inflater, inflater
from rawkube.wire.framing import Framing, Head

CLIENT, SERVER = "client", "server"
CHANNELS = {STDIN: "stdin", STDOUT: "stdout", STDERR: "stderr", ERROR: "error", RESIZE: "resize", HALF_CLOSE: "close"}
_SET_ASIDE = (*NOISE, *CLOCKWORK)
_HEAD_LIMIT = 1024 * 1024
_LIST_LIMIT = 8 * 1024 * 1024
# Of the objects that are remembered, as bytes of JSON; in memory they take some four times as much.
_OBJECTS_LIMIT = 16 * 1024 * 1024
_SESSION = "a session"  # a WebSocket that neither side has closed (RFC 6455, section 7.1.5: code 1006)


class Happening(NamedTuple):
    """One thing that happened. `t`: seconds, of the piece that completed it; `side`: who did it."""

    kind: str
    conn: int
    t: float
    side: str
    data: dict[str, Any]


class Conversation:
    """All connections together, since what an object was before may have been told on another one."""

    def __init__(self) -> None:
        self._connections: dict[int, _Connection] = {}
        self._objects = _Objects()

    def feed(self, conn: int, t: float, side: str, data: bytes) -> list[Happening]:
        """Bytes that one side of a connection sent."""
        if conn not in self._connections:
            self._connections[conn] = _Connection(conn, self._objects)
        return self._connections[conn].feed(t, side, data)

    def end(self, conn: int, t: float, side: str, error: str = "") -> list[Happening]:
        """One side has ended, or broken."""
        connection = self._connections.get(conn)
        if connection is None:
            return [Happening("end", conn, t, side, {"error": error, "inside": ""})]
        said = connection.end(t, side, error)
        if connection.over:
            del self._connections[conn]
        return said


class WebSocket:
    """One WebSocket, from behind its handshake. `protocol`: its subprotocol, empty for none."""

    def __init__(self, protocol: str) -> None:
        self._connection = _Connection(0, _Objects())
        self._connection.switch(protocol, websocket=True)

    def feed(self, t: float, side: str, data: bytes) -> list[Happening]:
        """What these bytes of one side complete."""
        return self._connection.feed(t, side, data)


class _Objects:
    """The last state of every object that was shown, so that an event tells what has changed.

    Beyond a bound the object that has not changed for the longest time is forgotten.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], tuple[Object, int]] = {}
        self._size = 0

    def _remember(self, key: tuple[str, str, str], item: Object) -> None:
        try:
            size = len(json.dumps(item))
        except (ValueError, RecursionError):
            return
        self._known[key] = item, size
        self._size += size
        while self._size > _OBJECTS_LIMIT:
            self._forget(next(iter(self._known)))

    def _forget(self, key: tuple[str, str, str]) -> Object | None:
        item, size = self._known.pop(key, (None, 0))
        self._size -= size
        return item

    def changed(self, kind: str, item: Object) -> list[str]:
        """What an event changes; nothing where the object was not known."""
        key = _key(item)
        before = self._forget(key)
        if kind in ("ADDED", "MODIFIED"):
            self._remember(key, item)
        if before is None or kind == "DELETED":
            return []
        return [one_line_of(change) for change in changes(before, item, without=_SET_ASIDE)]

    def listed(self, listing: Object) -> None:
        """The items of a list are known from now on."""
        items = listing.get("items")
        kind = str(listing.get("kind") or "").removesuffix("List")
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict):
                # Servers leave out what the list says.
                whole = {"kind": kind, "apiVersion": listing.get("apiVersion"), **item}
                self._forget(_key(whole))
                self._remember(_key(whole), whole)


def _key(item: Object) -> tuple[str, str, str]:
    metadata = metadata_of(item)
    return str(item.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


class _Asked(NamedTuple):
    method: str
    target: str
    t: float
    protocols: str


class _Connection:
    """One connection: HTTP/1.1 one after the other, then perhaps another protocol."""

    def __init__(self, conn: int, objects: _Objects) -> None:
        self.conn = conn
        self.objects = objects
        self.asked: deque[_Asked] = deque()
        self._sides = {CLIENT: _Side(self, CLIENT), SERVER: _Side(self, SERVER)}
        self._ended: set[str] = set()

    @property
    def over(self) -> bool:
        """Whether both sides have ended."""
        return len(self._ended) == len(self._sides)

    def feed(self, t: float, side: str, data: bytes) -> list[Happening]:
        return [Happening(kind, self.conn, t, side, facts) for kind, facts in self._sides[side].feed(t, data)]

    def end(self, t: float, side: str, error: str) -> list[Happening]:
        self._ended.add(side)
        said = self._sides[side].ended(t)
        inside = self._sides[side].inside
        if inside == _SESSION and self.over:
            inside = ""  # the other side has ended it
        said.append(("end", {"error": error, "inside": inside}))
        return [Happening(kind, self.conn, t, side, facts) for kind, facts in said]

    def switch(self, protocol: str, websocket: bool) -> None:
        channels = _Channels(protocol) if websocket else None
        for side in self._sides.values():
            side.switch(channels)


_Said = list[tuple[str, dict[str, Any]]]


class _Side:
    """One direction of a connection."""

    def __init__(self, connection: _Connection, side: str) -> None:
        self._connection = connection
        self._side = side
        self._held = b""
        self._framing: Framing | None = None
        self._body: _Body | None = None
        self._switched = False
        self._lost = False
        self._channels: _Channels | None = None
        self._messages = MessageReader()

    @property
    def inside(self) -> str:
        """What would be cut off if the side ended here."""
        if self._switched:
            unclosed = self._channels is not None and not self._channels.closed
            return "a frame or message" if self._messages.inside else _SESSION if unclosed else ""
        if self._framing is not None:
            return "" if self._framing.until_the_end else "a body"
        return "a head" if self._held else ""

    def switch(self, channels: _Channels | None) -> None:
        self._switched = True
        self._channels = channels
        self._lost = channels is None

    def feed(self, t: float, data: bytes) -> _Said:
        found: _Said = []
        rest = data
        while rest:
            if self._lost:
                return [*found, _raw(rest)]
            if self._switched:
                return [*found, *self._framed(t, rest)]
            said, rest = self._head(t, rest) if self._framing is None else self._in_body(t, rest)
            found += said
        return found

    def ended(self, t: float) -> _Said:
        if self._framing is not None and self._framing.until_the_end and self._body is not None:
            return self._end_body(t)
        return []

    def _head(self, t: float, data: bytes) -> tuple[_Said, bytes]:
        self._held += data
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            if self._is_http(self._held) and len(self._held) <= _HEAD_LIMIT:
                return [], b""
            return self._not_http(), b""
        raw, rest = self._held[: end + 4], self._held[end + 4 :]
        if not self._is_http(raw):
            return self._not_http(), b""
        self._held = b""
        head = Head(raw)
        said = self._request(t, head) if self._side == CLIENT else self._response(t, head)
        return said, rest

    def _is_http(self, start: bytes) -> bool:
        return start[:1].isalpha() if self._side == CLIENT else start.startswith(b"HTTP/"[: len(start)])

    def _not_http(self) -> _Said:
        held, self._held = self._held, b""
        self._lost = True
        return [_raw(held)]

    def _request(self, t: float, head: Head) -> _Said:
        method, _, rest = head.start.partition(" ")
        target = rest.rpartition(" ")[0] or rest
        self._connection.asked.append(_Asked(method, target, t, head.value("sec-websocket-protocol")))
        said: _Said = [("request", {"method": method, "target": target, "headers": head.pairs})]
        return said + self._enter(t, head.framing(0), _Body("request-end", t, head))

    def _response(self, t: float, head: Head) -> _Said:
        code = head.start[9:12]
        status = int(code) if code.isascii() and code.isdigit() else 0
        informational = 100 <= status < 200 and status != 101
        asked = self._asked(t, keep=informational)
        facts = {"status": status, "reason": head.start[13:], "headers": head.pairs, "seconds": t - asked.t}
        said: _Said = [("response", facts)]
        if status == 101:
            websocket = "websocket" in head.value("upgrade").lower()
            protocol = head.value("sec-websocket-protocol") if websocket else head.value("upgrade")
            self._connection.switch(protocol, websocket)
            return [*said, ("upgrade", {"protocol": protocol, "websocket": websocket})]
        if informational:
            return said
        empty = asked.method == "HEAD" or status in (204, 304)
        watched = 200 <= status < 300 and is_watch(asked.target)
        body = _Body("response-end", asked.t, head, self._connection.objects, watched=watched)
        return said + self._enter(t, Framing(0) if empty else head.framing(-1), body)

    def _asked(self, t: float, *, keep: bool) -> _Asked:
        asked = self._connection.asked
        if not asked:
            return _Asked("", "", t, "")
        return asked[0] if keep else asked.popleft()

    def _enter(self, t: float, framing: Framing, body: _Body) -> _Said:
        if framing.over:
            return body.end(t)
        self._framing, self._body = framing, body
        return []

    def _in_body(self, t: float, data: bytes) -> tuple[_Said, bytes]:
        assert self._framing is not None
        assert self._body is not None
        payload: list[bytes] = []
        used = self._framing.feed(data, payload.append)
        said = self._body.add(b"".join(payload))
        if self._framing.over:
            said += self._end_body(t)
        return said, data[used:]

    def _end_body(self, t: float) -> _Said:
        assert self._body is not None
        said = self._body.end(t)
        self._framing = self._body = None
        return said

    def _framed(self, t: float, data: bytes) -> _Said:
        assert self._channels is not None
        said: _Said = []
        for one in self._messages.feed(data):
            said += self._channels.frame(t, self._side, one) if isinstance(one, Frame) else []
            said += self._channels.message(one) if isinstance(one, Message) else []
        return said


def _raw(data: bytes) -> tuple[str, dict[str, Any]]:
    what = "TLS" if data[:1] == b"\x16" else "SPDY" if data[:1] == b"\x80" else ""
    return "raw", {"size": len(data), "data": data[:KEPT], "what": what}


def is_watch(target: str) -> bool:
    """Whether a request with this target is for a watch."""
    path, _, query = target.partition("?")
    values = [value for name, value in parse_qsl(query, keep_blank_values=True) if name == "watch"]
    return "/watch/" in path or any(value.lower() not in ("0", "false", "f") for value in values)


class _Body:
    """A body while it passes: counted, decoded, its beginning kept; a watch read event by event."""

    def __init__(
        self, kind: str, since: float, head: Head, objects: _Objects | None = None, *, watched: bool = False
    ) -> None:
        self._kind = kind
        self._since = since
        self._objects = objects
        self._is_json = "json" in head.value("content-type")
        self._kept = bytearray()
        self._size = 0
        self._limit = _LIST_LIMIT if objects is not None and self._is_json and not watched else KEPT
        self._watched = watched
        self._watch = WatchDecoder() if watched and self._is_json else None
        self._inflater = _quietly_inflater(head.value("content-encoding"))

    def add(self, data: bytes) -> _Said:
        if not data:
            return []
        self._size += len(data)
        plain = self._decoded(data)
        said: _Said = [("chunk", {"size": len(data), "data": plain})] if self._kind == "response-end" else []
        self._kept += plain[: max(0, self._limit - len(self._kept))]
        if self._watch is not None:
            said += self._events(plain)
        return said

    def _decoded(self, data: bytes) -> bytes:
        if self._inflater is None:
            return data
        try:
            self._inflater.feed(data)
            found = bytearray()
            while piece := self._inflater.take():
                found += piece
        except RawkubeError:
            return b""
        return bytes(found)

    def _events(self, plain: bytes | None) -> _Said:
        """What a piece of a watch, or its end (None), completes; what is no event ends the reading."""
        assert self._watch is not None
        error: RawkubeError | None = None
        try:
            events = self._watch.end() if plain is None else self._watch.feed(plain)
        except RawkubeError as raised:
            events, error = [], raised
        said: _Said = [("watch", self._event(event)) for event in events]
        error = error or self._watch.error
        if error is not None:
            self._watch = None
            said.append(("undecodable", {"text": str(error)}))
        return said

    def _event(self, event: WatchEvent) -> dict[str, Any]:
        assert self._objects is not None
        _, namespace, name = _key(event.object)
        return {
            "type": event.type,
            "object": event.object,
            "of": str(event.object.get("kind") or ""),
            "name": f"{namespace}/{name}" if namespace else name,
            "resourceVersion": event.resource_version,
            "changes": self._objects.changed(event.type, event.object),
        }

    def end(self, t: float) -> _Said:
        said = self._events(None) if self._watch is not None else []
        if self._objects is not None and self._is_json and not self._watched and self._size:
            self._remember()
        facts: dict[str, Any] = {"size": self._size, "body": bytes(self._kept[:KEPT])}
        if self._kind == "response-end":
            facts["seconds"] = t - self._since
        return [*said, (self._kind, facts)]

    def _remember(self) -> None:
        assert self._objects is not None
        try:
            listing = json.loads(self._kept)
        except (ValueError, RecursionError):
            return
        if isinstance(listing, dict) and str(listing.get("kind") or "").endswith("List"):
            self._objects.listed(listing)


def _quietly_inflater(coding: str) -> Inflater | None:
    try:
        return inflater(coding) if coding else None
    except RawkubeError:
        return None


def _reason(ended: Result) -> str:
    """The reason of a Status, empty for success and for what is no Status."""
    if isinstance(ended, ExitCode):
        return "NonZeroExitCode"
    return str(ended.status.get("reason") or "") if isinstance(ended, Failure) and ended.status else ""


class _Channels:
    """What the frames of both sides mean in one subprotocol."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocols.find(protocol)
        self._pings: dict[tuple[str, bytes], float] = {}
        self._error = bytearray()
        self.closed = False  # by either side

    def frame(self, t: float, side: str, frame: Frame) -> _Said:
        name = OPCODES.get(frame.opcode, str(frame.opcode))
        said: _Said = [("frame", {"opcode": name, "final": frame.final, "size": frame.size})]
        if frame.opcode == CLOSE:
            self.closed = True
            code = int.from_bytes(frame.data[:2], "big") if len(frame.data) > 1 else 1005
            return [*said, ("close", {"code": code, "reason": frame.data[2:].decode("utf-8", "replace")})]
        if frame.opcode == PING:
            self._pings[side, frame.data] = t
            return [*said, ("ping", {"data": frame.data})]
        if frame.opcode == PONG:
            other = SERVER if side == CLIENT else CLIENT
            since = self._pings.pop((other, frame.data), None)
            return [*said, ("pong", {"data": frame.data, "seconds": None if since is None else t - since})]
        return said

    def message(self, message: Message) -> _Said:
        channel, data, size = self._split(message)
        name = CHANNELS.get(channel, "") if channel is not None else ""
        facts = {"channel": channel, "name": name, "size": size, "data": data, "text": message.text}
        said: _Said = [("message", facts)]
        if channel == ERROR and self._protocol is not None and data:
            self._error += data[: KEPT - len(self._error)]
            if not self._protocol.json_status or result.holds_status(self._protocol, bytes(self._error)):
                ended = result.decode(self._protocol, bytes(self._error))
                said.append(("status", {"exit_code": ended.exit_code, "line": ended.line, "reason": _reason(ended)}))
        return said

    def _split(self, message: Message) -> tuple[int | None, bytes, int]:
        if self._protocol is None or not message.data:
            return None, message.data, message.size
        first, rest = message.data[0], message.data[1:]
        if not self._protocol.base64:
            return first, rest, message.size - 1
        try:
            data = base64.b64decode(rest[: len(rest) // 4 * 4])
        except ValueError:
            data = rest
        return (first - 0x30) & 0xFF, data, (message.size - 1) * 3 // 4 - rest[-2:].count(b"=")
