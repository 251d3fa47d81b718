"""`rawkube rollout status`: arguments → what to follow → what happens, told by a reporter → an exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rawkube._typing import TYPE_CHECKING
from rawkube.api.arguments import parse_arguments
from rawkube.api.client import ApiClient
from rawkube.api.list_watch import Selection
from rawkube.api.mapper import Mapper
from rawkube.cli import sources
from rawkube.cli.output import Output
from rawkube.cli.reporters import Reporter, reporter_for
from rawkube.cli.rollout_codes import exit_code
from rawkube.cli.rollout_errors import errors_of, notes_of
from rawkube.cli.rollout_options import KINDS, Options, how_of, options_of
from rawkube.cli.stopping import Signals, Stopped
from rawkube.errors import RawkubeError, UsageError
from rawkube.rollout.follow_many import How, Wanted, follow_all
from rawkube.rollout.happenings import INTERRUPTED, Happening, Note, Overall, Result, State, Workload
from rawkube.rollout.tally import Tally

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed


def rollout_status(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`rollout status`: 0 when everything that was named is rolled out (or `--watch=false`), else 1.

    `connect` is called once the command line is known to be sound: a wrong word contacts nobody.
    """
    options = options_of(parsed.values)
    return _Status(parsed, options, reporter_for(options, out), out).run(connect)


class _Status:
    """One command line. Whatever happens, the reporter is told of an end, and that it was all."""

    def __init__(self, parsed: Parsed, options: Options, reporter: Reporter, out: Output) -> None:
        self._parsed = parsed
        self._options = options
        self._reporter = reporter
        self._out = out
        self._tally = Tally()
        self._signals = Signals()
        self._clock: Callable[[], float] = lambda: 0.0
        self._namespace = ""

    def run(self, connect: Callable[[], ApiClient]) -> int:
        """The exit code; what went wrong is said."""
        if self._options.armed:
            self._signals.arm()
        try:
            overall = self._followed(connect)
        except Stopped:  # a second signal, while the first was being told of
            return 128 + self._signals.number
        finally:
            self._signals.disarm()
            self._reporter.finish()
        if overall.error is not None:
            self._out.errors([overall.error])
        elif overall.outcome != INTERRUPTED:
            self._say_end(overall)
        required = self._options.require is not None
        return exit_code(overall, detailed=self._options.detailed, required=required, signal=self._signals.number)

    def _followed(self, connect: Callable[[], ApiClient]) -> Overall:
        """Follow, and tell of it, to the end; the end."""
        error: RawkubeError | None = None
        began = 0.0
        try:
            named = _Named(self._parsed, self._options)
            with connect() as client:
                self._clock, self._namespace = client.clock, client.access.namespace
                began = self._clock()
                self._follow(client, named)
        except Stopped:
            pass
        except RawkubeError as raised:
            error = raised
        seconds = self._clock() - began
        if self._signals.number:
            for result in self._tally.ended(INTERRUPTED, seconds):
                self._take(result)
        required = self._options.required(len(self._tally.results))
        stopped = bool(self._signals.number)
        overall = self._tally.overall(seconds, required, interrupted=stopped, error=error)
        self._reporter.tell(overall)
        return overall

    def _follow(self, client: ApiClient, named: _Named) -> None:
        mapper = Mapper(client, on_warning=self._out.warning)
        began = client.clock()
        how = how_of(self._options, self._parsed.values, began)._replace(
            served=mapper.after_not_found, on_note=self._note
        )
        mapper.deadline = how.until(began)
        wanted = self._in_turn(named.wanted(client, mapper), mapper, how)
        if self._options.parallel:
            wanted = self._expected(list(wanted))
        for happening in follow_all(client, wanted, how, parallel=self._options.parallel):
            with self._signals:
                self._take(happening)
            if not self._options.armed:
                self._arm_as_kubectl(happening)

    def _in_turn(self, wanted: Iterator[Wanted], mapper: Mapper, how: How) -> Iterator[Wanted]:
        """These; finding out what a word means is a part of the turn whose time it takes."""
        for one in wanted:
            yield one
            if not self._options.parallel:
                mapper.deadline = how.until(self._clock())

    def _expected(self, wanted: list[Wanted]) -> Iterator[Wanted]:
        for one in wanted:
            if isinstance(one, Selection) and one.name:
                self._tally.expect(Workload(*one[:3]))
        return iter(wanted)

    def _arm_as_kubectl(self, happening: Happening) -> None:
        """kubectl's signals end its watching, quietly, with 1; before and between they end the process."""
        if isinstance(happening, State):
            self._signals.arm()
        elif isinstance(happening, Result):
            self._signals.disarm()

    def _take(self, happening: Happening) -> None:
        self._tally.take(happening)
        self._reporter.tell(happening)

    def _note(self, note: Note) -> None:
        with self._signals:
            self._reporter.tell(note)

    def _say_end(self, overall: Overall) -> None:
        errors = errors_of(overall, self._options, self._parsed.values["selector"])
        if errors:
            self._out.errors(errors)
        for line in notes_of(overall, self._options):
            self._out.note(line)
        if not overall.results:
            where = "" if self._options.all_namespaces else f" in {self._namespace} namespace."
            self._out.note(f"No resources found{where}")


class _Named:
    """What a command line names, checked as far as nobody has to be asked. Raises UsageError."""

    def __init__(self, parsed: Parsed, options: Options) -> None:
        self._parsed = parsed
        self._everywhere = options.all_namespaces
        self._selector: str = parsed.values["selector"]
        self._args = parsed.args or ([KINDS] if options.everything else [])
        # What is not named one by one is selected, if only by being there.
        self._selects = self._selector or ("*" if options.everything else "")
        self._from_files = sources.are_named(parsed)
        if self._from_files and (options.everything or options.all_namespaces):
            raise UsageError("--all and --all-namespaces cannot be used when a path is specified")
        self._found = sources.read(parsed) if self._from_files else []
        if not self._from_files:
            parse_arguments(self._args, selector=self._selects)
        self._labels = sources.selector_of(self._selector) if self._from_files else frozenset()

    def wanted(self, client: ApiClient, mapper: Mapper) -> Iterator[Wanted]:
        """What to follow, each found out at its turn. Raises UsageError, and what discovery may raise."""
        return self._of_files(client, mapper) if self._from_files else self._of_arguments(client, mapper)

    def _of_arguments(self, client: ApiClient, mapper: Mapper) -> Iterator[Wanted]:
        for resource, name in mapper.wanted(self._args, selector=self._selects, all_namespaces=self._everywhere):
            namespace = client.access.namespace if resource.namespaced and not self._everywhere else ""
            yield Selection(resource, namespace, name, "" if name else self._selector)

    def _of_files(self, client: ApiClient, mapper: Mapper) -> Iterator[Wanted]:
        """The objects of manifests, those with these labels: the server's labels, not the manifest's."""
        for one in sources.resolved(self._found, self._parsed, mapper, client.access.namespace):
            if isinstance(one, RawkubeError):
                yield one
                continue
            try:
                if self._labels and not self._has_labels(client, one, mapper.deadline):
                    continue
            except RawkubeError as error:
                yield error
            else:
                yield Selection(*one[:3])

    def _has_labels(self, client: ApiClient, one: sources.FromFile, deadline: float | None) -> bool:
        from rawkube.api.label_selector import labels_match
        from rawkube.api.missing import get_or_explain

        return labels_match(self._labels, get_or_explain(client, *one[:3], deadline=deadline))
