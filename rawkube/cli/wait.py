"""`rawkube wait`: arguments → objects → their states, until what is waited for is so.

As in kubectl the objects are waited for one after another, with one time for all of them. With `--fail-on` they are
watched at once, since what must not be ends the command wherever it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.api.arguments import check_name
from rawkube.api.client import ApiClient
from rawkube.api.crew import Crew, Ended
from rawkube.api.expected import CREATED, DELETED
from rawkube.api.label_selector import labels_match
from rawkube.api.list_watch import Listed, ListWatch, Selection
from rawkube.api.mapper import Mapper, Named
from rawkube.api.missing import get_or_explain
from rawkube.api.object_states import ObjectStates, State
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.api.shared_states import SharedStates
from rawkube.api.waited import Goal, Goals, Unwanted, Waited, read_goals
from rawkube.cli import sources
from rawkube.cli.list_errors import listing_error
from rawkube.cli.output import Output
from rawkube.cli.printers import full_name, to_json, to_yaml, without_managed_fields
from rawkube.cli.stopping import Signals, Stopped
from rawkube.cli.text import escape
from rawkube.errors import RawkubeError, StatusError, UsageError, WaitTimeout
from rawkube.gotext import go_quote

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

WEEK = 7 * 24 * 3600.0
"""Seconds that a negative `--timeout` stands for."""
AGAIN = 0.5
"""Seconds between two requests for what cannot be listed."""
LATE = 1.0
"""Seconds after the time is over in which objects whose turn comes then are still asked for: kubectl tells of those
that are not there."""

_PRINTED = ("json", "name", "yaml")
_KUBECTL_PRINTS = (
    *("go-template", "go-template-file", "json", "jsonpath", "jsonpath-as-json", "jsonpath-file", "kyaml", "name"),
    *("template", "templatefile", "yaml"),
)
_NOTHING_NAMED = (
    "You must provide one or more resources by argument or filename.\n"
    "Example resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n"
    "   '<resource> <name>'\n   '<resource>'"
)


class Target(NamedTuple):
    """One object. An empty namespace: it is in none."""

    resource: Resource
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.resource.plural}/{self.name}"


class _Failed(Exception):
    """What must not be is so: the command ends."""

    def __init__(self, target: Target, why: Unwanted) -> None:
        super().__init__(str(why))
        self.target = target
        self.why = why


def wait(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`wait`: 0 when what is waited for is so of all that was named, else 1.

    `connect` is called once the command line is known to be sound.
    """
    printer = _Printer(parsed, out)
    values = parsed.values
    goals = read_goals(values["for"], values["fail-on"], any_of=values["any"])
    if not goals.wanted:
        raise UsageError("unrecognized condition: []")
    with connect() as client:
        command = _Wait(client, out, parsed, goals, printer)
        signals = Signals()
        try:
            return command.run(signals)
        except Stopped:
            return 1
        finally:
            signals.disarm()


