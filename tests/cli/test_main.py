"""Whole command lines inside this process: what is printed where, and the exit code."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rawkube import __version__
from rawkube.cli import version as version_module
from rawkube.cli.commands import ROOT, all_commands
from rawkube.cli.flags import Parsed
from rawkube.cli.help import help_text
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.errors import (
    ConfigError,
    ConnectionLost,
    ConnectionRefused,
    DecodeError,
    ObjectDeleted,
    RawkubeError,
    RolloutFailed,
    StatusError,
    TransportError,
    UsageError,
    WaitTimeout,
)
from tests.support.api_server import ApiServer
from tests.support.rows import looped
from tests.support.run import kubeconfig
from tests.support.script import Workload, failure, modified
from tests.support.server import ScriptedServer
from tests.support.workloads import deployment

OK = 'deployment "web" successfully rolled out\n'


class Ran(NamedTuple):
    stdout: str
    stderr: str
    code: int


def run(*argv: str) -> Ran:
    stdout, stderr = io.BytesIO(), io.BytesIO()
    code = main(argv, out=Output(stdout, stderr))
    return Ran(stdout.getvalue().decode(), stderr.getvalue().decode(), code)


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def nothing_of_the_testers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_MASTER", "HTTP_PROXY", "http_proxy", "RAWKUBE_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))


@pytest.fixture
def to(tmp_path: Path) -> Callable[[str], None]:
    """Lets the kubeconfig name this server."""

    def write(url: str) -> None:
        (tmp_path / "config").write_text(kubeconfig(url))

    return write


class TestVersion:
    def test_text(self) -> None:
        stdout, stderr, code = run("version")
        assert re.fullmatch(rf"rawkube {re.escape(__version__)} \(Python 3\.\d+\.\d+, \w+/\w+\)\n", stdout)
        assert (stderr, code) == ("", 0)

    @looped("flags", [("-o", "json"), ("-ojson",), ("--output=json",)])
    def test_json(self, flags: tuple[str, ...]) -> None:
        stdout, stderr, code = run("version", *flags)
        assert set(json.loads(stdout)) == {"version", "python", "platform"}
        assert json.loads(stdout)["version"] == __version__
        assert stdout.endswith("}\n")
        assert (stderr, code) == ("", 0)

    def test_another_form(self) -> None:
        assert run("version", "-o", "yaml") == ("", 'error: --output must be "text" or "json", not "yaml"\n', 1)

    def test_arguments(self) -> None:
        assert run("version", "x") == ("", "error: extra arguments: [x]\n", 1)


class TestHelp:
    @looped(
        ("line", "words", "code"),
        [
            ("", (), 0),
            ("--help", (), 0),
            ("-h", (), 0),
            ("help", (), 0),
            ("rollout", ("rollout",), 1),
            ("rollout -h", ("rollout",), 0),
            ("help rollout", ("rollout",), 0),
            ("help rollout status", ("rollout", "status"), 0),
            ("rollout status --help", ("rollout", "status"), 0),
            ("rollout status deployment/web -h", ("rollout", "status"), 0),
            ("-h rollout status", ("rollout", "status"), 0),
            ("replay -h", ("replay",), 0),
            ("version --help", ("version",), 0),
            ("options", ("options",), 0),
        ],
    )
    def test_on_stdout(self, line: str, words: tuple[str, ...], code: int) -> None:
        (command,) = (each for each in (ROOT, *all_commands()) if each.words == words)
        assert run(*line.split()) == (help_text(command), "", code)

    def test_of_what_is_not_there(self) -> None:
        stdout, stderr, code = run("help", "nonsense")
        assert (stdout, code) == ("", 1)
        assert stderr.startswith('error: Unknown help topic "nonsense"\n')


class TestUsage:
    @pytest.mark.parametrize(
        ("line", "first"),
        [
            ("nonsense", 'error: unknown command "nonsense" for "rawkube"'),
            ("rollot", 'error: unknown command "rollot" for "rawkube"'),
            ("rollout nonsense", 'error: unknown command "nonsense"'),
            ("rollout status --nonsense", "error: unknown flag: --nonsense"),
            ("--nonsense", "error: unknown flag: --nonsense"),
            ("rollout status", "error: required resource not specified"),
            ("rollout status deployment/web --revision=-1", "error: revision must be a positive integer: -1"),
            ("rollout status deployment/web --timeout=x", 'error: invalid argument "x" for "--timeout" flag'),
            ("replay", "error: replay takes one recording, and a command after --"),
            ("replay a b", "error: replay takes one recording, and a command after --"),
        ],
    )
    def test_it_is_an_error_that_asks_nobody(self, line: str, first: str, to: Callable[[str], None]) -> None:
        with ScriptedServer(lambda peer: None) as server:
            to(server.url)
            stdout, stderr, code = run(*line.split())
        assert (stdout, code, server.connections) == ("", 1, 0)
        assert any(shown.startswith(first) for shown in stderr.splitlines())

    def test_a_command_that_was_meant(self) -> None:
        assert "Did you mean this?\n\trollout\n" in run("rollot").stderr


def failing(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> None:
    """`version` ends with that error."""

    def fail(parsed: Parsed, out: Output) -> int:
        raise errors[0]

    monkeypatch.setattr(version_module, "version", fail)


CAUSES = [{"field": "spec", "message": "bad"}, {"field": "x", "message": "worse"}, {"field": "spec", "message": "bad"}]


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "text"),
        [
            (RawkubeError("bad"), "error: bad\n"),
            (RawkubeError("error: bad"), "error: bad\n"),
            (UsageError("bad\nSee 'rawkube --help'"), "error: bad\nSee 'rawkube --help'\n"),
            (ConfigError("bad"), "error: bad\n"),
            (ConfigError("bad", in_configuration=True), "Error in configuration: bad\n"),
            (ConfigError("x", problems=["a", "b"]), "Error in configuration: \n* a\n* b\n"),
            (
                ConnectionRefused("x", server="h:1"),
                "The connection to the server h:1 was refused - did you specify the right host or port?\n",
            ),
            (ConnectionLost("EOF"), "Unable to connect to the server: EOF\n"),
            (TransportError("dial tcp: bad"), "Unable to connect to the server: dial tcp: bad\n"),
            (StatusError({"message": "no", "reason": "Forbidden"}), "Error from server (Forbidden): no\n"),
            (StatusError({"message": "no"}), "Error from server: no\n"),
            (
                StatusError({"message": "no", "reason": "Unauthorized"}),
                "error: You must be logged in to the server (no)\n",
            ),
            (StatusError({"reason": "Invalid"}), "The request is invalid\n"),
            (StatusError({"reason": "Invalid", "message": "no"}), "The request is invalid: no\n"),
            (
                StatusError({"reason": "Invalid", "details": {"kind": "Pod", "name": "a", "causes": CAUSES[:1]}}),
                'The Pod "a" is invalid: spec: bad\n',
            ),
            (
                StatusError({"reason": "Invalid", "details": {"kind": "Pod", "name": "a", "causes": CAUSES}}),
                'The Pod "a" is invalid: \n* spec: bad\n* x: worse\n',
            ),
            (DecodeError("couldn't get version/kind"), "error: couldn't get version/kind\n"),
            (RolloutFailed('deployment "web" exceeded'), 'error: deployment "web" exceeded\n'),
            (ObjectDeleted(), "error: object has been deleted\n"),
            (WaitTimeout(), "error: timed out waiting for the condition\n"),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
    )
    def test_in_kubectls_words(self, error: RawkubeError, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(monkeypatch, error)
        assert run("version") == ("", text, 1)

    def test_details_stand_above_the_last_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(monkeypatch, TransportError("EOF", detail=["one", "two\x1b[2J", "one"]))
        assert run("version").stderr == "one\ntwo\\x1b[2J\nUnable to connect to the server: EOF\n"

    def test_what_nobody_thought_of_is_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(monkeypatch, ValueError("odd\n  in two\tlines \x1b[2J"))
        stdout, stderr, code = run("version")
        assert (stdout, code) == ("", 1)
        hint, last = stderr.splitlines()
        assert "RAWKUBE_TRACEBACK=1" in hint
        assert last == "error: rawkube itself failed: ValueError: odd in two lines \\x1b[2J"

    def test_what_is_nested_too_deeply(self, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(monkeypatch, RecursionError("maximum recursion depth exceeded"))
        assert run("version") == ("", "error: what was read is nested too deeply\n", 1)

    @pytest.mark.parametrize("error", [ValueError("odd"), RecursionError("odd")], ids=lambda one: type(one).__name__)
    def test_the_traceback_can_be_had(self, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(monkeypatch, error)
        monkeypatch.setenv("RAWKUBE_TRACEBACK", "1")
        with pytest.raises(type(error), match="odd"):
            run("version")

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=["KeyboardInterrupt", "SystemExit"])
    def test_what_is_no_error_passes(self, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
        def stop(parsed: Parsed, out: Output) -> int:
            raise error

        monkeypatch.setattr(version_module, "version", stop)
        with pytest.raises(type(error)):
            run("version")


class TestWarningsAsErrors:
    def run(self, monkeypatch: pytest.MonkeyPatch, *warnings: str, code: int = 0, flag: bool = True) -> Ran:
        def warn(parsed: Parsed, out: Output) -> int:
            for text in warnings:
                out.warning(text)
            return code

        monkeypatch.setattr(version_module, "version", warn)
        return run("version", *(["--warnings-as-errors"] if flag else []))

    def test_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch) == ("", "", 0)

    def test_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch, "a", "a") == ("", "Warning: a\nerror: 1 warning received\n", 1)

    def test_two(self, monkeypatch: pytest.MonkeyPatch) -> None:
        said = "Warning: a\nWarning: b\nerror: 2 warnings received\n"
        assert self.run(monkeypatch, "a", "b", "a") == ("", said, 1)

    def test_after_a_failure_that_code_stands(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch, "a", code=7) == ("", "Warning: a\n", 7)

    def test_without_the_flag(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch, "a", flag=False) == ("", "Warning: a\n", 0)

    def test_of_a_server(self, to: Callable[[str], None]) -> None:
        with ApiServer(Workload(deployment()), warnings=["old"]) as server:
            to(server.url)
            ran = run("rollout", "status", "deployment/web", "--warnings-as-errors")
        assert ran == (OK, "Warning: old\nerror: 1 warning received\n", 1)


class TestSignals:
    @looped(
        ("before", "after"),
        [("signal.default_int_handler", "signal.SIG_DFL"), ("signal.SIG_IGN", "signal.SIG_IGN")],
    )
    def test_ctrl_c_ends_the_process_without_a_traceback(self, before: str, after: str) -> None:
        code = (
            f"import signal; signal.signal(2, {before}); import rawkube.__main__; print(signal.getsignal(2) is {after})"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert ran.stdout == "True\n"

    def test_what_the_caller_has_set_is_left_alone(self) -> None:
        for handler in (signal.SIG_IGN, lambda number, frame: None):
            signal.signal(signal.SIGINT, handler)
            run("version")
            assert signal.getsignal(signal.SIGINT) is handler


class TestRolloutStatus:
    def test_done(self, to: Callable[[str], None]) -> None:
        with ApiServer(Workload(deployment())) as server:
            to(server.url)
            assert run("rollout", "status", "deployment/web") == (OK, "", 0)

    def test_followed(self, to: Callable[[str], None]) -> None:
        before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
        with ApiServer(Workload(deployment(u=1), steps=[modified(deployment())])) as server:
            to(server.url)
            stdout, stderr, code = run("rollout", "status", "deploy", "web")
        first = 'Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated...\n'
        assert (stdout, stderr, code) == (first + OK, "", 0)
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before

    def test_missing(self, to: Callable[[str], None]) -> None:
        with ApiServer(Workload(deployment())) as server:
            to(server.url)
            ran = run("rollout", "status", "deployment/db")
        assert ran == ("", 'Error from server (NotFound): deployments.apps "db" not found\n', 1)

    def test_one_of_two_is_missing(self, to: Callable[[str], None]) -> None:
        with ApiServer(Workload(deployment())) as server:
            to(server.url)
            ran = run("rollout", "status", "deployment", "db", "web")
        assert ran == (OK, 'Error from server (NotFound): deployments.apps "db" not found\n', 1)

    def test_nothing_selected(self, to: Callable[[str], None]) -> None:
        with ApiServer(Workload(deployment())) as server:
            to(server.url)
            ran = run("rollout", "status", "deployment", "-l", "a=b", "-n", "demo")
        assert ran == ("", "No resources found in demo namespace.\n", 0)

    def test_a_credential_that_is_not_sent_is_said_before_anything_else(self, tmp_path: Path) -> None:
        with ApiServer(answers={"list": [failure(403, "no")], "get": [failure(403, "no entry")]}) as server:
            (tmp_path / "config").write_text(kubeconfig(server.url, user={"token": "t0k3n"}))
            stdout, stderr, code = run("rollout", "status", "deployment/web")
        note, last = stderr.splitlines()
        assert "token" in note and "t0k3n" not in stderr
        assert (stdout, last, code) == ("", "Error from server (Forbidden): no entry", 1)
        assert [request.header("authorization") for request in server.asked] == [None, None]

    def test_flags_reach_the_connection(self, tmp_path: Path, to: Callable[[str], None]) -> None:
        to("http://127.0.0.1:1")
        with ApiServer(Workload(deployment(), namespace="demo")) as server:
            ran = run(
                "rollout", "status", "deployment/web", "-n", "demo", "-s", server.url, "--as=jane", "--as-group=a",
                "--as-group=b", "--request-timeout=30", "--disable-compression",
            )  # fmt: skip
        assert ran == (OK, "", 0)
        (request,) = server.asked
        assert request.path == "/apis/apps/v1/namespaces/demo/deployments"
        assert request.query["timeout"] == "30s"
        assert request.header("impersonate-user") == "jane"
        assert [value for name, value in request.headers if name == "Impersonate-Group"] == ["a", "b"]
        assert request.header("accept-encoding") in (None, "identity")  # no compression; a recording says so

    def test_the_kubeconfig_that_is_named_and_missing(self, tmp_path: Path) -> None:
        stdout, stderr, code = run("rollout", "status", "deployment/web", "--kubeconfig=nowhere")
        assert (stdout, code) == ("", 1)
        assert stderr.splitlines()[-1] == "error: stat nowhere: no such file or directory"

    def test_refused(self, to: Callable[[str], None]) -> None:
        with ScriptedServer(lambda peer: None) as server:
            url = server.url
        to(url)
        stdout, stderr, code = run("rollout", "status", "deployment/web")
        assert (stdout, code) == ("", 1)
        assert stderr.splitlines()[-1] == (
            f"The connection to the server {url.removeprefix('http://')} was refused - "
            "did you specify the right host or port?"
        )
