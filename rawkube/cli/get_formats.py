"""Pure: the forms in which `get` prints what it has found: a table, JSON, YAML, names.

A form keeps no more of an answer than it will print, so that a long list does not lie in memory twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.objects import Object, metadata_of
from rawkube.api.pages import JSON, TABLE
from rawkube.api.resource import Resource
from rawkube.cli.printers import full_name, indented_json, kind_name, to_json, to_yaml, without_managed_fields
from rawkube.cli.tables_text import Layout, TextTable, slim, table_of
from rawkube.cli.text import escape

Piece = Any
"""What a form keeps of one answer."""

LARGE = 1 << 20
"""Characters of text from which on it is kept compressed until it is printed."""


class Group(NamedTuple):
    """The answers of one LIST or GET, in order."""

    resource: Resource
    pieces: list[Piece]


class TableForm:
    """The server's Tables as text; several kinds are told apart by `kind/NAME` and a blank line (kubectl 1.37)."""

    accept = TABLE
    is_table = True

    def __init__(self, layout: Layout, *, all_namespaces: bool, clock: Callable[[], float]) -> None:
        self._layout = layout
        self._all_namespaces = all_namespaces
        self._clock = clock

    def keep(self, answer: Object) -> Piece:
        """What is needed of a page, or of an object."""
        return slim(self.table(answer))

    def table(self, answer: Object) -> Object:
        """The Table that a server sent, or one of names and ages."""
        if answer.get("kind") == "Table":
            return answer
        return table_of(_objects(answer), self._clock())

    def layout(self, resource: Resource, *, several: bool = False) -> Layout:
        """What is shown of this kind, when there is nothing before it."""
        kind = kind_name(resource) if several else ""
        return self._layout._replace(kind=kind, namespace=self._all_namespaces and resource.namespaced)

    def texts(self, groups: Sequence[Group]) -> Iterator[str]:
        """The tables. Once there was a column of namespaces it stays, as in kubectl."""
        several = len({(each.resource.group, each.resource.version, each.resource.kind) for each in groups}) > 1
        namespace = written = False
        for resource, pieces in _joined(groups):
            layout = self.layout(resource, several=several)
            namespace = layout.namespace or namespace
            text = TextTable(layout._replace(namespace=namespace)).text(pieces)
            if text:
                yield "\n" + text if written and self._layout.headers else text
                written = True


class ObjectForm:
    """The objects as JSON or YAML. `single`: the one that was asked for, not a List of what was found."""

    accept = JSON
    is_table = False

    def __init__(self, name: str, *, single: bool, managed_fields: bool) -> None:
        self._yaml = name == "yaml"
        self._single = single
        self._managed_fields = managed_fields

    def keep(self, answer: Object) -> Piece:
        """The text of a page, or of an object; several are parted by a comma in JSON, by nothing in YAML."""
        items = [each if self._managed_fields else without_managed_fields(each) for each in _objects(answer)]
        if self._single:
            return "".join(map(self.one, items))
        if self._yaml:
            text = to_yaml(items) if items else ""
        else:
            text = ",\n".join(f"        {indented_json(item, ' ' * 8)}" for item in items)
        return text if len(text) < LARGE else _packed(text)

    def one(self, item: Object) -> str:
        """The text of one object on its own."""
        item = item if self._managed_fields else without_managed_fields(item)
        return to_yaml(item) if self._yaml else to_json(item)

    def texts(self, groups: Sequence[Group]) -> Iterator[str]:
        """The object, or the List."""
        pieces = (_unpacked(piece) for group in groups for piece in group.pieces if piece)
        if self._single:
            yield from pieces
        elif self._yaml:
            yield from _yaml_list(pieces)
        else:
            yield from _json_list(pieces)


class NameForm:
    """`kind.group/name` of each object."""

    accept = JSON
    is_table = False

    def __init__(self, resource: Resource | None = None) -> None:
        self._resource = resource

    def keep(self, answer: Object) -> Piece:
        """The names alone."""
        return [str(metadata_of(item).get("name") or "") for item in _objects(answer)]

    def texts(self, groups: Sequence[Group]) -> Iterator[str]:
        """A line for each object."""
        for resource, pieces in groups:
            yield "".join(self.line(resource, name) for piece in pieces for name in piece)

    def line(self, resource: Resource, name: str) -> str:
        """The line of one object."""
        return escape(full_name(resource, name)).replace("\n", "\\n") + "\n"


Form = TableForm | ObjectForm | NameForm


def _objects(answer: Object) -> list[Object]:
    """The items of a list, or the object itself."""
    items = answer.get("items")
    return items if isinstance(items, list) and str(answer.get("kind")).endswith("List") else [answer]


def _joined(groups: Sequence[Group]) -> Iterator[Group]:
    """Neighbours of one kind as one group: their columns are common."""
    pending: Group | None = None
    for group in groups:
        if pending is not None and pending.resource == group.resource:
            pending.pieces.extend(group.pieces)
            continue
        if pending is not None:
            yield pending
        pending = Group(group.resource, list(group.pieces))
    if pending is not None:
        yield pending


def _packed(text: str) -> bytes:
    import zlib

    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def _unpacked(piece: str | bytes) -> str:
    if isinstance(piece, str):
        return piece
    import zlib

    return zlib.decompress(piece).decode("utf-8", "surrogatepass")


def _json_list(pieces: Iterator[str]) -> Iterator[str]:
    before = '{\n    "apiVersion": "v1",\n    "items": ['
    separator = "\n"
    empty = True
    for piece in pieces:
        yield before + separator + piece
        before, separator, empty = "", ",\n", False
    end = "]" if empty else "\n    ]"
    yield before + end + ',\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n'


def _yaml_list(pieces: Iterator[str]) -> Iterator[str]:
    before = "apiVersion: v1\nitems:\n"
    empty = True
    for piece in pieces:
        yield before + piece
        before, empty = "", False
    start = "apiVersion: v1\nitems: []\n" if empty else ""
    yield start + 'kind: List\nmetadata:\n  resourceVersion: ""\n'
