"""Follow one workload until its rollout is done: list and watch below, the status table in between.

What makes an end: the table says done; the object is deleted, or another one stands in its place (its uid
differs); the table says that it cannot be told; the time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rawkube.api.client import ApiClient
from rawkube.api.list_watch import Listed, ListWatch, Selection
from rawkube.api.missing import get_or_explain
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.errors import ObjectDeleted
from rawkube.rollout.status import Progress, evaluate


class Workload(NamedTuple):
    """Which workload."""

    resource: Resource
    namespace: str
    name: str


def follow(
    client: ApiClient,
    workload: Workload,
    *,
    revision: int = 0,
    timeout: float = 0.0,
    watch_timeout: Callable[[], int] | None = None,
    on_note: Callable[[str], None] = lambda text: None,
) -> Iterator[Progress]:
    """Each state of the rollout, as kubectl would print it, repetitions included; ends after the one that is done.

    `revision`: the revision that must be the running one, 0 for any. `timeout`: seconds from the first answer, 0
    for none. `watch_timeout()`: seconds after which the server is asked to end a watch. Raises RolloutFailed,
    ObjectDeleted, WaitTimeout, StatusError, TransportError, DecodeError.
    """
    selection = Selection(workload.resource, workload.namespace, workload.name)
    loop = ListWatch(client, selection, watch_timeout=watch_timeout, on_note=on_note)
    followed = _Followed(workload)
    for step in loop.steps():
        if loop.deadline is None and timeout > 0:
            loop.deadline = client.clock() + timeout
        found = followed.listed(step.items) if isinstance(step, Listed) else followed.changed(*step)
        if found is None:
            if isinstance(step, Listed):
                get_or_explain(client, *workload)  # its error is the answer; without one the LIST was too early
                followed.say_missing_once(on_note)
                loop.list_again()
            continue
        progress = evaluate(found, revision=revision)
        yield progress
        if progress.done:
            return


class _Followed:
    """Keeps to one object: by name, then by the uid that was first seen."""

    def __init__(self, workload: Workload) -> None:
        self._name = workload.name
        self._uid = ""
        self._said = False

    def say_missing_once(self, on_note: Callable[[str], None]) -> None:
        """Tell that the object can be read, but does not stand in the list."""
        if not self._said:
            self._said = True
            on_note(f"{self._name} can be read, but the server's list does not show it yet; listing again")

    def _is_ours(self, item: Object) -> bool:
        # A server that ignores field selectors sends the neighbours too.
        metadata = metadata_of(item)
        if metadata.get("name") != self._name:
            return False
        uid = str(metadata.get("uid") or "")
        if self._uid and uid and uid != self._uid:
            raise ObjectDeleted(detail=["another object of the same name has taken its place"])
        self._uid = self._uid or uid
        return True

    def listed(self, items: list[Object]) -> Object | None:
        """The object among these; None when it was never seen. Raises ObjectDeleted when it is gone."""
        for item in items:
            if self._is_ours(item):
                return item
        if self._uid:
            raise ObjectDeleted
        return None

    def changed(self, kind: str, item: Object) -> Object | None:
        """The object, if the event tells a new state of it. Raises ObjectDeleted."""
        if not self._is_ours(item):
            return None
        if kind == "DELETED":
            raise ObjectDeleted
        return item
