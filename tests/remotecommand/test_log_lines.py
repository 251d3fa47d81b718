from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.remotecommand.log_lines import Lines, Piece, Position, Prefixer, Stamps
from tests.support.examples import EVERY_WAY, examples
from tests.support.logs_server import Line, Log, line
from tests.support.rows import looped

SECOND = 10**9
TEN = 1796032800 * SECOND  # 2026-11-30T10:00:00Z


@looped(
    ("word", "expected"),
    [
        (b"2026-11-30T10:00:00.000000001Z", TEN + 1),
        (b"2026-11-30T10:00:00Z", TEN),
        (b"2026-11-30T12:00:00.5+02:00", TEN + SECOND // 2),
        (b"2026-11-30T04:30:00.000000000-05:30", TEN),
        (b"1970-01-01T00:00:00Z", 0),
        (b"2024-02-29T00:00:00Z", 1709164800 * SECOND),
        (b"2024-03-01T00:00:00Z", 1709251200 * SECOND),
        (b"2100-03-01T00:00:00Z", 4107542400 * SECOND),
        (b"2026-11-30T10:00:00.1234567890Z", None),
        (b"2026-11-30T10:00:00.Z", None),
        (b"2026-11-30T10:00:00", None),
        (b"2026-13-30T10:00:00Z", None),
        (b"2026-11-30 10:00:00Z", None),
        (b"2026-11-30T10:00:00+0200", None),
        (b"2026-11-30T10:00:00+02:0x", None),
        (b"", None),
        (b"failed", None),
    ],
)
def test_timestamps(word: bytes, expected: int | None) -> None:
    stamps = Stamps()
    assert [stamps.read(word), stamps.read(word)] == [expected, expected]


def test_a_timestamp_in_the_same_second_but_another_zone() -> None:
    stamps = Stamps()
    assert stamps.read(b"2026-11-30T10:00:00.1Z") == TEN + SECOND // 10
    assert stamps.read(b"2026-11-30T10:00:00.1+01:00") == TEN + SECOND // 10 - 3600 * SECOND


STREAM = (
    b"2026-11-30T10:00:00.000000001Z plain\n"
    b"2026-11-30T10:00:00.000000002Z \n"
    b"2026-11-30T10:00:00.000000003Z\n"
    b"\n"
    b"failed to create fsnotify watcher: too many open files\n"
    b"2026-11-30T10:00:01.000000000Z \xff\xfe\x00 \r\n"
    b"2026-11-30T10:00:01.000000000Z a line that is longer than what is kept of a line until its end has come\n"
    b"2026-11-30T10:00:02.000000000Z no end"
)


def joined(pieces: list[Piece]) -> list[tuple[int | None, bytes, bytes]]:
    """The lines again, whatever they were cut into."""
    lines: list[tuple[int | None, bytes, bytes]] = []
    for piece in pieces:
        if piece.first:
            lines.append((piece.stamp, piece.head, piece.data))
        else:
            assert piece.stamp == lines[-1][0] and piece.head == b""
            lines[-1] = (*lines[-1][:2], lines[-1][2] + piece.data)
    return lines


EXPECTED = [
    (TEN + 1, b"2026-11-30T10:00:00.000000001Z ", b"plain\n"),
    (TEN + 2, b"2026-11-30T10:00:00.000000002Z ", b"\n"),
    (TEN + 3, b"2026-11-30T10:00:00.000000003Z", b"\n"),
    (None, b"", b"\n"),
    (None, b"", b"failed to create fsnotify watcher: too many open files\n"),
    (TEN + SECOND, b"2026-11-30T10:00:01.000000000Z ", b"\xff\xfe\x00 \r\n"),
    (
        TEN + SECOND,
        b"2026-11-30T10:00:01.000000000Z ",
        b"a line that is longer than what is kept of a line until its end has come\n",
    ),
    (TEN + 2 * SECOND, b"2026-11-30T10:00:02.000000000Z ", b"no end"),
]


@pytest.mark.parametrize("longest", [50, 10_000])
def test_lines_cut_at_every_byte(longest: int) -> None:
    for cut in range(len(STREAM) + 1):
        lines = Lines(longest)
        pieces = [*lines.feed(STREAM[:cut]), *lines.feed(STREAM[cut:]), *lines.rest()]
        assert joined(pieces) == EXPECTED, cut
        assert all(piece.last == piece.data.endswith(b"\n") for piece in pieces[:-1])
        assert pieces[-1].last


def test_lines_byte_by_byte() -> None:
    lines = Lines(50)
    pieces = [piece for at in range(len(STREAM)) for piece in lines.feed(STREAM[at : at + 1])]
    assert joined([*pieces, *lines.rest()]) == EXPECTED
    assert lines.rest() == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"2026-11-30T10:0", b""),
        (b"2026-11-30T10:00:00Z", b""),
        (b"2026-11-30T10:00:00Z ha", b"ha"),
        (b"oops", b"oops"),
    ],
)
def test_half_a_timestamp_is_no_text(data: bytes, expected: bytes) -> None:
    lines = Lines()
    lines.feed(data)
    assert b"".join(piece.data for piece in lines.rest(cut=True)) == expected


def test_a_line_without_an_end_is_passed_on() -> None:
    lines, got = Lines(1000), 0
    for _ in range(100):
        got += sum(len(piece.data) for piece in lines.feed(b"x" * 999))
        assert len(lines._rest) <= 1000
    assert got + sum(len(piece.data) for piece in lines.rest()) == 99_900


