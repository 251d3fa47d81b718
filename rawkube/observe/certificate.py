"""A certificate for loopback, made when it is needed, and an authority for it that nobody else can use.

Made with the package cryptography (the extra `tls`), or with the program openssl. The authority's key is forgotten at
once, so that the certificate in a kubeconfig vouches for this one server and nothing else.
"""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.errors import RawkubeError

if TYPE_CHECKING:
    import ssl

    from cryptography import x509

NAMES = ("localhost", "127.0.0.1", "::1")
_DAYS = 30
_SECONDS = 30
MISSING = "TLS needs the Python package cryptography (pip install 'rawkube[tls]') or the program openssl"


class Pair(NamedTuple):
    """PEM: what a client is to trust, a server's certificate, its key."""

    ca: bytes
    certificate: bytes
    key: bytes


def make(folder: str) -> Pair:
    """A new certificate. `folder`: private, files stand there for a moment. Raises RawkubeError."""
    try:
        return with_cryptography()
    except ImportError:
        return with_openssl(folder)


def context_of(pair: Pair, folder: str) -> ssl.SSLContext:
    """A server's context. `folder`: private; the key stands there while it is read."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    path = Path(folder) / "server.pem"
    try:
        path.touch(mode=0o600)
        path.write_bytes(pair.key + pair.certificate)
        context.load_cert_chain(path)
    finally:
        path.unlink(missing_ok=True)
    return context


def with_cryptography() -> Pair:
    """By the package cryptography. Raises ImportError where it is missing."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def certificate(subject: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        issuer = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
        return (
            x509.CertificateBuilder(name("rawkube replay CA"), name(subject), key, x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer), critical=False)
        )

    def usage(*, ca: bool) -> x509.KeyUsage:
        return x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False)

    def pem(of: x509.Certificate) -> bytes:
        return of.public_bytes(serialization.Encoding.PEM)

    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = certificate("rawkube replay CA", ca_key.public_key())
    root = root.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    leaf = certificate("rawkube replay", key.public_key())
    leaf = leaf.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    leaf = leaf.add_extension(x509.SubjectAlternativeName(_alternatives()), critical=False)
    leaf = leaf.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    signed = [
        builder.add_extension(usage(ca=ca), critical=True).sign(ca_key, hashes.SHA256())
        for builder, ca in ((root, True), (leaf, False))
    ]
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(pem(signed[0]), pem(signed[1]), secret)


def _alternatives() -> list[x509.GeneralName]:
    import ipaddress

    from cryptography import x509

    return [x509.DNSName(name) if name == "localhost" else x509.IPAddress(ipaddress.ip_address(name)) for name in NAMES]


def with_openssl(folder: str, program: str = "openssl") -> Pair:
    """By the program openssl (or LibreSSL's): one certificate that vouches for itself. Raises RawkubeError."""
    found = shutil.which(program)
    if found is None:
        raise RawkubeError(MISSING)
    key, certificate = Path(folder) / "openssl.key", Path(folder) / "openssl.crt"
    names = ",".join(f"{'DNS' if name == 'localhost' else 'IP'}:{name}" for name in NAMES)
    command = [found, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256"]
    command += ["-days", str(_DAYS), "-subj", "/CN=rawkube replay", "-addext", f"subjectAltName={names}"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
        if done.returncode:
            raise RawkubeError(f"{MISSING}; openssl failed with exit code {done.returncode}")
        pem = certificate.read_bytes()
        return Pair(pem, pem, key.read_bytes())
    except (OSError, subprocess.TimeoutExpired):
        raise RawkubeError(f"{MISSING}; openssl could not be run") from None
    finally:
        key.unlink(missing_ok=True)
        certificate.unlink(missing_ok=True)
