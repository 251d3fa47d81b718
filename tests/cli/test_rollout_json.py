"""`rollout status -o json`: every line is allowed by the schema, and the last one always tells how all ended."""

from __future__ import annotations

import io
import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError

from rawkube.api.builtin import known
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.cli.report_json import JsonReporter
from rawkube.rollout.explain.finding import NEVER, Finding
from rawkube.rollout.happenings import Cleared, Found, Note, Workload
from tests.support.cluster import Cluster
from tests.support.following import checked, in_short, status, validator
from tests.support.run import kubeconfig, rawkube_command, start
from tests.support.workloads import daemonset, deployment, statefulset

pytestmark = pytest.mark.usefixtures("hurried")

DEADLINE = ("Progressing", "False", "ProgressDeadlineExceeded")


class Acting:
    """A stdout that lets a test act on each record; in pieces, as a pipe might take them."""

    def __init__(self, act: Any) -> None:
        self.data = b""
        self._act = act

    def write(self, data: bytes) -> int:
        self.data += data
        self._act(in_short(json.loads(bytes(data))))
        return len(data)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False


def test_states_are_told_once_and_by_their_numbers(tmp_path: Path) -> None:
    with Cluster(deployment("a", u=1, g=2, o=2), statefulset("s", rolling={})) as cluster:
        steps = [deployment("a", u=1, g=2, o=2), deployment("a", u=2, g=2, o=2), deployment("a", u=2, g=3, o=2)]
        steps.append(deployment("a", g=3, o=3))

        def put_all() -> None:
            for step in steps:
                cluster.put(step)

        def act(short: str) -> None:
            if short == "result s complete":
                threading.Timer(0.1, put_all).start()

        out = Acting(act)
        (tmp_path / "config").write_text(kubeconfig(cluster.url))
        args = ["--kubeconfig", str(tmp_path / "config"), "rollout", "status", "--all", "-o", "json"]
        assert main(args, out=Output(out, out)) == 0  # type: ignore[arg-type]
    records = checked(out.data.decode())
    of_a = [one for one in records if (one["workload"] or {}).get("name") == "a"]
    assert [(one["type"], one.get("counters", {}).get("updated"), one.get("generation")) for one in of_a] == [
        ("observed", 1, 2),
        ("progress", 2, 2),
        ("observed", 2, 3),
        ("progress", 3, 3),
        ("result", 3, None),
    ]
    assert of_a[0]["workload"] == {
        "kind": "Deployment",
        "group": "apps",
        "namespace": "default",
        "name": "a",
        "uid": "uid-of-a",
    }
    assert of_a[0]["message"].startswith('Waiting for deployment "a" rollout') and not of_a[0]["done"]
    assert of_a[-1]["message"] == 'deployment "a" successfully rolled out' and of_a[-1]["error"] is None
    last = records[-1]
    assert last["workloads"] == {"total": 2, "required": 2, "complete": 2}
    assert last["counters"] == {"desired": 6, "current": 3, "updated": 6, "ready": 3, "available": 3}


ENDS = [
    # What there is, arguments, the code by default and in detail, the last outcome, records in short.
    ([deployment("a")], ["deploy/a"], 0, 0, ["observed a", "result a complete", "result * complete"]),
    ([], ["deploy/a"], 1, 5, ["result a not-found", "result * not-found"]),
    ([], ["deploy"], 0, 5, ["result * not-found"]),
    ([], ["deploy", "--any"], 1, 5, ["result * not-found"]),
    ([deployment("a", condition=DEADLINE)], ["deploy"], 1, 3, ["result a failed", "result * failed"]),
    (
        [deployment("a", u=1)],
        ["deploy", "--timeout=300ms"],
        1,
        6,
        ["observed a", "result a timed-out", "result * timed-out"],
    ),
    (
        [deployment("a", u=1)],
        ["deploy", "--timeout-total=300ms"],
        1,
        6,
        ["observed a", "result a timed-out", "result * timed-out"],
    ),
    (
        [deployment("a", u=1)],
        ["deploy/a", "-w=false"],
        0,
        7,
        ["observed a", "result a unfinished", "result * unfinished"],
    ),
    ([deployment("a")], ["pods"], 1, 1, ["result error", "result * error"]),
    ([deployment("a")], ["deploy/a", "ds/b", "-w=false"], 1, 5, None),
    ([deployment("a")], ["deploy/a", "x"], 1, 1, ["result * error"]),
    ([deployment("a")], ["deploy", "--all", "-l", "x=y", "a"], 1, 1, ["result * error"]),
    ([deployment("a")], ["-f", "/nowhere.yaml"], 1, 1, ["result error", "result * error"]),
    ([daemonset("d", strategy="OnDelete")], ["ds/d"], 1, 1, ["result d error", "result * error"]),
]


