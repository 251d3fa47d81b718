"""How faults are written, and when they strike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawkube.observe.exchanges import COMPLETE, OPEN, Answer, Chunk
from rawkube.observe.faults import IN_STREAMS, KINDS, Fault, FaultPlan, parse_fault
from rawkube.observe.pieces import Messages, by_line
from tests.observe.made import frame, masked
from tests.support.rows import looped

WRITTEN = {
    "after=3:reset": Fault("", "reset", 3),
    "after=0:close": Fault("", "close", 0),
    "after=1:stall,match=/exec": Fault("", "stall", 1, match="/exec"),
    "match=watch=true,after=12:truncate": Fault("", "truncate", 12, match="watch=true"),
    "after=2:garbage,times=all": Fault("", "garbage", 2, times=0),
    "times=4,after=2:status=503": Fault("", "status", 2, 503, times=4),
}


@looped("text", WRITTEN)
def test_a_fault_is_read(text: str) -> None:
    assert parse_fault(text) == WRITTEN[text]._replace(text=text)


WRONG = {
    "": "must be after=N:KIND",
    "after": "after needs a whole number, 0 or more",
    "after=3": "what happens must be close, reset, stall, truncate, garbage or status=CODE",
    "after=3:": "what happens must be close",
    "after=3:explode": "what happens must be close",
    "after=3:close=1": "what happens must be close",
    "after=-1:close": "after needs a whole number, 0 or more",
    "after=:close": "after needs a whole number",
    "after=٣:close": "after needs a whole number",
    "after=1:status": "a status must be a number from 200 to 599",
    "after=1:status=": "a status must be a number from 200 to 599",
    "after=1:status=101": "a status must be a number from 200 to 599",
    "after=1:status=600": "a status must be a number from 200 to 599",
    "after=1:status=5": "a status must be a number from 200 to 599",
    "after=1:close,after=2:reset": "after is given twice",
    "after=1:close,times=0": "times needs a whole number, 1 or more",
    "after=1:close,times=x": "times needs a whole number, 1 or more",
    "after=1:close,match=": "match needs a part of a path",
    "after=1:close,where=x": "must be after=N:KIND",
    "match=/exec": "must be after=N:KIND",
    "after=9999999999:close": "after needs a whole number",
}


@looped("text", WRONG)
def test_what_is_no_fault(text: str) -> None:
    with pytest.raises(ValueError, match=WRONG[text]):
        parse_fault(text)


def strikes(plan: FaultPlan, target: str, count: int) -> list[int]:
    """Behind which of so many pieces it strikes."""
    found = []
    for i in range(count):
        plan.sent(target)
        if plan.due("GET", target, IN_STREAMS):
            found.append(i + 1)
    return found


def test_once_and_then_no_more() -> None:
    plan = FaultPlan([parse_fault("after=3:reset")])
    assert strikes(plan, "/a", 10) == [3]
    assert not plan.concerns("/a")
    assert plan.report() == ["fault after=3:reset: struck in GET /a"]


@pytest.mark.parametrize(("times", "behind"), [("2", [3, 6]), ("all", [3, 6, 9])])
def test_several_times_counting_anew(times: str, behind: list[int]) -> None:
    plan = FaultPlan([parse_fault(f"after=3:reset,times={times}")])
    assert strikes(plan, "/a", 10) == behind


def test_only_what_matches_counts() -> None:
    plan = FaultPlan([parse_fault("after=2:close,match=/b?watch")])
    assert strikes(plan, "/a", 5) == []
    assert not plan.concerns("/b")
    assert plan.concerns("/b?watch=1")
    assert strikes(plan, "/b?watch=1", 1) == []
    assert plan.report() == ["fault after=2:close,match=/b?watch: did not strike, after 1 pieces"]
    assert strikes(plan, "/b?watch=1", 1) == [1]


def test_each_fault_counts_for_itself() -> None:
    plan = FaultPlan([parse_fault("after=4:close"), parse_fault("after=2:reset")])
    assert strikes(plan, "/a", 6) == [2, 4]


def test_a_kind_that_cannot_strike_here_waits() -> None:
    plan = FaultPlan([parse_fault("after=1:status=500")])
    assert strikes(plan, "/a", 3) == []
    fault = plan.due("GET", "/b", KINDS)
    assert fault is not None and fault.status == 500


def test_none() -> None:
    plan = FaultPlan()
    assert (plan.concerns("/"), plan.due("GET", "/"), plan.report()) == (False, None, [])


# Lines


def stream(*chunks: tuple[float, bytes], ends: str = OPEN) -> Answer:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = tuple(Chunk(delay, data) for delay, data in chunks)
    raw = (Chunk(0.5, head), *(Chunk(c.delay, b"%x\r\n%s\r\n" % (len(c.data), c.data)) for c in body))
    return Answer(200, "OK", (("Transfer-Encoding", "chunked"),), raw, body, ends, 9.0)


def test_lines_get_chunks_of_their_own() -> None:
    answer, pieces = by_line(stream((1, b"a\nb\nc"), (2, b"c\n"), (3, b"d")), chunked=True)
    assert [(c.delay, c.data) for c in answer.raw[1:]] == [
        (1, b"2\r\na\n\r\n"),
        (1, b"2\r\nb\n\r\n"),
        (2, b"3\r\ncc\n\r\n"),
        (3, b"1\r\nd\r\n"),
    ]
    assert (list(pieces), answer.raw[0].delay) == ([1, 2, 3], 0.5)


def test_the_end_is_no_line() -> None:
    answer, pieces = by_line(stream((1, b"a\n"), ends=COMPLETE), chunked=True)
    assert (list(pieces), answer.raw[-1].data) == ([1], b"0\r\n\r\n")
    answer, pieces = by_line(stream((1, b"a\n"), ends=COMPLETE), chunked=False)
    assert (list(pieces), answer.raw[-1].data) == ([1], b"a\n")


# Messages

HEAD = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
SESSION = HEAD + b"".join(
    [
        frame(b"\1"),  # carries nothing
        frame(b"\1one"),
        frame(b"ping", 9),
        frame(b"\1tw", fin=False),
        frame(b"o" * 300, 0),
        frame(b""),
        frame(b"\2" + b"x" * 70_000),
        frame(b"\3{}"),
    ]
)
# Where each message that carries something ends.
ENDS = [
    len(HEAD) + 3 + 6,
    len(HEAD) + 3 + 6 + 6 + 5 + 304,
    len(HEAD) + 3 + 6 + 6 + 5 + 304 + 2 + 70_011,
    len(SESSION),
]


def broken(data: bytes, cuts: list[int], sent: int, half: int) -> bytes | None:
    """What passes of data, cut so, until it breaks behind message `sent`, or within message `half`; None if it does not."""
    count = 0

    def one_more() -> bool:
        nonlocal count
        count += 1
        return count == sent

    messages = Messages(len(HEAD), sent=one_more, half=lambda: count + 1 == half)
    out = b""
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        cut = messages.feed(data[start:end])
        out += cut.data
        if cut.broken:
            return out
    assert out == data
    return None


@pytest.mark.parametrize("message", [1, 2, 3, 4])
@given(cuts=st.lists(st.integers(0, 420), max_size=8).map(sorted))
def test_messages_are_counted_however_they_are_cut(message: int, cuts: list[int]) -> None:
    assert broken(SESSION, cuts, message, 0) == SESSION[: ENDS[message - 1]]


def test_every_cut() -> None:
    for at in range(len(HEAD) + 330):
        assert broken(SESSION, [at], 2, 0) == SESSION[: ENDS[1]]
        assert broken(SESSION, [at], 0, 1) == SESSION[: len(HEAD) + 3 + 2 + 2]


def test_half_of_a_message() -> None:
    assert broken(SESSION, [], 0, 2) == SESSION[: ENDS[0] + 6 + 2 + 2]
    assert broken(SESSION, [], 0, 3) == SESSION[: ENDS[1] + 2 + 10 + 35_001]
    assert broken(SESSION, [], 0, 5) is None


def test_other_frames_do_not_count() -> None:
    assert broken(HEAD + frame(b"12", 9) + frame(b"12", 10) + frame(b"\3\xe8", 8), [], 1, 1) is None
    assert broken(HEAD + masked(b"\1one"), [], 1, 0) == HEAD + masked(b"\1one")
