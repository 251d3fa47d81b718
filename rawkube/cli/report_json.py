"""What happens, as JSON Lines on stdout: the format `rawkube.rollout-status/1`.

Its JSON Schema is the file `rawkube/schemas/rollout-status-1.json`. A field may be added to it; one that is there
keeps its name and meaning, or the number at the end becomes another.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable

from rawkube._typing import Any
from rawkube.api.objects import Object, metadata_of
from rawkube.cli.output import Output
from rawkube.errors import RawkubeError, StatusError
from rawkube.rollout.counters import Counters, counters
from rawkube.rollout.explain.finding import Finding
from rawkube.rollout.happenings import Cleared, Found, Happening, Note, Overall, Result, State, Workload

SCHEMA = "rawkube.rollout-status/1"

Record = dict[str, Any]

_WHOSE = ("kind", "group", "namespace", "name", "uid")


class JsonReporter:
    """An object for each change; a state that looks like the one before is none. `clock`: seconds since 1970."""

    def __init__(self, out: Output, *, clock: Callable[[], float] = time.time) -> None:
        self._out = out
        self._clock = clock
        self._last: dict[Workload, Record] = {}
        self._uids: dict[Workload, str] = {}

    def tell(self, happening: Happening) -> None:
        """One happening; see Reporter."""
        record = self._record(happening)
        if record is not None:
            head = {"schema": SCHEMA, "type": record.pop("type"), "time": rfc3339(self._clock())}
            # Everything beyond ASCII escaped: no terminal finds anything to act on.
            self._out.write(json.dumps({**head, **record}) + "\n")

    def finish(self) -> None:
        """Nothing was changed."""

    def _record(self, happening: Happening) -> Record | None:
        if isinstance(happening, State):
            return self._state(happening)
        if isinstance(happening, Found):
            finding, again = finding_record(happening.finding), happening.again
            return {"type": "finding", "workload": self._whose(happening.workload), "finding": finding, "again": again}
        if isinstance(happening, Cleared):
            finding = finding_record(happening.finding)
            return {"type": "cleared", "workload": self._whose(happening.workload), "finding": finding}
        if isinstance(happening, Note):
            whose = self._whose(happening.of)
            return {"type": "reconnecting", "workload": whose, "lost": happening.lost, "message": happening.text}
        return self._result(happening) if isinstance(happening, Result) else _overall(happening)

    def _state(self, state: State) -> Record | None:
        """`observed` when a workload, or a new generation of it, is seen for the first time; else `progress`."""
        metadata = metadata_of(state.object)
        self._uids[state.workload] = str(metadata.get("uid") or "")
        record = {"workload": self._whose(state.workload), **state_record(state)}
        last = self._last.get(state.workload)
        if last == record:
            return None
        self._last[state.workload] = record
        new = last is None or last["generation"] != record["generation"]
        return {"type": "observed" if new else "progress", **record}

    def _result(self, result: Result) -> Record:
        if result.workload and result.object:
            self._uids[result.workload] = str(metadata_of(result.object).get("uid") or "")
        whose = self._whose(result.workload) if result.workload else dict.fromkeys(_WHOSE, "")
        return {
            "type": "result",
            "workload": whose,
            **_end(result.outcome, result.error, result.seconds),
            "message": result.progress.message if result.progress else None,
            "counters": counters(result.object or {})._asdict(),
            "findings": [finding_record(finding) for finding in result.why.findings],
            "unseen": dict(result.why.unseen),
        }

    def _whose(self, workload: Workload) -> Record:
        resource, namespace, name = workload
        uid = self._uids.get(workload, "")
        return dict(zip(_WHOSE, (resource.kind, resource.group, namespace, name, uid), strict=True))


def state_record(state: State) -> Record:
    """What a state says, without whose it is."""
    generation, observed = (_integer(value) for value in _generations(state.object))
    return {
        "message": state.progress.message,
        "done": state.progress.done,
        "generation": generation,
        "observedGeneration": observed,
        "counters": counters(state.object)._asdict(),
    }


def finding_record(finding: Finding) -> Record:
    """A finding with all its fields."""
    evidence = [one._asdict() for one in finding.evidence]
    lists = {"log": list(finding.log), "objects": list(finding.objects), "evidence": evidence}
    return {**finding._asdict(), **lists}


def rfc3339(seconds: float) -> str:
    """A time with milliseconds, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


def _overall(overall: Overall) -> Record:
    results = overall.results
    findings = [
        {**finding_record(finding), "workload": result.workload.ref}
        for result in results
        for finding in result.why.findings
        if result.workload
    ]
    return {
        "type": "result",
        "workload": None,
        **_end(overall.outcome, overall.error, overall.seconds),
        "message": None,
        "counters": _sums(counters(result.object or {}) for result in results)._asdict(),
        "findings": findings,
        "unseen": {what: why for result in results for what, why in result.why.unseen.items()},
        "workloads": {"total": len(results), "required": overall.required, **overall.counts},
    }


def _end(outcome: str, error: RawkubeError | None, seconds: float) -> Record:
    return {"outcome": outcome, "error": error and _error(error), "duration": round(seconds, 3)}


def _error(error: RawkubeError) -> Record:
    reason, code = (error.reason, error.code) if isinstance(error, StatusError) else ("", 0)
    return {
        "type": type(error).__name__,
        "message": str(error),
        "detail": list(error.detail),
        "reason": reason,
        "code": code,
    }


def _sums(all_of_them: Iterable[Counters]) -> Counters:
    columns = zip(*all_of_them, strict=True)
    sums = [sum(numbers) if (numbers := [one for one in column if one is not None]) else None for column in columns]
    return Counters(*sums)


def _generations(item: Object) -> tuple[object, object]:
    status = item.get("status")
    return metadata_of(item).get("generation"), status.get("observedGeneration") if isinstance(status, dict) else None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
