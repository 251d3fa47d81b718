"""Why a rollout does not finish, as lines for people. Pure.

2 of 3 pods (web-5d4f-x2c, …): container app crashes with exit code 1, restarted 4 times
    status.containerStatuses[app].state.terminated: Error, exit code 1 (3s ago)
    | cannot reach database at db:5432
    → rawkube logs web-5d4f-x2c -c app
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rawkube.cli.age import human_duration
from rawkube.cli.text import escape
from rawkube.kubeconfig.timestamp import TimeError, seconds_of
from rawkube.rollout.explain.finding import WAITS, Evidence, Finding

LONGEST = 300
"""How many characters of a text are shown: what went wrong stands at its beginning or at its end."""

LONGEST_EVIDENCE = 200
"""How many of what the cluster wrote: the finding has said it already, in fewer words."""

EVIDENCE, LOG_LINES = 2, 10
"""How many pieces of evidence, and how many lines of a log, are shown of one finding."""

_INDENT = "    "
_TAIL = 40


def explanation(
    findings: Iterable[Finding], *, unseen: Mapping[str, str] | None = None, now: float | None = None
) -> list[str]:
    """All findings, and what could not be looked at. `now`: seconds since 1970 on the server's clock, None: no ages."""
    lines = [line for finding in findings for line in finding_lines(finding, now=now)]
    return lines + unseen_lines(unseen or {})


def finding_lines(finding: Finding, *, now: float | None = None) -> list[str]:
    """One finding: what, where it was seen, what the container said last, and what to do."""
    lines = [headline(finding)]
    lines += [_INDENT + _evidence(one, finding.object, now) for one in _telling(finding)]
    lines += [f"{_INDENT}| {_cut(line)}" for line in finding.log[-LOG_LINES:]]
    if finding.advice:
        lines.append(f"{_INDENT}→ {_cut(finding.advice)}")
    return lines


def headline(finding: Finding) -> str:
    """What it is about, and what is wrong with it, on one line."""
    return _cut(finding.headline)


def cleared_line(finding: Finding) -> str:
    """That a cause is gone."""
    return f"no longer: {headline(finding)}"


def unseen_lines(unseen: Mapping[str, str]) -> list[str]:
    """What could not be looked at, a line for each reason: `could not look at events, nodes: forbidden`."""
    by_reason: dict[str, list[str]] = {}
    for what, why in unseen.items():
        by_reason.setdefault(why, []).append(what)
    return [f"could not look at {_cut(', '.join(whats))}: {_cut(why)}" for why, whats in by_reason.items()]


def _telling(finding: Finding) -> Sequence[Evidence]:
    """The evidence that says more than the finding's own sentence; what only takes its time needs none."""
    if finding.resolves == WAITS:
        return ()
    said = finding.text.casefold()
    news = (one for one in finding.evidence if one.text and one.text.casefold() not in said)
    # An event often ends with what a condition said before it.
    return list({one.text[-_TAIL:]: one for one in reversed(list(news))}.values())[::-1][:EVIDENCE]


def _evidence(one: Evidence, about: str, now: float | None) -> str:
    age = _age(one.time, now)
    source = one.source.removeprefix(f"{about}: ")
    return f"{_cut(source)}: {_cut(one.text, LONGEST_EVIDENCE)}{f' ({age} ago)' if age else ''}"


def _age(time: str, now: float | None) -> str:
    if now is None:
        return ""
    try:
        return human_duration(max(0.0, now - seconds_of(time)))
    except TimeError:
        return ""


def _cut(text: str, limit: int = LONGEST) -> str:
    """One line of bounded length that a terminal only shows; the middle is left out."""
    line = escape(text.replace("\n", " ").replace("\t", " "))
    return line if len(line) <= limit else f"{line[: limit // 2]} … {line[-(limit // 2) :]}"
