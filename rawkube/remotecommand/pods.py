"""Which pod of several, and which container of a pod, `exec` means. Pure: objects in, a choice or an error out.

The order of pods is that of kubectl 1.37 (`podutils.ActivePods`, reversed), the choice of the container that of
`podcmd.FindOrDefaultContainerByName`, and the kinds that stand for pods are those of
`polymorphichelpers.AttachablePodForObject`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.objects import Object
from rawkube.errors import RawkubeError
from rawkube.gotext import go_quote, one_line

Value = Any  # what JSON can hold

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
"""The annotation that names the container which commands mean when they name none."""

_BY_LABELS = frozenset(
    (group, kind) for group in ("apps", "extensions") for kind in ("Deployment", "ReplicaSet", "DaemonSet")
) | {("apps", "StatefulSet"), ("batch", "Job")}
_BY_MAP = frozenset((("", "ReplicationController"), ("", "Service")))


class NotAttachable(RawkubeError):
    """What was named stands for no pods."""


class PodCompleted(RawkubeError):
    """The pod is finished: nothing can run in it any more."""


class NoSuchContainer(RawkubeError):
    """The pod has no container of that name, or none at all."""


class Choice(NamedTuple):
    """A container, and the line that tells a person that nobody had asked for it (None: somebody had)."""

    container: str
    notice: str | None


# Objects, of which any part may be missing or wrong.


def _part(thing: Value, *keys: str) -> Object:
    """The mapping at a path, empty where there is none."""
    for key in keys:
        thing = thing.get(key) if isinstance(thing, dict) else None
    return thing if isinstance(thing, dict) else {}


def _parts(thing: Object, *keys: str) -> list[Object]:
    """The mappings in the list at a path, empty where there is none."""
    found = _part(thing, *keys[:-1]).get(keys[-1])
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def is_pod(thing: Object) -> bool:
    """Whether an object is a core/v1 Pod."""
    return thing.get("kind") == "Pod" and thing.get("apiVersion") == "v1"


# Kinds.


def pod_selector(thing: Object) -> str:
    """The label selector, as text, of the pods that an object stands for; empty: all pods of its namespace.

    Raises NotAttachable for a kind that stands for no pods, a Service without a selector, a selector that means
    nothing.
    """
    group, _, version = str(thing.get("apiVersion") or "").rpartition("/")
    kind = str(thing.get("kind") or "")
    go_type = one_line(f"*{version}.{kind}")
    selector = _part(thing, "spec").get("selector")
    if (group, kind) not in _BY_LABELS | _BY_MAP:
        raise NotAttachable(f"cannot attach to {go_type}: selector for {go_type} not implemented")
    if (group, kind) == ("", "Service") and not selector:
        name = one_line(str(_part(thing, "metadata").get("name") or ""))
        problem = f"invalid service '{name}': Service is defined without a selector"
        raise NotAttachable(f"cannot attach to {go_type}: {problem}")
    from rawkube.api.selectors import SelectorError, from_label_selector, from_map

    try:
        return from_map(selector) if (group, kind) in _BY_MAP else from_label_selector(selector)
    except SelectorError as error:
        raise NotAttachable(f"cannot attach to {go_type}: invalid label selector: {one_line(str(error))}") from None


# The order of pods.

_PHASES = {"Unknown": 1, "Running": 2}
_NO_TIME = 0.0


def best(pods: Sequence[Object]) -> Object:
    """The pod to use, of at least one; of equally good ones the first."""
    return max(pods, key=rank) if len(pods) > 1 else pods[0]


def rank(pod: Object) -> tuple[Any, ...]:
    """How good a pod is to run a command in: the larger, the better.

    On a node; Running, then Unknown, then any other phase; ready; not being deleted, else deleted later; ready for
    longer; fewer restarts (of the worst container, then of the worst sidecar); older. A missing time loses.
    """
    metadata = _part(pod, "metadata")
    ready = _ready_condition(pod)
    deleted = metadata.get("deletionTimestamp")
    return (
        bool(_part(pod, "spec").get("nodeName")),
        _PHASES.get(str(_part(pod, "status").get("phase")), 0),
        ready is not None,
        deleted is None,
        _seconds(deleted),
        _age_key(ready.get("lastTransitionTime")) if ready is not None else (),
        -_most_restarts(_parts(pod, "status", "containerStatuses")),
        -_most_restarts(_sidecar_statuses(pod)),
        _age_key(metadata.get("creationTimestamp")),
    )


def best_for_logs(pods: Sequence[Object]) -> Object:
    """The pod whose log to show, of at least one; of equally good ones the first (kubectl 1.37: `ByLogging`).

    On a node; any phase but Unknown and Pending, then Unknown; ready; ready for longer; more restarts (of the worst
    container, then of the worst sidecar); older. A missing time loses.
    """
    return max(pods, key=_rank_for_logs) if len(pods) > 1 else pods[0]


def _rank_for_logs(pod: Object) -> tuple[Any, ...]:
    ready = _ready_condition(pod)
    return (
        bool(_part(pod, "spec").get("nodeName")),
        {"Unknown": -1, "Pending": -2}.get(str(_part(pod, "status").get("phase")), 0),
        ready is not None,
        _age_key(ready.get("lastTransitionTime")) if ready is not None else (),
        _most_restarts(_parts(pod, "status", "containerStatuses")),
        _most_restarts(_sidecar_statuses(pod)),
        _age_key(_part(pod, "metadata").get("creationTimestamp")),
    )


def _ready_condition(pod: Object) -> Object | None:
    """The condition Ready if it is true, else None."""
    ready = (one for one in _parts(pod, "status", "conditions") if one.get("type") == "Ready")
    first = next(ready, None)
    return first if first is not None and first.get("status") == "True" else None


def _most_restarts(statuses: Iterable[Object]) -> int:
    counts = (one.get("restartCount") for one in statuses)
    return max((count for count in counts if isinstance(count, int)), default=0)


def _sidecar_statuses(pod: Object) -> list[Object]:
    """The statuses of the init containers that keep running beside the others."""
    initial = _parts(pod, "spec", "initContainers")
    sidecars = [one.get("name") for one in initial if one.get("restartPolicy") == "Always"]
    return [one for one in _parts(pod, "status", "initContainerStatuses") if one.get("name") in sidecars]


def _age_key(time: Value) -> tuple[bool, float]:
    """Larger for an earlier time; smallest where there is none."""
    seconds = _seconds(time)
    return (seconds != _NO_TIME, -seconds)


def _seconds(time: Value) -> float:
    """A time of the API (RFC 3339) as seconds since 1970; 0 where it is missing, unreadable, or Go's zero time."""
    if not isinstance(time, str) or time.startswith("0001-"):
        return _NO_TIME
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return _NO_TIME
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


