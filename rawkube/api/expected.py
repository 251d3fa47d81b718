"""What is waited for, as a command line words it: `condition=Ready=False`, `jsonpath={.status.phase}=Running`. Pure.

Forms, rules and errors are those of `kubectl wait` 1.37.
"""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.api.json_path import JSONPath, JSONPathError
from rawkube.api.json_path_steps import go_text, go_type
from rawkube.errors import DecodeError, UsageError
from rawkube.gotext import SPACE, go_quote

Object = Mapping[str, Any]

CREATED, DELETED = "create", "delete"


class ConditionIs(NamedTuple):
    """A condition of `status.conditions` has a status; upper and lower case are the same."""

    type: str
    status: str = "true"

    def met(self, obj: Object) -> bool:
        """Whether it is so, and of the present generation. Raises DecodeError where the conditions are no list."""
        for condition in conditions_of(obj):
            if not isinstance(condition, dict):
                return False
            kind, status = condition.get("type"), condition.get("status")
            if isinstance(kind, str) and isinstance(status, str) and kind.casefold() == self.type.casefold():
                return not is_outdated(obj, condition) and status.casefold() == self.status.casefold()
        return False

    def __str__(self) -> str:
        return f"condition {self.type}={self.status}"


class FieldIs(NamedTuple):
    """A JSONPath leads to one value: this one, as text; with an empty `value` to any."""

    path: JSONPath
    value: str = ""

    def met(self, obj: Object) -> bool:
        """Whether it does. Raises JSONPathError where it leads to several values, or to none that can be compared."""
        found = self.path.find(obj)
        if not found:
            return False
        if len(found) > 1:
            raise JSONPathError("given jsonpath expression matches more than one value")
        if not self.value:
            return True
        if isinstance(found[0], dict | list):
            raise JSONPathError("jsonpath leads to a nested object or list which is not supported")
        return go_text(found[0]).strip(SPACE) == self.value.strip(SPACE)

    def __str__(self) -> str:
        return f"field {self.path.text}" + (f"={self.value}" if self.value else "")


Expected = ConditionIs | FieldIs | str
"""What `read` gives: CREATED and DELETED are the two strings."""


def read(text: str) -> Expected:
    """The value of `--for`. Raises UsageError, JSONPathError."""
    if text.lower() in (CREATED, DELETED):
        return text.lower()
    form, _, rest = text.partition("=")
    if form == "condition" and _:
        return condition(rest)
    if form == "jsonpath" and _:
        return field(rest)
    raise UsageError(f"unrecognized condition: {go_quote(text)}")


def condition(text: str) -> ConditionIs:
    """`TYPE[=STATUS]`; the status is True where it is not said."""
    name, equals, status = text.partition("=")
    return ConditionIs(name, status if equals else "true")


def field(text: str) -> FieldIs:
    """`PATH[=VALUE]`. Raises UsageError, JSONPathError."""
    parts = _split(text)
    if len(parts) > 2:
        forms = "--for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'"
        raise UsageError(f"jsonpath wait format must be {forms}")
    value = parts[1].strip("'\"") if len(parts) == 2 else ""
    path = JSONPath(parts[0])
    if len(parts) == 2 and not value:
        example = "--for=jsonpath='{.status.readyReplicas}'=3"
        raise UsageError(f"jsonpath wait has to have a value after equal sign, like {example}")
    return FieldIs(path, value)


def _split(text: str) -> list[str]:
    """At each `=`, but not at `==`, which belongs to a filter."""
    return [part.replace("\0", "==") for part in text.replace("==", "\0").split("=")]


def conditions_of(obj: Object) -> list[Any]:
    """`status.conditions`. Raises DecodeError where these, or the status, are something else."""
    status = obj.get("status", {})
    if not isinstance(status, dict):
        raise _wrong(status, "map[string]interface{}")
    found = status.get("conditions", [])
    if not isinstance(found, list):
        raise _wrong(found, "[]interface{}")
    return found


def _wrong(value: object, expected: str) -> DecodeError:
    return DecodeError(f".status.conditions accessor error: it is of the type {go_type(value)}, expected {expected}")


def is_outdated(obj: Object, condition: Mapping[str, Any]) -> bool:
    """Whether a condition tells of an earlier generation than the object's (its own `observedGeneration`, or the
    status's); where nothing is said of generations it does not."""
    generation = _integer(obj.get("metadata"), "generation")
    observed = _integer(condition, "observedGeneration")
    if observed is None:
        observed = _integer(obj.get("status"), "observedGeneration")
    return generation is not None and observed is not None and observed < generation


def _integer(fields: object, name: str) -> int | None:
    value = fields.get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
