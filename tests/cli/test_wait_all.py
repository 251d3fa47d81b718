"""`rawkube wait` for what is selected: one list and watch for all of it, told of as if each was watched by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rawkube.api.list_watch import BackOff
from tests.support.cluster import Cluster
from tests.support.here import Ran, run_at
from tests.support.lists import thing

Object = dict[str, Any]
FOR = "--for=condition=Ready"


def pod(name: str, ready: bool = False, *, labels: dict[str, str] | None = None, **metadata: str) -> Object:
    made = thing("Pod", name, status={"conditions": [{"type": "Ready", "status": str(ready)}]})
    made["metadata"].update(metadata, labels={"app": "x"} if labels is None else labels)
    return made


def met(*names: str) -> str:
    return "".join(f"pod/{name} condition met\n" for name in names)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BackOff, "next", lambda self: 0.01)


@contextmanager
def meanwhile(cluster: Cluster, *changes: Callable[[], None]) -> Iterator[None]:
    """Make these changes, the first once somebody watches, each further one once another watch is open."""

    def make() -> None:
        end = time.monotonic() + 10
        for number, change in enumerate(changes, 1):
            while sum(one.startswith("watch") for one in cluster.asked) < number or not cluster.watching:
                if time.monotonic() > end:
                    return
                time.sleep(0.005)
            change()

    thread = threading.Thread(target=make)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def wait(cluster: Cluster, home: Path, *args: str) -> Ran:
    return run_at(cluster.url, "wait", *args, "-n", "default", home=home)


def test_one_list_and_one_watch_in_the_order_of_the_list(tmp_path: Path) -> None:
    names = [f"p{number:02}" for number in range(30)]
    with Cluster(*map(pod, names)) as cluster:

        def ready() -> None:
            for name in reversed(names):
                cluster.put(pod(name, True))

        with meanwhile(cluster, ready):
            ran = wait(cluster, tmp_path, "pods", "--all", FOR, "--timeout=9s")
        assert (ran.stdout, ran.stderr, ran.code) == (met(*names), "", 0)
        assert cluster.asked == ["list pods", "watch pods"]


def test_what_is_so_already_is_not_watched(tmp_path: Path) -> None:
    with Cluster(pod("a", True), pod("b", True), pod("c", labels={})) as cluster:
        ran = wait(cluster, tmp_path, "pods", "-l", "app=x", FOR)
        assert (ran.stdout, ran.code) == (met("a", "b"), 0)
        assert cluster.asked == ["list pods"]


def test_every_namespace(tmp_path: Path) -> None:
    with Cluster(pod("a", namespace="one"), pod("a", namespace="two")) as cluster:

        def ready() -> None:
            cluster.put(pod("a", True, namespace="two"))
            cluster.put(pod("a", True, namespace="one"))

        with meanwhile(cluster, ready):
            ran = wait(cluster, tmp_path, "pods", "--all", "-A", FOR, "--timeout=9s")
        assert (ran.stdout, ran.code) == (met("a", "a"), 0)
        assert cluster.asked == ["list pods", "watch pods"]


def test_what_counts_is_how_it_is_at_its_turn(tmp_path: Path) -> None:
    """`b` was ready and is not any more when `a` is."""
    with Cluster(pod("a"), pod("b", True)) as cluster:

        def change() -> None:
            cluster.put(pod("b"))
            cluster.put(pod("a", True))

        with meanwhile(cluster, change):
            ran = wait(cluster, tmp_path, "pods", "--all", FOR, "--timeout=1s")
        assert (ran.stdout, ran.code) == (met("a"), 1)
        assert ran.stderr == "error: timed out waiting for the condition on pods/b\n"


def test_deleted(tmp_path: Path) -> None:
    """At its turn, before it, in an outage; made again in between, too; and what came later is waited for by nobody."""
    with Cluster(*map(pod, "abcd")) as cluster:

        def change() -> None:
            for name in "dba":
                cluster.remove("pods", name)
            cluster.put(pod("d", uid="another"))
            cluster.put(pod("e"))
            cluster.cut(expired=True)
            cluster.remove("pods", "c")

        with meanwhile(cluster, change):
            ran = wait(cluster, tmp_path, "pods", "--all", "--for=delete", "--timeout=9s")
        assert (ran.stdout, ran.stderr, ran.code) == (met(*"abcd"), "", 0)
        assert not [one for one in cluster.asked if "/" in one], cluster.asked


def test_who_loses_the_label_is_waited_for_by_name(tmp_path: Path) -> None:
    with Cluster(pod("a"), pod("b")) as cluster:
        changes = (lambda: cluster.put(pod("a", labels={})), lambda: cluster.put(pod("a", True, labels={})))
        with meanwhile(cluster, *changes):
            ran = wait(cluster, tmp_path, "pods", "-l", "app=x", FOR, "--timeout=1s")
        assert (ran.stdout, ran.code) == (met("a"), 1)
        assert ran.stderr == "error: timed out waiting for the condition on pods/b\n"


def test_who_only_loses_the_label_is_not_deleted(tmp_path: Path) -> None:
    """The watch cannot tell it from a deletion; an object that was made anew under the name is another one."""
    with Cluster(*map(pod, "abc")) as cluster:

        def change() -> None:
            cluster.put(pod("c", labels={}))
            cluster.remove("pods", "b")
            cluster.put(pod("b", uid="another", labels={}))
            cluster.remove("pods", "a")

        with meanwhile(cluster, change):
            ran = wait(cluster, tmp_path, "pods", "-l", "app=x", "--for=delete", "--timeout=1s")
        assert (ran.stdout, ran.code) == (met("a", "b"), 1)
        assert ran.stderr == "error: timed out waiting for the condition on pods/c\n"


def test_what_may_not_be_watched_is_the_error_of_each(tmp_path: Path) -> None:
    with Cluster(pod("a"), pod("b", True), pod("c"), forbidden=(("watch", "pods"),)) as cluster:
        ran = wait(cluster, tmp_path, "pods", "--all", FOR)
    assert (ran.stdout, ran.code) == (met("b"), 1)
    assert ran.stderr.splitlines() == ["Error from server (Forbidden): pods is forbidden: User cannot watch it"] * 2


def test_several_types_one_after_the_other(tmp_path: Path) -> None:
    job = thing("Job", "load", status={"conditions": [{"type": "Ready", "status": "True"}]})
    with Cluster(pod("a"), pod("b"), job) as cluster:

        def ready() -> None:
            cluster.put(pod("a", True))
            cluster.put(pod("b", True))

        with meanwhile(cluster, ready):
            ran = wait(cluster, tmp_path, "pods,jobs", "--all", FOR, "--timeout=9s")
        assert (ran.stdout, ran.code) == (met("a", "b") + "job.batch/load condition met\n", 0)
        assert cluster.asked == ["list pods", "watch pods", "list jobs"]
        end = time.monotonic() + 9
        while cluster.watching and time.monotonic() < end:
            time.sleep(0.01)
        assert not cluster.watching, "a watch that nobody reads any more is closed"


FILES = {
    "a": "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
    "gone": "{apiVersion: v1, kind: Pod, metadata: {name: gone}}",
    "bad": "{kind: Pod}",
    "both": "{kind: Pod}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a}}",
}
GONE = 'Error from server (NotFound): pods "gone" not found\n'
AT_ONCE = "--timeout=0"
FORBIDDEN = "Error from server (Forbidden): secrets is forbidden: User cannot get it\n"
BAD = "unable to decode"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_look(folder: Path) -> None:
    """What is so now counts, of what is there now."""
    met_a = "pod/a condition met\n"
    with Cluster(pod("a", True), pod("b"), forbidden=(("get", "secrets"),)) as cluster:
        for words, out, err, code in (
            (f"pod/a {FOR}", met_a, "", 0),
            (f"pod/b {FOR}", "", "error: condition not met for pods/b\n", 1),
            (f"pod/gone {FOR}", "", GONE, 1),
            ("pod/gone --for=delete", "", "", 0),
            ("pod/a --for=delete", "", "error: condition not met for pods/a\n", 1),
            ("pod/a --for=create", met_a, "", 0),
            ("pods --all --for=create", met("a", "b"), "", 0),
            ("jobs --all --for=create", "", "jobs.batch not found\nerror: timed out waiting for the condition\n", 1),
            ("secret/x --for=create", "", FORBIDDEN, 1),
            ("-f a --for=create", met_a, "", 0),
            (f"-f a -f gone -l app=x {FOR}", met_a, GONE, 1),
            (f"-f a -l app=y {FOR}", "", "error: no matching resources found\n", 1),
            ("-f gone -l app=x --for=delete", "", "", 0),
        ):
            ran = wait(cluster, folder, *words.split(), AT_ONCE)
            assert (ran.stdout, ran.stderr, ran.code) == (out, err, code), words


def test_files_that_cannot_be_read(folder: Path) -> None:
    with Cluster(pod("a", True)) as cluster:
        for words, out in (
            (f"-f both {FOR} {AT_ONCE}", met("a")),
            (f"-f both {FOR} --fail-on=condition=Failed", met("a")),
            ("-f bad --for=create", ""),
        ):
            ran = wait(cluster, folder, *words.split())
            assert (ran.stdout, ran.code) == (out, 1), words
            assert BAD in ran.stderr, words
