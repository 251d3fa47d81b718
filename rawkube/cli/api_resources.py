"""`rawkube api-resources`: discovery → a table, names or an object, as kubectl prints them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rawkube._typing import TYPE_CHECKING, Any
from rawkube.api.discovery import Catalogue, Discovery
from rawkube.api.discovery_documents import is_stale
from rawkube.api.mapping import Names
from rawkube.cli.columns import columns
from rawkube.cli.command import PROGRAM
from rawkube.errors import RawkubeError, UsageError
from rawkube.gotext import go_quote, one_line

if TYPE_CHECKING:
    from rawkube.api.client import ApiClient
    from rawkube.api.resource import Resource
    from rawkube.cli.flags import Parsed
    from rawkube.cli.output import Output

_COLUMNS = ("NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND")
_WIDE = ("VERBS", "CATEGORIES")
_FORMS = ("", "json", "name", "wide", "yaml")


def api_resources(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`api-resources`: 0 when everything could be asked, 1 when a part of the API could not."""
    _check(parsed)
    with connect() as client:
        catalogue = Discovery(client).catalogue()
    if not catalogue.resources and not catalogue.failed:
        return 0  # as kubectl, which prints not even an empty object then
    chosen = _sorted(_chosen(catalogue, parsed), parsed.values["sort-by"])
    out.write(_text(chosen, parsed))
    for where, why in catalogue.failed.items():
        if is_stale(why):
            out.note(f"{where} is left out: its server could not be asked lately (stale discovery)")
    broken = [f"{where}: {why}" for where, why in catalogue.failed.items() if not is_stale(why)]
    if broken:
        out.errors(
            [RawkubeError(f"unable to retrieve the complete list of server APIs: {one_line(', '.join(broken))}")]
        )
    return 1 if broken else 0


def _check(parsed: Parsed) -> None:
    if parsed.args:
        where = f"See '{PROGRAM} api-resources -h' for help and examples"
        raise UsageError(f"unexpected arguments: [{one_line(' '.join(parsed.args))}]\n{where}")
    form = parsed.values["output"]
    if form not in _FORMS:
        allowed = ",".join(_FORMS[1:])
        raise UsageError(
            f"unable to match a printer suitable for the output format {go_quote(form)}, allowed formats are: {allowed}"
        )
    if parsed.values["sort-by"] not in ("", "name", "kind"):
        raise UsageError("--sort-by accepts only name or kind")


def _chosen(catalogue: Catalogue, parsed: Parsed) -> list[Resource]:
    """The resources that the flags let through, in the order of discovery. One without verbs is none (kubectl)."""
    values, given = parsed.values, parsed.given
    verbs, categories = set(values["verbs"]), set(values["categories"])
    return [
        one
        for one in Names(catalogue.groups, catalogue.resources).preferred()
        if one.verbs
        and ("api-group" not in given or one.group == values["api-group"])
        and ("namespaced" not in given or one.namespaced is values["namespaced"])
        and verbs <= set(one.verbs)
        and categories <= set(one.categories)
    ]


def _sorted(resources: list[Resource], by: str) -> list[Resource]:
    keys: dict[str, Callable[[Resource], Any]] = {"name": lambda one: one.plural, "kind": lambda one: one.kind}
    return sorted(resources, key=keys.get(by, lambda one: (one.group, one.plural)))


def _text(resources: Sequence[Resource], parsed: Parsed) -> str:
    form = parsed.values["output"]
    if form == "name":
        return "".join(f"{one_line(one.qualified)}\n" for one in resources)
    if form == "json":
        import json

        return json.dumps(_object(resources), indent=4, ensure_ascii=False) + "\n"
    if form == "yaml":
        from rawkube.cli.printers import to_yaml

        return to_yaml(_object(resources))
    titles = _COLUMNS + _WIDE if form == "wide" else _COLUMNS
    rows = [] if parsed.values["no-headers"] else [titles]
    return "".join(f"{line}\n" for line in columns([*rows, *(_row(one)[: len(titles)] for one in resources)]))


def _row(one: Resource) -> tuple[str, ...]:
    return (
        one.plural,
        ",".join(one.short_names),
        one.group_version,
        "true" if one.namespaced else "false",
        one.kind,
        ",".join(one.verbs),
        ",".join(one.categories),
    )


def _object(resources: Sequence[Resource]) -> dict[str, Any]:
    listed = [_entry(one) for one in resources] or None
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "", "resources": listed}


def _entry(one: Resource) -> dict[str, Any]:
    """As metav1.APIResource is encoded: what is empty is left out."""
    entry: dict[str, Any] = {"name": one.plural, "singularName": one.singular, "namespaced": one.namespaced}
    more: dict[str, Any] = {
        "group": one.group,
        "version": one.version,
        "kind": one.kind,
        "verbs": list(one.verbs),
        "shortNames": list(one.short_names),
        "categories": list(one.categories),
    }
    return entry | {key: value for key, value in more.items() if value}
