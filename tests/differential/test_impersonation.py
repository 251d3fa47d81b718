"""Impersonation in all forms: what kubectl sends on a list, a watch and an upgrade is what rawkube sends."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.api_server import ApiServer
from tests.support.run import kubeconfig, kubectl_command, run
from tests.support.script import Workload
from tests.support.server import SeenRequest
from tests.support.warm import warm
from tests.support.websocket import ERROR, STDOUT, SUCCESS, ExecServer, close_frame, message, says
from tests.support.workloads import deployment


class Case(NamedTuple):
    """A user of a kubeconfig, and flags."""

    id: str
    user: dict[str, Any]
    flags: Sequence[str] = ()


USER = {
    "as": "jane",
    "as-uid": "u-1",
    "as-groups": ["dev", "", "ops"],
    "as-user-extra": {"reason": ["night", "shift"], "Acme.com/x%y z": ["1"]},
}
CASES = [
    Case("file", USER),
    Case("user alone", {"as": "jane"}),
    Case("flags", {}, ["--as=joe", "--as-uid=7", "--as-group=a", "--as-group=b", "--as-user-extra=k=v=w"]),
    Case("another user, the file's groups stay", USER, ["--as=joe"]),
    Case("groups are replaced", USER, ["--as-group=only"]),
    Case("an empty group", USER, ["--as-group="]),
    Case(
        "extra is merged by key", USER, ["--as-user-extra=reason=day", "--as-user-extra=more=1", "--as-user-extra=no"]
    ),
    Case("nobody", {}),
]
PROGRAMS = [pytest.param("kubectl", marks=pytest.mark.kubectl), "rawkube"]


def command(program: str, url: str, home: Path, user: dict[str, Any], *words: str) -> int:
    home.mkdir(exist_ok=True)
    file = home / "config"
    file.write_text(kubeconfig(url, user=user))
    if program == "kubectl":
        warm(home, url)
        return run(kubectl_command(), *words, url=url, home=home).code
    return main(["--kubeconfig", str(file), *words], out=Output(io.BytesIO(), io.BytesIO()))


def impersonation(request: SeenRequest) -> list[tuple[str, str]]:
    """The headers, names in lower case (Go writes them as it likes), in the order of names and as they came."""
    found = [(name.lower(), value) for name, value in request.headers if name.lower().startswith("impersonate-")]
    return sorted(found, key=lambda pair: pair[0])


def kinds(requests: Sequence[SeenRequest]) -> set[str]:
    found = set()
    for each in requests:
        upgrade = each.path.endswith("/exec")
        found.add("exec" if upgrade else "watch" if each.query.get("watch") else "rest")
    return found


def sent(program: str, case: Case, home: Path) -> list[list[tuple[str, str]]]:
    """What the requests of `rollout status` (a list, a watch) and of `exec` (a GET, the upgrade) carry."""
    web = Workload(deployment(u=1), steps=[])
    with ApiServer(web) as server:
        words = ["rollout", "status", "deployment/web", "--timeout=300ms", *case.flags]
        command(program, server.url, home, case.user, *words)
        asked = list(server.asked)
    with ExecServer(says(message(STDOUT, b"x"), message(ERROR, SUCCESS), close_frame())) as server:
        command(program, server.url, home, case.user, "exec", "web", *case.flags, "--", "true")
        asked += server.asked
    assert kinds(asked) >= {"rest", "watch", "exec"}, [each.target for each in asked]
    return [impersonation(each) for each in asked]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_request_carries_the_same(program: str, case: Case, tmp_path: Path) -> None:
    headers = sent(program, case, tmp_path)
    assert all(each == headers[0] for each in headers)
    assert headers[0] == WANTED[case.id]


GROUPS = [("impersonate-group", "dev"), ("impersonate-group", ""), ("impersonate-group", "ops")]
ACME = ("impersonate-extra-acme.com%2fx%25y%20z", "1")
REASONS = [("impersonate-extra-reason", "night"), ("impersonate-extra-reason", "shift")]
UID = ("impersonate-uid", "u-1")
JANE, JOE = ("impersonate-user", "jane"), ("impersonate-user", "joe")
WANTED: dict[str, list[tuple[str, str]]] = {
    "file": [ACME, *REASONS, *GROUPS, UID, JANE],
    "user alone": [JANE],
    "flags": [
        ("impersonate-extra-k", "v=w"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
        ("impersonate-uid", "7"),
        JOE,
    ],
    "another user, the file's groups stay": [ACME, *REASONS, *GROUPS, UID, JOE],
    "groups are replaced": [ACME, *REASONS, ("impersonate-group", "only"), UID, JANE],
    "an empty group": [ACME, *REASONS, ("impersonate-group", ""), UID, JANE],
    "extra is merged by key": [
        ACME,
        ("impersonate-extra-more", "1"),
        ("impersonate-extra-reason", "day"),
        *GROUPS,
        UID,
        JANE,
    ],
    "nobody": [],
}
