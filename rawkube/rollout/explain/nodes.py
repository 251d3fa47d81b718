"""Nodes of Pods that are not ready, or gone, and DaemonSets that no node wants. Pure.

Codes: NodeNotReady, NodeGone, NoNodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from rawkube._typing import NamedTuple
from rawkube.rollout.explain.fields import items, number, raw, text
from rawkube.rollout.explain.finding import MAYBE, Evidence, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import View, condition, ref_of

_TAINTS = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")


class Trouble(NamedTuple):
    """What is wrong with a node: `is gone`, `is not ready (…)`; `code` as of a Finding."""

    code: str
    text: str
    evidence: Evidence
    since: str


def findings(view: View) -> Iterator[Finding]:
    """One for each Pod of the new revision that is not ready and whose node is not either."""
    yield from _no_nodes(view)
    for pod in view.new_pods:
        name = text(pod, "spec", "nodeName")
        found = None if raw(condition(pod, "Ready"), "status") == "True" else trouble(view, pod)
        if found is None or raw(pod, "status", "phase") in ("Succeeded", "Failed"):
            continue
        yield Finding(
            found.code,
            f'its node "{name}" {found.text}',
            ref_of(pod),
            evidence=(found.evidence,),
            resolves=MAYBE,
            advice=f"see kubectl describe node {name}" if found.code == "NodeNotReady" else "",
            since=found.since,
        )


def trouble(view: View, pod: Object) -> Trouble | None:
    """What is wrong with the node of a Pod, None for nothing that can be seen or for no node."""
    name = text(pod, "spec", "nodeName")
    if not name:
        return None
    node = view.node(raw(pod, "spec", "nodeName"))
    if node is not None:
        return _of_node(name, node)
    if name in view.scene.gone_nodes or (view.scene.nodes and "nodes" not in view.scene.unseen):
        return Trouble("NodeGone", "is gone", Evidence(f"{ref_of(pod)}: spec.nodeName", name), "")
    if raw(pod, "status", "reason") == "NodeLost":
        said = Evidence(f"{ref_of(pod)}: status.reason", text(pod, "status", "message") or "NodeLost")
        return Trouble("NodeNotReady", "does not respond", said, "")
    return None


def _of_node(name: str, node: Object) -> Trouble | None:
    ready = condition(node, "Ready")
    status, since = raw(ready, "status"), text(ready, "lastTransitionTime")
    words = text(ready, "message") or text(ready, "reason")
    because = f" ({words.rstrip('.')})" if words else ""
    said = Evidence(f"node/{name}: status.conditions[Ready]", words or text(ready, "status"), since)
    if status == "Unknown":
        return Trouble("NodeNotReady", f"does not respond{because}", said, since)
    if ready is not None and status != "True":
        return Trouble("NodeNotReady", f"is not ready{because}", said, since)
    taint = next((one for one in items(node, "spec", "taints") if raw(one, "key") in _TAINTS), None)
    if taint is None:
        return None
    key, added = text(taint, "key"), text(taint, "timeAdded")
    what = "is unreachable" if key == _TAINTS[0] else "is not ready"
    return Trouble("NodeNotReady", what, Evidence(f"node/{name}: spec.taints", key, added), added)


def _no_nodes(view: View) -> Iterator[Finding]:
    if view.kind != "DaemonSet" or not view.is_observed or not raw(view.workload, "metadata", "name"):
        return
    if number(view.workload, "status", "desiredNumberScheduled", default=-1) == 0:
        yield view.finding(
            "NoNodes",
            "no node fits its node selector, affinity and tolerations, so it wants no Pod",
            "status.desiredNumberScheduled",
            "0",
            resolves=MAYBE,
            advice="compare spec.template.spec.nodeSelector with kubectl get nodes --show-labels",
        )
