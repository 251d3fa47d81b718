"""An idle watch whose head is held back until something ends it, as nginx does that buffers."""

from __future__ import annotations

from tests.support.server import Peer, PeerGone, SeenRequest

from .cluster import Cluster, examined


class Holding(Cluster):
    """Lets nothing of a silent answer through, until it gives up."""

    def _quiet(self, peer: Peer) -> None:
        raise PeerGone

    def _watch(self, peer: Peer, request: SeenRequest) -> None:
        if int(request.query["timeoutSeconds"]) > 10:
            self.stopping.wait(0.7)
        super()._watch(peer, request)


def test_the_silence_before_the_head_counts() -> None:
    with Holding() as server:
        found = examined(server.url, idle=2.0)["idle watch"]
    assert found.result == "fail"
    assert found.seen.endswith("unexpected EOF; not even the head came before")
    silent = float(found.seen.partition("cut after ")[2].partition(" s")[0])
    assert 0.6 < silent < 2.0
