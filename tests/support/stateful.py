"""A small API server that keeps state: what is written is there when it is read again.

    with StatefulServer(deployment, replica_set, answers={"patch": [failure(409, "…")]}) as server:
        ... server.url ... server.writes() ... server.object("deployments", "web")

Objects are served as JSON. GET, LIST with a label selector, and PATCH in the three classic forms: JSON patch
(RFC 6902, `add`, `replace` and `remove`), merge patch (RFC 7386) and strategic merge patch as far as tests use it: maps
are merged, `null` removes, `$patch: replace` replaces, lists are replaced. `dryRun=All` changes nothing.

`answers` holds what is answered instead, per kind of request (`get`, `list`, `patch`, `namespace`, `discovery`), one
each time, in order.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.support.api_server import Path, kind_of_request, not_found
from tests.support.discovery import recorded
from tests.support.script import AS_USUAL, Answer, Object, failure
from tests.support.server import Peer, PeerGone, ScriptedServer, SeenRequest

_KINDS = {
    "Deployment": "deployments",
    "DaemonSet": "daemonsets",
    "StatefulSet": "statefulsets",
    "ReplicaSet": "replicasets",
    "ControllerRevision": "controllerrevisions",
    "Pod": "pods",
    "ConfigMap": "configmaps",
    "Service": "services",
    "Job": "jobs",
    "Node": "nodes",
}


class Sent(NamedTuple):
    """One request as two clients can be compared by it."""

    method: str
    path: str
    query: list[tuple[str, str]]
    content_type: str
    body: str


class StatefulServer(ScriptedServer):
    """The server. `asked` holds every request; `sent()` those beside discovery."""

    def __init__(
        self,
        *objects: Object,
        answers: Mapping[str, Sequence[Answer]] | None = None,
        warnings: Sequence[str] = (),
        namespaces: Sequence[str] = ("default", "demo"),
    ) -> None:
        super().__init__(self._connection)
        self._objects: dict[tuple[str, str, str], Object] = {}
        self.answers = {kind: list(queue) for kind, queue in (answers or {}).items()}
        self.warnings = tuple(("Warning", f'299 - "{text}"') for text in warnings)
        self.namespaces = namespaces
        self.asked: list[SeenRequest] = []
        self._version = 1000
        self._lock = threading.RLock()
        for one in objects:
            self.put(one)

    # The state

    def put(self, thing: Object) -> None:
        """An object as it is; where it lies follows from its kind, namespace and name."""
        metadata = thing["metadata"]
        resource = _KINDS.get(thing["kind"], thing["kind"].lower() + "s")
        self._objects[resource, metadata.get("namespace", ""), metadata["name"]] = copy.deepcopy(thing)

    def object(self, resource: str, name: str, namespace: str = "default") -> Object:
        """What is there now."""
        return self._objects[resource, namespace, name]

    # What was asked

    def sent(self) -> list[Sent]:
        """The requests beside discovery, in order."""
        return [_sent(request) for request in self.asked if kind_of_request(request) != "discovery"]

    def writes(self) -> list[Sent]:
        """The requests that write."""
        return [one for one in self.sent() if one.method != "GET"]

    # The wire

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            kind = "patch" if request.method == "PATCH" else kind_of_request(request)
            with self._lock:
                self.asked.append(request)
                queue = self.answers.get(kind)
                answer = queue.pop(0) if queue else AS_USUAL
                answer = getattr(self, f"_{kind}")(request) if answer.how == "usual" else answer
            if answer.how != "reply":
                raise PeerGone
            headers = (*answer.headers, *self.warnings) if kind != "discovery" else answer.headers
            peer.reply(answer.body, status=answer.status, content_type=answer.content_type, headers=headers)

    def _discovery(self, request: SeenRequest) -> Answer:
        body, content_type = recorded(request.path)
        return Answer(body=body, content_type=content_type)

    def _namespace(self, request: SeenRequest) -> Answer:
        name = request.path.rsplit("/", 1)[1]
        if name not in self.namespaces:
            return not_found("namespaces", name)
        return _told({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})

    def _get(self, request: SeenRequest) -> Answer:
        where = Path.of(request)
        if not where.known:
            return where.unknown()
        found = self._objects.get((where.resource, where.namespace, where.name))
        return not_found(where.qualified, where.name) if found is None else _told(found)

    def _list(self, request: SeenRequest) -> Answer:
        where = Path.of(request)
        if not where.known:
            return where.unknown()
        chosen = selector_of(where.labels)
        items = [
            {key: one[key] for key in one if key not in {"kind", "apiVersion"}}
            for (resource, namespace, _), one in self._objects.items()
            if resource == where.resource
            and where.namespace in ("", namespace)
            and chosen(one["metadata"].get("labels") or {})
        ]
        head = {"kind": where.kind + "List", "apiVersion": where.api_version}
        return _told(head | {"metadata": {"resourceVersion": str(self._version)}, "items": items})

    def _patch(self, request: SeenRequest) -> Answer:
        where = Path.of(request)
        key = where.resource, where.namespace, where.name
        if key not in self._objects:
            return not_found(where.qualified, where.name)
        before = self._objects[key]
        media = (request.header("Content-Type") or "").removeprefix("application/")
        patch = json.loads(request.body)
        try:
            after = json_patched(before, patch) if media == "json-patch+json" else merged(before, patch)
        except KeyError as error:
            return failure(422, f"the server rejected our request due to an error in our request: {error}", details={})
        if after != before:
            self._version += 1
            after["metadata"]["resourceVersion"] = str(self._version)
            if after.get("spec") != before.get("spec"):
                after["metadata"]["generation"] = after["metadata"].get("generation", 0) + 1
        if request.query.get("dryRun") != "All":
            self._objects[key] = after
        return _told(after)


def _told(thing: Object) -> Answer:
    # As API servers write it (Go): compact, and safe for HTML. What a ControllerRevision holds comes back byte for byte.
    text = json.dumps(thing, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Answer(body=text.encode())


def _sent(request: SeenRequest) -> Sent:
    query = parse_qsl(urlsplit(request.target).query, keep_blank_values=True)
    path = urlsplit(request.target).path
    return Sent(request.method, path, query, request.header("Content-Type") or "", request.body.decode())


# Patches


def merged(before: Any, patch: Any) -> Any:
    """A map merged with a patch of it (RFC 7386, and `$patch: replace`)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    after = copy.deepcopy(before) if isinstance(before, dict) else {}
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = merged(after.get(key), value)
    return after


