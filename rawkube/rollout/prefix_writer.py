"""What `kubectl describe` writes with: lines that begin at levels of two spaces. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import Any

LONGEST = 140
"""How many bytes of an annotation's line are shown."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Strings = Mapping[str, Any]


class PrefixWriter:
    """Text, written piece by piece. Each piece gets the indentation of its level, wherever it stands in a line."""

    def __init__(self, *, outer: int = 0, parts: list[str] | None = None) -> None:
        self._outer = outer
        self._parts: list[str] = [] if parts is None else parts

    def nested(self, level: int) -> PrefixWriter:
        """A writer into the same text whose levels begin further right."""
        return PrefixWriter(outer=self._outer + level, parts=self._parts)

    def write(self, level: int, text: str) -> None:
        """One piece: the indentation, then the text."""
        self._parts.append("  " * (self._outer + level) + text)

    def text(self) -> str:
        """All that was written."""
        return "".join(self._parts)


def cut(text: str, limit: int = LONGEST) -> str:
    """The first bytes of a text, and three dots, where it is longer (a character may be cut, as in kubectl)."""
    data = text.encode("utf-8", "surrogateescape")
    return text if len(data) <= limit else data[:limit].decode("utf-8", "surrogateescape") + "..."


def write_map(out: PrefixWriter, title: str, pairs: Strings | None, *, level: int = 0, cuts: bool = False) -> None:
    """`Title:<tab>a=1`, and a line for each further pair, sorted; `<none>` where there are none."""
    out.write(level, f"{title}:\t")
    if not pairs:
        out.write(0, "<none>\n")
    for number, key in enumerate(sorted(pairs or ())):
        if number:
            out.write(level, "")
            out.write(level, "\t")
        line = f"{key}={(pairs or {})[key]}"
        out.write(level, (cut(line) if cuts else line) + "\n")


def write_annotations(out: PrefixWriter, title: str, annotations: Strings | None) -> None:
    """As write_map, with `key: value`; long values and those of several lines begin on a line of their own."""
    out.write(0, f"{title}:\t")
    shown = {key: value for key, value in (annotations or {}).items() if key != LAST_APPLIED}
    if not shown:
        out.write(0, "<none>\n")
    for number, key in enumerate(sorted(shown)):
        if number:
            out.write(0, "\t")
        value = str(shown[key]).removesuffix("\n")
        if len(f"{key}: {value}".encode("utf-8", "surrogateescape")) > LONGEST or "\n" in value:
            out.write(0, f"{key}:\n")
            for line in value.split("\n"):
                out.write(0, f"\t  {cut(line, LONGEST - 2)}\n")
        else:
            out.write(0, f"{key}: {value}\n")
