"""From words and kinds to resources: the table, the server, and which of several is meant."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import pytest

from rawkube.api.builtin import RESOURCES
from rawkube.api.client import ApiClient
from rawkube.api.discovery import Discovery
from rawkube.api.discovery_documents import Group, read_root
from rawkube.api.mapper import Mapper, Named, is_about_an_object
from rawkube.api.mapping import Found, Names
from rawkube.api.resource import Resource
from rawkube.errors import ConnectionRefused, RawkubeError, StatusError, UsageError
from tests.support.client import Client
from tests.support.discovery_server import DiscoveryServer, documents, grouped, res
from tests.support.recordings import FIXTURES, exchanges
from tests.support.rows import looped
from tests.support.script import SILENCE, Answer, failure

HERE = FIXTURES / "discovery"


def names(resources: Sequence[Resource], preferred: dict[str, str] | None = None) -> Names:
    """The resources as one server's; each group prefers its first version unless it is said."""
    groups = [
        Group(group, tuple(versions), (preferred or {}).get(group, next(iter(versions))))
        for group, versions in grouped(resources).items()
    ]
    return Names(groups, resources)


def meant(found: Found | None) -> str:
    return f"{found.resource.qualified} {found.resource.version}" if found else "nothing"


def find(resources: Sequence[Resource], word: str) -> str:
    return meant(names(resources).find(word))


# Pure rules. The order of the groups is the server's.

ORDER = [
    *(res("jobs.v1beta.extensions"), res("pods.v1beta.extensions")),
    *(res("pods.v1."), res("pods.v2.")),
    *(res("broccoli.v1.unpreferred"), res("broccoli.v2beta1.unpreferred"), res("peas.v2beta1.unpreferred")),
    *(res("broccoli.v2alpha1.unpreferred"), res("peas.v2alpha1.unpreferred")),
]


@looped(
    ("word", "found"),
    [
        ("pods", "pods v1"),
        ("pods.v2.", "pods v2"),
        ("pods.extensions", "pods.extensions v1beta"),
        ("jobs", "jobs.extensions v1beta"),
        ("peas", "peas.unpreferred v2beta1"),
        ("broccoli", "broccoli.unpreferred v1"),
        ("broccoli.v2alpha1.unpreferred", "broccoli.unpreferred v2alpha1"),
        ("PEAS.unp", "peas.unpreferred v2beta1"),
        ("Pea.v2alpha1.", "peas.unpreferred v2alpha1"),
    ],
)
def test_which_of_several_is_meant(word: str, found: str) -> None:
    assert find(ORDER, word) == found


def hpa(name: str) -> Resource:
    return res(name, short="hpa")


@pytest.mark.parametrize(
    ("resources", "found", "shadowed"),
    [
        (["a.v1.autoscaling", "b.v1.autoscaling"], "a.autoscaling v1", "b.autoscaling"),
        (["a.v1.autoscaling", "a.v2.autoscaling"], "a.autoscaling v1", ""),
        (["a.v1.autoscaling", "f.v1.foo", "f.v2.foo", "b.v1.bar"], "a.autoscaling v1", "f.foo b.bar"),
    ],
    ids=["two-resources", "two-versions", "three-groups"],
)
def test_short_names_of_several_resources(resources: list[str], found: str, shadowed: str) -> None:
    got = names([hpa(name) for name in resources]).find("hpa")
    assert got is not None
    assert (meant(got), got.rule) == (found, "short name")
    assert " ".join(one.qualified for one in got.shadowed) == shadowed


def test_a_short_name_of_what_no_word_can_mean() -> None:
    """Words are looked up in lower case: a name that is not is nobody's, and its short name neither."""
    known = names([res("Odds.v1.acme.com", short="o")])
    assert [meant(known.find(word)) for word in ("o", "odds", "odd")] == ["nothing", "nothing", "Odds.acme.com v1"]


