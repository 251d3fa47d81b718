"""What failed in TLS, in Go's words, with what the certificates say about it.

Apart from `tls`, as hardly any start needs it.
"""

from __future__ import annotations

import os
import ssl
import time

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import ConnectionLost, TLSError, TransportError
from rawkube.wire import keypair, x509
from rawkube.wire.tls import NoServerName, PlainHTTP, new_context, shake_hands, sni

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from rawkube.wire.dial import TLSOptions
    from rawkube.wire.stream import Stream
    from rawkube.wire.tls import Secured

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


def about_pair(pair: tuple[bytes, bytes]) -> str:
    """Which client certificate was shown, for a person; empty where it cannot be read."""
    leaf = next((der for label, der in keypair.pem_blocks(pair[0]) if label == "CERTIFICATE"), b"")
    certificate = _parsed(leaf)
    if certificate is None:
        return ""
    now = _now()
    late = " (it has expired)" if now > certificate.not_after else ""
    early = " (it is not yet valid)" if now < certificate.not_before else ""
    return f"the client showed the {x509.describe(certificate)}{late}{early}"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def failed_handshake(error: OSError, server: str, about: Callable[[], str] | None = None) -> TransportError:
    """The error of a handshake that failed for another reason than the server's certificate."""
    found = failure(error, server, about)
    if found is None:
        cause = os.strerror(error.errno).lower() if error.errno else "EOF"
        found = ConnectionLost(f"read tcp {server}: read: {cause}", server=server)
    if isinstance(found, ConnectionLost):
        found.detail = ("the connection was closed during the TLS handshake",)
    return found


def not_trusted(
    error: ssl.SSLCertVerificationError,
    options: TLSOptions,
    server: str,
    again: Callable[[float], socket.socket | Stream] | None,
) -> TLSError:
    """The error of a certificate that was not trusted, which is looked at on a connection of its own."""
    leaf = _look_again(options, again) if again is not None else None
    text, detail = _explain(error, options, leaf, _now())
    return TLSError(f"tls: failed to verify certificate: {text}", server=server, detail=detail)


def _look_again(options: TLSOptions, again: Callable[[float], socket.socket | Stream]) -> x509.Certificate | None:
    """The server's certificate, from a handshake that trusts anybody and after which nothing is sent."""
    end = time.monotonic() + _SECOND_LOOK
    try:
        sock = shake_hands(again(end), new_context(b"", False, None), options.server_name, end)
        if sock is None:
            return None
        try:
            return certificate_of(sock)
        finally:
            sock.close()
    except (OSError, TransportError, PlainHTTP, NoServerName):
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
    text = x509.why_not_trusted(leaf, sni(options.server_name), now)
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
