"""A server that takes a connection and says nothing: the time that was given bounds a command from its beginning."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.support.api_server import ApiServer
from tests.support.following import checked
from tests.support.here import run_at, run_here
from tests.support.script import Workload
from tests.support.server import Peer, ScriptedServer
from tests.support.workloads import daemonset, deployment

NO_ANSWER = "the server has not answered"
TIMED_OUT = "error: timed out waiting for the condition"
NO_HEADERS = (
    "Unable to connect to the server: context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
)
# Far below what a request may take without a time of its own (32 s for discovery, else 60 s).
SOON = 10.0


def silent(peer: Peer) -> None:
    peer.read_request()
    peer.stall()


def answers_only(*paths: str) -> ScriptedServer:
    """Groups in the form of old servers, each of which is one document more to ask for."""

    def serve(peer: Peer) -> None:
        while True:
            path = peer.read_request().path
            if path not in paths:
                peer.stall()
            version = {"groupVersion": "slow.dev/v1", "version": "v1"}
            group = {"name": "slow.dev", "versions": [version], "preferredVersion": version}
            body = {"kind": "APIVersions", "versions": []} if path == "/api" else {"kind": "APIGroupList"}
            peer.reply(json.dumps({**body, "apiVersion": "v1", "groups": [group]}))

    return ScriptedServer(serve)


@pytest.mark.parametrize(
    "command",
    [
        "rollout status deploy/web --timeout=100ms",
        "rollout status deploy/web --timeout-total=100ms",
        "rollout status deploy -l app=web --timeout=100ms",
        "rollout status hc/web --timeout=100ms",
        "rollout status hc/web --timeout-total=100ms",
        "rollout status hc/web --any-kind --timeout=100ms",
        "rollout status pods/web --timeout=100ms",
        "rollout status deploy/web --fail-fast --timeout=100ms",
        "rollout status hc/web --parallel --timeout=100ms",
        "wait hc/web --for=condition=Ready --timeout=100ms",
        "watch hc --timeout=100ms",
        "watch deploy --timeout=100ms",
    ],
)
def test_the_time_of_a_command_bounds_its_first_request(command: str, tmp_path: Path) -> None:
    with ScriptedServer(silent) as server:
        ran = run_at(server.url, *command.split(), home=tmp_path)
    assert (ran.code, ran.stdout, ran.last) == (1, "", TIMED_OUT)
    assert "the server has not" in ran.stderr
    assert 0.1 <= ran.seconds < SOON


def test_the_time_of_a_command_bounds_each_of_several(tmp_path: Path) -> None:
    """What of several is waited for is named, where kubectl names it, or where they are waited for at once."""
    table = {
        "wait deploy/web deploy/db --for=condition=Ready --timeout=100ms": [
            "timed out waiting for the condition on deployments/db",
            "timed out waiting for the condition on deployments/web",
        ],
        "wait deploy --all --for=condition=Ready --timeout=100ms": [
            "error: timed out waiting for the condition on deployments",
        ],
        "rollout status deploy,sts --all --parallel --timeout=100ms": [
            "deployment.apps: timed out waiting for the condition",
            "statefulset.apps: timed out waiting for the condition",
        ],
    }
    with ScriptedServer(silent) as server:
        for command, said in table.items():
            ran = run_at(server.url, *command.split(), home=tmp_path)
            lines = ran.stderr.splitlines()
            assert (ran.code, ran.stdout, sorted(lines[-len(said) :])) == (1, "", said), command
            assert lines[-len(said) - 1] == NO_ANSWER, command
            assert ran.seconds < SOON, command


@pytest.mark.parametrize(
    "command",
    [
        *(
            "rollout status deploy/web",
            "rollout status hc/web",
            "rollout history deploy/web",
            "rollout undo deploy/web",
        ),
        *("rollout restart deploy/web", "get pods", "get pods -w", "get hc", "api-resources", "watch deploy"),
        *("explain-name hc", "logs web", "exec web -- date", "attach web", "cp web:a b", "raw /version", "auth whoami"),
        *("auth can-i get pods", "wait hc/web --for=delete"),
    ],
)
def test_the_time_of_a_request_bounds_a_command_that_gets_no_answer(command: str, tmp_path: Path) -> None:
    with ScriptedServer(silent) as server:
        ran = run_at(server.url, "--request-timeout=100ms", *command.split(), home=tmp_path)
    assert (ran.code, ran.stdout, ran.last) == (1, "", NO_HEADERS)
    assert ran.seconds < SOON


@pytest.mark.parametrize("answered", [(), ("/api",), ("/api", "/apis")], ids=["none", "core", "all-but-one-group"])
def test_discovery_that_stops_half_way(answered: tuple[str, ...], tmp_path: Path) -> None:
    with answers_only(*answered) as server:
        ran = run_at(server.url, "rollout", "status", "hc/web", "--timeout=100ms", home=tmp_path)
    assert (ran.code, ran.stdout, ran.stderr.splitlines()[-2:]) == (1, "", [NO_ANSWER, TIMED_OUT])
    assert ran.seconds < SOON


def test_json_says_that_the_time_was_over(tmp_path: Path) -> None:
    with ScriptedServer(silent) as server:
        for what in ("deploy/web", "hc/web"):
            ran = run_at(
                server.url,
                *("rollout", "status", what, "--timeout=100ms", "-o", "json", "--detailed-exitcode"),
                home=tmp_path,
            )
            end = checked(ran.stdout)[-1]
            assert (end["outcome"], ran.code) == ("timed-out", 6), what


def test_each_has_its_own_time_from_its_turn_on(tmp_path: Path) -> None:
    """Two that are never done take twice as long as one."""
    with ScriptedServer(silent) as server:
        ran = run_at(server.url, "rollout", "status", "deploy/a", "deploy/b", "--timeout=100ms", home=tmp_path)
    assert ran.stderr.splitlines()[-3:] == [NO_ANSWER, *[TIMED_OUT.removeprefix("error: ")] * 2]
    assert 0.2 <= ran.seconds < SOON


def crew_threads() -> int:
    """Those that read for a command."""
    return sum("(_work)" in thread.name for thread in threading.enumerate())


def test_nobody_goes_on_reading_for_a_command_that_is_over(tmp_path: Path) -> None:
    before = crew_threads()
    with ApiServer(Workload(deployment()), Workload(daemonset())) as server:
        ran = run_at(server.url, "watch", "deployments,daemonsets,statefulsets", "--count=2", home=tmp_path)
        assert (ran.code, crew_threads()) == (0, before)


PLUGIN = """\
apiVersion: v1
current-context: c
clusters: [{{name: c, cluster: {{server: "{url}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u, namespace: demo}}}}]
users:
- name: u
  user:
    exec: {{apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ["60"], interactiveMode: Never}}
"""


@pytest.mark.parametrize("way", ["tls", "plugin"])
def test_what_comes_before_the_request_counts_too(way: str, tmp_path: Path) -> None:
    """A handshake, and a credential plugin; a line says which it was."""
    config = tmp_path / "config"
    said = {
        "tls": "127.0.0.1:PORT",  # did not finish the handshake; or, where there was hardly time, was not reached
        "plugin": "exec: executable sleep has not ended",
    }
    with ScriptedServer(lambda peer: peer.stall()) as server:
        url = server.url.replace("http:", "https:")
        text = PLUGIN.format(url=url)
        config.write_text(text if way == "plugin" else text.partition("    exec:")[0].replace("  user:", "  user: {}"))
        for command, last in (
            ("rollout status deploy/web --timeout=700ms", TIMED_OUT),
            ("wait hc/web --for=delete --timeout=700ms", TIMED_OUT),
            ("get pods --request-timeout=700ms", NO_HEADERS),
        ):
            ran = run_here(*command.split(), config=config)
            assert (ran.code, ran.stdout, ran.last) == (1, "", last), command
            assert said[way] in ran.stderr.splitlines()[0].replace(str(server.port), "PORT"), command
            assert ran.seconds < SOON, command
