"""`rollout history|undo|restart|pause|resume` on the screen, where kubectl is no measure."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest
import yaml

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.revisions import agent, db, deployment, replica_set, template, web
from tests.support.run import kubeconfig
from tests.support.script import HANG_UP, Object
from tests.support.stateful import StatefulServer


def rollout(server: StatefulServer, home: Path, *words: str) -> tuple[str, str, int]:
    out, err = io.BytesIO(), io.BytesIO()
    config = home / "config"
    config.write_text(kubeconfig(server.url))
    code = main(["--kubeconfig", str(config), "rollout", *words], out=Output(out, err))
    return out.getvalue().decode(), err.getvalue().decode(), code


def test_undo_and_undo_again_come_back(tmp_path: Path) -> None:
    """What was written is there when it is read."""
    with StatefulServer(*web()) as server:
        assert rollout(server, tmp_path, "undo", "deploy/web")[0] == "deployment.apps/web rolled back\n"
        assert server.object("deployments", "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "img:1"
        said, _, code = rollout(server, tmp_path, "undo", "deploy/web", "--to-revision=1")
        assert (said, code) == (
            "deployment.apps/web skipped rollback (current template already matches revision 1)\n",
            0,
        )
        assert rollout(server, tmp_path, "undo", "deploy/web", "--to-revision=2")[2] == 0
        assert server.object("deployments", "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "img:2"


@pytest.mark.parametrize(("objects", "kind"), [(agent(), "daemonsets/agent"), (db(), "statefulsets/db")])
def test_undo_of_the_others(objects: list[Object], kind: str, tmp_path: Path) -> None:
    resource, name = kind.split("/")
    with StatefulServer(*objects) as server:
        said, _, code = rollout(server, tmp_path, "undo", kind, "--to-revision=1")
        assert (said.endswith("rolled back\n"), code) == (True, 0)
        assert server.object(resource, name)["spec"]["template"]["spec"]["containers"][0]["image"] == "img:1"


def test_pause_and_resume(tmp_path: Path) -> None:
    with StatefulServer(*web()) as server:
        for verb, paused in (("pause", True), ("resume", None), ("pause", True)):
            assert rollout(server, tmp_path, verb, "deploy/web") == (f"deployment.apps/web {verb}d\n", "", 0)
            assert server.object("deployments", "web")["spec"].get("paused") is paused


def test_a_restart_notes_the_local_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "XYZ-05:30")
    time.tzset()
    try:
        with StatefulServer(*web()) as server:
            assert rollout(server, tmp_path, "restart", "deploy/web")[2] == 0
            metadata = server.object("deployments", "web")["spec"]["template"]["metadata"]
        assert metadata["annotations"]["kubectl.kubernetes.io/restartedAt"].endswith("+05:30")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    with StatefulServer(*web()) as server:
        before = json.dumps(server.object("deployments", "web"))
        for word in ("--dry-run", "--dry-run=client", "--dry-run=server"):
            assert rollout(server, tmp_path, "undo", "deploy/web", word)[2] == 0
        assert json.dumps(server.object("deployments", "web")) == before
        assert [one.query for one in server.writes()] == [[("dryRun", "All")]]


@pytest.mark.parametrize("output", ["jsonpath={.x}", "kyaml", "go-template", "templatefile=x"])
@pytest.mark.parametrize("verb", ["history", "undo", "restart"])
def test_an_output_that_rawkube_does_not_have_is_refused_at_once(verb: str, output: str, tmp_path: Path) -> None:
    with StatefulServer(*web()) as server:
        said, problem, code = rollout(server, tmp_path, verb, "deploy/web", "-o", output)
        assert (said, code, server.sent()) == ("", 1, [])
        assert problem == f'error: rawkube prints -o json, name, yaml, not "{output}"\n'


def test_text_from_the_cluster_does_not_reach_the_terminal_raw(tmp_path: Path) -> None:
    cause = {"kubernetes.io/change-cause": "\x1b[31mred\x9b"}
    objects = [deployment(), replica_set("a", 1, template("\x1b]0;title\x07"), annotations=cause)]
    with StatefulServer(*objects) as server:
        listed, _, _ = rollout(server, tmp_path, "history", "deploy/web")
        shown, _, _ = rollout(server, tmp_path, "history", "deploy/web", "--revision=1")
    assert listed.endswith("1         \\x1b[31mred\\x9b\n\n")
    assert "\x1b" not in shown
    assert "img:\\x1b]0;title\\x07" in shown


def test_a_broken_connection_is_told_as_such(tmp_path: Path) -> None:
    """A patch is not repeated: nobody knows whether it was done."""
    with StatefulServer(*web(), answers={"patch": [HANG_UP]}) as server:
        said, problem, code = rollout(server, tmp_path, "restart", "deploy/web")
        assert (said, problem, code) == ("", "Unable to connect to the server: EOF\n", 1)
        assert len(server.writes()) == 1


@pytest.mark.parametrize("verb", ["history", "undo", "restart", "pause", "resume"])
def test_a_command_line_that_is_wrong_contacts_nobody(verb: str, tmp_path: Path) -> None:
    with StatefulServer(*web()) as server:
        assert rollout(server, tmp_path, verb)[1:] == ("error: required resource not specified\n", 1)
        assert rollout(server, tmp_path, verb, "a/b/c")[2] == 1
        assert server.asked == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("history deploy/web --revision=-1", "error: revision must be a positive integer: -1\n"),
        (
            "undo deploy/web --dry-run=maybe",
            'error: Invalid dry-run value (maybe). Must be "none", "server", or "client".\n',
        ),
    ],
)
def test_a_value_that_is_none_of_its_flag_contacts_nobody(words: str, said: str, tmp_path: Path) -> None:
    with StatefulServer(*web()) as server:
        assert rollout(server, tmp_path, *words.split()) == ("", said, 1)
        assert server.asked == []


def test_objects_are_shown_as_they_are_asked_for(tmp_path: Path) -> None:
    """A revision is the object that keeps it: of a Deployment, a ReplicaSet."""
    with StatefulServer(*web()) as server:
        said, _, code = rollout(server, tmp_path, "history", "deploy/web", "--revision=1", "-o", "json")
        shown = json.loads(said)
        assert (code, shown["kind"], said[:7]) == (0, "ReplicaSet", '{\n    "')
        said = rollout(server, tmp_path, "history", "deploy/web", "-o", "yaml")[0]
        (one, two) = yaml.safe_load_all(said)
        assert (one, two["kind"]) == (shown, "ReplicaSet")
        assert said.count("---\n") == 1
        assert rollout(server, tmp_path, "history", "deploy/web", "--revision=1", "-o", "name")[0] == (
            f"replicaset.apps/{shown['metadata']['name']}\n"
        )
        said = rollout(server, tmp_path, "restart", "deploy/web", "-o", "yaml")[0]
        assert yaml.safe_load(said)["kind"] == "Deployment"


def test_of_a_file_only_what_the_selector_selects(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}")
    with StatefulServer(*web()) as server:
        web_ = server.object("deployments", "web")
        server.put({**web_, "metadata": {**web_["metadata"], "labels": {"a": "b"}}})
        file = str(tmp_path / "web.yaml")
        assert rollout(server, tmp_path, "pause", "-f", file, "-l", "a=c")[::2] == ("", 0)
        assert server.writes() == []
        assert rollout(server, tmp_path, "pause", "-f", file, "-l", "a=b")[0] == "deployment.apps/web paused\n"


def test_nothing_is_there(tmp_path: Path) -> None:
    with StatefulServer() as server:
        said = rollout(server, tmp_path, "restart", "deploy", "-n", "demo")
    assert said == ("", "No resources found in demo namespace.\n", 0)


def test_two_restarts_in_one_second_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.localtime()
    monkeypatch.setattr(time, "localtime", lambda *_: now)
    with StatefulServer(*web()) as server:
        assert rollout(server, tmp_path, "restart", "deploy/web")[2] == 0
        problem, code = rollout(server, tmp_path, "restart", "deploy/web")[1:]
    assert (problem, code) == ("error: failed to create patch for web: empty patch\n", 1)


def test_the_one_error_of_a_collection_stands_bare(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("{kind: Deployment}")
    with StatefulServer(*web()) as server:
        problem, code = rollout(server, tmp_path, "restart", "-f", str(tmp_path / "bad.yaml"))[1:]
    assert (problem.partition(": ")[0], code) == (f'unable to decode "{tmp_path}/bad.yaml"', 1)
