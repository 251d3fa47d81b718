"""Pure: what `rawkube watch` prints for one state of one object: a line for people, JSON for programs, a name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from rawkube._typing import Any, NamedTuple
from rawkube.api.changes import ABSENT, CLOCKWORK, NOISE, Change, changes, one_line_of
from rawkube.api.departed import LEFT, UNKNOWN, Departure
from rawkube.api.object_store import INITIAL, RELIST, Seen
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.gotext import one_line

LONGEST_LINE = 240
"""How many characters of changes a line shows; `-o diff` shows all."""
LONGEST_VALUE = 2000
"""How many characters of one value `-o diff` shows."""
_WIDEST = 60
_LINE_NOISE = (*NOISE, *CLOCKWORK, ("metadata", "generation"))


class Event(NamedTuple):
    """What is told: a state of an object, of which resource, when (`clock` for people, `time` as RFC 3339).

    `departure`: for a DELETED of a watch with a selector, what became of the object.
    """

    seen: Seen
    resource: Resource
    clock: str
    time: str
    departure: Departure | None = None


class Lines:
    """Lines for people, in columns: a column is as wide as its widest value so far, up to a bound."""

    def __init__(self) -> None:
        self._widths = [8, 0, 0]

    def widen(self, events: Iterable[Event]) -> None:
        """Make room for all of these before the first of them is written."""
        for event in events:
            self._widths = [
                max(old, min(len(word), _WIDEST)) for old, word in zip(self._widths, _words(event), strict=True)
            ]

    def text(self, event: Event) -> str:
        """`18:02:12 MODIFIED Deployment demo/web 2125 status.updatedReplicas 1→2`, ended by a line feed."""
        return self._columns(event, _told(event)) + "\n"

    def diff(self, event: Event) -> str:
        """The same line without the changes, then a line for each of them."""
        said = _how(event) or ("" if _before(event) is not None else state_of(event.seen.object))
        text = self._columns(event, said) + "\n"
        return text + "".join(
            f"    {one_line_of(change, longest=LONGEST_VALUE)}\n" for change in _changes(event, without=NOISE)
        )

    def _columns(self, event: Event, said: str) -> str:
        self.widen([event])
        padded = [word.ljust(width) for word, width in zip(_words(event), self._widths, strict=True)]
        return " ".join([event.clock, *padded, said]).rstrip()


def _words(event: Event) -> tuple[str, str, str]:
    """What stands in the columns."""
    return _type(event), _object(event), one_line(_version(event.seen.object)) or "-"


def to_name(event: Event) -> str:
    """`deployment.apps/web`, ended by a line feed, as `kubectl -o name` has it."""
    resource = event.resource
    kind = f"{resource.singular}.{resource.group}" if resource.group else resource.singular
    return f"{kind}/{one_line(_name(event.seen.object))}\n"


# What a terminal acts on or a reader of lines stumbles over, and what UTF-8 cannot say.
_NOT_RAW = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def to_json(event: Event) -> str:
    """One JSON object on one line, ended by a line feed."""
    seen = event.seen
    told: dict[str, Any] = {
        "type": seen.type,
        "resourceVersion": _version(seen.object),
        "time": event.time,
        "object": seen.object,
        "changes": [_change(change) for change in _changes(event, without=NOISE)],
    }
    if seen.origin in (INITIAL, RELIST):
        told[seen.origin] = True
    if event.departure is not None:
        told["departure"] = event.departure.how
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return _NOT_RAW.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n"


def _change(change: Change) -> dict[str, Any]:
    told: dict[str, Any] = {"path": change.path}
    if change.before is not ABSENT:
        told["before"] = change.before
    if change.after is not ABSENT:
        told["after"] = change.after
    return told | ({"order": True} if change.is_order else {})


def _before(event: Event) -> Object | None:
    """The state to compare with, None where there is none to tell about."""
    return event.seen.before if event.seen.type != "BOOKMARK" else None


def _changes(event: Event, *, without: tuple[tuple[str, ...], ...]) -> list[Change]:
    before, after = _before(event), event.seen.object
    if event.departure is not None and event.departure.now is not None:
        before, after = before or after, event.departure.now
    return changes(before, after, without=without) if before is not None else []


def _told(event: Event) -> str:
    """What changed, on a line; of what is new, what it is like."""
    how = _how(event)
    if event.seen.type == "BOOKMARK" or (event.seen.type == "DELETED" and event.departure is None):
        return how
    if _before(event) is None and event.departure is None:
        return ", ".join(filter(None, (state_of(event.seen.object), how)))
    found = _changes(event, without=_LINE_NOISE)
    said = _joined([one_line_of(change) for change in found if not _is_mere_order(change)])
    if not said and event.seen.type == "MODIFIED":
        said = "(nothing that is shown here)"
    return ", ".join(filter(None, (said, how))) if event.departure is None else ": ".join(filter(None, (how, said)))


def _is_mere_order(change: Change) -> bool:
    # Controllers put the condition that they touched last to the end; it means nothing.
    return change.is_order and change.path == "status.conditions"


def _joined(parts: list[str]) -> str:
    """As many as fit on a line, and how many more there are."""
    text = ""
    for number, part in enumerate(parts):
        longer = f"{text}, {part}" if text else part
        if text and len(longer) > LONGEST_LINE:
            return f"{text}, and {len(parts) - number} more"
        text = longer
    return text


def _how(event: Event) -> str:
    """What there is to say of how the state was seen."""
    departure = event.departure
    if departure is not None and departure.how == LEFT:
        return "matches the selector no more"
    if departure is not None and departure.how == UNKNOWN:
        return f"deleted, or it matches the selector no more (it cannot be read: {one_line(departure.why)})"
    if event.seen.type == "BOOKMARK" and metadata_of(event.seen.object).get("annotations"):
        return "end of the initial events"
    return "seen by listing again" if event.seen.origin == RELIST else ""


def _type(event: Event) -> str:
    if event.departure is not None and event.departure.how == LEFT:
        return "LEFT"
    return "LISTED" if event.seen.origin == INITIAL else event.seen.type


def _version(item: Object) -> str:
    return str(metadata_of(item).get("resourceVersion") or "")


def _name(item: Object) -> str:
    return str(metadata_of(item).get("name") or "")


def _object(event: Event) -> str:
    item = event.seen.object
    kind = one_line(str(item.get("kind") or event.resource.kind))
    namespace, name = (one_line(str(metadata_of(item).get(field) or "")) for field in ("namespace", "name"))
    if not name:
        return kind
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def state_of(item: Object) -> str:
    """What an object is like, in a few words, by what most kinds have: replicas, a phase, a condition."""
    spec, status = _part(item, "spec"), _part(item, "status")
    words = [_replicas(spec, status) or _phase(status) or _condition(status)]
    if metadata_of(item).get("deletionTimestamp"):
        words.append("being deleted")
    return ", ".join(filter(None, words))


def _part(item: Object, field: str) -> Object:
    part = item.get(field)
    return part if isinstance(part, dict) else {}


def _replicas(spec: Object, status: Object) -> str:
    for wanted, ready in (
        (spec.get("replicas"), status.get("readyReplicas", 0)),
        (status.get("desiredNumberScheduled"), status.get("numberReady", 0)),
    ):
        if isinstance(wanted, int) and isinstance(ready, int):
            return f"{ready}/{wanted} ready"
    return ""


def _phase(status: Object) -> str:
    phase = status.get("phase")
    return one_line(phase)[:_WIDEST] if isinstance(phase, str) else ""


def _condition(status: Object) -> str:
    conditions = status.get("conditions")
    found = {
        one.get("type"): one.get("status")
        for one in (conditions if isinstance(conditions, list) else [])
        if isinstance(one, dict) and isinstance(one.get("type"), str)
    }
    for kind in ("Complete", "Failed", "Ready", "Available", "Established"):
        if found.get(kind) in ("True", "False") and (found[kind] == "True" or kind not in ("Complete", "Failed")):
            return kind if found[kind] == "True" else f"not {kind}"
    return ""
