"""`rawkube rollout history|restart|pause|resume|undo`: arguments → workloads → what is done to each, on the screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.api.arguments import check_name, parse_arguments
from rawkube.api.client import ApiClient
from rawkube.api.label_selector import Requirement, labels_match
from rawkube.api.mapper import Mapper, Named
from rawkube.api.missing import get_or_explain
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.cli import sources
from rawkube.cli.list_errors import listing_error
from rawkube.cli.output import Output
from rawkube.cli.printers import full_name, to_yaml, without_managed_fields
from rawkube.cli.text import escape
from rawkube.errors import DecodeError, RawkubeError, RolloutFailed, StatusError, UsageError
from rawkube.gotext import go_quote, one_line
from rawkube.rollout import patches
from rawkube.rollout.history import chosen, text_of, unsupported
from rawkube.rollout.revisions import read_history
from rawkube.rollout.status import viewer_kind
from rawkube.rollout.typed import to_go_json, typed
from rawkube.rollout.undo import CLIENT, NONE, SERVER, apply_warning, undo

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

Connect = Callable[[], ApiClient]

# What pflag takes for a boolean, from the time when --dry-run was one (`cmdutil.GetDryRunStrategy`).
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
_DRY_RUNS = {"unchanged": CLIENT, "client": CLIENT, "server": SERVER, "none": NONE}
_DRY_RUNS |= dict.fromkeys(_TRUE, CLIENT) | dict.fromkeys(_FALSE, NONE)
_SUFFIXES = {NONE: "", CLIENT: " (dry run)", SERVER: " (server dry run)"}

_PRINTED = ("json", "name", "yaml")
_KUBECTL_PRINTS = (
    *("go-template", "go-template-file", "json", "jsonpath", "jsonpath-as-json", "jsonpath-file", "kyaml", "name"),
    *("template", "templatefile", "yaml"),
)


def rollout_history(parsed: Parsed, connect: Connect, out: Output) -> int:
    """`rollout history`: the revisions of each workload, or one of them."""
    targets = _Targets(parsed, out)
    revision = parsed.values["revision"]
    if revision < 0:
        raise UsageError(f"revision must be a positive integer: {revision}")
    printer = _Printer(parsed, out)

    def show(client: ApiClient, target: _Target) -> None:
        _check_kind(target.resource, "history viewer", "history")
        found = read_history(client, target.resource, target.namespace, target.name)
        revisions = found.revisions()
        if printer.output:
            for one in chosen(revisions, revision) if revisions else ():
                printer.show(one.shown)
        else:
            printer.named(target, text_of(revisions, revision))

    return _each(targets, connect, out, show)


def rollout_undo(parsed: Parsed, connect: Connect, out: Output) -> int:
    """`rollout undo`: give each workload the template of an earlier revision."""
    word = parsed.values["dry-run"]
    if word not in _DRY_RUNS:
        raise UsageError(f'Invalid dry-run value ({one_line(word)}). Must be "none", "server", or "client".')
    dry_run = _DRY_RUNS[word]
    targets = _Targets(parsed, out)
    printer = _Printer(parsed, out)

    def take_back(client: ApiClient, target: _Target) -> None:
        if warning := apply_warning(target.resource, target.thing):
            out.note(warning)
        _check_kind(target.resource, "rollbacker", "rollbacker")
        what = undo(client, *target[:3], to_revision=parsed.values["to-revision"], dry_run=dry_run)
        printer.done(target, target.thing, f"{what}{_SUFFIXES[dry_run]}")

    return _each(targets, connect, out, take_back)


def rollout_restart(parsed: Parsed, connect: Connect, out: Output) -> int:
    """`rollout restart`: have the pods of each workload replaced."""

    def patch(workload: Object) -> bytes:
        now = time.localtime()
        return patches.restart(workload, patches.restart_time(now, now.tm_gmtoff))

    return _patch_each(parsed, connect, out, patch, "restarted")


def rollout_pause(parsed: Parsed, connect: Connect, out: Output) -> int:
    """`rollout pause`: have changes of a Deployment wait."""
    return _patch_each(parsed, connect, out, patches.pause, "paused")


def rollout_resume(parsed: Parsed, connect: Connect, out: Output) -> int:
    """`rollout resume`: have the changes of a paused Deployment happen."""
    return _patch_each(parsed, connect, out, patches.resume, "resumed")


def _check_kind(resource: Resource, what: str, getting: str) -> None:
    if text := unsupported(resource.group, resource.kind, what, getting):
        raise RolloutFailed(text)


# What the command line names.


class _Target(NamedTuple):
    """One object as the server has it; a workload is typed."""

    resource: Resource
    namespace: str
    name: str
    thing: Object


class _Targets:
    """The objects of a command line, read one by one. The command line itself is checked at once: UsageError.

    `grouped`: what cannot be read is told apart from what cannot be done, as kubectl does for files and collections.
    """

    def __init__(self, parsed: Parsed, out: Output) -> None:
        self._parsed = parsed
        self._on_warning = out.warning
        self._selector: str = parsed.values["selector"]
        self._from_files = sources.are_named(parsed)
        self._found = sources.read(parsed) if self._from_files else []
        self._labels: frozenset[Requirement] = sources.selector_of(self._selector) if self._from_files else frozenset()
        self.grouped = self._from_files
        if not self._from_files:
            parse_arguments(parsed.args, selector=self._selector)

    def read(self, client: ApiClient) -> Iterator[_Target | RawkubeError]:
        """Each object at its turn; an error stands in the place of what cannot be read. Raises as Mapper.wanted()."""
        mapper = Mapper(client, on_warning=self._on_warning)
        if self._from_files:
            yield from self._of_files(client, mapper)
            return
        wanted = mapper.wanted(self._parsed.args, selector=self._selector)
        self.grouped = any(not named.name for named in wanted)
        for named in wanted:
            yield from self._of_arguments(client, named)

    def _of_files(self, client: ApiClient, mapper: Mapper) -> Iterator[_Target | RawkubeError]:
        for one in sources.resolved(self._found, self._parsed, mapper, client.access.namespace):
            if isinstance(one, RawkubeError):
                yield one
                continue
            target = _get(client, one.resource, one.namespace, one.name)
            if isinstance(target, RawkubeError) or not self._labels or labels_match(self._labels, target.thing):
                yield target

    def _of_arguments(self, client: ApiClient, named: Named) -> Iterator[_Target | RawkubeError]:
        resource = named.resource
        namespace = client.access.namespace if resource.namespaced else ""
        if named.name:
            yield _get(client, resource, namespace, named.name)
            return
        query = [("labelSelector", self._selector)] if self._selector else []
        try:
            items = client.list(resource, namespace, query=query)["items"]
            found = [_target(resource, namespace, item) for item in items]
        except StatusError as error:
            yield listing_error(error, resource, self._selector)
        except RawkubeError as error:
            yield error
        else:
            yield from found


def _get(client: ApiClient, resource: Resource, namespace: str, name: str) -> _Target | RawkubeError:
    try:
        check_name(name)
        return _target(resource, namespace, get_or_explain(client, resource, namespace, name))
    except RawkubeError as error:
        return error


def _target(resource: Resource, namespace: str, thing: Object) -> _Target:
    if viewer_kind(resource.group, resource.kind):
        thing = typed(thing, resource.kind)
    metadata = metadata_of(thing)
    place = str(metadata.get("namespace") or namespace) if resource.namespaced else ""
    return _Target(resource, place, str(metadata.get("name") or ""), thing)


# What is done.


def _each(targets: _Targets, connect: Connect, out: Output, act: Callable[[ApiClient, _Target], None]) -> int:
    """Each object is read and dealt with before the next one is read; the exit code."""
    errors: list[RawkubeError] = []
    unread: list[RawkubeError] = []
    with connect() as client:
        for target in targets.read(client):
            if isinstance(target, RawkubeError):
                (unread if targets.grouped else errors).append(target)
                continue
            try:
                act(client, target)
            except RawkubeError as error:
                errors.append(error)
    return _end(out, [*errors, *([_together(unread)] if errors and unread else unread)])


def _patch_each(parsed: Parsed, connect: Connect, out: Output, patch: Callable[[Object], bytes], operation: str) -> int:
    """All objects are read, then each is patched; the exit code."""
    targets = _Targets(parsed, out)
    printer = _Printer(parsed, out)
    manager = parsed.values["field-manager"]
    query = [("fieldManager", manager)] if manager else []
    errors: list[RawkubeError] = []
    with connect() as client:
        found = list(targets.read(client))
        unread = [one for one in found if isinstance(one, RawkubeError)]
        for target in found:
            if not isinstance(target, RawkubeError):
                _patch(client, target, patch, query, printer, operation, errors)
    if not found:
        out.note(f"No resources found in {client.access.namespace} namespace.")
    if errors and unread and (targets.grouped or len(unread) > 1):
        return _end(out, [_together(unread), *errors])
    return _end(out, [*unread, *errors], bare=targets.grouped and bool(unread))


def _patch(
    client: ApiClient,
    target: _Target,
    patch: Callable[[Object], bytes],
    query: list[tuple[str, str]],
    printer: _Printer,
    operation: str,
    errors: list[RawkubeError],
) -> None:
    resource, namespace, name, thing = target
    try:
        body = patch(thing)
    except RolloutFailed as error:
        errors.append(RolloutFailed(f"error: {resource.qualified} {go_quote(name)} {error}"))
        return
    if body == patches.NOTHING:
        errors.append(RolloutFailed(f"failed to create patch for {name}: empty patch"))
    try:
        changed = client.patch(resource, namespace, name, body, patches.STRATEGIC_MERGE, query=query)
        printer.done(target, typed(changed, resource.kind), operation)
    except (StatusError, DecodeError, RolloutFailed) as error:
        errors.append(RolloutFailed(f"failed to patch: {error}", detail=error.detail))
    except RawkubeError as error:
        errors.append(error)


# What is shown.


class _Printer:
    """`-o`: the objects, their names, or what was done (no -o). UsageError for another format, before anything else."""

    def __init__(self, parsed: Parsed, out: Output) -> None:
        self._out = out
        self._managed = parsed.values["show-managed-fields"]
        self._documents = 0
        self.output = str(parsed.values["output"]).lower()
        if self.output and self.output not in _PRINTED:
            raise UsageError(_unprintable(str(parsed.values["output"])))

    def named(self, target: _Target, text: str) -> None:
        """The object's name and what is said of it."""
        self._out.write(escape(f"{full_name(target.resource, target.name)} {text}\n"))

    def done(self, target: _Target, thing: Object, operation: str) -> None:
        """What was done to an object, or the object itself."""
        if self.output:
            self._documents = 0
            self.show(thing)
        else:
            self.named(target, operation)

    def show(self, thing: Object) -> None:
        """One typed object as -o wants it."""
        if self.output == "name":
            kind, (group, _, _) = str(thing["kind"]).lower(), str(thing["apiVersion"]).rpartition("/")
            self._out.write(escape(f"{kind}.{group}/{metadata_of(thing).get('name', '')}\n"))
            return
        thing = thing if self._managed else without_managed_fields(thing)
        separator = "---\n" if self._documents and self.output == "yaml" else ""
        self._documents += 1
        self._out.write(separator + (to_go_json(thing, indent=4) + "\n" if self.output == "json" else to_yaml(thing)))


