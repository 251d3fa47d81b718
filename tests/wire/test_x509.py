"""What is read from a certificate, against what the cryptography package reads."""

from __future__ import annotations

import ssl

import pytest
from cryptography import x509 as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.wire import x509
from rawkube.wire.x509 import Certificate
from tests.support.examples import examples
from tests.support.rows import looped
from tests.support.tls import DAY, NOW, Authority, Pair, common_name_only, self_signed

CA = Authority()
PAIRS = {
    "names": CA.issue("a.test", "*.b.test", "10.0.0.1", "2001:db8::1"),
    "a common name": CA.issue("a.test", common_name="admin"),
    "dates": CA.issue("a.test", not_before=NOW - DAY, not_after=NOW + DAY),
    "self-signed": self_signed("a.test"),
    "no names": common_name_only("old.test")[1],
    "the CA": Pair(CA.pem, b""),
}


def der_of(pair: Pair) -> bytes:
    end = b"-----END CERTIFICATE-----\n"
    return ssl.PEM_cert_to_DER_cert((pair.cert.partition(end)[0] + end).decode())


@looped("pair", PAIRS.values(), ids=list(PAIRS))
def test_as_cryptography_reads_it(pair: Pair) -> None:
    ours, theirs = x509.parse(der_of(pair)), reference.load_der_x509_certificate(der_of(pair))
    assert ours.subject == theirs.subject.rfc4514_string()
    assert ours.issuer == theirs.issuer.rfc4514_string()
    assert ours.not_before == theirs.not_valid_before_utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert ours.not_after == theirs.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        names = theirs.extensions.get_extension_for_class(reference.SubjectAlternativeName).value
    except reference.ExtensionNotFound:
        assert not ours.has_names
        return
    assert ours.has_names
    assert list(ours.dns_names) == names.get_values_for_type(reference.DNSName)
    assert list(ours.ip_addresses) == [str(a) for a in names.get_values_for_type(reference.IPAddress)]


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2000), st.integers(0, 255), st.booleans())
def test_broken_certificates_are_refused_or_read(at: int, value: int, cut: bool) -> None:
    """Whatever a server sends: ValueError, or a certificate, never anything else."""
    der = bytearray(der_of(PAIRS["names"]))
    at %= len(der)
    der[at] = value
    try:
        x509.parse(bytes(der[:at] if cut else der))
    except ValueError:
        pass


@looped("der", [b"", b"\x30", b"\x30\x80", b"garbage", b"\x30\x03\x02\x01\x00"])
def test_no_certificate(der: bytes) -> None:
    with pytest.raises(ValueError, match=r"certificate|cut"):
        x509.parse(der)


def certificate(*dns: str, ips: tuple[str, ...] = ()) -> Certificate:
    return Certificate("CN=x", "CN=y", "x", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", dns, ips, True)


@looped(
    ("pattern", "host", "matches"),
    [
        ("a.test", "a.test", True),
        ("A.test", "a.TEST", True),
        ("a.test", "a.test.", True),
        ("*.test", "a.test", True),
        ("*.test", "a.b.test", False),
        ("*.test", ".test", False),
        ("*.test", "test", False),
        ("a.test", "b.test", False),
        ("*", "a", False),
        ("127.0.0.1", "127.0.0.1", False),
    ],
)
def test_names_match(pattern: str, host: str, matches: bool) -> None:
    assert x509.names_match(certificate(pattern), host) is matches


def test_addresses_match_in_any_notation() -> None:
    assert x509.names_match(certificate(ips=("2001:db8::1",)), "2001:0db8:0:0:0:0:0:1")
    assert not x509.names_match(certificate(ips=("10.0.0.1",)), "10.0.0.2")


def test_control_characters_of_a_certificate_are_escaped() -> None:
    der = der_of(PAIRS["a common name"])
    name = x509.parse(der.replace(b"admin", b"a\x1b[2m"))
    assert name.common_name == "a\\x1b[2m"
    assert "\x1b" not in x509.describe(name)
