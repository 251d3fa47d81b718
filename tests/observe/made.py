"""Recordings made by hand: a test's own data."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from itertools import cycle
from operator import xor
from pathlib import Path
from typing import Any

from rawkube.observe.exchanges import Exchange, read_exchanges
from rawkube.observe.recording import Piece

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDINGS = sorted(FIXTURES.glob("*/*.jsonl"))
DEPLOYMENTS = "/apis/apps/v1/namespaces/demo/deployments"
JSON = "application/json"


def piece(side: str, t: float, data: str | bytes = b"", *, conn: int = 1, **more: Any) -> Piece:
    return Piece(0, conn, t, side, data.encode() if isinstance(data, str) else data, **more)


def get(target: str, accept: str = JSON, method: str = "GET") -> str:
    return f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n"


def answer(body: str | bytes, status: str = "200 OK", content_type: str = JSON, extra: str = "") -> bytes:
    data = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{extra}Content-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def start(content_type: str = JSON) -> str:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: str | bytes) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return b"%x\r\n%s\r\n" % (len(data), data)


KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # the one of RFC 6455, section 1.3, with its answer
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
V5 = "v5.channel.k8s.io"
EXEC = "/api/v1/namespaces/demo/pods/shell/exec?command=cat&container=app&stdin=true&stdout=true"


def upgrade(target: str = EXEC, offered: str = V5, key: str = KEY) -> str:
    """A client's opening handshake."""
    lines = [f"GET {target} HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket"]
    lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    return "\r\n".join([*lines, *([f"Sec-WebSocket-Protocol: {offered}"] if offered else []), "", ""])


def switching(chosen: str = V5, accept: str = ACCEPT) -> str:
    """The server's."""
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
    return "\r\n".join([*lines, f"Sec-WebSocket-Accept: {accept}", f"Sec-WebSocket-Protocol: {chosen}", "", ""])


def frame(payload: bytes, opcode: int = 2, *, fin: bool = True) -> bytes:
    """A server's frame."""
    size = len(payload)
    length = bytes((size,)) if size < 126 else b"\x7e" + (size & 0xFFFF).to_bytes(2, "big")
    if size >= 65536:
        length = b"\x7f" + size.to_bytes(8, "big")
    return bytes(((0x80 if fin else 0) | opcode,)) + length + payload


def masked(payload: bytes, opcode: int = 2, *, fin: bool = True, mask: bytes = b"\0\0\0\0") -> bytes:
    """A client's frame."""
    plain = frame(payload, opcode, fin=fin)
    head = len(plain) - len(payload)
    hidden = bytes(map(xor, payload, cycle(mask))) if any(mask) else payload
    return plain[:1] + bytes((plain[1] | 0x80,)) + plain[2:head] + mask + hidden


def deployment(name: str, version: int, **labels: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "demo", "resourceVersion": str(version), "labels": labels}
    return {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": meta}


def listing(version: int, *items: dict[str, Any]) -> str:
    meta = {"resourceVersion": str(version)}
    return json.dumps({"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": meta, "items": list(items)})


def event(kind: str, obj: dict[str, Any]) -> str:
    return json.dumps({"type": kind, "object": obj}) + "\n"


def initial_end(version: int) -> str:
    annotations = {"k8s.io/initial-events-end": "true"}
    meta = {"resourceVersion": str(version), "annotations": annotations}
    return event("BOOKMARK", {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": meta})


def expired() -> str:
    return event("ERROR", {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410})


class Script:
    """Builds pieces: one connection an exchange, one second apart."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._conn = 0

    def ask(self, target: str, reply: str | bytes, *, accept: str = JSON, method: str = "GET") -> Script:
        """A whole answer: the bytes as `answer` makes them."""
        return self.watch(target, (0.25, reply), accept=accept, method=method)

    def watch(
        self,
        target: str,
        *replies: tuple[float, str | bytes],
        accept: str = JSON,
        method: str = "GET",
        end: Sequence[Piece] = (),
    ) -> Script:
        """Pieces at their delays, then the client's end."""
        self._conn += 1
        t = float(self._conn)
        self.pieces.append(piece("client", t, get(target, accept, method), conn=self._conn))
        self.pieces += [piece("server", t + delay, data, conn=self._conn) for delay, data in replies]
        last = t + (replies[-1][0] if replies else 0)
        self.pieces += [p._replace(conn=self._conn, t=t + p.t) for p in end]
        self.pieces.append(piece("client", last + 60, eof=True, conn=self._conn))
        return self

    def exchanges(self) -> list[Exchange]:
        numbered = [p._replace(line=i) for i, p in enumerate(self.pieces, 2)]
        return read_exchanges(numbered)


def written(path: Path, pieces: Sequence[Piece], note: str = "") -> Path:
    """A file in the recording format."""
    lines: list[dict[str, Any]] = [{"format": "rawkube-wire/1", "note": note}]
    for p in pieces:
        line: dict[str, Any] = {"conn": p.conn, "t": p.t, "from": p.side}
        if p.data and p.data.isascii():
            line["text"] = p.data.decode()
        elif p.data:
            line["base64"] = base64.b64encode(p.data).decode()
        if p.eof:
            line["eof"] = True
        if p.error:
            line["error"] = p.error
        lines.append(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
