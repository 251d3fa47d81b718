"""`logs` as a command: its own texts, what it does beyond kubectl, and a recording of a real server."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.go_time import parse_rfc3339
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.errors import UsageError
from rawkube.remotecommand.log_target import Choice, sources_of_pods
from rawkube.remotecommand.logs import Wanted, log_query
from tests.support.logs_server import Log, LogsServer, Reply, answers, line
from tests.support.pods_server import a_pod, statuses, terminated
from tests.support.recordings import FIXTURES, exchanges
from tests.support.rows import looped
from tests.support.run import environment, kubeconfig, rawkube_command, run, start
from tests.support.script import failure
from tests.support.server import Peer, SeenRequest

RECORDING = FIXTURES / "verbs" / "logs.jsonl"


class Shown(NamedTuple):
    stdout: bytes
    stderr: list[str]
    code: int


def logs(args: Sequence[str], home: Path, pods: Sequence[Any], logs: Mapping[str, Sequence[Reply]]) -> Shown:
    out, err = io.BytesIO(), io.BytesIO()
    with LogsServer(pods, logs) as server:
        config = environment(home, server.url)["KUBECONFIG"]
        code = main(["--kubeconfig", config, "logs", *args], out=Output(out, err))
    return Shown(out.getvalue(), err.getvalue().decode().splitlines(), code)


def ended(name: str, *containers: str, **labels: str) -> dict[str, Any]:
    return a_pod(name, *(containers or ("main",)), labels=labels, status=statuses(state=terminated(0)))


@looped(
    ("text", "expected"),
    [
        ("2024-08-30T06:00:00Z", "2024-08-30T06:00:00Z"),
        ("2024-08-30T06:00:00.999Z", "2024-08-30T06:00:00Z"),
        ("2024-08-30T06:00:00,9Z", "2024-08-30T06:00:00Z"),
        ("2024-08-30T6:00:00Z", "2024-08-30T06:00:00Z"),
        ("2024-01-01T00:30:00+01:00", "2023-12-31T23:30:00Z"),
        ("2024-02-29T23:30:00-00:30", "2024-03-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_a_time(text: str, expected: str) -> None:
    assert parse_rfc3339(text) == expected


@looped(
    ("text", "why"),
    [
        ("", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("2023-02-29T00:00:00Z", ": day out of range"),
        ("2024-08-30T06:60:00Z", ": minute out of range"),
        ("2024-08-30T06:00:60Z", ": second out of range"),
        ("2024-08-30T25:00:00Z", ": hour out of range"),
        ("2024-08-30T06:00:00+25:00", ": time zone offset hour out of range"),
        ("2024-08-30T06:00:00+24:61", ": time zone offset minute out of range"),
        ("2024-08-30T06:00:00+1:00", ' as "2006-01-02T15:04:05Z07:00": cannot parse "+1:00" as "Z07:00"'),
        ("0001-01-01T00:00:00+01:00", ": year out of range"),
        ("2024-08-30T06:00:00Z ", ': extra text: " "'),
        ("2024-08-30 06:00:00Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse " 06:00:00Z" as "T"'),
        ("2024-8-30T06:00:00Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse "8-30T06:00:00Z" as "01"'),
    ],
)
def test_no_time(text: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_rfc3339(text)
    assert str(caught.value) == f'parsing time "{text}"{why}'


@looped(
    ("words", "said"),
    [
        ("", "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'."),
        ("a b c", "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'."),
        ("web -l app=x", "only a selector (-l) or a POD name is allowed"),
        ("web --pod-running-timeout=0s", "--pod-running-timeout must be higher than zero"),
        ("web --since=1s --since-time=2024-08-30T06:00:00Z", "at most one of `sinceTime` or `sinceSeconds` may be "),
        ("web main --all-containers", "--all-containers=true should not be specified with container name main"),
        ("web main -c main", "only one of -c or an inline [CONTAINER] arg is allowed"),
        ("web --limit-bytes=-1", "--limit-bytes must be greater than 0"),
        ("web --since=-1s", "--since must be greater than 0"),
        ("web --tail=-2", "--tail must be greater than or equal to -1"),
        ("-f -l app=x --max-log-requests=1", "you are attempting to follow 2 log streams, but maximum allowed "),
    ],
)
def test_what_is_refused(words: str, said: str, tmp_path: Path) -> None:
    shown = logs(words.split(), tmp_path / f"for {words}", [ended("web", app="x"), ended("db", app="x")], {})
    assert (shown.stdout, shown.code) == (b"", 1)
    assert any(said in text for text in shown.stderr), shown


def test_a_selector_that_selects_nothing(tmp_path: Path) -> None:
    shown = logs(["-l", "app=none"], tmp_path, [ended("web", app="x")], {})
    assert shown == (b"", ["No resources found in default namespace."], 0)


WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {}},
}


class Later(LogsServer):
    """There are no pods until somebody watches; `said` are the events of the watch."""

    said: Sequence[Any] = ()

    def _list(self, peer: Peer, request: SeenRequest) -> None:
        if request.query.get("watch") == "true":
            assert (request.query["resourceVersion"], request.query["labelSelector"]) == ("5", "app=web")
            peer.reply("".join(json.dumps(one) + "\n" for one in self.said))
        else:
            listing = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": []}
            peer.reply(json.dumps(listing))


def of_web(args: Sequence[str], home: Path, *pods: Any, kind: type[LogsServer] = LogsServer) -> Shown:
    out, err = io.BytesIO(), io.BytesIO()
    replies = {f"{name}/main": [Log([line(0, name)])] for name in ("web-a", "web-b")}
    with kind(pods, replies, {"/apis/apps/v1/namespaces/default/deployments/web": WEB}) as server:
        (home / "config").write_text(kubeconfig(server.url))
        code = main(["--kubeconfig", str(home / "config"), "logs", "deploy/web", *args], out=Output(out, err))
    return Shown(out.getvalue(), err.getvalue().decode().splitlines(), code)


def test_the_pods_behind_an_object(tmp_path: Path) -> None:
    pods = [ended("web-a", app="web"), ended("web-b", app="web"), ended("other", app="other")]
    one = of_web([], tmp_path, *pods)
    assert one == (b"web-a\n", ["Found 2 pods, using pod/web-a"], 0)
    both = of_web(["--all-pods"], tmp_path, *pods)
    assert (sorted(both.stdout.splitlines()), both.stderr, both.code) == (
        [b"[pod/web-a/main] web-a", b"[pod/web-b/main] web-b"],
        [],
        0,
    )


def test_the_first_pod_that_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Later, "said", [{"type": "ADDED", "object": ended("web-b", app="web")}])
    assert of_web([], tmp_path, kind=Later) == (b"web-b\n", [], 0)
    monkeypatch.setattr(Later, "said", [])
    none = of_web([], tmp_path, kind=Later)
    assert none[::2] == (b"", 1)
    assert none.stderr[-1] == "error: watch closed before UntilWithoutRetry timeout"


def test_a_cut_log_is_exit_code_1_with_the_reason(tmp_path: Path) -> None:
    shown = logs(["web"], tmp_path, [ended("web")], {"web/main": [Log([line(0, "hello")]).breaks(4)]})
    assert shown == (
        b"hell",
        [
            "the log of pod/web/main is not whole: the server's answer did not come to its end",
            "error: unexpected EOF",
        ],
        1,
    )


def test_a_followed_log_is_taken_up_again(tmp_path: Path) -> None:
    log = Log([line(1, "one"), line(2, "two"), line(3, "three")])
    shown = logs(["-f", "web", "--prefix"], tmp_path, [ended("web")], {"web/main": [log.breaks(50), log]})
    assert shown == (
        b"[pod/web/main] one\n[pod/web/main] two\n[pod/web/main] three\n",
        ["the log of pod/web/main broke off (unexpected EOF): taken up again from 2026-11-30T10:00:01Z"],
        0,
    )


def test_followed_logs_do_not_mix_within_a_line(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    world = {f"{name}/main": [Log([line(at % 60, name * 300) for at in range(200)], piece=100)] for name in names}
    pods = [ended(name, app="x") for name in names]
    shown = logs(["-f", "-l", "app=x", "--tail=-1"], tmp_path, pods, world)
    assert sorted(shown.stdout.split()) == sorted((name * 300).encode() for name in names for _ in range(200))
    assert (shown.stderr, shown.code) == ([], 0)


def test_a_line_without_an_end_is_not_continued_by_another_log(tmp_path: Path) -> None:
    pods = [ended(name, app="x") for name in ("a", "b", "c")]
    world = {f"{name}/main": [Log([line(0, name, end=b"")])] for name in ("a", "b", "c")}
    shown = logs(["-f", "-l", "app=x"], tmp_path, pods, world)
    assert sorted(shown.stdout.split(b"\n")) == [b"a", b"b", b"c"]


def test_one_of_several_fails(tmp_path: Path) -> None:
    pods = [ended("a", app="x"), ended("b", app="x")]
    world: dict[str, Sequence[Reply]] = {
        "a/main": [Log([line(0, "a")], "hang")],
        "b/main": [answers(failure(403, "no logs for you"))],
    }
    shown = logs(["-f", "-l", "app=x"], tmp_path, pods, world)
    assert (shown.stderr[-1], shown.code) == ("Error from server (Forbidden): no logs for you", 1)
    world["a/main"] = [Log([line(0, "a")])]
    shown = logs(["-f", "-l", "app=x", "--ignore-errors"], tmp_path / "again", pods, world)
    assert sorted(shown.stdout.split(b"\n")) == [b"", b"a", b"error: no logs for you"]
    assert (shown.stderr, shown.code) == ([], 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("pods", [["a"], ["a", "b"]])
def test_a_signal_ends_it_as_it_ends_kubectl(number: signal.Signals, pods: list[str], tmp_path: Path) -> None:
    world = {f"{name}/main": [Log([line(0, "a")], "hang")] for name in pods}
    server = LogsServer([ended(name, app="x") for name in pods], world)
    args = ("logs", "-f", "-l", "app=x")
    with server, start(rawkube_command(), *args, url=server.url, home=tmp_path) as running:
        assert running.read_line() == "a\n"
        running.send(number)
        ended_so = running.wait()
    assert (ended_so.stderr, ended_so.code) == ("", 1)


def test_a_closed_stdout_is_a_quiet_end(tmp_path: Path) -> None:
    log = Log([line(at % 60, "x" * 100) for at in range(20_000)])
    with LogsServer([ended("web")], {"web/main": [log]}) as server:
        command = " ".join([sys.executable, "-m", "rawkube", "logs", "web"])
        result = run(["sh", "-c", f"{command} | head -n 1"], url=server.url, home=tmp_path)
    assert (result.stdout, result.stderr) == ("x" * 100 + "\n", "")


# What kubectl asked a real server for.


def recorded(path: str) -> Any:
    (found,) = (each for each in exchanges(RECORDING) if each.path == path)
    return found


def test_the_recorded_requests_of_all_containers() -> None:
    import json

    pod = json.loads(recorded("/api/v1/namespaces/demo/pods/multi").body)
    notes: list[str] = []
    found = sources_of_pods([pod], "demo", Choice(all_containers=True), notes.append)
    asked = [dict(log_query(source.container, Wanted(tail=3))) for source in found]
    queries = [each.query for each in exchanges(RECORDING) if each.path.endswith("/pods/multi/log")]
    assert sorted(asked, key=str) == sorted(queries, key=str)
    (chosen,) = sources_of_pods([pod], "demo", Choice(), notes.append)
    assert (chosen.container, notes) == ("second", [])


@pytest.mark.parametrize(
    ("words", "last", "code"),
    [
        ("multi -n demo --all-containers --tail=3", "", 0),
        ("nope -n demo", 'error: error from server (NotFound): pods "nope" not found in namespace "demo"', 1),
    ],
)
def test_against_the_recording(words: str, last: str, code: int, tmp_path: Path) -> None:
    command = [*rawkube_command(), "replay", str(RECORDING), "--speed=max", "--", "logs", *words.split()]
    result = run(command, url="http://127.0.0.1:1", home=tmp_path)
    assert (result.stdout, result.last, result.code) == ("", last, code)