def test_causes_and_connections_are_told_as_they_come_and_go() -> None:
    out, finding = io.BytesIO(), Finding("ImageNotFound", "no such image", "pod/a-1", resolves=NEVER, log=("x",))
    of = Workload(known("deployments"), "default", "a")
    reporter = JsonReporter(Output(out, out), clock=lambda: 1.5)
    for found in (Found(of, finding), Found(of, finding, again=True), Cleared(of, finding)):
        reporter.tell(found)
    for note in (Note(of, "lost", lost=True), Note(of, "back")):
        reporter.tell(note)
    reporter.finish()
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    for record in records:
        validator().validate(record)
        assert record["time"] == "1970-01-01T00:00:01.500Z"
        assert record["workload"]["name"] == "a"
    assert [record["type"] for record in records] == ["finding", "finding", "cleared", "reconnecting", "reconnecting"]
    assert [record["again"] for record in records[:2]] == [False, True]
    assert all(record["finding"]["code"] == "ImageNotFound" for record in records[:3])
    assert [(record["lost"], record["message"]) for record in records[3:]] == [(True, "lost"), (False, "back")]


@pytest.mark.parametrize("detailed", [False, True], ids=["as-kubectl", "detailed"])
def test_how_it_ends(detailed: bool, tmp_path: Path) -> None:
    for things, args, code, in_detail, short in ENDS:
        with Cluster(*things) as cluster:
            ran = status(cluster.url, tmp_path, *args, "-o", "json", *["--detailed-exitcode"][: int(detailed)])
        assert ran.code == (in_detail if detailed else code), (args, ran)
        assert short is None or ran.types == short, args
        assert ran.code in (0, 7) or ran.stderr, args
        assert all(record["duration"] < 20 for record in ran.records if record["type"] == "result")


def test_a_dead_server_and_a_wrong_configuration(tmp_path: Path) -> None:
    ran = status("http://127.0.0.1:1", tmp_path, "deploy/a", "-o", "json")
    assert (ran.types, ran.code) == (["result a error", "result * error"], 1)
    assert ran.records[0]["error"]["type"] == "ConnectionRefused"
    assert ran.notes[-1].startswith("The connection to the server 127.0.0.1:1 was refused")
    ran = status("http://127.0.0.1:1", tmp_path, "deploy/a", "-o", "json", "--context=no")
    assert (ran.types, ran.code) == (["result * error"], 1)
    assert "no" in ran.records[0]["error"]["message"]


def test_the_connection_is_lost_and_comes_back(tmp_path: Path) -> None:
    with Cluster(deployment("a", u=1)) as cluster:

        def act(short: str) -> None:
            if short == "observed a":
                cluster.failing = 1
                threading.Timer(0.1, cluster.cut).start()
            if short == "reconnecting":
                cluster.put(deployment("a"))

        out = Acting(act)
        (tmp_path / "config").write_text(kubeconfig(cluster.url))
        args = ["--kubeconfig", str(tmp_path / "config"), "rollout", "status", "deploy", "-o", "json"]
        assert main(args, out=Output(out, out)) == 0  # type: ignore[arg-type]
    records = checked(out.data.decode())
    notes = [(one["lost"], one["workload"]["kind"]) for one in records if one["type"] == "reconnecting"]
    assert notes == [(True, "Deployment"), (False, "Deployment")]


@pytest.mark.parametrize(("flags", "code"), [((), 1), (("--detailed-exitcode",), 130)], ids=["as-kubectl", "detailed"])
def test_ctrl_c_has_a_last_word(flags: tuple[str, ...], code: int, tmp_path: Path) -> None:
    with Cluster(deployment("a", u=1)) as cluster:
        args = ("rollout", "status", "deploy/a", "-o", "json", *flags)
        with start(rawkube_command(), *args, url=cluster.url, home=tmp_path) as running:
            first = running.read_line()
            running.send(signal.SIGINT)
            ran = running.wait()
    assert ran.code == code and ran.stderr == ""
    assert [in_short(record) for record in checked(first + ran.stdout)] == [
        "observed a",
        "result a interrupted",
        "result * interrupted",
    ]
    assert ran.seconds < 10


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    with Cluster(deployment("a", u=1)) as cluster:
        args = ("rollout", "status", "deploy/a", "-o", "json")
        with start(rawkube_command(), *args, url=cluster.url, home=tmp_path) as ran:
            assert ran.read_line()
            assert ran.process.stdout
            ran.process.stdout.close()
            cluster.put(deployment("a"))
            assert ran.process.wait(10) == -signal.SIGPIPE
            assert ran.process.stderr and ran.process.stderr.read() == b""
            ran.process.stdout = None


def test_the_schema_refuses_what_is_not_told() -> None:
    head = {"schema": "rawkube.rollout-status/1", "type": "cleared", "time": "2026-12-01T00:00:00.000Z"}
    wrongs: list[dict[str, Any]] = [{}, head, {**head, "workload": None, "finding": {}}, {**head, "type": "else"}]
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            validator().validate(wrong)
