"""Pure: which recorded exchange answers a request, and what follows from the recorded ones.

`Matcher` remembers how often a request came; it opens nothing and knows no clock. In this order:

1. the same request: method, path, watch or not, selectors, `continue`, `container`, `previous`; an upgrade
   (`exec`, `attach`) only by the same: command, container and streams, and a subprotocol that the client offers;
2. what follows: a narrower LIST from a wider one, a LIST from initial events or from a GET by name, a GET
   from a LIST, a streaming list from LIST and WATCH, a WATCH from whatever resource version;
3. a recorded request with a selector where the client has none;
4. discovery documents from recordings made for that purpose;
5. else a 400 that says what was asked for and what is recorded (404 or 5xx would mean something to a client).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from rawkube._typing import NamedTuple
from rawkube.gotext import one_line
from rawkube.observe import accept, derive, upgrades
from rawkube.observe.ask import (
    Ask,
    all_namespaces,
    ask_of,
    exactly,
    filter_of,
    is_discovery,
    lasting,
    namespace_of,
    narrower,
    nearly,
    object_of,
    paging,
    place_of,
    where_both,
)
from rawkube.observe.exchanges import OPEN, Answer, Exchange
from rawkube.observe.forms import Known, acceptable, mentions, rank

RECORDED = "recorded"
DERIVED = "derived"
DISCOVERY = "discovery"
MISSING = "missing"

_SHOWN = 8
_VERSIONS = re.compile(rb'"resourceVersion": ?"(\d{1,20})"')
T = TypeVar("T", "Known", "_State")
Pairs = Sequence[tuple[str, str]]


class Reply(NamedTuple):
    """An answer, and the exchanges that it was made of. `how`: RECORDED, DERIVED, DISCOVERY or MISSING."""

    answer: Answer
    how: str
    sources: tuple[Exchange, ...] = ()


class _State(NamedTuple):
    """An exchange that tells a state; `tell()` reads it: a failure is a `Reply`."""

    exchange: Exchange
    tell: Callable[[], derive.Listing | Reply | None]


def no_discovery() -> Sequence[Exchange]:
    """Where there are no recordings of discovery."""
    return ()


class Matcher:
    """Answers requests from recorded exchanges.

    `name`: what to call the recording in messages. `discovery`: called once, when a discovery document is
    asked for that the recording does not have; gives the exchanges of other recordings. `loop`: after the last answer
    to a request comes the first one again, and after the last event of a watch the first.
    """

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        name: str = "the recording",
        discovery: Callable[[], Sequence[Exchange]] = no_discovery,
        loop: bool = False,
    ) -> None:
        self.known = [Known(ask_of(e.method, e.target, e.headers), e) for e in exchanges]
        self.name = name
        self._load_discovery = discovery
        self._loop = loop
        self._discovery: list[Known] | None = None
        self._asked: Counter[object] = Counter()
        self._feeds: dict[int, derive.Feed | None] = {}
        self._newest: int | None = None
        self._telling: dict[tuple[int, str], bool] = {}

    def reply(self, method: str, target: str, headers: Iterable[tuple[str, str]]) -> Reply:
        """Answer a request."""
        headers = tuple(headers)
        ask = ask_of(method, target, headers)
        if ask.upgrade:
            found = self._upgrade(ask, target, headers)
        elif ask.watch:
            found = self._watch(ask)
        else:
            found = self._same(ask) or self._derived(ask) or self._wider(ask) or self.discovered(ask)
        if found is None:
            return Reply(self._missing(ask, target), MISSING)
        return found

    @property
    def namespace(self) -> str:
        """The namespace that most requests name, empty where none does."""
        return namespace_of_all(self.known)

    # The same request

    def _same(self, ask: Ask) -> Reply | None:
        same = self._at(ask)
        for agree in (exactly, nearly):
            group = acceptable(ask, [k for k in same if agree(ask, k.ask)])
            if is_discovery(ask.path):
                group = [k for k in group if (rank(ask, k) or 0) < accept.LAST_RESORT]
            if group:
                return _recorded(self._turn(ask, group)[0])
        return None

    def _wider(self, ask: Ask) -> Reply | None:
        """A recorded request that only its selector tells from this one."""
        group = acceptable(ask, [k for k in self._at(ask) if where_both(ask, k.ask) and paging(ask, k.ask)])
        return _recorded(self._turn(ask, group)[0]) if group else None

    def _upgrade(self, ask: Ask, target: str, headers: Pairs) -> Reply | None:
        """A recorded upgrade, or its refusal; a 400 that says why where it cannot be replayed for this client."""
        same = [k for k in self._at(ask) if upgrades.same_session(target, k.exchange.target)]
        problems = [(upgrades.problem_with(k.exchange, headers), k) for k in same]
        if group := [k for problem, k in problems if not problem]:
            exchange = self._turn(ask, group)[0].exchange
            return Reply(upgrades.answer_for(exchange, headers), RECORDED, (exchange,))
        if not problems:
            others = [k for k in self.known if k.ask.path == ask.path and k.ask.upgrade.startswith("spdy/")]
            problems = [(upgrades.problem_with(k.exchange, headers), k) for k in others]
        problem = next((problem for problem, _ in problems if problem), "")
        message = one_line(f"{self.name} has no answer to {ask.method} {target}: {problem}")
        return Reply(derive.status_answer(400, "Bad Request", message), MISSING) if problem else None

    def _at(self, ask: Ask) -> list[Known]:
        """Recorded requests of the same method and path that watch, or upgrade, or do not, as this one."""
        place = (ask.method, ask.path, ask.watch, ask.upgrade)
        return [k for k in self.known if (k.ask.method, k.ask.path, k.ask.watch, k.ask.upgrade) == place]

    def _turn(self, ask: Ask, group: Sequence[T]) -> tuple[T, bool]:
        """The n-th of a group for the n-th repetition, then the last (or all anew); and whether the n-th there was."""
        key = (ask.key, tuple(id(item.exchange) for item in group))
        turn = self._asked[key]
        self._asked[key] += 1
        if self._loop:
            return group[turn % len(group)], True
        return group[min(turn, len(group) - 1)], turn < len(group)

    # LIST and GET that follow

    def _derived(self, ask: Ask) -> Reply | None:
        if ask.method != "GET" or "continue" in ask.params:
            return None
        if accept.rank(ask.accept, "application/json") is None:
            return None
        if place_of(ask.path):
            return self._list(ask)
        named = object_of(ask.path)
        return self._get(ask, *named) if named else None

    def _list(self, ask: Ask) -> Reply | None:
        found = self._state(ask)
        if found is None or isinstance(found, Reply):
            return found
        kind, api_version = self._kind(ask, found)
        return Reply(derive.list_answer(found, kind, api_version), DERIVED, (found.exchange,))

    def _get(self, ask: Ask, collection: str, name: str) -> Reply | None:
        # A method of its own, so that repetitions of a GET and of a LIST are counted apart.
        target = f"{collection}?fieldSelector={quote(f'metadata.name={name}')}"
        wanted = ask_of("GET by name", target, ())
        found = self._state(wanted, objects=False)
        place = place_of(collection)
        if place is None or not isinstance(found, derive.Listing):
            return None
        if not found.items:
            answer = derive.not_found(place.resource, place.group, name, found.delay)
        else:
            typed = {"kind": found.kind, "apiVersion": found.api_version}
            answer = derive.json_answer(200, "OK", {**typed, **found.items[0]}, found.delay)
        return Reply(answer, DERIVED, (found.exchange,))

    def _state(self, ask: Ask, *, objects: bool = True) -> derive.Listing | Reply | None:
        """The state that is asked for: from a LIST (it may have failed), initial events, or a GET by name."""
        keep = filter_of(ask)
        if keep is None:
            return None
        for sources in (self._lists, self._initials, self._objects if objects else _nothing):
            if group := sources(ask):
                found = self._turn(ask, group)[0].tell()
                return found.only(keep) if isinstance(found, derive.Listing) else found
        return None

    def _around(self, ask: Ask, *, watch: bool) -> list[Known]:
        """Recorded requests of the same collection, or of all namespaces, as wide as this one or wider."""
        paths = (ask.path, all_namespaces(ask.path))
        return [
            k
            for k in self.known
            if k.ask.method == "GET" and k.ask.watch == watch and k.ask.path in paths and narrower(ask, k.ask)
        ]

    def _lists(self, ask: Ask) -> list[_State]:
        found: list[_State] = []
        for exchange in (k.exchange for k in self._around(ask, watch=False)):
            state = _State(exchange, partial(derive.listing_of, exchange))
            if self._tells(state, "a list"):
                found.append(state)
            elif exchange.answer.status >= 401 and exchange.answer.status not in (406, 422):
                found.append(_failure(exchange))
        return found

    def _initials(self, ask: Ask) -> list[_State]:
        feeds = self._feeds_of(self._around(ask, watch=True))
        return [_State(feed.exchange, partial(derive.listing_of_feed, feed)) for feed in feeds if feed.initial]

    def _objects(self, ask: Ask) -> list[_State]:
        if not ask.conditions.name:
            return []
        path = f"{ask.path}/{ask.conditions.name}"
        found: list[_State] = []
        for exchange in (k.exchange for k in self._at(ask._replace(method="GET", path=path, watch=False))):
            state = _State(exchange, partial(derive.listing_of_object, exchange, self._newest_version))
            if self._tells(state, "an object"):
                found.append(state)
            elif exchange.answer.status >= 400 and exchange.answer.status not in (403, 404, 406):
                found.append(_failure(exchange))
        return found

    def _tells(self, state: _State, what: str) -> bool:
        """Whether it tells a state. That it does is remembered, the state is not: it may be large."""
        key = id(state.exchange), what
        if key not in self._telling:
            self._telling[key] = state.tell() is not None
        return self._telling[key]

    def _kind(self, ask: Ask, listing: derive.Listing) -> tuple[str, str]:
        """The kind and apiVersion of a list's objects, from discovery where the recording does not tell."""
        place = place_of(ask.path)
        if listing.kind or place is None:
            return listing.kind, listing.api_version
        for known in self._more_discovery():
            value = derive.json_body(known.exchange) or {}
            if value.get("groupVersion") == place.api_version:
                for resource in value.get("resources", ()):
                    if resource.get("name") == place.resource:
                        return str(resource.get("kind")), place.api_version
        return "", "v1"

    def _newest_version(self) -> int:
        """The highest resource version anywhere in the recording."""
        if self._newest is None:
            bodies = (chunk.data for known in self.known for chunk in known.exchange.answer.body)
            self._newest = max((int(m) for body in bodies for m in _VERSIONS.findall(body)), default=1)
        return self._newest

    # WATCH

    def _watch(self, ask: Ask) -> Reply | None:
        around = [k for k in self._around(ask, watch=True) if lasting(ask, k.ask)]
        around = acceptable(ask, around) or acceptable(ask, self._watched_by_others(ask))
        if ask.streaming:
            return self._streaming(ask, around)
        if ask.version in ("", "0"):
            return self._from_nowhere(ask, around)
        return self._from_version(ask, around)

    def _watched_by_others(self, ask: Ask) -> list[Known]:
        """Watches with a selector where the client has none."""
        return [k for k in self._at(ask) if where_both(ask, k.ask)]

    def _streaming(self, ask: Ask, around: Sequence[Known]) -> Reply | None:
        same = [k for k in around if k.ask.streaming]
        if same:
            return self._as_recorded(ask, *self._turn(ask, same))
        return self._state_then_events(ask, around)

    def _from_nowhere(self, ask: Ask, around: Sequence[Known]) -> Reply | None:
        same = [k for k in around if not k.ask.streaming and k.ask.version in ("", "0")]
        if same:
            return self._as_recorded(ask, *self._turn(ask, same))
        return self._state_then_events(ask, around) or (
            self._as_recorded(ask, *self._turn(ask, around)) if around else None
        )

    def _from_version(self, ask: Ask, around: Sequence[Known]) -> Reply | None:
        same = [k for k in around if not k.ask.streaming and k.ask.version == ask.version]
        if same:
            return self._as_recorded(ask, *self._turn(ask, same))
        feeds = self._feeds_of(around)
        version = derive.number(ask.version)
        if not feeds or version < 0:
            return _recorded(self._turn(ask, around)[0]) if around else None
        if feed := next((f for f in feeds if f.after(version)), None):
            return self._newer(ask, feed, version)
        if self._loop and (feed := next((f for f in feeds if f.after(f.version)), None)):
            return self._newer(ask, feed, feed.version)
        return _quiet(feeds[-1])

    def _as_recorded(self, ask: Ask, known: Known, first: bool) -> Reply:
        """The bytes as they were, unless the client must not see all of it, or has seen it all."""
        feed = self._feed(known)
        if feed is None:
            return _recorded(known)
        if not first and not known.exchange.answer.body:
            return _quiet(feed)
        events = _visible(ask, feed.events)
        if len(events) == len(feed.events):
            return _recorded(known)
        return Reply(_stream(feed, events, feed.ends, feed.end), DERIVED, (feed.exchange,))

    def _newer(self, ask: Ask, feed: derive.Feed, version: int) -> Reply:
        """The events after a resource version, at the delays that they had from the last one before it."""
        events = feed.after(version)
        passed = max((e.delay for e in feed.events[: events[0].number]), default=0.0)
        answer = _stream(feed, _visible(ask, events), feed.ends, feed.end - passed, later=-passed)
        return Reply(answer, DERIVED, (feed.exchange,))

    def _state_then_events(self, ask: Ask, around: Sequence[Known]) -> Reply | None:
        """A watch that begins with the state, from a LIST (or GET) and the WATCH that was made after it."""
        state = self._state(ask)
        if not isinstance(state, derive.Listing):
            return state
        kind, api_version = self._kind(ask, state)
        state = state._replace(kind=kind, api_version=api_version)
        lines = derive.initial_events(state, bookmark=ask.streaming and ask.flag("allowWatchBookmarks"))
        feed = self._following(state, around)
        if feed is None:
            return Reply(derive.stream_answer(lambda: lines, OPEN, state.delay), DERIVED, (state.exchange,))
        between = feed.exchange.started - state.exchange.started
        events = _visible(ask, feed.after(derive.number(state.version)))
        answer = _stream(feed, events, feed.ends, feed.end + between, later=between, first=lines)
        return Reply(answer, DERIVED, (state.exchange, feed.exchange))

    def _following(self, state: derive.Listing, around: Sequence[Known]) -> derive.Feed | None:
        if feed := self._feeds.get(id(state.exchange)):
            return feed
        later = [f for f in self._feeds_of(around) if f.exchange.started >= state.exchange.started]
        return next((f for f in later if f.start == state.version), later[0] if later else None)

    def _feeds_of(self, known: Iterable[Known]) -> list[derive.Feed]:
        return [feed for k in known if (feed := self._feed(k))]

    def _feed(self, known: Known) -> derive.Feed | None:
        key = id(known.exchange)
        if key not in self._feeds:
            start = known.ask.version
            self._feeds[key] = derive.feed_of(known.exchange, start, streaming=known.ask.streaming)
        return self._feeds[key]

    # Discovery, and nothing at all

    def _more_discovery(self) -> list[Known]:
        if self._discovery is None:
            more = self._load_discovery()
            self._discovery = [Known(ask_of(e.method, e.target, e.headers), e) for e in more]
        return self._discovery

    def discovered(self, ask: Ask) -> Reply | None:
        """A discovery document: from recordings made for that purpose, else the recording's own of a lesser form."""
        if ask.method != "GET" or not is_discovery(ask.path):
            return None
        more = [k for k in self._more_discovery() if k.ask.path == ask.path]
        group = acceptable(ask, [k for k in more if k.exchange.answer.status == 200])
        if group:
            needed = self._groups()
            best = max(group, key=lambda k: mentions(k.exchange.answer, needed))
            return Reply(best.exchange.answer, DISCOVERY, (best.exchange,))
        own = acceptable(ask, self._at(ask))
        return _recorded(self._turn(ask, own)[0]) if own else None

    def _groups(self) -> set[str]:
        """The API groups that the recording's requests name."""
        paths = (known.ask.path.split("/") for known in self.known)
        return {parts[2] for parts in paths if len(parts) > 3 and parts[1] == "apis"}

    def _missing(self, ask: Ask, target: str) -> Answer:
        verb = "WATCH" if ask.watch else ask.method
        here = [k for k in self.known if k.ask.path == ask.path]
        what = "recorded for this path" if here else "recorded"
        lines = list(dict.fromkeys(_line(k) for k in here or self.known))
        shown = "; ".join(lines[:_SHOWN]) or "nothing"
        if len(lines) > _SHOWN:
            shown += f"; and {len(lines) - _SHOWN} more"
        forms = {k.exchange.answer.content_type for k in here if rank(ask, k) is None} - {""}
        form = f" (as {', '.join(sorted(forms))}; asked for as {ask.accept})" if forms else ""
        upgrade = f" with an upgrade to {ask.upgrade}" if ask.upgrade else ""
        message = f"{self.name} has no answer to {verb} {target}{upgrade}; {what}: {shown}{form}"
        return derive.status_answer(400, "Bad Request", one_line(message))


