"""`rawkube.Client`: what httpx's users expect, over rawkube's own connections."""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest

import rawkube
from rawkube.api.httpx_client import Transport
from rawkube.errors import ConfigError, ConnectionLost, RawkubeError
from rawkube.kubeconfig.access import Access
from rawkube.wire.tap import Event, Tap
from tests.support.answers import OBJECT, AnsweringServer, raw
from tests.support.rows import looped
from tests.support.run import kubeconfig
from tests.support.script import HANG_UP, RESET, SILENCE, Answer, failure
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.tls import Authority


def client(url: str, **options: Any) -> rawkube.Client:
    """A client for that server. Fields of Access and arguments of Client, whatever is named."""
    access = {name: options.pop(name) for name in list(options) if name in Access._fields}
    return rawkube.Client(Access(url, **access), **options)


def asked(send: Callable[[rawkube.Client], object], *, prefix: str = "", **options: Any) -> SeenRequest:
    with AnsweringServer(OBJECT) as server, client(server.url + prefix, **options) as speaker:
        send(speaker)
    (request,) = server.asked
    return request


class TestAddresses:
    @looped("prefix", ["", "/k8s/clusters/c-1", "/a%20b"])
    @looped("path", ["/api/v1/pods", "api/v1/pods"])
    def test_paths_are_below_the_servers_prefix(self, path: str, prefix: str) -> None:
        assert asked(lambda it: it.get(path), prefix=prefix).target == f"{prefix}/api/v1/pods"

    def test_the_whole_url_of_the_same_server(self) -> None:
        with AnsweringServer(OBJECT) as server, client(server.url) as speaker:
            speaker.get(f"{server.url}/healthz")
            speaker.get(f"http://127.0.0.1:{server.port}/livez?verbose")
        assert [request.target for request in server.asked] == ["/healthz", "/livez?verbose"]
        assert server.sent("host") == [f"127.0.0.1:{server.port}"] * 2

    @looped(
        "url",
        [
            "https://127.0.0.1:{port}/x",
            "http://127.0.0.1:{other}/x",
            "http://127.0.0.1/x",
            "http://localhost:{port}/x",
            "http://127.0.0.1.evil.example:{port}/x",
            "ftp://127.0.0.1:{port}/x",
            "http://[::1]:{port}/x",
        ],
    )
    def test_another_origin_is_refused_before_anything_is_sent(self, url: str) -> None:
        with ScriptedServer(lambda peer: None) as elsewhere, AnsweringServer() as server:
            url = url.format(port=server.port, other=elsewhere.port)
            with client(server.url, token="t0k3n") as speaker, pytest.raises(httpx.UnsupportedProtocol) as raised:
                speaker.get(url)
        assert (server.connections, elsewhere.connections) == (0, 0)
        assert f"this client speaks to {server.url} alone" in str(raised.value)
        assert "t0k3n" not in str(raised.value)

    def test_a_redirect_elsewhere_takes_no_credential_along(self) -> None:
        with AnsweringServer(OBJECT) as elsewhere:
            moved = Answer("307 Moved", "", headers=(("Location", f"{elsewhere.url}/x"),))
            with (
                AnsweringServer(moved) as server,
                client(server.url, token="t", follow_redirects=True) as speaker,
                pytest.raises(httpx.UnsupportedProtocol),
            ):
                speaker.get("/x")
        assert elsewhere.connections == 0

    def test_redirects_are_not_followed_unasked(self) -> None:
        moved = Answer("302 Moved", "", headers=(("Location", "/y"),))
        with AnsweringServer(moved) as server, client(server.url) as speaker:
            assert speaker.get("/x").status_code == 302
        assert len(server.asked) == 1

    @looped(
        "server",
        [
            "https://xn--bcher-kva.example",
            "https://xn--bcher-kva.example:6443/k8s",
            "https://[::1]:6443",
            "https://[fd00:0::1]",
            "https://[fe80::1%25eth0]:6443",
            "http://h:80",
            "https://h:443",
        ],
    )
    def test_its_own_server_is_no_other_origin(self, server: str) -> None:
        with client(server) as speaker:
            transport = speaker._transport
            assert isinstance(transport, Transport)
            transport._check_origin(speaker.build_request("GET", "/api"))


