"""A scripted server of `exec` over WebSocket, and the far side of one session whose every byte a test decides.

    def script(far: Far) -> None:
        far.out(b"hello\n")
        far.end()

    with ExecServer(script) as server:
        ... server.url ... server.upgrades[0].target ...

The server has one pod (any name; container `main`), whose GET it answers on whichever connection it comes. `script` is
called behind each handshake. `refusals` are answered instead of a 101, one each; the last one for ever (which may be
AS_USUAL: then a 101).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.support.discovery import recorded
from tests.support.script import Answer, failure
from tests.support.server import Peer, PeerGone, ScriptedServer, SeenRequest

V5, V4, V1 = "v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"
SUCCESS = b'{"metadata":{},"status":"Success"}'
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
STDIN, STDOUT, STDERR, ERROR, RESIZE, HALF_CLOSE = 0, 1, 2, 3, 4, 255
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


# Bytes


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True) -> bytes:
    """One frame as a server sends it."""
    size = len(payload)
    first = (0x80 if fin else 0) | opcode
    if size < 126:
        return bytes((first, size)) + payload
    if size < 1 << 16:
        return bytes((first, 126)) + size.to_bytes(2, "big") + payload
    return bytes((first, 127)) + size.to_bytes(8, "big") + payload


def message(channel: int, payload: bytes = b"") -> bytes:
    """One binary message in one frame."""
    return frame(BINARY, bytes((channel,)) + payload)


def close_frame(code: int = 1000, reason: bytes = b"") -> bytes:
    """A close; code 1005 stands for one without a code."""
    return frame(CLOSE, b"" if code == 1005 else code.to_bytes(2, "big") + reason)


def fragments(channel: int, *pieces: bytes, between: bytes = b"") -> bytes:
    """One message of several frames: the first one holds the channel and the first piece. `between`: other frames."""
    head, *rest = (bytes((channel,)) + pieces[0], *pieces[1:])
    frames = [frame(BINARY, head, fin=not rest)]
    frames += [frame(CONTINUATION, piece, fin=number == len(rest)) for number, piece in enumerate(rest, 1)]
    return between.join(frames)


def exit_status(code: int | str) -> bytes:
    """The Status of a command that ended with this code, as API servers send it."""
    text = f"command terminated with non-zero exit code: command terminated with exit code {code}"
    causes = [{"reason": "ExitCode", "message": str(code)}]
    status = {"metadata": {}, "status": "Failure", "message": text, "reason": "NonZeroExitCode"}
    return json.dumps(status | {"details": {"causes": causes}}).encode()


def unmasked(data: bytes, mask: bytes) -> bytes:
    """RFC 6455, 5.3; fast enough for many megabytes."""
    size = len(data)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


class Frame(NamedTuple):
    """A frame that the client has sent; `payload` is unmasked."""

    opcode: int
    payload: bytes
    fin: bool = True
    masked: bool = True


class FrameReader:
    """Takes a client's frames out of a stream of bytes."""

    def __init__(self, more: Callable[[], bytes]) -> None:
        self._more = more
        self._data = bytearray()

    def _exactly(self, size: int) -> bytes:
        while len(self._data) < size:
            self._data += self._more()
        taken = bytes(self._data[:size])
        del self._data[:size]
        return taken

    def read(self) -> Frame:
        """The next frame. Raises what `more` raises (PeerGone at the end)."""
        first, second = self._exactly(2)
        size = second & 0x7F
        if size > 125:
            size = int.from_bytes(self._exactly(2 if size == 126 else 8), "big")
        mask = self._exactly(4) if second & 0x80 else b""
        payload = self._exactly(size)
        return Frame(first & 0x0F, unmasked(payload, mask) if mask else payload, bool(first & 0x80), bool(mask))


# The far side of a session


