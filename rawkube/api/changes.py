"""What differs between two states of one object. Pure.

    for change in changes(before, after):
        print(one_line_of(change))          # status.updatedReplicas 1→2

Lists of named things (containers, conditions, ports, …) are compared by name, so that one inserted container is one
change; the names are those by which the API itself merges such lists (`x-kubernetes-list-map-keys`). Other lists
are compared by position, once what is the same at both ends is set aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.objects import Object
from rawkube.gotext import one_line

Value = Any  # what JSON can hold


class _Absent:
    """The value of what is not there: JSON's null is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT = _Absent()
"""The `before` of what was added, the `after` of what was removed."""

REDACTED = "<redacted>"
"""What stands for the values of a Secret."""

TOO_DEEP = "<nested too deeply>"
"""What stands for an object that Python cannot walk through."""


class Item(NamedTuple):
    """One step of a path, into a list: the item that is named `name`, or without a name the one at `at`.

    `at` counts in the later list where the item stands in that one, else in the earlier.
    """

    at: int
    key: str = ""
    name: Value = ""


class Order(NamedTuple):
    """The last step of a path: not an item of the list, but the order of the names."""

    key: str


Step = str | Item | Order


class Change(NamedTuple):
    """One difference. `path` is for people, `steps` says the same for programs; `ABSENT` where there is no value.

    Where the last step is an Order, the values are the names of the list's items, in order; what was added or
    removed has changes of its own.
    """

    path: str
    before: Value
    after: Value
    steps: tuple[Step, ...] = ()

    @property
    def added(self) -> bool:
        """Whether there was nothing before."""
        return self.before is ABSENT

    @property
    def removed(self) -> bool:
        """Whether there is nothing now."""
        return self.after is ABSENT

    @property
    def is_order(self) -> bool:
        """Whether only the order of a list's items changed."""
        return bool(self.steps) and isinstance(self.steps[-1], Order)


NOISE: tuple[tuple[str, ...], ...] = (
    ("metadata", "managedFields"),
    ("metadata", "resourceVersion"),
    ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"),
)
"""What says nothing that the rest does not say: the books of server-side apply, the version, a copy of the object."""

CLOCKWORK: tuple[tuple[str, ...], ...] = tuple(
    ("status", "conditions", "*", field)
    for field in ("lastHeartbeatTime", "lastProbeTime", "lastTransitionTime", "lastUpdateTime")
)
"""Times of conditions: they change with the condition, or with nothing."""

# By what the items of a list are told apart, the first that fits. Service ports have no other name than the port,
# several volumeMounts may have one name.
_KEYS = ("name", "type", "key", "mountPath", "devicePath", "containerPort", "port", "ip", "uid", "topologyKey", "id")


def changes(before: Object | None, after: Object | None, *, without: Iterable[Sequence[str]] = NOISE) -> list[Change]:
    """What changed from one state of an object to the next, in the order of the fields.

    None: it did not exist, or does no more; that is one change, of the whole object (path `""`). `without`: paths
    that are left out with all that is below them; `*` is any one step. Of a Secret, the values of `data` and
    `stringData` (and the copy of them that `kubectl apply` keeps) are `<redacted>` in what is given, also where they
    differ.
    """
    try:
        return _find(before, after, [tuple(path) for path in without])
    except RecursionError:
        shown = [ABSENT if state is None else TOO_DEEP for state in (before, after)]
        return [Change("", shown[0], shown[1])]


def _find(before: Object | None, after: Object | None, without: list[tuple[str, ...]]) -> list[Change]:
    hidden = [_hide_secrets(state) for state in (before, after)]
    finder = _Finder(without)
    if before is None or after is None:
        finder.say((), *(ABSENT if state is None else state for state in hidden))
    else:
        finder.compare((), *hidden)
    return [change._replace(before=_shown(change.before), after=_shown(change.after)) for change in finder.found]


