"""Through a proxy to a server: dial the proxy, ask it for a tunnel, TLS inside the tunnel."""

from __future__ import annotations

import socket
import time

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import ConnectionLost, DeadlineExceeded, ProxyError, TLSError, TransportError
from rawkube.wire.deadline import end_of, exceeded
from rawkube.wire.dial import Endpoint, Timeouts, dial, secure
from rawkube.wire.proxy import Connect, Conversation, Proxy, Socks5

if TYPE_CHECKING:
    from rawkube.wire.stream import Stream
    from rawkube.wire.tap import Tap

# How long the rest of a refusal is waited for, once its head is there, in seconds.
_REST_OF_REFUSAL = 2.0

_TRUST = "a proxy's certificate is checked against the system's roots (SSL_CERT_FILE) and the cluster's CA"


def dial_by_proxy(
    endpoint: Endpoint,
    proxy: Proxy,
    *,
    tunnel: bool,
    timeouts: Timeouts,
    deadline: float | None,
    tap: Tap | None,
    conn: int,
) -> Stream:
    """A stream to the server, or to a proxy that takes requests (`Endpoint.is_forwarded`, unless `tunnel`).

    Raises as `dial`; `error.server` is the server that was meant, and `detail` names the proxy.
    """
    stream = _to_proxy(endpoint, proxy, timeouts, deadline, tap, conn)
    stream.server = endpoint.authority
    if endpoint.is_forwarded and not tunnel:
        return stream
    _open(stream, endpoint, proxy, timeouts, deadline, tap)
    if endpoint.tls is None:
        return stream

    def again(end: float) -> socket.socket | Stream:
        second = _to_proxy(endpoint, proxy, timeouts, end, None, 0)
        _open(second, endpoint, proxy, timeouts, end, None)
        return _carrier(second)

    peer = f"{endpoint.authority}, reached through the proxy {proxy}, "
    return secure(
        _carrier(stream), endpoint.tls, again, peer=peer, server=endpoint.authority, timeouts=timeouts,
        deadline=deadline, tap=tap, conn=conn,
    )  # fmt: skip


def _carrier(stream: Stream) -> socket.socket | Stream:
    """What TLS goes onto: the socket itself where there is nothing else between."""
    return stream.bare() or stream


def _to_proxy(
    endpoint: Endpoint, proxy: Proxy, timeouts: Timeouts, deadline: float | None, tap: Tap | None, conn: int
) -> Stream:
    there = Endpoint(proxy.host, proxy.port, proxy.tls)
    try:
        return dial(there, timeouts=timeouts, deadline=deadline, tap=tap, conn=conn)
    except TransportError as error:
        # Go's words (net.OpError); a passed deadline of the whole exchange says nothing about the proxy.
        if not (isinstance(error, DeadlineExceeded) and error.step == "request"):
            error.args = (f"proxyconnect tcp: {error}",)
        error.server = endpoint.authority
        error.detail = (f"the way to {endpoint.authority} is the proxy {proxy.named}", *error.detail)
        if isinstance(error, TLSError) and proxy.tls is not None:
            error.detail = (*error.detail, _TRUST)
        raise


def _open(
    stream: Stream, endpoint: Endpoint, proxy: Proxy, timeouts: Timeouts, deadline: float | None, tap: Tap | None
) -> None:
    """Have the tunnel opened; the stream is closed if it is not."""
    start = time.monotonic()
    talk: Conversation
    try:
        kind = Socks5 if proxy.kind == "socks5" else Connect
        talk = kind(proxy, endpoint.host, endpoint.port)
        try:
            _converse(stream, talk, timeouts, deadline)
        finally:
            if tap is not None:
                _tell(tap, stream.conn, proxy, endpoint, talk, time.monotonic() - start)
    except TransportError as error:
        stream.close()
        error.server = endpoint.authority
        if not error.detail:
            error.detail = (f"the proxy {proxy.named} did not open a tunnel to {endpoint.authority}",)
        if proxy.kind == "socks5":
            raise _in_socks_words(error, proxy) from None
        raise
    except BaseException:
        stream.close()
        raise
    if talk.leftover:
        stream.unread(talk.leftover)


def _in_socks_words(error: TransportError, proxy: Proxy) -> TransportError:
    if isinstance(error, DeadlineExceeded):
        return error
    text = f"socks connect tcp {proxy.authority}->{error.server}: {error}"
    if isinstance(error, ConnectionLost) and str(error).endswith("EOF"):  # which kubectl does not try again here
        return ProxyError(text, server=error.server, detail=error.detail)
    error.args = (text,)
    return error


def _converse(stream: Stream, talk: Conversation, timeouts: Timeouts, deadline: float | None) -> None:
    out = talk.start()
    end = end_of(timeouts.first_byte, deadline)
    refusal: ProxyError | None = None
    while True:
        if out and not stream.send_by(out, end):
            raise _too_slow(stream, deadline)
        if not talk.wants:
            return
        if refusal is None and talk.refusal() is not None:
            end = end_of(_REST_OF_REFUSAL, end)
        refusal = talk.refusal()
        try:
            data = stream.recv_by(talk.wants, end)
        except TransportError:
            if refusal is None:
                raise
            raise refusal from None
        if data is None:
            raise refusal or _too_slow(stream, deadline)
        out = talk.feed(data)


def _too_slow(stream: Stream, deadline: float | None) -> DeadlineExceeded:
    text = f"read tcp {stream.names}: i/o timeout"
    return exceeded("proxy", text, deadline=deadline, server=stream.server)


def _tell(tap: Tap, conn: int, proxy: Proxy, endpoint: Endpoint, talk: Conversation, seconds: float) -> None:
    tap(
        "proxy",
        conn,
        proxy=str(proxy),
        target=endpoint.authority,
        method="SOCKS5" if proxy.kind == "socks5" else "CONNECT",
        authenticated=proxy.username is not None,
        status=talk.status,
        reason=talk.reason,
        seconds=seconds,
    )
