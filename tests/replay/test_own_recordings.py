"""What rawkube records itself can be replayed: redacted pieces, rewritten bodies, frames without masks.

A relay stands between a client and a replay server, and records as rawkube does. What it recorded is replayed to the
same client, and recorded again: the same conversation.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from rawkube.observe.derive import decoded
from rawkube.observe.exchanges import Exchange, read_exchanges
from rawkube.observe.record import Recorder
from rawkube.observe.recording import Recording
from rawkube.observe.replay import Replay, load
from rawkube.wire.transcript import Transcript
from tests.observe.made import FIXTURES, Script, answer, chunk, piece, start, switching, upgrade
from tests.replay.test_recorded_exec import messages
from tests.support.here import Ran, own_streams, run_here

SECRET = "/api/v1/namespaces/demo/secrets/key"
MARKER = "cGxhbnRlZC1tYXJrZXI="


class Relay:
    """Passes connections on to a server, and records what passes."""

    def __init__(self, server: Replay, file: Path) -> None:
        host, port = server.url.partition("://")[2].split(":")
        self._to = (host, int(port))
        self._recorder = Recorder(str(file), client="a test", server="a replay")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._stopped = False

    def __enter__(self) -> Relay:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        socket.create_connection(("127.0.0.1", self.port)).close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        self._listener.close()
        self._recorder.close()

    def _start(self, target: Any, *args: object) -> None:
        self._threads.append(threading.Thread(target=target, args=args, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        conn = 0
        while True:
            client, _ = self._listener.accept()
            if self._stopped:
                client.close()
                return
            conn += 1
            server = socket.create_connection(self._to)
            transcript = Transcript()
            pair = [threading.Event(), threading.Event()]
            self._start(self._pass_on, client, server, conn, "client", transcript, pair)
            self._start(self._pass_on, server, client, conn, "server", transcript, pair[::-1])

    def _pass_on(
        self,
        of: socket.socket,
        to: socket.socket,
        conn: int,
        side: str,
        transcript: Transcript,
        over: Sequence[threading.Event],
    ) -> None:
        while True:
            try:
                data = of.recv(65536)
            except OSError:
                data = b""
            with self._lock:
                feed = transcript.client if side == "client" else transcript.server
                for told in feed(data) if data else transcript.end(side):
                    self._recorder.piece(conn, time.monotonic(), told.side, told.data, redacted=told.redacted)
                if not data:
                    self._recorder.end(conn, time.monotonic(), side)
            try:
                to.sendall(data) if data else to.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            if not data:
                break
        over[0].set()
        over[1].wait(10)
        of.close()


def recorded(of: str | os.PathLike[str] | Sequence[Exchange], file: Path, command: Sequence[str], stdin: bytes) -> Any:
    """Run a command against a recording, and record it."""
    with Replay(of) as server:
        with Relay(server, file) as relay:
            config = Path(server.kubeconfig)
            config.write_text(config.read_text().replace(server.url, f"http://127.0.0.1:{relay.port}"))
            done = ran(server, command, stdin)
        assert server.unmatched == []
    return done.data, done.stderr, done.code


def ran(server: Replay, command: Sequence[str], stdin: bytes) -> Ran:
    with own_streams():
        return run_here(*command, config=server.kubeconfig, stdin=stdin)


def conversation(file: Path) -> list[object]:
    """What was asked and answered, without times, keys and the borders of pieces."""
    found: list[object] = []
    for exchange in load(file):
        body = b"".join(part.data for part in decoded(exchange.answer))
        whole = exchange.answer.ends == "complete"
        said = [(m.side, m.channel, m.payload) for m in messages(exchange.session)]
        # Which of two sides speaks first depends on the moment.
        channels = {(side, channel): b"" for side, channel, _ in said}
        for side, channel, payload in said:
            channels[side, channel] += payload
        answered = (exchange.answer.status, body if whole else b"")
        found.append(
            (exchange.method, exchange.target.partition("&timeoutSeconds")[0], exchange.body, answered, channels)
        )
    return found


DRIVEN = {
    "rollout-listwatch/deployment-update": ["rollout", "status", "deployment/web"],
    "rollout-listwatch/deployment-bad-image": ["rollout", "status", "deployment/web", "--explain=never"],
    "rollout-listwatch/selector": ["rollout", "status", "deployment", "-l", "app=web"],
    "rollout-listwatch/statefulset-update": ["rollout", "status", "sts/db"],
    "rollout/daemonset-update": ["rollout", "status", "ds/agent"],
    "exec/v5-hello": ["exec", "shell", "--", "sh", "-c", "echo hello; echo oops >&2"],
    "exec/v5-stdin-cat": ["exec", "-i", "shell", "--", "cat"],
    "exec/v5-not-found": ["exec", "shell", "--", "/no/such/program"],
    "exec/v5-exit-3": ["exec", "shell", "--", "sh", "-c", "echo out; echo err >&2; exit 3"],
}


@pytest.mark.parametrize("name", DRIVEN)
def test_recorded_replayed_and_recorded_again(name: str, tmp_path: Path) -> None:
    command = DRIVEN[name]
    stdin = b"one\ntwo\n" if "-i" in command else b""
    once, again = tmp_path / "once.jsonl", tmp_path / "again.jsonl"
    first = recorded(FIXTURES / f"{name}.jsonl", once, command, stdin)
    assert recorded(once, again, command, stdin) == first
    assert conversation(again) == conversation(once) != []
    with Replay(once, strict=True) as server:
        ran(server, command, stdin)
        assert server.refused() == []


def secrets() -> list[Exchange]:
    one = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "key"}, "data": {"a": MARKER}}
    event = json.dumps({"type": "ADDED", "object": one}) + "\n"
    script = Script().ask(SECRET, answer(json.dumps(one)))
    script.watch("/api/v1/secrets?watch=true", (0, start()), (0, chunk(event)), (0, "0\r\n\r\n"))
    return script.ask("/after", answer("whole")).exchanges()


def asked(port: int) -> list[bytes]:
    """Three requests on one connection, with a password."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    found = []
    for target in (SECRET, "/api/v1/secrets?watch=true", "/after"):
        client.request("GET", target, headers={"Accept": "application/json", "Authorization": f"Bearer {MARKER}"})
        found.append(client.getresponse().read())
    client.close()
    return found


