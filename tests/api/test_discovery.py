"""Discovery on the wire: what is asked, when, and what a broken or slow part of the API does to the rest."""

from __future__ import annotations

import gzip
import json
import threading
import time

import pytest

from rawkube.api.discovery import Catalogue, Discovery
from rawkube.api.discovery_documents import ACCEPT
from rawkube.api.mapping import Names
from rawkube.errors import ConnectionRefused, DecodeError, RawkubeError, StatusError, TransportError
from tests.support.client import Client
from tests.support.discovery import CONTENT_TYPE
from tests.support.discovery_server import DiscoveryServer, aggregated, res
from tests.support.recordings import FIXTURES, exchanges
from tests.support.rows import looped
from tests.support.script import AS_USUAL, HANG_UP, SILENCE, Answer, failure

PODS, DEPLOYMENTS, JOBS = res("pods.v1."), res("deployments.v1.apps"), res("jobs.v1.batch")
METRICS = res("podmetrics.v1beta1.metrics.k8s.io", kind="PodMetrics", singular="")
ALL = [PODS, DEPLOYMENTS, JOBS, METRICS]
SHAPES = ["v2", "v2beta1", "legacy"]
METRICS_PATH = "/apis/metrics.k8s.io/v1beta1"


def plurals(catalogue: Catalogue) -> list[str]:
    return [one.plural for one in catalogue.resources]


@looped("apis", SHAPES)
@looped("core", SHAPES)
def test_each_of_the_two_documents_may_have_either_shape(core: str, apis: str) -> None:
    with DiscoveryServer(ALL, core=core, apis=apis) as server, Client(server.url) as client:
        discovery = Discovery(client)
        found = discovery.catalogue()
        assert plurals(found) == ["pods", "deployments", "jobs", "podmetrics"]
        assert found.resources[:3] == (PODS, DEPLOYMENTS, JOBS)
        assert [group.name for group in found.groups] == ["", "apps", "batch", "metrics.k8s.io"]
        assert (found.failed, found.waiting) == ({}, frozenset())
        assert "pods/status" in {one.plural for one in found.subresources}
        assert discovery.catalogue() is found
        assert len(server.asked) == 2 + (core == "legacy") + 3 * (apis == "legacy")


def test_what_is_asked() -> None:
    with DiscoveryServer(ALL) as server, Client(server.url) as client:
        Discovery(client).catalogue()
    assert [request.target for request in server.asked] == ["/api?timeout=32s", "/apis?timeout=32s"]
    assert {request.header("accept") for request in server.asked} == {ACCEPT}
    assert server.asked[0].header("if-none-match") is None
    assert server.connections == 1


def test_the_users_request_timeout_is_asked_for() -> None:
    with DiscoveryServer(ALL) as server, Client(server.url, request_timeout=5.0) as client:
        Discovery(client).catalogue()
    assert {request.target for request in server.asked} == {"/api?timeout=5s", "/apis?timeout=5s"}


def test_nothing_is_asked_before_it_is_needed() -> None:
    with DiscoveryServer(ALL) as server, Client(server.url) as client:
        Discovery(client)
    assert server.asked == []


def test_a_server_without_a_core_group() -> None:
    answers = {"/api": failure(404, "no")}
    with DiscoveryServer(ALL, answers=answers) as server, Client(server.url) as client:
        assert plurals(Discovery(client).catalogue()) == ["deployments", "jobs", "podmetrics"]


@looped(
    ("answers", "text"),
    [
        ({"/api": failure(403, "secret words")}, "unknown"),
        ({"/apis": failure(403, "secret words")}, "unknown"),
        ({"/apis": failure(404, "x")}, "the server could not find the requested resource"),
        ({"/api": failure(401, "x")}, "the server has asked for the client to provide credentials"),
        ({"/api": failure(503, "x")}, "the server is currently unable to handle the request"),
        ({"/apis": failure(500, "x")}, 'an error on the server ("unknown") has prevented the request from succeeding'),
        ({"/apis": Answer("403 No", "go away", "text/plain")}, "go away"),
    ],
    ids=["api-403", "apis-403", "apis-404", "401", "503", "500", "plain-text"],
)
def test_errors_of_the_two_documents_are_final(answers: dict[str, Answer], text: str) -> None:
    with DiscoveryServer(ALL, answers=answers) as server, Client(server.url) as client:
        with pytest.raises(StatusError) as caught:
            Discovery(client).catalogue()
        assert str(caught.value) == text
        assert "secret words" not in str(caught.value)
        assert len(server.asked) == (1 if "/api" in answers else 2)


@looped(
    ("answer", "text"),
    [
        (
            Answer(body="<html>Sign in", content_type="text/html"),
            "invalid character '<' looking for beginning of value",
        ),
        (Answer(body='{"kind": "APIGroupDisc'), "unexpected end of JSON input"),
        (Answer(body="[1]"), "the server's discovery document is no JSON object"),
    ],
    ids=["a-proxys-page", "cut", "no-object"],
)
@looped("path", ["/api", "/apis"])
def test_what_is_no_document(path: str, answer: Answer, text: str) -> None:
    with DiscoveryServer(ALL, answers={path: answer}) as server, Client(server.url) as client:
        with pytest.raises(DecodeError) as caught:
            Discovery(client).catalogue()
        assert str(caught.value) == text
        assert caught.value.detail[0].startswith("the server's answer (")