def test_each_resource_once_in_the_version_that_comes_first() -> None:
    known = names([res("a.v2.x"), res("b.v1.x"), res("a.v1.x"), res("a.v1.y")])
    assert [(one.qualified, one.version) for one in known.preferred()] == [("a.x", "v2"), ("b.x", "v1"), ("a.y", "v1")]


PODDLERS = [
    res("pods.v1."),
    res("poddlers.v1.acme.com", short="pods pod"),
    res("storageclasses.v1.storage.k8s.io", short="sc"),
]


@looped(
    ("word", "found", "rule"),
    [
        ("pods", "pods v1", "plural"),
        ("pod", "pods v1", "singular"),
        ("pods.acme.com", "poddlers.acme.com v1", "short name"),
        ("sc", "storageclasses.storage.k8s.io v1", "short name"),
        ("sc.storage.k8s.io", "storageclasses.storage.k8s.io v1", "short name"),
        ("sc.storage", "storageclasses.storage.k8s.io v1", "short name"),
        ("sc.v1.storage.k8s.io", "storageclasses.storage.k8s.io v1", "short name"),
    ],
)
def test_a_name_is_no_short_name(word: str, found: str, rule: str) -> None:
    got = names(PODDLERS).find(word)
    assert (meant(got), got and got.rule) == (found, rule)


APPS = [
    *(
        res("pods.v1.", short="po"),
        res("deployments.v1.apps", short="deploy"),
        res("deployments.v1beta1.apps", short="deploy"),
    ),
    *(res("widgets.v1.extensions"), res("widgets.v1.ext", short="wi")),
    *(res("gears.v1.ext", singular="oddgear", kind="GearThing"), res("ingresses.v1.networking.k8s.io", kind="Ingress")),
]


@looped(
    ("word", "found"),
    [
        *((word, "pods v1") for word in ("pods", "POD", "Pods", "po", "pods.", "po.", "pods.v1.", "Pod.v1.")),
        *((word, "nothing") for word in ("PO", "pods.v1", "pods.v2.", "podlist", "pods/log", "pods ", "", ".", "..")),
        *((word, "deployments.apps v1") for word in ("deploy", "Deployment.apps", "deployments.ap", "deploy.app")),
        *((word, "deployments.apps v1") for word in ("deployments..apps", "deployments.v1.apps", "deployments.v1.")),
        *((word, "deployments.apps v1beta1") for word in ("Deployment.v1beta1.apps", "deployments.v1beta1.")),
        # A short name keeps its version.
        *((word, "deployments.apps v1beta1") for word in ("deploy.v1beta1.apps", "deploy.v1beta1.")),
        *(
            (word, "nothing")
            for word in ("deployments.APPS", "deployments.v9.apps", "deploy.v9.apps", "Deploy", "deployments.V1.apps")
        ),
        # A group that begins so counts beside the very group; the first in order wins.
        *((word, "widgets.extensions v1") for word in ("widgets", "widgets.ext", "widgets.e", "wi.e")),
        *((word, "widgets.ext v1") for word in ("widgets.v1.ext",)),
        *(
            (word, "gears.ext v1")
            for word in ("oddgear", "ODDGEAR", "GearThing.ext", "gearthing.ext", "GearThing.v1.ext")
        ),
        *((word, "nothing") for word in ("GearThing", "gearThing.ext", "GearThing.e", "gearthing", "GearThing.v2.ext")),
        ("ingresses.networking", "ingresses.networking.k8s.io v1"),
        ("INGRESS", "ingresses.networking.k8s.io v1"),
    ],
    ids=repr,
)
def test_words(word: str, found: str) -> None:
    assert find(APPS, word) == found


def test_what_a_word_could_also_mean() -> None:
    found = names([res("charts.v1.a"), res("charts.v2.a"), res("charts.v1.b"), res("charts.v1.c")]).find("charts")
    assert found is not None
    assert [one.qualified for one in found.also] == ["charts.b", "charts.c"]
    assert found.shadowed == ()


