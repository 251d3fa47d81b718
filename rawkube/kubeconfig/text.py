"""Text that came from outside, made fit for one line of a message. Pure."""

from __future__ import annotations

_SHORT = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 92: "\\\\"}


def _escaped(character: str) -> str:
    code = ord(character)
    if code in _SHORT:
        return _SHORT[code]
    if character.isprintable():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape(text: str) -> str:
    """`text` on one line: unprintable characters as Go escapes them (`\\n`, `\\x1b`, `\\u202e`)."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_escaped, text))


def quote(text: str) -> str:
    """`text` in double quotes, escaped, as Go's `%q` (strconv.Quote) writes it."""
    return '"' + escape(text).replace('"', '\\"') + '"'


def place(file: str, line: int, column: int = 0) -> str:
    """`FILE`, `FILE:LINE` or `FILE:LINE:COLUMN`; a number that is 0 is unknown and left out."""
    shown = escape(file)
    if line:
        shown += f":{line}"
        if column:
            shown += f":{column}"
    return shown
