"""One object that is waited for: which of the goals are met, as its states come. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.expected import CREATED, DELETED, Expected, read
from rawkube.errors import RawkubeError

Object = Mapping[str, Any]


class Goal(NamedTuple):
    """What is waited for, and how it was typed."""

    text: str
    expected: Expected


class Goals(NamedTuple):
    """`wanted`: what is waited for, one after the other, or with `any` for one of them; `unwanted`: what ends it."""

    wanted: tuple[Goal, ...]
    unwanted: tuple[Goal, ...] = ()
    any: bool = False

    def wants(self, what: str) -> bool:
        """Whether CREATED or DELETED is among what is wanted."""
        return any(goal.expected == what for goal in self.wanted)


class Unwanted(RawkubeError):
    """What must not be is so. `object`: with it, None where it is gone."""

    def __init__(self, goal: Goal, obj: Object | None) -> None:
        super().__init__(f"{goal.text} is met")
        self.goal = goal
        self.object = obj


def read_goals(wanted: Sequence[str], unwanted: Sequence[str] = (), *, any_of: bool = False) -> Goals:
    """The values of `--for` and `--fail-on`; CREATED comes first. Raises UsageError, JSONPathError."""
    goals, ends = ([Goal(text, read(text)) for text in texts] for texts in (wanted, unwanted))
    goals.sort(key=lambda goal: goal.expected != CREATED)
    return Goals(tuple(goals), tuple(ends), any_of)


class Waited:
    """The goals of one object. `done`: nothing more is waited for."""

    def __init__(self, goals: Goals) -> None:
        self.done = False
        self.seen = False
        self._goals = goals
        self._left = list(goals.wanted)

    @property
    def may_be_absent(self) -> bool:
        """Whether it is no error that there is no such object: it was there, or is to be created or deleted."""
        return self.seen or self._goals.wants(CREATED) or self._goals.wants(DELETED)

    def take(self, obj: Object | None) -> list[Goal]:
        """The goals that this state (None: there is no such object) meets, in order.

        Raises Unwanted, and what a goal's condition or path raises.
        """
        for goal in self._goals.unwanted:
            if self._holds(goal.expected, obj, absence=self.seen):
                raise Unwanted(goal, obj)
        was_there = self.seen
        self.seen = self.seen or obj is not None
        if self._goals.any:
            met = [goal for goal in self._left if self._holds(goal.expected, obj)][:1]
            self.done = bool(met)
        else:
            met = self._in_order(obj)
            # What is deleted meets nothing else any more.
            self.done = not self._left or (obj is None and not self._waits_for(DELETED) and self._goals.wants(DELETED))
        if obj is None and not was_there and self._goals.wants(DELETED):
            self.done = self.done or not self._goals.wants(CREATED)
            return []  # it was never there: kubectl says nothing of it
        return met

    def _in_order(self, obj: Object | None) -> list[Goal]:
        met: list[Goal] = []
        while self._left and self._holds(self._left[0].expected, obj):
            met.append(self._left.pop(0))
        return met

    def _waits_for(self, what: str) -> bool:
        return any(goal.expected == what for goal in self._left)

    def _holds(self, expected: Expected, obj: Object | None, *, absence: bool = True) -> bool:
        if isinstance(expected, str):
            return obj is not None if expected == CREATED else obj is None and absence
        return obj is not None and expected.met(obj)
