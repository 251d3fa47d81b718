"""Command lines that cannot be read: refused with kubectl's words and without a request."""

from __future__ import annotations

import pytest

from tests.differential.rig import Case, Runs, both
from tests.support.api_server import ApiServer

INVALID = "error: invalid argument "
USAGE = "See 'kubectl rollout status --help' for usage."
ONE = "error: arguments in resource/name form must have a single resource and name"


def refused(name: str, args: list[str], last: str, *, seen: list[str] | None = None) -> Case:
    return Case(name, ApiServer, args, "", last, 1, seen=[] if seen is None else seen)


CASES = [
    refused("nothing", [], "error: required resource not specified"),
    refused("only-a-selector", ["-l", "a=b"], "error: required resource not specified"),
    refused("revision-negative", ["deploy/web", "--revision=-1"], "error: revision must be a positive integer: -1"),
    refused("revision-no-number", ["deploy/web", "--revision=x"], USAGE),
    refused("timeout-without-unit", ["deploy/web", "--timeout=5"], USAGE),
    refused("watch-maybe", ["deploy/web", "--watch=maybe"], USAGE),
    refused("unknown-flag", ["deploy/web", "--foo"], USAGE),
    refused("unknown-short-flag", ["deploy/web", "-Z"], USAGE),
    refused("flag-without-its-value", ["deploy/web", "--timeout"], USAGE),
    refused(
        "two-slashes",
        ["deploy/web/x"],
        "error: arguments in resource/name form may not have more than one slash",
    ),
    refused("no-name", ["deploy/"], ONE),
    refused("no-type", ["/web"], ONE),
    refused("two-types-in-a-pair", ["a,b/web"], ONE),
    refused(
        "both-forms",
        ["deploy", "deploy/web"],
        "error: there is no need to specify a resource type as a separate argument when passing arguments in"
        " resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource"
        " resource/<resource_name>'",
    ),
    refused(
        "name-and-selector",
        ["deploy", "web", "-l", "x=y"],
        "error: name cannot be provided when a selector is specified",
    ),
    refused(
        "pair-and-selector",
        ["deploy/web", "-l", "x=y"],
        "error: selectors and the all flag cannot be used when passing resource/name arguments",
    ),
    refused(
        "request-timeout-no-duration",
        ["deploy/web", "--request-timeout=x"],
        "error: Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by"
        " a corresponding time unit (e.g. 1s | 2m | 3h)",
    ),
]


@pytest.mark.parametrize(("program", "case"), both(CASES))
def test_arguments(program: str, case: Case, runs: Runs) -> None:
    runs.check(program, case)


FIRST_LINES = {
    "revision-no-number": INVALID + '"x" for "--revision" flag: strconv.ParseInt: parsing "x": invalid syntax',
    "timeout-without-unit": INVALID + '"5" for "--timeout" flag: time: missing unit in duration "5"',
    "watch-maybe": INVALID + '"maybe" for "-w, --watch" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
    "unknown-flag": "error: unknown flag: --foo",
    "unknown-short-flag": "error: unknown shorthand flag: 'Z' in -Z",
    "flag-without-its-value": "error: flag needs an argument: --timeout",
}


@pytest.mark.parametrize(("program", "case"), both([case for case in CASES if case.id in FIRST_LINES]))
def test_the_line_above(program: str, case: Case, runs: Runs) -> None:
    said = runs.start(program, case).result().result.stderr.splitlines()
    assert said[-2] == FIRST_LINES[case.id]
