"""Pure: what happened → an HTTP Archive, HAR 1.2, as the developer tools of browsers open it.

Sessions have `_webSocketMessages` as Chromium writes them: one object a message, `data` as on the wire (with its
channel), in base64 unless it is text. Members that begin with `_` are not of HAR 1.2.

A recording knows neither the address of the server nor the date. URLs are made of the Host header and `https` (`wss`);
the date is that of the first answer's Date header, less the time that had passed; it is exact to a second.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qsl, quote

from rawkube._typing import Any
from rawkube._version import __version__
from rawkube.gotext import one_line
from rawkube.observe.conversation import CLIENT, Happening
from rawkube.observe.entries import Body, Entries, Entry, Headers
from rawkube.remotecommand import protocols

BODY = 1024 * 1024
TOTAL = 64 * 1024 * 1024
ENTRIES = 20_000
MESSAGES = 100_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = 7.0e9  # seconds that a date can be later than another one and still have four digits
_CONTROL = {"close": 8, "ping": 9, "pong": 10}  # RFC 6455, section 5.2

Json = dict[str, Any]


class Har:
    """Collects happenings, in their order. What it keeps of bodies and messages is bounded."""

    def __init__(self) -> None:
        self._entries = Entries(kept=BODY, total=TOTAL, most=ENTRIES)
        self._messages = 0
        self._left_out = 0
        self._recording: dict[str, str] = {}
        self._starts: datetime | None = None

    def add(self, happening: Happening) -> None:
        """One happening."""
        if happening.kind == "recording":
            self._recording = self._recording or dict(happening.data)
            return
        entry = self._entries.add(happening)
        if happening.kind == "response" and self._starts is None:
            self._starts = began(happening)
        if entry is not None and entry.websocket and happening.kind in ("message", *_CONTROL):
            self._message(entry, happening)

    def _message(self, entry: Entry, happening: Happening) -> None:
        if self._messages >= MESSAGES:
            self._left_out += 1
            return
        self._messages += 1
        opcode, data, size = _on_the_wire(entry.protocol or "", happening)
        kept = data[: self._entries.room(len(data))]
        text = kept.decode("utf-8", "replace") if opcode == 1 else _base64(kept)
        message: Json = {
            "type": "send" if happening.side == CLIENT else "receive",
            "time": happening.t,
            "opcode": opcode,
            "data": text,
        }
        if happening.data.get("name"):
            message["_channel"] = happening.data["name"]
        if len(kept) < size:
            message["comment"] = f"cut: the first {len(kept)} of {size} bytes"
        entry.own.append(message)

    def document(self) -> Json:
        """The archive, for `json.dumps`."""
        start = self._starts or _EPOCH
        entries = [_entry(entry, start) for entry in self._entries.all]
        log: Json = {
            "version": "1.2",
            "creator": {"name": "rawkube", "version": __version__},
            "pages": [],
            "entries": entries,
            "comment": self._comment(),
        }
        if self._recording.get("client"):
            name, _, version = self._recording["client"].rpartition(" ")
            log["browser"] = {"name": name or version, "version": version if name else ""}
        return {"log": log}

    def _comment(self) -> str:
        recording = self._recording
        said = [recording.get("note", "")]
        said.append(f"server {recording['server']}" if recording.get("server") else "")
        said.append("" if self._starts else "no answer tells the date: it begins at the epoch")
        said.append("scheme and host are those of the Host header and https")
        said.append(f"{self._entries.left_out} more requests are left out" if self._entries.left_out else "")
        said.append(f"{self._left_out} more messages are left out" if self._left_out else "")
        return "; ".join(filter(None, said))


def began(happening: Happening) -> datetime | None:
    """When the recording began, by the Date header of an answer (exact to a second)."""
    for name, value in happening.data["headers"]:
        if name.lower() == "date":
            try:
                date = parsedate_to_datetime(value)
                date = date if date.tzinfo else date.replace(tzinfo=UTC)
                return date.astimezone(UTC) - timedelta(seconds=happening.t)
            except (ValueError, TypeError, IndexError, OverflowError):
                return None
    return None


def _at(start: datetime, t: float) -> datetime:
    try:
        return start + timedelta(seconds=min(t, _LATEST))
    except OverflowError:
        return start


def _entry(entry: Entry, start: datetime) -> Json:
    sent = entry.started if entry.sent is None else entry.sent
    answered = entry.last if entry.answered is None else entry.answered
    ended = max(answered, entry.last if entry.ended is None else entry.ended)
    timings = {
        "blocked": -1,
        "dns": -1,
        "connect": -1,
        "ssl": -1,
        "send": _milliseconds(sent - entry.started),
        "wait": _milliseconds(answered - sent),
        "receive": _milliseconds(ended - answered),
    }
    found: Json = {
        "startedDateTime": _at(start, entry.started).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "time": round(timings["send"] + timings["wait"] + timings["receive"], 6),
        "request": _request(entry),
        "response": _response(entry),
        "cache": {},
        "timings": timings,
        "connection": str(entry.conn),
    }
    if entry.websocket:
        found["_resourceType"] = "websocket"
        since = start.timestamp()
        found["_webSocketMessages"] = [{**one, "time": since + one["time"]} for one in entry.own]
    if comment := _comment(entry):
        found["comment"] = comment
    return found


def _milliseconds(seconds: float) -> float:
    return round(max(0.0, seconds) * 1000, 6)


def _comment(entry: Entry) -> str:
    said = [f"WebSocket subprotocol {one_line(entry.protocol)}" if entry.websocket and entry.protocol else ""]
    if entry.protocol is not None and not entry.websocket:
        said.append(f"upgraded to {one_line(entry.protocol)}, whose bytes are not told")
    if entry.answered is None:
        said.append(f"no answer{': ' + one_line(entry.error) if entry.error else ''}")
    elif entry.ended is None:
        said.append(f"the answer did not come to its end{': ' + one_line(entry.error) if entry.error else ''}")
    return "; ".join(filter(None, said))


def _request(entry: Entry) -> Json:
    request: Json = {
        "method": entry.method,
        "url": _url(entry),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(entry.headers),
        "queryString": _query(entry.target),
        "headersSize": -1,
        "bodySize": entry.body.size if entry.sent is not None else -1,
    }
    if entry.body.size:
        request["postData"] = _post_data(entry.body, _header(entry.headers, "content-type"))
    return request


def _post_data(body: Body, media_type: str) -> Json:
    """HAR has no encoding for what is sent: bytes that are no text are in base64, and it says so."""
    text, encoding = _text(body)
    found: Json = {"mimeType": media_type, "text": text}
    said = [_cut(body)]
    if encoding:
        found["_encoding"] = encoding
        said.append("text is in base64")
    if comment := "; ".join(filter(None, said)):
        found["comment"] = comment
    return found


def _response(entry: Entry) -> Json:
    body = entry.answer
    text, encoding = _text(body)
    content: Json = {
        "size": body.plain,
        "mimeType": _header(entry.answer_headers, "content-type"),
        "text": text,
    }
    if encoding:
        content["encoding"] = encoding
    if body.plain != body.size:
        content["compression"] = body.plain - body.size
    if comment := _cut(body):
        content["comment"] = comment
    found: Json = {
        "status": entry.status,
        "statusText": entry.reason,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(entry.answer_headers),
        "content": content,
        "redirectURL": _header(entry.answer_headers, "location"),
        "headersSize": -1,
        "bodySize": body.size if entry.answered is not None else -1,
    }
    if entry.answered is None:
        found["_error"] = entry.error or "no answer"
    return found


def _text(body: Body) -> tuple[str, str]:
    """(text, encoding) of a body; a character that is cut at the end is left out."""
    try:
        return bytes(body.data).decode("utf-8"), ""
    except UnicodeDecodeError as error:
        if body.cut and error.start >= len(body.data) - 3 and error.reason == "unexpected end of data":
            return bytes(body.data[: error.start]).decode("utf-8"), ""
        return _base64(bytes(body.data)), "base64"


def _cut(body: Body) -> str:
    return f"cut: the first {len(body.data)} of {body.plain} bytes" if body.cut else ""


def _headers(pairs: Headers) -> list[Json]:
    return [{"name": name, "value": value} for name, value in pairs]


def _header(pairs: Headers, name: str) -> str:
    return next((value for key, value in pairs if key.lower() == name), "")


def _query(target: str) -> list[Json]:
    query = target.partition("?")[2]
    return [{"name": name, "value": value} for name, value in parse_qsl(query, keep_blank_values=True)]


def _url(entry: Entry) -> str:
    target = quote(entry.target, safe="/?:@!$&'()*+,;=%-._~[]")
    if target.startswith(("http://", "https://")):
        return target  # as a proxy is asked (RFC 9112, section 3.2.2)
    host = quote(_header(entry.headers, "host"), safe=":[]-._~") or "unknown.invalid"
    scheme = "wss" if entry.websocket else "https"
    return f"{scheme}://{host}{target if target.startswith('/') else '/' + target}"


def _on_the_wire(protocol: str, happening: Happening) -> tuple[int, bytes, int]:
    """(opcode, payload, its size) of a message or of a control frame, its channel put back in front of it."""
    data = happening.data
    if happening.kind == "close":
        code = b"" if data["code"] == 1005 else data["code"].to_bytes(2, "big")  # 1005: none was sent
        payload = code + data["reason"].encode("utf-8", "replace")
        return _CONTROL["close"], payload, len(payload)
    if happening.kind != "message":
        return _CONTROL[happening.kind], data["data"], len(data["data"])
    opcode = 1 if data["text"] else 2
    if data["channel"] is None:
        return opcode, data["data"], data["size"]
    known = protocols.find(protocol)
    if known is not None and known.base64:
        digit = ((data["channel"] + 0x30) & 0xFF).to_bytes(1, "big")
        return opcode, digit + base64.b64encode(data["data"]), 1 + (data["size"] + 2) // 3 * 4
    return opcode, bytes([data["channel"]]) + data["data"], data["size"] + 1


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
