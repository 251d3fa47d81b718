"""The loop above the watch decoder: list, watch, resume, back off, for as long as its reader wants.

    LIST ──▶ Listed ──▶ WATCH from the list's version ──▶ Changed, Changed, …
      ▲                    │ ended, in whatever way: again, from the last version seen
      └────────────────────┘ expired (410), or no watch event: LIST again

Errors before the first good answer are final. After it, only what cannot mend itself is: 401 (the client has tried
fresh credentials by then), 403, 404 and other refusals. What can (refused, reset, 5xx, 429) is waited out, with
one note when it starts and one when it is over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from rawkube.api.client import ApiClient, Watch
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.api.watch import WatchEvent
from rawkube.errors import DeadlineExceeded, DecodeError, RawkubeError, StatusError, TransportError, WaitTimeout

SILENCE_MARGIN = 15.0
"""Seconds that a watch may stay silent beyond the time at which the server was asked to end it."""

LONG_ENOUGH = 1.0
"""Seconds that a watch without an event must have lived to be reopened at once (client-go's very short watch)."""


class Selection(NamedTuple):
    """What to list and watch: a collection, whole or narrowed by selectors. `name` selects one object."""

    resource: Resource
    namespace: str
    name: str = ""
    label_selector: str = ""

    def query(self) -> list[tuple[str, str]]:
        """The selectors as query parameters of a LIST or WATCH."""
        query = [("fieldSelector", f"metadata.name={self.name}")] if self.name else []
        return query + ([("labelSelector", self.label_selector)] if self.label_selector else [])


class Listed(NamedTuple):
    """Everything there is, now: a LIST's items, in the server's order."""

    items: list[Object]
    resource_version: str


class Changed(NamedTuple):
    """One object was ADDED, MODIFIED or DELETED."""

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


class ListWatch:
    """One list-and-watch loop.

    `on_note` is told lines for a person. `watch_timeout()` gives the seconds after which the server is asked to end
    a watch, anew for each (by default 180 to 230). `deadline` (a time of the client's clock, None: none) may be set
    while the loop runs; when it passes, WaitTimeout is raised.
    """

    def __init__(
        self,
        client: ApiClient,
        selection: Selection,
        *,
        watch_timeout: Callable[[], int] | None = None,
        on_note: Callable[[str], None] = lambda text: None,
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
        self._listed_once = False
        self._outage = False
        self._again = False

    def steps(self) -> Iterator[Listed | Changed]:
        """What there is, then what changes, for ever. Raises what the module says is final, and WaitTimeout."""
        version: str | None = None
        while True:
            if version is None:
                listed = self._list()
                version = listed.resource_version
                yield listed
                if self._again:
                    self._again = False
                    self._pause()
                    version = None
                    continue
            version = yield from self._watch(version)

    def list_again(self) -> None:
        """Say of the Listed just given that it came too early: after a pause comes another one, not a watch."""
        self._again = True

    def _pause(self) -> None:
        """Wait one back-off, at most until the deadline. Raises WaitTimeout when that has passed."""
        delay = self._back_off.next()
        if self.deadline is not None:
            delay = min(delay, self.deadline - self._client.clock())
        if delay > 0:
            self._sleep(delay)
        self._check_deadline()

    def _check_deadline(self) -> None:
        if self.deadline is not None and self._client.clock() >= self.deadline:
            raise WaitTimeout

    # LIST.

    def _list(self) -> Listed:
        while True:
            try:
                listing = self._list_or_get()
            except (StatusError, TransportError, DecodeError) as error:
                self._check_deadline()
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
        resource, namespace, name, _ = self._selection
        try:
            return self._client.list(
                resource, namespace, query=self._selection.query(), name=name, deadline=self.deadline
            )
        except StatusError as error:
            if error.code != 403 or not name:
                raise
        found = self._client.get(resource, namespace, name, deadline=self.deadline)
        return {"metadata": found.get("metadata"), "items": [found]}

    # WATCH.

    def _watch(self, version: str) -> Generator[Changed, None, str | None]:
        """One watch from `version`; gives the version to go on from, None to LIST again."""
        started = self._client.clock()
        seen = False
        try:
            with self._open(version) as watch:
                self._outage_ends()
                for event in watch:
                    if event.type == "ERROR":
                        return self._after_error_event(event, version)
                    seen = True
                    version = event.resource_version or version
                    if event.type != "BOOKMARK":
                        yield Changed(event.type, event.object)
        except DecodeError as error:
            self._on_note(
                "; ".join([f"the watch gave what is no watch event: {error}", *error.detail, "listing again"])
            )
            self._pause()
            return None
        except (StatusError, TransportError) as error:
            return self._after_failure(error, version)
        self._check_deadline()
        if not seen and self._client.clock() - started < LONG_ENOUGH:
            self._pause()
        return version

    def _open(self, version: str) -> Watch:
        seconds = self._watch_timeout()
        query = [*self._selection.query(), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds))]
        if version:
            query.append(("resourceVersion", version))
        return self._client.watch(
            self._selection.resource,
            self._selection.namespace,
            query=query,
            name=self._selection.name,
            silence=seconds + SILENCE_MARGIN,
            deadline=self.deadline,
        )

    def _after_error_event(self, event: WatchEvent, version: str) -> str | None:
        status = event.object
        expired = status.get("code") == 410 or status.get("reason") in ("Expired", "Gone")
        busy = not expired and (status.get("code") == 429 or status.get("reason") == "TooManyRequests")
        self._pause()
        return version if busy else None

    def _after_failure(self, error: StatusError | TransportError, version: str) -> str | None:
        self._check_deadline()
        if isinstance(error, StatusError) and (error.code == 410 or error.reason in ("Expired", "Gone")):
            self._pause()
            return None
        if not _may_pass(error):
            raise error
        if not _is_silence(error):
            self._outage_begins(error)
        self._pause()
        return version

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


def _is_silence(error: RawkubeError) -> bool:
    return isinstance(error, DeadlineExceeded) and error.step in ("silence", "request")


def _may_pass(error: RawkubeError) -> bool:
    """Whether waiting can mend it."""
    if isinstance(error, StatusError):
        return error.code == 429 or error.code >= 500 or error.code == 0
    return isinstance(error, TransportError | DecodeError)
