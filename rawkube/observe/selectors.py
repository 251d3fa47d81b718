"""Pure: field selectors, evaluated against objects.

As `fields.ParseSelector` of apimachinery: `a=b`, `a==b`, `a!=b`, with `\\,`, `\\=` and `\\\\` for the characters
themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rawkube._typing import Any
from rawkube.api.label_selector import Requirement

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