class TestRequests:
    @pytest.mark.parametrize(
        "params",
        [
            [("labelSelector", "a=b,c in (d,e),!f")],
            [("a", "1"), ("a", "2"), ("b", "")],
            [("q", "ü&=#+%20 /?")],
        ],
        ids=str,
    )
    def test_parameters_arrive_as_given(self, params: list[tuple[str, str]]) -> None:
        seen = asked(lambda it: it.get("/x", params=tuple(params)))
        path, _, query = seen.target.partition("?")
        assert (path, parse_qsl(query, keep_blank_values=True)) == ("/x", params)

    @looped("method", ["POST", "PUT", "PATCH", "DELETE"])
    def test_bodies_and_their_types(self, method: str) -> None:
        media = "application/merge-patch+json"
        seen = asked(lambda it: it.request(method, "/x", content=b'{"a":1}', headers={"Content-Type": media}))
        assert (seen.method, seen.body) == (method, b'{"a":1}')
        assert (seen.header("content-type"), seen.header("content-length")) == (media, "7")

    def test_a_json_body(self) -> None:
        seen = asked(lambda it: it.post("/x", json={"a": "é"}))
        assert json.loads(seen.body) == {"a": "é"}
        assert seen.header("content-type") == "application/json"

    def test_a_body_that_comes_in_pieces_is_sent_whole(self) -> None:
        def pieces() -> Iterator[bytes]:
            yield b"a" * 70_000
            yield b"b"

        seen = asked(lambda it: it.post("/x", content=pieces()))
        assert seen.body == b"a" * 70_000 + b"b"
        assert seen.header("transfer-encoding") is None

    def test_no_body(self) -> None:
        assert asked(lambda it: it.get("/x")).header("content-length") is None
        assert asked(lambda it: it.post("/x")).header("content-length") == "0"

    def test_headers(self) -> None:
        seen = asked(lambda it: it.get("/x", headers={"Accept": "application/json;as=Table", "X-One": "1"}))
        names = [name.lower() for name, _ in seen.headers]
        assert len(names) == len(set(names))
        assert seen.header("accept") == "application/json;as=Table"
        assert seen.header("x-one") == "1"
        assert str(seen.header("user-agent")).startswith("rawkube/")
        assert seen.header("accept-encoding") == "gzip"

    def test_the_clients_own_headers(self) -> None:
        seen = asked(lambda it: it.get("/x"), headers={"User-Agent": "mine/1", "X-Two": "2"})
        assert (seen.header("user-agent"), seen.header("x-two")) == ("mine/1", "2")

    def test_no_compression_where_it_is_disabled(self) -> None:
        assert asked(lambda it: it.get("/x"), disable_compression=True).header("accept-encoding") is None

    def test_a_header_in_utf8(self) -> None:
        seen = asked(lambda it: it.get("/x", headers=[(b"X-Name", "grün".encode())]))
        assert str(seen.header("x-name")).encode("latin-1").decode() == "grün"

    def test_a_header_that_cannot_be_sent(self) -> None:
        with (
            AnsweringServer() as server,
            client(server.url) as speaker,
            pytest.raises(httpx.RemoteProtocolError, match='invalid header field value for "X-Name"'),
        ):
            speaker.get("/x", headers=[(b"X-Name", b"s3cret\xff")])
        assert server.asked == []


