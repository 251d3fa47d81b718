"""A scene seen from its workload: which Pods are of the newest revision, and which Events are about what. Pure.

Pods belong to a workload by the chain of their controllers, by UID. The newest revision of a Deployment is the
ReplicaSet with its Pod template; that of a StatefulSet is named by `status.updateRevision`; of a DaemonSet it is the
ControllerRevision with the highest number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from rawkube._typing import Any, NamedTuple
from rawkube.kubeconfig.timestamp import TimeError, seconds_of
from rawkube.rollout.explain.fields import Value, at, clip, flag, items, mapping, number, raw, text
from rawkube.rollout.explain.finding import Evidence, Finding
from rawkube.rollout.explain.scene import Object, Scene
from rawkube.rollout.status import REVISION_ANNOTATION

POD_HASH = "pod-template-hash"
REVISION_HASH = "controller-revision-hash"
MESSAGE = 2000
"""How many characters of the message of an Event are read."""

_OBSERVED_KINDS = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")  # whose controllers say what they have seen
_DAY = 86400
_LONGEST_TIME = 64


class Event(NamedTuple):
    """An Event: `type` is Normal or Warning, `time` when it was seen last and `first` when it was seen first
    (RFC 3339, empty if not told), `count` how often, `container` which one of a Pod it is about (empty: none)."""

    reason: str
    message: str
    type: str = ""
    time: str = ""
    first: str = ""
    count: int = 1  # type: ignore[assignment]  # over the method of tuples, which nobody asks an Event
    container: str = ""


class View:
    """What detectors look at.

    `now`: seconds since 1970. `kind`, `name`, `namespace` of the workload; `ref` names it for people
    (`deployment.apps/web`). `newest`: the ReplicaSet or ControllerRevision of the newest revision, None while there is
    none. `owned`: what the workload controls of `scene.owned`, oldest first. `new_pods`: those of the newest revision,
    `old_pods`: the others, both oldest first; of a Job, a ReplicaSet and other kinds all are new, and a Pod is its
    own. Those that are being deleted are among them, see `is_terminating`.
    """

    __slots__ = (
        "_events",
        "_read",
        "kind",
        "name",
        "namespace",
        "new_pods",
        "newest",
        "now",
        "old_pods",
        "owned",
        "ref",
        "scene",
    )

    def __init__(self, scene: Scene, *, now: float) -> None:
        self.scene = scene
        self.now = now
        workload = self.workload
        self.kind = text(workload, "kind")
        self.name = name_of(workload)
        self.namespace = text(workload, "metadata", "namespace")
        self.ref = ref_of(workload)
        self.owned = sorted(_controlled_by(_objects(scene.owned), {_uid(workload)}), key=_age)
        self.newest = _newest(workload, self.kind, self.owned)
        self.new_pods, self.old_pods = self._pods()
        self._events = _by_subject(_objects(scene.events))
        self._read: dict[tuple[str, str, str], list[Event]] = {}

    @property
    def workload(self) -> Object:
        """The workload."""
        return mapping(self.scene.workload)

    def events(self, about: Object) -> list[Event]:
        """The Events about an object, the oldest first: by its UID, else by kind and name."""
        key = _uid(about), text(about, "kind") or "Pod", raw(about, "metadata", "name")
        if key not in self._read:
            # An Event with a UID is about that very object, not about one which had its name before.
            found = [*self._events.get(key[0], ()), *self._events.get(key[1:], ())]
            self._read[key] = sorted(map(_event, found), key=lambda one: one.time)
        return self._read[key]

    def condition(self, type_: str, about: Object | None = None) -> Object | None:
        """The condition of this type in the status of the workload, or of another object; None without one."""
        return condition(self.workload if about is None else about, type_)

    def finding(
        self,
        code: str,
        text: str,
        field: str,
        value: str,
        *,
        resolves: str,
        time: str = "",
        advice: str = "",
        since: str = "",
        objects: tuple[str, ...] = (),
        of: int = 0,
    ) -> Finding:
        """A finding about the workload itself, as a field of it shows. `time`: when that had its value; see Finding."""
        return Finding(
            code,
            text,
            self.ref,
            evidence=(Evidence(f"{self.ref}: {field}", value, time),),
            resolves=resolves,
            advice=advice,
            since=since,
            objects=objects,
            of=of,
        )

    def seconds_since(self, time: str) -> float | None:
        """How long ago an RFC 3339 time is, never negative; None for no time."""
        seconds = epoch(time)
        return None if seconds is None else max(0.0, self.now - seconds)

    def clock(self, time: str) -> str:
        """An RFC 3339 time for people: without the date if that is the day of `now`, in UTC."""
        seconds = epoch(time)
        if seconds is None:
            return time
        return time.partition("T")[2] if seconds // _DAY == self.now // _DAY and time.endswith("Z") else time

    def claim(self, name: str) -> Object | None:
        """The PersistentVolumeClaim of that name in the workload's namespace, None if the scene has none."""
        return _named(self.scene.claims, name)

    def node(self, name: str) -> Object | None:
        """The node of that name, None if the scene does not have it."""
        return _named(self.scene.nodes, name)

    @property
    def is_observed(self) -> bool:
        """Whether the controller has seen the workload's present generation; some kinds do not tell, such as Job."""
        if self.kind not in _OBSERVED_KINDS and at(self.workload, "status", "observedGeneration") is None:
            return True
        return number(self.workload, "status", "observedGeneration") >= number(self.workload, "metadata", "generation")

    def _pods(self) -> tuple[list[Object], list[Object]]:
        pods = sorted(_objects(self.scene.pods), key=_age)
        workload, uid = self.workload, _uid(self.workload)
        if self.kind == "Pod":
            same = [pod for pod in pods if uid and _uid(pod) == uid]
            return same[:1] or [workload], []
        if self.kind == "Deployment" and "replicasets" in self.scene.unseen:
            return _by_hash(_by_name_of_owner(pods, self.name))
        mine = _controlled_by(pods, {uid, *map(_uid, self.owned)})
        return _split(mine, self._is_new())

    def _is_new(self) -> Callable[[Object], bool]:
        """Tells the Pods of the newest revision from others."""
        if self.kind == "Deployment":
            uid = _uid(self.newest)
            return lambda pod: bool(uid) and controller_uid(pod) == uid
        if self.kind not in ("DaemonSet", "StatefulSet"):
            return lambda pod: True
        wanted = raw(self.workload, "status", "updateRevision") or raw(self.newest, "metadata", "labels", REVISION_HASH)
        if not self.is_observed or not wanted:
            # Without a look at the revisions nothing tells them apart; an old Pod that fails is then of interest, too.
            return lambda pod: "controllerrevisions" in self.scene.unseen
        return lambda pod: raw(pod, "metadata", "labels", REVISION_HASH) == wanted


