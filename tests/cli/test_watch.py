"""`rawkube watch` against a scripted server: what it asks, what it prints, how it ends."""

from __future__ import annotations

import io
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.cli.watch import Batch, _Source
from tests.support.answers import AnsweringServer
from tests.support.api_server import ApiServer
from tests.support.run import Command, environment, kubeconfig, rawkube_command
from tests.support.script import (
    Answer,
    Workload,
    added,
    bookmark,
    close,
    deleted,
    failure,
    modified,
    sends,
)
from tests.support.server import Peer, ScriptedServer
from tests.support.watching import watch
from tests.support.workloads import daemonset, deployment

pytestmark = pytest.mark.usefixtures("hurried")

STARTED, UPDATED, DONE = deployment(u=1), deployment(u=2), deployment()
LISTED = "LISTED Deployment default/web 101 0/3 ready"
MODIFIED = "MODIFIED Deployment default/web 102 status.updatedReplicas 1→2"


class TestWhatIsAsked:
    def asked(self, home: Path, *args: str) -> list[tuple[str, dict[str, str]]]:
        """Path and parameters of the LIST and the WATCH."""
        with ApiServer(Workload(STARTED, steps=[modified(UPDATED)]), Workload(daemonset())) as server:
            found = watch(server.url, home, *args, "--count=2")
            assert (found.code, found.notes) == (0, [])
            return [(request.path, request.query) for request in server.asked]

    def test_a_collection(self, tmp_path: Path) -> None:
        (listed, _), (watched, query) = self.asked(tmp_path, "deployments")
        assert listed == watched == "/apis/apps/v1/namespaces/default/deployments"
        assert 180 <= int(query.pop("timeoutSeconds")) <= 230
        assert query == {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "102"}

    def test_one_object(self, tmp_path: Path) -> None:
        (_, listed), (_, watched) = self.asked(tmp_path, "deployment/web", "--watch-timeout=60s")
        assert listed == {"fieldSelector": "metadata.name=web"}
        assert watched["fieldSelector"] == "metadata.name=web"
        assert watched["timeoutSeconds"] == "60"

    def test_every_namespace(self, tmp_path: Path) -> None:
        assert {path for path, _ in self.asked(tmp_path, "deployments", "-A")} == {"/apis/apps/v1/deployments"}

    def test_selectors(self, tmp_path: Path) -> None:
        with ApiServer(Workload(deployment(labels={"a": "b"}))) as server:
            watch(server.url, tmp_path, "deploy", "-l", " a=b ", "--field-selector", "metadata.name=web", "--count=1")
            query = server.asked[0].query
        assert query == {"labelSelector": "a=b", "fieldSelector": "metadata.name=web"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "error: required resource not specified"),
        (["deployment/web", "-l", "a=b"], "selectors and the all flag cannot be used"),
        (["deployment", "web", "--field-selector", "a=b"], "name cannot be provided when a selector is specified"),
        (["deployment/web", "-A"], "a resource cannot be retrieved by name across all namespaces"),
        (["deployment", ".."], 'invalid resource name ".."'),
        (["pods", "-o", "yaml"], 'output format "yaml", allowed formats are: diff,json,name'),
        (["pods", "--count=-1"], "--count must not be less than 0"),
        (["pods", "--timeout=-1s"], "--timeout must not be less than 0"),
        (["pods", "-o", "name", "--bookmarks"], "a bookmark has no name"),
    ],
)
def test_a_wrong_command_line_asks_nobody(args: list[str], said: str, tmp_path: Path) -> None:
    with ApiServer() as server:
        found = watch(server.url, tmp_path, *args)
        assert (found.code, found.stdout, server.asked) == (1, "", [])
    assert said in "\n".join(found.notes)


