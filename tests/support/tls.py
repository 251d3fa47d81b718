"""Certificates for tests: made in memory with trustme, and with cryptography what trustme does not make."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from typing import NamedTuple

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
DAY = datetime.timedelta(days=1)


class Pair(NamedTuple):
    """PEM: a certificate (chain) and its key."""

    cert: bytes
    key: bytes


class Authority:
    """A CA of a test. `pem` is what a client trusts."""

    def __init__(self, name: str = "test-ca") -> None:
        self.ca = trustme.CA(organization_name=name)

    @property
    def pem(self) -> bytes:
        return self.ca.cert_pem.bytes()

    def issue(
        self,
        *names: str,
        not_before: datetime.datetime | None = None,
        not_after: datetime.datetime | None = None,
        common_name: str | None = None,
    ) -> Pair:
        leaf = self.ca.issue_cert(*names, common_name=common_name, not_before=not_before, not_after=not_after)
        chain = b"".join(pem.bytes() for pem in leaf.cert_chain_pems)
        return Pair(chain, leaf.private_key_pem.bytes())

    def server(self, *names: str, clients: Authority | None = None) -> ssl.SSLContext:
        """A server's context with a certificate for `names`; `clients`: whose certificates are required."""
        return server_context(self.issue(*names), clients=clients)


def server_context(pair: Pair, *, clients: Authority | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with trustme.Blob(pair.key + pair.cert).tempfile() as path:
        context.load_cert_chain(path)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.pem.decode())
    return context


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - DAY)
        .not_valid_after(NOW + 30 * DAY)
    )


def _names(*names: str) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address(n)) if n[0].isdigit() or ":" in n else x509.DNSName(n) for n in names]
    )


def self_signed(*names: str) -> Pair:
    """A leaf that signed itself, as a kubelet or a development server shows."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder("self-signed", "self-signed", key).add_extension(_names(*names), critical=False)
    return Pair(_pem(builder.sign(key, hashes.SHA256())), _key_pem(key))


def common_name_only(common_name: str) -> tuple[bytes, Pair]:
    """A CA, and a leaf without a subjectAltName."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _bare_ca("old-ca", ca_key, not_after=NOW + DAY)
    leaf = _builder(common_name, "old-ca", key).sign(ca_key, hashes.SHA256())
    return _pem(ca), Pair(_pem(leaf), _key_pem(key))


def _bare_ca(name: str, key: ec.EllipticCurvePrivateKey, *, not_after: datetime.datetime) -> x509.Certificate:
    builder = _builder(name, name, key)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder._not_valid_after = not_after.replace(tzinfo=None)
    return builder.sign(key, hashes.SHA256())


def without_key_identifiers(*names: str, not_after: datetime.datetime = NOW + DAY) -> tuple[bytes, Pair]:
    """A CA with nothing but BasicConstraints, and its leaf: no key identifiers in either."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    leaf = _builder("leaf", "bare-ca", key).add_extension(_names(*names), critical=False)
    ca = _bare_ca("bare-ca", ca_key, not_after=not_after)
    return _pem(ca), Pair(_pem(leaf.sign(ca_key, hashes.SHA256())), _key_pem(key))
