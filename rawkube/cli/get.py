"""`rawkube get`: arguments → LISTs and GETs → what was found on stdout, then what went wrong on stderr."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.api.arguments import check_name
from rawkube.api.client import ApiClient
from rawkube.api.mapper import Mapper
from rawkube.api.missing import get_or_explain
from rawkube.api.objects import complete_list, metadata_of
from rawkube.api.pages import pages
from rawkube.api.resource import Resource
from rawkube.cli.get_formats import Form, Group, NameForm, ObjectForm, TableForm
from rawkube.cli.list_errors import listing_error
from rawkube.cli.output import Output
from rawkube.cli.tables_text import Layout
from rawkube.errors import DecodeError, RawkubeError, StatusError, TransportError, UsageError
from rawkube.gotext import go_quote

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

FORMATS = ("json", "name", "wide", "yaml")


class Target(NamedTuple):
    """One LIST (without a name) or GET that is to be made. An empty namespace: all of them, or none."""

    resource: Resource
    namespace: str
    name: str = ""


def get(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`get`: 0 when everything that was named was found, else 1; with `--watch` it ends with a signal."""
    _check(parsed)
    with connect() as client:
        plan = Plan(parsed, client, out)
        if parsed.values["watch"] or parsed.values["watch-only"]:
            from rawkube.cli.get_watch import follow

            return follow(plan)
        with _no_cycles():
            return _Get(plan).run()


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Without the search for cycles: decoded JSON has none, and a third of the time of a long list is the search."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _check(parsed: Parsed) -> None:
    values = parsed.values
    output = output_of(parsed)
    if output and output not in FORMATS:
        what = f"unable to match a printer suitable for the output format {go_quote(values['output'])}"
        raise UsageError(f"{what}, allowed formats are: {','.join(FORMATS)}")
    if values["show-labels"] and output not in ("", "wide"):
        raise UsageError(f"--show-labels option cannot be used with {output} printer")
    if values["chunk-size"] < 0:
        raise UsageError("--chunk-size must not be less than 0")
    if values["filename"]:
        if parsed.args:
            raise UsageError(
                "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well"
            )
        if values["selector"].strip() or values["field-selector"].strip():
            raise UsageError("a selector cannot be used with --filename")
    elif not parsed.args:
        raise UsageError(
            "Required resource not specified.\nSee 'rawkube get -h' for help and examples",
            detail=["You must specify the type of resource to get."],
        )


def output_of(parsed: Parsed) -> str:
    """The form that was asked for: empty (a table), `wide`, `json`, `yaml`, `name`, or what is none."""
    word: str = parsed.values["output"]
    return word.lower() if word.lower() != "wide" else word


