"""Is it done? One object of any kind in, a line and a yes or no out. Pure.

Deployments, DaemonSets and StatefulSets are judged by kubectl's table (`rawkube.rollout.status`), and nothing else is
unless `any_kind` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube.gotext import one_line
from rawkube.rollout.reading import Object, name_of
from rawkube.rollout.status import Progress, UnsupportedKind, evaluate, unsupported_kind, viewer_kind

if TYPE_CHECKING:
    from rawkube.api.expected import ConditionIs, FieldIs


def judge(
    obj: Object,
    *,
    revision: int = 0,
    any_kind: bool = False,
    conditions: Sequence[ConditionIs] = (),
    fields: Sequence[FieldIs] = (),
) -> Progress:
    """Where an object is on its way.

    `revision`: of a Deployment, as for `evaluate`. `any_kind`: follow other kinds too: Job, Pod, ReplicaSet,
    ReplicationController, Argo's Rollout, OpenKruise's workloads, and whatever follows the conventions for conditions.
    `conditions`, `fields`: what has to be so as well; for a kind without rules of its own, in place of Ready. Raises
    RolloutFailed (UnsupportedKind for a kind that nothing is known of), and what a field's path raises.
    """
    wanted: tuple[ConditionIs | FieldIs, ...] = (*conditions, *fields)
    group, kind = _group_kind(obj)
    look: Callable[[Object], Progress] | None
    if viewer_kind(group, kind):
        look = lambda one: evaluate(one, revision=revision)  # noqa: E731
    elif not any_kind:
        raise UnsupportedKind(unsupported_kind(group, kind))
    else:
        look = _own_rules(group, kind)
    if look is None:
        from rawkube.rollout.kstatus import by_convention

        return by_convention(obj, wanted)
    return _and(obj, look(obj), wanted) if wanted else look(obj)


def unsupported(group: str, kind: str, *, any_kind: bool = False) -> str:
    """kubectl's text for a kind that is known to have no rollout, empty for one that `judge` is to look at."""
    return "" if any_kind else unsupported_kind(group, kind)


def _group_kind(obj: Object) -> tuple[str, str]:
    return str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj.get("kind") or "")


def _own_rules(group: str, kind: str) -> Callable[[Object], Progress] | None:
    """The rules of a kind that has some, other than the three of kubectl."""
    if group in ("", "apps", "batch", "extensions"):
        from rawkube.rollout import batch_kinds as own

        return {
            ("batch", "Job"): own.job,
            ("", "Pod"): own.pod,
            ("apps", "ReplicaSet"): own.replica_set,
            ("extensions", "ReplicaSet"): own.replica_set,
            ("", "ReplicationController"): own.replica_set,
        }.get((group, kind))
    if group in ("argoproj.io", "apps.kruise.io"):
        from rawkube.rollout import foreign_kinds as foreign

        return {
            (foreign.ARGO, "Rollout"): foreign.argo_rollout,
            (foreign.KRUISE, "CloneSet"): foreign.clone_set,
            (foreign.KRUISE, "StatefulSet"): foreign.stateful_set,
            (foreign.KRUISE, "DaemonSet"): foreign.daemon_set,
        }.get((group, kind))
    return None


def _and(obj: Object, progress: Progress, wanted: Sequence[ConditionIs | FieldIs]) -> Progress:
    """Done is only what has what is wanted, too."""
    from rawkube.rollout.kstatus import missing

    for one in wanted if progress.done else ():
        if not one.met(obj):
            name = one_line(f"{_group_kind(obj)[1].lower()}/{name_of(obj)}")
            return Progress(f"Waiting for {name}: {missing(obj, one)}...", False)
    return progress
