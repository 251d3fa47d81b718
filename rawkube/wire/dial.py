"""From an endpoint to a stream: resolve, connect, proxy, TLS; each step with its own limit of time.

Knows nothing of HTTP. `Endpoint`, `TLSOptions` and `Timeouts` are all that the floors above have to fill in.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.errors import ConnectionLost, RawkubeError, TransportError
from rawkube.wire.connect import Address, connect, literal, resolve
from rawkube.wire.deadline import end_of, exceeded
from rawkube.wire.stream import Stream

if TYPE_CHECKING:
    from rawkube.wire.proxy import Proxy
    from rawkube.wire.tap import Tap
    from rawkube.wire.tls import Secured


class TLSOptions(NamedTuple):
    """How to speak TLS.

    `server_name`: the name that is sent (SNI) and that the certificate must be for; an IP address is only
    checked.
    `ca_pem`: whom to trust; None: the system's roots; b"": nobody. A callable is asked at each handshake.
    `verify`: False trusts anybody.
    `client_cert`: asked at each handshake for (certificate chain, key) in PEM, or None.
    `system_roots`: trust the system's roots beside those of `ca_pem`.
    """

    server_name: str
    ca_pem: bytes | Callable[[], bytes | None] | None = None
    verify: bool = True
    client_cert: Callable[[], tuple[bytes, bytes] | None] | None = None
    system_roots: bool = False

    def roots(self) -> bytes | None:
        """What `ca_pem` is now."""
        return self.ca_pem() if callable(self.ca_pem) else self.ca_pem


class Endpoint(NamedTuple):
    """Where a server is: `host` without brackets, TLS or none, and the proxy before it, if any."""

    host: str
    port: int
    tls: TLSOptions | None = None
    proxy: Proxy | None = None

    @property
    def authority(self) -> str:
        """`HOST:PORT`, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def host_header(self) -> str:
        """The Host header's value: as `authority`, less the scheme's own port (RFC 9110, section 4.2.3)."""
        default = 443 if self.tls else 80
        # The zone of a link-local address has no meaning on the other side (RFC 6874, section 1).
        host = f"[{self.host.partition('%')[0]}]" if ":" in self.host else self.host
        return host if self.port == default else f"{host}:{self.port}"

    @property
    def is_forwarded(self) -> bool:
        """Whether the proxy is sent the requests themselves: http to the server, and no SOCKS."""
        return self.proxy is not None and self.tls is None and self.proxy.kind != "socks5"


class Timeouts(NamedTuple):
    """How long each step may take, in seconds. The first three and `first_byte` are Go's and client-go's.

    `resolve`, `connect` and `tls` hold for the way to a proxy too; its answer may take as long as a `first_byte`.
    `first_byte` is for the whole head of the answer, `silence` for each wait for more of its body.
    """

    resolve: float = 10.0
    connect: float = 30.0
    tls: float = 10.0
    send: float = 60.0
    first_byte: float = 60.0
    silence: float = 60.0


_DEFAULT_TIMEOUTS = Timeouts()


def dial(
    endpoint: Endpoint,
    *,
    timeouts: Timeouts = _DEFAULT_TIMEOUTS,
    deadline: float | None = None,
    tap: Tap | None = None,
    conn: int = 0,
    tunnel: bool = False,
) -> Stream:
    """Connect. `deadline` (monotonic) bounds all steps together.

    `tunnel`: through the proxy to the server even where the proxy would take requests (`is_forwarded`).
    Raises ConfigError (CA or key pair that cannot be used), ResolveError, ConnectError, TLSError, ProxyError,
    ConnectionLost, ProtocolError (no answer of a proxy), DeadlineExceeded (step `resolve`, `connect`, `proxy`, `tls`
    or `request`).
    """
    if endpoint.proxy is not None:
        from rawkube.wire.proxy_connect import dial_by_proxy

        return dial_by_proxy(
            endpoint, endpoint.proxy, tunnel=tunnel, timeouts=timeouts, deadline=deadline, tap=tap, conn=conn
        )
    sock = _connected(endpoint, timeouts, deadline, tap, conn)
    if endpoint.tls is None:
        return Stream(sock, conn=conn, server=endpoint.authority)
    try:
        peer = Address(sock.family, sock.getpeername())
    except OSError as error:  # reset already
        sock.close()
        text = f"read tcp {endpoint.authority}: read: connection reset by peer"
        raise ConnectionLost(text, server=endpoint.authority) from error

    def again(end: float) -> socket.socket:
        second = connect([peer], end, server=endpoint.authority)
        if isinstance(second, Address):
            raise TransportError("i/o timeout")
        return second

    return secure(
        sock, endpoint.tls, again, peer=str(peer), server=endpoint.authority, timeouts=timeouts, deadline=deadline,
        tap=tap, conn=conn,
    )  # fmt: skip


