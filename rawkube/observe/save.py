"""Writes what was made of a recording to a file that is the owner's alone, as a recording is."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rawkube.errors import RecordingError
from rawkube.gotext import one_line
from rawkube.observe.record import make_private


def save(path: str, parts: Iterable[str]) -> None:
    """`parts` of a text, one after the other (UTF-8). The file is made, or emptied. Raises RecordingError."""
    descriptor = make_private(path)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(parts)
    except OSError as error:
        raise RecordingError(f"write {one_line(path)}: {(error.strerror or str(error)).lower()}") from None
