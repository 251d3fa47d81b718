"""The states of some named objects of one collection, as they come: one list and watch for all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from rawkube.api.client import ApiClient
from rawkube.api.list_watch import Listed, ListWatch, Selection
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource

State = tuple[str, Object | None]
"""A name, and what it is the name of now: None for nothing."""


class ObjectStates:
    """The states of the objects with these names: first of each, then whenever one changes.

    Where another object takes the place of one, there is nothing in between, whatever was missed. `deadline`: a time of
    the client's clock, at which reading raises WaitTimeout; `sleep` pauses. `on_note` is told lines for a person.
    `uids`: of those that were there before.
    """

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        namespace: str,
        names: Collection[str],
        *,
        deadline: float | None = None,
        on_note: Callable[[str], None] = lambda text: None,
        sleep: Callable[[float], None] | None = None,
        uids: Mapping[str, str] | None = None,
    ) -> None:
        self._names = dict.fromkeys(names)
        self._uids = dict(uids or {})
        only = next(iter(self._names)) if len(self._names) == 1 else ""
        self._loop = ListWatch(client, Selection(resource, namespace, only), on_note=on_note, sleep=sleep)
        self._loop.deadline = deadline

    def interrupt(self) -> None:
        """From any thread: the states end."""
        self._loop.interrupt()

    def __iter__(self) -> Iterator[State]:
        """Raises WaitTimeout, and what a ListWatch raises."""
        for step in self._loop.steps():
            if isinstance(step, Listed):
                yield from self._listed(step.items)
            else:
                name = str(metadata_of(step.object).get("name") or "")
                if name in self._names:
                    yield from self._now(name, None if step.type == "DELETED" else step.object)

    def _listed(self, items: list[Object]) -> Iterator[State]:
        found = {str(metadata_of(item).get("name") or ""): item for item in items}
        for name in self._names:
            yield from self._now(name, found.get(name))

    def _now(self, name: str, item: Object | None) -> Iterator[State]:
        uid = str(metadata_of(item).get("uid") or "") if item is not None else ""
        before = self._uids.get(name, "")
        if item is not None and before and uid and before != uid:
            yield name, None
        self._uids[name] = uid
        yield name, item
