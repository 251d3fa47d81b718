"""What rawkube needs of `typing` when it runs, without importing it.

A type checker sees the real names. At run time they stand in annotations, which nobody evaluates; only named tuples
are something then.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import IO, Any, BinaryIO, Literal, NamedTuple, NoReturn, Protocol, Self, cast
else:
    from rawkube._named_tuple import NamedTuple

    Any = IO = BinaryIO = Literal = NoReturn = Protocol = Self = object

    def cast(kind: object, value: object) -> object:
        """The value."""
        return value


__all__ = [
    "IO",
    "TYPE_CHECKING",
    "Any",
    "BinaryIO",
    "Literal",
    "NamedTuple",
    "NoReturn",
    "Protocol",
    "Self",
    "cast",
]
