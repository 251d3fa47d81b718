"""Label selectors of objects as the text that a `labelSelector` parameter takes. Pure.

The text is that of apimachinery (`metav1.LabelSelectorAsSelector`, `labels.Selector.String`): requirements sorted by
key, those of `matchLabels` before those of `matchExpressions`, the values of a set sorted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from rawkube._pattern import pattern
from rawkube._typing import Any, NamedTuple

Value = Any  # what JSON can hold

_NAME_FORM = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME = pattern(_NAME_FORM)
_PREFIX = pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_FORM}')"
)
_PREFIX_RULE = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_NAME_FORM})?')"
)
_LONGEST_NAME, _LONGEST_PREFIX = 63, 253

_SET_OPERATORS = {"In": "in", "NotIn": "notin"}
_KEY_OPERATORS = {"Exists": "", "DoesNotExist": "!"}


class SelectorError(ValueError):
    """A selector that means nothing: an unknown operator, a key or a value that no label can have."""


class _Requirement(NamedTuple):
    key: str
    text: str


def from_label_selector(selector: Value) -> str:
    """The text of a `metav1.LabelSelector` (`{"matchLabels": {…}, "matchExpressions": [{…}]}`).

    Empty for an empty selector and for None: then kubectl asks for every object of the namespace. Raises
    SelectorError in apimachinery's words.
    """
    selector = _checked("selector", selector, dict)
    labels = _checked("matchLabels", selector.get("matchLabels"), dict)
    expressions = _checked("matchExpressions", selector.get("matchExpressions"), list)
    return _joined([*map(_equality, labels.items()), *map(_expression, expressions)])


def from_map(labels: Value) -> str:
    """The text of a plain map (`spec.selector` of Service and ReplicationController). Raises SelectorError."""
    return _joined(map(_equality, _checked("selector", labels, dict).items()))


def _joined(requirements: Iterable[_Requirement]) -> str:
    return ",".join(one.text for one in sorted(requirements, key=lambda one: one.key))


def _equality(pair: tuple[str, Value]) -> _Requirement:
    key, value = pair
    check_key(key)
    check_value(key, 0, value)
    return _Requirement(key, f"{key}={value}")


def _expression(expression: Value) -> _Requirement:
    expression = _checked("matchExpressions", expression, dict)
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values = _checked("values", expression.get("values"), list)
    if operator not in _SET_OPERATORS and operator not in _KEY_OPERATORS:
        raise SelectorError(f"{_json(operator)} is not a valid label selector operator")
    check_key(key)
    if operator in _KEY_OPERATORS:
        if values:
            raise invalid("values", values, "values set must be empty for exists and does not exist")
        return _Requirement(key, _KEY_OPERATORS[operator] + key)
    _check_set(key, values)
    return _Requirement(key, f"{key} {_SET_OPERATORS[operator]} ({','.join(sorted(values))})")


def _check_set(key: str, values: Sequence[Value]) -> None:
    if not values:
        raise invalid("values", None, "for 'in', 'notin' operators, values set can't be empty")
    for index, value in enumerate(values):
        check_value(key, index, value)


def check_key(key: Value, *, field: str = "key") -> None:
    """Raises SelectorError, which names `field`, unless `key` is a qualified name: `name` or `prefix/name`."""
    if not isinstance(key, str):
        raise invalid(field, key, "must be a string")
    prefix, slash, name = key.rpartition("/")
    problems = [] if name else ["name part must be non-empty"]
    if len(name) > _LONGEST_NAME:
        problems.append(f"name part must be no more than {_LONGEST_NAME} characters")
    if not _NAME.fullmatch(name):
        problems.append(_NAME_RULE)
    if slash and (len(prefix) > _LONGEST_PREFIX or not _PREFIX.fullmatch(prefix)):
        problems.insert(0, _PREFIX_RULE if prefix else "prefix part must be non-empty")
    if problems:
        raise invalid(field, key, "; ".join(problems))


def check_value(key: str, index: int, value: Value) -> None:
    """Raises SelectorError unless `value`, the one at `index`, is one that a label can have."""
    if not isinstance(value, str):
        problem = "must be a string"
    elif len(value) > _LONGEST_NAME:
        problem = f"must be no more than {_LONGEST_NAME} characters"
    elif value and not _NAME.fullmatch(value):
        problem = _VALUE_RULE
    else:
        return
    raise invalid(f"values[{index}][{key}]", value, problem)


def invalid(field: str, value: Value, problem: str) -> SelectorError:
    """The error of one field, in the words of apimachinery's `field.Invalid`."""
    return SelectorError(f"{field}: Invalid value: {_json(value)}: {problem}")


def _json(value: Value) -> str:
    return json.dumps(value, separators=(",", ":"))


def _checked(field: str, value: Value, kind: type) -> Value:
    """`value`, an empty `kind` where it is None. Raises SelectorError for another type."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise invalid(field, value, "must be a list" if kind is list else "must be an object")
    return value
