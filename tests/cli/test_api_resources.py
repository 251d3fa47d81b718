"""`api-resources` prints what kubectl prints, on one scripted server."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from rawkube.cli.columns import columns
from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.discovery_server import DiscoveryServer, res
from tests.support.rows import looped
from tests.support.run import Result, kubeconfig, kubectl_command, run
from tests.support.script import Answer, failure

RESOURCES = [
    res("pods.v1.", short="po", cats="all"),
    res("nodes.v1.", namespaced=False, short="no"),
    res("noverbs.v1.", verbs=""),
    res("deployments.v1.apps", short="deploy", cats="all"),
    res("deployments.v1beta1.apps", short="deploy"),
    res("old.v1beta1.apps", verbs="get list"),
    res("helmcharts.v1.source.example.com", kind="HelmChart", short="hc helmchart", verbs="get list watch"),
    res("helmcharts.v1.helm.example.com", kind="HelmChart", short="hc", cats="all shop"),
    res("reviews.v1.authorization.k8s.io", verbs="create", namespaced=False),
]
BROKEN = {
    "/apis/source.example.com/v1": Answer("503 X", "no", content_type="text/plain"),
    "/apis/helm.example.com/v1": failure(403, "forbidden words"),
}
WORLDS: dict[str, Callable[[], DiscoveryServer]] = {
    "aggregated": lambda: DiscoveryServer(RESOURCES),
    "legacy": lambda: DiscoveryServer(RESOURCES, core="legacy", apis="legacy"),
    "stale": lambda: DiscoveryServer(RESOURCES, stale=["source.example.com/v1"]),
    "broken": lambda: DiscoveryServer(RESOURCES, core="legacy", apis="legacy", answers=BROKEN),
    "forbidden": lambda: DiscoveryServer(
        RESOURCES, answers={"/apis": failure(403, "words that kubectl does not show")}
    ),
    "unauthorized": lambda: DiscoveryServer(RESOURCES, answers={"/api": failure(401, "who?")}),
    "html": lambda: DiscoveryServer(RESOURCES, answers={"/apis": Answer(body="<html>", content_type="text/html")}),
    "nothing": lambda: DiscoveryServer([]),
}
LINES = [
    *("", "-o wide", "-o name", "-o json", "-o yaml", "--no-headers", "--no-headers -o wide", "--cached"),
    *(
        "--namespaced=false",
        "--namespaced",
        "--namespaced=true -o name",
        "--api-group=",
        "--api-group=apps",
        "--api-group=app",
    ),
    *(
        "--api-group=nosuch",
        "--api-group=nosuch -o wide",
        "--api-group=nosuch -o json",
        "--api-group=nosuch --no-headers",
    ),
    *("--verbs=list,get", "--verbs=watch --verbs=create -o name", "--categories=all", "--categories=all,shop -o wide"),
    *("--sort-by=name", "--sort-by=kind", "--sort-by=kind -o name", "--sort-by=nosuch", "-o nosuch", "extra words"),
]
CASES = [("aggregated", line) for line in LINES]
CASES += [(world, line) for world in WORLDS if world != "aggregated" for line in ("", "-o json")]


@cache
def served(world: str) -> DiscoveryServer:
    server = WORLDS[world]()
    server.__enter__()
    return server


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    for world in WORLDS:
        served(world).__exit__(None, None, None)
    served.cache_clear()


def rawkube(url: str, *args: str) -> Result:
    with tempfile.TemporaryDirectory() as home:
        config = Path(home) / "config"
        config.write_text(kubeconfig(url))
        out, err = io.BytesIO(), io.BytesIO()
        code = main(["--kubeconfig", str(config), *args], out=Output(out, err))
    return Result(out.getvalue().decode(), err.getvalue().decode(), code)


@pytest.mark.kubectl
@pytest.mark.parametrize(("world", "line"), CASES, ids=lambda text: text or "plain")
def test_as_kubectl(world: str, line: str) -> None:
    command = [*kubectl_command(), "api-resources", *line.split()]
    with tempfile.TemporaryDirectory() as home:
        kubectl = run(command, url=served(world).url, home=Path(home))
    ours = rawkube(served(world).url, "api-resources", *line.split())
    assert (ours.stdout, ours.code) == (kubectl.stdout, kubectl.code)
    if kubectl.stderr:
        last = kubectl.last.replace("kubectl", "rawkube").replace("json,kyaml,name", "json,name")
        assert ours.last == last
    elif world != "stale":
        assert ours.stderr == ""


def test_a_stale_part_is_named() -> None:
    result = rawkube(served("stale").url, "api-resources", "-o", "name")
    text = "source.example.com/v1 is left out: its server could not be asked lately (stale discovery)\n"
    assert (result.stderr, result.code) == (text, 0)


def test_what_the_server_says_stands_above() -> None:
    result = rawkube(served("forbidden").url, "api-resources")
    assert result.stderr.splitlines() == [
        "the server says: words that kubectl does not show",
        "Error from server (Forbidden): unknown",
    ]


def test_a_part_that_cannot_be_asked() -> None:
    """The rest is printed all the same, and the error stands below it."""
    result = rawkube(served("broken").url, "api-resources", "-o", "name")
    assert result.stdout.splitlines()[:2] == ["nodes", "pods"]
    assert result.code == 1
    assert result.stderr.startswith("error: unable to retrieve the complete list of server APIs: ")
    assert "helm.example.com/v1: forbidden words" in result.stderr
    assert "source.example.com/v1: " in result.stderr


def test_as_yaml_and_as_json() -> None:
    url = served("aggregated").url
    listed = yaml.safe_load(rawkube(url, "api-resources", "-o", "yaml").stdout)
    assert listed == json.loads(rawkube(url, "api-resources", "-o", "json").stdout)
    assert [one["name"] for one in listed["resources"]][:2] == ["nodes", "pods"]


def test_a_server_without_resources() -> None:
    for line in ("", "-o json"):
        assert rawkube(served("nothing").url, "api-resources", *line.split())[:3] == ("", "", 0)


@looped("line", ["-o foo", "--sort-by=foo", "extra"])
def test_a_wrong_line_asks_nobody(line: str) -> None:
    with DiscoveryServer(RESOURCES) as server:
        assert rawkube(server.url, "api-resources", *line.split()).code == 1
        assert server.asked == []


def test_names_that_a_terminal_would_obey() -> None:
    odd = res("as.v1.")._replace(plural="a\x1b[31ms", short_names=("\n",), categories=("\x07",))
    with DiscoveryServer([odd]) as server:
        for form in ("wide", "name"):
            printed = rawkube(server.url, "api-resources", "-o", form).stdout
            assert printed.replace("\n", "").isprintable()
            assert len(printed.splitlines()) == (2 if form == "wide" else 1)
        data = json.loads(rawkube(server.url, "api-resources", "-o", "json").stdout)
        assert data["resources"][0]["shortNames"] == ["\n"]


@looped(
    ("rows", "lines"),
    [
        ([], []),
        ([("a", "b")], ["a     b"]),
        ([("aaa", "", "x"), ("aaaa", "b", "")], ["aaa          x", "aaaa   b     "]),
        ([("\x1b", "\\n\n")], ["\\x1b   \\n\\n"]),
    ],
    ids=["none", "one", "two", "escaped"],
)
def test_the_table(rows: list[tuple[str, ...]], lines: list[str]) -> None:
    """As Go's text/tabwriter; what a terminal would obey is escaped once, and counted so."""
    assert columns(rows) == lines
