"""`exec` in many pods, as a user runs it: its words, its lines, its exit code, its signals."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from rawkube.api.arguments import Wanted
from rawkube.cli.commands import read_command
from rawkube.cli.exec_many import read_arguments
from rawkube.errors import UsageError
from tests.support.exec_process import Running, run_exec, signals_reach_commands
from tests.support.pods_server import PodsServer, a_pod
from tests.support.rows import looped
from tests.support.script import failure
from tests.support.websocket import Far, Script, exit_status, words

# The command line


def read(*words: str) -> tuple[list[Wanted], list[str]]:
    return read_arguments(read_command(["exec", *words])[1])


def test_pods_and_the_command() -> None:
    assert read("--parallel=2", "a", "deploy/b", "--", "ls", "--", "-l") == (
        [Wanted("pods", "a"), Wanted("deploy", "b")],
        ["ls", "--", "-l"],
    )
    assert read("-l", "app=web", "--", "ls") == ([], ["ls"])


HELP = "\nSee 'rawkube exec -h' for help and examples"


@looped(
    ("line", "text"),
    [
        ("-l a=b p -- x", "name cannot be provided when a selector is specified"),
        ("--parallel=2 -- x", "pods or a selector must be specified"),
        ("--selector= -- x", "pods or a selector must be specified"),
        ("--parallel=2 p q --", "you must specify at least one command for the container"),
        ("-l a=b", "you must specify at least one command for the container"),
        (
            "-l a=b ls",
            f"exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead{HELP}",
        ),
        ("-i -l a=b -- x", f"--stdin cannot be used with many pods: there is no input for them{HELP}"),
        ("-t -l a=b -- x", f"--tty cannot be used with many pods: there is no input for them{HELP}"),
        ("-f F --parallel=2 -- x", f"--filename cannot be used with many pods{HELP}"),
        ("--parallel=0 p -- x", f"--parallel must be at least 1: 0{HELP}"),
        ("--parallel=2 --pod-running-timeout=0s p -- x", f"--pod-running-timeout must be higher than zero{HELP}"),
        ("--parallel=2 a/b/c -- x", "arguments in resource/name form may not have more than one slash"),
    ],
)
def test_what_cannot_be_meant(line: str, text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(*line.split(" "))
    assert str(raised.value) == text


def test_several_names_need_the_flag(tmp_path: Path) -> None:
    with PodsServer({}, []) as server:
        ended = run_exec("p", "q", "--", "x", url=server.url, home=tmp_path)
    assert (ended.code, server.asked) == (1, [])
    assert ended.stderr.startswith("error: exec [POD] [COMMAND] is not supported anymore.")


# The whole


def says(name: str, code: int = 0) -> Script:
    def script(far: Far) -> None:
        far.out(f"{name} one\n".encode())
        far.err(f"{name} bad\n".encode())
        far.out(f"{name} two".encode())
        far.end(exit_status(code) if code else b'{"status":"Success"}')

    return script


def web(number: int, **more: str) -> dict[str, object]:
    return a_pod(f"web-{number}", labels={"app": "web"}, **more)  # type: ignore[arg-type]


def test_every_pod_that_is_selected(tmp_path: Path) -> None:
    pods = [web(0), web(1), web(2, phase="Succeeded"), a_pod("db-0")]
    with PodsServer({f"web-{n}": says(f"web-{n}") for n in range(3)}, pods) as server:
        ended = run_exec("-l", "app=web", "--", "echo", "a b", url=server.url, home=tmp_path)
    assert ended.code == 0
    assert sorted(ended.stdout.decode().splitlines()) == [
        "[web-0] web-0 one",
        "[web-0] web-0 two",
        "[web-1] web-1 one",
        "[web-1] web-1 two",
    ]
    assert sorted(ended.stderr.splitlines()) == [
        "[web-0] web-0 bad",
        "[web-1] web-1 bad",
        "[web-2] left out: cannot exec into a container in a completed pod; current phase is Succeeded",
    ]
    assert server.gets() == ["list app=web"]
    assert [words(request) for request in server.upgrades] == [["echo", "a b"]] * 2
    assert {request.query.get("stdin") for request in server.upgrades} == {None}


def test_the_highest_exit_code_and_who_failed(tmp_path: Path) -> None:
    scripts = {"a": says("a", 3), "b": says("b"), "c": says("c", 9), "d": lambda far: far.close(1011)}
    pods = [a_pod(name) for name in "abcd"]
    args = ("--parallel", "2", "a", "b", "pod/c", "d", "a", "none", "--", "x")
    with PodsServer(scripts, pods) as server:
        ended = run_exec(*args, url=server.url, home=tmp_path)
    assert ended.code == 9
    assert ended.last == "failed in 4 of 5 pods: a (exit code 3), c (exit code 9), d (error), none (error)"
    lines = ended.stderr.splitlines()
    assert '[none] error: pods "none" not found' in lines
    assert "[a] command terminated with exit code 3" in lines
    assert len(server.upgrades) == 4, "a pod that is named twice runs it once"


def test_containers_are_named_where_there_are_several(tmp_path: Path) -> None:
    pods = [a_pod("one"), a_pod("two", "app", "log")]
    with PodsServer({"one": says("one"), "two": says("two")}, pods) as server:
        ended = run_exec("--parallel=1", "one", "two", "--", "x", url=server.url, home=tmp_path)
        other = run_exec("--parallel=1", "two", "-c", "log", "--", "x", url=server.url, home=tmp_path)
    assert ended.stdout == b"[one] one one\n[one] one two\n[two/app] two one\n[two/app] two two\n"
    assert other.stdout == b"[two/log] two one\n[two/log] two two\n"


def test_nothing_is_selected(tmp_path: Path) -> None:
    with PodsServer({}, [a_pod("p")]) as server:
        ended = run_exec("-l", "app=web", "--", "x", url=server.url, home=tmp_path)
    assert ended == ended._replace(
        code=1, stdout=b"", stderr='error: no pod to run a command in matches "app=web" in default namespace\n'
    )


def test_a_refusal_is_told_for_its_pod(tmp_path: Path) -> None:
    with PodsServer({}, [a_pod("p")], refusals=[failure(403, 'pods "p" is forbidden')]) as server:
        ended = run_exec("--parallel=1", "p", "--", "x", url=server.url, home=tmp_path)
    assert ended.code == 1
    assert '[p] error: unable to upgrade connection: pods "p" is forbidden' in ended.stderr.splitlines()
    assert ended.last == "failed in 1 of 1 pods: p (error)"


def test_a_server_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    with PodsServer({}, []) as server:
        url = server.url
    ended = run_exec("--parallel=2", "a", "b", "--", "x", url=url, home=tmp_path)
    assert ended.code == 1
    assert ended.stderr.count("was refused - did you specify") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_ends_all_of_them(tmp_path: Path, number: signal.Signals, code: int) -> None:
    closed: list[int] = []
    both = threading.Barrier(2, timeout=20)

    def script(far: Far) -> None:
        both.wait()
        far.out(b"begun\n")
        closed.append(far.wait_close())
        far.close()
        far.until_gone()

    with (
        PodsServer({"a": script, "b": script}, [a_pod("a"), a_pod("b")]) as server,
        signals_reach_commands(),
        Running(["--parallel=2", "a", "b", "--", "x"], url=server.url, home=tmp_path) as running,
    ):
        assert sorted(running.stdout.readline() for _ in "ab") == [b"[a] begun\n", b"[b] begun\n"]
        running.send(number)
        ended = running.wait()
    assert (ended.code, ended.stderr) == (code, "failed in 2 of 2 pods: a (not finished), b (not finished)\n")
    assert closed == [1000, 1000]


def test_a_signal_tells_who_had_not_finished(tmp_path: Path) -> None:
    done = threading.Event()

    def hangs(far: Far) -> None:
        far.out(b"begun\n")
        done.wait(20)

    pods = [a_pod(name) for name in "abc"]
    with (
        PodsServer({"a": says("a", 3), "b": hangs, "c": says("c")}, pods) as server,
        signals_reach_commands(),
        Running(["--parallel=1", "c", "a", "b", "--", "x"], url=server.url, home=tmp_path) as running,
    ):
        while running.stdout.readline() != b"[b] begun\n":
            pass
        running.send(signal.SIGINT)
        ended = running.wait()
        done.set()
    assert (ended.code, ended.last) == (130, "failed in 2 of 3 pods: a (exit code 3), b (not finished)")


def test_a_reader_that_goes_ends_all_of_them(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        while True:
            far.out(b"x" * 1000 + b"\n")

    with (
        PodsServer({"a": script, "b": script}, [a_pod("a"), a_pod("b")]) as server,
        signals_reach_commands(),
        Running(["--parallel=2", "a", "b", "--", "x"], url=server.url, home=tmp_path) as running,
    ):
        assert running.stdout.read(3) in (b"[a]", b"[b]")
        running.stdout.close()
        assert running.process.wait(20) == -signal.SIGPIPE
