"""One list and watch that several workloads are followed by: what a thread reads, for `rawkube.rollout.together`.

What is gone from the list, or from the watch, is told of as DELETED; where a label selects, only after a GET has
shown that it is not there any more: it may only have lost the label, and then it is told of as Left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from rawkube._typing import NamedTuple
from rawkube.api.client import ApiClient
from rawkube.api.departed import DELETED, departure
from rawkube.api.list_watch import Changed, How, Listed, ListWatch, Selection
from rawkube.api.missing import get_or_explain
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import RawkubeError, StatusError

PAGE = 250
"""How many objects a LIST gives at once: so much lies in memory undigested."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_LOOK = 0.2  # seconds after which a thread that waits for its reader looks whether anybody still reads

Place = tuple[str, str]
"""Where an object is: (namespace, name)."""


class Missing(NamedTuple):
    """What was named is not there: the error of asking for it."""

    name: str
    error: RawkubeError


class Left(NamedTuple):
    """An object is not selected any more, or that cannot be told; `object`: as it was last seen."""

    object: Object


class Said(NamedTuple):
    """A line for a person. `lost`: whether the connection is lost."""

    text: str
    lost: bool


Step = Listed | Changed | Missing | Left | Said


class Collection:
    """What a selection holds. `names`: follow these only, empty: all.

    `ended` is for the reader to fill: what nobody asks for any more. A list waits for the reader to call taken():
    where all is done by then, nothing is watched. `say` takes lines for a person, from the thread that reads; `sleep`
    pauses it. `deadline`: a time of the client's clock at which reading raises WaitTimeout.
    """

    def __init__(
        self,
        client: ApiClient,
        selection: Selection,
        names: frozenset[str],
        *,
        say: Callable[[Collection, Said], None],
        sleep: Callable[[float], None],
        watch_timeout: Callable[[], int] | None = None,
        deadline: float | None = None,
    ) -> None:
        self.selection = selection
        self.names = names
        self.ended: set[Place] = set()
        self._client = client
        self._sleep = sleep
        self._taken = threading.Event()
        self._say = say
        self._known: dict[Place, Object] = {}
        form = How(limit=0 if selection.name else PAGE, keep=self._kept)
        self._loop = ListWatch(
            client, selection, watch_timeout=watch_timeout, on_note=self._note, sleep=sleep, how=form
        )
        self._loop.deadline = deadline

    def interrupt(self) -> None:
        """From any thread: steps() ends."""
        self._loop.interrupt()
        self._taken.set()

    def taken(self) -> None:
        """The list was looked at."""
        self._taken.set()

    def steps(self) -> Iterator[Step]:
        """What there is, then what changes. Raises as ListWatch.steps()."""
        for step in self._loop.steps():
            if isinstance(step, Listed):
                yield from self._listed(step)
            elif self._is_wanted(step.object):
                yield self._changed(step)

    def _listed(self, step: Listed) -> Iterator[Step]:
        items = {place_of(item): item for item in step.items if self._is_wanted(item)}
        gone = [known for place, known in self._known.items() if place not in items]
        self._known = {place: _identity(item) for place, item in items.items()}
        for known in gone:
            yield self._departed(known)
        self._taken.clear()
        yield Listed(list(items.values()), step.resource_version)
        while not self._taken.wait(_LOOK):
            self._sleep(0.0)
        for name in sorted(self.names - {name for _, name in items} - {_name_of(known) for known in gone}):
            if (self.selection.namespace, name) not in self.ended:
                yield from self._missing(name)

    def _changed(self, step: Changed) -> Step:
        if step.type == "DELETED":
            self._known.pop(place_of(step.object), None)
            return self._departed(step.object)
        self._known[place_of(step.object)] = _identity(step.object)
        return Changed(step.type, slim(step.object))

    def _departed(self, item: Object) -> Changed | Left:
        """It is not in the selection any more: because it is not there any more?"""
        if not self.selection.label_selector or place_of(item) in self.ended:
            return Changed("DELETED", slim(item))
        what = departure(self._client, self.selection.resource, item)
        return Changed("DELETED", slim(item)) if what.how == DELETED else Left(slim(what.now or item))

    def _missing(self, name: str) -> Iterator[Missing]:
        resource, namespace = self.selection[:2]
        try:
            get_or_explain(self._client, resource, namespace, name)
        except RawkubeError as error:
            yield Missing(name, error)
        else:
            self._note(f"{name} can be read, but the server's list does not show it yet; listing again")
            self._loop.list_again()

    def _is_wanted(self, item: Object) -> bool:
        return not self.names or _name_of(item) in self.names

    def _kept(self, item: Object) -> Object:
        return slim(item) if self._is_wanted(item) else _identity(item)

    def _note(self, text: str) -> None:
        self._say(self, Said(text, self._loop.lost))


def is_refused_by_name(error: BaseException | None) -> bool:
    """Whether this may be allowed for single objects: RBAC's resourceNames say nothing of a whole collection."""
    return isinstance(error, StatusError) and error.code == 403


def place_of(item: Object) -> Place:
    """Where an object is."""
    metadata = metadata_of(item)
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def slim(item: Object) -> Object:
    """The object without what is the larger part of many, and tells nothing of a rollout."""
    metadata = {name: value for name, value in metadata_of(item).items() if name != "managedFields"}
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        metadata["annotations"] = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    return {**item, "metadata": metadata}


def _name_of(item: Object) -> str:
    return str(metadata_of(item).get("name") or "")


def _identity(item: Object) -> Object:
    metadata = metadata_of(item)
    return {"metadata": {name: metadata[name] for name in ("namespace", "name", "uid") if name in metadata}}
