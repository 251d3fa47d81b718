"""`rollout history` and `rollout undo`: the same requests, the same output, the same end as kubectl's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.verbs import ALL, FORBIDDEN, NOT_FOUND, PAUSED, TEXT_500, Case, compare
from tests.support.revisions import (
    APPLIED,
    agent,
    controller_revision,
    db,
    deployment,
    other,
    pod,
    replica_set,
    template,
    with_history,
)
from tests.support.script import AS_USUAL, failure

pytestmark = pytest.mark.kubectl

CAUSE = "kubernetes.io/change-cause"
FIRST = {CAUSE: "first <b>", "y": "2", "deployment.kubernetes.io/desired-replicas": "3"}
ODD = [
    deployment(annotations={"x": "1", CAUSE: "now", "deployment.kubernetes.io/max-replicas": "9"}),
    replica_set("a", 1, template("1"), annotations=FIRST),
    replica_set("b", 2, template("2")),
    replica_set("c", "x", template("3")),
    replica_set("d", 7, template("4"), uid="another"),
    replica_set("e", None, template("5")),
    replica_set("f", "99999999999999999999", template("6")),
]
TWICE = [deployment(), replica_set("a", 1, template("1")), replica_set("b", 1, template("1b"))]
YOUNGER = [
    deployment(of=template("9")),
    replica_set("z", 3, template("1"), created="2026-01-01T00:00:00Z"),
    replica_set("y", 3, template("2"), created="2025-01-01T00:00:00Z"),
    replica_set("x", 2, template("3"), created="2026-01-01T00:00:00Z"),
]
MANAGED = with_history(deployment(annotations=APPLIED), template("1"), template("2"))
MANAGED[0]["metadata"]["managedFields"] = [{"manager": "m", "time": "2026-01-01T00:00:00Z"}]
AGENT = other("DaemonSet", "agent", annotations=APPLIED)
CAUSES = [
    AGENT,
    controller_revision(AGENT, 1, template("1"), annotations={CAUSE: "c1"}),
    controller_revision(AGENT, 10, template("2"), annotations={CAUSE: "line1\nline2\tmore"}),
    controller_revision(AGENT, 200, template("2"), annotations={CAUSE: "a\tb\tc"}),
    controller_revision(AGENT, 3, template("2"), uid="another"),
]
ALONE = [deployment(), other("DaemonSet", "agent"), other("StatefulSet", "db")]
BAD_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Bad"}]}
SETS = {"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["z", "y"]}]}
KINDS = ("deploy/web", "ds/agent", "sts/db")
BOTH = ("history", "undo")

CASES = [
    *(Case(f"{verb}-{kind}", ALL, f"{verb} {kind}") for verb in BOTH for kind in (*KINDS, "deploy,ds", "deploy/web ds/agent sts/db")),
    *(Case(f"{verb}-{words}", ALL, f"{verb} {words}") for verb in BOTH for words in ("pods", "deploy -l app=web", "deploy -l x=y")),
    *(Case(f"{verb}-pod", [pod()], f"{verb} pod/p") for verb in BOTH),
    *(Case(f"{verb}-other", ALL, f"{verb} {words}") for verb, words in (("undo", "rs/web-h1"), ("history", "rs/web-h2"))),
    *(Case(f"{verb}-missing", ALL, f"{verb} deploy/nope deploy/web ds/nope") for verb in BOTH),
    *(Case(f"{verb}-namespace", ALL, f"{verb} deploy/web -n nope") for verb in BOTH),
    *(Case(f"history-odd{flags}", ODD, f"history deploy/web{flags}") for flags in
      ("", " --revision=1", " --revision=7", " -o json", " -o name", " --revision=1 -o yaml", " --revision=-1", " --revision=x")),
    *(Case(f"undo-odd{flags}", ODD, f"undo deploy/web{flags}") for flags in
      ("", " --to-revision=2", " --to-revision=7", " --to-revision=-5", " -o json", " -o name")),
    *(Case(f"undo{flags}", ALL, f"undo deploy/web --dry-run{flags}") for flags in
      ("", "=client", "=server", "=none", "=", "=None", "=False", " server", "=server -o name")),
    *(Case(f"undo-ds{flags}", agent("1", "2", "1", "3"), f"undo ds/agent{flags}") for flags in
      (" --to-revision=9", " --dry-run=server", " -o yaml", " --dry-run=client -o name")),
    *(Case(f"twice-{words}", TWICE, words) for words in ("history deploy/web", "history deploy/web --revision=1", "undo deploy/web")),
    *(Case(f"younger-{words}", YOUNGER, words) for words in ("history deploy/web --revision=3", "undo deploy/web")),
    Case("paused", PAUSED, "undo deploy/web"),
    *(Case(f"applied{flags}", MANAGED, f"undo deploy/web{flags}") for flags in
      ("", " --to-revision=-1", " -o json --show-managed-fields", " --warnings-as-errors")),
    Case("applied-pod", [pod(annotations=APPLIED)], "undo pod/p"),
    Case("causes", CAUSES, "history ds/agent"),
    Case("causes-one", CAUSES, "history ds/agent --revision=10"),
    Case("one-revision", agent("1"), "undo ds/agent"),
    Case("one-revision-sts", db("1"), "undo sts/db"),
    Case("several-yaml", ALL, "history deploy,ds,sts -o yaml"),
    Case("bad-output", ALL, "history deploy/web -o bogus"),
    Case("undo-forbidden", ALL, "undo deploy/web", answers={"patch": [FORBIDDEN]}),
    Case("undo-text", ALL, "undo ds/agent --to-revision=1", answers={"patch": [TEXT_500]}),
    *(Case(f"second-get-{verb}-{kind}", ALL, f"{verb} {kind}", answers={"get": [AS_USUAL, FORBIDDEN]}) for verb in BOTH for kind in KINDS),
    *(Case(f"list-{n}-{kind}", ALL, f"history {kind}", answers={"list": [answer]}) for n, (kind, answer) in enumerate(
        (("deploy/web", FORBIDDEN), ("deploy/web", NOT_FOUND), ("ds/agent", NOT_FOUND), ("sts/db", FORBIDDEN)))),
    *(Case(f"collection-{n}", objects, command, answers={"list": [answer]}) for n, (objects, command, answer) in enumerate((
        (agent("1"), "undo deploy,ds", NOT_FOUND), (ALL, "undo deploy -l a=b", failure(400, "bad"))))),
    *(Case(f"no-history-{verb}-{kind}", ALONE, f"{verb} {kind}") for verb in BOTH for kind in KINDS),
    Case("no-history-json", ALONE, "history deploy/web -o json"),
    Case("no-history-revision", ALONE, "history deploy/web --revision=3"),
    Case("no-revision", ALL, "history sts/db --revision=9"),
    *(Case(f"selector-{n}", [deployment(selector=selector), replica_set("a", 1, template("1"))], "history deploy/web")
      for n, selector in enumerate((BAD_SELECTOR, SETS, {}, None))),
    Case("selector-ds", [other("DaemonSet", "agent", selector=BAD_SELECTOR)], "undo ds/agent"),
    Case("wrong-type", [deployment(of=template(hostNetwork="x"))], "history deploy/web"),
    Case("file", ALL, "history -f HOME/web.json -f HOME/nope.json"),
    Case("file-folder", ALL, "history -f HOME/more -R"),
    Case("file-bad", ALL, "history -f HOME/bad.yaml"),
    Case("file-undo", [deployment()], "undo -f HOME/nope.json -f HOME/nope2.json -f HOME/web.json"),
    Case("file-undo-bad", ALL, "undo -f HOME/bad.yaml -f HOME/nope.json"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_same_as_kubectl(case: Case, tmp_path: Path) -> None:
    compare(case, tmp_path)
