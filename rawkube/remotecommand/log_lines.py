"""The lines of a container's log with the kubelet's timestamps, and where a broken stream is taken up again. Pure.

With `timestamps=true` each line of a log begins with the time at which it was written (RFC 3339 with nanoseconds and
the node's own time zone) and a space (PodLogOptions, core/v1). `sinceTime` reaches the kubelet in whole seconds
(metav1.Time), and it then sends every line from there on, in the order of the log file: so what was shown in that
second comes again, and `Position` knows it by its timestamps.
"""

from __future__ import annotations

from rawkube._typing import NamedTuple

LONGEST = 256 * 1024
"""How much of a line is kept until its end has come, in bytes: of a longer one this much is passed on before."""

REMEMBERED = 100_000
"""How many different timestamps of the last second are kept apart; in a fuller second they count as one."""

_SECOND = 10**9
_LONGEST_STAMP = 40
_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


class Piece(NamedTuple):
    """A line, or a part of one that is too long to keep.

    `stamp`: nanoseconds since 1970, None where the line has no timestamp; `head`: the timestamp with its space as it
    came, on a line's first piece only; `data`: what follows, with the line feed where there is one. `first`, `last`:
    whether the line begins, ends with it.
    """

    stamp: int | None
    head: bytes
    data: bytes
    first: bool = True
    last: bool = True


class Stamps:
    """Reads timestamps; what a second's worth of them has in common is read once."""

    def __init__(self) -> None:
        self._second = b""
        self._zone = b""
        self._base = 0

    def read(self, word: bytes) -> int | None:
        """Nanoseconds since 1970 of `2026-11-30T18:47:55.123456789Z`; None for what is no such time."""
        second, rest = word[:19], word[19:]
        end = next((at for at, byte in enumerate(rest) if byte in b"Z+-"), -1)
        if end < 0:
            return None
        fraction, zone = rest[:end], rest[end:]
        if second != self._second or zone != self._zone:
            base = _seconds(second, zone)
            if base is None:
                return None
            self._second, self._zone, self._base = second, zone, base
        if not fraction:
            return self._base * _SECOND
        if fraction[:1] != b"." or not fraction[1:].isdigit() or len(fraction) > 10:
            return None
        return self._base * _SECOND + int(fraction[1:].ljust(9, b"0"))


def _seconds(text: bytes, zone: bytes) -> int | None:
    """Seconds since 1970 of `2026-11-30T18:47:55` in a zone `Z` or `+02:00`."""
    marks = text[4:5] + text[7:8] + text[10:11] + text[13:14] + text[16:17]
    numbers = (text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19])
    if marks != b"--T::" or len(text) != 19 or not all(each.isdigit() for each in numbers):
        return None
    offset = _offset(zone)
    year, month, day, hour, minute, second = map(int, numbers)
    if offset is None or not 1 <= month <= 12:
        return None
    leap = month > 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 + _DAYS[month - 1] + leap + day - 1 - 719162
    return days * 86400 + hour * 3600 + minute * 60 + second - offset


def _offset(zone: bytes) -> int | None:
    if zone == b"Z":
        return 0
    hours, minutes = zone[1:3], zone[4:6]
    if len(zone) != 6 or zone[3:4] != b":" or not (hours + minutes).isdigit():
        return None
    return (int(hours) * 3600 + int(minutes) * 60) * (-1 if zone[:1] == b"-" else 1)


