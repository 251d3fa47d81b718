"""No secret reaches a consumer of the tap."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.wire import redact
from rawkube.wire.dial import Endpoint
from rawkube.wire.http import Request
from rawkube.wire.pool import Pool
from rawkube.wire.tap import Event, Tap
from tests.support.examples import examples
from tests.support.rows import looped
from tests.support.server import Peer, ScriptedServer


@looped(
    ("name", "value", "shown"),
    [
        ("Authorization", "Bearer abc.def", "Bearer <redacted>"),
        ("authorization", "bearer  abc", "Bearer <redacted>"),
        ("Authorization", "Basic dTpw", "Basic <redacted>"),
        ("Authorization", "abc.def", "<redacted>"),
        ("Authorization", "s3cret abc", "<redacted>"),
        ("Proxy-Authorization", "Basic dTpw", "Basic <redacted>"),
        ("Cookie", "a=b", "<redacted>"),
        ("Set-Cookie", "a=b; Path=/", "<redacted>"),
        ("X-Auth-Token", "abc", "<redacted>"),
        ("Client-Secret", "abc", "<redacted>"),
        ("X-PASSWORD", "abc", "<redacted>"),
        ("X-Api-Key", "abc", "<redacted>"),
        ("Location", "https://u:p@h/x?access_token=abc#id_token=d", "https://<redacted>@h/x?access_token=<redacted>#id_token=<redacted>"),
        ("Link", "<https://u:p@h/x?token=abc>; rel=next", "<https://<redacted>@h/x?token=<redacted>; rel=next"),
        ("X-Original-URI", "/x?token=abc", "/x?token=<redacted>"),
        ("Cookie2", "abc", "<redacted>"),
        ("Impersonate-User", "jane", "jane"),
        ("Impersonate-Group", "system:masters", "system:masters"),
        ("Accept", "application/json", "application/json"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZQ==", "dGhlIHNhbXBsZQ=="),
        ("Sec-WebSocket-Protocol", "v5.channel.k8s.io,v4.channel.k8s.io", "v5.channel.k8s.io, v4.channel.k8s.io"),
        (
            "Sec-WebSocket-Protocol",
            "base64url.bearer.authorization.k8s.io.YWJj, v4.channel.k8s.io",
            "base64url.bearer.authorization.k8s.io.<redacted>, v4.channel.k8s.io",
        ),
    ],
)  # fmt: skip
def test_headers(name: str, value: str, shown: str) -> None:
    assert redact.headers([(name, value)]) == [[name, shown]]


@looped(
    ("target", "shown"),
    [
        ("/api/v1/pods?watch=true", "/api/v1/pods?watch=true"),
        ("/x?token=abc&a=b", "/x?token=<redacted>&a=b"),
        ("/x?a=b&ACCESS_TOKEN=abc", "/x?a=b&ACCESS_TOKEN=<redacted>"),
        ("/x?password=a=b", "/x?password=<redacted>"),
        ("/x?to%6ben=abc", "/x?to%6ben=<redacted>"),
        ("/x?a=b;token=abc;c=d&e=f", "/x?a=b;token=<redacted>;c=d&e=f"),
        ("/x?X-Amz-Signature=abc&X-Amz-Credential=d", "/x?X-Amz-Signature=<redacted>&X-Amz-Credential=<redacted>"),
        ("/x?token", "/x?token"),
        ("/api/v1/secrets/token?continue=abc", "/api/v1/secrets/token?continue=abc"),
        ("/x", "/x"),
    ],
)
def test_target(target: str, shown: str) -> None:
    assert redact.target(target) == shown


NAMES = st.sampled_from(
    ["Authorization", "Proxy-Authorization", "Cookie", "X-Token", "x-secret-y", "X-My-Password", "api-key"]
)
TARGETS = st.sampled_from(["token", "access_token", "password", "client_secret", "X-Amz-Security-Token", "To%6Ben"])
SCHEMES = st.sampled_from(["Bearer ", "Basic ", "", "Custom ", "bearer\t"])


@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(st.tuples(NAMES, SCHEMES), min_size=1, max_size=4),
    st.lists(TARGETS, min_size=1, max_size=3),
    st.text("ABCdef123", min_size=1, max_size=8),
)
def test_planted_markers_never_reach_the_tap(names: list[tuple[str, str]], parameters: list[str], rest: str) -> None:
    marker = "MARKER" + rest
    query = "&".join(f"{p}={marker}" for p in parameters)

    def handler(peer: Peer) -> None:
        seen = peer.read_request()
        assert marker in seen.target
        peer.reply(marker, headers=(("Set-Cookie", f"s={marker}"), ("Location", f"/y?{query}"), ("X-Token", marker)))

    events: list[Event] = []
    protocol = ("Sec-WebSocket-Protocol", f"a, base64url.bearer.authorization.k8s.io.{marker}")
    request = Request("GET", f"/x?{query}", [*((name, scheme + marker) for name, scheme in names), protocol])
    with ScriptedServer(handler) as server:
        pool = Pool(Endpoint("127.0.0.1", server.port), tap=Tap(events.append))
        with contextlib.closing(pool), pool.request(request) as response:
            assert response.read() == marker.encode()
    assert {"request", "response", "chunk", "end", "close"} <= {e.kind for e in events}
    assert marker not in repr(events)


def test_the_first_line_of_a_head() -> None:
    assert redact.target_line("GET /x?token=abc&a=b HTTP/1.1") == "GET /x?token=<redacted>&a=b HTTP/1.1"
    for line in ("HTTP/1.1 200 OK", "HTTP/1.1 404 ?token=abc x", "GET /x", "", "GET"):
        assert redact.target_line(line) == line