# On a server.

CRDS = [
    *(
        res("pods.v1.", short="po", cats="all"),
        res("secrets.v1.", short=""),
        res("nodes.v1.", namespaced=False, short="no"),
    ),
    *(
        res("deployments.v1.apps", short="deploy", cats="all"),
        res("deployments.v1.shop.example.com", short="deploy shopd"),
    ),
    *(
        res("charts.v1.helm.example.com", short="hc", cats="charts"),
        res("charts.v1beta1.helm.example.com", cats="charts all"),
    ),
    *(res("charts.v1.source.example.com", short="hc"), res("podmetrics.v1beta1.metrics.example.com")),
]


def qualified(found: Sequence[Named]) -> str:
    return " ".join(f"{one.resource.qualified}.{one.resource.version}/{one.name}" for one in found)


@looped("word", ["pods", "po", "deploy", "Deployment.apps", "deployments.v1.apps", "cj"])
def test_the_table_asks_nobody(word: str) -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        assert Mapper(client).resource(word) in RESOURCES
        assert server.asked == []


@looped(
    ("word", "found", "warning"),
    [
        ("deploy", "deployments.apps", "deployments.shop.example.com"),
        ("shopd", "deployments.shop.example.com", ""),
        ("hc", "charts.helm.example.com", "charts.source.example.com"),
        ("charts", "charts.helm.example.com", ""),
        ("charts.source.example.com", "charts.source.example.com", ""),
        ("charts.v1.source.example.com", "charts.source.example.com", ""),
        ("hc.source", "charts.source.example.com", ""),
    ],
)
@looped("shape", ["v2", "legacy"])
def test_custom_resources(word: str, found: str, warning: str, shape: str) -> None:
    warnings: list[str] = []
    with DiscoveryServer(CRDS, core=shape, apis=shape) as server, Client(server.url) as client:
        mapper = Mapper(client, on_warning=warnings.append, table=False)
        assert mapper.resource(word).qualified == found
        short = word.partition(".")[0]
        text = f'short name "{short}" could also match lower priority resource {warning}'
        assert warnings == ([text] if warning else [])


@looped(
    ("word", "text"),
    [
        ("nosuch", 'the server doesn\'t have a resource type "nosuch"'),
        ("nosuch.example.com", 'the server doesn\'t have a resource type "nosuch" in group "example.com"'),
        (
            "charts.v9.helm.example.com",
            'the server doesn\'t have a resource type "charts" in group "v9.helm.example.com"',
        ),
        ("ALL", 'the server doesn\'t have a resource type "ALL"'),
        ("", 'the server doesn\'t have a resource type ""'),
        ("a\nb", 'the server doesn\'t have a resource type "a\\nb"'),
    ],
    ids=ascii,
)
def test_nothing_of_that_name(word: str, text: str) -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        with pytest.raises(UsageError) as caught:
            Mapper(client).resource(word)
        assert (str(caught.value), caught.value.detail) == (text, ())
        assert len(server.asked) == 2


BROKEN = {"/apis/metrics.example.com/v1beta1": Answer("503 X", "service unavailable", "text/plain")}
WHY = "the resources of metrics.example.com/v1beta1 are not known: the server is currently unable to handle the request"


@looped(
    ("word", "detail"),
    [
        ("podmetrics", (WHY,)),
        ("podmetrics.metrics", (WHY,)),
        ("podmetrics.v1beta1.metrics.example.com", (WHY,)),
        ("nosuch.helm.example.com", ()),
    ],
)
def test_a_broken_group_is_named_where_it_is_wanted(word: str, detail: tuple[str, ...]) -> None:
    with DiscoveryServer(CRDS, core="legacy", apis="legacy", answers=BROKEN) as server, Client(server.url) as client:
        mapper = Mapper(client, table=False)
        assert mapper.resource("deployments").qualified == "deployments.apps"
        with pytest.raises(UsageError, match="the server doesn't have a resource type") as caught:
            mapper.resource(word)
        assert caught.value.detail == detail