class _Wait:
    """One command line."""

    def __init__(self, client: ApiClient, out: Output, parsed: Parsed, goals: Goals, printer: _Printer) -> None:
        self._client = client
        self._out = out
        self._goals = goals
        self._printer = printer
        self._errors: list[RawkubeError] = []
        self._visited = 0
        self._answered = False
        timeout = parsed.values["timeout"]
        self._once = timeout == 0
        self._deadline = client.clock() + (WEEK if timeout < 0 else timeout)
        self._targets = _Targets(client, out, parsed, None if self._once else self._deadline)

    def run(self, signals: Signals) -> int:
        """Wait; the exit code."""
        if self._goals.wants(CREATED):
            self._until_created()
        signals.arm()
        try:
            if self._goals.unwanted and not self._once:
                self._at_once()
            else:
                for target in self._targets.all():
                    self._visit(target)
        except _Failed as failed:
            self._out.errors([*self._errors, _explained(failed)])
            return 1
        return self._finish()

    def _finish(self) -> int:
        if self._errors:
            self._out.errors(self._errors)
            return 1
        if not self._visited and not self._goals.wants(DELETED):
            raise RawkubeError("no matching resources found")
        return 0

    def _failed(self, error: RawkubeError) -> None:
        """An error of one object; that it is not there is none where it is to be deleted."""
        missing = isinstance(error, StatusError) and error.reason == "NotFound"
        if not (missing and self._goals.wants(DELETED)):
            self._errors.append(error)

    def _timed_out(self, target: Target, error: WaitTimeout) -> WaitTimeout:
        return WaitTimeout(f"timed out waiting for the condition on {target}", detail=error.detail)

    # One after another.

    def _visit(self, target: Target | RawkubeError) -> None:
        self._visited += 1
        if isinstance(target, RawkubeError):
            return self._failed(target)
        try:
            self._targets.as_served(target, self._look_once if self._once else self._follow)
        except WaitTimeout as error:
            self._failed(self._timed_out(target, error))
        except RawkubeError as error:
            self._failed(error)
        return None

    def _look_once(self, target: Target) -> None:
        """`--timeout=0`."""
        waited = Waited(self._goals)
        self._take(target, waited, self._get(target, waited))
        if not waited.done:
            raise RawkubeError(f"condition not met for {target}")

    def _get(self, target: Target, waited: Waited) -> Object | None:
        try:
            return get_or_explain(self._client, *target)
        except StatusError as error:
            if error.reason == "NotFound" and waited.may_be_absent:
                return None
            raise

    def _follow(self, target: Target) -> None:
        if self._client.clock() >= self._deadline:
            if target not in self._targets.shared:
                get_or_explain(self._client, *target, deadline=self._deadline + LATE)
            raise WaitTimeout
        waited = Waited(self._goals)
        if (shared := self._targets.shared.get(target)) is not None and self._goals.wants(DELETED):
            # It was there, whatever has become of it before its turn.
            waited.seen = True
            self._printer.first.setdefault(target, shared.first(target[1:]))
        for obj in self._states_of(target):
            self._take_or_explain(target, waited, obj)
            if waited.done:
                return

    def _states_of(self, target: Target) -> Iterator[Object | None]:
        """Its states, as the watch of all that was selected tells them, and from then on by its name."""
        uids = {}
        if (shared := self._targets.shared.get(target)) is not None:
            yield from shared.states(target[1:])
            uids = {target.name: shared.uid(target[1:])}
        for _, obj in self._states(target.resource, target.namespace, [target.name], uids=uids):
            yield obj

    def _states(
        self,
        resource: Resource,
        namespace: str,
        names: Sequence[str],
        *,
        sleep: Callable[[float], None] | None = None,
        uids: Mapping[str, str] | None = None,
    ) -> ObjectStates:
        return ObjectStates(
            self._client,
            resource,
            namespace,
            names,
            deadline=self._deadline,
            on_note=self._out.note,
            sleep=sleep,
            uids=uids,
        )

    def _take_or_explain(self, target: Target, waited: Waited, obj: Object | None) -> None:
        if obj is None and not waited.may_be_absent:
            # Its error is the answer; without one the LIST was too early.
            obj = get_or_explain(self._client, *target, deadline=self._deadline)
        self._take(target, waited, obj)

    def _take(self, target: Target, waited: Waited, obj: Object | None) -> None:
        try:
            met = waited.take(obj)
        except Unwanted as why:
            raise _Failed(target, why) from None
        if obj is not None:
            self._printer.first.setdefault(target, obj)
        for goal in met:
            self._printer.met(target, obj, goal if self._goals.any else None)

    # All at once.

    def _at_once(self) -> None:
        groups: dict[tuple[Resource, str], dict[str, Waited]] = {}
        for target in self._targets.all():
            self._visited += 1
            if isinstance(target, RawkubeError):
                self._failed(target)
            else:
                group = groups.setdefault((target.resource, target.namespace), {})
                group[target.name] = Waited(self._goals)
        with Crew[tuple[Resource, str], State]() as crew:
            for place, waited in groups.items():
                states = self._states(*place, list(waited), sleep=crew.sleep)
                crew.add(place, lambda states=states: states, interrupt=states.interrupt)  # type: ignore[misc]
            while any(groups.values()) and (found := crew.get()) is not None:
                self._step(groups[found[0]], *found)

    def _step(self, group: dict[str, Waited], place: tuple[Resource, str], item: State | Ended) -> None:
        """A state of an object that may still be waited for, or the end of its watch."""
        if isinstance(item, Ended):
            for name in list(group):
                self._end(group, Target(*place, name), item.error)
            return
        name, obj = item
        target = Target(*place, name)
        if name in group:
            try:
                self._take_or_explain(target, group[name], obj)
                if group[name].done:
                    del group[name]
            except RawkubeError as error:
                self._end(group, target, error)

    def _end(self, group: dict[str, Waited], target: Target, error: BaseException | None) -> None:
        del group[target.name]
        if isinstance(error, WaitTimeout):
            error = self._timed_out(target, error)
        if not isinstance(error, RawkubeError):
            raise error or AssertionError("a watch ends with an error")
        self._failed(error)

    # Until they are created.

    def _until_created(self) -> None:
        """Until everything that is named is there, and one at least of what is selected. Raises WaitTimeout."""
        for named in self._targets.wanted():
            self._targets.as_served(named, self._until_there)

    def _until_there(self, target: Target) -> None:
        while True:
            try:
                if self._is_there(target):
                    return
            except StatusError as error:
                if error.reason != "NotFound":
                    raise
                self._answered = True
            if self._once or self._client.clock() >= self._deadline:
                missing = [f"{_what(target)} not found"] if self._answered else []
                raise WaitTimeout(answered=self._answered, detail=missing)
            # What may not be listed can only be asked for.
            self._client.sleep(min(AGAIN, max(0.0, self._deadline - self._client.clock())))

    def _is_there(self, target: Target) -> bool:
        if target.name and self._once:
            get_or_explain(self._client, *target)
            return True
        label, field = self._targets.selectors if not target.name else ("", "")
        loop = ListWatch(self._client, Selection(*target, label, field), on_note=self._out.note)
        loop.deadline = None if self._once else self._deadline
        try:
            for step in loop.steps():
                self._answered = True
                items = step.items if isinstance(step, Listed) else [step.object] * (step.type != "DELETED")
                if any(not target.name or metadata_of(item).get("name") == target.name for item in items):
                    return True
                if self._once:
                    return False
        except WaitTimeout:
            pass
        return False


