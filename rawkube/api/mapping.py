"""The rules by which a word or a Kind means one of the resources that a server has. Pure.

They are those of k8s.io/cli-runtime (`resource.Builder.mappingFor`) and client-go (`restmapper`), kubectl 1.37, with
two differences: a short name keeps the version that was asked for (kubectl drops it), and the collections' own
kinds (`podlist`) are no words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rawkube._typing import NamedTuple
from rawkube.api.discovery_documents import Group
from rawkube.api.resource import Resource
from rawkube.errors import UsageError
from rawkube.gotext import go_quote, one_line


class Found(NamedTuple):
    """What a word means.

    `rule`: how it was read: `plural`, `singular`, `short name` or `Kind`. `also`: the other resources that it could
    have meant, the likeliest first. `shadowed`: of these, what kubectl warns of (a short name of several resources).
    """

    resource: Resource
    rule: str
    also: tuple[Resource, ...] = ()
    shadowed: tuple[Resource, ...] = ()


class Form(NamedTuple):
    """One way to read a word: an empty version or group is any."""

    name: str
    version: str
    group: str


def forms(word: str) -> tuple[Form, ...]:
    """How `name`, `name.group`, `name.version.group` can be read; the version form comes first."""
    name, _, group = word.partition(".")
    whole = Form(name, "", group)
    if "." not in group:
        return (whole,)
    version, _, rest = group.partition(".")
    return Form(name, version, rest), whole


class Names:
    """The names of a server's resources. `resources`: in the order of discovery, without subresources."""

    def __init__(self, groups: Sequence[Group], resources: Sequence[Resource]) -> None:
        self.resources = tuple(resources)
        self._rank = _ranks(groups)
        self._named: dict[str, list[Resource]] = {}
        self._short: dict[str, list[Resource]] = {}
        self._kinds: dict[str, list[Resource]] = {}
        for resource in resources:
            _file(self._named, (resource.plural, resource.singular), resource)
            _file(self._short, resource.short_names, resource)
            _file(self._kinds, (resource.kind, resource.kind.lower()), resource)

    def find(self, word: str) -> Found | None:
        """What the TYPE of a command line means, or None: as a resource in any form of the word, else as a Kind."""
        ways = forms(word)
        return next(filter(None, map(self._resource, ways)), None) or next(filter(None, map(self._kind, ways)), None)

    def of_kind(self, group: str, version: str, kind: str) -> Found | None:
        """The resource that serves a Kind of exactly that group and version."""
        return self._kind(Form(kind, version, group)) if version else None

    def in_category(self, category: str) -> tuple[Resource, ...]:
        """The members of a category, in the order of discovery; none where no resource says it is in it."""
        return tuple(resource for resource in self.resources if category in resource.categories)

    def preferred(self) -> tuple[Resource, ...]:
        """Each resource once, in the version that its group prefers, else in the first that has it."""
        best: dict[tuple[str, str], Resource] = {}
        for resource in self.resources:
            key = (resource.group, resource.plural)
            if key not in best or self._rank_of(resource) < self._rank_of(best[key]):
                best[key] = resource
        return tuple(best.values())

    def rank(self, group: str, version: str) -> int:
        """The place of a version in the order by which an ambiguous word is settled."""
        return self._rank.get((group, version), len(self._rank))

    def _rank_of(self, resource: Resource) -> int:
        return self.rank(resource.group, resource.version)

    def _resource(self, form: Form) -> Found | None:
        if self._is_name(form):
            return self._by_name(form)
        rows = self._rows(form)
        if not rows:
            return self._by_name(form)
        first = rows[0]
        found = self._by_name(Form(first.plural, form.version, first.group))
        if found is None:
            return None
        others = _distinct(rows, first)
        # A group that only begins so takes the first row without a word (client-go).
        exact = not form.group or form.group == first.group
        return Found(found.resource, "short name", others, others if exact else ())

    def _is_name(self, form: Form) -> bool:
        """Whether it is, letter for letter, the name of something: then it is nobody's short name."""
        return any(form.group in ("", resource.group) for resource in self._named.get(form.name, ()))

    def _rows(self, form: Form) -> list[Resource]:
        """The resources that have it for a short name, of that group, else of the groups that begin so."""
        rows = [row for row in self._short.get(form.name, ()) if form.version in ("", row.version)]
        exact = [row for row in rows if form.group in ("", row.group)]
        return exact or [row for row in rows if row.group.startswith(form.group)]

    def _by_name(self, form: Form) -> Found | None:
        word = form.name.lower()
        # A group that begins so counts beside the very group, unless a version is asked for; the order decides.
        belongs: Callable[[str], bool] = form.group.__eq__ if form.version and form.group else _begins(form.group)
        named = self._named.get(word, ())
        fits = [one for one in named if form.version in ("", one.version) and belongs(one.group)]
        return self._first(fits, lambda one: "plural" if one.plural == word else "singular")

    def _kind(self, form: Form) -> Found | None:
        same = self._kinds.get(form.name, ())
        fits = [one for one in same if form.version in ("", one.version) and one.group == form.group]
        return self._first(fits, lambda one: "Kind")

    def _first(self, fits: list[Resource], rule: Callable[[Resource], str]) -> Found | None:
        if not fits:
            return None
        fits.sort(key=self._rank_of)
        return Found(fits[0], rule(fits[0]), _distinct(fits, fits[0]))


