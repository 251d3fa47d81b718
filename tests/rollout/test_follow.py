"""Following one workload, against a server of this test: what is asked, what is said, how it ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from rawkube.api.builtin import lookup
from rawkube.api.client import ApiClient
from rawkube.errors import ObjectDeleted, RolloutFailed, StatusError, WaitTimeout
from rawkube.kubeconfig.access import Access
from rawkube.rollout.follow import Workload, follow
from tests.support.server import Peer, ScriptedServer, SeenRequest


def deployment(version: str, available: int, *, uid: str = "u1", name: str = "web") -> dict[str, Any]:
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": name, "uid": uid, "resourceVersion": version, "generation": 1},
        "spec": {"replicas": 3},
        "status": {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "availableReplicas": available,
        },
    }


WAITING = 'Waiting for deployment "web" rollout to finish: {} of 3 updated replicas are available...'
DONE = 'deployment "web" successfully rolled out'


def listing(version: str, *items: dict[str, Any]) -> str:
    bare = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
    return json.dumps(
        {
            "kind": "DeploymentList",
            "apiVersion": "apps/v1",
            "metadata": {"resourceVersion": version},
            "items": bare,
        }
    )


def event(kind: str, item: dict[str, Any]) -> str:
    return json.dumps({"type": kind, "object": item}) + "\n"


def status(code: int, reason: str, message: str) -> str:
    return json.dumps({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message})


class Script:
    """Answers each request by the next of `answers`, whatever connection it comes on."""

    def __init__(self, *answers: Callable[[Peer], None]) -> None:
        self.answers = list(answers)
        self.seen: list[SeenRequest] = []

    def __call__(self, peer: Peer) -> None:
        while True:
            self.seen.append(peer.read_request())
            assert self.answers, f"nobody expected {self.seen[-1].target}"
            self.answers.pop(0)(peer)

    def asked(self) -> list[str]:
        kinds = {"watch": "WATCH", "list": "LIST", "get": "GET"}
        return [kinds[_kind(request)] for request in self.seen]


def _kind(request: SeenRequest) -> str:
    if "watch" in request.query:
        return "watch"
    return "list" if request.path.endswith("/deployments") else "get"


def answer(body: str, code: str = "200 OK") -> Callable[[Peer], None]:
    return lambda peer: peer.reply(body, status=code)


def stream(*events: str, stay: bool = False) -> Callable[[Peer], None]:
    def send(peer: Peer) -> None:
        peer.start_chunked()
        for one in events:
            peer.chunk(one)
        if stay:
            peer.stall()
        else:
            peer.end_chunked()

    return send


def run(script: Script, *, timeout: float = 0.0, namespace: str = "default") -> list[str]:
    resource = lookup("deployments")
    assert resource is not None
    messages: list[str] = []
    with ScriptedServer(script) as server, ApiClient(Access(server=server.url)) as client:
        for state in follow(client, Workload(resource, namespace, "web"), timeout=timeout):
            messages.append(state.message)
    return messages


def test_a_finished_rollout_costs_one_request() -> None:
    script = Script(answer(listing("5", deployment("4", 3))))
    assert run(script) == [DONE]
    assert script.asked() == ["LIST"]


def test_every_event_is_a_line_repetitions_included() -> None:
    script = Script(
        answer(listing("5", deployment("5", 1))),
        stream(
            event("MODIFIED", deployment("6", 1)),
            event("BOOKMARK", {"kind": "Deployment", "metadata": {"resourceVersion": "7"}}),
            event("MODIFIED", deployment("8", 3)),
            stay=True,
        ),
    )
    assert run(script) == [WAITING.format(1), WAITING.format(1), DONE]


def test_deleted_is_an_end() -> None:
    script = Script(
        answer(listing("5", deployment("5", 1))),
        stream(event("DELETED", deployment("6", 1)), event("ADDED", deployment("7", 3, uid="u2")), stay=True),
    )
    with pytest.raises(ObjectDeleted, match=r"^object has been deleted$"):
        run(script)


def test_another_object_of_the_same_name_is_not_followed() -> None:
    script = Script(
        answer(listing("5", deployment("5", 1))),
        stream(event("MODIFIED", deployment("9", 3, uid="u2")), stay=True),
    )
    with pytest.raises(ObjectDeleted):
        run(script)


def test_gone_after_a_relist_is_deleted() -> None:
    expired = event("ERROR", {"kind": "Status", "code": 410, "metadata": {}})
    script = Script(answer(listing("5", deployment("5", 1))), stream(expired), answer(listing("9")))
    with pytest.raises(ObjectDeleted):
        run(script)
    assert "resourceVersion" not in script.seen[-1].query


def test_neighbours_that_a_server_sends_all_the_same_are_not_ours() -> None:
    script = Script(
        answer(listing("5", deployment("3", 0, name="api", uid="u9"), deployment("5", 1))),
        stream(
            event("MODIFIED", deployment("6", 3, name="api", uid="u9")),
            event("DELETED", deployment("7", 3, name="api", uid="u9")),
            event("MODIFIED", deployment("8", 3)),
            stay=True,
        ),
    )
    assert run(script) == [WAITING.format(1), DONE]


def test_an_empty_list_is_followed_by_a_get_whose_error_is_the_answer() -> None:
    missing = status(404, "NotFound", 'deployments.apps "web" not found')
    script = Script(answer(listing("5")), answer(missing, "404 Not Found"))
    with pytest.raises(StatusError, match=r'deployments.apps "web" not found'):
        run(script)
    assert script.asked() == ["LIST", "GET"]


def test_a_missing_namespace_is_what_is_said() -> None:
    script = Script(
        answer(listing("5")),
        answer(status(404, "NotFound", 'deployments.apps "web" not found'), "404 Not Found"),
        answer(status(404, "NotFound", 'namespaces "demo" not found'), "404 Not Found"),
    )
    with pytest.raises(StatusError, match=r'namespaces "demo" not found'):
        run(script, namespace="demo")
    assert script.seen[-1].path == "/api/v1/namespaces/demo"


def test_an_object_that_the_get_finds_is_listed_again() -> None:
    script = Script(
        answer(listing("5")), answer(json.dumps(deployment("6", 3))), answer(listing("6", deployment("6", 3)))
    )
    assert run(script) == [DONE]
    assert script.asked() == ["LIST", "GET", "LIST"]


def test_the_timeout_counts_from_the_first_request() -> None:
    unanswered = Script(stream(stay=True))
    for script in (Script(answer(listing("5", deployment("5", 1))), stream(stay=True)), unanswered):
        started = time.monotonic()
        with pytest.raises(WaitTimeout) as raised:
            run(script, timeout=0.4)
        assert 0.15 < time.monotonic() - started < 5
        assert bool(raised.value.detail) == (script is unanswered)


def test_what_cannot_be_told_is_an_end() -> None:
    failed = deployment("5", 1)
    failed["status"]["conditions"] = [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]
    with pytest.raises(RolloutFailed, match="exceeded its progress deadline"):
        run(Script(answer(listing("5", failed))))