def test_secrets_that_were_taken_out_leave_a_recording_that_can_be_replayed(tmp_path: Path) -> None:
    file = tmp_path / "secrets.jsonl"
    with Replay(secrets()) as server, Relay(server, file) as relay:
        before = asked(relay.port)
    assert MARKER in before[0].decode()
    assert MARKER not in file.read_text()
    with Recording(file) as pieces:
        assert any(p.redacted for p in pieces)
    for strict in (False, True):
        with Replay(file, strict=strict) as server:
            told = asked(int(server.url.rpartition(":")[2]))
            assert server.unmatched == []
        assert json.loads(told[0])["metadata"] == {"name": "key"}
        assert json.loads(told[1])["object"]["data"].keys() == {"a"}
        assert MARKER.encode() not in b"".join(told)
        assert told[2] == b"whole"


def test_a_token_in_a_subprotocol(tmp_path: Path) -> None:
    """How a browser sends it (kube-apiserver's websocket authenticator): it is taken out, the session is replayed."""
    token = "base64url.bearer.authorization.k8s.io.cGxhbnRlZA"
    offered = f"{token}, v5.channel.k8s.io"
    pieces = [piece("client", 1, upgrade(offered=offered)), piece("server", 2, switching())]
    file = tmp_path / "a.jsonl"
    with (
        Replay(read_exchanges([*pieces, piece("server", 3, eof=True)])) as server,
        Relay(server, file) as relay,
        socket.create_connection(("127.0.0.1", relay.port), timeout=10) as sock,
    ):
        sock.sendall(upgrade(offered=offered).encode())
        assert sock.recv(65536).startswith(b"HTTP/1.1 101 ")
    assert "cGxhbnRlZA" not in file.read_text()
    with Replay(file) as server, socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as sock:
        sock.sendall(upgrade(offered=offered).encode())
        assert sock.recv(65536).startswith(b"HTTP/1.1 101 ")
