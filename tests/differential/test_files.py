"""`rollout status -f`: what manifests name, in their order, as kubectl reads them."""

from __future__ import annotations

import pytest

from tests.differential.rig import Case, Ours, Outcome, Runs, both, lines
from tests.support.api_server import ApiServer
from tests.support.script import Workload
from tests.support.workloads import deployment


def manifest(name: str = "web", kind: str = "Deployment", version: str = "apps/v1", namespace: str = "") -> str:
    where = f"\n  namespace: {namespace}" if namespace else ""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {name}{where}\n"


FILES = {
    "web.yaml": manifest(),
    "two.yaml": manifest() + "---\n" + manifest("db"),
    "broken.yaml": manifest() + "---\nfoo: bar\n---\n" + manifest("db"),
    "elsewhere.yaml": manifest(namespace="other"),
    "nameless.yaml": "apiVersion: apps/v1\nkind: Deployment\n",
    "map.yaml": manifest("c", "ConfigMap", "v1"),
    "folder/a.yaml": manifest(),
    "folder/b.yml": manifest("db"),
    "folder/c.txt": "a: [",
    "folder/below/d.json": '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "gone"}}',
    "empty.yaml": "",
    "list.yaml": "apiVersion: v1\nkind: List\nitems:\n"
    "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}\n"
    "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: gone}}\n",
}
WEB, DB = (f'deployment "{name}" successfully rolled out' for name in ("web", "db"))
GONE = 'Error from server (NotFound): deployments.apps "gone" not found'
NOTHING = "No resources found in default namespace."


def world() -> ApiServer:
    return ApiServer(Workload(deployment(labels={"app": "web"})), Workload(deployment("db", labels={"app": "db"})))


def case(
    name: str, args: str, *stdout: str, last: str = "", code: int = 0, ours: Ours | None = None, seen: str | None = None
) -> Case:
    wanted = None if seen is None else seen.split(",") if seen else []
    return Case(name, world, args.split(" "), lines(*stdout), last, code, ours=ours, seen=wanted, files=FILES)


def refused(name: str, args: str, last: str, ours: str = "") -> Case:
    knowing = Ours("not built, or checked before the request", Outcome("", ours, 1)) if ours else None
    return case(name, args, last=last, code=1, ours=knowing, seen="")


SELECTOR = "error: the provided selector"
TO_ANOTHER = "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well"
BUILDS = "error: rawkube builds no kustomizations: pipe `kustomize build DIR` into `-f -`"

CASES = [
    case("one", "-f web.yaml", WEB, seen="list"),
    case("two-documents", "-f two.yaml", WEB, DB, seen="list,list"),
    case("twice", "-f web.yaml -f two.yaml", WEB, WEB, DB),
    case("comma", "-f web.yaml,two.yaml", WEB, WEB, DB),
    case("folder", "-f folder", WEB, DB),
    case("folder-below", "-R -f folder", WEB, DB, last=GONE, code=1),
    case("pattern", "-f folder/*.y*", WEB, DB),
    case("list", "-f list.yaml", WEB, last=GONE, code=1),
    case("empty", "-f empty.yaml", last=NOTHING, seen=""),
    case("recursive-without-files", "-R deploy/web", WEB),
    case("label", "-f two.yaml -l app=db", DB),
    case("label-of-nothing", "-f two.yaml -l app=x", last=NOTHING),
    case("set-of-labels", "-f two.yaml -l app!=web,app", DB),
    case(
        "a-document-that-is-none",
        "-f broken.yaml",
        WEB,
        DB,
        last='error: unable to decode "broken.yaml": Object \'Kind\' is missing in \'{"foo":"bar"}\'',
        code=1,
        ours=Ours(
            "shows no content of an object",
            Outcome(
                lines(WEB, DB), "error: unable to decode \"broken.yaml\": Object 'Kind' is missing in '{\"foo\":…}'", 1
            ),
        ),
    ),
    case("another-kind", "-f map.yaml", last='Error from server (NotFound): configmaps "c" not found', code=1),
    refused("no-such-path", "-f nope", 'error: the path "nope" does not exist'),
    refused("an-empty-path", "-f web.yaml,", 'error: the path "" does not exist'),
    refused("no-path", "--filename=", "error: required resource not specified"),
    refused(
        "a-pair-beside",
        "-f web.yaml deploy/web",
        "error: resource/name arguments cannot be provided when a path is specified",
    ),
    refused("a-type-beside", "-f web.yaml deploy", f"error: {TO_ANOTHER}"),
    refused("both", "-f web.yaml -k folder", "error: only one of -f or -k can be specified"),
    refused("recursive-kustomization", "-k folder -R", "error: the -k flag can't be used with -f or -R"),
    refused(
        "selector-of-marks",
        "-f web.yaml -l ===",
        f"{SELECTOR} \"===\" is not valid: found '==', expected: !, identifier, or 'end of string'",
    ),
    refused(
        "selector-without-an-end",
        "-f web.yaml -l=a,in,(",
        f"{SELECTOR} \"a,in,(\" is not valid: found '(', expected: identifier after ','",
    ),
    refused(
        "selector-that-says-nothing-of-a",
        "-f web.yaml -l a,,b",
        f"{SELECTOR} \"a,,b\" is not valid: found ',', expected: identifier after ','",
    ),
]


@pytest.mark.parametrize(("program", "case"), both(CASES))
def test_files(program: str, case: Case, runs: Runs) -> None:
    runs.check(program, case)


OURS = {
    "-k folder": BUILDS,
    "-f https://example.com/a.yaml": 'error: a manifest is not fetched from a URL: "https://example.com/a.yaml"',
    "-f nameless.yaml": "error: a Deployment of the manifest has no metadata.name",
    "-f elsewhere.yaml -n demo": 'error: the namespace from the provided object "other" does not match the namespace '
    "\"demo\". You must pass '--namespace=other' to perform this operation.",
}


@pytest.mark.parametrize("args", OURS)
def test_what_rawkube_says_itself(args: str, runs: Runs) -> None:
    own = Case(args, world, args.split(" "), "", OURS[args], 1, seen=[], files=FILES)
    runs.check("rawkube", own)
