"""TLS for one endpoint: a context made from its options, and the handshake. What failed is told by `tls_failures`.

Imported for https endpoints only: `ssl` costs a start several milliseconds.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.errors import RawkubeError, TLSError
from rawkube.wire import keypair
from rawkube.wire.stream import Stream, wait_for

if TYPE_CHECKING:
    from rawkube.wire.dial import TLSOptions
    from rawkube.wire.nested_tls import NestedTLS

    Secured = ssl.SSLSocket | NestedTLS

# Where distributions keep their roots, for a Python whose OpenSSL was built with other paths (the list is
# that of Go, crypto/x509/root_linux.go).
_SYSTEM_ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)

# Where Go looks for more (crypto/x509/root_linux.go), beside a SSL_CERT_FILE too.
_SYSTEM_FOLDERS = ("/etc/ssl/certs", "/etc/pki/tls/certs")

# The context


def context_for(options: TLSOptions) -> ssl.SSLContext:
    """The context for these options; the same one again while CA and key pair stay the same.

    Raises ConfigError for a CA without a certificate and for a key pair that is none.
    """
    pair = options.client_cert() if options.client_cert is not None else None
    key = _Key(options.roots(), options.system_roots, options.verify, pair, _named_roots())
    for known, context in _contexts:
        if known == key:
            return context
    context = new_context(key.ca_pem, key.verify, pair, system=key.system_roots)
    _contexts.insert(0, (key, context))
    del _contexts[4:]
    return context


class _Key(NamedTuple):
    """What a context is made from."""

    ca_pem: bytes | None
    system_roots: bool
    verify: bool
    pair: tuple[bytes, bytes] | None
    named_roots: tuple[str | None, str | None]


def _named_roots() -> tuple[str | None, str | None]:
    return os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")


_contexts: list[tuple[_Key, ssl.SSLContext]] = []


def new_context(
    ca_pem: bytes | None, verify: bool, pair: tuple[bytes, bytes] | None, *, system: bool = False
) -> ssl.SSLContext:
    """A context that trusts these roots (PEM; None: the system's, which `system` adds), and shows this pair (PEM)."""
    # Not create_default_context: since Python 3.13 it refuses (VERIFY_X509_STRICT) CAs without key
    # identifiers, which clusters have and which Go accepts.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    # As in Go, whatever stands in the CA file is a root: an intermediate, or the server's own certificate.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        if ca_pem is None or system:
            _load_system_roots(context)
        keypair.root_certificates(ca_pem or b"", context)
    if pair is not None:
        # After verify=False too: who does not check the server may still have to show who they are.
        keypair.load(context, *pair)
    _log_keys(context)
    return context


def _load_system_roots(context: ssl.SSLContext) -> None:
    """SSL_CERT_FILE and SSL_CERT_DIR replace the file and the folders, each for itself, as in Go."""
    context.load_default_certs()
    paths = ssl.get_default_verify_paths()
    # typeshed does not know that both may be None
    if not (paths.cafile or paths.capath):
        for path in _SYSTEM_ROOTS:
            if os.path.exists(path):  # noqa: PTH110
                context.load_verify_locations(path)
                return
    if folders := os.environ.get("SSL_CERT_DIR"):
        _load_folders(context, folders.split(":"))
    elif not paths.capath:
        for folder in _SYSTEM_FOLDERS:
            if os.path.isdir(folder):  # noqa: PTH112
                context.load_verify_locations(capath=folder)


def _load_folders(context: ssl.SSLContext, folders: list[str]) -> None:
    """Every file there, as Go does; OpenSSL by itself sees only those that are named by their hash."""
    for folder in folders:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            try:
                context.load_verify_locations(entry.path)
            except OSError:  # no file, or no certificate in it
                continue


def _log_keys(context: ssl.SSLContext) -> None:
    """SSLKEYLOGFILE, as `ssl.create_default_context` and curl have it: for Wireshark."""
    if path := os.environ.get("SSLKEYLOGFILE"):
        context.keylog_filename = path


# The handshake


def handshake(
    sock: socket.socket | Stream,
    options: TLSOptions,
    end: float,
    *,
    server: str,
    again: Callable[[float], socket.socket | Stream] | None = None,
) -> Secured | None:
    """TLS on a connected socket, or inside a stream: like a socket (non-blocking), None if `end` (monotonic) passed.

    `again(end)` makes a second connection to the same address: on it the certificate that was not trusted is
    looked at, to say what was wrong with it; nothing but a handshake is sent. Whatever fails, `sock` is
    closed. Raises ConfigError, TLSError, ConnectionLost.
    """
    try:
        context = context_for(options)
    except RawkubeError:
        sock.close()
        raise
    try:
        return shake_hands(sock, context, options.server_name, end)
    except ssl.SSLCertVerificationError as error:
        from rawkube.wire.tls_failures import not_trusted

        raise not_trusted(error, options, server, again) from error
    except PlainHTTP as error:
        raise TLSError("http: server gave HTTP response to HTTPS client", server=server) from error
    except NoServerName as error:
        raise TLSError(f"tls: {options.server_name!a} is not a server name", server=server) from error
    except OSError as error:
        from rawkube.wire.tls_failures import failed_handshake

        raise failed_handshake(error, server, about_client(options)) from error


def about_client(options: TLSOptions) -> Callable[[], str] | None:
    """What says, later, which client certificate these options show now; None if they show none."""
    pair = options.client_cert() if options.client_cert is not None else None
    if pair is None:
        return None

    def about() -> str:
        from rawkube.wire.tls_failures import about_pair

        return about_pair(pair)

    return about


class PlainHTTP(Exception):
    """The answer to the ClientHello was HTTP."""


class NoServerName(Exception):
    """A certificate cannot be checked against this name."""


def shake_hands(sock: socket.socket | Stream, context: ssl.SSLContext, name: str, end: float) -> Secured | None:
    """As `handshake`; `sock` is closed if it fails. Raises PlainHTTP, NoServerName, and OSError as `ssl` does."""
    try:
        # As bytes: for a str, Python would import its IDNA tables.
        host = sni(name).encode("ascii" if name.isascii() else "idna") or None
        if b"\0" in (host or b""):  # a TypeError later, after which Python would leave the socket open
            raise ValueError("a NUL")
        wrapped = _wrapped(sock, context, host)
    except ValueError as error:  # no name, or one that cannot be: check_hostname refuses it
        sock.close()
        raise NoServerName from error
    except BaseException:
        sock.close()
        raise
    try:
        done = _finished(wrapped, end)
    except BaseException as error:
        is_http = isinstance(error, ssl.SSLError) and _is_http(wrapped, b"1.")
        wrapped.close()
        if is_http:
            raise PlainHTTP from error
        raise
    if done:
        return wrapped
    wrapped.close()
    return None


def _wrapped(sock: socket.socket | Stream, context: ssl.SSLContext, host: bytes | None) -> Secured:
    if isinstance(sock, Stream):
        from rawkube.wire.nested_tls import NestedTLS

        return NestedTLS(context, sock, server_hostname=host)
    sock.setblocking(False)
    return context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)