def namespace_of_all(known: Iterable[Known]) -> str:
    """The namespace that most recorded requests name, empty where none does."""
    named = Counter(filter(None, (namespace_of(each.ask.path) for each in known)))
    return named.most_common(1)[0][0] if named else ""


def _line(known: Known) -> str:
    upgrade = f" with an upgrade to {known.ask.upgrade}" if known.ask.upgrade else ""
    return f"{known.exchange.method} {known.exchange.target}{upgrade}"


def _recorded(known: Known) -> Reply:
    return Reply(known.exchange.answer, RECORDED, (known.exchange,))


def _quiet(feed: derive.Feed) -> Reply:
    """Nothing new is recorded: a watch that says nothing."""
    return Reply(derive.stream_answer(tuple, OPEN, 0.0), DERIVED, (feed.exchange,))


def _stream(
    feed: derive.Feed,
    events: Sequence[derive.WatchEvent],
    ends: str,
    end: float,
    *,
    later: float = 0.0,
    first: Sequence[tuple[float, bytes]] = (),
) -> Answer:
    """A watch of these events of a feed, each so much later than it came; `first` come others."""

    def lines() -> Iterator[tuple[float, bytes]]:
        yield from first
        yield from zip((e.delay + later for e in events), derive.lines_of(feed, events), strict=True)

    return derive.stream_answer(lines, ends, end)


def _failure(exchange: Exchange) -> _State:
    return _State(exchange, lambda: Reply(exchange.answer, DERIVED, (exchange,)))


def _nothing(_: Ask) -> list[_State]:
    return []


def _visible(ask: Ask, events: Iterable[derive.WatchEvent]) -> list[derive.WatchEvent]:
    """The events of the names that are asked for; bookmarks only for a client that allows them."""
    hidden = () if ask.flag("allowWatchBookmarks") else ("BOOKMARK",)
    return [e for e in events if e.type not in hidden and (e.type in ("BOOKMARK", "ERROR") or _wanted(ask, e))]


def _wanted(ask: Ask, event: derive.WatchEvent) -> bool:
    """Only the name and the namespace are looked at: an object that leaves a selection is told as DELETED."""
    name = ask.conditions.name
    place = place_of(ask.path)
    return (not name or event.name in (None, name)) and (
        place is None or not place.namespace or event.namespace in (None, place.namespace)
    )
