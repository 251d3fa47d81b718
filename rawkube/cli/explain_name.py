"""`rawkube explain-name`: which resource a word means on a server, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

from rawkube._typing import TYPE_CHECKING, Any
from rawkube.api.mapper import Explained, Mapper
from rawkube.api.mapping import no_such_type, wants
from rawkube.errors import UsageError

if TYPE_CHECKING:
    from rawkube.api.client import ApiClient
    from rawkube.api.resource import Resource
    from rawkube.cli.flags import Parsed
    from rawkube.cli.output import Output
    from rawkube.errors import RawkubeError


def explain_name(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`explain-name`: 0 when every word means something on the server, else 1."""
    form = parsed.values["output"]
    if form not in ("", "text", "json"):
        raise UsageError(f'--output must be "text" or "json", not "{form}"')
    if not parsed.args:
        raise UsageError("a word to explain is needed")
    unknown: list[RawkubeError] = []
    with connect() as client:
        mapper = Mapper(client)
        for number, word in enumerate(parsed.args):
            told = mapper.explain(word)
            if form == "json":
                out.write(json.dumps(as_data(word, told), ensure_ascii=False) + "\n")
            else:
                _show(out, word, told, first=not number)
            if told.means is None and not told.members:
                unknown.append(no_such_type(word, {}))
    if unknown:
        out.errors(unknown)
    return 1 if unknown else 0


def _show(out: Output, word: str, told: Explained, *, first: bool) -> None:
    if not first:
        out.write("\n")
    for line in as_text(word, told):
        out.line(line)


def as_text(word: str, told: Explained) -> Iterator[str]:
    """What is known of a word, line by line."""
    resource, server = told.means, told.server
    if resource:
        scope = "namespaced" if resource.namespaced else "not namespaced"
        yield f"{word}: {resource.qualified}, {resource.group_version}, {resource.kind}, {scope}"
        yield f"  by: {told.rule}, {_SOURCES[told.source]}"
    elif told.members:
        yield f"{word}: a category"
    else:
        yield f"{word}: nothing"
    if told.source == "table" and (server is None or not _same(server.resource, told.table)):
        found = f"has {_named(server.resource)} for it" if server else "has no such resource"
        yield f"  the server {found}"
    if told.members:
        yield f"  members of the category: {', '.join(_named(one) for one in told.members)}"
    if server and server.also:
        yield f"  could also be: {', '.join(_named(one) for one in server.also)}"
    for where, why in _failed(word, told):
        yield f"  not known: {where}: {why}"


_SOURCES = {"table": "rawkube's own table", "server": "the server's discovery"}


def as_data(word: str, told: Explained) -> dict[str, Any]:
    """The same as one JSON object."""
    return {
        "word": word,
        "resource": _data(told.means),
        "rule": told.rule,
        "source": told.source,
        "server": _data(told.server.resource if told.server else None),
        "also": [_data(one) for one in (told.server.also if told.server else ())],
        "members": [_data(one) for one in told.members],
        "failed": dict(_failed(word, told)),
    }


def _failed(word: str, told: Explained) -> Iterable[tuple[str, str]]:
    """The parts of the API that could not be asked and may have had it."""
    for where, why in told.catalogue.failed.items():
        if wants(word, where.rpartition("/")[0]):
            yield where, why


def _data(resource: Resource | None) -> dict[str, Any] | None:
    if resource is None:
        return None
    group, version, plural, _, kind, *_ = resource
    return {
        "group": group,
        "version": version,
        "resource": plural,
        "kind": kind,
        "namespaced": resource.namespaced,
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
    }


def _named(resource: Resource) -> str:
    return f"{resource.qualified} ({resource.version})"


def _same(one: Resource, other: Resource | None) -> bool:
    return other is not None and one[:3] == other[:3]