class TestWhatIsPrinted:
    def test_a_line_for_each_event(self, tmp_path: Path) -> None:
        steps = [modified(UPDATED), bookmark(), deleted(), added(DONE)]
        with ApiServer(Workload(STARTED, steps=steps)) as server:
            found = watch(server.url, tmp_path, "deployments", "--count=4")
        assert found.lines == [
            LISTED,
            MODIFIED,
            "DELETED Deployment default/web 104",
            "ADDED Deployment default/web 105 0/3 ready",
        ]
        assert (found.code, found.notes) == (0, [])

    def test_only_changes(self, tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED, steps=[modified(UPDATED)])) as server:
            assert watch(server.url, tmp_path, "deployment/web", "--watch-only", "--count=1").lines == [MODIFIED]

    def test_diff(self, tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED, steps=[modified(deployment(u=2, a=1))])) as server:
            found = watch(server.url, tmp_path, "deployment/web", "-o", "diff", "--count=2")
        assert found.stdout.splitlines()[2:] == ["    status.updatedReplicas 1→2", "    status.availableReplicas 3→1"]

    def test_json(self, tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED, steps=[modified(UPDATED)])) as server:
            first, second = watch(server.url, tmp_path, "deployment/web", "-o", "json", "--count=2").events
        assert (first["type"], first["initial"], first["changes"]) == ("ADDED", True, [])
        assert first["object"]["kind"] == "Deployment"
        assert (second["type"], second["resourceVersion"]) == ("MODIFIED", "102")
        assert second["changes"] == [{"path": "status.updatedReplicas", "before": 1, "after": 2}]

    def test_name(self, tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED, steps=[modified(UPDATED)])) as server:
            found = watch(server.url, tmp_path, "deployment/web", "-oname", "--count=2")
        assert found.stdout == "deployment.apps/web\n" * 2

    @pytest.mark.parametrize("streaming", [[], ["--initial-events"]])
    def test_bookmarks(self, streaming: list[str], tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED, steps=[bookmark(12746), modified(UPDATED), modified(DONE)])) as server:
            found = watch(server.url, tmp_path, "deployments", "--bookmarks", "--count=4", "--timeout=20s", *streaming)
            assert server.seen() == (["watch-list"] if streaming else ["list", "watch rv=101"])
        end = ["BOOKMARK Deployment 101 end of the initial events"] if streaming else []
        assert found.lines[: 2 + len(end)] == [LISTED, *end, "BOOKMARK Deployment 12746"]

    def test_a_server_that_ignores_field_selectors(self, tmp_path: Path) -> None:
        other = json.dumps({"type": "ADDED", "object": deployment("other")}).encode() + b"\n"
        with ApiServer(Workload(STARTED, steps=[sends(other), modified(UPDATED)])) as server:
            assert watch(server.url, tmp_path, "deployment/web", "--count=2").lines == [LISTED, MODIFIED]

    def test_secrets_are_not_shown(self, tmp_path: Path) -> None:
        secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "type": "Opaque"}
        first, second = ({**secret, "data": {"password": value}} for value in ("aHVudGVyMQ==", "aHVudGVyMg=="))
        for output in ([], ["-odiff"]):
            with ApiServer(Workload(first, steps=[modified(second)])) as server:
                found = watch(server.url, tmp_path, "secret/s", "--count=2", *output)
            assert "data.password <redacted>→<redacted>" in found.stdout
            assert "aHVudGVy" not in found.stdout


class TestSelections:
    LABELLED = deployment(labels={"tier": "x"})

    def test_an_object_that_leaves_the_selection(self, tmp_path: Path) -> None:
        """It is there, only its labels are others."""
        now = deployment(labels={"tier": "y"})
        now["metadata"] |= {"uid": "uid-of-web", "namespace": "default"}
        with ApiServer(Workload(self.LABELLED, steps=[deleted()], found=now)) as server:
            found = watch(server.url, tmp_path, "deployments", "-l", "tier=x", "--count=2")
            assert server.seen()[-1] == "get web"
        assert found.lines[1:] == [
            "LEFT Deployment default/web 102 matches the selector no more: metadata.labels.tier x→y"
        ]

    def test_an_object_that_is_deleted(self, tmp_path: Path) -> None:
        with ApiServer(Workload(self.LABELLED, steps=[deleted()])) as server:
            found = watch(server.url, tmp_path, "deployments", "-l", "tier=x", "-o", "json", "--count=2")
        assert [event.get("departure") for event in found.events] == [None, "deleted"]

    def test_without_a_selector_nothing_more_is_asked(self, tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED, steps=[deleted()])) as server:
            found = watch(server.url, tmp_path, "deployment/web", "--count=2")
            assert server.seen() == ["list", "watch rv=101"]
        assert found.lines[1:] == ["DELETED Deployment default/web 102"]


