"""What happens, as lines: kubectl's on stdout, what rawkube has to add on stderr."""

from __future__ import annotations

from collections.abc import Iterable

from rawkube.cli.output import Output
from rawkube.rollout.happenings import Cleared, Explained, Found, Happening, Note, Result, State, Workload

MOST = 10
"""How many workloads are told of at their ends: what is in the way of more is mostly the same."""


class LineReporter:
    """A line for each state. `prefix`: say before each line whose it is; `repeat`: print a line that has just been.

    `namespaces`: the prefix names the namespace, too.
    """

    def __init__(self, out: Output, *, prefix: bool = False, repeat: bool = True, namespaces: bool = False) -> None:
        self._out = out
        self._prefix = prefix
        self._repeat = repeat
        self._namespaces = namespaces
        self._last: dict[Workload, str] = {}
        self._told: set[tuple[Workload, tuple[str, str, str]]] = set()
        self._ended = 0

    def tell(self, happening: Happening) -> None:
        """One happening; see Reporter."""
        if isinstance(happening, State):
            self._state(happening)
        elif isinstance(happening, Note):
            self._say(happening.of, [happening.text])
        elif isinstance(happening, Found):
            self._told.add((happening.workload, happening.finding.key))
            self._explain(happening.workload, Explained((happening.finding,)))
        elif isinstance(happening, Cleared):
            self._told.discard((happening.workload, happening.finding.key))
            from rawkube.cli.explanations import cleared_line

            self._say(happening.workload, [cleared_line(happening.finding)])
        elif isinstance(happening, Result) and happening.workload is not None:
            self._end(happening.workload, happening.why)

    def finish(self) -> None:
        """Say of how many more it was not said what was in their way."""
        if (more := self._ended - MOST) > 0:
            self._out.note(f"… and {more} more with something in the way")

    def _state(self, state: State) -> None:
        message = state.progress.message
        if self._repeat:
            self._out.line(self._before(state.workload) + message)
        elif self._last.get(state.workload) != message:
            self._last[state.workload] = message
            self._out.line(self._before(state.workload) + message)

    def _before(self, workload: Workload) -> str:
        if not self._prefix:
            return ""
        return f"[{place_of(workload, self._namespaces)}] "

    def _end(self, workload: Workload, why: Explained) -> None:
        """What was in the way, as far as it was not told of before."""
        new = tuple(one for one in why.findings if (workload, one.key) not in self._told)
        unseen = {} if why.said else why.unseen
        self._ended += bool(new)
        if (new and self._ended <= MOST) or unseen:
            self._explain(workload, why._replace(findings=new, unseen=unseen))

    def _explain(self, workload: Workload, why: Explained) -> None:
        from rawkube.cli.explanations import explanation

        self._say(workload, explanation(why.findings, unseen=why.unseen, now=why.now))

    def _say(self, workload: Workload, lines: Iterable[str]) -> None:
        """Lines for stderr. Of several workloads at once, who would know which is meant?"""
        before = "" if self._repeat else f"[{place_of(workload, self._namespaces)}] "
        for line in lines:
            self._out.note(before + line)


def place_of(workload: Workload, namespaces: bool) -> str:
    """`deployment.apps/web`, or `demo/deployment.apps/web` where there are several namespaces."""
    return f"{workload.namespace}/{workload.ref}" if namespaces and workload.namespace else workload.ref
