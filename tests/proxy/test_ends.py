"""Who ended a client's connection, as the proxy tells it."""

from __future__ import annotations

import pytest

from rawkube.wire.tap import Event
from tests.support.server import Peer, ScriptedServer

from .rig import ask, connect, proxied, read_until


def silent(peer: Peer) -> None:
    peer.read_request()
    peer.start_chunked()
    peer.chunk("begun\n")
    peer.stall()


@pytest.mark.parametrize(("who", "sides"), [("client", ["client", "server"]), ("proxy", ["server", "client"])])
def test_who_ended_it(who: str, sides: list[str]) -> None:
    told: list[Event] = []
    with ScriptedServer(silent) as server:
        with proxied(server.url, told=told) as proxy:
            sock = connect(proxy)
            sock.sendall(ask("/api/v1/pods?watch=true"))
            read_until(sock, b"begun\n")
            if who == "client":
                sock.close()
                proxy._connections._threads[0].join(5)
        sock.close()
    assert [(e.data["side"], e.data["error"]) for e in told if e.kind == "eof"] == [(side, "") for side in sides]


def test_an_idle_client_at_the_stop_of_the_proxy() -> None:
    told: list[Event] = []

    def answers(peer: Peer) -> None:
        peer.read_request()
        peer.reply("{}")
        peer.stall()

    with ScriptedServer(answers) as server:
        with proxied(server.url, told=told) as proxy:
            sock = connect(proxy)
            sock.sendall(ask())
            read_until(sock, b"{}")
        sock.close()
    assert [e.data["side"] for e in told if e.kind == "eof"] == ["server", "client"]
