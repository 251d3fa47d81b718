"""TLS for one endpoint: a context made from its options, the handshake, and its failures in Go's words.

Imported for https endpoints only: `ssl` costs a start several milliseconds.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.errors import ConnectionLost, RawkubeError, TLSError, TransportError
from rawkube.wire import keypair, x509
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

# Alerts (RFC 8446, section 6) as OpenSSL names them, and Go's words for them (crypto/tls/alert.go).
_ALERTS = {
    "ACCESS_DENIED": "access denied",
    "BAD_CERTIFICATE": "bad certificate",
    "BAD_RECORD_MAC": "bad record MAC",
    "CERTIFICATE_EXPIRED": "expired certificate",
    "CERTIFICATE_REQUIRED": "certificate required",
    "CERTIFICATE_REVOKED": "revoked certificate",
    "CERTIFICATE_UNKNOWN": "unknown certificate",
    "DECODE_ERROR": "error decoding message",
    "DECRYPT_ERROR": "error decrypting message",
    "HANDSHAKE_FAILURE": "handshake failure",
    "ILLEGAL_PARAMETER": "illegal parameter",
    "INAPPROPRIATE_FALLBACK": "inappropriate fallback",
    "INSUFFICIENT_SECURITY": "insufficient security level",
    "INTERNAL_ERROR": "internal error",
    "NO_APPLICATION_PROTOCOL": "no application protocol",
    "PROTOCOL_VERSION": "protocol version not supported",
    "UNEXPECTED_MESSAGE": "unexpected message",
    "UNKNOWN_CA": "unknown certificate authority",
    "UNRECOGNIZED_NAME": "unrecognized name",
    "UNSUPPORTED_CERTIFICATE": "unsupported certificate",
}

# X509_V_ERR_* (OpenSSL, x509_vfy.h) that Go calls "signed by unknown authority", and the two about dates.
_UNKNOWN_AUTHORITY = frozenset({2, 7, 18, 19, 20, 21, 24, 27, 32, 79, 85, 86, 89})
_ABOUT_CERTIFICATES = frozenset(
    alert for alert in _ALERTS if "CERTIFICATE" in alert or alert in ("UNKNOWN_CA", "ACCESS_DENIED")
)
_UNFIT_ISSUER = frozenset({24, 27, 32, 79, 85, 86, 89})  # it is known, but may not sign
_DATES = frozenset({9, 10})

# How long the look at a certificate that was not trusted may take, in seconds.
_SECOND_LOOK = 2.0


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
    context = _new_context(key.ca_pem, key.verify, pair, system=key.system_roots)
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


def _new_context(
    ca_pem: bytes | None, verify: bool, pair: tuple[bytes, bytes] | None, *, system: bool = False
) -> ssl.SSLContext:
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
        return _handshake(sock, context, options.server_name, end)
    except ssl.SSLCertVerificationError as error:
        raise _not_trusted(error, options, server, again) from error
    except _PlainHTTP as error:
        raise TLSError("http: server gave HTTP response to HTTPS client", server=server) from error
    except _NoServerName as error:
        raise TLSError(f"tls: {options.server_name!a} is not a server name", server=server) from error
    except OSError as error:
        about = about_client(options)
        raise _failed_handshake(error, server, about) from error


class _PlainHTTP(Exception):
    """The answer to the ClientHello was HTTP."""


class _NoServerName(Exception):
    """A certificate cannot be checked against this name."""


def _handshake(sock: socket.socket | Stream, context: ssl.SSLContext, name: str, end: float) -> Secured | None:
    try:
        # As bytes: for a str, Python would import its IDNA tables.
        host = _sni(name).encode("ascii" if name.isascii() else "idna") or None
        if b"\0" in (host or b""):  # a TypeError later, after which Python would leave the socket open
            raise ValueError("a NUL")
        wrapped = _wrapped(sock, context, host)
    except ValueError as error:  # no name, or one that cannot be: check_hostname refuses it
        sock.close()
        raise _NoServerName from error
    except BaseException:
        sock.close()
        raise
    try:
        done = _shake_hands(wrapped, end)
    except BaseException as error:
        is_http = isinstance(error, ssl.SSLError) and _is_http(wrapped, b"1.")
        wrapped.close()
        if is_http:
            raise _PlainHTTP from error
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


def _sni(name: str) -> str:
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


def _shake_hands(sock: Secured, end: float) -> bool:
    while True:
        try:
            sock.do_handshake()
            return True
        except ssl.SSLWantReadError:
            if not wait_for(sock.fileno(), write=False, end=end):
                return False
            if _is_http(sock, b"HTTP/"):
                raise _PlainHTTP from None
        except ssl.SSLWantWriteError:
            if not wait_for(sock.fileno(), write=True, end=end):
                return False


# Failures


def would_block(error: OSError) -> bool:
    """Whether a TLS socket only says that it has to wait."""
    return isinstance(error, ssl.SSLWantReadError | ssl.SSLWantWriteError)


def wants_write(error: OSError) -> bool:
    """Whether a TLS socket has to wait until it may write."""
    return isinstance(error, ssl.SSLWantWriteError)


def failure(error: OSError, server: str, about_client: Callable[[], str] | None = None) -> TransportError | None:
    """The error of TLS itself, in Go's words; None for one of the socket below.

    `about_client` says in a line which certificate the client had shown.
    """
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return ConnectionLost("EOF", server=server)
    if not isinstance(error, ssl.SSLError):
        return None
    reason = error.reason or ""
    _, is_alert, alert = reason.partition("_ALERT_")
    if not is_alert and reason.endswith("UNRECOGNIZED_NAME"):  # TLSV1_UNRECOGNIZED_NAME
        is_alert, alert = "yes", "UNRECOGNIZED_NAME"
    if is_alert:
        words = _ALERTS.get(alert) or alert.lower().replace("_", " ")
        detail = ["the server speaks only to clients that show a certificate"] * (alert == "CERTIFICATE_REQUIRED")
        if about_client is not None and alert in _ABOUT_CERTIFICATES:
            detail.append(about_client())
        return TLSError(f"remote error: tls: {words}", server=server, detail=filter(None, detail))
    if reason in ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"):
        return TLSError("tls: first record does not look like a TLS handshake", server=server)
    return TLSError(f"tls: {reason.lower().replace('_', ' ') or str(error)}", server=server)


def about_client(options: TLSOptions) -> Callable[[], str] | None:
    """What says which client certificate these options show; None if they show none."""
    pair = options.client_cert() if options.client_cert is not None else None
    if pair is None:
        return None

    def about() -> str:
        leaf = next((der for label, der in keypair.pem_blocks(pair[0]) if label == "CERTIFICATE"), b"")
        certificate = _parsed(leaf)
        if certificate is None:
            return ""
        now = _now()
        late = " (it has expired)" if now > certificate.not_after else ""
        early = " (it is not yet valid)" if now < certificate.not_before else ""
        return f"the client showed the {x509.describe(certificate)}{late}{early}"

    return about


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _failed_handshake(error: OSError, server: str, about: Callable[[], str] | None = None) -> TransportError:
    found = failure(error, server, about)
    if found is None:
        cause = os.strerror(error.errno).lower() if error.errno else "EOF"
        found = ConnectionLost(f"read tcp {server}: read: {cause}", server=server)
    if isinstance(found, ConnectionLost):
        found.detail = ("the connection was closed during the TLS handshake",)
    return found


def _not_trusted(
    error: ssl.SSLCertVerificationError,
    options: TLSOptions,
    server: str,
    again: Callable[[float], socket.socket | Stream] | None,
) -> TLSError:
    leaf = _look_again(options, again) if again is not None else None
    text, detail = _explain(error, options, leaf, _now())
    return TLSError(f"tls: failed to verify certificate: {text}", server=server, detail=detail)


def _look_again(options: TLSOptions, again: Callable[[float], socket.socket | Stream]) -> x509.Certificate | None:
    """The server's certificate, from a handshake that trusts anybody and after which nothing is sent."""
    end = time.monotonic() + _SECOND_LOOK
    try:
        sock = _handshake(again(end), _new_context(b"", False, None), options.server_name, end)
        if sock is None:
            return None
        try:
            return certificate_of(sock)
        finally:
            sock.close()
    except (OSError, TransportError, _PlainHTTP, _NoServerName):
        return None


