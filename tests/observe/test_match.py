from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.observe.ask import object_of, place_of
from rawkube.observe.exchanges import COMPLETE, OPEN, Answer, Exchange, read_exchanges
from rawkube.observe.match import DERIVED, DISCOVERY, MISSING, RECORDED, Matcher, Reply
from rawkube.observe.recording import Recording
from tests.observe.made import (
    DEPLOYMENTS,
    FIXTURES,
    JSON,
    RECORDINGS,
    Script,
    answer,
    chunk,
    deployment,
    event,
    expired,
    initial_end,
    listing,
    start,
)
from tests.support.examples import examples, some
from tests.support.rows import looped

NAMED = f"{DEPLOYMENTS}?fieldSelector=metadata.name%3Dweb"
WATCH = f"{NAMED}&watch=true&allowWatchBookmarks=true"
STREAM = f"{WATCH}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
STATUS_404 = json.dumps({"kind": "Status", "code": 404, "details": {"name": "web", "kind": "deployments"}})


def matcher(script: Script, discovery: Sequence[Exchange] = ()) -> Matcher:
    return Matcher(script.exchanges(), discovery=lambda: discovery)


def reply(to: Matcher, target: str, accept: str = JSON, method: str = "GET") -> Reply:
    return to.reply(method, target, [("Accept", accept)])


def text(told: Answer) -> str:
    return b"".join(c.data for c in told.body).decode()


def body(told: Reply) -> Any:
    return json.loads(text(told.answer))


def versions(told: Reply) -> list[str]:
    """`TYPE version` of each event of a watch."""
    found = []
    for line in filter(None, text(told.answer).split("\n")):
        value = json.loads(line)
        found.append(f"{value['type']} {value['object'].get('metadata', {}).get('resourceVersion', '')}".strip())
    return found


def watched(*events: str, at: float = 1.0) -> tuple[tuple[float, bytes | str], ...]:
    return ((0.0, start()), *((at + i, chunk(e)) for i, e in enumerate(events)))


def modified(version: int, name: str = "web") -> str:
    return event("MODIFIED", deployment(name, version))


def added(version: int, name: str = "web") -> str:
    return event("ADDED", deployment(name, version))


# The same request


def test_repetitions_get_what_was_recorded_in_turn_then_the_last() -> None:
    script = Script().ask("/a", answer("1")).ask("/b", answer("x")).ask("/a", answer("2")).ask("/a", answer("3"))
    to = matcher(script)
    assert [text(reply(to, "/a").answer) for _ in range(5)] == ["1", "2", "3", "3", "3"]
    assert text(reply(to, "/b").answer) == "x"


def test_failures_come_in_their_turn() -> None:
    script = Script().ask("/a", answer("busy", "503 Service Unavailable")).ask("/a", answer("2"))
    to = matcher(script)
    assert [reply(to, "/a").answer.status for _ in range(3)] == [503, 200, 200]


SAME = [
    ("/p/log?container=a", "/p/log?container=a", True),
    ("/p/log?container=a", "/p/log?container=b", False),
    ("/p/log?container=a", "/p/log", True),
    ("/p/log", "/p/log?container=a", True),
    ("/p/log?container=a&tailLines=10", "/p/log?container=a&tailLines=3", True),
    ("/p/log?previous=true", "/p/log?previous=1", True),
    ("/p/log?previous=false", "/p/log", True),
    ("/p/log?previous=true", "/p/log", False),
    ("/p/log", "/p/log?previous=true", False),
    ("/l?limit=3", "/l?limit=500&resourceVersion=0&timeout=32s", True),
    ("/l?continue=x", "/l?continue=x&limit=1", True),
    ("/l?continue=x", "/l?continue=y", False),
    ("/l?continue=x", "/l", False),
    ("/l", "/l?continue=x", False),
    ("/l?labelSelector=a%3Db", "/l?labelSelector=a%3D%3Db", True),
    ("/l?labelSelector=a%3Db%2Cc", "/l?labelSelector=c%2Ca%3Db", True),
    ("/l?labelSelector=a%3Db", "/l?labelSelector=a%3Dc", False),
    ("/l?labelSelector=a%3Db", "/l", True),
    ("/l?fieldSelector=metadata.name%3Da", "/l?fieldSelector=metadata.name%3Db", False),
    ("/l?watch=true", "/l", False),
    ("/l?watch=1", "/l?watch=true", True),
    ("/l", "/l?watch=false", True),
    ("/l", "/l?watch=true", False),
    ("/l", "/m", False),
    ("/l?pretty=true", "/l", True),
    ("/l", "http://127.0.0.1:80/l", True),
    ("/a%2Db", "/a-b", True),
]


