"""Two recordings of the same command, and in what they differ.

One is a recording of a real cluster; the other one is made of it here, by one change, as the thing that makes it fail
elsewhere would change it. None of the changed ones was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from rawkube.observe.compare import Comparison, compare, facts_of, sentence
from rawkube.observe.compared import Compared, exchanges_of, split
from rawkube.observe.conversation import Conversation, Happening
from rawkube.observe.recording import Piece, Recording
from tests.support.examples import some
from tests.support.rows import looped

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXEC = "exec/v5-stdin-cat.jsonl"
ROLLOUT = "rollout-listwatch/deployment-update.jsonl"
RECORDINGS = sorted(FIXTURES.rglob("*.jsonl"))

Change = Callable[[Piece], Piece | None]


def pieces(name: str) -> list[Piece]:
    with Recording(FIXTURES / name) as recording:
        return list(recording)


def happenings(given: Iterable[Piece]) -> list[Happening]:
    conversation = Conversation()
    found: list[Happening] = []
    for piece in given:
        if piece.data:
            found += conversation.feed(piece.conn, piece.t, piece.side, piece.data)
        if piece.eof or piece.error:
            found += conversation.end(piece.conn, piece.t, piece.side, piece.error)
    return found


def read(given: Iterable[Piece]) -> list[Compared]:
    return exchanges_of(happenings(given))


def against(name: str, change: Change) -> Comparison:
    """A recording, and the same with each piece changed (None: left out)."""
    here = pieces(name)
    there = [changed for piece in here if (changed := change(piece)) is not None]
    assert there != here, "the change must change something"
    return compare(read(here), read(there))


def kinds(comparison: Comparison) -> list[str]:
    return [difference.kind for difference in comparison.differences]


def replaced(old: bytes, new: bytes) -> Change:
    return lambda piece: piece._replace(data=piece.data.replace(old, new))


@looped("path", some("comparisons", RECORDINGS), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recording_is_like_itself(path: Path) -> None:
    both = [read(pieces(str(path.relative_to(FIXTURES)))) for _ in "ab"]
    comparison = compare(*both)
    assert comparison.differences == []
    assert comparison.matched == len(both[0]) > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Date: Mon, 30 Nov", b"Date: Tue, 01 Dec"),
        (b"Audit-Id: ", b"Audit-Id: 0"),
        (b"Sec-WebSocket-Key: 3", b"Sec-WebSocket-Key: 4"),
        (b"X-Kubernetes-Pf-Flowschema-Uid: a", b"X-Kubernetes-Pf-Flowschema-Uid: b"),
    ],
)
def test_what_belongs_to_one_run_is_no_difference(old: bytes, new: bytes) -> None:
    assert against(EXEC, replaced(old, new)).differences == []


def test_who_speaks_is_set_apart() -> None:
    comparison = against(EXEC, replaced(b"User-Agent: kubectl/v1.37.1", b"User-Agent: rawkube/1"))
    assert comparison.differences == []
    assert [name for name, _, _ in comparison.apart] == ["user-agent"]


def test_another_clock_is_no_difference() -> None:
    assert against(EXEC, lambda piece: piece._replace(t=piece.t + 5.0)).differences == []


def test_the_headers_that_a_proxy_adds_are_told_once() -> None:
    comparison = against(EXEC, replaced(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nVia: 1.1 squid\r\n"))
    (difference,) = comparison.differences
    assert (difference.kind, difference.what) == ("proxy-header", "response header via")
    assert (difference.a, difference.b) == ("nothing", "1.1 squid")
    every = against(ROLLOUT, replaced(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nServer: nginx\r\n"))
    (difference,) = every.differences
    assert len(difference.also) == every.matched - 1 > 0


def test_an_upgrade_that_a_proxy_refuses() -> None:
    def refuse(piece: Piece) -> Piece | None:
        if piece.conn != 2 or piece.side == "client":
            return piece
        if b"HTTP/1.1 101" not in piece.data:
            return None
        body = b"WebSocket is not allowed"
        head = b"HTTP/1.1 403 Forbidden\r\nServer: proxy\r\nContent-Type: text/plain\r\nContent-Length: 24\r\n\r\n"
        return piece._replace(data=head + body)

    comparison = against(EXEC, refuse)
    first = comparison.differences[0]
    assert first.kind == "status"
    assert sentence(first).endswith("A was answered 101 Switching Protocols, B 403 Forbidden")
    assert "proxy-header" in kinds(comparison)


def test_a_path_that_a_proxy_prefixes() -> None:
    comparison = against(EXEC, replaced(b"GET /api/", b"GET /k8s/clusters/c-1/api/"))
    assert set(kinds(comparison)) == {"request-line"}
    assert (comparison.differences[0].what, comparison.differences[0].b) == ("path prefix", "/k8s/clusters/c-1")


def test_another_subprotocol() -> None:
    old = b"Sec-WebSocket-Accept: 8lzZRMrcsAYWFhHmKXxeVU8jMZA=\r\nSec-WebSocket-Protocol: v5"
    comparison = against(EXEC, replaced(old, old[:-1] + b"4"))
    assert {"protocol", "response-header"} <= set(kinds(comparison))


def test_a_half_close_that_is_lost() -> None:
    def lose(piece: Piece) -> Piece:
        """The frame of two bytes (with its mask) at the end of what the client sent: `close stdin`."""
        is_last = piece.side == "client" and piece.data[-8:-6] == b"\x82\x82"
        return piece._replace(data=piece.data[:-8]) if is_last else piece

    comparison = against(EXEC, lose)
    assert kinds(comparison) == ["half-close"]
    assert (comparison.differences[0].a, comparison.differences[0].b) == ("sent", "nothing")


def test_a_session_whose_last_words_are_lost() -> None:
    def cut(piece: Piece) -> Piece | None:
        late = piece.conn == 2 and piece.side == "server" and piece.t > 0.085
        return piece._replace(data=b"", eof=False, error="ConnectionResetError") if late else piece

    comparison = against(EXEC, cut)
    assert kinds(comparison) == ["exit-code", "close", "end"]
    assert comparison.differences[-1].b == "ConnectionResetError inside a session"


def test_output_that_is_another() -> None:
    def other(piece: Piece) -> Piece:
        if piece.side == "server" and piece.conn == 2 and piece.t > 0.05:
            return piece._replace(data=piece.data.replace(b"two", b"TWO"))
        return piece

    (difference,) = against(EXEC, other).differences
    assert (difference.kind, difference.what) == ("message", "← stdout")
    assert "TWO" in difference.b


def test_how_messages_are_cut_is_no_difference() -> None:
    whole, halves = b"\x82\x09\x01one\ntwo\n", b"\x82\x05\x01one\n\x82\x05\x01two\n"
    assert against(EXEC, replaced(whole, halves)).differences == []


def test_events_that_a_proxy_holds_back() -> None:
    last = max(piece.t for piece in pieces(ROLLOUT) if b'"MODIFIED"' in piece.data)

    def hold(piece: Piece) -> Piece:
        watching = piece.side == "server" and 0.03 < piece.t <= last
        return piece._replace(t=last) if watching else piece

    (difference,) = against(ROLLOUT, hold).differences
    assert difference.kind == "buffering"
    assert difference.b.startswith("9 events in 1 reads over 0.000 s (9)")


def test_a_watch_that_is_cut() -> None:
    here = pieces(ROLLOUT)
    there = [piece for piece in here if not (piece.data and piece.side == "server" and piece.t > 2)]
    assert len(there) < len(here)
    comparison = compare(read(here), read(there))
    (difference,) = comparison.differences
    assert (difference.kind, difference.what) == ("watch", "event 6")
    assert difference.a == "MODIFIED Deployment demo/web"
    assert difference.b == "SSLError inside a body (5 events)"


def test_requests_that_only_one_has() -> None:
    here = pieces(EXEC)
    there = [piece for piece in here if piece.conn != 2]
    missing = compare(read(here), read(there))
    assert kinds(missing) == ["missing"]
    assert "asked, answered 101 in A, not asked in B" in sentence(missing.differences[0])
    extra = compare(read(there), read(here))
    assert kinds(extra) == ["extra"]


def test_requests_in_another_order() -> None:
    def get(target: str, t: float) -> list[Piece]:
        return [
            Piece(0, 1, t, "client", f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()),
            Piece(0, 1, t + 0.1, "server", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ]

    one_after_the_other = compare(read(get("/a", 0) + get("/b", 1)), read(get("/b", 0) + get("/a", 1)))
    assert kinds(one_after_the_other) == ["order"]


def test_a_much_slower_answer() -> None:
    def slow(piece: Piece) -> Piece:
        return piece._replace(t=piece.t + 8.0) if piece.conn == 2 and piece.t > 0.02 else piece

    (difference,) = [one for one in against(EXEC, slow).differences if one.kind == "timing"]
    assert difference.what == "time to the first byte"
    assert difference.b == "8.018 s"


def test_generated_names_belong_together() -> None:
    def asked(name: str) -> list[Piece]:
        head = f"GET /api/v1/namespaces/demo/pods/{name}/log HTTP/1.1\r\nHost: x\r\n\r\n"
        return [
            Piece(0, 1, 0.0, "client", head.encode()),
            Piece(0, 1, 0.1, "server", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ]

    assert compare(read(asked("web-7d9f8b6c5d-x2z4q")), read(asked("web-7d9f8b6c5d-b5kjm"))).differences == []
    assert kinds(compare(read(asked("web")), read(asked("shell")))) == ["missing", "extra"]


def test_a_session_asked_for_in_another_way() -> None:
    comparison = against(EXEC, lambda p: p._replace(data=p.data.replace(b"GET", b"POST")) if p.conn == 2 else p)
    assert [(one.kind, one.what) for one in comparison.differences] == [("request-line", "method")]


def test_split() -> None:
    assert split("/k8s/x/apis/apps/v1/deployments?watch=1&resourceVersion=5&a=") == (
        "/k8s/x",
        "/apis/apps/v1/deployments",
        (("a", ""), ("watch", "1")),
    )
    assert split("/elsewhere") == ("", "/elsewhere", ())


def test_plain_data() -> None:
    found = list(facts_of(against(EXEC, replaced(b"200 OK\r\n", b"200 OK\r\nVia: x\r\n"))))
    assert [fact["kind"] for fact in found] == ["difference", "comparison"]
    assert found[0]["differs"] == "proxy-header"
    assert found[-1]["alike"] is False
    json.dumps(found)


def talk(*said: tuple[float, int, str, str]) -> list[Compared]:
    """(seconds, connection, side, text)."""
    return read(Piece(0, conn, t, side, text.encode()) for t, conn, side, text in said)


def asking(target: str = "/api/v1/pods", body: str = "") -> str:
    return f"POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}"


def said(body: str = "", kind: str = "application/json") -> str:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}"


WATCH = "/api/v1/pods?watch=true"
EVENT = '{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a"}}}\n'


@looped(
    ("a", "b", "told"),
    [
        (
            (asking("/p/api/v1/pods"), said()),
            (asking(), said()),
            "/api/v1/pods: path prefix is /p in A, nothing in B",
        ),
        (
            (asking("/api/v1/pods?limit=1&x=y"), said()),
            (asking("/api/v1/pods?x=y"), said()),
            ": query is limit=1 in A, nothing in B",
        ),
        ((asking(body="[1]"), said()), (asking(body="[2]"), said()), ": request body is "),
        ((asking(), said()), (asking(), ""), ": A was answered 200 OK, B no answer"),
        (
            (asking(), said('{"kind":"Pod"}')),
            (asking(), said('{"kind":"Job"}')),
            "kind of the answer is Pod in A, Job in",
        ),
        ((asking(), said('{"x":1}')), (asking(), said("<html>")), ": body is "),
        (
            (asking(WATCH), said(EVENT)),
            (asking(WATCH), said(f"{EVENT}<html>\n")),
            "what follows the events is nothing in A, not a watch event",
        ),
    ],
)
def test_what_two_answers_differ_in(a: tuple[str, str], b: tuple[str, str], told: str) -> None:
    both = [talk((0.0, 1, "client", asked), (1.0, 1, "server", answer)) for asked, answer in (a, b)]
    assert told in "\n".join(map(sentence, compare(*both).differences))


@looped(("second", "kinds_told"), [(0.5, []), (5.0, ["order"])])
def test_an_order_is_one_only_where_the_second_waited_for_the_first(second: float, kinds_told: list[str]) -> None:
    def two(first: str, then: str) -> list[Compared]:
        return talk(
            (0.0, 1, "client", asking(first)),
            (second, 2, "client", asking(then)),
            (second + 1, 2, "server", said()),
            (1.0 if second > 1 else 9.0, 1, "server", said()),
        )

    found = kinds(compare(two("/api/v1/pods", "/api/v1/nodes"), two("/api/v1/nodes", "/api/v1/pods")))
    assert [kind for kind in found if kind == "order"] == kinds_told


def test_an_interim_answer_is_not_the_answer() -> None:
    (one,) = talk((0.0, 1, "client", asking()), (1.0, 1, "server", "HTTP/1.1 103 Early Hints\r\n\r\n"))
    assert (one.status, one.headers) == (0, [("Host", "x"), ("Content-Length", "0")])


def test_bytes_of_a_channel_are_compared_up_to_the_first_gap() -> None:
    def message(data: bytes, size: int) -> Happening:
        facts = {"channel": 1, "name": "stdout", "size": size, "data": data, "text": False}
        return Happening("message", 1, 1.0, "server", facts)

    asked = Happening("request", 1, 0.0, "client", {"method": "GET", "target": "/x", "headers": ()})
    opened = Happening("response", 1, 0.5, "server", {"status": 101, "reason": "", "headers": (), "seconds": 0.5})
    (one,) = exchanges_of([asked, opened, message(b"ab", 2), message(b"cd", 9), message(b"ef", 2)])
    assert bytes(one.channels["server", "stdout"]) == b"abcd"
    assert one.sizes["server", "stdout"] == 13
