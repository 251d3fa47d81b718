"""What `rollout status` says at its end: of many workloads only so much, and no advice that was followed already."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rawkube.api.builtin import lookup
from rawkube.cli import report_lines
from rawkube.cli.output import Output
from rawkube.cli.report_lines import LineReporter
from rawkube.errors import WaitTimeout
from rawkube.rollout.explain.finding import MAYBE, NEVER, WAITS, Finding
from rawkube.rollout.happenings import TIMED_OUT, Explained, Result, Workload
from tests.support.cluster import Cluster
from tests.support.following import status
from tests.support.workloads import deployment

NO_LIMIT = "deployment.apps/web: the Deployment will never be declared failed: progressDeadlineSeconds sets no limit"
ADVICE = "    → set a --timeout"


def result(name: str, *resolves: str) -> Result:
    resource = lookup("deployments")
    assert resource
    findings = tuple(Finding(code=one, text=f"{one} for {name}", object="pod/x", resolves=one) for one in resolves)
    return Result(Workload(resource, "default", name), TIMED_OUT, WaitTimeout(), why=Explained(findings))


def told(reporter: LineReporter, err: io.BytesIO, results: list[Result]) -> list[str]:
    for one in results:
        reporter.tell(one)
    reporter.finish()
    return err.getvalue().decode().splitlines()


def test_of_many_that_end_some_are_told_of_and_how_many_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_lines, "MOST", 2)
    for count, more in ((2, []), (3, ["… and 1 more with something in the way"]), (0, [])):
        err = io.BytesIO()
        results = [result("fine"), *(result(f"w{number}", MAYBE, WAITS) for number in range(count))]
        lines = told(LineReporter(Output(io.BytesIO(), err)), err, results)
        assert (
            lines
            == [f"pod/x: {kind} for w{number}" for number in range(min(count, 2)) for kind in (MAYBE, WAITS)] + more
        )


def test_a_table_tells_of_those_first_that_only_a_change_can_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    live_table = pytest.importorskip("rawkube.cli.live_table")
    monkeypatch.setattr(report_lines, "MOST", 2)
    err = io.BytesIO()
    table = live_table.LiveTable(Output(io.BytesIO(), err))
    for one in (result("a", WAITS), result("b", WAITS, MAYBE), result("c", NEVER), result("d")):
        table.tell(one)
    table.finish()
    assert err.getvalue().decode().splitlines() == [
        "[deployment.apps/c] pod/x: never for c",
        "[deployment.apps/b] pod/x: waits for b",
        "[deployment.apps/b] pod/x: maybe for b",
        "… and 1 more with something in the way",
    ]


def test_no_time_is_advised_where_there_is_one(tmp_path: Path) -> None:
    with Cluster(deployment("web", u=1)) as cluster:
        for flags in (["--timeout=300ms"], ["--timeout-total=300ms"], ["--timeout=900ms", "--explain=live"]):
            notes = status(cluster.url, tmp_path, "deploy/web", *flags).notes
            assert (NO_LIMIT in notes, ADVICE in notes) == (True, False), (flags, notes)


def test_more_than_there_are_can_never_be_complete(tmp_path: Path) -> None:
    never = "3 can never be complete: there are only 2"
    with Cluster(deployment("a", u=1), deployment("b")) as cluster:
        for required, said in (("3", [never]), ("2", []), ("100%", [])):
            ran = status(cluster.url, tmp_path, "deploy", f"--require={required}", "--timeout=300ms", "--explain=never")
            assert ran.code == 1
            assert [line for line in ran.notes if "never" in line] == said, (required, ran.notes)