@pytest.mark.parametrize("word", ["charts.helm.example.com", "secrets", "hc"])
def test_a_hanging_group_delays_no_other(word: str) -> None:
    hanging = {"/apis/metrics.example.com/v1beta1": SILENCE}
    with DiscoveryServer(CRDS, core="legacy", apis="legacy", answers=hanging) as server, Client(server.url) as client:
        before = time.monotonic()
        Mapper(client, table=False).resource(word)
        assert time.monotonic() - before < 1


def test_a_slow_group_that_would_come_first_is_waited_for() -> None:
    many = [res("widgets.v1.first"), res("widgets.v1.second")]
    hanging = {"/apis/first/v1": SILENCE}
    with DiscoveryServer(many, apis="legacy", answers=hanging) as server, Client(server.url) as client:
        mapper = Mapper(client, discovery=Discovery(client, group_seconds=3.0, grace=0.01))
        assert mapper.resource("widgets.second").group == "second"
        assert mapper.discovery.glance().waiting
        assert mapper.resource("widgets").group == "second"
        assert not mapper.discovery.glance().waiting


# Looking again after a miss.


@looped("shape", ["v2", "legacy"])
@looped(
    "late", [res("gadgets.v1.new.example.com"), res("gadgets.v1.helm.example.com")], ids=["new-group", "known-group"]
)
def test_a_resource_that_comes_later_is_found_by_one_more_look(late: Resource, shape: str) -> None:
    with DiscoveryServer(CRDS, core=shape, apis=shape) as server, Client(server.url) as client:
        mapper = Mapper(client, discovery=Discovery(client, window=0))
        mapper.resource("hc")
        server.resources.append(late)
        assert mapper.resource("gadgets") == late
        assert server.paths().count("/apis") == 2
        assert mapper.resource("gadgets") == late
        assert server.paths().count("/apis") == 2
        assert mapper.for_kind(late.group_version, late.kind) == late


def test_a_miss_is_a_miss_where_the_look_was_fresh() -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        mapper = Mapper(client)
        for _ in range(3):
            with pytest.raises(UsageError):
                mapper.resource("gadgets")
        assert len(server.asked) == 2


def test_a_miss_is_not_remembered() -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        mapper = Mapper(client, discovery=Discovery(client, window=0))
        with pytest.raises(UsageError):
            mapper.resource("gadgets")
        server.resources.append(res("gadgets.v1.new"))
        assert mapper.resource("gadgets").group == "new"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (failure(403, "no"), "unknown"),
        (failure(503, "no"), "the server is currently unable to handle the request"),
        (Answer(body="<html>"), "invalid character '<' looking for beginning of value"),
    ],
    ids=["403", "503", "html"],
)
def test_other_failures_are_shown_as_they_are(answer: Answer, text: str) -> None:
    with DiscoveryServer(CRDS, answers={"/apis": answer}) as server, Client(server.url) as client:
        for call in (
            lambda: Mapper(client).resource("hc"),
            lambda: Mapper(client).wanted(["all"]),
            lambda: Mapper(client).for_kind("helm.example.com/v1", "Chart"),
        ):
            with pytest.raises(RawkubeError) as caught:
                call()
            assert str(caught.value) == text


def test_a_server_that_is_not_there() -> None:
    with DiscoveryServer(CRDS) as server:
        url = server.url
    with Client(url) as client, pytest.raises(ConnectionRefused):
        Mapper(client).resource("hc")


# Arguments.


