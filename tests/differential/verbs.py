"""Runs a `rollout` verb with kubectl and with rawkube, each against a server that keeps state, and compares them."""

from __future__ import annotations

import copy
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.revisions import agent, db, deployment, other, pod, template, web, with_history
from tests.support.run import kubeconfig, kubectl_command, run, without_klog
from tests.support.script import Answer, Object, failure
from tests.support.stateful import Sent, StatefulServer
from tests.support.warm import warm

NOW = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)")

ALL = [*web(), *agent(), *db()]
PAUSED = with_history(deployment(paused=True), template("1"), template("2"))
FORBIDDEN, NOT_FOUND = failure(403, "no"), failure(404, "no", details={})
TEXT_500 = Answer("500 Bad", "oops", content_type="text/plain")


class Seen(NamedTuple):
    stdout: str
    last: str
    code: int
    sent: list[Sent]


class Case(NamedTuple):
    """`command`: the words after `rollout`; HOME is a folder with the manifests of `write_manifests`."""

    id: str
    objects: Sequence[Object]
    command: str
    answers: Mapping[str, Sequence[Answer]] | None = None
    warnings: Sequence[str] = ()


def seen(stdout: str, stderr: str, code: int, sent: list[Sent], home: Path) -> Seen:
    said = without_klog(stderr).replace(str(home), "HOME")
    lines = re.sub(r"yaml: line \d+:", "yaml:", said).splitlines()  # which line it is, is told otherwise
    hidden = [one._replace(body=NOW.sub("NOW", one.body) if "restartedAt" in one.body else one.body) for one in sent]
    shown = NOW.sub("NOW", stdout) if "restartedAt" in stdout else stdout
    return Seen(shown, lines[-1] if lines else "", code, hidden)


def of_rawkube(case: Case, home: Path) -> Seen:
    out, err = io.BytesIO(), io.BytesIO()
    with server_of(case) as server:
        (home / "config").write_text(kubeconfig(server.url))
        words = case.command.replace("HOME", str(home)).split()
        code = main(["--kubeconfig", str(home / "config"), "rollout", *words], out=Output(out, err))
    return seen(out.getvalue().decode(), err.getvalue().decode(), code, server.sent(), home)


def of_kubectl(case: Case, home: Path) -> Seen:
    with server_of(case) as server:
        words = case.command.replace("HOME", str(home)).split()
        if "discovery" not in server.answers:
            warm(home, server.url)
        result = run((*kubectl_command(), "rollout"), *words, url=server.url, home=home)
    return seen(result.stdout, result.stderr, result.code, server.sent(), home)


def server_of(case: Case) -> StatefulServer:
    objects = copy.deepcopy(list(case.objects))
    return StatefulServer(*objects, answers=case.answers, warnings=case.warnings)


def compare(case: Case, home: Path) -> None:
    """Both programs, each with a server and a home of its own."""
    for name in ("k", "r"):
        write_manifests(home / name)
    kubectl, rawkube = of_kubectl(case, home / "k"), of_rawkube(case, home / "r")
    last = kubectl.last.replace("kubectl get", "rawkube get").replace("See 'kubectl", "See 'rawkube")
    assert rawkube == kubectl._replace(last=last)


def write_manifests(folder: Path) -> None:
    folder.mkdir()
    things: dict[str, object] = {
        "web.json": deployment(),
        "demo.json": deployment(namespace="demo"),
        "nope.json": deployment("nope"),
        "nope2.json": deployment("nope2"),
        "pod.json": pod(),
    }
    for name, thing in things.items():
        (folder / name).write_text(json.dumps(thing))
    (folder / "bad.yaml").write_text("a: [")
    (folder / "more" / "below").mkdir(parents=True)
    (folder / "more" / "agent.yaml").write_text(json.dumps(other("DaemonSet", "agent")))
    (folder / "more" / "below" / "db.yaml").write_text(json.dumps(other("StatefulSet", "db")))
