"""What has broken clients on the wire: from a kubeconfig to the bytes that a server sees, and back."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import rawkube
from rawkube.api.builtin import lookup
from rawkube.api.client import ApiClient
from rawkube.api.connect import connect
from rawkube.errors import ConnectionLost, DeadlineExceeded, StatusError, TLSError
from rawkube.kubeconfig import access_from
from rawkube.kubeconfig.access import Access
from rawkube.wire.dial import Timeouts
from tests.support.answers import OBJECT, AnsweringServer, raw
from tests.support.run import kubeconfig
from tests.support.script import HANG_UP, SILENCE, Answer, failure
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.tls import Authority

found = lookup("pods")
assert found is not None
PODS = found


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def event(version: int, **more: Any) -> str:
    thing = {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": str(version)}, **more}
    return json.dumps({"type": "MODIFIED", "object": thing}, ensure_ascii=False) + "\n"


class TestPrefixes:
    """`server: https://host/k8s/clusters/dev`: before each path, once."""

    @pytest.mark.parametrize("slash", ["", "/", "//"], ids=["bare", "slash", "two"])
    def test_list_and_watch(self, slash: str, tmp_path: Path) -> None:
        with AnsweringServer(Answer(body='{"kind":"PodList"}'), Answer(body="")) as server:
            (tmp_path / "c").write_text(kubeconfig(f"{server.url}/k8s/clusters/x{slash}"))
            with connect(kubeconfig=str(tmp_path / "c"), environ={}, namespace="demo") as client:
                client.list(PODS, client.access.namespace)
                client.watch(PODS, client.access.namespace, silence=5).close()
            with rawkube.Client(client.access) as speaker:
                speaker.get("/api/v1/namespaces/demo/pods")
        assert [request.path for request in server.asked] == ["/k8s/clusters/x/api/v1/namespaces/demo/pods"] * 3


class TestInAPod:
    @pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
    @pytest.mark.parametrize("host", ["::1", "[::1]"])
    def test_ipv6(self, host: str, tmp_path: Path) -> None:
        """Brackets in the URL and the Host header, none where the certificate is checked."""
        seen: list[SeenRequest] = []

        def serve(peer: Peer) -> None:
            seen.append(peer.read_request())
            peer.reply(OBJECT.body)

        authority = Authority()
        (tmp_path / "ca.crt").write_bytes(authority.pem)
        (tmp_path / "token").write_text("t0k3n\n")
        with ScriptedServer(serve, tls=authority.server("::1"), family=socket.AF_INET6) as server:
            environ = {
                "KUBERNETES_SERVICE_HOST": host,
                "KUBERNETES_SERVICE_PORT": str(server.port),
                "HOME": str(tmp_path),
            }
            access = access_from(environ=environ, service_account=str(tmp_path)).access
            assert access.server == f"https://[::1]:{server.port}"
            with ApiClient(access) as client:
                assert client.get(PODS, "demo", "a")["kind"] == "Thing"
        assert seen[0].header("host") == f"[::1]:{server.port}"
        assert seen[0].header("authorization") == "Bearer t0k3n"


class TestTokens:
    def authorization(
        self, tmp_path: Path, user: dict[str, str], change: Callable[[], object] = lambda: None
    ) -> list[Any]:
        authority = Authority()
        ca = tmp_path / "ca.pem"
        ca.write_bytes(authority.pem)
        with AnsweringServer(OBJECT, tls=authority.server("127.0.0.1")) as server:
            text = kubeconfig(server.url, cluster={"certificate-authority": str(ca)}, user=user)
            (tmp_path / "c").write_text(text)
            now = [0.0]
            access = access_from(str(tmp_path / "c"), environ={}).access
            with ApiClient(access, clock=lambda: now[0]) as client:
                client.get(PODS, "demo", "a")
                change()
                now[0] += 60.0
                client.get(PODS, "demo", "a")
        return server.sent("authorization")

    @pytest.mark.parametrize("end", ["\n", "\r\n", " \n\n"], ids=ascii)
    def test_a_line_feed_at_the_end_of_the_file(self, end: str, tmp_path: Path) -> None:
        (tmp_path / "t").write_text("xyz" + end)
        assert self.authorization(tmp_path, {"tokenFile": "t"}) == ["Bearer xyz"] * 2

    def test_the_file_beats_the_token_beside_it_and_is_read_again(self, tmp_path: Path) -> None:
        token = tmp_path / "t"
        token.write_text("one")
        user = {"tokenFile": "t", "token": "beside"}
        assert self.authorization(tmp_path, user, lambda: token.write_text("two")) == ["Bearer one", "Bearer two"]

    def test_the_last_good_one_stays_when_the_file_is_gone(self, tmp_path: Path) -> None:
        token = tmp_path / "t"
        token.write_text("one")
        user = {"tokenFile": "t", "token": "beside"}
        assert self.authorization(tmp_path, user, token.unlink) == ["Bearer one"] * 2

    def test_without_a_file_the_token_beside_it_is_used(self, tmp_path: Path) -> None:
        assert self.authorization(tmp_path, {"tokenFile": "none", "token": "beside"}) == ["Bearer beside"] * 2

    def test_a_server_without_tls_gets_none(self, tmp_path: Path) -> None:
        with AnsweringServer(OBJECT) as server:
            (tmp_path / "c").write_text(kubeconfig(server.url, user={"token": "t0k3n"}))
            with connect(kubeconfig=str(tmp_path / "c"), environ={}) as client:
                client.get(PODS, "demo", "a")
        assert server.sent("authorization") == [None]


class TestAuthorities:
    def test_no_authority_is_not_trust_in_everybody(self, tmp_path: Path) -> None:
        with AnsweringServer(OBJECT, tls=Authority().server("127.0.0.1")) as server:
            (tmp_path / "c").write_text(kubeconfig(server.url, user={"token": "t0k3n"}))
            with connect(kubeconfig=str(tmp_path / "c"), environ={}) as client, pytest.raises(TLSError):
                client.get(PODS, "demo", "a")
        assert server.asked == []

    def test_the_port_that_is_meant_is_told(self) -> None:
        for server, authority in (
            ("https://host/r/projects/x", "host:443"),
            ("http://host", "host:80"),
            ("https://[fd00::1]:6443", "[fd00::1]:6443"),
        ):
            with ApiClient(Access(server)) as client:
                assert client.pool.endpoint.authority == authority


class TestWatches:
    def versions(self, serve: Callable[[Peer], None]) -> list[str]:
        with (
            ScriptedServer(serve) as server,
            ApiClient(Access(server.url)) as client,
            client.watch(PODS, "demo", silence=10) as watch,
        ):
            versions = [seen.resource_version for seen in watch]
            assert watch.error is None
            return versions

    def test_a_compressed_watch_is_given_as_it_comes(self) -> None:
        """Each event in a gzip block of its own, as a server that flushes sends it."""
        import zlib

        packer = zlib.compressobj(wbits=31)

        def serve(peer: Peer) -> None:
            peer.read_request()
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
            for version in (1, 2, 3):
                peer.chunk(packer.compress(event(version).encode()) + packer.flush(zlib.Z_SYNC_FLUSH))
            peer.chunk(packer.flush())
            peer.end_chunked()

        assert self.versions(serve) == ["1", "2", "3"]

    def test_a_whole_watch_in_one_gzip_body(self) -> None:
        packed = Answer(body=gzip.compress((event(1) + event(2)).encode()), headers=(("Content-Encoding", "gzip"),))
        with (
            AnsweringServer(packed) as server,
            ApiClient(Access(server.url)) as client,
            client.watch(PODS, "demo", silence=10) as watch,
        ):
            assert [seen.resource_version for seen in watch] == ["1", "2"]

    def test_characters_cut_by_chunks(self) -> None:
        data = event(1, note="é漢😀").encode()

        def serve(peer: Peer) -> None:
            peer.read_request()
            peer.start_chunked()
            for at in range(len(data)):
                peer.chunk(data[at : at + 1])
            peer.end_chunked()

        with (
            ScriptedServer(serve) as server,
            ApiClient(Access(server.url)) as client,
            client.watch(PODS, "demo", silence=10) as watch,
        ):
            assert [seen.object["note"] for seen in watch] == ["é漢😀"]

    def test_a_start_that_breaks_off_is_asked_for_ten_times_and_no_empty_watch(self) -> None:
        waits: list[float] = []
        with (
            AnsweringServer(HANG_UP) as server,
            ApiClient(Access(server.url), sleep=waits.append) as client,
            pytest.raises(ConnectionLost),
        ):
            client.watch(PODS, "demo", silence=10)
        assert (len(server.asked), waits) == (11, [1.0] * 10)

    def test_a_start_that_is_put_off_for_ever_ends_in_the_servers_error(self) -> None:
        waits: list[float] = []
        busy = failure(500, "etcd is away", headers=(("Retry-After", "1"),))
        with (
            AnsweringServer(busy) as server,
            ApiClient(Access(server.url), sleep=waits.append) as client,
            pytest.raises(StatusError, match="etcd is away") as raised,
        ):
            client.watch(PODS, "demo", silence=10)
        assert raised.value.reason == "InternalError"
        assert (len(server.asked), waits) == (11, [1.0] * 10)


class TestSilence:
    """Nothing is waited for without an end, whoever asks."""

    QUICK = Timeouts(first_byte=0.2, silence=0.2)

    @pytest.mark.parametrize("ask", ["get", "watch"])
    def test_a_server_that_never_answers(self, ask: str) -> None:
        with (
            AnsweringServer(SILENCE) as server,
            ApiClient(Access(server.url), timeouts=self.QUICK) as client,
            pytest.raises(DeadlineExceeded) as raised,
        ):
            client.get(PODS, "demo", "a") if ask == "get" else client.watch(PODS, "demo", silence=60)
        assert raised.value.step == "first byte"

    def test_a_watch_that_is_put_off_and_then_left_without_an_answer(self) -> None:
        put_off = failure(503, "not yet", headers=(("Retry-After", "0"),))
        with (
            AnsweringServer(put_off, SILENCE) as server,
            ApiClient(Access(server.url), timeouts=self.QUICK) as client,
            pytest.raises(DeadlineExceeded) as raised,
        ):
            client.watch(PODS, "demo", silence=60)
        assert raised.value.step == "first byte"

    def test_a_body_that_stops(self) -> None:
        begun = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"kind":'

        def serve(peer: Peer) -> None:
            peer.read_request()
            peer.send(begun)
            peer.stall()

        with (
            ScriptedServer(serve) as server,
            ApiClient(Access(server.url), timeouts=Timeouts(silence=0.2)) as client,
            pytest.raises(DeadlineExceeded) as raised,
        ):
            client.get(PODS, "demo", "a")
        assert raised.value.step == "silence"

    def test_every_client_has_limits_unasked(self) -> None:
        with ApiClient(Access("http://h")) as client:
            assert all(0 < seconds <= 60 for seconds in client.timeouts)

    def test_httpx_waits_longer_than_a_bookmark_takes(self) -> None:
        """httpx itself gives a quiet stream up after 5 s; API servers send a bookmark a minute."""
        with rawkube.Client(Access("http://h")) as speaker:
            assert speaker.timeout == httpx.Timeout(connect=30.0, read=60.0, write=60.0, pool=None)


def test_an_answer_in_http_1_0_is_an_answer() -> None:
    body = OBJECT.body if isinstance(OBJECT.body, bytes) else OBJECT.body.encode()
    old = raw(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)
    with AnsweringServer(old) as server, ApiClient(Access(server.url)) as client:
        assert client.get(PODS, "demo", "a")["kind"] == "Thing"
