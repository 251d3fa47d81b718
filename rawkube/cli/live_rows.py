"""The rows of a live table: what happens to many workloads, in as few lines as a terminal has. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rawkube._typing import NamedTuple
from rawkube.api.objects import Object, metadata_of
from rawkube.cli.age import human_duration
from rawkube.cli.report_lines import place_of
from rawkube.cli.text import escape
from rawkube.rollout.counters import Counters, counters
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.happenings import (
    COMPLETE,
    INTERRUPTED,
    UNFINISHED,
    Cleared,
    Found,
    Happening,
    Note,
    Overall,
    Result,
    State,
    Workload,
)

GOOD, BUSY, WARN, BAD = "good", "busy", "warn", "bad"
"""How a row is to look: complete, on its way, something is in the way, failed or hopeless."""

_MOODS = {NEVER: BAD, MAYBE: WARN, WAITS: BUSY}
_ORDER = (BAD, WARN, BUSY, GOOD)
_FULL, _READY, _UPDATED, _EMPTY = "█", "▓", "▒", "░"
_LONGEST = 300


class Row(NamedTuple):
    """A line of the table; texts that a terminal only shows. `mood`: one of GOOD, BUSY, WARN and BAD."""

    name: str
    numbers: Counters
    elapsed: str
    revision: str
    why: str
    mood: str

    @property
    def counts(self) -> str:
        """Updated, ready and available of desired: `2/1/1 of 3`."""
        desired, _, *some = self.numbers
        if desired is None:
            return ""
        return f"{'/'.join('-' if one is None else str(one) for one in some)} of {desired}"


class Picture(NamedTuple):
    """All there is to show: the rows that find room, a line about the others (empty: there are none), and the sum."""

    rows: tuple[Row, ...]
    more: str
    total: str


class Board:
    """What is known of each workload. `namespaces`: rows are named with theirs."""

    def __init__(self, *, namespaces: bool = False) -> None:
        self._namespaces = namespaces
        self._entries: dict[Workload, _Entry] = {}
        self._lost: dict[Workload, str] = {}
        self._began: float | None = None

    def take(self, happening: Happening, now: float) -> None:
        """This happened at `now`, seconds of any clock that only goes forward."""
        self._began = now if self._began is None else self._began
        if isinstance(happening, Note):
            self._note(happening)
        elif not isinstance(happening, Overall) and happening.workload is not None:
            self._entry(happening.workload, now).take(happening)

    def picture(self, room: int, now: float) -> Picture:
        """At most `room` lines (of 2 at least): unfinished and failed workloads first."""
        bare = len({workload.resource for workload in self._entries}) == 1
        rows = [entry.row(self._name(workload, bare), now) for workload, entry in self._entries.items()]
        rows.sort(key=lambda row: _ORDER.index(row.mood))
        space = max(room - 1, 1)
        shown = rows if len(rows) <= space else rows[: space - 1]
        rest = rows[len(shown) :]
        done = sum(row.mood == GOOD for row in rest)
        more = f"… and {len(rest)} more ({done} complete)" if rest else ""
        return Picture(tuple(shown), more, self._total(now))

    def _entry(self, workload: Workload, now: float) -> _Entry:
        if workload not in self._entries:
            self._entries[workload] = _Entry(now)
        return self._entries[workload]

    def _name(self, workload: Workload, bare: bool) -> str:
        """Of workloads that are all of one kind, nobody has to be told it in each row."""
        place = place_of(workload, self._namespaces)
        return place.removesuffix(workload.ref) + workload.name if bare else place

    def _note(self, note: Note) -> None:
        if note.lost:
            self._lost[note.of] = _plain(note.text)
        else:
            self._lost.pop(note.of, None)

    def _total(self, now: float) -> str:
        ends = [entry.outcome for entry in self._entries.values()]
        done, open_ = ends.count(COMPLETE), ends.count("")
        ended = {end: ends.count(end) for end in dict.fromkeys(ends) if end not in ("", COMPLETE)}
        parts = [f"{done} of {len(ends)} complete", *(f"{count} {end}" for end, count in ended.items())]
        parts += [f"{open_} under way"] if open_ else []
        parts += [human_duration(now - (now if self._began is None else self._began)), *list(self._lost.values())[:1]]
        return ", ".join(parts)


class _Entry:
    """One workload."""

    def __init__(self, now: float) -> None:
        self.outcome = ""
        self._began = now
        self._seconds = 0.0
        self._why = ""
        self._object: Object = {}
        self._findings: dict[tuple[str, str, str], Finding] = {}

    def take(self, happening: State | Found | Cleared | Result) -> None:
        if isinstance(happening, State):
            self._object = happening.object
            self._why = happening.progress.message
        elif isinstance(happening, Found):
            self._findings[happening.finding.key] = happening.finding
        elif isinstance(happening, Cleared):
            self._findings.pop(happening.finding.key, None)
        else:
            self._end(happening)

    def row(self, name: str, now: float) -> Row:
        worst = _worst(self._findings.values())
        seconds = self._seconds if self.outcome else now - self._began
        why = worst.text if worst else _short(self._why)
        return Row(
            _plain(name),
            counters(self._object),
            human_duration(max(0.0, seconds)),
            _plain(revision_of(self._object)),
            _plain(self.outcome if self.outcome == COMPLETE else why),
            self._mood(worst),
        )

    def _end(self, result: Result) -> None:
        self.outcome, self._seconds = result.outcome, result.seconds
        self._object = result.object or self._object
        if result.why.findings:
            self._findings = {one.key: one for one in result.why.findings}
        if result.error is not None:
            # What would only have taken its time is not why it ended.
            self._findings = {key: one for key, one in self._findings.items() if one.resolves != WAITS}
            self._why = str(result.error)

    def _mood(self, worst: Finding | None) -> str:
        if self.outcome == COMPLETE:
            return GOOD
        if self.outcome not in ("", UNFINISHED, INTERRUPTED):
            return BAD
        return _MOODS.get(worst.resolves, WARN) if worst else BUSY


def revision_of(obj: Object) -> str:
    """What names the newest revision in as few letters as there are: a Deployment's number, a StatefulSet's hash."""
    annotations, status = metadata_of(obj).get("annotations"), obj.get("status")
    number = annotations.get("deployment.kubernetes.io/revision") if isinstance(annotations, dict) else None
    name = status.get("updateRevision") if isinstance(status, dict) else None
    return str(number or str(name or "").rpartition("-")[2])


def bar(numbers: Counters, width: int) -> str:
    """Of the desired Pods those that are available, ready, updated, and not updated, each in a shade of its own.

    Old Pods that still serve do not count. Whatever is missing is seen: the bar is full only when all is.
    """
    desired, _, updated, ready, available = numbers
    if desired is None:
        return ""
    limit = max(ready or 0, available or 0) if updated is None else updated
    ends = [_cells(min(part or 0, limit), desired, width) for part in (available, max(ready or 0, available or 0))]
    full, half, some = *ends, _cells(limit, desired, width)
    return _FULL * full + _READY * (half - full) + _UPDATED * (some - half) + _EMPTY * (width - some)


def _cells(part: int, whole: int, width: int) -> int:
    return width if whole <= 0 else max(0, min(width, part * width // whole))


def _worst(findings: Iterable[Finding]) -> Finding | None:
    return min(findings, key=lambda one: _ORDER.index(_MOODS.get(one.resolves, WARN)), default=None)


def _short(message: str) -> str:
    """kubectl's line without the words that the row has said already."""
    return message.partition("rollout to finish: ")[2] or message


def _plain(text: str) -> str:
    """One line of bounded length that a terminal only shows."""
    return escape(text[:_LONGEST].replace("\n", " ").replace("\t", " "))
