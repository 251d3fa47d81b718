"""All that can see a cause, each `findings(view)`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rawkube.rollout.explain import (
    admission,
    controllers,
    deadline,
    jobs,
    leaving,
    nodes,
    pods,
    scheduling,
    stateful_sets,
)
from rawkube.rollout.explain.finding import Finding
from rawkube.rollout.explain.view import View

DETECTORS: tuple[Callable[[View], Iterator[Finding]], ...] = (
    pods.findings,
    jobs.findings,
    scheduling.findings,
    admission.findings,
    nodes.findings,
    stateful_sets.findings,
    controllers.findings,
    leaving.findings,
    deadline.findings,
)