def streams(log: Log, cuts: list[int], *, longest: int = 10_000, piece: int = 0, fine: bool = False) -> bytes:
    """What is shown of a log whose streams break after so many bytes, the last one not at all."""
    position, out = Position(), b""
    for number, cut in enumerate([*cuts, -1]):
        if number:
            position.resume()
        query = {"timestamps": "true"} | ({"sinceTime": position.since} if position.since else {})
        if fine and position._last is not None:
            query["sinceTime"] = f"2026-11-30T10:00:{position._last // SECOND % 60:02d}.{position._last % SECOND:09d}Z"
        data = log.body(query)
        data = data if cut < 0 else data[:cut]
        lines, step = Lines(longest), piece or max(1, len(data))
        pieces = [one for at in range(0, len(data), step) for one in lines.feed(data[at : at + step])]
        pieces += lines.rest() if cut < 0 else []
        for one in pieces:
            shown = position.show(one)
            out += shown[1] if shown else b""
    assert not position.gap
    return out


def text(log: Log) -> bytes:
    return b"".join(each.data for each in log.lines)


LOG = Log(
    [
        line(0.5, "before"),
        line(1.1, "one"),
        line(1.1, "one"),
        line(1.1, "the same time, another text"),
        line(1.2, b"\xff\x00"),
        line(1.2, ""),
        line(1.15, "late, from the other stream"),
        line(2.0, "two, a long one: " + "x" * 80),
        line(2.0, "two", end=b""),
    ]
)


@pytest.mark.parametrize("longest", [48, 10_000])
@pytest.mark.parametrize("fine", [False, True], ids=["whole-seconds", "nanoseconds"])
def test_a_stream_cut_at_every_byte_loses_and_repeats_nothing(longest: int, fine: bool) -> None:
    # A server that compares nanoseconds does not send again what was late.
    log = Log([each for each in LOG.lines if b"late" not in each.data]) if fine else LOG
    for cut in range(len(log.body({"timestamps": "true"})) + 1):
        assert streams(log, [cut], longest=longest, fine=fine) == text(log), cut
        if EVERY_WAY or cut % 4 == 0:
            assert streams(log, [cut, cut // 2, 30], longest=longest, fine=fine) == text(log), cut


some_lines = st.lists(
    st.tuples(st.sampled_from([0, 0, 0, 1, 400_000_000, SECOND]), st.binary(max_size=60)), max_size=12
)


@settings(max_examples=examples(150), deadline=None)
@given(some_lines, st.lists(st.integers(0, 900), max_size=4), st.integers(0, 50))
def test_any_log_and_any_breaks(steps: list[tuple[int, bytes]], cuts: list[int], piece: int) -> None:
    now, lines = 0, []
    for step, data in steps:
        now += step
        lines.append(line(now / SECOND, data.replace(b"\n", b".")))
    log = Log(lines)
    assert streams(log, cuts, longest=45, piece=piece) == text(log)


def show(position: Position, *lines: Line) -> list[bytes]:
    """What is shown of these lines."""
    out = []
    for each in lines:
        for piece in Lines().feed(each.stamp.encode() + b" " + each.data):
            shown = position.show(piece)
            out += [shown[1]] if shown else []
    return out


def test_a_rotated_log_is_noticed() -> None:
    position = Position()
    show(position, line(1, "a"), line(1.5, "b"))
    position.resume()
    assert show(position, line(7, "c"), line(7.5, "d")) == [b"c\n", b"d\n"]
    assert position.gap


def test_a_clock_that_was_put_back_loses_nothing() -> None:
    position = Position()
    show(position, line(40, "a"), line(2, "b"))
    assert position.since == "2026-11-30T10:00:02Z"
    position.resume()
    assert show(position, line(40, "a"), line(2, "b"), line(3, "c")) == [b"c\n"]


def test_the_tail_of_a_long_line_does_not_come_again() -> None:
    """The pieces of a long line have times of their own in the log file; the kubelet may begin in its middle."""
    position = Position()
    show(position, line(1.9, "head and tail"), line(2.5, "b"))
    position.resume()
    assert show(position, line(2.1, "and tail"), line(2.5, "b"), line(2.6, "c")) == [b"c\n"]


def test_a_second_that_is_too_full_is_remembered_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rawkube.remotecommand.log_lines.REMEMBERED", 10)
    position = Position()
    full = [line(1 + at / 1000, str(at)) for at in range(50)]
    assert len(show(position, *full)) == 50
    assert len(position._shown) <= 10
    position.resume()
    assert show(position, *full, line(1.9, "new")) == [b"new\n"]


def test_lines_without_a_time_are_shown_and_do_not_count() -> None:
    position = Position()
    show(position, line(1, "a"))
    assert position.show(Piece(None, b"", b"oops\n")) == (b"", b"oops\n")
    assert position.since == "2026-11-30T10:00:01Z"


@looped("data", [b"", b"a", b"a\n", b"\n", b"a\n\nb", b"\na\n"])
def test_prefixes(data: bytes) -> None:
    expected = b"".join(b"[p] " + each for each in data.splitlines(keepends=True))
    for cut in range(len(data) + 1):
        prefixer = Prefixer(b"[p] ")
        assert prefixer.feed(data[:cut]) + prefixer.feed(data[cut:]) == expected
        without = Prefixer(b"")
        assert without.feed(data[:cut]) + without.feed(data[cut:]) == data


def test_a_line_that_is_interrupted_ends_and_begins_again() -> None:
    prefixer = Prefixer(b"> ")
    assert prefixer.interrupt() == b""
    assert prefixer.feed(b"half") == b"> half"
    assert prefixer.interrupt() == b"\n"
    assert prefixer.feed(b" rest\n") == b">  rest\n"
    assert prefixer.interrupt() == b""
