"""What the API server's refusal of an object means: quota, limits, webhooks, policies, names that are not there. Pure.

The texts are those of the admission plugins of k8s.io/kubernetes (plugin/pkg/admission), of k8s.io/apiserver
(admission webhooks and policies) and of k8s.io/pod-security-admission.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rawkube._typing import NamedTuple
from rawkube.errors import RolloutFailed
from rawkube.rollout import quantity
from rawkube.rollout.explain.fields import clip
from rawkube.rollout.explain.finding import MAYBE, NEVER
from rawkube.rollout.explain.words import kubectl, listed

_LONGEST = 4096  # characters of a message that are searched
_SHOWN = 200
_MOST = 4  # resources of a quota that are told


class Refusal(NamedTuple):
    """What a refusal means: code, words and advice as in a Finding."""

    code: str
    text: str
    resolves: str
    advice: str


class _Use(NamedTuple):
    """How a quota stands with one resource: quantities as the API writes them."""

    resource: str
    requested: str
    used: str
    limited: str


def read(message: str) -> Refusal:
    """The meaning of an API server's error; what is not known is told in its own words."""
    message = message[:_LONGEST]
    for pattern, meaning in _MEANINGS:
        found = pattern.search(message)
        if found:
            return meaning(found)
    return Refusal("FailedCreate", f"the API server refuses it: {clip(message) or 'without a word'}", MAYBE, "")


def _quota(found: re.Match[str]) -> Refusal:
    name = _short(found["quota"])
    uses = _uses(found["amounts"])
    told = [f"{use.resource}: {use.requested} requested, {use.used} of {use.limited} used" for use in uses[:_MOST]]
    more = len(uses) - _MOST
    words = f'the quota "{name}" leaves no room ({"; ".join(told)}{f"; and {more} more" if more > 0 else ""})'
    hopeless = [use.resource for use in uses if _is_more(use.requested, use.limited)]
    if hopeless:
        advice = (
            f"raise {listed(hopeless)} in the quota {name}, which is less than is asked for at once, or ask for less"
        )
        return Refusal("QuotaExceeded", words, NEVER, advice)
    return Refusal("QuotaExceeded", words, MAYBE, f"raise the quota {name}, or remove what uses it up")


def _uses(amounts: str) -> list[_Use]:
    """`pods=1, used: pods=1, limited: pods=1`, each with one or more resources."""
    asked, _, rest = amounts.partition(", used: ")
    requested, (used, limited) = _pairs(asked), map(_pairs, rest.partition(", limited: ")[::2])
    return [_Use(what, amount, used.get(what, "?"), limited.get(what, "?")) for what, amount in requested.items()]


def _pairs(words: str) -> dict[str, str]:
    """`pods=1,limits.cpu=2`."""
    pairs = (pair.strip().partition("=") for pair in words.split(","))
    return {_short(name): _short(amount) for name, equals, amount in pairs if equals}


def _is_more(amount: str, limit: str) -> bool:
    try:
        return quantity.value(amount) > quantity.value(limit)
    except (RolloutFailed, ValueError):
        return False


def _no_amounts(found: re.Match[str]) -> Refusal:
    name, missing = _short(found["quota"]), _short(found["missing"])
    text = f'the quota "{name}" demands that the Pod specifies {missing}'
    return Refusal("QuotaNeedsResources", text, NEVER, "set requests and limits in the Pod template")


def _limit_range(found: re.Match[str]) -> Refusal:
    text = f"a LimitRange forbids it: {clip(found['why'])}"
    return Refusal("LimitRange", text, NEVER, "change requests or limits in the Pod template, or the LimitRange")


def _webhook_denied(found: re.Match[str]) -> Refusal:
    name, why = _short(found["webhook"]), clip(found["why"]) or "without a reason"
    text = f'the admission webhook "{name}" denied it: {why}'
    return Refusal("WebhookDenied", text, MAYBE, "change the Pod template to what the webhook asks for")


def _webhook_failed(found: re.Match[str]) -> Refusal:
    name, why = _short(found["webhook"]), clip(found["why"])
    text = f'the admission webhook "{name}" cannot be called: {why}'
    return Refusal(
        "WebhookFailed", text, MAYBE, "see whether the webhook's Service has a ready Pod, and its certificate"
    )


