"""What the explanation of a rollout looks at: objects, as the API server gave them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rawkube._typing import Any, NamedTuple

Object = Mapping[str, Any]


class LogTail(NamedTuple):
    """The last lines of a container. `previous`: of its run before the present one."""

    lines: tuple[str, ...]
    previous: bool = False


class Scene(NamedTuple):
    """One workload and what belongs to it, at one time.

    `owned`: its ReplicaSets or ControllerRevisions, other workloads' among them do no harm. `pods`, `events`, `claims`
    (PersistentVolumeClaims): of its namespace, the same. `nodes`: those that its Pods are on; `gone_nodes`: names of
    those that were asked for and are not there. `budgets`: PodDisruptionBudgets. `logs`: by (name of the Pod, name of
    the container). `unseen`: what could not be asked for, a plural (`events`) and why; its absence above then means
    nothing.
    """

    workload: Object
    owned: Sequence[Object] = ()
    pods: Sequence[Object] = ()
    events: Sequence[Object] = ()
    claims: Sequence[Object] = ()
    nodes: Sequence[Object] = ()
    gone_nodes: Sequence[str] = ()
    budgets: Sequence[Object] = ()
    logs: Mapping[tuple[str, str], LogTail] = {}
    unseen: Mapping[str, str] = {}