@looped(
    ("line", "found"),
    [
        ("hc a b", "charts.helm.example.com.v1/a charts.helm.example.com.v1/b"),
        ("pods/foo pod/bar", "pods.v1/foo pods.v1/bar"),
        ("nodes/foo pod/bar", "nodes.v1/foo pods.v1/bar"),
        ("po,hc a", "pods.v1/a charts.helm.example.com.v1/a"),
        ("hc/a hc/a", "charts.helm.example.com.v1/a charts.helm.example.com.v1/a"),
        ("pods,po,Pod", "pods.v1/"),
        ("all", "pods.v1/ deployments.apps.v1/ charts.helm.example.com.v1/"),
        ("all,secrets", "pods.v1/ deployments.apps.v1/ charts.helm.example.com.v1/ secrets.v1/"),
        ("secrets,charts,pods", "secrets.v1/ charts.helm.example.com.v1/ pods.v1/"),
        ("charts a", "charts.helm.example.com.v1/a"),
        ("pods,all", "pods.v1/ deployments.apps.v1/ charts.helm.example.com.v1/"),
    ],
)
def test_what_arguments_ask_for(line: str, found: str) -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        assert qualified(Mapper(client).wanted(line.split())) == found


NO_TYPE = "the server doesn't have a resource type "


@looped(
    ("line", "text"),
    [
        ("all a", "you must specify only one resource"),
        ("all/a", NO_TYPE + '"all"'),
        ("all,pods a", NO_TYPE + '"all"'),
        ("ALL", NO_TYPE + '"ALL"'),
        ("pods,", NO_TYPE + '""'),
        ("unknown/foo", NO_TYPE + '"unknown"'),
        ("pods/a unknown/foo", NO_TYPE + '"unknown"'),
        ("bar/", "arguments in resource/name form must have a single resource and name"),
    ],
)
@looped("table", [True, False])
def test_errors_of_arguments(line: str, text: str, table: bool) -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        with pytest.raises(UsageError) as caught:
            Mapper(client, table=table).wanted(line.split())
        assert str(caught.value) == text


@pytest.mark.parametrize(
    ("line", "selector", "text"),
    [
        ("all a", "x=y", "name cannot be provided when a selector is specified"),
        ("pods/a", "x=y", "selectors and the all flag cannot be used when passing resource/name arguments"),
    ],
)
def test_selectors(line: str, selector: str, text: str) -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        with pytest.raises(UsageError) as caught:
            Mapper(client).wanted(line.split(), selector=selector)
        assert str(caught.value) == text


@looped(
    ("line", "allowed"),
    [("pods", True), ("all", True), ("nodes a", True), ("nodes/a", True), ("pods a", False), ("nodes/a pods/b", False)],
)
def test_names_across_all_namespaces(line: str, allowed: bool) -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        mapper = Mapper(client)
        if allowed:
            assert mapper.wanted(line.split(), all_namespaces=True)
            return
        with pytest.raises(UsageError) as caught:
            mapper.wanted(line.split(), all_namespaces=True)
        assert str(caught.value) == "a resource cannot be retrieved by name across all namespaces"


def test_built_in_words_alone_ask_nobody() -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        assert qualified(Mapper(client).wanted(["po,deploy,ns"])) == "pods.v1/ deployments.apps.v1/ namespaces.v1/"
        assert server.asked == []


# Kinds of manifests.


@looped(
    ("api_version", "kind", "found", "asked"),
    [
        ("v1", "Pod", "pods", 0),
        ("apps/v1", "Deployment", "deployments.apps", 0),
        ("apps/v1", "deployment", "deployments.apps", 0),
        ("shop.example.com/v1", "Deployment", "deployments.shop.example.com", 2),
        ("helm.example.com/v1beta1", "Chart", "charts.helm.example.com", 2),
        ("source.example.com/v1", "Chart", "charts.source.example.com", 2),
    ],
)
def test_the_kind_of_a_manifest(api_version: str, kind: str, found: str, asked: int) -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        got = Mapper(client).for_kind(api_version, kind)
        assert (got.qualified, got.group_version, len(server.asked)) == (found, api_version, asked)


