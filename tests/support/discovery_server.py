"""An API server whose resources a test names: discovery in either shape, empty collections, objects of any name."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from rawkube.api.resource import Resource
from tests.support.discovery import CONTENT_TYPE
from tests.support.script import Answer, failure, go_silent, hang_up
from tests.support.server import Peer, ScriptedServer, SeenRequest

Object = dict[str, Any]
BETA = CONTENT_TYPE.replace("v=v2;", "v=v2beta1;")
SUBRESOURCE = {"subresource": "status", "responseKind": {"kind": "Odd"}, "verbs": ["get"]}


def res(
    name: str,
    *,
    kind: str = "",
    short: str = "",
    cats: str = "",
    namespaced: bool = True,
    verbs: str = "create delete get list patch update watch",
    singular: str | None = None,
) -> Resource:
    """`widgets.v1.example.com`, `pods.v1.` → a resource, its kind guessed from the plural."""
    plural, version, group = name.split(".", 2)
    kind = kind or plural.removesuffix("s").capitalize()
    single = kind.lower() if singular is None else singular
    return Resource(
        group,
        version,
        plural,
        single,
        kind,
        tuple(short.split()),
        namespaced,
        tuple(cats.split()),
        tuple(verbs.split()),
    )


def gv(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def grouped(resources: Sequence[Resource]) -> dict[str, dict[str, list[Resource]]]:
    """group → version → resources, in the order given."""
    found: dict[str, dict[str, list[Resource]]] = {}
    for resource in resources:
        found.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return found


def aggregated(resources: Sequence[Resource], *, stale: Sequence[str] = (), version: str = "v2") -> Object:
    items = []
    for group, versions in grouped(resources).items():
        described = [
            {"version": name, "freshness": "Stale" if gv(group, name) in stale else "Current"}
            | {"resources": [_entry(one) for one in some]}
            for name, some in versions.items()
        ]
        items.append({"metadata": {"name": group} if group else {}, "versions": described})
    api_version = f"apidiscovery.k8s.io/{version}"
    return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}


def _entry(one: Resource) -> Object:
    entry: Object = {"resource": one.plural, "responseKind": {"group": "", "version": "", "kind": one.kind}}
    entry |= {"scope": "Namespaced" if one.namespaced else "Cluster", "singularResource": one.singular}
    entry |= {"verbs": one.verbs, "shortNames": one.short_names, "categories": one.categories}
    return entry | {"subresources": [SUBRESOURCE]}


def legacy_list(resources: Sequence[Resource], group_version: str) -> Object:
    entries: list[Object] = []
    for one in resources:
        names = {"name": one.plural, "singularName": one.singular, "namespaced": one.namespaced, "kind": one.kind}
        more = {"verbs": one.verbs, "shortNames": one.short_names, "categories": one.categories}
        below = {"name": f"{one.plural}/status", "singularName": "", "namespaced": one.namespaced, "kind": "Odd"}
        entries += [names | more, below | {"verbs": ["get"]}]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}


def legacy_groups(resources: Sequence[Resource]) -> Object:
    groups = []
    for name, versions in grouped(resources).items():
        listed = [{"groupVersion": gv(name, version), "version": version} for version in versions]
        groups.append({"name": name, "versions": listed, "preferredVersion": listed[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def documents(
    resources: Sequence[Resource], *, core: str = "v2", apis: str = "v2", stale: Sequence[str] = ()
) -> dict[str, Answer]:
    """Path → answer. `core`, `apis`: the shape of `/api` and of `/apis`: `v2`, `v2beta1`, `legacy`."""
    found: dict[str, Answer] = {}
    inner = [one for one in resources if not one.group]
    outer = [one for one in resources if one.group]
    for path, shape, some in (("/api", core, inner), ("/apis", apis, outer)):
        if shape == "legacy":
            versions = {"kind": "APIVersions", "versions": list(grouped(some).get("", {}))}
            found[path] = Answer(body=json.dumps(legacy_groups(some) if path == "/apis" else versions))
        else:
            kind = BETA if shape == "v2beta1" else CONTENT_TYPE
            found[path] = Answer(body=json.dumps(aggregated(some, stale=stale, version=shape)), content_type=kind)
    for group, versions_ in grouped(resources).items():
        for version, some in versions_.items():
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            found[path] = Answer(body=json.dumps(legacy_list(some, gv(group, version))))
    return found


class DiscoveryServer(ScriptedServer):
    """The server. `answers`: path → what is answered, one after the other, the last one for ever; others are served
    from `resources`, which may be changed. `etags`: documents carry an ETag, and 304 is answered. `asked`: requests."""

    def __init__(
        self,
        resources: Sequence[Resource],
        *,
        core: str = "v2",
        apis: str = "v2",
        stale: Sequence[str] = (),
        answers: Mapping[str, Answer | Sequence[Answer]] | None = None,
        etags: bool = False,
    ) -> None:
        super().__init__(self._connection)
        self.resources = list(resources)
        self.shape = {"core": core, "apis": apis, "stale": stale}
        self.scripted = {
            path: [some] if isinstance(some, Answer) else list(some) for path, some in (answers or {}).items()
        }
        self.etags = etags
        self.lock = threading.Lock()
        self.asked: list[SeenRequest] = []

    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [request.path for request in self.asked]

    def objects(self) -> list[str]:
        """Paths that are not discovery's."""
        return [
            path for path in self.paths() if len(path.strip("/").split("/")) > (2 if path.startswith("/api/") else 3)
        ]

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            with self.lock:
                self.asked.append(request)
                queue = self.scripted.get(request.path)
                answer = (queue.pop(0) if len(queue) > 1 else queue[0]) if queue else self._usual(request)
            if answer.how == "usual":
                answer = self._usual(request)
            if answer.how == "stall":
                go_silent(peer)
            if answer.how != "reply":
                hang_up(peer, answer.how)
            peer.reply(answer.body, status=answer.status, content_type=answer.content_type, headers=answer.headers)

    def _usual(self, request: SeenRequest) -> Answer:
        known = documents(self.resources, **self.shape)  # type: ignore[arg-type]
        if request.path in known:
            answer = known[request.path]
            tag = f'"{zlib.crc32(str(answer.body).encode()):08X}"'
            if not self.etags:
                return answer
            if request.header("if-none-match") == tag:
                return Answer("304 Not Modified", headers=(("ETag", tag),))
            return answer._replace(headers=(("ETag", tag),))
        return self._thing(request)

    def _thing(self, request: SeenRequest) -> Answer:
        parts = [unquote(part) for part in request.path.strip("/").split("/")]
        group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        for one in self.resources:
            if (one.group, one.version, one.plural) == (group, version, rest[0] if rest else ""):
                head = {"kind": one.kind, "apiVersion": gv(group, version)}
                if len(rest) == 1:
                    listed = {"kind": one.kind + "List", "metadata": {"resourceVersion": "1"}, "items": []}
                    return Answer(body=json.dumps(head | listed))
                metadata = {"name": rest[1]} | ({"namespace": namespace} if namespace else {})
                return Answer(body=json.dumps(head | {"metadata": metadata}))
        return failure(404, "the server could not find the requested resource", details={})