@looped(("recorded", "asked", "same"), SAME)
def test_what_must_agree(recorded: str, asked: str, same: bool) -> None:
    told = reply(matcher(Script().ask(recorded, answer("x", content_type="text/plain"))), asked)
    assert told.how == (RECORDED if same else MISSING)


def test_the_method_must_agree() -> None:
    to = matcher(Script().ask("/a", answer("x"), method="PATCH"))
    assert reply(to, "/a", method="PATCH").how == RECORDED
    assert reply(to, "/a").how == MISSING


def test_what_agrees_best_is_taken() -> None:
    script = Script().ask("/l?container=a", answer("a")).ask("/l?container=b", answer("b")).ask("/l", answer("none"))
    to = matcher(script)
    assert [text(reply(to, f"/l{q}").answer) for q in ("?container=b", "", "?container=a")] == [
        "b",
        "none",
        "a",
    ]


def test_the_form_that_a_client_accepts() -> None:
    protobuf = "application/vnd.kubernetes.protobuf"
    script = Script().ask("/a", answer("json")).ask("/a", answer("k8s", content_type=protobuf), accept=protobuf)
    script.ask("/a", answer("json 2"))
    to = matcher(script)
    accepts = ["application/json, */*", f"{protobuf}, */*", "application/json", "*/*", protobuf]
    assert [text(reply(to, "/a", a).answer) for a in accepts] == ["json", "k8s", "json 2", "json 2", "k8s"]


def test_only_in_another_form() -> None:
    table = answer('{"kind":"Table"}')
    to = matcher(Script().ask("/a", table, accept="application/json;as=Table;v=v1;g=meta.k8s.io"))
    told = reply(to, "/a")
    assert told.how == MISSING
    assert "(as application/json; asked for as application/json)" in body(told)["message"]
    assert reply(to, "/a", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json").how == RECORDED


def test_304_only_for_a_client_that_has_something() -> None:
    script = Script().ask("/a", answer("whole", extra='Etag: "x"\r\n'))
    script.ask("/a", b'HTTP/1.1 304 Not Modified\r\nEtag: "x"\r\n\r\n')
    to = matcher(script)
    for have, status in ((None, 200), ('"x"', 304), ('"y"', 200), ('"z", "x"', 304), (None, 200)):
        headers = [("If-None-Match", have)] if have else []
        assert to.reply("GET", "/a", headers).answer.status == status


def test_a_406_is_for_who_asked_so() -> None:
    with Recording(FIXTURES / "discovery" / "aggregated-v2beta1.jsonl") as recording:
        to = Matcher(read_exchanges(recording))
    beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
    assert reply(to, "/apis", beta).answer.status == 406
    assert reply(to, "/apis", f"{beta},application/json").answer.status == 200
    assert reply(to, "/apis").answer.status == 200


# Nothing


def test_a_400_says_what_was_asked_for_and_what_is_recorded() -> None:
    told = reply(matcher(Script().ask("/a?x=1", answer("x")).ask("/b", answer("y"))), "/nosuch?y=2\x1b")
    assert (told.how, told.answer.status, told.sources) == (MISSING, 400, ())
    assert body(told) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": "BadRequest",
        "code": 400,
        "message": "the recording has no answer to GET /nosuch?y=2\\x1b; recorded: GET /a?x=1; GET /b",
    }


def test_a_400_names_the_same_path_first_and_not_everything() -> None:
    script = Script()
    for i in range(20):
        script.ask(f"/l?continue={i}", answer("x")).ask("/m", answer("x"))
    message = body(reply(matcher(script), "/l?watch=1"))["message"]
    assert "no answer to WATCH /l?watch=1; recorded for this path: GET /l?continue=0; " in message
    assert message.endswith("; and 12 more")
    assert "/m" not in message


# LIST and GET that follow


def names(told: Reply) -> list[str]:
    return [item["metadata"]["name"] for item in body(told)["items"]]


