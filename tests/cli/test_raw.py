"""`rawkube raw`: one request as it was typed, one answer as it came."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.run import kubeconfig, kubectl_command, run
from tests.support.script import failure
from tests.support.server import Peer, ScriptedServer, SeenRequest


class Echo(ScriptedServer):
    """Answers with what was asked for. `/missing`, `/cut`, `/stream`, `/moved` are what they say."""

    def __init__(self) -> None:
        super().__init__(self._answer_all)
        self.asked: list[SeenRequest] = []

    def _answer_all(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            self.asked.append(request)
            if "/missing" in request.path:
                told = failure(404, 'pods "x" not found', details={"name": "x", "kind": "pods"})
                peer.reply(told.body, status=told.status)
            elif "/cut" in request.path:
                peer.start_chunked()
                peer.chunk(b"some")
                return
            elif "/moved" in request.path:
                peer.reply("", status="302 Found", headers=(("Location", "https://u:p@h/x"),))
            elif "/stream" in request.path:
                peer.start_chunked()
                for piece in (b"\x00\xff\n", b"two"):
                    peer.chunk(piece)
                peer.end_chunked()
            else:
                peer.reply(f"{request.method} {request.target} {request.body.decode()}")


def raw(*args: str, url: str, tmp_path: Path) -> tuple[bytes, str, int]:
    config = tmp_path / "config"
    config.write_text(kubeconfig(url))
    out, err = io.BytesIO(), io.BytesIO()
    code = main(["--kubeconfig", str(config), "raw", *args], out=Output(out, err))
    return out.getvalue(), err.getvalue().decode(), code


@pytest.mark.parametrize(
    ("args", "body"),
    [
        (["/version"], b"GET /version "),
        (["/api/v1/pods?a=b%2Cc&watch=1"], b"GET /api/v1/pods?a=b%2Cc&watch=1 "),
        (["-X", "delete", "/x"], b"DELETE /x "),
        (["/x", "-d", "{}"], b"POST /x {}"),
        (["/x", "-d", "{}", "-X", "PATCH"], b"PATCH /x {}"),
        (["/stream"], b"\x00\xff\ntwo"),
    ],
)
def test_what_is_asked_and_what_is_printed(args: list[str], body: bytes, tmp_path: Path) -> None:
    with Echo() as server:
        assert raw(*args, url=server.url, tmp_path=tmp_path) == (body, "", 0)


def test_a_file_is_sent(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\x01text")
    with Echo() as server:
        assert raw("/x", "-d", f"@{tmp_path}/f", url=server.url, tmp_path=tmp_path)[0] == b"POST /x \x01text"
        assert server.asked[0].header("content-type") == "application/json"


def test_headers_take_the_place_of_the_usual_ones(tmp_path: Path) -> None:
    with Echo() as server:
        raw("/x", "-H", "accept: text/plain", "-H", "X-A:b", url=server.url, tmp_path=tmp_path)
        asked = server.asked[0]
    assert (asked.header("accept"), asked.header("x-a")) == ("text/plain", "b")


def test_the_head_of_the_answer(tmp_path: Path) -> None:
    with Echo() as server:
        stdout, _, code = raw("-i", "/version", url=server.url, tmp_path=tmp_path)
    head, _, body = stdout.partition(b"\n\n")
    assert head.startswith(b"HTTP/1.1 200 OK\ncontent-type: ")
    assert (body, code) == (b"GET /version ", 0)


def test_a_failure_is_said_and_with_i_shown(tmp_path: Path) -> None:
    with Echo() as server:
        told = 'Error from server (NotFound): pods "x" not found\n'
        assert raw("/missing", url=server.url, tmp_path=tmp_path) == (b"", told, 1)
        stdout, stderr, code = raw("-i", "/missing", url=server.url, tmp_path=tmp_path)
    assert (stderr, code) == (told, 1)
    assert b'"kind": "Status"' in stdout or b'"kind":"Status"' in stdout


def test_a_part_of_an_answer_is_no_success(tmp_path: Path) -> None:
    with Echo() as server:
        stdout, stderr, code = raw("/cut", url=server.url, tmp_path=tmp_path)
    assert (stdout, code) == (b"some", 1)
    assert "unexpected EOF" in stderr


def test_a_redirect_is_named_and_not_followed(tmp_path: Path) -> None:
    with Echo() as server:
        stdout, stderr, code = raw("/moved", url=server.url, tmp_path=tmp_path)
    assert (stdout, code) == (b"", 1)
    assert "https://<redacted>@h/x" in stderr
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ([], "raw takes one PATH"),
        (["/a", "/b"], "raw takes one PATH"),
        (["api"], 'a PATH begins with /: "api"'),
        (["/a", "-H", "x"], "a header is 'Name: value', not \"x\""),
        (["/a", "-d", "@/no/such"], "open /no/such: no such file or directory"),
    ],
)
def test_what_cannot_be_asked(args: list[str], text: str, tmp_path: Path) -> None:
    with Echo() as server:
        stdout, stderr, code = raw(*args, url=server.url, tmp_path=tmp_path)
        assert (stdout, code, server.asked) == (b"", 1, [])
    assert text in stderr


@pytest.mark.kubectl
@pytest.mark.parametrize("path", ["/version", "/api/v1/pods?limit=1", "/missing", "/cut"])
def test_kubectl_prints_the_same(path: str, tmp_path: Path) -> None:
    with Echo() as server:
        theirs = run((*kubectl_command(), "get", "--raw"), path, url=server.url, home=tmp_path)
        asked = [each.target for each in server.asked]
        stdout, stderr, code = raw(path, url=server.url, tmp_path=tmp_path)
        assert [each.target for each in server.asked[len(asked) :]] == asked
    assert (stdout.decode(), stderr.splitlines()[-1:], code) == (theirs.stdout, theirs.stderr.splitlines(), theirs.code)