class TestSeveral:
    def test_types(self, tmp_path: Path) -> None:
        web = Workload(STARTED, steps=[modified(UPDATED)])
        agent = Workload(daemonset(), steps=[modified(daemonset(u=1))])
        with ApiServer(web, agent) as server:
            found = watch(server.url, tmp_path, "deployments,daemonsets", "--count=4")
            assert sorted(set(server.seen()))[0] == "list"
            assert server.seen().count("list") == 2
        assert sorted(line.split(" ")[0] for line in found.lines) == ["LISTED", "LISTED", "MODIFIED", "MODIFIED"]
        assert {line.split(" ")[1] for line in found.lines} == {"DaemonSet", "Deployment"}

    def test_names_and_a_name_twice(self, tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED), Workload(deployment("api"))) as server:
            found = watch(server.url, tmp_path, "deployment", "web", "api", "web", "--count=2")
            assert server.seen().count("list") == 2
        assert sorted(line.split(" ")[2] for line in found.lines) == ["default/api", "default/web"]

    def test_one_that_is_forbidden_does_not_end_the_others(self, tmp_path: Path) -> None:
        with ApiServer(
            Workload(STARTED), Workload(daemonset()), answers={"list": [failure(403, "no entry")]}
        ) as server:
            found = watch(server.url, tmp_path, "deployments,daemonsets", "--timeout=1s")
        assert len(found.lines) == 1
        assert found.notes == ["Error from server (Forbidden): no entry"]
        assert found.code == 1

    def test_an_event_for_each_of_many(self, tmp_path: Path) -> None:
        """More events than wait in the queue."""
        names = [f"web-{number}" for number in range(8)]
        workloads = [
            Workload(deployment(name), steps=[modified(deployment(name, u=number)) for number in range(60)])
            for name in names
        ]
        with ApiServer(*workloads) as server:
            found = watch(server.url, tmp_path, "deployment", *names, "--count", str(8 * 61))
        for name in names:
            mine = [line for line in found.lines if f"default/{name} " in line]
            assert len(mine) == 61
            assert mine[-1].endswith("58→59")


