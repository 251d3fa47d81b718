"""rawkube's named tuples beside those of `typing`: a class defined twice behaves the same."""

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from rawkube import _typing
from tests.support.rows import looped


class Ours(_typing.NamedTuple):
    """Three fields."""

    a: int
    b: str = ""
    c: float = 0.0

    @property
    def twice(self) -> int:
        """Of its own."""
        return self.a * 2


class Theirs(typing.NamedTuple):
    """Three fields."""

    a: int
    b: str = ""
    c: float = 0.0

    @property
    def twice(self) -> int:
        """Of its own."""
        return self.a * 2


FIELDS = {"a": "int", "b": "str", "c": "float"}


BODY = {"__doc__": "Three fields.", "b": "", "c": 0.0, "twice": Theirs.twice}


class OursBelow(Ours):
    """A subclass."""


class TheirsBelow(Theirs):
    """A subclass."""


class NoFields(_typing.NamedTuple):
    """Empty."""


SAME: list[tuple[str, Callable[[Any], object]]] = [
    ("positions", lambda cls: tuple(cls(1, "x", 2.5))),
    ("names", lambda cls: tuple(cls(c=1.0, a=2))),
    ("defaults", lambda cls: tuple(cls(7))),
    ("attributes", lambda cls: (cls(7, "x").a, cls(7, "x").b, cls(7).c, cls(7).twice)),
    ("equality", lambda cls: (cls(1) == cls(1), cls(1) == (1, "", 0.0), hash(cls(1)) == hash((1, "", 0.0)))),
    ("repr", lambda cls: repr(cls(1, "x")).partition("(")[2]),
    ("replace", lambda cls: tuple(cls(1)._replace(b="y"))),
    ("asdict", lambda cls: cls(1)._asdict()),
    ("make", lambda cls: tuple(cls._make([1, 2, 3]))),
    ("fields", lambda cls: (cls._fields, cls._field_defaults, cls.__match_args__, cls.__doc__)),
    (
        "copies",
        lambda cls: (copy.copy(cls(1)) == cls(1), copy.deepcopy(cls(1)) == cls(1), type(copy.copy(cls(1))) is cls),
    ),
    ("pickles", lambda cls: pickle.loads(pickle.dumps(cls(1))) == cls(1)),
    ("no dict", lambda cls: cls.__name__.endswith("Below") or not hasattr(cls(1), "__dict__")),
    ("read only", lambda cls: setattr(cls(1), "a", 2)),
    ("too few", lambda cls: cls()),
    ("too many", lambda cls: cls(1, 2, 3, 4)),
    ("unknown", lambda cls: cls(1, d=2)),
    ("replace unknown", lambda cls: cls(1)._replace(d=2)),
    ("make too few", lambda cls: cls._make([1])),
]


@looped(("ours", "theirs"), [(Ours, Theirs), (OursBelow, TheirsBelow)])
@looped("what", [what for _, what in SAME], ids=[name for name, _ in SAME])
def test_the_same_as_of_typing(what: Callable[[Any], object], ours: type, theirs: type) -> None:
    assert _outcome(what, ours) == _outcome(what, theirs)


@pytest.mark.parametrize("calls", [0, 99, 100, 101, 300])
def test_the_same_however_often_it_was_called(calls: int) -> None:
    """The constructor is compiled after a hundred calls, or at the first whose arguments do not fit."""
    for name, what in SAME:
        if name == "pickles":  # wants a class that a module has
            continue
        ours = type(_typing.NamedTuple)("Ours", (_typing.NamedTuple,), {**BODY, "__annotations__": FIELDS})  # type: ignore[misc]
        for number in range(calls):
            assert ours(number, c=2.0) == (number, "", 2.0)
        assert _outcome(what, ours) == _outcome(what, Theirs), name


def _outcome(what: Callable[[Any], object], cls: type) -> object:
    try:
        return what(cls)
    except (TypeError, ValueError):  # which of them, Python's version decides
        return "refused"
    except AttributeError as error:
        return type(error)


def test_patterns_and_no_fields() -> None:
    match Ours(1, "x"):
        case Ours(a, b, 0.0):
            assert (a, b) == (1, "x")
        case _:
            raise AssertionError
    assert (NoFields(), NoFields._fields) == ((), ())


@pytest.mark.parametrize(
    ("namespace", "error"),
    [
        ({"__annotations__": {"_hidden": "int"}}, AttributeError),
        ({"__annotations__": {"a": "int"}, "__init__": None}, AttributeError),
        ({"__annotations__": {"a": "int", "b": "int"}, "a": 1}, TypeError),
    ],
)
def test_what_no_named_tuple_can_be(namespace: dict[str, Any], error: type[Exception]) -> None:
    root: Any = _typing.NamedTuple
    with pytest.raises(error):
        type(root)("Wrong", (root,), namespace)
