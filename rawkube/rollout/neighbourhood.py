"""What is known of the surroundings of some workloads of one namespace, kept small. Pure.

Their watches are of the whole namespace, or of a selector, and most of what these bring belongs to others. It is
told apart by names, roughly: a controller names what it makes after itself. Who really controls what, by UID, is
found out when the scene is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rawkube._typing import Any
from rawkube.api.objects import Object, metadata_of
from rawkube.rollout.collection import slim
from rawkube.rollout.explain.fields import items, mapping, raw
from rawkube.rollout.explain.scene import LogTail, Scene

MOST_EVENTS = 200
"""How many Events of one workload are kept: the last ones."""


class Surroundings:
    """Of one workload. `object`: its last state."""

    def __init__(self, obj: Object) -> None:
        self.object = obj
        self.things: dict[str, dict[str, Object]] = {}
        self.logs: dict[tuple[str, str], LogTail] = {}

    def put(self, plural: str, item: Object) -> None:
        """A new state of something that may belong here."""
        kept = self.things.setdefault(plural, {})
        uid = _uid(item)
        if plural == "events":
            kept.pop(uid, None)  # so that the last one to be dropped is the one that changed last
        kept[uid] = item
        if plural == "events" and len(kept) > MOST_EVENTS:
            del kept[next(iter(kept))]

    def scene(self, unseen: Mapping[str, str]) -> Scene:
        """As it is now."""
        owned = [*self._of("replicasets"), *self._of("controllerrevisions")]
        rest = {"claims": self._of("persistentvolumeclaims"), "logs": self.logs, "unseen": dict(unseen)}
        return Scene(self.object, owned=owned, pods=self._of("pods"), events=self._of("events"), **rest)  # type: ignore[arg-type]

    def _of(self, plural: str) -> Sequence[Object]:
        return list(self.things.get(plural, {}).values())


class Neighbourhood:
    """Some workloads of one namespace, by their names; several kinds may share one."""

    def __init__(self) -> None:
        self.by_name: dict[str, list[Surroundings]] = {}

    def add(self, surroundings: Surroundings) -> None:
        """One more workload."""
        self.by_name.setdefault(_name(surroundings.object), []).append(surroundings)

    def remove(self, surroundings: Surroundings) -> None:
        """One that is not of interest any more."""
        name = _name(surroundings.object)
        self.by_name[name] = [one for one in self.by_name.get(name, ()) if one is not surroundings]

    def keep(self, plural: str, item: Object) -> Object:
        """What of an object must be kept: all but what is long and says nothing; of others' no more than its name."""
        if any(True for _ in self._homes(plural, item)):
            return slim(item)
        return {"metadata": {"name": _name(item), "uid": _uid(item)}}

    def listed(self, plural: str, all_: Iterable[Object]) -> list[Surroundings]:
        """Everything of one kind that there is; whom it concerns."""
        everyone = [one for some in self.by_name.values() for one in some]
        for one in everyone:
            one.things[plural] = {}
        for item in all_:
            for home in self._homes(plural, item):
                home.put(plural, item)
        return everyone

    def changed(self, plural: str, type_: str, item: Object) -> list[Surroundings]:
        """One object was ADDED, MODIFIED or DELETED; whom it concerns."""
        homes = list(self._homes(plural, item))
        for home in homes:
            if type_ == "DELETED":
                home.things.get(plural, {}).pop(_uid(item), None)
            else:
                home.put(plural, slim(item))
        return homes

    def _homes(self, plural: str, item: Object) -> Iterator[Surroundings]:
        for name in dict.fromkeys(_names_of_homes(plural, item)):
            yield from self.by_name.get(name, ())
        if plural == "persistentvolumeclaims":
            yield from (one for some in self.by_name.values() for one in some)


def _names_of_homes(plural: str, item: Object) -> Iterator[str]:
    """What the workload may be called that an object belongs to."""
    if plural == "events":
        yield from _shortened(raw(mapping(item, "involvedObject"), "name"))
    elif plural == "pods":
        yield _name(item)
    if plural != "events":
        for owner in items(item, "metadata", "ownerReferences"):
            yield from _shortened(raw(owner, "name"))


def _shortened(name: str) -> Iterator[str]:
    """`web-5d4f-x2c`, `web-5d4f`, `web`: a Pod, its ReplicaSet, its Deployment; the set of `web-0`; the Job's Pods."""
    yield name
    for _ in range(2):
        name = name.rpartition("-")[0]
        if name:
            yield name


def _name(item: Mapping[str, Any]) -> str:
    return raw(item, "metadata", "name")


def _uid(item: Object) -> str:
    metadata = metadata_of(item)
    return str(metadata.get("uid") or metadata.get("name") or "")
