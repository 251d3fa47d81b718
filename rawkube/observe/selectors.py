"""Pure: label and field selectors, evaluated against objects.

Labels as `labels.Parse` of apimachinery reads them: `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`,
`a notin (b,c)`, `a>1`, `a<1`. Fields as `fields.ParseSelector`: `a=b`, `a==b`, `a!=b`, with `\\,`, `\\=` and
`\\\\` for the characters themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_KEY = r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_COMPARED = re.compile(rf"({_KEY})\s*(==|!=|=|>|<)\s*([-A-Za-z0-9_.]*)")
_PRESENT = re.compile(rf"(!?)\s*({_KEY})")
_FIELD = re.compile(r"([^=!\\]+)(==|!=|=)((?:[^\\,=]|\\[\\,=])*)")

# Fields that a resource's list can be asked for (the API server's table); `metadata.` is for all of them.
_OWN_FIELDS = {
    "events": ("involvedObject.", "reason", "type", "reportingComponent"),
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
}


class Requirement(NamedTuple):
    """One condition. `op` is `exists`, `absent`, `in`, `notin`, `>`, or `<`."""

    key: str
    op: str
    values: frozenset[str] = frozenset()

    def holds(self, value: str | None) -> bool:
        """Whether a value (None: there is none) meets the condition."""
        if self.op in ("exists", "absent"):
            return (value is not None) == (self.op == "exists")
        if self.op in ("in", "notin"):
            return (value in self.values) == (self.op == "in")
        return _compare(value, self.op, next(iter(self.values)))


def parse_labels(text: str) -> frozenset[Requirement]:
    """The conditions of a label selector, all of which must hold. Raises ValueError."""
    return frozenset(_label(part.strip()) for part in _split(text))


def parse_fields(text: str) -> frozenset[Requirement]:
    """The conditions of a field selector, all of which must hold. Raises ValueError."""
    found = set()
    for part in re.split(r"(?<!\\),", text):
        if not part:
            continue
        match = _FIELD.fullmatch(part.strip())
        if match is None:
            raise ValueError("not a field selector")
        value = re.sub(r"\\(.)", r"\1", match[3])
        found.add(Requirement(match[1], "notin" if match[2] == "!=" else "in", frozenset((value,))))
    return frozenset(found)


def labels_match(requirements: frozenset[Requirement], obj: Mapping[str, Any]) -> bool:
    """Whether an object's labels meet every condition."""
    labels = _dig(obj, "metadata.labels")
    labels = labels if isinstance(labels, dict) else {}
    return all(requirement.holds(labels.get(requirement.key)) for requirement in requirements)


def fields_match(requirements: frozenset[Requirement], obj: Mapping[str, Any]) -> bool:
    """Whether an object's fields meet every condition; a field that it does not have is empty."""
    return all(requirement.holds(_field_text(obj, requirement.key)) for requirement in requirements)


def knows_fields(requirements: frozenset[Requirement], resource: str) -> bool:
    """Whether every field can be evaluated for a resource (plural, such as `pods`)."""
    known = ("metadata.name", "metadata.namespace", *_OWN_FIELDS.get(resource, ()))
    return all(r.key in known or (r.key.rpartition(".")[0] + "." in known) for r in requirements)


def pinned_name(requirements: frozenset[Requirement]) -> str:
    """The name that `metadata.name=NAME` asks for, else an empty text."""
    names = [r.values for r in requirements if r.key == "metadata.name" and r.op == "in"]
    return next(iter(names[0])) if len(names) == 1 else ""


def _split(text: str) -> list[str]:
    """At the commas outside parentheses."""
    return [part for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _label(part: str) -> Requirement:
    if match := _SET.fullmatch(part):
        return Requirement(match[1], match[3], frozenset(v.strip() for v in match[4].split(",")))
    if match := _COMPARED.fullmatch(part):
        op = {"=": "in", "==": "in", "!=": "notin"}.get(match[3], match[3])
        return Requirement(match[1], op, frozenset((match[4],)))
    if match := _PRESENT.fullmatch(part):
        return Requirement(match[2], "absent" if match[1] else "exists")
    raise ValueError("not a label selector")


def _compare(value: str | None, op: str, bound: str) -> bool:
    try:
        number, limit = int(value or ""), int(bound)
    except ValueError:
        return False
    return number > limit if op == ">" else number < limit


def _dig(obj: object, path: str) -> object:
    for name in path.split("."):
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(name)
    return obj


def _field_text(obj: Mapping[str, Any], path: str) -> str:
    value = _dig(obj, path)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
