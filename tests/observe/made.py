"""Recordings made by hand: a test's own data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rawkube.observe.exchanges import Exchange, read_exchanges
from rawkube.observe.recording import Piece

FIXTURES = Path(__file__).parents[2] / "fixtures"
DEPLOYMENTS = "/apis/apps/v1/namespaces/demo/deployments"
JSON = "application/json"


def piece(side: str, t: float, data: str | bytes = b"", *, conn: int = 1, **more: Any) -> Piece:
    return Piece(0, conn, t, side, data.encode() if isinstance(data, str) else data, **more)


def get(target: str, accept: str = JSON, method: str = "GET") -> str:
    return f"{method} {target} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n"


def answer(body: str | bytes, status: str = "200 OK", content_type: str = JSON, extra: str = "") -> bytes:
    data = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{extra}Content-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def start(content_type: str = JSON) -> str:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: str | bytes) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return b"%x\r\n%s\r\n" % (len(data), data)


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
        if p.data:
            line["text"] = p.data.decode()
        if p.eof:
            line["eof"] = True
        if p.error:
            line["error"] = p.error
        lines.append(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
