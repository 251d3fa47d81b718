"""What reads a stream: the same comes out wherever it is cut, and nothing is raised but what is said."""

from __future__ import annotations

import io
import json
from typing import Any

from rawkube.api.watch import WatchDecoder
from rawkube.errors import DecodeError, RecordingError
from rawkube.observe.conversation import CLIENT, SERVER, Conversation, Happening
from rawkube.observe.har_reader import read_har
from rawkube.observe.recording import Recording
from rawkube.remotecommand.channels import Channels, Discarded, Output
from rawkube.remotecommand.protocols import V1, V1_BASE64, V4, V4_BASE64, V5
from rawkube.wire import frames as ws
from rawkube.wire import http1 as http
from tests.fuzz.cutting import cut, merged

PROTOCOLS = (V5, V4, V1, V4_BASE64, V1_BASE64)
_LIMIT = 1 << 24


def watch(data: bytes) -> None:
    """The first byte cuts, the rest is the body of a watch."""
    whole, pieces = cut(data)
    assert _events([whole]) == _events(pieces)


def _events(pieces: list[bytes]) -> tuple[list[str], int]:
    decoder = WatchDecoder()
    found: list[str] = []
    try:
        for piece in pieces:
            found += map(repr, decoder.feed(piece))
        found += map(repr, decoder.end())
    except DecodeError as error:
        assert str(error).isprintable(), error
        return found, -1  # how much of it the text shows depends on how much had come
    return found, decoder.dropped


def http1(data: bytes) -> None:
    """One byte chooses the request, one cuts, the rest is what a server sends, up to the end of its stream."""
    choice = data[0] if data else 0
    whole, pieces = cut(data[1:])
    assert _answer(choice, [whole] if whole else []) == _answer(choice, pieces)


def _answer(choice: int, pieces: list[bytes]) -> tuple[list[Any], str, bytes]:
    reader = http.Reader(_LIMIT)
    headers = [("Connection", "Upgrade"), ("Upgrade", "websocket")] if choice & 2 else []
    reader.expect("HEAD" if choice & 1 else "GET", headers)
    found: list[Any] = []
    body = b""
    left = [*pieces, b""]
    try:
        while True:
            one = reader.next()
            if isinstance(one, http.Data):
                body += one.data
            elif one is http.END:
                return [*found, body], "", reader.rest + b"".join(left)
            elif one is not None:
                found.append(one)
            elif left:
                reader.feed(left.pop(0))
            else:
                return [*found, body], "waits", b""
    except http.Malformed as error:
        return [*found, body], error.place, b""
    except http.Cut:
        return [*found, body], "cut", b""


def frames(data: bytes) -> None:
    """The first byte cuts, the rest is what a WebSocket server sends."""
    whole, pieces = cut(data)
    assert _frames([whole]) == _frames(pieces)


def _frames(pieces: list[bytes]) -> tuple[list[Any], str]:
    reader = ws.FrameReader()
    found: list[tuple[Any, bytes]] = []
    number, malformed = 0, ""
    try:
        for piece in pieces:
            reader.feed(piece)
            while (one := reader.next()) is not None:
                found.append((number, bytes(one.payload)))
                number += one.frame_end
    except ws.Malformed as error:
        malformed = str(error)
    return list(merged(found)), malformed


def channels(data: bytes) -> None:
    """One byte chooses the subprotocol, one cuts, the rest is what the server of an exec sends."""
    choice = data[0] if data else 0
    whole, pieces = cut(data[1:])
    assert _session(choice, [whole]) == _session(choice, pieces)


def _session(choice: int, pieces: list[bytes]) -> tuple[list[Any], Any]:
    session = Channels(PROTOCOLS[choice % len(PROTOCOLS)], tty=bool(choice & 0x80))
    said = [event for piece in pieces for event in session.feed(piece)]
    assert isinstance(session.holds_status, bool)
    session.data_to_send()
    session.close(1000)
    said += session.eof()
    assert session.closed
    keyed = [
        ((type(event), event.channel), event.data)
        if isinstance(event, Output | Discarded)
        else ((number, repr(event)), b"")
        for number, event in enumerate(said)
    ]
    return [(key[1:], value) for key, value in merged(keyed)] and _without_numbers(merged(keyed)), session.result()


def _without_numbers(items: Any) -> list[Any]:
    return [(key[1], value) for key, value in items]


def conversation(data: bytes) -> None:
    """Two bytes cut, the rest is both sides of a connection, parted by a NUL byte and `--`."""
    choice = data[:1]
    client, _, server = data[1:].partition(b"\0--")
    known = Conversation()
    found: list[Happening] = []
    for side, told in ((CLIENT, client), (SERVER, server)):
        for at, piece in enumerate(cut(choice + told)[1]):
            found += known.feed(1, float(at), side, piece)
    found += known.end(1, 1e6, CLIENT) + known.end(1, 1e6, SERVER, "ConnectionResetError")
    json.dumps([one.data for one in found], default=_shown)


def _shown(value: object) -> str:
    assert isinstance(value, bytes | bytearray | memoryview), type(value)
    return ""


def recording(data: bytes) -> None:
    """A file that may be a recording."""
    try:
        with Recording("file", file=io.BytesIO(data), several=True) as opened:
            for piece in opened:
                assert isinstance(piece.data, bytes) and piece.side in (CLIENT, SERVER)
    except RecordingError as error:
        assert str(error).isprintable(), error


def har(data: bytes) -> None:
    """A file that may be a HAR."""
    try:
        for one in read_har("file", data):
            assert one.side in (CLIENT, SERVER)
    except RecordingError as error:
        assert str(error).isprintable(), error
