"""The table of built-in resources is what a real server's discovery says; words find what kubectl finds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rawkube.api.builtin import RESOURCES, known, lookup
from rawkube.api.resource import Resource
from rawkube.errors import UsageError
from tests.support.recordings import FIXTURES, exchanges
from tests.support.rows import looped

GROUP_VERSIONS = {("", "v1"), ("apps", "v1"), ("batch", "v1")}


def recorded() -> list[Resource]:
    found = []
    for exchange in exchanges(FIXTURES / "discovery" / "aggregated.jsonl"):
        for group in json.loads(exchange.body)["items"]:
            for version in group["versions"]:
                name = group["metadata"].get("name", "")
                if (name, version["version"]) in GROUP_VERSIONS:
                    found += [_resource(name, version["version"], item) for item in version["resources"]]
    return found


def _resource(group: str, version: str, item: dict[str, Any]) -> Resource:
    return Resource(
        group=group,
        version=version,
        plural=item["resource"],
        singular=item["singularResource"],
        kind=item["responseKind"]["kind"],
        short_names=tuple(item.get("shortNames", ())),
        namespaced=item["scope"] == "Namespaced",
        categories=tuple(item.get("categories", ())),
    )


def test_the_table_is_what_discovery_says_in_its_order() -> None:
    assert list(RESOURCES) == recorded()
    assert len(RESOURCES) == 24


@looped("resource", RESOURCES, ids=lambda r: r.qualified)
def test_every_resource_is_found_by_all_its_names(resource: Resource) -> None:
    group, version = resource.group, resource.version
    names = [resource.plural, resource.singular, resource.kind, resource.kind.upper(), *resource.short_names]
    for name in names:
        for word in (name, f"{name}.{group}", f"{name}.{version}.{group}", f"{name}.{version}."):
            assert lookup(word) == resource, word


@looped(
    ("word", "found"),
    [
        ("deploy", "deployments.apps"),
        ("Deployment.apps", "deployments.apps"),
        ("DEPLOYMENTS.v1.apps", "deployments.apps"),
        ("deploy.v1.apps", "deployments.apps"),
        ("deployments.ap", "deployments.apps"),
        ("deploy.app", "deployments.apps"),
        ("POD", "pods"),
        ("Pods", "pods"),
        ("pods.", "pods"),
        ("deployments.", "deployments.apps"),
        ("deployments.v1.", "deployments.apps"),
        ("events", "events"),
        ("ep", "endpoints"),
        ("Jobs.batch", "jobs.batch"),
    ],
)
def test_words_that_are_found(word: str, found: str) -> None:
    resource = lookup(word)
    assert resource is not None
    assert resource.qualified == found


@looped(
    "word",
    [
        *("PO", "Deploy", "all", "ALL", "foo", "", ".", "..", "deployments.APPS", "deployments.V1.apps"),
        *("pods.v1", "pods.v2.", "deployments.v9.apps", "deployments.v1.ap", "deploy.v1beta1.apps"),
        *("deployments.extensions", "daemonsets.v1beta1.extensions", "events.events.k8s.io", "pods.apps"),
        *("deployments.apps.", "deployments.apps.v1", "pod/web", "pods,services", "hpa", "ingresses"),
        *("\u212aind", "podlist", " pods", "pods\n"),
    ],
)
def test_words_that_discovery_must_find(word: str) -> None:
    assert lookup(word) is None


def test_a_word_that_must_be_in_the_table() -> None:
    assert known("po") == lookup("pods")
    said = {}
    for word in ("hpa", "ingresses.v1.networking.k8s.io", "a\nb"):
        with pytest.raises(UsageError) as raised:
            known(word)
        said[word] = str(raised.value)
        assert "built-in kinds of core, apps and batch" in raised.value.detail[0]
    assert said == {
        "hpa": 'the server doesn\'t have a resource type "hpa"',
        "ingresses.v1.networking.k8s.io": (
            'the server doesn\'t have a resource type "ingresses" in group "v1.networking.k8s.io"'
        ),
        "a\nb": 'the server doesn\'t have a resource type "a\\nb"',
    }


def test_names_of_a_resource() -> None:
    pods, deployments = lookup("pods"), lookup("deploy")
    assert pods is not None
    assert deployments is not None
    assert (pods.group_version, pods.qualified) == ("v1", "pods")
    assert (deployments.group_version, deployments.qualified) == ("apps/v1", "deployments.apps")


def test_no_word_means_two_resources() -> None:
    words = [w for r in RESOURCES for w in {r.plural, r.singular, *r.short_names}]
    assert len(words) == len(set(words))
