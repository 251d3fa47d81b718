"""An API server with some objects: LIST in pages, GET, as objects or as a Table, and scripted watches."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.support.discovery import kind_of, recorded
from tests.support.script import status
from tests.support.server import Peer, ScriptedServer, SeenRequest

Object = dict[str, Any]
Columns = Sequence[tuple[str, int]]
"""The name and the priority of each column of a Table behind its NAME."""

PLURALS = {
    "Pod": "pods",
    "Deployment": "deployments",
    "Node": "nodes",
    "Service": "services",
    "ConfigMap": "configmaps",
}
PLURALS |= {"Namespace": "namespaces", "Secret": "secrets", "DaemonSet": "daemonsets"}


class Kind(NamedTuple):
    """The columns of a kind's Table, and the cells of an object."""

    columns: Columns
    cells: Callable[[Object], list[Any]]


def _standard(thing: Object) -> list[Any]:
    return [thing["metadata"]["name"], thing.get("status", {}).get("ready", 0), "5m", "somewhere"]


STANDARD = Kind((("Ready", 0), ("Age", 0), ("Where", 1)), _standard)


def thing(kind: str = "Pod", name: str = "a", namespace: str = "default", **more: Any) -> Object:
    """An object of the core or the apps group; `more` adds fields, `labels` and `annotations` to its metadata."""
    metadata: Object = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7"}
    if kind not in ("Node", "Namespace"):
        metadata["namespace"] = namespace
    for key in ("labels", "annotations", "managedFields", "creationTimestamp", "resourceVersion"):
        if key in more:
            metadata[key] = more.pop(key)
    version = "apps/v1" if kind in ("Deployment", "DaemonSet") else "v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


