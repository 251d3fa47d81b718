"""A connected stream of bytes, plain or inside TLS: blocking with a limit of time, or polled by a selector.

The socket is always non-blocking. What blocks, waits in `poll`, so every wait has an end, and a caller with
its own event loop uses the same object.
"""

from __future__ import annotations

import os
import select
import socket
import time

from rawkube._typing import TYPE_CHECKING, cast
from rawkube.errors import ConnectionLost, DeadlineExceeded, TransportError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from rawkube.wire.nested_tls import NestedTLS
    from rawkube.wire.teller import Teller

# The largest TLS record's payload (RFC 8446, section 5.1). One read or write of a TLS socket moves no more.
_RECORD = 16384

# The most that one call sends, in bytes, before its caller can look at the clock.
_BATCH = 64 * _RECORD

# Linux's; tcp(7).
_CORK: int | None = getattr(socket, "TCP_CORK", None)


def address_text(address: tuple[object, ...]) -> str:
    """`HOST:PORT` of a socket address, IPv6 in brackets, as Go prints it."""
    host, port = str(address[0]), address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def wait_for(fd: int, *, write: bool, end: float | None) -> bool:
    """Wait until a descriptor is readable, or writable: whether it was by `end` (monotonic; None: no end)."""
    # At most as long as poll() can wait (an int of milliseconds): 24 days, after which the caller looks again.
    left = None if end is None else min(max(0.0, end - time.monotonic()), 2**31 / 1000 - 1)
    if not hasattr(select, "poll"):  # Windows
        reads, writes = ([], [fd]) if write else ([fd], [])
        return any(select.select(reads, writes, writes, left))
    poll = select.poll()
    poll.register(fd, select.POLLOUT if write else select.POLLIN)
    # Rounded up: a wait of 0.3 ms must not become a busy loop of waits of 0 ms.
    return bool(poll.poll(None if left is None else int(left * 1000 + 0.999)))


