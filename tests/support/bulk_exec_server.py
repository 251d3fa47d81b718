"""An `exec` server over TLS for many megabytes, in a process of its own: `python -m tests.support.bulk_exec_server`.

Prints one line of JSON: its port, the CA in PEM. Ends when its stdin does. The command says what it does:
`source N`: N bytes on stdout; `sink`: reads stdin, says its SHA-256; `flood`: stdout without end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple

PIECE = 32 * 1024
BLOCK = random.Random(1).randbytes(1 << 20)


def stream_of(size: int) -> Iterator[bytes]:
    """The bytes of `source`, in pieces: blocks that are all the same but for their number."""
    for start in range(0, size, len(BLOCK)):
        yield ((start // len(BLOCK)).to_bytes(8, "big") + BLOCK[8:])[: size - start]


def digest_of(size: int) -> str:
    digest = hashlib.sha256()
    for piece in stream_of(size):
        digest.update(piece)
    return digest.hexdigest()


class BulkServer(NamedTuple):
    port: int
    ca: str
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


@contextlib.contextmanager
def bulk_server() -> Iterator[BulkServer]:
    from tests.support.run import ROOT

    command = [sys.executable, "-m", "tests.support.bulk_exec_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        told = json.loads(process.stdout.readline())
        try:
            yield BulkServer(told["port"], told["ca"], process)
        finally:
            process.kill()


# The server


def _serve(sock: socket.socket, context: ssl.SSLContext) -> None:
    from tests.support.server import Peer, PeerGone
    from tests.support.websocket import Far, exit_status, pod, switching, words

    with contextlib.suppress(OSError, PeerGone):
        stream = context.wrap_socket(sock, server_side=True)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = Peer(stream, 1, threading.Event())
        while not (request := peer.read_request()).path.endswith("/exec"):
            if request.path.startswith("/api/v1/"):
                peer.reply(json.dumps(pod()))
            else:
                from tests.support.discovery import recorded

                body, media = recorded(request.path)
                peer.reply(body, content_type=media)
        peer.send(switching(request))
        far = Far(peer, request)
        what, *rest = words(request)
        if what == "sink":
            _sink(far)
        else:
            _source(peer, int(rest[0]) if rest else 1 << 60)
        far.end(exit_status(0))
        with contextlib.suppress(OSError):
            stream.unwrap()
        stream.close()


def _sink(far: object) -> None:
    from tests.support.websocket import BINARY, HALF_CLOSE, PING, PONG, Far, FrameReader, frame

    assert isinstance(far, Far)
    digest, largest = hashlib.sha256(), 0
    reader = FrameReader(far.peer.read)
    while True:
        got = reader.read()
        if got.opcode == PING:
            far.raw(frame(PONG, got.payload))
        elif got.opcode == BINARY and got.payload[0] == HALF_CLOSE:
            break
        elif got.opcode == BINARY:
            digest.update(memoryview(got.payload)[1:])
            largest = max(largest, len(got.payload))
    far.out(f"{digest.hexdigest()} {largest}\n".encode())


def _source(peer: object, size: int) -> None:
    from tests.support.server import Peer
    from tests.support.websocket import message

    assert isinstance(peer, Peer)
    for block in stream_of(size):
        peer.send(b"".join(message(1, block[at : at + PIECE]) for at in range(0, len(block), PIECE)))


def main() -> None:
    from tests.support.tls import Authority

    authority = Authority()
    context = authority.server("127.0.0.1")
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(json.dumps({"port": listener.getsockname()[1], "ca": authority.pem.decode()}), flush=True)

    def accept() -> None:
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=_serve, args=(sock, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
