"""Pure: what follows from a recorded answer: lists, objects, watch events, and the answers made of them.

Resource versions are compared as numbers (KEP-5504, Comparable Resource Version). A streaming list (KEP-3157)
begins with ADDED events and ends its initial part with a BOOKMARK annotated `k8s.io/initial-events-end`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.observe.chunks import Made, beginning
from rawkube.observe.exchanges import COMPLETE, OPEN, Answer, Chunk, Exchange

JSONObject = dict[str, Any]
Keep = Callable[[JSONObject], bool]

INITIAL_END = "k8s.io/initial-events-end"
DERIVED = ("X-Rawkube-Replay", "derived")
_HEAD = (("Cache-Control", "no-cache, private"), ("Content-Type", "application/json"), DERIVED)
# What framing and coding say; they are told anew when an answer is framed anew.
_FRAMING = ("content-length", "transfer-encoding", "content-encoding", "connection", "keep-alive")


class WatchEvent(NamedTuple):
    """One event of a watch: `delay` seconds after the request, the `number`-th of its answer, from 0.

    `version` is its place in the sequence: its own resource version, or that of the event before it. `name` and
    `namespace` are None where its object does not tell. The event itself stays in the answer: see `lines_of`.
    """

    delay: float
    type: str
    version: int
    number: int
    name: str | None
    namespace: str | None


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


def decoded(answer: Answer) -> Sequence[Chunk]:
    """The body with gzip undone, piece for piece. Raises ValueError where it cannot be."""
    if answer.header("content-encoding").lower() != "gzip":
        return answer.body
    pieces = Made(lambda: _unzipped(answer.body))
    for _ in pieces:  # what is wrong with it must be known before anything is sent
        pass
    return pieces


def _unzipped(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    unzip = zlib.decompressobj(wbits=31)
    for chunk in chunks:
        try:
            data = unzip.decompress(chunk.data)
        except zlib.error:
            raise ValueError("gzip data cannot be decoded") from None
        if data:
            yield chunk._replace(data=data)


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
    start = beginning(answer.body)
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


def listing_of_object(exchange: Exchange, empty_version: Callable[[], int]) -> Listing | None:
    """The state that a GET by name tells: the object alone, or nothing (404) at the version that is handed in."""
    delay = exchange.answer.end
    value = json_body(exchange)
    if value is not None and metadata(value).get("name"):
        version = str(metadata(value).get("resourceVersion", ""))
        kind, api_version = str(value.get("kind", "")), str(value.get("apiVersion", ""))
        return Listing(exchange, delay, kind, api_version, version, (value,))
    if exchange.answer.status == 404 and _names_an_object(exchange.answer):
        return Listing(exchange, delay, "", "", str(empty_version()), ())
    return None


def listing_of_feed(feed: Feed) -> Listing | None:
    """The state that a watch's initial events tell."""
    if not feed.initial:
        return None
    first = feed.events[: feed.initial]
    objects = [json.loads(line)["object"] for line in lines_of(feed, first)]
    items = tuple(obj for event, obj in zip(first, objects, strict=True) if event.type != "BOOKMARK")
    kind, api_version = (str(objects[0].get(key, "")) for key in ("kind", "apiVersion"))
    return Listing(feed.exchange, first[-1].delay, kind, api_version, str(feed.version), items)


def lines_of(feed: Feed, events: Iterable[WatchEvent]) -> Iterator[bytes]:
    """These events of a feed, in its order, as they were sent, each with its newline."""
    wanted = iter(events)
    event = next(wanted, None)
    for number, (_, line) in enumerate(_lines(decoded(feed.exchange.answer))):
        if event is None:
            return
        if number == event.number:
            yield line + b"\n"
            event = next(wanted, None)


