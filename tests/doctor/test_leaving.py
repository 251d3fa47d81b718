"""How a doctor leaves the WebSockets that it has opened."""

from __future__ import annotations

from rawkube.api.client import ApiClient
from rawkube.kubeconfig.access import Access
from rawkube.observe.doctor import Doctor
from rawkube.observe.trace import Trace
from rawkube.wire.tap import Tap

from .cluster import LIMITS, Cluster


def test_a_websocket_is_closed_as_its_protocol_has_it() -> None:
    lines: list[str] = []
    with Cluster() as server:
        tap = Tap(Trace(lambda line: lines.append(line.partition("#")[2].partition(" ")[2])), wire=True)
        with ApiClient(Access(server=server.url, namespace="default"), tap=tap) as client:
            list(Doctor(client, limits=LIMITS).run())
    opened = lines.index("← upgraded to a WebSocket, no subprotocol")
    assert lines[opened + 1 : opened + 3] == ["→ close 1000", "→ end of stream"]
    assert [line for line in lines if "read to its end" in line] == []
