"""What reads whole answers and objects, and what takes secrets out of what passes."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

from rawkube.api.status import is_failure, retry_after_seconds, status_error
from rawkube.cli.text import error_text
from rawkube.rollout.explain import explain as explained
from rawkube.rollout.explain.finding import CODES
from rawkube.rollout.explain.scene import Scene
from rawkube.wire.transcript import CLIENT, SERVER, Piece, Transcript
from tests.fuzz.cutting import cut, merged

NOW = 1796050800.0
LONGEST = 3000  # characters of a finding's text: several texts of the cluster, each bounded, and escapes
MARKER = "MarkerThatIsASecret"

_CODES = (200, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504, 0, 999)


def status(data: bytes) -> None:
    """One byte chooses the code of an answer, the rest is its headers, a blank line, its body."""
    head, _, body = data[1:].partition(b"\n\n")
    headers = [line.partition(":")[::2] for line in head.decode("latin-1").split("\n")]
    error = status_error(_CODES[(data[:1] or b"\0")[0] % len(_CODES)], headers, body, verb="get", resource="pods")
    assert error_text([error]).endswith("\n")
    assert isinstance(error.code, int) and isinstance(error.reason, str)
    assert retry_after_seconds(error.status) is None or retry_after_seconds(error.status)
    is_failure(error.status)


def explain(data: bytes) -> None:
    """The fields of a Scene as JSON."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(fields, dict) or not isinstance(fields.get("workload"), dict):
        return
    lists: dict[str, Any] = {
        name: _objects(fields.get(name)) for name in ("owned", "pods", "events", "claims", "nodes")
    }
    for one in explained(Scene(workload=fields["workload"], **lists), now=NOW):
        texts = [one.text, one.advice, one.object, *(part for said in one.evidence for part in said)]
        assert all(text.isprintable() and len(text) < LONGEST for text in texts), one
        assert one.code in CODES, one


def _objects(value: object) -> list[Any]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def transcript(data: bytes) -> None:
    """One byte cuts, the rest is both sides of a connection, parted by a NUL byte and `--`: the same comes out."""
    first, (client, _, server) = data[:1], data[1:].partition(b"\0--")
    whole, pieces = _shown([client], [server]), _shown(cut(first + client)[1], cut(first + server)[1])
    # What is rewritten is divided into HTTP chunks as it came.
    assert whole == pieces or any(b"<redacted>" in told for _, told in whole), (whole, pieces)


def _shown(client: list[bytes], server: list[bytes]) -> list[tuple[str, bytes]]:
    passing = Transcript()
    found: list[Piece] = []
    for piece in client:
        found += passing.client(piece)
    for piece in server:
        found += passing.server(piece)
    found += passing.end(CLIENT) + passing.end(SERVER)
    return list(merged((one.side, one.data) for one in found if one.data))


def redaction(data: bytes) -> None:
    """The bytes choose a session that has a secret wherever one can be: none of them comes out."""
    choose = random.Random(data[:8])
    noise = data[8:]
    client, server = _session(choose, noise)
    size = choose.choice((1, 3, 7, 40, 255))
    shown = _shown(cut(bytes((size,)) + client)[1], cut(bytes((size,)) + server)[1])
    for side, told in shown:
        assert MARKER.encode() not in told, (side, told)


_NAMES = ("Authorization", "aUTHORIZATION", "Proxy-Authorization", "Cookie", "X-Auth-Token", "Api-Key", "X-My-Secret")
_QUERIES = ("token", "access_token", "Password", "client_secret", "id%5Ftoken", "api_key", "code")
_SECRETS = (
    "/api/v1/namespaces/d/secrets/s",
    "/api/v1/secrets?watch=true",
    "/api/v1/namespaces/d/serviceaccounts/a/token",
)
_LOGINS = ("/oauth/token", "/login", "/realms/x/protocol/openid-connect/token")
_PLAIN = ("/api/v1/namespaces/d/pods", "/version", "/apis/apps/v1/deployments?watch=true")


def _session(choose: random.Random, noise: bytes) -> tuple[bytes, bytes]:
    client = server = b""
    text = noise.decode("latin-1").replace("\r", "").replace("\n", "")
    for _ in range(choose.randint(1, 3)):
        target = choose.choice((*_SECRETS, *_LOGINS, *_PLAIN))
        plain = target in _PLAIN
        body = b"" if plain else _body(choose, text, login=target in _LOGINS)
        answer = b"{}" if plain else _body(choose, text, login=target in _LOGINS)
        target += ("&" if "?" in target else "?") + f"{choose.choice(_QUERIES)}={MARKER}"
        client += _message(choose, f"POST {target} HTTP/1.1", text, body)
        server += _message(choose, "HTTP/1.1 200 OK", text, answer, may_be_packed=True)
    return client, server


def _body(choose: random.Random, text: str, *, login: bool) -> bytes:
    if login:
        fields = dict.fromkeys(("access_token", "refresh_token", "error_description", text[:20] or "x"), MARKER)
        return json.dumps(fields).encode()
    secret = {
        "kind": "Secret",
        "metadata": {"name": text, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": MARKER}},
        text[:9]: [text],
        "data": {text: MARKER},
        "stringData": {"a": MARKER},
    }
    token = {"kind": "TokenRequest", "spec": {text[:5]: text}, "status": {"token": MARKER}}
    listed: dict[str, Any] = {"kind": "SecretList", "items": [{"data": {text: MARKER}}, secret]}
    event = {"type": "ADDED", "object": secret}
    if choose.random() < 0.3:
        return b"".join(json.dumps(one).encode() + b"\n" for one in (event, event))
    return json.dumps(choose.choice((secret, token, listed, event))).encode()


def _message(choose: random.Random, start: str, text: str, body: bytes, *, may_be_packed: bool = False) -> bytes:
    lines = [start, f"X-Noise: {text}", f"{choose.choice(_NAMES)}: Bearer {MARKER}", f"Accept: {text}"]
    lines.append(f"Sec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.{MARKER}")
    choose.shuffle(lines[1:])
    if may_be_packed and choose.random() < 0.3:
        body = gzip.compress(body, mtime=0)
        lines.append("Content-Encoding: gzip")
    lines.append("Content-Type: application/json")
    if choose.random() < 0.5:
        at = choose.randint(0, len(body))
        trailer = choose.choice(("", f"{choose.choice(_NAMES)}: Bearer {MARKER}\r\nX-Sum: {text}\r\n")).encode(
            "latin-1"
        )
        body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:at], body[at:]) if part)
        body += b"0\r\n" + trailer + b"\r\n"
        lines.append("Transfer-Encoding: chunked")
    else:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body
