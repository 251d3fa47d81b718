"""One difference."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """What kubectl 1.37 does, what rawkube does, in Markdown. `test`: what asserts rawkube's side, FILE::FUNCTION,
    with [CASE] where it is a row of a table."""

    topic: str
    kubectl: str
    rawkube: str
    test: str
