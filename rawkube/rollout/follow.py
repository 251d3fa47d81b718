"""Follow one workload until its rollout is done: list and watch below, the status table in between.

What makes an end: the table says done; the object is deleted, or another one stands in its place (its uid
differs); the table says that it cannot be told; the time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rawkube.api.client import ApiClient
from rawkube.api.list_watch import Listed, ListWatch, Selection
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import ObjectDeleted
from rawkube.rollout.happenings import State, Workload
from rawkube.rollout.status import Progress, evaluate

__all__ = ["Workload", "follow"]


def follow(
    client: ApiClient,
    workload: Workload,
    *,
    revision: int = 0,
    timeout: float = 0.0,
    watch_timeout: Callable[[], int] | None = None,
    on_note: Callable[[str], None] = lambda text: None,
    evaluate: Callable[[Object], Progress] | None = None,
) -> Iterator[Progress]:
    """Each state of the rollout, as kubectl would print it, repetitions included; ends after the one that is done.

    `revision`: the revision that must be the running one, 0 for any. `timeout`: seconds from the first request, 0
    for none. `watch_timeout()`: seconds after which the server is asked to end a watch. `evaluate`: what tells where
    the rollout is, by the object, instead of kubectl's table. Raises RolloutFailed, ObjectDeleted, WaitTimeout,
    StatusError, TransportError, DecodeError.
    """
    judge = evaluate or by_revision(revision)
    deadline = client.clock() + timeout if timeout > 0 else None
    following = Following(client, workload, judge, deadline=deadline, watch_timeout=watch_timeout, on_note=on_note)
    for state in following.states():
        yield state.progress


def by_revision(revision: int) -> Callable[[Object], Progress]:
    """kubectl's table, for one revision of a Deployment; 0 is any."""
    return lambda obj: evaluate(obj, revision=revision)


class Following:
    """The following of one workload. `object`: its last state, None before the first.

    `deadline`: a time of the client's clock, None for none; `judge` as `evaluate` of follow(), the rest as there.
    """

    def __init__(
        self,
        client: ApiClient,
        workload: Workload,
        judge: Callable[[Object], Progress],
        *,
        deadline: float | None = None,
        watch_timeout: Callable[[], int] | None = None,
        on_note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.workload = workload
        self.object: Object | None = None
        self._client = client
        self._judge = judge
        self._deadline = deadline
        self._on_note = on_note
        self._loop = ListWatch(client, Selection(*workload), watch_timeout=watch_timeout, on_note=on_note)
        self._loop.deadline = deadline
        self._followed = _Followed(workload)

    @property
    def lost(self) -> bool:
        """Whether the server is not to be reached at the moment, as far as is known."""
        return self._loop.lost

    def states(self) -> Iterator[State]:
        """Its states, to the one that is done. Raises as follow()."""
        for step in self._loop.steps():
            found = self._followed.listed(step.items) if isinstance(step, Listed) else self._followed.changed(*step)
            if found is None:
                if isinstance(step, Listed):
                    self._not_listed()
                continue
            self.object = found
            progress = self._judge(found)
            yield State(self.workload, found, progress)
            if progress.done:
                return

    def _not_listed(self) -> None:
        """Ask for the object itself: its error is the answer; without one the LIST was too early, and is repeated."""
        from rawkube.api.missing import get_or_explain

        get_or_explain(self._client, *self.workload, deadline=self._deadline)
        self._followed.say_missing_once(self._on_note)
        self._loop.list_again()


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