def sni(name: str) -> str:
    """No final dot (RFC 6066, section 3), no brackets and no zone around an address."""
    name = name.strip("[]")
    return name.partition("%")[0] if ":" in name else name.rstrip(".")


def _is_http(sock: Secured, start: bytes) -> bool:
    """Whether what waits in the socket starts so: an answer as a whole, or the rest that OpenSSL left of one.

    (OpenSSL reads the five bytes of a record's head, `HTTP/`, before it refuses them.)
    """
    if not isinstance(sock, ssl.SSLSocket):
        return sock.first.startswith(b"HTTP/")
    try:
        # SSLSocket.recv refuses flags; its base class does not.
        return socket.socket.recv(sock, len(start), socket.MSG_PEEK) == start
    except OSError:
        return False


def _finished(sock: Secured, end: float) -> bool:
    while True:
        try:
            sock.do_handshake()
            return True
        except ssl.SSLWantReadError:
            if not wait_for(sock.fileno(), write=False, end=end):
                return False
            if _is_http(sock, b"HTTP/"):
                raise PlainHTTP from None
        except ssl.SSLWantWriteError:
            if not wait_for(sock.fileno(), write=True, end=end):
                return False


# Waiting


def would_block(error: OSError) -> bool:
    """Whether a TLS socket only says that it has to wait."""
    return isinstance(error, ssl.SSLWantReadError | ssl.SSLWantWriteError)


def wants_write(error: OSError) -> bool:
    """Whether a TLS socket has to wait until it may write."""
    return isinstance(error, ssl.SSLWantWriteError)