@looped(
    ("api_version", "kind"),
    [
        *(("foo.io/v1", "Bar"), ("apps/v9", "Deployment"), ("apps/v1", "deploy"), ("apps/v1", "deployments")),
        *(("v1", "Deployment"), ("helm.example.com/v1", "charts"), ("a/b/c", "Chart"), ("", "Pod")),
    ],
)
def test_a_kind_that_nothing_serves(api_version: str, kind: str) -> None:
    text = f'no matches for kind "{kind}" in version "{api_version}"\nensure CRDs are installed first'
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        mapper = Mapper(client)
        with pytest.raises(UsageError) as caught:
            mapper.for_kind(api_version, kind)
        assert str(caught.value) == text
        with pytest.raises(UsageError) as caught:
            mapper.for_kind(api_version, kind, name="x", source="f.yaml")
        assert str(caught.value) == f'resource mapping not found for name: "x" namespace: "" from "f.yaml": {text}'


def test_a_kind_of_a_broken_group() -> None:
    with DiscoveryServer(CRDS, core="legacy", apis="legacy", answers=BROKEN) as server, Client(server.url) as client:
        with pytest.raises(UsageError) as caught:
            Mapper(client).for_kind("metrics.example.com/v1beta1", "PodMetrics")
        assert caught.value.detail == (WHY,)


# A table that is wrong for this server.

OLD = [res("pods.v1."), res("deployments.v1beta1.extensions", short="deploy")]


def not_found(client: ApiClient, resource: Resource) -> StatusError:
    with pytest.raises(StatusError) as caught:
        client.get(resource, "default", "web")
    assert caught.value.code == 404
    return caught.value


@looped("word", ["deploy", "deployment", "Deployment", ""])
def test_a_server_that_has_it_in_another_group(word: str) -> None:
    with DiscoveryServer(OLD) as server, Client(server.url) as client:
        mapper = Mapper(client)
        resource = mapper.resource(word or "deployments")
        error = not_found(client, resource)
        if not word:  # by its own name: deployments.apps
            with pytest.raises(UsageError, match='resource type "deployments" in group "apps"'):
                mapper.after_not_found(resource, error)
            return
        other = mapper.after_not_found(resource, error, word=word)
        assert other is not None
        assert other.group_version == "extensions/v1beta1"
        assert server.paths().count("/apis") == 1


@looped(
    ("answer", "about"),
    [
        (failure(404, 'deployments.apps "web" not found', details={"name": "web", "kind": "deployments"}), True),
        (failure(404, "the server could not find the requested resource", details={}), False),
        (failure(404, "not here"), False),
        (Answer("404 Not Found", "404 page not found", "text/plain"), False),
        (Answer("404 Not Found", "{}", "application/json"), False),
    ],
    ids=["object", "resource", "no-details", "text", "no-status"],
)
def test_which_404_is_about_an_object(answer: Answer, about: bool) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    with DiscoveryServer(CRDS, answers={path: answer}) as server, Client(server.url) as client:
        mapper = Mapper(client)
        resource = mapper.resource("deploy")
        error = not_found(client, resource)
        assert is_about_an_object(error) is about
        assert mapper.after_not_found(resource, error, word="deploy") is None  # the server has it, as the table says
        assert server.paths().count("/apis") == (0 if about else 1)


def test_another_failure_than_404_stands() -> None:
    with DiscoveryServer(CRDS) as server, Client(server.url) as client:
        mapper = Mapper(client)
        error = StatusError({"code": 403, "message": "no"})
        assert mapper.after_not_found(mapper.resource("deploy"), error) is None
        assert server.asked == []


# Recorded servers.


def recorded(name: str) -> dict[str, Answer]:
    found: dict[str, Answer] = {}
    for one in exchanges(HERE / name):
        if one.status == 200 and one.path in ("/api", "/apis"):
            found.setdefault(one.path, Answer(body=one.body, content_type=dict(one.headers)["content-type"]))
    return found