class TestCredentials:
    def test_each_request_has_them(self) -> None:
        more = {"impersonate_user": "jane", "impersonate_groups": ("a", "b")}
        with AnsweringServer(OBJECT) as server, client(server.url, token="t0k3n", **more) as speaker:
            speaker.get("/x")
            speaker.post("/x", json={})
        for request in server.asked:
            assert [value for name, value in request.headers if name == "Authorization"] == ["Bearer t0k3n"]
            assert [value for name, value in request.headers if name == "Impersonate-Group"] == ["a", "b"]

    def test_basic(self) -> None:
        assert asked(lambda it: it.get("/x"), username="u", password="p").header("authorization") == "Basic dTpw"

    @pytest.mark.parametrize("options", [{"headers": {"Authorization": "Bearer own"}}, {"auth": ("u", "p")}], ids=str)
    def test_one_that_a_caller_brings_is_the_only_one(self, options: dict[str, Any]) -> None:
        seen = asked(lambda it: it.get("/x", **options), token="t0k3n")
        (value,) = (value for name, value in seen.headers if name.lower() == "authorization")
        assert value in ("Bearer own", "Basic dTpw")

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_a_rotated_token_file_is_read_again_on_a_401(self, method: str, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("old")
        with (
            AnsweringServer(OBJECT, failure(401, "who"), OBJECT) as server,
            client(server.url, token_file=str(token)) as speaker,
        ):
            speaker.get("/x")
            token.write_text("new")
            assert speaker.request(method, "/x", content=b"body").status_code == 200
            speaker.get("/x")
        assert server.sent("authorization") == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]
        assert [request.body for request in server.asked] == [b"", b"body", b"body", b""]

    def test_a_second_401_is_the_answer(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("old")
        with (
            AnsweringServer(OBJECT, failure(401, "who")) as server,
            client(server.url, token_file=str(token)) as speaker,
        ):
            speaker.get("/x")
            token.write_text("new")
            answer = speaker.get("/x")
        assert (answer.status_code, answer.json()["message"], len(server.asked)) == (401, "who", 3)

    def test_a_token_file_that_was_never_there(self, tmp_path: Path) -> None:
        with (
            AnsweringServer() as server,
            client(server.url, token_file=str(tmp_path / "none")) as speaker,
            pytest.raises(ConfigError, match="no such file"),
        ):
            speaker.get("/x")
        assert server.connections == 0


class TestAnswers:
    def test_status_reason_headers_body(self) -> None:
        headers = (("X-Twice", "1"), ("X-Twice", "2"))
        with (
            AnsweringServer(Answer("404 Not Here", '{"a":1}', headers=headers)) as server,
            client(server.url) as speaker,
        ):
            answer = speaker.get("/x")
        assert (answer.status_code, answer.reason_phrase, answer.http_version) == (404, "Not Here", "HTTP/1.1")
        assert answer.headers.get_list("x-twice") == ["1", "2"]
        assert answer.json() == {"a": 1}
        with pytest.raises(httpx.HTTPStatusError):
            answer.raise_for_status()

    def test_headers_that_are_not_ascii(self) -> None:
        head = "HTTP/1.1 200 OK\r\nX-Name: grün\r\nContent-Length: 0\r\n\r\n".encode()
        with AnsweringServer(raw(head)) as server, client(server.url) as speaker:
            assert speaker.get("/x").headers["x-name"] == "grün"

    @looped("framing", ["length", "chunked", "close"])
    @looped("coding", ["gzip", "deflate", ""])
    def test_bodies_are_decoded_once(self, coding: str, framing: str) -> None:
        text = ("plain " * 5000).encode()
        codings: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress, "": bytes}
        body = codings[coding](text)
        head = b"HTTP/1.1 200 OK\r\n" + (f"Content-Encoding: {coding}\r\n".encode() if coding else b"")
        if framing == "length":
            data = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        elif framing == "close":
            data = head + b"\r\n" + body
        else:
            pieces = [body[at : at + 50] for at in range(0, len(body), 50)]
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
            data = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
        with AnsweringServer(raw(data)) as server, client(server.url) as speaker:
            answer = speaker.get("/x")
        assert answer.content == text
        assert "content-encoding" not in answer.headers

    def test_a_body_that_is_gzip_itself_is_left_alone(self) -> None:
        packed = gzip.compress(b"x")
        answer = Answer(body=packed, content_type="application/gzip")
        with AnsweringServer(answer) as server, client(server.url) as speaker:
            assert speaker.get("/x").content == packed

    @pytest.mark.parametrize("code", ["204 No Content", "304 Not Modified"])
    def test_answers_without_a_body(self, code: str) -> None:
        with AnsweringServer(raw(f"HTTP/1.1 {code}\r\n\r\n".encode())) as server, client(server.url) as speaker:
            assert speaker.get("/x").content == b""

    def test_head(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\n"
        with AnsweringServer(raw(head)) as server, client(server.url) as speaker:
            answer = speaker.head("/x")
        assert (answer.content, answer.headers["x-a"], server.asked[0].method) == (b"", "b", "HEAD")

    def test_no_retry_after_is_waited_for(self) -> None:
        """httpx's users have their own retries."""
        busy = failure(429, "busy", headers=(("Retry-After", "100"),))
        with AnsweringServer(busy) as server, client(server.url) as speaker:
            assert speaker.get("/x").status_code == 429
        assert len(server.asked) == 1

    def test_a_connection_serves_one_request_after_the_other(self) -> None:
        with AnsweringServer(OBJECT) as server, client(server.url) as speaker:
            for _ in range(3):
                speaker.get("/x")
        assert server.connections == 1


class TestStreams:
    def test_a_watch_line_by_line_as_it_comes(self) -> None:
        """The server sends a line only when the one before it has been read."""
        turn = threading.Semaphore(1)

        def serve(peer: Peer) -> None:
            peer.read_request()
            peer.start_chunked()
            for number in range(3):
                assert turn.acquire(timeout=10)
                peer.chunk('{"n":')
                peer.chunk(f"{number}}}\n")
            peer.end_chunked()

        seen = []
        with (
            ScriptedServer(serve) as server,
            client(server.url) as speaker,
            speaker.stream("GET", "/x", params={"watch": "true"}) as answer,
        ):
            for line in answer.iter_lines():
                seen.append(json.loads(line)["n"])
                turn.release()
        assert seen == [0, 1, 2]

    def test_leaving_a_stream_closes_its_connection(self) -> None:
        with AnsweringServer(OBJECT) as server, client(server.url) as speaker:
            with speaker.stream("GET", "/x"):
                pass
            speaker.get("/x")
        assert server.connections == 2

    def test_a_stream_read_to_its_end_frees_its_connection(self) -> None:
        with AnsweringServer(OBJECT) as server, client(server.url) as speaker:
            with speaker.stream("GET", "/x") as answer:
                assert answer.read()
            speaker.get("/x")
        assert server.connections == 1

    def test_a_stream_that_breaks_off(self) -> None:
        cut = raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        seen = b""
        with (
            AnsweringServer(cut) as server,
            client(server.url) as speaker,
            speaker.stream("GET", "/x") as answer,
            pytest.raises(httpx.RemoteProtocolError, match="unexpected EOF"),
        ):
            for piece in answer.iter_bytes():
                seen += piece
        assert seen == b"abc"

    def test_silence_is_a_read_timeout(self) -> None:
        def serve(peer: Peer) -> None:
            peer.read_request()
            peer.start_chunked()
            peer.chunk("abc")
            peer.stall()

        with (
            ScriptedServer(serve) as server,
            client(server.url, timeout=httpx.Timeout(10, read=1.0)) as speaker,
            speaker.stream("GET", "/x") as answer,
        ):
            pieces = answer.iter_bytes()
            assert next(pieces) == b"abc"
            with pytest.raises(httpx.ReadTimeout):
                next(pieces)


def refused() -> str:
    with ScriptedServer(lambda peer: None) as server:
        return server.url


class TestErrors:
    @looped(
        ("answer", "kind", "text"),
        [
            (HANG_UP, httpx.ReadError, "EOF"),
            (RESET, httpx.ReadError, "connection reset by peer"),
            (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), httpx.RemoteProtocolError, "unexpected EOF"),
            (raw(b"\x15\x03\x01\x00\x02\x02F"), httpx.RemoteProtocolError, "malformed HTTP response"),
            (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), httpx.RemoteProtocolError, "malformed chunked"),
            (raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), httpx.RemoteProtocolError, "gzip"),
        ],
        ids=["closed", "reset", "cut", "no-http", "no-chunk", "no-gzip"],
    )  # fmt: skip
    def test_answers_that_are_none(self, answer: Answer, kind: type[Exception], text: str) -> None:
        with (
            AnsweringServer(answer) as server,
            client(server.url) as speaker,
            pytest.raises(httpx.TransportError, match=text) as raised,
        ):
            speaker.get("/x")
        assert type(raised.value) is kind
        assert isinstance(raised.value.__cause__, RawkubeError)
        assert raised.value.request.url == f"{server.url}/x"
        assert len(server.asked) == 1

    def test_refused(self) -> None:
        with client(refused()) as speaker, pytest.raises(httpx.ConnectError, match="connection refused"):
            speaker.get("/x")

    def test_no_such_host(self) -> None:
        with client("http://no-such-host.invalid") as speaker, pytest.raises(httpx.ConnectError, match="no-such-host"):
            speaker.get("/x")

    def test_no_answer_is_a_read_timeout(self) -> None:
        with (
            AnsweringServer(SILENCE) as server,
            client(server.url, timeout=0.2) as speaker,
            pytest.raises(httpx.ReadTimeout, match="timeout awaiting response headers"),
        ):
            speaker.get("/x")

    def test_a_timeout_of_one_request(self) -> None:
        with AnsweringServer(SILENCE) as server, client(server.url) as speaker, pytest.raises(httpx.ReadTimeout):
            speaker.get("/x", timeout=0.2)

    def test_no_handshake_is_a_connect_timeout(self) -> None:
        timeout = httpx.Timeout(10, connect=0.2)
        started = time.monotonic()
        with (
            ScriptedServer(lambda peer: peer.stall()) as server,
            client(server.url.replace("http:", "https:"), ca_data=Authority().pem, timeout=timeout) as speaker,
            pytest.raises(httpx.ConnectTimeout, match="TLS handshake timeout"),
        ):
            speaker.get("/x")
        assert time.monotonic() - started < 5, "the handshake is a part of connecting"

    def test_a_peer_that_does_not_read_is_a_write_timeout(self) -> None:
        def serve(peer: Peer) -> None:
            peer.stopping.wait(20)

        with (
            ScriptedServer(serve) as server,
            client(server.url, timeout=httpx.Timeout(10, write=0.2)) as speaker,
            pytest.raises(httpx.WriteTimeout),
        ):
            speaker.post("/x", content=bytes(20_000_000))

    @pytest.mark.parametrize("timeout", [None, httpx.Timeout(None), 1e12], ids=["None", "Timeout(None)", "long"])
    def test_no_timeout_at_all(self, timeout: Any) -> None:
        with AnsweringServer(OBJECT) as server, client(server.url, timeout=timeout) as speaker:
            assert speaker.get("/x").status_code == 200


