"""The list-and-watch loop against a scripted client: what is asked, when, and what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self, cast

import pytest

from rawkube.api.builtin import lookup
from rawkube.api.client import ApiClient
from rawkube.api.list_watch import BackOff, Listed, ListWatch, Selection
from rawkube.api.watch import WatchEvent
from rawkube.errors import (
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    RawkubeError,
    StatusError,
    WaitTimeout,
)
from tests.support.rows import looped

DEPLOYMENTS = lookup("deployments")
assert DEPLOYMENTS is not None
SELECTION = Selection(DEPLOYMENTS, "demo", "web")


def obj(version: str, name: str = "web") -> dict[str, Any]:
    return {"kind": "Deployment", "metadata": {"name": name, "resourceVersion": version}}


def event(kind: str, version: str) -> WatchEvent:
    return WatchEvent(kind, obj(version))


def error_event(code: int | None, reason: str = "") -> WatchEvent:
    status: dict[str, Any] = {"kind": "Status", "metadata": {}, "status": "Failure", "reason": reason}
    return WatchEvent("ERROR", status if code is None else {**status, "code": code})


def failure(code: int, reason: str = "") -> StatusError:
    return StatusError({"code": code, "reason": reason, "message": f"HTTP {code}"})


class FakeWatch:
    def __init__(self, parent: FakeClient, script: list[Any]) -> None:
        self._parent, self._script = parent, script

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __iter__(self) -> Iterator[WatchEvent]:
        for step in self._script:
            if isinstance(step, float):
                self._parent.now += step
            elif isinstance(step, RawkubeError):
                raise step
            else:
                yield step


class FakeClient:
    """Answers LIST, GET and WATCH from scripts; its clock moves only by sleeping and by the scripts."""

    def __init__(self, *, lists: list[Any], watches: list[Any], gets: tuple[Any, ...] = ()) -> None:
        self.now = 1000.0
        self.asked: list[str] = []
        self.queries: list[dict[str, str]] = []
        self._lists, self._watches, self._gets = lists, watches, list(gets)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.asked.append(f"wait {seconds:.1f}")
        self.now += seconds

    def list(
        self, resource: Any, namespace: str, *, query: Any, name: str, deadline: Any, **more: Any
    ) -> dict[str, Any]:
        self.asked.append("LIST")
        self.queries.append(dict(query))
        answer = self._lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {"kind": "DeploymentList", "metadata": {"resourceVersion": answer}, "items": [obj(answer)]}

    def get(self, resource: Any, namespace: str, name: str, *, deadline: Any, **more: Any) -> dict[str, Any]:
        self.asked.append("GET")
        answer = self._gets.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return obj(answer)

    def watch(
        self, resource: Any, namespace: str, *, query: Any, name: str, silence: float, deadline: Any, **more: Any
    ) -> FakeWatch:
        parameters = dict(query)
        self.queries.append(parameters)
        self.asked.append(f"WATCH {parameters.get('resourceVersion')}")
        if not self._watches:
            raise End
        answer = self._watches.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return FakeWatch(self, answer)


class End(Exception):
    """The script is over."""


def run(
    client: FakeClient,
    *,
    timeout: float | None = None,
) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    loop = ListWatch(cast("ApiClient", client), SELECTION, on_note=notes.append, draw=lambda: 0.0)
    if timeout is not None:
        loop.deadline = client.now + timeout
    steps: list[str] = []
    try:
        for step in loop.steps():
            if isinstance(step, Listed):
                steps.append(f"listed {step.resource_version}")
            else:
                steps.append(f"{step.type} {step.object['metadata']['resourceVersion']}")
    except End:
        pass
    return steps, notes


def test_a_watch_starts_at_the_lists_version_and_goes_on_from_the_last_event() -> None:
    client = FakeClient(lists=["5"], watches=[[event("MODIFIED", "7"), event("BOOKMARK", "9")]])
    steps, notes = run(client)
    assert steps == ["listed 5", "MODIFIED 7"]
    assert client.asked == ["LIST", "WATCH 5", "WATCH 9"]
    assert notes == []


def test_the_requests_are_narrow_consistent_and_end_by_themselves() -> None:
    client = FakeClient(lists=["5"], watches=[])
    run(client)
    listing, watch = client.queries
    assert listing == {"fieldSelector": "metadata.name=web"}
    seconds = int(watch.pop("timeoutSeconds"))
    assert 180 <= seconds <= 230
    assert watch == {
        "fieldSelector": "metadata.name=web",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
    }


def test_a_watch_that_lived_a_second_is_reopened_at_once() -> None:
    client = FakeClient(lists=["5"], watches=[[1.0], [2.0]])
    run(client)
    assert client.asked == ["LIST", "WATCH 5", "WATCH 5", "WATCH 5"]


def test_very_short_watches_back_off() -> None:
    client = FakeClient(lists=["5"], watches=[[], [], [0.5]])
    steps, notes = run(client)
    assert client.asked == [
        "LIST", "WATCH 5", "wait 0.8", "WATCH 5", "wait 1.6", "WATCH 5", "wait 3.2", "WATCH 5",
    ]  # fmt: skip
    assert steps == ["listed 5"] and notes == []


@looped(
    "expired",
    [error_event(410), error_event(410, "Gone"), error_event(None, "Expired"), error_event(None, "Gone")],
    ids=["410", "410-Gone", "Expired", "Gone"],
)
def test_an_expired_watch_lists_again_after_a_back_off(expired: WatchEvent) -> None:
    client = FakeClient(lists=["5", "8"], watches=[[event("MODIFIED", "6"), expired]])
    steps, notes = run(client)
    assert client.asked == ["LIST", "WATCH 5", "wait 0.8", "LIST", "WATCH 8"]
    assert steps == ["listed 5", "MODIFIED 6", "listed 8"] and notes == []


def test_a_410_at_the_start_of_a_watch_is_the_same() -> None:
    client = FakeClient(lists=["5", "8"], watches=[failure(410, "Expired")])
    run(client)
    assert client.asked == ["LIST", "WATCH 5", "wait 0.8", "LIST", "WATCH 8"]


def test_410_for_ever_is_no_tight_loop() -> None:
    client = FakeClient(lists=["5"] * 8, watches=[[error_event(410)]] * 7)
    run(client)
    waits = [float(step.split()[1]) for step in client.asked if step.startswith("wait")]
    assert waits == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]


def test_too_many_requests_in_the_stream_reopens_from_the_last_version() -> None:
    client = FakeClient(lists=["5"], watches=[[event("MODIFIED", "6"), error_event(429)]])
    run(client)
    assert client.asked == ["LIST", "WATCH 5", "wait 0.8", "WATCH 6"]


def test_any_other_error_event_lists_again() -> None:
    client = FakeClient(lists=["5", "6"], watches=[[error_event(500, "InternalError")]])
    run(client)
    assert client.asked == ["LIST", "WATCH 5", "wait 0.8", "LIST", "WATCH 6"]


def test_data_that_is_no_watch_event_lists_again_and_says_so() -> None:
    client = FakeClient(lists=["5", "6"], watches=[[DecodeError("it begins with '<html>'")]])
    _, notes = run(client)
    assert client.asked == ["LIST", "WATCH 5", "wait 0.8", "LIST", "WATCH 6"]
    assert len(notes) == 1 and "<html>" in notes[0]


def test_an_outage_is_noted_once_at_each_end() -> None:
    refused = ConnectionRefused("connection refused", server="h:1")
    client = FakeClient(lists=["5"], watches=[refused, failure(503), failure(429), [2.0]])
    _, notes = run(client)
    assert client.asked == [
        "LIST", "WATCH 5", "wait 0.8", "WATCH 5", "wait 1.6", "WATCH 5", "wait 3.2", "WATCH 5", "WATCH 5",
    ]  # fmt: skip
    assert len(notes) == 2
    assert "connection refused" in notes[0] and "back" in notes[1]


def test_silence_is_an_end_without_a_word() -> None:
    client = FakeClient(lists=["5"], watches=[DeadlineExceeded("silent", step="silence")])
    _, notes = run(client)
    assert client.asked[-1] == "WATCH 5" and notes == []


@looped("code", [400, 401, 403, 404, 405, 422])
def test_refusals_of_a_watch_are_final(code: int) -> None:
    client = FakeClient(lists=["5"], watches=[failure(code)])
    with pytest.raises(StatusError, match=f"HTTP {code}"):
        run(client)
    assert client.asked == ["LIST", "WATCH 5"]


@looped(
    "error",
    [
        ConnectionRefused("no"),
        ConnectionLost("EOF"),
        failure(401),
        failure(404),
        failure(500),
        DecodeError("no JSON"),
    ],
    ids=lambda error: f"{type(error).__name__}-{error}",
)
def test_before_the_first_answer_every_error_is_final(error: RawkubeError) -> None:
    client = FakeClient(lists=[error], watches=[])
    with pytest.raises(type(error)):
        run(client)
    assert client.asked == ["LIST"]


def test_a_relist_survives_what_the_first_list_does_not() -> None:
    client = FakeClient(lists=["5", failure(500), ConnectionLost("EOF"), "9"], watches=[[error_event(410)]])
    steps, notes = run(client)
    assert steps == ["listed 5", "listed 9"]
    assert client.asked == ["LIST", "WATCH 5", "wait 0.8", "LIST", "wait 1.6", "LIST", "wait 3.2", "LIST", "WATCH 9"]
    assert len(notes) == 2


def test_where_list_is_forbidden_a_get_starts_the_watch() -> None:
    client = FakeClient(lists=[failure(403)], gets=("7",), watches=[[event("MODIFIED", "8")]])
    steps, _ = run(client)
    assert client.asked == ["LIST", "GET", "WATCH 7", "WATCH 8"]
    assert steps == ["listed 7", "MODIFIED 8"]


def test_where_both_are_forbidden_the_gets_error_is_the_answer() -> None:
    client = FakeClient(lists=[failure(403)], gets=(failure(403, "Forbidden"),), watches=[])
    with pytest.raises(StatusError) as raised:
        run(client)
    assert raised.value.reason == "Forbidden"


@looped(
    "watches",
    [
        [[4.0], [4.0], [4.0]],
        [[]] * 20,
        [ConnectionRefused("no")] * 20,
        [[error_event(410)]] * 20,
        [[5.0, event("MODIFIED", "6")], [6.0]],
    ],
    ids=["quiet", "short", "refused", "expired", "busy"],
)
def test_the_deadline_ends_it_whatever_happens(watches: list[Any]) -> None:
    client = FakeClient(lists=["5"] * 30, watches=watches)
    with pytest.raises(WaitTimeout, match="timed out waiting for the condition"):
        run(client, timeout=10.0)
    assert client.now <= 1000.0 + 12.0


def test_a_list_that_came_too_early_is_asked_for_again() -> None:
    client = FakeClient(lists=["5", "6"], watches=[])
    loop = ListWatch(cast("ApiClient", client), SELECTION, draw=lambda: 0.0)
    steps = loop.steps()
    assert next(steps) == Listed([obj("5")], "5")
    loop.list_again()
    assert next(steps) == Listed([obj("6")], "6")
    assert client.asked == ["LIST", "wait 0.8", "LIST"]


def test_the_back_off_starts_anew_after_two_quiet_minutes() -> None:
    now = 0.0
    back_off = BackOff(lambda: now, draw=lambda: 0.5)
    assert [round(back_off.next(), 2) for _ in range(3)] == [1.2, 2.4, 4.8]
    now = 4.8 + 121.0
    assert round(back_off.next(), 2) == 1.2
