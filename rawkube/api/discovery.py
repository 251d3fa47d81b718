"""Asking a server for its resources: once a process, lazily, and only as long as anybody has to wait.

    discovery = Discovery(client)
    discovery.catalogue().resources

`/api` and `/apis` are asked apart, since each may be aggregated or legacy (KEP-3352). The documents of a legacy one
are fetched side by side, each with a deadline of its own: a group whose server hangs delays nobody who does not ask
for it, and one that is broken is a note in the catalogue.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from rawkube._typing import NamedTuple
from rawkube.api.client import ApiClient
from rawkube.api.discovery_documents import (
    ACCEPT,
    LEGACY,
    Group,
    Root,
    failure,
    group_version,
    read_resources,
    read_root,
)
from rawkube.api.resource import Resource
from rawkube.api.status import Headers, status_error
from rawkube.duration import format_duration
from rawkube.errors import ConnectionLost, DeadlineExceeded, DecodeError, RawkubeError, StatusError, WaitTimeout
from rawkube.wire.http import Response

_T = TypeVar("_T")

# client-go, discovery: defaultTimeout; said to the server, and kept to.
_SECONDS = 32.0
_WORKERS = 16
_NOTHING = Resource("", "", "", "", "", (), False, ())


class Catalogue(NamedTuple):
    """What a server has. All is in the server's order, which is that of priority; the core group is first.

    `resources`: in every version, without subresources, which are in `subresources` (`pods/log`). `failed`:
    group/version → why its resources are not known. `waiting`: the (group, version) pairs among these that have not
    answered yet.
    """

    groups: tuple[Group, ...]
    resources: tuple[Resource, ...]
    subresources: tuple[Resource, ...]
    failed: Mapping[str, str]
    waiting: frozenset[tuple[str, str]] = frozenset()


class Discovery:
    """The resources of one server.

    `group_seconds`: how long one legacy document may take. `grace`: how long glance() waits for the slow ones.
    `window`: for so many seconds what was fetched counts as fresh, and a miss is a miss. For any number of threads.
    `deadline`, a time of the client's clock, may be set at any time: nobody waits longer, but WaitTimeout is raised.
    """

    def __init__(
        self, client: ApiClient, *, group_seconds: float = 5.0, grace: float = 0.5, window: float = 1.0
    ) -> None:
        self.deadline: float | None = None
        self._client = client
        self._group_seconds = group_seconds
        self._grace = grace
        self._window = window
        self._lock = threading.RLock()
        self._tags: dict[str, tuple[str, object]] = {}
        self._walk: _Walk | None = None
        self._complete: _Walk | None = None
        self._fetched = 0.0

    def catalogue(self) -> Catalogue:
        """What the server has; asked for once. Raises StatusError, TransportError, DecodeError if nothing is known."""
        return self._seen(None)

    def glance(self) -> Catalogue:
        """As catalogue(), without waiting for the slow: they are in `waiting`, and come with a later call."""
        return self._seen(self._grace)

    def _seen(self, seconds: float | None) -> Catalogue:
        walk = self._started()
        found = walk.catalogue(self._within(seconds))
        if found.waiting:
            self._check_deadline()
        with self._lock:
            if self._complete is not walk and not found.waiting:
                self._complete, self._fetched = walk, self._client.clock()
        return found

    def _within(self, seconds: float | None) -> float | None:
        """So many seconds (None: any number), but not beyond the deadline."""
        if self.deadline is None:
            return seconds
        left = max(0.0, self.deadline - self._client.clock())
        return left if seconds is None else min(left, seconds)

    def _check_deadline(self, why: Iterable[str] = ()) -> None:
        if self._within(None) == 0.0:
            raise WaitTimeout(answered=False, detail=why) from None

    def refresh(self) -> Catalogue:
        """Ask again. Documents that have not changed are not sent again (ETag); a failure leaves what was known."""
        with self._lock:
            self._walk = self._begin()
            return self.catalogue()

    def refreshed(self) -> Catalogue | None:
        """What the server has now, or None where what is known is fresh: a miss is worth one more look only then."""
        with self._lock:
            if self._walk is not self._complete or self._client.clock() - self._fetched < self._window:
                return None
            return self.refresh()

    def _started(self) -> _Walk:
        with self._lock:
            if self._walk is None:
                self._walk = self._begin()
            return self._walk

    def _begin(self) -> _Walk:
        try:
            core = self._root("/api")
        except StatusError as error:
            if error.code != 404:
                raise
            core = Root()  # an aggregated API's own server has no core group
        return _Walk((core, self._root("/apis")), self._resources)

    def _root(self, path: str) -> Root:
        deadline = self._client.clock() + _SECONDS
        deadline = deadline if self.deadline is None else min(deadline, self.deadline)
        try:
            try:
                return self._fetch(path, ACCEPT, deadline, read_root)
            except StatusError as error:
                if error.code != 406:
                    raise
            return self._fetch(path, LEGACY, deadline, read_root)
        except DeadlineExceeded as error:
            self._check_deadline(error.detail)
            raise

    def _resources(self, group: str, version: str) -> tuple[Resource, ...]:
        """The legacy document of one version. Raises RawkubeError with what is to be said of a failure."""
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        deadline = self._client.clock() + self._group_seconds
        try:
            return self._fetch(path, LEGACY, deadline, lambda body, _: read_resources(body, group, version))
        except StatusError as error:
            if not group and version == "v1" and error.code in (403, 404):
                return ()  # as client-go
            raise
        except DeadlineExceeded as error:
            raise DecodeError(f"no answer within {format_duration(self._group_seconds)} ({error})") from None

    def _fetch(self, path: str, accept: str, deadline: float, read: Callable[[bytes, str], _T]) -> _T:
        client = self._client
        query = () if client.access.request_timeout else (("timeout", format_duration(_SECONDS)),)
        tag, known = self._tags.get(path, ("", None))
        condition = (("If-None-Match", tag),) if tag else ()
        with client.send("GET", path, query, accept=accept, headers=condition, deadline=deadline) as response:
            if response.status == 304 and tag:
                response.read()
                return known  # type: ignore[return-value]
            if not 200 <= response.status <= 206:
                raise self._failure(response, failure if read is read_root else status_error)
            found = read(_body(response), response.header("content-type"))
            self._tags[path] = (response.header("etag"), found)
            return found

    def _failure(self, response: Response, told: Callable[[int, Headers, bytes], StatusError]) -> Exception:
        if 300 <= response.status < 400:
            return self._client.failure(response, verb="get", resource=_NOTHING)
        try:
            body = response.read()
        except RawkubeError:
            body = b""
        return told(response.status, response.headers, body)


class _Walk:
    """One look at a server: the two roots, and what is fetched of their groups, by threads that end by themselves."""

    def __init__(self, roots: Sequence[Root], fetch: Callable[[str, str], tuple[Resource, ...]]) -> None:
        self._groups = tuple(group for root in roots for group in root.groups)
        self._failed = {where: why for root in roots for where, why in root.failed.items()}
        self._found: dict[tuple[str, str], list[Resource]] = {}
        for resource in (resource for root in roots for resource in root.resources):
            self._found.setdefault((resource.group, resource.version), []).append(resource)
        self._pending = [pair for root in roots for pair in root.pending]
        self._waiting = set(self._pending)
        self._changed = threading.Condition()
        self._wrong: Exception | None = None
        self._whole: Catalogue | None = None
        for _ in range(min(_WORKERS, len(self._pending))):
            threading.Thread(target=self._work, args=(fetch,), daemon=True, name="discovery").start()

    def _work(self, fetch: Callable[[str, str], tuple[Resource, ...]]) -> None:
        while (pair := self._next()) is not None:
            found: tuple[Resource, ...] | None = None
            why = ""
            try:
                found = fetch(*pair)
            except RawkubeError as error:
                why = str(error)
            except Exception as error:
                self._wrong = error
            with self._changed:
                self._waiting.discard(pair)
                if found is not None:
                    self._found[pair] = list(found)
                else:
                    self._failed[group_version(*pair)] = why
                self._changed.notify_all()

    def _next(self) -> tuple[str, str] | None:
        with self._changed:
            return self._pending.pop(0) if self._pending else None

    def catalogue(self, seconds: float | None) -> Catalogue:
        """What has come, once all has, or so many seconds have passed (None: each document's own deadline)."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting or self._wrong, seconds)
            if self._wrong is not None:
                raise self._wrong
            if self._waiting:
                return self._catalogue()
            if self._whole is None:
                self._whole = self._catalogue()
            return self._whole

    def _catalogue(self) -> Catalogue:
        every = [one for pair in self._order() for one in self._found.get(pair, ())]
        whole = tuple(one for one in every if "/" not in one.plural)
        below = tuple(one for one in every if "/" in one.plural)
        failed = self._failed | {group_version(*pair): "no answer yet" for pair in self._waiting}
        return Catalogue(self._groups, whole, below, dict(sorted(failed.items())), frozenset(self._waiting))

    def _order(self) -> Iterable[tuple[str, str]]:
        return dict.fromkeys((group.name, version) for group in self._groups for version in group.versions)


def _body(response: Response) -> bytes:
    try:
        return response.read()
    except ConnectionLost as error:
        # client-go's text: the connection broke inside the body.
        text = f"unexpected error when reading response body. Please retry. Original error: {error}"
        raise DecodeError(text, detail=error.detail) from None
