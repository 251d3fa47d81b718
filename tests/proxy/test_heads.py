"""Heads on their way through the proxy, by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawkube.errors import ProtocolError
from rawkube.observe.proxy_heads import Body, Malformed, for_client, for_server, read_answer, read_request
from tests.proxy.rig import ask


def sent(raw: bytes, *, prefix: str = "", by_proxy: str | None = None) -> list[str]:
    head = for_server(read_request(raw), host="s", prefix=prefix, added=[], plain=False, by_proxy=by_proxy)
    return head.decode().split("\r\n")


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("/a?b", "GET /p/a?b HTTP/1.1"),
        ("http://localhost:1/a?b", "GET /p/a?b HTTP/1.1"),
        ("http://localhost?b", "GET /p/?b HTTP/1.1"),
    ],
)
def test_targets(target: str, first: str) -> None:
    assert sent(ask(target), prefix="/p")[0] == first


def test_by_a_proxy() -> None:
    assert sent(ask("/a"), by_proxy="Basic x")[:3] == [
        "GET http://s/a HTTP/1.1",
        "Host: s",
        "Proxy-Authorization: Basic x",
    ]


def test_connection_cannot_take_the_framing_away() -> None:
    lines = ("Connection: content-length, transfer-encoding, host", "Content-Length: 3")
    assert sent(ask("/a", *lines, method="POST")) == ["POST /a HTTP/1.1", "Host: s", "Content-Length: 3", "", ""]


@pytest.mark.parametrize(
    ("location", "seen"),
    [
        ("/p/api", "/api"),
        ("https://s/p/api", "/api"),
        ("https://else/p/api", "https://else/p/api"),
        ("/login", "/login"),
        ("https://s.evil/p/x", "https://s.evil/p/x"),
    ],
)
def test_redirects(location: str, seen: str) -> None:
    asked = read_request(ask())
    said = read_answer(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode(), asked)
    head = for_client(said, asked, keeps=True, prefix="/p", server="https://s").decode()
    assert f"\r\nLocation: {seen}\r\n" in head


def test_hop_by_hop_of_an_answer() -> None:
    asked = read_request(ask())
    raw = b"HTTP/1.1 200 Oh\r\nConnection: keep-alive, X-A\r\nX-A: 1\r\nKeep-Alive: 3\r\nX-B: 2\r\n\r\n"
    said = read_answer(raw, asked)
    assert said.body.until_the_end
    head = for_client(said, asked, keeps=False, prefix="", server="")
    assert head == b"HTTP/1.1 200 Oh\r\nX-B: 2\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "raw",
    [b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n", b"HTTP/2 200\r\n\r\n", b"x\r\n\r\n", b"HTTP/1.1 200 OK\n\nX: 1\r\n\r\n"],
)
def test_answers_that_are_none(raw: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_answer(raw, read_request(ask()))


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.data())
def test_chunks_cut_anywhere(chunks: list[bytes], data: st.DataObject) -> None:
    body = b"".join(b"%x;a=b\r\n%b\r\n" % (len(each), each) for each in chunks) + b"0\r\nT: 1\r\n\r\n"
    cut = data.draw(st.integers(0, len(body)))
    found: list[bytes] = []
    reader = Body(-1, chunked=True)
    used = reader.feed(body[:cut], found.append)
    used += reader.feed(body[cut:] + b"GET /next", found.append)
    assert (used, reader.over, b"".join(found)) == (len(body), True, b"".join(chunks))


@pytest.mark.parametrize(
    "bad", [b"\r\n", b"-1\r\n", b"0x1\r\n", b"1_0\r\n", b"g\r\n", b"1\r\naX\r\n", b"1" * 20 + b"\r\n"]
)
def test_chunks_that_are_none(bad: bytes) -> None:
    with pytest.raises(Malformed):
        Body(-1, chunked=True).feed(bad)
