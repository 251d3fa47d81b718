"""One table, two programs: what kubectl prints and how it ends is what rawkube prints and how it ends."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.api_server import ApiServer
from tests.support.examples import EVERY_WAY
from tests.support.run import Result, environment, find_kubectl, kubeconfig, kubectl_command, run
from tests.support.warm import warm

KUBECTL = "kubectl"
# The same kubectl as its versions before 1.35 are: LIST, then WATCH, as rawkube does.
KUBECTL_LIST_WATCH = "kubectl-list-watch"
RAWKUBE = "rawkube"


class Outcome(NamedTuple):
    """All of stdout, the last line of stderr (empty: nothing said), the exit code."""

    stdout: str = ""
    last: str = ""
    code: int = 0


class Ours(NamedTuple):
    """Where rawkube knowingly ends otherwise."""

    why: str
    outcome: Outcome


class Case(NamedTuple):
    """`seen` and `kubectl_seen` are the requests in short, where they matter (None: not looked at).

    `notices`: rawkube may say something on stderr although all went well. `files`: what lies in the working folder.
    """

    id: str
    world: Callable[[], ApiServer]
    args: Sequence[str]
    stdout: str = ""
    last: str = ""
    code: int = 0
    ours: Ours | None = None
    seen: Sequence[str] | None = None
    kubectl_seen: Sequence[str] | None = None
    notices: bool = False
    list_watch: bool = False
    files: Mapping[str, str] = {}

    def expected(self, program: str) -> Outcome:
        if program == RAWKUBE:
            if self.ours:
                return self.ours.outcome
            return Outcome(self.stdout, self.last.replace("kubectl", "rawkube"), self.code)
        return Outcome(self.stdout, self.last, self.code)


class Observed(NamedTuple):
    result: Result
    seen: list[str]


# The current directory, and the environment, are those of all threads.
SURROUNDINGS = threading.Lock()


def run_here(args: Sequence[str], url: str, home: Path, *, inside: bool = False) -> Result:
    """`rawkube rollout status` in this process: what its rows print needs no process of its own. `inside`: in its home."""
    config = home / "config"
    config.write_text(kubeconfig(url))
    words = ["--kubeconfig", str(config), "rollout", "status", *args]
    if not inside:
        return _main(words)
    with SURROUNDINGS, contextlib.chdir(home):
        return _main(words)


def run_in(home: Path, *words: str, **env: str) -> Result:
    """`rawkube WORDS` in this process, with the environment that `run` would give it, in that home."""
    with SURROUNDINGS, contextlib.chdir(home), pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - {"PATH", "PYTHONPATH"}:
            patch.delenv(name)
        for name, value in environment(home, "", **env).items():
            patch.setenv(name, value)
        return _main(words)


def _main(words: Sequence[str]) -> Result:
    out, err, started = io.BytesIO(), io.BytesIO(), time.monotonic()
    code = main(list(words), out=Output(out, err))
    return Result(out.getvalue().decode(), err.getvalue().decode(), code, time.monotonic() - started)


def observe(program: str, case: Case) -> Observed:
    """Runs one program against the case's world; rawkube in this process."""
    with tempfile.TemporaryDirectory() as home, case.world() as server:
        for name, text in case.files.items():
            (Path(home) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(home) / name).write_text(text)
        if program == RAWKUBE:
            result = run_here(case.args, server.url, Path(home), inside=bool(case.files))
        else:
            result = _kubectl(case, server, Path(home), list_watch=program == KUBECTL_LIST_WATCH)
        # The port is chance; a table names it so.
        result = result._replace(stderr=result.stderr.replace(f"127.0.0.1:{server.port}", "SERVER"))
        return Observed(result, server.seen())


def _kubectl(case: Case, server: ApiServer, home: Path, *, list_watch: bool) -> Result:
    if "discovery" not in server.answers:
        warm(home, server.url)
    words = (*kubectl_command(), "rollout", "status", *case.args)
    return run(words, url=server.url, home=home, KUBE_FEATURE_WatchListClient=str(not list_watch).lower())


def shorter(result: Result) -> Result:
    return result._replace(stderr="…"[: len(result.stderr) > 600] + result.stderr[-600:])


def verify(program: str, case: Case, observed: Observed) -> None:
    result, seen = observed
    expected = case.expected(program)
    got = Outcome(result.stdout, result.last, result.code)
    if program == RAWKUBE and case.notices and not expected.last:
        got = got._replace(last="")
    assert got == expected, f"{case.id}: {shorter(result)}\nrequests: {seen}"
    wanted = case.seen if program == RAWKUBE else case.kubectl_seen if program == KUBECTL else None
    if wanted is not None:
        assert seen == list(wanted), f"{case.id}: {result}"


class Runs:
    """Runs the cases that a module's tests will ask for, several at a time, since most of them wait."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._started: dict[tuple[str, str], Future[Observed]] = {}

    def start(self, program: str, case: Case) -> Future[Observed]:
        key = (program, case.id)
        if key not in self._started:
            self._started[key] = self._pool.submit(observe, program, case)
        return self._started[key]

    def check(self, program: str, case: Case) -> None:
        if program != RAWKUBE:
            kubectl_command()
        verify(program, case, self.start(program, case).result())


def make_runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    """The body of the fixture `runs`."""
    with ThreadPoolExecutor(8) as pool:
        runs = Runs(pool)
        if "PYTEST_XDIST_WORKER" not in os.environ:
            for item in request.session.items:
                params = getattr(getattr(item, "callspec", None), "params", {})
                program = params.get("program")
                if item.path == request.path and program and (program == RAWKUBE or find_kubectl()):
                    runs.start(program, params["case"])
        yield runs


def both(cases: Sequence[Case]) -> list[object]:
    """The parameters (program, case) of every case for every program.

    kubectl's other way, LIST and WATCH, says nothing about rawkube: it shows that the expectations are sound, and is
    tried when RAWKUBE_TEST_EVERY_WAY is set.
    """
    return [
        pytest.param(program, case, id=f"{case.id}-{program}", marks=[pytest.mark.kubectl] * (program != RAWKUBE))
        for case in cases
        for program in (KUBECTL, KUBECTL_LIST_WATCH, RAWKUBE)
        if program != KUBECTL_LIST_WATCH or (EVERY_WAY and case.list_watch)
    ]


def lines(*text: str) -> str:
    return "".join(line + "\n" for line in text)