class _Finder:
    """Collects the changes below two values."""

    def __init__(self, without: Sequence[tuple[str, ...]]) -> None:
        self._without = without
        self.found: list[Change] = []

    def say(self, steps: tuple[Step, ...], before: Value, after: Value) -> None:
        # What is below a path that is left out is left out with it.
        if not any(len(path) <= len(steps) and all(map(_matches, path, steps)) for path in self._without):
            self.found.append(Change(path_of(steps), before, after, steps))

    def compare(self, steps: tuple[Step, ...], before: Value, after: Value) -> None:
        if isinstance(before, dict) and isinstance(after, dict):
            self._dicts(steps, before, after)
        elif same(before, after):
            return
        elif isinstance(before, list) and isinstance(after, list):
            key = _key_of(before, after)
            self._named(steps, key, before, after) if key else self._lists(steps, before, after)
        else:
            self.say(steps, before, after)

    def _dicts(self, steps: tuple[Step, ...], before: dict[str, Value], after: dict[str, Value]) -> None:
        for name in [*before, *(name for name in after if name not in before)]:
            inner = (*steps, name)
            if name not in after or name not in before:
                self.say(inner, before.get(name, ABSENT), after.get(name, ABSENT))
            else:
                self.compare(inner, before[name], after[name])

    def _lists(self, steps: tuple[Step, ...], before: list[Value], after: list[Value]) -> None:
        start = _same_at_start(before, after)
        end = _same_at_start(before[start:][::-1], after[start:][::-1])
        old, new = range(start, len(before) - end), range(start, len(after) - end)
        if len(old) == len(new):
            for index in old:
                self.compare((*steps, Item(index)), before[index], after[index])
            return
        for index in old:
            self.say((*steps, Item(index)), before[index], ABSENT)
        for index in new:
            self.say((*steps, Item(index)), ABSENT, after[index])

    def _named(self, steps: tuple[Step, ...], key: str, before: list[Value], after: list[Value]) -> None:
        old = {item[key]: (index, item) for index, item in enumerate(before)}
        new = {item[key]: (index, item) for index, item in enumerate(after)}
        for name, (index, item) in old.items():
            if name in new:
                self.compare((*steps, Item(new[name][0], key, name)), item, new[name][1])
            else:
                self.say((*steps, Item(index, key, name)), item, ABSENT)
        for name, (index, item) in new.items():
            if name not in old:
                self.say((*steps, Item(index, key, name)), ABSENT, item)
        both_before, both_after = [name for name in old if name in new], [name for name in new if name in old]
        if both_before != both_after:
            self.say((*steps, Order(key)), list(old), list(new))


def _matches(wanted: str, step: Step) -> bool:
    return wanted in ("*", step)


def _same_at_start(one: list[Value], other: list[Value]) -> int:
    count = 0
    while count < min(len(one), len(other)) and same(one[count], other[count]):
        count += 1
    return count


def _key_of(before: list[Value], after: list[Value]) -> str:
    """By what the items of both lists are told apart; empty: by nothing."""
    return next((key for key in _KEYS if _tells_apart(key, before) and _tells_apart(key, after)), "")


def _tells_apart(key: str, items: list[Value]) -> bool:
    names = [item.get(key) if isinstance(item, dict) else None for item in items]
    # 1 and "1" and True are not to meet as keys of one dict.
    if not (all(isinstance(name, str) for name in names) or all(type(name) is int for name in names)):
        return False
    return len(set(names)) == len(names)


def same(one: Value, other: Value) -> bool:
    """Whether two JSON values are the same; in Python 1, 1.0 and True are equal, here they are not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def apply_changes(before: Value, found: Iterable[Change]) -> Value:
    """The later state, made from the earlier one and the changes; the arguments stay as they are.

    What was left out or redacted is not there to be applied.
    """
    state = _copy(before)
    added: list[Change] = []
    removed: list[Change] = []
    orders: list[Change] = []
    for change in found:
        last = change.steps[-1] if change.steps else ""
        if isinstance(last, Order):
            orders.append(change)
        elif isinstance(last, Item) and change.removed:
            removed.append(change)
        elif isinstance(last, Item) and change.added:
            added.append(change)
        else:
            state = _put(state, change)
    # Indexes count in the list as it was for what goes (so from its end), as it is for what comes (from its start).
    for change in sorted(removed, key=lambda one: -_index(one)):
        del _holder(state, change.steps)[_position(_holder(state, change.steps), change.steps[-1])]
    for change in sorted(added, key=_index):
        _holder(state, change.steps).insert(_index(change), _copy(change.after))
    for change in orders:
        _sort(_holder(state, change.steps), change)
    return state


def _put(state: Value, change: Change) -> Value:
    if not change.steps:
        return _copy(change.after)
    holder, last = _holder(state, change.steps), change.steps[-1]
    if isinstance(last, Item):
        holder[_position(holder, last)] = _copy(change.after)
    elif change.removed:
        del holder[last]
    else:
        holder[last] = _copy(change.after)
    return state


def _index(change: Change) -> int:
    last = change.steps[-1]
    return last.at if isinstance(last, Item) else 0


def _holder(state: Value, steps: Sequence[Step]) -> Value:
    """The dict or list that the last step leads into."""
    for step in steps[:-1]:
        state = state[_position(state, step)] if isinstance(step, Item) else state[step]
    return state


def _position(items: list[Value], step: Step) -> int:
    assert isinstance(step, Item)
    if not step.key:
        return step.at
    return next(index for index, item in enumerate(items) if same(item[step.key], step.name))


def _sort(items: list[Value], change: Change) -> None:
    last = change.steps[-1]
    assert isinstance(last, Order)
    places = {name: index for index, name in enumerate(change.after)}
    items.sort(key=lambda item: places[item[last.key]])


def _copy(value: Value) -> Value:
    if isinstance(value, dict):
        return {name: _copy(inner) for name, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


# Secrets.


class _Hidden:
    """A value that is compared, but never shown."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hidden) and same(self._value, other._value)

    __hash__ = None  # type: ignore[assignment]


