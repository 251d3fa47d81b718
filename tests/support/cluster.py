"""An API server with many objects that a test changes while somebody lists and watches them.

    with Cluster(deployment("a", u=1), deployment("b")) as cluster:
        ...
        cluster.put(deployment("a"))       # created or changed
        cluster.remove("deployments", "a")

`failing`: so many further watches, after the first, are refused. `forbidden` holds (verb, plural) pairs that are refused, `asked` every request in short (`list deployments`, `watch
deployments`, `get deployments/web`), `watching` how many watches are open. Watches live until `cut()`.
"""

from __future__ import annotations

import copy
import json
import select
import threading
from typing import Any, NamedTuple
from urllib.parse import unquote

from rawkube.api.builtin import lookup
from tests.support.server import Peer, ScriptedServer, SeenRequest

Object = dict[str, Any]


class Event(NamedTuple):
    version: int
    thing: Object
    before: Object | None
    gone: bool = False


class Cluster(ScriptedServer):
    def __init__(self, *things: Object, forbidden: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(self._connection)
        self.forbidden = set(forbidden)
        self.asked: list[str] = []
        self.watching = 0
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.events: list[Event] = []
        self.changed = threading.Condition()
        self.version = 100
        self.oldest = 0
        self.epoch = 0
        self.failing = 0
        for thing in things:
            self.put(thing)

    # What a test does.

    def put(self, thing: Object) -> None:
        with self.changed:
            key = _key(thing)
            before = self.objects.get(key)
            metadata = thing["metadata"]
            uid = metadata.get("uid") or (before or thing)["metadata"].get("uid") or f"uid-of-{metadata['name']}"
            self._happen(copy.deepcopy({**thing, "metadata": {**metadata, "uid": uid}}), before)

    def remove(self, plural: str, name: str, namespace: str = "default") -> None:
        with self.changed:
            before = self.objects.pop((plural, namespace, name))
            self._happen(before, before, gone=True)

    def cut(self, *, expired: bool = False) -> None:
        """End every watch. `expired`: what has happened until now can only be had by a list."""
        with self.changed:
            self.epoch += 1
            self.oldest = self.version if expired else self.oldest
            self.changed.notify_all()

    def _happen(self, thing: Object, before: Object | None, *, gone: bool = False) -> None:
        self.version += 1
        thing = {**thing, "metadata": {**thing["metadata"], "resourceVersion": str(self.version)}}
        if not gone:
            self.objects[_key(thing)] = thing
        self.events.append(Event(self.version, thing, before, gone))
        self.changed.notify_all()

    # What it answers.

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            group_version, namespace, plural, name = _parts(request.path)
            if plural == "namespaces":
                peer.reply(json.dumps({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}))
                continue
            watch = request.query.get("watch") == "true"
            verb = "watch" if watch else "get" if name else "list"
            self.asked.append(f"{verb} {plural}{'/' if name else ''}{name}")
            if watch and self.failing and self.asked.count(f"watch {plural}") > 1:
                self.failing -= 1
                _refuse(peer, 500, "not now", {})
            elif (verb, plural) in self.forbidden:
                _refuse(peer, 403, f"{plural} is forbidden: User cannot {verb} it", {})
            elif watch:
                self._watch(peer, request, namespace, plural)
            elif name:
                self._get(peer, group_version, namespace, plural, name)
            else:
                self._list(peer, request, group_version, namespace, plural)

    def _get(self, peer: Peer, group_version: str, namespace: str, plural: str, name: str) -> None:
        found = self.objects.get((plural, namespace, name))
        if found is None:
            group = group_version.rpartition("/")[0]
            details = {"name": name, "group": group, "kind": plural}
            _refuse(peer, 404, f'{plural}{"." if group else ""}{group} "{name}" not found', details)
        else:
            peer.reply(json.dumps(found))

    def _list(self, peer: Peer, request: SeenRequest, group_version: str, namespace: str, plural: str) -> None:
        with self.changed:
            found = [one for key, one in self.objects.items() if key[0] == plural and key[1] in (namespace or key[1],)]
            items = [one for one in found if _is_selected(one, request)]
            version = self.version
        resource = lookup(plural)
        assert resource, plural
        bare = [{key: one[key] for key in one if key not in {"kind", "apiVersion"}} for one in items]
        head = {"kind": f"{resource.kind}List", "apiVersion": group_version}
        peer.reply(json.dumps({**head, "metadata": {"resourceVersion": str(version)}, "items": bare}))

    def _watch(self, peer: Peer, request: SeenRequest, namespace: str, plural: str) -> None:
        seen = int(request.query["resourceVersion"])
        if seen < self.oldest:
            _refuse(peer, 410, "too old resource version", {})
            return
        peer.start_chunked()
        with self.changed:
            epoch = self.epoch
            self.watching += 1
        try:
            while not self.stopping.is_set():
                with self.changed:
                    if epoch != self.epoch:
                        break
                    if select.select([peer.sock], [], [], 0)[0]:
                        return  # nobody reads any more
                    new = [one for one in self.events if one.version > seen]
                    if not new:
                        self.changed.wait(0.05)
                for event in new:
                    seen = event.version
                    if _key(event.thing)[0] == plural and _key(event.thing)[1] in (namespace or _key(event.thing)[1],):
                        _send(peer, event, request)
            peer.end_chunked()
        finally:
            self.watching -= 1


def _send(peer: Peer, event: Event, request: SeenRequest) -> None:
    """As an API server: what comes into a selection is ADDED, what leaves it DELETED."""
    was = event.before is not None and _is_selected(event.before, request)
    is_now = not event.gone and _is_selected(event.thing, request)
    if was or is_now:
        kind = "DELETED" if not is_now else "MODIFIED" if was else "ADDED"
        peer.chunk(json.dumps({"type": kind, "object": event.thing}) + "\n")


def _is_selected(thing: Object, request: SeenRequest) -> bool:
    metadata = thing["metadata"]
    name = request.query.get("fieldSelector", "").removeprefix("metadata.name=")
    labels = dict(one.split("=") for one in request.query.get("labelSelector", "").split(",") if one)
    has = metadata.get("labels") or {}
    return name in ("", metadata["name"]) and all(has.get(key) == value for key, value in labels.items())


def _key(thing: Object) -> tuple[str, str, str]:
    resource = lookup(thing["kind"])
    assert resource, thing["kind"]
    return resource.plural, thing["metadata"].get("namespace", "default"), thing["metadata"]["name"]


def _parts(path: str) -> tuple[str, str, str, str]:
    """(group and version, namespace, plural, name)."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    head, rest = (parts[1], parts[2:]) if parts[0] == "api" else ("/".join(parts[1:3]), parts[3:])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    return head, namespace, rest[0], rest[1] if len(rest) > 1 else ""


def _refuse(peer: Peer, code: int, message: str, details: Object) -> None:
    reasons = {403: "Forbidden", 404: "NotFound", 410: "Expired", 500: "InternalError"}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    peer.reply(
        json.dumps({**status, "reason": reasons[code], "code": code, "details": details}), status=f"{code} Failure"
    )
