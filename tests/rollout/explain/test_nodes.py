"""What is wrong with the node of a Pod."""

from __future__ import annotations

from typing import Any

from rawkube.rollout.explain import nodes
from rawkube.rollout.explain.finding import MAYBE
from rawkube.rollout.explain.scene import Scene
from tests.support.explained import Object, found, pod, ready, replica_set, view, workload


def told(status: Object, **scene: Any) -> list[tuple[str, str, str]]:
    one = pod("web-1-a", status, {"nodeName": "n1"}, owner="r")
    return found(nodes.findings(view(Scene(workload("Deployment"), [replica_set()], [one], **scene))))


def test_a_node_that_cannot_be_seen_is_known_by_its_pod() -> None:
    """The node lifecycle controller writes it into the Pods of a node that it lost."""
    lost = {"phase": "Running", "reason": "NodeLost", "message": "Node n1 is unresponsive"}
    responds = ("NodeNotReady", 'its node "n1" does not respond', MAYBE)
    for scene in ({}, {"unseen": {"nodes": "forbidden"}}):
        assert told(lost, **scene) == [responds]
        assert told({"phase": "Running"}, **scene) == []
    assert told({"phase": "Running"}, gone_nodes={"n1"}) == [("NodeGone", 'its node "n1" is gone', MAYBE)]
    assert told({**ready(), "reason": "NodeLost"}) == []
    assert told({**lost, "phase": "Failed"}) == []
