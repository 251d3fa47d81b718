"""Why an image cannot be had: the reasons of a kubelet, and what registries and runtimes say. Pure.

The reasons are those of k8s.io/kubernetes/pkg/kubelet/images; the texts those of containerd, CRI-O, Docker and of
registries (OCI distribution specification, error codes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rawkube._typing import NamedTuple
from rawkube.rollout.explain.containers import Container
from rawkube.rollout.explain.fields import clip
from rawkube.rollout.explain.finding import MAYBE, NEVER, Evidence, Finding

_REASONS = frozenset(
    (
        *("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed"),
        *("InvalidImageName", "ErrImageNeverPull", "ImageInspectError"),
    )
)


class _Kind(NamedTuple):
    """Words by which a failure is known, and what it is. `{image}` and `{why}` are filled in."""

    code: str
    pattern: re.Pattern[str]
    words: str
    advice: str
    resolves: str = MAYBE


def _kind(code: str, pattern: str, words: str, advice: str, resolves: str = MAYBE) -> _Kind:
    return _Kind(code, re.compile(pattern, re.IGNORECASE), words, advice, resolves)


# In this order: a registry that cannot be reached while a token is fetched is no refusal.
_KINDS = (
    _kind(
        "ImagePullRateLimited",
        r"toomanyrequests|too many requests|pull rate limit",
        "the registry limits how often image {image} may be pulled: {why}",
        "wait, log in to the registry (imagePullSecrets), or pull from a mirror",
    ),
    _kind(
        "ImagePlatformMissing",
        r"no match(ing manifest)? for|no image found in (manifest list|image index) for",
        "image {image} does not exist for the platform of the node: {why}",
        "build the image for this architecture too, or choose nodes by nodeSelector kubernetes.io/arch",
        NEVER,
    ),
    _kind(
        "NodeDiskFull",
        r"no space left on device|disk quota exceeded",
        "the node has no room for image {image}: {why}",
        "free disk space on the node: kubectl describe node shows DiskPressure",
    ),
    _kind(
        "ImageRegistryUntrusted",
        r"x509:|tls: |server gave HTTP response to HTTPS client|certificate",
        "the node does not trust the registry of image {image}: {why}",
        "install the registry's certificate authority on the nodes, or correct the registry's certificate",
    ),
    _kind(
        "ImageSignatureInvalid",
        r"SignatureValidationFailed|signature",
        "the signature of image {image} is not accepted: {why}",
        "sign the image, or change the signature policy of the nodes",
    ),
    _kind(
        "ImageRegistryUnreachable",
        r"dial tcp|no such host|i/o timeout|connection (refused|reset)|deadline exceeded|\bEOF\b|RegistryUnavailable"
        r"|50[0234] |timeout awaiting|server misbehaving|unreachable|no route to host",
        "the registry of image {image} cannot be reached: {why}",
        "check the registry's host in the image's name, and DNS and network of the nodes",
    ),
    _kind(
        "ImagePullDenied",
        r"unauthorized|denied|forbidden|authorization failed|failed to authorize|no basic auth|authentication required"
        r"|\b40[13]\b",
        "the registry refuses image {image}: {why}",
        "check its name; if it is private, imagePullSecrets must name a secret (kubectl create secret docker-registry)",
    ),
    _kind(
        "ImageNotFound",
        r"not found|manifest unknown|name unknown|does not exist|\b404\b",
        "image {image} does not exist in its registry",
        "check name and tag of the image, or push it",
    ),
    _kind(
        "ImageNameInvalid",
        r"invalid reference format|couldn't parse image",
        "{image} is no valid name of an image: {why}",
        "correct the name of the image",
        NEVER,
    ),
)
_OTHER = _kind("ImagePullFailed", "", "image {image} cannot be pulled: {why}", "see the Events of the Pod")

_BY_REASON = {
    "InvalidImageName": _KINDS[-1],
    "ErrImageNeverPull": _kind(
        "ImageNeverPulled",
        "",
        "image {image} is not on the node, and imagePullPolicy Never forbids to pull it",
        "load the image onto the node, or set imagePullPolicy to IfNotPresent",
        NEVER,
    ),
    "ImageInspectError": _kind(
        "ImageInspectFailed",
        "",
        "the node cannot inspect image {image}: {why}",
        "remove the image from the node, so that it is pulled again",
    ),
}

# What runtimes put around the cause, from the outside to the inside.
_WRAPPINGS = re.compile(
    r'(?:Back-off pulling image "[^"]*":? ?|ErrImagePull: |Failed to (?:pull|inspect) image "[^"]*": '
    r'|Failed to apply default image tag "[^"]*": |couldn\'t parse image name "[^"]*": |invalid reference format: '
    r"|rpc error: code = \w+ desc = |failed to pull and unpack image \"[^\"]*\": |failed to resolve image: "
    r'|failed to resolve reference "[^"]*": |failed to do request: (?:\w+ "[^"]*": )?|Error response from daemon: '
    r"|ImagePullBackOff: |(?:Head|Get) \"[^\"]*\": |Error: )*"
)


def findings_of(container: Container) -> Iterator[Finding]:
    """What keeps the image of a container from the node, if it waits for that."""
    reason = container.reason
    if reason not in _REASONS:
        return
    message, event = _said(container)
    kind = _BY_REASON.get(reason) or next((one for one in _KINDS if one.pattern.search(f"{reason} {message}")), _OTHER)
    why = _cause(message, container.image) or reason
    words = kind.words.format(image=f'"{container.image}"', why=clip(why)).removesuffix(": ")
    seen = (container.seen_waiting(), *event)
    since = container.events("Pulling", "Failed", "ErrImageNeverPull")
    yield container.finding(
        kind.code,
        f"{container} cannot start: {words}",
        resolves=kind.resolves,
        advice=kind.advice,
        evidence=seen,
        since=since[0].first if since else "",
    )


def _said(container: Container) -> tuple[str, list[Evidence]]:
    """What is known of the cause, and the Event that told it if the status did not: kubelets before 1.32 write only
    `Back-off pulling image "…"` there while they wait."""
    message = container.message
    if _cause(message, container.image):
        return message, []
    told = [one for one in container.events("Failed", "InspectFailed") if "image" in one.message]
    if not told:
        return message, []
    return told[-1].message, [Evidence("event Failed", clip(told[-1].message), told[-1].time)]


def _cause(message: str, image: str) -> str:
    """The innermost cause."""
    matched = _WRAPPINGS.match(message)
    rest = message[matched.end() :] if matched else message
    return rest.removeprefix(f"{image}: ").strip()
