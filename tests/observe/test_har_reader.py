"""HAR files, read as what happened. The files are the tests' own data."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import RecordingError
from rawkube.observe.conversation import Happening
from rawkube.observe.har_reader import read_har
from rawkube.observe.inspect import Inspected
from tests.support.rows import looped

START = "2026-11-30T12:00:0{}.000Z"
EPOCH = 1796040000.0


def entry(second: int, url: str, status: int = 200, text: str = "", **more: Any) -> dict[str, Any]:
    return {
        "startedDateTime": START.format(second),
        "time": 500,
        "timings": {"blocked": -1, "dns": -1, "connect": 100, "send": 0, "wait": 100, "receive": 300},
        "request": {"method": "GET", "url": url, "headers": [{"name": "Accept", "value": "*/*"}]},
        "response": {
            "status": status,
            "statusText": "OK",
            "headers": [
                {"name": "Content-Type", "value": "application/json"},
                {"name": "Content-Encoding", "value": "gzip"},
            ],
            "content": {"size": len(text), "mimeType": "application/json", "text": text},
        },
        **more,
    }


def har(*entries: dict[str, Any]) -> bytes:
    log = {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": entries}
    return json.dumps({"log": log}, indent=2).encode()


def told(*entries: dict[str, Any]) -> list[Happening]:
    return list(read_har("x.har", har(*entries)))


def of_kind(found: list[Happening], kind: str) -> list[Happening]:
    return [one for one in found if one.kind == kind]


def test_an_exchange() -> None:
    found = told(entry(1, "https://host:6443/api/v1/pods?limit=5", text="{}"))
    assert [one.kind for one in found] == ["recording", "request", "request-end", "response", "response-end"]
    assert found[0].data["note"] == "HAR 1.2 of x 1"
    assert found[1].data["target"] == "/api/v1/pods?limit=5"
    response = found[3]
    assert ("Content-Encoding", "gzip") in response.data["headers"]
    assert [response.t, response.data["seconds"]] == pytest.approx([0.2, 0.2])
    assert found[4].data["body"] == b"{}"
    assert found[4].data["seconds"] == pytest.approx(0.5)


def test_watch_events() -> None:
    events = "".join(
        json.dumps({"type": "MODIFIED", "object": {"kind": "Pod", "metadata": {"name": "a"}, "n": n}}) + "\n"
        for n in (1, 2)
    )
    found = of_kind(told(entry(1, "http://h/api/v1/pods?watch=true", text=events)), "watch")
    assert [one.data["changes"] for one in found] == [[], ["n 1→2"]]


def test_a_session() -> None:
    def message(kind: str, t: float, data: bytes) -> dict[str, Any]:
        return {"type": kind, "time": EPOCH + t, "opcode": 2, "data": base64.b64encode(data).decode()}

    session = entry(0, "wss://h/api/v1/namespaces/d/pods/p/exec?command=cat", 101)
    session["response"]["headers"] = [
        {"name": "Upgrade", "value": "websocket"},
        {"name": "Sec-WebSocket-Protocol", "value": "v5.channel.k8s.io"},
    ]
    session["_webSocketMessages"] = [
        message("send", 1, b"\0hi"),
        message("receive", 2, b"\1hi"),
        message("receive", 3, b'\3{"metadata":{},"status":"Success"}'),
        message("receive", 3.5, b"\1" + bytes(70_000)),
    ]
    found = told(session)
    assert [one.data["protocol"] for one in of_kind(found, "upgrade")] == ["v5.channel.k8s.io"]
    messages = of_kind(found, "message")
    names = [(one.t, one.side, one.data["name"], one.data["size"]) for one in messages]
    assert names[:2] == [(1.0, "client", "stdin", 2), (2.0, "server", "stdout", 2)]
    assert names[-1][3] == 70_000
    assert [one.data["exit_code"] for one in of_kind(found, "status")] == [0]


def test_what_overlaps_is_on_connections_of_its_own() -> None:
    found = told(
        entry(1, "https://h/a", connection="7"),
        entry(1, "https://h/b", connection="7"),
        entry(3, "https://h/c", connection="7"),
    )
    assert [one.conn for one in of_kind(found, "request")] == [1, 2, 2]


def test_no_answer() -> None:
    found = told(entry(1, "https://h/a", 0, _error="net::ERR_ABORTED"))
    assert [one.data["error"] for one in of_kind(found, "end")] == ["net::ERR_ABORTED"]


@looped(
    "data",
    [
        b'{"log": ',
        b'{"log": []}',
        b'{"log": {"entries": [1]}}',
        b'{"log": {"entries": [{"startedDateTime": "x", "request": {}, "response": {}}]}}',
        b'{"log": {"entries": [{"request": {}, "response": {}}]}}',
        b'{"log": {"entries": 5}}',
        b'{"log": ' + b"[" * 100_000,
    ],
)
def test_what_is_damaged(data: bytes) -> None:
    with pytest.raises(RecordingError, match=r"^x\.har: a HAR file that is damaged or cut$"):
        list(read_har("x.har", data))


@looped("wrong", [None, 5, "x", [], {}, "\r\nX: y\r\n\r\n", "http://[", float("nan")])
@looped("where", ["time", "timings", "request", "response", "connection", "_webSocketMessages"])
def test_members_of_other_kinds(where: str, wrong: Any) -> None:
    assert told({**entry(1, "http://h/"), where: wrong})[0].kind == "recording"


@looped("wrong", [None, 5, [], {}, "\r\nX: y\r\n\r\n", "http://["])
@looped("where", ["method", "url", "headers", "postData", "status", "statusText", "content"])
def test_members_of_messages_of_other_kinds(where: str, wrong: Any) -> None:
    one = entry(1, "http://h/")
    one["request"][where] = one["response"][where] = wrong
    assert told(one)[0].kind == "recording"


def test_a_har_is_known_by_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "x"
    for data in (har(entry(1, "http://h/a")), b"\xef\xbb\xbf" + har(entry(1, "http://h/a")).replace(b"\n", b"")):
        file.write_bytes(data)
        with Inspected(str(file)) as inspected:
            assert [one.kind for one in inspected][:2] == ["recording", "request"]


def test_messages_and_contents_that_are_not_what_they_say() -> None:
    session = entry(0, "wss://h/x", 101)
    session["response"]["headers"] = [{"name": "Upgrade", "value": "websocket"}]
    session["_webSocketMessages"] = [
        {"type": "receive", "time": EPOCH, "opcode": opcode, "data": data}
        for opcode, data in ((16, "eA=="), ("x", "eA=="), (2, "Hello"), (2, "eA=="))
    ]
    assert [one.data["data"] for one in of_kind(told(session), "message")] == [b"Hello", b"x"]
    for text, body in (("eA==", b"x"), ("eA", b"")):
        one = entry(1, "http://h/", text=text)
        one["response"]["content"]["encoding"] = "base64"
        assert of_kind(told(one), "response-end")[0].data["body"] == body