class _Targets:
    """The objects that a command line names, found out as they are wanted. `shared`: what tells of those that a list
    showed, while they are waited for."""

    def __init__(self, client: ApiClient, out: Output, parsed: Parsed, deadline: float | None) -> None:
        self._client = client
        self._deadline = deadline
        values = parsed.values
        self._mapper = Mapper(client, on_warning=out.warning)
        self._mapper.deadline = deadline
        # kubectl has no -k here.
        self._parsed = parsed._replace(values={**values, "kustomize": ""})
        self.shared: dict[Target, SharedStates] = {}
        self._on_note = out.note
        self.selectors: tuple[str, str] = (values["selector"].strip(), values["field-selector"].strip())
        self._everywhere = bool(values["all-namespaces"])
        self._from_files = sources.are_named(self._parsed)
        self._files = sources.read(self._parsed) if self._from_files else []
        self._labels = sources.selector_of(values["selector"]) if self._from_files else frozenset()
        if not self._from_files:
            self._named = self._read_arguments(parsed)

    def _read_arguments(self, parsed: Parsed) -> list[Named]:
        if not parsed.args:
            raise UsageError(_NOTHING_NAMED)
        selector = any(self.selectors)
        if len(parsed.args) == 1 and "/" not in parsed.args[0] and not selector and not parsed.values["all"]:
            raise UsageError("resource(s) were provided, but no name was specified")
        named = self._mapper.wanted(
            parsed.args, selector=" ".join(self.selectors).strip(), all_namespaces=self._everywhere
        )
        for one in named:
            if one.name:
                check_name(one.name)
        return named

    def wanted(self) -> Iterator[Target]:
        """What is named; an empty name is a whole collection. Raises the errors of files."""
        if not self._from_files:
            yield from map(self._place, self._named)
            return
        for one in sources.resolved(self._files, self._parsed, self._mapper, self._client.access.namespace):
            if isinstance(one, RawkubeError):
                raise one
            yield Target(one.resource, one.namespace, one.name)

    def _place(self, named: Named) -> Target:
        inside = named.resource.namespaced and not self._everywhere
        return Target(named.resource, self._client.access.namespace if inside else "", named.name)

    def all(self) -> Iterator[Target | RawkubeError]:
        """Every object, at its turn; an error stands in the place of what cannot be found out."""
        if self._from_files:
            yield from self._of_files()
            return
        for target in map(self._place, self._named):
            if target.name:
                yield target
                continue
            try:
                self.as_served(target, self._select)
            except RawkubeError as error:
                yield error
            yield from list(self.shared)
            for shared in list(self.shared.values())[:1]:
                shared.close()
            self.shared.clear()

    def _of_files(self) -> Iterator[Target | RawkubeError]:
        for one in sources.resolved(self._files, self._parsed, self._mapper, self._client.access.namespace):
            if isinstance(one, RawkubeError):
                yield one
                continue
            target = Target(one.resource, one.namespace, one.name)
            try:
                if not self._labels or labels_match(self._labels, self._object(target)):
                    yield target
            except RawkubeError as error:
                yield error

    def _object(self, target: Target) -> Object:
        return get_or_explain(self._client, *target, deadline=self._deadline)

    def _select(self, target: Target) -> None:
        """List what is selected, which `shared` holds then."""
        selection = Selection(target.resource, target.namespace, "", *self.selectors)
        shared = SharedStates(self._client, selection, deadline=self._deadline, on_note=self._on_note)
        try:
            places = shared.places()
        except StatusError as error:
            raise listing_error(error, target.resource, *self.selectors) from None
        except WaitTimeout as error:
            text = f"timed out waiting for the condition on {target.resource.plural}"
            raise WaitTimeout(text, detail=error.detail) from None
        self.shared = {Target(target.resource, *place): shared for place in places}

    def as_served(self, target: Target, act: Callable[[Target], None]) -> None:
        """Act on the target; after a 404, on the resource as an old server has it."""
        try:
            act(target)
        except StatusError as error:
            served = self._mapper.after_not_found(target.resource, error)
            if served is None:
                raise
            act(target._replace(resource=served))


