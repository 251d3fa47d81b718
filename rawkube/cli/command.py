"""Pure: what is said of a command: its words, its flags, its help, and what does it."""

from __future__ import annotations

from rawkube._typing import NamedTuple
from rawkube.cli.flags import Flag

PROGRAM = "rawkube"


class Command(NamedTuple):
    """One command.

    `words` as typed after the program (`("rollout", "status")`); `summary`: one line; `text`: one paragraph;
    `arguments` as in a usage line; `examples`: (what it does, command line without the program); `exits`:
    (code, meaning); `positionals`: whether it takes words that are no flags. `run`: what does it, `MODULE:FUNCTION`
    in `rawkube.cli`, called with the flags as read, a function that connects (where `connects`), and the output;
    empty: its help is shown. `group`: it only has commands below it.
    """

    words: tuple[str, ...]
    summary: str
    text: str
    arguments: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    flags: tuple[Flag, ...] = ()
    exits: tuple[tuple[str, str], ...] = ()
    positionals: bool = True
    run: str = ""
    connects: bool = True
    group: bool = False

    @property
    def path(self) -> str:
        """As it is typed: `rawkube rollout status`."""
        return " ".join((PROGRAM, *self.words))
