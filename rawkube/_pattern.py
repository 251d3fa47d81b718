"""Regular expressions that are compiled when they are first used: a short-lived command does without most of them."""

from __future__ import annotations

import re

from rawkube._typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import AnyStr


class _Pattern:
    """Stands for a `re.Pattern`, and has its methods."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a pattern has
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, later. Only the attributes of a pattern are there; a wrong one is told at its first use."""
    return _Pattern(text, flags)  # type: ignore[return-value]