# Of single objects.


def name_of(thing: Object | None) -> str:
    """The name of an object, on one line."""
    return text(thing, "metadata", "name")


def ref_of(thing: Object | None) -> str:
    """An object as kubectl names it: `deployment.apps/web`, `pod/web-0`; a thing without a kind is a Pod."""
    group, slash, _ = raw(thing, "apiVersion").partition("/")
    kind = (text(thing, "kind") or "Pod").lower()
    return f"{kind}.{clip(group)}/{name_of(thing)}" if slash else f"{kind}/{name_of(thing)}"


def is_terminating(thing: Object) -> bool:
    """Whether it is being deleted."""
    return bool(raw(thing, "metadata", "deletionTimestamp"))


def condition(thing: Object | None, type_: str) -> Object | None:
    """The condition of this type in an object's status, None without one."""
    return next((one for one in items(thing, "status", "conditions") if at(one, "type") == type_), None)


def controller_uid(thing: Object) -> str:
    """The UID of the controller, empty for none."""
    return raw(_controller(thing), "uid")


@lru_cache(maxsize=1024)
def epoch(time: str) -> float | None:
    """Seconds since 1970 of an RFC 3339 time, None if it is none."""
    try:
        return seconds_of(time[:_LONGEST_TIME])
    except TimeError:
        return None


def _controller(thing: Object) -> Mapping[str, Any]:
    owners = items(thing, "metadata", "ownerReferences")
    return next((one for one in owners if flag(one, "controller")), {})


def _uid(thing: Object | None) -> str:
    return raw(thing, "metadata", "uid")


def _age(thing: Object) -> tuple[str, str]:
    return raw(thing, "metadata", "creationTimestamp"), name_of(thing)


