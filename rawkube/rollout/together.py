"""Many workloads at once: a list and watch for each kind and namespace, read by threads, and put together here.

The first list settles what is followed; what appears later is not. A workload is followed by its uid, to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube.api.client import ApiClient
from rawkube.api.crew import Crew, Ended
from rawkube.api.list_watch import Changed, Listed, Selection
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import ObjectDeleted, RawkubeError, StatusError, WaitTimeout
from rawkube.rollout.collection import Collection, Left, Missing, Said, Step, is_refused_by_name, place_of
from rawkube.rollout.follow_many import How, Told, Wanted, check_kind
from rawkube.rollout.happenings import COMPLETE, UNFINISHED, Note, Result, State, Workload, outcome_of
from rawkube.rollout.status import Progress, UnsupportedKind
from rawkube.rollout.why import Why

if TYPE_CHECKING:
    from rawkube.rollout.live import Watched

Key = tuple[str, str, str, str]
"""What makes it the same workload: group and plural of its resource, namespace, name."""


class One:
    """A workload that is followed. `by`: the collection that tells of it; the rest as it was last seen."""

    __slots__ = ("by", "object", "progress", "uid", "workload")

    def __init__(self, workload: Workload, by: Collection) -> None:
        self.workload = workload
        self.by = by
        self.uid = ""
        self.object: Object | None = None
        self.progress: Progress | None = None

    def check_uid(self, item: Object) -> None:
        """Raises ObjectDeleted when this is another object of the same name."""
        uid = str(metadata_of(item).get("uid") or "")
        if self.uid and uid and uid != self.uid:
            raise ObjectDeleted(detail=["another object of the same name has taken its place"])
        self.uid = self.uid or uid


class Together:
    """One following of many. Use happenings() once."""

    def __init__(self, client: ApiClient, wanted: Sequence[Wanted], how: How) -> None:
        self._client = client
        self._how = how
        self._wanted = wanted
        self._began = client.clock() if how.began is None else how.began
        self._deadline = how.until(self._began)
        self._crew: Crew[Collection | Watched, object] = Crew()
        self._following: dict[Key, One] = {}
        self._seen: set[Key] = set()
        self._unlisted: set[Collection] = set()
        self._told = self._complete = self._failed = 0
        self._why = Why(client, how, self._crew)

    def happenings(self) -> Iterator[Told]:
        """As follow_all()."""
        with self._crew:
            yield from self._start()
            while (self._following or self._unlisted) and not self._is_decided():
                got = self._crew.get(self._patience())
                if got is not None:
                    yield from self._take(*got)
                yield from self._in_time()
                yield from self._looked()
            for one in list(self._following.values()):
                yield from self._end(one, UNFINISHED)

    # What to follow.

    def _start(self) -> Iterator[Told]:
        groups: dict[tuple[Selection, str], set[str]] = {}
        for one in self._wanted:
            try:
                if isinstance(one, RawkubeError):
                    raise one
                self._check(one)
            except RawkubeError as error:
                workload = None if isinstance(one, RawkubeError) else Workload(*one[:3])
                yield self._counted(Result(workload, outcome_of(error), error, self._seconds()))
                continue
            names = groups.setdefault((one._replace(name=""), "named" if one.name else ""), set())
            names |= {one.name} - {""}
        for (selection, _), names in groups.items():
            self._add(selection, frozenset(names))

    def _check(self, wanted: Selection) -> None:
        if wanted.name:
            check_kind(self._client, self._how, Workload(*wanted[:3]), self._deadline)
        elif unsupported := self._how.unsupported(wanted.resource.group, wanted.resource.kind):
            raise UnsupportedKind(unsupported)

    def _add(self, selection: Selection, names: frozenset[str]) -> None:
        """Follow what a selection holds; one name alone is asked for alone."""
        if len(names) == 1:
            selection = selection._replace(name=next(iter(names)))
        by = self._collection(selection, names)
        for name in names:
            workload = Workload(selection.resource, selection.namespace, name)
            if _key(workload) not in self._seen:
                self._follow(workload, by)
        self._unlisted.add(by)
        self._read(by, by.steps)

    def _collection(self, selection: Selection, names: frozenset[str]) -> Collection:
        return Collection(
            self._client,
            selection,
            names,
            say=self._crew.put,
            sleep=self._crew.sleep,
            watch_timeout=self._how.watch_timeout,
            deadline=self._deadline,
        )

    def _read(self, by: Collection, steps: Callable[[], Iterable[Step]]) -> None:
        self._crew.add(by, steps, interrupt=by.interrupt)

    def _follow(self, workload: Workload, by: Collection) -> One:
        one = self._following[_key(workload)] = One(workload, by)
        self._seen.add(_key(workload))
        return one

    # What the threads tell.

    def _take(self, by: Collection | Watched, step: object) -> Iterator[Told]:
        if not isinstance(by, Collection):
            self._why.take(by, step)
        elif isinstance(step, Ended):
            yield from self._ended(by, step.error)
        elif isinstance(step, Said):
            self._how.on_note(Note(Workload(*by.selection[:3]), step.text, step.lost))
        elif isinstance(step, Listed):
            yield from self._listed(by, step)
        elif isinstance(step, Changed):
            yield from self._changed(by, step)
        elif isinstance(step, Missing):
            one = self._of(by, (by.selection.namespace, step.name))
            if one is not None:
                yield from self._end(one, outcome_of(step.error), step.error)
        elif isinstance(step, Left):
            yield from self._left(by, step)

    def _of(self, by: Collection, place: tuple[str, str]) -> One | None:
        """The workload at that place, if it is (still) followed by this collection."""
        one = self._following.get(_key(Workload(by.selection.resource, *place)))
        return one if one is not None and one.by is by else None

    def _listed(self, by: Collection, step: Listed) -> Iterator[Told]:
        first = by in self._unlisted
        self._unlisted.discard(by)
        for item in step.items:
            workload = Workload(by.selection.resource, *place_of(item))
            if first and _key(workload) not in self._seen:
                self._follow(workload, by)
        for item in step.items:
            yield from self._state(by, item)
        self._leave_unread(by)
        if not self._is_decided():
            by.taken()

    def _changed(self, by: Collection, step: Changed) -> Iterator[Told]:
        if step.type != "DELETED":
            yield from self._state(by, step.object)
        elif one := self._of(by, place_of(step.object)):
            yield from self._end(one, *_as_outcome(ObjectDeleted()))

    def _state(self, by: Collection, item: Object) -> Iterator[Told]:
        one = self._of(by, place_of(item))
        if one is None:
            return
        try:
            one.check_uid(item)
            one.object = item
            one.progress = self._how.judge(item)
        except RawkubeError as error:
            yield from self._end(one, *_as_outcome(error))
            return
        yield State(one.workload, item, one.progress)
        self._why.changed(one.workload, item)
        if one.progress.done:
            yield from self._end(one, COMPLETE)
        elif not self._how.watch:
            yield from self._end(one, UNFINISHED)

    def _left(self, by: Collection, step: Left) -> Iterator[Told]:
        """It is followed by its name from now on."""
        one = self._of(by, place_of(step.object))
        if one is None:
            return
        _, namespace, name = one.workload
        one.by = self._collection(Selection(by.selection.resource, namespace, name), frozenset((name,)))
        self._read(one.by, one.by.steps)
        yield from self._state(one.by, step.object)

    def _ended(self, by: Collection, error: BaseException | None) -> Iterator[Told]:
        """A collection is not read any more."""
        unlisted = by in self._unlisted
        self._unlisted.discard(by)
        if error is None:
            return
        if not isinstance(error, RawkubeError):
            raise error
        mine = [one for one in self._following.values() if one.by is by]
        if unlisted and self._asks_otherwise(by, error, mine):
            return
        if not mine and unlisted:
            yield self._counted(Result(Workload(*by.selection[:3]), outcome_of(error), error, self._seconds()))
        for one in mine:
            yield from self._end(one, outcome_of(error), error)

    def _asks_otherwise(self, by: Collection, error: RawkubeError, mine: Sequence[One]) -> bool:
        """After a refusal of the first list: one by one, or what an old server has instead."""
        names = [frozenset((one.workload.name,)) for one in mine]
        selection = by.selection
        if is_refused_by_name(error) and len(names) > 1:
            pass
        elif isinstance(error, StatusError) and (served := self._how.served(selection.resource, error)):
            selection = selection._replace(resource=served)
            names = [by.names]
        else:
            return False
        for one in mine:
            self._forget(one)
        for some in names:
            self._add(selection._replace(name=""), some)
        return True

    def _forget(self, one: One) -> None:
        key = _key(one.workload)
        del self._following[key]
        self._seen.discard(key)

    # What time brings.

    def _patience(self) -> float | None:
        """How many seconds nothing is due."""
        due = [time for time in (self._deadline, self._why.next_look) if time is not None]
        return min(due) - self._client.clock() if due else None

    def _in_time(self) -> Iterator[Told]:
        """The end of all, once the time is over."""
        if self._deadline is None or self._client.clock() < self._deadline:
            return
        for by in self._unlisted:
            if not by.names:
                error = WaitTimeout(answered=False)
                yield self._counted(Result(Workload(*by.selection[:3]), *_as_outcome(error), self._seconds()))
        self._unlisted.clear()
        for one in list(self._following.values()):
            yield from self._end(one, *_as_outcome(WaitTimeout(answered=one.object is not None)))

    def _looked(self) -> Iterator[Told]:
        """What is found by looking around, and the ends of those that cannot succeed."""
        if self._unlisted:
            return
        for found in self._why.look():
            if isinstance(found, Result):
                one = self._following.get(_key(found.workload)) if found.workload else None
                if one is not None:
                    yield from self._end(one, found.outcome, found.error)
            else:
                yield found

    # Ends.

    def _is_decided(self) -> bool:
        if self._how.require is None or self._unlisted:
            return False
        total = self._told + len(self._following)
        needed = self._how.require.of(total)
        return self._complete >= needed or total - self._failed < needed

    def _end(self, one: One, outcome: str, error: RawkubeError | None = None) -> Iterator[Result]:
        del self._following[_key(one.workload)]
        one.by.ended.add((one.workload.namespace, one.workload.name))
        why = self._why.explain(one.workload, one.object, error)
        self._why.ended(one.workload)
        self._leave_unread(one.by)
        result = Result(one.workload, outcome, error, self._seconds(), one.object, one.progress, why)
        yield self._counted(result)

    def _leave_unread(self, by: Collection) -> None:
        """End the reading of what tells of nobody any more."""
        if by not in self._unlisted and all(one.by is not by for one in self._following.values()):
            by.interrupt()

    def _counted(self, result: Result) -> Result:
        self._told += 1
        self._complete += result.outcome == COMPLETE
        self._failed += result.error is not None
        return result

    def _seconds(self) -> float:
        return self._client.clock() - self._began


def _key(workload: Workload) -> Key:
    return workload.resource.group, workload.resource.plural, workload.namespace, workload.name


def _as_outcome(error: RawkubeError) -> tuple[str, RawkubeError]:
    return outcome_of(error), error
