"""What `-f`, `-R` and `-k` name: flags → objects of manifests, each with its resource and namespace."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.errors import RawkubeError, UsageError
from rawkube.gotext import go_quote, one_line

if TYPE_CHECKING:
    from rawkube.api.label_selector import Requirement
    from rawkube.api.mapper import Mapper
    from rawkube.cli.flags import Parsed


class FromFile(NamedTuple):
    """One object of a manifest, the resource that serves it, and the namespace that it is in (empty: none)."""

    resource: Resource
    namespace: str
    name: str
    thing: Object


def are_named(parsed: Parsed) -> bool:
    """Whether files are named; their flags and the positionals beside them are checked. Raises UsageError."""
    files, kustomize = _names(parsed), parsed.values["kustomize"]
    if files and kustomize:
        raise UsageError("only one of -f or -k can be specified")
    if kustomize and parsed.values["recursive"]:
        raise UsageError("the -k flag can't be used with -f or -R")
    if kustomize:
        raise UsageError("rawkube builds no kustomizations: pipe `kustomize build DIR` into `-f -`")
    if files and parsed.args:
        pairs = any("/" in word for word in parsed.args)
        raise UsageError(
            "resource/name arguments cannot be provided when a path is specified"
            if pairs
            else "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well"
        )
    return bool(files)


def _names(parsed: Parsed) -> tuple[str, ...]:
    names: tuple[str, ...] = parsed.values["filename"]
    return () if names == ("",) else names


def read(parsed: Parsed) -> list[Object | UsageError]:
    """The objects of the files, and what cannot be read, in their order (`read_manifests`)."""
    from rawkube.api.manifest import read_manifests

    return read_manifests(_names(parsed), recursive=parsed.values["recursive"], stdin=_standard_input).found


def _standard_input() -> bytes:
    return sys.stdin.buffer.read() if sys.stdin else b""


def resolved(
    found: list[Object | UsageError], parsed: Parsed, mapper: Mapper, namespace: str
) -> Iterator[FromFile | RawkubeError]:
    """Each object with its resource and namespace, found out at its turn; an error stands in the place of its object.

    `namespace`: for objects that name none. With `-n` an object of another namespace is an error.
    """
    for thing in found:
        if isinstance(thing, RawkubeError):
            yield thing
            continue
        try:
            yield _resolved(thing, parsed, mapper, namespace)
        except RawkubeError as error:
            yield error


def _resolved(thing: Object, parsed: Parsed, mapper: Mapper, namespace: str) -> FromFile:
    from rawkube.api.manifest import namespace_of

    resource = mapper.for_kind(str(thing["apiVersion"]), str(thing["kind"]))
    place = namespace_of(thing, namespace, given="namespace" in parsed.given) if resource.namespaced else ""
    name = str(metadata_of(thing).get("name") or "")
    if not name:
        raise UsageError(f"a {one_line(str(thing['kind']))} of the manifest has no metadata.name")
    return FromFile(resource, place, name, thing)


def selector_of(text: str) -> frozenset[Requirement]:
    """The conditions of `-l` where objects come from files: it is this side then that selects. Raises UsageError."""
    from rawkube.api.label_selector import parse_labels
    from rawkube.api.selectors import SelectorError

    try:
        return parse_labels(text)
    except SelectorError as error:
        raise UsageError(f"the provided selector {go_quote(text)} is not valid: {error}") from None
