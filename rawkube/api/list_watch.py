"""The loop above the watch decoder: list, watch, resume, back off, for as long as its reader wants.

    LIST ──▶ Listed ──▶ WATCH from the list's version ──▶ Changed, Changed, …
      ▲                    │ ended, in whatever way: again, from the last version seen
      └────────────────────┘ expired (410), or no watch event: LIST again

Errors before the first good answer are final. After it, only what cannot mend itself is: 401 (the client has tried
fresh credentials by then), 403, 404 and other refusals. What can (refused, reset, 5xx, 429) is waited out, with
one note when it starts and one when it is over.

With `initial_events` the LIST is a watch whose first events are what there is (a streaming list, KEP-3157); the
same stream then goes on as the watch. Where that does not work, for whatever reason, there is the LIST.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.api.client import ApiClient, Watch
from rawkube.api.objects import Object, metadata_of, rows_of
from rawkube.api.resource import Resource
from rawkube.api.streaming_list import (
    LIST,
    LONGEST,
    PAUSE,
    QUERY,
    QUIET,
    Attempts,
    InitialEvents,
    is_busy,
    is_expired,
)
from rawkube.errors import DeadlineExceeded, DecodeError, RawkubeError, StatusError, TransportError, WaitTimeout

if TYPE_CHECKING:
    from rawkube.api.watch import WatchEvent

SILENCE_MARGIN = 15.0
"""Seconds that a watch may stay silent beyond the time at which the server was asked to end it."""

LONG_ENOUGH = 1.0
"""Seconds that a watch without an event must have lived to be reopened at once (client-go's very short watch)."""


class Selection(NamedTuple):
    """What to list and watch: a collection, whole or narrowed by selectors. `name` selects one object.

    An empty `namespace` is all of them.
    """

    resource: Resource
    namespace: str
    name: str = ""
    label_selector: str = ""
    field_selector: str = ""

    def query(self) -> list[tuple[str, str]]:
        """The selectors as query parameters of a LIST or WATCH."""
        fields = ",".join(filter(None, (self.name and f"metadata.name={self.name}", self.field_selector)))
        pairs = (("fieldSelector", fields), ("labelSelector", self.label_selector))
        return [pair for pair in pairs if pair[1]]

    @property
    def can_be_left(self) -> bool:
        """Whether an object can leave it without being deleted: then a DELETED may mean either."""
        return bool(self.label_selector or self.field_selector)


class How(NamedTuple):
    """The form of what is asked for.

    `accept`: the representation, of LIST and WATCH; of a Table, each item listed is a Table of one row. `limit`: LIST
    in pages of so many, 0 for one. `keep(item)` makes of an item that was listed what `Listed` gives of it, so that no
    more lies in memory.
    """

    accept: str = "application/json"
    limit: int = 0
    keep: Callable[[Object], Object] = lambda item: item


class Listed(NamedTuple):
    """Everything there is, now: a LIST's items, in the server's order."""

    items: list[Object]
    resource_version: str


class Changed(NamedTuple):
    """One object was ADDED, MODIFIED or DELETED; or a BOOKMARK, where these were asked for."""

    type: str
    object: Object


def draw_number() -> float:
    """A number of [0, 1) at random, without the module that takes longer to import than a request."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


class BackOff:
    """client-go's back-off: 0.8 s × 2ⁿ, at most 30 s, times [1, 2) at random; anew after two quiet minutes."""

    def __init__(self, clock: Callable[[], float], draw: Callable[[], float] = draw_number) -> None:
        self._clock = clock
        self._draw = draw
        self._step = 0
        self._last = clock()

    def next(self) -> float:
        """How many seconds to wait now."""
        now = self._clock()
        if now - self._last > 120.0:
            self._step = 0
        delay: float = min(0.8 * 2.0**self._step, 30.0) * (1.0 + self._draw())
        self._step += 1
        self._last = now + delay
        return delay


class Floor:
    """How soon a watch that had its events may be opened again: at once, as long as that does not become a habit.

    A token bucket of five, refilled by three a second: a server that ends each watch after one event is not asked
    more often than that.
    """

    SIZE, RATE = 5.0, 3.0

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tokens = self.SIZE
        self._last = clock()

    def next(self) -> float:
        """How many seconds to wait now."""
        now = self._clock()
        self._tokens = min(self.SIZE, self._tokens + (now - self._last) * self.RATE) - 1.0
        self._last = now
        return max(0.0, -self._tokens / self.RATE)


class _Progress:
    """How far one watch has come. `version`: where to go on from, None: nowhere; `seen`: whether it had an event."""

    def __init__(self, version: str, started: float) -> None:
        self.version: str | None = version
        self.started = started
        self.seen = False

    def restarted(self) -> _Progress:
        """There is nothing to go on from."""
        self.version = None
        return self


class ListWatch:
    """One list-and-watch loop.

    `on_note` is told lines for a person. `watch_timeout()` gives the seconds after which the server is asked to end
    a watch, anew for each (by default 180 to 230). `initial_events`: stream the list where the server does that.
    `bookmarks`: give these too, as they come. `how`: in what form. `deadline` (a time of the
    client's clock, None: none) may be set while the loop runs; when it passes, WaitTimeout is raised.
    """

    def __init__(
        self,
        client: ApiClient,
        selection: Selection,
        *,
        watch_timeout: Callable[[], int] | None = None,
        on_note: Callable[[str], None] = lambda text: None,
        initial_events: bool = False,
        bookmarks: bool = False,
        how: How | None = None,
        sleep: Callable[[float], None] | None = None,
        draw: Callable[[], float] = draw_number,
    ) -> None:
        self.deadline: float | None = None
        self._client = client
        self._selection = selection
        self._watch_timeout = watch_timeout or _three_minutes
        self._on_note = on_note
        self._sleep = sleep or client.sleep
        self._back_off = BackOff(client.clock, draw)
        self._floor = Floor(client.clock)
        self._streams = initial_events
        self._bookmarks = bookmarks
        self._how = how or How()
        self._silence = 0.0
        self._said_no_streaming = False
        self._listed_once = False
        self._outage = False
        self._again = False
        self._over = False
        self._watching: Watch | None = None

    def interrupt(self) -> None:
        """From any thread: steps() ends, at once where it waits for a watch. A pause is `sleep`'s to end."""
        self._over = True
        if (watching := self._watching) is not None:
            watching.response.interrupt()

    def steps(self) -> Generator[Listed | Changed, None, None]:
        """What there is, then what changes, for ever. Raises what the module says is final, and WaitTimeout."""
        version: str | None = None
        while not self._over:
            if version is None and self._streams:
                progress = yield from self._streamed()
                if progress is not None:
                    version = progress.version
                    continue
            if version is None:
                listed = self._list()
                version = listed.resource_version
                yield listed
                if self._again:
                    self._again = False
                    self._pause()
                    version = None
                    continue
            if not self._over:
                version = yield from self._watch(version)

    @property
    def lost(self) -> bool:
        """Whether it is not known what there is now: nothing was listed yet, or the connection is lost."""
        return self._outage or not self._listed_once

    def list_again(self) -> None:
        """Say of the Listed just given that it came too early: after a pause comes another one, not a watch."""
        self._again = True

    def _pause(self) -> None:
        """Wait one back-off, at most until the deadline. Raises WaitTimeout when that has passed."""
        self._wait(self._back_off.next())

    def _wait(self, delay: float) -> None:
        if self.deadline is not None:
            delay = min(delay, self.deadline - self._client.clock())
        if delay > 0:
            self._sleep(delay)
        self._check_deadline()

    def _check_deadline(self, error: RawkubeError | None = None) -> None:
        if self.deadline is not None and self._client.clock() >= self.deadline:
            why = error.detail if error is not None and not self._listed_once else ()
            raise WaitTimeout(answered=self._listed_once, detail=why)

    # LIST.

    def _list(self) -> Listed:
        while True:
            try:
                listing = self._list_or_get()
            except (StatusError, TransportError, DecodeError) as error:
                self._check_deadline(error)
                if not self._listed_once or not _may_pass(error):
                    raise
                self._outage_begins(error)
                self._pause()
                continue
            self._outage_ends()
            self._listed_once = True
            return Listed(listing["items"], str(metadata_of(listing).get("resourceVersion") or ""))

    def _list_or_get(self) -> Object:
        """The LIST's answer; where LIST is forbidden and one object is wanted, what a GET of it gives, as a list."""
        resource, namespace, name = self._selection[:3]
        try:
            return self._whole_list()
        except StatusError as error:
            if error.code != 403 or not name or self._selection.can_be_left:
                raise
        found = self._client.get(resource, namespace, name, accept=self._how.accept, deadline=self.deadline)
        items = rows_of(found) if found["kind"] == "Table" else [found]
        return {"metadata": found.get("metadata"), "items": [self._how.keep(item) for item in items]}

    def _whole_list(self) -> Object:
        """The LIST's answer, page by page where there are several, whether they were asked for or not."""
        first = self._page("", self._how.limit)
        token = _continue_of(first)
        while token:
            try:
                page = self._page(token, self._how.limit)
            except StatusError as error:
                if not is_expired(dict(error.status)):
                    raise
                return self._page("")  # a list of two versions would be none: once more, in one piece
            first["items"] += page["items"]
            previous, token = token, _continue_of(page)
            if token == previous:
                raise DecodeError("the server continues a list with the page that it has just sent")
        return first

    def _page(self, token: str, limit: int = 0) -> Object:
        query = self._selection.query()
        query += [pair for pair in (("continue", token), ("limit", str(limit or ""))) if pair[1]]
        resource, namespace, name = self._selection[:3]
        listing = self._client.list(
            resource, namespace, query=query, name=name, accept=self._how.accept, deadline=self.deadline
        )
        return {"metadata": listing.get("metadata"), "items": [self._how.keep(item) for item in listing["items"]]}

    # WATCH.

    def _watch(self, version: str) -> Generator[Changed, None, str | None]:
        """One watch from `version`; gives the version to go on from, None to LIST again."""
        progress = _Progress(version, self._client.clock())
        try:
            with self._open(version) as watch:
                self._watching = watch
                if self._over:
                    return version
                self._outage_ends()
                again = yield from self._follow(iter(watch), progress)
        except DecodeError as error:
            self._after_no_event(error)
            return None
        except (StatusError, TransportError) as error:
            return self._after_failure(error, progress.version or "")
        return progress.version if again else None

    def _follow(self, events: Iterator[WatchEvent], progress: _Progress) -> Generator[Changed, None, bool]:
        """The events of an open watch to its end, and the wait that is due then; False: LIST again."""
        for event in events:
            if event.type == "ERROR":
                return self._after_error_event(event.object)
            progress.seen = True
            progress.version = event.resource_version or progress.version
            if event.type != "BOOKMARK" or self._bookmarks:
                yield Changed(event.type, event.object)
        if self._over:
            return True
        self._check_deadline()
        if not progress.seen and self._client.clock() - progress.started < LONG_ENOUGH:
            self._pause()
        elif delay := self._floor.next():
            self._wait(delay)
        return True

    def _open(self, version: str, more: Iterable[tuple[str, str]] = (), silence: float = 0.0) -> Watch:
        seconds = self._watch_timeout()
        query = [*self._selection.query(), *more, ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds))]
        if version:
            query.append(("resourceVersion", version))
        self._silence = seconds + SILENCE_MARGIN
        return self._client.watch(
            self._selection.resource,
            self._selection.namespace,
            query=query,
            name=self._selection.name,
            accept=self._how.accept,
            silence=silence or self._silence,
            deadline=self.deadline,
        )

    def _after_no_event(self, error: DecodeError) -> None:
        text = f"the watch gave what is no watch event: {error}"
        self._on_note("; ".join([text, *error.detail, "listing again"]))
        self._pause()

    def _after_error_event(self, status: Object) -> bool:
        self._pause()
        return is_busy(status)

    def _after_failure(self, error: StatusError | TransportError, version: str) -> str | None:
        self._check_deadline()
        if isinstance(error, StatusError) and is_expired(dict(error.status)):
            self._pause()
            return None
        if not _may_pass(error):
            raise error
        if not _is_silence(error):
            self._outage_begins(error)
        self._pause()
        return version

    # The streaming list.

    def _streamed(self) -> Generator[Listed | Changed, None, _Progress | None]:
        """A streaming list and the watch that it becomes; gives where that came to, None where a LIST must do."""
        attempts = Attempts()
        until = self._client.clock() + LONGEST
        while True:
            initial, progress = InitialEvents(), _Progress("", self._client.clock())
            try:
                # As with LIST, no version: what is there now, not what some server remembers.
                with self._open("", QUERY, QUIET) as watch:
                    events = iter(watch)
                    why = self._read_initial(watch, events, initial, until)
                    if not why:
                        watch.set_silence(self._silence)
                        yield from self._after_initial(events, initial, progress)
                        return progress
                    next_step = self._after_cut(attempts, initial, progress)
            except DecodeError as error:
                if initial.ended:
                    self._after_no_event(error)
                    return progress.restarted()
                next_step, why = LIST, str(error)
            except (StatusError, TransportError) as error:
                if initial.ended:
                    progress.version = self._after_failure(error, progress.version or "")
                    return progress
                self._check_deadline()
                next_step, why = attempts.after_error(error, answered=self._listed_once), str(error)
                if next_step == PAUSE and not isinstance(error, StatusError):
                    self._outage_begins(error)
            if next_step == LIST or self._client.clock() >= until:
                self._say_no_streaming(why)
                return None
            self._wait(self._back_off.next() if next_step == PAUSE else self._floor.next())

    def _read_initial(self, watch: Watch, events: Iterator[WatchEvent], initial: InitialEvents, until: float) -> str:
        """Read to the end of the initial events; gives what stood against it. Raises StatusError, DecodeError."""
        for event in events:
            initial.take(event)
            if initial.ended:
                return ""
            if self._client.clock() >= until:
                self._streams = False
                return f"no end of the list within {LONGEST:g} s"
        if watch.error is not None and _is_silence(watch.error):
            self._streams = False
            return f"nothing came for {QUIET:g} s, and no end of the list"
        return "the stream ended before the list"

    def _after_initial(
        self, events: Iterator[WatchEvent], initial: InitialEvents, progress: _Progress
    ) -> Generator[Listed | Changed, None, None]:
        """The list is whole: give it, then what follows on the same stream."""
        self._outage_ends()
        self._listed_once = True
        progress.version = initial.resource_version
        yield Listed(initial.items, initial.resource_version)
        if self._bookmarks:
            yield Changed("BOOKMARK", initial.bookmark)
        if self._again:
            self._again = False
            self._pause()
            progress.restarted()
        elif not (yield from self._follow(events, progress)):
            progress.restarted()

    def _after_cut(self, attempts: Attempts, initial: InitialEvents, progress: _Progress) -> str:
        """What is next after a stream that ended, or was given up, before its list was whole."""
        self._check_deadline()
        if not self._streams:
            return LIST
        short = not initial.seen and self._client.clock() - progress.started < LONG_ENOUGH
        return attempts.after_end(very_short=short)

    def _say_no_streaming(self, why: str) -> None:
        if not self._said_no_streaming:
            self._said_no_streaming = True
            self._on_note(f"the server does not stream its list ({why}); listing instead")

    # Outages.

    def _outage_begins(self, error: RawkubeError) -> None:
        if not self._outage:
            self._outage = True
            self._on_note(f"the connection to the server was lost ({error}); trying again")

    def _outage_ends(self) -> None:
        if self._outage:
            self._outage = False
            self._on_note("the connection to the server is back")


def _three_minutes() -> int:
    """Apart from each other, so that many clients do not come back in the same second."""
    return 180 + int(draw_number() * 51)


def _continue_of(listing: Object) -> str:
    return str(metadata_of(listing).get("continue") or "")


def _is_silence(error: RawkubeError) -> bool:
    return isinstance(error, DeadlineExceeded) and error.step in ("silence", "request")


def _may_pass(error: RawkubeError) -> bool:
    """Whether waiting can mend it."""
    if isinstance(error, StatusError):
        return error.code == 429 or error.code >= 500 or error.code == 0
    return isinstance(error, TransportError | DecodeError)
