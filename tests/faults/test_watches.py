"""Watches that break: each is survived, or ends with a word, and never with a flood of requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.rig import AVAILABLE_2, DONE, OK, STARTED, UNAVAILABLE, UPDATED_1, no_traceback, status
from tests.support.api_server import ApiServer
from tests.support.script import (
    RESET,
    SILENCE,
    Answer,
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
    unseen,
)
from tests.support.workloads import deployment

pytestmark = pytest.mark.usefixtures("hurried")

ENDS = {
    "clean-end-after-an-event": [modified(UNAVAILABLE), close(), modified(DONE)],
    "no-final-chunk": [modified(UNAVAILABLE), drops(), modified(DONE)],
    "reset": [modified(UNAVAILABLE), pause(0.1), drops("reset"), modified(DONE)],
    "half-an-event-and-a-clean-end": [cuts(UNAVAILABLE), modified(DONE)],
    "half-an-event-and-no-final-chunk": [cuts(UNAVAILABLE, end=False), modified(DONE)],
    "half-an-event-of-a-watch-that-had-one": [bookmark(), cuts(UNAVAILABLE, end=False), modified(DONE)],
    "a-change-that-no-watch-saw": [bookmark(), unseen("MODIFIED", UNAVAILABLE), close(), modified(DONE)],
}


def survives(
    steps: list[Step], home: Path, stdout: str, *args: str, answers: dict[str, list[Answer]] | None = None
) -> list[str]:
    """The rollout is followed to its success; returns the requests."""
    with ApiServer(Workload(STARTED, steps=steps), answers=answers) as server:
        result = status(server.url, home, *args)
        no_traceback(result)
        assert (result.stdout, result.code) == (stdout, 0), (result, server.seen())
        return server.seen()


@pytest.mark.parametrize("name", ENDS)
def test_a_watch_that_ends_goes_on_from_the_last_version(name: str, tmp_path: Path) -> None:
    seen = survives(list(ENDS[name]), tmp_path, UPDATED_1 + AVAILABLE_2 + OK)
    assert seen.count("list") == 1
    assert len(seen) == 3


def test_a_bookmark_is_progress(tmp_path: Path) -> None:
    seen = survives([bookmark(12746), close(), modified(DONE)], tmp_path, UPDATED_1 + OK)
    assert seen == ["list", "watch rv=101", "watch rv=12746"]


def test_watches_that_end_without_an_event_are_spaced_out(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[close()] * 200)) as server:
        result = status(server.url, tmp_path, "--timeout=600ms")
        assert (result.stdout, result.code) == (UPDATED_1, 1)
        # A tenth of 0.8 s, 1.6 s, 3.2 s without jitter.
        assert 2 <= server.seen().count("watch rv=101") <= 5
        assert min(server.gaps("watch")) >= 0.07


def test_an_expired_version_is_never_sent_again(tmp_path: Path) -> None:
    steps = [modified(STARTED), error(410, "too old resource version: 102 (200)"), modified(DONE)]
    seen = survives(steps, tmp_path, UPDATED_1 * 3 + OK)
    # A LIST without a version; and a watch from the list's.
    assert seen == ["list", "watch rv=101", "list", "watch rv=102"]


def test_a_status_without_a_version_is_no_progress(tmp_path: Path) -> None:
    """The ERROR's object has no resourceVersion: it must not become the word None in a query."""
    with ApiServer(Workload(STARTED, steps=[error(410), modified(DONE)])) as server:
        status(server.url, tmp_path)
        assert not [request.target for request in server.asked if "None" in request.target]


@pytest.mark.parametrize(
    "step",
    [
        error(410, reason="Gone"),
        error(0, reason="Gone"),
        error(0, reason="Expired"),
        error(410, reason=""),
    ],
    ids=["410-gone", "gone", "expired", "410"],
)
def test_every_form_of_expiry_lists_again(step: Step, tmp_path: Path) -> None:
    seen = survives([step, modified(DONE)], tmp_path, UPDATED_1 * 2 + OK)
    assert seen == ["list", "watch rv=101", "list", "watch rv=101"]


def test_http_410_when_the_watch_opens_lists_again(tmp_path: Path) -> None:
    answers = {"watch": [failure(410, "too old resource version: 101 (200)")]}
    seen = survives([modified(DONE)], tmp_path, UPDATED_1 * 2 + OK, answers=answers)
    assert seen == ["list", "watch rv=101", "list", "watch rv=101"]