class TestTheEnd:
    def test_count_that_the_time_did_not_suffice_for(self, tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED)) as server:
            found = watch(server.url, tmp_path, "deployments", "--count=2", "--timeout=1s")
        assert (found.lines, found.code) == ([LISTED], 1)
        assert found.notes == ["1 of 2 events came", "error: timed out waiting for the condition"]

    def test_the_first_answer_is_an_error(self, tmp_path: Path) -> None:
        with ApiServer(answers={"list": [failure(403, "no entry")]}) as server:
            found = watch(server.url, tmp_path, "deployments")
        assert (found.code, found.notes) == (1, ["Error from server (Forbidden): no entry"])

    def test_what_is_not_there_yet_is_waited_for(self, tmp_path: Path) -> None:
        with ApiServer(Workload(steps=[added(STARTED)], resource="deployments", name="web")) as server:
            found = watch(server.url, tmp_path, "deployment/web", "--count=1")
        assert found.lines == ["ADDED Deployment default/web 101 0/3 ready"]
        assert found.notes == ['deployments.apps "web" not found; waiting for it']

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (["pods"], "No resources found in default namespace."),
            (["pods", "-A"], "No resources found"),
            (["nodes"], "No resources found"),
        ],
    )
    def test_nothing_there(self, args: list[str], said: str, tmp_path: Path) -> None:
        with ApiServer() as server:
            found = watch(server.url, tmp_path, *args, "--timeout=1s")
        assert (found.lines, found.notes, found.code) == ([], [said], 0)

    @pytest.mark.parametrize(
        "args", [["pods"], ["pods,nodes"], ["pods", "--initial-events"], ["pods", "--count=1"]], ids=str
    )
    def test_time_that_is_over_before_a_list_came_is_an_error(self, args: list[str], tmp_path: Path) -> None:
        with ScriptedServer(Peer.stall) as server:
            found = watch(server.url, tmp_path, *args, "--timeout=0.4s")
        assert (found.lines, found.code) == ([], 1)
        assert any(line.endswith("the server has not told what there is") for line in found.notes)
        assert found.notes[-1] == "error: timed out waiting for the condition"

    def test_a_list_that_continues_with_itself_is_not_read_for_ever(self, tmp_path: Path) -> None:
        page = {"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": "again"}, "items": []}
        with AnsweringServer(Answer(body=json.dumps(page))) as server:
            found = watch(server.url, tmp_path, "pods")
        assert found.notes[-1] == "error: the server continues a list with the page that it has just sent"
        assert found.code == 1

    def started(self, server: ApiServer, home: Path, *args: str) -> Command:
        return Command([*rawkube_command(), "watch", *args], environment(home, server.url))

    @pytest.mark.parametrize("what", ["deployments", "deployments,daemonsets"])
    def test_ctrl_c(self, what: str, tmp_path: Path) -> None:
        with (
            ApiServer(Workload(STARTED), Workload(daemonset())) as server,
            self.started(server, tmp_path, what) as command,
        ):
            assert "LISTED" in command.read_line(), "an event is printed at once"
            command.send(signal.SIGINT)
            result = command.wait()
        assert (result.code, result.stderr) == (130, "")

    def test_sigterm(self, tmp_path: Path) -> None:
        with ApiServer(Workload(STARTED)) as server, self.started(server, tmp_path, "deployments") as command:
            command.read_line()
            command.send(signal.SIGTERM)
            assert command.wait().code == -signal.SIGTERM

    @pytest.mark.parametrize("what", ["deployments", "deployments,daemonsets"])
    def test_a_closed_pipe(self, what: str, tmp_path: Path) -> None:
        steps = [modified(deployment(u=number)) for number in range(2000)]
        with ApiServer(Workload(STARTED, steps=steps), Workload(daemonset())) as server:
            command = self.started(server, tmp_path, what)
            with command:
                command.read_line()
                assert command.process.stdout
                command.process.stdout.close()
                command.process.stdout = None
                code = command.process.wait(30)
                assert command.process.stderr
                assert (code, command.process.stderr.read()) == (-signal.SIGPIPE, b"")


def test_a_group_that_the_server_serves_in_another_version_is_asked_for_there(tmp_path: Path) -> None:
    text = Answer("404 Not Found", "404 page not found\n", content_type="text/plain")
    with ApiServer(answers={"list": [text]}) as server:
        found = watch(server.url, tmp_path, "deployments", "--timeout=0.5s")
        assert "discovery" in server.seen(discovery=True)
    assert found.code == 1, "this server has what the table says: the error stands"


def test_the_watch_is_reopened_at_once_and_without_a_word(tmp_path: Path) -> None:
    with ApiServer(Workload(STARTED, steps=[modified(UPDATED), close(), modified(DONE)])) as server:
        found = watch(server.url, tmp_path, "deployment/web", "--count=3")
        assert server.seen() == ["list", "watch rv=101", "watch rv=102"]
    assert found.lines[1:] == [MODIFIED, "MODIFIED Deployment default/web 103 status.updatedReplicas 2→3"]
    assert found.notes == []


def test_help(tmp_path: Path) -> None:
    shown = subprocess.run(
        [*rawkube_command(), "watch", "--help"],
        capture_output=True,
        text=True,
        env=environment(tmp_path, ""),
        check=True,
    )
    assert "--initial-events" in shown.stdout and "130" in shown.stdout


def test_what_a_thread_did_not_foresee_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: _Source) -> Iterator[Batch]:
        raise KeyError("not foreseen")

    monkeypatch.setattr(_Source, "events", broken)
    config = tmp_path / "config"
    config.write_text(kubeconfig("http://127.0.0.1:1"))
    err = io.BytesIO()
    code = main(["--kubeconfig", str(config), "watch", "deployments,daemonsets"], out=Output(io.BytesIO(), err))
    assert (code, "rawkube itself failed: KeyError: 'not foreseen'" in err.getvalue().decode()) == (1, True)
