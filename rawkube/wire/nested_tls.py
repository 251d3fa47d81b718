"""TLS inside a stream: through a tunnel whose own connection is TLS, or whose first bytes have come already.

`ssl.SSLSocket` wants a socket of its own. This has those of its methods that `Stream` uses, and moves the bytes
itself, between OpenSSL's memory and the stream below.
"""

from __future__ import annotations

import errno
import ssl

from rawkube._typing import TYPE_CHECKING, Literal
from rawkube.errors import TransportError

if TYPE_CHECKING:
    from rawkube.wire.stream import Stream

_READ = 64 * 1024


class NestedTLS:
    """The client's side of TLS on a stream that it owns. Never waits: raises SSLWantReadError, SSLWantWriteError.

    Those say what the descriptor below must be waited for. `first`: the first bytes that came.
    """

    def __init__(self, context: ssl.SSLContext, stream: Stream, *, server_hostname: bytes | None) -> None:
        self._stream = stream
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_hostname)
        self._unsent = b""  # records for the stream below
        self._taken = 0  # bytes of the caller that are in `_unsent` and not yet reported as sent
        self._ready = b""  # decrypted, but not yet asked for
        self._failure: Exception | None = None  # met while looking ahead
        self._ended = False  # likewise
        self.first = b""

    # What SSLSocket has

    def setblocking(self, blocking: bool) -> None:
        """It never blocks."""
        assert not blocking

    def fileno(self) -> int:
        """The descriptor below."""
        return self._stream.fileno()

    def getsockname(self) -> tuple[object, ...]:
        """Of the connection to the proxy."""
        return self._stream.ends[0]

    def getpeername(self) -> tuple[object, ...]:
        """The proxy."""
        return self._stream.ends[1]

    def version(self) -> str | None:
        """Of TLS."""
        return self._tls.version()

    def cipher(self) -> tuple[str, str, int] | None:
        """(name, version, bits)."""
        return self._tls.cipher()

    def selected_alpn_protocol(self) -> str | None:
        """Of ALPN."""
        return self._tls.selected_alpn_protocol()

    def getpeercert(self, binary_form: Literal[True]) -> bytes | None:
        """The server's certificate, DER."""
        return self._tls.getpeercert(binary_form)

    def do_handshake(self) -> None:
        """Go on with the handshake. Raises ssl.SSLError, TransportError."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()
            except ssl.SSLError:
                self._flush_quietly()  # the alert
                raise
            else:
                self._flush()
                return

    def recv(self, limit: int) -> bytes:
        """Decrypted bytes, b"" at the end."""
        while True:
            if self._ready:
                data, self._ready = self._ready[:limit], self._ready[limit:]
                return data
            if self._failure is not None:
                raise self._failure
            if self._ended:
                return b""
            try:
                return self._tls.read(limit)
            except ssl.SSLWantReadError:
                if self._outgoing.pending:  # an answer to a KeyUpdate
                    self._flush_quietly()
                self._fill()
            except ssl.SSLEOFError:
                return b""

    def pending(self) -> int:
        """Decrypted bytes that no selector sees, in whichever layer they wait."""
        if not self._ready and not self._over() and (self._incoming.pending or self._stream.pending()):
            self._look_ahead()
        # No selector will tell of an end that was met on the way.
        return len(self._ready) + self._tls.pending() or int(self._over())

    def _over(self) -> bool:
        return self._ended or self._failure is not None

    def _look_ahead(self) -> None:
        """Decrypt what has come already; nothing is read from the socket."""
        while not self._ready and not self._tls.pending():
            try:
                self._ready = self._tls.read(_READ)
                if not self._ready:  # close_notify
                    self._ended = True
                    return
            except ssl.SSLWantReadError:
                if not self._stream.pending():
                    return
                try:
                    self._fill()
                except (ssl.SSLError, TransportError) as error:
                    self._failure = error
                    return
            except ssl.SSLError as error:
                self._failure = error
                return

    def send(self, data: bytes | memoryview) -> int:
        """Take at most a record of `data`; after SSLWantWriteError, the same bytes must come again."""
        if self._stream.fileno() < 0:
            raise OSError(errno.EBADF, "closed")
        if not self._taken:
            self._taken = self._tls.write(data)
        self._flush()
        sent, self._taken = self._taken, 0
        return sent

    def unwrap(self) -> None:
        """Say goodbye (close_notify) to the server, if that needs no waiting."""
        try:
            self._tls.unwrap()
        except (ssl.SSLError, ValueError):
            pass
        self._flush_quietly()

    def interrupt(self) -> None:
        """End both directions at once, from any thread."""
        self._stream.interrupt()

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()

    # Between OpenSSL and the stream

    def _fill(self) -> None:
        """Give OpenSSL what has come; raises SSLWantReadError (or Write) if nothing has."""
        data = self._stream.recv_now(_READ)
        if data is None:
            if self._stream.crossed():
                raise ssl.SSLWantWriteError
            raise ssl.SSLWantReadError
        if data:
            self.first = self.first or data[:16]
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def _flush(self) -> None:
        """Pass on what OpenSSL wrote, all of it; raises SSLWantWriteError (or Read) if it is not all taken."""
        while True:
            self._unsent += self._outgoing.read()
            if not self._unsent:
                return
            sent = self._stream.send_now(self._unsent)
            if not sent:
                if self._stream.crossed():
                    raise ssl.SSLWantReadError
                raise ssl.SSLWantWriteError
            self._unsent = self._unsent[sent:]

    def _flush_quietly(self) -> None:
        try:
            self._flush()
        except (ssl.SSLError, TransportError):
            pass
