"""The decoder of a watch stream: bytes in, events out. Pure, and blind to where a read or an HTTP chunk ends.

A stream is a sequence of JSON objects `{"type": T, "object": {…}}`. The API server ends each with a line
feed, but what clients accept is a JSON text sequence: values one after another with any JSON white space, or
none, between them, and white space inside them (client-go decodes with encoding/json). So a line feed is a
hint:

- a line that is a whole value (nearly always) goes to the JSON parser at once;
- else `json_end.ValueScanner` looks for the end of the value, bracket by bracket.

Only 0x0A is a line feed here; U+0085 and U+2028 inside a string are text.
"""

from __future__ import annotations

import json
import re

from rawkube._typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from rawkube.errors import DecodeError
from rawkube.gotext import one_line

if TYPE_CHECKING:
    from rawkube.api.json_end import ValueScanner

# What the API server and client-go allow for one event.
DEFAULT_LIMIT = 16 * 1024 * 1024

# How many bytes of something that is no event a message shows.
SHOWN = 60

TYPES = frozenset(("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"))

# KEP-3157: on the bookmark that ends the initial events of a watch with sendInitialEvents.
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

_INFINITE = (float("inf"), float("-inf"))


class WatchEvent(NamedTuple):
    """One event. `type` is one of `TYPES`; `object` a Kubernetes object, for ERROR mostly a metav1.Status."""

    type: str
    object: dict[str, Any]

    @property
    def resource_version(self) -> str:
        """Where a watch may resume after this event: `metadata.resourceVersion`, empty if it has none.

        An ERROR has none, whatever it says: its object is not of the watched kind.
        """
        version = self._metadata.get("resourceVersion")
        return version if isinstance(version, str) and self.type != "ERROR" else ""

    @property
    def ends_initial_events(self) -> bool:
        """Whether this is the bookmark after the initial events of a streaming list."""
        annotations = self._metadata.get("annotations")
        return (
            self.type == "BOOKMARK" and isinstance(annotations, dict) and annotations.get(INITIAL_EVENTS_END) == "true"
        )

    @property
    def _metadata(self) -> dict[str, Any]:
        metadata = self.object.get("metadata")
        return metadata if isinstance(metadata, dict) else {}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in _INFINITE:  # 1e999: as JSON, it could not be written again
        raise ValueError(f"{text[:SHOWN]} is no number of 64 bits")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
_raw_decode = _DECODER.raw_decode
_scan_once = _DECODER.scan_once  # type: ignore[attr-defined]  # documented for its subclasses only
_SPACE = re.compile(r"[ \t\r\n]*")
_SPACE_BYTES = re.compile(rb"[ \t\r\n]*")
# Where a value may have ended: an inner object's } is followed by something else.
_MAYBE_END = re.compile(rb"\}[ \t\r\n]*(?:\{|\Z)")


