"""What a copy tells while it runs, and what it counts."""

from __future__ import annotations

from rawkube.gotext import go_quote

_MAX_NAME = 200


class Report:
    """Told by a copy; the command line shows it. This one only counts.

    `problems`: how many entries were refused, could not be read or written, or were cut short. `entries`: how many
    were begun. `bytes`: how much data of files has gone over. `partial`: the local file that is being written.
    """

    def __init__(self) -> None:
        self.problems = 0
        self.entries = 0
        self.bytes = 0
        self.partial = ""

    def problem(self, text: str) -> None:
        """An entry is not, or not wholly, where it should be. `text`: one line."""
        self.problems += 1
        self.note(text)

    def begin(self, name: str, size: int) -> None:
        """An entry is begun. `size`: the bytes of a file, 0 for what has none."""
        self.entries += 1

    def moved(self, count: int) -> None:
        """So many bytes of the entry have gone over."""
        self.bytes += count

    def note(self, text: str) -> None:
        """One line for a person."""

    def remote(self, data: bytes) -> None:
        """What the command in the container has written to its stderr."""


def cut(name: str) -> str:
    """At most 200 characters of a name, for a message: the container makes names as long as it likes."""
    return name if len(name) <= _MAX_NAME else name[:_MAX_NAME] + "..."


def quoted(name: str) -> str:
    """A name for a message: quoted as in Go, and cut."""
    return go_quote(cut(name))
