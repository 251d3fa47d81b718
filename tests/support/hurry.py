"""Pauses that take a tenth of their time, for commands that run in this process.

A command that is tested as a whole does little but wait for its back-off, whose own length is tested with a clock of
numbers. What must lie between two requests is a tenth then, too, and still an order of magnitude more than nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from rawkube.api.client import ApiClient
from rawkube.api.list_watch import BackOff, Floor

FACTOR = 10.0


@contextlib.contextmanager
def hurried() -> Iterator[None]:
    """Back-offs, the floor under watches and what an answer asks to be waited for (`Retry-After`), all shorter."""
    back_off, wait = BackOff.next, ApiClient._wait

    def wait_less(client: ApiClient, why: str, seconds: float, attempt: int, deadline: float | None) -> None:
        wait(client, why, seconds / FACTOR, attempt, deadline)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BackOff, "next", lambda self: back_off(self) / FACTOR)
        patch.setattr(Floor, "RATE", Floor.RATE * FACTOR)
        patch.setattr(ApiClient, "_wait", wait_less)
        yield
