"""Before the first good answer: what is waited for, what is final, and how many requests it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.rig import DONE, OK, STARTED, UPDATED_1, no_traceback, status
from tests.support.api_server import ApiServer
from tests.support.script import (
    AS_USUAL,
    Answer,
    Workload,
    bookmark,
    close,
    failure,
    modified,
    then_answers,
)
from tests.support.server import Peer, ScriptedServer
from tests.support.workloads import deployment

pytestmark = pytest.mark.usefixtures("hurried")


def later(code: int, seconds: str) -> Answer:
    return failure(code, "later", headers=(("Retry-After", seconds),))


def test_a_finished_rollout_costs_one_request(tmp_path: Path) -> None:
    with ApiServer(Workload(DONE)) as server:
        result = status(server.url, tmp_path)
        [request] = server.asked
    assert (result.stdout, result.stderr, result.code) == (OK, "", 0)
    assert request.path == "/apis/apps/v1/namespaces/default/deployments"
    assert request.query == {"fieldSelector": "metadata.name=web"}


def test_a_watch_asks_for_bookmarks_and_for_an_end(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[modified(DONE)])) as server:
        status(server.url, tmp_path)
        _, watch = server.asked
    query = dict(watch.query)
    assert 180 <= int(query.pop("timeoutSeconds")) <= 230
    assert query == {
        "allowWatchBookmarks": "true",
        "fieldSelector": "metadata.name=web",
        "resourceVersion": "101",
        "watch": "true",
    }


def test_one_connection_serves_list_and_watches(tmp_path: Path) -> None:
    steps = [modified(STARTED), close(), modified(STARTED), close(), modified(DONE)]
    with ApiServer(Workload(STARTED, steps=steps)) as server:
        status(server.url, tmp_path)
        assert len(server.asked) == 4
        assert server.connections == 1


@pytest.mark.parametrize("code", [429, 500, 503])
def test_retry_after_is_waited_for(code: int, tmp_path: Path) -> None:
    with ApiServer(Workload(DONE), answers={"list": [later(code, "1")]}) as server:
        result = status(server.url, tmp_path)
        assert (result.stdout, result.code) == (OK, 0), result
        [gap] = server.gaps("list")
        assert 0.095 <= gap <= 15


def test_retry_after_is_honoured_ten_times(tmp_path: Path) -> None:
    with ApiServer(Workload(DONE), answers={"list": [later(429, "0")] * 20}) as server:
        result = status(server.url, tmp_path)
        assert (result.last, result.code) == ("Error from server (TooManyRequests): later", 1)
        assert server.seen() == ["list"] * 11


@pytest.mark.parametrize(
    "answer",
    [
        failure(429, "later"),
        failure(503, "later"),
        failure(500, "later"),
        later(429, "Wed, 21 Oct 2026 07:28:00 GMT"),
        later(403, "0"),
    ],
    ids=["429", "503", "500", "a-date", "403"],
)
def test_without_seconds_to_wait_it_is_final(answer: Answer, tmp_path: Path) -> None:
    with ApiServer(Workload(DONE), answers={"list": [answer] * 9, "get": [answer] * 9}) as server:
        result = status(server.url, tmp_path)
        assert result.code == 1
        assert result.last.endswith("): later")
        assert len(server.seen()) <= 2


def test_a_forbidden_list_is_no_hindrance(tmp_path: Path) -> None:
    answers = {"list": [failure(403, "deployments.apps is forbidden: cannot list")] * 99}
    with ApiServer(Workload(STARTED, steps=[bookmark(), modified(DONE)]), answers=answers) as server:
        result = status(server.url, tmp_path)
        assert (result.stdout, result.code) == (UPDATED_1 + OK, 0), (result, server.seen())
        assert server.seen()[:2] == ["list", "get web"]
        assert server.seen()[2].startswith("watch")


def test_a_forbidden_get_too_is_final(tmp_path: Path) -> None:
    answers = {
        "list": [failure(403, "deployments.apps is forbidden: cannot list")] * 9,
        "get": [failure(403, 'deployments.apps "web" is forbidden: cannot get')] * 9,
    }
    with ApiServer(Workload(STARTED), answers=answers) as server:
        result = status(server.url, tmp_path)
        assert server.seen() == ["list", "get web"]
    said = 'Error from server (Forbidden): deployments.apps "web" is forbidden: cannot get'
    assert (result.stdout, result.last, result.code) == ("", said, 1)


def test_an_empty_list_is_not_yet_an_answer(tmp_path: Path) -> None:
    with ApiServer() as server:
        result = status(server.url, tmp_path)
        assert server.seen() == ["list", "get web"]
    said = 'Error from server (NotFound): deployments.apps "web" not found'
    assert (result.stdout, result.last, result.code) == ("", said, 1)


def test_an_empty_list_and_an_object_lists_again(tmp_path: Path) -> None:
    empty = Answer(
        body='{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"7"},"items":[]}'
    )
    with ApiServer(Workload(DONE), answers={"list": [empty]}) as server:
        result = status(server.url, tmp_path)
        assert server.seen() == ["list", "get web", "list"]
    assert (result.stdout, result.code) == (OK, 0)


@pytest.mark.parametrize(
    "body",
    [
        "<html>gateway</html>",
        "",
        "[]",
        "{}",
        "null",
        '{"kind":"DeploymentList"}',
        '{"kind":"DeploymentList","items":{}}',
        '{"kind":"DeploymentList","items":[1]}',
    ],
)
def test_a_list_that_is_none_is_no_success(body: str, tmp_path: Path) -> None:
    with ApiServer(answers={kind: [Answer(body=body)] * 9 for kind in ("list", "get")}) as server:
        result = status(server.url, tmp_path, "--timeout=500ms", timeout=20)
    no_traceback(result)
    assert (result.stdout, result.code) == ("", 1)
    assert result.last


def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    moved = Answer("302 Found", "", headers=(("Location", "https://login.example/?next=x"),))
    with ApiServer(Workload(DONE), answers={"list": [moved] * 9, "get": [moved] * 9}) as server:
        result = status(server.url, tmp_path)
        assert len(server.seen()) <= 2
    assert result.code == 1
    assert "login.example" in result.stderr


def cut_body(peer: Peer) -> None:
    while True:
        peer.read_request()
        peer.send(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"kind":')
        peer.close()
        return


def test_a_body_cut_short_is_no_answer(tmp_path: Path) -> None:
    with ScriptedServer(cut_body) as server:
        result = status(server.url, tmp_path, timeout=25)
    no_traceback(result)
    assert (result.stdout, result.code) == ("", 1)
    assert "unexpected EOF" in result.last


def test_dropped_once_is_asked_for_again(tmp_path: Path) -> None:
    with ApiServer(Workload(DONE), answers={"list": [Answer(how="close"), AS_USUAL]}) as server:
        result = status(server.url, tmp_path)
        assert (result.stdout, result.code) == (OK, 0), result
        assert server.seen() == ["list", "list"]


def test_retry_after_on_a_later_watch(tmp_path: Path) -> None:
    steps = [bookmark(), then_answers("watch", later(503, "1")), close(), modified(DONE)]
    with ApiServer(Workload(STARTED, steps=steps)) as server:
        result = status(server.url, tmp_path)
        assert (result.stdout, result.code) == (UPDATED_1 + OK, 0), result
        assert max(server.gaps("watch")) >= 0.07


def test_a_name_with_control_characters_cannot_paint_the_screen(tmp_path: Path) -> None:
    answers = {kind: [failure(403, "red \x1b[31m alert\x07")] * 9 for kind in ("list", "get")}
    with ApiServer(Workload(deployment()), answers=answers) as server:
        result = status(server.url, tmp_path)
    assert result.code == 1
    assert "\x1b" not in result.stderr
    assert "\x07" not in result.stderr