class WatchDecoder:
    """Decodes one watch stream.

        decoder = WatchDecoder()
        for data in response.chunks():
            for event in decoder.feed(data): ...
            if decoder.error: raise decoder.error
        for event in decoder.end(): ...

    However the stream is cut, the events are the same. `limit`: the most bytes of one event. `error`: why the
    decoder is dead, or None. `dropped`: how many bytes of a cut event `end()` threw away.
    """

    __slots__ = (
        "_buffer",
        "_no_end_before",
        "_no_feed_before",
        "_scan_before",
        "_scanner",
        "_start",
        "dropped",
        "error",
        "limit",
    )

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self.error: DecodeError | None = None
        self.dropped = 0
        self._buffer = bytearray()
        self._start = 0  # of what has not been decoded
        self._no_feed_before = 0  # there is no line feed between _start and here
        self._no_end_before = 0  # no value ends between _start and here
        self._scan_before = 0  # lines up to here have failed as lines
        self._scanner: ValueScanner | None = None  # inside the value at _start

    def feed(self, data: bytes | bytearray | memoryview) -> list[WatchEvent]:
        """The events that `data` completes, in order.

        Raises DecodeError for what is no watch event or is longer than the limit: at once if it comes first,
        else at the next call, so that no event before it is lost. `error` tells at once in both cases. Bytes
        that are not UTF-8 become U+FFFD.
        """
        return self._advance(data, at_end=False)

    def end(self) -> list[WatchEvent]:
        """The stream has ended: the last event, if it is whole. Half an event is dropped, not judged.

        Raises DecodeError as `feed` does, also for a rest that is not even the beginning of an event.
        """
        return self._advance(b"", at_end=True)

    def _advance(self, data: bytes | bytearray | memoryview, *, at_end: bool) -> list[WatchEvent]:
        if self.error is not None:
            raise self.error
        events: list[WatchEvent] = []
        self._buffer += data
        try:
            while self._step(events, at_end):
                pass
        except DecodeError as error:
            self.error = error
            self._buffer = bytearray()  # a match in the error's traceback may hold the old one
            if not events:
                raise
            return events
        if at_end:
            self.dropped += len(self._buffer) - self._start
            self._buffer.clear()
            self._forget(0)
        elif self._start:
            self._forget(self._start)
        return events

    def _forget(self, count: int) -> None:
        """Remove what has been decoded from the buffer."""
        del self._buffer[:count]
        self._start = 0
        self._no_feed_before = max(0, self._no_feed_before - count)
        self._no_end_before = max(0, self._no_end_before - count)
        self._scan_before = max(0, self._scan_before - count)
        if self._scanner is not None:
            self._scanner.position -= count

    def _step(self, events: list[WatchEvent], at_end: bool) -> bool:
        """Decode one line or one value. False: more bytes are needed."""
        buffer = self._buffer
        if self._scanner is not None:
            return self._finish_value(self._scanner, events)
        if self._start >= self._scan_before:
            feed = buffer.find(b"\n", max(self._start, self._no_feed_before))
            if feed >= 0:
                self._line(feed, events)
                return True
            self._no_feed_before = len(buffer)
        return self._begin_value(events, at_end)

    def _line(self, feed: int, events: list[WatchEvent]) -> None:
        """Take the line that ends at `feed`, if it consists of whole values, else leave it to the scanner."""
        values: list[Any] | None = None
        if feed - self._start <= self.limit:
            text = self._buffer[self._start : feed].decode("utf-8", "replace")
            values = _one_value(text) or _whole_values(text)
        if values is None:
            self._scan_before = feed + 1
            return
        for value in values:
            events.append(_event(value, text))
        self._start = feed + 1

    def _begin_value(self, events: list[WatchEvent], at_end: bool) -> bool:
        """Take the next value if it seems whole, or let the scanner look. False: more bytes are needed."""
        buffer = self._buffer
        space = _SPACE_BYTES.match(buffer, self._start)
        start = self._start = space.end() if space else self._start
        if start == len(buffer):
            return False
        if buffer[start] != 0x7B:
            self._garbage(at_end)
            return False
        match = _MAYBE_END.search(buffer, max(start, self._no_end_before))
        end = match.start() + 1 if match else -1
        may_wait = not at_end and start >= self._scan_before and len(buffer) - start <= self.limit
        if end < 0 and may_wait:
            self._no_end_before = len(buffer)
            return False
        # One guess a value: if it is wrong, the scanner is inside the value until that ends.
        if not self._take_value(end, events):
            from rawkube.api.json_end import ValueScanner  # hardly ever needed

            self._scanner = ValueScanner(start)
        return True

    def _finish_value(self, scanner: ValueScanner, events: list[WatchEvent]) -> bool:
        """Let the scanner look for the value's end, and take the value. False: more bytes are needed."""
        buffer, start = self._buffer, self._start
        try:
            end = scanner.find_end(buffer)
        except ValueError:
            raise _not_json(buffer[start : min(scanner.position, start + SHOWN)]) from None
        if end < 0:
            self._check_length(len(buffer) - start)
            return False
        self._check_length(end - start)
        if not self._take_value(end, events):
            raise _not_json(buffer[start : min(end, start + SHOWN)])
        self._scanner = None
        return True

    def _take_value(self, end: int, events: list[WatchEvent]) -> bool:
        """Decode what lies before `end`. False: it is no whole value, or too long."""
        if not 0 <= end - self._start <= self.limit:
            return False
        text = self._buffer[self._start : end].decode("utf-8", "replace")
        values = _whole_values(text)
        if not values or len(values) > 1:
            return False
        events.append(_event(values[0], text))
        self._start = end
        return True

    def _check_length(self, length: int) -> None:
        if length > self.limit:
            raise DecodeError(
                f"object to decode was longer than maximum allowed size: a watch event has more than {self.limit} bytes"
            )

    def _garbage(self, at_end: bool) -> None:
        """Complain of what does not begin with `{`, when there is enough of it to show."""
        shown = self._buffer[self._start : self._start + SHOWN]
        line, feed, _ = shown.partition(b"\n")
        if feed or at_end or len(shown) == SHOWN:
            raise _not_json(line)


