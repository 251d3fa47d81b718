"""Pure: a conversation in a few lines: connections, requests by status, bytes, the slowest, watches, sessions.

What is kept does not grow with the recording: beyond so many watches and sessions they are only counted.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping

from rawkube._typing import Any
from rawkube.gotext import one_line
from rawkube.observe.conversation import CLIENT, SERVER, Happening
from rawkube.observe.story import Exchange
from rawkube.observe.trace import cut

SLOWEST = 5
SHOWN = 100
"""How many watches, sessions and breaks are told one by one."""


class Summary:
    """Add happenings in order, and the bytes that passed; then `facts`."""

    def __init__(self) -> None:
        self._conns = _Numbers()
        self._last = 0.0
        self._bytes: dict[str, int] = {}
        self._requests = 0
        self._statuses: Counter[int] = Counter()
        self._slowest: list[tuple[float, int, dict[str, Any]]] = []
        self._watches = _Some()
        self._sessions = _Some()
        self._broken: Counter[tuple[str, str, str]] = Counter()
        self._undecodable = 0

    def passed(self, conn: int, t: float, side: str, size: int) -> None:
        """Bytes of a connection."""
        self._conns.add(conn)
        self._last = max(self._last, t)
        self._bytes[side] = self._bytes.get(side, 0) + size

    def add(self, happening: Happening, exchange: Exchange | None) -> None:
        """One happening, with its exchange."""
        if happening.conn:
            self._conns.add(happening.conn)
            self._last = max(self._last, happening.t)
        count = _COUNTS.get(happening.kind)
        if count is not None:
            count(self, happening, exchange)

    def _request(self, happening: Happening, exchange: Exchange | None) -> None:
        self._requests += 1

    def _response(self, happening: Happening, exchange: Exchange | None) -> None:
        status = happening.data["status"]
        if status >= 200 or status == 101:
            self._statuses[status] += 1
        if exchange is None:
            return
        if status == 101:
            self._slow(exchange, happening.data["seconds"])
        if exchange.watched and 200 <= status < 300:
            facts = {"events": Counter(), "longestSilence": 0.0, "seconds": 0.0, "ended": False}
            # From the request on: what stands between may hold the head back until something follows it.
            self._watches.begin(exchange, exchange.t, facts)

    def _ended(self, happening: Happening, exchange: Exchange | None) -> None:
        if exchange is None:
            return
        if exchange.watched:
            self._silence(happening, exchange)
            self._watches.finish(exchange, ended=True)
        else:
            self._slow(exchange, happening.data["seconds"])

    def _slow(self, exchange: Exchange, seconds: float) -> None:
        facts = _named(exchange) | {"status": exchange.status, "firstByte": exchange.first_byte, "seconds": seconds}
        heapq.heappush(self._slowest, (seconds, -exchange.number, facts))
        if len(self._slowest) > SLOWEST:
            heapq.heappop(self._slowest)

    def _watch(self, happening: Happening, exchange: Exchange | None) -> None:
        self._silence(happening, exchange)
        facts = self._watches.of(exchange)
        if facts is not None:
            facts["events"][happening.data["type"]] += 1

    def _silence(self, happening: Happening, exchange: Exchange | None) -> None:
        facts = self._watches.of(exchange)
        if facts is not None and exchange is not None:
            silence = self._watches.since(exchange, happening.t)
            facts["longestSilence"] = max(facts["longestSilence"], silence)
            facts["seconds"] += silence

    def _upgrade(self, happening: Happening, exchange: Exchange | None) -> None:
        if exchange is not None:
            facts = {"protocol": happening.data["protocol"], "websocket": happening.data["websocket"]}
            more: dict[str, Any] = {"channels": Counter(), "exitCode": None, "closes": []}
            self._sessions.begin(exchange, happening.t, facts | more)

    def _message(self, happening: Happening, exchange: Exchange | None) -> None:
        data = happening.data
        name = data.get("name") or ("message" if data.get("channel") is None else f"channel {data['channel']}")
        self._session_bytes(happening, exchange, name)

    def _raw(self, happening: Happening, exchange: Exchange | None) -> None:
        self._session_bytes(happening, exchange, happening.data["what"] or "bytes")

    def _session_bytes(self, happening: Happening, exchange: Exchange | None, name: str) -> None:
        facts = self._sessions.of(exchange)
        if facts is not None:
            facts["channels"][f"{'→' if happening.side == CLIENT else '←'} {name}"] += happening.data["size"]

    def _status(self, happening: Happening, exchange: Exchange | None) -> None:
        facts = self._sessions.of(exchange)
        if facts is not None:
            facts["exitCode"] = happening.data["exit_code"]

    def _close(self, happening: Happening, exchange: Exchange | None) -> None:
        facts = self._sessions.of(exchange)
        if facts is not None and len(facts["closes"]) < SHOWN:
            facts["closes"].append([happening.side, happening.data["code"]])

    def _end(self, happening: Happening, exchange: Exchange | None) -> None:
        error, inside = happening.data["error"], happening.data["inside"]
        if (error or inside) and (len(self._broken) < SHOWN or (happening.side, error, inside) in self._broken):
            self._broken[happening.side, error, inside] += 1
        if exchange is not None and happening.side == SERVER:
            self._silence(happening, exchange)
            self._watches.finish(exchange)

    def _undecoded(self, happening: Happening, exchange: Exchange | None) -> None:
        self._undecodable += 1

    def facts(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return {
            "connections": len(self._conns),
            "seconds": round(self._last, 6),
            "bytes": {CLIENT: 0, SERVER: 0, **self._bytes} if self._bytes else None,
            "requests": self._requests,
            "statuses": {str(status): count for status, count in sorted(self._statuses.items())},
            "unanswered": max(0, self._requests - self._statuses.total()),
            "slowest": [facts for _, _, facts in sorted(self._slowest, key=lambda one: one[:2], reverse=True)],
            "watches": self._watches.told(self._last),
            "moreWatches": self._watches.more,
            "sessions": self._sessions.told(self._last),
            "moreSessions": self._sessions.more,
            "broken": [
                {"side": side, "error": error, "inside": inside, "times": count}
                for (side, error, inside), count in self._broken.items()
            ],
            "undecodable": self._undecodable,
        }


_COUNTS = {
    "request": Summary._request,
    "response": Summary._response,
    "response-end": Summary._ended,
    "watch": Summary._watch,
    "upgrade": Summary._upgrade,
    "message": Summary._message,
    "raw": Summary._raw,
    "status": Summary._status,
    "close": Summary._close,
    "end": Summary._end,
    "undecodable": Summary._undecoded,
}


def _named(exchange: Exchange) -> dict[str, Any]:
    return {
        "request": exchange.number,
        "conn": exchange.conn,
        "t": round(exchange.t, 6),
        "method": exchange.method,
        "target": exchange.target,
    }


class _Numbers:
    """How many different numbers there were; of those that follow each other from 1 only the last is kept."""

    def __init__(self) -> None:
        self._low = 0
        self._above: set[int] = set()

    def add(self, number: int) -> None:
        if 0 < number <= self._low:
            return
        self._above.add(number)
        while self._low + 1 in self._above:
            self._low += 1
            self._above.remove(self._low)

    def __len__(self) -> int:
        return self._low + len(self._above)


class _Some:
    """The first so many watches or sessions, by exchange."""

    def __init__(self) -> None:
        self._found: dict[int, dict[str, Any]] = {}
        self._since: dict[int, float] = {}
        self.more = 0

    def begin(self, exchange: Exchange, t: float, facts: dict[str, Any]) -> None:
        if len(self._found) >= SHOWN:
            self.more += 1
            return
        self._found[exchange.number] = _named(exchange) | facts
        self._since[exchange.number] = t

    def of(self, exchange: Exchange | None) -> dict[str, Any] | None:
        """What is known of one that has not ended."""
        if exchange is None or exchange.number not in self._since:
            return None
        return self._found[exchange.number]

    def since(self, exchange: Exchange, t: float) -> float:
        """Seconds since this was asked before."""
        before, self._since[exchange.number] = self._since[exchange.number], t
        return t - before

    def finish(self, exchange: Exchange, *, ended: bool = False) -> None:
        facts = self.of(exchange)
        if facts is not None:
            del self._since[exchange.number]
            if ended:
                facts["ended"] = True

    def told(self, now: float) -> list[dict[str, Any]]:
        """Each; of a watch that has not ended, the silence up to now counts."""
        found = []
        for number, facts in self._found.items():
            if number in self._since and "longestSilence" in facts:
                silence = now - self._since[number]
                more = {"longestSilence": max(facts["longestSilence"], silence), "seconds": facts["seconds"] + silence}
                found.append(_plain(facts | more))
            else:
                found.append(_plain(facts))
        return found


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: dict(value) if isinstance(value, Counter) else round(value, 6) if isinstance(value, float) else value
        for name, value in facts.items()
    }


def lines_of_summary(facts: Mapping[str, Any]) -> Iterator[str]:
    """The same for a person."""
    both = facts["bytes"]
    yield (
        f"{_count(facts['connections'], 'connection')}, {_count(facts['requests'], 'request')}, "
        f"{facts['seconds']:.3f} s" + (f", → {both[CLIENT]} B, ← {both[SERVER]} B" if both else "")
    )
    statuses = [f"{status}: {count}" for status, count in facts["statuses"].items()]
    if facts["unanswered"]:
        statuses.append(f"unanswered: {facts['unanswered']}")
    if statuses:
        yield f"status  {', '.join(statuses)}"
    for one in facts["slowest"]:
        first = "" if one["firstByte"] is None else f", first byte {one['firstByte'] * 1000:.1f} ms"
        yield cut(f"slow  {one['seconds'] * 1000:.1f} ms{first}  {one['status']} {_name(one)}")
    for one in facts["watches"]:
        yield cut(f"watch  {_watched(one)}  {_name(one)}")
    yield from _more(facts["moreWatches"], "watch", "es")
    for one in facts["sessions"]:
        yield cut(f"session  {_session(one)}  {_name(one)}")
    yield from _more(facts["moreSessions"], "session", "s")
    for one in facts["broken"]:
        what = " inside ".join(filter(None, (one_line(one["error"]) or "end of stream", one["inside"])))
        yield f"broken  {what}, {one['side']}" + (f" ({one['times']} times)" if one["times"] > 1 else "")
    if facts["undecodable"]:
        yield f"undecodable  {_count(facts['undecodable'], 'watch', 'es')}"


def _count(number: int, word: str, plural: str = "s") -> str:
    return f"{number} {word}{'' if number == 1 else plural}"


def _more(number: int, word: str, plural: str) -> Iterator[str]:
    if number:
        yield f"{word}  and {number} more {word}{'' if number == 1 else plural}"


def _name(one: Mapping[str, Any]) -> str:
    return f"#{one['conn']} {one_line(one['method'])} {one_line(one['target'])}"


def _watched(one: Mapping[str, Any]) -> str:
    kinds = ", ".join(f"{one_line(kind)} {count}" for kind, count in one["events"].items())
    events = f"{_count(sum(one['events'].values()), 'event')}{f' ({kinds})' if kinds else ''}"
    return f"{events} in {one['seconds']:.3f} s, longest silence {one['longestSilence']:.3f} s"


def _session(one: Mapping[str, Any]) -> str:
    words = [one_line(one["protocol"]) or "no subprotocol"]
    words += [f"{name} {size} B" for name, size in one["channels"].items()]
    if one["exitCode"] is not None:
        words.append(f"exit code {one['exitCode']}")
    words += [f"close {code} by the {side}" for side, code in one["closes"]]
    return ", ".join(words)
