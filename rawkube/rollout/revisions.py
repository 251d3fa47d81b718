"""Reading a workload and what holds its revisions: GET, then LIST with the workload's selector, as kubectl does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rawkube._typing import NamedTuple
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.api.selectors import SelectorError, from_label_selector
from rawkube.errors import DecodeError, RolloutFailed, StatusError
from rawkube.gotext import go_quote
from rawkube.rollout import history
from rawkube.rollout.history import Revision
from rawkube.rollout.typed import typed


class History(NamedTuple):
    """A workload (typed) and the objects that hold its revisions: typed ReplicaSets or ControllerRevisions as sent."""

    workload: Object
    holders: list[Object]

    def revisions(self) -> dict[int, Revision]:
        """The revisions by their numbers. Raises RolloutFailed."""
        if self.workload["kind"] == "Deployment":
            return history.of_replica_sets(self.holders)
        return history.of_controller_revisions(self.workload, self.holders)


def read_history(client: ApiClient, resource: Resource, namespace: str, name: str, *, verb: str = "history") -> History:
    """A Deployment, DaemonSet or StatefulSet with its revisions. `verb`: `history` or `undo`, for an error's words.

    Raises RolloutFailed in kubectl's words, TransportError.
    """
    kind = resource.kind
    apps = resource._replace(group="apps", version="v1")
    shown = "deployment" if kind == "Deployment" and verb == "history" else kind
    with _failing(f"failed to retrieve {shown} {name}: "):
        workload = typed(client.get(apps, namespace, name), kind)
    if kind == "Deployment":
        return _with_replica_sets(client, workload, namespace, name)
    with _failing(f"failed to create selector for {kind} {name}: "):
        selector = _selector(workload)
    with _failing(f"unable to find history controlled by {kind} {name}: "):
        items = _list(client, "controllerrevisions.apps", namespace, selector)
    return History(workload, history.controlled_by(items, workload))


def _with_replica_sets(client: ApiClient, deployment: Object, namespace: str, name: str) -> History:
    with _failing(f"failed to retrieve replica sets from deployment {name}: "):
        selector = _selector(deployment)
        try:
            items = _list(client, "replicasets.apps", namespace, selector)
        except StatusError as error:
            raise _told_what_was_listed(error, selector) from None
        return History(deployment, history.replica_sets_in_order(deployment, items))


def _selector(workload: Object) -> str:
    return from_label_selector(workload["spec"].get("selector"))


def _list(client: ApiClient, word: str, namespace: str, selector: str) -> list[Object]:
    query = [("labelSelector", selector)] if selector else []
    items: list[Object] = client.list(known(word), namespace, query=query)["items"]
    return items


def _told_what_was_listed(error: StatusError, selector: str) -> StatusError:
    """cli-runtime's words for a list that cannot be had (`EnhanceListError`)."""
    if error.reason not in ("BadRequest", "NotFound"):
        return error
    where = f'that match label selector {go_quote(selector)}, field selector ""'
    found = f'Unable to find "replicasets" {where}' if selector else 'Unable to list "replicasets"'
    return StatusError({**error.status, "message": f"{found}: {error}"}, detail=error.detail)


@contextmanager
def _failing(prefix: str) -> Iterator[None]:
    """What fails inside says first what it was for; a broken connection says only what it is."""
    try:
        yield
    except (StatusError, DecodeError, RolloutFailed) as error:
        raise RolloutFailed(f"{prefix}{error}", detail=error.detail) from None
    except SelectorError as error:
        raise RolloutFailed(f"{prefix}{error}") from None


def name_of(thing: Object) -> str:
    """The name of an object."""
    return str(metadata_of(thing).get("name") or "")
