"""What keeps a rollout from finishing, as data: one cause, where it was seen, and what to do about it. Pure."""

from __future__ import annotations

from rawkube._typing import NamedTuple

NEVER = "never"
MAYBE = "maybe"
WAITS = "waits"
"""Whether a cause can go away by itself. NEVER: not without a change. MAYBE: it can, though nothing says so (an
image that is pulled again, a node that comes back). WAITS: it is the ordinary course, and only takes its time."""

CODES = {
    "ClaimDeleted": "a PersistentVolumeClaim that a Pod needs is being deleted",
    "ClaimLost": "a PersistentVolumeClaim that a Pod needs has lost its volume",
    "ClaimMissing": "a PersistentVolumeClaim that a Pod needs does not exist",
    "ClaimPending": "a PersistentVolumeClaim that a Pod needs is not bound to a volume",
    "CommandMissing": "neither the image nor the template of a container has a command",
    "CommandNotExecutable": "the command of a container may not or cannot be executed",
    "CommandNotFound": "the command of a container does not exist in its image",
    "ConfigMapKeyMissing": "a ConfigMap does not have a key that a container or a volume needs",
    "ConfigMapMissing": "a ConfigMap that a container or a volume needs does not exist",
    "ConfigMapUnread": "the kubelet has not read a ConfigMap yet",
    "ContainerConfigInvalid": "the configuration of a container cannot be made, for another reason",
    "ContainerCrashes": "a container ends with an exit code other than 0, or by a signal",
    "ContainerCreateFailed": "a container cannot be made, for another reason",
    "ContainerEnds": "a container that must not end ends with exit code 0",
    "ContainerRuntimeSlow": "the container runtime does not finish what it is asked for",
    "ContainerStartFailed": "a container cannot be started, for another reason",
    "ContainerWaits": "a container waits for a reason that has no code of its own",
    "FailedCreate": "the API server refuses to create a Pod, a claim or a ReplicaSet, for another reason",
    "FinalizerLeft": "a Pod is deleted, but kept by a finalizer",
    "ImageInspectFailed": "the node cannot inspect an image",
    "ImageNameInvalid": "the name of an image is none",
    "ImageNeverPulled": "an image is not on the node and must not be pulled",
    "ImageNotFound": "an image does not exist in its registry",
    "ImagePlatformMissing": "an image does not exist for the platform of the node",
    "ImagePullDenied": "the registry refuses to give an image",
    "ImagePullFailed": "an image cannot be pulled, for another reason",
    "ImagePullRateLimited": "the registry limits how often images may be pulled",
    "ImagePulling": "an image is being pulled",
    "ImageRegistryUnreachable": "the registry of an image cannot be reached",
    "ImageRegistryUntrusted": "the node does not trust the certificate of a registry",
    "ImageSignatureInvalid": "the signature of an image is not accepted",
    "InitContainerFails": "an init container ends with an exit code other than 0, or by a signal",
    "InitContainerRuns": "an init container has not ended yet",
    "InvalidPod": "the API server finds that a Pod is not valid",
    "JobDeadlineExceeded": "a Job ran for longer than its activeDeadlineSeconds",
    "JobFailed": "a Job has failed",
    "JobSuspended": "a Job is suspended",
    "LeavingOnLostNode": "a Pod is being deleted, and its node cannot tell whether it has ended",
    "LimitRange": "a LimitRange forbids the requests or limits of a Pod",
    "LivenessProbeFails": "the liveness probe of a container fails",
    "MinReadySeconds": "ready Pods do not count as available before minReadySeconds are over",
    "NamespaceTerminating": "the namespace is being deleted, so nothing can be created in it",
    "NoNodes": "no node fits a DaemonSet, so it wants no Pod",
    "NodeDiskFull": "a node has no room for an image",
    "NodeGone": "the node of a Pod does not exist any more",
    "NodeLost": "the node of a Pod is lost",
    "NodeNameWaits": "a Pod names its node, and no kubelet of that name takes it",
    "NodeNotReady": "the node of a Pod is not ready or does not respond",
    "NodeShutdown": "a Pod was stopped because its node shut down",
    "NotObserved": "the controller of a workload has not seen its present spec",
    "NotReady": "a container runs, and its probe has neither succeeded nor is known to have failed",
    "NotScheduled": "no scheduler has looked for a node for a Pod",
    "OOMKilled": "a container is killed for the memory that it uses",
    "OldPodBlocks": "a Pod of an old revision of a StatefulSet is not ready, and the controller waits for it",
    "OnDelete": "old Pods stay until somebody deletes them, because the update strategy is OnDelete",
    "Partition": "Pods of a StatefulSet stay at the old revision, because the partition keeps them there",
    "Paused": "the rollout is paused",
    "PodBlocksOthers": "other Pods of a StatefulSet are not created or updated before a Pod is ready",
    "PodCreating": "a Pod is being set up on its node",
    "PodDeadlineExceeded": "a Pod was stopped at its activeDeadlineSeconds",
    "PodEvicted": "a Pod was evicted from its node",
    "PodFailed": "a Pod has failed, and nothing says why",
    "PodNetworkFailed": "the network of a Pod cannot be set up",
    "PodPreempted": "a Pod had to make room for another one",
    "PodRejected": "a node does not take a Pod that was sent to it",
    "PodSandboxFailed": "the sandbox of a Pod cannot be made",
    "PodSecurity": "a Pod violates the Pod security standard of its namespace",
    "PolicyDenied": "a ValidatingAdmissionPolicy denies a Pod",
    "PostStartHookFails": "the postStart hook of a container fails",
    "Preempting": "a Pod waits for Pods of lower priority to leave a node",
    "PriorityClassMissing": "the PriorityClass of a Pod does not exist",
    "ProgressDeadline": "a Deployment makes no progress, and how much of its deadline is left",
    "ProgressDeadlineExceeded": "a Deployment made no progress within its deadline",
    "ProgressDeadlineNever": "a Deployment will never be declared failed",
    "QuotaExceeded": "a quota leaves no room",
    "QuotaNeedsResources": "a quota demands requests or limits that a Pod does not have",
    "ReadinessGateWaits": "a readiness gate of a Pod is not true",
    "ReadinessProbeFails": "the readiness probe of a container fails",
    "RunsAsRoot": "a container would run as root, or may, which runAsNonRoot forbids",
    "RuntimeClassMissing": "the RuntimeClass of a Pod does not exist",
    "ScaledToZero": "no Pod is wanted",
    "SchedulerFailed": "the scheduler failed",
    "SchedulingGated": "a gate holds back the scheduling of a Pod",
    "SecretKeyMissing": "a Secret does not have a key that a container or a volume needs",
    "SecretMissing": "a Secret that a container or a volume needs does not exist",
    "SecretUnread": "the kubelet has not read a Secret yet",
    "ServiceAccountMissing": "the ServiceAccount of a Pod does not exist",
    "StartupProbeFails": "the startup probe of a container fails",
    "StillTerminating": "a Pod that is being deleted has not ended",
    "SurgeNeedsRoom": "new Pods find no room beside old ones, which stay until new ones are available",
    "Unschedulable": "no node fits a Pod",
    "UpdateBudgetUsed": "a DaemonSet does not replace more Pods before new ones are ready",
    "VolumeAttachFailed": "a volume cannot be attached to the node of a Pod",
    "VolumeInUse": "a volume is in use by another Pod",
    "VolumeMountFailed": "a volume of a Pod cannot be mounted",
    "VolumeNodeConflict": "a Pod cannot run where its volume is",
    "WebhookDenied": "an admission webhook denies a Pod",
    "WebhookFailed": "an admission webhook cannot be called",
}
"""What a finding may be about, by the code that programs see."""


