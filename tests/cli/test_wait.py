"""`rawkube wait`: what kubectl's has not, what is asked for, and what goes wrong on the way."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.api.expected import CREATED, DELETED, condition
from rawkube.api.list_watch import BackOff
from rawkube.api.waited import Unwanted, Waited, read_goals
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.errors import RawkubeError
from tests.support.api_server import ApiServer
from tests.support.lists import Lists, thing
from tests.support.run import kubeconfig, rawkube_command, start
from tests.support.script import (
    SILENCE,
    Step,
    Workload,
    close,
    deleted,
    drops,
    failure,
    forgets,
    goes_away,
    modified,
    pause,
    unseen,
)

Object = dict[str, Any]


class Ended(NamedTuple):
    stdout: str
    stderr: str
    code: int


def wait(url: str, home: Path, *args: str) -> Ended:
    config = home / "config"
    config.write_text(kubeconfig(url))
    out, err = io.BytesIO(), io.BytesIO()
    code = main(["--kubeconfig", str(config), "wait", *args], out=Output(out, err))
    assert b"Traceback" not in err.getvalue()
    return Ended(out.getvalue().decode(), err.getvalue().decode(), code)


def job(*conditions: Sequence[str], uid: str = "1", **status: Any) -> Object:
    """A Job with conditions (type[, reason, message]) that are True."""
    told = [dict(zip(("type", "reason", "message"), one, strict=False)) | {"status": "True"} for one in conditions]
    metadata = {"name": "load", "generation": 1, "uid": uid}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "status": {"conditions": told, **status}}


def one(*states: Object, then: Sequence[Step] = (), **how: Any) -> ApiServer:
    """A server of one object that goes through these states."""
    steps = [step for state in states[1:] for step in (pause(0.05), modified(state))]
    return ApiServer(Workload(states[0], steps=[*steps, *then]), **how)


def deploy(name: str, **conditions: str) -> Object:
    told = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return thing("Deployment", name, status={"conditions": told})


COMPLETE, FAILED = ("Complete",), ("Failed", "BackoffLimitExceeded", "Job has reached\nthe limit")
FOR, FAIL = "--for=condition=Complete", "--fail-on=condition=Failed"
MET, LATE = "job.batch/load condition met", "--timeout=300ms"
LIMIT = "Job has reached the limit (BackoffLimitExceeded)\n"
TIMED_OUT = "error: timed out waiting for the condition on jobs/load\n"


class TestGoals:
    def test_which_state_meets_what(self) -> None:
        ready, done = job(("Ready",)), job(("Ready",), COMPLETE)
        table: list[tuple[list[str], bool, list[Object | None], list[list[str]], bool]] = [
            (["condition=Ready"], False, [job(), ready], [[], ["condition=Ready"]], True),
            (["condition=Complete", "condition=Ready"], False, [ready, done], [[], ["condition=Complete", "condition=Ready"]], True),
            # One after the other: the first one need not be so any more.
            (["condition=Ready", "delete"], False, [ready, job(), None], [["condition=Ready"], [], ["delete"]], True),
            (["condition=Ready", "create"], False, [None, ready], [[], ["create", "condition=Ready"]], True),
            (["condition=Ready", "condition=Complete"], True, [job(), job(COMPLETE)], [[], ["condition=Complete"]], True),
            (["condition=Ready", "condition=Complete"], True, [done], [["condition=Ready"]], True),
            (["condition=Ready", "delete"], True, [job(), None], [[], ["delete"]], True),
            (["condition=Ready", "create"], True, [None, job()], [[], ["create"]], True),
            (["delete"], False, [None], [[]], True),
            (["delete", "condition=Ready"], False, [job(), None], [[], ["delete"]], True),
            (["condition=Ready", "delete"], False, [job(), None], [[], []], False),
            (["delete", "create"], False, [None, job(), None], [[], ["create"], ["delete"]], True),
        ]  # fmt: skip
        for texts, any_of, states, met, done_at_last in table:
            waited = Waited(read_goals(texts, any_of=any_of))
            assert [[goal.text for goal in waited.take(state)] for state in states] == met, (texts, any_of)
            assert waited.done == done_at_last, (texts, any_of)

    def test_what_must_not_be(self) -> None:
        for text, states in (
            ("condition=Failed", [job(), job(FAILED)]),
            ("jsonpath=.status.x=1", [job(), job(x=1)]),
            ("delete", [None, job(), None]),
            ("create", [None, job()]),
        ):
            waited = Waited(read_goals(["create", "condition=Complete"], [text]))
            for state in states[:-1]:
                waited.take(state)
            with pytest.raises(Unwanted) as raised:
                waited.take(states[-1])
            assert raised.value.goal.text == text

    def test_words(self) -> None:
        goals = read_goals(["condition=a=b", "CREATE", "Delete"])
        assert [goal.expected for goal in goals.wanted] == [CREATED, condition("a=b"), DELETED]
        for wrong in ("", "created", "condition", "=", "jsonpath", "jsonpath={.a", "Condition=a"):
            with pytest.raises(RawkubeError):
                read_goals([wrong])


class TestAnyAndFailOn:
    TABLE: tuple[tuple[str, Callable[[], ApiServer], str, Ended], ...] = (
        ("complete", lambda: one(job(), job(COMPLETE)), f"{FOR} {FAIL}", Ended(f"{MET}\n", "", 0)),
        ("failed", lambda: one(job(), job(FAILED)), f"{FOR} {FAIL}", Ended("", f"{LIMIT}error: jobs/load: condition=Failed is met\n", 1)),
        ("failed before", lambda: one(job(FAILED)), f"{FOR} {FAIL} --timeout=0", Ended("", f"{LIMIT}error: jobs/load: condition=Failed is met\n", 1)),
        ("failed and complete", lambda: one(job(FAILED, COMPLETE)), f"{FOR} {FAIL}", Ended("", f"{LIMIT}error: jobs/load: condition=Failed is met\n", 1)),
        ("neither", lambda: one(job()), f"{FOR} {FAIL} {LATE}", Ended("", TIMED_OUT, 1)),
        ("a field", lambda: one(job(failed=1), job(failed=2)), f"{FOR} --fail-on=jsonpath=.status.failed=2", Ended("", "error: jobs/load: jsonpath=.status.failed=2 is met\n", 1)),
        ("gone", lambda: one(job(), then=[pause(0.05), deleted()]), f"{FOR} --fail-on=delete", Ended("", "error: jobs/load: delete is met\n", 1)),
        ("missing", ApiServer, f"{FOR} {FAIL}", Ended("", 'Error from server (NotFound): jobs.batch "load" not found\n', 1)),
        ("any: the first", lambda: one(job(), job(COMPLETE)), f"{FOR} --for=condition=Failed --any", Ended(f"{MET}: condition=Complete\n", "", 0)),
        ("any: the second", lambda: one(job(), job(FAILED)), f"{FOR} --for=condition=Failed --any", Ended(f"{MET}: condition=Failed\n", "", 0)),
        ("any: none", lambda: one(job()), f"{FOR} --for=condition=Failed --any {LATE}", Ended("", TIMED_OUT, 1)),
        ("any: gone", lambda: one(job(), then=[pause(0.05), deleted()]), f"{FOR} --for=delete --any", Ended(f"{MET}: delete\n", "", 0)),
        ("any, names only", lambda: one(job(COMPLETE)), f"{FOR} --any -o name", Ended("job.batch/load\n", "", 0)),
        ("any, once", lambda: one(job()), f"{FOR} --for=delete --any --timeout=0", Ended("", "error: condition not met for jobs/load\n", 1)),
    )  # fmt: skip

    def test_one_object(self, tmp_path: Path) -> None:
        for about, make, args, expected in self.TABLE:
            with make() as server:
                assert wait(server.url, tmp_path, "job/load", *args.split()) == expected, about

    @pytest.mark.parametrize(("fails", "code"), [("a", 1), ("c", 1), ("", 0)])
    def test_of_several_objects_whichever_fails_ends_it(self, fails: str, code: int, tmp_path: Path) -> None:
        """All of them are watched, by one watch; a line comes when it is so, in whatever order."""
        first = ("MODIFIED", deploy("b", Available="True"))
        others = [("MODIFIED", deploy(name, **{"Failed" if name == fails else "Available": "True"})) for name in "ca"]
        with Lists(*map(deploy, "abc"), watches=[[first, *others]], ends=True) as server:
            args = ("deploy", "a", "b", "c", "--for=condition=Available", FAIL)
            ended = wait(server.url, tmp_path, *args, "--timeout=5s")
            assert sorted(set(server.seen())) == ["LIST deployments", "WATCH deployments"]
        lines = [f"deployment.apps/{name} condition met\n" for name in "bca"]
        assert ended.stdout == "".join(lines[: {"a": 2, "c": 1, "": 3}[fails]])
        assert (ended.code, ended.stderr) == (code, f"error: deployments/{fails}: condition=Failed is met\n" * code)

    def test_of_several_objects_some_are_missing_or_late(self, tmp_path: Path) -> None:
        things = [deploy("a", Available="True"), deploy("b"), thing("Pod", "p")]
        with Lists(*things) as server:
            args = (
                "deploy/a",
                "deploy/nope",
                "deploy/b",
                "pod/p",
                "--for=condition=Available",
                FAIL,
                "--timeout=500ms",
            )
            ended = wait(server.url, tmp_path, *args)
        assert (ended.stdout, ended.code) == ("deployment.apps/a condition met\n", 1)
        assert sorted(ended.stderr.splitlines()) == [
            'Error from server (NotFound): deployments.apps "nope" not found',
            "timed out waiting for the condition on deployments/b",
            "timed out waiting for the condition on pods/p",
        ]


class TestTheWayThere:
    def test_what_is_asked(self, tmp_path: Path) -> None:
        for args, requests in (
            (["job/load", FOR], ["list", "watch rv=101"]),
            (["job/load", FOR, "--for=condition=Failed"], ["list", "watch rv=101"]),
            (["job/load", FOR, "--for=condition=Failed", "--timeout=0"], ["get load"]),
            (["jobs", "--all", FOR], ["list", "watch rv=101"]),
        ):
            with one(job(), job(COMPLETE, FAILED)) as server:
                wait(server.url, tmp_path, *args)
                assert server.seen() == requests

    @pytest.fixture(autouse=True)
    def _hurry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(BackOff, "next", lambda self: 0.01)

    def test_whom_a_list_has_shown_is_not_asked_for_when_the_time_is_over(self, tmp_path: Path) -> None:
        waiting = [Workload(deploy(name, Available="False")) for name in "abc"]
        with ApiServer(*waiting) as server:
            ended = wait(server.url, tmp_path, "deploy", "--all", "--for=condition=Available", "--timeout=200ms")
            assert not [line for line in server.seen() if line.startswith("get")], server.seen()
        late = "timed out waiting for the condition on deployments/"
        assert ended == Ended("", "".join(f"{late}{name}\n" for name in "abc"), 1)

    def test_no_change_is_missed(self, tmp_path: Path) -> None:
        """However the watch ends, it goes on where it was, or with a list of what there is."""
        done = job(COMPLETE)
        for steps in (
            [close(), modified(done)],
            [unseen("MODIFIED", done), close()],
            [unseen("MODIFIED", done), unseen("MODIFIED", job()), drops("reset")],
            [unseen("MODIFIED", done), forgets(), close()],
        ):
            with one(job(), then=steps) as server:
                assert wait(server.url, tmp_path, "job/load", FOR) == Ended(f"{MET}\n", "", 0)

    def test_a_server_that_goes_away_and_comes_back(self, tmp_path: Path) -> None:
        with one(job(), then=[unseen("MODIFIED", job(COMPLETE)), goes_away(0.2)]) as server:
            ended = wait(server.url, tmp_path, "job/load", FOR)
        assert (ended.stdout, ended.code) == (f"{MET}\n", 0)
        assert [line.partition(" (")[0] for line in ended.stderr.splitlines()] == [
            "the connection to the server was lost",
            "the connection to the server is back",
        ]

    def test_a_deletion_that_nobody_told_of(self, tmp_path: Path) -> None:
        """Another object of the same name stands in the list that comes after the watch."""
        steps = [unseen("DELETED"), unseen("ADDED", job(uid="2")), forgets(), close()]
        with one(job(), then=steps) as server:
            assert wait(server.url, tmp_path, "job/load", "--for=delete") == Ended(f"{MET}\n", "", 0)

    def test_what_may_not_be_listed(self, tmp_path: Path) -> None:
        forbidden = failure(403, "jobs.batch is forbidden")
        with one(job(), answers={"list": [forbidden] * 9, "watch": [forbidden] * 9}) as server:
            ended = wait(server.url, tmp_path, "job/load", FOR)
            assert ended == Ended("", "Error from server (Forbidden): jobs.batch is forbidden\n", 1)
        with one(
            job(COMPLETE), answers={"list": [forbidden] * 9, "get": [failure(404, "gone", details={"name": "load"})]}
        ) as server:
            assert wait(server.url, tmp_path, "job/load", FOR, "--for=create").stdout == f"{MET}\n{MET}\n"
            assert server.seen() == ["list", "get load", "list", "get load", "list", "get load"]

    def test_a_server_that_does_not_answer(self, tmp_path: Path) -> None:
        """Nothing is said of what is there and what is not."""
        silent = "the server has not answered\n"
        for args, about in ((["--for=create"], ""), ([FOR], " on jobs/load"), ([FOR, FAIL], " on jobs/load")):
            with ApiServer(answers={"list": [SILENCE]}) as server:
                ended = wait(server.url, tmp_path, "job/load", *args, LATE)
            assert ended == Ended("", f"{silent}error: timed out waiting for the condition{about}\n", 1)
        with ApiServer(answers={"list": [SILENCE]}) as server:
            ended = wait(server.url, tmp_path, "jobs", "--all", FOR, LATE)
        assert ended == Ended("", f"{silent}error: timed out waiting for the condition on jobs\n", 1)

    def test_a_file_of_what_is_to_be_created(self, tmp_path: Path) -> None:
        (tmp_path / "job.yaml").write_text("{apiVersion: batch/v1, kind: Job, metadata: {name: load}}")
        with ApiServer() as server:
            ended = wait(server.url, tmp_path, "-f", str(tmp_path / "job.yaml"), "--for=create", LATE)
        assert ended == Ended("", 'jobs.batch "load" not found\nerror: timed out waiting for the condition\n', 1)

    def test_a_wrong_command_line_asks_nobody(self, tmp_path: Path) -> None:
        for args in (
            ["pods"],
            ["--for=x", "pod/a"],
            ["pod/a", FOR, "--fail-on=x"],
            ["pod/a", FOR, "-o", "bad"],
            ["jobs", FOR],
        ):
            with ApiServer() as server:
                ended = wait(server.url, tmp_path, *args)
                assert (ended.code, ended.stdout, server.asked) == (1, "", [])

    def test_an_output_that_only_kubectl_has(self, tmp_path: Path) -> None:
        ended = wait("http://127.0.0.1:1", tmp_path, "pod/a", FOR, "-o", "jsonpath={.a}")
        assert ended.stderr == 'error: rawkube prints -o json, name, yaml, not "jsonpath={.a}"\n'

    def test_nothing_that_a_terminal_would_obey(self, tmp_path: Path) -> None:
        with one(job(("Failed", "\x1b[2J", "a\x9bb"))) as server:
            ended = wait(server.url, tmp_path, "job/load", FOR, FAIL)
        assert ended.stderr == "a\\x9bb (\\x1b[2J)\nerror: jobs/load: condition=Failed is met\n".replace(
            "\\x9b", "\\u009b"
        )

    def test_a_signal_ends_it_quietly(self, tmp_path: Path) -> None:
        with (
            one(job()) as server,
            start([*rawkube_command(), "wait"], "job/load", FOR, url=server.url, home=tmp_path) as running,
        ):
            while "watch rv=101" not in server.seen():
                assert running.process.poll() is None
            running.send(signal.SIGINT)
            ended = running.wait()
            assert (ended.stdout, ended.stderr, ended.code) == ("", "", 1)
