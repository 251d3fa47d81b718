"""What is wrong with the Pods of the newest revision: which detector is asked about what, in which order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rawkube.rollout.explain import configuration, crashes, creation, images, init_containers, probes, starts
from rawkube.rollout.explain.containers import Container, containers_of
from rawkube.rollout.explain.fields import clip, number, raw, text
from rawkube.rollout.explain.finding import MAYBE, NEVER, Evidence, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import View, condition, is_terminating, name_of

# The first that finds something has the cause: a container that is killed for its probe crashes, too.
_OF_CONTAINER: tuple[Callable[[Container], Iterator[Finding]], ...] = (
    images.findings_of,
    configuration.findings_of,
    starts.findings_of,
    probes.findings_of,
    crashes.findings_of,
    init_containers.findings_of,
)

# By the reason of a Pod that failed as a whole (kubelet, node lifecycle, Pod garbage collection); else it was rejected.
_FAILED = {
    "Evicted": (
        "PodEvicted",
        "the Pod was evicted",
        "set requests and limits for what ran out, or free it on the node",
    ),
    "Preempting": ("PodPreempted", "the Pod had to make room for a critical one", ""),
    "DeadlineExceeded": ("PodDeadlineExceeded", "the Pod was stopped at its activeDeadlineSeconds", "raise it"),
    "Terminated": ("NodeShutdown", "the Pod was stopped because its node shut down", ""),
    "Shutdown": ("NodeShutdown", "the Pod was stopped because its node shut down", ""),
    "NodeShutdown": ("NodeShutdown", "the Pod was stopped because its node shut down", ""),
    "NodeLost": ("NodeLost", "the node of the Pod is lost", ""),
}
_REFUSED = "see whether the Pods fit the node that they are sent to: kubectl describe node"


def findings(view: View) -> Iterator[Finding]:
    """What is wrong with the new Pods."""
    if is_complete(view):
        return
    left_behind = not _is_missed(view)
    for pod in view.new_pods:
        if not left_behind or raw(pod, "status", "phase") != "Failed":
            yield from of_pod(view, pod)


def is_complete(view: View) -> bool:
    """Whether a Job has ended well; failed Pods on the way there are of no interest then."""
    done = view.condition("Complete") or view.condition("SuccessCriteriaMet")
    return view.kind == "Job" and raw(done, "status") == "True"


def of_pod(view: View, pod: Object) -> Iterator[Finding]:
    """What is wrong with one Pod; nothing if it has no node, is being deleted or has succeeded."""
    phase = raw(pod, "status", "phase")
    if is_terminating(pod) or phase == "Succeeded":
        return
    if phase == "Failed":
        yield from _failed(view, pod)
    elif raw(pod, "spec", "nodeName"):
        found = [one for container in containers_of(view, pod) for one in _of_container(container)]
        yield from found or creation.findings_of(view, pod)
        yield from creation.gates(view, pod)


def _of_container(container: Container) -> list[Finding]:
    if not container.status:
        return []
    found = next((found for find in _OF_CONTAINER if (found := list(find(container)))), [])
    return found or _waiting(container)


def _waiting(container: Container) -> list[Finding]:
    """A container that waits for a reason of which no more is known than its name."""
    if not container.reason or container.reason in creation.CREATING:
        return []
    said = ": ".join(part for part in (container.reason, clip(container.message)) if part)
    advice = f"kubectl describe pod {name_of(container.pod)} -n {container.view.namespace}"
    return [container.finding("ContainerWaits", f"{container} is not started: {said}", advice=advice)]


def _is_missed(view: View) -> bool:
    """Whether failed Pods are in the way: a ReplicaSet leaves them behind, and makes others in their places."""
    if view.kind not in ("Deployment", "ReplicaSet"):
        return True
    ready = sum(1 for pod in view.new_pods if raw(condition(pod, "Ready"), "status") == "True")
    return ready < number(view.workload, "spec", "replicas", default=1)


def _failed(view: View, pod: Object) -> Iterator[Finding]:
    reason, message = text(pod, "status", "reason"), text(pod, "status", "message")
    evidence = Evidence(f"pod/{name_of(pod)}: status", ": ".join(filter(None, (reason or "Failed", message))))
    if not reason:
        found = [one for container in containers_of(view, pod) for one in _of_container(container)]
        yield from found or [_whole(pod, "PodFailed", message or "the Pod has failed", "", evidence)]
        return
    known = _FAILED.get(reason)
    if known:
        code, words, advice = known
        yield _whole(pod, code, f"{words}: {message}" if message else words, advice, evidence)
    else:
        words = f"the Pod was rejected by its node ({reason})"
        yield _whole(pod, "PodRejected", f"{words}: {message}" if message else words, _REFUSED, evidence)


def _whole(pod: Object, code: str, words: str, advice: str, evidence: Evidence) -> Finding:
    ended = text(condition(pod, "Ready"), "lastTransitionTime") or text(pod, "status", "startTime")
    never = raw(pod, "status", "reason") == "DeadlineExceeded"
    ref = f"pod/{name_of(pod)}"
    resolves = NEVER if never else MAYBE
    return Finding(code, clip(words), ref, evidence=(evidence,), resolves=resolves, advice=advice, since=ended)