class Lists:
    """The server.

    `tables`: whether it knows Tables; `kinds`: the columns of a kind. `answers`: a failure (code, message) for a
    request in short (`LIST pods continue`, `GET pods/a`), each time. `watches`: the events of each watch in turn, before
    a clean end: a type and an object, which becomes the present state; Tables where these are asked for, as far as
    the server knows them. A type in lower case happens, and is not told. When there are no more: silence, or, with `ends`, a refusal.
    """

    def __init__(
        self,
        *things: Object,
        tables: bool = True,
        kinds: Mapping[str, Kind] | None = None,
        answers: Mapping[str, tuple[int, str]] | None = None,
        watches: Sequence[Sequence[tuple[str, Object]]] = (),
        ends: bool = False,
    ) -> None:
        self.things = list(things)
        self.tables = tables
        self.kinds = dict(kinds or {})
        self.answers = dict(answers or {})
        self.watches = [list(events) for events in watches]
        self.ends = ends
        self.requests: list[SeenRequest] = []
        self._server = ScriptedServer(self._serve)

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def port(self) -> int:
        return self._server.port

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    def seen(self, start: int = 0) -> list[str]:
        """The requests in short, from that one on, those of discovery left out."""
        return [self.short(each) for each in self.requests[start:] if each.path not in ("/api", "/apis")]

    def short(self, request: SeenRequest) -> str:
        _, _, plural, _, name = parts(request.path)
        if request.query.get("watch") == "true":
            return f"WATCH {plural}"
        if name:
            return f"GET {plural}/{name}"
        return f"LIST {plural}" + (" continue" if "continue" in request.query else "")

    def _serve(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            self.requests.append(request)
            self._answer(peer, request)

    def _answer(self, peer: Peer, request: SeenRequest) -> None:
        if request.path in ("/api", "/apis"):
            body, media = recorded(request.path)
            return peer.reply(body, content_type=media)
        short = self.short(request)
        if short in self.answers:
            code, message = self.answers[short]
            return peer.reply(json.dumps(status(code, message)), status=f"{code} Failure")
        group, version, plural, namespace, name = parts(request.path)
        kind = kind_of(group, version, plural)
        if kind is None:
            return peer.reply("404 page not found\n", status="404 Not Found", content_type="text/plain")
        if short.startswith("WATCH"):
            return self._watch(peer, kind, request)
        found = [each for each in self.things if each["kind"] == kind and self._is_in(each, namespace, name, request)]
        table = self.tables and "as=Table" in (request.header("accept") or "")
        if not name:
            return peer.reply(json.dumps(self._page(kind, found, request, table), ensure_ascii=False))
        if found:
            return peer.reply(json.dumps(self.table(kind, found) if table else found[0], ensure_ascii=False))
        qualified = f"{plural}.{group}" if group else plural
        details = {"name": name, "group": group, "kind": plural}
        answer = status(404, f'{qualified} "{name}" not found', details=details)
        return peer.reply(json.dumps(answer), status="404 Not Found")

    def _is_in(self, each: Object, namespace: str, name: str, request: SeenRequest) -> bool:
        metadata = each["metadata"]
        if (namespace and metadata.get("namespace") != namespace) or (name and metadata["name"] != name):
            return False
        labels = metadata.get("labels", {})
        wanted = [pair.split("=", 1) for pair in request.query.get("labelSelector", "").split(",") if pair]
        fields = [pair.split("=", 1) for pair in request.query.get("fieldSelector", "").split(",") if pair]
        return all(labels.get(key) == value for key, value in wanted) and all(
            metadata.get(key.removeprefix("metadata.")) == value for key, value in fields
        )

    def _page(self, kind: str, found: list[Object], request: SeenRequest, table: bool) -> Object:
        start, limit = int(request.query.get("continue", "0")), int(request.query.get("limit", "0"))
        end = start + limit if limit else len(found)
        metadata: Object = {"resourceVersion": "100"}
        if end < len(found):
            metadata |= {"continue": str(end), "remainingItemCount": len(found) - end}
        if table:
            return {**self.table(kind, found[start:end]), "metadata": metadata}
        items = copy.deepcopy(found[start:end])
        for item in items:  # as a real server does
            del item["kind"], item["apiVersion"]
        version = "apps/v1" if kind in ("Deployment", "DaemonSet") else "v1"
        return {"kind": f"{kind}List", "apiVersion": version, "metadata": metadata, "items": items}

    def table(self, kind: str, found: Sequence[Object], *, columns: bool = True) -> Object:
        """A Table of these objects; without its columns as in a later event of a watch."""
        shown = self.kinds.get(kind, STANDARD)
        definitions = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]
        for name, priority in shown.columns:
            definitions.append({"name": name, "type": "string", "format": "", "description": "", "priority": priority})
        rows = []
        for each in found:
            about = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": each["metadata"],
            }
            rows.append({"cells": shown.cells(each), "object": about})
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": found[0]["metadata"]["resourceVersion"] if found else ""},
            "columnDefinitions": definitions if columns else None,
            "rows": rows,
        }

    def _watch(self, peer: Peer, kind: str, request: SeenRequest) -> None:
        if not self.watches:
            if not self.ends:
                return peer.stall()
            return peer.reply(json.dumps(status(403, "no more watches")), status="403 Forbidden")
        table = self.tables and "as=Table" in (request.header("accept") or "")
        peer.start_chunked()
        first = []
        if request.query.get("resourceVersion") == "0":  # what there is comes first, as from a real server
            first = [
                ("ADDED", each) for each in self.things if each["kind"] == kind and self._is_in(each, "", "", request)
            ]
        for at, (type_, about) in enumerate([*first, *self.watches.pop(0)]):
            if at >= len(first):
                self._become(type_.upper(), about)
            if type_.islower():
                continue
            shown = (
                self.table(kind, [about], columns=at == 0)
                if table and type_ in ("ADDED", "MODIFIED", "DELETED")
                else about
            )
            peer.chunk(json.dumps({"type": type_, "object": shown}, ensure_ascii=False).encode() + b"\n")
        return peer.end_chunked()

    def _become(self, type_: str, about: Object) -> None:
        key = (about["kind"], about["metadata"].get("name"))
        here = next((at for at, each in enumerate(self.things) if (each["kind"], each["metadata"]["name"]) == key), -1)
        if type_ == "DELETED" and here >= 0:
            del self.things[here]
        elif type_ == "MODIFIED" and here >= 0:
            self.things[here] = about
        elif type_ == "ADDED":
            self.things.append(about)


def parts(path: str) -> tuple[str, str, str, str, str]:
    """(group, version, plural, namespace, name) of a path."""
    words = path.strip("/").split("/")
    group, version, rest = ("", words[1], words[2:]) if words[0] == "api" else (words[1], words[2], words[3:])
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    return group, version, rest[0], namespace, rest[1] if len(rest) > 1 else ""
