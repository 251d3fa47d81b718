"""Pure: what happened → the exchanges of a recording as they are compared with those of another one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl

from rawkube._typing import Any
from rawkube.observe.bodies import object_of
from rawkube.observe.conversation import CLIENT, SERVER, Happening
from rawkube.observe.messages import KEPT
from rawkube.observe.story import Exchange, Story

# Parameters whose values belong to one run.
VOLATILE_PARAMETERS = frozenset(("resourceVersion", "timeoutSeconds", "continue", "timeout"))
# What stands before the first segment of the API is where a proxy has put it.
_API = re.compile(r"^(.*?)(/(?:apis?|version|openapi|healthz|livez|readyz)(?:/.*)?)$")
# The end of a generated name (k8s.io/apimachinery, util/rand), with the hash of a pod template before it or not.
_GENERATED = re.compile(r"(?:-[bcdf0-9]{8,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}(?=/|$)")


class Compared:
    """One exchange, with all that is compared of it. Times: seconds since the start of its recording."""

    def __init__(self, exchange: Exchange) -> None:
        self.number = exchange.number
        self.conn = exchange.conn
        self.t = exchange.t
        self.method = exchange.method
        self.target = exchange.target
        self.watched = exchange.watched
        self.prefix, self.path, self.query = split(exchange.target)
        self.headers: list[tuple[str, str]] = []
        self.request_body = b""
        self.status = 0
        self.reason = ""
        self.answer_headers: list[tuple[str, str]] = []
        self.first_byte: float | None = None
        self.ended: float | None = None
        self.body = b""
        self.events: list[tuple[str, str, str]] = []
        self._same: dict[tuple[str, str, str], tuple[str, str, str]] = {}
        self.arrivals: list[tuple[float, int]] = []
        self.undecodable = ""
        self.protocol: str | None = None
        self.channels: dict[tuple[str, str], bytearray] = {}
        self.sizes: dict[tuple[str, str], int] = {}
        self.exit_code: int | None = None
        self.closes: dict[str, tuple[int, str]] = {}
        self.ends: dict[str, tuple[str, str]] = {}
        self.last = exchange.t

    @property
    def key(self) -> tuple[str, str, tuple[tuple[str, str], ...]]:
        """What must be the same for two exchanges to be each other's."""
        return self.method, _GENERATED.sub("-*", self.path), self.query

    @property
    def half_closed(self) -> bool:
        """Whether the client has closed a channel (v5)."""
        return (CLIENT, "close") in self.sizes

    def add(self, happening: Happening) -> None:
        """One more happening of it."""
        self.last = max(self.last, happening.t)
        take = _TAKES.get(happening.kind)
        if take is not None:
            take(self, happening)

    def _request(self, happening: Happening) -> None:
        self.headers = happening.data["headers"]

    def _request_end(self, happening: Happening) -> None:
        self.request_body = happening.data["body"]

    def _response(self, happening: Happening) -> None:
        data = happening.data
        if data["status"] >= 200 or data["status"] == 101:
            self.status, self.reason, self.answer_headers = data["status"], data["reason"], data["headers"]
            self.first_byte = data["seconds"]

    def _response_end(self, happening: Happening) -> None:
        self.ended, self.body = happening.data["seconds"], happening.data["body"]

    def _watch(self, happening: Happening) -> None:
        data = happening.data
        if data["type"] == "BOOKMARK":
            return
        what = str(data["object"].get("reason") or "") if data["type"] == "ERROR" else data["name"]
        event = data["type"], data["of"], _GENERATED.sub("-*", what)
        self.events.append(self._same.setdefault(event, event))  # the same comes again and again
        if self.arrivals and self.arrivals[-1][0] == happening.t:
            self.arrivals[-1] = happening.t, self.arrivals[-1][1] + 1
        else:
            self.arrivals.append((happening.t, 1))

    def _undecodable(self, happening: Happening) -> None:
        self.undecodable = happening.data["text"]

    def _upgrade(self, happening: Happening) -> None:
        self.protocol = happening.data["protocol"]

    def _message(self, happening: Happening) -> None:
        data = happening.data
        name = data["name"] or ("messages" if data["channel"] is None else f"channel {data['channel']}")
        side = happening.side, name
        kept = self.channels.setdefault(side, bytearray())
        # Only what joins on without a gap can be compared.
        if len(kept) == self.sizes.get(side, 0):
            kept += data["data"][: KEPT - len(kept)]
        self.sizes[side] = self.sizes.get(side, 0) + data["size"]

    def _status(self, happening: Happening) -> None:
        self.exit_code = happening.data["exit_code"]

    def _close(self, happening: Happening) -> None:
        self.closes.setdefault(happening.side, (happening.data["code"], happening.data["reason"]))

    def _end(self, happening: Happening) -> None:
        self.ends[happening.side] = happening.data["error"], happening.data["inside"]

    @property
    def said(self) -> dict[str, Any]:
        """The answer as an object, as far as it is one and was kept whole."""
        return object_of(self.body)

    @property
    def broke(self) -> str:
        """How the answer was cut off; empty where it was not."""
        error, inside = self.ends.get(SERVER, ("", ""))
        if self.ended is not None or SERVER in self.closes:
            return ""
        return " inside ".join(filter(None, (error or ("end of stream" if inside else ""), inside)))


_TAKES = {
    "request": Compared._request,
    "request-end": Compared._request_end,
    "response": Compared._response,
    "response-end": Compared._response_end,
    "watch": Compared._watch,
    "undecodable": Compared._undecodable,
    "upgrade": Compared._upgrade,
    "message": Compared._message,
    "status": Compared._status,
    "close": Compared._close,
    "end": Compared._end,
}


def exchanges_of(happenings: Iterable[Happening]) -> list[Compared]:
    """The exchanges, in the order of their requests."""
    story = Story()
    found: dict[int, Compared] = {}
    for happening in happenings:
        exchange = story.of(happening)
        if exchange is None:
            continue
        if exchange.number not in found:
            found[exchange.number] = Compared(exchange)
        found[exchange.number].add(happening)
    return list(found.values())


def split(target: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """What stands before the path of the API, that path, and the query that belongs to no one run, in order."""
    path, _, query = target.partition("?")
    matched = _API.match(path)
    prefix, path = (matched[1], matched[2]) if matched else ("", path)
    pairs = parse_qsl(query, keep_blank_values=True)
    return prefix, path, tuple(sorted(pair for pair in pairs if pair[0] not in VOLATILE_PARAMETERS))
