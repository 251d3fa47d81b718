"""Who ended a connection, as traces and recordings tell it."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path

from rawkube.api.client import ApiClient
from rawkube.kubeconfig.access import Access
from rawkube.observe.record import Recorder
from rawkube.observe.trace import Trace
from rawkube.wire.stream import Stream
from rawkube.wire.tap import Event, Tap
from rawkube.wire.teller import Teller
from tests.support.server import Peer, ScriptedServer


def ends(told: list[Event]) -> list[tuple[str, str]]:
    return [(event.data["side"], event.data["error"]) for event in told if event.kind == "eof"]


def test_whoever_interrupts_a_connection_has_ended_it() -> None:
    told: list[Event] = []
    here, there = socket.socketpair()
    stream = Stream(here, conn=1)
    stream.told = Teller(Tap(told.append, wire=True), 1)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(stream.recv(10, timeout=5)))
    reader.start()
    stream.interrupt()
    reader.join()
    stream.close()
    there.close()
    assert found == [b""]
    assert ends(told) == [("client", "")]


def test_a_server_that_ends_is_told_before_this_side() -> None:
    told: list[Event] = []
    here, there = socket.socketpair()
    stream = Stream(here, conn=1)
    stream.told = Teller(Tap(told.append, wire=True), 1)
    there.close()
    assert stream.recv(10, timeout=5) == b""
    stream.interrupt()
    stream.close()
    assert ends(told) == [("server", ""), ("client", "")]


def test_a_watch_that_is_interrupted_in_a_recording_and_a_trace(tmp_path: Path) -> None:
    def serve(peer: Peer) -> None:
        peer.read_request()
        peer.start_chunked()
        peer.stall()

    lines: list[str] = []
    path = tmp_path / "r.jsonl"
    with ScriptedServer(serve) as server, Recorder(str(path)) as recorder:
        tap = Tap(recorder.told, Trace(lines.append), wire=True)
        with ApiClient(Access(server=server.url), tap=tap) as client:
            response = client.send("GET", "/api/v1/pods", [("watch", "true")])
            reader = threading.Thread(target=lambda: swallowed(response.chunks))
            reader.start()
            time.sleep(0)  # whichever of the two is first
            response.interrupt()
            reader.join()
    recorded = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["from"] for one in recorded if "eof" in one or "error" in one] == ["client"]
    assert [line for line in lines if "end of stream" in line and "←" in line] == []


def swallowed(read: object) -> None:
    from rawkube.errors import TransportError

    try:
        for _ in read():  # type: ignore[operator]
            pass
    except TransportError:
        pass