def _unprintable(output: str) -> str:
    """Why there is no such output: rawkube's own words for what kubectl has, else kubectl's."""
    if output.partition("=")[0].lower() in _KUBECTL_PRINTS:
        return f"rawkube prints -o {', '.join(_PRINTED)}, not {go_quote(output)}"
    return (
        f"unable to match a printer suitable for the output format {go_quote(output)}, allowed formats are: "
        + ",".join(_KUBECTL_PRINTS)
    )


def _together(errors: Sequence[RawkubeError]) -> RawkubeError:
    """Several errors as one (apimachinery `Aggregate`), each text once."""
    texts = list(dict.fromkeys(map(str, errors)))
    detail = [line for error in errors for line in error.detail]
    return RawkubeError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]", detail=detail)


# How the errors of documents begin, which kubectl finds while it reads; those of file names come before.
_OF_DOCUMENTS = ("error parsing ", "unable to decode ")


def _end(out: Output, errors: Sequence[RawkubeError], *, bare: bool = False) -> int:
    """Say what went wrong; the exit code. `bare`: an error of this side loses its `error: ` even if it is alone."""
    if not errors:
        return 0
    (error, *more) = errors
    if bare and not more and (isinstance(error, RolloutFailed) or str(error).startswith(_OF_DOCUMENTS)):
        for line in (*error.detail, str(error)):
            out.note(line)
    else:
        out.errors(errors)
    return 1