# The container.


def check_running(pod: Object) -> None:
    """Raises PodCompleted if the pod is finished. A pod that has not started yet is the server's to refuse."""
    phase = _part(pod, "status").get("phase")
    if phase in ("Succeeded", "Failed"):
        raise PodCompleted(f"cannot exec into a container in a completed pod; current phase is {phase}")


def choose_container(pod: Object, wanted: str = "") -> Choice:
    """The container `wanted`, else the one that the pod's annotation names, else the first.

    Init and ephemeral containers may be named too. The notice comes with the first of several. Raises
    NoSuchContainer.
    """
    metadata = _part(pod, "metadata")
    name = one_line(str(metadata.get("name") or ""))
    regular = _names(pod, "containers")
    others = _names(pod, "ephemeralContainers") + _names(pod, "initContainers")
    if not wanted:
        if not regular:
            namespace = one_line(str(metadata.get("namespace") or ""))
            raise NoSuchContainer(f"pod {namespace}/{name} does not have any containers")
        wanted = str(_part(metadata, "annotations").get(DEFAULT_CONTAINER) or "")
    if not wanted:
        several = len(regular) + len(others) > 1
        shown = f'Defaulted container "{one_line(regular[0])}" out of: {_listed(pod)}'
        return Choice(regular[0], shown if several else None)
    if wanted not in (*regular, *others):
        raise NoSuchContainer(f"container {one_line(wanted)} is not valid for pod {name} out of: {_listed(pod)}")
    return Choice(wanted, None)


def containers_for_logs(pod: Object, wanted: str = "", *, every: bool = False) -> tuple[list[str], list[str]]:
    """The containers whose logs to show, and lines for a person about a choice that nobody had made.

    `every`: all of them, init containers first. Else the container `wanted`, or the one that the pod's annotation
    names, or the first. Raises NoSuchContainer. The rules are kubectl 1.37's (`logsForObject`).
    """
    if every:
        return [
            name for kind in ("initContainers", "containers", "ephemeralContainers") for name in _names(pod, kind)
        ], []
    notices = []
    default = str(_part(pod, "metadata", "annotations").get(DEFAULT_CONTAINER) or "")
    if default and not wanted:
        if default in (name for kind in _KINDS for name in _names(pod, kind)):
            return [default], []
        name = one_line(str(_part(pod, "metadata").get("name") or ""))
        notices.append(f"Default container name {go_quote(default)} not found in pod {name}")
        annotations = {
            key: value for key, value in _part(pod, "metadata", "annotations").items() if key != DEFAULT_CONTAINER
        }
        pod = {**pod, "metadata": {**_part(pod, "metadata"), "annotations": annotations}}
    choice = choose_container(pod, wanted)
    return [choice.container], notices + ([choice.notice] if choice.notice else [])


_KINDS = ("containers", "ephemeralContainers", "initContainers")


def _names(pod: Object, kind: str) -> list[str]:
    return [str(one.get("name") or "") for one in _parts(pod, "spec", kind)]


def _listed(pod: Object) -> str:
    """Every container, as kubectl lists them: `a, b, e1 (ephem), i1 (init)`."""
    labels = (("containers", ""), ("ephemeralContainers", " (ephem)"), ("initContainers", " (init)"))
    return ", ".join(one_line(name) + label for kind, label in labels for name in _names(pod, kind))
