"""What a client sends, and what it makes of the answers: headers, warnings, errors, watches, the tap."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rawkube.errors import (
    ConnectionLost,
    DeadlineExceeded,
    DecodeError,
    StatusError,
    TransportError,
)
from rawkube.wire.http import Request
from rawkube.wire.tap import Event, Tap
from tests.support.answers import OBJECT, AnsweringServer, raw
from tests.support.client import DEPLOYMENTS, NODES, PODS, Client, later
from tests.support.rows import looped
from tests.support.script import Answer, failure, status
from tests.support.server import Peer, ScriptedServer


def test_a_patch_gives_the_object_as_it_is_then() -> None:
    answers = [Answer(body='{"kind":"Pod","a":1}'), failure(409, "somebody was faster")]
    with AnsweringServer(*answers) as server, Client(server.url) as client:
        changed = client.patch(PODS, "demo", "a", b'{"a":1}', "application/json-patch+json", query=[("dryRun", "All")])
        assert changed == {"kind": "Pod", "a": 1}
        with pytest.raises(StatusError, match="somebody was faster"):
            client.patch(PODS, "demo", "a", b"{}", "application/json-patch+json")
    assert [(one.method, one.target, one.body) for one in server.asked] == [
        ("PATCH", "/api/v1/namespaces/demo/pods/a?dryRun=All", b'{"a":1}'),
        ("PATCH", "/api/v1/namespaces/demo/pods/a", b"{}"),
    ]


class TestHeaders:
    def headers(self, ask: Callable[[Client], object], **access: Any) -> dict[str, list[str]]:
        with (
            AnsweringServer(Answer(body='{"kind":"PodList","items":[]}')) as server,
            Client(server.url, **access) as client,
        ):
            ask(client)
        found: dict[str, list[str]] = {}
        for name, value in server.asked[0].headers:
            found.setdefault(name.lower(), []).append(value)
        return found

    def test_get(self) -> None:
        found = self.headers(lambda client: client.get(PODS, "demo", "a"))
        assert re.fullmatch(r"127\.0\.0\.1:\d+", found.pop("host")[0])
        assert re.fullmatch(r"rawkube/\S+ \(\w+/\w+\)", found.pop("user-agent")[0])
        assert found == {"accept": ["application/json, */*"], "accept-encoding": ["gzip"]}

    def test_list_and_watch_want_json_alone(self) -> None:
        assert self.headers(lambda client: client.list(PODS, "demo"))["accept"] == ["application/json"]
        assert self.headers(lambda client: client.watch(PODS, "d", silence=5).close())["accept"] == ["application/json"]

    def test_patch_says_what_kind_of_patch_it_is(self) -> None:
        kind = "application/merge-patch+json"
        found = self.headers(lambda client: client.patch(PODS, "demo", "a", b"{}", kind))
        assert found["accept"] == ["application/json, */*"]
        assert (found["content-type"], found["content-length"]) == ([kind], ["2"])

    def test_disabled_compression(self) -> None:
        assert "accept-encoding" not in self.headers(lambda client: client.list(PODS, "demo"), disable_compression=True)

    def test_a_compressed_answer_is_read(self) -> None:
        zipped = Answer(body=gzip.compress(OBJECT.body.encode()), headers=(("Content-Encoding", "gzip"),))  # type: ignore[union-attr]
        with AnsweringServer(zipped) as server, Client(server.url) as client:
            assert client.get(PODS, "demo", "a")["kind"] == "Thing"

    @pytest.mark.parametrize(
        ("access", "value"),
        [
            ({"token": "t0k3n"}, ["Bearer t0k3n"]),
            ({"username": "ü", "password": "p:w"}, ["Basic w7w6cDp3"]),
            ({}, []),
        ],
        ids=["token", "basic", "anonymous"],
    )
    def test_authorization(self, access: dict[str, str], value: list[str]) -> None:
        assert self.headers(lambda client: client.list(PODS, "demo"), **access).get("authorization", []) == value

    IMPERSONATION: ClassVar[dict[str, Any]] = {
        "impersonate_user": "jane",
        "impersonate_uid": "u-1",
        "impersonate_groups": ("dev", "ops"),
        "impersonate_extra": (("acme.com/why", ("a", "b")), ("plain", ("c",))),
    }
    IMPERSONATED = (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "u-1"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-acme.com%2Fwhy", "a"),
        ("Impersonate-Extra-acme.com%2Fwhy", "b"),
        ("Impersonate-Extra-plain", "c"),
    )

    def test_impersonation_is_in_each_request(self) -> None:
        answers = [later(503, "0"), OBJECT, Answer(body='{"kind":"PodList"}'), Answer(body="")]
        with AnsweringServer(*answers) as server, Client(server.url, **self.IMPERSONATION) as client:
            client.get(PODS, "demo", "a")
            client.list(PODS, "demo")
            client.watch(PODS, "demo", silence=5).close()
            client.exchange(Request("DELETE", "/x")).read()
        assert len(server.asked) == 5
        for request in server.asked:
            assert [pair for pair in request.headers if pair[0].startswith("Impersonate-")] == list(self.IMPERSONATED)

    def test_a_request_with_an_authorization_of_its_own_keeps_it(self) -> None:
        own = [("authorization", "Bearer own")]
        found = self.headers(lambda client: client.ask(headers=own), token="t", impersonate_user="jane")
        assert found["authorization"] == ["Bearer own"]
        assert found["impersonate-user"] == ["jane"]

    def test_a_request_that_impersonates_gets_no_more_of_it(self) -> None:
        own = [("Impersonate-User", "own")]
        found = self.headers(lambda client: client.ask(headers=own), token="t", **self.IMPERSONATION)
        assert found["authorization"] == ["Bearer t"]
        assert {name: value for name, value in found.items() if name.startswith("impersonate")} == {
            "impersonate-user": ["own"]
        }


class TestWarnings:
    HEADERS = (
        ("Warning", '299 - "old and \\"rusty\\""'),
        ("Warning", '199 - "a cache speaks"'),
        ("warning", '299 - "gr\u00c3\u00bcn"'),
    )
    TEXTS = ('old and "rusty"', "grün")

    @pytest.mark.parametrize(
        "ask",
        [
            lambda client: client.get(PODS, "demo", "a"),
            lambda client: client.watch(PODS, "demo", silence=5).close(),
            lambda client: client.ask("DELETE", "/x"),
        ],
        ids=["get", "watch", "delete"],
    )
    def test_they_are_told_every_time(self, ask: Callable[[Client], object]) -> None:
        said: list[str] = []
        # The server's own bytes: UTF-8.
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.HEADERS).encode("latin-1")
        body = b'{"kind":"Pod"}'
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n" % len(body)
        with (
            AnsweringServer(raw(head + lines + b"\r\n" + body)) as server,
            Client(server.url, warn=said.append) as client,
        ):
            ask(client)
            ask(client)
        assert said == [*self.TEXTS, *self.TEXTS]

    def test_an_errors_warnings_are_told(self) -> None:
        said: list[str] = []
        refused = failure(403, "no", headers=(("Warning", '299 - "and never"'),))
        with (
            AnsweringServer(refused) as server,
            Client(server.url, warn=said.append) as client,
            pytest.raises(StatusError),
        ):
            client.get(PODS, "demo", "a")
        assert said == ["and never"]

    def test_nobody_needs_to_listen(self) -> None:
        with AnsweringServer(OBJECT._replace(headers=self.HEADERS[:1])) as server, Client(server.url) as client:
            client.get(PODS, "demo", "a")


class TestPaths:
    @pytest.mark.parametrize("prefix", ["", "/k8s/clusters/c-1", "/a%20b"])
    def test_the_servers_prefix_stands_before_every_path_once(self, prefix: str) -> None:
        answers = [OBJECT, Answer(body='{"kind":"DeploymentList"}'), Answer(body=""), OBJECT]
        with AnsweringServer(*answers) as server, Client(server.url + prefix) as client:
            client.get(PODS, "demo", "a b")
            client.list(DEPLOYMENTS, "demo", query=[("labelSelector", "a=b")])
            client.watch(DEPLOYMENTS, "demo", query=[("resourceVersion", "5")], silence=5).close()
            client.get(NODES, "", "n")
        assert [request.target for request in server.asked] == [
            f"{prefix}/api/v1/namespaces/demo/pods/a%20b",
            f"{prefix}/apis/apps/v1/namespaces/demo/deployments?labelSelector=a%3Db",
            f"{prefix}/apis/apps/v1/namespaces/demo/deployments?resourceVersion=5&watch=true",
            f"{prefix}/api/v1/nodes/n",
        ]

    def test_a_slash_at_the_end_of_the_server_is_none(self) -> None:
        with AnsweringServer(OBJECT) as server, Client(server.url + "/k8s/") as client:
            client.get(NODES, "", "n")
        assert server.asked[0].target == "/k8s/api/v1/nodes/n"


class TestErrors:
    def refused(self, answer: Answer, ask: Callable[[Client], object]) -> StatusError:
        with AnsweringServer(answer) as server, Client(server.url) as client, pytest.raises(StatusError) as raised:
            ask(client)
        return raised.value

    def get(self, client: Client) -> object:
        return client.get(DEPLOYMENTS, "demo", "web")

    def test_the_servers_own_status_is_verbatim(self) -> None:
        error = self.refused(failure(403, "no entry", details={"name": "web"}), self.get)
        assert error.status == status(403, "no entry", details={"name": "web"})

    @pytest.mark.parametrize("ask", ["get", "list"])
    def test_a_200_that_holds_a_failed_status_is_a_failure(self, ask: str) -> None:
        body = Answer(body=json.dumps(status(410, "too old", reason="Expired")))

        def asked(client: Client) -> object:
            return self.get(client) if ask == "get" else client.list(DEPLOYMENTS, "demo")

        error = self.refused(body, asked)
        assert (str(error), error.code, error.reason) == ("too old", 410, "Expired")

    def test_a_200_that_holds_a_good_status_is_an_answer(self) -> None:
        with (
            AnsweringServer(Answer(body='{"kind":"Status","status":"Success"}')) as server,
            Client(server.url) as client,
        ):
            assert self.get(client) == {"kind": "Status", "status": "Success"}

    @looped(
        ("ask", "what"),
        [
            (lambda client: client.get(DEPLOYMENTS, "demo", "web"), "get deployments.apps web"),
            (lambda client: client.list(DEPLOYMENTS, "demo"), "get deployments.apps"),
            (lambda client: client.list(DEPLOYMENTS, "demo", name="web"), "get deployments.apps web"),
            (lambda client: client.watch(PODS, "demo", silence=5), "get pods"),
        ],
        ids=["get", "list", "list-of-one", "watch"],
    )
    def test_the_substitute_says_what_was_asked(self, ask: Callable[[Client], object], what: str) -> None:
        error = self.refused(Answer("404 Not Found", "404 page not found\n", "text/plain"), ask)
        assert str(error) == f"the server could not find the requested resource ({what})"
        assert error.reason == "NotFound"

    def test_a_refusals_body_that_breaks_off_is_no_other_error(self) -> None:
        cut = raw(b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\nno")
        error = self.refused(cut, self.get)
        assert (error.code, error.reason) == (403, "Forbidden")

    @looped(
        ("code", "reason", "text"),
        [
            (403, "Forbidden", "secrets is forbidden"),
            (401, "Unauthorized", "Unauthorized"),
            (410, "Expired", "too old resource version: 1 (2)"),
            (422, "Invalid", "ListOptions.meta.k8s.io is invalid"),
        ],
    )
    def test_a_watch_that_is_refused(self, code: int, reason: str, text: str) -> None:
        error = self.refused(failure(code, text, reason=reason), lambda client: client.watch(PODS, "demo", silence=5))
        assert (error.code, error.reason, str(error)) == (code, reason, text)

    def test_a_watch_that_is_refused_without_a_body(self) -> None:
        error = self.refused(Answer("403 Forbidden", ""), lambda client: client.watch(PODS, "demo", silence=5))
        assert error.reason == "Forbidden"

    def test_a_list_that_is_none_is_never_an_empty_one(self) -> None:
        with (
            AnsweringServer(OBJECT) as server,
            Client(server.url) as client,
            pytest.raises(DecodeError, match="asked for a list and sent Thing"),
        ):
            client.list(PODS, "demo")

    def test_the_items_of_a_list_know_what_they_are(self) -> None:
        body = '{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}'
        with AnsweringServer(Answer(body=body)) as server, Client(server.url) as client:
            assert client.list(PODS, "demo")["items"] == [
                {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}
            ]


def pod_event(version: int) -> str:
    thing = {"kind": "Pod", "metadata": {"namespace": "demo", "name": "a", "resourceVersion": str(version)}}
    return json.dumps({"type": "MODIFIED", "object": thing}) + "\n"


def streamed(*pieces: str, then: Callable[[Peer], object] = Peer.end_chunked) -> Callable[[Peer], None]:
    def serve(peer: Peer) -> None:
        peer.read_request()
        peer.start_chunked()
        for piece in pieces:
            peer.chunk(piece)
        then(peer)

    return serve


class TestWatch:
    def versions(self, serve: Callable[[Peer], None], *, silence: float = 10) -> tuple[list[str], Exception | None]:
        with (
            ScriptedServer(serve) as server,
            Client(server.url) as client,
            client.watch(PODS, "demo", silence=silence) as watch,
        ):
            return [event.resource_version for event in watch], watch.error

    def test_a_clean_end(self) -> None:
        assert self.versions(streamed(pod_event(1), pod_event(2))) == (["1", "2"], None)

    def test_an_end_inside_an_event_drops_it(self) -> None:
        assert self.versions(streamed(pod_event(1), pod_event(2)[:-9])) == (["1"], None)

    def test_an_event_without_a_line_end_counts(self) -> None:
        assert self.versions(streamed(pod_event(1), pod_event(2).strip())) == (["1", "2"], None)

    @pytest.mark.parametrize("then", [Peer.close, Peer.reset], ids=["closed", "reset"])
    def test_a_connection_that_breaks_is_told_after_the_events(self, then: Callable[[Peer], object]) -> None:
        versions, error = self.versions(streamed(pod_event(1), pod_event(2)[:-9], then=then))
        assert isinstance(error, ConnectionLost)
        # A reset may overtake what was sent before it.
        assert versions == ["1"] if then is Peer.close else versions in (["1"], [])

    def test_silence_ends_it(self) -> None:
        versions, error = self.versions(streamed(pod_event(1), then=Peer.stall), silence=1.0)
        assert versions == ["1"]
        assert isinstance(error, DeadlineExceeded) and error.step == "silence"

    @looped("before", ["", pod_event(1)], ids=["first", "later"])
    @looped("after", ["", "\n", "\n" + pod_event(2)], ids=["end", "line", "more"])
    def test_what_is_no_event_names_the_content_type(self, after: str, before: str) -> None:
        body = Answer(body=f"{before}<html>{after}", content_type="text/html")
        seen: list[str] = []
        with (
            AnsweringServer(body) as server,
            Client(server.url) as client,
            client.watch(PODS, "demo", silence=5) as watch,
            pytest.raises(DecodeError, match="not a watch event") as raised,
        ):
            for event in watch:
                seen.append(event.resource_version)
        assert seen == (["1"] if before else [])
        assert raised.value.detail[-1] == "Content-Type: text/html"

    def test_closing_it_ends_the_connection(self) -> None:
        with ScriptedServer(streamed(pod_event(1), then=Peer.stall)) as server, Client(server.url) as client:
            watch = client.watch(PODS, "demo", silence=30)
            assert next(iter(watch)).resource_version == "1"
            watch.close()
            assert not watch.response.complete

    def test_the_tap_is_told_of_each_event(self) -> None:
        events: list[Event] = []
        odd = '{"type":"ERROR","object":{"kind":"Status","metadata":null}}\n'
        with (
            AnsweringServer(Answer(body=pod_event(7) + odd)) as server,
            Client(server.url, tap=Tap(events.append)) as client,
            client.watch(PODS, "demo", silence=5) as watch,
        ):
            list(watch)
        told = [event.data for event in events if event.kind == "watch"]
        assert told == [
            {"type": "MODIFIED", "of": "Pod", "namespace": "demo", "name": "a", "resourceVersion": "7"},
            {"type": "ERROR", "of": "Status", "namespace": "", "name": "", "resourceVersion": ""},
        ]


SECRETS = ("s3cret-file", "s3cret-new", "s3cret-cookie", "s3cret-param", "s3cret-pass", "czNjcmV0LXBhc3M")


def seen_by_a_tap(answers: Sequence[Answer], ask: Callable[[Client], object], **access: Any) -> str:
    events: list[Event] = []
    with AnsweringServer(*answers) as server, Client(server.url, tap=Tap(events.append), **access) as client:
        ask(client)
    assert [event for event in events if event.kind == "response"]
    return json.dumps(events)


def test_the_tap_sees_no_secret(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret-file")
    cookie = (("Set-Cookie", "id=s3cret-cookie"), ("Retry-After", "0"))
    answers = [failure(503, "no", headers=cookie), failure(401, "no", headers=cookie), OBJECT]

    def ask(client: Client) -> None:
        client.ask()
        token.write_text("s3cret-new")
        client.ask("POST", query=[("access_token", "s3cret-param")], body=b"{}")

    told = seen_by_a_tap(answers, ask, token_file=str(token), impersonate_user="jane")
    told += seen_by_a_tap([OBJECT], ask, username="u", password="s3cret-pass")
    assert "jane" in told and "Bearer <redacted>" in told and "Basic <redacted>" in told
    assert not [secret for secret in SECRETS if secret in told]


def test_closing_closes_the_connections() -> None:
    with AnsweringServer(OBJECT) as server:
        client = Client(server.url)
        client.get(PODS, "demo", "a")
        client.close()
        with pytest.raises(TransportError, match="closed"):
            client.get(PODS, "demo", "a")
    assert len(server.asked) == 1
