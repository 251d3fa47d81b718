"""A server whose every text paints the screen: nothing of it reaches a terminal as it is, from any command.

What is meant for programs is left out: `raw`, the bytes of `exec` and `logs`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.faults.in_process import DEADLINE, all_at_once, impatient, run
from tests.support.discovery import recorded
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.websocket import Far, close_frame, message, switching

pytestmark = pytest.mark.usefixtures("impatient")
__all__ = ["impatient"]

# Title, bell, clear, colour by CSI as one character, backspaces, and text that runs backwards.
EVIL = "a\x1b]0;pwned\x07\x1b[2J\x9b31m\x08\x7f\r\u202eb"
HARMFUL = frozenset([*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]) - {0x09, 0x0A}

METADATA = {
    "name": EVIL,
    "namespace": EVIL,
    "uid": EVIL,
    "resourceVersion": "7",
    "generation": 1,
    "labels": {"app": "web", EVIL: EVIL},
    "annotations": {"kubernetes.io/change-cause": EVIL, EVIL: EVIL, "deployment.kubernetes.io/revision": "1"},
    "finalizers": [EVIL],
    "ownerReferences": [{"kind": EVIL, "name": EVIL, "uid": EVIL, "controller": True, "apiVersion": "apps/v1"}],
}
CONTAINER = {
    "name": EVIL,
    "image": EVIL,
    "command": [EVIL],
    "env": [{"name": EVIL, "value": EVIL}],
    "resources": {"limits": {EVIL: "1"}},
    "volumeMounts": [{"name": EVIL, "mountPath": EVIL}],
}
TEMPLATE: dict[str, Any] = {"metadata": METADATA, "spec": {"containers": [CONTAINER, CONTAINER | {"name": EVIL + "2"}]}}
CONDITION = {"type": EVIL, "status": EVIL, "reason": EVIL, "message": EVIL}
CONDITIONS = [CONDITION, CONDITION | {"type": "Progressing", "status": "False"}, CONDITION | {"type": "ReplicaFailure"}]
WORKLOAD = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": METADATA,
    "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
    "status": {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 1, "conditions": CONDITIONS},
}
WAITING = {"waiting": {"reason": EVIL, "message": EVIL}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": METADATA,
    "spec": TEMPLATE["spec"] | {"nodeName": EVIL},
    "status": {
        "phase": "Pending",
        "reason": EVIL,
        "message": EVIL,
        "conditions": CONDITIONS,
        "containerStatuses": [{"name": EVIL, "state": WAITING, "lastState": WAITING, "image": EVIL, "restartCount": 9}],
    },
}
EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": METADATA,
    "type": "Warning",
    "reason": EVIL,
    "message": EVIL,
    "involvedObject": {"kind": EVIL, "name": EVIL, "uid": EVIL},
}
REVIEW = {"allowed": False, "reason": EVIL, "evaluationError": EVIL, "userInfo": {"username": EVIL, "groups": [EVIL]}}
CAUSES = [{"reason": EVIL, "message": EVIL, "field": EVIL}]
REFUSAL = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "message": EVIL,
    "reason": EVIL,
    "details": {"name": EVIL, "kind": EVIL, "group": EVIL, "causes": CAUSES},
    "code": 403,
}
COLUMNS = [{"name": EVIL, "type": "string"}, {"name": "Name", "type": "string", "format": "name"}]


def table(thing: dict[str, Any]) -> dict[str, Any]:
    rows = [{"cells": [EVIL, "a\nb" + EVIL], "object": {"metadata": thing["metadata"]}}]
    head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "7"}}
    return head | {"columnDefinitions": COLUMNS, "rows": rows}


def thing_of(request: SeenRequest) -> dict[str, Any]:
    if request.path == "/version":
        return {"kind": "Info", "major": EVIL, "gitVersion": EVIL, "platform": EVIL}
    for word, thing in (("pods", POD), ("events", EVENT), ("reviews", {"kind": "Review", "status": REVIEW})):
        if word in request.path:
            return thing
    return WORKLOAD


def answer_to(request: SeenRequest) -> dict[str, Any]:
    thing = thing_of(request)
    last = request.path.rsplit("/", 1)[1]
    if "as=Table" in (request.header("Accept") or ""):
        return table(thing)
    if request.method == "GET" and last.endswith("s"):
        head = {
            "kind": thing["kind"] + "List",
            "apiVersion": thing.get("apiVersion", "v1"),
            "metadata": {"resourceVersion": "7"},
        }
        name = request.query.get("fieldSelector", "").removeprefix("metadata.name=")
        return head | {"items": [thing | {"metadata": METADATA | {"name": name or EVIL}}]}
    # Asked for by name, it has that name; all else is as hostile.
    return thing | {"metadata": METADATA | {"name": last}} if request.method == "GET" else thing


def hostile(peer: Peer) -> None:
    """Everything is there, and says evil things."""
    while True:
        request = peer.read_request()
        warning = (("Warning", f'299 - "{EVIL}"'.replace("\r", "").replace("\u202e", "")),)
        if request.path.endswith(("/exec", "/attach")):
            peer.send(switching(request))
            far = Far(peer, request)
            far.raw(message(3, json.dumps(REFUSAL).encode()) + close_frame(1000, EVIL.encode()))
            far.until_gone()
        elif request.query.get("watch") == "true":
            told = [{"type": "MODIFIED", "object": thing_of(request)}, {"type": "ERROR", "object": REFUSAL}]
            peer.reply("".join(json.dumps(one) + "\n" for one in told), headers=warning)
        elif request.path.endswith("/log"):
            peer.reply(json.dumps(REFUSAL), status="400 Bad", headers=warning)
        elif request.path in ("/api", "/apis"):
            body, media = recorded(request.path)
            peer.reply(body.replace(b'"cronjobs"', json.dumps(EVIL).encode()), content_type=media, headers=warning)
        else:
            peer.reply(json.dumps(answer_to(request)), headers=warning)


def refusing(peer: Peer) -> None:
    """Whatever is asked, the answer is a Status."""
    while True:
        peer.read_request()
        peer.reply(json.dumps(REFUSAL), status="403 " + EVIL.replace("\r", "").replace("\u202e", ""))


def plain(peer: Peer) -> None:
    """No API server: text, under evil headers."""
    while True:
        peer.read_request()
        evil = EVIL.replace("\r", "").replace("\u202e", "")
        headers = (("Server", evil), ("Via", evil), ("Location", "https://x/" + evil), ("Set-Cookie", evil))
        peer.reply(EVIL, status="502 " + evil, content_type="text/plain", headers=headers)


def no_http(peer: Peer) -> None:
    peer.read_request()
    peer.send(EVIL.encode() + b"\r\n\r\n")


SERVERS = [hostile, refusing, plain, no_http]

# The forms for programs, to the byte as kubectl prints them: JSON and YAML escape what an ESC would begin, and need not
# escape the rest.
FOR_PROGRAMS = ("get deployments -o yaml", "get deployments -o json")
COMMANDS = [
    "get deployments",
    "get deployment/web",
    "get deployments -o wide --show-labels -L app",
    "get deployments -o yaml",
    "get deployments -o json",
    "get deployments -o name",
    "get pods,events -A",
    "get nonsense",
    "watch deployments --timeout=700ms",
    "watch deployments --timeout=700ms -o diff",
    "watch deployments --timeout=700ms -o name",
    "watch deployments --timeout=700ms -o json",
    "rollout status deployment/web --timeout=700ms",
    "rollout status deployments -l app=web --timeout=700ms",
    "rollout status deployment/web --timeout=700ms -o json",
    "rollout status deployment/web --timeout=700ms --explain=auto",
    "rollout status deployment/web --timeout=700ms --explain=live",
    "rollout status deployments -l app=web --timeout=700ms --prefix",
    "rollout status deployments -l app=web --timeout=700ms --progress",
    "rollout status deployments -l app=web --timeout=700ms --fail-fast",
    "rollout history deployment/web",
    "rollout history deployment/web --revision=1",
    "rollout undo deployment/web",
    "rollout undo deployment/web --dry-run=client",
    "rollout restart deployments -l app=web",
    "rollout pause deployments -l app=web",
    "rollout resume deployments -l app=web",
    "rollout restart deployment/web",
    "rollout pause deployment/web",
    "rollout resume deployment/web",
    "wait deployment/web --for=condition=Available --timeout=700ms",
    "wait deployments -l app=web --for=delete --timeout=700ms",
    "exec p -- x",
    "exec deploy/web -- x",
    "exec -l app=web --parallel 2 -- x",
    "attach p",
    "logs p",
    "logs deployment/web",
    "logs -l app=web --prefix",
    "cp p:a /tmp/never/there",
    "api-resources",
    "explain-name deploy",
    "explain-name nonsense",
    "api-resources -o wide",
    "auth whoami",
    "auth can-i get pods",
    "version",
    "doctor --pod p",
]


def harmful(text: str, marks: frozenset[int] = HARMFUL) -> str:
    """The first place where a terminal would obey."""
    at = next((at for at, char in enumerate(text) if ord(char) in marks), -1)
    return repr(text[max(0, at - 60) : at + 30]) if at >= 0 else ""


def test_no_text_of_a_server_reaches_the_terminal_as_it_is() -> None:
    def check(case: tuple[Any, str]) -> list[str]:
        behave, command = case
        with ScriptedServer(behave) as server:
            outcome = run(server.url, command.split(" "))
        streams = {"stdout": outcome.stdout.decode("utf-8", "backslashreplace"), "stderr": outcome.stderr}
        marks = HARMFUL & frozenset(range(0x20)) if command in FOR_PROGRAMS else HARMFUL
        found = [f"{name}: {place}" for name, text in streams.items() if (place := harmful(text, marks))]
        found += ["it was not understood"] if "--help' for usage" in outcome.stderr else []
        found += ["it failed itself"] if "itself failed" in outcome.stderr else []
        found += [] if outcome.seconds < DEADLINE else [f"it took {outcome.seconds} s"]
        return [f"{behave.__name__}, {command}: {one}" for one in found]

    cases = [(behave, command) for behave in SERVERS for command in COMMANDS]
    failures = [line for found in all_at_once(check, cases) for line in found]
    assert not failures, "\n".join(failures)


def test_the_evil_is_told_all_the_same() -> None:
    """Shown, with its control characters as text: the tests above would be passed by silence, too."""
    for command, sign in {
        "get deployments": "]0;pwned",
        "get deployments -o name": "\\x1b]0;pwned",
        "watch deployments --timeout=700ms": "\\x1b]0;pwned",
        "rollout status deployments -l app=web --timeout=700ms": "\\x1b]0;pwned",
        "rollout history deployment/web": "pwned",
        "exec p -- x": "pwned",
    }.items():
        with ScriptedServer(hostile) as server:
            outcome = run(server.url, command.split(" "))
        assert sign in outcome.stdout.decode() + outcome.stderr, (command, outcome)
