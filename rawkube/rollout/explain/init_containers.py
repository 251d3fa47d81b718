"""Init containers that have not ended yet. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rawkube.rollout.explain.containers import INIT, Container
from rawkube.rollout.explain.fields import items
from rawkube.rollout.explain.finding import WAITS, Evidence, Finding
from rawkube.rollout.explain.probes import PATIENCE
from rawkube.rollout.explain.view import name_of


def findings_of(container: Container) -> Iterator[Finding]:
    """That an init container still runs, if it does and has done so for a while."""
    ago = container.view.seconds_since(container.started_at)
    if container.role != INIT or not container.running or ago is None or ago < PATIENCE:
        return
    ref = f"pod/{name_of(container.pod)}"
    since = container.started_at
    yield container.finding(
        "InitContainerRuns",
        f"{container}{_place(container)} has not ended yet, it has been running since {container.view.clock(since)}",
        resolves=WAITS,
        advice=f"rawkube logs {name_of(container.pod)} -c {container.name} -n {container.view.namespace}",
        evidence=(Evidence(f"{ref}: {container.field}.state.running", f"startedAt {since}", since),),
        since=since,
    )


def _place(container: Container) -> str:
    """` (2 of 3)`; empty for the only one."""
    names = [one.get("name") for one in items(container.pod, "spec", "initContainers")]
    if len(names) < 2:
        return ""
    return f" ({names.index(container.spec.get('name')) + 1} of {len(names)})"
