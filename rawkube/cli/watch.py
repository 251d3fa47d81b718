"""`rawkube watch`: arguments → watches → a line for each event.

One watch is read by the main thread, several by a crew, so that none of them reads faster than what is printed.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube.api.arguments import check_name
from rawkube.api.client import ApiClient
from rawkube.api.departed import departure
from rawkube.api.list_watch import Listed, ListWatch, Selection
from rawkube.api.mapper import Mapper, Named
from rawkube.api.object_store import INITIAL, ObjectStore, Seen
from rawkube.api.objects import metadata_of
from rawkube.cli.output import Output, die_of
from rawkube.cli.watch_lines import Event, Lines, to_json, to_name
from rawkube.errors import RawkubeError, StatusError, UsageError, WaitTimeout
from rawkube.gotext import go_quote
from rawkube.remotecommand.terminal import Stopped, StopSignals

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

WAITING = 256
"""How many batches of several watches wait to be printed."""

FORMATS = ("diff", "json", "name")

Batch = list[Event] | RawkubeError
"""What is printed at once: what a list told, or one event; or the error that ended a watch."""


def watch(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`watch`: 0 when `--timeout` or `--count` ended it, 1 for an error, 130 for Ctrl-C."""
    values = parsed.values
    _check(parsed)
    with connect() as client:
        mapper = Mapper(client, on_warning=out.warning)
        mapper.deadline = client.clock() + values["timeout"] if values["timeout"] else None
        wanted = mapper.wanted(
            parsed.args,
            selector=values["selector"] or values["field-selector"],
            all_namespaces=values["all-namespaces"],
        )
        for one in wanted:
            if one.name:
                check_name(one.name)
        command = _Command(client, mapper, out, parsed)
        try:
            with StopSignals():
                return command.run(list(dict.fromkeys(wanted)))
        except Stopped as stopped:
            if stopped.number == signal.SIGINT:
                return 130
            die_of(stopped.number)


def _check(parsed: Parsed) -> None:
    values = parsed.values
    if values["output"] and values["output"] not in FORMATS:
        what = f"unable to match a printer suitable for the output format {go_quote(values['output'])}"
        raise UsageError(f"{what}, allowed formats are: {','.join(FORMATS)}")
    if values["output"] == "name" and values["bookmarks"]:
        raise UsageError("--bookmarks cannot be used with -o name: a bookmark has no name")
    for flag in ("count", "timeout"):
        if values[flag] < 0:
            raise UsageError(f"--{flag} must not be less than 0")


class _Command:
    """One command line's watches and what is printed of them."""

    def __init__(self, client: ApiClient, mapper: Mapper, out: Output, parsed: Parsed) -> None:
        self.client = client
        self.out = out
        self.values = parsed.values
        self.sleep = client.sleep
        self._mapper = mapper
        self._mapping = threading.Lock()
        self.deadline = mapper.deadline
        self._printed = 0
        self._failed = False
        self._lines = Lines()
        printers = {"json": to_json, "name": to_name, "diff": self._lines.diff}
        self._render: Callable[[Event], str] = printers.get(self.values["output"], self._lines.text)

    def run(self, wanted: Sequence[Named]) -> int:
        """Print until all is over; the exit code."""
        if len(wanted) == 1:
            return self._show(_Source(self, wanted[0], label="").events())
        from rawkube.api.crew import Crew

        with Crew[str, Batch](limit=WAITING) as crew:
            self.sleep = crew.sleep
            for one in wanted:
                source = _Source(self, one, label=one.resource.plural)
                crew.add(one.resource.plural, source.events, interrupt=source.interrupt)
            return self._show(crew.values())

    def _show(self, batches: Iterable[Batch]) -> int:
        count = self.values["count"]
        for batch in batches:
            if isinstance(batch, RawkubeError):
                self._failed = True
                self.out.errors([batch])
            elif self._print(batch, count):
                return int(self._failed)
        if count and not self._failed:
            raise WaitTimeout(detail=[f"{self._printed} of {count} events came"])
        return int(self._failed)

    def _print(self, batch: Sequence[Event], count: int) -> bool:
        """Print events; whether `count` of them have been printed now."""
        if self.values["watch-only"]:
            batch = [event for event in batch if event.seen.origin != INITIAL]
        self._lines.widen(batch)
        for event in batch:
            self.out.write(self._render(event))
            self._printed += 1
            if self._printed == count:
                return True
        return False

    def served_instead(self, one: Named, error: StatusError) -> Named | None:
        """The same, as the server has it, where it does not have what the built-in table says."""
        with self._mapping:
            resource = self._mapper.after_not_found(one.resource, error)
        return None if resource is None else one._replace(resource=resource)


