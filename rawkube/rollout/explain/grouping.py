"""Equal causes on many Pods → one finding; and the order of findings. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rawkube.rollout.explain.fields import SHOWN, clip, raw
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS, Evidence, Finding
from rawkube.rollout.explain.view import View, is_terminating

_WEIGHT = {NEVER: 0, MAYBE: 1, WAITS: 2}

# What differs from Pod to Pod where the cause is the same.
_DIFFERS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\b[0-9a-f]{16,}\b"
    r"|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b(?::\d{4,5})?"
    r"|\[[0-9a-f:]+:[0-9a-f:]*\]"
    r"|(?:\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\d(?:\.\d+)?Z?"
    r'|\bnode "[^"]*"'
)
_RESTARTS = re.compile(r", (?:restarted|tried again) (?:once|\d+ times)")


def grouped(view: View, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those of one cause put together, ordered: what cannot heal first, then what concerns most Pods."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in findings:
        groups.setdefault(_cause(one), []).append(_bounded(one))
    pods = _counted(view)
    return sorted((_one(view, group, pods) for group in groups.values()), key=_order)


def _bounded(finding: Finding) -> Finding:
    """A finding all of whose texts are single lines of bounded length, whatever a detector took over."""
    return finding._replace(
        text=clip(finding.text, 2 * SHOWN),
        advice=clip(finding.advice),
        since=clip(finding.since),
        evidence=tuple(Evidence(*map(clip, seen)) for seen in finding.evidence),
    )


def _cause(finding: Finding) -> tuple[str, ...]:
    """What is the same where the cause is the same."""
    if not finding.object.startswith("pod/") or finding.objects:
        return finding.code, finding.object, finding.container, finding.text
    name = finding.object.removeprefix("pod/")
    words = finding.text.replace(name, "*") if name else finding.text
    return finding.code, "pod", finding.container, finding.resolves, _DIFFERS.sub("*", _RESTARTS.sub("", words))


def _counted(view: View) -> int:
    """How many Pods of the new revision there are that have not ended."""
    over = ("Failed", "Succeeded")
    return sum(not is_terminating(pod) and raw(pod, "status", "phase") not in over for pod in view.new_pods)


def _one(view: View, group: list[Finding], pods: int) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    objects = tuple(dict.fromkeys(one.object for one in group))
    if len(objects) == 1:
        return first
    of = max(pods, len(objects))
    since = min((one.since for one in group if one.since), default="")
    # The oldest Pod gives its name, so that the finding stays the same; the most restarted one is the example.
    shown = max(group, key=lambda one: one.restarts)
    words = shown.text.replace(view.clock(shown.since), view.clock(since)) if shown.since else shown.text
    return shown._replace(
        text=f"{len(objects)} of {of} pods: {words}",
        object=first.object,
        log=shown.log or next((one.log for one in group if one.log), ()),
        since=since,
        objects=objects,
        of=of,
    )


def _order(finding: Finding) -> tuple[int, int, str, str, str, str]:
    count = len(finding.objects) or 1
    return _WEIGHT.get(finding.resolves, 1), -count, finding.object, finding.container, finding.code, finding.text