class Lines:
    """Bytes in as they come, pieces out: whole lines, and what is too long to wait for a line's end."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._stamps = Stamps()
        self._begun: int | None = None
        self._inside = False

    def feed(self, data: bytes) -> list[Piece]:
        """What is whole by now."""
        *whole, rest = data.split(b"\n")
        if not whole:
            self._rest += rest
            return self._long()
        pieces = [self._piece(bytes(self._rest) + whole[0] + b"\n", last=True)]
        pieces += [self._piece(line + b"\n", last=True) for line in whole[1:]]
        self._rest = bytearray(rest)
        return pieces + self._long()

    def rest(self, *, cut: bool = False) -> list[Piece]:
        """The last line, if it had no end; `cut`: unless what there is of it may be a timestamp that was cut off."""
        rest, self._rest = bytes(self._rest), bytearray()
        if not rest and not self._inside:
            return []
        if cut and not self._inside and b" " not in rest and rest[:1].isdigit():
            return []
        return [self._piece(rest, last=True)]

    def _long(self) -> list[Piece]:
        pieces = []
        while len(self._rest) > max(self._longest, _LONGEST_STAMP):
            pieces.append(self._piece(bytes(self._rest[: self._longest]), last=False))
            del self._rest[: self._longest]
        return pieces

    def _piece(self, data: bytes, *, last: bool) -> Piece:
        if self._inside:
            self._inside = not last
            return Piece(self._begun, b"", data, first=False, last=last)
        self._inside = not last
        word, space, _ = data[:_LONGEST_STAMP].partition(b" ")
        stamp = self._stamps.read(word if space else word.removesuffix(b"\n"))
        self._begun = stamp
        if stamp is None:
            return Piece(None, b"", data, last=last)
        at = len(word) + 1 if space else len(word.removesuffix(b"\n"))
        return Piece(stamp, data[:at], data[at:], last=last)


class Position:
    """How far a log has been shown, over all streams of it.

    Each piece that comes is handed to `show`; `resume` says that a new stream begins, from `since`.
    """

    def __init__(self) -> None:
        self._shown: dict[int, int] = {}
        self._full = -1
        self._last: int | None = None
        self._partial: tuple[int | None, int] | None = None
        # Of the present stream, where it is not the first:
        self._again: dict[int, int] = {}
        self._again_full = -1
        self._resumed_at: int | None = None
        self._begun: tuple[int | None, int] | None = None
        self._fresh = True
        self._inside: str = ""
        self._drop = 0
        self.lines = 0
        self.gap = False

    @property
    def since(self) -> str:
        """Where the next stream is to begin, as `sinceTime` (UTC, whole seconds); empty before the first line."""
        return _text(self._last // _SECOND) if self._last is not None else ""

    def resume(self) -> None:
        """A new stream begins, from `since`. What has been shown comes again first."""
        self._again = dict(self._shown)
        self._again_full = self._full
        self._resumed_at = self._last
        self._begun = self._partial
        self._fresh = True
        self._inside = ""
        self._drop = 0

    def show(self, piece: Piece) -> tuple[bytes, bytes] | None:
        """The timestamp and the bytes of the piece that are to be shown; None for what was shown before.

        `gap` becomes true when the line that was shown last does not come again: the log was rotated meanwhile.
        `lines` counts the lines that were begun to be shown.
        """
        if piece.first:
            self._inside = "skip" if self._was_shown(piece) else "show"
            self.lines += self._inside == "show" and not self._drop
            self._fresh = False
        if self._inside == "skip":
            return None
        data, self._drop = piece.data[self._drop :], max(0, self._drop - len(piece.data))
        self._note(piece)
        return piece.head if len(data) == len(piece.data) else b"", data

    def _was_shown(self, piece: Piece) -> bool:
        stamp, at = piece.stamp, self._resumed_at
        if stamp is None:
            return False
        left = self._again.get(stamp, 0)
        if left:
            self._again[stamp] = left - 1
            return True
        if stamp <= self._again_full:
            return True
        if self._begun is not None and stamp == self._begun[0]:
            self._drop, self._begun = self._begun[1], None
        elif at is None:
            return False
        elif self._fresh and stamp < at:
            return True  # the tail of a long line, whose pieces have timestamps of their own in the log file
        elif stamp > at:
            self.gap = self.gap or bool(self._again.get(at))
            self._again, self._again_full, self._resumed_at, self._begun = {}, -1, None, None
        return False

    def _note(self, piece: Piece) -> None:
        if not piece.last:
            before = self._partial[1] if self._partial is not None and not piece.first else 0
            self._partial = (piece.stamp, before + len(piece.data))
            return
        self._partial = None
        if piece.stamp is None:
            return
        if self._last is None or piece.stamp // _SECOND > self._last // _SECOND:
            self._forget(piece.stamp // _SECOND * _SECOND)
        self._last = piece.stamp
        self._shown[piece.stamp] = self._shown.get(piece.stamp, 0) + 1
        if len(self._shown) > REMEMBERED:
            self._full = max(self._shown)
            self._shown = {}

    def _forget(self, before: int) -> None:
        self._shown = {stamp: count for stamp, count in self._shown.items() if stamp >= before}


def _text(seconds: int) -> str:
    """Seconds since 1970 in RFC 3339."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Prefixer:
    """Bytes in, the same bytes out, with a prefix before each line (kubectl's `prefixingWriter`)."""

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._at_start = True

    def feed(self, data: bytes) -> bytes:
        """These bytes, each line that begins in them behind the prefix."""
        if not data:
            return b""
        out = data
        if self._prefix:
            *whole, rest = data.split(b"\n")
            out = b"".join(self._prefix + line + b"\n" for line in whole) + (self._prefix + rest if rest else b"")
            if not self._at_start:
                out = out[len(self._prefix) :]
        self._at_start = data.endswith(b"\n")
        return out

    def interrupt(self) -> bytes:
        """Something else is to be written: the end of a line that has begun."""
        if self._at_start:
            return b""
        self._at_start = True
        return b"\n"
