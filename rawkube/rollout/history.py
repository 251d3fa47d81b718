"""The revisions of a workload: which objects hold them, in which order, and the texts of `rollout history`. Pure.

A Deployment's revisions are its ReplicaSets, numbered by an annotation; those of DaemonSets and StatefulSets are
ControllerRevisions, whose `data` is a strategic merge patch of the workload. Order and texts are kubectl's (1.37).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import RolloutFailed
from rawkube.gotext import int64
from rawkube.rollout.pod_template import describe_template
from rawkube.rollout.status import REVISION_ANNOTATION
from rawkube.rollout.tabs import aligned
from rawkube.rollout.typed import same, typed

Value = Any  # what JSON can hold

CHANGE_CAUSE = "kubernetes.io/change-cause"
HASH_LABEL = "pod-template-hash"
NO_HISTORY = "No rollout history found."

_KINDS = (
    ("apps", "Deployment"),
    ("extensions", "Deployment"),
    ("apps", "DaemonSet"),
    ("extensions", "DaemonSet"),
    ("apps", "StatefulSet"),
)
# What kubectl has a place for (`apps.KindVisitor`), although it has no history.
_VISITED = frozenset(
    (
        *(("", "Pod"), ("", "ReplicationController"), ("apps", "ReplicaSet"), ("extensions", "ReplicaSet")),
        *(("batch", "Job"), ("batch", "CronJob")),
    )
)


class Revision(NamedTuple):
    """One revision: its number, why it came about (empty: not said), its Pod template (typed), and the object that
    `-o` shows: a ReplicaSet, or the workload as it was."""

    number: int
    cause: str
    template: Object
    shown: Object


def unsupported(group: str, kind: str, what: str, getting: str) -> str:
    """kubectl's text for a kind without revisions, empty for one with. `what`: `history viewer`, `rollbacker`."""
    if (group, kind) in _KINDS:
        return ""
    name = f"{kind}.{group}" if group else kind
    if (group, kind) in _VISITED:
        return f'no {what} has been implemented for "{name}"'
    return f'error retrieving {getting} for "{name}", no visitor method exists for {{{group} {kind}}}'


# Who belongs to whom.


def controlled_by(items: Iterable[Object], owner: Object) -> list[Object]:
    """The objects whose controller is `owner`, by UID."""
    uid = metadata_of(owner).get("uid")
    return [item for item in items if _controller_uid(item) == uid and uid]


def _controller_uid(item: Object) -> Value:
    references = metadata_of(item).get("ownerReferences") or ()
    return next((one.get("uid") for one in references if isinstance(one, Mapping) and one.get("controller")), None)


# Deployments.


def replica_sets_in_order(deployment: Object, items: Iterable[Object]) -> list[Object]:
    """A Deployment's ReplicaSets (typed) in kubectl's order: by age and name, the one of the present template last."""
    owned = [typed(item, "ReplicaSet") for item in controlled_by(items, deployment)]
    owned.sort(
        key=lambda one: (str(metadata_of(one).get("creationTimestamp") or ""), str(metadata_of(one).get("name")))
    )
    template = without_hash(deployment["spec"]["template"])
    newest = next((one for one in owned if is_same_template(one["spec"]["template"], template)), None)
    if newest is None:
        return owned
    uid = metadata_of(newest).get("uid")
    return [one for one in owned if metadata_of(one).get("uid") != uid] + [newest]


def is_same_template(one: Object, other: Object) -> bool:
    """Whether two Pod templates are equal but for the label that tells a ReplicaSet's Pods apart."""
    return same(without_hash(one), without_hash(other), "PodTemplateSpec")


def without_hash(template: Object) -> Object:
    """A Pod template without that label."""
    metadata = metadata_of(template)
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    rest = {key: value for key, value in metadata.items() if key != "labels"}
    found: Object = typed({**template, "metadata": {**rest, "labels": labels}}, "PodTemplateSpec")
    return found


def number_of(replica_set: Object) -> int | None:
    """The revision that a ReplicaSet is; 0 without the annotation, None where it is no number."""
    text = (metadata_of(replica_set).get("annotations") or {}).get(REVISION_ANNOTATION)
    try:
        return 0 if text is None else int64(text)
    except ValueError:
        return None


def of_replica_sets(replica_sets: Iterable[Object]) -> dict[int, Revision]:
    """The revisions by their numbers; of several with one number the last one counts."""
    found: dict[int, Revision] = {}
    for one in replica_sets:
        number = number_of(one)
        if number is not None:
            cause = (metadata_of(one).get("annotations") or {}).get(CHANGE_CAUSE, "")
            found[number] = Revision(number, cause, _with_cause(one["spec"]["template"], cause), one)
    return found


def _with_cause(template: Object, cause: str) -> Object:
    if not cause:
        return template
    metadata = metadata_of(template)
    annotations = {**(metadata.get("annotations") or {}), CHANGE_CAUSE: cause}
    return {**template, "metadata": {**metadata, "annotations": annotations}}


# DaemonSets and StatefulSets.


def of_controller_revisions(workload: Object, items: Iterable[Object]) -> dict[int, Revision]:
    """The revisions of a DaemonSet or StatefulSet by their numbers, from its own ControllerRevisions."""
    found: dict[int, Revision] = {}
    for item in items:
        number = int(item.get("revision") or 0)
        cause = (metadata_of(item).get("annotations") or {}).get(CHANGE_CAUSE, "")
        shown = restored(workload, item.get("data"))
        found[number] = Revision(number, cause, shown["spec"]["template"], shown)
    return found


def restored(workload: Object, patch: Value) -> Object:
    """A workload with a revision's patch applied: maps are merged, `$patch: replace` replaces, lists are replaced."""
    kind = str(workload["kind"])
    return typed(_merged(workload, patch), kind)


def _merged(before: Value, patch: Value) -> Value:
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    after = dict(before) if isinstance(before, dict) else {}
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = _merged(after.get(key), value)
    return after


# Texts.


def table(revisions: Iterable[Revision]) -> str:
    """The numbers and why each revision came about, by number."""
    rows = (f"{one.number}\t{one.cause or '<none>'}\n" for one in sorted(revisions, key=lambda one: one.number))
    return aligned("REVISION\tCHANGE-CAUSE\n" + "".join(rows))


def text_of(revisions: Mapping[int, Revision], number: int) -> str:
    """What `rollout history` prints after a workload's name. `number` 0: all of them; else the one revision.

    Raises RolloutFailed when it is not there.
    """
    if not revisions:
        return f"\n{NO_HISTORY}" if not number else f"with revision #{number}\n{NO_HISTORY}"
    if not number:
        return f"\n{table(revisions.values())}"
    return f"with revision #{number}\n{describe_template(chosen(revisions, number)[0].template)}"


def chosen(revisions: Mapping[int, Revision], number: int) -> Sequence[Revision]:
    """The revision of that number, or all in order (0). Raises RolloutFailed when it is not there."""
    if not number:
        return [revisions[one] for one in sorted(revisions)]
    if number not in revisions:
        raise RolloutFailed("unable to find the specified revision")
    return [revisions[number]]
