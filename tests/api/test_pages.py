"""LIST in pages: what is asked for, what becomes of a list that expires, Tables."""

from __future__ import annotations

import pytest

from rawkube.api import client as api_client
from rawkube.api.builtin import known
from rawkube.api.objects import Object
from rawkube.api.pages import JSON, TABLE, pages, whole_list
from rawkube.errors import DecodeError, ProtocolError, StatusError
from tests.support.client import Client
from tests.support.lists import Lists, thing
from tests.support.server import Peer, ScriptedServer

PODS = known("pods")
THINGS = [thing("Pod", name) for name in "abcde"]
EXPIRED = {"LIST pods continue": (410, "The provided continue parameter is too old")}


def names(page: Object) -> list[str]:
    items = [row["object"] for row in page["rows"]] if page["kind"] == "Table" else page["items"]
    return [item["metadata"]["name"] for item in items]


def queries(server: Lists) -> list[dict[str, str]]:
    return [request.query for request in server.requests]


@pytest.mark.parametrize("accept", [JSON, TABLE], ids=["objects", "tables"])
def test_pages_until_there_is_no_more(accept: str) -> None:
    with Lists(*THINGS) as server, Client(server.url) as client:
        found = list(pages(client, PODS, "default", query=[("labelSelector", "")], limit=2, accept=accept))
        assert [names(page) for page in found] == [["a", "b"], ["c", "d"], ["e"]]
        assert [query.get("continue") for query in queries(server)] == [None, "2", "4"]
        assert {query["limit"] for query in queries(server)} == {"2"}
        assert {request.header("accept") for request in server.requests} == {accept}


def test_items_carry_their_kind() -> None:
    with Lists(*THINGS) as server, Client(server.url) as client:
        page = next(pages(client, PODS, "default", limit=1))
        assert (page["items"][0]["kind"], page["items"][0]["apiVersion"]) == ("Pod", "v1")


def test_no_limit() -> None:
    with Lists(*THINGS) as server, Client(server.url) as client:
        (page,) = pages(client, PODS, "", limit=0)
        assert names(page) == list("abcde")
        assert queries(server) == [{}]
        assert server.requests[0].path == "/api/v1/pods"


def test_an_empty_page_is_not_the_end() -> None:
    def handler(peer: Peer) -> None:
        for body in (
            '{"kind":"PodList","metadata":{"continue":"x"},"items":[]}',
            '{"kind":"PodList","metadata":{"continue":""},"items":[{"metadata":{"name":"a"}}]}',
        ):
            peer.read_request()
            peer.reply(body)

    with ScriptedServer(handler) as server, Client(server.url) as client:
        assert [names(page) for page in pages(client, PODS, "")] == [[], ["a"]]


@pytest.mark.parametrize("accept", [JSON, TABLE], ids=["objects", "tables"])
def test_a_list_that_expires_is_had_whole(accept: str) -> None:
    with Lists(*THINGS, answers=EXPIRED) as server, Client(server.url) as client:
        found: list[list[str]] = []
        for page in pages(
            client, PODS, "", query=[("labelSelector", "")], limit=2, accept=accept, on_restart=found.clear
        ):
            found.append(names(page))
        assert found == [list("abcde")]
        assert queries(server)[-1] == {"labelSelector": ""}
        assert len(server.requests) == 3


def test_the_first_page_may_not_expire() -> None:
    with Lists(answers={"LIST pods": (410, "gone")}) as server, Client(server.url) as client:
        with pytest.raises(StatusError, match="gone"):
            list(pages(client, PODS, ""))
        assert len(server.requests) == 1


def test_another_error_of_a_later_page_stands() -> None:
    with Lists(*THINGS, answers={"LIST pods continue": (403, "no")}) as server, Client(server.url) as client:
        found = pages(client, PODS, "", limit=2)
        assert names(next(found)) == ["a", "b"]
        with pytest.raises(StatusError, match="no"):
            next(found)


def test_a_whole_list() -> None:
    with Lists(*THINGS) as server, Client(server.url) as client:
        found = whole_list(client, PODS, "", limit=2)
        assert (names(found), found["metadata"]["resourceVersion"]) == (list("abcde"), "100")
    with Lists(*THINGS, answers=EXPIRED) as server, Client(server.url) as client:
        assert names(whole_list(client, PODS, "", limit=2)) == list("abcde")


@pytest.mark.parametrize(
    ("body", "accept", "text"),
    [
        ('{"kind":"PodList","metadata":{"continue":"x"},"items":[]}', JSON, "continues a list with the page"),
        ('{"kind":"Table","rows":{}}', TABLE, "rows are none"),
        ('{"kind":"Pod"}', TABLE, "asked for a list and sent Pod"),
    ],
)
def test_answers_that_are_no_pages(body: str, accept: str, text: str) -> None:
    def handler(peer: Peer) -> None:
        while True:
            peer.read_request()
            peer.reply(body)

    with (
        ScriptedServer(handler) as server,
        Client(server.url) as client,
        pytest.raises(DecodeError, match=text),
    ):
        list(pages(client, PODS, "", accept=accept))


def test_a_page_may_be_larger_than_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "BODY_LIMIT", 1 << 16)
    big = thing("Pod", "a", data="x" * (1 << 16))
    with Lists(big) as server, Client(server.url) as client:
        (page,) = pages(client, PODS, "", limit=0)
        assert len(page["items"][0]["data"]) == 1 << 16
        with pytest.raises(ProtocolError, match="larger than"):
            client.get(PODS, "default", "a")