def certificate_of(sock: Secured) -> x509.Certificate | None:
    """The peer's certificate, None if it has none or it cannot be read."""
    try:
        return x509.parse(sock.getpeercert(binary_form=True) or b"")
    except ValueError:
        return None


def _explain(
    error: ssl.SSLCertVerificationError, options: TLSOptions, leaf: x509.Certificate | None, now: str
) -> tuple[str, list[str]]:
    """The text without its prefix, and the lines of detail."""
    code, message = error.verify_code, error.verify_message
    unknown = "x509: certificate signed by unknown authority"
    if leaf is None:
        return (unknown if code in _UNKNOWN_AUTHORITY else f"x509: {message}"), []
    ca_pem = options.roots()
    roots = roots_of(ca_pem)
    text = x509.why_not_trusted(leaf, _sni(options.server_name), now)
    if text == unknown and code not in _UNKNOWN_AUTHORITY:
        text = _about_issuer(roots, now) if code in _DATES else f"x509: {message}"
    detail = [f"the server showed the {x509.describe(leaf)}"]
    if code in _UNFIT_ISSUER:
        detail.append(f"OpenSSL: {message}")
    elif text == unknown:
        detail += _about_roots(leaf, roots, ca_pem)
    return text, detail


def roots_of(ca_pem: bytes | None) -> list[x509.Certificate]:
    """The certificates of a CA file that can be read."""
    return [c for c in map(_parsed, keypair.root_certificates(ca_pem or b"")) if c]


