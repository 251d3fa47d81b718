"""What there is to tell while rollouts are followed, as data: for lines, JSON and a live table alike. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.api.objects import Object
from rawkube.api.resource import Resource
from rawkube.errors import ObjectDeleted, RawkubeError, RolloutFailed, StatusError, WaitTimeout
from rawkube.rollout.status import NotConvertible, Progress, UnsupportedKind, WrongStrategy

if TYPE_CHECKING:
    from rawkube.rollout.explain.finding import Finding

COMPLETE, FAILED, TIMED_OUT, DELETED = "complete", "failed", "timed-out", "deleted"
NOT_FOUND, INTERRUPTED, ERROR, UNFINISHED = "not-found", "interrupted", "error", "unfinished"
OUTCOMES = (COMPLETE, FAILED, TIMED_OUT, DELETED, NOT_FOUND, INTERRUPTED, ERROR, UNFINISHED)
"""How the following of a workload may end. UNFINISHED: it was only looked at (`--watch=false`), or given up because
enough others are complete or because one of them failed."""


class Workload(NamedTuple):
    """Which workload. An empty `name` stands for a whole collection, which could not be listed."""

    resource: Resource
    namespace: str
    name: str

    @property
    def ref(self) -> str:
        """As `-o name`: `deployment.apps/web`, `pod/web-0`; of a collection without the name."""
        kind = self.resource.kind.lower()
        kind = f"{kind}.{self.resource.group}" if self.resource.group else kind
        return f"{kind}/{self.name}" if self.name else kind


class State(NamedTuple):
    """A new state of a workload, and where its rollout is by it."""

    workload: Workload
    object: Object
    progress: Progress


class Found(NamedTuple):
    """A cause appeared (or, if `again`, shows itself in another way: more Pods, more restarts)."""

    workload: Workload
    finding: Finding
    again: bool = False


class Cleared(NamedTuple):
    """A cause is gone."""

    workload: Workload
    finding: Finding


class Note(NamedTuple):
    """Something about the way there: the connection was lost, or is there again, or what else is good to know.

    `of`: what was followed on that way, its name is empty for a collection. `lost`: whether the connection is lost.
    """

    of: Workload
    text: str
    lost: bool = False


class Explained(NamedTuple):
    """What was found in the way of a workload at its end.

    `unseen`: what could not be looked at, and why; `said`: that was told of by Notes. `now`: seconds since 1970 on the
    server's clock, None: not asked.
    """

    findings: tuple[Finding, ...] = ()
    unseen: Mapping[str, str] = {}
    now: float | None = None
    said: bool = False


class Result(NamedTuple):
    """The end of a workload's following. `workload`: None for what a manifest names, and nobody knows.

    `error`: what ended it, None for COMPLETE, INTERRUPTED and UNFINISHED. `seconds`: since it began. `object`,
    `progress`: its last state, None if there was none. `why`: what was in its way at the end.
    """

    workload: Workload | None
    outcome: str
    error: RawkubeError | None = None
    seconds: float = 0.0
    object: Object | None = None
    progress: Progress | None = None
    why: Explained = Explained()


class Overall(NamedTuple):
    """The end of all: the last thing that is told.

    `counts`: how many workloads ended in each way, ways without any left out. `required`: how many had to be
    complete. `results`: of every workload, in the order in which they ended. `error`: what ended the command itself,
    rather than the following of one workload.
    """

    outcome: str
    seconds: float = 0.0
    counts: Mapping[str, int] = {}
    required: int = 0
    results: tuple[Result, ...] = ()
    error: RawkubeError | None = None


Happening = State | Found | Cleared | Note | Result | Overall


def outcome_of(error: RawkubeError) -> str:
    """How a following ended that raised this."""
    if isinstance(error, UnsupportedKind | NotConvertible | WrongStrategy):
        return ERROR
    if isinstance(error, StatusError):
        return NOT_FOUND if error.code == 404 else ERROR
    kinds = ((RolloutFailed, FAILED), (WaitTimeout, TIMED_OUT), (ObjectDeleted, DELETED))
    return next((outcome for kind, outcome in kinds if isinstance(error, kind)), ERROR)
