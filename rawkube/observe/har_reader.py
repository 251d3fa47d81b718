"""Pure: a HAR file (HTTP Archive 1.2, with the `_webSocketMessages` of Chromium) → what happened.

A HAR tells whole messages and not when their pieces came: all events of a watch have the time at which its body
ended. What a body was on the wire (chunks, compression) is not told either.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from urllib.parse import urlsplit

from rawkube._typing import Any, NamedTuple
from rawkube.errors import RecordingError
from rawkube.gotext import one_line
from rawkube.observe.conversation import CLIENT, SERVER, Conversation, Happening

_AS_TOLD = frozenset(("request", "response"))
_READ_FROM = ("content-type", "upgrade", "sec-websocket-protocol")

Fields = Mapping[str, Any]


def read_har(name: str, data: bytes) -> Iterator[Happening]:
    """What happened, in the order of time. `name` of the file, for errors. Raises RecordingError."""
    entries, description = _entries(name, data)
    yield Happening("recording", 0, 0.0, CLIENT, {"file": name, **description})
    conversation = Conversation()
    found: list[Happening] = []
    conns = _Conns()
    start = min((entry.start for entry in entries), default=0.0)
    for entry in sorted(entries, key=lambda entry: entry.start):
        conn = conns.number(entry)
        found += _told(conversation, conn, entry, start)
    yield from sorted(found, key=lambda one: one.t)


class _Entry(NamedTuple):
    """One exchange. `start`: seconds of the epoch; `waited`: until the answer began, `took`: until it ended."""

    start: float
    waited: float
    took: float
    connection: str
    request: Fields
    response: Fields
    messages: list[Any]
    error: str


def _entries(name: str, data: bytes) -> tuple[list[_Entry], dict[str, str]]:
    try:
        log = json.loads(data.decode("utf-8-sig"))["log"]
        entries = [_entry(entry) for entry in log["entries"]]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise RecordingError(f"{one_line(name)}: a HAR file that is damaged or cut") from None
    creator = _mapping(log.get("creator"))
    made = f"{creator.get('name') or ''} {creator.get('version') or ''}".strip()
    return entries, {"server": "", "client": "", "note": f"HAR {log.get('version') or ''} of {made or 'nobody'}"}


def _entry(entry: Fields) -> _Entry:
    timings = _mapping(entry.get("timings"))
    waited = sum(_number(timings.get(step)) for step in ("blocked", "dns", "connect", "send", "wait"))
    took = max(_number(entry.get("time")), waited + _number(timings.get("receive")))
    messages = entry.get("_webSocketMessages")
    return _Entry(
        datetime.fromisoformat(str(entry["startedDateTime"])).timestamp(),
        waited / 1000,
        took / 1000,
        str(entry.get("connection") or ""),
        _mapping(entry["request"]),
        _mapping(entry["response"]),
        messages if isinstance(messages, list) else [],
        str(entry.get("_error") or _mapping(entry["response"]).get("_error") or ""),
    )


def _mapping(value: object) -> Fields:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e15 else 0.0


class _Conns:
    """Numbers of connections. What overlaps on one (HTTP/2) is told as if it had been two."""

    def __init__(self) -> None:
        self._count = 0
        self._busy: dict[str, tuple[int, float]] = {}

    def number(self, entry: _Entry) -> int:
        number, until = self._busy.get(entry.connection, (0, 0.0))
        if not number or not entry.connection or entry.start < until:
            self._count += 1
            number = self._count
        end = float("inf") if entry.response.get("status") == 101 else entry.start + entry.took
        self._busy[entry.connection] = number, end
        return number


def _told(conversation: Conversation, conn: int, entry: _Entry, start: float) -> Iterator[Happening]:
    """One exchange, by way of the bytes that it may have been."""
    sent, answered = entry.start - start, entry.start - start + entry.waited
    body = _posted(entry.request)
    head = f"{entry.request.get('method') or 'GET'} {_target(entry.request)} HTTP/1.1"
    for one in conversation.feed(conn, sent, CLIENT, _message(head, entry.request, body)):
        yield _as_told(one, entry.request)
    status = entry.response.get("status")
    if not isinstance(status, int) or not 100 <= status < 1000:
        yield from conversation.end(conn, sent + entry.took, SERVER, entry.error or "no answer")
        return
    head = f"HTTP/1.1 {status} {_line(entry.response.get('statusText'))}"
    body = _content(entry.response)
    if status == 101:
        for one in conversation.feed(conn, answered, SERVER, _message(head, entry.response, None)):
            yield _as_told(one, entry.response)
        yield from _session(conversation, conn, entry, start)
        return
    raw = _message(head, entry.response, body)
    end = raw.index(b"\r\n\r\n") + 4
    for one in conversation.feed(conn, answered, SERVER, raw[:end]):
        yield _as_told(one, entry.response)
    if raw[end:]:
        ended = entry.start - start + entry.took
        yield from (one for one in conversation.feed(conn, ended, SERVER, raw[end:]) if one.kind != "chunk")


def _session(conversation: Conversation, conn: int, entry: _Entry, start: float) -> Iterator[Happening]:
    for message in entry.messages:
        fields = _mapping(message)
        opcode = fields.get("opcode")
        if not isinstance(opcode, int) or not 0 <= opcode <= 15:
            continue
        t = max(0.0, _number(fields.get("time")) - start)
        side = CLIENT if fields.get("type") == "send" else SERVER
        data = str(fields.get("data") or "").encode("utf-8", "replace")
        if opcode != 1:
            try:
                data = binascii.a2b_base64(data)
            except ValueError:
                pass  # Firefox writes text
        yield from conversation.feed(conn, t, side, _frame(opcode, data))


def _frame(opcode: int, data: bytes) -> bytes:
    """A frame without mask (RFC 6455, section 5.2)."""
    if len(data) < 126:
        length = bytes((len(data),))
    elif len(data) < 1 << 16:
        length = b"\x7e" + len(data).to_bytes(2, "big")
    else:
        length = b"\x7f" + len(data).to_bytes(8, "big")
    return bytes((0x80 | opcode,)) + length + data


def _as_told(one: Happening, fields: Fields) -> Happening:
    """A head with the headers that the file tells."""
    if one.kind not in _AS_TOLD:
        return one
    return one._replace(data={**one.data, "headers": _headers(fields)})


def _headers(fields: Fields) -> list[tuple[str, str]]:
    headers = fields.get("headers")
    pairs = [_mapping(header) for header in headers] if isinstance(headers, list) else []
    return [(str(pair.get("name")), str(pair.get("value"))) for pair in pairs]


def _line(text: object) -> str:
    return "".join(char for char in str(text or "") if char >= " ")


def _message(head: str, fields: Fields, body: bytes | None) -> bytes:
    read = [(name, value) for name, value in _headers(fields) if name.lower() in _READ_FROM]
    if body is not None:
        read.append(("content-length", str(len(body))))
    lines = [_line(head), *(f"{name}: {_line(value)}" for name, value in read), "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + (body or b"")


def _target(request: Fields) -> str:
    url = str(request.get("url") or "/")
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.replace(" ", "%20")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return target.replace(" ", "%20")


def _posted(request: Fields) -> bytes:
    return str(_mapping(request.get("postData")).get("text") or "").encode("utf-8", "replace")


def _content(response: Fields) -> bytes:
    content = _mapping(response.get("content"))
    text = str(content.get("text") or "")
    if content.get("encoding") == "base64":
        try:
            return base64.b64decode(text)
        except ValueError:
            return b""
    return text.encode("utf-8", "replace")
