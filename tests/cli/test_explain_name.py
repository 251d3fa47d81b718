"""`explain-name`: which resource a word means, who says so, and what else it could be."""

from __future__ import annotations

import json

from tests.cli.test_api_resources import rawkube
from tests.support.discovery_server import DiscoveryServer, res
from tests.support.rows import looped
from tests.support.script import failure

RESOURCES = [
    res("pods.v1.", short="po", cats="all"),
    res("deployments.v1.apps", short="deploy", cats="all"),
    res("deployments.v1.shop.example.com", short="deploy shopd"),
    res("charts.v1.helm.example.com", short="hc"),
    res("charts.v1.source.example.com", short="hc", namespaced=False),
    res("podmetrics.v1beta1.metrics.example.com"),
]
STALE = "metrics.example.com/v1beta1: stale GroupVersion discovery: metrics.example.com/v1beta1"


def explained(*args: str) -> tuple[list[str], str, int]:
    with DiscoveryServer(RESOURCES, stale=["metrics.example.com/v1beta1"]) as server:
        result = rawkube(server.url, "explain-name", *args)
        assert server.paths() == ["/api", "/apis"]
    return result.stdout.splitlines(), result.stderr, result.code


@looped(
    ("word", "lines"),
    [
        (
            "deploy",
            [
                "deploy: deployments.apps, apps/v1, Deployment, namespaced",
                "  by: short name, rawkube's own table",
                "  could also be: deployments.shop.example.com (v1)",
                f"  not known: {STALE}",
            ],
        ),
        (
            "charts.source",
            [
                "charts.source: charts.source.example.com, source.example.com/v1, Chart, not namespaced",
                "  by: plural, the server's discovery",
            ],
        ),
        (
            "Chart.v1.helm.example.com",
            [
                "Chart.v1.helm.example.com: charts.helm.example.com, helm.example.com/v1, Chart, namespaced",
                "  by: singular, the server's discovery",
            ],
        ),
        (
            "cronjobs.batch",
            [
                "cronjobs.batch: cronjobs.batch, batch/v1, CronJob, namespaced",
                "  by: plural, rawkube's own table",
                "  the server has no such resource",
            ],
        ),
        (
            "all",
            [
                "all: a category",
                "  members of the category: pods (v1), deployments.apps (v1)",
                f"  not known: {STALE}",
            ],
        ),
    ],
)
def test_text(word: str, lines: list[str]) -> None:
    assert explained(word) == (lines, "", 0)


def test_a_word_that_means_nothing() -> None:
    lines, stderr, code = explained("podmetrics", "pods.")
    assert lines[:3] == ["podmetrics: nothing", f"  not known: {STALE}", ""]
    assert lines[3].startswith("pods.: pods, v1, Pod")
    assert (stderr, code) == ('error: the server doesn\'t have a resource type "podmetrics"\n', 1)


def test_json() -> None:
    lines, stderr, code = explained("hc", "nosuch", "-o", "json")
    first, second = (json.loads(line) for line in lines)
    assert (first["word"], first["rule"], first["source"]) == ("hc", "short name", "server")
    assert first["resource"]["group"] == "helm.example.com"
    assert [one["group"] for one in first["also"]] == ["source.example.com"]
    assert (second["resource"], second["rule"], list(second["failed"])) == (None, "", ["metrics.example.com/v1beta1"])
    assert (stderr, code) == ('error: the server doesn\'t have a resource type "nosuch"\n', 1)


@looped(
    ("args", "text"),
    [
        ([], "error: a word to explain is needed\n"),
        (["x", "-o", "yaml"], 'error: --output must be "text" or "json", not "yaml"\n'),
    ],
    ids=["no-word", "format"],
)
def test_a_wrong_line(args: list[str], text: str) -> None:
    with DiscoveryServer(RESOURCES) as server:
        result = rawkube(server.url, "explain-name", *args)
        assert (result.stdout, result.stderr, result.code, server.asked) == ("", text, 1, [])


def test_a_server_that_says_nothing() -> None:
    with DiscoveryServer(RESOURCES, answers={"/apis": failure(503, "x")}) as server:
        result = rawkube(server.url, "explain-name", "deploy")
    assert result.last == "Error from server (ServiceUnavailable): the server is currently unable to handle the request"
    assert result.code == 1