@pytest.mark.parametrize("name", ["aggregated.jsonl", "crds-and-broken-apiservice.jsonl"])
def test_the_table_says_what_a_recorded_server_says(name: str) -> None:
    with DiscoveryServer([], answers=recorded(name)) as server, Client(server.url) as client:
        asking, knowing = Mapper(client, table=False), Mapper(client)
        for one in RESOURCES:
            for word in (
                one.plural,
                one.singular,
                one.kind,
                *one.short_names,
                f"{one.kind}.v1.{one.group}",
                f"{one.plural}.{one.group}",
            ):
                served = asking.resource(word)
                assert served._replace(verbs=()) == knowing.resource(word), word


def test_every_word_means_the_same_in_both_shapes() -> None:
    answers = [recorded("aggregated.jsonl")]
    answers.append({one.path: Answer(body=one.body) for one in exchanges(HERE / "legacy.jsonl")})
    meanings = []
    for some in answers:
        with DiscoveryServer([], answers=some) as server, Client(server.url) as client:
            catalogue = Discovery(client).catalogue()
        known = Names(catalogue.groups, catalogue.resources)
        words = {word for one in catalogue.resources for word in (one.plural, one.kind, one.singular, *one.short_names)}
        groups = sorted({one.group for one in catalogue.resources})
        every = sorted(words) + [f"{word}.{group}" for word in sorted(words) for group in groups]
        meanings.append([(word, known.find(word)) for word in every])
    assert meanings[0] == meanings[1]
    assert sum(found is not None for _, found in meanings[0]) > 300


@looped(
    ("word", "path", "warning"),
    [
        ("hc", "/apis/helm.example.com/v1/namespaces/demo/helmcharts", "helmcharts.source.example.com"),
        ("helmcharts", "/apis/helm.example.com/v1/namespaces/demo/helmcharts", ""),
        ("helmcharts.source.example.com", "/apis/source.example.com/v1/namespaces/demo/helmcharts", ""),
        ("deploy", "/apis/apps/v1/namespaces/demo/deployments", "deployments.shop.example.com"),
        ("shopd", "/apis/shop.example.com/v1/namespaces/demo/deployments", ""),
        ("things.metrics.example.com", "", ""),
        ("nosuch", "", ""),
    ],
)
def test_kubectls_answers_on_a_recorded_server(word: str, path: str, warning: str) -> None:
    """kubectl asked for these, on a server with two kinds of charts and a broken aggregated API."""
    said = json.loads((HERE / "kubectl-ambiguous.expected.json").read_text())["transcript"]
    part = said.partition(f"== {word}\n")[2].partition("\n==")[0]
    paths = [one.path for one in exchanges(HERE / "kubectl-ambiguous.jsonl")]
    warnings: list[str] = []
    with DiscoveryServer([], answers=recorded("kubectl-ambiguous.jsonl")) as server, Client(server.url) as client:
        mapper = Mapper(client, table=False, on_warning=warnings.append)
        if not path:
            with pytest.raises(UsageError) as caught:
                mapper.resource(word)
            assert f"error: {caught.value}" in part
            stale = "metrics.example.com/v1beta1 are not known: stale GroupVersion discovery"
            assert [stale in line for line in caught.value.detail] == [True]
            return
        found = mapper.resource(word)
    assert f"/apis/{found.group_version}/namespaces/demo/{found.plural}" == path
    assert path in paths
    assert [f"Warning: {text}" for text in warnings] == [line for line in part.splitlines() if line[:8] == "Warning:"]
    assert ("Warning:" in part) is bool(warning)


def test_the_made_documents_are_read_as_they_were_made() -> None:
    made = documents(CRDS)
    roots = [read_root(str(made[path].body).encode(), made[path].content_type) for path in ("/api", "/apis")]
    assert [one for root in roots for one in root.resources if "/" not in one.plural] == CRDS
