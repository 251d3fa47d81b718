"""A named tuple as `typing.NamedTuple` defines it, whose constructor is compiled once it has been called often.

Defining one of `typing` takes ten times as long as defining a class, and compiling a constructor as long as two hundred
calls of a general one. A short-lived command would pay both for fifty classes, of which it makes a few objects each.
"""
# ruff: noqa: ANN401 - what is made here are classes with fields of any type

from __future__ import annotations

import collections
from operator import itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_FORBIDDEN = frozenset(
    ("__new__", "__init__", "__slots__", "__getnewargs__", "_fields", "_make", "_replace", "_asdict")
)


class _NamedTupleType(type):
    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(mcs, name, (tuple,), {**namespace, "__slots__": ()})
        if bases != (NamedTuple,):
            return super().__new__(mcs, name, bases, namespace)
        return super().__new__(mcs, name, bases, _completed(name, namespace))


def _completed(name: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """The namespace of such a class, with all that a named tuple has."""
    fields = tuple(namespace.get("__annotations__", ()))
    if wrong := [key for key in namespace if key in _FORBIDDEN] + [key for key in fields if key[0] == "_"]:
        raise AttributeError(f"a named tuple cannot have {wrong[0]}")
    defaults = {field: namespace[field] for field in fields if field in namespace}
    if fields[len(fields) - len(defaults) :] != tuple(defaults):
        raise TypeError(f"a field of {name} without a default follows one with a default")
    getters = {field: property(itemgetter(at)) for at, field in enumerate(fields)}
    own = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields, "__slots__": ()}
    return {**namespace, **getters, **own, "__new__": _first}


_OFTEN = 100
_calls: dict[type, int] = {}


def _first(cls: Any, /, *args: object, **kwargs: object) -> Any:
    """The constructor, until it has been called often."""
    owner = next(base for base in cls.__mro__ if "__new__" in base.__dict__)
    _calls[owner] = calls = _calls.get(owner, 0) + 1
    values = None if calls > _OFTEN else _bound(owner, args, kwargs)
    if values is not None:
        return tuple.__new__(cls, values)
    _compile(owner)
    return cls.__new__(cls, *args, **kwargs)


def _bound(owner: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Iterable[object] | None:
    """The value of each field, None where the arguments do not fit; the compiled constructor says why."""
    fields = owner._fields
    if not kwargs and len(args) == len(fields):
        return args
    given = {**owner._field_defaults, **dict(zip(fields, args, strict=False)), **kwargs}
    fits = len(args) <= len(fields) and len(given) == len(fields) and not kwargs.keys() & set(fields[: len(args)])
    return [given[field] for field in fields] if fits and given.keys() == set(fields) else None


def _compile(owner: Any) -> None:
    made = collections.namedtuple(owner.__name__, owner._fields, defaults=owner._field_defaults.values())  # type: ignore[misc]
    for name in ("__new__", *owner._fields):
        setattr(owner, name, made.__dict__[name])


class NamedTuple(metaclass=_NamedTupleType):
    """The base of named tuples: `class Point(NamedTuple): x: int; y: int = 0`."""

    _fields: tuple[str, ...]
    _field_defaults: dict[str, Any]
    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Any]: ...
        def __len__(self) -> int: ...

    @classmethod
    def _make(cls, iterable: Iterable[object]) -> Any:
        made = tuple.__new__(cls, iterable)  # type: ignore[type-var]
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **changed: object) -> Any:
        made = self._make(changed.pop(field, value) for field, value in zip(self._fields, self, strict=True))
        if changed:
            raise ValueError(f"Got unexpected field names: {list(changed)!r}")
        return made

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        shown = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)
