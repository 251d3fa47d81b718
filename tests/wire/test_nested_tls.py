"""TLS inside a stream, without sockets: what is decrypted ahead, and what each side of the descriptor is waited for."""

from __future__ import annotations

import ssl
from typing import cast

import pytest

from rawkube.errors import ConnectionLost
from rawkube.wire.nested_tls import NestedTLS
from rawkube.wire.stream import Stream
from tests.support.rows import looped
from tests.support.tls import Authority

CA = Authority()


class Below:
    """The stream below: pieces that have come, of which a selector sees none, and a server behind it."""

    def __init__(self) -> None:
        self.came: list[bytes | Exception] = []
        self.crosses = False
        self.full = False
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.server = CA.server("127.0.0.1").wrap_bio(self.incoming, self.outgoing, server_side=True)

    def recv_now(self, limit: int) -> bytes | None:
        if not self.came:
            return None
        piece = self.came.pop(0)
        if isinstance(piece, Exception):
            raise piece
        return piece

    def send_now(self, data: bytes) -> int:
        return 0 if self.full else self.incoming.write(data)

    def crossed(self) -> bool:
        return self.crosses

    def pending(self) -> int:
        return len(self.came)

    def fileno(self) -> int:
        return 99

    def says(self, data: bytes) -> None:
        """A record of the server's arrives."""
        self.server.write(data)
        self.came.append(self.outgoing.read())


def connected() -> tuple[Below, NestedTLS]:
    below = Below()
    context = ssl.create_default_context(cadata=CA.pem.decode())
    tls = NestedTLS(context, cast(Stream, below), server_hostname=b"127.0.0.1")
    for side in (tls, below.server, tls, below.server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            pass
        if data := below.outgoing.read():
            below.came.append(data)
    assert tls.pending() == 0  # session tickets are no data
    assert not below.came
    return below, tls


def test_what_came_in_several_pieces_is_pending() -> None:
    below, tls = connected()
    below.says(b"hello")
    record = cast(bytes, below.came.pop())
    below.came += [record[:4], record[4:]]
    assert tls.pending() == 5
    assert tls.recv(3) == b"hel"
    assert tls.recv(9) == b"lo"
    assert tls.pending() == 0


@looped(
    ("end", "error"),
    [
        (ConnectionLost("reset"), ConnectionLost),
        (b"\x17\x03\x03\x00\x20" + bytes(32), ssl.SSLError),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ssl.SSLError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_that_was_met_ahead_is_told_to_the_next_reader(
    end: bytes | Exception, error: type[Exception]
) -> None:
    below, tls = connected()
    below.came.append(end)
    assert tls.pending() == 1  # for no selector tells of it
    for _ in range(2):
        with pytest.raises(error):
            tls.recv(9)


def test_what_the_descriptor_is_waited_for() -> None:
    """A read of the stream below may have to write first, and a write to read."""
    below, tls = connected()
    with pytest.raises(ssl.SSLWantReadError):
        tls.recv(1)
    below.crosses = True
    with pytest.raises(ssl.SSLWantWriteError):
        tls.recv(1)
    below.full = True
    with pytest.raises(ssl.SSLWantReadError):
        tls.send(b"x")
    below.crosses = False
    with pytest.raises(ssl.SSLWantWriteError):
        tls.send(b"x")
    below.full = False
    assert tls.send(b"x") == 1
    assert below.server.read(9) == b"x"
