"""The exit codes of `rollout status`. Pure."""

from __future__ import annotations

from rawkube.rollout.happenings import (
    COMPLETE,
    DELETED,
    ERROR,
    FAILED,
    INTERRUPTED,
    NOT_FOUND,
    TIMED_OUT,
    UNFINISHED,
    Overall,
)

CODES = {COMPLETE: 0, ERROR: 1, FAILED: 3, DELETED: 4, NOT_FOUND: 5, TIMED_OUT: 6, UNFINISHED: 7}
"""With --detailed-exitcode. 2 is left to shells; a signal's is 128 and its number."""


def exit_code(overall: Overall, *, detailed: bool, required: bool, signal: int = 0) -> int:
    """The code for an end. `required`: whether the command line says how many must be complete.

    Without `detailed` it is kubectl's: 0 where nothing went wrong, though nothing was there, or nothing waited for.
    """
    if detailed:
        return 128 + signal if overall.outcome == INTERRUPTED else CODES[overall.outcome]
    if overall.outcome == COMPLETE:
        return 0
    fine = overall.outcome == UNFINISHED or (overall.outcome == NOT_FOUND and not overall.results)
    return 0 if fine and not required and overall.error is None else 1
