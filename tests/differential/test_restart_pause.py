"""`rollout restart`, `pause`, `resume`: the same requests, the same output, the same end as kubectl's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.verbs import (
    ALL,
    FORBIDDEN,
    NOT_FOUND,
    PAUSED,
    TEXT_500,
    Case,
    compare,
    of_kubectl,
    of_rawkube,
    write_manifests,
)
from tests.support.revisions import deployment, pod
from tests.support.script import AS_USUAL, failure

pytestmark = pytest.mark.kubectl

MANAGED = deployment()
MANAGED["metadata"]["managedFields"] = [{"manager": "m", "time": "2026-01-01T00:00:00Z"}]
BARE = deployment(of={"metadata": {"annotations": {"a": "b"}}, "spec": {}}, strategy={"type": "Recreate"})
INVALID = failure(422, 'Deployment.apps "web" is invalid: spec: bad', details={"name": "web", "kind": "Deployment"})
VERBS = ("restart", "pause", "resume")

CASES = [
    *(Case(f"restart-{kind}", ALL, f"restart {kind}") for kind in
      ("deploy/web", "ds/agent", "sts/db", "deploy", "deploy,ds", "deploy/web ds/agent sts/db", "deploy web", "deployments.apps/web")),
    *(Case(f"{verb}-{kind}", ALL, f"{verb} {kind}") for verb in ("pause", "resume") for kind in ("deploy/web", "ds/agent", "deploy")),
    *(Case(f"{verb}-pods", ALL, f"{verb} pods") for verb in VERBS),
    *(Case(f"{verb}-selector", ALL, f"{verb} deploy -l app=web") for verb in VERBS),
    *(Case(f"{verb}-selects-nothing", ALL, f"{verb} deploy -l x=y") for verb in VERBS),
    *(Case(f"{verb}-pod", [pod()], f"{verb} pod/p") for verb in VERBS),
    *(Case(f"{verb}-no-words", ALL, verb) for verb in (*VERBS, "history", "undo")),
    *(Case(f"paused-{verb}", PAUSED, f"{verb} deploy/web") for verb in VERBS),
    Case("replicaset", ALL, "restart rs/web-h1"),
    Case("namespace", ALL, "restart deploy/web -n nope"),
    Case("missing", ALL, "restart deploy/nope deploy/web ds/nope"),
    Case("bad-name", ALL, "restart deploy/.. deploy/web"),
    Case("managed-fields", [MANAGED], "restart deploy/web -o yaml"),
    Case("managed-fields-shown", [MANAGED], "restart deploy/web -o json --show-managed-fields"),
    Case("restart-bare", [BARE], "restart deploy/web -o json"),
    Case("several-yaml", ALL, "restart deploy,ds -o yaml"),
    Case("field-manager", ALL, "pause deploy/web --field-manager=me"),
    Case("no-field-manager", ALL, "restart deploy/web --field-manager="),
    Case("output-upper", ALL, "restart deploy/web -o NAME"),
    Case("output-empty", ALL, "restart deploy/web --output="),
    Case("output-missing", ALL, "restart deploy/web -o"),
    Case("unknown-type", ALL, "restart foo/x"),
    Case("name-and-selector", ALL, "restart deploy/web -l a=b"),
    Case("mixed-forms", ALL, "restart deploy/web deploy"),
    Case("bad-flag", ALL, "restart deploy -A"),
    Case("warnings", ALL, "restart deploy/web", warnings=["careful"]),
    Case("mixed-errors", PAUSED, "restart deploy/nope ds/nope deploy/web"),
    Case("mixed-errors-one", PAUSED, "restart deploy/nope deploy/web"),
    Case("mixed-errors-same", PAUSED, "restart deploy/nope deploy/nope deploy/web"),
    Case("patch-forbidden", ALL, "restart deploy/web", answers={"patch": [FORBIDDEN]}),
    Case("patch-invalid", ALL, "restart deploy/web", answers={"patch": [INVALID]}),
    Case("patch-text", ALL, "pause deploy/web", answers={"patch": [TEXT_500]}),
    Case("patches-forbidden", ALL, "restart deploy/web ds/agent", answers={"patch": [FORBIDDEN, NOT_FOUND]}),
    Case("collection", ALL, "restart deploy,ds", answers={"list": [FORBIDDEN]}),
    Case("collections", ALL, "restart deploy,ds", answers={"list": [FORBIDDEN, FORBIDDEN]}),
    Case("collection-paused", PAUSED, "restart deploy,ds", answers={"list": [AS_USUAL, FORBIDDEN]}),
    Case("wrong-type", [deployment(replicas="x")], "restart deploy/web"),
    *(Case(f"file {words}", [*ALL, deployment(namespace="demo")], f"restart {words}") for words in (
        "-f HOME/web.json", "-f HOME/demo.json", "-f HOME/demo.json -n demo", "-f HOME/more", "-f HOME/more -R",
        "-f HOME/web.json -l app=web", "-f HOME/web.json -l app=x", "-f HOME/web.json deploy/web", "-f HOME/web.json deploy",
        "-f HOME/nope.json", "-f HOME/nope.json -f HOME/nope2.json", "-f HOME/nope.json -f HOME/web.json", "-f HOME/none.json",
        "-f HOME/bad.yaml", "-f HOME/bad.yaml -f HOME/web.json")),
    Case("file-paused", PAUSED, "restart -f HOME/nope.json -f HOME/nope2.json -f HOME/web.json"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_same_as_kubectl(case: Case, tmp_path: Path) -> None:
    compare(case, tmp_path)


@pytest.mark.parametrize("output", ["bogus", "wide"])
def test_an_unknown_output_is_refused_before_anything_is_written(output: str, tmp_path: Path) -> None:
    """kubectl finds out after the patch."""
    case = Case("bogus", ALL, f"restart deploy/web -o {output}")
    for name in ("k", "r"):
        write_manifests(tmp_path / name)
    kubectl, rawkube = of_kubectl(case, tmp_path / "k"), of_rawkube(case, tmp_path / "r")
    assert (rawkube.stdout, rawkube.last, rawkube.code) == (kubectl.stdout, kubectl.last, kubectl.code)
    assert [one.method for one in kubectl.sent] == ["GET", "PATCH"]
    assert rawkube.sent == []
