"""`rollout undo`: which revision is meant, and its patch sent. Rules and texts are kubectl's (1.37)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rawkube._typing import NamedTuple
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.errors import DecodeError, RolloutFailed, StatusError
from rawkube.gotext import go_quote
from rawkube.rollout import patches
from rawkube.rollout.history import is_same_template, number_of, restored
from rawkube.rollout.pod_template import describe_template
from rawkube.rollout.prefix_writer import LAST_APPLIED
from rawkube.rollout.revisions import History, name_of, read_history

NONE, CLIENT, SERVER = "none", "client", "server"
"""The dry runs: none, without sending the patch, with the server's help."""

ROLLED_BACK = "rolled back"


class _Step(NamedTuple):
    """What an undo comes to: the template that would be (`text`), whether it is there already, or the patch."""

    text: str
    is_there: bool
    body: bytes
    content_type: str


def apply_warning(resource: Resource, thing: Object) -> str:
    """What kubectl says before it rolls back what `kubectl apply` has written; empty for anything else."""
    if LAST_APPLIED not in (metadata_of(thing).get("annotations") or {}):
        return ""
    return (
        f"Warning: resource {resource.plural}/{name_of(thing)} was previously managed with 'kubectl apply'. Rolling "
        f"back will not update the {LAST_APPLIED} annotation, which may cause unexpected behavior on future 'kubectl "
        "apply' operations. Consider using 'kubectl apply' with your previous configuration file instead."
    )


def undo(
    client: ApiClient, resource: Resource, namespace: str, name: str, *, to_revision: int = 0, dry_run: str = NONE
) -> str:
    """Give a workload the template of a revision (0: the one before the present); what was done, in kubectl's words.

    Raises RolloutFailed, TransportError.
    """
    if to_revision < 0:
        raise _not_found(to_revision)
    found = read_history(client, resource, namespace, name, verb="undo")
    is_deployment = found.workload["kind"] == "Deployment"
    step = _of_deployment(found, to_revision) if is_deployment else _of_others(found, to_revision)
    if dry_run == CLIENT:
        return step.text
    if found.workload["spec"].get("paused"):
        raise RolloutFailed(
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again"
        )
    if step.is_there:
        return f"skipped rollback (current template already matches revision {to_revision})"
    query = [("dryRun", "All")] if dry_run == SERVER else []
    try:
        client.patch(resource, namespace, name, step.body, step.content_type, query=query)
    except (StatusError, DecodeError) as error:
        raise RolloutFailed(f"failed restoring revision {to_revision}: {error}", detail=error.detail) from None
    return ROLLED_BACK


def _not_found(number: int) -> RolloutFailed:
    return RolloutFailed(f"unable to find specified revision {number} in history")


def _of_deployment(found: History, to_revision: int) -> _Step:
    deployment = found.workload
    replica_set = _numbered(found.holders, to_revision) if to_revision else _previous(found.holders)
    if replica_set is None:
        if to_revision:
            raise _not_found(to_revision)
        raise RolloutFailed(f"no rollout history found for deployment {go_quote(name_of(deployment))}")
    template = replica_set["spec"]["template"]
    return _Step(
        describe_template(template),
        is_same_template(template, deployment["spec"]["template"]),
        patches.undo_deployment(deployment, replica_set),
        patches.JSON_PATCH,
    )


def _numbered(replica_sets: Iterable[Object], number: int) -> Object | None:
    return next((one for one in replica_sets if number_of(one) == number), None)


def _previous(replica_sets: Iterable[Object]) -> Object | None:
    """The ReplicaSet of the second highest revision; of several with one number the order decides, as in kubectl."""
    latest, previous = -1, -1
    newest: Object | None = None
    found: Object | None = None
    for one in replica_sets:
        number = number_of(one)
        if number is None:
            continue
        if latest < number:
            previous, found, latest, newest = latest, newest, number, one
        elif previous < number:
            previous, found = number, one
    return found


def _of_others(found: History, to_revision: int) -> _Step:
    holders = found.holders
    if not to_revision and len(holders) <= 1:
        raise RolloutFailed("no last revision to roll back to")
    revision = _holder(holders, to_revision)
    if revision is None:
        raise _not_found(to_revision)
    data = revision.get("data")
    body = patches.undo_from(data)
    template = restored(found.workload, data)["spec"]["template"]
    return _Step(
        f"will roll back to {describe_template(template)}",
        patches.restore_patch(found.workload) == body,
        body,
        patches.STRATEGIC_MERGE,
    )


def _holder(holders: Sequence[Object], number: int) -> Object | None:
    if number:
        return next((one for one in holders if one.get("revision") == number), None)
    return sorted(holders, key=lambda one: int(one.get("revision") or 0))[-2]
