"""The aggregated discovery documents of a real API server, from its recording."""

from __future__ import annotations

import base64
import functools
import json
from pathlib import Path

RECORDING = Path(__file__).parents[2] / "fixtures" / "discovery" / "aggregated.jsonl"
CONTENT_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def dechunked(body: bytes) -> bytes:
    parts: list[bytes] = []
    while True:
        size, body = body.split(b"\r\n", 1)
        length = int(size, 16)
        if not length:
            return b"".join(parts)
        parts.append(body[:length])
        body = body[length + 2 :]


@functools.cache
def documents() -> dict[str, bytes]:
    """Path → body."""
    sent: dict[int, dict[str, bytes]] = {}
    for line in RECORDING.read_text().splitlines()[1:]:
        piece = json.loads(line)
        data = piece["text"].encode() if "text" in piece else base64.b64decode(piece.get("base64", ""))
        sides = sent.setdefault(piece["conn"], {"client": b"", "server": b""})
        sides[piece["from"]] += data
    found = {}
    for sides in sent.values():
        target = sides["client"].split(b" ")[1].decode()
        head, body = sides["server"].split(b"\r\n\r\n", 1)
        assert b"Transfer-Encoding: chunked" in head
        found[target] = dechunked(body)
    return found


def recorded(path: str) -> tuple[bytes, str]:
    """(body, content type) of `/api` or `/apis`."""
    return documents()[path], CONTENT_TYPE


@functools.cache
def _kinds() -> dict[tuple[str, str, str], str]:
    """(group, version, plural) → Kind."""
    return {
        (group["metadata"].get("name", ""), version["version"], resource["resource"]): resource["responseKind"]["kind"]
        for body in documents().values()
        for group in json.loads(body)["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }


def kind_of(group: str, version: str, resource: str) -> str | None:
    return _kinds().get((group, version, resource))


def knows_group(group: str, version: str) -> bool:
    return any(key[:2] == (group, version) for key in _kinds())
