"""Pure: a request as the replay compares it with recorded ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import parse_qsl, unquote

from rawkube._typing import NamedTuple
from rawkube.api.label_selector import Requirement, labels_match, parse_labels
from rawkube.observe.derive import Keep
from rawkube.observe.selectors import fields_match, knows_fields, parse_fields, pinned_name
from rawkube.observe.upgrades import kind_of

# Parameters that change when or from where an answer comes, not what it is about.
IGNORED = frozenset(
    (
        "resourceVersion",
        "resourceVersionMatch",
        "limit",
        "timeoutSeconds",
        "timeout",
        "allowWatchBookmarks",
        "sendInitialEvents",
        "tailLines",
        "watch",
    )
)
SELECTORS = ("labelSelector", "fieldSelector")
_TRUE = ("1", "t", "T", "true", "TRUE", "True")  # Go's strconv.ParseBool, which the API server uses

_COLLECTION = re.compile(r"(/api/[^/]+|/apis/([^/]+)/[^/]+)(?:/namespaces/([^/]+))?/([^/]+)")
_OBJECT = re.compile(r"(/api/[^/]+|/apis/[^/]+/[^/]+)(?:/namespaces/[^/]+(?=/[^/]+/))?/[^/]+/([^/]+)")
_DISCOVERY = re.compile(r"/api|/apis|/api/[^/]+|/apis/[^/]+(/[^/]+)?")
_NAMESPACE = re.compile(r"/namespaces/([^/]+)")


class Place(NamedTuple):
    """A collection: `api_version` (`apps/v1`), group, namespace (empty: all of them, or none), plural."""

    api_version: str
    group: str
    namespace: str
    resource: str


class Conditions(NamedTuple):
    """The selectors of a request, read. Where one cannot be read, its text stands for itself."""

    labels: frozenset[Requirement] | str
    fields: frozenset[Requirement] | str

    @property
    def name(self) -> str:
        """The one name that is asked for, else an empty text."""
        return "" if isinstance(self.fields, str) else pinned_name(self.fields)


class Ask(NamedTuple):
    """A request: method, path (decoded), parameters (the first of a name counts, as in Go).

    `upgrade`: `websocket`, `spdy/3.1` or empty.
    """

    method: str
    path: str
    params: dict[str, str]
    watch: bool
    conditions: Conditions
    accept: str
    validators: str  # If-None-Match: the versions that the client has
    upgrade: str = ""

    def flag(self, name: str) -> bool:
        """A boolean parameter."""
        return self.params.get(name, "") in _TRUE

    @property
    def streaming(self) -> bool:
        """Whether a watch asks for the state first (KEP-3157)."""
        return self.flag("sendInitialEvents")

    @property
    def version(self) -> str:
        """The resource version that is asked for, empty where none is."""
        return self.params.get("resourceVersion", "")

    @property
    def key(self) -> tuple[object, ...]:
        """What repetitions of the same request have in common."""
        others = tuple(sorted((k, v) for k, v in self.params.items() if k not in IGNORED))
        return self.method, self.path, self.watch, self.streaming, others


def ask_of(method: str, target: str, headers: Iterable[tuple[str, str]]) -> Ask:
    """Read a request's target (origin form, or absolute form as sent to a proxy) and headers."""
    target = re.sub(r"^https?://[^/?]*", "", target) or "/"
    path, _, query = target.partition("?")
    params: dict[str, str] = {}
    for name, value in parse_qsl(query.partition("#")[0], keep_blank_values=True):
        params.setdefault(name, value)
    named = {name.lower(): value for name, value in reversed(tuple(headers))}
    labels = _read(parse_labels, params.get("labelSelector", ""))
    fields = _read(parse_fields, params.get("fieldSelector", ""))
    watch = params.get("watch", "") in _TRUE
    return Ask(
        method=method,
        path=unquote(path),
        params=params,
        watch=watch,
        conditions=Conditions(labels, fields),
        accept=named.get("accept", ""),
        validators=named.get("if-none-match", ""),
        upgrade=kind_of(named.get("upgrade", "")),
    )


