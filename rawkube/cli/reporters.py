"""Who shows what happens while rollouts are followed."""

from __future__ import annotations

from rawkube._typing import TYPE_CHECKING, Protocol
from rawkube.cli.output import Output
from rawkube.cli.report_lines import LineReporter

if TYPE_CHECKING:
    from rawkube.cli.rollout_options import Options
    from rawkube.rollout.happenings import Happening


class Reporter(Protocol):
    """Shows what happens."""

    def tell(self, happening: Happening) -> None:
        """This happened. In the main thread, one at a time, never cut off by a signal; the last is an Overall.

        RawkubeError: it cannot be shown (a full disk).
        """

    def finish(self) -> None:
        """That was all: put back what was changed. Called once, however things end; errors are printed later."""


def reporter_for(options: Options, out: Output) -> Reporter:
    """The one that the command line asks for."""
    if options.output == "json":
        from rawkube.cli.report_json import JsonReporter

        return JsonReporter(out)
    if options.progress and out.terminal:
        try:
            from rawkube.cli.live_table import LiveTable

            return LiveTable(out, namespaces=options.all_namespaces)
        except ImportError:  # missing, or too old to have all of what the table takes from it
            out.note("--progress needs the library rich, lines follow instead: pip install 'rawkube[ui]'")
    return LineReporter(out, prefix=options.prefix, repeat=not options.parallel, namespaces=options.all_namespaces)
