"""Pods that the API server refuses: quota, limits, webhooks, policies, names that are not there."""

from __future__ import annotations

import pytest

from rawkube.rollout.explain import admission, refusals
from rawkube.rollout.explain.finding import MAYBE, NEVER
from rawkube.rollout.explain.scene import Scene
from tests.support.explained import clock, condition, event, found, pod, replica_set, view, workload

# In the words of API servers 1.20 to 1.37.
FORBIDDEN = 'pods "web-1-x" is forbidden: '
REFUSALS = {
    f"{FORBIDDEN}exceeded quota: pods, requested: pods=1, used: pods=1, limited: pods=1": (
        "QuotaExceeded",
        'the quota "pods" leaves no room (pods: 1 requested, 1 of 1 used)',
        MAYBE,
    ),
    f"{FORBIDDEN}exceeded quota: q, requested: limits.cpu=2,pods=1, used: limits.cpu=0,pods=0, limited: "
    "limits.cpu=1500m,pods=0": (
        "QuotaExceeded",
        'the quota "q" leaves no room (limits.cpu: 2 requested, 0 of 1500m used; pods: 1 requested, 0 of 0 used)',
        NEVER,
    ),
    f"{FORBIDDEN}exceeded quota: q, requested: a=1,b=1,c=1,d=1,e=1,f=one, used: , limited: a": (
        "QuotaExceeded",
        'the quota "q" leaves no room (a: 1 requested, ? of ? used; b: 1 requested, ? of ? used; c: 1 requested, '
        "? of ? used; d: 1 requested, ? of ? used; and 2 more)",
        MAYBE,
    ),
    f"{FORBIDDEN}failed quota: q: must specify limits.cpu for: app; requests.memory for: app": (
        "QuotaNeedsResources",
        'the quota "q" demands that the Pod specifies limits.cpu for: app; requests.memory for: app',
        NEVER,
    ),
    f"{FORBIDDEN}minimum memory usage per Container is 128Mi, but request is 64Mi": (
        "LimitRange",
        "a LimitRange forbids it: minimum memory usage per Container is 128Mi, but request is 64Mi",
        NEVER,
    ),
    f"{FORBIDDEN}[maximum cpu usage per Pod is 2, but limit is 3, maximum memory usage per Pod is 1Gi, but limit is "
    "2Gi]": (
        "LimitRange",
        "a LimitRange forbids it: [maximum cpu usage per Pod is 2, but limit is 3, maximum memory usage per Pod is "
        "1Gi, but limit is 2Gi]",
        NEVER,
    ),
    f"{FORBIDDEN}cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000": (
        "LimitRange",
        "a LimitRange forbids it: cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000",
        NEVER,
    ),
    'admission webhook "pods.a.io" denied the request: no label team': (
        "WebhookDenied",
        'the admission webhook "pods.a.io" denied it: no label team',
        MAYBE,
    ),
    'admission webhook "pods.a.io" denied the request without explanation': (
        "WebhookDenied",
        'the admission webhook "pods.a.io" denied it: without a reason',
        MAYBE,
    ),
    # A webhook may say anything, even what a quota says.
    'admission webhook "a" denied the request: exceeded quota: q, requested: a=1, used: a=1, limited: a=1': (
        "WebhookDenied",
        'the admission webhook "a" denied it: exceeded quota: q, requested: a=1, used: a=1, limited: a=1',
        MAYBE,
    ),
    'Internal error occurred: failed calling webhook "a.io": failed to call webhook: Post "https://a.b.svc:443/x?'
    'timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused': (
        "WebhookFailed",
        'the admission webhook "a.io" cannot be called: Post "https://a.b.svc:443/x?timeout=10s": dial tcp '
        "10.0.0.1:443: connect: connection refused",
        MAYBE,
    ),
    f"{FORBIDDEN}ValidatingAdmissionPolicy 'no-root' with binding 'all' denied request: runAsUser is 0": (
        "PolicyDenied",
        'the ValidatingAdmissionPolicy "no-root" denied it: runAsUser is 0',
        NEVER,
    ),
    f'{FORBIDDEN}violates PodSecurity "restricted:latest": runAsNonRoot != true (container "app" must set it)': (
        "PodSecurity",
        'it violates the Pod security standard restricted:latest: runAsNonRoot != true (container "app" must set it)',
        NEVER,
    ),
    f'{FORBIDDEN}error looking up service account d/nope: serviceaccount "nope" not found': (
        "ServiceAccountMissing",
        'ServiceAccount "nope" does not exist',
        MAYBE,
    ),
    f"{FORBIDDEN}no PriorityClass with name high was found": (
        "PriorityClassMissing",
        'PriorityClass "high" does not exist',
        MAYBE,
    ),
    f'{FORBIDDEN}pod rejected: RuntimeClass "gvisor" not found': (
        "RuntimeClassMissing",
        'RuntimeClass "gvisor" does not exist',
        MAYBE,
    ),
    f"{FORBIDDEN}unable to create new content in namespace d because it is being terminated": (
        "NamespaceTerminating",
        'the namespace "d" is being deleted',
        NEVER,
    ),
    'Pod "web-1-x" is invalid: spec.containers[0].image: Required value': (
        "InvalidPod",
        "it is not valid: spec.containers[0].image: Required value",
        NEVER,
    ),
    "etcdserver: request\ntimed out": (
        "FailedCreate",
        r"the API server refuses it: etcdserver: request\ntimed out",
        MAYBE,
    ),
    "": ("FailedCreate", "the API server refuses it: without a word", MAYBE),
}


