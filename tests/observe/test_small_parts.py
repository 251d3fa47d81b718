"""Small pure parts of observing, by their corners."""

from __future__ import annotations

import pytest

from rawkube.errors import ProtocolError
from rawkube.observe import derive
from rawkube.observe.ask import Ask, ask_of, lasting
from rawkube.observe.doctor.way import days_between
from rawkube.observe.exchanges import read_exchanges
from rawkube.observe.match import no_discovery
from rawkube.observe.proxy_heads import Body
from rawkube.observe.recording import Piece
from rawkube.observe.selectors import fields_match, parse_fields


def test_a_field_below_what_is_no_mapping_is_empty() -> None:
    assert not fields_match(parse_fields("metadata.name=a"), {"metadata": ["a"]})
    assert fields_match(parse_fields("metadata.name="), {"metadata": ["a"]})


def test_an_exchange_of_http_1_0_without_a_host() -> None:
    sent = Piece(1, 1, 0.0, "client", b"GET /version HTTP/1.0\r\n\r\n")
    came = Piece(2, 1, 0.1, "server", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    (found,) = read_exchanges([sent, came])
    assert (found.target, found.answer.status, b"".join(c.data for c in found.answer.body)) == ("/version", 200, b"{}")


@pytest.mark.parametrize(
    ("now", "until", "days"),
    [
        ("2026-12-01T00:00:00Z", "2026-12-03T12:00:00Z", 2),
        ("2026-12-01T00:00:00Z", "2026-11-30T00:00:00Z", -1),
        ("2026-12-01T00:00:00Z", "soon", None),
        ("", "2026-12-01T00:00:00Z", None),
    ],
)
def test_days(now: str, until: str, days: int | None) -> None:
    assert days_between(now, until) == days


def test_there_may_be_no_discovery() -> None:
    assert list(no_discovery()) == []


def test_a_chunk_whose_head_does_not_end() -> None:
    body = Body(-1, chunked=True)
    with pytest.raises(ProtocolError, match="a line that does not end"):
        for _ in range(20):
            body.feed(b"0" * 8192)


def test_a_watch_of_what_is_no_event_is_no_feed() -> None:
    sent = Piece(1, 1, 0.0, "client", b"GET /api/v1/pods?watch=1&resourceVersion=5 HTTP/1.1\r\nHost: h\r\n\r\n")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    for line in (b'{"kind":"Status"}\n', b"[1]\n"):
        came = Piece(2, 1, 0.1, "server", head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(line), line))
        (found,) = read_exchanges([sent, came])
        assert derive.feed_of(found, "5", streaming=False) is None


def test_a_watch_without_a_state_is_no_list() -> None:
    feed = derive.Feed(None, "5", 5, 0, (), "open", 0.0)  # type: ignore[arg-type]
    assert derive.listing_of_feed(feed) is None


def test_fields_that_are_none_last_only_as_they_are() -> None:
    def asked(fields: str) -> Ask:
        return ask_of("GET", f"/api/v1/pods?fieldSelector={fields}", ())

    assert lasting(asked("a%3Db%3Dc%3D%2C%21"), asked("a%3Db%3Dc%3D%2C%21"))
    assert not lasting(asked("%21%21"), asked("metadata.name%3Da"))