class Far:
    """The server's side, from behind the handshake. `seen`: every frame that was read; `request`: the upgrade's.

    Pings of the client are answered while something is read, unless `pongs` is false.
    """

    def __init__(self, peer: Peer, request: SeenRequest | None = None, protocol: str = V5) -> None:
        self.peer = peer
        self.request = request
        self.protocol = protocol
        self.pongs = True
        self.seen: list[Frame] = []
        self._reader = FrameReader(peer.read)

    # Saying

    def raw(self, data: bytes) -> None:
        self.peer.send(data)

    def send(self, channel: int, data: bytes = b"") -> None:
        if "base64" in self.protocol:
            self.raw(frame(TEXT, b"%d" % channel + base64.b64encode(data)))
        else:
            self.raw(message(channel, data))

    def out(self, data: bytes) -> None:
        self.send(STDOUT, data)

    def err(self, data: bytes) -> None:
        self.send(STDERR, data)

    def status(self, data: bytes = SUCCESS) -> None:
        self.send(ERROR, data)

    def ping(self, payload: bytes = b"") -> None:
        self.raw(frame(PING, payload))

    def close(self, code: int = 1000, reason: bytes = b"") -> None:
        self.raw(close_frame(code, reason))

    def end(self, status: bytes = SUCCESS) -> None:
        """The status, a clean close, and the client's answer to it."""
        self.status(status)
        self.close()
        assert self.wait_close() == 1000

    # Hearing

    def read(self) -> Frame:
        """The next frame of any kind. Raises PeerGone."""
        got = self._reader.read()
        self.seen.append(got)
        assert got.masked, "a client's frames are masked"
        if got.opcode == PING and self.pongs:
            self.raw(frame(PONG, got.payload))
        return got

    def next(self) -> tuple[int, bytes]:
        """(channel, payload) of the next message. Raises PeerGone."""
        while True:
            got = self.read()
            if got.opcode in (TEXT, BINARY):
                assert got.fin, "every message is one frame"
                return self._decoded(got)

    def _decoded(self, got: Frame) -> tuple[int, bytes]:
        if "base64" in self.protocol:
            assert got.opcode == TEXT
            return got.payload[0] - 0x30, base64.b64decode(got.payload[1:], validate=True)
        assert got.opcode == BINARY
        return got.payload[0], got.payload[1:]

    def stdin(self, size: int | None = None) -> bytes:
        """What comes on stdin: up to the half-close, or at least `size` bytes."""
        data = bytearray()
        while size is None or len(data) < size:
            channel, payload = self.next()
            if channel == HALF_CLOSE:
                assert payload == bytes((STDIN,))
                break
            if channel == STDIN:
                data += payload
        return bytes(data)

    def wait_for(self, opcode: int) -> Frame:
        while (got := self.read()).opcode != opcode:
            pass
        return got

    def wait_close(self) -> int:
        """The code of the client's close, when it comes; 1005 for none. Raises PeerGone."""
        payload = self.wait_for(CLOSE).payload
        return int.from_bytes(payload[:2], "big") if payload else 1005

    def until_gone(self) -> None:
        """Reads until the client has closed the connection."""
        with contextlib.suppress(PeerGone):
            while True:
                self.read()

    def messages(self) -> list[tuple[int, bytes]]:
        """(channel, payload) of each message that was read so far."""
        return [self._decoded(got) for got in self.seen if got.opcode in (TEXT, BINARY)]


def far_pair() -> tuple[Far, socket.socket]:
    """A far side without a server, and the client's end of its connection."""
    server, client = socket.socketpair()
    return Far(Peer(server, 1, threading.Event())), client


# The server

Script = Callable[[Far], None]


def says(*data: bytes) -> Script:
    """A script that sends these bytes at once, and then waits for the client to go."""

    def script(far: Far) -> None:
        far.raw(b"".join(data))
        far.until_gone()

    return script


def pod(name: str = "p", namespace: str = "default") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "main", "image": "x"}], "nodeName": "n"},
        "status": {"phase": "Running"},
    }