class TestEnvironment:
    def test_nothing_of_it_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login u password p\ndefault login u password p\n")
        monkeypatch.setenv("NETRC", str(netrc))
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
        assert asked(lambda it: it.get("/x")).header("authorization") is None

    def test_without_an_access_it_is_what_kubectl_would_use(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        with AnsweringServer(OBJECT) as server:
            (tmp_path / "config").write_text(kubeconfig(f"{server.url}/k8s"))
            with rawkube.Client(namespace="demo") as speaker:
                assert speaker.access.namespace == "demo"
                speaker.get("/version")
            with rawkube.Client(kubeconfig=str(tmp_path / "config"), context="test") as speaker:
                speaker.get("/version")
        assert [request.target for request in server.asked] == ["/k8s/version"] * 2

    @pytest.mark.parametrize("name", ["transport", "base_url"])
    def test_what_belongs_to_the_connection_cannot_be_given(self, name: str) -> None:
        with pytest.raises(TypeError, match=name):
            client("http://h", **{name: None})


class TestTLS:
    def test_a_private_ca_and_a_client_certificate(self) -> None:
        servers, clients = Authority("servers"), Authority("clients")
        mine = clients.issue("client.example")
        with (
            AnsweringServer(OBJECT, tls=servers.server("api.example", clients=clients)) as server,
            client(
                server.url,
                ca_data=servers.pem,
                cert_data=mine.cert,
                key_data=mine.key,
                tls_server_name="api.example",
                token="t0k3n",
            ) as speaker,
        ):
            assert speaker.get("/x").status_code == 200
        assert server.sent("authorization") == ["Bearer t0k3n"]

    @pytest.mark.parametrize("ca", [None, Authority("others").pem], ids=["system", "others"])
    def test_an_unknown_authority_gets_no_request(self, ca: bytes | None) -> None:
        with (
            AnsweringServer(OBJECT, tls=Authority().server("127.0.0.1")) as server,
            client(server.url, ca_data=ca, token="t0k3n") as speaker,
            pytest.raises(httpx.ConnectError, match="x509: certificate signed by unknown authority"),
        ):
            speaker.get("/x")
        assert server.asked == []

    def test_without_the_client_certificate(self) -> None:
        servers = Authority("servers")
        with (
            AnsweringServer(OBJECT, tls=servers.server("127.0.0.1", clients=Authority("clients"))) as server,
            client(server.url, ca_data=servers.pem) as speaker,
            pytest.raises(httpx.ConnectError, match="certificate required"),
        ):
            speaker.get("/x")

    def test_unverified(self) -> None:
        with (
            AnsweringServer(OBJECT, tls=Authority().server("other.example")) as server,
            client(server.url, insecure=True) as speaker,
        ):
            assert speaker.get("/x").status_code == 200


def test_sixteen_threads_share_one_client() -> None:
    def serve(peer: Peer) -> None:
        while True:
            request = peer.read_request()
            peer.reply(json.dumps({"target": request.target, "body": request.body.decode()}))

    with ScriptedServer(serve) as server, client(server.url, token="t0k3n") as speaker, ThreadPoolExecutor(16) as pool:

        def work(thread: int) -> int:
            good = 0
            for number in range(20):
                text = f"{thread}-{number}"
                answer = speaker.post(f"/{text}", content=text) if number % 2 else speaker.get(f"/{text}")
                good += answer.json() == {"target": f"/{text}", "body": text if number % 2 else ""}
            return good

        assert list(pool.map(work, range(16))) == [20] * 16


def test_closing() -> None:
    with AnsweringServer(OBJECT) as server:
        speaker = client(server.url)
        speaker.get("/x")
        speaker.close()
        with pytest.raises(RuntimeError, match="closed"):
            speaker.get("/x")
    assert len(server.asked) == 1


def test_the_tap_sees_the_requests_without_secrets() -> None:
    events: list[Event] = []
    asked(lambda it: it.get("/x", params={"token": "s3cret"}), token="t0k3n", tap=Tap(events.append))
    told = json.dumps(events)
    assert "request" in [event.kind for event in events]
    assert "t0k3n" not in told and "s3cret" not in told


def test_a_lost_connection_has_its_cause() -> None:
    with AnsweringServer(HANG_UP) as server, client(server.url) as speaker, pytest.raises(httpx.ReadError) as raised:
        speaker.get("/x")
    assert isinstance(raised.value.__cause__, ConnectionLost)
