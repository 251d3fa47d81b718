"""Recordings whose bytes stay in their file: the same exchanges as in memory, and hardly any memory."""

from __future__ import annotations

import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from rawkube.errors import RecordingError
from rawkube.observe.chunks import Chunk, Made
from rawkube.observe.exchanges import Exchange
from rawkube.observe.recording import Piece
from rawkube.observe.replay import Replay, load
from rawkube.observe.stored import StoredRecording

from .made import (
    DEPLOYMENTS,
    RECORDINGS,
    answer,
    chunk,
    deployment,
    event,
    frame,
    get,
    listing,
    piece,
    start,
    switching,
    upgrade,
    written,
)

MIB = 1024 * 1024


def plain(exchange: Exchange) -> Exchange:
    """All of it in memory; the bodies of requests aside, which are not served."""
    told = exchange.answer._replace(raw=tuple(exchange.answer.raw), body=tuple(exchange.answer.body))
    session = tuple(p._replace(line=0) for p in exchange.session)
    return exchange._replace(answer=told, session=session, body=b"")


def test_a_stored_recording_tells_what_one_in_memory_does() -> None:
    for path in RECORDINGS:
        try:
            expected = [plain(exchange) for exchange in load(path)]
        except RecordingError as error:
            with pytest.raises(RecordingError, match=str(error).rpartition(": ")[2]):
                StoredRecording(path)
            continue
        assert [plain(e) for e in StoredRecording(path).exchanges] == expected, path.name


