"""The certificates that a server sends, link by link."""

from __future__ import annotations

import datetime
import ssl
import sys
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from rawkube.observe.doctor.chain import sent_by
from rawkube.observe.doctor.facts import Finding, Reached
from rawkube.observe.doctor.links import Sent, ServerHandshake, chain
from rawkube.wire.dial import Endpoint, Timeouts, TLSOptions
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import DAY, NOW, Pair, server_context

from .cluster import Cluster, examined

SOON = NOW + 90 * DAY
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


class Made(NamedTuple):
    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)


def made(
    name: str, by: Made | None, *, until: datetime.datetime = SOON, key: Key | None = None, ca: bool = True
) -> Made:
    own = key or ec.generate_private_key(ec.SECP256R1())

    def called(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    builder = (
        x509.CertificateBuilder()
        .subject_name(called(name))
        .issuer_name(by.certificate.subject if by else called(name))
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 90 * DAY)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if not ca:
        import ipaddress

        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    signer = by.key if by else own
    return Made(builder.sign(signer, None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()), own)


def context(leaf: Made, *more: Made, oldest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> ssl.SSLContext:
    plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pair = Pair(b"".join(one.pem for one in (leaf, *more)), leaf.key.private_bytes(*plain))
    found = server_context(pair)
    found.minimum_version = oldest
    return found


def found(server: ssl.SSLContext, *trusted: Made, insecure: bool = False) -> dict[str, Finding]:
    with Cluster(tls=server) as cluster:
        pem = b"".join(one.pem for one in trusted)
        return examined(cluster.url, ca_data=pem or None, insecure=insecure)


ROOT = made("root", None)
MIDDLE = made("middle", ROOT, until=NOW + 60 * DAY, key=rsa.generate_private_key(65537, 2048))
LEAF = made("api", MIDDLE, ca=False)
UNTIL = SOON.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_each_link_is_told() -> None:
    told = found(context(LEAF, MIDDLE), ROOT)
    assert (told["tls"].result, told["chain"].result, told["chain"].advice) == ("pass", "pass", "")
    middle = (NOW + 60 * DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert told["chain"].seen == (
        f'2 certificates sent; "CN=api" (ECDSA P-256, until {UNTIL}) by "CN=middle"; '
        f'"CN=middle" (RSA 2048, until {middle}) by "CN=root"; "CN=root" is in the CA of the kubeconfig, until {UNTIL}'
    )


class Row(NamedTuple):
    what: str
    sent: tuple[Made, ...]
    trusted: tuple[Made, ...]
    tls: str
    result: str
    seen: str
    advice: str


OLD = made("old-middle", ROOT, until=NOW - DAY)
ENDING = made("ending", ROOT, until=NOW + 3 * DAY + datetime.timedelta(hours=1))
OTHER_ROOT = made("root", None)
ED = made("ed", None, key=ed25519.Ed25519PrivateKey.generate(), ca=False)
ROWS = (
    Row(
        "not sent",
        (LEAF,),
        (ROOT,),
        "fail",
        "fail",
        '"CN=middle" was not sent, and is not in the CA',
        "have the server",
    ),
    Row("trusted itself", (LEAF,), (MIDDLE,), "pass", "pass", '"CN=middle" is in the CA of the kubeconfig', ""),
    Row(
        "out of date",
        (made("x", OLD, ca=False), OLD),
        (ROOT,),
        "fail",
        "fail",
        "CN=old-middle",
        '"CN=old-middle" has expired',
    ),
    Row(
        "ending soon", (made("x", ENDING, ca=False), ENDING), (ROOT,), "pass", "warn", "CN=ending", "expires in 3 days"
    ),
    Row("the same name", (LEAF, MIDDLE), (OTHER_ROOT,), "fail", "fail", "OpenSSL does not accept", "another key"),
    Row(
        "an unknown root",
        (LEAF, MIDDLE, ROOT),
        (ENDING,),
        "fail",
        "fail",
        '"CN=root" is not in the CA',
        'trust "CN=root"',
    ),
    Row(
        "more than needed",
        (LEAF, MIDDLE, OTHER_ROOT, OLD),
        (ROOT,),
        "pass",
        "pass",
        '"CN=old-middle" is no part of it',
        "",
    ),
    Row("its own", (ED,), (ED,), "pass", "pass", f'"CN=ed" (Ed25519, until {UNTIL}) by itself', ""),
)


@pytest.mark.parametrize("row", ROWS, ids=[row.what.replace(" ", "-") for row in ROWS])
def test_what_is_wrong_with_a_chain(row: Row) -> None:
    told = found(context(*row.sent), *row.trusted)
    assert told["tls"].result == row.tls, told["tls"]
    assert told["chain"].result == row.result and row.seen in told["chain"].seen, told["chain"]
    assert row.advice in told["chain"].advice and bool(row.advice) == bool(told["chain"].advice), told["chain"]


def test_nothing_is_said_of_trust_where_nothing_is_trusted() -> None:
    told = found(context(LEAF), insecure=True)
    assert told["chain"].seen == f'1 certificate sent; "CN=api" (ECDSA P-256, until {UNTIL}) by "CN=middle"'
    assert told["chain"].result == "pass"


def test_a_server_of_tls_13_alone() -> None:
    told = found(context(LEAF, MIDDLE, oldest=ssl.TLSVersion.TLSv1_3), ROOT)["chain"]
    if sys.version_info >= (3, 13):
        assert told.seen.startswith("2 certificates sent;")
    else:
        assert told.result == "unknown"
        assert "nothing older than TLS 1.3" in told.seen and "Python 3.13" in told.seen


def test_a_server_that_wants_a_client_certificate_has_shown_its_own() -> None:
    strict = context(LEAF, MIDDLE)
    strict.verify_mode = ssl.CERT_REQUIRED
    strict.load_verify_locations(cadata=ROOT.pem.decode())
    assert found(strict, ROOT)["chain"].seen.startswith("2 certificates sent;")


def test_what_is_no_tls_has_no_chain() -> None:
    with Cluster() as server:
        told = examined(f"https://127.0.0.1:{server.port}", ca_data=ROOT.pem)
        assert told["chain"].result == "unknown" and "tls failed" in told["chain"].seen
        assert "chain" not in examined(server.url)


def flight() -> bytes:
    """A server's first flight of TLS 1.2."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode, client.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server)
    answering = context(LEAF, MIDDLE).wrap_bio(to_server, to_client, server_side=True)
    for side in (asking, answering):
        with pytest.raises(ssl.SSLWantReadError):
            side.do_handshake()
    return to_client.read()


def test_the_certificates_of_a_handshake_wherever_it_is_cut() -> None:
    data = flight()
    for cut in range(len(data) + 1):
        read = ServerHandshake()
        read.feed(data[:cut])
        read.feed(data[cut:])
        assert read.certificates == (LEAF.der, MIDDLE.der), cut
    single = ServerHandshake()
    for at in range(len(data)):
        single.feed(data[at : at + 1])
    assert single.certificates == (LEAF.der, MIDDLE.der)
    # The same message in records of 50 bytes (RFC 5246, section 6.2.1).
    small = ServerHandshake()
    messages = read._messages + data[5 : 5 + int.from_bytes(data[3:5], "big")]
    rest = data[5 + int.from_bytes(data[3:5], "big") :]
    while rest:
        size = int.from_bytes(rest[3:5], "big")
        messages += rest[5 : 5 + size]
        rest = rest[5 + size :]
    for at in range(0, len(messages), 50):
        piece = bytes(messages[at : at + 50])
        small.feed(b"\x16\x03\x03" + len(piece).to_bytes(2, "big") + piece)
    assert small.certificates == (LEAF.der, MIDDLE.der)


def test_what_cannot_be_read_is_said_to() -> None:
    reached = Reached(host="h", peer="h", literal=True, tls=True, trust="the CA", now="2026-01-01T00:00:00Z")
    assert chain(Sent((b"nonsense",)), (), reached).seen == "what the server sent as certificates cannot be read"
    assert chain(Sent(), (), reached).seen == "the server sent no certificate"
    refused = ServerHandshake()
    refused.feed(b"\x15\x03\x03\x00\x02\x02\x46")
    assert (refused.over, refused.wants_newer, refused.certificates) == (True, True, None)


def test_dates_and_roots_that_cannot_be_read() -> None:
    early = Reached(host="h", peer="h", literal=True, tls=True, trust="the CA", now="2001-01-01T00:00:00Z")
    told = chain(Sent((LEAF.der, MIDDLE.der)), (b"nonsense", ROOT.der), early)
    assert (told.result, "is this machine's clock right?" in told.advice) == ("warn", True)
    assert '"CN=root" is in the CA' in told.seen


def test_second_connections_that_lead_nowhere() -> None:
    options = TLSOptions("127.0.0.1", None, False, None)
    limits = Timeouts(connect=2.0, tls=2.0)

    def says_nothing(peer: Peer) -> None:
        peer.read()

    with ScriptedServer(says_nothing) as server:
        closing = Endpoint("127.0.0.1", server.port, options)
        assert sent_by(closing, limits).why == "the server sent no certificates on a second connection"
    gone = sent_by(closing, limits)
    assert gone.certificates == () and gone.why.startswith("a second connection failed: dial tcp 127.0.0.1:")
    told = chain(gone, (), Reached(host="h", peer="h", literal=True, tls=True))
    assert (told.result, told.seen) == ("unknown", gone.why)
