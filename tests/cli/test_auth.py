"""`auth whoami` and `auth can-i`: what is asked, and what is said about the answer."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.discovery import CONTENT_TYPE
from tests.support.discovery_server import aggregated, res
from tests.support.rows import looped
from tests.support.run import kubeconfig
from tests.support.script import Answer, failure
from tests.support.server import Peer, ScriptedServer

Object = dict[str, Any]
CORE = aggregated([res("pods.v1.", short="po"), res("nodes.v1.", namespaced=False)])
GROUPS = aggregated([res("deployments.v1.apps", short="deploy"), res("issuers.v1.example.com", namespaced=False)])
MISSING = failure(404, "the server could not find the requested resource", details={})
FORBIDDEN = failure(403, "no, not you", details={})
UNAUTHORIZED = failure(401, "Unauthorized")


class World(ScriptedServer):
    """Discovery, and `answers`, by a part of the path, for what is asked; the questions are in `asked`."""

    def __init__(self) -> None:
        super().__init__(self._serve_requests)
        self.answers: Mapping[str, Answer] = {}
        self.asked: list[tuple[str, Object]] = []

    def _serve_requests(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            if request.path in ("/api", "/apis"):
                peer.reply(json.dumps(CORE if request.path == "/api" else GROUPS), content_type=CONTENT_TYPE)
                continue
            if request.method == "POST":
                self.asked.append((request.path, json.loads(request.body)))
            answer = next((a for part, a in self.answers.items() if part in request.path), MISSING)
            peer.reply(answer.body, status=answer.status)


class Said(NamedTuple):
    out: str
    err: str
    code: int
    asked: list[tuple[str, Object]]


class Auth:
    """`rawkube auth …` at one server."""

    def __init__(self, world: World, config: Path) -> None:
        self._world, self._config = world, config
        config.write_text(kubeconfig(world.url))

    def __call__(self, words: str, answers: Mapping[str, Answer]) -> Said:
        self._world.answers, self._world.asked = answers, []
        out, err = io.BytesIO(), io.BytesIO()
        code = main(["--kubeconfig", str(self._config), "auth", *words.split()], out=Output(out, err))
        return Said(out.getvalue().decode(), err.getvalue().decode(), code, self._world.asked)


@pytest.fixture(scope="module")
def auth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Auth]:
    with World() as world:
        yield Auth(world, tmp_path_factory.mktemp("auth") / "config")


def created(kind: str, status: object, version: str = "v1", when: str = "") -> Answer:
    metadata = {"creationTimestamp": when or None}
    value = {"kind": kind, "apiVersion": version, "metadata": metadata, "status": status}
    return Answer("201 Created", json.dumps(value))


# whoami


def me(version: str = "v1", when: str = "", **user: object) -> Answer:
    return created("SelfSubjectReview", {"userInfo": user}, f"authentication.k8s.io/{version}", when)


JANE = me(username="jane", uid="u1", groups=["g1", "g2"], extra={"b": ["1", "2"], "a": "x", "c": []}, when="2026-01-02")


@looped(
    ("answers", "said"),
    [
        (
            {"selfsubjectreviews": JANE},
            "ATTRIBUTE   VALUE\nUsername    jane\nUID         u1\nGroups      [g1 g2]\n"
            "Extra: a    []\nExtra: b    [1 2]\nExtra: c    []\n",
        ),
        ({"v1beta1/": me("v1beta1", username="joe")}, "ATTRIBUTE   VALUE\nUsername    joe\n"),
        ({"v1/selfsubjectreviews": created("SelfSubjectReview", None)}, "ATTRIBUTE   VALUE\n"),
        ({"v1/selfsubjectreviews": created("SelfSubjectReview", {"userInfo": 1})}, "ATTRIBUTE   VALUE\n"),
    ],
)
def test_who_one_is(answers: Mapping[str, Answer], said: str, auth: Auth) -> None:
    shown = auth("whoami", answers)
    assert shown[:3] == (said, "", 0)


def test_the_newest_version_that_the_server_has(auth: Auth) -> None:
    asked = auth("whoami", {"v1alpha1/": me("v1alpha1")}).asked
    assert [path.split("/")[3] for path, _ in asked] == ["v1", "v1beta1", "v1alpha1"]
    assert [body["apiVersion"] for _, body in asked] == [
        f"authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1")
    ]


def test_who_one_is_as_an_object(auth: Auth) -> None:
    said = auth("whoami -o json", {"selfsubjectreviews": JANE})
    extra = {"a": "x", "b": ["1", "2"], "c": []}
    assert json.loads(said.out) == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "2026-01-02"},
        "status": {"userInfo": {"username": "jane", "uid": "u1", "groups": ["g1", "g2"], "extra": extra}},
    }
    assert auth("whoami -o yaml", {"selfsubjectreviews": me(username="joe", groups=[])}).out == (
        "apiVersion: authentication.k8s.io/v1\nkind: SelfSubjectReview\nmetadata: {}\n"
        "status:\n  userInfo:\n    username: joe\n"
    )


NO_REVIEWS = "error: the selfsubjectreviews API is not enabled in the cluster"


@looped(
    ("words", "answers", "said"),
    [
        ("whoami", {}, f"{NO_REVIEWS}\n"),
        (
            "whoami",
            {"selfsubjectreviews": FORBIDDEN},
            f"the server said: no, not you\n{NO_REVIEWS} or you do not have permission to call it\n",
        ),
        (
            "whoami",
            {"selfsubjectreviews": UNAUTHORIZED},
            "error: You must be logged in to the server (Unauthorized)\n",
        ),
        (
            "whoami -o wide",
            {"selfsubjectreviews": JANE},
            'error: unable to match a printer suitable for the output format "wide", allowed formats are: json,yaml\n',
        ),
    ],
)
def test_who_one_is_cannot_be_said(words: str, answers: Mapping[str, Answer], said: str, auth: Auth) -> None:
    assert auth(words, answers)[:3] == ("", said, 1)


# can-i


def verdict(**status: object) -> dict[str, Answer]:
    return {"accessreviews": created("SelfSubjectAccessReview", status, "authorization.k8s.io/v1")}


YES = verdict(allowed=True, reason="RBAC: allowed")
IN_DEFAULT = {"namespace": "default", "verb": "get", "resource": "pods"}


@looped(
    ("words", "spec"),
    [
        ("get pods", {"resourceAttributes": IN_DEFAULT}),
        ("get po/web", {"resourceAttributes": {**IN_DEFAULT, "name": "web"}}),
        ("get po -A", {"resourceAttributes": {"verb": "get", "resource": "pods"}}),
        ("frob po -A", {"resourceAttributes": {"verb": "frob", "resource": "pods"}}),
        ("get pods -n ns --subresource=log",
         {"resourceAttributes": {**IN_DEFAULT, "namespace": "ns", "subresource": "log"}}),
        ("get Deployment.v1.apps", {"resourceAttributes": {**IN_DEFAULT, "group": "apps", "resource": "deployments"}}),
        ("impersonate users", {"resourceAttributes": {"namespace": "default", "verb": "impersonate", "resource": "users"}}),
        ("* */x", {"resourceAttributes": {"namespace": "default", "verb": "*", "resource": "*", "name": "x"}}),
        ("get /logs/", {"nonResourceAttributes": {"path": "/logs/", "verb": "get"}}),
    ],
)  # fmt: skip
def test_what_is_asked_about(words: str, spec: Object, auth: Auth) -> None:
    said = auth(f"can-i {words}", YES)
    assert said[:3] == ("yes\n", "", 0)
    ((path, body),) = said.asked
    assert path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert body["spec"] == spec


@looped(
    ("words", "answers", "said"),
    [
        ("get pods -q", YES, ("", "", 0)),
        ("get pods -q", verdict(allowed=False), ("", "", 1)),
        ("get pods", verdict(allowed=False), ("no\n", "", 1)),
        ("get pods", verdict(allowed=False, reason="no RBAC", evaluationError="oops"), ("no - no RBAC - oops\n", "", 1)),
        ("get pods", {"accessreviews": created("SelfSubjectAccessReview", None)}, ("no\n", "", 1)),
        ("get pods", {"accessreviews": FORBIDDEN}, ("", "Error from server (Forbidden): no, not you\n", 1)),
    ],
)  # fmt: skip
def test_the_answer(words: str, answers: Mapping[str, Answer], said: tuple[str, str, int], auth: Auth) -> None:
    assert auth(f"can-i {words}", answers)[:3] == said


@looped(
    ("words", "warnings"),
    [
        ("get nodes", ["resource 'nodes' is not namespace scoped"]),
        ("get nodes -A", []),
        ("get issuers", ["resource 'issuers' is not namespace scoped in group 'example.com'"]),
        ("frob pods", ["verb 'frob' is not a known verb"]),
        ("list /logs", ["verb 'list' is not a known verb"]),
        ("get foo", ["the server doesn't have a resource type 'foo'"]),
        ("get foo.bar", ["the server doesn't have a resource type 'foo' in group 'bar'"]),
    ],
)
def test_odd_questions_are_asked_all_the_same(words: str, warnings: list[str], auth: Auth) -> None:
    said = auth(f"can-i {words}", YES)
    assert said[:3] == ("yes\n", "".join(f"Warning: {text}\n" for text in warnings), 0)
    assert len(said.asked) == 1


TWO = "error: you must specify two arguments: verb resource or verb resource/resourceName.\n"
HOW = "See 'rawkube auth can-i -h' for help and examples.\n"
ALONE = "error: list option can't be specified with neither quiet, all-namespaces nor subresource options\n"


@looped(
    ("words", "said"),
    [
        ("get", TWO + HOW),
        ("get pods web", TWO + HOW),
        ("get /logs --subresource=x", "error: --subresource can not be used with NonResourceURL\n"),
        ("get pods --no-headers", "error: --no-headers cannot be set without --list specified\n"),
        ("--list get pods", "error: list option must be specified with no arguments\n"),
        *((f"--list {flag}", ALONE) for flag in ("-q", "-A", "--subresource=x")),
    ],
)
def test_a_wrong_line_asks_nobody(words: str, said: str, auth: Auth) -> None:
    assert auth(f"can-i {words}", YES) == ("", said, 1, [])


# can-i --list


def rules(*resources: Object, paths: list[Object] | None = None, **status: object) -> dict[str, Answer]:
    found = {"incomplete": False, "resourceRules": list(resources), "nonResourceRules": paths or [], **status}
    return {"rulesreviews": created("SelfSubjectRulesReview", found, "authorization.k8s.io/v1")}


MANY = rules(
    {"verbs": ["get", "list", "get"], "apiGroups": ["", "apps"], "resources": ["a/scale"], "resourceNames": ["x", "y"]},
    {"verbs": ["get", "create"], "apiGroups": [""], "resources": ["pods"]},
    {"verbs": ["watch", "get"], "apiGroups": [""], "resources": ["pods"]},
    {"verbs": [], "apiGroups": [""], "resources": ["nodes"]},
    paths=[{"verbs": ["get", "post"], "nonResourceURLs": ["/b"]}, {"verbs": ["get"], "nonResourceURLs": ["/a"]}],
)
ROWS = [
    ["pods", "[]", "[]", "[get create watch]"],
    *([f"a{group}/scale", "[]", f"[{name}]", "[get list]"] for group in ("", ".apps") for name in "xy"),
    *(["", f"[{path}]", "[]", "[get]"] for path in ("/a", "/b")),
    ["", "[/b]", "[]", "[post]"],
]
TITLES = "Resources      Non-Resource URLs   Resource Names   Verbs\n"
EMPTY = "Resources   Non-Resource URLs   Resource Names   Verbs\n"


def test_what_one_may_do(auth: Auth) -> None:
    """A line for each resource, name and path; verbs of the same together."""
    said = auth("can-i --list -n ns", MANY)
    title, *lines = said.out.splitlines(keepends=True)
    assert (title, said.err, said.code) == (TITLES, "", 0)
    assert said.asked[0][1]["spec"] == {"namespace": "ns"}
    cuts = [title.index(word) for word in ("Non-", "Resource Names", "Verbs")]
    split = [[line[a:b].strip() for a, b in zip([0, *cuts], [*cuts, None], strict=True)] for line in lines]
    assert split == ROWS
    everything = auth("can-i --list --no-headers", rules({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}))
    assert everything.out.split() == ["*.*", "[]", "[]", "[*]"]


@looped(
    ("answers", "said"),
    [
        (rules(), (EMPTY, "", 0)),
        ({"rulesreviews": created("SelfSubjectRulesReview", None)}, (EMPTY, "", 0)),
        (rules(incomplete=True, evaluationError="oops"), (EMPTY, "Warning: the list may be incomplete: oops\n", 0)),
        (rules(incomplete=True), (EMPTY, "Warning: the list may be incomplete: \n", 0)),
        ({"rulesreviews": FORBIDDEN}, ("", "Error from server (Forbidden): no, not you\n", 1)),
    ],
)
def test_a_list_of_nothing(answers: Mapping[str, Answer], said: tuple[str, str, int], auth: Auth) -> None:
    assert auth("can-i --list", answers)[:3] == said