@looped(
    ("query", "expected"),
    [
        ("", ["web", "db"]),
        ("labelSelector=app%3Dweb", ["web"]),
        ("labelSelector=app%20in%20(db%2Cweb)", ["web", "db"]),
        ("labelSelector=app%21%3Dweb", ["db"]),
        ("labelSelector=tier", ["db"]),
        ("labelSelector=%21tier", ["web"]),
        ("fieldSelector=metadata.name%3Ddb", ["db"]),
        ("fieldSelector=metadata.name%3Dnone", []),
        ("fieldSelector=metadata.namespace%3Ddemo&labelSelector=app", ["web", "db"]),
        ("fieldSelector=metadata.namespace%3Dother", []),
    ],
)
def test_a_narrower_list(query: str, expected: list[str]) -> None:
    wide = listing(7, deployment("web", 5, app="web"), deployment("db", 6, app="db", tier="x"))
    told = reply(matcher(Script().ask(DEPLOYMENTS, answer(wide))), f"{DEPLOYMENTS}?{query}")
    assert names(told) == expected
    assert body(told)["metadata"]["resourceVersion"] == "7"
    assert (body(told)["kind"], body(told)["apiVersion"]) == ("DeploymentList", "apps/v1")
    assert told.how == (DERIVED if query else RECORDED)


def test_a_namespace_from_all_of_them() -> None:
    other = deployment("web", 5)
    other["metadata"]["namespace"] = "other"
    to = matcher(Script().ask("/apis/apps/v1/deployments", answer(listing(7, other, deployment("db", 6)))))
    assert names(reply(to, DEPLOYMENTS)) == ["db"]
    assert body(reply(to, f"{DEPLOYMENTS}/db"))["kind"] == "Deployment"


@pytest.mark.parametrize(
    "query", ["fieldSelector=spec.replicas%3D3", "labelSelector=%3D%3D", "labelSelector=x&continue=abc"]
)
def test_a_list_that_does_not_follow(query: str) -> None:
    to = matcher(Script().ask(DEPLOYMENTS, answer(listing(7, deployment("web", 5)))))
    assert reply(to, f"{DEPLOYMENTS}?{query}").how == MISSING


def test_a_page_is_no_list_to_derive_from() -> None:
    page = json.dumps({"kind": "DeploymentList", "metadata": {"continue": "x"}, "items": []})
    assert reply(matcher(Script().ask(f"{DEPLOYMENTS}?limit=1", answer(page))), NAMED).how == MISSING


def test_a_wider_list_than_any_recorded() -> None:
    told = reply(matcher(Script().ask(NAMED, answer(listing(7, deployment("web", 5))))), DEPLOYMENTS)
    assert (told.how, names(told)) == (RECORDED, ["web"])


def test_a_list_by_name_from_a_get() -> None:
    to = matcher(Script().ask(f"{DEPLOYMENTS}/web", answer(json.dumps(deployment("web", 5)))))
    told = reply(to, NAMED)
    assert (told.how, names(told)) == (DERIVED, ["web"])
    assert body(told)["metadata"] == {"resourceVersion": "5"}
    assert "kind" not in body(told)["items"][0]
    assert reply(to, DEPLOYMENTS).how == MISSING
    assert reply(to, f"{DEPLOYMENTS}?fieldSelector=metadata.name%3Ddb").how == MISSING


def test_an_empty_list_from_a_404() -> None:
    script = Script().ask("/api/v1/namespaces/demo", answer('{"metadata":{"resourceVersion":"12"}}'))
    script.ask(f"{DEPLOYMENTS}/web", answer(STATUS_404, "404 Not Found"))
    resources = {"resources": [{"name": "deployments", "kind": "Deployment"}], "groupVersion": "apps/v1"}
    discovery = Script().ask("/apis/apps/v1", answer(json.dumps(resources))).exchanges()
    told = reply(matcher(script, discovery), NAMED)
    assert body(told) == {
        "kind": "DeploymentList",
        "apiVersion": "apps/v1",
        "metadata": {"resourceVersion": "12"},
        "items": [],
    }
    assert body(reply(matcher(script), NAMED))["kind"] == "List"


def test_a_404_that_is_about_no_object_gives_no_list() -> None:
    to = matcher(Script().ask(f"{DEPLOYMENTS}/web", answer("404 page not found", "404 Not Found")))
    assert reply(to, NAMED).how == MISSING


@pytest.mark.parametrize(("status", "same"), [("401 Unauthorized", True), ("403 Forbidden", False)])
def test_a_list_from_a_get_that_failed(status: str, same: bool) -> None:
    to = matcher(Script().ask(f"{DEPLOYMENTS}/web", answer('{"kind":"Status"}', status)))
    told = reply(to, NAMED)
    assert (told.how, told.answer.status) == ((DERIVED, 401) if same else (MISSING, 400))