class _Printer:
    """`-o`: the object, its name, or (no -o) that the condition is met. UsageError for another format."""

    def __init__(self, parsed: Parsed, out: Output) -> None:
        self._out = out
        self._managed = parsed.values["show-managed-fields"]
        self._documents = 0
        self.first: dict[Target, Object] = {}
        typed = str(parsed.values["output"])
        self._output = typed.lower()
        if self._output and self._output not in _PRINTED:
            raise UsageError(_unprintable(typed))

    def met(self, target: Target, obj: Object | None, goal: Goal | None) -> None:
        """A goal is met; `goal`: which one, if that is to be said. What is deleted is shown as it was first."""
        if self._output in ("", "name"):
            said = "" if self._output else " condition met" + (f": {goal.text}" if goal else "")
            self._out.line(f"{full_name(target.resource, target.name)}{said}")
            return
        shown = self.first.get(target, {}) if obj is None else obj
        shown = shown if self._managed else without_managed_fields(shown)
        separator = "---\n" if self._documents and self._output == "yaml" else ""
        self._documents += 1
        self._out.write(separator + escape(to_json(shown) if self._output == "json" else to_yaml(shown)))


def _unprintable(output: str) -> str:
    """Why there is no such output: rawkube's own words for what kubectl has, else kubectl's."""
    if output.partition("=")[0].lower() in _KUBECTL_PRINTS:
        return f"rawkube prints -o {', '.join(_PRINTED)}, not {go_quote(output)}"
    what = f"unable to match a printer suitable for the output format {go_quote(output)}"
    return f"{what}, allowed formats are: {','.join(_KUBECTL_PRINTS)}"


def _what(target: Target) -> str:
    return f"{target.resource.qualified} {go_quote(target.name)}" if target.name else target.resource.qualified


def _explained(failed: _Failed) -> RawkubeError:
    """What the object says of the condition stands above the error."""
    from rawkube.rollout.reading import because, condition

    goal, obj = failed.why.goal, failed.why.object
    kind = getattr(goal.expected, "type", "")
    found = condition(obj, kind) if obj is not None and kind else None
    told = because(found) if found is not None else ""
    return RawkubeError(f"{failed.target}: {goal.text} is met", detail=[told] if told else [])
