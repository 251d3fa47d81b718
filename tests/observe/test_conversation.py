"""What passed, piece by piece, and what happened."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rawkube.observe.conversation import Conversation, Happening, WebSocket
from rawkube.observe.messages import KEPT
from rawkube.observe.recording import Piece, Recording
from tests.observe.made import frame
from tests.support.examples import some
from tests.support.rows import looped

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDINGS = sorted(FIXTURES.rglob("*.jsonl"))


def pieces_of(name: str) -> list[Piece]:
    with Recording(FIXTURES / name) as recording:
        return list(recording)


def told(pieces: Iterable[Piece], cut: int = 0) -> list[Happening]:
    """`cut`: each piece again in pieces of so many bytes."""
    conversation = Conversation()
    found: list[Happening] = []
    for piece in pieces:
        size = cut or len(piece.data) or 1
        for at in range(0, len(piece.data), size):
            found += conversation.feed(piece.conn, piece.t, piece.side, piece.data[at : at + size])
        if piece.eof or piece.error:
            found += conversation.end(piece.conn, piece.t, piece.side, piece.error)
    return found


def of_kind(happenings: Iterable[Happening], *kinds: str) -> list[dict[str, Any]]:
    return [happening.data for happening in happenings if happening.kind in kinds]


@looped("path", some("stories", RECORDINGS, 5), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_recording_can_be_told(path: Path) -> None:
    happenings = told(pieces_of(str(path.relative_to(FIXTURES))))
    kinds = [happening.kind for happening in happenings]
    assert kinds.count("request") >= kinds.count("response-end") > 0 or "upgrade" in kinds
    if "spdy" not in path.name:
        assert "raw" not in kinds


@pytest.mark.parametrize(
    "name", ["rollout-listwatch/deployment-deleted.jsonl", "exec/v5-stdin-cat.jsonl", "watch/gzip.jsonl"]
)
def test_where_bytes_are_cut_makes_no_difference(name: str) -> None:
    pieces = pieces_of(name)
    whole = [one for one in told(pieces) if one.kind != "chunk"]
    large = sum(len(piece.data) for piece in pieces) > 20_000
    for cut in (11, 100) if large else (1, 2, 3, 7, 100):
        assert [one for one in told(pieces, cut) if one.kind != "chunk"] == whole


def test_a_rollout_is_told_by_its_changes() -> None:
    events = of_kind(told(pieces_of("rollout-listwatch/deployment-update.jsonl")), "watch")
    assert {event["name"] for event in events} == {"demo/web"}
    changes = [change for event in events for change in event["changes"]]
    assert any(change.startswith("status.updatedReplicas ") for change in changes)
    assert not any("kind" in change or "lastUpdateTime" in change for change in changes)
    assert events[0]["resourceVersion"].isdigit()


def test_a_session_is_told_by_its_channels() -> None:
    happenings = told(pieces_of("exec/v5-stdin-cat.jsonl"))
    assert of_kind(happenings, "upgrade") == [{"protocol": "v5.channel.k8s.io", "websocket": True}]
    messages = of_kind(happenings, "message")
    sent = b"".join(one["data"] for one in messages if one["name"] == "stdin")
    came = b"".join(one["data"] for one in messages if one["name"] == "stdout")
    assert sent == came != b""
    assert [one["data"] for one in messages if one["name"] == "close"] == [b"\0"]
    assert [one["exit_code"] for one in of_kind(happenings, "status")] == [0]
    assert [one["code"] for one in of_kind(happenings, "close")] == [1000, 1000]


def test_an_exit_code() -> None:
    happenings = told(pieces_of("exec/v5-exit-3.jsonl"))
    assert [one["exit_code"] for one in of_kind(happenings, "status")] == [3]


def test_base64_channels() -> None:
    happenings = told(pieces_of("exec/v4-base64-exit-3.jsonl"))
    out = [one for one in of_kind(happenings, "message") if one["name"] == "stdout"]
    assert all(one["text"] for one in out)
    assert b"".join(one["data"] for one in out).strip()
    assert [one["exit_code"] for one in of_kind(happenings, "status")] == [3]


def test_a_large_output_is_counted_and_cut() -> None:
    messages = of_kind(told(pieces_of("exec/v5-large.jsonl")), "message")
    assert sum(one["size"] for one in messages if one["name"] == "stdout") == 300_000
    assert max(len(one["data"]) for one in messages) <= KEPT


def test_another_protocol_is_named_and_passed_over() -> None:
    happenings = told(pieces_of("exec/spdy-1.27.jsonl"))
    assert of_kind(happenings, "upgrade") == [{"protocol": "SPDY/3.1", "websocket": False}]
    assert of_kind(happenings, "raw")


def conversation_of(*said: tuple[str, bytes], ends: str = "") -> list[Happening]:
    conversation, found = Conversation(), []
    for at, (side, data) in enumerate(said):
        found += conversation.feed(1, float(at), side, data)
    return found + (conversation.end(1, float(len(said)), "server", ends) if ends else [])


GET = b"GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: x\r\n\r\n"


@looped(
    ("data", "inside"),
    [
        (b"HTTP/1.1 200", "a head"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "a body"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "a body"),
        (b"HTTP/1.1 200 OK\r\n\r\nabc", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", ""),
        (
            b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n\x82",
            "a frame or message",
        ),
    ],
)
def test_what_an_end_cuts_off(data: bytes, inside: str) -> None:
    happenings = conversation_of(("client", GET), ("server", data), ends="ConnectionResetError")
    assert of_kind(happenings, "end") == [{"error": "ConnectionResetError", "inside": inside}]


def test_what_is_no_http_is_raw() -> None:
    found = conversation_of(("client", b"\x16\x03\x01"), ("server", b"SSH-2.0"), ("server", b"more"))
    assert [(one["size"], one["what"]) for one in of_kind(found, "raw")] == [(3, "TLS"), (7, ""), (4, "")]


def test_a_broken_watch_is_no_end_of_the_telling() -> None:
    body = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    found = conversation_of(("client", GET), ("server", body + b"<html>\n"), ("server", b"more"))
    assert of_kind(found, "watch", "undecodable") == [{"text": "not a watch event, not JSON: <html>"}]
    assert [one["size"] for one in of_kind(found, "chunk")] == [7, 4]


def test_a_pong_tells_how_long_it_took() -> None:
    switched = b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"
    found = conversation_of(
        ("client", GET), ("server", switched), ("client", b"\x89\x81\0\0\0\0a"), ("server", b"\x8a\x01a")
    )
    assert of_kind(found, "ping", "pong") == [{"data": b"a"}, {"data": b"a", "seconds": 1.0}]


def test_of_many_objects_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    def events(*names: str) -> list[Happening]:
        found = conversation.feed(1, 0.0, "client", GET)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        found += conversation.feed(1, 0.0, "server", head)
        for at, name in enumerate(names):
            event = {"type": "MODIFIED", "object": {"kind": "Pod", "metadata": {"name": name}, "at": at}}
            found += conversation.feed(1, 0.0, "server", json.dumps(event).encode() + b"\n")
        return found

    size = len(json.dumps({"kind": "Pod", "metadata": {"name": "a"}, "at": 0}))
    for limit, known in ((3 * size, True), (2 * size, False)):
        monkeypatch.setattr("rawkube.observe.conversation._OBJECTS_LIMIT", limit)
        conversation = Conversation()
        *_, last = of_kind(events("a", "b", "c", "a"), "watch")
        assert last["changes"] == (["at 0→3"] if known else [])


def test_a_connection_whose_sides_have_ended_is_forgotten() -> None:
    conversation = Conversation()
    conversation.feed(1, 0.0, "client", b"GET / HT")
    assert [one.data["inside"] for one in conversation.end(1, 1.0, "client")] == ["a head"]
    conversation.end(1, 1.0, "server")
    found = conversation.feed(1, 2.0, "client", GET)
    assert [one.kind for one in found] == ["request", "request-end"]
    assert [one.data["inside"] for one in conversation.end(7, 3.0, "client", "OSError")] == [""]


LIST = b'{"kind":"PodList","apiVersion":"v1","items":[7,{"metadata":{"name":"a"},"n":1}]}'
CHANGED = b'{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"n":2}}\n'


def answered(body: bytes, head: bytes = b"") -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n" % (head, len(body)) + body
    )


@looped(
    ("listed", "changes"),
    [
        (answered(LIST), ["n 1→2"]),
        (answered(LIST.replace(b"}]", b"]")), []),
        (answered(LIST.replace(b"PodList", b"Pod")), []),
        (answered(b'{"kind":"PodList","items":7}'), []),
        (answered(b"\x1f\x8bno gzip", b"Content-Encoding: gzip\r\n"), []),
        (answered(LIST, b"Content-Encoding: br\r\n"), ["n 1→2"]),  # which it can then not be
    ],
)
def test_what_a_list_told_is_known(listed: bytes, changes: list[str]) -> None:
    asked = GET.replace(b"?watch=true", b"")
    found = conversation_of(("client", asked), ("server", listed), ("client", GET), ("server", answered(CHANGED)))
    assert [one["changes"] for one in of_kind(found, "watch")] == [changes]


@looped("depth", [700, 990, 1500])
def test_objects_that_are_too_deep_to_be_compared_or_even_kept(depth: int) -> None:
    event = CHANGED.replace(b'"n":2', b'"n":' + b"[" * depth + b"]" * depth)
    found = conversation_of(("client", GET), ("server", answered(event + event)))
    told_of = [one["changes"] for one in of_kind(found, "watch")]
    assert told_of in ([[], ["object <nested too deeply>→<nested too deeply>"]], [[], []], []), depth
    assert len(of_kind(found, "undecodable")) == (not told_of)


@looped(
    ("protocol", "frames", "data", "code"),
    [
        (b"v4.channel.k8s.io", [frame(b'\3{"metadata'), frame(b'\3":{},"status":"Success"}')], b'{"metadata', [0]),
        (b"base64.channel.k8s.io", [b"\x81\x051YQ=="], b"a", []),
        (b"base64.channel.k8s.io", [b"\x81\x051A===", b"\x81\x051YWJj"], b"A===", []),
        (b"", [b"\x82\x02\1a"], b"\1a", []),
    ],
)
def test_messages_in_pieces(protocol: bytes, frames: list[bytes], data: bytes, code: list[int]) -> None:
    head = b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n"
    head += b"Sec-WebSocket-Protocol: %b\r\n\r\n" % protocol if protocol else b"\r\n"
    found = conversation_of(("client", GET), ("server", head), *(("server", each) for each in frames))
    assert next(one["data"] for one in of_kind(found, "message")) == data
    assert [one["exit_code"] for one in of_kind(found, "status")] == code


def test_a_websocket_by_itself() -> None:
    socket = WebSocket("v5.channel.k8s.io")
    found = socket.feed(1.0, "server", b"\x82\x03\1hi")
    assert [(one.conn, one.data["name"], one.data["data"]) for one in found if one.kind == "message"] == [
        (0, "stdout", b"hi")
    ]
