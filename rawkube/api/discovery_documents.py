"""Discovery documents → groups, versions and resources. Pure: bytes in, plain data or an error out.

A server describes its API in one of two shapes. Aggregated (KEP-3352, `APIGroupDiscoveryList` of
`apidiscovery.k8s.io/v2`, and v2beta1 of the same form): `/api` and `/apis` hold everything. Legacy: they name the
groups and versions only (`APIVersions`, `APIGroupList`), and each version has a document of its own, an
`APIResourceList`. The rules of conversion are client-go's (`discovery.SplitGroupsAndResources`), kubectl 1.37.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.resource import Resource
from rawkube.api.status import status_error
from rawkube.errors import DecodeError, StatusError
from rawkube.gotext import go_quote, one_line

_LIST = "APIGroupDiscoveryList"
_VERSIONS = ("v2", "v2beta1")
LEGACY = "application/json"
ACCEPT = ",".join([*(f"{LEGACY};g=apidiscovery.k8s.io;v={version};as={_LIST}" for version in _VERSIONS), LEGACY])
"""What a request for `/api` or `/apis` accepts. v2beta1 is what servers of 1.26 to 1.29 have."""

_SHOWN = 200
_STALE = "stale GroupVersion discovery: "


class Group(NamedTuple):
    """An API group: its versions as the server ranks them, and the one that it prefers (empty where it has none)."""

    name: str
    versions: tuple[str, ...] = ()
    preferred: str = ""


class Root(NamedTuple):
    """What `/api` or `/apis` says. The order is the server's, which is that of priority.

    `resources`: of an aggregated document, subresources (`pods/log`) among them. `pending`: the versions, as
    `(group, version)`, whose resources a legacy document leaves to a document of their own. `failed`:
    group/version → why nothing is known of it.
    """

    groups: tuple[Group, ...] = ()
    resources: tuple[Resource, ...] = ()
    pending: tuple[tuple[str, str], ...] = ()
    failed: Mapping[str, str] = {}
    aggregated: bool = False


def group_version(group: str, version: str) -> str:
    """`apps/v1`, and `v1` for the core group."""
    return f"{group}/{version}" if group else version


def is_stale(why: str) -> bool:
    """Whether a version failed because the server itself could not learn of it lately (`freshness: Stale`)."""
    return why.startswith(_STALE)


def is_aggregated(content_type: str) -> bool:
    """Whether a Content-Type is that of an aggregated document; the order of its parameters does not matter."""
    media, *rest = (part.strip() for part in content_type.split(";"))
    pairs = (part.partition("=") for part in rest)
    given = {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
    named = (given.get("g"), given.get("as"))
    return media.lower() == LEGACY and named == ("apidiscovery.k8s.io", _LIST) and given.get("v") in _VERSIONS


def read_root(body: bytes, content_type: str) -> Root:
    """What `/api` or `/apis` answered.

    The document's kind says which shape it has, and the Content-Type where there is no kind. Raises DecodeError for
    what is no discovery document, StatusError for a failure that came with an HTTP 200.
    """
    document = _object(body)
    kind = document.get("kind") or (_LIST if is_aggregated(content_type) else "")
    if kind == _LIST:
        return _aggregated(_dicts(document.get("items")))
    if kind == "APIVersions" or (not kind and "versions" in document):
        return _core(document)
    if kind == "APIGroupList" or (not kind and "groups" in document):
        return _legacy(_dicts(document.get("groups")))
    raise _stranger(document, kind, body)


def read_resources(body: bytes, group: str, version: str) -> tuple[Resource, ...]:
    """What the legacy document of one version lists, subresources among them. Raises as read_root()."""
    document = _object(body)
    if document.get("kind", "APIResourceList") != "APIResourceList":
        raise _stranger(document, document["kind"], body)
    return tuple(
        Resource(
            group,
            version,
            _text(entry, "name"),
            _singular(_text(entry, "singularName"), _text(entry, "name"), _text(entry, "kind")),
            _text(entry, "kind"),
            _texts(entry, "shortNames"),
            entry.get("namespaced") is True,
            _texts(entry, "categories"),
            _texts(entry, "verbs"),
        )
        for entry in _dicts(document.get("resources"))
        if _text(entry, "name")
    )


def failure(code: int, headers: Iterable[tuple[str, str]], body: bytes) -> StatusError:
    """The error that an answer other than a document is, in kubectl's words.

    Those leave out what a Status in the answer says (client-go's discovery does not decode it); the detail has it.
    """
    pairs = [(name.lower(), value) for name, value in headers]
    own = status_error(code, pairs, body)
    plain = status_error(code, [pair if pair[0] != "content-type" else _opaque(pair) for pair in pairs], body)
    said = str(own)
    return StatusError(plain.status, detail=[f"the server says: {one_line(said)}"] if said != str(plain) else [])


def _opaque(pair: tuple[str, str]) -> tuple[str, str]:
    return pair if pair[1].lower().startswith("text/") else (pair[0], "application/octet-stream")


# The aggregated shape.


def _aggregated(items: Sequence[dict[str, Any]]) -> Root:
    groups: list[Group] = []
    resources: list[Resource] = []
    failed: dict[str, str] = {}
    for item in items:
        metadata = item.get("metadata")
        name = _text(metadata, "name") if isinstance(metadata, dict) else ""
        current = []
        for version in _dicts(item.get("versions")):
            label = _text(version, "version")
            if version.get("freshness") == "Stale":
                where = group_version(name, label)
                failed[where] = _STALE + where
                continue
            current.append(label)
            resources += _of_version(name, label, version)
        groups.append(Group(name, tuple(current), current[0] if current else ""))
    return Root(tuple(groups), tuple(resources), (), failed, aggregated=True)


def _of_version(group: str, version: str, document: Mapping[str, Any]) -> Iterator[Resource]:
    for entry in _dicts(document.get("resources")):
        name, singular = _text(entry, "resource"), _text(entry, "singularResource")
        namespaced = entry.get("scope") == "Namespaced"
        if not name:
            continue
        if kind := _response_kind(entry):
            names = (_singular(singular, name, kind), kind, _texts(entry, "shortNames"))
            yield Resource(
                group, version, name, *names, namespaced, _texts(entry, "categories"), _texts(entry, "verbs")
            )
        for below in _dicts(entry.get("subresources")):
            kind, label = _response_kind(below), _text(below, "subresource")
            if kind and label:
                verbs = _texts(below, "verbs")
                yield Resource(group, version, f"{name}/{label}", singular, kind, (), namespaced, (), verbs)


def _singular(given: str, plural: str, kind: str) -> str:
    """What servers that name no singular mean: the Kind in lower case (apimachinery, UnsafeGuessKindToResource)."""
    return given if given or "/" in plural else kind.lower()


def _response_kind(entry: Mapping[str, Any]) -> str:
    """The Kind; an empty group and version beside it mean those that the entry stands in. Empty: none is named."""
    kind = entry.get("responseKind")
    return _text(kind, "kind") if isinstance(kind, dict) else ""


# The legacy shape.


def _core(document: Mapping[str, Any]) -> Root:
    versions = _texts(document, "versions")
    if not versions:
        return Root()
    return Root((Group("", versions, versions[0]),), pending=tuple(("", version) for version in versions))


def _legacy(entries: Sequence[dict[str, Any]]) -> Root:
    groups: list[Group] = []
    failed: dict[str, str] = {}
    for entry in entries:
        name, versions = _text(entry, "name"), []
        for version in _dicts(entry.get("versions")):
            label, where = _text(version, "version"), _text(version, "groupVersion")
            if where and where != group_version(name, label):
                failed[where] = f"unexpected GroupVersion string: {one_line(where)}"
            elif label:
                versions.append(label)
        preferred = entry.get("preferredVersion")
        first = _text(preferred, "version") if isinstance(preferred, dict) else ""
        groups.append(Group(name, tuple(versions), first if first in versions else "".join(versions[:1])))
    pending = tuple((group.name, version) for group in groups for version in group.versions)
    return Root(tuple(groups), pending=pending, failed=failed)


# JSON.


def _object(body: bytes) -> dict[str, Any]:
    text = body.decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(_json_problem(text, error), detail=_seen(body)) from None
    if not isinstance(document, dict):
        raise DecodeError("the server's discovery document is no JSON object", detail=_seen(body))
    if document.get("kind") == "Status" and document.get("status") != "Success":
        raise StatusError(document)
    return document


def _json_problem(text: str, error: Exception) -> str:
    """In Go's words where they are simple (encoding/json)."""
    if not isinstance(error, json.JSONDecodeError):
        return "exceeded max depth" if isinstance(error, RecursionError) else str(error)
    rest = text[error.pos :].lstrip()
    if not rest or error.msg.startswith("Unterminated"):
        return "unexpected end of JSON input"
    if not text[: error.pos].strip():
        return f"invalid character {go_quote(rest[0], mark=chr(39))} looking for beginning of value"
    return str(error)


def _stranger(document: Mapping[str, Any], kind: object, body: bytes) -> DecodeError:
    what = f"a {one_line(str(kind))}" if kind else "an object without a kind"
    return DecodeError(f"the server was asked for a discovery document and sent {what}", detail=_seen(body))


def _seen(body: bytes) -> list[str]:
    text = one_line(body[: 4 * _SHOWN].decode("utf-8", "replace").strip())
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return [f"the server's answer ({len(body)} bytes) begins: {shown}" if body else "the server's answer was empty"]


def _dicts(value: object) -> list[dict[str, Any]]:
    """The objects of a list; what is none is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _texts(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