def test_a_narrower_list_fails_as_the_wider_one() -> None:
    told = reply(matcher(Script().ask(DEPLOYMENTS, answer('{"kind":"Status"}', "403 Forbidden"))), NAMED)
    assert (told.how, told.answer.status) == (DERIVED, 403)


def test_a_get_from_a_list() -> None:
    to = matcher(Script().ask(NAMED, answer(listing(7, deployment("web", 5)))))
    assert body(reply(to, f"{DEPLOYMENTS}/web")) == deployment("web", 5)
    assert names(reply(to, NAMED)) == ["web"]
    assert reply(to, f"{DEPLOYMENTS}/db").how == MISSING


def test_a_get_of_what_a_list_does_not_have() -> None:
    told = reply(matcher(Script().ask(NAMED, answer(listing(7)))), f"{DEPLOYMENTS}/web")
    assert (told.how, told.answer.status) == (DERIVED, 404)
    assert body(told)["message"] == 'deployments.apps "web" not found'
    assert body(told)["details"] == {"name": "web", "group": "apps", "kind": "deployments"}


def test_a_get_and_a_list_are_counted_apart() -> None:
    script = Script().ask(NAMED, answer(listing(7, deployment("web", 5))))
    to = matcher(script.ask(NAMED, answer(listing(9, deployment("web", 8)))))
    got = [
        reply(to, f"{DEPLOYMENTS}/web"),
        reply(to, NAMED),
        reply(to, f"{DEPLOYMENTS}/web"),
        reply(to, NAMED),
    ]
    assert [b["metadata"]["resourceVersion"] for b in map(body, got)] == ["5", "7", "8", "9"]


# WATCH


def list_watch() -> Script:
    script = Script().ask(NAMED, answer(listing(100, deployment("web", 90))))
    script.watch(f"{WATCH}&resourceVersion=100", *watched(modified(101), modified(105), expired()))
    script.ask(NAMED, answer(listing(200, deployment("web", 190))))
    return script.watch(f"{WATCH}&resourceVersion=200", *watched(modified(201), modified(205)))


def streamed() -> Script:
    events = watched(added(90), initial_end(100), modified(101), modified(105))
    return Script().watch(f"{STREAM}&timeoutSeconds=300", *events)


def test_list_and_watch_as_recorded() -> None:
    to = matcher(list_watch())
    for version in (100, 200):
        assert body(reply(to, NAMED))["metadata"]["resourceVersion"] == str(version)
        told = reply(to, f"{WATCH}&resourceVersion={version}&timeoutSeconds=9")
        assert told.how == RECORDED


@looped(
    ("version", "expected"),
    [
        (99, ["MODIFIED 101", "MODIFIED 105", "ERROR"]),
        (101, ["MODIFIED 105", "ERROR"]),
        (105, ["ERROR"]),
        (150, ["MODIFIED 201", "MODIFIED 205"]),
        (201, ["MODIFIED 205"]),
        (205, []),
        (300, []),
    ],
)
def test_a_watch_from_another_version_repeats_nothing(version: int, expected: list[str]) -> None:
    told = reply(matcher(list_watch()), f"{WATCH}&resourceVersion={version}")
    assert (told.how, versions(told), told.answer.ends) == (DERIVED, expected, OPEN)


def test_a_relist_without_a_watch_of_its_own() -> None:
    script = Script().ask(NAMED, answer(listing(100, deployment("web", 90))))
    script.watch(f"{WATCH}&resourceVersion=100", *watched(modified(101), expired()))
    to = matcher(script.ask(NAMED, answer(listing(200, deployment("web", 190)))))
    assert [versions(reply(to, f"{WATCH}&resourceVersion={v}")) for v in (100, 200)] == [
        ["MODIFIED 101", "ERROR"],
        [],
    ]


def test_the_rest_of_a_watch_comes_when_it_would_have_come() -> None:
    told = reply(matcher(list_watch()), f"{WATCH}&resourceVersion=101")
    assert [c.delay for c in told.answer.body] == [1, 2]


