"""Pure: what follows from a recorded answer: lists, objects, watch events, and the answers made of them.

Resource versions are compared as numbers (KEP-5504, Comparable Resource Version). A streaming list (KEP-3157)
begins with ADDED events and ends its initial part with a BOOKMARK annotated `k8s.io/initial-events-end`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.observe.exchanges import COMPLETE, OPEN, Answer, Chunk, Exchange

JSONObject = dict[str, Any]
Keep = Callable[[JSONObject], bool]

INITIAL_END = "k8s.io/initial-events-end"
DERIVED = ("X-Rawkube-Replay", "derived")
_HEAD = (("Cache-Control", "no-cache, private"), ("Content-Type", "application/json"), DERIVED)
# What framing and coding say; they are told anew when an answer is framed anew.
_FRAMING = ("content-length", "transfer-encoding", "content-encoding", "connection", "keep-alive")


class WatchEvent(NamedTuple):
    """One event of a watch: `delay` seconds after the request, `line` as sent (with its newline).

    `version` is its place in the sequence: its own resource version, or that of the event before it.
    """

    delay: float
    type: str
    version: int
    line: bytes
    object: JSONObject


class Feed(NamedTuple):
    """A recorded watch. The first `initial` events are the state at `version`, the rest happened after it.

    `start` is the `resourceVersion` that was asked for. `ends`, `end`: as in Answer.
    """

    exchange: Exchange
    start: str
    version: int
    initial: int
    events: tuple[WatchEvent, ...]
    ends: str
    end: float

    def after(self, version: int) -> tuple[WatchEvent, ...]:
        """The events newer than a resource version. An ERROR stands at the version of the event before it."""
        return tuple(
            e
            for i, e in enumerate(self.events)
            if (e.version >= version if e.type == "ERROR" else e.version > version)
            and not (i < self.initial and e.type == "BOOKMARK")
        )


class Listing(NamedTuple):
    """A state: the objects of a collection at a resource version, told `delay` seconds after the request.

    `kind` is that of an object, empty where nothing tells it.
    """

    exchange: Exchange
    delay: float
    kind: str
    api_version: str
    version: str
    items: tuple[JSONObject, ...]

    def only(self, keep: Keep) -> Listing:
        """The part of it that is kept."""
        return self._replace(items=tuple(item for item in self.items if keep(item)))


def number(version: object) -> int:
    """A resource version as a number, -1 where it is none."""
    known = isinstance(version, str) and version.isdecimal() and len(version) <= 20
    return int(str(version)) if known else -1


def metadata(obj: object) -> JSONObject:
    """An object's metadata, empty where there is none."""
    found = obj.get("metadata") if isinstance(obj, dict) else None
    return found if isinstance(found, dict) else {}


def decoded(answer: Answer) -> tuple[Chunk, ...]:
    """The body with gzip undone, piece for piece. Raises ValueError where it cannot be."""
    if answer.header("content-encoding").lower() != "gzip":
        return answer.body
    unzip = zlib.decompressobj(wbits=31)
    try:
        pieces = [chunk._replace(data=unzip.decompress(chunk.data)) for chunk in answer.body]
    except zlib.error:
        raise ValueError("gzip data cannot be decoded") from None
    return tuple(piece for piece in pieces if piece.data)


