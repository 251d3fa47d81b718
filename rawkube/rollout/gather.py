"""Look around a workload once, when its rollout has failed or took too long: few requests, in a bounded time.

    Pods by the workload's selector                     1
    its ReplicaSets or ControllerRevisions              1
    Events of the namespace                             1    where there are more than 500: of up to 8 objects, 1 each
    PersistentVolumeClaims, if a Pod waits with one     1
    nodes of Pods that are not ready or are to go       3
    PodDisruptionBudgets, if an old Pod is to go        1
    logs of containers that crashed                     3

So it is three requests for a workload that is merely slow, and 18 at most. None is an error of its own: what could not
be seen is said in `Scene.unseen`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from rawkube._typing import Any
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object, metadata_of
from rawkube.api.paths import resource_path
from rawkube.api.resource import Resource
from rawkube.errors import DeadlineExceeded, ProtocolError, RawkubeError, StatusError, TransportError
from rawkube.rollout.belongings import (
    NO_LOG,
    Crashed,
    claims_of,
    crashed,
    nodes_of,
    owned_plural,
    pod_selector,
    stuck,
    uid_of,
)
from rawkube.rollout.collection import slim
from rawkube.rollout.explain.fields import clip
from rawkube.rollout.explain.scene import LogTail, Scene
from rawkube.rollout.explain.view import View, is_terminating
from rawkube.rollout.happenings import Workload

LONGEST = 5.0
"""Seconds that it takes at most."""

PATIENCE = 2.0
"""Seconds that one answer is waited for."""

MOST = 500
"""How many objects one LIST gives."""

EVENTS, NODES, LOGS = 8, 3, 3
"""How many objects are asked for one by one: whose Events, which nodes, which containers' logs."""

TAIL_LINES, LOG_BYTES = 10, 16 * 1024
"""How much of a log."""

T = TypeVar("T")

_LARGEST_LOG = 1 << 20  # a server may know nothing of limitBytes
_REASON = 100

_BUDGETS = Resource(
    "policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", ("pdb",), True, ()
)


def gather(client: ApiClient, workload: Workload, obj: Object, *, deadline: float | None = None) -> Scene:
    """What belongs to a workload, as far as it can be seen. `obj`: its last known state.

    `deadline`: a time of the client's clock; LONGEST seconds from now is the limit in any case. Raises no
    RawkubeError.
    """
    latest = client.clock() + LONGEST
    return _Gathering(client, workload, obj, latest if deadline is None else min(latest, deadline)).scene()


