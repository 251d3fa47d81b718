"""The REST mapper: from a word that a person types, or the kind of a manifest, to a resource that a server serves.

A built-in table knows what most command lines name, so that these cost no discovery. The server is asked for any
other word, and when it turns out not to have what the table says (`after_not_found`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.api.arguments import EmptyName, check_across_namespaces, parse_arguments
from rawkube.api.builtin import lookup
from rawkube.api.client import ApiClient
from rawkube.api.resource import Resource
from rawkube.errors import StatusError

if TYPE_CHECKING:
    from rawkube.api.discovery import Catalogue, Discovery
    from rawkube.api.mapping import Found, Names


class Named(NamedTuple):
    """One thing that a command line asks for; an empty name is all of the resource."""

    resource: Resource
    name: str = ""


class Explained(NamedTuple):
    """How a word was read: what the table and the server say, either may be None; the members of such a category."""

    table: Resource | None
    server: Found | None
    members: tuple[Resource, ...]
    catalogue: Catalogue
    rule: str = ""

    @property
    def means(self) -> Resource | None:
        """What a command takes it for; None for a category, and for a word that means nothing."""
        if self.table:
            return self.table
        return self.server.resource if self.server and not self.members else None

    @property
    def source(self) -> str:
        """Who says so: `table`, `server`, or empty."""
        return "table" if self.table else "server" if self.server or self.members else ""


class Mapper:
    """What the words of one command line mean on one server.

    `on_warning` is told of words that mean several resources, in kubectl's words. `table`: whether the built-in table
    is asked first. `discovery`: the server's resources, if somebody has them already. `deadline`, a time of the
    client's clock, may be set at any time: who has to wait for the server longer gets a WaitTimeout.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        on_warning: Callable[[str], None] = lambda text: None,
        table: bool = True,
        discovery: Discovery | None = None,
    ) -> None:
        self.deadline: float | None = None
        self._client = client
        self._on_warning = on_warning
        self._table = table
        self._discovery = discovery
        self._names: tuple[Catalogue, Names] | None = None

    @property
    def discovery(self) -> Discovery:
        """The server's resources; nothing is asked before they are used."""
        if self._discovery is None:
            from rawkube.api.discovery import Discovery

            self._discovery = Discovery(self._client)
        self._discovery.deadline = self.deadline
        return self._discovery

    def resource(self, word: str) -> Resource:
        """The resource that a TYPE means. Raises UsageError, StatusError, TransportError, DecodeError."""
        known = lookup(word) if self._table else None
        return known or self._asked(word)

    def wanted(self, args: Sequence[str], *, selector: str = "", all_namespaces: bool = False) -> list[Named]:
        """What positional arguments ask for, categories expanded, in order.

        Collections are named once each, objects as often as the arguments do. `selector`: the label or field
        selector as typed. Raises UsageError and as resource().
        """
        try:
            asked = parse_arguments(args, selector=selector, expand=self._members)
        except EmptyName as error:
            resource = self.resource(error.type)
            check_across_namespaces([(resource.namespaced and all_namespaces, "-")])
            raise
        resources: dict[str, Resource] = {}
        for one in asked:
            if one.type not in resources:
                resources[one.type] = self.resource(one.type)
        found = [Named(resources[one.type], one.name) for one in asked]
        if all_namespaces:
            check_across_namespaces((one.resource.namespaced, one.name) for one in found)
        return _once(found)

    def for_kind(
        self, api_version: str, kind: str, *, name: str = "", namespace: str = "", source: str = ""
    ) -> Resource:
        """The resource that serves a manifest's `apiVersion` and `kind`. Raises UsageError and as resource().

        `name`, `namespace`, `source` (the file, as typed) tell in an error which object it was.
        """
        group, _, version = api_version.rpartition("/")
        known = lookup(f"{kind}.{version}.{group}") if self._table else None
        if known and (known.group, known.version) == (group, version) and kind in (known.kind, known.singular):
            return known
        from rawkube.api.mapping import no_such_kind

        found, catalogue = self._look(lambda names: names.of_kind(group, version, kind), group.__eq__)
        if found is None:
            raise no_such_kind(api_version, kind, catalogue.failed, name=name, namespace=namespace, source=source)
        return found.resource

    def after_not_found(self, resource: Resource, error: StatusError, *, word: str = "") -> Resource | None:
        """What to ask for instead, after a 404 for a resource that the table knew.

        None: the error stands, since it is about an object, or the server does have that resource. Else the resource
        as the server has it (an old server's `apps/v1beta1`), by the `word` that was typed or the resource's own name.
        UsageError where the server has nothing of that name; else raises as resource(). To be asked once a request.
        """
        if error.code != 404 or is_about_an_object(error) or not self._table:
            return None
        served = self._asked(word or resource.qualified)
        return None if (served.group, served.version, served.plural) == resource[:3] else served

    def explain(self, word: str) -> Explained:
        """How a word is read, and what else it could be. The server is asked, whatever the table says."""
        from rawkube.api.mapping import Names

        catalogue = self.discovery.catalogue()
        found = self._named(catalogue).find(word)
        members = self._named(catalogue).in_category(word)
        if found is None and not members and (newer := self.discovery.refreshed()) is not None:
            catalogue, found = newer, self._named(newer).find(word)
            members = self._named(newer).in_category(word)
        table = lookup(word) if self._table else None
        own = Names([], [table]).find(word) if table else found
        return Explained(table, found, members, catalogue, own.rule if own else "")

    def _asked(self, word: str) -> Resource:
        """What the server says that a word means."""
        from rawkube.api.mapping import no_such_type, wants

        found, catalogue = self._look(lambda names: names.find(word), lambda group: wants(word, group))
        if found is None:
            raise no_such_type(word, catalogue.failed)
        for other in found.shadowed:
            short = word.partition(".")[0]
            self._on_warning(f'short name "{short}" could also match lower priority resource {other.qualified}')
        return found.resource

    def _look(
        self, find: Callable[[Names], Found | None], belongs: Callable[[str], bool]
    ) -> tuple[Found | None, Catalogue]:
        """What is found, and where; slow groups are waited for where they may matter, a miss is looked up once more.

        `belongs`: whether what is looked for may be in a group of that name.
        """
        catalogue = self.discovery.glance()
        found = find(self._named(catalogue))
        if catalogue.waiting and (found is None or self._may_come_first(found.resource, belongs, catalogue)):
            catalogue = self.discovery.catalogue()
            found = find(self._named(catalogue))
        if found is None and (newer := self.discovery.refreshed()) is not None:
            catalogue = newer
            found = find(self._named(catalogue))
        return found, catalogue

    def _may_come_first(self, resource: Resource, belongs: Callable[[str], bool], catalogue: Catalogue) -> bool:
        names = self._named(catalogue)
        slow = [(group, version) for group, version in catalogue.waiting if belongs(group)]
        return any(names.rank(*one) < names.rank(resource.group, resource.version) for one in slow)

    def _members(self, word: str) -> tuple[str, ...]:
        """The members of a category, as types; none where the word is no category."""
        if self._table and lookup(word) is not None:
            return ()
        catalogue = self.discovery.glance()
        members = self._named(catalogue).in_category(word)
        if catalogue.waiting and (members or self._named(catalogue).find(word) is None):
            members = self._named(self.discovery.catalogue()).in_category(word)
        return tuple(member.qualified for member in members)

    def _named(self, catalogue: Catalogue) -> Names:
        from rawkube.api.mapping import Names

        if self._names is None or self._names[0] is not catalogue:
            self._names = (catalogue, Names(catalogue.groups, catalogue.resources))
        return self._names[1]


def is_about_an_object(error: StatusError) -> bool:
    """Whether a failure names an object, in a Status of the API server's own: what was asked for is served, then."""
    details = error.status.get("details")
    if not isinstance(details, dict) or not details.get("name"):
        return False
    causes = details.get("causes")
    reasons = [cause.get("reason") for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []
    return "UnexpectedServerResponse" not in reasons  # the mark of the substitute for an answer without a Status


def _once(found: Sequence[Named]) -> list[Named]:
    """Each collection once: two words may mean the same kind."""
    kept: list[Named] = []
    for one in found:
        if one.name or not any(_same(one, other) for other in kept):
            kept.append(one)
    return kept


def _same(one: Named, other: Named) -> bool:
    key = (one.resource.group, one.resource.version, one.resource.kind, one.name)
    return key == (other.resource.group, other.resource.version, other.resource.kind, other.name)
