"""Counts, lists, times and spans as findings say them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from rawkube.duration import format_duration

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 10**9  # seconds, three decades: whoever writes more than that means "for ever"


def listed(names: Sequence[str], *, most: int = 3) -> str:
    """`a`, `a and b`, `a, b and c`; of more than `most` how many more there are: `a, b, c and 2 more`."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join((", ".join(shown[:-1]), shown[-1])) if len(shown) > 1 else "".join(shown)


def counted(count: int, word: str) -> str:
    """`1 Pod`, `2 Pods`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def agreed(count: int, words: str) -> str:
    """`words` with the right form of each `singular|plural`: `has|have the taint a`."""
    return " ".join(_form(count, word) for word in words.split(" "))


def _form(count: int, word: str) -> str:
    one, bar, many = word.partition("|")
    return many if bar and count != 1 else one


def kubectl(words: str, namespace: str) -> str:
    """A command to type: `kubectl delete pod web-0 -n demo`."""
    return f"kubectl {words} -n {namespace}" if namespace else f"kubectl {words}"


def span(seconds: float) -> str:
    """Seconds as a duration without fractions: `1m30s`."""
    return format_duration(round(max(-_LONGEST, min(seconds, _LONGEST))))


def moment(seconds: float) -> str:
    """Seconds since 1970 as an RFC 3339 time; empty for a time that no calendar has."""
    try:
        return f"{(_EPOCH + timedelta(seconds=int(seconds))).replace(tzinfo=None).isoformat()}Z"
    except OverflowError:
        return ""
