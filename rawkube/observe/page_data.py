"""Pure: what happened → the data of the page that `html.py` makes. What is kept is bounded, and the page says so.

`Data().add(happening)` for each, then `collected(title)`:

    title, client, server, note, began (ISO 8601, or empty), seconds, notes [text]
    totals   {connections, requests, events, messages, failures}
    lanes    [{key, conn, name}], in the order in which they are drawn
    items    [{kind, t, conn, lane, side, text, bad, …}]; a request also has `end`, `first`, `request`, `answer`
    charts   [{kind, name, points: [[t, [desired, updated, ready, available] or null]]}]

Bytes are {size, kept, text} or {size, kept, base64}.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

from rawkube._typing import Any
from rawkube.gotext import one_line
from rawkube.observe.conversation import CHANNELS, Happening
from rawkube.observe.entries import Body, Entries, Entry
from rawkube.observe.har import began
from rawkube.observe.levels import LEVELS
from rawkube.observe.replicas import Replicas
from rawkube.observe.trace import lines_of

KEPT = 64 * 1024
TOTAL = 16 * 1024 * 1024
ITEMS = 5000
CHARTS = 6
_FRAMES = LEVELS.index("frames")
_POINTS = frozenset(("watch", "undecodable", "message", "status", "ping", "pong", "close", "raw", "end"))
_FINE_CLOSES = (1000, 1001, 1005)  # normal, going away, no code (RFC 6455, section 7.4.1)
_ORDER = ("", *CHANNELS.values(), "messages", "bytes", "control")

Json = dict[str, Any]


class Data:
    """Collects happenings, in their order."""

    def __init__(self, *, items: int = ITEMS, kept: int = KEPT, total: int = TOTAL) -> None:
        self._kept = kept
        self._most = items
        self._entries = Entries(kept=kept, total=total, most=items)
        self._replicas = Replicas()
        self._items: list[Json] = []
        self._lanes: dict[str, Json] = {}
        self._recordings: list[dict[str, str]] = []
        self._began = ""
        self._seconds = 0.0
        self._left_out = 0
        self._totals = dict.fromkeys(("connections", "requests", "events", "messages"), 0)
        self._conns: set[int] = set()

    def add(self, happening: Happening) -> None:
        """One happening."""
        if happening.kind == "recording":
            self._recordings.append(dict(happening.data))
            return
        entry = self._entries.add(happening)
        self._count(happening)
        if happening.kind == "request":
            self._ask(entry, happening)
        elif happening.kind in _POINTS and (happening.kind != "end" or self._is_news(happening)):
            self._point(entry, happening)
        if happening.kind == "watch":
            self._replicas.event(happening.t, happening.data["type"], happening.data["object"])
        elif happening.kind == "response-end":
            self._replicas.body(happening.t, happening.data["body"])
        elif happening.kind == "response" and not self._began:
            start = began(happening)
            self._began = start.isoformat(timespec="seconds") if start else ""

    def _count(self, happening: Happening) -> None:
        self._seconds = max(self._seconds, happening.t)
        if happening.conn not in self._conns:
            self._conns.add(happening.conn)
            self._totals["connections"] += 1
        self._totals["requests"] += happening.kind == "request"
        self._totals["events"] += happening.kind == "watch"
        self._totals["messages"] += happening.kind == "message"

    def _is_news(self, happening: Happening) -> bool:
        return bool(self._entries.first_to_end(happening))

    def _room(self) -> bool:
        if len(self._items) < self._most:
            return True
        self._left_out += 1
        return False

    def _lane(self, conn: int, name: str) -> str:
        key = f"{conn}:{name}" if name else str(conn)
        self._lanes.setdefault(key, {"key": key, "conn": conn, "name": name})
        return key

    def _ask(self, entry: Entry | None, happening: Happening) -> None:
        if entry is not None and self._room():
            item = {"kind": "request", "lane": self._lane(happening.conn, "")}
            entry.own.append(item)
            self._items.append(item)

    def _point(self, entry: Entry | None, happening: Happening) -> None:
        if not self._room():
            return
        session = entry is not None and entry.protocol is not None
        item: Json = {
            "kind": happening.kind,
            "t": round(happening.t, 6),
            "conn": happening.conn,
            "lane": self._lane(happening.conn, _channel(happening) if session else ""),
            "side": happening.side,
            "text": lines_of(happening, _FRAMES)[0],
            "bad": _is_bad(happening),
            "facts": self._facts(happening),
        }
        self._items.append(item)

    def _facts(self, happening: Happening) -> Json:
        facts: Json = {}
        for name, value in happening.data.items():
            if isinstance(value, bytes):
                kept = value[: self._entries.room(min(len(value), self._kept))]
                facts[name] = _bytes(kept, happening.data.get("size", len(value)))
            elif name == "object":
                facts[name] = self._object(value)
            else:
                facts[name] = value
        return facts

    def _object(self, item: object) -> Json:
        try:
            data = json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        except (ValueError, RecursionError):
            data = b""
        return _bytes(data[: self._entries.room(min(len(data), self._kept))], len(data))

    def collected(self, title: str) -> Json:
        """The data of the page."""
        for entry in self._entries.all:
            if entry.own:
                entry.own[0].update(_exchange(entry))
            elif not entry.method:
                self._items.append({"lane": self._lane(entry.conn, ""), **_exchange(entry)})
        items = sorted(self._items, key=lambda item: float(item["t"]))
        recording = self._recordings[0] if self._recordings else {}
        charts = self._replicas.watched
        return {
            "title": title,
            **{name: recording.get(name, "") for name in ("client", "server", "note")},
            "began": self._began,
            "seconds": self._seconds,
            "notes": list(self._notes(len(charts))),
            "totals": {**self._totals, "failures": sum(bool(item["bad"]) for item in items)},
            "lanes": sorted(self._lanes.values(), key=_lane_order),
            "items": items,
            "charts": [{"kind": one.kind, "name": one.name, "points": one.points} for one in charts[:CHARTS]],
        }

    def _notes(self, charts: int) -> Iterable[str]:
        if self._left_out:
            yield (
                f"Only the first {len(self._items)} happenings are shown, {self._left_out} more are left out; "
                "rawkube inspect shows all, --conn and --path choose."
            )
        if self._entries.room(1) == 0:
            yield "The contents of what came late are left out: the page would be too large."
        if charts > CHARTS:
            yield f"Replicas of {CHARTS} workloads are drawn, of {charts - CHARTS} more they are not."
        if len(self._recordings) > 1:
            yield f"The file holds {len(self._recordings)} recordings; each begins at 0 s."


def _lane_order(lane: Json) -> tuple[int, int, str]:
    name = lane["name"]
    return lane["conn"], _ORDER.index(name) if name in _ORDER else len(_ORDER) - 1, name


def _channel(happening: Happening) -> str:
    """The lane of a session in which something is shown."""
    if happening.kind == "message":
        if happening.data["channel"] is None:
            return "messages"
        return str(happening.data["name"]) or f"channel {happening.data['channel']}"
    return {"status": "error", "raw": "bytes"}.get(happening.kind, "control")


def _is_bad(happening: Happening) -> bool:
    data = happening.data
    if happening.kind == "status":
        return bool(data["exit_code"])
    if happening.kind == "watch":
        return bool(data["type"] == "ERROR")
    if happening.kind == "close":
        return data["code"] not in _FINE_CLOSES
    if happening.kind == "end":
        return bool(data["error"] or (data["inside"] and happening.side == "server"))
    return happening.kind == "undecodable"


def _exchange(entry: Entry) -> Json:
    """What a request tells when all has been seen."""
    end = entry.last if entry.ended is None else entry.ended
    broken = entry.inside if entry.ended is None and not entry.error.startswith("the client ended") else ""
    answer = {
        "status": entry.status,
        "reason": one_line(entry.reason),
        "headers": entry.answer_headers,
        "body": _body(entry.answer),
        "protocol": entry.protocol,
        "websocket": entry.websocket,
    }
    method = one_line(entry.method) or "?"
    return {
        "kind": "request",
        "t": round(entry.started, 6),
        "end": round(max(end, entry.started), 6),
        "first": None if entry.answered is None else round(entry.answered, 6),
        "conn": entry.conn,
        "side": "client",
        "text": f"{method} {one_line(entry.target) or 'a request that was not recorded'}",
        "bad": entry.status >= 400 or entry.answered is None or bool(broken),
        "complete": entry.ended is not None,
        "error": entry.error if entry.ended is None else "",
        "inside": entry.inside if entry.ended is None else "",
        "request": {
            "method": method,
            "target": one_line(entry.target),
            "headers": entry.headers,
            "body": _body(entry.body),
        },
        "answer": None if entry.answered is None else answer,
    }


def _body(body: Body) -> Json:
    return {**_bytes(bytes(body.data), body.plain), "sent": body.size}


def _bytes(data: bytes, size: int) -> Json:
    found: Json = {"size": size, "kept": len(data)}
    try:
        found["text"] = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and len(data) < size:  # the cut went through a character
            return _bytes(data[: error.start], size)
        found["base64"] = base64.b64encode(data).decode("ascii")
    return found
