"""Why do rollouts not finish, while they run: watched, not polled.

Workloads of one namespace that are known at the same time share their watches: of Pods, of ReplicaSets or
ControllerRevisions, of Events, and of PersistentVolumeClaims once a Pod waits with one. A workload that is alone is
watched with its selector. What is kept of it, and when a cause is told of, is in `neighbourhood` and `causes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from rawkube._typing import NamedTuple
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.crew import Ended
from rawkube.api.list_watch import Changed, How, Listed, ListWatch, Selection
from rawkube.api.objects import Object
from rawkube.errors import DeadlineExceeded, RawkubeError
from rawkube.rollout.belongings import Crashed, claims_of, crashed, owned_plural, pod_selector, stuck
from rawkube.rollout.causes import Causes, Told
from rawkube.rollout.collection import PAGE, slim
from rawkube.rollout.explain import explain
from rawkube.rollout.explain.finding import Finding
from rawkube.rollout.explain.scene import LogTail, Scene
from rawkube.rollout.explain.view import View
from rawkube.rollout.gather import LOGS, read_tail, reason_of
from rawkube.rollout.happenings import Cleared, Found, Note, Workload
from rawkube.rollout.neighbourhood import Neighbourhood, Surroundings
from rawkube.rollout.server_time import rfc3339, server_time

PAUSE = 0.5
"""Seconds between two looks at one workload: a new Pod brings several changes in one moment."""

LOOK_AGAIN = 15.0
"""Seconds after which a workload is looked at although nothing has changed: some causes are but time that passes."""

LOG_PATIENCE = 1.0
"""Seconds that a log is waited for while everything else waits, too."""

LOG_TIME = 1.0
"""Seconds that may pass in one look until what still needs a log has to wait for the next."""

LOG_FAILURES = 3
"""How many logs that do not come in time are enough to ask for none any more."""

_ALIKE = 40  # characters at the beginning by which two reasons are the same


class Watched(NamedTuple):
    """What one source reads. `group`: a number, of those workloads that share it."""

    plural: str
    namespace: str
    group: int


class Source(NamedTuple):
    """Something to read in a thread. `interrupt()`: ends it, from another thread."""

    key: Watched
    steps: Callable[[], Iterable[Listed | Changed]]
    interrupt: Callable[[], None]


class _Group:
    """Workloads that share their watches. `unseen`: what cannot be watched, and why."""

    def __init__(self, namespace: str, number: int) -> None:
        self.namespace = namespace
        self.number = number
        self.members = Neighbourhood()
        self.unseen: dict[str, str] = {"nodes": "not watched"}
        self.watched: set[str] = set()
        self.listed: set[str] = set()
        self.selector = ""


class _One:
    """One workload. `look`: when it is to be looked at, a time of the client's clock, None: nothing has changed."""

    def __init__(self, workload: Workload, obj: Object) -> None:
        self.workload = workload
        self.surroundings = Surroundings(obj)
        self.causes = Causes()
        self.group: _Group | None = None
        self.look: float | None = None
        self.asked: set[Crashed] = set()


