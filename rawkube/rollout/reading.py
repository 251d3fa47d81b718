"""Fields of objects whose types nobody checks: what has another type counts as absent. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import Any
from rawkube.gotext import one_line

Object = Mapping[str, Any]

LONGEST = 300
"""Characters of a condition's message that are shown."""


def at(obj: object, path: str) -> object:
    """What stands at `status.a.b`; None where a part of the way is missing."""
    for key in path.split("."):
        obj = obj.get(key) if isinstance(obj, Mapping) else None
    return obj


def integer(obj: Object, path: str) -> int | None:
    """An integer, None where there is none; `3.0` is 3."""
    value = at(obj, path)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(obj: Object, path: str) -> int:
    """As integer(); an absent counter is 0."""
    return integer(obj, path) or 0


def text(obj: Object, path: str) -> str:
    """A string, empty where there is none."""
    value = at(obj, path)
    return value if isinstance(value, str) else ""


def name_of(obj: Object) -> str:
    """`metadata.name`."""
    return text(obj, "metadata.name")


def condition(obj: Object, kind: str) -> Object | None:
    """The first condition of that type."""
    found = at(obj, "status.conditions")
    for one in found if isinstance(found, list) else []:
        if isinstance(one, Mapping) and one.get("type") == kind:
            return one
    return None


def is_true(found: Object | None) -> bool:
    """Whether there is a condition, and its status is True."""
    return found is not None and found.get("status") == "True"


def because(found: Object) -> str:
    """What a condition says of itself in one line: its message and its reason, as far as it has them."""
    message, reason = (" ".join(text(found, key).split()) for key in ("message", "reason"))
    if len(message) > LONGEST:
        message = message[:LONGEST] + "…"
    return one_line(f"{message} ({reason})" if message and reason else message or reason)


def is_observed(obj: Object) -> bool:
    """Whether the controller has seen the present spec; so it is, where it does not say what it has seen."""
    generation, observed = integer(obj, "metadata.generation"), integer(obj, "status.observedGeneration")
    return generation is None or observed is None or observed >= generation
