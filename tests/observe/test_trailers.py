"""Trailer sections of chunked bodies, in what is traced and recorded."""

from __future__ import annotations

import pytest

from rawkube.wire.transcript import CLIENT, HEAD_LIMIT, SERVER, Piece, Transcript

MARK = "s3cr3t-m4rk"
NAMES = ("Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Auth-Token", "x-amz-secret", "X-API-Key")
TRAILERS = "".join(f"{name}: Bearer {MARK}\r\n" for name in NAMES) + f"Location: https://u:{MARK}@h/?token={MARK}\r\n"
# A line may end without CR, or go on in the next one (RFC 9112, sections 2.2 and 5.2).
ODD = f"X-Token: {MARK}\nSet-Cookie: a=b\r\n\t{MARK}\r\nX-Note: shown\r\n"
BODY = b"5;a=b\r\nhello\r\n0\r\n"
POST = b"POST /api/v1/pods HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def told(side: str, data: bytes, *, cuts: tuple[int, ...] = (), secrets: bool = False, end: bool = True) -> list[Piece]:
    """The pieces of one side. A server is asked first."""
    transcript = Transcript(secrets=secrets)
    feed = transcript.client if side == CLIENT else transcript.server
    if side == SERVER:
        transcript.client(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
    pieces: list[Piece] = []
    for at, to in zip((0, *cuts), (*cuts, len(data)), strict=True):
        pieces += feed(data[at:to])
    return pieces + (transcript.end(side) if end else [])


def joined(pieces: list[Piece]) -> bytes:
    return b"".join(piece.data for piece in pieces)


@pytest.mark.parametrize(("side", "head"), [(CLIENT, POST), (SERVER, OK)])
def test_no_trailer_tells_a_secret_wherever_it_is_cut(side: str, head: bytes) -> None:
    message = head + BODY + (TRAILERS + ODD + "\r\n").encode()
    whole = joined(told(side, message + head + BODY + b"\r\n"))
    for cut in range(len(head), len(message) + 1):
        in_two = told(side, message + head + BODY + b"\r\n", cuts=(cut,))
        assert joined(in_two) == whole, cut
        assert MARK.encode() not in joined(told(side, message[:cut])), f"ended at {cut}"
        assert MARK.encode() not in joined(told(side, message[:cut], end=False)), f"until {cut}"
    assert MARK.encode() not in whole
    assert whole.startswith(head + BODY + b"Authorization: Bearer <redacted>\r\n")
    assert b"Set-Cookie: <redacted>\r\n" in whole
    assert whole.endswith(b"X-Note: shown\r\n\r\n" + head + BODY + b"\r\n")  # the next message is found


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_byte_by_byte(side: str) -> None:
    message = (POST if side == CLIENT else OK) + BODY + (TRAILERS + ODD + "\r\n").encode()
    single = told(side, message, cuts=tuple(range(1, len(message))))
    assert joined(single) == joined(told(side, message))


def test_a_trailer_of_nothing_stays_with_its_chunk() -> None:
    assert [p.data for p in told(SERVER, OK + BODY + b"\r\n")] == [OK, BODY + b"\r\n"]
    plain = told(SERVER, OK + BODY + b"X-Checksum: 1\r\n\r\n", cuts=(len(OK),))
    assert plain == [Piece(SERVER, OK), Piece(SERVER, BODY + b"X-Checksum: 1\r\n\r\n")]


def test_with_secrets_everything_passes_as_it_is() -> None:
    message = OK + BODY + TRAILERS.encode() + b"\r\n"
    assert joined(told(SERVER, message, secrets=True)) == message


def test_what_follows_a_broken_chunk_size_is_no_trailer() -> None:
    message = OK + b"5\r\nhello\r\nnonsense\r\nmore: of this"
    assert joined(told(SERVER, message)) == message


def test_a_trailer_without_end_is_left_out() -> None:
    pieces = told(SERVER, OK + BODY + b"X-A: " + b"b" * HEAD_LIMIT, cuts=(len(OK) + len(BODY),))
    assert pieces[-1] == Piece(SERVER, b"", True)
    assert joined(pieces) == OK + BODY


def test_a_trailer_in_whose_middle_the_protocol_is_switched() -> None:
    transcript = Transcript()
    asked = POST.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    pieces = transcript.client(asked + BODY + f"Authorization: Bearer {MARK}\r\n".encode())
    pieces += transcript.server(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
    pieces += transcript.end(CLIENT) + transcript.end(SERVER)
    assert MARK.encode() not in joined(pieces)