class Stream:
    """One connection. For one thread at a time; another one may call `interrupt`, and nothing else.

    `conn`: its number, for the tap. `server`: `HOST:PORT` as dialled, for errors. `ends`: the socket's two addresses.
    `about_client`: says in a line which client certificate was shown, for an alert about it. `told`: is told the bytes.
    """

    __slots__ = (
        "_closed",
        "_crossed",
        "_early",
        "_interrupted",
        "_late",
        "_late_write",
        "_sock",
        "_tls",
        "_unsent",
        "about_client",
        "conn",
        "ends",
        "server",
        "told",
    )

    def __init__(self, sock: socket.socket | NestedTLS, *, conn: int = 0, server: str = "") -> None:
        sock.setblocking(False)
        self._sock = sock
        # Not isinstance: that would import ssl for a plain connection too.
        self._tls = cast("ssl.SSLSocket | NestedTLS", sock) if hasattr(sock, "do_handshake") else None
        self._early = b""
        self._closed = False
        self._unsent = 0
        self._crossed = False
        self._interrupted = False
        self._late: OSError | None = None
        self._late_write: OSError | None = None
        self.conn = conn
        self.server = server
        self.about_client: Callable[[], str] | None = None
        self.told: Teller | None = None
        try:
            self.ends = (sock.getsockname(), sock.getpeername())
        except OSError:  # already reset; the next read or write says so
            self.ends = (("?", 0), ("?", 0))

    def fileno(self) -> int:
        """The socket's file descriptor, for a selector; -1 once closed."""
        return self._sock.fileno()

    @property
    def names(self) -> str:
        """`LOCAL->REMOTE`, as Go's errors name a connection."""
        # The names of Unix sockets (socketpair) are strings, possibly empty.
        local, remote = (n if isinstance(n, tuple) else (str(n) or "@", 0) for n in self.ends)
        return f"{address_text(local)}->{address_text(remote)}"

    # Reading

    def recv_now(self, limit: int) -> bytes | None:
        """At most `limit` bytes that are there already; b"" at the end of the stream, None if it would block.

        Raises ConnectionLost, TLSError (the peer's alert).
        """
        if self.told is None:
            return self._receive(limit)
        try:
            data = self._receive(limit)
        except TransportError as error:
            if not self._interrupted:
                self.told.ended("server", type(error.__cause__ or error).__name__)
            raise
        if data == b"" and self._interrupted:  # it was this side that ended
            self.told.closed()
        elif data is not None:
            self.told.came(data)
        return data

    def _receive(self, limit: int) -> bytes | None:
        if self._early:
            data, self._early = self._early[:limit], self._early[limit:]
            return data
        try:
            return self._sock.recv(limit) if self._tls is None else self._receive_records(limit)
        except BlockingIOError:
            return None
        except OSError as error:
            if self._interrupted:  # a reset may be what its own interrupt looks like
                return b""
            self._failed_read(error)
            return None

    def _receive_records(self, limit: int) -> bytes:
        """The next record, and those behind it that are there already: full ones are seldom alone."""
        assert self._tls is not None
        if (late := self._late) is not None:
            self._late = None
            raise late
        data = piece = self._tls.recv(min(limit, _RECORD))
        if len(piece) < _RECORD:
            return data
        pieces, left = [piece], limit - len(piece)
        try:
            while len(piece) == _RECORD and left >= _RECORD:
                piece = self._tls.recv(_RECORD)
                pieces.append(piece)
                left -= len(piece)
        except OSError as error:  # for the next call, which finds nothing before it
            self._late = error.with_traceback(None)  # else its frame would keep this stream
        return b"".join(pieces)

    def _failed_read(self, error: OSError) -> None:
        """Nothing to read yet, or raise."""
        if self._tls is not None:
            from rawkube.wire import tls

            if tls.would_block(error):
                # A read may have to write first (KeyUpdate, or renegotiation in TLS 1.2), and a write to
                # read.
                self._crossed = tls.wants_write(error)
                return
            from rawkube.wire import tls_failures

            if (failure := tls_failures.failure(error, self.server, self.about_client)) is not None:
                raise failure from error
        raise self._lost("read", error) from error

    def recv_by(self, limit: int, end: float | None) -> bytes | None:
        """As `recv`, but until a point in time (monotonic), and None if nothing came by then."""
        while (data := self.recv_now(limit)) is None:
            if not self._wait(write=False, end=end):
                return None
        return data

    def _wait(self, *, write: bool, end: float | None) -> bool:
        write, self._crossed = write != self._crossed, False
        return wait_for(self._sock.fileno(), write=write, end=end)

    def recv(self, limit: int, *, timeout: float | None) -> bytes:
        """At least one byte and at most `limit`; b"" at the end, with or without TLS's close_notify.

        Raises DeadlineExceeded (step `silence`) after `timeout` seconds, ConnectionLost, TLSError.
        """
        data = self.recv_by(limit, None if timeout is None else time.monotonic() + timeout)
        if data is None:
            raise DeadlineExceeded(f"read tcp {self.names}: i/o timeout", step="silence", server=self.server)
        return data

    def pending(self) -> int:
        """Bytes that have come and that no selector sees: decrypted ones inside TLS, or put back."""
        if self._closed:
            return 0
        return len(self._early) + (0 if self._tls is None else self._tls.pending())

    def unread(self, data: bytes) -> None:
        """Put bytes back: they are what is read next."""
        self._early = data + self._early

    def crossed(self) -> bool:
        """Whether a read that would block waits for room to write, or a write for something to read. Once."""
        crossed, self._crossed = self._crossed, False
        return crossed

    def bare(self) -> socket.socket | None:
        """The socket itself, for a protocol on top that wants one; None if the stream is more than that."""
        return None if self._tls is not None or self._early else cast("socket.socket", self._sock)

    # Writing

    def send_now(self, data: bytes | memoryview) -> int:
        """How many bytes of `data` were taken without waiting, 0 if it would block.

        After a 0, the next call's data must start with the same bytes: a TLS record may be half written.
        Raises ConnectionLost, TLSError (the peer's alert).
        """
        if self.told is None:
            return self._transmit(data)
        try:
            sent = self._transmit(data)
        except TransportError as error:
            self.told.ended("client", "" if self._interrupted else type(error.__cause__ or error).__name__)
            raise
        if sent:
            self.told.sent(bytes(data[:sent]))
        return sent

    def _transmit(self, data: bytes | memoryview) -> int:
        try:
            return self._sock.send(data) if self._tls is None else self._send_records(memoryview(data))
        except BlockingIOError:
            return 0
        except OSError as error:
            self._failed_write(error)
            return 0

    def _send_records(self, data: memoryview) -> int:
        """Records, as many as are taken at once. Raises what kept the first one from being sent."""
        if (late := self._late_write) is not None:
            self._late_write = None
            raise late
        data = data[:_BATCH]
        sent = self._send_record(data[: self._unsent or _RECORD])
        if sent == len(data):
            return sent
        corked = self._cork(1)
        try:
            while sent < len(data):
                sent += self._send_record(data[sent : sent + _RECORD])
        except OSError as error:
            from rawkube.wire import tls

            if not tls.would_block(error):  # for the next call, which finds nothing sent before it
                self._late_write = error.with_traceback(None)
        finally:
            if corked:
                self._cork(0)
        return sent

    def _cork(self, on: int) -> bool:
        """Have the kernel send full segments: a record alone would wake its reader for so little. Whether it does."""
        if _CORK is None:
            return False
        try:
            cast("socket.socket", self._sock).setsockopt(socket.IPPROTO_TCP, _CORK, on)
        except (OSError, AttributeError):  # no TCP, or TLS inside something else
            return False
        return True

    def _send_record(self, record: memoryview) -> int:
        assert self._tls is not None
        # OpenSSL wants a write that it could not finish repeated with the same length (SSL_write(3)).
        self._unsent = len(record)
        sent = self._tls.send(record)
        self._unsent = 0
        return sent

    def _failed_write(self, error: OSError) -> None:
        """No room to write yet, or raise."""
        if self._tls is not None:
            from rawkube.wire import tls

            if tls.would_block(error):
                self._crossed = not tls.wants_write(error)
                return
            from rawkube.wire import tls_failures

            if (failure := tls_failures.failure(error, self.server, self.about_client)) is not None:
                raise failure from error
        raise self._lost("write", error) from error

    def send_by(self, data: bytes | memoryview, end: float | None) -> bool:
        """Send all of `data` until a point in time (monotonic): whether it was all taken by then."""
        view = memoryview(data)
        while view:
            sent = self.send_now(view)
            view = view[sent:]
            if not sent and not self._wait(write=True, end=end):
                return False
            if view and end is not None and time.monotonic() >= end:
                return False
        return True

    def send(self, data: bytes | memoryview, *, timeout: float | None) -> None:
        """Send all of `data`.

        Raises DeadlineExceeded (step `send`) after `timeout` seconds, ConnectionLost, TLSError.
        """
        if not self.send_by(data, None if timeout is None else time.monotonic() + timeout):
            raise DeadlineExceeded(f"write tcp {self.names}: i/o timeout", step="send", server=self.server)

    # The end

    def _lost(self, what: str, error: OSError) -> TransportError:
        if self._closed:
            return ConnectionLost(f"{what} tcp {self.names}: use of closed network connection", server=self.server)
        cause = os.strerror(error.errno).lower() if error.errno else "connection lost"
        return ConnectionLost(f"{what} tcp {self.names}: {what}: {cause}", server=self.server)

    def end_writing(self) -> None:
        """Say that nothing more is sent, while what comes can still be read; nothing is said inside TLS."""
        if self._tls is None:
            try:
                cast("socket.socket", self._sock).shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def interrupt(self) -> None:
        """End both directions at once, from any thread: whoever waits for this connection sees its end."""
        self._interrupted = True
        try:
            if hasattr(self._sock, "interrupt"):
                self._sock.interrupt()
            else:
                # Not SSLSocket.shutdown, which would take the TLS object away from the thread that reads.
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        """Close the connection; TLS is told so (close_notify) if that needs no waiting. Twice is harmless."""
        if self._closed:
            return
        self._closed = True
        if self.told is not None:
            self.told.closed()
        try:
            if self._tls is not None:
                self._tls.unwrap()
        except (OSError, ValueError):
            pass
        self._sock.close()
