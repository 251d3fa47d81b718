"""Follow several workloads: one after the other, as kubectl does, or all at once. What happens comes out as data.

One after the other, each is asked for, timed and told of at its turn. All at once (`rawkube.rollout.together`) is
for those who want to see them side by side: one list and watch for each kind and namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.api.arguments import check_name
from rawkube.api.client import ApiClient
from rawkube.api.list_watch import Selection
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.errors import DeadlineExceeded, RawkubeError, StatusError, WaitTimeout
from rawkube.rollout.follow import Following
from rawkube.rollout.happenings import (
    COMPLETE,
    UNFINISHED,
    Cleared,
    Explained,
    Found,
    Note,
    Result,
    State,
    Workload,
    outcome_of,
)
from rawkube.rollout.status import Progress, UnsupportedKind, evaluate, unsupported_kind
from rawkube.rollout.why import LIVE, NEVER, Why

if TYPE_CHECKING:
    from rawkube.rollout.fail_fast import FailFast

Wanted = Selection | RawkubeError
"""What to follow: one object by name, all that a selection finds, or what already went wrong in its place."""

Told = State | Found | Cleared | Result


class Require(NamedTuple):
    """How many must be complete: so many, or so many of a hundred."""

    number: int
    percent: bool = False

    def of(self, total: int) -> int:
        """How many of `total`; a part of one counts as one."""
        return -(-total * self.number // 100) if self.percent else self.number


class How(NamedTuple):
    """How to follow.

    `judge(object)` tells where a rollout is, and raises RolloutFailed; `unsupported(group, kind)`: why a kind cannot
    be followed at all, empty if it can. `watch`: to the end; else the present state is all. `timeout`: seconds for
    each workload, from its turn on, the first of which began at `began`, a time of the client's clock (None: now);
    `deadline`: such a time for all. `require`: how many must
    be complete, all at once only; None: all. `explain`: AUTO finds out why a rollout failed or took too long, LIVE
    tells of causes as they come and go. `fail_fast`: give up on what cannot succeed. `served(resource, error)`: what
    the server has instead of a resource that it does not know. `on_note` is told at once, wherever things are.
    """

    judge: Callable[[Object], Progress] = evaluate
    unsupported: Callable[[str, str], str] = unsupported_kind
    watch: bool = True
    timeout: float = 0.0
    began: float | None = None
    deadline: float | None = None
    watch_timeout: Callable[[], int] | None = None
    require: Require | None = None
    explain: str = NEVER
    fail_fast: FailFast | None = None
    served: Callable[[Resource, StatusError], Resource | None] = lambda resource, error: None
    on_note: Callable[[Note], None] = lambda note: None

    @property
    def looks_on(self) -> bool:
        """Whether causes are looked for all the time."""
        return self.watch and (self.explain == LIVE or self.fail_fast is not None)

    def until(self, began: float) -> float | None:
        """When the time of a turn that began then is over; None: never."""
        ends = [] if self.deadline is None else [self.deadline]
        return min(ends + [began + self.timeout] * (self.timeout > 0), default=None)


_USUAL = How()


def follow_all(
    client: ApiClient, wanted: Iterable[Wanted], how: How = _USUAL, *, parallel: bool = False
) -> Iterator[Told]:
    """What happens to these, with exactly one Result for each workload; errors are told of by it, and not raised.

    One after the other, the next of `wanted` is only asked for when the one before has ended. A collection that
    cannot be listed has a Result whose workload has no name. Closing the iterator ends everything.
    """
    if parallel:
        from rawkube.rollout.together import Together

        return Together(client, list(wanted), how).happenings()
    return _Sequence(client, how).happenings(wanted)


class _Sequence:
    """One after the other."""

    def __init__(self, client: ApiClient, how: How) -> None:
        self._client = client
        self._how = how
        self._why = Why(client, how)
        self._began = client.clock() if how.began is None else how.began

    @property
    def _deadline(self) -> float | None:
        return self._how.until(self._began)

    def happenings(self, wanted: Iterable[Wanted]) -> Generator[Told, None, None]:
        for one in wanted:
            if isinstance(one, RawkubeError):
                yield Result(None, outcome_of(one), one)
            else:
                yield from self._selected(one)
            self._began = self._client.clock()

    def _selected(self, one: Selection) -> Generator[Told, None, None]:
        try:
            workloads = self._workloads(one)
        except RawkubeError as error:
            yield Result(Workload(*one[:3]), outcome_of(error), error)
            return
        for workload in workloads:
            yield from self._one(workload)
            self._began = self._client.clock()

    def _workloads(self, selection: Selection) -> list[Workload]:
        if selection.name:
            return [Workload(*selection[:3])]
        self._check_deadline()
        resource, namespace = selection[:2]
        try:
            listing = self._client.list(resource, namespace, query=selection.query(), deadline=self._deadline)
        except DeadlineExceeded as error:
            self._check_deadline(error)
            raise
        found = [metadata_of(item) for item in listing["items"]]
        return [
            Workload(resource, namespace or str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
            for metadata in found
        ]

    def _check_deadline(self, error: RawkubeError | None = None) -> None:
        if self._deadline is not None and self._client.clock() >= self._deadline:
            raise WaitTimeout(answered=error is None, detail=error.detail if error else ())

    def _one(self, workload: Workload) -> Generator[Told, None, None]:
        """One workload to its end, as the table of built-in resources has it, else as the server does."""
        if self._how.looks_on:
            from rawkube.rollout.together import Together

            how = self._how._replace(began=self._began)
            yield from Together(self._client, [Selection(*workload)], how).happenings()
            return
        following = self._following(workload)
        last: State | None = None
        error: RawkubeError | None = None
        try:
            try:
                for last in self._states(following):
                    yield last
            except StatusError as refused:
                served = None if following.object else self._how.served(workload.resource, refused)
                if served is None:
                    raise
                following = self._following(workload._replace(resource=served))
                for last in self._states(following):
                    yield last
        except RawkubeError as raised:
            error = raised
        why = Explained() if following.lost else self._why.explain(following.workload, following.object, error)
        done = last is not None and last.progress.done
        outcome = outcome_of(error) if error else COMPLETE if done else UNFINISHED
        seconds = self._client.clock() - self._began
        progress = last.progress if last else None
        yield Result(following.workload, outcome, error, seconds, following.object, progress, why)

    def _following(self, workload: Workload) -> Following:
        return Following(
            self._client,
            workload,
            self._how.judge,
            deadline=self._deadline,
            watch_timeout=self._how.watch_timeout,
            on_note=lambda text: self._how.on_note(Note(workload, text)),
        )

    def _states(self, following: Following) -> Iterator[State]:
        self._check_deadline()
        check_kind(self._client, self._how, following.workload, self._deadline)
        for state in following.states():
            yield state
            if not self._how.watch:
                return


def check_kind(client: ApiClient, how: How, workload: Workload, deadline: float | None) -> None:
    """Raises UnsupportedKind, or, where there is no such object, that; UsageError for what can be no name.

    WaitTimeout, where that is not known at `deadline`.
    """
    check_name(workload.name)
    if unsupported := how.unsupported(workload.resource.group, workload.resource.kind):
        from rawkube.api.missing import get_or_explain

        get_or_explain(client, *workload, deadline=deadline)
        raise UnsupportedKind(unsupported)