def _policy(found: re.Match[str]) -> Refusal:
    name, why = _short(found["policy"]), clip(found["why"])
    text = f'the ValidatingAdmissionPolicy "{name}" denied it: {why}'
    return Refusal("PolicyDenied", text, NEVER, "change the Pod template to what the policy asks for")


def _pod_security(found: re.Match[str]) -> Refusal:
    text = f"it violates the Pod security standard {_short(found['level'])}: {clip(found['why'])}"
    advice = "set the securityContext accordingly, or change the namespace's label pod-security.kubernetes.io/enforce"
    return Refusal("PodSecurity", text, NEVER, advice)


def _no_account(found: re.Match[str]) -> Refusal:
    name = _short(found["account"])
    text = f'ServiceAccount "{name}" does not exist'
    command = kubectl(f"create serviceaccount {name}", _short(found["namespace"] or ""))
    return Refusal("ServiceAccountMissing", text, MAYBE, f"create it ({command}), or correct its name in the template")


def _no_priority(found: re.Match[str]) -> Refusal:
    name = _short(found["name"])
    text = f'PriorityClass "{name}" does not exist'
    return Refusal("PriorityClassMissing", text, MAYBE, "create the PriorityClass, or correct priorityClassName")


def _no_runtime(found: re.Match[str]) -> Refusal:
    name = _short(found["name"])
    text = f'RuntimeClass "{name}" does not exist'
    return Refusal("RuntimeClassMissing", text, MAYBE, "create the RuntimeClass, or correct runtimeClassName")


def _ending(found: re.Match[str]) -> Refusal:
    text = f'the namespace "{_short(found["namespace"])}" is being deleted'
    return Refusal("NamespaceTerminating", text, NEVER, "use another namespace, or create it again once it is gone")


def _invalid(found: re.Match[str]) -> Refusal:
    return Refusal("InvalidPod", f"it is not valid: {clip(found['why'])}", NEVER, "correct the Pod template")


def _short(words: str) -> str:
    return clip(words, _SHOWN)


_Meaning = Callable[[re.Match[str]], Refusal]

_MEANINGS: tuple[tuple[re.Pattern[str], _Meaning], ...] = tuple(
    (re.compile(pattern, re.DOTALL), meaning)
    for pattern, meaning in (
        # What a webhook or a policy says may quote anything, so these are first.
        (r"failed calling webhook \"(?P<webhook>[^\"]*)\": (?:failed to call webhook: )?(?P<why>.*)", _webhook_failed),
        (
            r"admission webhook \"(?P<webhook>[^\"]*)\" denied the request(?: without explanation)?(?:: )?(?P<why>.*)",
            _webhook_denied,
        ),
        (
            r"ValidatingAdmissionPolicy '(?P<policy>[^']*)'(?: with binding '[^']*')? denied request: (?P<why>.*)",
            _policy,
        ),
        (r"violates PodSecurity \"(?P<level>[^\"]*)\": (?P<why>.*)", _pod_security),
        (r"exceeded quota: (?P<quota>.*?), requested: (?P<amounts>.*)", _quota),
        (r"failed quota: (?P<quota>[^:]*): must specify (?P<missing>.*)", _no_amounts),
        (
            r"is forbidden: (?P<why>\[?(?:(?:minimum|maximum) \S+ usage per \S+ is"
            r"|\S+ max limit to request ratio per ).*)",
            _limit_range,
        ),
        (
            r"error looking up service account (?:(?P<namespace>[^/:]*)/)?[^:]*: "
            r"serviceaccount \"(?P<account>[^\"]*)\" not found",
            _no_account,
        ),
        (r"no PriorityClass with name (?P<name>\S+) was found", _no_priority),
        (r"RuntimeClass \"(?P<name>[^\"]*)\" not found", _no_runtime),
        (r"in namespace (?P<namespace>\S+) because it is being terminated", _ending),
        (r"\"[^\"]*\" is invalid: (?P<why>.*)", _invalid),
    )
)
