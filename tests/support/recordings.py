"""Reads recordings (format rawkube-wire/1) and takes the HTTP out of them."""

from __future__ import annotations

import base64
import functools
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import h11

FIXTURES = Path(__file__).parents[2] / "fixtures"


class Exchange(NamedTuple):
    """One request and its answer. `whole`: the answer came to its end; else `body` is what had come."""

    conn: int
    method: str
    target: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    whole: bool

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))


def recordings(*folders: str) -> list[Path]:
    """The recordings of these folders of fixtures/, sorted."""
    found = sorted(path for folder in folders for path in (FIXTURES / folder).glob("*.jsonl"))
    assert found, f"no recordings in {folders}"
    return found


def name_of(path: Path) -> str:
    """A short id for a test: `rollout/daemonset-update`."""
    return f"{path.parent.name}/{path.stem}"


def expected(path: Path) -> dict[str, Any]:
    """What kubectl printed while the recording was made: args, stdout, stderr, exit_code."""
    loaded: dict[str, Any] = json.loads(path.with_name(f"{path.stem}.expected.json").read_text())
    return loaded


def sides(path: Path) -> dict[int, dict[str, bytes]]:
    """The bytes of each connection: {conn: {"client": …, "server": …}}."""
    header, *lines = (json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip())
    assert header["format"] == "rawkube-wire/1"
    found: dict[int, dict[str, bytes]] = {}
    for line in lines:
        piece = line["text"].encode() if "text" in line else base64.b64decode(line.get("base64", ""))
        both = found.setdefault(line["conn"], {"client": b"", "server": b""})
        both[line["from"]] += piece
    return found


@functools.cache
def exchanges(path: Path) -> list[Exchange]:
    """Every request of a recording with its answer, connection by connection."""
    found: list[Exchange] = []
    for conn, both in sides(path).items():
        client, server = both["client"], both["server"]
        while client:
            request, client = _request(client)
            exchange, server = _answer(conn, request, server)
            found.append(exchange)
    return found


def _request(data: bytes) -> tuple[h11.Request, bytes]:
    reader = h11.Connection(h11.SERVER)
    reader.receive_data(data)
    request = reader.next_event()
    assert isinstance(request, h11.Request)
    while not isinstance(reader.next_event(), h11.EndOfMessage):
        pass
    return request, reader.trailing_data[0]


def _answer(conn: int, request: h11.Request, data: bytes) -> tuple[Exchange, bytes]:
    reader = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 24)
    reader.send(h11.Request(method=request.method, target=request.target, headers=[("Host", "recording")]))
    reader.send(h11.EndOfMessage())
    reader.receive_data(data)
    response = reader.next_event()
    assert isinstance(response, h11.Response | h11.InformationalResponse)
    body, whole = _body(reader)
    headers = [(name.decode(), value.decode()) for name, value in response.headers]
    if ("content-encoding", "gzip") in headers:
        body = zlib.decompressobj(wbits=31).decompress(body)
    method, target = request.method.decode(), request.target.decode()
    exchange = Exchange(conn, method, target, response.status_code, headers, body, whole)
    return exchange, reader.trailing_data[0] if whole else b""


def _body(reader: h11.Connection) -> tuple[bytes, bool]:
    """The body as far as it came, and whether that is all of it."""
    body = b""
    while True:
        event = reader.next_event()
        if isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            return body, True
        else:
            return body, False
