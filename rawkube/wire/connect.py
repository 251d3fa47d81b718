"""From a host name to a connected TCP socket, each step with an end."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import time

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.errors import ConnectError, ConnectionRefused, ResolveError, TransportError
from rawkube.gotext import one_line
from rawkube.wire.stream import address_text

if TYPE_CHECKING:
    from collections.abc import Callable

# How long an address is waited for before the next one is tried beside it (RFC 8305, section 5, "Connection
# Attempt Delay"; Go's net.Dialer.FallbackDelay), in seconds.
NEXT_ADDRESS_AFTER = 0.3

# Seconds of silence before the first probe, and between probes (client-go's net.Dialer).
_KEEP_ALIVE = 30


class Address(NamedTuple):
    """A socket family and an address of that family, as `getaddrinfo` gives them."""

    family: int
    sockaddr: tuple[str, int] | tuple[str, int, int, int]

    def __str__(self) -> str:
        """`HOST:PORT`."""
        return address_text(self.sockaddr)


def literal(host: str, port: int) -> Address | None:
    """The address that an IP literal is, None for a name."""
    if ":" in host:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except (OSError, UnicodeError):
            return None
        return Address(found[0][0], found[0][4])  # type: ignore[arg-type]
    try:
        socket.inet_pton(socket.AF_INET, host)
    except (OSError, ValueError, UnicodeError):
        return None
    return Address(socket.AF_INET, (host, port))


def resolve(host: str, port: int, end: float, *, server: str) -> list[Address] | None:
    """The addresses of a name, in the order to try them; None if `end` (monotonic) passed.

    The resolver of the system knows no time limit, so it runs in a thread, which is left behind if it is too
    slow. Raises ResolveError.
    """
    import threading

    result: list[list[Address] | Exception] = []
    thread = threading.Thread(target=_look_up, args=(host, port, result), daemon=True, name="resolve")
    thread.start()
    thread.join(max(0.0, end - time.monotonic()))
    if not result:
        return None
    found = result[0]
    if isinstance(found, list) and found:
        return found
    raise ResolveError(f"dial tcp: lookup {one_line(host)}: {_resolver_text(found)}", server=server)


def _look_up(host: str, port: int, result: list[list[Address] | Exception]) -> None:
    try:
        # As bytes where that is enough: for a str, Python would import its IDNA tables.
        # An empty name is no wildcard.
        name = host.encode("ascii" if host.isascii() else "idna")
        infos = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM) if name else []
        found = [Address(info[0], info[4]) for info in infos]  # type: ignore[arg-type]
        result.append(list(dict.fromkeys(found)))
    except Exception as error:  # whatever it is: the thread that waits must hear of it
        result.append(error)


def _resolver_text(found: list[Address] | Exception) -> str:
    unknown = {getattr(socket, name, None) for name in ("EAI_NONAME", "EAI_NODATA")}
    if isinstance(found, socket.gaierror) and found.errno not in unknown:
        return (found.strerror or "server misbehaving").lower()
    return "no such host"


class _Attempts:
    """Connections that are being made. The first one that is made counts, the others are closed."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.failed: list[tuple[Address, int]] = []

    def start(self, address: Address) -> socket.socket | None:
        """Begin with one address: the socket if it is connected already."""
        try:
            sock = socket.socket(address.family, socket.SOCK_STREAM)
        except OSError as error:  # no IPv6 in this kernel
            self.failed.append((address, error.errno or errno.EAFNOSUPPORT))
            return None
        sock.setblocking(False)
        code = sock.connect_ex(address.sockaddr)
        if code == 0:
            return sock
        if code in (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR):
            self.selector.register(sock, selectors.EVENT_WRITE, address)
            return None
        sock.close()
        self.failed.append((address, code))
        return None

    def wait(self, end: float) -> socket.socket | None:
        """Until one is connected (its socket), one has failed, or `end` has come (None)."""
        for key, _ in self.selector.select(max(0.0, end - time.monotonic())):
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            self.selector.unregister(sock)
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code == 0:
                return sock
            sock.close()
            self.failed.append((key.data, code))
        return None

    def running(self) -> list[Address]:
        return [key.data for key in self.selector.get_map().values()]

    def close(self) -> None:
        for key in list(self.selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self.selector.close()


def connect(
    addresses: list[Address], end: float, *, server: str, meanwhile: Callable[[], None] = lambda: None
) -> socket.socket | Address:
    """A connected, non-blocking socket; the address that was still waited for if `end` (monotonic) passed.

    The addresses are tried in order, the next one when one fails or after 0.3 s. `meanwhile()` is called once, while
    the first is waited for. Raises ConnectionRefused, ConnectError.
    """
    attempts = _Attempts()
    try:
        waiting = list(addresses)
        sock = attempts.start(waiting.pop(0)) if waiting else None
        if sock is None and attempts.running():
            meanwhile()
        sock = sock or _first_connected(attempts, waiting, end)
        if sock is None and (late := attempts.running()):
            return late[0]
    finally:
        attempts.close()
    if sock is None:
        raise _no_connection(attempts.failed, server)
    _set_options(sock)
    return sock


def _first_connected(attempts: _Attempts, waiting: list[Address], end: float) -> socket.socket | None:
    """The first of those that are running or waiting."""
    while True:
        failures = len(attempts.failed)
        until = min(end, time.monotonic() + NEXT_ADDRESS_AFTER) if waiting else end
        while attempts.running() and len(attempts.failed) == failures and time.monotonic() < until:
            if sock := attempts.wait(until):
                return sock
        if time.monotonic() >= end:
            return None
        if waiting:
            if sock := attempts.start(waiting.pop(0)):
                return sock
        elif not attempts.running():
            return None


def _no_connection(failed: list[tuple[Address, int]], server: str) -> TransportError:
    """Somebody's answer says more than a way that is not there, so a refusal comes first."""
    refused = [f for f in failed if f[1] == errno.ECONNREFUSED]
    # What never reached anybody is no answer: an address family that this machine does not have.
    unanswered = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENETUNREACH)
    others = [f for f in failed if f[1] not in (errno.ECONNREFUSED, *unanswered)]
    address, code = (refused if refused and not others else others or failed)[0]
    detail = [_failure_text(*f) for f in failed] if len(failed) > 1 else []
    kind = ConnectionRefused if refused and not others else ConnectError
    return kind(_failure_text(address, code), server=server, detail=detail)


def _failure_text(address: Address, code: int) -> str:
    return f"dial tcp {address}: connect: {os.strerror(code).lower()}"


def _set_options(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in (
        "TCP_KEEPIDLE",
        "TCP_KEEPALIVE",
        "TCP_KEEPINTVL",
    ):  # the second is macOS's name for the first
        if (option := getattr(socket, name, None)) is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, _KEEP_ALIVE)
