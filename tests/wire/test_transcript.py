"""What passes on a connection, as it may be shown."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.observe.recording import Recording
from rawkube.wire.frame_mask import ZeroMask
from rawkube.wire.framing import Head
from rawkube.wire.redact_body import LOGIN, NONE, OBJECT, body, secrets_of
from rawkube.wire.secret_body import BODY_LIMIT
from rawkube.wire.transcript import CLIENT, HEAD_LIMIT, SERVER, Piece, Transcript
from tests.support.examples import examples, some
from tests.support.rows import looped

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDINGS = sorted(FIXTURES.rglob("*.jsonl"))
MARK = "s3cr3t-m4rk"

Side = list[tuple[str, bytes]]


def shown(*said: tuple[str, bytes], secrets: bool = False, cut: int = 0) -> dict[str, bytes]:
    """What each side is shown to have sent; `cut`: in pieces of so many bytes."""
    transcript = Transcript(secrets=secrets)
    pieces: list[Piece] = []
    for side, data in said:
        feed = transcript.client if side == CLIENT else transcript.server
        for at in range(0, len(data), cut or len(data) or 1):
            pieces += feed(data[at : at + (cut or len(data))])
    for side in (CLIENT, SERVER):
        pieces += transcript.end(side)
    return {side: b"".join(piece.data for piece in pieces if piece.side == side) for side in (CLIENT, SERVER)}


def get(target: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {target} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def answer(payload: bytes, *headers: str, status: str = "200 OK", chunked: int = 0) -> bytes:
    how = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(payload)}"
    head = "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: application/json", how, *headers, "", ""]).encode()
    if not chunked:
        return head + payload
    chunks = [payload[at : at + chunked] for at in range(0, len(payload), chunked)]
    return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


SECRET = {
    "kind": "Secret",
    "apiVersion": "v1",
    "metadata": {
        "name": "s",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":"{MARK}"}}', "other": "kept"},
    },
    "data": {"a": MARK, "b": MARK},
    "stringData": {"c": MARK},
}
SECRETS = "/api/v1/namespaces/demo/secrets"


def sent(method: str, target: str, payload: object, content_type: str = "application/json") -> bytes:
    """A request with a body: JSON, or a text as it is."""
    data = (payload if isinstance(payload, str) else json.dumps(payload)).encode()
    head = f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {len(data)}"
    return head.encode() + b"\r\n\r\n" + data


def recorded(path: Path) -> dict[int, Side]:
    """What each connection of a recording holds, cut as it was read."""
    found: dict[int, Side] = {}
    with Recording(path) as recording:
        for piece in recording:
            if piece.redacted:
                pytest.skip("was redacted when it was recorded: its lengths do not fit")
            found.setdefault(piece.conn, []).append((piece.side, piece.data))
    return found


@looped("path", some("transcripts", RECORDINGS), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recording_without_secrets_passes_unchanged(path: Path) -> None:
    for said in recorded(path).values():
        found = shown(*said)
        assert found[SERVER] == b"".join(data for side, data in said if side == SERVER)
        client = b"".join(data for side, data in said if side == CLIENT)
        assert without_credentials(found[CLIENT]) == without_credentials(with_zero_masks(client))


def without_credentials(data: bytes) -> bytes:
    return b"\n".join(line for line in data.split(b"\n") if not line.lower().startswith(b"authorization"))


def with_zero_masks(client: bytes) -> bytes:
    """The client's bytes, the frames behind an upgrade (the last request, then) unmasked."""
    upgrade = client.rfind(b"Upgrade: websocket")
    if upgrade < 0:
        return client
    end = client.index(b"\r\n\r\n", upgrade) + 4
    mask = ZeroMask()
    return client[:end] + mask.feed(client[end:]) + mask.end()