def no_such_type(word: str, failed: Mapping[str, str]) -> UsageError:
    """kubectl's words for a type that nothing knows.

    `failed`: the group versions that could not be asked; those that may have had it are named in the detail.
    """
    name, _, group = word.partition(".")
    where = f" in group {go_quote(group)}" if group else ""
    text = f"the server doesn't have a resource type {go_quote(name)}{where}"
    groups = [form.group for form in forms(word)]
    return UsageError(text, detail=_unasked(failed, groups))


def no_such_kind(
    api_version: str, kind: str, failed: Mapping[str, str], *, name: str = "", namespace: str = "", source: str = ""
) -> UsageError:
    """kubectl's words for a manifest whose kind no resource serves; `source`: the file, as typed, empty: not told."""
    text = f"no matches for kind {go_quote(kind)} in version {go_quote(api_version)}\nensure CRDs are installed first"
    if source:
        which = f"name: {go_quote(name)} namespace: {go_quote(namespace)} from {go_quote(source)}"
        text = f"resource mapping not found for {which}: {text}"
    return UsageError(text, detail=_unasked({key: why for key, why in failed.items() if key == api_version}, [""]))


def wants(word: str, group: str) -> bool:
    """Whether a resource of that group may be what the word means."""
    return any(group.startswith(form.group) for form in forms(word))


def _unasked(failed: Mapping[str, str], groups: Iterable[str]) -> Iterator[str]:
    """A line for each of the groups' versions that could not be asked."""
    for where, why in failed.items():
        group = where.rpartition("/")[0]
        if any(group.startswith(wanted) for wanted in groups):
            yield f"the resources of {one_line(where)} are not known: {one_line(why)}"


def _ranks(groups: Sequence[Group]) -> dict[tuple[str, str], int]:
    """core/v1, then group by group: the preferred version, then the others."""
    order = [("", "v1")]
    for group in groups:
        versions = dict.fromkeys([group.preferred, *group.versions] if group.preferred else group.versions)
        order += [(group.name, version) for version in versions]
    return {key: place for place, key in enumerate(dict.fromkeys(order))}


def _file(index: dict[str, list[Resource]], keys: Sequence[str], resource: Resource) -> None:
    for key in dict.fromkeys(keys):
        index.setdefault(key, []).append(resource)


def _begins(start: str) -> Callable[[str], bool]:
    return lambda group: group.startswith(start)


def _distinct(resources: Iterable[Resource], chosen: Resource) -> tuple[Resource, ...]:
    """Each other resource once; another version of the same one is the same one."""
    seen = {(chosen.group, chosen.plural): chosen}
    for resource in resources:
        seen.setdefault((resource.group, resource.plural), resource)
    return tuple(seen.values())[1:]