class _Source:
    """One watch: its objects as events, its troubles as notes. `label` stands before its notes."""

    def __init__(self, command: _Command, wanted: Named, *, label: str) -> None:
        self._command = command
        self._wanted = wanted
        self._label = label
        self._store = ObjectStore(slim=command.values["output"] == "name")
        self._listed = False
        self._loop: ListWatch | None = None
        self._over = False

    def interrupt(self) -> None:
        """From any thread: the events end."""
        self._over = True
        if self._loop is not None:
            self._loop.interrupt()

    def events(self) -> Iterator[Batch]:
        """What happens, until the time is over, or an error that nothing can mend, which comes last."""
        try:
            try:
                yield from self._watched()
            except StatusError as error:
                instead = None if self._listed else self._command.served_instead(self._wanted, error)
                if instead is None:
                    raise
                self._wanted = instead
                yield from self._watched()
        except WaitTimeout:
            # Silence is the end that was asked for only where the server would have told of a change.
            if self._loop is not None and self._loop.lost:
                yield WaitTimeout(detail=[self._why_lost()])
        except RawkubeError as error:
            yield error

    def _why_lost(self) -> str:
        what = "the connection to the server is lost" if self._listed else "the server has not told what there is"
        return f"{self._label}: {what}" if self._label else what

    def _watched(self) -> Iterator[Batch]:
        selection = self._selection()
        self._loop = self._new_loop(selection)
        if self._over:
            return
        for step in self._loop.steps():
            if isinstance(step, Listed):
                seen = self._store.listed(item for item in step.items if self._is_meant(item, selection))
                self._tell_of_list(seen)
            elif step.type == "BOOKMARK":
                seen = [Seen("BOOKMARK", step.object)]
            elif self._is_meant(step.object, selection):
                seen = [self._store.changed(step.type, step.object)]
            else:
                continue
            yield [self._event(one, selection) for one in seen]

    def _selection(self) -> Selection:
        values, resource = self._command.values, self._wanted.resource
        everywhere = values["all-namespaces"] or not resource.namespaced
        return Selection(
            resource,
            "" if everywhere else self._command.client.access.namespace,
            self._wanted.name,
            values["selector"].strip(),
            values["field-selector"].strip(),
        )

    def _new_loop(self, selection: Selection) -> ListWatch:
        values = self._command.values
        seconds = values["watch-timeout"]
        loop = ListWatch(
            self._command.client,
            selection,
            watch_timeout=(lambda: int(seconds)) if seconds else None,
            on_note=self._note,
            initial_events=values["initial-events"],
            bookmarks=values["bookmarks"],
            sleep=self._command.sleep,
        )
        loop.deadline = self._command.deadline
        return loop

    def _is_meant(self, item: dict[str, object], selection: Selection) -> bool:
        # A server that ignores field selectors sends the neighbours too.
        return not selection.name or metadata_of(item).get("name") == selection.name

    def _event(self, seen: Seen, selection: Selection) -> Event:
        what = None
        if seen.type == "DELETED" and selection.can_be_left:
            what = departure(self._command.client, selection.resource, seen.object)
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
        return Event(seen, selection.resource, time.strftime("%H:%M:%S", time.localtime(now)), stamp, what)

    def _tell_of_list(self, seen: Sequence[Seen]) -> None:
        """A note where a list came again, or shows nothing."""
        again, self._listed = self._listed, True
        if again:
            plural = "" if len(seen) == 1 else "s"
            self._note(f"listed again: {len(seen) or 'no'} difference{plural}")
        elif not seen and self._wanted.name:
            self._note(f"{self._wanted.resource.qualified} {go_quote(self._wanted.name)} not found; waiting for it")
        elif not seen:
            self._note(self._nothing())

    def _nothing(self) -> str:
        """kubectl's words for an empty list."""
        selection = self._selection()
        return (
            f"No resources found in {selection.namespace} namespace." if selection.namespace else "No resources found"
        )

    def _note(self, text: str) -> None:
        self._command.out.note(f"{self._label}: {text}" if self._label else text)
