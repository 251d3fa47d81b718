"""Where rawkube knowingly differs: what both programs say in one world, and what they ask for."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.differential.rig import KUBECTL, RAWKUBE
from tests.support.api_server import ApiServer
from tests.support.discovery_server import DiscoveryServer
from tests.support.lists import Lists
from tests.support.logs_server import LogsServer
from tests.support.run import Result, kubeconfig, kubectl_command, run
from tests.support.server import SeenRequest
from tests.support.stateful import StatefulServer
from tests.support.warm import warm

# How long a watch may last is drawn at random.
TIME = re.compile(r"&timeoutSeconds=\d+")
Server = ApiServer | DiscoveryServer | Lists | LogsServer | StatefulServer


class Ended(NamedTuple):
    """stdout, the last line of stderr, how it ended; the requests (without discovery), where they count."""

    stdout: str = ""
    last: str = ""
    code: int = 0
    asked: Sequence[str] | None = None


class Case(NamedTuple):
    """`own`: the words where rawkube's are others. `files`: what lies in HOME. `unordered`: kubectl's lines are in
    random order."""

    id: str
    world: Callable[[], Server]
    words: str
    kubectl: Ended
    rawkube: Ended
    own: str = ""
    files: Mapping[str, Any] = {}
    unordered: bool = False


def ended(program: str, case: Case, home: Path) -> Ended:
    with case.world() as server:
        (home / "config").write_text(kubeconfig(server.url))
        for name, value in case.files.items():
            (home / name).write_text(value if isinstance(value, str) else json.dumps(value))
        text = case.own if program == RAWKUBE and case.own else case.words
        words = ["" if word == "EMPTY" else word.replace("HOME", str(home)) for word in text.split()]
        if program == KUBECTL and not isinstance(server, DiscoveryServer):
            warm(home, server.url)
        ran = run(kubectl_command(), *words, url=server.url, home=home) if program == KUBECTL else run_here(words, home)
        asked = requests(server)
    return Ended(ran.stdout, ran.last.replace(str(home), "HOME").replace(server.url, "URL"), ran.code, asked)


def run_here(words: Sequence[str], home: Path) -> Result:
    out, err = io.BytesIO(), io.BytesIO()
    code = main(["--kubeconfig", str(home / "config"), *words], out=Output(out, err))
    return Result(out.getvalue().decode(), err.getvalue().decode(), code)


def requests(server: Server) -> list[str]:
    if isinstance(server, ApiServer):
        return server.seen()
    seen: list[SeenRequest] = server.requests if isinstance(server, Lists) else server.asked
    return [TIME.sub("", each.target) for each in seen if each.path not in ("/api", "/apis")]


def verify(program: str, case: Case, home: Path) -> None:
    wanted, found = (case.kubectl if program == KUBECTL else case.rawkube), ended(program, case, home)
    if case.unordered and program == KUBECTL:
        found = found._replace(stdout="".join(sorted(found.stdout.splitlines(keepends=True))))
    assert found == wanted._replace(asked=found.asked if wanted.asked is None else list(wanted.asked))