CONVERSATIONS: dict[str, Side] = {
    "secret": [(CLIENT, get(f"{SECRETS}/s")), (SERVER, answer(json.dumps(SECRET).encode()))],
    "chunked": [(CLIENT, get(f"{SECRETS}/s")), (SERVER, answer(json.dumps(SECRET).encode(), chunked=7))],
    "list": [
        (CLIENT, get(SECRETS)),
        (SERVER, answer(json.dumps({"kind": "SecretList", "items": [{"data": {"a": MARK}}]}).encode())),
    ],
    "watch": [
        (CLIENT, get(f"{SECRETS}?watch=true")),
        (SERVER, answer(json.dumps({"type": "ADDED", "object": SECRET}).encode() + b"\n", chunked=9)),
    ],
    "created": [
        (
            CLIENT,
            f"POST {SECRETS} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(json.dumps(SECRET))}\r\n\r\n".encode()
            + json.dumps(SECRET).encode(),
        ),
        (SERVER, answer(json.dumps(SECRET).encode(), status="201 Created")),
    ],
    "protobuf": [(CLIENT, get(f"{SECRETS}/s")), (SERVER, answer(b"k8s\0" + MARK.encode()))],
    "gzip": [
        (CLIENT, get(f"{SECRETS}/s")),
        (SERVER, answer(gzip.compress(json.dumps(SECRET).encode()), "Content-Encoding: gzip")),
    ],
    "gzip-chunked": [
        (CLIENT, get(f"{SECRETS}/s")),
        (SERVER, answer(gzip.compress(json.dumps(SECRET).encode()), "Content-Encoding: gzip", chunked=11)),
    ],
    "until-the-end": [
        (CLIENT, get(f"{SECRETS}/s")),
        (SERVER, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(SECRET).encode()),
    ],
    "token": [
        (CLIENT, get("/api/v1/namespaces/demo/serviceaccounts/me/token").replace(b"GET", b"POST")),
        (SERVER, answer(json.dumps({"kind": "TokenRequest", "status": {"token": MARK}}).encode())),
    ],
    "login": [
        (
            CLIENT,
            b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            b"Content-Length: 25\r\n\r\nrefresh_token=" + MARK.encode(),
        ),
        (SERVER, answer(json.dumps({"id_token": MARK, "expires_in": 5}).encode())),
    ],
    "refused-login": [
        (
            CLIENT,
            b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            b"Content-Length: 25\r\n\r\nrefresh_token=" + MARK.encode(),
        ),
        (SERVER, answer(json.dumps({"error": f"bad {MARK}", "error_description": MARK, "x": [MARK]}).encode())),
    ],
    "headers": [
        (
            CLIENT,
            get(f"/api?access_token={MARK}", f"Authorization: Bearer {MARK}", f"Cookie: a={MARK}", f"X-Token: {MARK}"),
        ),
        (SERVER, answer(b"{}", f"Set-Cookie: a={MARK}", f"Location: https://u:{MARK}@h/")),
    ],
    "folded": [(CLIENT, get("/api", "Authorization: Bearer", f" {MARK}")), (SERVER, answer(b"{}"))],
    "cut-head": [(CLIENT, f"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {MARK}".encode())],
    "no-http": [(CLIENT, f"\x16\x03\x01 {MARK}".encode())],
    "subprotocol": [
        (CLIENT, get("/x", f"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{MARK}, v5.channel.k8s.io"))
    ],
    # A patch does not say what it is a part of.
    "merge-patch": [(CLIENT, sent("PATCH", f"{SECRETS}/s", {"data": {"a": MARK}, "stringData": {"b": MARK}}))],
    "json-patch": [
        (CLIENT, sent("PATCH", f"{SECRETS}/s", [{"op": "add", "path": "/data/a", "value": MARK}])),
        (SERVER, answer(b"{}")),
        (CLIENT, sent("PATCH", f"{SECRETS}/s", [{"op": "add", "path": "/data", "value": {"a": MARK}}])),
    ],
    "yaml": [(CLIENT, sent("PUT", f"{SECRETS}/s", f'data:\n  {{"a": "{MARK}"}}\n', "application/apply-patch+yaml"))],
    "yaml-of-no-type": [(CLIENT, sent("PUT", f"{SECRETS}/s", f'data:\n  a: |\n    "{MARK}"\n', ""))],
    # The type that curl -d says where nobody says one.
    "no-form": [(CLIENT, sent("POST", SECRETS, SECRET, "application/x-www-form-urlencoded"))],
    "percent-encoded": [
        (CLIENT, get("/api/v1/namespaces/demo/%73ecrets/s")),
        (SERVER, answer(json.dumps(SECRET).encode())),
    ],
    "bare-line-feeds": [
        (CLIENT, f"GET {SECRETS}/s HTTP/1.1\nHost: x\nAuthorization: Bearer {MARK}\n\n".encode()),
        (SERVER, answer(json.dumps(SECRET).encode(), f"Set-Cookie: a={MARK}").replace(b"\r\n", b"\n")),
    ],
    "early-hints": [
        (CLIENT, get("/api")),
        (SERVER, f"HTTP/1.1 103 Early Hints\r\nSet-Cookie: {MARK}\r\n\r\n".encode() + answer(b"{}")),
    ],
    "longer-than-said": [
        (CLIENT, get(f"{SECRETS}/s")),
        (SERVER, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" + json.dumps(SECRET).encode()),
    ],
    "watch-by-websocket": [
        (CLIENT, get(f"{SECRETS}?watch=true", "Upgrade: websocket")),
        (SERVER, b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n\x81\x0b" + MARK.encode()),
        (CLIENT, b"\x81\x8b\0\0\0\0" + MARK.encode()),
    ],
    "answer-of-nobody": [(SERVER, answer(json.dumps(SECRET).encode()))],
}


@looped("name", CONVERSATIONS)
def test_no_secret_passes_wherever_it_is_cut(name: str) -> None:
    whole = shown(*CONVERSATIONS[name])
    assert MARK.encode() not in whole[CLIENT] + whole[SERVER]
    for cut in range(1, 40):
        pieces = shown(*CONVERSATIONS[name], cut=cut)
        assert MARK.encode() not in pieces[CLIENT] + pieces[SERVER], cut
        assert pieces[CLIENT] == whole[CLIENT]
        if name != "watch":  # there each line is a chunk, whatever the lines were cut into
            assert pieces[SERVER] == whole[SERVER]


def test_that_a_session_is_left_out_is_shown() -> None:
    assert shown(*CONVERSATIONS["watch-by-websocket"])[SERVER].endswith(b"\r\n\r\n\x81\x0a<redacted>")


@looped("name", [name for name in CONVERSATIONS if name not in ("no-http", "gzip", "gzip-chunked")])
def test_the_conversation_is_kept_where_that_is_asked_for(name: str) -> None:
    said = CONVERSATIONS[name]
    found = shown(*said, secrets=True, cut=3)
    for side in (CLIENT, SERVER):
        data = b"".join(data for who, data in said if who == side)
        if name == "cut-head":
            continue
        assert found[side] == data


def test_a_rewritten_body_has_the_length_that_its_head_says() -> None:
    head, _, payload = shown(*CONVERSATIONS["secret"])[SERVER].partition(b"\r\n\r\n")
    assert f"Content-Length: {len(payload)}".encode() in head
    found = json.loads(payload)
    assert found["data"] == {"a": "<redacted>", "b": "<redacted>"}
    assert found["stringData"] == {"c": "<redacted>"}
    assert found["metadata"]["annotations"]["other"] == "kept"


def test_an_event_is_shown_when_its_line_is_there() -> None:
    transcript = Transcript()
    transcript.client(get(f"{SECRETS}?watch=true"))
    head, _, _ = answer(b"", chunked=1).partition(b"0\r\n")
    transcript.server(head)
    line = json.dumps({"type": "ADDED", "object": SECRET}).encode()
    assert transcript.server(b"%x\r\n%s\r\n" % (len(line), line)) == []
    (piece,) = transcript.server(b"1\r\n\n\r\n")
    size, _, rest = piece.data.partition(b"\r\n")
    assert int(size, 16) == len(rest) - 2
    assert json.loads(rest)["object"]["metadata"]["name"] == "s"


def test_a_body_that_is_too_large_to_hold_is_left_out() -> None:
    large = b'"' + MARK.encode() * (BODY_LIMIT // len(MARK) + 1) + b'"'
    found = shown((CLIENT, get(f"{SECRETS}/s")), (SERVER, answer(large)))
    assert found[SERVER].endswith(b'"<redacted>"')


def test_several_exchanges_on_one_connection() -> None:
    said = [
        (CLIENT, get("/api")),
        (SERVER, answer(b"{}", chunked=1)),
        (CLIENT, get(f"{SECRETS}/s")),
        (SERVER, b"HTTP/1.1 100 Continue\r\n\r\n" + answer(json.dumps(SECRET).encode())),
        (CLIENT, get("/api/v1/pods").replace(b"GET", b"HEAD")),
        (SERVER, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
        (CLIENT, get("/version")),
        (SERVER, answer(b'{"token": "kept"}')),
    ]
    found = shown(*said)
    assert found[CLIENT] == b"".join(data for side, data in said if side == CLIENT)
    assert found[SERVER].startswith(said[1][1])
    assert found[SERVER].endswith(said[7][1])
    assert MARK.encode() not in found[SERVER]


TRAILERS = f"X-Checksum: abc\r\nSet-Cookie: {MARK}\r\nLast: one\r\n\r\n".encode()


def chunks(size: int = 0) -> bytes:
    """An answer up to its trailer section."""
    return answer(b"hello" + bytes(size), chunked=5 + size).removesuffix(b"\r\n")


def test_trailers_pass_without_their_secrets() -> None:
    redacted = TRAILERS.replace(MARK.encode(), b"<redacted>")
    next_one = [(CLIENT, get("/api")), (SERVER, answer(b"{}"))]
    for cut in (0, 1, 2, 7, 50):
        said = [(CLIENT, get("/version")), (SERVER, chunks() + TRAILERS), *next_one]
        assert shown(*said, cut=cut)[SERVER] == chunks() + redacted + answer(b"{}"), cut
        assert shown(*said, cut=cut, secrets=True)[SERVER] == chunks() + TRAILERS + answer(b"{}"), cut


def test_trailers_that_are_cut_or_have_no_end() -> None:
    asked = (CLIENT, get("/version"))
    for size in range(len(TRAILERS) - 2):
        found = shown(asked, (SERVER, chunks() + TRAILERS[:size]))[SERVER]
        assert found.startswith(chunks()) and MARK.encode() not in found and MARK[:3].encode() not in found
        assert (b"X-Checksum: abc\r\n" in found) is (size >= len(b"X-Checksum: abc\r\n"))
    endless = f"Cookie: {MARK}\r\n".encode() * (HEAD_LIMIT // len(MARK))
    assert shown(asked, (SERVER, chunks()), (SERVER, endless), (SERVER, b"\r\n" + TRAILERS))[SERVER] == chunks()


def test_a_trailer_that_is_cut_by_another_protocol_is_left_out() -> None:
    asked = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nAuthorization: Bea"
    transcript = Transcript()
    assert all(b"Bea" not in piece.data for piece in transcript.client(asked))
    transcript.server(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n")
    assert transcript.client(b"more") == [Piece(CLIENT, b"more")]
    assert transcript.end(CLIENT) == []


def test_what_is_no_answer_passes_as_it_is() -> None:
    for data in (b"SSH-2.0-x\r\n", b"HTTQ/1.1 200 OK\r\n\r\n", b"HTTX/1"):
        assert shown((CLIENT, get("/version")), (SERVER, data))[SERVER] == data
    # Behind a body with secrets it may be the rest of that.
    rest = b"Q" + MARK.encode()
    said = [(CLIENT, get(f"{SECRETS}/s")), (SERVER, answer(json.dumps(SECRET).encode())), (SERVER, rest)]
    assert rest not in shown(*said)[SERVER]


def test_a_head_that_is_cut_is_shown_to_its_last_whole_line() -> None:
    head = f"HTTP/1.1 200 OK\r\nSet-Cookie: {MARK}".encode()
    assert shown((CLIENT, get("/version")), (SERVER, head))[SERVER] == b"HTTP/1.1 200 OK\r\n"
    assert shown((CLIENT, get("/version")), (SERVER, b"HTTP/1.1 2"))[SERVER] == b"HTTP/1.1 2"


def test_codings_of_a_body_with_secrets() -> None:
    secret = json.dumps(SECRET).encode()
    for coding, payload, said in (
        ("identity", secret, b'"name": "s"'),
        ("gzip", gzip.compress(secret), b'"name": "s"'),
        ("gzip", secret, b"<redacted>"),  # it is none
        ("br", secret, b"<redacted>"),
    ):
        found = shown((CLIENT, get(f"{SECRETS}/s")), (SERVER, answer(payload, f"Content-Encoding: {coding}")))[SERVER]
        assert said.replace(b" ", b"") in found.replace(b" ", b""), coding
        assert MARK.encode() not in found


def test_the_fields_of_a_head_as_written() -> None:
    head = Head(b"GET / HTTP/1.1\r\nX-A:  b \r\nno field\r\nx-a: c\r\n\r\n")
    assert (head.pairs, head.value("x-a")) == ([("X-A", "b"), ("x-a", "c")], "b, c")


def test_frames_of_a_client_are_unmasked() -> None:
    mask, payload = b"\x01\x02\x03\x04", bytes(range(256)) * 3
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    frame = b"\x82\xfe" + len(payload).to_bytes(2, "big") + mask + masked
    upgrade = get("/x", "Upgrade: websocket", "Connection: Upgrade")
    switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
    said = [(CLIENT, upgrade), (SERVER, switched + b"\x82\x01a"), (CLIENT, frame + frame)]
    plain = b"\x82\xfe" + len(payload).to_bytes(2, "big") + b"\0\0\0\0" + payload
    for cut in (0, 1, 2, 3, 5, 7, 64):
        found = shown(*said, cut=cut)
        assert found == {CLIENT: upgrade + plain + plain, SERVER: switched + b"\x82\x01a"}


def test_another_protocol_passes_as_it_is() -> None:
    upgrade = get("/x", "Upgrade: SPDY/3.1", "Connection: Upgrade")
    switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n"
    said = [(CLIENT, upgrade), (SERVER, switched), (CLIENT, b"\x80\x03\x00\x01"), (SERVER, b"\x80\x03")]
    assert shown(*said, cut=3) == {CLIENT: upgrade + b"\x80\x03\x00\x01", SERVER: switched + b"\x80\x03"}


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=300), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 50), max_size=20))
def test_masks_are_undone_however_frames_are_cut(payload: bytes, key: int, cuts: list[int]) -> None:
    mask = key.to_bytes(4, "big")
    length = bytes((0x80 | len(payload),)) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    frame = b"\x82" + length + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    zero, out, at = ZeroMask(), b"", 0
    for cut in [*cuts, len(frame)]:
        out += zero.feed(frame[at : at + cut])
        at += cut
    assert out == b"\x82" + length + b"\0\0\0\0" + payload


def test_a_frame_without_a_mask_passes_as_it_is() -> None:
    zero = ZeroMask()
    assert zero.feed(b"\x82\x03abc\x81") + zero.feed(b"\x02de") + zero.end() == b"\x82\x03abc\x81\x02de"


@looped(
    ("target", "secret"),
    [
        (SECRETS, OBJECT),
        ("/prefix/api/v1/secrets?limit=5", OBJECT),
        ("/apis/authentication.k8s.io/v1/tokenreviews", OBJECT),
        ("/api/v1/namespaces/demo/serviceaccounts/me/token", OBJECT),
        ("/api/v1/namespaces/demo/serviceaccounts/token", OBJECT),
        ("/api/v1/namespaces/secrets/secrets/s", OBJECT),
        ("/api/v1/namespaces/pods/secrets/exec", OBJECT),
        ("/api/v1/namespaces/secrets/pods", NONE),
        ("/api/v1/namespaces/demo/pods/secrets/exec?command=id", NONE),
        ("/api/v1/namespaces/token-demo/pods", NONE),
        ("/api/v1/namespaces/demo/configmaps/tokens", NONE),
        ("/oauth2/v4/x", LOGIN),
        ("/.well-known/openid-configuration", LOGIN),
        ("/version", NONE),
    ],
)
def test_which_bodies_are_looked_at(target: str, secret: str) -> None:
    assert secrets_of(target) == secret


def test_what_is_shown_of_a_login() -> None:
    said = {
        "error": "invalid_grant",
        "token_endpoint": "https://id.example/token",
        "issuer": f"https://x?{MARK}",
        "n": 1,
    }
    shown_of_it = json.loads(body(json.dumps(said).encode(), "application/json", login=True))
    assert shown_of_it == said | {"issuer": "<redacted>"}


WORDS = re.compile("token|secret|password|assertion|code|client|data|stringData|value|last-applied")


@settings(max_examples=examples(100), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_body_without_secrets_says_the_same(value: object) -> None:
    data = json.dumps(value).encode()
    assert json.loads(body(data, "application/json")) == value or WORDS.search(json.dumps(value))
