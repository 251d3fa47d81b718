"""The objects of one collection as they were last seen, so that each state can be told with the one before. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rawkube._typing import NamedTuple
from rawkube.api.objects import Object, metadata_of

INITIAL, RELIST, WATCH = "initial", "relist", "watch"
"""Where a state was seen: in the first list; in a later one, which shows what was missed; in a watch event."""

Key = tuple[str, str]


class Seen(NamedTuple):
    """One state of one object. `type`: ADDED, MODIFIED, DELETED or BOOKMARK, as in a watch event.

    `before`: the state before, None where there was none or it was another object (by uid); for DELETED the last.
    """

    type: str
    object: Object
    before: Object | None = None
    origin: str = WATCH


class ObjectStore:
    """Takes lists and events of one collection, and gives what they tell that is new.

    `slim`: keep no more of an object than is needed to know it; then `before` is no more than that either. What it
    gives and keeps is without `metadata.managedFields`.
    """

    def __init__(self, *, slim: bool = False) -> None:
        self._slim = slim
        self._objects: dict[Key, Object] = {}
        self._listed = False

    def listed(self, items: Iterable[Object]) -> list[Seen]:
        """What a list tells: the first one, what there is; a later one, what differs from what was known."""
        found = {_key(item): _without_managed_fields(item) for item in items}
        if not self._listed:
            self._listed = True
            for item in found.values():
                self._keep(item)
            return [Seen("ADDED", item, None, INITIAL) for item in found.values()]
        gone = [key for key in self._objects if key not in found]
        told = [Seen("DELETED", last, last, RELIST) for last in (self._objects.pop(key) for key in gone)]
        for key, item in found.items():
            told += self._relisted(key, item)
        return told

    def _relisted(self, key: Key, item: Object) -> list[Seen]:
        last = self._objects.get(key)
        self._keep(item)
        if last is None:
            return [Seen("ADDED", item, None, RELIST)]
        if not _is_same_object(last, item):
            return [Seen("DELETED", last, last, RELIST), Seen("ADDED", item, None, RELIST)]
        version = metadata_of(item).get("resourceVersion")
        if version and version == metadata_of(last).get("resourceVersion"):
            return []
        return [Seen("MODIFIED", item, last, RELIST)]

    def changed(self, kind: str, item: Object) -> Seen:
        """What a watch event tells."""
        item = _without_managed_fields(item)
        last = self._objects.get(_key(item))
        if kind == "DELETED":
            self._objects.pop(_key(item), None)
        else:
            self._keep(item)
        return Seen(kind, item, last if last is not None and _is_same_object(last, item) else None, WATCH)

    def _keep(self, item: Object) -> None:
        self._objects[_key(item)] = _slim(item) if self._slim else item


def _key(item: Object) -> Key:
    metadata = metadata_of(item)
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _is_same_object(one: Object, other: Object) -> bool:
    uids = {metadata_of(item).get("uid") for item in (one, other)}
    return len(uids) == 1 or None in uids


def _without_managed_fields(item: Object) -> Object:
    metadata = metadata_of(item)
    if "managedFields" not in metadata:
        return item
    return {**item, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _slim(item: Object) -> Object:
    metadata = metadata_of(item)
    kept = {name: metadata[name] for name in ("name", "namespace", "uid", "resourceVersion") if name in metadata}
    return {**{name: item[name] for name in ("apiVersion", "kind") if name in item}, "metadata": kept}