def json_patched(before: Object, operations: Iterable[Object]) -> Object:
    """RFC 6902 for maps. Raises KeyError where there is nothing to replace or remove."""
    after = copy.deepcopy(before)
    for operation in operations:
        *parents, last = operation["path"].strip("/").split("/")
        target = after
        for part in parents:
            target = target[part.replace("~1", "/").replace("~0", "~")]
        if operation["op"] != "add" and last not in target:
            raise KeyError(operation["path"])
        if operation["op"] == "remove":
            del target[last]
        else:
            target[last] = copy.deepcopy(operation["value"])
    return after


# Selectors


def selector_of(text: str) -> Callable[[Mapping[str, str]], bool]:
    """Whether labels match a selector: `a=b`, `a!=b`, `a`, `!a`, `a in (b,c)`, `a notin (b)`."""
    terms = [_term(term.strip()) for term in _split(text) if term.strip()]
    return lambda labels: all(matches(labels) for matches in terms)


def _split(text: str) -> list[str]:
    """At commas outside parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _term(term: str) -> Callable[[Mapping[str, str]], bool]:
    for word, wanted in ((" notin ", False), (" in ", True)):
        if word in term:
            key, _, values = term.partition(word)
            chosen = {value.strip() for value in values.strip(" ()").split(",")}
            return lambda labels: (labels.get(key.strip()) in chosen) == wanted
    if "!=" in term:
        key, _, value = term.partition("!=")
        return lambda labels: labels.get(key) != value
    if "=" in term:
        key, _, value = term.replace("==", "=").partition("=")
        return lambda labels: labels.get(key) == value
    if term.startswith("!"):
        return lambda labels: term[1:].strip() not in labels
    return lambda labels: term in labels