def feed_of(exchange: Exchange, start: str, *, streaming: bool) -> Feed | None:
    """The events of a watch's answer in JSON, None where it is none. A cut last event is dropped."""
    answer = exchange.answer
    if answer.status != 200 or not answer.content_type.startswith("application/json") or is_table(answer):
        return None
    try:
        events, marked = _events(decoded(answer), max(0, number(start)))
    except ValueError:
        return None
    initial = marked or _initial(events, start, streaming)
    version = max((e.version for e in events[:initial]), default=number(start))
    return Feed(exchange, start, version, initial, tuple(events), answer.ends, answer.end)


def _names_an_object(answer: Answer) -> bool:
    """Whether a 404 is about an object: its Status says which; that of an unknown path does not."""
    try:
        value = json.loads(b"".join(chunk.data for chunk in decoded(answer)))
        return bool(value["details"]["name"])
    except (ValueError, TypeError, LookupError):
        return False


def _lines(chunks: Iterable[Chunk]) -> Iterator[tuple[float, bytes]]:
    """The whole lines that hold something, each with the delay of its end."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk.data).split(b"\n")
        yield from ((chunk.delay, line) for line in lines if line.strip())


def _events(chunks: Iterable[Chunk], version: int) -> tuple[list[WatchEvent], int]:
    """The events, and how many there are up to the bookmark that ends the state (0: there is none)."""
    found: list[WatchEvent] = []
    marked = 0
    same: dict[str, str] = {}  # names come again and again
    for i, (delay, line) in enumerate(_lines(chunks)):
        value = json.loads(line)
        obj = value.get("object") if isinstance(value, dict) else None
        if not isinstance(obj, dict):
            raise ValueError("not a watch event")
        meta = metadata(obj)
        own = number(meta.get("resourceVersion"))
        version = own if own >= 0 else version
        kind, name, namespace = (
            same.setdefault(text, text) if isinstance(text, str) else None
            for text in (str(value.get("type")), meta.get("name"), meta.get("namespace"))
        )
        if not marked and kind == "BOOKMARK" and INITIAL_END in (meta.get("annotations") or {}):
            marked = i + 1
        found.append(WatchEvent(delay, str(kind), version, i, name, namespace))
    return found, marked


def _initial(events: Sequence[WatchEvent], start: str, streaming: bool) -> int:
    """How many events tell the state where no bookmark does: the first ADDED ones without a start."""
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


def stream_answer(events: Callable[[], Iterable[tuple[float, bytes]]], ends: str, end: float) -> Answer:
    """A watch: the head at once, then each event as one HTTP chunk at its delay. `events()` gives them anew."""
    headers = (*_HEAD, ("Transfer-Encoding", "chunked"))
    body = Made(lambda: (Chunk(max(0.0, delay), line) for delay, line in events()))
    end = max(0.0, end)
    head = Chunk(0.0, _head(200, "OK", headers))
    return Answer(200, "OK", headers, _framed(head, body, ends, end, chunked=True), body, ends, end)


def _framed(head: Chunk, body: Iterable[Chunk], ends: str, end: float, *, chunked: bool) -> Made:
    """What is on the wire."""

    def make() -> Iterator[Chunk]:
        yield head
        for chunk in body:
            yield chunk._replace(data=_chunk(chunk.data) if chunked else chunk.data, whole=True)
        if chunked and ends == COMPLETE:
            yield Chunk(end, b"0\r\n\r\n")

    return Made(make)


def framed(answer: Answer, *, chunked: bool) -> Answer:
    """The same answer, decoded and framed anew: in chunks, or (HTTP/1.0) up to the connection's end.

    Raises ValueError where the body cannot be decoded.
    """
    body = decoded(answer)
    headers = [(name, value) for name, value in answer.headers if name.lower() not in _FRAMING]
    headers.append(("Transfer-Encoding", "chunked") if chunked else ("Connection", "close"))
    first = body[0].delay if body else answer.end
    head = Chunk(first, _head(answer.status, answer.reason, headers))
    raw = _framed(head, body, answer.ends, answer.end, chunked=chunked)
    return answer._replace(headers=tuple(headers), raw=raw, body=body)


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
