"""Why does a rollout not finish?

`explain` asks every detector for what it sees in a scene, puts equal causes of several Pods together, and orders them.
"""

from __future__ import annotations

from rawkube.rollout.explain.finding import Finding
from rawkube.rollout.explain.scene import Scene


def explain(scene: Scene, *, now: float) -> list[Finding]:
    """What keeps the workload of `scene` from finishing at `now` (seconds since 1970).

    What cannot heal by itself comes first, what concerns most Pods before the rest.
    """
    # Nobody needs the detectors for a rollout that finishes.
    from rawkube.rollout.explain.detectors import DETECTORS
    from rawkube.rollout.explain.grouping import grouped
    from rawkube.rollout.explain.view import View

    view = View(scene, now=now)
    return grouped(view, [one for find in DETECTORS for one in find(view)])
