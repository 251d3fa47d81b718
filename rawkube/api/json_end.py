"""Where does a JSON object end, in a buffer that grows? Pure."""

from __future__ import annotations

import re

# encoding/json of Go reads no deeper than this.
MAX_DEPTH = 10_000

_CLOSER = {ord("{"): ord("}"), ord("["): ord("]")}
_PLAIN = rb'[^"{}\[\]]*'
# The repetitions are counted because each one costs the regular expression engine memory.
_STRING_PIECE = rb'[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*){0,99}'
_STRING = b'"' + _STRING_PIECE + b'"'
_FLAT = _PLAIN + b"(?:" + _STRING + _PLAIN + b"){0,99}"
# A bracket that stands where no value may stand is not skipped, so that it is seen.
_WHOLE = b"(?:" + _STRING + rb"|(?<=[:,\[])(?:\{" + _FLAT + rb"\}|\[" + _FLAT + rb"\]))"
_TO_BRACKET = re.compile(_PLAIN + b"(?:" + _WHOLE + _PLAIN + b"){0,99}")
_INSIDE_STRING = re.compile(_STRING_PIECE)


class ValueScanner:
    """Finds where the JSON object (RFC 8259) that begins at `start` ends, in time that grows with its length only.

    `position` is the offset of the first byte that has not been looked at; whoever removes bytes from the
    beginning of the buffer lowers it. It judges brackets, strings, and little else: a JSON parser has the last
    word on what lies between.
    """

    __slots__ = ("_closers", "_in_string", "position")

    def __init__(self, start: int) -> None:
        self.position = start + 1
        self._closers = bytearray(b"}")
        self._in_string = False

    def find_end(self, buffer: bytearray) -> int:
        """The offset after the object, or -1 if the buffer ends before it does.

        Raises ValueError if the bytes before `position` can be no JSON, whatever follows, or are nested too deeply.
        """
        size = len(buffer)
        while self.position < size:
            if self._in_string:
                if not self._string_goes_on(buffer):
                    break
                continue
            start = _end_of(_TO_BRACKET, buffer, self.position)
            self.position = start + 1
            if start >= size:
                self.position = size
            elif buffer[start] == 0x22:
                self._in_string = True
            elif self._bracket(buffer, start):
                return self.position
        return -1

    def _string_goes_on(self, buffer: bytearray) -> bool:
        """Go on in a string, maybe to its end. False: more bytes are needed."""
        start = self.position = _end_of(_INSIDE_STRING, buffer, self.position)
        if start == len(buffer):
            return False
        if buffer[start] == 0x22:
            self._in_string = False
            self.position += 1
        elif buffer[start] == 0x5C:
            escaped = buffer[start + 1 : start + 2]
            if escaped and escaped[0] < 0x20:
                raise self._not_json(start + 2)
            return bool(escaped)
        else:
            raise self._not_json(start + 1)  # a control character: the string was cut
        return True

    def _bracket(self, buffer: bytearray, start: int) -> bool:
        """Take the bracket at `start`. True if it ends the object."""
        char = buffer[start]
        if char not in _CLOSER:
            if self._closers.pop() != char:
                raise self._not_json(start + 1)
            return not self._closers
        if _before(buffer, start) not in b":,[":
            raise self._not_json(start + 1)  # such as `} {`: what was to follow the first object is missing
        self._closers.append(_CLOSER[char])
        if len(self._closers) > MAX_DEPTH:
            raise self._not_json(start + 1)
        return False

    def _not_json(self, position: int) -> ValueError:
        self.position = position
        return ValueError("not JSON")


def _before(buffer: bytearray, start: int) -> int:
    """The last byte before `start` that is no white space; there is one."""
    start -= 1
    while buffer[start] in b" \t\r\n":
        start -= 1
    return buffer[start]


def _end_of(pattern: re.Pattern[bytes], buffer: bytearray, start: int) -> int:
    """Where the match at `start` ends. The match object must not outlive this: it keeps the buffer's size."""
    match = pattern.match(buffer, start)
    return match.end() if match else start
