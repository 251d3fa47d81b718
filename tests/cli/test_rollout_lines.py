"""`rollout status` for people: several at once, enough of them, and why one does not finish."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.cli.rollout_codes import CODES, exit_code
from rawkube.rollout.happenings import INTERRUPTED, OUTCOMES, Overall
from tests.support.cluster import Cluster
from tests.support.following import Followed, status
from tests.support.run import kubeconfig
from tests.support.workloads import daemonset, deployment, statefulset

pytestmark = pytest.mark.usefixtures("hurried")

DEADLINE = ("Progressing", "False", "ProgressDeadlineExceeded")


def waits(name: str) -> str:
    return f'Waiting for deployment "{name}" rollout to finish: 1 out of 3 new replicas have been updated...'


def ok(name: str) -> str:
    return f'deployment "{name}" successfully rolled out'


def in_demo(thing: dict[str, Any]) -> dict[str, Any]:
    return {**thing, "metadata": {**thing["metadata"], "namespace": "demo"}}


def test_many_at_once(tmp_path: Path) -> None:
    things = [deployment("a"), deployment("b", u=1), statefulset("db", y=1), in_demo(daemonset("agent"))]
    table: list[tuple[list[str], list[str], list[str], int]] = [
        (["deploy", "--parallel", "-w=false"], [ok("a"), waits("b")], [], 0),
        (
            ["deploy", "--prefix", "-w=false"],
            [f"[deployment.apps/a] {ok('a')}", f"[deployment.apps/b] {waits('b')}"],
            [],
            0,
        ),
        (
            ["--all", "-A", "--prefix", "-w=false"],
            [
                '[demo/daemonset.apps/agent] daemon set "agent" successfully rolled out',
                f"[default/deployment.apps/a] {ok('a')}",
                f"[default/deployment.apps/b] {waits('b')}",
                "[default/statefulset.apps/db] Waiting for 2 pods to be ready...",
            ],
            [],
            0,
        ),
        (["ds", "-A"], ['daemon set "agent" successfully rolled out'], [], 0),
        (["sts", "-A", "-n", "demo", "-w=false"], ["Waiting for 2 pods to be ready..."], [], 0),
        (["job", "-A"], [], ["No resources found"], 0),
        (["deploy", "--any"], [ok("a"), waits("b")], [], 0),
        (["deploy", "--require=50%"], [ok("a"), waits("b")], [], 0),
        (
            ["deploy/a", "deploy/no", "--require=2"],
            [ok("a")],
            [
                'deployment.apps/no: Error from server (NotFound): deployments.apps "no" not found',
                "1 of 2 are complete, 2 required",
            ],
            1,
        ),
        (
            ["deploy/a", "deploy/no", "--any"],
            [ok("a")],
            [],
            0,
        ),
        (
            ["deploy", "--parallel", "--timeout=300ms", "--explain=never"],
            [ok("a"), waits("b")],
            ["error: deployment.apps/b: timed out waiting for the condition"],
            1,
        ),
        (
            ["deploy/b", "--parallel", "--timeout=300ms", "--explain=never"],
            [waits("b")],
            ["error: timed out waiting for the condition"],
            1,
        ),
        (
            ["deploy", "--require=3", "-w=false"],
            [ok("a"), waits("b")],
            ["3 can never be complete: there are only 2", "error: 1 of 2 are complete, 3 required"],
            1,
        ),
    ]
    with Cluster(*things) as cluster:
        for args, lines, notes, code in table:
            ran = status(cluster.url, tmp_path, *args)
            assert (sorted(ran.lines), ran.notes, ran.code) == (sorted(lines), notes, code), args


def test_a_line_that_has_just_been_is_not_printed_again(tmp_path: Path) -> None:
    def change(cluster: Cluster) -> None:
        for _ in range(3):
            cluster.put(deployment("a", u=1))
        cluster.put(deployment("a"))

    for args, count in ((["--parallel"], 1), ([], 4)):
        with Cluster(deployment("a", u=1)) as cluster:
            ran = meanwhile(
                cluster, lambda: cluster.watching == 1, lambda: change(cluster), tmp_path, "deploy/a", *args
            )
        assert ran.lines == [*[waits("a")] * count, ok("a")], args


def meanwhile(cluster: Cluster, when: Callable[[], bool], act: Callable[[], None], home: Path, *args: str) -> Followed:
    """`rollout status`, and in another thread what happens to the objects once something holds."""

    def wait() -> None:
        end = time.monotonic() + 8
        while not when() and time.monotonic() < end:
            time.sleep(0.01)
        act()

    actor = threading.Thread(target=wait, daemon=True)
    actor.start()
    ran = status(cluster.url, home, "--timeout-total=9s", *args)
    actor.join(10)
    return ran


USAGE = [
    (["deploy", "--require=0"], "must be a number from 1, or 1% to 100%"),
    (["deploy", "--require=101%"], "must be a number from 1, or 1% to 100%"),
    (["deploy", "--require=x"], "must be a number from 1, or 1% to 100%"),
    (["deploy", "--require=2", "--any"], "only one of --any and --require can be specified"),
    (
        ["deploy", "-o", "xml"],
        'unable to match a printer suitable for the output format "xml", allowed formats are: json',
    ),
    (["deploy", "--explain=often"], "must be auto, live or never"),
    (["deploy", "--fail-fast=-1"], "must not be less than 0"),
    (["deploy", "--timeout-total=-1s"], "must not be less than 0"),
    (["deploy/a", "-A"], "a resource cannot be retrieved by name across all namespaces"),
    (["deploy/a", "--all"], "selectors and the all flag cannot be used when passing resource/name arguments"),
    (["deploy", "a", "--all"], "name cannot be provided when a selector is specified"),
    (["-f", "x.yaml", "-A"], "--all and --all-namespaces cannot be used when a path is specified"),
    (["deploy", "--field={.a=b"], "unexpected path string"),
    (["-f", "x", "-k", "y"], "only one of -f or -k can be specified"),
    (["-k", "y", "-R"], "the -k flag can't be used with -f or -R"),
    (["-k", "y"], "rawkube builds no kustomizations: pipe `kustomize build DIR` into `-f -`"),
    (["-f", "x", "deploy/a"], "resource/name arguments cannot be provided when a path is specified"),
    (["-f", "x", "deploy"], "you may not specify resource arguments as well"),
    (["deploy/a", "--revision=-1"], "revision must be a positive integer: -1"),
    (["deploy", "--progress", "-o", "json"], "only one of --output and --progress can be specified"),
]


def test_what_is_refused(tmp_path: Path) -> None:
    for args, text in USAGE:
        ran = status("http://127.0.0.1:1", tmp_path, *args)
        assert (ran.code, ran.stdout) == (1, "") and text in ran.stderr and "refused" not in ran.stderr, (args, ran)


def test_what_may_not_be_listed_is_told_in_the_servers_words(tmp_path: Path) -> None:
    with Cluster(forbidden=(("list", "deployments"),)) as cluster:
        for args in (["deploy"], ["deploy", "-l", "app=web"]):
            ran = status(cluster.url, tmp_path, *args)
            said = "Error from server (Forbidden): deployments is forbidden: User cannot list it"
            assert (ran.stdout, ran.notes, ran.code) == ("", [said], 1), args


# Why it does not finish.


def stuck(name: str = "web", **more: Any) -> dict[str, Any]:
    thing = deployment(name, u=1, revision="2", **more)
    thing["metadata"]["uid"] = f"uid-of-{name}"
    thing["spec"]["selector"] = {"matchLabels": {"app": name}}
    return thing


def pods_of(name: str = "web", reason: str = "ErrImageNeverPull") -> list[dict[str, Any]]:
    """A new ReplicaSet with a Pod that cannot start."""
    labels = {"app": name}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"uid-of-{name}", "controller": True}
    new = {
        "kind": "ReplicaSet",
        "name": f"{name}-2",
        "uid": f"uid-of-{name}-2",
        "controller": True,
        "apiVersion": "apps/v1",
    }
    waiting = {"state": {"waiting": {"reason": reason, "message": 'Container image "own:1" is not present'}}}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{name}-2",
                "namespace": "default",
                "uid": f"uid-of-{name}-2",
                "labels": labels,
                "ownerReferences": [owner],
                "annotations": {"deployment.kubernetes.io/revision": "2"},
            },
            "spec": {"replicas": 1},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-2-x",
                "namespace": "default",
                "uid": f"uid-of-{name}-2-x",
                "labels": labels,
                "ownerReferences": [new],
            },
            "spec": {"containers": [{"name": "app", "image": "own:1"}], "nodeName": "n"},
            "status": {
                "phase": "Pending",
                "containerStatuses": [{"name": "app", "image": "own:1", "restartCount": 0, "ready": False, **waiting}],
            },
        },
    ]


TIMED_OUT = "error: timed out waiting for the condition"


def test_a_failure_is_explained_above_kubectls_last_line(tmp_path: Path) -> None:
    never = ["--explain=never"]
    for things, args, last in (
        ([stuck(condition=DEADLINE)], [], 'error: deployment "web" exceeded its progress deadline'),
        ([stuck()], ["--timeout=300ms"], TIMED_OUT),
        ([stuck()], ["--timeout=300ms", "--parallel"], TIMED_OUT),
        ([stuck()], ["--timeout-total=300ms"], TIMED_OUT),
    ):
        with Cluster(*things, *pods_of()) as cluster:
            ran = status(cluster.url, tmp_path, "deploy/web", *args)
            assert ran.code == 1 and ran.notes[-1] == last, args
            assert any("web-2-x" in line for line in ran.notes[:-1]), (args, ran)
            assert "list pods" in cluster.asked
            quiet = status(cluster.url, tmp_path, "deploy/web", *args, *never)
            assert (quiet.notes, quiet.stdout) == ([last], ran.stdout), args


def test_what_may_not_be_looked_at_is_said(tmp_path: Path) -> None:
    forbidden = (("list", "pods"), ("list", "replicasets"), ("list", "events"))
    with Cluster(stuck(), *pods_of(), forbidden=forbidden) as cluster:
        ran = status(cluster.url, tmp_path, "deploy/web", "--timeout=300ms")
    assert ran.notes[-1] == TIMED_OUT
    assert any("could not look at" in line and "pods" in line for line in ran.notes[:-1])


def test_what_may_not_be_watched_is_said_once_and_stands_in_the_result(tmp_path: Path) -> None:
    wrong = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
    late = stuck() | {"status": {**stuck()["status"], "conditions": [wrong]}}
    live = ("deploy/web", "--explain=live", "--timeout=1500ms")
    with Cluster(late, *pods_of(), forbidden=(("list", "pods"), ("list", "events"))) as cluster:
        ran = status(cluster.url, tmp_path, *live)
        last = json.loads(status(cluster.url, tmp_path, *live, "-o", "json").lines[-1])
    told = [line for line in ran.notes if "forbidden" in line]
    assert told in (["could not look at pods, events: forbidden"], ["could not look at events, pods: forbidden"])
    assert last["findings"] and last["unseen"] == {"pods": "forbidden", "events": "forbidden", "nodes": "not watched"}


def test_that_no_more_are_explained_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rawkube.rollout.why.MOST", 1)
    with Cluster(*(stuck(name) for name in "abc"), *pods_of()) as cluster:
        ran = status(cluster.url, tmp_path, "deploy", "a", "b", "c", "--timeout=300ms")
    told = [line for line in ran.notes if "further" in line]
    assert told == ["could not look at further workloads: only 1 are explained at their ends"], ran.notes


def test_a_finished_rollout_and_a_look_ask_for_nothing_more(tmp_path: Path) -> None:
    with Cluster(deployment("a"), stuck(), *pods_of()) as cluster:
        for args in (["deploy/a"], ["deploy/web", "-w=false"], ["deploy/a", "--parallel"]):
            cluster.asked.clear()
            assert status(cluster.url, tmp_path, *args).code == 0
            assert cluster.asked == ["list deployments"], args
        cluster.asked.clear()
        assert status(cluster.url, tmp_path, "deploy/web", "--revision=7").code == 1
        assert cluster.asked == ["list deployments"]


@pytest.mark.parametrize("args", [["--fail-fast"], ["--fail-fast", "--parallel"], ["--fail-fast=9", "--explain=live"]])
def test_what_cannot_succeed_is_given_up(args: list[str], tmp_path: Path) -> None:
    with Cluster(stuck(), *pods_of()) as cluster:
        started = time.monotonic()
        ran = status(cluster.url, tmp_path, "deploy/web", "--timeout=30s", *args)
        assert time.monotonic() - started < 10
    assert ran.code == 1 and ran.lines == [waits("web")]
    assert ran.notes[-1].startswith('error: deployment "web" was given up: pod/web-2-x: ')
    assert sum("pod/web-2-x: " in line for line in ran.notes[:-1]) == 1, ran.notes


def test_causes_are_told_as_they_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rawkube.rollout.causes.GONE", 0.3)
    replica_set, pod = pods_of()
    well = {**pod, "status": {"phase": "Running", "containerStatuses": []}}
    with Cluster(stuck()) as cluster:
        seen: list[str] = []

        class Stderr:
            def write(self, data: bytes) -> int:
                seen.append(bytes(data).decode())
                if "pod/web-2-x" in seen[-1] and not seen[-1].startswith("no longer"):
                    cluster.put(well)
                if "no longer" in seen[-1]:
                    cluster.put({**stuck(), "status": deployment("web")["status"]})
                return len(data)

            def flush(self) -> None: ...

            def isatty(self) -> bool:
                return False

        def appear() -> None:
            cluster.put(replica_set)
            cluster.put(pod)

        threading.Timer(0.3, appear).start()
        (tmp_path / "config").write_text(kubeconfig(cluster.url))
        args = ["--kubeconfig", str(tmp_path / "config"), "rollout", "status", "deploy/web"]
        args += ["--explain=live", "--timeout=20s"]
        code = main(args, out=Output(None, Stderr()))  # type: ignore[arg-type]
    assert code == 0, seen
    assert seen[-1].startswith("no longer: "), "nothing is in the way of what is complete"
    assert [line for line in seen if line.startswith(("pod/web-2-x: ", "no longer: pod/web-2-x: "))]


def test_other_kinds_by_their_own_rules(tmp_path: Path) -> None:
    pod = pods_of()[1]
    ready = {**pod, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    with Cluster(ready, deployment("a")) as cluster:
        assert status(cluster.url, tmp_path, "pod/web-2-x", "-w=false").code == 1
        ran = status(cluster.url, tmp_path, "pod/web-2-x", "--any-kind", "--timeout=5s")
        assert ran.code == 0, ran
        ran = status(
            cluster.url, tmp_path, "deploy/a", "--field=.spec.replicas=4", "--timeout=300ms", "--explain=never"
        )
        assert ran.code == 1 and ran.notes[-1] == TIMED_OUT


def test_the_codes() -> None:
    details = {outcome: exit_code(Overall(outcome), detailed=True, required=False, signal=2) for outcome in OUTCOMES}
    assert details == {**CODES, INTERRUPTED: 130} and len(set(details.values())) == len(OUTCOMES)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("status.[=3", 'error: --field "status.[=3": unterminated array'),
        (".a=", 'error: --field is PATH=VALUE, such as .status.phase=Running, not ".a="'),
        (".a=b=c", 'error: --field is PATH=VALUE, such as .status.phase=Running, not ".a=b=c"'),
    ],
)
def test_a_field_that_cannot_be_read(field: str, text: str, tmp_path: Path) -> None:
    ran = status("http://127.0.0.1:1", tmp_path, "deploy/x", "--field", field)
    assert (ran.code, ran.stderr.strip()) == (1, text)