def test_a_connection_that_breaks_in_the_body() -> None:
    cut = Answer(body="{", headers=(("Content-Length", "9"),))
    server = DiscoveryServer(ALL, answers={"/apis": [cut, HANG_UP]})
    with server, Client(server.url, request_timeout=1.0) as client, pytest.raises(RawkubeError):
        Discovery(client).catalogue()


def test_a_redirect_is_named() -> None:
    moved = Answer("302 Found", headers=(("Location", "https://login.example.com/"),))
    with (
        DiscoveryServer(ALL, answers={"/api": moved}) as server,
        Client(server.url) as client,
        pytest.raises(TransportError, match="redirects to"),
    ):
        Discovery(client).catalogue()


def test_nobody_listens() -> None:
    with DiscoveryServer(ALL) as server:
        url = server.url
    with Client(url) as client, pytest.raises(ConnectionRefused):
        Discovery(client).catalogue()


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_a_server_that_accepts_no_aggregated_document_is_asked_for_the_legacy_one(path: str) -> None:
    answers = {path: [failure(406, "only json"), AS_USUAL]}
    with DiscoveryServer(ALL, core="legacy", apis="legacy", answers=answers) as server, Client(server.url) as client:
        assert plurals(Discovery(client).catalogue()) == ["pods", "deployments", "jobs", "podmetrics"]
        asked = [request.header("accept") for request in server.asked if request.path == path]
        assert asked == [ACCEPT, "application/json"]


@pytest.mark.parametrize("content_type", [CONTENT_TYPE, "application/json"], ids=["named", "unnamed"])
def test_a_compressed_document(content_type: str) -> None:
    body = gzip.compress(json.dumps(aggregated([DEPLOYMENTS])).encode())
    answer = Answer(body=body, content_type=content_type, headers=(("Content-Encoding", "gzip"),))
    with DiscoveryServer([PODS], answers={"/apis": answer}) as server, Client(server.url) as client:
        assert plurals(Discovery(client).catalogue()) == ["pods", "deployments"]
        assert server.asked[0].header("accept-encoding") == "gzip"


# Partial failure.


@looped(
    ("answer", "why"),
    [
        (
            Answer("503 X", "service unavailable\n", "text/plain"),
            "the server is currently unable to handle the request",
        ),
        (failure(500, "boom"), "boom"),
        (failure(403, "forbidden: no"), "forbidden: no"),
        (failure(404, "gone"), "gone"),
        (Answer(body="<html>", content_type="text/html"), "invalid character '<' looking for beginning of value"),
        (Answer(body='{"kind":"APIRes'), "unexpected end of JSON input"),
    ],
    ids=["503", "500", "403", "404", "a-proxys-page", "cut"],
)
def test_one_broken_group_leaves_the_others(answer: Answer, why: str) -> None:
    server = DiscoveryServer(ALL, core="legacy", apis="legacy", answers={METRICS_PATH: answer})
    with server, Client(server.url) as client:
        found = Discovery(client).catalogue()
        assert plurals(found) == ["pods", "deployments", "jobs"]
        assert found.failed == {"metrics.k8s.io/v1beta1": why}


@pytest.mark.parametrize("code", [403, 404])
def test_a_core_group_that_may_not_be_read_is_empty(code: int) -> None:
    server = DiscoveryServer(ALL, core="legacy", apis="legacy", answers={"/api/v1": failure(code, "no")})
    with server, Client(server.url) as client:
        found = Discovery(client).catalogue()
        assert (plurals(found), found.failed) == (["deployments", "jobs", "podmetrics"], {})


def test_a_stale_version_of_an_aggregated_document() -> None:
    with DiscoveryServer(ALL, stale=["metrics.k8s.io/v1beta1"]) as server, Client(server.url) as client:
        found = Discovery(client).catalogue()
        assert found.failed == {"metrics.k8s.io/v1beta1": "stale GroupVersion discovery: metrics.k8s.io/v1beta1"}
        assert [group.versions for group in found.groups][-1] == ()


def test_a_hanging_group_delays_nobody() -> None:
    server = DiscoveryServer(ALL, core="legacy", apis="legacy", answers={METRICS_PATH: SILENCE})
    with server, Client(server.url) as client:
        discovery = Discovery(client, group_seconds=0.6, grace=0.05)
        before = time.monotonic()
        found = discovery.glance()
        assert time.monotonic() - before < 0.5
        assert plurals(found) == ["pods", "deployments", "jobs"]
        assert set(found.waiting) == {("metrics.k8s.io", "v1beta1")}
        assert found.failed == {"metrics.k8s.io/v1beta1": "no answer yet"}
        whole = discovery.catalogue()
        assert time.monotonic() - before < 5
        assert whole.waiting == frozenset()
        assert whole.failed["metrics.k8s.io/v1beta1"].startswith("no answer within 600ms")


