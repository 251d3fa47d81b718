"""`auth whoami` and `auth can-i`: one server, two programs; the same questions, the same output."""

from __future__ import annotations

import functools
import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.discovery import recorded
from tests.support.run import Result, kubeconfig, kubectl_command, run
from tests.support.script import Answer, failure
from tests.support.server import Peer, ScriptedServer, SeenRequest

Object = dict[str, Any]

# Bodies: kubectl's are protobuf, rawkube's are JSON.


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a protobuf message (of varints and of what has a length)."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        number = varint()
        if tag & 7 == 0:
            yield tag >> 3, number
        else:
            yield tag >> 3, data[at : at + number]
            at += number


def _texts(data: bytes, names: Mapping[int, str]) -> Object:
    return {names[n]: value.decode() for n, value in _fields(data) if isinstance(value, bytes) and value and n in names}


_RESOURCE = {1: "namespace", 2: "verb", 3: "group", 4: "version", 5: "resource", 6: "subresource", 7: "name"}
_PATH = {1: "path", 2: "verb"}


def _part(data: bytes, number: int) -> bytes:
    return next((value for n, value in _fields(data) if n == number and isinstance(value, bytes)), b"")


def question(request: SeenRequest) -> Object:
    """apiVersion, kind and spec of what is asked, whichever way it is written."""
    if not request.body.startswith(b"k8s\0"):
        value = json.loads(request.body)
        assert request.header("content-type") == "application/json"
        return {"apiVersion": value["apiVersion"], "kind": value["kind"], "spec": value.get("spec", {})}
    unknown = request.body[4:]
    found = _texts(_part(unknown, 1), {1: "apiVersion", 2: "kind"})
    spec = _part(_part(unknown, 2), 2)
    if found["kind"] == "SelfSubjectReview":
        return {**found, "spec": {}}
    if found["kind"] == "SelfSubjectRulesReview":
        return {**found, "spec": _texts(spec, {1: "namespace"})}
    parts = {
        "resourceAttributes": _texts(_part(spec, 1), _RESOURCE),
        "nonResourceAttributes": _texts(_part(spec, 2), _PATH),
    }
    return {**found, "spec": {name: value for name, value in parts.items() if value}}


# Worlds


def review(version: str = "v1", **user: object) -> Answer:
    value = {
        "kind": "SelfSubjectReview",
        "apiVersion": f"authentication.k8s.io/{version}",
        "metadata": {"creationTimestamp": "2026-01-02T03:04:05Z" if user.pop("created", True) else None},
        "status": {"userInfo": user},
    }
    return Answer("201 Created", json.dumps(value))


def verdict(**status: object) -> Answer:
    value = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {}, "status": status}
    return Answer("201 Created", json.dumps(value))


def rules(*resources: Object, paths: list[Object] | None = None, **status: object) -> Answer:
    status = {"incomplete": False, "resourceRules": list(resources), "nonResourceRules": paths or [], **status}
    value = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "spec": {}, "status": status}
    return Answer("201 Created", json.dumps(value))


