"""Why no node fits, out of the scheduler's message, in words. Pure.

The message is that of `FitError.Error` in k8s.io/kubernetes, pkg/scheduler/framework: `0/3 nodes are available: 1
Insufficient cpu, 2 node(s) had untolerated taint {a: b}. preemption: …`. Instead of counts, one reason without a
count can stand there, which holds for all nodes.
"""

from __future__ import annotations

import re

from rawkube._typing import NamedTuple
from rawkube.rollout.explain.fields import clip
from rawkube.rollout.explain.words import agreed

AFFINITY = "node(s) didn't match Pod's node affinity/selector"
VOLUME_CONFLICT = "node(s) had volume node affinity conflict"
_LONGEST = 4096  # characters of a message; what a scheduler really writes is far below
_SHOWN = 200
_MOST = 6  # reasons that are told; the rest is counted

_MESSAGE = re.compile(r"0/(\d{1,9}) nodes are available: ?(.*)", re.DOTALL)
_COUNTED = re.compile(r"(\d{1,9}) (.+)", re.DOTALL)
_TAINT = re.compile(r"node\(s\) had (?:untolerated )?taint \{([^:}]*): ?([^}]*)\}(?:, that the pod didn't tolerate)?")
_INSUFFICIENT = re.compile(r"Insufficient (\S+)")

# In the words of the scheduler's plugins.
_REASONS = {
    "Too many pods": "runs|run as many Pods as it|they may",
    AFFINITY: "is|are ruled out by {where}",
    VOLUME_CONFLICT: "is|are out of reach of the Pod's volume (volume node affinity conflict)",
    "node(s) had untolerated taint(s)": "has|have a taint that the Pod does not tolerate",
    "node(s) were unschedulable": "is|are cordoned",
    "node(s) didn't match pod affinity rules": "is|are ruled out by the Pod's affinity to other Pods",
    "node(s) didn't match pod anti-affinity rules": "runs|run a Pod that this one's anti-affinity excludes",
    "node(s) didn't satisfy existing pods anti-affinity rules": "runs|run a Pod whose anti-affinity excludes this one",
    "node(s) didn't match pod topology spread constraints": "would break the Pod's topology spread constraints",
    "node(s) didn't match pod topology spread constraints (missing required label)": (
        "lacks|lack the label of the Pod's topology spread constraints"
    ),
    "node(s) didn't have free ports for the requested pod ports": "has|have the Pod's host port in use",
    "node(s) didn't find available persistent volumes to bind": "has|have no free volume that fits the Pod's claim",
    "node(s) exceed max volume count": "has|have as many volumes attached as it|they may",
    "node(s) did not have enough free storage": "has|have too little free storage",
    "node(s) had no available volume zone": "is|are in another zone than the Pod's volume",
    "node(s) didn't match the requested node name": "is|are another node than the Pod names",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": (
        "is|are unusable, because a claim is bound to a volume that does not exist"
    ),
}
_TAINTS = {
    "node.kubernetes.io/unreachable": "is|are unreachable",
    "node.kubernetes.io/not-ready": "is|are not ready",
    "node.kubernetes.io/unschedulable": "is|are cordoned",
    "node.kubernetes.io/disk-pressure": "is|are short of disk space",
    "node.kubernetes.io/memory-pressure": "is|are short of memory",
    "node.kubernetes.io/pid-pressure": "is|are short of process IDs",
    "node.kubernetes.io/network-unavailable": "has|have no network yet",
    "node.cloudprovider.kubernetes.io/uninitialized": "is|are not yet set up by the cloud provider",
    "node-role.kubernetes.io/control-plane": "is|are for the control plane only",
    "node-role.kubernetes.io/master": "is|are for the control plane only",
}
_WHOLE = {
    "pod has unbound immediate PersistentVolumeClaims": "a PersistentVolumeClaim of the Pod is not bound",
    "": "the scheduler gives no reason",
}


