"""Happenings → their requests, the lines that tell them, and what is counted of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rawkube.errors import UsageError
from rawkube.observe.conversation import Happening
from rawkube.observe.levels import LEVELS, of_verbosity
from rawkube.observe.story import Story, Wanted, channels_of, json_of, kinds_of
from rawkube.observe.summary import SHOWN, Summary, lines_of_summary
from rawkube.observe.trace import cut, level_of_kind, lines_of, milliseconds, preview


def one(kind: str, side: str = "server", t: float = 0.0, conn: int = 1, **data: Any) -> Happening:
    return Happening(kind, conn, t, side, data)


def request(target: str = "/a", t: float = 0.0, conn: int = 1) -> Happening:
    return one("request", "client", t, conn, method="GET", target=target, headers=[("Host", "x")])


def response(status: int = 200, t: float = 0.1, conn: int = 1) -> Happening:
    return one("response", t=t, conn=conn, status=status, reason="OK", headers=[], seconds=t)


def message(name: str = "stdout", data: bytes = b"hi", channel: int | None = 1, side: str = "server") -> Happening:
    return one("message", side, name=name, channel=channel, size=len(data), data=data, text=False)


# Which request a happening belongs to.


def test_an_answer_belongs_to_its_request_however_early_the_next_is_asked() -> None:
    story = Story()
    first, second = story.of(request("/1")), story.of(request("/2"))
    assert first is not None and second is not None
    assert story.of(response(103, 0.1)) is first
    assert first.status == 0  # that was not the answer yet
    assert story.of(response(200, 0.2)) is first
    assert story.of(one("chunk", size=1, data=b"x")) is first
    assert story.of(response(404, 0.3)) is second
    assert (first.status, first.first_byte, second.status) == (200, 0.2, 404)


def test_what_belongs_to_no_request_that_was_seen() -> None:
    story = Story()
    assert story.of(one("recording", conn=0)) is None
    assert story.of(one("end", error="", inside="")) is None
    assert story.of(response()) is None
    assert story.of(one("chunk", size=1, data=b"x")) is None
    for side in ("client", "server"):
        story.of(one("end", side, error="", inside=""))
    assert story.of(request()) is not None


def test_behind_an_upgrade_both_sides_are_at_its_request() -> None:
    story = Story()
    upgraded = story.of(request("/exec"))
    story.of(response(101))
    assert story.of(message(side="client")) is story.of(message()) is upgraded


# What is shown.


def test_what_is_wanted() -> None:
    story = Story()
    exchange = story.of(request("/api/v1/pods"))
    recording = one("recording", conn=0)
    assert Wanted(conns=frozenset({2})).takes(recording, None)
    assert not Wanted(conns=frozenset({2})).takes(message(), exchange)
    assert Wanted(path="/pods").takes(message(), exchange)
    assert not Wanted(path="/nodes").takes(message(), exchange)
    assert not Wanted(path="/pods").takes(message(), None)
    status = one("status", exit_code=0, line="", reason="")
    for wanted, shown in [
        (Wanted(channels=channels_of(("stdout",))), [True, False, False]),
        (Wanted(channels=channels_of(("3",))), [False, True, False]),
        (Wanted(channels=channels_of(("1",)), kinds=kinds_of(("status",))), [False, False, False]),
        (Wanted(kinds=kinds_of(("status",))), [False, True, False]),
        (Wanted(level=LEVELS.index("events")), [False, True, True]),
        (Wanted(level=LEVELS.index("headers")), [False, False, True]),
    ]:
        assert [wanted.shows(each) for each in (message(), status, request())] == shown, wanted
    assert Wanted().shows(recording) and not Wanted(kinds=kinds_of(("status",))).shows(recording)
    assert Wanted(kinds=kinds_of(("status",))).line_level == LEVELS.index("frames")
    with pytest.raises(UsageError, match="no kind of happening"):
        kinds_of(("x",))
    with pytest.raises(UsageError, match="no channel"):
        channels_of(("x",))


def test_a_line_of_json() -> None:
    story = Story()
    exchange = story.of(request())
    line = json.loads(json_of(message(data=b"\xff"), exchange, contents=False))
    assert line["dataBase64"] == "/w==" and line["request"] == 1
    chunk = one("chunk", t=1.23456789, size=2, data=b"hi")
    assert json.loads(json_of(chunk, None, contents=True)) == {
        **{"kind": "chunk", "conn": 1, "t": 1.234568, "from": "server", "size": 2}
    }
    odd = one("watch", object={"x": float("nan")}, type="ADDED")
    assert json.loads(json_of(odd, None, contents=False))["object"] is None
    assert json.loads(json_of(one("recording", conn=0, note="n"), None, contents=True)) == {
        **{"kind": "recording", "note": "n"}
    }


# Lines.


def test_the_levels_of_kubectl() -> None:
    assert [of_verbosity(number) for number in (0, 5, 6, 7, 8, 9, 10)] == [
        *("", "", "headers", "events", "frames", "bytes", "bytes")
    ]
    assert level_of_kind("no such kind") == len(LEVELS)
    assert lines_of(one("no such kind")) == []


TLS: dict[str, Any] = {"version": "TLSv1.3", "cipher": "A", "server_name": "k", "seconds": 0.01}
CERTIFICATE: dict[str, Any] = {"subject": "CN=k", "issuer": "CN=ca"}
LINES: list[tuple[Happening, list[str]]] = [
    (
        one("tap resolve", host="k", addresses=["10.0.0.1", "::1"], seconds=12.0),
        ["resolve k → 10.0.0.1, ::1  (12.0 s)"],
    ),
    (one("tap connect", address="::1", port=1, seconds=0.001), ["connect [::1]:1  (1.0 ms)"]),
    (one("tap tls", **TLS, alpn="", subject=""), ["tls TLSv1.3 A to k  (10.0 ms)"]),
    (
        one("tap tls", **TLS, alpn="http/1.1", **CERTIFICATE, not_after="soon"),
        ["tls TLSv1.3 A to k  (10.0 ms)", "tls protocol http/1.1", "tls certificate CN=k, of CN=ca, until soon"],
    ),
    (
        one("tap tls", **TLS, alpn="", **CERTIFICATE, not_after=""),
        ["tls TLSv1.3 A to k  (10.0 ms)", "tls certificate CN=k, of CN=ca"],
    ),
    (one("tap retry", why="a\nb", wait=1.0, attempt=2), ["again (2), after 1 s: a\\nb"]),
    (one("tap retry", why="x", wait=0.0, attempt=1), ["again (1): x"]),
    (one("tap close", why="idle"), ["close: idle"]),
    (one("tap note", text="x\x1b"), ["x\\x1b"]),
    (one("tap proxy", url="http://p", user="", seconds=None), ["url http://p"]),
    (
        one("watch", type="ERROR", object={"code": 410, "reason": "Expired", "message": "old"}),
        ["← ERROR 410 Expired: old"],
    ),
    (one("watch", type="ERROR", object={}), ["← ERROR  : "]),
    (one("undecodable", text="no JSON"), ["← no JSON"]),
    (message("close", b"\x00", 255, "client"), ["→ close stdin"]),
    (message("close", b"\x09", 255, "client"), ["→ close channel 9"]),
    (message("close", b"", 255, "client"), ["→ close nothing"]),
    (message("resize", b'{"Width":80,"Height":24}', 4, "client"), ["→ resize 80x24"]),
    (message("", b"", 7), ["← channel 7 0 B"]),
    (message("", b"x", None), ['← message 1 B "x"']),
    (one("status", exit_code=0, line="", reason=""), ["← status Success"]),
    (one("status", exit_code=3, line="", reason="NonZeroExitCode"), ["← status NonZeroExitCode 3"]),
    (one("status", exit_code=1, line="error: x", reason=""), ["← status Failure: error: x"]),
    (one("ping", data=b""), ["← ping"]),
    (one("ping", data=b"a"), ['← ping "a"']),
    (one("pong", data=b"", seconds=None), ["← pong"]),
    (one("pong", data=b"a", seconds=0.5), ['← pong "a"  (500.0 ms)']),
    (one("close", code=1000, reason=""), ["← close 1000"]),
    (one("close", code=1001, reason="bye"), ["← close 1001 bye"]),
    (one("raw", what="TLS", size=9, data=b"\x16\xff"), ['← TLS 9 B "\\x16\\xff"…']),
    (one("end", error="", inside=""), ["← end of stream"]),
    (one("end", error="OSError", inside="a body"), ["← broken: OSError inside a body"]),
    (one("upgrade", protocol="", websocket=True), ["← upgraded to a WebSocket, no subprotocol"]),
    (one("upgrade", protocol="SPDY/3.1", websocket=False), ["← upgraded to SPDY/3.1"]),
    (one("request-end", "client", size=0, body=b""), []),
    (one("request-end", "client", size=4, body=b"text"), ["→ body 4 B"]),
    (one("response-end", size=4, body=b"", seconds=None), ["← end, 4 B"]),
    (one("chunk", size=2, data=b"hi"), ["← chunk 2 B"]),
]


def test_every_kind_has_its_lines() -> None:
    frames = LEVELS.index("frames")
    assert [lines_of(happening, frames) for happening, _ in LINES] == [lines for _, lines in LINES]


def test_contents_are_text_or_a_dump() -> None:
    assert lines_of(one("request-end", "client", size=3, body=b"a\nb")) == ["→ body 3 B", "→     a", "→     b"]
    dump = "    000000  00 61 ff                                         .a."
    assert lines_of(message(data=b"\x00a\xff"))[1] == f"← {dump}"
    assert lines_of(one("response-end", size=0, body=b"", seconds=0.0)) == ["← end, 0 B  (0.0 ms)"]
    assert lines_of(one("ping", data=b"a")) == ['← ping "a"']


def test_what_is_long_is_cut() -> None:
    assert preview(b"a" * 1000).endswith('a"…')
    assert preview("ä".encode()[:1] + b"x") == '"\\xc3x"'
    assert preview("aä".encode()[:2], 3).endswith("…")
    assert milliseconds(None) == ""
    line = cut("x" * 100_000)
    assert line.endswith("… (100000 characters)") and len(line) < 100_000


# The summary.


def summary(*happenings: Happening) -> dict[str, Any]:
    story, found = Story(), Summary()
    for happening in happenings:
        found.add(happening, story.of(happening))
    return found.facts()


def test_a_summary_of_nothing() -> None:
    assert list(lines_of_summary(summary())) == ["0 connections, 0 requests, 0.000 s"]


def test_what_began_before_the_recording_is_only_counted() -> None:
    facts = summary(
        response(101),
        *(one("upgrade", protocol="v5", websocket=True), message(), one("raw", what="", size=1, data=b"x")),
        *(one("status", exit_code=3, line="", reason=""), one("close", code=1000, reason="")),
        *(response(100, conn=2), response(200, conn=2)),
        one("response-end", conn=2, size=1, body=b"x", seconds=1.0),
        one("watch", conn=3, type="ADDED", of="Pod", name="a", resourceVersion="1", changes=[], object={}),
        *(one("undecodable", conn=3, text="x"), one("undecodable", conn=3, text="y")),
    )
    assert (facts["requests"], facts["sessions"], facts["watches"], facts["slowest"]) == (0, [], [], [])
    assert facts["statuses"] == {"101": 1, "200": 1}
    assert list(lines_of_summary(facts))[-1] == "undecodable  2 watches"


def test_a_session_is_summed_up() -> None:
    facts = summary(
        request("/exec"),
        response(101),
        one("upgrade", protocol="", websocket=True),
        *(message(), message("", b"x", 9), message("", b"xy", None, "client")),
        one("raw", what="", size=1, data=b"x"),
        one("status", exit_code=3, line="", reason=""),
        *(one("close", code=1000, reason="") for _ in range(SHOWN + 5)),
        one("end", error="OSError", inside="a frame or message"),
        one("end", "client", error="OSError", inside=""),
    )
    lines = list(lines_of_summary(facts))
    words = "no subprotocol, ← stdout 2 B, ← channel 9 1 B, → message 2 B, ← bytes 1 B, exit code 3, close 1000 by the"
    assert any(line.startswith(f"session  {words}") for line in lines)
    assert "broken  OSError inside a frame or message, server" in lines
    assert len(facts["sessions"][0]["closes"]) == SHOWN


def test_what_was_not_answered() -> None:
    facts = summary(request("/1"), request("/2"), response(200), one("response-end", size=0, body=b"", seconds=0.5))
    lines = list(lines_of_summary(facts))
    assert lines[1] == "status  200: 1, unanswered: 1"
    assert lines[2] == "slow  500.0 ms, first byte 100.0 ms  200 #1 GET /1"
    assert list(lines_of_summary(summary(request())))[1] == "status  unanswered: 1"


def watched(t: float, conn: int = 1) -> Happening:
    return one("watch", t=t, conn=conn, type="ADDED", of="Pod", name="a", resourceVersion="1", changes=[], object={})


def test_a_watch_is_summed_up() -> None:
    began = request("/a?watch=true"), response(), watched(1.0), watched(4.0)
    ended = one("response-end", t=5.0, size=1, body=b"", seconds=5.0)
    for last, silence, over in ((ended, 3.0, True), (one("chunk", t=9.0, size=1, data=b""), 5.0, False)):
        facts = summary(one("recording", conn=0), *began, last)
        (watch,) = facts["watches"]
        assert (watch["events"], watch["longestSilence"], watch["ended"]) == ({"ADDED": 2}, silence, over), last
        assert facts["connections"] == 1


def test_a_summary_names_the_first_sessions_and_watches_and_the_slowest() -> None:
    many = range(1, SHOWN + 3)
    facts = summary(
        *(each for conn in many for each in (request("/w?watch=1", conn=conn), response(conn=conn))),
        *(watched(1.0, conn) for conn in many),
        *(one("response-end", t=2.0, conn=conn, size=0, body=b"", seconds=2.0) for conn in many),
    )
    assert (len(facts["watches"]), facts["moreWatches"]) == (SHOWN, 2)
    assert "watch  and 2 more watches" in lines_of_summary(facts)
    slow = [(request(f"/{n}"), response(), one("response-end", size=0, body=b"", seconds=float(n))) for n in range(9)]
    facts = summary(*(each for exchange in slow for each in exchange))
    assert [each["target"] for each in facts["slowest"]] == [f"/{n}" for n in (8, 7, 6, 5, 4)]


def test_bytes_are_counted_by_side() -> None:
    found = Summary()
    for conn, t, side in ((1, 1.0, "client"), (1, 2.0, "server"), (2, 3.0, "server")):
        found.passed(conn, t, side, 5)
    assert list(lines_of_summary(found.facts())) == ["2 connections, 0 requests, 3.000 s, → 5 B, ← 10 B"]
