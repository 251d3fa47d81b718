"""What is said of a handshake that failed, from the errors of OpenSSL alone."""

from __future__ import annotations

import errno
import ssl

from rawkube.errors import ConnectionLost, TLSError
from rawkube.wire.dial import TLSOptions
from rawkube.wire.tls_failures import about_pair, failed_handshake, failure, laxness, roots_of
from rawkube.wire.x509 import parse
from tests.support.rows import looped
from tests.support.tls import DAY, NOW, Authority, without_key_identifiers

CA = Authority()


def of_reason(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "said by OpenSSL")
    error.reason = reason
    return error


@looped(
    ("reason", "text", "detail"),
    [
        ("SSLV3_ALERT_BAD_CERTIFICATE", "remote error: tls: bad certificate", ("about me",)),
        ("TLSV1_ALERT_UNKNOWN_CA", "remote error: tls: unknown certificate authority", ("about me",)),
        (
            "TLSV13_ALERT_CERTIFICATE_REQUIRED",
            "remote error: tls: certificate required",
            ("the server speaks only to clients that show a certificate", "about me"),
        ),
        ("TLSV1_UNRECOGNIZED_NAME", "remote error: tls: unrecognized name", ()),
        ("TLSV1_ALERT_NO_RENEGOTIATION", "remote error: tls: no renegotiation", ()),
        ("WRONG_VERSION_NUMBER", "tls: first record does not look like a TLS handshake", ()),
        ("BAD_SIGNATURE", "tls: bad signature", ()),
        ("", "tls: said by OpenSSL", ()),
    ],
)
def test_reasons_of_openssl(reason: str, text: str, detail: tuple[str, ...]) -> None:
    said = failure(of_reason(reason), "h:1", lambda: "about me")
    assert isinstance(said, TLSError)
    assert (str(said), said.detail, said.server) == (text, detail, "h:1")


def test_the_end_is_no_error_of_tls() -> None:
    for error in (ssl.SSLEOFError(), ssl.SSLZeroReturnError()):
        assert isinstance(lost := failure(error, "h:1"), ConnectionLost) and str(lost) == "EOF"
    assert failure(ConnectionResetError(errno.ECONNRESET, ""), "h:1") is None


def test_a_connection_that_ends_during_the_handshake() -> None:
    for error, text in (
        (ConnectionResetError(errno.ECONNRESET, ""), "read tcp h:1: read: connection reset by peer"),
        (OSError(), "read tcp h:1: read: EOF"),
        (ssl.SSLEOFError(), "EOF"),
    ):
        said = failed_handshake(error, "h:1")
        assert (str(said), said.detail) == (text, ("the connection was closed during the TLS handshake",))
    assert str(failed_handshake(of_reason("WRONG_VERSION_NUMBER"), "h:1")).startswith("tls: first record")


def test_which_certificate_the_client_showed() -> None:
    for pair, end in (
        (CA.issue("me"), ", for me"),
        (CA.issue("me", not_after=NOW - DAY), " (it has expired)"),
        (CA.issue("me", not_before=NOW + DAY, not_after=NOW + 2 * DAY), " (it is not yet valid)"),
    ):
        said = about_pair((pair.cert, pair.key))
        assert said.startswith("the client showed the certificate of ") and said.endswith(end), said
    assert about_pair((b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"")) == ""
    assert about_pair((b"", b"")) == ""


def test_what_a_stricter_python_would_refuse() -> None:
    ca, pair = without_key_identifiers("h")
    leaf = parse(ssl.PEM_cert_to_DER_cert(pair.cert.decode()))
    bare = 'the CA "CN=bare-ca" has no Subject Key Identifier'
    for options, found in (
        (TLSOptions("h", ca), bare),
        (TLSOptions("h", CA.pem), 'the certificate of "CN=leaf" has no Authority Key Identifier'),
        (TLSOptions("h", ca, verify=False), ""),
    ):
        assert laxness(options, leaf).partition(",")[0] == found
    good = parse(ssl.PEM_cert_to_DER_cert(CA.issue("h").cert.decode()))
    assert laxness(TLSOptions("h", CA.pem), good) == laxness(TLSOptions("h", ca), None) == ""
    assert [len(roots_of(pem)) for pem in (None, b"", CA.pem, CA.pem + ca)] == [0, 0, 1, 2]
