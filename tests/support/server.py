"""A server on loopback whose every byte a test decides.

    def handler(peer: Peer) -> None:
        request = peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with ScriptedServer(handler) as server:
        ... server.url ...

`handler` is called once a connection, in a thread of its own. When it returns, the connection is closed. What it
raises is kept and raised again at the end of the `with` block, so a wrong request fails the test; that the client
went away is no failure.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit


class SeenRequest(NamedTuple):
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The query's parameters; the last one of a name counts."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    def header(self, name: str) -> str | None:
        """The first header of that name (any case), or None."""
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)


class PeerGone(Exception):
    """The client closed or reset the connection while the script wanted more of it."""


class Peer:
    """One accepted connection."""

    def __init__(self, sock: socket.socket, number: int, stopping: threading.Event) -> None:
        self.sock = sock
        self.number = number
        self.stopping = stopping
        self._buffer = b""

    def _more(self) -> None:
        try:
            data = self.sock.recv(65536)
        except OSError as error:
            raise PeerGone from error
        if not data:
            raise PeerGone
        self._buffer += data

    def read_request(self) -> SeenRequest:
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [(name, value.strip()) for name, value in (line.split(":", 1) for line in lines)]
        length = int(next((v for n, v in headers if n.lower() == "content-length"), "0"))
        while len(self._buffer) < length:
            self._more()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return SeenRequest(method, target, headers, body)

    def read(self) -> bytes:
        """Whatever has come, at least a byte; raises PeerGone at the end."""
        if not self._buffer:
            self._more()
        data, self._buffer = self._buffer, b""
        return data

    def send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError as error:
            raise PeerGone from error

    def reply(
        self,
        body: bytes | str,
        *,
        status: str = "200 OK",
        content_type: str = "application/json",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    def start_chunked(self, *, status: str = "200 OK", content_type: str = "application/json") -> None:
        self.send(f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())

    def chunk(self, data: bytes | str) -> None:
        data = data.encode() if isinstance(data, str) else data
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end_chunked(self) -> None:
        self.send(b"0\r\n\r\n")

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()

    def stall(self) -> None:
        """Say nothing until the test is over or the client goes away."""
        self.sock.settimeout(0.05)
        while not self.stopping.is_set():
            try:
                if not self.sock.recv(65536):
                    return
            except TimeoutError:
                continue
            except OSError:
                return


class ScriptedServer:
    def __init__(
        self,
        handler: Callable[[Peer], None],
        *,
        tls: ssl.SSLContext | None = None,
        family: socket.AddressFamily = socket.AF_INET,
    ) -> None:
        self.handler = handler
        self.tls = tls
        self.errors: list[BaseException] = []
        self.connections = 0
        self.stopping = threading.Event()
        self.listener = socket.create_server(
            ("127.0.0.1" if family == socket.AF_INET else "::1", 0), family=family, backlog=128
        )
        self.port: int = self.listener.getsockname()[1]
        self._peers: list[Peer] = []
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        host = "[::1]" if self.listener.family == socket.AF_INET6 else "127.0.0.1"
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def __enter__(self) -> Self:
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()
        return self

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            try:
                sock = self.tls.wrap_socket(sock, server_side=True)
            except OSError:
                sock.close()
                return
        peer = Peer(sock, number, self.stopping)
        self._peers.append(peer)
        try:
            self.handler(peer)
        except PeerGone:
            pass
        except BaseException as error:
            self.errors.append(error)
        finally:
            peer.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._acceptor.join()
        for peer in self._peers:
            with contextlib.suppress(OSError):
                # Not SSLSocket.shutdown, after which a thread that reads would be given bytes of TLS.
                socket.socket.shutdown(peer.sock, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), "a script did not end"
        if self.errors and error is None:
            raise self.errors[0]
