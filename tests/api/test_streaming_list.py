"""Streaming lists: what the events make, what is asked when it does not work, and that a LIST always does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from rawkube.api.client import ApiClient
from rawkube.api.list_watch import Changed, Floor, Listed, ListWatch
from rawkube.api.streaming_list import AGAIN, LIST, PAUSE, Attempts, InitialEvents, is_too_new
from rawkube.api.watch import WatchEvent
from rawkube.errors import (
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    RawkubeError,
    StatusError,
    TransportError,
    WaitTimeout,
)
from tests.api.test_list_watch import SELECTION, End, FakeClient, FakeWatch, error_event, event, failure, obj
from tests.support.rows import looped

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
TOO_LARGE = {
    "code": 504,
    "reason": "Timeout",
    "message": "Timeout: Too large resource version: 99999999, current: 75",
    "details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
}


def named(kind: str, name: str, version: str) -> WatchEvent:
    return WatchEvent(kind, obj(version, name))


def end(version: str, value: Any = "true") -> WatchEvent:
    metadata = {"resourceVersion": version, "annotations": {INITIAL_EVENTS_END: value}}
    return WatchEvent("BOOKMARK", {"kind": "Deployment", "metadata": metadata})


class StreamWatch(FakeWatch):
    """A TransportError in the script is how the stream ends, as in the real one."""

    def __init__(self, parent: StreamClient, script: list[Any]) -> None:
        super().__init__(parent, script)
        self.error: TransportError | None = None
        self.parent = parent

    def __iter__(self) -> Iterator[WatchEvent]:
        try:
            yield from super().__iter__()
        except TransportError as error:
            self.error = error

    def set_silence(self, seconds: float) -> None:
        self.parent.silences.append(seconds)


class StreamClient(FakeClient):
    """Tells streaming lists (`STREAM`) from watches, and keeps how long each may be silent."""

    def __init__(self, *, watches: list[Any], lists: tuple[Any, ...] = ()) -> None:
        super().__init__(lists=list(lists), watches=watches)
        self.silences: list[float] = []

    def watch(
        self, resource: Any, namespace: str, *, query: Any, name: str, silence: float, deadline: Any, **more: Any
    ) -> FakeWatch:
        self.silences.append(silence)
        try:
            watch = super().watch(resource, namespace, query=query, name=name, silence=silence, deadline=deadline)
        finally:
            if "sendInitialEvents" in self.queries[-1]:
                assert self.asked.pop() == "WATCH None"
                self.asked.append("STREAM")
        return StreamWatch(self, watch._script)


def run(client: FakeClient, *, timeout: float | None = None, **more: Any) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    loop = ListWatch(
        cast("ApiClient", client), SELECTION, on_note=notes.append, draw=lambda: 0.0, initial_events=True, **more
    )
    loop.deadline = None if timeout is None else client.now + timeout
    steps: list[str] = []
    try:
        for step in loop.steps():
            if isinstance(step, Listed):
                names = ",".join(
                    f"{item['metadata']['name']}@{item['metadata']['resourceVersion']}" for item in step.items
                )
                steps.append(f"listed {names} at {step.resource_version}".replace("  ", " "))
            else:
                steps.append(f"{step.type} {step.object['metadata']['resourceVersion']}")
    except End:
        pass
    return steps, notes


class TestTheStream:
    def test_the_list_then_the_watch_on_the_same_stream(self) -> None:
        script = [named("ADDED", "p1", "1"), named("ADDED", "p2", "2"), end("2"), named("MODIFIED", "p1", "3")]
        client = StreamClient(watches=[script])
        steps, notes = run(client)
        assert steps == ["listed p1@1,p2@2 at 2", "MODIFIED 3"]
        assert client.asked == ["STREAM", "WATCH 3"]
        assert notes == []

    def test_what_is_asked(self) -> None:
        client = StreamClient(watches=[[end("2")]])
        run(client)
        first, second = client.queries
        seconds = int(first.pop("timeoutSeconds"))
        assert first == {
            "fieldSelector": "metadata.name=web",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        assert 180 <= seconds <= 230
        assert set(second) == {"fieldSelector", "allowWatchBookmarks", "timeoutSeconds", "resourceVersion"}

    def test_it_may_be_silent_for_ten_seconds_before_its_list_and_long_after(self) -> None:
        client = StreamClient(watches=[[end("2")]])
        run(client, watch_timeout=lambda: 100)
        assert client.silences == [10.0, 115.0, 115.0]

    def test_changes_before_the_end_are_part_of_the_list(self) -> None:
        script = [
            named("ADDED", "p1", "1"),
            named("ADDED", "p2", "2"),
            named("MODIFIED", "p1", "3"),
            named("ADDED", "p3", "4"),
            named("DELETED", "p3", "5"),
            event("BOOKMARK", "5"),
            end("6"),
        ]
        steps, _ = run(StreamClient(watches=[script]))
        assert steps == ["listed p1@3,p2@2 at 6"]

    def test_an_empty_list(self) -> None:
        assert run(StreamClient(watches=[[end("6")]]))[0] == ["listed at 6"]

    @looped("value", ["false", "True", True, "", None, 1])
    def test_only_the_text_true_ends_it(self, value: Any) -> None:
        client = StreamClient(
            watches=[[named("ADDED", "p1", "1"), end("2", value), named("ADDED", "p2", "2"), end("3")]]
        )
        assert run(client)[0] == ["listed p1@1,p2@2 at 3"]

    def test_bookmarks_are_given_where_they_are_asked_for(self) -> None:
        script = [end("2"), event("BOOKMARK", "7")]
        client = StreamClient(watches=[script])
        assert run(client, bookmarks=True)[0] == ["listed at 2", "BOOKMARK 2", "BOOKMARK 7"]
        assert client.asked == ["STREAM", "WATCH 7"]

    def test_cut_after_the_list_it_goes_on_as_a_watch(self) -> None:
        client = StreamClient(watches=[[end("2"), named("ADDED", "p", "3"), ConnectionLost("reset")], [5.0]])
        steps, _ = run(client)
        assert steps == ["listed at 2", "ADDED 3"]
        assert client.asked == ["STREAM", "WATCH 3", "WATCH 3"]

    def test_expired_after_the_list_it_is_streamed_again(self) -> None:
        client = StreamClient(watches=[[end("2"), error_event(410)], [end("9")]])
        steps, notes = run(client)
        assert steps == ["listed at 2", "listed at 9"]
        assert client.asked == ["STREAM", "wait 0.8", "STREAM", "wait 1.6", "WATCH 9"]
        assert notes == []

    def test_throttled_after_the_list_it_goes_on_as_a_watch(self) -> None:
        client = StreamClient(watches=[[end("2"), error_event(429)]])
        run(client)
        assert client.asked == ["STREAM", "wait 0.8", "WATCH 2"]

    def test_no_event_after_the_list_is_streamed_again_and_said(self) -> None:
        client = StreamClient(watches=[[end("2"), DecodeError("html")], [end("9")]])
        steps, notes = run(client)
        assert steps == ["listed at 2", "listed at 9"]
        assert client.asked[:3] == ["STREAM", "wait 0.8", "STREAM"]
        assert len(notes) == 1 and "html" in notes[0]

    def test_an_expired_watch_is_followed_by_a_stream(self) -> None:
        client = StreamClient(watches=[[end("2"), 5.0], [error_event(410)], [end("9")]])
        run(client)
        assert client.asked[:4] == ["STREAM", "WATCH 2", "wait 0.8", "STREAM"]


REFUSALS: dict[str, Any] = {
    "422": failure(422, "Invalid"),
    "400": failure(400),
    "403": failure(403),
    "404": failure(404),
    "500": failure(500),
    "error event 500": [error_event(500, "InternalError")],
    "error event after objects": [named("ADDED", "p1", "1"), error_event(403)],
    "no event": [DecodeError("<html>")],
    "no event after objects": [named("ADDED", "p1", "1"), DecodeError("<html>")],
    "very short": [],
    "broken answer": ConnectionLost("EOF", answered=True),
    "no answer": DeadlineExceeded("no head", step="first byte"),
    "refused": ConnectionRefused("no"),
}


class TestTheFallback:
    @looped("name", REFUSALS)
    def test_any_failure_is_followed_by_a_list_at_once(self, name: str) -> None:
        client = StreamClient(watches=[REFUSALS[name], [event("MODIFIED", "7"), 2.0]], lists=("5",))
        steps, notes = run(client)
        assert steps == ["listed web@5 at 5", "MODIFIED 7"]
        assert client.asked == ["STREAM", "LIST", "WATCH 5", "WATCH 7"]
        assert len(notes) == 1 and "listing instead" in notes[0]

    @looped("code", [401, 404, 405, 500])
    def test_the_lists_error_is_the_answer(self, code: int) -> None:
        client = StreamClient(watches=[failure(code)], lists=(failure(code),))
        with pytest.raises(StatusError, match=f"HTTP {code}"):
            run(client)
        assert client.asked == ["STREAM", "LIST"]

    def test_the_next_list_is_streamed_again(self) -> None:
        client = StreamClient(watches=[failure(500), [error_event(410)], [end("9")]], lists=("5",))
        steps, notes = run(client)
        assert client.asked[:5] == ["STREAM", "LIST", "WATCH 5", "wait 0.8", "STREAM"]
        assert steps == ["listed web@5 at 5", "listed at 9"]
        assert len(notes) == 1

    def test_a_server_that_ignores_the_parameter_is_asked_once(self) -> None:
        silent = DeadlineExceeded("nothing came", step="silence")
        client = StreamClient(watches=[[named("ADDED", "p1", "1"), 10.0, silent], [error_event(410)]], lists=("5", "6"))
        steps, notes = run(client)
        assert client.asked == ["STREAM", "LIST", "WATCH 5", "wait 0.8", "LIST", "WATCH 6"]
        assert steps == ["listed web@5 at 5", "listed web@6 at 6"]
        assert len(notes) == 1

    def test_events_that_never_end_are_not_waited_for_for_ever(self) -> None:
        script = [step for number in range(1, 100) for step in (5.0, event("MODIFIED", str(number)))]
        client = StreamClient(watches=[script], lists=("500",))
        run(client)
        assert client.asked == ["STREAM", "LIST", "WATCH 500"]
        assert client.now <= 1000.0 + 70.0

    def test_a_stream_that_is_cut_is_asked_for_again_with_nothing_kept(self) -> None:
        cut = [named("ADDED", "gone", "1"), ConnectionLost("reset")]
        client = StreamClient(watches=[cut, [2.0], [named("ADDED", "p1", "2"), end("2")]])
        steps, notes = run(client)
        assert client.asked[:3] == ["STREAM"] * 3
        assert steps == ["listed p1@2 at 2"] and notes == []

    def test_a_stream_that_is_always_cut_is_no_tight_loop(self) -> None:
        client = StreamClient(watches=[[named("ADDED", "p", "1")]] * 50, lists=("5",))
        run(client)
        assert client.asked[:5] == ["STREAM"] * 4 + ["LIST"]

    @pytest.mark.parametrize("busy", [failure(429), [error_event(429)]], ids=["http", "event"])
    def test_throttled_it_is_asked_for_again_after_a_back_off(self, busy: Any) -> None:
        client = StreamClient(watches=[busy, busy, [end("2")]])
        steps, notes = run(client)
        assert client.asked[:5] == ["STREAM", "wait 0.8", "STREAM", "wait 1.6", "STREAM"]
        assert client.queries[0].keys() == client.queries[2].keys()
        assert steps == ["listed at 2"] and notes == []

    def test_throttled_for_ever_it_is_listed(self) -> None:
        client = StreamClient(watches=[failure(429)] * 8, lists=("5",))
        run(client)
        assert client.asked[-2:] == ["LIST", "WATCH 5"]
        assert client.now <= 1000.0 + 90.0

    @looped(
        "bad",
        [
            failure(410),
            failure(0, "Gone"),
            [error_event(410)],
            StatusError(TOO_LARGE),
            [WatchEvent("ERROR", TOO_LARGE)],
        ],
        ids=["410", "Gone", "event 410", "too large", "event too large"],
    )
    def test_a_version_that_does_not_do_is_tried_once_more_and_not_at_once(self, bad: Any) -> None:
        client = StreamClient(watches=[bad, [end("2")]])
        assert run(client)[0] == ["listed at 2"]
        assert client.asked[:3] == ["STREAM", "wait 0.8", "STREAM"]
        client = StreamClient(watches=[bad] * 2, lists=("5",))
        run(client)
        assert client.asked[:4] == ["STREAM", "wait 0.8", "STREAM", "LIST"]

    def test_a_server_that_is_away_later_is_waited_for(self) -> None:
        refused = ConnectionRefused("no", server="h:1")
        client = StreamClient(watches=[[end("2"), error_event(410)], refused, refused, [end("9")]])
        steps, notes = run(client)
        assert steps == ["listed at 2", "listed at 9"]
        assert client.asked[:7] == ["STREAM", "wait 0.8", "STREAM", "wait 1.6", "STREAM", "wait 3.2", "STREAM"]
        assert len(notes) == 2 and "lost" in notes[0] and "back" in notes[1]

    @pytest.mark.parametrize(
        "watches",
        [[failure(429)] * 30, [[named("ADDED", "p", "1"), 4.0]] * 30, [[11.0, DeadlineExceeded("x", step="silence")]]],
        ids=["busy", "cut", "quiet"],
    )
    def test_the_deadline_ends_it(self, watches: list[Any]) -> None:
        client = StreamClient(watches=watches, lists=("5",))
        with pytest.raises(WaitTimeout):
            run(client, timeout=10.0)
        assert client.now <= 1012.0


class TestTheParts:
    def test_one_name_in_two_namespaces_is_two_objects(self) -> None:
        initial = InitialEvents()
        for space in ("a", "b"):
            initial.take(WatchEvent("ADDED", {"metadata": {"name": "x", "namespace": space}}))
        assert len(initial.items) == 2 and initial.seen and not initial.ended

    def test_nobody_there(self) -> None:
        assert Attempts().after_error(ConnectionRefused("no"), answered=False) == LIST
        assert Attempts().after_error(ConnectionRefused("no"), answered=True) == PAUSE

    def test_ends(self) -> None:
        attempts = Attempts()
        assert attempts.after_end(very_short=True) == LIST
        assert [attempts.after_end(very_short=False) for _ in range(5)] == [AGAIN] * 3 + [LIST] * 2

    @looped(
        ("status", "new"),
        [
            (TOO_LARGE, True),
            ({"message": "Timeout: Too large resource version: 9, current: 7"}, True),
            ({"details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}, True),
            ({"details": None, "message": None}, False),
            ({"details": {"causes": ["x"]}, "code": 504}, False),
            ({}, False),
        ],
    )
    def test_too_new(self, status: dict[str, Any], new: bool) -> None:
        assert is_too_new(status) == new


class TestTheFloor:
    """A server that ends each watch after an event."""

    def test_a_few_are_at_once_then_three_a_second(self) -> None:
        now = 0.0
        floor = Floor(lambda: now)
        waits = []
        for _ in range(12):
            waits.append(floor.next())
            now += waits[-1]
        assert waits[:5] == [0.0] * 5
        assert [round(wait, 3) for wait in waits[5:]] == [0.333] * 7

    def test_once_a_second_is_never_held_up(self) -> None:
        now = 0.0
        floor = Floor(lambda: now)
        for _ in range(1000):
            assert floor.next() == 0.0
            now += 0.4

    def test_in_the_loop(self) -> None:
        client = FakeClient(lists=["1"], watches=[[event("MODIFIED", str(number))] for number in range(2, 40)])
        loop = ListWatch(cast("ApiClient", client), SELECTION, draw=lambda: 0.0)
        told = 0
        with pytest.raises(End):
            for step in loop.steps():
                told += isinstance(step, Changed)
        assert told == 38
        assert not any(step.startswith("wait") for step in client.asked[:6])
        assert 10.0 <= client.now - 1000.0 <= 12.0


class TestPages:
    """No limit is asked for; a server may page all the same."""

    class Paged(FakeClient):
        def __init__(self, *pages: Any) -> None:
            super().__init__(lists=[], watches=[])
            self.pages = list(pages)

        def list(
            self, resource: Any, namespace: str, *, query: Any, name: str, deadline: Any, **more: Any
        ) -> dict[str, Any]:
            self.asked.append(f"LIST {dict(query).get('continue', '')}".strip())
            page = self.pages.pop(0)
            if isinstance(page, RawkubeError):
                raise page
            names, token, version = page
            metadata = {"resourceVersion": version, "continue": token}
            return {"metadata": metadata, "items": [obj("1", name) for name in names]}

    def listed(self, *pages: Any) -> tuple[Listed, list[str]]:
        client = self.Paged(*pages)
        step = next(ListWatch(cast("ApiClient", client), SELECTION).steps())
        assert isinstance(step, Listed)
        return step, client.asked

    def test_every_page_and_the_version_of_the_first(self) -> None:
        step, asked = self.listed(("ab", "t1", "7"), ("", "t2", "8"), ("c", "", "9"))
        assert [item["metadata"]["name"] for item in step.items] == ["a", "b", "c"]
        assert step.resource_version == "7"
        assert asked == ["LIST", "LIST t1", "LIST t2"]

    def test_a_page_that_expired_begins_the_list_anew(self) -> None:
        step, asked = self.listed(("ab", "t1", "7"), failure(410, "Expired"), ("abc", "", "9"))
        assert [item["metadata"]["name"] for item in step.items] == ["a", "b", "c"]
        assert step.resource_version == "9"
        assert asked == ["LIST", "LIST t1", "LIST"]

    def test_any_other_error_of_a_page_is_the_answer(self) -> None:
        with pytest.raises(StatusError, match="HTTP 400"):
            self.listed(("ab", "t1", "7"), failure(400))
