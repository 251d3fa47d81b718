"""Why do rollouts not finish? Asked when one has failed, or all the time; nothing is loaded before it is asked.

What is asked when a rollout has ended is bounded in time and number, and never an error of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from rawkube._typing import TYPE_CHECKING, Any
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object
from rawkube.errors import RawkubeError, RolloutFailed, WaitTimeout
from rawkube.gotext import go_quote
from rawkube.rollout.happenings import FAILED, Cleared, Explained, Found, Note, Result, Workload
from rawkube.rollout.status import NotConvertible, RevisionMismatch, UnsupportedKind

if TYPE_CHECKING:
    from rawkube.api.crew import Crew
    from rawkube.rollout.explain.finding import Finding
    from rawkube.rollout.follow_many import How
    from rawkube.rollout.live import LiveExplanation, Watched

LONGEST = 10.0
"""Seconds that the explanations of one command may take, all together, after what they explain has ended."""

MOST = 10
"""How many workloads are explained at their ends; more at once mostly have one cause, seen often enough by then."""

AGAIN = 2.0
"""Seconds after which it is asked again whether what is known, and has not changed, is hopeless by now."""

NO_LIMIT = "ProgressDeadlineNever"
"""The code of the finding whose advice is to set a time."""

AUTO, LIVE, NEVER = "auto", "live", "never"
"""When causes are looked for: at a failure, all the time, never."""

_NOTHING = Explained()


class Why:
    """Looks for causes. `crew` reads what has to be read all the time; None: nobody does."""

    def __init__(self, client: ApiClient, how: How, crew: Crew[Any, Any] | None = None) -> None:
        self._client = client
        self._how = how
        self._crew = crew
        self._spent = 0.0
        self._explained = 0
        self._live: LiveExplanation | None = None
        self._troubled: set[Workload] = set()
        self._next_judgement: float | None = None
        if crew is not None and how.looks_on:
            from rawkube.rollout.live import LiveExplanation

            self._live = LiveExplanation(client, sleep=crew.sleep, watch_timeout=how.watch_timeout)

    # All the time.

    @property
    def next_look(self) -> float | None:
        """When look() is due, a time of the client's clock; None: not before something happens."""
        if self._live is None:
            return None
        due = [when for when in (self._live.next_look, self._next_judgement) if when is not None]
        return min(due, default=None)

    def changed(self, workload: Workload, obj: Object) -> None:
        """A state of what is followed."""
        if self._live:
            self._live.changed(workload, obj)

    def ended(self, workload: Workload) -> None:
        """It is not followed any more."""
        self._troubled.discard(workload)
        if self._live:
            self._live.ended(workload)

    def take(self, key: Watched, step: object) -> None:
        """What the crew read for it."""
        if self._live:
            self._live.step(key, step)

    def look(self) -> Iterator[Found | Cleared | Result]:
        """What is new, and a Result for each workload that cannot succeed. To be asked once all first lists are in."""
        live, crew = self._live, self._crew
        if live is None or crew is None:
            return
        for source in live.sources():
            crew.add(source.key, source.steps, interrupt=source.interrupt)
        now = self._client.clock()
        if self.next_look is None or self.next_look > now:
            return
        for one in live.look(now):
            if isinstance(one, Note):
                self._how.on_note(one)
                continue
            if isinstance(one, Found):
                self._troubled.add(one.workload)
            if self._how.explain == LIVE:
                yield one._replace(finding=self._advised(one.finding))
        yield from self._hopeless(live, now)

    def _hopeless(self, live: LiveExplanation, now: float) -> Iterator[Result]:
        """Those that time, or what was just found, shows not to succeed."""
        self._next_judgement = None
        if self._how.fail_fast is None:
            return
        from rawkube.rollout.server_time import server_time

        for workload in list(self._troubled):
            findings = live.findings(workload)
            if not findings:
                self._troubled.discard(workload)
            elif cause := self._how.fail_fast.hopeless(findings, server_time(self._client)):
                yield Result(workload, FAILED, given_up(workload, cause))
        if self._troubled:
            self._next_judgement = now + AGAIN

    # At the end.

    def explain(self, workload: Workload, obj: Object | None, error: RawkubeError | None) -> Explained:
        """What is in the way of a workload that has ended so. `obj`: its last state."""
        if obj is None or not isinstance(error, RolloutFailed | WaitTimeout):
            return _NOTHING
        if self._live and (found := self._live.findings(workload)):
            return Explained(tuple(map(self._advised, found)), self._live.unseen(workload), said=self._live.has_said)
        if not self._is_worth(error):
            return _NOTHING
        if self._explained >= MOST:
            return self._unexplained()
        began = self._client.clock()
        try:
            return self._looked_around(workload, obj, began + LONGEST - self._spent)
        finally:
            self._spent += self._client.clock() - began

    def _is_worth(self, error: RawkubeError) -> bool:
        if self._how.explain == NEVER or not self._how.watch or self._spent >= LONGEST:
            return False
        return not isinstance(error, NotConvertible | RevisionMismatch | UnsupportedKind)

    def _unexplained(self) -> Explained:
        """For the first one that is too many: that there are no more explanations."""
        if self._explained > MOST:
            return _NOTHING
        self._explained += 1
        return Explained(unseen={"further workloads": f"only {MOST} are explained at their ends"})

    def _looked_around(self, workload: Workload, obj: Object, deadline: float) -> Explained:
        from rawkube.rollout.explain import explain
        from rawkube.rollout.gather import gather
        from rawkube.rollout.server_time import server_time

        self._explained += 1
        scene = gather(self._client, workload, obj, deadline=deadline)
        now = server_time(self._client)
        return Explained(tuple(map(self._advised, explain(scene, now=now))), scene.unseen, now)

    def _advised(self, finding: Finding) -> Finding:
        """Without the advice to set a time where there is one."""
        if finding.code != NO_LIMIT or not (self._how.timeout > 0 or self._how.deadline is not None):
            return finding
        return finding._replace(advice="")


def given_up(workload: Workload, cause: Finding) -> RolloutFailed:
    """What ends a following that cannot succeed."""
    what = f"{workload.resource.kind.lower()} {go_quote(workload.name)}"
    return RolloutFailed(f"{what} was given up: {cause.headline}")