def test_a_watch_that_said_nothing_is_not_ended_again_and_again() -> None:
    script = Script().watch(f"{WATCH}&resourceVersion=1", (0, start()), (30, "0\r\n\r\n"))
    to = matcher(script)
    told = [reply(to, f"{WATCH}&resourceVersion=1").answer.ends for _ in range(3)]
    assert told == [COMPLETE, OPEN, OPEN]


@pytest.mark.parametrize("version", ["None", "abc", "9" * 5000, "-1", "\u0663"])
def test_a_version_that_is_no_number(version: str) -> None:
    to = matcher(Script().watch(f"{WATCH}&resourceVersion=7", *watched(modified(8))))
    told = reply(to, f"{WATCH}&resourceVersion={version}")
    assert versions(told) in (["MODIFIED 8"], [])


def test_bookmarks_only_for_a_client_that_allows_them() -> None:
    bookmark = event("BOOKMARK", {"kind": "Deployment", "metadata": {"resourceVersion": "102"}})
    to = matcher(Script().watch(f"{WATCH}&resourceVersion=100", *watched(modified(101), bookmark)))
    assert versions(reply(to, f"{WATCH}&resourceVersion=100")) == ["MODIFIED 101", "BOOKMARK 102"]
    plain = WATCH.replace("&allowWatchBookmarks=true", "")
    assert versions(reply(to, f"{plain}&resourceVersion=100")) == ["MODIFIED 101"]


def test_list_and_watch_from_a_streaming_list() -> None:
    to = matcher(streamed())
    told = reply(to, f"{NAMED}&limit=500")
    assert (told.how, names(told)) == (DERIVED, ["web"])
    assert body(told)["metadata"] == {"resourceVersion": "100"}
    assert told.answer.raw[0].delay == 2
    told = reply(to, f"{WATCH}&resourceVersion=100")
    assert versions(told) == ["MODIFIED 101", "MODIFIED 105"]
    assert [c.delay for c in told.answer.body] == [1, 2]
    assert versions(reply(to, f"{WATCH}&resourceVersion=101")) == ["MODIFIED 105"]