def laxness(options: TLSOptions, leaf: x509.Certificate | None) -> str:
    """What newer Python's strict mode (VERIFY_X509_STRICT) would have refused here; empty if nothing."""
    if not options.verify or leaf is None:
        return ""
    bare = [root for root in roots_of(options.roots()) if root.subject == leaf.issuer and not root.has_subject_key]
    if bare:
        what = f'the CA "{bare[0].subject}" has no Subject Key Identifier'
    elif not leaf.has_authority_key and leaf.subject != leaf.issuer:
        what = f'the certificate of "{leaf.subject}" has no Authority Key Identifier'
    else:
        return ""
    return f"{what}, which Python's strict mode would refuse; the chain and the names were checked all the same"


def _parsed(der: bytes) -> x509.Certificate | None:
    try:
        return x509.parse(der)
    except ValueError:
        return None


def _about_issuer(roots: list[x509.Certificate], now: str) -> str:
    """The leaf's dates are good, so an issuer's are not."""
    text = "x509: certificate signed by unknown authority"
    for root in roots:
        if not root.not_before <= now <= root.not_after:
            why = x509.why_not_trusted(root, "", now)
            name = root.common_name or root.subject
            return (
                f'{text} (possibly because of "{why}" while trying to verify candidate authority certificate "{name}")'
            )
    return text


def _about_roots(leaf: x509.Certificate, roots: list[x509.Certificate], ca_pem: bytes | None) -> list[str]:
    if ca_pem is None:
        return ["no CA is configured: only the system's root certificates are trusted"]
    if any(root.subject == leaf.issuer for root in roots):
        return [
            f'the configured CA has the name "{leaf.issuer}" too, but its key did not sign this certificate: '
            "the cluster may have been created anew, or its CA replaced"
        ]
    return [f"the configured CA is the {x509.describe(root)}" for root in roots[:3]]
