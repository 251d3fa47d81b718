"""`attach`, and `exec` with an old server: how kubectl ends, and how rawkube does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.differential.rig import KUBECTL, RAWKUBE
from tests.support.here import own_streams, run_at
from tests.support.pods_server import PodsServer, a_pod, statuses, terminated
from tests.support.run import Result, kubectl_command, run
from tests.support.warm import warm
from tests.support.websocket import V4, ExecServer, Far, exit_status


class Case(NamedTuple):
    """`ends`: by program, the last line of stderr and the exit code."""

    id: str
    world: Callable[[], ExecServer]
    words: str
    ends: dict[str, tuple[str, int]]


def pod_that_ended(code: int, script: Callable[[Far], None]) -> Callable[[], ExecServer]:
    pod = a_pod("p", "a", status=statuses("a", state=terminated(code)))
    return lambda: PodsServer({"p": script}, [pod])


def success(far: Far) -> None:
    far.end()


def seven(far: Far) -> None:
    far.end(exit_status(7))


PROMPT = "If you don't see a command prompt, try pressing enter."
NO_UPGRADE = "error: unable to upgrade connection: unable to upgrade"
SEVEN = ("command terminated with exit code 7", 7)
CASES = [
    Case("the-stream-tells-the-code", pod_that_ended(3, seven), "attach p", {KUBECTL: SEVEN, RAWKUBE: SEVEN}),
    Case("the-pod-alone-tells-it", pod_that_ended(3, success), "attach p",
         {KUBECTL: (PROMPT, 0), RAWKUBE: ('container "a" of pod p ended with exit code 3 (Error)', 3)}),
    Case("v4-alone", lambda: ExecServer(success, protocol=V4), "exec p -- x", {KUBECTL: (NO_UPGRADE, 1), RAWKUBE: ("", 0)}),
]  # fmt: skip


def ended(program: str, case: Case, home: Path) -> Result:
    with case.world() as server:
        if program == RAWKUBE:
            with own_streams():
                return run_at(server.url, *case.words.split(), home=home, stdin=b"")
        warm(home, server.url)
        return run(kubectl_command(), *case.words.split(), url=server.url, home=home)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.parametrize("program", [pytest.param(KUBECTL, marks=pytest.mark.kubectl), RAWKUBE])
def test_the_end(program: str, case: Case, tmp_path: Path) -> None:
    result = ended(program, case, tmp_path)
    assert (result.stdout, result.last, result.code) == ("", *case.ends[program])