def test_documents_are_fetched_side_by_side() -> None:
    many = [res(f"things.v1.g{number}.example.com") for number in range(40)]
    slow = {f"/apis/g{number}.example.com/v1": SILENCE for number in range(4)}
    server = DiscoveryServer([PODS, *many], apis="legacy", answers=slow)
    with server, Client(server.url) as client:
        before = time.monotonic()
        found = Discovery(client, group_seconds=0.4).catalogue()
        assert time.monotonic() - before < 1.5  # four times 0.4 s, one after the other, would be more
        assert len(found.failed) == 4
        assert [one.group for one in found.resources[1:]] == [one.group for one in many[4:]]


def test_several_threads_share_one_look() -> None:
    with DiscoveryServer(ALL) as server, Client(server.url) as client:
        discovery = Discovery(client)
        found: list[Catalogue] = []
        threads = [threading.Thread(target=lambda: found.append(discovery.catalogue())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id(one) for one in found}) == 1
        assert len(server.asked) == 2


# Looking again.


@pytest.mark.parametrize("shape", ["v2", "legacy"])
def test_a_second_look_sends_only_what_has_changed(shape: str) -> None:
    with DiscoveryServer(ALL, core=shape, apis=shape, etags=True) as server, Client(server.url) as client:
        discovery = Discovery(client)
        first = discovery.catalogue()
        asked = len(server.asked)
        server.resources.append(res("widgets.v1.apps"))
        second = discovery.refresh()
        assert len(server.asked) == 2 * asked
        assert all(request.header("if-none-match") for request in server.asked[asked:])
        assert plurals(second) == [*plurals(first)[:2], "widgets", *plurals(first)[2:]]
        assert discovery.catalogue() is second


def test_what_was_just_fetched_is_not_fetched_again() -> None:
    with DiscoveryServer(ALL) as server, Client(server.url) as client:
        clock = [100.0]
        discovery = Discovery(client, window=10)
        client.clock = lambda: time.monotonic() + clock[0]
        discovery.catalogue()
        assert discovery.refreshed() is None
        clock[0] += 11
        assert discovery.refreshed() is not None
        assert discovery.refreshed() is None
        assert len(server.asked) == 4


def test_a_failure_is_not_remembered() -> None:
    answers = {"/apis": failure(403, "not yet")}
    with DiscoveryServer(ALL, answers=answers) as server, Client(server.url) as client:
        discovery = Discovery(client)
        with pytest.raises(StatusError):
            discovery.catalogue()
        server.scripted.clear()
        assert len(discovery.catalogue().resources) == 4


def test_a_refresh_that_fails_leaves_what_was_known() -> None:
    with DiscoveryServer(ALL) as server, Client(server.url) as client:
        discovery = Discovery(client, window=0)
        first = discovery.catalogue()
        server.scripted["/apis"] = [failure(503, "not now")]
        with pytest.raises(StatusError):
            discovery.refreshed()
        assert discovery.catalogue() is first


@pytest.mark.parametrize("code", [404, 503])
def test_a_group_that_is_healed_is_seen_by_the_next_look(code: int) -> None:
    server = DiscoveryServer(ALL, apis="legacy", answers={METRICS_PATH: failure(code, "not yet")})
    with server, Client(server.url) as client:
        discovery = Discovery(client, window=0)
        assert "podmetrics" not in plurals(discovery.catalogue())
        server.scripted.clear()
        healed = discovery.refreshed()
        assert healed is not None
        assert "podmetrics" in plurals(healed)
        assert healed.failed == {}


# Preferred versions.


def test_preferred_resources() -> None:
    many = [res("both.v2.g"), res("both.v1.g"), res("old.v1.g"), res("new.v2.g")]
    with DiscoveryServer(many) as server, Client(server.url) as client:
        found = Discovery(client).catalogue()
    chosen = Names(found.groups, found.resources).preferred()
    assert [(one.plural, one.version) for one in chosen] == [("both", "v2"), ("new", "v2"), ("old", "v1")]


def test_a_recorded_server_of_either_shape_has_the_same_resources() -> None:
    """The recorded documents, served: aggregated, legacy, and the two mixed."""
    documents: dict[str, dict[str, Answer]] = {"aggregated": {}, "legacy": {}}
    for shape, found in documents.items():
        for one in exchanges(FIXTURES / "discovery" / f"{shape}.jsonl"):
            found[one.path] = Answer(body=one.body, content_type=dict(one.headers)["content-type"])
    seen = set()
    for core in documents:
        for apis in documents:
            answers = {**documents["legacy"], "/api": documents[core]["/api"], "/apis": documents[apis]["/apis"]}
            with DiscoveryServer([], answers=answers) as server, Client(server.url) as client:
                catalogue = Discovery(client).catalogue()
                seen.add((catalogue.groups, catalogue.resources))
                assert catalogue.failed == {}
    assert len(seen) == 1
    assert len(seen.pop()[1]) == 68
