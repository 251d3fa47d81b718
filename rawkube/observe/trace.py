"""What happens on the wire, a line each, for a person. Pure: events of the tap in, lines out.

    0.012  #1 → GET /apis/apps/v1/namespaces/demo/deployments?…
    0.019  #1 ← 200 OK  (6.9 ms)
    0.021  #1 ← MODIFIED Deployment demo/web rv 2141  status.updatedReplicas 1→2

First the seconds since the start, then the connection, then who spoke: `→` this side, `←` the server. What a level
shows, those before it show too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from rawkube._typing import Any
from rawkube.gotext import one_line
from rawkube.observe.bodies import object_of
from rawkube.observe.conversation import CLIENT, Conversation, Happening
from rawkube.observe.levels import DEFAULT_LEVEL, LEVELS
from rawkube.wire.tap import Event

_PREVIEW = 60
_LONGEST = 400

Data = Mapping[str, Any]


class Trace:
    """A consumer of the tap: `write` is given each line, without its end."""

    def __init__(self, write: Callable[[str], None], level: str = DEFAULT_LEVEL) -> None:
        self._write = write
        self._level = LEVELS.index(level)
        self._conversation = Conversation()

    def __call__(self, event: Event) -> None:
        """One event of the tap."""
        for happening in self._happenings(event):
            for line in lines_of(happening, self._level):
                self._write(f"{happening.t:8.3f}  {_conn(happening.conn)}{line}")

    def _happenings(self, event: Event) -> list[Happening]:
        data = event.data
        if event.kind == "bytes":
            return self._conversation.feed(event.conn, event.t, data["side"], data["data"])
        if event.kind == "eof":
            return self._conversation.end(event.conn, event.t, data["side"], data["error"])
        # What the pieces tell themselves, with more in it.
        if event.kind in ("request", "response", "chunk", "end", "watch"):
            return []
        return [Happening(f"tap {event.kind}", event.conn, event.t, CLIENT, data)]


def lines_of(happening: Happening, level: int = len(LEVELS) - 1) -> list[str]:
    """What a happening is to a person: no line, one, or several (headers). `level`: an index of LEVELS."""
    found = _LINES.get(happening.kind)
    if found is None or found[0] > level:
        return []
    arrow = "→ " if happening.side == CLIENT else "← "
    lines = list(found[1](happening.data))
    if level >= _BYTES:
        lines += _contents(happening)
    if happening.kind.startswith("tap "):
        return [cut(line) for line in lines]
    return [arrow + cut(line) for line in lines]


def level_of_kind(kind: str) -> int:
    """The level from which a kind of happening has lines; beyond all levels where it has none."""
    found = _LINES.get(kind)
    return len(LEVELS) if found is None else found[0]


def cut(line: str) -> str:
    """A line that is not too long to read."""
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… ({len(line)} characters)"


def _conn(number: int) -> str:
    return f"#{number} " if number else ""


def milliseconds(seconds: float | None) -> str:
    """`(6.9 ms)`, `(12.3 s)`; empty where there is none."""
    if seconds is None:
        return ""
    return f"  ({seconds * 1000:.1f} ms)" if seconds < 10 else f"  ({seconds:.1f} s)"


def preview(data: bytes, size: int | None = None, longest: int = _PREVIEW) -> str:
    """The beginning of some bytes as a JSON-like string; what is no UTF-8 as `\\xNN`."""
    start = data[: longest + 3]
    text = start.decode("utf-8", "backslashreplace") if _is_text(start) else repr(start)[2:-1]
    shown = json.dumps(text[:longest], ensure_ascii=False) if _is_text(start) else f'"{text[:longest]}"'
    more = len(text) > longest or len(data) > len(start) or (size or 0) > len(data)
    return one_line(shown) + ("…" if more else "")


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(data) - 3 and error.reason == "unexpected end of data"
    return True


# The events of the tap.


def _resolve(data: Data) -> Iterator[str]:
    yield f"resolve {data['host']} → {', '.join(data['addresses'])}{milliseconds(data['seconds'])}"


def _connect(data: Data) -> Iterator[str]:
    host = f"[{data['address']}]" if ":" in str(data["address"]) else data["address"]
    yield f"connect {host}:{data['port']}{milliseconds(data['seconds'])}"


def _tls(data: Data) -> Iterator[str]:
    yield f"tls {data['version']} {data['cipher']} to {data['server_name']}{milliseconds(data['seconds'])}"
    if data["alpn"]:
        yield f"tls protocol {data['alpn']}"
    if data["subject"]:
        until = f", until {data['not_after']}" if data["not_after"] else ""
        yield f"tls certificate {data['subject']}, of {data['issuer']}{until}"


def _retry(data: Data) -> Iterator[str]:
    wait = f", after {data['wait']:g} s" if data["wait"] else ""
    yield f"again ({data['attempt']}){wait}: {one_line(str(data['why']))}"


def _close_connection(data: Data) -> Iterator[str]:
    yield f"close: {one_line(str(data['why']))}"


def _note(data: Data) -> Iterator[str]:
    yield one_line(str(data["text"]))


def _anything(data: Data) -> Iterator[str]:
    """An event that only says facts."""
    facts = {key: value for key, value in data.items() if value not in ("", None, [])}
    seconds = facts.pop("seconds", None)
    yield " ".join(f"{key} {one_line(str(value))}" for key, value in facts.items()) + milliseconds(seconds)


# What passed.


def _headers(data: Data) -> Iterator[str]:
    for name, value in data["headers"]:
        yield f"  {one_line(name)}: {one_line(value)}"


def _request(data: Data) -> Iterator[str]:
    yield f"{one_line(data['method'])} {one_line(data['target'])}"
    yield from _headers(data)


def _response(data: Data) -> Iterator[str]:
    yield f"{data['status']} {one_line(data['reason'])}".rstrip() + milliseconds(data["seconds"])
    yield from _headers(data)


def _body_sent(data: Data) -> Iterator[str]:
    if data["size"]:
        yield f"body {data['size']} B"


def _body_came(data: Data) -> Iterator[str]:
    yield f"end, {data['size']} B{milliseconds(data['seconds'])}"


def _chunk(data: Data) -> Iterator[str]:
    yield f"chunk {data['size']} B"


def _watch(data: Data) -> Iterator[str]:
    if data["type"] == "ERROR":
        status = data["object"]
        yield f"ERROR {status.get('code', '')} {one_line(str(status.get('reason') or ''))}: " + one_line(
            str(status.get("message") or "")
        )
        return
    words = [data["type"], data["of"], data["name"], f"rv {data['resourceVersion']}"]
    yield one_line(" ".join(filter(None, words))) + "".join(f"  {change}" for change in data["changes"])


def _undecodable(data: Data) -> Iterator[str]:
    yield one_line(data["text"])


def _upgrade(data: Data) -> Iterator[str]:
    yield f"upgraded to {'a WebSocket, ' if data['websocket'] else ''}{one_line(data['protocol']) or 'no subprotocol'}"


def _message(data: Data) -> Iterator[str]:
    name = data["name"] or ("message" if data["channel"] is None else f"channel {data['channel']}")
    if data["name"] == "resize":
        size = object_of(data["data"])
        yield f"resize {size.get('Width')}x{size.get('Height')}"
    elif data["name"] == "close":
        yield f"close {_closed_channel(data['data'])}"
    elif data["size"]:
        yield f"{name} {data['size']} B {preview(data['data'], data['size'])}"
    else:
        yield f"{name} 0 B"


def _closed_channel(data: bytes) -> str:
    names = {0: "stdin", 1: "stdout", 2: "stderr", 3: "error"}
    return names.get(data[0], f"channel {data[0]}") if data else "nothing"


def _status(data: Data) -> Iterator[str]:
    if data["exit_code"] == 0:
        yield "status Success"
    elif data["reason"] == "NonZeroExitCode":
        yield f"status NonZeroExitCode {data['exit_code']}"
    else:
        yield one_line(f"status {data['reason'] or 'Failure'}: {data['line']}")


def _ping(data: Data) -> Iterator[str]:
    yield f"ping {preview(data['data'])}" if data["data"] else "ping"


def _pong(data: Data) -> Iterator[str]:
    yield (f"pong {preview(data['data'])}" if data["data"] else "pong") + milliseconds(data["seconds"])


def _close(data: Data) -> Iterator[str]:
    yield f"close {data['code']}" + (f" {one_line(data['reason'])}" if data["reason"] else "")


def _raw(data: Data) -> Iterator[str]:
    yield f"{data['what'] or 'bytes'} {data['size']} B {preview(data['data'], data['size'])}"


def _end(data: Data) -> Iterator[str]:
    inside = f" inside {data['inside']}" if data["inside"] else ""
    yield f"{'broken: ' + one_line(data['error']) if data['error'] else 'end of stream'}{inside}"


def _contents(happening: Happening) -> Iterator[str]:
    """What was in a body or a message: its text, or a hexadecimal dump."""
    data = happening.data.get("body") if happening.kind.endswith("-end") else happening.data.get("data")
    if not isinstance(data, bytes) or not data or happening.kind not in _WITH_CONTENTS:
        return
    if _is_text(data) and b"\0" not in data:
        for line in data.decode("utf-8", "replace").split("\n"):
            yield "    " + one_line(line)
        return
    for at in range(0, min(len(data), 4096), 16):
        row = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"    {at:06x}  {row.hex(' '):<47}  {text}"


_HEADERS, _EVENTS, _FRAMES, _BYTES = range(4)
_WITH_CONTENTS = frozenset(("request-end", "response-end", "message", "raw"))
_LINES: dict[str, tuple[int, Callable[[Data], Iterator[str]]]] = {
    "tap resolve": (_HEADERS, _resolve),
    "tap connect": (_HEADERS, _connect),
    "tap tls": (_HEADERS, _tls),
    "tap proxy": (_HEADERS, _anything),
    "tap credentials": (_HEADERS, _anything),
    "tap retry": (_HEADERS, _retry),
    "tap close": (_HEADERS, _close_connection),
    "tap note": (_HEADERS, _note),
    "request": (_HEADERS, _request),
    "response": (_HEADERS, _response),
    "upgrade": (_HEADERS, _upgrade),
    "close": (_HEADERS, _close),
    "end": (_HEADERS, _end),
    "undecodable": (_HEADERS, _undecodable),
    "watch": (_EVENTS, _watch),
    "status": (_EVENTS, _status),
    "request-end": (_EVENTS, _body_sent),
    "response-end": (_EVENTS, _body_came),
    "chunk": (_FRAMES, _chunk),
    "message": (_FRAMES, _message),
    "ping": (_FRAMES, _ping),
    "pong": (_FRAMES, _pong),
    "raw": (_FRAMES, _raw),
}
