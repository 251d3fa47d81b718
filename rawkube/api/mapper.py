"""The REST mapper: from a word that a person types, or the kind of a manifest, to a resource that a server serves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rawkube.api.arguments import parse_arguments
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.resource import Resource


class Named(NamedTuple):
    """One thing that a command line asks for; an empty name is all of the resource."""

    resource: Resource
    name: str = ""


class Mapper:
    """What the words of one command line mean on one server.

    `on_warning` is told of words that mean several resources. `table`: whether the built-in table is asked first.
    """

    def __init__(
        self, client: ApiClient, *, on_warning: Callable[[str], None] = lambda text: None, table: bool = True
    ) -> None:
        self._client = client
        self._on_warning = on_warning
        self._table = table

    def resource(self, word: str) -> Resource:
        """The resource that a TYPE means. Raises UsageError, StatusError, TransportError, DecodeError."""
        return known(word)

    def wanted(self, args: Sequence[str], *, selector: str = "") -> list[Named]:
        """What positional arguments ask for, categories expanded, in order. Raises UsageError and as resource()."""
        return [Named(self.resource(one.type), one.name) for one in parse_arguments(args, selector=selector)]

    def for_kind(self, api_version: str, kind: str) -> Resource:
        """The resource that serves a manifest's `apiVersion` and `kind`. Raises UsageError and as resource()."""
        group, _, version = api_version.rpartition("/")
        return known(f"{kind}.{version}.{group}")