def test_a_streaming_list_from_list_and_watch() -> None:
    to = matcher(list_watch())
    told = reply(to, STREAM)
    assert told.how == DERIVED
    assert len(told.sources) == 2
    assert versions(told) == ["ADDED 90", "BOOKMARK 100", "MODIFIED 101", "MODIFIED 105", "ERROR"]
    assert [c.delay for c in told.answer.body] == [0.25, 0.25, 2, 3, 4]
    first = json.loads(text(told.answer).splitlines()[0])["object"]
    assert (first["kind"], first["apiVersion"]) == ("Deployment", "apps/v1")
    second = json.loads(text(told.answer).splitlines()[1])["object"]
    assert second["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert versions(reply(to, STREAM)) == ["ADDED 190", "BOOKMARK 200", "MODIFIED 201", "MODIFIED 205"]


def test_a_streaming_list_of_nothing() -> None:
    told = reply(matcher(Script().ask(NAMED, answer(listing(100)))), STREAM)
    assert (versions(told), told.answer.ends) == (["BOOKMARK 100"], OPEN)


def test_a_watch_from_nowhere() -> None:
    to = matcher(list_watch())
    assert versions(reply(to, f"{WATCH}&resourceVersion=0"))[:2] == ["ADDED 90", "MODIFIED 101"]
    to = matcher(streamed())
    assert versions(reply(to, WATCH)) == ["ADDED 90", "MODIFIED 101", "MODIFIED 105"]


def test_a_list_from_a_watch_from_nowhere() -> None:
    to = matcher(Script().watch(WATCH, *watched(added(90), modified(95))))
    told = reply(to, NAMED)
    assert (names(told), body(told)["metadata"]) == (["web"], {"resourceVersion": "90"})
    assert versions(reply(to, f"{WATCH}&resourceVersion=90")) == ["MODIFIED 95"]


def test_a_watch_by_name_from_a_wider_one() -> None:
    wide = f"{DEPLOYMENTS}?watch=true&resourceVersion=1"
    to = matcher(Script().watch(wide, *watched(modified(2, "db"), modified(3), expired())))
    assert versions(reply(to, f"{WATCH}&resourceVersion=1")) == ["MODIFIED 3", "ERROR"]
    assert reply(to, f"{DEPLOYMENTS}?watch=true&labelSelector=app%3Dweb&resourceVersion=1").how == MISSING


def test_a_watch_that_failed_fails() -> None:
    to = matcher(Script().ask(f"{DEPLOYMENTS}?watch=true", answer('{"kind":"Status"}', "403 Forbidden")))
    assert reply(to, f"{WATCH}&resourceVersion=5").answer.status == 403


def test_no_watch_is_made_up() -> None:
    assert reply(matcher(Script().ask(NAMED, answer(listing(100)))), f"{WATCH}&resourceVersion=100").how == MISSING


def test_a_cut_event_is_not_derived_from() -> None:
    cut = ((0.0, start()), (1.0, chunk(added(90) + initial_end(100) + modified(101) + '{"type":"MOD')))
    assert versions(reply(matcher(Script().watch(STREAM, *cut)), f"{WATCH}&resourceVersion=100")) == ["MODIFIED 101"]


def test_gzip_is_read() -> None:
    packed = gzip.compress(listing(7, deployment("web", 5), deployment("db", 6)).encode())
    script = Script().ask(DEPLOYMENTS, answer(packed, extra="Content-Encoding: gzip\r\n"))
    assert names(reply(matcher(script), NAMED)) == ["web"]
    broken = Script().ask(DEPLOYMENTS, answer(b"\x1f\x8b" + packed[9:], extra="Content-Encoding: gzip\r\n"))
    assert reply(matcher(broken), NAMED).how == MISSING


# The real recordings


@looped("file", some("matching", RECORDINGS), ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_the_recorded_client_gets_what_it_got(file: Path) -> None:
    with Recording(file) as recording:
        exchanges = read_exchanges(recording)
    to = Matcher(exchanges)
    for exchange in exchanges:
        told = to.reply(exchange.method, exchange.target, exchange.headers)
        if "spdy/" in (exchange.answer.header("upgrade") + exchange.answer.header("sec-websocket-protocol")).lower():
            assert (told.how, told.answer.status) == (MISSING, 400)
            continue
        assert (told.how, told.sources) == (RECORDED, (exchange,)), exchange.target
        assert exchange.answer.status == 101 or told.answer is exchange.answer
        assert b"".join(c.data for c in told.answer.raw) == b"".join(c.data for c in exchange.answer.raw)


def final(to: Matcher, path: str, streaming: bool) -> list[str]:
    """What a client sees of the one object of a rollout, by a streaming list or by LIST and WATCH."""
    if streaming:
        query = "&watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        seen = versions(reply(to, path + query))
        return [line.partition(" ")[2] for line in seen if not line.startswith("BOOKMARK")]
    listed = body(reply(to, path))
    seen = versions(reply(to, f"{path}&watch=1&resourceVersion={listed['metadata']['resourceVersion']}"))
    return [item["metadata"]["resourceVersion"] for item in listed["items"]] + [line.partition(" ")[2] for line in seen]


@looped("file", sorted(FIXTURES.glob("rollout*/*-update*.jsonl")), ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_both_ways_see_the_same(file: Path) -> None:
    with Recording(file) as recording:
        exchanges = read_exchanges(recording)
    watched = next(k for k in Matcher(exchanges).known if k.ask.watch)
    path = f"{watched.ask.path}?fieldSelector={watched.ask.params['fieldSelector']}"
    one, other = (final(Matcher(exchanges), path, streaming) for streaming in (True, False))
    assert one == other
    assert len(one) >= 2


# Paths, and whatever may be asked


@looped(
    ("path", "collection", "named"),
    [
        ("/api/v1/pods", ("v1", "", "", "pods"), None),
        ("/api/v1/namespaces/demo/pods", ("v1", "", "demo", "pods"), None),
        ("/apis/apps/v1/namespaces/demo/deployments", ("apps/v1", "apps", "demo", "deployments"), None),
        ("/api/v1/namespaces", ("v1", "", "", "namespaces"), None),
        ("/api/v1/namespaces/demo", None, ("/api/v1/namespaces", "demo")),
        ("/api/v1/nodes/n", None, ("/api/v1/nodes", "n")),
        ("/api/v1/namespaces/demo/pods/p", None, ("/api/v1/namespaces/demo/pods", "p")),
        ("/apis/apps/v1/namespaces/demo/deployments/web", None, (DEPLOYMENTS, "web")),
        ("/api/v1/namespaces/demo/pods/p/log", None, None),
        ("/api", None, None),
        ("/apis/apps/v1", None, None),
        ("/version", None, None),
        ("", None, None),
    ],
)
def test_what_a_path_names(path: str, collection: tuple[str, ...] | None, named: tuple[str, str] | None) -> None:
    assert place_of(path) == collection
    assert object_of(path) == named


NAMES = ("watch", "resourceVersion", "fieldSelector", "labelSelector", "sendInitialEvents", "continue", "limit", "x")
VALUES = ("true", "1", "0", "101", "metadata.name=web", "metadata.name=db", "app in (web)", "===", "", "\u0663", "a,!b")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@given(
    path=st.sampled_from([DEPLOYMENTS, f"{DEPLOYMENTS}/web", f"{DEPLOYMENTS}/db", "/api", "/apis/apps/v1", "/x", "*"]),
    query=st.lists(st.tuples(st.sampled_from(NAMES), st.one_of(st.sampled_from(VALUES), st.text(max_size=5)))),
    accept=st.sampled_from(["", JSON, "*/*", TABLE, ";;q=,", "application/vnd.kubernetes.protobuf"]),
)
@settings(max_examples=examples(150))
def test_whatever_is_asked_is_answered(path: str, query: list[tuple[str, str]], accept: str) -> None:
    script = list_watch()
    script.pieces += [p._replace(conn=p.conn + 50) for p in streamed().pieces]
    script.pieces += [p._replace(conn=p.conn + 60) for p in Script().ask(f"{DEPLOYMENTS}/db", "junk").pieces]
    told = reply(matcher(script), f"{path}?{urlencode(query)}", accept)
    assert told.answer.status in (0, 200, 400, 404)
    assert bool(told.sources) == (told.how != MISSING)


# Discovery


@pytest.fixture(scope="module")
def discovery() -> list[Exchange]:
    found: list[Exchange] = []
    for file in sorted((FIXTURES / "discovery").glob("*.jsonl")):
        with Recording(file) as recording:
            found += read_exchanges(recording)
    return found


V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        ("/api", V2, "APIGroupDiscoveryList"),
        ("/apis?timeout=32s", f"{V2},application/json", "APIGroupDiscoveryList"),
        ("/api", "application/json", "APIVersions"),
        ("/apis", "*/*", "APIGroupList"),
        ("/api/v1", "application/json, */*", "APIResourceList"),
        ("/apis/apps/v1", f"{V2},application/json", "APIResourceList"),
    ],
)
def test_discovery_by_the_accept_header(discovery: list[Exchange], path: str, accept: str, kind: str) -> None:
    told = reply(matcher(Script().ask("/x", answer("x")), discovery), path, accept)
    assert (told.how, body(told)["kind"]) == (DISCOVERY, kind)


def test_discovery_that_knows_the_groups_of_the_recording(discovery: list[Exchange]) -> None:
    other = reply(matcher(Script().ask(DEPLOYMENTS, answer("x")), discovery), "/apis", V2)
    assert "shop.example.com" not in text(other.answer)
    custom = "/apis/app.example.com/v1/namespaces/demo/releases"
    told = reply(matcher(Script().ask(custom, answer("x")), discovery), "/apis", V2)
    assert "app.example.com" in text(told.answer)


def test_discovery_of_the_recording_itself_comes_first(discovery: list[Exchange]) -> None:
    script = Script().ask("/apis", answer('{"kind":"APIGroupList","groups":[]}'))
    assert reply(matcher(script, discovery), "/apis", f"{V2},application/json").how == RECORDED
    assert reply(matcher(script, discovery), "/apis", V2).how == DISCOVERY
    assert reply(matcher(script, discovery), "/apis/no.such.group/v1").how == MISSING


def test_discovery_is_not_read_without_need() -> None:
    def never() -> Sequence[Exchange]:
        raise AssertionError

    to = Matcher(list_watch().exchanges(), discovery=never)
    for target in (NAMED, f"{WATCH}&resourceVersion=100", STREAM, f"{DEPLOYMENTS}/web", "/nosuch"):
        reply(to, target)


@pytest.mark.parametrize(
    ("targets", "namespace"),
    [
        ([DEPLOYMENTS, "/api/v1/namespaces/other/pods", DEPLOYMENTS], "demo"),
        (["/api/v1/namespaces/other"], "other"),
        (["/api/v1/nodes"], ""),
    ],
)
def test_the_namespace_of_a_recording(targets: list[str], namespace: str) -> None:
    script = Script()
    for target in targets:
        script.ask(target, answer("x"))
    assert matcher(script).namespace == namespace