class LiveExplanation:
    """The causes of several workloads, as they come and go. For one thread, but for what the sources do in theirs.

    `sleep` pauses a source. `watch_timeout`: as for ListWatch.
    """

    def __init__(
        self, client: ApiClient, *, sleep: Callable[[float], None], watch_timeout: Callable[[], int] | None = None
    ) -> None:
        self._client = client
        self._sleep = sleep
        self._watch_timeout = watch_timeout
        self._ones: dict[Workload, _One] = {}
        self._groups: list[_Group] = []
        self._unsaid: dict[tuple[str, str, str], tuple[str, list[str]]] = {}
        self._of: dict[int, _One] = {}
        self._forbidden: set[tuple[str, str]] = set()
        self._say_at: float | None = None
        self._late_logs = 0

    def changed(self, workload: Workload, obj: Object) -> None:
        """A state of a workload, which is of interest from now on."""
        named = {"kind": workload.resource.kind, "apiVersion": workload.resource.group_version}
        obj = {**named, **slim(obj)}
        one = self._ones.get(workload)
        if one is None:
            one = self._ones[workload] = _One(workload, obj)
            self._of[id(one.surroundings)] = one
        one.surroundings.object = obj
        self._touch(one)

    def ended(self, workload: Workload) -> None:
        """It is of no interest any more."""
        one = self._ones.pop(workload, None)
        if one is not None:
            del self._of[id(one.surroundings)]
            if one.group is not None:
                one.group.members.remove(one.surroundings)

    # What is read.

    def sources(self) -> list[Source]:
        """What is to be read from now on, besides what was given before.

        Workloads that are new since the last call share what they need, those of each namespace: so call it when all
        are known.
        """
        by_namespace: dict[str, list[_One]] = {}
        for one in self._ones.values():
            if one.group is None:
                by_namespace.setdefault(one.workload.namespace, []).append(one)
        for namespace, ones in by_namespace.items():
            self._group(namespace, ones)
        return [self._source(group, plural) for group in self._groups for plural in self._wanted(group)]

    def _group(self, namespace: str, ones: list[_One]) -> None:
        group = _Group(namespace, len(self._groups))
        self._groups.append(group)
        for one in ones:
            one.group = group
            group.members.add(one.surroundings)
        if len(ones) == 1:
            group.selector = pod_selector(ones[0].surroundings.object) or ""

    def _wanted(self, group: _Group) -> Iterator[str]:
        """Which plurals are to be watched and are not yet."""
        for plural in dict.fromkeys(self._plurals(group)):
            if plural not in group.watched:
                group.watched.add(plural)
                yield plural

    def _plurals(self, group: _Group) -> Iterator[str]:
        for one in self._ones.values():
            if one.group is not group:
                continue
            obj = one.surroundings.object
            if obj["kind"] != "Pod" and pod_selector(obj):
                yield "pods"
            if plural := owned_plural(str(obj["kind"])):
                yield plural
            yield "events"
            pods = one.surroundings.things.get("pods", {}).values()
            if claims_of([obj] if obj["kind"] == "Pod" else pods):
                yield "persistentvolumeclaims"

    def _source(self, group: _Group, plural: str) -> Source:
        selector = "" if plural in ("events", "persistentvolumeclaims") else group.selector
        loop = ListWatch(
            self._client,
            Selection(known(plural), group.namespace, label_selector=selector),
            watch_timeout=self._watch_timeout,
            sleep=self._sleep,
            how=How(limit=PAGE, keep=lambda item: group.members.keep(plural, item)),
        )
        return Source(Watched(plural, group.namespace, group.number), loop.steps, loop.interrupt)

    def step(self, key: Watched, step: object) -> None:
        """What a source gave: Listed, Changed, or Ended."""
        group = self._groups[key.group]
        concerned: list[Surroundings] = []
        if isinstance(step, Listed):
            group.listed.add(key.plural)
            concerned = group.members.listed(key.plural, step.items)
        elif isinstance(step, Changed):
            concerned = group.members.changed(key.plural, step.type, step.object)
        elif isinstance(step, Ended) and step.error is not None:
            concerned = self._lost(group, key, step.error)
        for one in concerned:
            self._touch(self._of[id(one)])

    def _lost(self, group: _Group, key: Watched, error: BaseException) -> list[Surroundings]:
        if not isinstance(error, RawkubeError):
            raise error
        group.unseen[key.plural] = why = reason_of(error)
        verb = "watch" if key.plural in group.listed else "look at"
        group.listed.add(key.plural)
        self._say_unseen(key.namespace, key.plural, why, verb)
        return [one for some in group.members.by_name.values() for one in some]

    def _say_unseen(self, namespace: str, plural: str, why: str, verb: str = "look at") -> None:
        if (namespace, plural) not in self._forbidden:
            self._forbidden.add((namespace, plural))
            self._unsaid.setdefault((namespace, verb, why[:_ALIKE]), (why, []))[1].append(plural)
            # What else cannot be seen for the same reason shows itself soon.
            self._say_at = self._say_at or self._client.clock() + PAUSE

    def _said(self) -> Iterator[Note]:
        """What could not be seen, a line for each reason."""
        for (namespace, verb, _), (why, plurals) in self._unsaid.items():
            of = Workload(known("pods" if plurals[0] == "logs" else plurals[0]), namespace, "")
            yield Note(of, f"could not {verb} {', '.join(plurals)}: {why}")
        self._unsaid.clear()
        self._say_at = None

    # What is told.

    def _touch(self, one: _One) -> None:
        soon = self._client.clock() + PAUSE
        one.look = soon if one.look is None else min(one.look, soon)

    @property
    def next_look(self) -> float | None:
        """When look() has something to do next, a time of the client's clock; None: not before something changes."""
        due = [when for one in self._ones.values() if (when := _due(one)) is not None]
        return min(due if self._say_at is None else [*due, self._say_at], default=None)

    def look(self, now: float) -> list[Found | Cleared | Note]:
        """What there is to tell at `now`, a time of the client's clock."""
        told: list[Found | Cleared] = []
        for one in list(self._ones.values()):
            when = _due(one)
            if when is not None and when <= now:
                told += [_happening(one.workload, each) for each in self._look_at(one, now)]
            if self._client.clock() - now >= LOG_TIME:
                break  # the others stay due; first the caller sees to its own times
        notes = self._said() if self._say_at is not None and (told or self._say_at <= now) else ()
        return [*notes, *told]

    def _look_at(self, one: _One, now: float) -> list[Told]:
        if one.look is None or one.look > now:
            return one.causes.due(now)
        if not _is_complete(one):
            one.look = None
            return one.causes.due(now)
        one.look = None
        self._read_logs(one)
        it_is = server_time(self._client)
        told = one.causes.update(explain(self.scene(one.workload), now=it_is), now, time=rfc3339(it_is))
        one.look = now + LOOK_AGAIN
        return told

    def findings(self, workload: Workload) -> tuple[Finding, ...]:
        """What is in the way of a workload as it was last looked at, told of or not."""
        one = self._ones.get(workload)
        return one.causes.present if one is not None else ()

    def unseen(self, workload: Workload) -> Mapping[str, str]:
        """What could not be looked at of a workload, and why."""
        one = self._ones.get(workload)
        return dict(one.group.unseen) if one is not None and one.group is not None else {}

    @property
    def has_said(self) -> bool:
        """Whether look() has told of all that could not be looked at."""
        return not self._unsaid

    def scene(self, workload: Workload) -> Scene:
        """What is known of a workload; raises KeyError for one that is of no interest."""
        one = self._ones[workload]
        return one.surroundings.scene(one.group.unseen if one.group else {})

    def _read_logs(self, one: _One) -> None:
        """The logs of containers that crashed, each run once."""
        pods = stuck(View(self.scene(one.workload), now=0.0))
        for crash in crashed(pods)[:LOGS]:
            if self._late_logs >= LOG_FAILURES or crash[:2] in one.surroundings.logs or crash in one.asked:
                continue
            one.asked.add(crash)
            try:
                deadline = self._client.clock() + LOG_PATIENCE
                text = read_tail(self._client, one.workload.namespace, crash, deadline)
            except RawkubeError as error:
                self._late_logs += isinstance(error, DeadlineExceeded)
                if one.group is not None:
                    one.group.unseen.setdefault("logs", reason_of(error))
                self._say_unseen(one.workload.namespace, "logs", reason_of(error))
                continue
            if text:
                one.surroundings.logs[crash[:2]] = LogTail(tuple(text.splitlines()), crash.previous)


def _due(one: _One) -> float | None:
    due = [when for when in (one.look, one.causes.next_due) if when is not None]
    return min(due, default=None)


def _is_complete(one: _One) -> bool:
    """Whether all that it needs has been listed: half of it explains wrongly."""
    return one.group is not None and bool(one.group.watched) and one.group.watched <= one.group.listed


def _happening(workload: Workload, told: Told) -> Found | Cleared:
    return Cleared(workload, told.finding) if told.cleared else Found(workload, told.finding, told.again)
