"""What a real API server sent to watches, told by `rawkube watch`."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from rawkube.observe.replay import Replay
from tests.support.answers import AnsweringServer
from tests.support.recordings import FIXTURES, Exchange, exchanges, recordings
from tests.support.run import ROOT
from tests.support.script import Answer
from tests.support.watching import Watched, watch

LISTED = "LISTED Deployment demo/web 2117 3/3 ready"
PODS = (
    "agent-28pwj 1941 Running",
    "db-0 1942 Running",
    "db-1 1949 Running",
    "db-2 1940 Running",
    "finished 1110 Succeeded",
    "multi 1135 Running",
    "plain-multi 1137 Running",
    "shell 1131 Running",
    "web-794d94d94d-j9szd 2048 Running",
    "web-794d94d94d-n6lz5 2084 Running",
    "web-794d94d94d-xmrkx 2045 Running",
)
ALL_PODS = [f"LISTED Pod demo/{pod}" for pod in PODS]

TOLD: dict[str, tuple[str, list[str]]] = {
    "list-then-watch": (
        "deployment/web --bookmarks",
        [
            "LISTED Deployment demo/web 2086 3/3 ready",
            "MODIFIED Deployment demo/web 2089 spec.replicas 3→4",
            "MODIFIED Deployment demo/web 2091 status.observedGeneration 14→15",
            "MODIFIED Deployment demo/web 2094 +status.unavailableReplicas 1",
            "MODIFIED Deployment demo/web 2100 status.replicas 3→4, status.updatedReplicas 3→4",
            "BOOKMARK Deployment 2100",
            "MODIFIED Deployment demo/web 2108 spec.replicas 4→3",
            "MODIFIED Deployment demo/web 2110 status.observedGeneration 15→16",
            "MODIFIED Deployment demo/web 2113 -status.unavailableReplicas",
            "MODIFIED Deployment demo/web 2117 status.replicas 4→3, status.updatedReplicas 4→3",
            "BOOKMARK Deployment 2117",
        ],
    ),
    "unicode": (
        "deployment/web",
        [
            LISTED,
            'MODIFIED Deployment demo/web 2125 +metadata.annotations.note "grüße € 🚀 \\u2028 \\u0085 end"',
            "MODIFIED Deployment demo/web 2127 status.observedGeneration 16→17",
        ],
    ),
    "initial-events": ("deployment/web --initial-events", ["LISTED Deployment demo/web 2086 3/3 ready"]),
    "pods-initial": ("pods --initial-events", ALL_PODS),
    "no-rv": ("deployments", [LISTED]),
    "gzip": ("pods", ALL_PODS),
    "idle-bookmarks": (
        "configmaps --bookmarks",
        [
            "LISTED ConfigMap demo/kube-root-ca.crt 963",
            "LISTED ConfigMap demo/openshift-service-ca.crt 962",
            "BOOKMARK ConfigMap 2141",
        ],
    ),
}


def replayed(name: str, home: Path, *args: str) -> tuple[Watched, Replay]:
    with Replay(FIXTURES / "watch" / f"{name}.jsonl") as server:
        return watch(server.url, home, "-n", "demo", *args), server


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told(name: str, tmp_path: Path) -> None:
    args, lines = TOLD[name]
    found, _ = replayed(name, tmp_path, *args.split(), f"--count={len(lines)}")
    assert found.lines == lines
    assert (found.notes, found.code) == ([], 0)


def test_a_streaming_list_is_the_one_request_of_the_recording(tmp_path: Path) -> None:
    for name, args in (("initial-events", "deployment/web"), ("pods-initial", "pods")):
        found, server = replayed(name, tmp_path, args, "--initial-events", "--count=1")
        assert [asked.how for asked in server.requests] == ["recorded"]
        assert server.requests[0].target.count("sendInitialEvents=true") == 1
        assert found.notes == []


def test_the_end_of_the_initial_events_is_a_bookmark(tmp_path: Path) -> None:
    args = ("deployment/web", "--initial-events", "--bookmarks", "--count=2")
    found, _ = replayed("initial-events", tmp_path, *args)
    assert found.lines[1] == "BOOKMARK Deployment 2088 end of the initial events"


def test_the_text_of_unicode_is_whole(tmp_path: Path) -> None:
    found, _ = replayed("unicode", tmp_path, "deployment/web", "-ojson", "--count=2")
    note = found.events[1]["object"]["metadata"]["annotations"]["note"]
    assert note == "grüße € 🚀 \u2028 \u0085 end"
    assert found.events[1]["changes"][1]["after"] == note
    assert not any(char in found.stdout for char in "\u2028\u0085")


def test_an_object_that_leaves_the_selection_is_not_said_to_be_deleted_where_nobody_knows(tmp_path: Path) -> None:
    """The recording answers no GET of it."""
    found, server = replayed("selector-leaves", tmp_path, "deployments", "-l", "tier=x", "-ojson", "--count=2")
    assert [event["type"] for event in found.events] == ["ADDED", "DELETED"]
    assert found.events[1]["departure"] == "unknown"
    assert server.requests[-1].target.endswith("/deployments/web")


def test_an_object_that_leaves_the_selection_and_can_be_read(tmp_path: Path) -> None:
    """The recorded stream, and the object as another recording of that cluster has it, labelled otherwise."""
    [stream] = exchanges(FIXTURES / "watch" / "selector-leaves.jsonl")
    now = next(one for one in exchanges(FIXTURES / "watch" / "unicode.jsonl"))
    item = json.loads(now.body.splitlines()[-1])["object"]
    empty = Answer(body='{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"}}')
    with AnsweringServer(empty, answer(stream), Answer(body=json.dumps(item))) as server:
        found = watch(server.url, tmp_path, "-n", "demo", "deployments", "-l", "tier=x", "--count=2")
    assert found.lines[0] == "ADDED Deployment demo/web 2129 3/3 ready"
    assert found.lines[1].startswith("LEFT Deployment demo/web 2131 matches the selector no more: ")
    assert "-metadata.labels.tier" in found.lines[1]


# Answers that no list belongs to in their recordings.

LIST = Answer(
    body='{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"9"},'
    '"items":[{"metadata":{"name":"web","namespace":"demo","resourceVersion":"9"}}]}'
)


def answer(exchange: Exchange) -> Answer:
    kept = tuple(pair for pair in exchange.headers if pair[0] in ("retry-after",))
    media = next(value for name, value in exchange.headers if name == "content-type")
    return Answer(f"{exchange.status} As Recorded", exchange.body, media, kept)


def of(name: str) -> list[Exchange]:
    return exchanges(FIXTURES / "watch" / f"{name}.jsonl")


def given(answers: list[Answer], home: Path, *args: str) -> tuple[Watched, list[str]]:
    """What is told of these answers; the parameters that were asked for, in short."""
    with AnsweringServer(*answers) as server:
        found = watch(server.url, home, "-n", "demo", *args)
        asked = [
            " ".join(f"{key}={one.query[key]}" for key in ("watch", "continue", "resourceVersion") if key in one.query)
            for one in server.asked
        ]
        return found, asked


@pytest.mark.usefixtures("hurried")
def test_too_old(tmp_path: Path) -> None:
    [stream] = of("too-old")
    found, asked = given([LIST, answer(stream), LIST], tmp_path, "deployments", "--timeout=1s")
    assert asked[:3] == ["", "watch=true resourceVersion=9", ""]
    assert found.lines == ["LISTED Deployment demo/web 9"]
    assert found.notes[0] == "listed again: no differences"


@pytest.mark.usefixtures("hurried")
def test_a_malformed_version_is_said_as_the_server_says_it(tmp_path: Path) -> None:
    first, second = of("malformed-rv")
    assert (first.status, second.status) == (500, 500)
    event = Answer(body='{"type":"DELETED","object":{"metadata":{"name":"web","namespace":"demo"}}}')
    found, asked = given([LIST, answer(second), event], tmp_path, "deployments", "--count=2")
    assert asked == ["", *["watch=true resourceVersion=9"] * 2]
    assert 'parsing "abc"' in found.notes[0]
    assert found.lines[1] == "DELETED Deployment demo/web -"


def test_a_version_of_the_future(tmp_path: Path) -> None:
    """A watch is silent until its end, and is opened again; a list is an error, once the server was asked twice."""
    silent, refused = of("future-rv")
    found, asked = given([LIST, answer(silent)], tmp_path, "deployments", "--timeout=1s")
    assert asked[1] == "watch=true resourceVersion=9" and len(asked) <= 3
    assert (found.notes, found.code) == ([], 0)
    found, asked = given([answer(refused)._replace(headers=())], tmp_path, "deployments")
    assert found.notes == ["Error from server (Timeout): Timeout: Too large resource version: 99999999, current: 2121"]
    assert found.code == 1


def test_pages(tmp_path: Path) -> None:
    first, second, broken = of("paged")
    tokens = [one.query.get("continue") for one in (first, second)]
    last = Answer(body='{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"2133"},"items":null}')
    found, asked = given([answer(first), answer(second), last], tmp_path, "pods", "-A", "--count=6")
    assert [line.split(" ")[2].split("/")[0] for line in found.lines] == ["default"] * 6
    assert asked[:2] == ["", f"continue={tokens[1]}"]
    found, _ = given([answer(first), answer(broken)], tmp_path, "pods", "-A")
    assert found.code == 1
    assert "continue" in found.notes[-1]


def test_tables_are_told_as_what_they_are(tmp_path: Path) -> None:
    """A server that sends Tables to whoever asked for objects: no name, no crash."""
    _, stream = of("table")
    found, _ = given([LIST, answer(stream)], tmp_path, "deployments", "--count=2")
    assert found.lines[1] == "ADDED Table 2131"


@pytest.mark.parametrize("path", recordings("watch"), ids=lambda path: path.stem)
def test_every_recording_in_every_form(path: Path, tmp_path: Path) -> None:
    """Each recorded stream after a list: whole lines, and no traceback."""
    streams = [e for e in exchanges(path) if e.query.get("watch") == "true" and e.status == 200 and has_events(e.body)]
    for exchange, output in product(streams, ("", "json", "name", "diff")):
        found, _ = given([LIST, answer(exchange)], tmp_path, "deployments", "-o", output, "--count=2")
        assert found.code == 0, output
        assert found.stdout.endswith("\n"), output
        assert output != "json" or len(found.events) == 2


def has_events(body: bytes) -> bool:
    return any(b'"type":"' + kind in body for kind in (b"ADDED", b"MODIFIED", b"DELETED"))


def test_as_a_process() -> None:
    words = ["--speed=max", "--", "watch", "deployment/web", "-n", "demo", "--count=9", "-o", "name"]
    ran = subprocess.run(
        [sys.executable, "-m", "rawkube", "replay", str(FIXTURES / "watch" / "list-then-watch.jsonl"), *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("deployment.apps/web\n" * 9, "", 0)
