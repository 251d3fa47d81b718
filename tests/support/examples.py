"""What is tried by default, and what with RAWKUBE_TEST_EVERY_WAY=1: everything.

By default: a quarter of a property's examples, and a part of what is compared with kubectl, a process each.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Item = TypeVar("Item")

EVERY_WAY = bool(os.environ.get("RAWKUBE_TEST_EVERY_WAY"))
FEWEST = 20
USUAL = 100
# Of what is compared with the real kubectl, this part is by default: processes make them the dearest tests by far.
ONE_IN = 12
PROFILE = "rawkube"


def examples(number: int) -> int:
    """A quarter of `number`, unless everything is to be tried; no fewer than 20 (or `number`, if it is less)."""
    return number if EVERY_WAY else min(number, max(FEWEST, number // 4))


def chosen(name: str, one_in: int = ONE_IN) -> bool:
    """Whether what has this name is tried. The same on every machine and in every worker: by the name alone."""
    return EVERY_WAY or zlib.crc32(name.encode()) % one_in == 0


def some(of: str, items: Sequence[Item], one_in: int = 3) -> Sequence[Item]:
    """A part of a table of many. `of`: what is tested with them; something else takes another part."""
    return items if EVERY_WAY else items[zlib.crc32(of.encode()) % one_in :: one_in]


def register() -> None:
    """What a property has that says nothing of its own. No deadline: on a busy machine any example may be slow."""
    settings.register_profile(PROFILE, max_examples=examples(USUAL), deadline=None)
    settings.load_profile(PROFILE)
