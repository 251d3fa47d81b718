"""`wait` by both programs: what is printed, how it ends."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.api_server import ApiServer
from tests.support.run import kubeconfig, kubectl_command, run
from tests.support.script import Workload, added, appears, close, deleted, error, failure, modified, pause
from tests.support.warm import warm
from tests.support.workloads import Object, deployment

LATE = "--timeout=300ms"


class Case(NamedTuple):
    """`stderr`: all of it. `ours`: the lines of rawkube's own above it. `files`: manifests in the working folder."""

    id: str
    world: Callable[[], ApiServer]
    args: str
    stdout: str = ""
    stderr: str = ""
    code: int = 0
    ours: str = ""
    files: Mapping[str, Object] = {}


def web(
    *conditions: Sequence[Any], name: str = "web", g: int = 1, o: int = 1, labels: dict[str, str] | None = None
) -> Object:
    """A Deployment with these conditions: (type, status[, observedGeneration])."""
    found = deployment(name, g=g, o=o, labels=labels)
    keys = ("type", "status", "observedGeneration")
    found["status"]["conditions"] = [dict(zip(keys, one, strict=False)) for one in conditions]
    return found


def pod(phase: str = "Running", **status: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": phase, **status}}


YES, NO = ("Available", "True"), ("Available", "False")
MET, GONE = "deployment.apps/web condition met\n", 'Error from server (NotFound): deployments.apps "{}" not found\n'
TIMED_OUT = "timed out waiting for the condition on deployments/{}\n"


def world(*things: Object | Workload, **answers: Any) -> Callable[[], ApiServer]:
    """A server of these. A workload is used up: each run makes its own."""

    def make() -> ApiServer:
        found = [one for one in things if isinstance(one, Workload)]
        found += [Workload(one) for one in things if not isinstance(one, Workload)]
        return ApiServer(*found, answers=answers or None)

    return make


def becomes(*states: Object, then: Sequence[Any] = ()) -> Callable[[], ApiServer]:
    """One object that goes through these states, a moment apart; `then`: what happens after that."""
    return lambda: ApiServer(
        Workload(states[0], steps=[step for one in states[1:] for step in (pause(0.1), modified(one))] + list(then))
    )


def pods(*states: Object) -> Callable[[], ApiServer]:
    return lambda: ApiServer(
        Workload(states[0], steps=[step for one in states[1:] for step in (pause(0.1), modified(one))], resource="pods")
    )


def comes(after: float) -> Callable[[], ApiServer]:
    return lambda: ApiServer(Workload(name="web", resource="deployments", steps=[appears(web(YES), after=after)]))


BOTH = world(web(YES), web(NO, name="b"))
WRONG_PATH = "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'"
NO_VALUE = "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3"
CASES = [
    Case("met", world(web(YES)), "--for=condition=Available deploy/web", MET),
    Case("met-in-any-case", world(web(YES)), "--for=condition=available=TRUE deploy/web", MET),
    Case("met-later", becomes(web(NO), web(YES)), "--for=condition=available deploy/web", MET),
    Case("not-met", world(web(NO)), f"--for=condition=available deploy/web {LATE}", "", "error: " + TIMED_OUT.format("web"), 1),
    Case("no-such-condition", world(web()), f"--for=condition= deploy/web {LATE}", "", "error: " + TIMED_OUT.format("web"), 1),
    Case("not-met-once", world(web(NO)), "--for=condition=available deploy/web --timeout=0", "", "error: condition not met for deployments/web\n", 1),
    Case("met-once", world(web(YES)), "--for=condition=available deploy/web --timeout=0s", MET),
    Case("a-week", world(web(YES)), "--for=condition=available deploy/web --timeout=-1s", MET),
    Case("old-generation", world(web(YES, g=2)), f"--for=condition=available deploy/web {LATE}", "", "error: " + TIMED_OUT.format("web"), 1),
    Case("old-condition", world(web((*YES, 1), g=2, o=2)), f"--for=condition=available deploy/web {LATE}", "", "error: " + TIMED_OUT.format("web"), 1),
    Case("missing", world(), "--for=condition=available deploy/web", "", GONE.format("web"), 1),
    Case("missing-namespace", world(), "--for=condition=available deploy/web -n nope", "", 'Error from server (NotFound): namespaces "nope" not found\n', 1),
    Case("deleted-meanwhile", becomes(web(NO), then=[pause(0.1), deleted()]), f"--for=condition=available deploy/web {LATE}", "", "error: " + TIMED_OUT.format("web"), 1),
    Case("replaced-meanwhile", becomes(web(NO), then=[pause(0.1), deleted(), added(web(YES))]), "--for=condition=available deploy/web", MET),
    Case("watch-ends", becomes(web(NO), then=[close(), modified(web(YES))]), "--for=condition=available deploy/web", MET),
    Case("watch-fails", becomes(web(NO), then=[error(500, "boom"), modified(web(YES))]), "--for=condition=available deploy/web", MET),
    # Deletion.
    Case("deleted", becomes(web(YES), then=[pause(0.1), deleted()]), "--for=delete deploy/web", MET),
    Case("not-deleted", world(web(YES)), f"--for=Delete deploy/web {LATE}", "", "error: " + TIMED_OUT.format("web"), 1),
    Case("not-deleted-once", world(web(YES)), "--for=delete deploy/web --timeout=0", "", "error: condition not met for deployments/web\n", 1),
    Case("deleted-long-ago", world(), "--for=delete deploy/web"),
    Case("deleted-and-made-anew", becomes(web(YES), then=[pause(0.1), deleted(), added(web(YES))]), "--for=delete deploy/web", MET),
    Case("nothing-to-delete", world(), "--for=delete deploy --all"),
    Case("one-is-deleted-already", world(web(YES)), f"--for=delete deploy nope web {LATE}", "", "error: " + TIMED_OUT.format("web"), 1),
    Case("deleted-by-label", becomes(web(YES, labels={"a": "b"}), then=[pause(0.1), deleted()]), "--for=delete deploy -l a=b", MET),
    # Creation.
    Case("there", world(web(YES)), "--for=create deploy/web", MET),
    Case("comes", comes(0.4), "--for=create deploy/web", MET),
    Case("does-not-come", world(), f"--for=create deploy/web {LATE}", "", "error: timed out waiting for the condition\n", 1, 'deployments.apps "web" not found\n'),
    Case("is-not-there-once", world(), "--for=create deploy/web --timeout=0", "", "error: timed out waiting for the condition\n", 1, 'deployments.apps "web" not found\n'),
    Case("one-does-not-come", world(web(YES)), f"--for=create deploy/web deploy/b {LATE}", "", "error: timed out waiting for the condition\n", 1, 'deployments.apps "b" not found\n'),
    Case("none-comes", world(), f"--for=create deploy -l a=b {LATE}", "", "error: timed out waiting for the condition\n", 1, "deployments.apps not found\n"),
    Case("comes-and-is-available", comes(0.4), "--for=condition=available --for=create deploy/web", MET * 2),
    # Several goals, several objects.
    Case("one-after-the-other", world(web(YES, ("Progressing", "True"))), "--for=condition=available --for=condition=Progressing deploy/web", MET * 2),
    Case("the-second-is-not-met", world(web(YES)), f"--for=condition=available --for=condition=Progressing deploy/web {LATE}", MET, "error: " + TIMED_OUT.format("web"), 1),
    Case("available-then-deleted", becomes(web(YES), then=[pause(0.3), deleted()]), "--for=condition=available --for=delete deploy/web", MET * 2),
    Case("deleted-then-nothing", becomes(web(YES), then=[pause(0.1), deleted()]), "--for=delete --for=condition=available deploy/web", MET),
    Case("one-time-for-all", BOTH, f"--for=condition=available deploy/b deploy/web {LATE}", "", TIMED_OUT.format("b") + TIMED_OUT.format("web"), 1),
    Case("the-last-is-late", BOTH, f"--for=condition=available deploy web b {LATE}", MET, "error: " + TIMED_OUT.format("b"), 1),
    Case("late-and-missing", BOTH, f"--for=condition=available deploy b nope {LATE}", "", TIMED_OUT.format("b") + GONE.format("nope"), 1),
    Case("two-missing", BOTH, "--for=condition=available deploy nope web no", MET, GONE.format("nope") + GONE.format("no"), 1),
    Case("all", world(web(YES), web(YES, name="b")), "--for=condition=available deploy --all", MET + MET.replace("web", "b")),
    Case("by-label", world(web(YES, labels={"a": "b"}), web(NO, name="b")), "--for=condition=available deploy -l a=b", MET),
    Case("none-by-label", BOTH, "--for=condition=available deploy -l a=b", "", "error: no matching resources found\n", 1),
    Case("by-field", world(web(YES)), "--for=condition=available deploy --field-selector=metadata.name=web", MET),
    Case("bad-selector", world(list=[failure(400, "bad")] * 4), "--for=condition=available deploy -l ===", "", 'Error from server (BadRequest): Unable to find "apps/v1, Resource=deployments" that match label selector "===", field selector "": bad\n', 1),
    Case("a-type-alone", BOTH, "--for=condition=available deploy", "", "error: resource(s) were provided, but no name was specified\n", 1),
    Case("a-type-everywhere", BOTH, "--for=condition=available deploy -A", "", "error: resource(s) were provided, but no name was specified\n", 1),
    Case("a-name-everywhere", BOTH, "--for=condition=available deploy/web -A", "", "error: a resource cannot be retrieved by name across all namespaces\n", 1),
    Case("a-name-and-all", BOTH, "--for=condition=available deploy/web --all", MET),
    Case("a-name-and-a-label", BOTH, "--for=condition=available deploy web -l a=b", "", "error: name cannot be provided when a selector is specified\n", 1),
    # Command lines.
    Case("no-objects", BOTH, "--for=condition=available", "", "error: You must provide one or more resources by argument or filename.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> <name>'\n   '<resource>'\n", 1),
    Case("no-goal", BOTH, "deploy/web", "", "error: unrecognized condition: []\n", 1),
    Case("no-such-goal", BOTH, "deploy --for=Condition=x", "", 'error: unrecognized condition: "Condition=x"\n', 1),
    Case("goal-without-value", BOTH, "deploy/web --for=condition", "", 'error: unrecognized condition: "condition"\n', 1),
    Case("bad-name", BOTH, "--for=condition=available deploy/..", "", "error: invalid resource name \"..\": [may not be '..']\n", 1),
    Case("no-kustomizations", BOTH, "--for=delete -k .", "", "error: unknown shorthand flag: 'k' in -k\nSee 'rawkube wait --help' for usage.\n", 1),
    # JSONPath.
    Case("path", pods(pod()), "pod/p --for=jsonpath={.status.phase}=Running", "pod/p condition met\n"),
    Case("path-later", pods(pod("Pending"), pod()), "pod/p --for=jsonpath=.status.phase='Running'", "pod/p condition met\n"),
    Case("path-to-anything", pods(pod()), "pod/p --for=jsonpath=status", "pod/p condition met\n"),
    Case("path-to-null", pods(pod(x=None)), "pod/p --for=jsonpath=.status.x=<nil>", "pod/p condition met\n"),
    Case("path-to-a-number", pods(pod(x=1000000.5)), "pod/p --for=jsonpath=.status.x=1.0000005e+06", "pod/p condition met\n"),
    Case("path-with-a-filter", pods(pod(x=[{"a": "b", "c": True}])), 'pod/p --for=jsonpath={.status.x[?(@.a=="b")].c}=true', "pod/p condition met\n"),
    Case("path-not-yet", pods(pod()), f"pod/p --for=jsonpath={{.status.phase}}=X {LATE}", "", "error: timed out waiting for the condition on pods/p\n", 1),
    Case("path-to-an-object", pods(pod()), "pod/p --for=jsonpath=.status=x", "", "error: jsonpath leads to a nested object or list which is not supported\n", 1),
    Case("path-to-several", pods(pod(x=[1, 2])), "pod/p --for=jsonpath=.status.x[*]", "", "error: given jsonpath expression matches more than one value\n", 1),
    Case("path-beyond-a-list", pods(pod(x=[1, 2])), "pod/p --for=jsonpath=.status.x[5]", "", "error: array index out of bounds: index 5, length 2\n", 1),
    Case("path-that-is-none", pods(pod()), "pod/p --for=jsonpath={.a", "", f"error: {WRONG_PATH}\n", 1),
    Case("path-without-value", pods(pod()), "pod/p --for=jsonpath={.a}=", "", f"error: {NO_VALUE}\n", 1),
    Case("path-and-two-values", pods(pod()), "pod/p --for=jsonpath={.a}=b=c", "", "error: jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'\n", 1),
    Case("path-empty", pods(pod()), "pod/p --for=jsonpath=", "", "error: jsonpath expression cannot be empty\n", 1),
    # What is printed.
    Case("names", world(web(YES)), "--for=condition=available deploy/web -o name", "deployment.apps/web\n"),
    Case("yaml", pods(pod()), "pod/p --for=jsonpath=.status.phase -o yaml", 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  namespace: default\n  resourceVersion: "101"\n  uid: uid-of-p\nstatus:\n  phase: Running\n'),
    Case("no-such-output", BOTH, "--for=x -o wide", "", 'error: unable to match a printer suitable for the output format "wide", allowed formats are: go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,yaml\n', 1),
    # Files.
    Case("file", BOTH, "--for=condition=available -f HOME/web.json", MET, files={"web.json": web()}),
    Case("folder-in-a-folder", BOTH, "--for=condition=available -f HOME/d", MET, files={"d/e/web.json": web()}),
    Case("file-and-name", BOTH, "--for=condition=available -f HOME/web.json deploy/web", "", "error: resource/name arguments cannot be provided when a path is specified\n", 1, files={"web.json": web()}),
    Case("file-of-what-is-missing", BOTH, "--for=condition=available -f HOME/c.json", "", GONE.format("c"), 1, files={"c.json": web(name="c")}),
    Case("file-of-what-is-deleted", BOTH, "--for=delete -f HOME/c.json", files={"c.json": web(name="c")}),
    Case("file-without-the-label", BOTH, "--for=condition=available -f HOME/web.json -l a=b", "", "error: no matching resources found\n", 1, files={"web.json": web()}),
]  # fmt: skip


class Observed(NamedTuple):
    stdout: str
    stderr: str
    code: int


def observe(case: Case, *, kubectl: bool) -> Observed:
    with tempfile.TemporaryDirectory() as home, case.world() as server:
        for name, thing in case.files.items():
            path = Path(home) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(thing))
        args = [word.replace("HOME", home) for word in case.args.split()]
        if kubectl:
            warm(Path(home), server.url)
            ran = run(kubectl_command(), "wait", *args, url=server.url, home=Path(home))
            return Observed(ran.stdout, ran.stderr.replace("kubectl", "rawkube"), ran.code)
        config = Path(home) / "config"
        config.write_text(kubeconfig(server.url))
        out, err = io.BytesIO(), io.BytesIO()
        code = main(["--kubeconfig", str(config), "wait", *args], out=Output(out, err))
        return Observed(out.getvalue().decode(), err.getvalue().decode(), code)


def test_rawkube() -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda case: observe(case, kubectl=False), CASES))
    wanted = [Observed(case.stdout, case.ours + case.stderr, case.code) for case in CASES]
    pairs = zip(CASES, found, wanted, strict=True)
    wrong = {case.id: (seen, expected) for case, seen, expected in pairs if seen != expected}
    assert wrong == {}


@pytest.mark.kubectl
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_kubectl(case: Case) -> None:
    assert observe(case, kubectl=True) == Observed(case.stdout, case.stderr, case.code)
