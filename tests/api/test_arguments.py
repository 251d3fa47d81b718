"""kubectl's grammar of resource arguments, and its errors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.arguments import Wanted, check_across_namespaces, check_name, parse_arguments
from rawkube.errors import UsageError
from tests.support.examples import examples
from tests.support.rows import looped

MIXED = (
    "there is no need to specify a resource type as a separate argument when passing arguments in resource/name "
    "form (e.g. 'kubectl get resource/<resource_name>' instead of "
    "'kubectl get resource resource/<resource_name>'"
)
SLASHES = "arguments in resource/name form may not have more than one slash"
SINGLE = "arguments in resource/name form must have a single resource and name"


@looped(
    ("line", "wanted"),
    [
        ("deploy", "deploy/"),
        ("deploy web", "deploy/web"),
        ("deploy web api web", "deploy/web deploy/api deploy/web"),
        ("deploy/web", "deploy/web"),
        ("pods/foo pod/bar pods/foo", "pods/foo pod/bar pods/foo"),
        ("nodes/foo pod/bar", "nodes/foo pod/bar"),
        ("deploy,ds", "deploy/ ds/"),
        ("rc,pod,svc foo", "rc/foo pod/foo svc/foo"),
        ("deploy,ds a b", "deploy/a deploy/b ds/a ds/b"),
        ("deploy,deploy web", "deploy/web"),
        ("deploy,ds,deploy", "deploy/ ds/"),
        ("deploy web,api", "deploy/web,api"),
        ("deploy/web,api", "deploy/web,api"),
        ("deployments.v1.apps/web", "deployments.v1.apps/web"),
        ("pods,", "pods/ /"),
        (",", "/"),
    ],
)
def test_what_is_asked_for(line: str, wanted: str) -> None:
    found = parse_arguments(line.split())
    assert " ".join(f"{one.type}/{one.name}" for one in found) == wanted


@looped(
    ("args", "selector", "text"),
    [
        ([], "", "required resource not specified"),
        ([], "a=b", "required resource not specified"),
        (["deploy/web/x"], "", SLASHES),
        (["deploy/web/"], "", SLASHES),
        (["a,b", "c/d"], "", SLASHES),
        (["deploy/"], "", SINGLE),
        (["/web"], "", SINGLE),
        (["/"], "", SINGLE),
        (["a,b/web"], "", SINGLE),
        ([",pods/foo"], "", SINGLE),
        (["deploy/x", "a,b/c"], "", SINGLE),
        (["deploy,", "x"], "", SINGLE),
        (["deploy", "deploy/web"], "", MIXED),
        (["pods/foo", "bar"], "", MIXED),
        (["deploy", "a/b"], "", MIXED),
        (["deploy", "web"], "x=y", "name cannot be provided when a selector is specified"),
        (
            ["deploy/web"],
            "x=y",
            "selectors and the all flag cannot be used when passing resource/name arguments",
        ),
        (
            ["deploy,ds", "web"],
            "x=y",
            "selectors and the all flag cannot be used when passing resource/name arguments",
        ),
        (["deploy", ""], "", "resource name may not be empty"),
        (["deploy", "web", ""], "", "resource name may not be empty"),
    ],
)
def test_errors(args: list[str], selector: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments(args, selector=selector, program="kubectl")
    assert str(caught.value) == text


def test_the_example_of_an_error_names_the_program() -> None:
    with pytest.raises(UsageError, match=r"'rawkube get resource/<resource_name>'"):
        parse_arguments(["deploy", "deploy/web"])


@pytest.mark.parametrize("selector", ["", " ", "\t"], ids=repr)
def test_white_space_is_no_selector(selector: str) -> None:
    assert parse_arguments(["deploy", "web"], selector=selector) == [Wanted("deploy", "web")]


@pytest.mark.parametrize("args", [["deploy"], ["deploy,ds"]], ids=str)
def test_types_with_a_selector(args: list[str]) -> None:
    assert all(not one.name for one in parse_arguments(args, selector="app=web"))


@looped(
    ("name", "text"),
    [
        ("", "resource name may not be empty"),
        (".", "invalid resource name \".\": [may not be '.']"),
        ("..", "invalid resource name \"..\": [may not be '..']"),
        ("a%b", "invalid resource name \"a%b\": [may not contain '%']"),
        ("a/b", "invalid resource name \"a/b\": [may not contain '/']"),
        ("a%/b%", "invalid resource name \"a%/b%\": [may not contain '/' may not contain '%']"),
        ("a\u2028%", "invalid resource name \"a\\u2028%\": [may not contain '%']"),
    ],
    ids=ascii,
)
def test_names_that_cannot_be_in_a_path(name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_name(name)
    assert str(caught.value) == text


@looped("name", ["web", "a b", "...", "web,api", "ä", "A_B", "system:node"])
def test_other_names_are_the_servers_to_judge(name: str) -> None:
    check_name(name)


WORD = st.text(alphabet="ab,/.% ", max_size=6) | st.text(max_size=3)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(WORD, max_size=4), st.sampled_from(["", "a=b"]))
def test_nothing_but_a_usage_error_is_raised(args: list[str], selector: str) -> None:
    try:
        found = parse_arguments(args, selector=selector)
        for one in found:
            check_name(one.name)
    except UsageError as error:
        assert "\n" not in str(error)
    else:
        assert all("/" not in one.type for one in found)


def test_a_word_for_several_types_takes_no_name() -> None:
    everything = {"all": ["pods", "services"]}
    assert parse_arguments(["all"], expand=lambda word: everything[word]) == [Wanted("pods"), Wanted("services")]
    with pytest.raises(UsageError, match=r"^you must specify only one resource$"):
        parse_arguments(["all", "web"], expand=lambda word: everything[word])


def test_names_across_namespaces() -> None:
    check_across_namespaces([(True, ""), (False, "node-1"), (False, "")])
    with pytest.raises(UsageError, match="a resource cannot be retrieved by name across all namespaces"):
        check_across_namespaces([(False, "node-1"), (True, "web")])