class Plan:
    """One command line: what is wanted, and how it is to be shown."""

    def __init__(self, parsed: Parsed, client: ApiClient, out: Output) -> None:
        self.parsed = parsed
        self.values = parsed.values
        self.client = client
        self.out = out
        self.mapper = Mapper(client, on_warning=out.warning)
        self.errors: list[RawkubeError] = []
        self.all_namespaces = bool(self.values["all-namespaces"])
        self.label = self.values["selector"].strip()
        self.field = self.values["field-selector"].strip()
        self.targets = list(self._from_files() if self.values["filename"] else self._from_arguments())

    def _from_arguments(self) -> Iterator[Target]:
        selector = self.label or self.field
        for one in self.mapper.wanted(self.parsed.args, selector=selector, all_namespaces=self.all_namespaces):
            everywhere = self.all_namespaces or not one.resource.namespaced
            yield Target(one.resource, "" if everywhere else self.client.access.namespace, one.name)

    def _from_files(self) -> Iterator[Target]:
        from rawkube.api.manifest import namespace_of, read_manifests

        read = read_manifests(
            self.values["filename"],
            recursive=self.values["recursive"],
            stdin=lambda: sys.stdin.buffer.read() if sys.stdin else b"",
        )
        given = "namespace" in self.parsed.given
        for thing in read.found:
            if isinstance(thing, UsageError):
                self.errors.append(thing)
                continue
            name = str(metadata_of(thing).get("name") or "")
            try:
                resource = self.mapper.for_kind(str(thing.get("apiVersion") or ""), str(thing["kind"]), name=name)
                namespace = namespace_of(thing, self.client.access.namespace, given=given and resource.namespaced)
                check_name(name)
            except UsageError as error:
                self.errors.append(error)
            else:
                yield Target(resource, namespace if resource.namespaced else "", name)

    @property
    def single(self) -> bool:
        """Whether one object was asked for, as kubectl counts: it is then printed on its own, not in a List."""
        files = self.values["filename"]
        if files:
            plain = len(files) == 1 and files[0] != "-" and not os.path.isdir(files[0])  # noqa: PTH112
            return plain and len(self.targets) + len(self.errors) == 1
        return len(self.targets) == 1 and bool(self.targets[0].name)

    def form(self) -> Form:
        """How the answers are shown."""
        values, output = self.values, output_of(self.parsed)
        if output == "name":
            return NameForm()
        if output in ("json", "yaml"):
            return ObjectForm(output, single=self.single, managed_fields=values["show-managed-fields"])
        layout = Layout(
            wide=output == "wide",
            headers=not values["no-headers"],
            labels=values["label-columns"],
            show_labels=values["show-labels"],
        )
        return TableForm(layout, all_namespaces=self.all_namespaces, clock=time.time)

    def query(self) -> list[tuple[str, str]]:
        """The selectors, for a LIST."""
        pairs = (("fieldSelector", self.field), ("labelSelector", self.label))
        return [pair for pair in pairs if pair[1]]

    def as_served(self, target: Target, error: StatusError) -> Target | None:
        """What to ask instead after a 404: the same resource as the server has it. None: the error stands."""
        resource = self.mapper.after_not_found(target.resource, error)
        return None if resource is None else target._replace(resource=resource)

    def is_ignored(self, error: RawkubeError) -> bool:
        """Whether `--ignore-not-found` is about it."""
        return bool(self.values["ignore-not-found"]) and isinstance(error, StatusError) and error.reason == "NotFound"


class _Get:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._form = plan.form()
        self._groups: list[Group] = []

    def run(self) -> int:
        plan = self._plan
        for target in plan.targets:
            try:
                self._fetch(target)
            except (StatusError, TransportError, DecodeError, UsageError) as error:
                if not plan.is_ignored(error):
                    plan.errors.append(error)
        self._print()
        if plan.errors:
            plan.out.errors(plan.errors)
            return 1
        return 0

    def _fetch(self, target: Target) -> None:
        try:
            self._ask(target)
        except StatusError as error:
            served = self._plan.as_served(target, error)
            if served is None:
                raise error if target.name else self._listing(error, target.resource) from None
            self._ask(served)

    def _listing(self, error: StatusError, resource: Resource) -> StatusError:
        return listing_error(error, resource, self._plan.label, self._plan.field)

    def _ask(self, target: Target) -> None:
        plan, group = self._plan, Group(target.resource, [])
        if target.name:
            check_name(target.name)
            answer = get_or_explain(plan.client, *target, accept=self._form.accept)
            if isinstance(answer.get("items"), list) and answer["kind"].endswith("List"):
                answer = complete_list(answer)
            group.pieces.append(self._form.keep(answer))
            self._groups.append(group)
            return
        for page in pages(
            plan.client,
            target.resource,
            target.namespace,
            query=plan.query(),
            limit=plan.values["chunk-size"],
            accept=self._form.accept,
            on_restart=group.pieces.clear,
        ):
            if not group.pieces and group not in self._groups:
                self._groups.append(group)
            group.pieces.append(self._form.keep(page))

    def _print(self) -> None:
        plan = self._plan
        if not self._groups and (plan.single or plan.values["ignore-not-found"]):
            return
        written = False
        for text in self._form.texts(self._groups):
            plan.out.write(text)
            written = True
        if self._form.is_table and not written and not plan.errors and not plan.values["ignore-not-found"]:
            plan.out.note(nothing_found(plan))


def nothing_found(plan: Plan) -> str:
    """kubectl's words for an empty answer."""
    namespaced = all(target.resource.namespaced for target in plan.targets)
    if plan.all_namespaces or not namespaced:
        return "No resources found"
    return f"No resources found in {plan.client.access.namespace} namespace."
