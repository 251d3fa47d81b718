"""One client's connection to a server on loopback, plain or inside TLS. For one thread, but for `interrupt`."""

from __future__ import annotations

import socket
import struct
import threading
import time

from rawkube._typing import TYPE_CHECKING
from rawkube.wire.stream import Stream, wait_for

if TYPE_CHECKING:
    import ssl

LONGEST = 1_000_000.0
"""The longest wait, in seconds."""

_READ = 256 * 1024
_HANDSHAKE = 10.0
_LINGER = 2.0
_TLS_HANDSHAKE = 0x16  # a TLS record's first byte (RFC 8446, section 5.1)
# What Go's net/http says to such a client.
_NOT_TLS = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


class Link:
    """A connection. Its methods raise OSError or TransportError where the client breaks it off.

    `idle_since`: since when (monotonic) it waits for a request, None while it answers one.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.idle_since: float | None = None
        self._sock = sock
        self._stream = Stream(sock)
        self._early = b""
        self._reset = False

    def fileno(self) -> int:
        """The descriptor, for a selector."""
        return self._sock.fileno()

    def interrupt(self) -> None:
        """End it at once, from any thread."""
        self._stream.interrupt()

    def secure(self, context: ssl.SSLContext) -> bool:
        """Begin TLS, as the server; False for a client that speaks plain HTTP, which is told so.

        Raises OSError where the handshake fails, or takes too long.
        """
        end = time.monotonic() + _HANDSHAKE
        if not wait_for(self._sock.fileno(), write=False, end=end):
            raise TimeoutError("no TLS handshake")
        first = self._sock.recv(1, socket.MSG_PEEK)
        if first and first[0] != _TLS_HANDSHAKE:
            self.send(_NOT_TLS)
            self.finish()
            return False
        secured = context.wrap_socket(self._sock, server_side=True, do_handshake_on_connect=False)
        self._sock, self._stream = secured, Stream(secured)
        _shake_hands(secured, end)
        return True

    # Reading

    def recv(self, end: float | None) -> bytes | None:
        """What comes next, b"" at the client's end, None if nothing came until `end` (monotonic)."""
        if self._early:
            data, self._early = self._early, b""
            return data
        return self._stream.recv_by(_READ, end)

    def recv_now(self) -> bytes | None:
        """What is there already, b"" at the client's end, None if nothing is."""
        return self.recv(0.0)

    @property
    def pending(self) -> bool:
        """Whether there is something to read that no selector sees."""
        return bool(self._early) or self._stream.pending() > 0

    def gone_within(self, seconds: float | None, stopping: threading.Event) -> bool:
        """Wait so long (None: however long it takes) for the client to go. What it sends meanwhile is kept."""
        # A recording, slowed down, may wait longer than the system can; nobody sees the end of that.
        end = None if seconds is None else time.monotonic() + min(seconds, LONGEST)
        if not self._early:
            data = self._stream.recv_by(_READ, end)
            if not data:
                return data is not None
            self._early = data
        # A request that came early hides the end that may follow it.
        return stopping.wait(None if end is None else max(0.0, end - time.monotonic()))

    def outlast(self) -> None:
        """Read, and pass over, whatever comes until the client goes."""
        while self.recv(None):
            pass

    # Writing

    def send(self, data: bytes) -> None:
        """Send all of it, however long the client takes."""
        self._stream.send(data, timeout=None)

    def send_now(self, data: memoryview) -> int:
        """How much of it was taken without waiting. After a 0, the next call's data must start with the same bytes."""
        return self._stream.send_now(data)

    # The end

    def end_writing(self) -> None:
        """Say that nothing more comes; what the client sends can still be read."""
        self._stream.end_writing()

    def finish(self, seconds: float = _LINGER) -> None:
        """Say that nothing more comes, and wait a little for the client to say so, too.

        Closing with unread input would reset the connection, and could take the last bytes with it.
        """
        end = time.monotonic() + seconds
        try:
            if hasattr(self._sock, "unwrap"):
                try:
                    self._sock.unwrap()
                except (OSError, ValueError):  # it would wait for the client's
                    pass
            socket.socket.shutdown(self._sock, socket.SHUT_WR)
            while wait_for(self._sock.fileno(), write=False, end=end) and socket.socket.recv(self._sock, _READ):
                pass
        except OSError:
            pass

    def reset(self) -> None:
        """Let `close` reset the connection."""
        self._reset = True
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close(self) -> None:
        """Close it. Twice is harmless."""
        if self._reset:
            self._sock.close()  # without TLS's close_notify
        self._stream.close()


def _shake_hands(sock: ssl.SSLSocket, end: float) -> None:
    import ssl

    while True:
        try:
            sock.do_handshake()
            return
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as wanted:
            write = isinstance(wanted, ssl.SSLWantWriteError)
        if not wait_for(sock.fileno(), write=write, end=end):
            raise TimeoutError("a TLS handshake that does not end")