def accept_for(key: str) -> str:
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()


def switching(request: SeenRequest, protocol: str = V5, *, omit: str = "", **headers: str) -> bytes:
    """The 101 that answers a request. `headers` replace or add some (`_` is `-`), `omit` leaves one out."""
    found = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Accept": accept_for(request.header("Sec-WebSocket-Key") or ""),
        "Sec-WebSocket-Protocol": protocol,
    }
    found.update({name.replace("_", "-"): value for name, value in headers.items()})
    found.pop(omit, None)
    lines = [f"{name}: {value}\r\n" for name, value in found.items()]
    return ("HTTP/1.1 101 Switching Protocols\r\n" + "".join(lines) + "\r\n").encode()


class ExecServer(ScriptedServer):
    """See above. `asked`: every request; `on`: the number of its connection; `upgrades`: those that asked for one.

    `protocol`: what is chosen; by default the first of those offered. `handshake` replaces the whole 101.
    """

    def __init__(
        self,
        script: Script = lambda far: far.end(),
        *,
        protocol: str = "",
        refusals: Sequence[Answer] = (),
        handshake: Callable[[SeenRequest], bytes] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(self._connection, tls=tls)
        self.script = script
        self.asked: list[SeenRequest] = []
        self.on: list[int] = []
        self.far: list[Far] = []
        self._protocol = protocol
        self._refusals = list(refusals)
        self._handshake = handshake
        self._lock = threading.Lock()

    @property
    def upgrades(self) -> list[SeenRequest]:
        return [request for request in self.asked if request.header("Upgrade") == "websocket"]

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            with self._lock:
                self.asked.append(request)
                self.on.append(peer.number)
            if request.path.endswith("/exec"):
                self._exec(peer, request)
            else:
                self._answer(peer, request)

    def _answer(self, peer: Peer, request: SeenRequest) -> None:
        parts = request.path.split("/")
        if request.path in ("/api", "/apis"):
            body, media = recorded(request.path)
            peer.reply(body, content_type=media)
        elif "pods" in parts:
            peer.reply(json.dumps(pod(parts[-1], parts[4])))
        else:
            missing = failure(404, "the server could not find the requested resource")
            peer.reply(missing.body, status=missing.status)

    def _exec(self, peer: Peer, request: SeenRequest) -> None:
        if request.header("Upgrade") != "websocket" or not self._accepts():
            self._refuse(peer)
            return
        offered = (request.header("Sec-WebSocket-Protocol") or "").split(", ")
        protocol = self._protocol or offered[0]
        peer.send(self._handshake(request) if self._handshake else switching(request, protocol))
        far = Far(peer, request, protocol)
        self.far.append(far)
        self.script(far)
        peer.close()
        raise PeerGone

    def _accepts(self) -> bool:
        with self._lock:
            return not self._refusals or self._refusals[0].how == "usual"

    def _refuse(self, peer: Peer) -> None:
        with self._lock:
            refusals = self._refusals or [failure(400, "unable to upgrade")]
            answer = refusals[0] if len(refusals) == 1 else refusals.pop(0)
        if answer.how == "reply":
            peer.reply(answer.body, status=answer.status, content_type=answer.content_type, headers=answer.headers)
        else:
            peer.reset() if answer.how == "reset" else peer.stall() if answer.how == "stall" else peer.close()
            raise PeerGone


def words(request: SeenRequest) -> list[str]:
    """The command of an exec request, as the server understands it."""
    pairs = parse_qsl(urlsplit(request.target).query, keep_blank_values=True, strict_parsing=True)
    return [value for name, value in pairs if name == "command"]


@contextlib.contextmanager
def in_thread(work: Callable[[], None]) -> Iterator[None]:
    """Runs something beside the test; what it raises fails the test, unless the client has just gone."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except PeerGone:
            pass
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(20)
    assert not thread.is_alive(), "the script did not end"
    if errors:
        raise errors[0]
