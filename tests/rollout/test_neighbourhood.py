"""What is kept of the surroundings of some workloads."""

from __future__ import annotations

from typing import Any

from rawkube.rollout.neighbourhood import MOST_EVENTS, Neighbourhood, Surroundings
from tests.support.explained import pod, workload

Object = dict[str, Any]


def surroundings(name: str) -> tuple[Neighbourhood, Surroundings]:
    around, one = Neighbourhood(), Surroundings(workload("Deployment", name=name))
    around.add(one)
    return around, one


def owned(name: str, owner: str) -> Object:
    return {"metadata": {"name": name, "uid": f"u-{name}", "ownerReferences": [{"name": owner}], "managedFields": []}}


def event(about: str, uid: str) -> Object:
    return {"metadata": {"name": uid, "uid": uid}, "involvedObject": {"name": about}}


def names(items: Any) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def test_what_belongs_to_a_workload_is_told_by_its_name() -> None:
    around, web = surroundings("web")
    mine, another = owned("web-1-a", "web-1"), owned("api-1-a", "api-1")
    assert around.listed("pods", [mine, another]) == [web]
    assert names(web.scene({}).pods) == ["web-1-a"]
    assert around.changed("pods", "ADDED", owned("web-1-b", "web-1")) == [web]
    assert around.changed("pods", "DELETED", mine) == [web]
    assert around.changed("pods", "ADDED", another) == []
    assert names(web.scene({}).pods) == ["web-1-b"]
    assert around.listed("pods", []) == [web]
    assert web.scene({"nodes": "forbidden"}).unseen == {"nodes": "forbidden"}
    assert web.scene({}).pods == []


def test_claims_concern_everybody() -> None:
    around, web = surroundings("web")
    assert around.changed("persistentvolumeclaims", "ADDED", {"metadata": {"name": "data"}}) == [web]
    assert names(web.scene({}).claims) == ["data"]


def test_of_others_no_more_than_the_name_is_kept() -> None:
    around, _ = surroundings("web")
    assert around.keep("pods", owned("api-1-a", "api-1")) == {"metadata": {"name": "api-1-a", "uid": "u-api-1-a"}}
    kept = around.keep("replicasets", owned("web-1", "web"))
    assert kept["metadata"]["ownerReferences"] == [{"name": "web"}] and "managedFields" not in kept["metadata"]


def test_a_workload_that_is_not_of_interest_any_more() -> None:
    around, web = surroundings("web")
    second = Surroundings(workload("StatefulSet"))
    around.add(second)
    assert around.changed("pods", "ADDED", pod("web-0")) == []  # no owner is named
    assert around.changed("pods", "ADDED", owned("web-0", "web")) == [web, second]
    around.remove(web)
    around.remove(Surroundings(workload("Deployment", name="unknown")))
    assert around.changed("pods", "ADDED", owned("web-1", "web")) == [second]


def test_the_last_events_are_kept() -> None:
    around, web = surroundings("web")
    for number in range(MOST_EVENTS):
        around.changed("events", "ADDED", event("web-1-a", f"e{number}"))
    around.changed("events", "MODIFIED", event("web-1-a", "e0"))
    around.changed("events", "ADDED", event("web", "last"))
    around.changed("events", "ADDED", event("-", "of nobody"))
    kept = names(web.scene({}).events)
    assert (len(kept), kept[0], kept[-2:]) == (MOST_EVENTS, "e2", ["e0", "last"])