def _one_value(text: str) -> list[Any] | None:
    """The one JSON value that `text` is, without white space around it, as the API server writes it."""
    try:
        value, end = _scan_once(text, 0)
    except (StopIteration, ValueError, RecursionError):
        return None
    return [value] if end == len(text) else None


def _whole_values(text: str) -> list[Any] | None:
    """The JSON values that `text` consists of, or None if it does not consist of whole values."""
    values: list[Any] = []
    end = 0
    try:
        while (end := _skip_space(text, end)) < len(text):
            value, end = _raw_decode(text, end)
            values.append(value)
    except RecursionError:
        return _deep_value(text)
    except ValueError:
        return None
    return values


def _deep_value(text: str) -> list[Any] | None:
    """As _one_value(), of one that is nested more deeply than Python goes."""
    from rawkube.api import deep

    try:
        return [deep.decode(text, _DECODER)]
    except (ValueError, RecursionError):
        return None


def _skip_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _event(value: object, text: str) -> WatchEvent:
    """The event that a JSON value is. Raises DecodeError, with client-go's words for an unknown type."""
    if not isinstance(value, dict):
        raise DecodeError(f"not a watch event: {_excerpt(text)}")
    kind, obj = value.get("type"), value.get("object")
    if isinstance(kind, str) and kind in TYPES and isinstance(obj, dict):
        return WatchEvent(kind, obj)
    if value.get("kind") == "Status":
        raise DecodeError(f"not a watch event but a Status: {one_line(str(value.get('message')))[:300]}")
    if not isinstance(kind, str):
        raise DecodeError(f"not a watch event, it has no type: {_excerpt(text)}")
    if kind not in TYPES:
        raise DecodeError(f"got invalid watch event type: {one_line(kind)[:SHOWN]}")
    raise DecodeError(f"the watch event {kind} has no object: {_excerpt(text)}")


def _not_json(data: bytes | bytearray) -> DecodeError:
    return DecodeError(f"not a watch event, not JSON: {_excerpt(data.decode('utf-8', 'replace'))}")


# A string value, as far as it goes. What it says is nobody's business: it may be a Secret's.
_STRING_VALUE = r'(?s)(:\s*)"(?:[^"\\]|\\.)*(?:"|\\?\Z)'


def _excerpt(text: str) -> str:
    """The beginning of `text` on one line; string values of an object are left out."""
    text = text.strip()
    shown = text[:SHOWN]
    if shown.startswith("{"):
        shown = re.sub(_STRING_VALUE, r'\1"…"', shown)
    return one_line(shown) + ("…" if len(text) > SHOWN else "")


def compare_resource_versions(a: str, b: str) -> int:
    """-1, 0 or 1 as `a` is older than, the same as, or newer than `b` (KEP-5504: decimals of any size).

    Raises DecodeError for what is no resourceVersion of an object: not digits, a leading zero, or 0.
    """
    for version in (a, b):
        if not (version.isascii() and version.isdigit()) or version.startswith("0"):
            raise DecodeError(f"resource version is not well formed: {one_line(version)}")
    left, right = (len(a), a), (len(b), b)
    return (left > right) - (left < right)
