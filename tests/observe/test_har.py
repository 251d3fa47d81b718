"""What happened → HAR 1.2."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rawkube.observe import har
from rawkube.observe.conversation import Conversation, Happening
from rawkube.observe.har import Har
from rawkube.observe.har_reader import read_har
from rawkube.observe.inspect import Inspected
from tests.observe.json_schema import HAR, faults
from tests.support.examples import some
from tests.support.recordings import FIXTURES, exchanges, name_of
from tests.support.rows import looped

RECORDINGS = sorted(FIXTURES.rglob("*.jsonl"))
SWITCHED = b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: %s\r\n\r\n"


def happenings_of(path: Path) -> list[Happening]:
    with Inspected(str(path)) as inspected:
        return list(inspected)


def log_of(happenings: Iterable[Happening]) -> dict[str, Any]:
    collected = Har()
    for happening in happenings:
        collected.add(happening)
    document = json.loads(json.dumps(collected.document(), allow_nan=False))
    assert list(faults(document, HAR["har.json"])) == []
    found: dict[str, Any] = document["log"]
    return found


def said(*parts: tuple[float, str, bytes], ends: str | None = None) -> list[Happening]:
    conversation, found, t = Conversation(), [], 0.0
    for t, side, data in parts:
        found += conversation.feed(1, t, side, data)
    return found + (conversation.end(1, t + 1, "server", ends) if ends is not None else [])


def asked(method: str = "GET", target: str = "/a", head: str = "Host: api.example:6443\r\n", body: str = "") -> bytes:
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n{body}".encode()


def answered(body: bytes, head: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@looped("path", some("archives", RECORDINGS, 5), ids=name_of)
def test_every_recording_makes_a_valid_har(path: Path) -> None:
    happenings = happenings_of(path)
    log = log_of(happenings)
    assert len(log["entries"]) == sum(one.kind == "request" for one in happenings)
    messages = sum(len(entry.get("_webSocketMessages", ())) for entry in log["entries"])
    assert messages == sum(one.kind in ("message", "close", "ping", "pong") for one in happenings)


@pytest.mark.parametrize("folder", ["rollout", "watch", "discovery", "errors"])
def test_bodies_are_those_of_the_recording(folder: str) -> None:
    for path in some("bodies", sorted((FIXTURES / folder).glob("*.jsonl")), 2):
        entries = log_of(happenings_of(path))["entries"]
        told = sorted((e["request"]["method"], e["response"]["status"], _content(e)) for e in entries)
        assert told == sorted((e.method, e.status, e.body) for e in exchanges(path)), path.name


def _content(entry: dict[str, Any]) -> bytes:
    content = entry["response"]["content"]
    assert content["size"] == len(content["text"].encode()) or "encoding" in content
    return base64.b64decode(content["text"]) if content.get("encoding") else content["text"].encode()


@pytest.mark.parametrize("name", ["exec/v5-stdin-cat", "exec/v4-base64-exit-3", "exec/v5-binary", "exec/v5-tty-resize"])
def test_a_session_that_is_read_again_says_the_same(name: str) -> None:
    happenings = happenings_of(FIXTURES / f"{name}.jsonl")
    log = log_of(happenings)
    again = list(read_har("x.har", json.dumps({"log": log}).encode()))
    kinds = ("message", "status", "close", "ping", "pong")
    assert [(one.kind, one.side, one.data) for one in again if one.kind in kinds] == [
        (one.kind, one.side, one.data) for one in happenings if one.kind in kinds
    ]


def test_what_an_entry_tells() -> None:
    log = log_of(
        said(
            (1.0, "client", asked("POST", "/a?x=1&y=%20z", "Host: h\r\nContent-Length: 4\r\nContent-Type: a/b\r\n")),
            (1.25, "client", b"text"),
            (1.5, "server", b"HTTP/1.1 201 Made\r\nDate: Mon, 30 Nov 2026 17:57:50 GMT\r\nContent-Length: 2\r\n\r\n"),
            (2.0, "server", b"\xff\xfe"),
        )
    )
    (entry,) = log["entries"]
    assert entry["startedDateTime"] == "2026-11-30T17:57:49.500000Z"
    assert entry["time"] == 1000
    timings = entry["timings"]
    assert (timings["send"], timings["wait"], timings["receive"], timings["connect"]) == (250, 250, 500, -1)
    request, response = entry["request"], entry["response"]
    assert request["url"] == "https://h/a?x=1&y=%20z"
    assert request["queryString"] == [{"name": "x", "value": "1"}, {"name": "y", "value": " z"}]
    assert request["postData"] == {"mimeType": "a/b", "text": "text"}
    assert (response["status"], response["statusText"]) == (201, "Made")
    assert response["content"] == {"size": 2, "mimeType": "", "text": "//4=", "encoding": "base64"}
    assert entry["connection"] == "1"
    assert "serverIPAddress" not in entry


@pytest.mark.parametrize(
    ("parts", "ends", "comment"),
    [
        ([], "ConnectionResetError", "no answer: the server's side broke: ConnectionResetError"),
        ([], None, "no answer"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"], "", "the server ended the connection"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n"], None, "no answer"),
    ],
)
def test_what_did_not_come_to_its_end(parts: list[bytes], ends: str | None, comment: str) -> None:
    log = log_of(said((0.0, "client", asked()), *((1.0, "server", part) for part in parts), ends=ends))
    (entry,) = log["entries"]
    assert comment in entry["comment"]
    assert ("_error" in entry["response"]) == (entry["response"]["status"] == 0)
    assert "the epoch" in log["comment"]
    assert entry["startedDateTime"].startswith("1970-01-01T00:00:00")


@looped(
    ("protocol", "frame", "message"),
    [
        (b"v5.channel.k8s.io", b"\x82\x02\x01a", {"opcode": 2, "data": "AWE=", "_channel": "stdout"}),
        (b"v4.base64.channel.k8s.io", b"\x81\x051YQ==", {"opcode": 1, "data": "1YQ==", "_channel": "stdout"}),
        (b"other", b"\x81\x02hi", {"opcode": 1, "data": "hi"}),
        (b"v5.channel.k8s.io", b"\x89\x02hi", {"opcode": 9, "data": "aGk="}),
        (b"v5.channel.k8s.io", b"\x88\x00", {"opcode": 8, "data": ""}),
        (b"v5.channel.k8s.io", b"\x88\x04\x03\xe8ok", {"opcode": 8, "data": "A+hvaw=="}),
    ],
)
def test_messages_are_as_on_the_wire(protocol: bytes, frame: bytes, message: dict[str, Any]) -> None:
    log = log_of(said((0.0, "client", asked()), (1.0, "server", SWITCHED % protocol), (2.5, "server", frame)))
    (entry,) = log["entries"]
    assert entry["request"]["url"].startswith("wss://api.example:6443/")
    assert entry["_resourceType"] == "websocket"
    assert entry["_webSocketMessages"] == [{"type": "receive", "time": 2.5, **message}]


def test_what_is_large_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har, "BODY", 10)
    monkeypatch.setattr(har, "TOTAL", 15)
    monkeypatch.setattr(har, "ENTRIES", 2)
    body = "ää".encode() * 5
    parts = [
        (0.0, side, data) for _ in range(3) for side, data in (("client", asked()), ("server", answered(body[1:])))
    ]
    log = log_of(said(*parts))
    first, second = log["entries"]
    assert first["response"]["content"]["comment"] == "cut: the first 10 of 19 bytes"
    assert second["response"]["content"]["comment"] == "cut: the first 5 of 19 bytes"
    assert "1 more requests are left out" in log["comment"]


def test_messages_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har, "MESSAGES", 1)
    log = log_of(said((0.0, "client", asked()), (1.0, "server", SWITCHED % b"" + b"\x82\x01a\x82\x01b")))
    assert len(log["entries"][0]["_webSocketMessages"]) == 1
    assert "1 more messages are left out" in log["comment"]


@pytest.mark.parametrize("date", ["nonsense", "Mon, 30 Nov 0001 00:00:00 GMT", "Mon, 99 Nov 2026 17:57:50 GMT", ""])
def test_a_date_that_cannot_be(date: str) -> None:
    log_of(said((5.0, "client", asked()), (5.0, "server", answered(b"", f"Date: {date}\r\n"))))


@looped("target", ["*", "/a b|c\x80", "http://x/y", "", "/a?%zz&=", "a:443"])
def test_every_target_becomes_a_url(target: str) -> None:
    raw = b"GET " + target.encode("latin-1") + b" HTTP/1.1\r\n\r\n"
    log_of(said((0.0, "client", raw)))


def test_the_schema_is_read() -> None:
    assert list(faults({"log": {"version": 1, "entries": []}}, HAR["har.json"])) == [
        "$.log: no creator",
        "$.log.version: not string",
    ]


@looped(
    ("body", "said_of_it"),
    [
        (b"\xff\xfe", {"text": "//4=", "_encoding": "base64", "comment": "text is in base64"}),
        ("é".encode() * 4, {"text": "é" * 3, "comment": "cut: the first 7 of 8 bytes"}),
    ],
)
def test_what_was_sent(body: bytes, said_of_it: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har, "BODY", 7)
    head = f"Host: h\r\nContent-Length: {len(body)}\r\n"
    (entry,) = log_of(said((0.0, "client", asked("POST", head=head) + body)))["entries"]
    assert entry["request"]["postData"] == {"mimeType": "", **said_of_it}


def test_a_message_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har, "TOTAL", 3)
    switched = SWITCHED % b"v5.channel.k8s.io"
    (entry,) = log_of(said((0.0, "client", asked()), (1.0, "server", switched + b"\x82\x05\1abcd")))["entries"]
    (message,) = entry["_webSocketMessages"]
    assert (message["data"], message["comment"]) == (base64.b64encode(b"\1ab").decode(), "cut: the first 3 of 5 bytes")


def test_an_upgrade_to_what_is_not_read() -> None:
    switched = b"HTTP/1.1 101 S\r\nUpgrade: SPDY/3.1\r\n\r\n"
    (entry,) = log_of(said((0.0, "client", asked()), (1.0, "server", switched + b"\x80")))["entries"]
    assert entry["comment"].startswith("upgraded to SPDY/3.1, whose bytes are not told")


def test_a_recording_that_is_longer_than_the_calendar() -> None:
    head = "Date: Thu, 30 Dec 9999 00:00:00 GMT\r\n"
    parts = ((0.0, "client", asked()), (0.0, "server", answered(b"", head)), (9e9, "client", asked()))
    first, second = log_of(said(*parts))["entries"]
    assert first["startedDateTime"] == second["startedDateTime"] == "9999-12-30T00:00:00.000000Z"


def test_answers_and_bytes_without_a_request() -> None:
    """A recording that began in the middle, as one that was told by another program may."""

    def one(kind: str, **data: Any) -> Happening:
        return Happening(kind, 1, 1.0, "server", data)

    response = one("response", status=200, reason="OK", headers=(), seconds=0.0)
    stray = [
        one("request-end", size=1, body=b"x"),
        one("chunk", size=1, data=b"x"),
        one("response-end", size=1, body=b"x", seconds=0.0),
        one("upgrade", protocol="", websocket=True),
        one("note")._replace(conn=0),
    ]
    assert log_of(stray)["entries"] == []
    (entry,) = log_of([*stray, response, one("chunk", size=1, data=b"x")])["entries"]
    assert (entry["request"]["method"], entry["response"]["content"]["text"]) == ("", "x")
