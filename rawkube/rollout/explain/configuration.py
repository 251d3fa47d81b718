"""ConfigMaps, Secrets and keys that are not there, and what else keeps a container from being made. Pure.

The texts are those of the kubelet (k8s.io/kubernetes/pkg/kubelet: kuberuntime, container, volume) 1.20 to 1.37.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rawkube._typing import NamedTuple
from rawkube.rollout.explain.containers import Container
from rawkube.rollout.explain.fields import clip
from rawkube.rollout.explain.finding import MAYBE, NEVER, Finding


class Missing(NamedTuple):
    """What a kubelet says is wrong with the configuration: code, the rest of a sentence, advice, NEVER or MAYBE."""

    code: str
    words: str
    advice: str
    resolves: str = MAYBE


_OBJECT = re.compile(r'\b(configmap|secret)s? "([^"]{1,253})" not found', re.IGNORECASE)
_KEY = re.compile(r"couldn't find key (\S{1,253}) in (Secret|ConfigMap) (\S{1,63})/(\S{1,253})")
_VOLUME_KEY = re.compile(r"references non-existent (config|secret) key: (\S{1,253})")
_CACHE = re.compile(r"failed to sync (configmap|secret) cache")
_KINDS = {"configmap": "ConfigMap", "config": "ConfigMap", "secret": "Secret"}


def missing(message: str, namespace: str) -> Missing | None:
    """The ConfigMap, Secret or key that a message says is not there; None if it says no such thing."""
    found = _KEY.search(message)
    if found:
        return _no_key(found[2], f'{found[2]} "{found[4]}" has no key "{found[1]}"')
    found = _VOLUME_KEY.search(message)
    if found:
        kind = _KINDS[found[1]]
        return _no_key(kind, f'the {kind} of the volume has no key "{found[2]}"')
    found = _OBJECT.search(message)
    if found:
        kind, name = _KINDS[found[1].lower()], found[2]
        command = "configmap" if kind == "ConfigMap" else "secret generic"
        advice = f"create it (kubectl create {command} {name} -n {namespace} …), or correct its name in the template"
        # Another controller may still bring it, as operators do that keep secrets elsewhere.
        return Missing(f"{kind}Missing", f'{kind} "{name}" does not exist', advice)
    found = _CACHE.search(message)
    if found:
        kind = _KINDS[found[1]]
        return Missing(f"{kind}Unread", f"the kubelet has not yet been able to read its {kind}s", "")
    return None


def _no_key(kind: str, words: str) -> Missing:
    return Missing(f"{kind}KeyMissing", words, f"add the key to the {kind}, or correct it in the template", NEVER)


_ROOT_ADVICE = "set securityContext.runAsUser to a user other than 0, or build the image with a numeric USER"

# What the messages of CreateContainerConfigError and CreateContainerError hold, and what it means.
_OTHERS = (
    (
        r"runAsNonRoot and image will run as root|breaks non-root policy",
        Missing("RunsAsRoot", "it would run as root, which runAsNonRoot forbids", _ROOT_ADVICE, NEVER),
    ),
    (
        r"runAsNonRoot and image has non-numeric user",
        Missing(
            "RunsAsRoot",
            "its image names its user by a name, so runAsNonRoot cannot be checked",
            "set securityContext.runAsUser to the number of that user",
            NEVER,
        ),
    ),
    (
        r"no command specified",
        Missing("CommandMissing", "neither its image nor its template has a command", "set its command", NEVER),
    ),
    (
        r"is reserved for|context deadline exceeded",
        Missing("ContainerRuntimeSlow", "the container runtime of the node does not get it made", "look at the node"),
    ),
)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), what) for pattern, what in _OTHERS)

_CODES = {
    "CreateContainerConfigError": "ContainerConfigInvalid",
    "CreateContainerError": "ContainerCreateFailed",
    "PreCreateHookError": "ContainerCreateFailed",
    "PreStartHookError": "ContainerCreateFailed",
}


def findings_of(container: Container) -> Iterator[Finding]:
    """What keeps a container from being made, if it waits for that."""
    reason = container.reason
    if reason not in _CODES:
        return
    what = _meaning(container, reason)
    failed = container.events("Failed")
    yield container.finding(
        what.code,
        f"{container} cannot start: {what.words}",
        resolves=what.resolves,
        advice=what.advice,
        since=failed[0].first if failed else "",
    )


def _meaning(container: Container, reason: str) -> Missing:
    message = container.message
    found = missing(message, container.view.namespace)
    if found:
        return found
    known = next((what for pattern, what in _PATTERNS if pattern.search(message)), None)
    return known or Missing(_CODES[reason], clip(message) or reason, "see the Events of the Pod")
