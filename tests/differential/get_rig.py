"""`get` with both programs: worlds, and what is seen of a run in one of them."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.differential.rig import Outcome
from tests.support.lists import Lists, Object, thing
from tests.support.run import kubeconfig, kubectl_command, run
from tests.support.warm import warm

KUBECTL = "kubectl"


class Case(NamedTuple):
    """What is asked of one world. `files`: manifests in the working directory.

    `ours`: where rawkube knowingly differs: its outcome. `seen`: the requests in short, of both.
    """

    id: str
    world: Callable[[], Lists]
    args: str
    ours: Outcome | None = None
    seen: Sequence[str] | None = None
    files: Mapping[str, str] = {}


class Observed(NamedTuple):
    outcome: Outcome
    seen: list[str]


class Worlds:
    """One server for all cases of one world, so that kubectl's discovery is in its cache."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._open: dict[Callable[[], Lists], tuple[Lists, Path]] = {}

    def get(self, make: Callable[[], Lists]) -> tuple[Lists, Path]:
        if make not in self._open:
            home = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
            server = self._stack.enter_context(make())
            self._open[make] = (server, home)
            warm(home, server.url)
        return self._open[make]


@pytest.fixture(scope="module")
def worlds() -> Iterator[Worlds]:
    with ExitStack() as stack:
        yield Worlds(stack)


def observe(program: str, case: Case, worlds: Worlds) -> Observed:
    server, home = worlds.get(case.world)
    for name, text in case.files.items():
        (home / name).write_text(text)
    args = [word.replace("HOME", str(home)) for word in case.args.split()]
    before = len(server.requests)
    if program == KUBECTL:
        ran = run(kubectl_command(), "get", *args, url=server.url, home=home)
        stdout, stderr, code = ran.stdout, ran.stderr, ran.code
    else:
        config = home / "config"
        config.write_text(kubeconfig(server.url))
        out, err = io.BytesIO(), io.BytesIO()
        code = main(["--kubeconfig", str(config), "get", *args], out=Output(out, err))
        stdout, stderr = out.getvalue().decode(), err.getvalue().decode()
    said = stderr.replace(str(home), "HOME").replace("kubectl", "rawkube")
    return Observed(Outcome(stdout, said, code), server.seen(before))


def labelled(*names: str) -> list[Object]:
    return [thing("Pod", name, labels={"app": name, "a/b": "q"}, managedFields=[{"manager": "x"}]) for name in names]


THINGS = [
    *labelled("a", "b", "c"),
    thing("Pod", "z", "demo"),
    thing("Deployment", "web"),
    thing("Node", "n1"),
    thing("Namespace", "default"),
]


def world(
    *things: Object, answers: Mapping[str, tuple[int, str]] | None = None, tables: bool = True
) -> Callable[[], Lists]:
    """A world; without an argument always the same one."""
    if not things and not answers:
        return ordinary if tables else without_tables
    return lambda: Lists(*(things or THINGS), answers=answers, tables=tables)


def ordinary() -> Lists:
    return Lists(*THINGS)


def without_tables() -> Lists:
    return Lists(*THINGS, tables=False)