MISSING = failure(404, "the server could not find the requested resource", details={})
FORBIDDEN = failure(403, "no, not you", details={})
UNAUTHORIZED = failure(401, "Unauthorized")
YES = {"accessreviews": verdict(allowed=True, reason="RBAC: allowed by …")}
NO = {"accessreviews": verdict(allowed=False)}
WHY = {"accessreviews": verdict(allowed=False, denied=True, reason="no RBAC", evaluationError="oops")}
JANE = review(username="jane", uid="u1", groups=["g1", "g2"], extra={"b": ["1", "2"], "a/é": ["x y"], "c": []})
MANY = rules(
    {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"]},
    {
        "verbs": ["get", "list", "get"],
        "apiGroups": ["", "apps"],
        "resources": ["pods", "deployments/scale"],
        "resourceNames": ["a", "b"],
    },
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["get", "create"], "apiGroups": [""], "resources": ["pods"]},
    {"verbs": ["watch", "get"], "apiGroups": [""], "resources": ["pods"]},
    {"verbs": ["get"], "apiGroups": [""], "resources": []},
    {"verbs": [], "apiGroups": [""], "resources": ["nodes"]},
    paths=[
        {"verbs": ["get", "post"], "nonResourceURLs": ["/b", "/a"]},
        {"verbs": ["get"], "nonResourceURLs": ["/a"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ],
)
RULES = {"rulesreviews": MANY}


class Case(NamedTuple):
    """`answers`: by a part of the path. `words`: behind `auth`."""

    words: str
    answers: Mapping[str, Answer]


V1BETA1 = {"v1beta1/selfsubjectreviews": review("v1beta1", username="jane", created=False)}
CASES = [
    Case("whoami", {"selfsubjectreviews": JANE}),
    Case("whoami -o json", {"selfsubjectreviews": JANE}),
    Case("whoami -oyaml ignored", {"selfsubjectreviews": JANE}),
    Case("whoami", V1BETA1),
    Case("whoami -o json", V1BETA1),
    Case("whoami -o yaml", {"v1alpha1/selfsubjectreviews": review("v1alpha1", groups=[])}),
    Case("whoami", {"selfsubjectreviews": review()}),
    Case("whoami", {}),
    Case("whoami", {"selfsubjectreviews": FORBIDDEN}),
    Case("whoami", {"selfsubjectreviews": UNAUTHORIZED}),
    Case("can-i get pods", YES),
    Case("can-i get pods", NO),
    Case("can-i get pods -n ns --subresource=log", WHY),
    Case("can-i get pods -q", NO),
    Case("can-i get pods --quiet", YES),
    Case("can-i get pods/web", YES),
    Case("can-i get pods/web/x", YES),
    Case("can-i get po -A", YES),
    Case("can-i list deployments.apps", YES),
    Case("can-i list Deployment.v1.apps", YES),
    Case("can-i list deploy/", YES),
    Case("can-i list deployments.nogroup", NO),
    Case("can-i get foo", NO),
    Case("can-i impersonate users", YES),
    Case("can-i impersonate groups", YES),
    Case("can-i get nodes", YES),
    Case("can-i get nodes -A", YES),
    Case("can-i frob nodes -q", YES),
    Case("can-i frob pods", YES),
    Case("can-i frob pods -A", YES),
    Case("can-i GET Pods", YES),
    Case("can-i * *", YES),
    Case("can-i * */x", YES),
    Case("can-i get /logs/", YES),
    Case("can-i frob /logs", YES),
    Case("can-i get / -A -n x", NO),
    Case("can-i get /logs --subresource=x", YES),
    Case("can-i get", YES),
    Case("can-i get pods web", YES),
    Case("can-i get pods --no-headers", YES),
    Case("can-i get pods", {"accessreviews": FORBIDDEN}),
    Case("can-i get pods -q", {"accessreviews": UNAUTHORIZED}),
    Case("can-i --list", RULES),
    Case("can-i --list --no-headers -n foo", RULES),
    Case("can-i --list", {"rulesreviews": rules()}),
    Case("can-i --list", {"rulesreviews": rules(incomplete=True, evaluationError="webhook broke")}),
    Case("can-i --list", {"rulesreviews": FORBIDDEN}),
    Case("can-i --list -A", RULES),
    Case("can-i --list -q", RULES),
    Case("can-i --list get pods", RULES),
    Case("nosuch", {}),
]
LISTED = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [
        {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get"]},
        {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node", "verbs": ["get"]},
    ],
}


class World(ScriptedServer):
    """Discovery as recorded; `answers` for the questions, which are kept in `asked`."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        super().__init__(self._serve_requests)
        self.answers = answers
        self.asked: list[SeenRequest] = []

    def _serve_requests(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            if request.path in ("/api", "/apis"):
                body, media = recorded(request.path)
                peer.reply(body, content_type=media)
            elif request.path == "/api/v1":
                peer.reply(json.dumps(LISTED))
            else:
                if request.method == "POST":
                    self.asked.append(request)
                answer = next((a for part, a in self.answers.items() if part in request.path), MISSING)
                peer.reply(answer.body, status=answer.status)


def ask(program: str, case: Case, home: Path) -> tuple[Result, list[tuple[str, Object]]]:
    with World(case.answers) as server:
        words = ["auth", *case.words.split()]
        if program == "kubectl":
            result = run(kubectl_command(), *words, url=server.url, home=home)
        else:
            file = home / "config"
            file.write_text(kubeconfig(server.url))
            out, err = io.BytesIO(), io.BytesIO()
            code = main(["--kubeconfig", str(file), *words], out=Output(out, err))
            result = Result(out.getvalue().decode(), err.getvalue().decode(), code)
    return result, [(each.target, question(each)) for each in server.asked]


@functools.cache
def ours(number: int) -> tuple[Result, list[tuple[str, Object]]]:
    with tempfile.TemporaryDirectory() as home:
        return ask("rawkube", CASES[number], Path(home))


def lines(text: str) -> list[str]:
    """Without empty ones: kubectl ends some warnings twice."""
    return [line for line in text.splitlines() if line]


@pytest.mark.kubectl
@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{i} {case.words}" for i, case in enumerate(CASES)])
def test_kubectl_does_the_same(number: int, tmp_path: Path) -> None:
    theirs, their_questions = ask("kubectl", CASES[number], tmp_path)
    result, questions = ours(number)
    assert (result.stdout, result.code) == (theirs.stdout, theirs.code)
    kept = [line for line in lines(result.stderr) if not line.startswith(("the server said", "rawkube knows"))]
    assert kept == lines(theirs.stderr.replace("kubectl", "rawkube"))
    assert questions == their_questions


def test_names_from_the_server_do_no_harm(tmp_path: Path) -> None:
    case = Case("whoami", {"selfsubjectreviews": review(username="a\x1b[1mb\nUID         0")})
    result, _ = ask("rawkube", case, tmp_path)
    assert result.stdout == "ATTRIBUTE   VALUE\nUsername    a\\x1b[1mb\\nUID         0\n"


def test_what_is_asked(tmp_path: Path) -> None:
    _, questions = ask("rawkube", Case("can-i create deploy/web --subresource=scale -n demo", YES), tmp_path)
    assert questions == [
        (
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {
                    "resourceAttributes": {
                        "namespace": "demo",
                        "verb": "create",
                        "group": "apps",
                        "resource": "deployments",
                        "subresource": "scale",
                        "name": "web",
                    }
                },
            },
        )
    ]
