"""The states of what a selection holds, asked for one object after the other: one list and watch for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rawkube.api.client import ApiClient
from rawkube.api.list_watch import Changed, Listed, ListWatch, Selection
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import RawkubeError, WaitTimeout

Place = tuple[str, str]
"""Where an object is: (namespace, name)."""


class SharedStates:
    """What the first list of a selection held. What appears later is passed over.

    `deadline`: a time of the client's clock, at which reading raises WaitTimeout. `on_note` is told lines for a person.
    """

    def __init__(
        self,
        client: ApiClient,
        selection: Selection,
        *,
        deadline: float | None = None,
        on_note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._selection = selection
        loop = ListWatch(client, selection, on_note=on_note)
        loop.deadline = deadline
        self._steps = loop.steps()
        self._found: dict[Place, _One] = {}
        self._broken = False

    def places(self) -> list[Place]:
        """Where the objects are, in the server's order: asks for the list, once. Raises as ListWatch.steps()."""
        step = next(self._steps)
        if isinstance(step, Listed):
            self._found = {self._place(item): _One(item) for item in step.items}
        return list(self._found)

    def first(self, place: Place) -> Object:
        """The object as it was listed first."""
        return self._found[place].first

    def uid(self, place: Place) -> str:
        """The uid of the object that was last seen there."""
        return self._found[place].uid

    def states(self, place: Place) -> Iterator[Object | None]:
        """What is there now (None: nothing), then whenever that changes; another object follows upon a None.

        Ends where this cannot be told any more: the object is not selected any more, or the watch is refused. Raises
        WaitTimeout.
        """
        one = self._found[place]
        if not self._broken:  # else that was long ago
            yield from one.told()
        while not one.left and not self._broken:
            try:
                touched = self._read()
            except WaitTimeout:
                raise
            except RawkubeError:
                self._broken = True
                return
            if place in touched:
                yield from one.told()

    def close(self) -> None:
        """End the watch."""
        self._steps.close()

    def _read(self) -> set[Place]:
        """The next thing that the server tells; whom it is about."""
        step = next(self._steps)
        if isinstance(step, Changed):
            place = self._place(step.object)
            return self._take(place, None if step.type == "DELETED" else step.object)
        items = {self._place(item): item for item in step.items}
        return set().union(*(self._take(place, items.get(place)) for place in self._found))

    def _take(self, place: Place, item: Object | None) -> set[Place]:
        one = self._found.get(place)
        if one is None:
            return set()
        if item is None and self._selection.can_be_left:
            one.left = True
        else:
            one.take(item)
        return {place}

    def _place(self, item: Object) -> Place:
        metadata = metadata_of(item)
        inside = self._selection.resource.namespaced
        return str(metadata.get("namespace") or "") if inside else "", str(metadata.get("name") or "")


class _One:
    """An object as it was last seen. `left`: it is not selected any more, and may be there or not."""

    __slots__ = ("_object", "_replaced", "first", "left", "uid")

    def __init__(self, item: Object) -> None:
        self.first = item
        self._object: Object | None = item
        self._replaced = False
        self.left = False
        self.uid = _uid(item)

    def take(self, item: Object | None) -> None:
        self._object = item
        if item is not None:
            self._replaced = self._replaced or bool(self.uid and _uid(item) != self.uid)
            self.uid = _uid(item)

    def told(self) -> Iterator[Object | None]:
        """Its state, after None where another object has taken its place since this was last asked."""
        if self.left:
            return
        if self._replaced:
            self._replaced = False
            yield None
        yield self._object


def _uid(item: Object) -> str:
    return str(metadata_of(item).get("uid") or "")