class Verdict(NamedTuple):
    """`nodes`: how many there are. `reasons`: (of how many nodes, the scheduler's words). `whole`: a reason for all."""

    nodes: int
    reasons: tuple[tuple[int, str], ...] = ()
    whole: str = ""

    def names(self, *words: str) -> bool:
        """Whether one of these is among the reasons."""
        return any(reason in words for _, reason in self.reasons)

    @property
    def short_of(self) -> tuple[str, ...]:
        """The resources that some node has too little of: `cpu`."""
        found = (_INSUFFICIENT.fullmatch(reason) for _, reason in self.reasons)
        return tuple(clip(one[1]) for one in found if one)

    @property
    def has_taints(self) -> bool:
        """Whether a taint is among the reasons."""
        return any("taint" in reason for _, reason in self.reasons)


def read(message: str) -> Verdict | None:
    """What the scheduler says, None for a message of another form."""
    message = message[:_LONGEST]
    if message.startswith("no nodes available to schedule pods"):
        return Verdict(0)
    found = _MESSAGE.fullmatch(message)
    if found is None:
        return None
    # Behind the reasons stands what preemption found, which is hardly ever of help.
    said = found[2].partition(". ")[0].strip().rstrip(".")
    pieces = [_COUNTED.fullmatch(piece) for piece in re.split(r", (?=\d+ )", said)]
    counted = tuple((int(piece[1]), piece[2]) for piece in pieces if piece)
    return Verdict(int(found[1]), counted) if len(counted) == len(pieces) else Verdict(int(found[1]), whole=said)


def in_words(verdict: Verdict, *, where: str = "") -> str:
    """`no node fits: 1 of 3 has too little cpu, 2 have the taint a: b`; an unknown reason is the scheduler's.

    `where`: what node selector and affinity ask for.
    """
    if not verdict.nodes:
        return "no node fits: the cluster has none that takes Pods"
    if not verdict.reasons:
        return f"no node fits: {_WHOLE.get(verdict.whole) or clip(verdict.whole, _SHOWN)}"
    told = [
        _told(verdict.nodes, count, reason, where, is_first=not at)
        for at, (count, reason) in enumerate(verdict.reasons[:_MOST])
    ]
    more = len(verdict.reasons) - _MOST
    return f"no node fits: {', '.join(told)}{f' and {more} more reasons' if more > 0 else ''}"


def in_words_for(node: str, verdict: Verdict) -> str:
    """The same for a Pod that may run on one node only, as those of a DaemonSet."""
    elsewhere = (AFFINITY, "node(s) didn't satisfy plugin(s) [NodeAffinity]")
    mine = [reason for _, reason in verdict.reasons if reason not in elsewhere]
    words = [words if (words := _known(reason, "")) else clip(reason, _SHOWN) for reason in mine[:_MOST]]
    if not words:
        return in_words(verdict, where=f"the affinity to the node {node}")
    return f"the node {node} does not fit: it {', it '.join(agreed(1, one) for one in words)}"


def _told(nodes: int, count: int, reason: str, where: str, *, is_first: bool) -> str:
    words = _known(reason, where)
    subject = _subject(nodes, count, is_first=is_first)
    return f"{subject} {agreed(count, words)}" if words else f"{subject}: {clip(reason, _SHOWN)}"


def _subject(nodes: int, count: int, *, is_first: bool) -> str:
    if count == nodes == 1:
        return "the only node" if is_first else "it"
    if count == nodes:
        return "both" if count == 2 else f"all {count}"
    return f"{count} of {nodes}" if is_first else str(count)


def _known(reason: str, where: str) -> str:
    """The words for a reason, with both forms of their verbs; empty for an unknown one."""
    short = _INSUFFICIENT.fullmatch(reason)
    if short:
        return f"has|have too little {_plain(short[1])}"
    taint = _TAINT.fullmatch(reason)
    if taint:
        key, value = _plain(taint[1]), _plain(taint[2])
        return _TAINTS.get(key) or f"has|have the taint {key}{f': {value}' if value else ''}"
    return _REASONS.get(reason, "").replace("{where}", _plain(where) or "the Pod's node selector or affinity")


def _plain(words: str) -> str:
    """Words of the cluster among ours: a bar would be read as a choice of forms."""
    return clip(words, _SHOWN).replace("|", "/")
