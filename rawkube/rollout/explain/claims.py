"""PersistentVolumeClaims that keep a Pod from its node: missing, not bound and why, lost. Pure.

Codes: ClaimMissing, ClaimPending, ClaimLost, ClaimDeleted. A claim of a storage class with the binding mode
WaitForFirstConsumer waits for the Pod, not the Pod for it: that is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rawkube.rollout.explain.fields import at, items, raw, text
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS, Evidence, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import Event, View, is_terminating, ref_of
from rawkube.rollout.explain.words import kubectl

_WAITS_FOR_POD = ("WaitForFirstConsumer", "WaitForPodScheduled")
# In the words of the persistentvolume-controller and of the external provisioner.
_REASONS = (*_WAITS_FOR_POD, "ProvisioningFailed", "FailedBinding", "ExternalProvisioning", "Provisioning")
_NO_CLASS = re.compile(r'storageclass\.storage\.k8s\.io "([^"]{1,253})" not found')
_PROVISIONER = re.compile(r"external provisioner '([^']{1,253})'")


def of_pod(view: View, pod: Object, message: str) -> Iterator[Finding]:
    """What is wrong with the claims of a Pod. `message`: the scheduler's."""
    for name in dict.fromkeys(_names(pod)):
        claim = view.claim(name)
        if claim is not None:
            yield from _of_claim(view, pod, claim)
        elif f'persistentvolumeclaim "{name}" not found' in message:
            yield _missing(pod, name, message)


def _names(pod: Object) -> Iterator[str]:
    for volume in items(pod, "spec", "volumes"):
        name = raw(volume, "persistentVolumeClaim", "claimName")
        if at(volume, "ephemeral") is not None:
            name = f"{raw(pod, 'metadata', 'name')}-{raw(volume, 'name')}"
        if name:
            yield name


def _missing(pod: Object, name: str, message: str) -> Finding:
    shown = text({"name": name}, "name")
    scheduled = Evidence(f"{ref_of(pod)}: status.conditions[PodScheduled]", text({"message": message}, "message"))
    return Finding(
        "ClaimMissing",
        f'PersistentVolumeClaim "{shown}" does not exist',
        ref_of(pod),
        evidence=(scheduled,),
        advice="create it, or correct claimName in the template",
        since=text(pod, "metadata", "creationTimestamp"),
    )


def _of_claim(view: View, pod: Object, claim: Object) -> Iterator[Finding]:
    name, phase = text(claim, "metadata", "name"), raw(claim, "status", "phase")
    field = Evidence(f"persistentvolumeclaim/{name}: status.phase", text(claim, "status", "phase"))
    if is_terminating(claim):
        yield Finding(
            "ClaimDeleted",
            f'PersistentVolumeClaim "{name}" is being deleted',
            ref_of(pod),
            evidence=(field,),
            advice="let whatever still uses it end, then create it anew",
            since=text(claim, "metadata", "deletionTimestamp"),
        )
    elif phase == "Lost":
        yield Finding(
            "ClaimLost",
            f'PersistentVolumeClaim "{name}" has lost its volume "{text(claim, "spec", "volumeName")}"',
            ref_of(pod),
            evidence=(field,),
            resolves=NEVER,
            advice="restore the PersistentVolume, or delete the claim and create it anew",
        )
    elif phase != "Bound":
        yield from _pending(view, pod, claim, field)


def _pending(view: View, pod: Object, claim: Object, field: Evidence) -> Iterator[Finding]:
    said = [event for event in view.events(_with_kind(claim)) if event.reason in _REASONS]
    last = said[-1] if said else None
    if last and last.reason in _WAITS_FOR_POD:
        return
    why, resolves, advice = _why(last, claim)
    name = text(claim, "metadata", "name")
    evidence = (field, Evidence(f"event {last.reason}", last.message, last.time)) if last else (field,)
    yield Finding(
        "ClaimPending",
        f'PersistentVolumeClaim "{name}" is not bound: {why}',
        ref_of(pod),
        evidence=evidence,
        resolves=resolves,
        advice=advice or f"see {kubectl(f'describe pvc {name}', view.namespace)}",
        since=text(claim, "metadata", "creationTimestamp"),
    )


def _with_kind(claim: Object) -> Object:
    """What comes out of a list may have no kind of its own."""
    return claim if raw(claim, "kind") else {**claim, "kind": "PersistentVolumeClaim"}


def _why(event: Event | None, claim: Object) -> tuple[str, str, str]:
    """Why a claim is not bound, whether that resolves, what to do."""
    storage_class = text(claim, "spec", "storageClassName")
    if event is None:
        words = f'its storage class is "{storage_class}"' if storage_class else "it names no storage class"
        return words, MAYBE, ""
    no_class = _NO_CLASS.search(event.message)
    if no_class:
        words = f'storage class "{no_class[1]}" does not exist'
        return words, MAYBE, "create the storage class; that of a claim cannot be changed, only a new claim can have it"
    if event.reason == "FailedBinding" and "no storage class is set" in event.message:
        words = "it names no storage class, and no free PersistentVolume fits it"
        return words, MAYBE, "create a PersistentVolume that fits, or a claim with a storage class"
    if event.reason == "ExternalProvisioning":
        provisioner = _PROVISIONER.search(event.message)
        who = f'the provisioner "{provisioner[1]}"' if provisioner else "the external provisioner"
        return f"{who} has not made its volume yet", MAYBE, f"check that {who} runs, and see its log"
    if event.reason == "Provisioning":
        return "its volume is being made", WAITS, ""
    return event.message or event.reason, MAYBE, ""
