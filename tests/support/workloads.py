"""Objects as an API server would show them, with only what decides a rollout."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def _some(**fields: Any) -> Object:
    """Without the fields that are None: absent, not null."""
    return {key: value for key, value in fields.items() if value is not None}


def _metadata(
    name: str, generation: int | None, annotations: dict[str, str] | None, labels: dict[str, str] | None
) -> Object:
    return _some(name=name, namespace="default", generation=generation, annotations=annotations, labels=labels)


def deployment(
    name: str = "web",
    *,
    g: int | None = 1,
    o: int | None = 1,
    r: int | None = 3,
    t: int | None = 3,
    u: int | None = 3,
    a: int | None = 3,
    revision: str | None = None,
    condition: tuple[str, str, str] | None = None,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    paused: bool | None = None,
) -> Object:
    """Generation g, observed o; spec.replicas r; replicas t, updated u, available a.

    None: the field is absent. `condition`: type, status, reason.
    """
    if revision is not None:
        annotations = {**(annotations or {}), "deployment.kubernetes.io/revision": revision}
    conditions = [dict(zip(("type", "status", "reason"), condition, strict=True))] if condition else None
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(name, g, annotations, labels),
        "spec": _some(replicas=r, paused=paused),
        "status": _some(
            observedGeneration=o, replicas=t, updatedReplicas=u, availableReplicas=a, conditions=conditions
        ),
    }


def daemonset(
    name: str = "agent",
    *,
    g: int | None = 1,
    o: int | None = 1,
    d: int | None = 2,
    u: int | None = 2,
    a: int | None = 2,
    strategy: str | None = "RollingUpdate",
    labels: dict[str, str] | None = None,
) -> Object:
    """Desired d, updated u, available a. `strategy` None: no updateStrategy at all."""
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _metadata(name, g, None, labels),
        "spec": _some(updateStrategy={"type": strategy} if strategy else None),
        "status": _some(observedGeneration=o, desiredNumberScheduled=d, updatedNumberScheduled=u, numberAvailable=a),
    }


def statefulset(
    name: str = "db",
    *,
    g: int | None = 1,
    o: int | None = 1,
    r: int | None = 3,
    y: int | None = 3,
    u: int | None = 3,
    c: int | None = 3,
    current: str | None = None,
    update: str | None = None,
    strategy: str | None = "RollingUpdate",
    rolling: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
) -> Object:
    """Ready y, updated u, current c, their revisions. `rolling` is `updateStrategy.rollingUpdate`."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _metadata(name, g, None, labels),
        "spec": _some(replicas=r, updateStrategy=_some(type=strategy, rollingUpdate=rolling) if strategy else None),
        "status": _some(
            observedGeneration=o,
            readyReplicas=y,
            updatedReplicas=u,
            currentReplicas=c,
            currentRevision=current,
            updateRevision=update,
        ),
    }
