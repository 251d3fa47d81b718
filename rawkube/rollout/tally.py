"""What has become of all that is followed, so far: what is still open, and the end of all. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import RawkubeError
from rawkube.rollout.happenings import (
    COMPLETE,
    DELETED,
    ERROR,
    FAILED,
    INTERRUPTED,
    NOT_FOUND,
    TIMED_OUT,
    UNFINISHED,
    Cleared,
    Explained,
    Found,
    Happening,
    Overall,
    Result,
    State,
    Workload,
    outcome_of,
)

if TYPE_CHECKING:
    from rawkube.rollout.explain.finding import Finding

WORST_FIRST = (INTERRUPTED, ERROR, FAILED, DELETED, NOT_FOUND, TIMED_OUT, UNFINISHED, COMPLETE)
"""Which outcome of several stands for all of them: the first of these that one of them had."""


class Tally:
    """Counts what happens."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self._open: dict[Workload, State | None] = {}
        self._findings: dict[Workload, dict[tuple[str, str, str], Finding]] = {}

    def expect(self, workload: Workload) -> None:
        """This one is going to be followed."""
        self._open.setdefault(workload, None)

    def take(self, happening: Happening) -> None:
        """Count this, too."""
        if isinstance(happening, State):
            self._open[happening.workload] = happening
        elif isinstance(happening, Found):
            self._findings.setdefault(happening.workload, {})[happening.finding.key] = happening.finding
        elif isinstance(happening, Cleared):
            self._findings.get(happening.workload, {}).pop(happening.finding.key, None)
        elif isinstance(happening, Result):
            self.results.append(happening)
            if happening.workload is not None:
                self._open.pop(happening.workload, None)

    def ended(self, outcome: str, seconds: float) -> Iterator[Result]:
        """The results of what is still open: all of it ends in this way. They have to be taken."""
        for workload, state in list(self._open.items()):
            found = tuple(self._findings.get(workload, {}).values())
            obj, progress = (state.object, state.progress) if state else (None, None)
            yield Result(workload, outcome, None, seconds, obj, progress, Explained(found))

    def overall(
        self, seconds: float, required: int, *, interrupted: bool = False, error: RawkubeError | None = None
    ) -> Overall:
        """The end of all. `required`: how many have to be complete. Nothing at all is NOT_FOUND."""
        counts: dict[str, int] = {}
        for result in self.results:
            counts[result.outcome] = counts.get(result.outcome, 0) + 1
        if interrupted:
            outcome = INTERRUPTED
        elif error is not None:
            outcome = outcome_of(error)
        elif not self.results:
            outcome = NOT_FOUND
        elif counts.get(COMPLETE, 0) >= required:
            outcome = COMPLETE
        else:
            outcome = next((one for one in WORST_FIRST if one in counts and one != COMPLETE), ERROR)
        return Overall(outcome, seconds, counts, required, tuple(self.results), error)
