"""Followed logs against a server that breaks off, in every way in which it may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from rawkube.errors import RawkubeError, StatusError, TransportError
from rawkube.remotecommand.logs import Followed, LogBroken, Source, Timing, Wanted, log_query, read
from rawkube.remotecommand.logs_many import Chunk, Ended, Note, follow_all
from tests.support.client import Client
from tests.support.logs_server import Log, LogsServer, Reply, answers, line
from tests.support.pods_server import a_pod, statuses, terminated
from tests.support.script import HANG_UP, failure
from tests.support.server import Peer, SeenRequest

Object = dict[str, Any]

FOLLOW = Wanted(follow=True)
LOG = Log([line(0.5, "zero"), line(1, "one"), line(1, "one"), line(1.5, "two"), line(2, "three")])
WHOLE = b"zero\none\none\ntwo\nthree\n"


def running(ident: str = "c1", last: str = "") -> Object:
    before = terminated(1, ident=last) if last else {}
    return a_pod("web", status=statuses(state={"running": {}}, last=before, ident=ident))


def ended(ident: str = "c1") -> Object:
    return a_pod("web", status=statuses(state=terminated(0, ident=ident), ident=ident))


class Got(NamedTuple):
    data: bytes
    notes: list[str]
    error: RawkubeError | None
    server: LogsServer
    waits: list[float]


def follow(
    replies: Sequence[Reply],
    pods: Sequence[Object],
    wanted: Wanted = FOLLOW,
    *,
    timing: Timing = Timing(),  # noqa: B008
    objects: Mapping[str, Any] = {},
) -> Got:
    """Follow the log of `web`, whose Pod is the first of `pods` at the beginning, and then each of them in turn."""
    notes: list[str] = []
    data, error = b"", None
    server = LogsServer(pods, {"web/main": replies}, objects)
    with server, Client(server.url) as client:
        source = Source("default", "web", "main", pods[0])
        followed = Followed(client, source, wanted, on_note=notes.append, timing=timing)
        try:
            for piece in followed.chunks():
                data += piece
        except RawkubeError as caught:
            error = caught
        return Got(data, notes, error, server, client.waits)


def test_a_container_that_ends_is_the_end() -> None:
    got = follow([LOG], [ended()])
    assert got[:3] == (WHOLE, [], None)
    assert got.server.log_queries() == [{"container": "main", "follow": "true", "timestamps": "true"}]


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_stream_that_breaks_anywhere_is_taken_up_again(how: str) -> None:
    body = LOG.body({"timestamps": "true"})
    for cut in range(0, len(body) + 1, 9 if how == "close" else 40):
        got = follow([LOG.breaks(cut, how), LOG], [running(), ended()])
        assert got.data == WHOLE, cut
        assert got.error is None
        assert len(got.notes) == 1
        assert got.notes[0].startswith("the log of pod/web/main broke off (")
        assert ": taken up again" in got.notes[0]


def test_what_is_asked_for_again() -> None:
    cut = len(LOG.body({"timestamps": "true"})) - 10
    got = follow([LOG.breaks(cut), LOG], [running(), ended()], FOLLOW._replace(tail=5, since_seconds=9))
    assert got.server.log_queries() == [
        {"container": "main", "follow": "true", "sinceSeconds": "9", "tailLines": "5", "timestamps": "true"},
        {"container": "main", "follow": "true", "sinceTime": "2026-11-30T10:00:01Z", "timestamps": "true"},
    ]
    note = "the log of pod/web/main broke off (unexpected EOF): taken up again from 2026-11-30T10:00:01Z"
    assert got.notes == [note]


def test_timestamps_are_shown_when_they_are_wanted() -> None:
    got = follow([LOG.breaks(100), LOG], [running(), ended()], FOLLOW._replace(timestamps=True))
    assert got.data == LOG.body({"timestamps": "true"})


@pytest.mark.parametrize("limit", range(1, len(WHOLE) + 2))
def test_the_limit_counts_what_is_shown(limit: int) -> None:
    got = follow([LOG.breaks(100), LOG], [running(), ended()], FOLLOW._replace(limit=limit))
    assert got.data == WHOLE[:limit]


def test_bytes_are_bytes() -> None:
    log = Log([line(0, b"\xff\xfe\x00\x1b[31m\r"), line(1, "x" * 700_000), line(2, "no end", end=b"")], piece=65536)
    text = b"".join(each.data for each in log.lines)
    assert follow([log], [ended()]).data == text
    for cut in (10, 60, 300_000, 600_000, 700_080):
        assert follow([log.breaks(cut), log], [running(), ended()]).data == text, cut


def test_a_clean_end_while_the_container_runs_is_no_end() -> None:
    got = follow([Log(LOG.lines[:2]), LOG], [running()] * 8 + [ended()])
    assert (got.data, got.error) == (WHOLE, None)
    assert "it ended, but the container runs" in got.notes[0]


def test_the_status_may_be_late() -> None:
    got = follow([LOG], [running(), running(), ended()])
    assert got[:3] == (WHOLE, [], None)
    assert len(got.server.log_queries()) == 1
    assert got.waits == [0.5, 0.5]


def test_a_restart_ends_the_log_as_it_does_unbroken() -> None:
    notes: list[str] = []
    with LogsServer([running("c2", last="c1")], {"web/main": [LOG]}) as server, Client(server.url) as client:
        followed = Followed(client, Source("default", "web", "main", running()), FOLLOW, on_note=notes.append)
        assert b"".join(followed.chunks()) == WHOLE
    assert notes == []


def test_a_restart_while_the_stream_was_broken() -> None:
    """The rest of the run that was followed is the previous log now."""

    def by_run(peer: Peer, request: SeenRequest) -> None:
        log = LOG if request.query.get("previous") else Log([line(9, "another run")])
        log(peer, request)

    first, again = running("c1"), running("c2", last="c1")
    notes: list[str] = []
    server = LogsServer([again], {"web/main": [LOG.breaks(80), by_run]})
    with server, Client(server.url) as client:
        followed = Followed(client, Source("default", "web", "main", first), FOLLOW, on_note=notes.append)
        assert b"".join(followed.chunks()) == WHOLE
    assert server.log_queries()[1]["previous"] == "true"
    assert len(notes) == 1


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(running("c3", last="c2"), id="restarted twice"),
        pytest.param({**running(), "metadata": {"name": "web", "uid": "another"}}, id="another pod"),
    ],
)
def test_a_run_that_is_gone_is_no_success(now: Object) -> None:
    server = LogsServer([now], {"web/main": [LOG.breaks(80)]})
    data = b""
    with server, Client(server.url) as client, pytest.raises(LogBroken) as caught:
        for piece in Followed(client, Source("default", "web", "main", running()), FOLLOW).chunks():
            data += piece
    assert str(caught.value) == "unexpected EOF"
    assert "is gone" in caught.value.detail[0]
    assert WHOLE.startswith(data)
    assert data.startswith(b"zero\none\n")


def test_a_deleted_pod_is_no_success_when_the_stream_broke() -> None:
    gone = {"/api/v1/namespaces/default/pods/web": failure(404, 'pods "web" not found')}
    got = follow([LOG.breaks(80)], [running()], objects=gone)
    assert isinstance(got.error, LogBroken)
    assert WHOLE.startswith(got.data)


def test_a_deleted_pod_is_the_end_when_the_stream_ended() -> None:
    gone = {"/api/v1/namespaces/default/pods/web": failure(404, 'pods "web" not found')}
    assert follow([LOG], [running()], objects=gone)[:3] == (WHOLE, [], None)


def test_a_server_in_trouble_is_asked_again() -> None:
    trouble = answers(failure(500, "etcd is not there"))
    got = follow([LOG.breaks(80), trouble, answers(HANG_UP), trouble, LOG], [running(), ended()])
    assert (got.data, got.error) == (WHOLE, None)
    assert len(got.notes) == 1


def test_trouble_without_an_end() -> None:
    trouble = answers(failure(503, "etcd is not there"))
    got = follow([LOG.breaks(80), trouble], [running()], timing=Timing(patience=0.0))
    assert isinstance(got.error, LogBroken)
    assert str(got.error) == "etcd is not there"
    assert "could not be taken up again" in got.error.detail[0]


def test_a_stream_that_breaks_again_and_again() -> None:
    log = Log([line(1, "one"), line(1.1, "two"), line(1.2, "three")])
    got = follow([log.breaks(80)], [running()], timing=Timing(patience=0.05, wait=0.0))
    assert isinstance(got.error, LogBroken)
    assert "again and again" in got.error.detail[0]
    assert len(got.notes) == 1


def test_a_refusal_is_an_error() -> None:
    got = follow([LOG.breaks(80), answers(failure(403, "no more"))], [running()])
    assert isinstance(got.error, StatusError)
    assert got.error.code == 403


def test_the_first_answer_must_be_a_log() -> None:
    got = follow([answers(failure(400, "waiting to start"))], [running()])
    assert isinstance(got.error, StatusError)
    assert (got.data, got.waits) == (b"", [])


def test_a_container_that_does_not_run_yet_is_waited_for() -> None:
    waiting = answers(failure(400, "waiting to start"))
    notes: list[str] = []
    server = LogsServer([ended()], {"web/main": [waiting, waiting, LOG]})
    with server, Client(server.url) as client:
        source = Source("default", "web", "main", ended())
        followed = Followed(client, source, FOLLOW, on_note=notes.append, starting=20)
        assert b"".join(followed.chunks()) == WHOLE
    assert notes == ["waiting to start"]
    assert client.waits == [1.0, 1.0]


@pytest.mark.parametrize(("code", "text"), [(400, "context deadline exceeded"), (403, "no")])
def test_a_container_that_is_waited_for_in_vain(code: int, text: str) -> None:
    server = LogsServer([ended()], {"web/main": [answers(failure(code, "no"))]})
    with server, Client(server.url) as client, pytest.raises(RawkubeError) as caught:
        list(Followed(client, Source("default", "web", "main", ended()), FOLLOW, starting=0.1).chunks())
    assert str(caught.value) == text
    assert len(server.log_queries()) == 1


def test_a_stream_that_is_silent_is_opened_anew_without_a_word() -> None:
    silent = Log(LOG.lines[:2], "hang")
    got = follow([silent, LOG], [running(), ended()], timing=Timing(silence=0.05))
    assert got[:3] == (WHOLE, [], None)


def test_a_rotated_log_is_told_of() -> None:
    rotated = Log([line(9, "much later")])
    got = follow([LOG.breaks(100), rotated], [running(), ended()])
    assert got.data.endswith(b"much later\n")
    assert "was rotated meanwhile" in got.notes[-1]


def test_only_what_is_new_breaks_too() -> None:
    """With --tail=0 nothing has been shown yet that tells the time."""

    def none_yet(peer: Peer, request: SeenRequest) -> None:
        date = "Mon, 30 Nov 2026 10:00:01 GMT"
        peer.send(f"HTTP/1.1 200 OK\r\nDate: {date}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        peer.close()

    got = follow([none_yet, LOG], [running(), ended()], FOLLOW._replace(tail=0))
    assert got.server.log_queries()[1] == {
        "container": "main",
        "follow": "true",
        "sinceTime": "2026-11-30T10:00:01Z",
        "timestamps": "true",
    }
    assert got.data == b"one\none\ntwo\nthree\n"


def test_the_time_of_the_request_is_an_end() -> None:
    server = LogsServer([running()], {"web/main": [LOG.breaks(80, "hang")]})
    with server, Client(server.url, request_timeout=0.3) as client, pytest.raises(LogBroken, match=r"Client\.Timeout"):
        list(Followed(client, Source("default", "web", "main", running()), FOLLOW).chunks())


# Read once.


def test_reading_once() -> None:
    with LogsServer([], {"web/main": [LOG]}) as server, Client(server.url) as client:
        assert b"".join(read(client, Source("default", "web", "main", {}), Wanted(timestamps=True))) == LOG.body(
            {"timestamps": "true"}
        )


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_log_that_is_cut_off_is_no_success(how: str) -> None:
    data = b""
    server = LogsServer([], {"web/main": [LOG.breaks(7, how)]})
    with server, Client(server.url) as client, pytest.raises(LogBroken) as caught:
        for piece in read(client, Source("default", "web", "main", {}), Wanted()):
            data += piece
    assert data == WHOLE[:7]
    assert "is not whole" in caught.value.detail[0]


def test_no_answer_at_all() -> None:
    server = LogsServer([], {"web/main": [answers(HANG_UP)]})
    with server, Client(server.url) as client, pytest.raises(TransportError):
        list(read(client, Source("default", "web", "main", {}), Wanted()))


def test_the_query_in_kubectls_order() -> None:
    wanted = Wanted(True, True, 0, 3, "t", True, 7, True)
    assert [name for name, _ in log_query("c", wanted)] == [
        "container",
        "follow",
        "insecureSkipTLSVerifyBackend",
        "limitBytes",
        "previous",
        "sinceSeconds",
        "sinceTime",
        "tailLines",
        "timestamps",
    ]
    assert log_query("c", Wanted()) == [("container", "c")]


# Several.


def sources_of(*names: str) -> list[Source]:
    return [Source("default", name, "main", ended_pod(name)) for name in names]


def ended_pod(name: str) -> Object:
    return a_pod(name, status=statuses(state=terminated(0)))


def test_several_logs_at_once() -> None:
    names = [f"p{number}" for number in range(5)]
    logs = {f"{name}/main": [Log([line(at % 60, f"{name} {at}") for at in range(50)], piece=7)] for name in names}
    got: dict[int, bytes] = dict.fromkeys(range(5), b"")
    over = []
    with LogsServer([ended_pod(name) for name in names], logs) as server, Client(server.url) as client:
        for item in follow_all(client, sources_of(*names), FOLLOW):
            if isinstance(item, Chunk):
                assert item.data.endswith(b"\n")
                got[item.at] += item.data
            elif isinstance(item, Ended):
                over.append(item)
    assert got == {at: "".join(f"{name} {n}\n" for n in range(50)).encode() for at, name in enumerate(names)}
    assert sorted(over) == [Ended(at) for at in range(5)]


def test_one_of_several_breaks() -> None:
    logs: dict[str, list[Reply]] = {"a/main": [LOG.breaks(80), LOG], "b/main": [answers(failure(400, "waiting"))]}
    with LogsServer([ended_pod("a"), ended_pod("b")], logs) as server, Client(server.url) as client:
        items = list(follow_all(client, sources_of("a", "b"), FOLLOW))
    assert b"".join(item.data for item in items if isinstance(item, Chunk)) == WHOLE
    assert len([item for item in items if isinstance(item, Note)]) == 1
    errors = [str(item.error) for item in items if isinstance(item, Ended) and item.error]
    assert errors == ["waiting"]


def test_closing_ends_what_still_runs() -> None:
    logs = {"a/main": [LOG.breaks(1000, "hang")], "b/main": [LOG.breaks(1000, "hang")]}
    with LogsServer([ended_pod("a"), ended_pod("b")], logs) as server, Client(server.url) as client:
        items = follow_all(client, sources_of("a", "b"), FOLLOW)
        next(items)
        items.close()


def test_a_reader_that_stalls_stalls_the_logs() -> None:
    big = Log([line(at % 60, "x" * 1000) for at in range(8_000)], piece=65536)
    with LogsServer([ended_pod("a")], {"a/main": [big]}) as server, Client(server.url) as client:
        items = follow_all(client, sources_of("a"), FOLLOW)
        first = next(items)
        assert isinstance(first, Chunk)
        size = len(first.data) + sum(len(item.data) for item in items if isinstance(item, Chunk))
    assert size == 8_000 * 1001
