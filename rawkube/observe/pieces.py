"""Pure: the pieces of a stream that faults count: lines of an answer, messages of a WebSocket session."""

from __future__ import annotations

from collections.abc import Callable

from rawkube._typing import NamedTuple
from rawkube.observe import derive
from rawkube.observe.exchanges import Answer, Chunk

_DATA = (0, 1, 2)  # continuation, text, binary (RFC 6455, section 5.2)
_FIN = 0x80


class Cut(NamedTuple):
    """Where a stream of frames is to be broken: `data` is still to be sent."""

    data: bytes
    broken: bool


def by_line(answer: Answer, *, chunked: bool) -> tuple[Answer, range]:
    """The answer with each line of its body in a chunk of its own; and which of its `raw` are those lines.

    A line that is cut off at the end is sent, but is none of them. Raises ValueError where gzip cannot be undone.
    """
    lines: list[Chunk] = []
    rest = b""
    for chunk in derive.decoded(answer):
        *whole, rest = (rest + chunk.data).split(b"\n")
        lines += [Chunk(chunk.delay, line + b"\n") for line in whole]
    count = len(lines)
    if rest:
        lines.append(Chunk(answer.body[-1].delay, rest))
    told = [(name, value) for name, value in answer.headers if name.lower() != "content-encoding"]
    found = derive.framed(answer._replace(headers=tuple(told), body=tuple(lines)), chunked=chunked)
    # The head comes as early as it did, not with the first line.
    head = found.raw[0]._replace(delay=answer.raw[0].delay if answer.raw else found.raw[0].delay)
    return found._replace(raw=(head, *found.raw[1:])), range(1, 1 + count)


class Messages:
    """A server's frames, cut anywhere → the same, cut where a fault strikes.

    `sent()` is called behind each message that carries something, and says whether to break the stream there;
    `half()` before each, and says whether to break it in the middle. `skip`: bytes of a head before the frames.
    A message that holds a channel number and nothing else carries nothing.
    """

    def __init__(self, skip: int, *, sent: Callable[[], bool], half: Callable[[], bool]) -> None:
        self._skip = skip
        self._sent = sent
        self._half = half
        self._head = bytearray()
        self._left = 0
        self._stop = -1  # how much of the payload may be left when the stream breaks
        self._opcode = 0
        self._carried = 0

    def feed(self, data: bytes) -> Cut:
        """Take bytes; what is to be sent of them, and whether the stream breaks behind that."""
        at = min(self._skip, len(data))
        self._skip -= at
        while at < len(data):
            if self._left:
                step = min(self._left - max(self._stop, 0), len(data) - at)
                self._left -= step
                at += step
                if self._left == self._stop:
                    return Cut(data[:at], True)
            else:
                self._head.append(data[at])
                at += 1
                if not self._header_whole():
                    continue
                self._begin()
                if self._stop == self._left:
                    return Cut(data[:at], True)
            if not self._left and self._end():
                return Cut(data[:at], True)
        return Cut(data, False)

    def _header_whole(self) -> bool:
        if len(self._head) < 2:
            return False
        mask = 4 if self._head[1] & 0x80 else 0
        return len(self._head) == 2 + {126: 2, 127: 8}.get(self._head[1] & 0x7F, 0) + mask

    def _begin(self) -> None:
        length = self._head[1] & 0x7F
        extended = self._head[2 : {126: 4, 127: 10}.get(length, 2)]
        self._left = int.from_bytes(extended, "big") if extended else length
        self._opcode = self._head[0]
        self._head.clear()
        carries = self._opcode & 0x0F in _DATA
        self._carried += self._left if carries else 0
        if carries and self._carried > 1 and self._half():
            self._stop = self._left // 2

    def _end(self) -> bool:
        """At the end of a frame: whether the stream breaks here."""
        if self._opcode & 0x0F not in _DATA or not self._opcode & _FIN:
            return False
        carried, self._carried = self._carried, 0
        return carried > 1 and self._sent()