def test_what_the_api_server_says_in_words() -> None:
    for message, expected in REFUSALS.items():
        assert refusals.read(message)[:3] == expected, message


DENIED = f"{FORBIDDEN}exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
FULL = 'the quota "q" leaves no room (pods: 1 requested, 1 of 1 used)'
FAILURE = {"conditions": [condition("ReplicaFailure", "True", "FailedCreate", DENIED)]}
A_POD = [("QuotaExceeded", f"a Pod cannot be created: {FULL}", MAYBE)]


def test_a_deployment_tells_by_the_condition_of_its_newest_replica_set() -> None:
    deployment = workload("Deployment", status=FAILURE)
    holder = replica_set(FAILURE)
    said = event(holder, "FailedCreate", f"(combined from similar events): Error creating: {DENIED}")
    (finding,) = admission.findings(view(Scene(deployment, [holder], events=[said])))
    assert found([finding]) == A_POD
    assert [one.source for one in finding.evidence] == [
        "replicaset.apps/web-1: status.conditions[ReplicaFailure]",
        "event FailedCreate",
    ]
    assert finding.object == "deployment.apps/web"
    # It may be an older one that is refused.
    assert not found(admission.findings(view(Scene(deployment, [replica_set()], events=[said]))))
    # Where ReplicaSets could not be seen, the Deployment's own condition is all there is.
    assert found(admission.findings(view(Scene(deployment)))) == A_POD


def test_a_replica_set_that_cannot_be_created() -> None:
    why = 'replicasets.apps "web-2" is forbidden: exceeded quota: q, requested: r=1, used: r=1, limited: r=1'
    deployment = workload(
        "Deployment", status={"conditions": [condition("Progressing", "False", "ReplicaSetCreateError", why)]}
    )
    ((code, text, _),) = found(admission.findings(view(Scene(deployment))))
    assert code == "QuotaExceeded"
    assert text.startswith("the ReplicaSet of the new revision cannot be created: the quota")


@pytest.mark.parametrize(
    ("kind", "status", "message", "what"),
    [
        (
            "StatefulSet",
            {"replicas": 1},
            f"create Pod web-1 in StatefulSet web failed error: {DENIED}",
            "the Pod web-1",
        ),
        (
            "StatefulSet",
            {"replicas": 1},
            f"create Claim data-web-1 for Pod web-1 in StatefulSet web failed error: {DENIED}",
            "the PersistentVolumeClaim data-web-1",
        ),
        ("DaemonSet", {"desiredNumberScheduled": 3, "currentNumberScheduled": 2}, f"Error creating: {DENIED}", "a Pod"),
        ("Job", {"active": 1}, f"Error creating: {DENIED}", "a Pod"),
    ],
)
def test_other_kinds_tell_by_events(kind: str, status: dict[str, int], message: str, what: str) -> None:
    one = workload(kind, {"replicas": 2, "parallelism": 2}, status)
    refused = [event(one, "FailedCreate", message, "14:55:00"), event(one, "FailedCreate", message, "14:58:00")]
    expected = [("QuotaExceeded", f"{what} cannot be created: {FULL}", MAYBE)]
    before = event(one, "SuccessfulCreate", "", "14:54:00")
    (finding,) = admission.findings(view(Scene(one, events=[before, *refused])))
    assert (found([finding]), finding.since) == (expected, clock("14:55:00"))
    after = event(one, "SuccessfulCreate", "", "14:59:00")
    assert not found(admission.findings(view(Scene(one, events=[*refused, after]))))
    complete = {"replicas": 2, "desiredNumberScheduled": 3, "currentNumberScheduled": 3, "active": 2}
    assert not found(admission.findings(view(Scene(workload(kind, one["spec"], complete), events=refused))))


def test_a_pod_of_its_own_is_never_refused() -> None:
    assert not found(admission.findings(view(Scene(pod("web")))))
