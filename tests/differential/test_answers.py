"""What the server may answer to the first request, and how that reads; warnings; unknown names and types."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.differential.rig import Case, Ours, Outcome, Runs, both, lines
from tests.support.api_server import ApiServer
from tests.support.script import Answer, Object, Workload, failure, status
from tests.support.workloads import deployment

OK = lines('deployment "web" successfully rolled out')
GET = "(get deployments.apps web)"
HTML = "<html><head><title>Oops</title></head><body>\n<h1>bad &amp; ugly</h1></body></html>"
NO_JSON = "error: couldn't get version/kind; json parse error: "
FOUND_404 = "Error from server (NotFound): the server could not find the requested resource"


def world(answer: Answer) -> Callable[[], ApiServer]:
    """Every read of the object is answered so."""
    return lambda: ApiServer(Workload(deployment()), answers={kind: [answer] * 40 for kind in ("get", "list")})


def answered(name: str, answer: Answer, last: str, *, ours: Ours | None = None, stdout: str = "") -> Case:
    return Case(name, world(answer), ["deploy/web"], stdout, last, 1, ours)


def bare(code: int, body: str = "", content_type: str = "text/plain") -> Answer:
    return Answer(f"{code} Some Reason", body, content_type)


def no_more(code: int) -> str:
    return (
        f"Error from server: the server responded with the status code {code} but did not return more information {GET}"
    )


def internal(body: str) -> str:
    return (
        f'Error from server (InternalError): an error on the server ("{body}") has prevented the request from'
        f" succeeding {GET}"
    )


SUBSTITUTES = [
    answered(
        "400",
        bare(400, "nope"),
        "Error from server (BadRequest): the server rejected our request for an unknown reason " + GET,
    ),
    answered(
        "401",
        bare(401, "nope"),
        "error: You must be logged in to the server (the server has asked for the client to provide"
        f" credentials {GET})",
    ),
    answered("403", bare(403, "nope"), f"Error from server (Forbidden): nope {GET}"),
    answered("403-empty", bare(403), f"Error from server (Forbidden):  {GET}"),
    answered("403-html", bare(403, "<b>no</b>", "text/html"), f"Error from server (Forbidden): <b>no</b> {GET}"),
    answered("403-json", bare(403, '{"a": 1}', "application/json"), f"Error from server (Forbidden): unknown {GET}"),
    answered("403-two-lines", bare(403, "no\nway\n"), f"way {GET}"),
    answered("404", bare(404, "404 page not found\n"), f"{FOUND_404} {GET}"),
    answered("404-html", bare(404, HTML, "text/html"), f"{FOUND_404} {GET}"),
    answered(
        "405",
        bare(405),
        f"Error from server (MethodNotAllowed): the server does not allow this method on the requested resource {GET}",
    ),
    answered("406", bare(406, "only yaml"), f"Error from server (NotAcceptable): only yaml {GET}"),
    answered(
        "408",
        bare(408),
        no_more(408),
    ),
    answered("409", bare(409), f"Error from server (Conflict): the server reported a conflict {GET}"),
    answered(
        "410",
        bare(410),
        no_more(410),
    ),
    answered(
        "413",
        bare(413),
        no_more(413),
    ),
    answered(
        "415",
        bare(415),
        f"Error from server (UnsupportedMediaType):  {GET}",
    ),
    answered(
        "418",
        bare(418, "teapot"),
        no_more(418),
    ),
    answered("422", bare(422, "nope"), 'The deployments "web" is invalid: : nope'),
    answered(
        "429",
        bare(429, "slow down"),
        "Error from server (TooManyRequests): the server has received too many requests and has asked us to"
        f" try again later {GET}",
    ),
    answered("500", bare(500, "boom"), internal("boom")),
    answered("500-empty", bare(500), internal("")),
    answered("500-quotes", bare(500, 'a "b"\tc\\d'), internal('a \\"b\\"\\tc\\\\d')),
    answered("500-control-characters", bare(500, "a\x1b[31mb\u2028é"), internal("a\\x1b[31mb\\u2028é")),
    answered("500-two-lines", bare(500, "one\ntwo\n"), internal("one\\ntwo")),
    answered("500-html", bare(500, HTML, "text/html"), internal(HTML.replace("\n", "\\n"))),
    answered("500-json", bare(500, '{"a": 1}', "application/json"), internal("unknown")),
    answered("500-long", bare(500, "x" * 5000), internal("x" * 2048)),
    answered("501", bare(501, "no"), internal("no")),
    answered("502-html", bare(502, HTML, "text/html"), internal(HTML.replace("\n", "\\n"))),
    answered(
        "503",
        bare(503, "down"),
        f"Error from server (ServiceUnavailable): the server is currently unable to handle the request {GET}",
    ),
    answered(
        "504",
        bare(504, "slow"),
        "Error from server (Timeout): the server was unable to return a response in the time allotted, but"
        f" may still be processing the request {GET}",
    ),
    answered("599", bare(599, "odd"), internal("odd")),
]

CAUSE = {"message": "must be positive", "field": "spec.replicas", "reason": "FieldValueInvalid"}
ANOTHER = {"message": "is required", "field": "spec.selector"}


def details(*causes: Object) -> Object:
    return {"name": "web", "group": "apps", "kind": "Deployment", "causes": list(causes)}


STATUSES = [
    answered(
        "status-403",
        failure(403, 'deployments.apps "web" is forbidden: User "u" cannot get resource'),
        'Error from server (Forbidden): deployments.apps "web" is forbidden: User "u" cannot get resource',
    ),
    answered(
        "status-401",
        failure(401, "Unauthorized"),
        "error: You must be logged in to the server (Unauthorized)",
    ),
    answered(
        "status-404",
        failure(
            404,
            'deployments.apps "web" not found',
            details={"name": "web", "kind": "deployments", "group": "apps"},
        ),
        'Error from server (NotFound): deployments.apps "web" not found',
    ),
    answered("status-404-without-details", failure(404, "not here"), "Error from server (NotFound): not here"),
    answered("status-500-no-reason", failure(500, "etcd", reason=""), "Error from server: etcd"),
    answered("status-503", failure(503, "warming up"), "Error from server (ServiceUnavailable): warming up"),
    answered("status-unknown-reason", failure(599, "m", reason="Odd"), "Error from server (Odd): m"),
    answered("status-without-message", failure(403, "", reason="Forbidden"), "Error from server (Forbidden): "),
    answered("status-of-two-lines", failure(400, "one\ntwo"), "two"),
    answered(
        "status-in-text-plain",
        Answer("403 Forbidden", '{"kind": "Status", "status": "Failure", "message": "m"}', "text/plain"),
        'Error from server (Forbidden): {"kind": "Status", "status": "Failure", "message": "m"} ' + GET,
    ),
    answered("status-in-a-200", Answer(body=json.dumps(status(403, "no"))), "Error from server (Forbidden): no"),
    answered(
        "status-in-a-200-internal",
        Answer(body=json.dumps(status(500, "broken"))),
        "Error from server (InternalError): broken",
    ),
    answered(
        "invalid-one-cause",
        failure(422, "m", details=details(CAUSE)),
        'The Deployment "web" is invalid: spec.replicas: must be positive',
    ),
    answered(
        "invalid-two-causes",
        failure(422, "m", details=details(CAUSE, ANOTHER)),
        "* spec.selector: is required",
    ),
    answered(
        "invalid-equal-causes",
        failure(422, "m", details=details(CAUSE, CAUSE)),
        'The Deployment "web" is invalid: spec.replicas: must be positive',
    ),
    answered(
        "invalid-three-causes-two-equal",
        failure(422, "m", details=details(CAUSE, ANOTHER, CAUSE)),
        "* spec.selector: is required",
    ),
    answered("invalid-no-causes", failure(422, "m", details=details()), 'The Deployment "web" is invalid'),
    answered("invalid-no-details", failure(422, "Some message"), "The request is invalid: Some message"),
    answered("invalid-nothing", failure(422, ""), "The request is invalid"),
    answered("422-without-reason", failure(422, "denied", reason=""), "Error from server: denied"),
]

NOT_AN_OBJECT = [
    answered(
        "200-text",
        Answer(body="hello", content_type="text/plain; charset=utf-8"),
        "error: serializer for text/plain; charset=utf-8 doesn't exist",
    ),
    answered(
        "200-html",
        Answer(body=HTML, content_type="text/html"),
        "error: serializer for text/html doesn't exist",
    ),
    answered(
        "200-html-called-json",
        Answer(body=HTML),
        NO_JSON + "invalid character '<' looking for beginning of value",
    ),
    answered("200-no-kind", Answer(body='{"items": []}'), "error: Object 'Kind' is missing in '{\"items\": []}'"),
    answered(
        "200-array",
        Answer(body="[]"),
        NO_JSON + "json: cannot unmarshal array into Go value of type"
        ' struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
        ' Kind string "json:\\"kind,omitempty\\"" }',
        ours=Ours("a Go type says nothing here", Outcome("", NO_JSON + "the answer is no JSON object", 1)),
    ),
    answered(
        "200-empty",
        Answer(body=""),
        NO_JSON + "unexpected end of JSON input",
    ),
]

MISSING = [
    Case(
        "unknown-type",
        world(bare(500)),
        ["foo/web"],
        "",
        'error: the server doesn\'t have a resource type "foo"',
        1,
    ),
    Case(
        "unknown-type-and-name",
        world(bare(500)),
        ["foo", "web"],
        "",
        'error: the server doesn\'t have a resource type "foo"',
        1,
    ),
    Case(
        "unknown-type-of-a-group",
        world(bare(500)),
        ["foo.bar/web"],
        "",
        'error: the server doesn\'t have a resource type "foo" in group "bar"',
        1,
    ),
    Case(
        "unknown-type-of-a-group-and-version",
        world(bare(500)),
        ["foo.v1.bar/web"],
        "",
        'error: the server doesn\'t have a resource type "foo" in group "v1.bar"',
        1,
    ),
    Case(
        "known-type-of-another-group",
        world(bare(500)),
        ["deployments.extensions/web"],
        "",
        'error: the server doesn\'t have a resource type "deployments" in group "extensions"',
        1,
    ),
    Case(
        "known-type-of-another-version",
        world(bare(500)),
        ["deployments.v9.apps/web"],
        "",
        'error: the server doesn\'t have a resource type "deployments" in group "v9.apps"',
        1,
    ),
    Case(
        "name-dot-dot",
        world(bare(500)),
        ["deploy", ".."],
        "",
        "error: invalid resource name \"..\": [may not be '..']",
        1,
    ),
    Case(
        "name-dot",
        world(bare(500)),
        ["deploy", "."],
        "",
        "error: invalid resource name \".\": [may not be '.']",
        1,
    ),
    Case(
        "name-percent",
        world(bare(500)),
        ["deploy/a%b"],
        "",
        "error: invalid resource name \"a%b\": [may not contain '%']",
        1,
    ),
    Case(
        "name-with-a-space",
        ApiServer,
        ["deploy", "a b"],
        "",
        'Error from server (NotFound): deployments.apps "a b" not found',
        1,
    ),
    Case(
        "name-with-a-comma",
        ApiServer,
        ["deploy", "web,api"],
        "",
        'Error from server (NotFound): deployments.apps "web,api" not found',
        1,
    ),
    Case(
        "name-not-ascii",
        ApiServer,
        ["deploy", "wéb"],
        "",
        'Error from server (NotFound): deployments.apps "wéb" not found',
        1,
    ),
]

WARNINGS = [
    Case(
        "warning",
        lambda: ApiServer(Workload(deployment()), warnings=["apps/v1 is old"]),
        ["deploy/web"],
        OK,
        "Warning: apps/v1 is old",
    ),
    Case(
        "warning-with-quotes",
        lambda: ApiServer(Workload(deployment()), warnings=['say \\"no\\" \\\\ é']),
        ["deploy/web"],
        OK,
        'Warning: say "no" \\ é',
    ),
    Case(
        "warning-twice",
        lambda: ApiServer(Workload(deployment("a")), Workload(deployment("b")), warnings=["one", "two"]),
        ["deploy", "a", "b"],
        lines('deployment "a" successfully rolled out', 'deployment "b" successfully rolled out'),
        "Warning: two",
    ),
    Case(
        "warnings-as-errors",
        lambda: ApiServer(Workload(deployment()), warnings=["one"]),
        ["deploy/web", "--warnings-as-errors"],
        OK,
        "error: 1 warning received",
        1,
    ),
    Case(
        "two-warnings-as-errors",
        lambda: ApiServer(Workload(deployment()), warnings=["one", "two"]),
        ["deploy/web", "--warnings-as-errors"],
        OK,
        "error: 2 warnings received",
        1,
    ),
]

CASES = SUBSTITUTES + STATUSES + NOT_AN_OBJECT + MISSING + WARNINGS


@pytest.mark.parametrize(("program", "case"), both(CASES))
def test_answers(program: str, case: Case, runs: Runs) -> None:
    runs.check(program, case)


@pytest.mark.parametrize(
    ("program", "case"),
    both(
        [
            case
            for case in CASES
            if case.id
            in {
                "403-two-lines",
                "status-of-two-lines",
                "invalid-two-causes",
                "invalid-three-causes-two-equal",
            }
        ]
    ),
)
def test_the_lines_above_the_last(program: str, case: Case, runs: Runs) -> None:
    above = {
        "403-two-lines": "Error from server (Forbidden): no",
        "status-of-two-lines": "Error from server (BadRequest): one",
        "invalid-two-causes": "* spec.replicas: must be positive",
        "invalid-three-causes-two-equal": "* spec.replicas: must be positive",
    }
    said = runs.start(program, case).result().result.stderr.splitlines()
    assert said[-2] == above[case.id]


@pytest.mark.parametrize(("program", "case"), both([case for case in WARNINGS if case.id == "warning-twice"]))
def test_a_warning_is_said_once(program: str, case: Case, runs: Runs) -> None:
    said = runs.start(program, case).result().result.stderr.splitlines()
    assert said == ["Warning: one", "Warning: two"]
