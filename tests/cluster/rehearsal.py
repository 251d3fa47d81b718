"""A cluster in memory, on which what the suite is made of can be rehearsed.

What is created is there, Pods and workloads are ready at once, and commands run on this machine.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.cluster import Cluster as Memory
from tests.support.cluster import _refuse as refuse
from tests.support.container import Container
from tests.support.server import Peer, SeenRequest

Object = dict[str, Any]
_READY = {"type": "Ready", "status": "True"}
_REVIEW = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}


class Rehearsal(Memory):
    """`namespaces`: those that are there; `allowed`: whether the user may do what it asks about."""

    def __init__(self, *, allowed: bool = True) -> None:
        super().__init__()
        self.allowed = allowed
        self.namespaces: list[str] = []
        self.kept: list[str] = []
        self._container = Container()

    def __exit__(self, *about: Any) -> None:
        super().__exit__(*about)
        self._container.listener.close()

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            if request.path.endswith("/exec"):
                self._container._exec(peer, request)
            elif request.method == "GET":
                self._read(peer, request)
            else:
                self._write(peer, request)

    def _read(self, peer: Peer, request: SeenRequest) -> None:
        group_version, namespace, plural, name = _parts(request.path)
        if plural == "namespaces" and name in self.namespaces:
            peer.reply(json.dumps({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}))
        elif request.query.get("watch") == "true":
            self._watch(peer, request, namespace, plural)
        elif name:
            self._get(peer, group_version, namespace, plural, name)
        else:
            self._list(peer, request, group_version, namespace, plural)

    def _write(self, peer: Peer, request: SeenRequest) -> None:
        _, namespace, plural, name = _parts(request.path)
        body: Object = json.loads(request.body or b"{}")
        if plural == "namespaces":
            self._write_namespace(peer, request.method, name or body["metadata"]["name"])
        elif plural == "selfsubjectaccessreviews":
            peer.reply(json.dumps({**_REVIEW, "status": {"allowed": self.allowed}}), status="201 Created")
        elif request.method == "DELETE":
            gone = self.objects[plural, namespace, name]
            self.remove(plural, name, namespace)
            peer.reply(json.dumps(gone))
        else:
            key = plural, namespace, name or body["metadata"]["name"]
            if request.method == "PATCH":
                assert request.header("Content-Type") == "application/merge-patch+json"
                body = merged(self.objects[key], body)
            self.put(settled({**body, "metadata": {**body["metadata"], "namespace": namespace}}))
            peer.reply(json.dumps(self.objects[key]), status="201 Created" if not name else "200 OK")

    def _write_namespace(self, peer: Peer, method: str, name: str) -> None:
        if method == "DELETE" and name in self.kept:
            self.kept.remove(name)  # once
            refuse(peer, 500, "not now", {})
            return
        (self.namespaces.append if method == "POST" else self.namespaces.remove)(name)
        peer.reply(json.dumps({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}))


def _parts(path: str) -> tuple[str, str, str, str]:
    """(group and version, namespace, plural, name)."""
    words = path.strip("/").split("/")
    head, rest = (words[1], words[2:]) if words[0] == "api" else ("/".join(words[1:3]), words[3:])
    namespace, rest = (rest[1], rest[2:]) if rest[0] == "namespaces" and len(rest) > 2 else ("", rest)
    return head, namespace, rest[0], rest[1] if len(rest) > 1 else ""


def merged(thing: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    found = dict(thing) if isinstance(thing, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def settled(thing: Object) -> Object:
    """With the status that it has once everything runs, and a generation."""
    metadata, spec = thing["metadata"], thing.get("spec", {})
    generation = metadata.get("generation", 0) + 1
    if thing["kind"] == "Pod":
        return {**thing, "spec": {**spec, "nodeName": "n"}, "status": {"phase": "Running", "conditions": [_READY]}}
    if thing["kind"] != "Deployment":
        return thing
    counters = {f"{what}eplicas": spec["replicas"] for what in ("r", "updatedR", "readyR", "availableR")}
    status = {"observedGeneration": generation, **counters}
    return {**thing, "metadata": {**metadata, "generation": generation}, "status": status}