# Of many.


def _objects(things: Value) -> list[Object]:
    return items({"of": things}, "of")


def _named(things: Value, name: str) -> Object | None:
    return next((one for one in _objects(things) if raw(one, "metadata", "name") == name and name), None)


def _controlled_by(things: Iterable[Object], uids: set[str]) -> list[Object]:
    return [one for one in things if controller_uid(one) in uids - {""}]


def _by_name_of_owner(pods: Iterable[Object], deployment: str) -> list[Object]:
    """The Pods of a Deployment whose ReplicaSets could not be seen: those are named `DEPLOYMENT-HASH`."""
    return [
        pod
        for pod in pods
        if raw(_controller(pod), "name") == f"{deployment}-{raw(pod, 'metadata', 'labels', POD_HASH)}"
    ]


def _by_hash(pods: list[Object]) -> tuple[list[Object], list[Object]]:
    """New Pods are those that share their hash with the youngest one, as far as can be told from Pods alone."""
    youngest = raw(max(pods, key=_age, default=None), "metadata", "labels", POD_HASH)
    return _split(pods, lambda pod: raw(pod, "metadata", "labels", POD_HASH) == youngest)


def _split(pods: Iterable[Object], is_new: Callable[[Object], bool]) -> tuple[list[Object], list[Object]]:
    new: list[Object] = []
    old: list[Object] = []
    for pod in pods:
        (new if is_new(pod) else old).append(pod)
    return new, old


# The newest revision.


def _newest(workload: Object, kind: str, owned: list[Object]) -> Object | None:
    if kind == "Deployment":
        return _newest_replica_set(workload, owned)
    if kind in ("DaemonSet", "StatefulSet"):
        named = raw(workload, "status", "updateRevision")
        if named:
            return _named(owned, named)
        return max(owned, key=lambda one: number(one, "revision"), default=None)
    return workload if kind == "ReplicaSet" else None


def _newest_replica_set(deployment: Object, owned: list[Object]) -> Object | None:
    """As the Deployment controller finds it: the oldest one with the Deployment's Pod template."""
    template = at(deployment, "spec", "template")
    for one in owned:
        if isinstance(template, Mapping) and _without_hash(at(one, "spec", "template")) == _without_hash(template):
            return one
    if flag(deployment, "spec", "paused"):
        return None
    if number(deployment, "status", "observedGeneration") < number(deployment, "metadata", "generation"):
        return None
    # The same template may be written in two ways: with a field's default, or without the field.
    revision = raw(deployment, "metadata", "annotations", REVISION_ANNOTATION)
    same = (one for one in owned if raw(one, "metadata", "annotations", REVISION_ANNOTATION) == revision and revision)
    return next(same, None)


def _without_hash(template: Value) -> tuple[Value, Value, Value]:
    labels = {key: value for key, value in mapping(template, "metadata", "labels").items() if key != POD_HASH}
    return labels, at(template, "metadata", "annotations"), at(template, "spec")


# Events.

_Subject = str | tuple[str, str]


def _by_subject(events: Iterable[Object]) -> dict[_Subject, list[Object]]:
    """The Events by the UID, and by the kind and name, of what they are about."""
    found: dict[_Subject, list[Object]] = {}
    for one in events:
        about = mapping(one, "involvedObject") or mapping(one, "regarding")
        uid = raw(about, "uid")
        if uid:
            found.setdefault(uid, []).append(one)
        else:
            found.setdefault((raw(about, "kind"), raw(about, "name")), []).append(one)
    return found


def _event(event: Object) -> Event:
    """An Event of core/v1 in either of its forms: with counts and timestamps, or with `eventTime` and a series."""
    series = mapping(event, "series")
    first = text(event, "firstTimestamp") or text(event, "eventTime") or text(event, "metadata", "creationTimestamp")
    last = text(series, "lastObservedTime") or text(event, "lastTimestamp") or first
    count = number(series, "count") or number(event, "count") or 1
    path = raw(event, "involvedObject", "fieldPath")
    container = clip(path.partition("{")[2].removesuffix("}")) if "ontainers{" in path else ""
    words = (text(event, "reason"), clip(raw(event, "message"), MESSAGE), text(event, "type"))
    return Event(*words, time=last, first=first, count=count, container=container)
