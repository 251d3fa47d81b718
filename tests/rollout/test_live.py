"""Causes as they come and go: what is told of and when, what is watched, what is kept."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rawkube.api.crew import Crew, Ended
from rawkube.api.list_watch import Changed, Listed
from rawkube.errors import ConnectionLost, DeadlineExceeded, StatusError
from rawkube.rollout import live as module
from rawkube.rollout.causes import AGAIN, GONE, LASTS, Causes
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.explain.scene import LogTail
from rawkube.rollout.happenings import Cleared, Found, Note, Workload
from rawkube.rollout.live import LiveExplanation, Watched
from rawkube.rollout.neighbourhood import MOST_EVENTS
from tests.rollout.test_gather import CRASHED, DEPLOYMENT, WEB, owned
from tests.support.client import DEPLOYMENTS, Client, resource
from tests.support.script import status
from tests.support.server import Peer, ScriptedServer, SeenRequest

pytestmark = pytest.mark.usefixtures("hurried")

Object = dict[str, Any]
BROKEN = {"containerStatuses": [CRASHED]}
SPEC = {"nodeName": "n", "containers": [{"name": "app"}]}


# When causes are told of.


def finding(resolves: str = MAYBE, code: str = "ContainerCrashes", **more: Any) -> Finding:
    return Finding(code, "…", "pod/web-0", resolves=resolves, **more)


def told(causes: Causes, findings: list[Finding], now: float) -> list[str]:
    words = []
    for one in causes.update(findings, now):
        words.append(("cleared " if one.cleared else "again " if one.again else "found ") + one.finding.code)
    return words


def test_what_cannot_heal_is_told_of_at_once_and_other_things_when_they_last() -> None:
    for resolves, lasts in LASTS.items():
        causes = Causes()
        assert bool(told(causes, [finding(resolves)], 100.0)) == (resolves == NEVER), resolves
        if lasts:
            assert causes.next_due == 100.0 + lasts
            assert told(causes, [finding(resolves)], 100.0 + lasts) == ["found ContainerCrashes"], resolves
        assert causes.next_due is None


def test_a_crash_loop_does_not_flap() -> None:
    causes, words = Causes(), []
    for second in range(60):
        words += told(causes, [finding()] if second // 4 % 2 == 0 else [], float(second))
        assert len(causes.present) == 1, second
    assert words == ["found ContainerCrashes"]


def test_a_cause_clears_and_another_comes() -> None:
    causes = Causes()
    assert told(causes, [finding(NEVER)], 0.0) == ["found ContainerCrashes"]
    assert told(causes, [finding(NEVER, "QuotaExceeded")], 1.0) == ["found QuotaExceeded"]
    assert causes.next_due == 1.0 + GONE
    assert [one.cleared for one in causes.due(1.0 + GONE)] == [True]
    assert [one.code for one in causes.present] == ["QuotaExceeded"]


def test_what_was_never_told_of_is_not_told_of_as_cleared() -> None:
    causes = Causes()
    assert told(causes, [finding(WAITS)], 0.0) == []
    assert told(causes, [], 1.0) == []
    assert causes.present == () and causes.due(100.0) == []


def test_more_pods_are_told_of_again_but_not_at_once() -> None:
    causes = Causes()
    pods = tuple(f"pod/{number}" for number in range(4))
    assert told(causes, [finding(NEVER)], 0.0) == ["found ContainerCrashes"]
    assert told(causes, [finding(NEVER, objects=pods[:2])], 1.0) == []
    assert told(causes, [finding(NEVER, objects=pods)], AGAIN) == ["again ContainerCrashes"]
    assert told(causes, [finding(NEVER, objects=pods[:3], restarts=7)], 3 * AGAIN) == []


def test_a_log_and_a_time_are_kept() -> None:
    causes = Causes()
    causes.update([finding(log=("boom",))], 0.0, time="2026-11-30T15:00:00Z")
    causes.update([finding()], 9.0, time="2026-11-30T15:00:09Z")
    assert [(one.log, one.since) for one in causes.present] == [(("boom",), "2026-11-30T15:00:00Z")]


# What is watched, and what is kept of it.


class Clock:
    """A client that asks for nothing, at a time that the test sets."""

    answered = None
    now = 1000.0

    def clock(self) -> float:
        return self.now


def explained(*workloads: Workload) -> tuple[LiveExplanation, Clock]:
    client = Clock()
    live = LiveExplanation(client, sleep=lambda seconds: None)  # type: ignore[arg-type]
    for workload in workloads or (WEB,):
        named = {**DEPLOYMENT["metadata"], "name": workload.name, "uid": workload.name[0]}
        live.changed(workload, {**DEPLOYMENT, "metadata": named})
    return live, client


def keys(live: LiveExplanation) -> dict[str, Watched]:
    return {source.key.plural: source.key for source in live.sources()}


def waiting(number: int, reason: str = "InvalidImageName", owner: str = "r") -> Object:
    state = {"containerStatuses": [{"name": "app", "state": {"waiting": {"reason": reason, "message": "m"}}}]}
    return owned(f"web-1-{number}", f"p{number}", owner, spec=SPEC, status=state)


def listed(live: LiveExplanation, found: dict[str, Watched], **things: list[Object]) -> None:
    replica_sets = [owned("web-1", "r", "w", spec={"template": {}})]
    for plural, key in found.items():
        default = replica_sets if plural == "replicasets" else []
        live.step(key, Listed(things.get(plural, default), "1"))


def looked(live: LiveExplanation, client: Clock, seconds: float) -> list[tuple[str, str]]:
    client.now += seconds
    return [
        (type(one).__name__, one.text if isinstance(one, Note) else one.finding.code) for one in live.look(client.now)
    ]


def test_a_cause_appears_heals_and_another_appears() -> None:
    live, client = explained()
    found = keys(live)
    assert set(found) == {"pods", "replicasets", "events"}
    assert keys(live) == {}
    listed(live, found)
    assert live.next_look is not None and live.next_look <= client.now + 1
    assert looked(live, client, 1) == []
    live.step(found["pods"], Changed("ADDED", waiting(0)))
    assert looked(live, client, 1) == [("Found", "ImageNameInvalid")]
    assert [one.code for one in live.findings(WEB)] == ["ImageNameInvalid"]
    live.step(found["pods"], Changed("DELETED", waiting(0)))
    live.step(found["pods"], Changed("ADDED", waiting(1, "ErrImageNeverPull")))
    assert looked(live, client, 1) == [("Found", "ImageNeverPulled")]
    assert looked(live, client, GONE) == [("Cleared", "ImageNameInvalid")]
    live.ended(WEB)
    live.step(found["pods"], Changed("ADDED", waiting(2)))
    assert live.findings(WEB) == () and looked(live, client, 100) == []


def test_nothing_is_said_before_everything_is_listed() -> None:
    live, client = explained()
    found = keys(live)
    live.step(found["pods"], Listed([waiting(0)], "1"))
    assert looked(live, client, 5) == []
    listed(live, found, pods=[waiting(0)])
    assert looked(live, client, 1) == [("Found", "ImageNameInvalid")]


def test_a_list_after_a_break_replaces_what_was_known() -> None:
    live, _ = explained()
    found = keys(live)
    listed(live, found, pods=[waiting(0), waiting(1)])
    assert len(live.scene(WEB).pods) == 2
    live.step(found["pods"], Listed([waiting(1)], "9"))
    assert [pod["metadata"]["name"] for pod in live.scene(WEB).pods] == ["web-1-1"]


def test_what_is_forbidden_is_said_once_and_the_rest_works() -> None:
    live, client = explained()
    found = keys(live)
    forbidden = StatusError(status(403, 'events is forbidden: User "x" cannot list'))
    live.step(found["events"], Ended(forbidden))
    assert live.next_look is not None and live.next_look <= client.now + 1
    assert not looked(live, client, 0) and live.has_said is False
    listed(live, {plural: key for plural, key in found.items() if plural != "events"}, pods=[waiting(0)])
    assert looked(live, client, 1) == [("Note", "could not look at events: forbidden"), ("Found", "ImageNameInvalid")]
    assert live.unseen(WEB) == {"nodes": "not watched", "events": "forbidden"}
    live.step(found["events"], Ended(ConnectionLost("EOF")))
    assert looked(live, client, 1) == []


def test_what_cannot_be_seen_for_one_reason_is_one_line() -> None:
    live, client = explained()
    found = keys(live)
    for plural, why in (("pods", "the recording has no answer: it does not know PODS"), ("events", "EOF")):
        live.step(found[plural], Ended(ConnectionLost(why)))
    live.step(found["replicasets"], Ended(ConnectionLost("the recording has no answer: it does not know SETS")))
    notes = [text for _, text in looked(live, client, 1)]
    assert notes == [
        "could not look at pods, replicasets: the recording has no answer: it does not know PODS",
        "could not look at events: EOF",
    ]


def test_logs_that_do_not_come_hold_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Workload(DEPLOYMENTS, "d", name) for name in "abcdefgh"]
    live, client = explained(*many)
    asked = []

    def late(*about: object) -> str:
        asked.append(about)
        client.now += 1.0
        raise DeadlineExceeded("no answer", step="first byte")

    monkeypatch.setattr(module, "read_tail", late)
    sets = [owned(f"{one.name}-1", f"{one.name}-1", one.name, spec={"template": {}}) for one in many]
    pods = [owned(f"{one.name}-1-0", f"p{one.name}", f"{one.name}-1", spec=SPEC, status=BROKEN) for one in many]
    listed(live, keys(live), pods=pods, replicasets=sets)
    client.now += 1
    assert live.look(client.now) == [] and len(asked) == 1  # a second has passed: the caller's turn
    while live.next_look is not None and live.next_look <= client.now:
        live.look(client.now)
    assert len(asked) == module.LOG_FAILURES
    assert all([one.code for one in live.findings(workload)] == ["ContainerCrashes"] for workload in many)


def test_workloads_of_a_namespace_share_their_watches() -> None:
    many = [Workload(DEPLOYMENTS, "d", f"web{number}") for number in range(500)]
    other = Workload(resource("statefulsets"), "e", "db")
    live, _ = explained(*many, other)
    places = sorted((source.key.namespace, source.key.plural) for source in live.sources())
    expected = [("d", "events"), ("d", "pods"), ("d", "replicasets")]
    assert places == [*expected, ("e", "controllerrevisions"), ("e", "events"), ("e", "pods")]


def test_others_are_not_kept() -> None:
    live, _ = explained()
    found = keys(live)
    events = [{"metadata": {"uid": f"e{i}"}, "involvedObject": {"name": "web-1"}} for i in range(MOST_EVENTS + 50)]
    others = [{"metadata": {"uid": f"o{i}"}, "involvedObject": {"name": "db-1"}} for i in range(50)]
    listed(live, found, events=[*events, *others])
    live.step(found["events"], Changed("ADDED", {"metadata": {"uid": "new"}, "involvedObject": {"name": "web"}}))
    kept = [event["metadata"]["uid"] for event in live.scene(WEB).events]
    assert len(kept) == MOST_EVENTS and kept[-1] == "new" and "e0" not in kept and "o1" not in kept


def test_claims_are_watched_once_a_pod_waits_with_one() -> None:
    live, _ = explained()
    found = keys(live)
    pod = owned("web-1-0", "p", "r", spec={"volumes": [{"persistentVolumeClaim": {"claimName": "c"}}]})
    live.step(found["pods"], Changed("ADDED", pod | {"status": {"phase": "Pending"}}))
    assert set(keys(live)) == {"persistentvolumeclaims"}
    assert keys(live) == {}


# With a server.


class Server(ScriptedServer):
    """Lists what there is, then keeps its watches open; the first watch of Pods breaks off behind `changes`."""

    def __init__(self, changes: list[Object]) -> None:
        super().__init__(self._connection)
        self.changes = changes
        self.asked: list[SeenRequest] = []

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            self.asked.append(request)
            plural = request.path.rpartition("/")[2]
            if plural == "log":
                peer.reply("boom\n")
            elif request.query.get("watch"):
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                changes, self.changes = (self.changes, []) if plural == "pods" else ([], self.changes)
                for change in changes:
                    peer.send(json.dumps({"type": "MODIFIED", "object": change}).encode() + b"\n")
                if changes:
                    return
                peer.stall()
                return
            else:
                peer.reply(json.dumps(self._list(plural)))

    @staticmethod
    def _list(plural: str) -> Object:
        items = [owned("web-1", "r", "w", spec={"template": {}})] if plural == "replicasets" else []
        return {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}


def happenings(live: LiveExplanation, crew: Crew[Any, Any], client: Client) -> Iterator[Found | Cleared | Note]:
    end = time.monotonic() + 5.0
    while time.monotonic() < end:
        for source in live.sources():
            crew.add(source.key, source.steps, interrupt=source.interrupt)
        if (got := crew.get(0.05)) is not None:
            live.step(*got)
        yield from live.look(client.clock())


def test_over_a_watch_that_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.05)
    pod = owned("web-1-0", "p", "r", spec=SPEC, status={"containerStatuses": [CRASHED]})
    pod["metadata"] |= {"resourceVersion": "2"}
    with Server([pod]) as server, Client(server.url) as client, Crew[Any, Any]() as crew:
        live = LiveExplanation(client, sleep=crew.sleep)
        live.changed(WEB, DEPLOYMENT)
        first = next(iter(happenings(live, crew, client)))
        assert isinstance(first, Found) and first.finding.code == "ContainerCrashes"
        assert first.finding.log == ("boom",)
        assert live.scene(WEB).logs == {("web-1-0", "app"): LogTail(("boom",))}
    asked = [request.path.rpartition("/")[2] for request in server.asked if not request.query.get("watch")]
    assert sorted(asked) == ["events", "log", "pods", "replicasets"]
    assert all(request.query["labelSelector"] == "app=web" for request in server.asked if "/pods?" in request.target)
