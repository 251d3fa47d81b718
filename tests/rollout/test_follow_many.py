"""Many workloads at once, against a server whose objects change meanwhile: who is followed, and how each ends."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rawkube.api.client import ApiClient
from rawkube.api.list_watch import Selection
from rawkube.errors import RawkubeError, UsageError
from rawkube.kubeconfig.access import Access
from rawkube.rollout.follow_many import How, Require, Told, Wanted, follow_all
from rawkube.rollout.happenings import Note, Result, State, Workload
from tests.support.client import DEPLOYMENTS, PODS, resource
from tests.support.cluster import Cluster
from tests.support.workloads import daemonset, deployment

pytestmark = pytest.mark.usefixtures("hurried")

ALL = Selection(DEPLOYMENTS, "default")
DEADLINE = ("Progressing", "False", "ProgressDeadlineExceeded")


def named(*names: str) -> list[Wanted]:
    return [Selection(DEPLOYMENTS, "default", name) for name in names]


def told(cluster: Cluster, wanted: list[Wanted], how: How | None = None, *, parallel: bool = True) -> Iterator[Told]:
    how = how or How()
    with ApiClient(Access(server=cluster.url)) as client:
        # What does not end by itself must not hang the tests.
        how = how._replace(deadline=client.clock() + (how.deadline or 8.0))
        yield from follow_all(client, wanted, how, parallel=parallel)


def in_short(one: Told) -> str:
    if isinstance(one, Result):
        return f"{one.workload.name if one.workload else '?'}: {one.outcome}"
    assert isinstance(one, State)
    return f"{one.workload.name} {'done' if one.progress.done else 'waits'}"


def run(
    cluster: Cluster,
    wanted: list[Wanted],
    then: dict[str, Callable[[], None]] | None = None,
    how: How | None = None,
) -> list[str]:
    """What was told, in short. `then`: what to do when something is told for the first time."""
    left = dict(then or {})
    short = []
    for one in told(cluster, wanted, how):
        short.append(in_short(one))
        left.pop(short[-1], lambda: None)()
    assert not left, short
    return short


def test_one_watch_follows_all_to_their_ends() -> None:
    with Cluster(deployment("a", u=1), deployment("b"), deployment("c", u=1)) as cluster:
        short = run(
            cluster,
            [ALL],
            {
                "c waits": lambda: cluster.put(deployment("c")),
                "c: complete": lambda: cluster.put(deployment("new", u=1)),
                "c done": lambda: cluster.put(deployment("a")),
            },
        )
        assert short == [
            "a waits",
            "b done",
            "b: complete",
            "c waits",
            "c done",
            "c: complete",
            "a done",
            "a: complete",
        ]
        assert cluster.asked == ["list deployments", "watch deployments"]
        assert cluster.connections == 1


def test_what_is_named_twice_or_selected_too_is_followed_once() -> None:
    with Cluster(deployment("a"), daemonset("a")) as cluster:
        wanted = [*named("a", "a"), ALL, Selection(resource("ds"), "default", "a")]
        assert Counter(run(cluster, wanted)) == {"a done": 2, "a: complete": 2}
        assert Counter(cluster.asked) == {"list deployments": 2, "list daemonsets": 1}


def test_names_share_a_watch_and_the_missing_are_told() -> None:
    with Cluster(deployment("a", u=1), deployment("b", u=1), deployment("other", u=1)) as cluster:
        short = run(
            cluster,
            named("a", "no", "b"),
            {
                "no: not-found": lambda: cluster.put(deployment("a")),
                "a: complete": lambda: cluster.remove("deployments", "b"),
            },
        )
        assert short == ["a waits", "b waits", "no: not-found", "a done", "a: complete", "b: deleted"]
        assert cluster.asked == ["list deployments", "get deployments/no", "watch deployments"]


def test_each_by_its_name_where_the_whole_collection_is_forbidden() -> None:
    with Cluster(deployment("a"), deployment("b"), forbidden=(("list", "deployments"),)) as cluster:
        assert Counter(run(cluster, named("a", "b"))) == dict.fromkeys(
            ("a done", "b done", "a: complete", "b: complete"), 1
        )
        assert Counter(cluster.asked) == {"list deployments": 3, "get deployments/a": 1, "get deployments/b": 1}


def test_a_collection_that_is_forbidden_has_one_result() -> None:
    with Cluster(deployment("a"), daemonset("b"), forbidden=(("list", "deployments"),)) as cluster:
        results = [one for one in told(cluster, [ALL, Selection(resource("ds"), "default")]) if isinstance(one, Result)]
    ends = {(one.workload.ref if one.workload else "", one.outcome, str(one.error)) for one in results}
    assert ends == {
        ("deployment.apps", "error", "deployments is forbidden: User cannot list it"),
        ("daemonset.apps/b", "complete", "None"),
    }


def test_who_loses_the_label_is_followed_by_name() -> None:
    x, y = {"app": "x"}, {"app": "y"}
    with Cluster(deployment("a", u=1, labels=x), deployment("b", u=1, labels=x)) as cluster:
        short = run(
            cluster,
            [ALL._replace(label_selector="app=x")],
            {
                "b waits": lambda: cluster.put(deployment("a", u=2, labels=y)),
                "a waits": lambda: None,
            },
            How(timeout=0.5),
        )
        assert short.count("a waits") >= 2 and sorted(short[-2:]) == ["a: timed-out", "b: timed-out"]
        assert cluster.asked[:3] == ["list deployments", "watch deployments", "get deployments/a"]


@pytest.mark.parametrize("expired", [False, True], ids=["in-the-watch", "after-a-relist"])
def test_gone_or_only_not_selected_any_more(expired: bool) -> None:
    x = {"app": "x"}
    with Cluster(*[deployment(name, u=1, labels=x) for name in "abc"]) as cluster:

        def change() -> None:
            if expired:
                cluster.forbidden.add(("watch", "nothing"))
            cluster.remove("deployments", "a")
            cluster.put(deployment("b", u=2))
            cluster.cut(expired=expired)

        def go_on() -> None:
            cluster.put(deployment("b"))
            cluster.put(deployment("c", labels=x))

        short = run(cluster, [ALL._replace(label_selector="app=x")], {"c waits": change, "a: deleted": go_on})
    assert {one for one in short if ":" in one} == {"a: deleted", "b: complete", "c: complete"}


def test_another_object_of_the_same_name_is_a_deletion() -> None:
    with Cluster(deployment("a", u=1)) as cluster:

        def replace() -> None:
            other = deployment("a")
            other["metadata"]["uid"] = "another"
            cluster.put(other)

        assert run(cluster, [ALL], {"a waits": replace}) == ["a waits", "a: deleted"]


def test_a_broken_watch_goes_on_and_notes_are_told() -> None:
    notes: list[Note] = []
    with Cluster(deployment("a", u=1), deployment("b", u=1)) as cluster:

        def break_it() -> None:
            cluster.put(deployment("a"))
            cluster.cut()

        short = run(
            cluster,
            [ALL],
            {
                "b waits": lambda: once_watched(cluster, 1, break_it),
                "a: complete": lambda: cluster.put(deployment("b")),
            },
            How(on_note=notes.append),
        )
        assert short[-1] == "b: complete"
        assert cluster.asked == ["list deployments", "watch deployments", "watch deployments"]
    assert notes == []


def test_an_expired_watch_lists_again() -> None:
    with Cluster(deployment("a", u=1), deployment("b", u=1)) as cluster:

        def meanwhile() -> None:
            cluster.remove("deployments", "a")
            cluster.put(deployment("b"))
            cluster.cut(expired=True)

        short = run(cluster, [ALL], {"b waits": meanwhile})
    assert sorted(one for one in short if ":" in one) == ["a: deleted", "b: complete"]


def test_time_for_each_and_time_for_all() -> None:
    with Cluster(deployment("a", u=1), deployment("b", u=1)) as cluster:
        for how in (How(timeout=0.4), How(deadline=0.4), How(timeout=9.0, deadline=0.4)):
            started = time.monotonic()
            assert run(cluster, [ALL], how=how) == ["a waits", "b waits", "a: timed-out", "b: timed-out"], how
            assert time.monotonic() - started < 2.0
        assert list(map(in_short, told(cluster, [ALL], How(deadline=0.4), parallel=False))) == [
            "a waits",
            "a: timed-out",
            "b: timed-out",
        ]


def test_how_many_have_to_be_complete() -> None:
    failed = deployment("bad", condition=DEADLINE)
    table: list[tuple[Require, set[str]]] = [
        (Require(1), {"b: complete", "a: unfinished", "bad: failed"}),
        (Require(33, percent=True), {"b: complete", "a: unfinished", "bad: failed"}),
        (Require(3), {"b: complete", "a: unfinished", "bad: failed"}),
        (Require(100, percent=True), {"b: complete", "a: unfinished", "bad: failed"}),
    ]
    with Cluster(deployment("a", u=1), deployment("b"), failed) as cluster:
        for require, ends in table:
            short = run(cluster, [ALL], how=How(require=require))
            assert {one for one in short if ":" in one} == ends, require
    assert [Require(33, percent=True).of(total) for total in (0, 1, 3, 4, 100)] == [0, 1, 1, 2, 33]
    assert Require(2).of(1) == 2


def test_errors_of_all_kinds_are_results() -> None:
    wanted: list[Wanted] = [UsageError("cannot be read"), Selection(PODS, "default", "p"), *named("a", "..")]
    wanted += [Selection(PODS, "default"), Selection(DEPLOYMENTS, "nowhere")]
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "default"}}
    with Cluster(deployment("a"), pod) as cluster:
        for parallel in (False, True):
            results = [one for one in told(cluster, wanted, parallel=parallel) if isinstance(one, Result)]
            ends = Counter((one.workload and one.workload.name, one.outcome) for one in results)
            expected = {(None, "error"): 1, ("p", "error"): 2, ("a", "complete"): 1, ("..", "error"): 1}
            if parallel:
                expected |= {("p", "error"): 1, ("", "error"): 1}
            assert ends == expected, parallel


def test_only_to_look() -> None:
    with Cluster(deployment("a", u=1), deployment("b")) as cluster:
        for parallel in (False, True):
            short = list(map(in_short, told(cluster, [ALL], How(watch=False), parallel=parallel)))
            assert short == ["a waits", "a: unfinished", "b done", "b: complete"], parallel
        assert "watch deployments" not in cluster.asked


def test_what_is_not_read_any_more_is_not_watched_any_more() -> None:
    with Cluster(deployment("a", u=1), daemonset("b", u=1)) as cluster:
        happenings = told(cluster, [ALL, Selection(resource("ds"), "default")])

        once_watched(cluster, 2, lambda: cluster.put(deployment("a")))
        assert any(in_short(one) == "a: complete" for one in happenings)
        until(lambda: cluster.watching == 1)
        happenings.close()  # type: ignore[attr-defined]
        until(lambda: cluster.watching == 0)


def once_watched(cluster: Cluster, count: int, act: Callable[[], None]) -> None:
    """Do it in another thread, when so many watches are open."""

    def wait() -> None:
        until(lambda: cluster.watching == count)
        act()

    threading.Thread(target=wait, daemon=True).start()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 5.0
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_five_hundred() -> None:
    many: list[dict[str, Any]] = [deployment(f"d{number}", u=1) for number in range(500)]
    with Cluster(*many, daemonset("agent", u=1)) as cluster:
        counts: Counter[str] = Counter()
        for one in told(cluster, [ALL, Selection(resource("ds"), "default")]):
            counts[in_short(one).rpartition(" ")[2]] += 1
            if counts["waits"] == 501 and not counts["done"]:
                counts["waits"] += 1
                cluster.cut()
                for number in range(500):
                    cluster.put(deployment(f"d{number}"))
                cluster.put(daemonset("agent"))
        assert counts["complete"] == counts["done"] == 501
        assert cluster.connections <= 4
        assert cluster.asked.count("list deployments") == cluster.asked.count("list daemonsets") == 1


def test_what_a_thread_did_not_expect_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> Iterator[object]:
        raise ZeroDivisionError

    monkeypatch.setattr("rawkube.rollout.collection.Collection.steps", broken)
    with Cluster() as cluster, pytest.raises(ZeroDivisionError):
        list(told(cluster, [ALL]))


def test_objects_are_kept_without_what_is_large() -> None:
    large = deployment("a", u=1, annotations={"kubectl.kubernetes.io/last-applied-configuration": "x", "y": "z"})
    large["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    with Cluster(large) as cluster:
        objects = []
        for one in told(cluster, [ALL], How(timeout=1.0)):
            objects.append(one.object)  # type: ignore[union-attr]
            if len(objects) == 1:
                cluster.put(large)
            if len(objects) == 2:
                cluster.remove("deployments", "a")
    assert len(objects) == 3
    for item in objects:
        assert item is not None and item["kind"] == "Deployment"
        assert "managedFields" not in item["metadata"] and item["metadata"]["annotations"] == {"y": "z"}


def test_a_workload_says_who_it_is() -> None:
    assert Workload(DEPLOYMENTS, "default", "web").ref == "deployment.apps/web"
    assert (Workload(PODS, "default", "p").ref, Workload(PODS, "default", "").ref) == ("pod/p", "pod")
    assert issubclass(UsageError, RawkubeError)
