"""What is told of the bytes of a connection."""

from __future__ import annotations

from typing import Any

from rawkube.wire.tap import Event, Tap
from rawkube.wire.teller import Teller


def told(secrets: bool = False) -> tuple[Teller, list[Any]]:
    events: list[Any] = []

    def keep(event: Event) -> None:
        events.append((event.kind, event.conn, event.data))

    return Teller(Tap(keep, wire=True, secrets=secrets), 7), events


REQUEST = b"GET / HTTP/1.1\r\nAuthorization: Bearer abc\r\n\r\n"
ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


def test_bytes_without_secrets_and_each_end_once() -> None:
    teller, events = told()
    teller.sent(REQUEST)
    teller.came(ANSWER)
    teller.came(b"")
    teller.ended("server", "ConnectionResetError")
    teller.closed()
    teller.closed()
    assert events == [
        ("bytes", 7, {"side": "client", "data": REQUEST.replace(b"abc", b"<redacted>"), "redacted": True}),
        ("bytes", 7, {"side": "server", "data": ANSWER, "redacted": False}),
        ("eof", 7, {"side": "server", "error": ""}),
        ("eof", 7, {"side": "client", "error": ""}),
    ]


def test_secrets_where_they_are_asked_for() -> None:
    teller, events = told(secrets=True)
    teller.sent(REQUEST)
    assert events == [("bytes", 7, {"side": "client", "data": REQUEST, "redacted": False})]


def test_what_is_held_is_told_before_the_end() -> None:
    teller, events = told()
    teller.came(ANSWER[:20])
    assert events == []
    teller.ended("server", "ConnectionResetError")
    assert events == [
        ("bytes", 7, {"side": "server", "data": ANSWER[:20], "redacted": False}),
        ("eof", 7, {"side": "server", "error": "ConnectionResetError"}),
    ]
