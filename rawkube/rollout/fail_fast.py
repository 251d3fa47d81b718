"""When is a rollout hopeless? The rule of `--fail-fast`. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rawkube._typing import NamedTuple
from rawkube.kubeconfig.timestamp import TimeError, seconds_of
from rawkube.rollout.explain.finding import MAYBE, NEVER, Finding

RESTARTS = 3
"""How often a container may be restarted: by then it has failed four times, over about a minute and a half."""

PULL_SECONDS = 60.0
"""How long an image may fail to be pulled: some three tries of the kubelet."""

SECONDS = 120.0
"""How long anything else may last that can go away by itself: a node that comes, a volume, a quota, a webhook."""

# What may be so while the new revision is well, or becomes well: old Pods that leave, what was asked for on purpose,
# and containers that run and are not ready yet, for which only --timeout knows how long is too long.
_NEVER_HOPELESS = frozenset(
    (
        *("FinalizerLeft", "LeavingOnLostNode", "OldPodBlocks", "StillTerminating"),
        *("MinReadySeconds", "OnDelete", "Partition", "ScaledToZero"),
        *("ProgressDeadline", "ProgressDeadlineExceeded", "ProgressDeadlineNever"),
        *("NotReady", "ReadinessGateWaits", "ReadinessProbeFails"),
    )
)

_BY_RESTARTS = frozenset(
    (
        *("ContainerCrashes", "ContainerEnds", "InitContainerFails", "OOMKilled", "PostStartHookFails"),
        *("CommandNotExecutable", "CommandNotFound", "ContainerStartFailed"),
        *("LivenessProbeFails", "StartupProbeFails"),
    )
)


class FailFast(NamedTuple):
    """What is waited for. `restarts` of a container, `pull_seconds` for an image, `seconds` for the rest."""

    restarts: int = RESTARTS
    pull_seconds: float = PULL_SECONDS
    seconds: float = SECONDS

    def hopeless(self, findings: Iterable[Finding], now: float) -> Finding | None:
        """The first finding by which the new revision cannot succeed at `now` (seconds since 1970), None for none.

        What can go away by itself counts after so many restarts; where nothing restarts, after so long a time since
        it began.
        """
        return next((one for one in findings if self._decides(one, now)), None)

    def _decides(self, finding: Finding, now: float) -> bool:
        if finding.code in _NEVER_HOPELESS or finding.resolves not in (NEVER, MAYBE):
            return False
        if finding.resolves == NEVER:
            return True
        if finding.code in _BY_RESTARTS:
            return finding.restarts >= self.restarts
        began = _seconds(finding.since)
        return began is not None and now - began >= self._grace(finding)

    def _grace(self, finding: Finding) -> float:
        return self.pull_seconds if finding.code.startswith("Image") else self.seconds


def _seconds(time: str) -> float | None:
    try:
        return seconds_of(time)
    except TimeError:
        return None
