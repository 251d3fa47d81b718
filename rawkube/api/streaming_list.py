"""A list as the first events of a watch (`sendInitialEvents`, KEP-3157), and what to do when it does not work. Pure.

The events before the bookmark that is annotated `k8s.io/initial-events-end: "true"` make the list; MODIFIED and
DELETED may stand among them. A server that does not know the parameter ignores it, and then that bookmark never comes.
"""

from __future__ import annotations

from rawkube._typing import TYPE_CHECKING
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import ConnectError, RawkubeError, ResolveError, StatusError, TLSError

if TYPE_CHECKING:
    from rawkube.api.watch import WatchEvent

QUERY = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
"""What makes a watch a streaming list, besides `allowWatchBookmarks`."""

QUIET = 10.0
"""Seconds without an event before the end of the initial events, after which the server is taken to ignore them
(client-go says then that it waits)."""

LONGEST = 60.0
"""Seconds for the initial events in all, however many attempts they take."""

AGAIN, PAUSE, LIST = "again", "pause", "list"
"""What is next: the same request, at once or after a back-off; or a LIST."""

_CUTS, _BUSY, _EXPIRED = 3, 10, 1
"""How often the same request is made again after such an end."""


def is_expired(status: Object) -> bool:
    """Whether a Status says that a resourceVersion is too old to go on from."""
    return status.get("code") == 410 or status.get("reason") in ("Expired", "Gone")


def is_busy(status: Object) -> bool:
    """Whether a Status says to come back later."""
    return not is_expired(status) and (status.get("code") == 429 or status.get("reason") == "TooManyRequests")


def is_too_new(status: Object) -> bool:
    """Whether a Status says that the server has not reached a resourceVersion yet (apimachinery)."""
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    named = isinstance(causes, list) and any(
        isinstance(cause, dict) and cause.get("reason") == "ResourceVersionTooLarge" for cause in causes
    )
    return named or "Too large resource version" in str(status.get("message"))


class InitialEvents:
    """The objects of a streaming list, as its events say them.

    `ended`: whether the list is whole; then `bookmark` is what said so, and `resource_version` that of the list.
    `seen`: whether any event came.
    """

    def __init__(self) -> None:
        self.ended = False
        self.seen = False
        self.resource_version = ""
        self.bookmark: Object = {}
        self._objects: dict[tuple[str, str], Object] = {}

    def take(self, event: WatchEvent) -> None:
        """One event, in order. Raises StatusError for an ERROR."""
        if event.type == "ERROR":
            raise StatusError(event.object)
        self.seen = True
        if event.type == "BOOKMARK":
            self.ended = event.ends_initial_events
            self.resource_version = event.resource_version
            self.bookmark = event.object
            return
        metadata = metadata_of(event.object)
        key = (str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
        if event.type == "DELETED":
            self._objects.pop(key, None)
        else:
            self._objects[key] = event.object

    @property
    def items(self) -> list[Object]:
        """What there is."""
        return list(self._objects.values())


class Attempts:
    """What to do after a streaming list that came to nothing, by client-go's rules (`reflector.watchList`), bounded.

    429: the same request after a back-off. 410, or a version that is too large: the same, where client-go does not
    wait. An end after some events: at once. Nobody there: once a first answer had come (`answered`) after a
    back-off, before that a LIST, whose error is the answer. Anything else, and too much of this: a LIST.
    """

    def __init__(self) -> None:
        self._left = {"cut": _CUTS, "busy": _BUSY, "expired": _EXPIRED}

    def after_error(self, error: RawkubeError, *, answered: bool) -> str:
        """What is next after an answer that is an error (an ERROR event is one too), or none."""
        if isinstance(error, StatusError):
            status = dict(error.status)
            if is_expired(status) or is_too_new(status):
                return self._once_more("expired", PAUSE)
            return self._once_more("busy", PAUSE) if is_busy(status) else LIST
        unreachable = isinstance(error, ConnectError | ResolveError | TLSError)
        return PAUSE if unreachable and answered else LIST

    def after_end(self, *, very_short: bool) -> str:
        """What is next after a stream that ended before its list. `very_short`: within a second, without an event."""
        return LIST if very_short else self._once_more("cut", AGAIN)

    def _once_more(self, why: str, then: str) -> str:
        self._left[why] -= 1
        return then if self._left[why] >= 0 else LIST
