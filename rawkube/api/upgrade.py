"""An API request that becomes a WebSocket, or a refusal that says why.

The request goes over the client's pool, so it takes the connection that an earlier GET has left idle. It is never
repeated once it may have been acted on; what is repeated is what the server has plainly refused: 429 and 5xx with
`Retry-After`, and a 401 once, with fresh credentials.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.client import ApiClient
from rawkube.errors import TransportError, UpgradeRefused
from rawkube.gotext import one_line
from rawkube.wire.http import Response
from rawkube.wire.stream import Stream
from rawkube.wire.websocket import chosen_protocol, new_key, problem_with, request_headers

_SHOWN = 2048
"""How many characters of a refusal's body are shown."""


class Upgraded(NamedTuple):
    """A WebSocket behind its handshake. `data`: bytes that came together with the 101."""

    stream: Stream
    data: bytes
    protocol: str


def upgrade(client: ApiClient, path: str, query: Iterable[tuple[str, str]], protocols: Sequence[str]) -> Upgraded:
    """Ask for a WebSocket that speaks one of these subprotocols.

    Raises UpgradeRefused for any answer but a sound 101, TransportError when none came.
    """
    key = new_key(os.urandom(16))
    response = client.send("GET", path, query, headers=request_headers(key, protocols), upgrade=True)
    return accepted(response, key, protocols)


def accepted(response: Response, key: str, protocols: Sequence[str]) -> Upgraded:
    """The WebSocket that an answer opens; `key` and `protocols` are those of the request.

    Raises UpgradeRefused for any answer but a sound 101.
    """
    if response.status != 101:
        raise refusal(response)
    problem = problem_with(response.headers, key, protocols)
    if problem:
        response.close()
        raise UpgradeRefused(101, f"unable to upgrade connection: {problem}", detail=_way(response))
    stream, data = response.upgraded()
    return Upgraded(stream, data, chosen_protocol(response.headers))


def refusal(response: Response) -> UpgradeRefused:
    """The error that an answer other than 101 stands for; reads its body."""
    try:
        body = response.read(limit=1024 * 1024)
    except TransportError:
        body = b""
    response.close()
    text = body.decode("utf-8", "replace").strip()
    decoded = _object(text)
    message = _message(text, decoded)
    hints = _hints(response, message, is_status=decoded.get("kind") == "Status")
    detail = [f"the server answered {response.status} {one_line(response.reason)}".rstrip(), *hints]
    return UpgradeRefused(response.status, f"unable to upgrade connection: {message}", detail=detail)


def _object(text: str) -> dict[str, Any]:
    """A JSON object; empty if the text is none."""
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _message(text: str, decoded: dict[str, Any]) -> str:
    """client-go's: the `message` of a JSON body, else its `error`, else the body itself."""
    text = one_line(str(decoded.get("message") or decoded.get("error") or text).strip())
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + "…"
    return text or "empty server response"


def _hints(response: Response, message: str, *, is_status: bool) -> list[str]:
    """What the known causes of a refusal ask for."""
    code = response.status
    hints = []
    if code == 401:
        hints.append("the credentials were not accepted")
    elif code == 403 and "pods/" in message:
        hints.append("a WebSocket to a pod needs the verb get, and from Kubernetes 1.35 on create too, on pods/exec")
    elif "upgrade request required" in message.lower() or 200 <= code < 300:
        hints.append("something between has taken the Upgrade header away: a proxy or balancer without WebSockets")
    elif code == 404:
        hints.append("is the server's address right, path included?")
    elif (code == 403 or code >= 500) and not is_status:
        hints.append("this is no Status of an API server: a proxy between may have refused (kubectl proxy does)")
    return hints + _way(response)


def _way(response: Response) -> list[str]:
    """The headers by which what stands between gives itself away."""
    names = {"via": "Via", "server": "Server", "location": "Location"}
    from rawkube.wire.redact import target

    found = [(n, target(value) if n == "location" else value) for n, value in response.headers if n in names]
    return [f"{names[n]}: {one_line(value)}" for n, value in found]
