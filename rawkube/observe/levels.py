"""Pure: how much of the wire is shown."""

from __future__ import annotations

LEVELS = ("headers", "events", "frames", "bytes")
"""heads, connections, errors; watch events, statuses; chunks, messages, pings; what was in them."""

DEFAULT_LEVEL = "frames"

_VERBOSITY = {6: "headers", 7: "events", 8: "frames", 9: "bytes"}


def of_verbosity(number: int) -> str:
    """The level that kubectl's `-v N` means: more than 9 is 9, less than 6 nothing."""
    return _VERBOSITY.get(min(number, 9), "")