def _hide_secrets(state: Object | None) -> Object | None:
    if state is None or state.get("kind") != "Secret":
        return state
    hidden = {name: _hide(value) if name in ("data", "stringData") else value for name, value in state.items()}
    metadata = state.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict):
        copies = {name: _Hidden(value) if name in NOISE[2] else value for name, value in annotations.items()}
        hidden["metadata"] = {**state["metadata"], "annotations": copies}
    return hidden


def _hide(value: Value) -> Value:
    return {name: _Hidden(inner) for name, inner in value.items()} if isinstance(value, dict) else _Hidden(value)


def redacted(item: Object) -> Object:
    """The object as it may be shown: of a Secret, the values are `<redacted>`."""
    shown: Object = _shown(_hide_secrets(item))
    return shown


def _shown(value: Value) -> Value:
    if isinstance(value, _Hidden):
        return REDACTED
    if isinstance(value, dict):
        return {name: _shown(inner) for name, inner in value.items()}
    return [_shown(inner) for inner in value] if isinstance(value, list) else value


# Text.

_PLAIN_FIELD = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_PLAIN_NAME = re.compile(r"[^\s\"'\[\]{}\\,→]+")
_PLAIN_VALUE = re.compile(r"[^\s\"'\[\]{}\\,→<>][^\s\"\[\]{}\\,→]*")
_OTHER_THAN_TEXT = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|null|NaN|-?Infinity")
LONGEST = 60
"""How many characters of a value a line shows."""


def path_of(steps: Iterable[Step]) -> str:
    """`spec.containers[app].ports[0]`, `metadata.labels[example.com/tier]`. One line, whatever the names are."""
    text = ""
    for step in steps:
        if isinstance(step, Order):
            continue
        if isinstance(step, Item):
            text += f"[{step.at}]" if not step.key else f"[{_name(step.name)}]"
        elif _PLAIN_FIELD.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{_name(step)}]"
    return text


def _name(name: Value) -> str:
    if not isinstance(name, str):  # a port; not to be taken for an index
        return f"={name}"
    plain = _PLAIN_NAME.fullmatch(name) and not name.isdecimal() and not name.startswith("=")
    return one_line(name) if plain else one_line(_json(name))


def one_line_of(change: Change, *, longest: int = LONGEST) -> str:
    """`path a→b`, `+path b` for what was added, `-path` for what was removed; no control character is left in it.

    A value of more than `longest` characters is cut (0: none is); of two that begin alike, the difference is shown.
    """
    path = change.path or "object"
    if change.is_order:
        before, after = (",".join(map(_name, names)) for names in (change.before, change.after))
        return f"{path} order {_cut(before, longest)}→{_cut(after, longest)}"
    if change.added:
        return f"+{path} {_cut(_value(change.after), longest)}"
    if change.removed:
        return f"-{path}"
    before, after = _value(change.before), _value(change.after)
    if longest and (len(before) > longest or len(after) > longest):
        skipped = _skip(before, after, longest)
        before, after = ("…" * (skipped > 0) + text[skipped:] for text in (before, after))
    return f"{path} {_cut(before, longest)}→{_cut(after, longest)}"


def _skip(one: str, other: str, longest: int) -> int:
    """How much of the start of two long values is left out because it is the same."""
    same_count = 0
    while same_count < min(len(one), len(other)) and one[same_count] == other[same_count]:
        same_count += 1
    return max(0, same_count - 10) if same_count > longest // 2 else 0


def _value(value: Value) -> str:
    if isinstance(value, str):
        if value in (REDACTED, TOO_DEEP):
            return value
        plain = _PLAIN_VALUE.fullmatch(value) and not _OTHER_THAN_TEXT.fullmatch(value)
        return one_line(value if plain else _json(value))
    return one_line(_json(value))


def _json(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cut(text: str, longest: int) -> str:
    return text if not longest or len(text) <= longest else text[: longest - 1] + "…"
