"""How a container ended, from its Pod."""

from __future__ import annotations

from typing import Any

from rawkube.remotecommand.ended import ContainerEnd, NotKnown, StillRunning, container_end

Object = dict[str, Any]
RUNS: Object = {"running": {}}


def ended(code: object = 3, of: str = "one", reason: str = "Error") -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, "containerID": of}}


def pod(
    state: object = None, last: object = None, *, of: str = "one", uid: str = "u", kind: str = "container"
) -> Object:
    status = {"name": "app", "containerID": of, "state": state, "lastState": last}
    return {"metadata": {"uid": uid}, "status": {f"{kind}Statuses": ["odd", {"name": "other"}, status]}}


BEFORE = pod(RUNS)
NOBODY_SAYS = NotKnown("the pod does not say")


def test_what_became_of_a_container() -> None:
    for after, expected in [
        (pod(ended()), ContainerEnd(3, "Error")),
        (pod(ended(0, reason="Completed")), ContainerEnd(0, "Completed")),
        (pod(RUNS, ended(), of="two"), ContainerEnd(3, "Error")),  # restarted, and its end is still known
        (pod(RUNS, ended(of="another"), of="two"), NotKnown("it was restarted")),
        (pod(ended(of="two"), of="two"), NotKnown("it was restarted")),
        (pod(RUNS), StillRunning()),
        (pod(RUNS, uid="v"), NotKnown("another pod has taken its place")),
        (pod({"waiting": {}}), NOBODY_SAYS),
        (pod("odd"), NOBODY_SAYS),
        ({"metadata": {"uid": "u"}, "status": {"containerStatuses": "odd"}}, NOBODY_SAYS),
        (pod(ended("3", reason="a\nb")), ContainerEnd(0, "a\\nb")),
    ]:
        assert container_end(BEFORE, after, "app") == expected, after


def test_init_containers_and_ephemeral_ones_end_too() -> None:
    for kind in ("initContainer", "ephemeralContainer"):
        assert container_end(pod(RUNS, kind=kind), pod(ended(), kind=kind), "app") == ContainerEnd(3, "Error")


def test_where_its_identity_was_not_known_the_present_state_counts() -> None:
    before: Object = {"metadata": {}, "status": {}}
    assert container_end(before, pod(ended(of="any")), "app") == ContainerEnd(3, "Error")
    assert container_end(before, pod(RUNS, ended()), "app") == StillRunning()
    assert container_end(before, pod(RUNS), "nobody") == NOBODY_SAYS
