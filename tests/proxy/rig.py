"""A reverse proxy in this process, in front of a server of the test's own."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection, Iterator
from typing import Any

from rawkube.api.client import ApiClient
from rawkube.kubeconfig.access import Access
from rawkube.observe.proxy import ReverseProxy
from rawkube.wire.tap import Event, Tap

TOKEN = "marker-of-the-proxy"


@contextlib.contextmanager
def proxied(
    url: str, *, told: list[Event] | None = None, origins: Collection[str] = (), **access: Any
) -> Iterator[ReverseProxy]:
    tap = None if told is None else Tap(told.append, wire=True)
    options = {"token": TOKEN, **access}
    with (
        ApiClient(Access(server=url, **options), tap=tap) as client,
        ReverseProxy(client, tap, origins=origins) as server,
    ):
        yield server


def connect(server: ReverseProxy) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def ask(path: str = "/x", *lines: str, method: str = "GET", host: str = "127.0.0.1") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode()


def rest(sock: socket.socket) -> bytes:
    data = b""
    while more := sock.recv(65536):
        data += more
    return data


def read_until(sock: socket.socket, end: bytes) -> bytes:
    data = b""
    while end not in data:
        more = sock.recv(65536)
        assert more, data
        data += more
    return data