WRITTEN_ANEW = [
    piece("client", 1, get("/a")),
    piece("server", 2, answer('{"data":"long ago"}').replace(b"long ago", b"x"), redacted=True),
    piece("client", 3, get("/b")),
    piece("server", 4, answer("b") + b"", redacted=False),
    piece("client", 5, get("/c?watch=true")),
    piece("server", 6, start().encode() + chunk("one\n"), redacted=True),
    piece("server", 7, chunk("two\n"), redacted=True),
]
TOGETHER = [
    piece("client", 1, get("/a") + get("/a") + get("/b")),
    piece("server", 2, b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer("1") + answer("1") + answer("1")[:-1]),
    piece("server", 3, b"1"),
    piece("client", 4, get("/c")),
    piece("server", 5, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n1\r\n1\r\n2\r\n1"),
    piece("server", 6, "1\r\nnonsense\r\n"),
    piece("server", 7, "more", error="ConnectionResetError"),
]


def lines_of(tmp_path: Path, pieces: list[Piece]) -> Path:
    path = written(tmp_path / "r.jsonl", pieces)
    lines = path.read_text().splitlines()
    marked = [
        line[:-1] + ', "redacted": true}' if p.redacted else line for line, p in zip(lines[1:], pieces, strict=True)
    ]
    path.write_text("\n".join([lines[0], *marked]) + "\n")
    return path


@pytest.mark.parametrize("pieces", [WRITTEN_ANEW, TOGETHER], ids=["redacted", "pipelined and broken"])
def test_what_was_redacted_or_came_together_is_found_again(tmp_path: Path, pieces: list[Piece]) -> None:
    path = lines_of(tmp_path, pieces)
    found = StoredRecording(path).exchanges
    assert len(found) == len({p.t for p in pieces if p.side == "client"}) + (pieces is TOGETHER) * 2
    assert [plain(e) for e in found] == [plain(e) for e in load(path)]


def test_a_watch_that_was_redacted_and_stayed_open_is_served_as_it_was(tmp_path: Path) -> None:
    for exchanges in (load(lines_of(tmp_path, WRITTEN_ANEW)), StoredRecording(tmp_path / "r.jsonl").exchanges):
        watch = exchanges[-1].answer
        assert [c.data for c in watch.raw] == [start().encode() + chunk("one\n"), chunk("two\n")]
        assert [c.data for c in watch.body] == [b"one\n", b"two\n"]


def large(path: Path) -> Path:
    """15 MB: lists, a watch and one more list of another namespace."""
    ballast = "x" * 60_000
    pieces = []
    for n in range(80):
        pieces += [
            piece("client", n, get(DEPLOYMENTS)),
            piece("server", n + 0.5, answer(listing(n, deployment(f"d-{n}", n, app=ballast)))),
        ]
    pieces.append(piece("client", 200, get(f"{DEPLOYMENTS}?watch=true&resourceVersion=5"), conn=2))
    pieces.append(piece("server", 201, start(), conn=2))
    for n in range(160):
        line = event("MODIFIED", deployment(f"d-{n % 9}", 200 + n, app=ballast))
        pieces.append(piece("server", 202 + n / 1000, chunk(line), conn=2))
    return written(path, pieces)


def asked(server: Replay, target: str) -> int:
    """How many bytes the answer has."""
    import socket

    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        sock.sendall(f"GET {target} HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n".encode())
        size = 0
        while data := sock.recv(65536):
            size += len(data)
    return size


def test_memory_does_not_grow_with_what_is_recorded(tmp_path: Path) -> None:
    path = large(tmp_path / "large.jsonl")
    assert path.stat().st_size > 13 * MIB
    asks: list[tuple[str, Callable[[int], bool]]] = [
        (DEPLOYMENTS, lambda size: size > 60_000),
        (f"{DEPLOYMENTS}/d-0", lambda size: size > 60_000),  # out of a list
        (f"{DEPLOYMENTS}?watch=true&resourceVersion=5&timeoutSeconds=1", lambda size: size > 9 * MIB),
        (f"{DEPLOYMENTS}?watch=true&resourceVersion=300&timeoutSeconds=1", lambda size: 2 * MIB < size < 5 * MIB),
    ]
    tracemalloc.start()
    try:
        with Replay(path) as server:
            for target, right in asks:
                assert right(asked(server, target)), target
            assert server.unmatched == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * MIB


@pytest.mark.parametrize("change", ["cut", "written over"])
def test_a_file_that_changes_while_it_is_served_is_said_to(tmp_path: Path, change: str) -> None:
    path = written(tmp_path / "r.jsonl", [piece("client", 1, get("/api")), piece("server", 2, answer("x" * 100))])
    with Replay(path) as server:
        if change == "cut":
            os.truncate(path, 60)
        else:
            size = path.stat().st_size
            path.write_bytes(path.read_bytes().replace(b"x" * 100, b"x" * 20).ljust(size))
        assert asked(server, "/api") in (0, 84)
        assert server.report()[0] == f"refused: {path} has been changed while it was served"


def test_a_recording_may_come_through_a_pipe(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", [piece("client", 1, get("/api")), piece("server", 2, answer("x" * 100))])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(path.read_bytes(),))
    writer.start()
    with Replay(pipe) as server:
        assert asked(server, "/api") > 100
    writer.join()


def test_what_holds_no_request_is_no_recording_to_serve(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", [piece("server", 1, answer("x"))])
    with pytest.raises(RecordingError, match=r"r\.jsonl: holds no HTTP/1\.1 request$"):
        Replay(path)
    with pytest.raises(RecordingError, match=r"^open .*: no such file or directory$"):
        Replay(tmp_path / "none")


def test_chunks_that_are_made_or_stored_are_a_sequence(tmp_path: Path) -> None:
    session = [piece("client", 1, upgrade()), piece("server", 2, switching()), piece("server", 3, frame(b"\1hello"))]
    path = written(tmp_path / "r.jsonl", [*session, piece("server", 4, eof=True)])
    stored = StoredRecording(path).exchanges[0]
    assert (len(stored.session), stored.session[0].data, stored.session[-1].eof) == (2, frame(b"\1hello"), True)
    assert (len(stored.answer.raw), stored.answer.raw[0].data, stored.answer.raw[-1:]) == (
        1,
        switching().encode(),
        stored.answer.raw[:],
    )
    made = Made(lambda: (Chunk(float(n), b"x" * n) for n in range(3)))
    assert (len(made), made[0].delay, made[-1].data, len(made[1:]), bool(made)) == (3, 0.0, b"xx", 2, True)
    nothing = Made(lambda: iter(()))
    assert (len(nothing), bool(nothing), list(nothing)) == (0, False, [])
    with pytest.raises(IndexError):
        nothing[0]