class _Gathering:
    """One look around."""

    def __init__(self, client: ApiClient, workload: Workload, obj: Object, deadline: float) -> None:
        self._client = client
        self._namespace = workload.namespace
        self._deadline = deadline
        self._broken = ""
        self._unseen: dict[str, str] = {}
        self._gone_nodes: list[str] = []
        # What a LIST gave may lack its kind, by which the rest is chosen.
        named = {"kind": workload.resource.kind, "apiVersion": workload.resource.group_version}
        self._object = {**named, **slim(obj)}

    def scene(self) -> Scene:
        pods = self._pods()
        scene = Scene(self._object, owned=self._owned(), pods=pods, unseen=self._unseen)
        view = View(scene, now=0.0)
        troubled = stuck(view)
        waiting = claims_of(troubled)
        claims = [one for one in self._list("persistentvolumeclaims", MOST) if _name(one) in waiting] if waiting else []
        about = [self._object, *([view.newest] if view.newest else []), *troubled, *claims]
        return scene._replace(
            events=self._events(about),
            claims=claims,
            logs={one[:2]: tail for one in crashed(troubled)[:LOGS] if (tail := self._log(one)) is not None},
            nodes=self._nodes(nodes_of(troubled)),
            gone_nodes=self._gone_nodes,
            budgets=self._budgets(troubled),
        )

    # What there is.

    def _pods(self) -> Sequence[Object]:
        if self._object["kind"] == "Pod":
            return [self._object]
        return self._selected("pods")

    def _owned(self) -> Sequence[Object]:
        plural = owned_plural(str(self._object["kind"]))
        return self._selected(plural) if plural else ()

    def _selected(self, plural: str) -> Sequence[Object]:
        selector = pod_selector(self._object)
        return self._list(plural, MOST, ("labelSelector", selector)) if selector else ()

    def _events(self, about: Iterable[Mapping[str, Any]]) -> Sequence[Object]:
        """Those of the namespace; where it has too many, which come in no order of use, those of some objects."""
        page = self._page("events", MOST)
        if page is None or not metadata_of(page).get("continue"):
            return _items(page)
        uids = [uid for one in about if (uid := uid_of(one))][:EVENTS]
        return [
            event
            for uid in dict.fromkeys(uids)
            for event in self._list("events", MOST, ("fieldSelector", f"involvedObject.uid={uid}"))
        ]

    def _nodes(self, names: Sequence[str]) -> Sequence[Object]:
        if len(names) > NODES:
            self._unseen["nodes"] = f"only {NODES} of {len(names)} are asked for"
        found = map(self._node, names[:NODES])
        return [slim(node) for node in found if node is not None]

    def _node(self, name: str) -> Object | None:
        def ask(deadline: float) -> Object | None:
            try:
                return self._client.get(known("nodes"), "", name, deadline=deadline)
            except StatusError as error:
                if error.code == 404:
                    self._gone_nodes.append(name)
                    return None
                raise

        return self._ask("nodes", ask)

    def _budgets(self, pods: Iterable[Mapping[str, Any]]) -> Sequence[Object]:
        return self._list("poddisruptionbudgets", MOST) if any(map(is_terminating, pods)) else ()

    def _log(self, one: Crashed) -> LogTail | None:
        """The last lines, None where there is no such log any more, which is no news."""
        text = self._ask("logs", lambda deadline: read_tail(self._client, self._namespace, one, deadline))
        return None if not text else LogTail(tuple(text.splitlines()), one.previous)

    # Asking.

    def _list(self, plural: str, limit: int, *query: tuple[str, str]) -> Sequence[Object]:
        page = self._page(plural, limit, *query)
        if page is not None and metadata_of(page).get("continue"):
            self._unseen[f"further {plural}"] = f"only {limit} are asked for"
        return _items(page)

    def _page(self, plural: str, limit: int, *query: tuple[str, str]) -> Object | None:
        resource = _BUDGETS if plural == _BUDGETS.plural else known(plural)
        asked = [*query, ("limit", str(limit))]
        return self._ask(
            plural, lambda deadline: self._client.list(resource, self._namespace, query=asked, deadline=deadline)
        )

    def _ask(self, plural: str, ask: Callable[[float], T]) -> T | None:
        """What `ask(deadline)` gives; None, and a reason in `unseen`, where it fails."""
        if self._broken:
            self._unseen.setdefault(plural, self._broken)
            return None
        deadline = min(self._deadline, self._client.clock() + PATIENCE)
        try:
            return ask(deadline)
        except RawkubeError as error:
            if not _says_there_is_none(plural, error):
                self._unseen.setdefault(plural, reason_of(error))
            if _is_broken(error) or self._client.clock() >= self._deadline:
                self._broken = reason_of(error)
            return None


def read_tail(client: ApiClient, namespace: str, one: Crashed, deadline: float) -> str:
    """The last lines of a container that ended, empty where its node has them no more. Raises as ApiClient.get()."""
    query = [("container", one.container), ("tailLines", str(TAIL_LINES)), ("limitBytes", str(LOG_BYTES))]
    query += [("previous", "true")] if one.previous else []
    path = resource_path(known("pods"), namespace, one.pod, "log")
    with client.send("GET", path, query, accept="*/*", deadline=deadline) as response:
        if response.status != 200:
            raise client.failure(response, verb="get", resource=known("pods"), name=one.pod)
        text = response.read(_LARGEST_LOG).decode("utf-8", "replace")
    return "" if text.startswith(NO_LOG) else text


def reason_of(error: RawkubeError) -> str:
    """Why something cannot be seen, in few words, on one line."""
    if isinstance(error, StatusError) and error.code == 403:
        return "forbidden"
    if isinstance(error, DeadlineExceeded):
        return "no answer in time"
    return clip(str(error), _REASON)


def _says_there_is_none(plural: str, error: RawkubeError) -> bool:
    """Whether the answer is that there is nothing, of what may well be missing."""
    if not isinstance(error, StatusError):
        return False
    return error.code == 404 or (plural == "logs" and error.code == 400)


def _is_broken(error: RawkubeError) -> bool:
    """Whether the next request will fare no better."""
    return isinstance(error, TransportError) and not isinstance(error, DeadlineExceeded | ProtocolError)


def _items(page: Object | None) -> Sequence[Object]:
    return [slim(item) for item in page["items"]] if page is not None else ()


def _name(item: Object) -> str:
    return str(metadata_of(item).get("name") or "")