def _connected(
    endpoint: Endpoint, timeouts: Timeouts, deadline: float | None, tap: Tap | None, conn: int
) -> socket.socket:
    addresses = _addresses(endpoint, timeouts, deadline, tap, conn)
    start = time.monotonic()
    end = end_of(timeouts.connect, deadline)
    sock = connect(addresses, end, server=endpoint.authority, meanwhile=lambda: _prepare(endpoint.tls))
    if isinstance(sock, Address):
        raise exceeded(
            "connect",
            f"dial tcp {sock}: i/o timeout",
            deadline=deadline,
            server=endpoint.authority,
            detail=[f"no answer from {', '.join(map(str, addresses))} in {time.monotonic() - start:.1f} s"],
        )
    if tap is not None:
        _tell_connected(tap, conn, sock, start)
    return sock


def _prepare(options: TLSOptions | None) -> None:
    """What TLS needs and takes its time, while the network has something to do."""
    if options is None:
        return
    from rawkube.wire import tls

    try:
        tls.context_for(options)
    except RawkubeError:  # to be told when its turn comes: that there is no server may come first
        pass


def _tell_connected(tap: Tap, conn: int, sock: socket.socket, start: float) -> None:
    try:
        host, port = sock.getpeername()[:2]
    except OSError:  # reset already
        return
    tap("connect", conn, address=host, port=port, seconds=time.monotonic() - start)


def _addresses(
    endpoint: Endpoint, timeouts: Timeouts, deadline: float | None, tap: Tap | None, conn: int
) -> list[Address]:
    if (known := literal(endpoint.host, endpoint.port)) is not None:
        return [known]
    start = time.monotonic()
    end = end_of(timeouts.resolve, deadline)
    found = resolve(endpoint.host, endpoint.port, end, server=endpoint.authority)
    if found is None:
        raise exceeded(
            "resolve",
            f"dial tcp: lookup {endpoint.host}: i/o timeout",
            deadline=deadline,
            server=endpoint.authority,
            detail=[f"the name {endpoint.host} was not resolved in {time.monotonic() - start:.1f} s"],
        )
    if tap is not None:
        names = [str(a.sockaddr[0]) for a in found]
        tap("resolve", conn, host=endpoint.host, addresses=names, seconds=time.monotonic() - start)
    return found


def secure(
    sock: socket.socket | Stream,
    options: TLSOptions,
    again: Callable[[float], socket.socket | Stream],
    *,
    peer: str,
    server: str,
    timeouts: Timeouts,
    deadline: float | None,
    tap: Tap | None,
    conn: int,
) -> Stream:
    """TLS on a connected socket or inside a stream, which is closed if that fails.

    `again(end)` makes a second connection to the same server (see tls.handshake); `peer` is whom a message names.
    """
    from rawkube.wire import tls

    def look(end: float) -> socket.socket | Stream:
        if tap is not None:
            tap(
                "note",
                conn,
                text="the certificate was not trusted; it is looked at on a connection of its own",
            )
        return again(end)

    start = time.monotonic()
    end = end_of(timeouts.tls, deadline)
    secured = tls.handshake(sock, options, end, server=server, again=look)
    if secured is None:
        raise exceeded(
            "tls",
            "net/http: TLS handshake timeout",
            deadline=deadline,
            server=server,
            detail=[f"{peer} accepted the connection, but did not finish the TLS handshake"],
        )
    if tap is not None:
        _tell_secured(tap, conn, secured, options, start)
    stream = Stream(secured, conn=conn, server=server)
    stream.about_client = tls.about_client(options)
    return stream


def _tell_secured(tap: Tap, conn: int, sock: Secured, options: TLSOptions, start: float) -> None:
    from rawkube.wire import tls_failures

    seconds = time.monotonic() - start
    certificate, cipher = tls_failures.certificate_of(sock), sock.cipher()
    tap(
        "tls",
        conn,
        server_name=options.server_name,
        version=sock.version() or "",
        cipher=cipher[0] if cipher else "",
        alpn=sock.selected_alpn_protocol() or "",
        subject=certificate.subject if certificate else "",
        issuer=certificate.issuer if certificate else "",
        not_after=certificate.not_after if certificate else "",
        names=[*certificate.dns_names, *certificate.ip_addresses] if certificate else [],
        seconds=seconds,
    )
    if text := tls_failures.laxness(options, certificate):
        tap("note", conn, text=text)
