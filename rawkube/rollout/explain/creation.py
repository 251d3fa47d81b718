"""What keeps a Pod that has a node from being set up there: volumes, network, slow pulls. Pure.

It is told by Events alone: the status of the containers is `ContainerCreating` for all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rawkube._typing import NamedTuple
from rawkube.rollout.explain.configuration import missing
from rawkube.rollout.explain.containers import containers_of
from rawkube.rollout.explain.fields import clip, items, mapping, raw, text
from rawkube.rollout.explain.finding import MAYBE, WAITS, Evidence, Finding
from rawkube.rollout.explain.probes import PATIENCE
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import Event, View, name_of

_MOUNT, _ATTACH = ("FailedMount", "FailedMapVolume"), "FailedAttachVolume"
_SANDBOX = ("FailedCreatePodSandBox", "FailedPodSandBoxStatus", "NetworkNotReady")
_GOES_ON = ("Pulling", "Pulled", "Created", "Started")
CREATING = ("ContainerCreating", "PodInitializing", "")

_VOLUME = re.compile(r'for volume "([^"]{1,253})"')
_UNMOUNTED = re.compile(r"unmounted volumes=\[([^\]]{1,400})\]")
_CLAIM = re.compile(r'persistentvolumeclaim "?([^"\s]{1,253})"? not found', re.IGNORECASE)
_USERS = re.compile(r"Volume is already (?:used by|exclusively attached to) (.{1,200})", re.IGNORECASE)
_INNER = re.compile(
    r'(?:(?:Mount|Attach|Map)Volume\.\w+ (?:initialization )?failed for volume "[^"]*" ?: '
    r"|rpc error: code = \w+ desc = |Failed to create pod sandbox: |failed to setup network for sandbox \"[^\"]*\": "
    r"|failed to create containerd task: |network is not ready: )*"
)
_NETWORK = re.compile(r"\bcni\b|network|assign an IP|no IP addresses", re.IGNORECASE)


class _Cause(NamedTuple):
    code: str
    words: str
    advice: str = ""
    resolves: str = MAYBE


def findings_of(view: View, pod: Object) -> Iterator[Finding]:
    """What keeps a Pod from being set up on its node, if none of its containers was made yet."""
    if any(one.status and (not one.waiting or one.reason not in CREATING) for one in containers_of(view, pod)):
        return
    failures = _failures(view.events(pod))
    for event in failures:
        cause = _meaning(event, view.namespace)
        yield _finding(pod, cause, Evidence(f"event {event.reason}", clip(event.message), event.time), event.first)
    if not failures:
        yield from _slow(view, pod)


def _failures(events: list[Event]) -> list[Event]:
    """The failures that have not been overcome: the last one of each volume, and of the sandbox."""
    found: dict[str, Event] = {}
    attached = False
    for event in reversed(events):
        if event.reason in _GOES_ON:
            break
        attached = attached or event.reason == "SuccessfulAttachVolume"
        if event.reason in _SANDBOX:
            found.setdefault("sandbox", event)
        elif event.reason in _MOUNT or (event.reason == _ATTACH and not attached):
            found.setdefault(_volume(event), event)
    # `timed out waiting for the condition` says no more than that there is a cause, which another Event may tell.
    if len(found) > 1:
        found.pop("", None)
    return list(found.values())[:3]


def _volume(event: Event) -> str:
    named = _VOLUME.search(event.message)
    return named[1] if named else ""


def _meaning(event: Event, namespace: str) -> _Cause:
    if event.reason in _SANDBOX:
        return _sandbox(event.message)
    volume = f'volume "{clip(_volume(event))}"' if _volume(event) else "a volume"
    lacking = missing(event.message, namespace)
    if lacking:
        return _Cause(lacking.code, f"{volume} cannot be mounted: {lacking.words}", lacking.advice, lacking.resolves)
    claim = _CLAIM.search(event.message)
    if claim:
        words = f'{volume} cannot be mounted: PersistentVolumeClaim "{claim[1]}" does not exist'
        return _Cause("ClaimMissing", words, "create the claim, or correct its name in the template")
    if "Multi-Attach error" in event.message:
        return _in_use(volume, event)
    unmounted = _UNMOUNTED.search(event.message)
    if unmounted and "timed out" in event.message:
        words = f"mounting volumes takes too long: {clip(unmounted[1])}"
        return _Cause("VolumeMountFailed", words, "see the volume's driver and the node")
    if event.reason == _ATTACH:
        words = f"{volume} cannot be attached to the node: {_inner(event)}"
        return _Cause("VolumeAttachFailed", words, "see the volume's driver: kubectl get volumeattachments")
    return _Cause(
        "VolumeMountFailed", f"{volume} cannot be mounted: {_inner(event)}", "see the volume's driver and node"
    )


def _in_use(volume: str, event: Event) -> _Cause:
    users = _USERS.search(event.message)
    words = f"{volume} is still in use by another Pod" + (f": {clip(users[0])}" if users else "")
    advice = "a ReadWriteOnce volume serves one node: strategy Recreate, or end the Pod that has it"
    return _Cause("VolumeInUse", words, advice)


def _sandbox(message: str) -> _Cause:
    if _NETWORK.search(message):
        words = f"the network of the Pod cannot be set up: {_strip(message)}"
        return _Cause("PodNetworkFailed", words, "look at the network plugin (CNI) on the node")
    words = f"the Pod's sandbox cannot be made: {_strip(message)}"
    return _Cause("PodSandboxFailed", words, "look at the container runtime of the node")


def _inner(event: Event) -> str:
    return _strip(event.message)


def _strip(message: str) -> str:
    found = _INNER.match(message)
    return clip(message[found.end() :] if found else message)


def _slow(view: View, pod: Object) -> Iterator[Finding]:
    """That it takes long, and nothing says why."""
    scheduled = text(view.condition("PodScheduled", pod), "lastTransitionTime")
    ago = view.seconds_since(scheduled)
    if ago is None or ago < PATIENCE:
        return
    last = next((one for one in reversed(view.events(pod)) if one.reason in _GOES_ON), None)
    if last and last.reason == "Pulling":
        image = next((text(one.spec, "image") for one in containers_of(view, pod) if one.name == last.container), "")
        cause = _Cause(
            "ImagePulling", f'the node has been pulling image "{image}" since {view.clock(last.time)}', "", WAITS
        )
        found = _finding(pod, cause, Evidence("event Pulling", clip(last.message), last.time), last.time)
        yield found._replace(container=last.container)
        return
    node = text(pod, "spec", "nodeName")
    cause = _Cause(
        "PodCreating",
        f'node "{node}" has been setting up the Pod since {view.clock(scheduled)}',
        f"kubectl describe pod {name_of(pod)} -n {view.namespace}",
        WAITS,
    )
    yield _finding(pod, cause, Evidence(f"pod/{name_of(pod)}: status.phase", text(pod, "status", "phase")), scheduled)


def gates(view: View, pod: Object) -> Iterator[Finding]:
    """Readiness gates (KEP-580) that are not true, where the containers are ready."""
    if raw(view.condition("ContainersReady", pod), "status") != "True":
        return
    for gate in items(pod, "spec", "readinessGates"):
        kind = text(gate, "conditionType")
        seen = mapping(view.condition(raw(gate, "conditionType"), pod))
        if not kind or raw(seen, "status") == "True":
            continue
        said = text(seen, "message") or text(seen, "reason") or ("it is not set yet" if not seen else "")
        words = f'readiness gate "{kind}" of the Pod is not true' + (f": {said}" if said else "")
        source = f"pod/{name_of(pod)}: status.conditions[{kind}]"
        evidence = Evidence(source, text(seen, "status") or "absent", text(seen, "lastTransitionTime"))
        cause = _Cause("ReadinessGateWaits", words, "look at the controller that sets this condition")
        yield _finding(pod, cause, evidence, text(seen, "lastTransitionTime"))


def _finding(pod: Object, cause: _Cause, evidence: Evidence, since: str) -> Finding:
    return Finding(
        cause.code,
        cause.words,
        f"pod/{name_of(pod)}",
        evidence=(evidence,),
        resolves=cause.resolves,
        advice=cause.advice,
        since=since,
    )