def test_expiry_for_ever_is_not_a_tight_loop(tmp_path: Path) -> None:
    answers = {"watch": [failure(410, "too old")] * 1000}
    with ApiServer(Workload(STARTED), answers=answers) as server:
        result = status(server.url, tmp_path, "--timeout=600ms")
        assert result.code == 1
        assert result.last == "error: timed out waiting for the condition"
        assert 2 <= server.seen().count("list") <= 6
        assert len(server.seen()) <= 12


def test_a_version_that_was_compacted_while_away(tmp_path: Path) -> None:
    steps = [bookmark(), forgets(), unseen("MODIFIED", UNAVAILABLE), close(), modified(DONE)]
    seen = survives(steps, tmp_path, UPDATED_1 + AVAILABLE_2 + OK)
    assert seen.count("list") == 2


@pytest.mark.parametrize(
    "step",
    [
        error(500, "boom"),
        error(403, "no"),
        sends(b"<html>gateway</html>\n", end=True),
        sends(b'{"type":"WAT","object":{"kind":"Deployment","metadata":{}}}\n', end=True),
        sends(b'{"type":"ADDED","object":null}\n', end=True),
        sends(b'{"kind":"Status","status":"Failure"}\n', end=True),
        sends(b"42\n", end=True),
        sends(b"\xff\xfe\x00\n", end=True),
    ],
    ids=["500", "403", "html", "unknown-type", "null-object", "no-event", "number", "bytes"],
)
def test_what_is_no_event_lists_again(step: Step, tmp_path: Path) -> None:
    seen = survives([step, modified(DONE)], tmp_path, UPDATED_1 * 2 + OK)
    assert seen == ["list", "watch rv=101", "list", "watch rv=101"]


def test_what_is_no_event_is_shown(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[sends(b"<html>bad\x1b[31m</html>\n", end=True), modified(DONE)])) as server:
        result = status(server.url, tmp_path)
    assert result.code == 0
    [line] = result.stderr.splitlines()
    assert "application/json" in line
    assert "<html>bad" in line
    assert "\x1b" not in line


def test_blank_lines_and_missing_line_ends_are_no_events(tmp_path: Path) -> None:
    survives([sends(b"\n\n \n"), modified(DONE)], tmp_path, UPDATED_1 + OK)


def test_a_throttled_stream_is_opened_again_without_a_list(tmp_path: Path) -> None:
    seen = survives([error(429, "slow down"), modified(DONE)], tmp_path, UPDATED_1 + OK)
    assert seen == ["list", "watch rv=101", "watch rv=101"]


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_refused_watch_is_asked_for_again_and_said_once(code: int, tmp_path: Path) -> None:
    answers = {"watch": [failure(code, "not now")]}
    with ApiServer(Workload(STARTED, steps=[modified(DONE)]), answers=answers) as server:
        result = status(server.url, tmp_path)
        assert (result.stdout, result.code) == (UPDATED_1 + OK, 0), result
        assert server.seen() == ["list", "watch rv=101", "watch rv=101"]
        assert min(server.gaps("watch")) >= 0.07
    began, over = result.stderr.splitlines()
    assert "not now" in began
    assert over


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (401, "error: You must be logged in to the server (no entry)"),
        (403, "Error from server (Forbidden): no entry"),
        (404, "Error from server (NotFound): no entry"),
    ],
)
def test_what_will_not_change_is_final(code: int, said: str, tmp_path: Path) -> None:
    answers = {"watch": [failure(code, "no entry")] * 9}
    with ApiServer(Workload(STARTED), answers=answers) as server:
        result = status(server.url, tmp_path, timeout=20)
        assert (result.stdout, result.last, result.code) == (UPDATED_1, said, 1)
        assert len(server.seen()) <= 3


@pytest.mark.parametrize("answer", [RESET, Answer(how="close")], ids=["reset", "closed"])
def test_no_answer_to_a_watch_is_asked_for_again(answer: Answer, tmp_path: Path) -> None:
    seen = survives([modified(DONE)], tmp_path, UPDATED_1 + OK, answers={"watch": [answer]})
    assert seen.count("list") == 1


def test_a_server_that_is_away_for_a_while(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[bookmark(), goes_away(0.3), modified(DONE)])) as server:
        result = status(server.url, tmp_path)
        assert (result.stdout, result.code) == (UPDATED_1 + OK, 0), result
        assert server.seen().count("list") == 1
    began, over = result.stderr.splitlines()
    assert "refused" in began
    assert over