def place_of(path: str) -> Place | None:
    """The collection that a path names, None where it names something else."""
    match = _COLLECTION.fullmatch(path)
    if match is None or (match[4] == "namespaces" and match[3]):
        return None
    version = match[1].removeprefix("/apis/").removeprefix("/api/")
    return Place(version, match[2] or "", match[3] or "", match[4])


def object_of(path: str) -> tuple[str, str] | None:
    """The collection's path and the name of the object that a path names, None where it names no object."""
    match = _OBJECT.fullmatch(path)
    if match is None:
        return None
    return path[: -len(match[2]) - 1], match[2]


def is_discovery(path: str) -> bool:
    """Whether a path is one of the API server's discovery documents."""
    return _DISCOVERY.fullmatch(path) is not None


def all_namespaces(path: str) -> str:
    """The path of the same collection in all namespaces, empty where there is none wider."""
    place = place_of(path)
    return path.replace(f"/namespaces/{place.namespace}", "", 1) if place and place.namespace else ""


def namespace_of(path: str) -> str:
    """The namespace that a path names, else an empty text."""
    match = _NAMESPACE.search(path)
    return match[1] if match else ""


def narrower(asked: Ask, recorded: Ask) -> bool:
    """Whether everything that is asked for is among what was recorded, as far as selectors tell."""
    return all(
        a == r if isinstance(a, str) or isinstance(r, str) else a >= r
        for a, r in zip(asked.conditions, recorded.conditions, strict=True)
    )


def lasting(asked: Ask, recorded: Ask) -> bool:
    """Whether what is asked for beyond what was recorded never changes for an object (name, namespace)."""
    labels, fields = asked.conditions
    if labels != recorded.conditions.labels:
        return False
    if isinstance(fields, str) or isinstance(recorded.conditions.fields, str):
        return fields == recorded.conditions.fields
    return all(r.key in ("metadata.name", "metadata.namespace") for r in fields - recorded.conditions.fields)


def filter_of(asked: Ask) -> Keep | None:
    """What an object must be to be among what is asked for; None where that cannot be told here."""
    labels, fields = asked.conditions
    place = place_of(asked.path)
    if place is None or isinstance(labels, str) or isinstance(fields, str):
        return None
    if not knows_fields(fields, place.resource):
        return None
    if place.namespace:
        fields |= parse_fields(f"metadata.namespace={place.namespace}")
    return lambda obj: labels_match(labels, obj) and fields_match(fields, obj)


def exactly(ask: Ask, recorded: Ask) -> bool:
    """Whether everything agrees that an answer depends on."""
    names = (ask.params.keys() | recorded.params.keys()) - IGNORED - {"previous", *SELECTORS}
    return (
        paging(ask, recorded)
        and _same_selectors(ask, recorded)
        and all(ask.params.get(name) == recorded.params.get(name) for name in names)
    )


def nearly(ask: Ask, recorded: Ask) -> bool:
    """The same without the other parameters; a container that only one side names may be the one."""
    return paging(ask, recorded) and _same_selectors(ask, recorded) and _same_container(ask, recorded)


def where_both(ask: Ask, recorded: Ask) -> bool:
    """Whether selectors agree where the client has them."""
    selectors = zip(ask.conditions, recorded.conditions, strict=True)
    return _same_container(ask, recorded) and all(not a or a == r for a, r in selectors)


def _same_selectors(ask: Ask, recorded: Ask) -> bool:
    return ask.conditions == recorded.conditions


def _same_container(ask: Ask, recorded: Ask) -> bool:
    one, other = ask.params.get("container"), recorded.params.get("container")
    return not one or not other or one == other


def paging(ask: Ask, recorded: Ask) -> bool:
    """Another page, or the log of another run of a container, is another answer."""
    same_page = ask.params.get("continue", "") == recorded.params.get("continue", "")
    return same_page and ask.flag("previous") == recorded.flag("previous")


def _read(parse: Callable[[str], frozenset[Requirement]], text: str) -> frozenset[Requirement] | str:
    try:
        return parse(text)
    except ValueError:
        return text
