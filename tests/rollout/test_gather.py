"""Looking around a workload once: what is asked for, what is made of refusals, silence and breaks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rawkube.observe.replay import Replay
from rawkube.rollout import gather as module
from rawkube.rollout.explain import explain
from rawkube.rollout.explain.scene import LogTail, Scene
from rawkube.rollout.gather import gather
from rawkube.rollout.happenings import Workload
from rawkube.rollout.server_time import seconds_of_date, server_time
from tests.support.client import DEPLOYMENTS, Client, resource
from tests.support.examples import some
from tests.support.recordings import FIXTURES, exchanges
from tests.support.server import Peer, ScriptedServer, SeenRequest

Object = dict[str, Any]
STUCK = sorted((FIXTURES / "stuck").glob("*.jsonl"))
LABELS = {"app": "web"}
WEB = Workload(DEPLOYMENTS, "d", "web")
NAMES = {"w": "web", "r": "web-1"}
CRASHED = {"name": "app", "restartCount": 2, "state": {"terminated": {"exitCode": 1}}}
WAITING = {"name": "app", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}


def owned(name: str, uid: str, owner: str, **more: Any) -> Object:
    owners = [{"uid": owner, "controller": True, "name": NAMES.get(owner, owner)}]
    metadata = {"name": name, "namespace": "d", "uid": uid, "ownerReferences": owners, "labels": LABELS}
    return {"metadata": {**metadata, "managedFields": [{"f": "…"}]}, **more}


DEPLOYMENT: Object = {
    "metadata": {"name": "web", "namespace": "d", "uid": "w", "generation": 1},
    "spec": {"selector": {"matchLabels": LABELS}, "template": {}},
    "status": {"observedGeneration": 1},
}


def pod(number: int, *, status: Object | None = None, claim: str = "") -> Object:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    phase = "Pending" if claim else "Running"
    found = {"phase": phase, "containerStatuses": [status or CRASHED]}
    return owned(
        f"web-1-{number}", f"p{number}", "r", spec={"nodeName": f"n{number}", "volumes": volumes}, status=found
    )


class Cluster(ScriptedServer):
    """What a Deployment `web` has, by the last part of the path. `instead`: (status, body) for what is asked for."""

    def __init__(self, pods: Iterable[Object], instead: dict[str, tuple[str, str]] | None = None, **more: Any) -> None:
        super().__init__(self._connection)
        self.things = {"pods": list(pods), "replicasets": [owned("web-1", "r", "w", spec={"template": {}})], **more}
        self.instead = instead or {}
        self.asked: list[SeenRequest] = []

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            self.asked.append(request)
            what = request.path.rpartition("/")[2] if "/nodes/" not in request.path else "node"
            status, body = self.instead.get(what, ("", ""))
            if status == "silence":
                peer.stall()
                return
            if status == "close":
                return
            peer.reply(body or self._body(what, request), status=status or "200 OK")

    def _body(self, what: str, request: SeenRequest) -> str:
        if what == "log":
            return "one\ntwo\n"
        if what == "node":
            return json.dumps({"kind": "Node", "apiVersion": "v1", "metadata": {"name": request.path[-2:]}})
        more = {"continue": "more"} if what == "events" and "fieldSelector" not in request.query and self.many else {}
        return json.dumps({"kind": "List", "apiVersion": "v1", "metadata": more, "items": self.things.get(what, [])})

    many = False

    def kinds(self) -> list[str]:
        return [request.path.rpartition("/")[2] for request in self.asked]


def seen(server: Cluster, **more: Any) -> Scene:
    with Client(server.url) as client:
        return gather(client, WEB, DEPLOYMENT, **more)


def test_every_recording_is_explained_by_its_replay() -> None:
    for path in some("gathered", STUCK, 2):
        *_, plural, name = exchanges(path)[0].path.split("/")
        with Replay(path) as server, Client(server.url) as client:
            workload = Workload(resource(plural), f"s-{name}", name)
            scene = gather(client, workload, client.get(*workload))
            findings = explain(scene, now=server_time(client))
            asked, refused = len(server.requests) - 1, server.unmatched
        assert bool(findings) == (name != "healthy"), name
        assert (scene.unseen, refused) == ({}, []), name
        assert asked <= (10 if scene.logs else 8), name
        crashes = any(one.code in ("ContainerCrashes", "InitContainerFails") for one in findings)
        assert not crashes or all(not line.startswith("unable") for tail in scene.logs.values() for line in tail.lines)
        assert not crashes or scene.logs, name


def test_a_crash_on_many_pods_takes_few_requests() -> None:
    with Cluster([pod(number) for number in range(9)]) as server:
        scene = seen(server)
    kinds = server.kinds()
    assert kinds[:3] == ["pods", "replicasets", "events"]
    assert kinds.count("log") == 3 and len(kinds) == 9  # and the nodes of three Pods
    assert len(scene.pods) == 9 and "managedFields" not in scene.pods[0]["metadata"]
    assert scene.logs["web-1-0", "app"] == LogTail(("one", "two"))
    assert scene.unseen == {"nodes": "only 3 of 9 are asked for"}
    logs = [request.query for request in server.asked if request.path.endswith("/log")]
    assert logs[0] == {"container": "app", "tailLines": "10", "limitBytes": "16384"}
    assert [request.query["limit"] for request in server.asked[:3]] == ["500"] * 3
    assert server.asked[0].query["labelSelector"] == "app=web"


def test_which_log_is_asked_for() -> None:
    ready = {**WAITING, "ready": True, "state": {"running": {}}}
    table: list[tuple[Object, list[str | None]]] = [
        (CRASHED, [None]),
        (WAITING, ["true"]),
        ({**WAITING, "state": {"running": {}}}, ["true"]),
        (ready, []),
        ({**WAITING, "restartCount": 0}, []),
        ({**CRASHED, "restartCount": 0, "state": {"terminated": {"exitCode": 0}}}, []),
    ]
    for status, expected in table:
        with Cluster([pod(0, status=status)]) as server:
            scene = seen(server)
        previous = [request.query.get("previous") for request in server.asked if request.path.endswith("/log")]
        assert previous == expected, status
        assert [tail.previous for tail in scene.logs.values()] == [bool(one) for one in expected], status


def test_a_log_that_is_none() -> None:
    gone = "unable to retrieve container logs for containerd://0123"
    for answer in (("200 OK", gone), ("400 Bad Request", "{}"), ("404 Not Found", "{}"), ("200 OK", " ")):
        with Cluster([pod(0)], {"log": answer}) as server:
            scene = seen(server)
        assert scene.unseen == {}
        assert scene.logs == {} or answer[1] == " "


def test_a_log_that_is_too_long_and_a_node_that_is_gone() -> None:
    huge = "x" * (module._LARGEST_LOG + 1)
    with Cluster([pod(0)], {"log": ("200 OK", huge), "node": ("404 Not Found", "{}")}) as server:
        scene = seen(server)
    assert list(scene.unseen) == ["logs"] and "larger" in scene.unseen["logs"]
    assert (scene.nodes, scene.gone_nodes) == ([], ["n0"])


def test_a_namespace_with_too_many_events() -> None:
    with Cluster([pod(number) for number in range(10)]) as server:
        server.many = True
        seen(server)
    about = [request.query.get("fieldSelector") for request in server.asked if request.path.endswith("/events")]
    assert about == [None] + [f"involvedObject.uid={uid}" for uid in ("w", "r", *(f"p{number}" for number in range(6)))]
    assert len(server.asked) == 17


def test_claims_only_of_pods_that_wait() -> None:
    claims = [{"metadata": {"name": name, "uid": name}} for name in ("mine", "other")]
    with Cluster([pod(0, claim="mine")], persistentvolumeclaims=claims) as server:
        assert [claim["metadata"]["name"] for claim in seen(server).claims] == ["mine"]
    with Cluster([pod(0)], persistentvolumeclaims=claims) as server:
        assert not seen(server).claims
    assert "persistentvolumeclaims" not in server.kinds()


FORBIDDEN = ("403 Forbidden", json.dumps({"kind": "Status", "status": "Failure", "message": "no", "code": 403}))


@pytest.mark.parametrize("what", ["pods", "replicasets", "events", "log", "node"])
def test_what_is_forbidden_is_named_and_the_rest_works(what: str) -> None:
    with Cluster([pod(0)], {what: FORBIDDEN}, events=[{"metadata": {"uid": "e"}}]) as server:
        scene = seen(server)
    assert scene.unseen == {{"log": "logs", "node": "nodes"}.get(what, what): "forbidden"}
    assert bool(scene.pods) == (what != "pods") and bool(scene.events) == (what != "events")


def test_a_silent_server_and_one_that_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 0.4)
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    every = ("pods", "replicasets", "events")
    table: list[tuple[str, Callable[[str], bool]]] = [
        ("silence", lambda why: why == "no answer in time"),
        ("close", lambda why: "EOF" in why),
    ]
    for how, is_right in table:
        with Cluster([], dict.fromkeys(every, (how, ""))) as server:
            began = time.monotonic()
            scene = seen(server)
            took = time.monotonic() - began
        assert scene.unseen.keys() == set(every) and all(map(is_right, scene.unseen.values())), (how, scene.unseen)
        assert took < 1.5, how


def test_nothing_is_asked_for_when_the_time_is_over() -> None:
    with Cluster([]) as server, Client(server.url) as client:
        scene = gather(client, WEB, DEPLOYMENT, deadline=client.clock() - 1)
    assert set(scene.unseen) == {"pods", "replicasets", "events"} and server.asked == []


def test_nobody_listens() -> None:
    with Cluster([]) as server:
        url = server.url
    with Client(url) as client:
        assert set(gather(client, WEB, DEPLOYMENT).unseen) == {"pods", "replicasets", "events"}


def test_dates() -> None:
    assert seconds_of_date("Mon, 30 Nov 2026 15:00:00 GMT") == 1796050800.0
    for wrong in (
        "",
        "Monday, 30-Nov-26 15:00:00 GMT",
        "Mon, 30 Nov 2026 15:00:00 CET",
        "Mon, xx Nov 2026 15:00:00 GMT",
    ):
        assert seconds_of_date(wrong) is None, wrong


def test_the_recorded_time_is_what_counts() -> None:
    path = Path(FIXTURES / "stuck" / "oom.jsonl")
    with Replay(path) as server, Client(server.url) as client:
        client.get(DEPLOYMENTS, "s-oom", "oom")
        assert abs(server_time(client) - 1796064400) < 3600