def json_body(exchange: Exchange) -> JSONObject | None:
    """The object of a whole 200 answer in JSON; None where it is none, or a Table."""
    answer = exchange.answer
    if answer.status != 200 or answer.ends == OPEN or not answer.content_type.startswith("application/json"):
        return None
    try:
        value = json.loads(b"".join(chunk.data for chunk in decoded(answer)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value.get("kind") != "Table" else None


def is_table(answer: Answer) -> bool:
    """Whether an answer is a Table, or a watch of Tables."""
    start = b"".join(chunk.data for chunk in answer.body[:2])[:200]
    return b'"kind":"Table"' in start or b'"kind": "Table"' in start


def listing_of(exchange: Exchange) -> Listing | None:
    """The state that a whole LIST tells (a page of one does not)."""
    value = json_body(exchange)
    if value is None or not isinstance(value.get("items"), list) or metadata(value).get("continue"):
        return None
    items = tuple(item for item in value["items"] if isinstance(item, dict))
    kind = str(value.get("kind", "")).removesuffix("List")
    version = str(metadata(value).get("resourceVersion", ""))
    return Listing(exchange, exchange.answer.end, kind, str(value.get("apiVersion", "")), version, items)


def listing_of_object(exchange: Exchange, empty_version: int) -> Listing | None:
    """The state that a GET by name tells: the object alone, or nothing (404) at the version handed in."""
    delay = exchange.answer.end
    value = json_body(exchange)
    if value is not None and metadata(value).get("name"):
        version = str(metadata(value).get("resourceVersion", ""))
        kind, api_version = str(value.get("kind", "")), str(value.get("apiVersion", ""))
        return Listing(exchange, delay, kind, api_version, version, (value,))
    if exchange.answer.status == 404 and _names_an_object(exchange.answer):
        return Listing(exchange, delay, "", "", str(empty_version), ())
    return None


def listing_of_feed(feed: Feed) -> Listing | None:
    """The state that a watch's initial events tell."""
    if not feed.initial:
        return None
    first = feed.events[: feed.initial]
    items = tuple(e.object for e in first if e.type != "BOOKMARK")
    kind, api_version = (str(first[0].object.get(key, "")) for key in ("kind", "apiVersion"))
    return Listing(feed.exchange, first[-1].delay, kind, api_version, str(feed.version), items)


def feed_of(exchange: Exchange, start: str, *, streaming: bool) -> Feed | None:
    """The events of a watch's answer in JSON, None where it is none. A cut last event is dropped."""
    answer = exchange.answer
    if answer.status != 200 or not answer.content_type.startswith("application/json") or is_table(answer):
        return None
    try:
        events = _events(decoded(answer), max(0, number(start)))
    except ValueError:
        return None
    initial = _initial(events, start, streaming)
    version = max((e.version for e in events[:initial]), default=number(start))
    return Feed(exchange, start, version, initial, tuple(events), answer.ends, answer.end)


def _names_an_object(answer: Answer) -> bool:
    """Whether a 404 is about an object: its Status says which; that of an unknown path does not."""
    try:
        value = json.loads(b"".join(chunk.data for chunk in decoded(answer)))
        return bool(value["details"]["name"])
    except (ValueError, TypeError, LookupError):
        return False


def _events(chunks: Iterable[Chunk], version: int) -> list[WatchEvent]:
    found: list[WatchEvent] = []
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk.data).split(b"\n")
        for line in filter(bytes.strip, lines):
            value = json.loads(line)
            obj = value.get("object") if isinstance(value, dict) else None
            if not isinstance(obj, dict):
                raise ValueError("not a watch event")
            own = number(metadata(obj).get("resourceVersion"))
            version = own if own >= 0 else version
            found.append(WatchEvent(chunk.delay, str(value.get("type")), version, line + b"\n", obj))
    return found


def _initial(events: Sequence[WatchEvent], start: str, streaming: bool) -> int:
    """How many events tell the state: up to the marked bookmark, or the first ADDED ones without a start."""
    for i, event in enumerate(events):
        if event.type == "BOOKMARK" and INITIAL_END in (metadata(event.object).get("annotations") or {}):
            return i + 1
    if not streaming and start not in ("", "0"):
        return 0
    return next((i for i, event in enumerate(events) if event.type != "ADDED"), len(events))


# Answers


def json_answer(status: int, reason: str, value: JSONObject, delay: float) -> Answer:
    """A whole answer in JSON."""
    body = json.dumps(value, separators=(",", ":")).encode() + b"\n"
    headers = (*_HEAD, ("Content-Length", str(len(body))))
    raw = Chunk(delay, _head(status, reason, headers) + body)
    return Answer(status, reason, headers, (raw,), (Chunk(delay, body),), COMPLETE, delay)


def list_answer(listing: Listing, kind: str, api_version: str) -> Answer:
    """A LIST. Items of the API's own groups go without `kind` and `apiVersion`, as from the API server."""
    group = api_version.rpartition("/")[0]
    own = "." not in group or group.endswith(".k8s.io")
    items = [_without_kind(item) if own else item for item in listing.items]
    meta = {"resourceVersion": listing.version}
    value = {"kind": f"{kind}List", "apiVersion": api_version, "metadata": meta, "items": items}
    return json_answer(200, "OK", value, listing.delay)


def stream_answer(events: Iterable[tuple[float, bytes]], ends: str, end: float) -> Answer:
    """A watch: the head at once, then each event as one HTTP chunk at its delay."""
    headers = (*_HEAD, ("Transfer-Encoding", "chunked"))
    body = tuple(Chunk(max(0.0, delay), line) for delay, line in events)
    raw = [
        Chunk(0.0, _head(200, "OK", headers)),
        *(chunk._replace(data=_chunk(chunk.data)) for chunk in body),
    ]
    end = max(0.0, end)
    if ends == COMPLETE:
        raw.append(Chunk(end, b"0\r\n\r\n"))
    return Answer(200, "OK", headers, tuple(raw), body, ends, end)


def framed(answer: Answer, *, chunked: bool) -> Answer:
    """The same answer, decoded and framed anew: in chunks, or (HTTP/1.0) up to the connection's end.

    Raises ValueError where the body cannot be decoded.
    """
    body = decoded(answer)
    headers = [(name, value) for name, value in answer.headers if name.lower() not in _FRAMING]
    headers.append(("Transfer-Encoding", "chunked") if chunked else ("Connection", "close"))
    first = body[0].delay if body else answer.end
    raw = [Chunk(first, _head(answer.status, answer.reason, headers))]
    raw += [chunk._replace(data=_chunk(chunk.data) if chunked else chunk.data, whole=True) for chunk in body]
    if chunked and answer.ends == COMPLETE:
        raw.append(Chunk(answer.end, b"0\r\n\r\n"))
    return answer._replace(headers=tuple(headers), raw=tuple(raw), body=body)


def initial_events(listing: Listing, *, bookmark: bool) -> list[tuple[float, bytes]]:
    """The events that tell a state: ADDED ones, and the bookmark that ends a streaming list."""
    typed = {"kind": listing.kind, "apiVersion": listing.api_version}
    found = [_event("ADDED", {**typed, **item}) for item in listing.items]
    if bookmark:
        meta = {"resourceVersion": listing.version, "annotations": {INITIAL_END: "true"}}
        found.append(_event("BOOKMARK", {**typed, "metadata": meta}))
    return [(listing.delay, line) for line in found]


def not_found(resource: str, group: str, name: str, delay: float) -> Answer:
    """The 404 of an object that a recorded list does not have, in the API server's words."""
    qualified = f"{resource}.{group}" if group else resource
    details = {"name": name, "group": group, "kind": resource}
    return status_answer(404, "Not Found", f'{qualified} "{name}" not found', details, delay)


def status_answer(
    code: int, phrase: str, message: str, details: JSONObject | None = None, delay: float = 0.0
) -> Answer:
    """A failure as the API server tells it: a `metav1.Status`, its reason the phrase without spaces."""
    value: JSONObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    value |= {"message": message, "reason": phrase.replace(" ", "")}
    if details:
        value["details"] = {key: text for key, text in details.items() if text}
    return json_answer(code, phrase, {**value, "code": code}, delay)


def _without_kind(item: JSONObject) -> JSONObject:
    return {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}


def _event(kind: str, obj: JSONObject) -> bytes:
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode() + b"\n"


def _head(status: int, reason: str, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