def test_a_server_that_stays_away_until_the_timeout(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[bookmark(), goes_away(60)])) as server:
        result = status(server.url, tmp_path, "--timeout=500ms")
    assert (result.stdout, result.code) == (UPDATED_1, 1)
    assert result.last == "error: timed out waiting for the condition"
    assert result.seconds < 20


def test_deleted_between_two_watches(tmp_path: Path) -> None:
    steps = [bookmark(), unseen("DELETED"), close()]
    with ApiServer(Workload(STARTED, steps=steps)) as server:
        result = status(server.url, tmp_path)
    assert (result.stdout, result.last, result.code) == (UPDATED_1, "error: object has been deleted", 1)


def test_deleted_and_created_again_between_two_lists(tmp_path: Path) -> None:
    other = deployment() | {"metadata": {"name": "web", "generation": 1, "uid": "another"}}
    steps = [bookmark(), unseen("DELETED"), unseen("ADDED", other), error(410)]
    with ApiServer(Workload(STARTED, steps=steps)) as server:
        result = status(server.url, tmp_path)
    assert (result.stdout, result.last, result.code) == (UPDATED_1, "error: object has been deleted", 1)


def test_an_event_of_another_uid(tmp_path: Path) -> None:
    other = deployment() | {"metadata": {"name": "web", "generation": 1, "uid": "another"}}
    with ApiServer(Workload(STARTED, steps=[added(other)])) as server:
        result = status(server.url, tmp_path)
    assert (result.stdout, result.last, result.code) == (UPDATED_1, "error: object has been deleted", 1)


def test_deleted_while_relisting(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[unseen("DELETED"), error(410)])) as server:
        result = status(server.url, tmp_path)
    assert (result.stdout, result.last, result.code) == (UPDATED_1, "error: object has been deleted", 1)


def test_deleted_and_no_more(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[deleted()])) as server:
        result = status(server.url, tmp_path)
        assert server.seen()[:2] == ["list", "watch rv=101"]
    assert (result.stdout, result.last, result.code) == (UPDATED_1, "error: object has been deleted", 1)


LINE_ENDS = deployment(annotations={"note": "a\u2028b\u2029c\u0085d\x0be"})


def test_line_separators_of_unicode_end_no_line(tmp_path: Path) -> None:
    survives(
        [modified(LINE_ENDS | {"status": UNAVAILABLE["status"]}), modified(LINE_ENDS)],
        tmp_path,
        UPDATED_1 + AVAILABLE_2 + OK,
    )


def test_an_event_of_three_mebibytes(tmp_path: Path) -> None:
    large = deployment(annotations={"note": "é" * (3 * 1024 * 512)})
    survives([modified(large)], tmp_path, UPDATED_1 + OK)


def test_chunks_of_one_byte(tmp_path: Path) -> None:
    steps = [modified(deployment(a=2, annotations={"note": "é€𝄞"})), modified(DONE)]
    with ApiServer(Workload(STARTED, steps=steps), piece=1) as server:
        result = status(server.url, tmp_path)
    assert (result.stdout, result.code) == (UPDATED_1 + AVAILABLE_2 + OK, 0)


def test_several_events_in_one_chunk(tmp_path: Path) -> None:
    event = b'{"type":"BOOKMARK","object":{"kind":"Deployment","metadata":{"resourceVersion":"150"}}}'
    seen = survives([sends(event * 3, end=True), modified(DONE)], tmp_path, UPDATED_1 + OK)
    assert seen == ["list", "watch rv=101", "watch rv=150"]


def test_a_request_timeout_cuts_the_watch_and_it_goes_on(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[pause(30), modified(DONE)])) as server:
        result = status(server.url, tmp_path, "--request-timeout=1s", "--timeout=20s")
        assert (result.stdout, result.code) == (UPDATED_1 + OK, 0), result
        assert server.seen() == ["list", "watch rv=101", "watch rv=101"]


def test_a_silent_watch_ends_with_the_timeout(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED)) as server:
        result = status(server.url, tmp_path, "--timeout=500ms")
    assert (result.stdout, result.last, result.code) == (
        UPDATED_1,
        "error: timed out waiting for the condition",
        1,
    )
    assert result.seconds < 20


def test_a_watch_without_an_answer_ends_with_the_timeout(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED), answers={"watch": [SILENCE] * 9}) as server:
        result = status(server.url, tmp_path, "--timeout=500ms")
    assert (result.stdout, result.last, result.code) == (
        UPDATED_1,
        "error: timed out waiting for the condition",
        1,
    )
