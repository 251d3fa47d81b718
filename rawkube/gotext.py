"""Text as Go writes it, for messages whose wording is kubectl's. Pure."""

from __future__ import annotations

_SHORT = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
}

# unicode.IsSpace: what strings.TrimSpace removes (str.strip() would also remove U+001C to U+001F).
SPACE = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def _escape(char: str) -> str:
    """One character as strconv.Quote writes it inside the quotes."""
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as the error handler "surrogateescape" keeps it
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return r"\ufffd"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_quote(text: str | bytes, *, mark: str = '"') -> str:
    r"""`text` quoted as by `%q` of Go (strconv.Quote): `a"b` → `"a\"b"`. Always one printable line.

    `mark`: the quotation mark, which is escaped inside; `'` is how Go quotes a single character.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    return mark + one_line(text.replace("\\", r"\\").replace(mark, "\\" + mark)) + mark


def one_line(text: str) -> str:
    """`text` with every character that a terminal would obey escaped as in Go; quotes, backslashes stay."""
    return text if text.isprintable() else "".join(map(_escape, text))


def int64(text: str) -> int:
    """`strconv.ParseInt(text, 10, 64)`: ASCII digits, at most a sign. Raises ValueError with Go's text."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    lead = digits[: len(digits) - len(digits.lstrip("0123456789"))].lstrip("0")
    # Go reads from the left and stops at a digit that does not fit 64 bits before it sees a wrong character.
    if len(lead) > 20 or int(lead or "0") >= 2**64:
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    if not digits or digits.lstrip("0123456789"):
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    value = int(lead or "0") * (-1 if text[0] == "-" else 1)
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return value
