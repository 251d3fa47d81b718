"""Points in time that a wait must not pass, and the error for one that did.

Times are seconds of `time.monotonic()`. A *deadline* bounds a whole exchange; a *limit* is how long one step
may take. A step ends at whichever comes first, and the error says which it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from rawkube.errors import DeadlineExceeded

# The two texts of Go's net/http for a passed Client.Timeout: before the answer's head, and in its body.
AWAITING_HEADERS = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
READING_BODY = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"


def end_of(limit: float, deadline: float | None) -> float:
    """When a step that starts now and may take `limit` seconds must be over."""
    end = time.monotonic() + limit
    return end if deadline is None or end < deadline else deadline


def exceeded(
    step: str,
    text: str,
    *,
    deadline: float | None,
    overall: str = AWAITING_HEADERS,
    server: str = "",
    detail: Iterable[str] = (),
) -> DeadlineExceeded:
    """The error for a step that took too long: `overall` where the whole exchange's deadline has passed."""
    if deadline is not None and time.monotonic() >= deadline:
        return DeadlineExceeded(overall, step="request", server=server, detail=detail)
    return DeadlineExceeded(text, step=step, server=server, detail=detail)
