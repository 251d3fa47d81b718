"""`rawkube watch` and servers that misbehave: no event is lost or told twice, and every trouble has a note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rawkube.api import list_watch
from tests.support.answers import AnsweringServer
from tests.support.api_server import ApiServer
from tests.support.script import (
    RESET,
    Answer,
    Object,
    Step,
    Workload,
    added,
    bookmark,
    close,
    cuts,
    deleted,
    drops,
    error,
    failure,
    forgets,
    goes_away,
    modified,
    pause,
    sends,
    status,
    unseen,
)
from tests.support.server import Peer, SeenRequest
from tests.support.watching import Watched, watch
from tests.support.workloads import daemonset, deployment

pytestmark = pytest.mark.usefixtures("hurried")

STARTED, UPDATED, DONE = deployment(u=1), deployment(u=2), deployment()
STREAM = "watch-list"


def changes(found: Watched) -> list[str]:
    """What each line says after the object and its version."""
    return [line.split(" ", 4)[4] if line.count(" ") > 3 else line.split(" ")[0] for line in found.lines]


def seen_after(steps: list[Step], home: Path, count: int, *args: str, **more: Any) -> tuple[Watched, list[str]]:
    with ApiServer(Workload(STARTED, steps=steps), **more) as server:
        found = watch(server.url, home, "deployment/web", f"--count={count}", "--timeout=30s", *args)
        return found, server.seen()


ENDS: dict[str, list[Step]] = {
    "clean": [modified(UPDATED), close(), modified(DONE)],
    "without the last chunk": [modified(UPDATED), drops(), modified(DONE)],
    "reset": [modified(UPDATED), pause(0.1), drops("reset"), modified(DONE)],
    "inside an event": [bookmark(), cuts(UPDATED), modified(DONE)],
    "inside an event, without the last chunk": [bookmark(), cuts(UPDATED, end=False), modified(DONE)],
    "while nobody watched": [bookmark(), unseen("MODIFIED", UPDATED), close(), modified(DONE)],
    "three times": [modified(UPDATED), close(), bookmark(), close(), bookmark(), close(), modified(DONE)],
    "refused for a moment": [bookmark(), close(), modified(UPDATED), modified(DONE)],
}


@pytest.mark.parametrize("name", ENDS)
def test_however_a_watch_ends_each_state_is_told_once(name: str, tmp_path: Path) -> None:
    found, seen = seen_after(list(ENDS[name]), tmp_path, 3)
    assert changes(found)[1:] == ["status.updatedReplicas 1→2", "status.updatedReplicas 2→3"]
    assert (found.code, found.notes, seen.count("list")) == (0, [], 1)


def test_an_outage_has_a_note_at_each_end(tmp_path: Path) -> None:
    found, seen = seen_after([bookmark(), goes_away(0.2), modified(UPDATED)], tmp_path, 2)
    assert changes(found)[1:] == ["status.updatedReplicas 1→2"]
    began, over = found.notes
    assert "lost" in began and "refused" in began and "back" in over
    assert seen.count("list") == 1


def test_a_watch_that_is_not_let_in_for_a_while(tmp_path: Path) -> None:
    found, _ = seen_after([modified(UPDATED)], tmp_path, 2, answers={"watch": [RESET, failure(503, "not now")]})
    assert changes(found)[1:] == ["status.updatedReplicas 1→2"]
    assert len(found.notes) == 2 and "not now" in found.notes[0]


@pytest.mark.parametrize(
    "step",
    [error(410), error(0, reason="Gone"), error(0, reason="Expired"), error(500, "boom"), error(410, reason="")],
    ids=["410", "Gone", "Expired", "500", "410 without a reason"],
)
def test_what_was_missed_is_told_after_listing_again(step: Step, tmp_path: Path) -> None:
    """A relist is a difference, deletions included; what did not change is not told again."""
    web = Workload(STARTED, steps=[bookmark(), unseen("MODIFIED", UPDATED), step, modified(DONE)])
    others = [Workload(deployment(name)) for name in ("gone", "same")]

    def vanish(thing: Object) -> None:
        others[0].record("DELETED", thing, server.next_version())

    web.steps.insert(1, Step(lambda stream: vanish(deployment("gone"))))
    with ApiServer(web, *others) as server:
        found = watch(server.url, tmp_path, "deployments", "--count=6", "--timeout=30s")
        assert server.seen().count("list") == 2
    assert [line.split(" ")[0] for line in found.lines] == ["LISTED"] * 3 + ["DELETED", "MODIFIED", "MODIFIED"]
    assert found.lines[3].startswith("DELETED Deployment default/gone")
    assert found.lines[4].endswith("status.updatedReplicas 1→2, seen by listing again")
    assert found.lines[5].endswith("status.updatedReplicas 2→3")
    assert found.notes == ["listed again: 2 differences"]


def test_another_object_in_its_place_is_told_as_one_that_went_and_one_that_came(tmp_path: Path) -> None:
    other = deployment() | {"metadata": {"name": "web", "uid": "another"}}
    steps = [bookmark(), unseen("DELETED"), unseen("ADDED", other), forgets(), close(), bookmark()]
    found, _ = seen_after(steps, tmp_path, 3)
    assert [line.split(" ")[0] for line in found.lines] == ["LISTED", "DELETED", "ADDED"]


def test_an_expired_version_is_never_sent_again_nor_the_word_none(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[modified(UPDATED), error(410), modified(DONE)])) as server:
        watch(server.url, tmp_path, "deployment/web", "--count=3")
        assert server.seen() == ["list", "watch rv=101", "list", "watch rv=102"]
        assert not any("None" in request.target for request in server.asked)


def test_http_410_when_a_watch_opens(tmp_path: Path) -> None:
    found, seen = seen_after([modified(UPDATED)], tmp_path, 2, answers={"watch": [failure(410, "too old")]})
    assert changes(found)[1:] == ["status.updatedReplicas 1→2"]
    assert seen == ["list", "watch rv=101", "list", "watch rv=101"]
    assert found.notes == ["listed again: no differences"]


@pytest.mark.parametrize(
    "junk",
    [
        b"<html>bad\x1b[31m</html>\n",
        b'{"type":"WAT","object":{"kind":"Deployment","metadata":{}}}\n',
        b'{"kind":"Status","status":"Failure","message":"no"}\n',
        b"42\n",
        b'{"level":"info"}\n',
        b"\xff\xfe\x00\n",
    ],
    ids=["html", "unknown type", "status", "number", "log line", "bytes"],
)
def test_what_is_no_event_is_shown_on_one_line_and_the_objects_are_listed_again(junk: bytes, tmp_path: Path) -> None:
    found, seen = seen_after([sends(junk, end=True), modified(UPDATED)], tmp_path, 2)
    assert changes(found)[1:] == ["status.updatedReplicas 1→2"]
    assert seen.count("list") == 2
    told, again = found.notes
    assert "application/json" in told and told.isprintable()
    assert again == "listed again: no differences"


def test_time_that_is_over_in_an_outage_is_an_error(tmp_path: Path) -> None:
    steps: list[Step] = [bookmark(), goes_away(30), modified(UPDATED)]
    with ApiServer(Workload(STARTED, steps=steps)) as server:
        found = watch(server.url, tmp_path, "deployment/web", "--timeout=500ms")
    assert (len(found.lines), found.code) == (1, 1)
    assert found.notes[1:] == ["the connection to the server is lost", "error: timed out waiting for the condition"]


def test_watches_that_end_after_an_event_each_are_spaced_out(tmp_path: Path) -> None:
    steps = [step for number in range(200) for step in (modified(deployment(u=number)), close())]
    with ApiServer(Workload(STARTED, steps=steps)) as server:
        found = watch(server.url, tmp_path, "deployment/web", "--timeout=500ms")
        watches = server.seen().count("list"), sum(request.startswith("watch") for request in server.seen())
    # Five at once, then thirty a second.
    assert watches[0] == 1 and 5 <= watches[1] <= 21
    assert found.code == 0 and len(found.lines) >= 5


def test_expiry_for_ever_is_no_tight_loop(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED), answers={"watch": [failure(410, "too old")] * 1000}) as server:
        found = watch(server.url, tmp_path, "deployment/web", "--timeout=500ms")
        assert len(server.seen()) <= 10
    assert (len(found.lines), found.code) == (1, 0)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (401, "error: You must be logged in to the server (no entry)"),
        (403, "Error from server (Forbidden): no entry"),
        (404, "Error from server (NotFound): no entry"),
    ],
)
def test_what_will_not_change_ends_it(code: int, said: str, tmp_path: Path) -> None:
    found, _ = seen_after([], tmp_path, 9, answers={"watch": [failure(code, "no entry", details={"name": "x"})] * 3})
    assert (len(found.lines), found.notes[-1], found.code) == (1, said, 1)


def test_notes_of_several_say_which(tmp_path: Path) -> None:
    web = Workload(STARTED, steps=[bookmark(), error(410), modified(UPDATED)])
    agent = Workload(daemonset(), steps=[modified(daemonset(u=1))])
    with ApiServer(web, agent) as server:
        found = watch(server.url, tmp_path, "deployments,daemonsets", "--count=4", "--timeout=30s")
    assert found.notes == ["deployments: listed again: no differences"]
    assert len(found.lines) == 4


def test_text_of_every_sort_in_pieces_of_one_byte(tmp_path: Path) -> None:
    text = "é€𝄞 \u2028\u2029\u0085\x0b end"
    found, _ = seen_after([modified(deployment(u=1, annotations={"n": text}))], tmp_path, 2, "-ojson", piece=1)
    assert found.events[1]["object"]["metadata"]["annotations"]["n"] == text


def test_an_event_of_three_mebibytes(tmp_path: Path) -> None:
    large = deployment(u=1, annotations={"n": "é" * (3 * 1024 * 512)})
    found, _ = seen_after([modified(large)], tmp_path, 2)
    assert changes(found)[1].startswith("+metadata.annotations") and len(found.stdout) < 400


@pytest.mark.parametrize("output", ["", "json", "diff", "name"])
def test_an_object_that_is_nested_very_deeply(output: str, tmp_path: Path) -> None:
    thing = json.dumps(UPDATED | {"spec": "DEEP"}).replace('"DEEP"', '{"a":' * 900 + "1" + "}" * 900)
    event = b'{"type":"MODIFIED","object":' + thing.encode() + b"}\n"
    found, _ = seen_after([sends(event), modified(DONE)], tmp_path, 3, "-o", output)
    assert (found.code, found.notes) == (0, [])


def test_a_request_timeout_cuts_the_watch_and_nothing_is_said(tmp_path: Path) -> None:
    found, seen = seen_after([pause(1.5), modified(UPDATED)], tmp_path, 2, "--request-timeout=1s")
    assert changes(found)[1:] == ["status.updatedReplicas 1→2"]
    assert seen.count("list") == 1 and found.notes == []


# Streaming lists.


def test_a_streaming_list_and_its_watch_are_one_request(tmp_path: Path) -> None:
    found, seen = seen_after([modified(UPDATED), deleted(), added(DONE)], tmp_path, 4, "--initial-events")
    assert seen == [STREAM]
    assert [line.split(" ")[0] for line in found.lines] == ["LISTED", "MODIFIED", "DELETED", "ADDED"]
    assert found.notes == []


def test_cut_it_goes_on_as_a_watch_and_expired_as_another_streaming_list(tmp_path: Path) -> None:
    steps = [modified(UPDATED), drops(), bookmark(), error(410), modified(DONE)]
    found, seen = seen_after(steps, tmp_path, 3, "--initial-events")
    assert seen == [STREAM, "watch rv=102", STREAM]
    assert changes(found)[1:] == ["status.updatedReplicas 1→2", "status.updatedReplicas 2→3"]
    assert found.notes == ["listed again: no differences"]


REFUSALS: dict[str, Answer] = {
    "422": failure(422, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"),
    "400": failure(400, "unknown parameter"),
    "500": failure(500, "boom"),
    "html": Answer(body="<html></html>", content_type="text/html"),
    "error event": Answer(body=json.dumps({"type": "ERROR", "object": status(500, "no")}) + "\n"),
    "nothing": Answer(body=""),
    "a list": Answer(body='{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{},"items":[]}'),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_server_that_streams_no_list_is_asked_for_one(name: str, tmp_path: Path) -> None:
    answers = {STREAM: [REFUSALS[name]]}
    found, seen = seen_after([modified(UPDATED)], tmp_path, 2, "--initial-events", answers=answers)
    assert seen == [STREAM, "list", "watch rv=101"]
    assert changes(found)[1:] == ["status.updatedReplicas 1→2"]
    [note] = found.notes
    assert "does not stream its list" in note


class Ignoring(ApiServer):
    """A server that does not know `sendInitialEvents`: what there is, then what changes, and no end in between."""

    def _watch_list(self, peer: Peer, request: SeenRequest) -> None:
        stream = self._open(peer, self.workloads[0])
        stream.show_current()
        peer.stall()


def test_a_server_that_ignores_the_parameter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_watch, "QUIET", 0.3)
    with Ignoring(Workload(STARTED, steps=[modified(UPDATED), error(410), modified(DONE)])) as server:
        found = watch(server.url, tmp_path, "deployment/web", "--initial-events", "--count=3", "--timeout=30s")
        assert server.seen() == [STREAM, "list", "watch rv=101", "list", "watch rv=102"]
    assert changes(found)[1:] == ["status.updatedReplicas 1→2", "status.updatedReplicas 2→3"]
    assert found.notes == [
        "the server does not stream its list (nothing came for 0.3 s, and no end of the list); listing instead",
        "listed again: no differences",
    ]


# Pages.


def page(names: str, version: int, token: str = "") -> Answer:
    items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in names]
    metadata = {"resourceVersion": str(version), "continue": token}
    return Answer(body=json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}))


def test_a_list_that_dies_between_its_pages_is_begun_anew(tmp_path: Path) -> None:
    """The 410 offers a token for the rest as it is now: a list of two versions is no start for a watch."""
    told = status(410, "The provided continue parameter is too old") | {"metadata": {"continue": "inconsistent"}}
    expired = Answer("410 Gone", json.dumps(told))
    event = Answer(body=json.dumps({"type": "ADDED", "object": {"metadata": {"name": "d", "resourceVersion": "9"}}}))
    with AnsweringServer(page("ab", 7, "t"), expired, page("abc", 8), event) as server:
        found = watch(server.url, tmp_path, "pods", "--count=4", "-ojson")
        tokens = [request.query.get("continue") for request in server.asked]
        assert tokens == [None, "t", None, None]
        assert server.asked[3].query["resourceVersion"] == "8"
    assert [event["object"]["metadata"]["name"] for event in found.events] == list("abcd")
