"""One request and what may happen to it: repetitions, deadlines, fresh credentials, redirects."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from rawkube.api.client import ApiClient
from rawkube.errors import (
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    StatusError,
    TransportError,
)
from rawkube.kubeconfig.access import Access
from rawkube.wire.tap import Event, Tap
from tests.support.answers import OBJECT, AnsweringServer, raw
from tests.support.client import PODS, Client, later
from tests.support.rows import looped
from tests.support.script import HANG_UP, RESET, SILENCE, Answer, failure
from tests.support.server import Peer, ScriptedServer


class Waits:
    """A sleep that takes no time, and a clock that only it moves."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.now = 1000.0

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


class TestRetryAfter:
    @looped("method", ["GET", "POST", "PATCH", "DELETE"])
    @looped(("code", "seconds"), [(429, "0"), (429, "2"), (500, "2"), (503, "2"), (504, "30")])
    def test_the_seconds_are_waited_for_whatever_the_method(self, code: int, seconds: str, method: str) -> None:
        with AnsweringServer(later(code, seconds), OBJECT) as server, Client(server.url) as client:
            assert client.ask(method, body=b"{}") == 200
        assert client.waits == [float(seconds)]
        assert [(seen.method, seen.body) for seen in server.asked] == [(method, b"{}")] * 2

    def test_ten_repetitions_and_the_last_answer_counts(self) -> None:
        with (
            AnsweringServer(later(503, "2")) as server,
            Client(server.url) as client,
            pytest.raises(StatusError, match="not now") as raised,
        ):
            client.get(PODS, "demo", "a")
        assert (len(server.asked), client.waits) == (11, [2.0] * 10)
        assert raised.value.reason == "ServiceUnavailable"

    def test_lost_connections_and_refusals_are_counted_together(self) -> None:
        mixed = [later(429, "3"), HANG_UP] * 5 + [later(429, "4")]
        with AnsweringServer(*mixed) as server, Client(server.url) as client:
            assert client.ask() == 429
        assert (len(server.asked), client.waits) == (11, [3.0, 1.0] * 5)

    @looped("after", ["Wed, 21 Oct 2026 07:28:00 GMT", "", "-1", "1.5", "+1", "1s", "0x2", "²", "1 2"])
    def test_what_is_no_decimal_number_is_not_understood(self, after: str) -> None:
        answer = failure(503, "no", headers=(("Retry-After", after.encode().decode("latin-1")),))
        with AnsweringServer(answer) as server, Client(server.url) as client:
            assert client.ask() == 503
        assert (len(server.asked), client.waits) == (1, [])

    @looped("code", [429, 500, 502, 503, 504])
    def test_without_the_header_the_answer_is_final(self, code: int) -> None:
        body = failure(code, "no", details={"retryAfterSeconds": 1})
        with AnsweringServer(body) as server, Client(server.url) as client:
            assert client.ask() == code
        assert (len(server.asked), client.waits) == (1, [])

    @looped("code", [200, 302, 400, 401, 403, 404, 409, 410, 422])
    def test_other_answers_are_final_with_it(self, code: int) -> None:
        with AnsweringServer(later(code, "1")) as server, Client(server.url) as client:
            assert client.ask() == code
        assert (len(server.asked), client.waits) == (1, [])

    def test_a_text_body_makes_no_difference(self) -> None:
        busy = Answer("429 Busy", "Too many requests\n", content_type="text/plain", headers=(("Retry-After", "1"),))
        with AnsweringServer(busy, OBJECT) as server, Client(server.url) as client:
            assert client.get(PODS, "demo", "a")["kind"] == "Thing"
        assert client.waits == [1.0]

    def test_a_watch_waits_too(self) -> None:
        event = Answer(body='{"type":"ADDED","object":{"kind":"Pod"}}\n')
        with (
            AnsweringServer(later(429, "7"), event) as server,
            Client(server.url) as client,
            client.watch(PODS, "demo", silence=5) as watch,
        ):
            assert [seen.type for seen in watch] == ["ADDED"]
        assert client.waits == [7.0]

    def test_every_attempt_has_fresh_credentials(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("first")
        waits = Waits()
        waits_and_changes = [later(503, "60"), OBJECT]

        def sleep(seconds: float) -> None:
            waits.sleep(seconds)
            token.write_text("second")

        with AnsweringServer(*waits_and_changes) as server:
            access = Access(server.url, token_file=str(token))
            with ApiClient(access, sleep=sleep, clock=waits.clock) as client:
                client.send("GET", "/x").read()
        assert server.sent("authorization") == ["Bearer first", "Bearer second"]

    def test_a_wait_past_the_deadline_is_not_begun(self) -> None:
        with (
            AnsweringServer(later(503, "600"), OBJECT) as server,
            Client(server.url, request_timeout=20.0) as client,
            client.send("GET", "/x") as response,
        ):
            assert response.status == 503
        assert client.waits == []

    def test_a_person_is_told_of_a_long_wait(self) -> None:
        notes: list[str] = []
        with (
            AnsweringServer(later(429, "4"), later(429, "60"), OBJECT) as server,
            Client(server.url, on_note=notes.append) as client,
        ):
            client.ask()
        assert notes == ["HTTP 429 with Retry-After: trying again in 60 s"]

    def test_the_tap_is_told(self) -> None:
        events: list[Event] = []
        with AnsweringServer(later(503, "2"), OBJECT) as server, Client(server.url, tap=Tap(events.append)) as client:
            client.ask()
        (retry,) = [event.data for event in events if event.kind == "retry"]
        assert retry == {"why": "HTTP 503 with Retry-After", "wait": 2.0, "attempt": 1}


class TestBrokenConnections:
    @pytest.mark.parametrize("how", [HANG_UP, RESET], ids=["closed", "reset"])
    def test_a_get_is_repeated_ten_times_a_second_apart(self, how: Answer) -> None:
        with AnsweringServer(how) as server, Client(server.url) as client, pytest.raises(ConnectionLost) as raised:
            client.ask()
        assert (len(server.asked), client.waits) == (11, [1.0] * 10)
        assert not raised.value.answered
        assert raised.value.server == f"127.0.0.1:{server.port}"

    def test_an_answer_after_some_failures(self) -> None:
        with AnsweringServer(HANG_UP, RESET, OBJECT) as server, Client(server.url) as client:
            assert client.get(PODS, "demo", "a")["kind"] == "Thing"
        assert client.waits == [1.0, 1.0]

    @looped("method", ["POST", "PATCH", "PUT", "DELETE"])
    @looped("how", [HANG_UP, RESET], ids=["closed", "reset"])
    def test_what_changes_something_is_not_repeated(self, how: Answer, method: str) -> None:
        with AnsweringServer(how) as server, Client(server.url) as client, pytest.raises(ConnectionLost):
            client.send(method, "/x", body=b"{}")
        assert (len(server.asked), client.waits) == (1, [])

    def test_the_same_error_is_said_once(self) -> None:
        with (
            AnsweringServer(HANG_UP) as server,
            Client(server.url) as client,
            pytest.raises(ConnectionLost, match=r"^EOF$"),
        ):
            client.ask()

    def test_another_error_before_it_is_said_too(self) -> None:
        with (
            AnsweringServer(*[HANG_UP] * 10, RESET) as server,
            Client(server.url) as client,
            pytest.raises(ConnectionLost) as raised,
        ):
            client.ask()
        pattern = r"read tcp \S+->\S+: read: connection reset by peer - error from a previous attempt: EOF"
        assert re.fullmatch(pattern, str(raised.value))

    def test_a_connection_that_died_while_idle_costs_no_wait(self) -> None:
        with AnsweringServer(OBJECT, HANG_UP, OBJECT) as server, Client(server.url) as client:
            client.get(PODS, "demo", "a")
            client.get(PODS, "demo", "a")
        assert (len(server.asked), client.waits) == (3, [])

    def test_refused_is_not_repeated(self) -> None:
        with ScriptedServer(lambda peer: None) as server:
            url = server.url
        with Client(url) as client, pytest.raises(ConnectionRefused):
            client.ask()
        assert client.waits == []

    @pytest.mark.parametrize("begun", [b"HTTP/1.1 200 OK\r\nContent-", b"HT"], ids=["head", "word"])
    def test_an_answer_that_has_begun_is_not_repeated(self, begun: bytes) -> None:
        with (
            AnsweringServer(raw(begun)) as server,
            Client(server.url) as client,
            pytest.raises(ConnectionLost, match="unexpected EOF") as raised,
        ):
            client.ask()
        assert raised.value.answered
        assert (len(server.asked), client.waits) == (1, [])

    def test_a_body_cut_short_is_no_answer(self) -> None:
        cut = raw(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"kind":')
        with AnsweringServer(cut) as server, Client(server.url) as client, pytest.raises(DecodeError) as raised:
            client.get(PODS, "demo", "a")
        want = "unexpected error when reading response body. Please retry. Original error: unexpected EOF"
        assert str(raised.value) == want
        assert client.waits == []


class TestUnauthorized:
    """A 401 has fresh credentials fetched and the request replayed, once."""

    NO = failure(401, "who are you")

    def client(self, server: AnsweringServer, token_file: Path, **more: Any) -> Client:
        return Client(server.url, token_file=str(token_file), **more)

    @pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
    def test_a_rotated_token_file(self, method: str, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("old")
        with AnsweringServer(OBJECT, self.NO, OBJECT) as server, self.client(server, token) as client:
            client.ask()
            token.write_text("new\n")
            assert client.ask(method, body=b"body") == 200
            client.ask()
        assert server.sent("authorization") == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]
        assert [seen.body for seen in server.asked] == [b"", b"body", b"body", b""]
        assert client.waits == []

    def test_a_second_401_is_final(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("old")
        with AnsweringServer(OBJECT, self.NO) as server, self.client(server, token) as client:
            client.ask()
            token.write_text("new")
            with pytest.raises(StatusError, match="who are you") as raised:
                client.get(PODS, "demo", "a")
        assert raised.value.code == 401
        assert server.sent("authorization") == ["Bearer old", "Bearer old", "Bearer new"]

    def test_the_same_token_is_not_sent_twice(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("same")
        with AnsweringServer(self.NO) as server, self.client(server, token) as client:
            assert client.ask() == 401
        assert len(server.asked) == 1

    @pytest.mark.parametrize("broken", [None, "", " \n", "a\nb"], ids=["gone", "empty", "blank", "two-lines"])
    def test_an_unusable_file_is_no_reason_to_replay(self, broken: str | None, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("good")
        with AnsweringServer(OBJECT, self.NO) as server, self.client(server, token) as client:
            client.ask()
            token.unlink() if broken is None else token.write_text(broken)
            assert client.ask() == 401
        assert server.sent("authorization") == ["Bearer good"] * 2

    @pytest.mark.parametrize("access", [{}, {"token": "t"}, {"username": "u", "password": "p"}], ids=str)
    def test_nothing_to_refresh(self, access: dict[str, Any]) -> None:
        with AnsweringServer(self.NO) as server, Client(server.url, **access) as client:
            assert client.ask() == 401
        assert len(server.asked) == 1

    def test_a_watch_is_replayed_too(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("old")
        with AnsweringServer(OBJECT, self.NO, Answer(body="")) as server, self.client(server, token) as client:
            client.ask()
            token.write_text("new")
            with client.watch(PODS, "demo", silence=5) as watch:
                assert list(watch) == []
        assert server.sent("authorization")[-1] == "Bearer new"


class TestRequestTimeout:
    @looped(("seconds", "text"), [(5.0, "5s"), (1.5, "1.5s"), (0.25, "250ms"), (90.0, "1m30s"), (3600.0, "1h0m0s")])
    def test_the_server_is_told(self, seconds: float, text: str) -> None:
        with AnsweringServer(OBJECT) as server, Client(server.url, request_timeout=seconds) as client:
            client.ask(query=[("watch", "true"), ("labelSelector", "a=b")])
        assert server.asked[0].target == f"/x?labelSelector=a%3Db&timeout={text}&watch=true"

    def test_without_one_it_is_not(self) -> None:
        with AnsweringServer(OBJECT) as server, Client(server.url) as client:
            client.ask()
        assert server.asked[0].target == "/x"

    def test_it_bounds_the_wait_for_the_answer(self) -> None:
        with (
            AnsweringServer(SILENCE) as server,
            Client(server.url, request_timeout=0.2) as client,
            pytest.raises(DeadlineExceeded) as raised,
        ):
            client.ask()
        assert str(raised.value) == "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        assert raised.value.step == "request"

    def test_it_bounds_the_body_although_something_comes(self) -> None:
        def drip(peer: Peer) -> None:
            peer.read_request()
            peer.start_chunked()
            while not peer.stopping.wait(0.02):
                peer.chunk(" ")

        with (
            ScriptedServer(drip) as server,
            Client(server.url, request_timeout=1.0) as client,
            pytest.raises(DeadlineExceeded, match="while reading body"),
        ):
            client.get(PODS, "demo", "a")

    @pytest.mark.parametrize(("own", "given"), [(0.2, 60.0), (60.0, 0.2), (0.0, 0.2)])
    def test_the_earlier_deadline_counts(self, own: float, given: float) -> None:
        with AnsweringServer(SILENCE) as server, Client(server.url, request_timeout=own) as client:
            started = time.monotonic()
            with pytest.raises(DeadlineExceeded):
                client.ask(deadline=client.clock() + given)
            assert 0.15 < time.monotonic() - started < 10


class TestRedirects:
    @looped("code", [301, 302, 303, 307, 308])
    @looped("ask", ["get", "list", "watch"])
    def test_they_are_not_followed(self, ask: str, code: int) -> None:
        answer = Answer(f"{code} Moved", "<html>", "text/html", (("Location", "https://elsewhere.example/login"),))
        with (
            AnsweringServer(answer) as server,
            Client(server.url, token="t0k3n") as client,
            pytest.raises(TransportError) as raised,
        ):
            if ask == "get":
                client.get(PODS, "demo", "a")
            elif ask == "list":
                client.list(PODS, "demo")
            else:
                client.watch(PODS, "demo", silence=5)
        assert len(server.asked) == 1
        assert str(raised.value) == (
            f'the server answered {code} and redirects to "https://elsewhere.example/login"; redirects are not followed'
        )
        assert raised.value.server == f"127.0.0.1:{server.port}"

    @looped(
        ("location", "shown"),
        [
            ("https://u:s3cret@h/x", "https://<redacted>@h/x"),
            ("/login?next=a&token=s3cret", "/login?next=a&token=<redacted>"),
            ("/\x9b2Jx", r"/\u009b2Jx"),
            ("", "nowhere"),
        ],
    )
    def test_the_target_is_shown_without_secrets(self, location: str, shown: str) -> None:
        head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location.encode("latin-1") + b"\r\n\r\n"
        with (
            AnsweringServer(raw(head)) as server,
            Client(server.url) as client,
            pytest.raises(TransportError) as raised,
        ):
            client.get(PODS, "demo", "a")
        assert f'"{shown}"' in str(raised.value)
        assert "s3cret" not in str(raised.value)
