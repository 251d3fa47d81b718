"""Pages in a browser: who may read, what a preflight is answered, what becomes of cookies."""

from __future__ import annotations

import pytest

from rawkube.observe.proxy_heads import read_request
from rawkube.observe.proxy_origin import is_preflight, preflight, readable, refusal
from tests.support.server import Peer, ScriptedServer, SeenRequest

from .rig import ask, connect, proxied, rest

PAGE = "https://dash.example"
ALLOWED = (PAGE, "http://other.example:8080")
PREFLIGHT = (f"Origin: {PAGE}", "Access-Control-Request-Method: PATCH")


def asked(
    *lines: str, method: str = "GET", origins: tuple[str, ...] = ALLOWED
) -> tuple[dict[str, str], list[SeenRequest]]:
    """The head of the answer by lower name ("" is the first line), and what the server was asked."""
    seen: list[SeenRequest] = []

    def serve(peer: Peer) -> None:
        seen.append(peer.read_request())
        theirs = (("Access-Control-Allow-Origin", "*"), ("Set-Cookie", "session=theirs"), ("Vary", "Accept"))
        peer.reply("{}", headers=theirs)

    with ScriptedServer(serve) as server, proxied(server.url, origins=origins) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/api", *lines, "Connection: close", method=method))
        first, *pairs = rest(sock).decode().partition("\r\n\r\n")[0].split("\r\n")
    found = {"": first}
    for name, value in (pair.split(": ", 1) for pair in pairs):
        found[name.lower()] = ", ".join(filter(None, (found.get(name.lower()), value)))
    return found, seen


def test_a_page_that_was_named_may_read() -> None:
    head, seen = asked(f"Origin: {PAGE}")
    assert head[""].startswith("HTTP/1.1 200")
    assert head["access-control-allow-origin"] == PAGE
    assert head["access-control-expose-headers"] == "*"
    assert head["vary"] == "Accept, Origin"
    assert "access-control-allow-credentials" not in head
    assert seen[0].header("Origin") in ("", None)


@pytest.mark.parametrize(
    ("lines", "origins", "code", "vary"),
    [
        ((), ALLOWED, 200, "Accept, Origin"),  # no page
        (("Origin: http://localhost:3000",), ALLOWED, 200, "Accept, Origin"),  # asks, but cannot read
        (("Origin: http://localhost:3000",), (), 200, "Accept"),
        (("Origin: https://evil.example",), ALLOWED, 403, "Origin"),
        ((f"Origin: {PAGE}.evil.example",), ALLOWED, 403, "Origin"),
        ((f"Origin: {PAGE}:8443",), ALLOWED, 403, "Origin"),
        (("Origin: null",), ALLOWED, 403, "Origin"),
        ((f"Origin: {PAGE}",), (), 403, ""),
    ],
)
def test_nobody_else(lines: tuple[str, ...], origins: tuple[str, ...], code: int, vary: str) -> None:
    head, seen = asked(*lines, origins=origins)
    assert head[""].startswith(f"HTTP/1.1 {code} ")
    assert [name for name in head if name.startswith("access-control")] == []
    assert head.get("vary", "") == vary
    assert bool(seen) == (code == 200)


def test_a_preflight_is_answered_here() -> None:
    head, seen = asked(*PREFLIGHT, "Access-Control-Request-Headers: content-type,x-a", method="OPTIONS")
    assert seen == []
    assert head[""] == "HTTP/1.1 204 No Content"
    assert head["access-control-allow-origin"] == PAGE
    assert "PATCH" in head["access-control-allow-methods"].split(", ")
    assert head["access-control-allow-headers"] == "content-type,x-a"
    assert head["access-control-max-age"] == "600"
    assert head["vary"] == "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    assert "access-control-allow-private-network" not in head


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://evil.example"])
def test_a_preflight_of_others_is_refused_and_not_passed_on(origin: str) -> None:
    head, seen = asked(f"Origin: {origin}", PREFLIGHT[1], method="OPTIONS")
    assert head[""].startswith("HTTP/1.1 403 ")
    assert (seen, [name for name in head if name.startswith("access-control")]) == ([], [])


def test_what_is_no_preflight_is_passed_on() -> None:
    head, seen = asked(f"Origin: {PAGE}", method="OPTIONS")
    assert [(one.method, one.path) for one in seen] == [("OPTIONS", "/api")]
    assert head["access-control-allow-origin"] == PAGE


def test_a_page_may_read_why_it_was_refused() -> None:
    with ScriptedServer(lambda peer: None) as server:
        url = server.url
    with proxied(url, origins=ALLOWED) as proxy, connect(proxy) as sock:
        sock.sendall(ask("/api", f"Origin: {PAGE}"))
        said = rest(sock).decode()
    assert said.startswith("HTTP/1.1 502 ")
    assert f"\r\nAccess-Control-Allow-Origin: {PAGE}\r\n" in said.partition("\r\n\r\n")[0] + "\r\n"


def test_names_that_are_none_are_not_repeated() -> None:
    request = read_request(ask("/", *PREFLIGHT, "Access-Control-Request-Headers: a b; c", method="OPTIONS"))
    assert is_preflight(request)
    assert refusal(request, ALLOWED) is None
    assert b"Allow-Headers" not in preflight(request)
    private = read_request(ask("/", *PREFLIGHT, "Access-Control-Request-Private-Network: true", method="OPTIONS"))
    assert b"\r\nAccess-Control-Allow-Private-Network: true\r\n" in preflight(private)
    assert readable(request, ()) == []


def test_cookies_pass_in_neither_direction() -> None:
    head, seen = asked("Cookie: session=of-another-program", "X-Kept: yes")
    assert "set-cookie" not in head
    assert [(name, value) for name, value in seen[0].headers if name.lower() in ("cookie", "x-kept")] == [
        ("X-Kept", "yes")
    ]