class Evidence(NamedTuple):
    """Where a cause was seen.

    `source`: a field of an object (`pod/web-0: status.containerStatuses[app].state.waiting`), an event (`event
    FailedScheduling`), a condition. `text`: what stood there, as the cluster wrote it. `time`: RFC 3339, empty where
    the source has none.
    """

    source: str
    text: str
    time: str = ""


class Finding(NamedTuple):
    """One cause.

    `code`: a word for programs, of `CODES`. `text`: one sentence for people, without a line feed. `object`: what it
    is about, `KIND/NAME` in lower case as kubectl writes it (`pod/web-0`, `deployment.apps/web`). `container`: which
    one of a Pod, empty for none. `resolves`: NEVER, MAYBE or WAITS. `advice`: what to do. `since`: RFC 3339, when
    it began as far as can be told, empty if it cannot. `restarts`: how often the container was. `log`: the last
    lines of the container that crashed. `objects`: all that it is about, when several Pods have the same cause;
    `of`: how many Pods of the new revision there are then.
    """

    code: str
    text: str
    object: str
    container: str = ""
    evidence: tuple[Evidence, ...] = ()
    resolves: str = MAYBE
    advice: str = ""
    since: str = ""
    restarts: int = 0
    log: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    of: int = 0

    @property
    def headline(self) -> str:
        """What it is about, and what is wrong with it: `2 of 3 pods (web-1-x, …): …`, `pod/web-1-x: …`."""
        counted = f"{len(self.objects)} of {self.of} pods"
        if self.text.startswith(f"{counted}: "):
            return f"{counted} ({self.object.removeprefix('pod/')}, …){self.text.removeprefix(counted)}"
        return f"{self.object}: {self.text}"

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same finding when it is seen again: a text or a count may have changed meanwhile."""
        return self.code, self.object, self.container
