"""Certificates, keys and roots as people have them in files: every format, chains, dates, what changes meanwhile."""

from __future__ import annotations

import contextlib
import datetime
import functools
import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme
from cryptography import x509 as reference
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from rawkube.api.client import ApiClient
from rawkube.errors import ConfigError, ConnectionLost, TLSError
from rawkube.kubeconfig import credentials
from rawkube.kubeconfig.access import Access
from rawkube.wire import tls, tls_failures
from rawkube.wire.dial import Endpoint, TLSOptions, dial
from rawkube.wire.proxy import Proxy
from rawkube.wire.tap import Event, Tap
from rawkube.wire.x509 import parse as parse_certificate
from tests.support.proxy import ProxyServer
from tests.support.rows import looped
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import DAY, NOW, Authority, Pair, self_signed, server_context, without_key_identifiers

CA = Authority()
CLIENTS = Authority("clients")


def answer(peer: Peer) -> None:
    assert isinstance(peer.sock, ssl.SSLSocket)
    peer.read()
    subject: Any = (peer.sock.getpeercert() or {}).get("subject", ())
    peer.send(b"hello " + b" ".join(pair[0][1].encode() for pair in subject))


def ask(context: ssl.SSLContext, options: TLSOptions, events: list[Event] | None = None) -> bytes:
    tap = Tap(events.append) if events is not None else None
    with ScriptedServer(answer, tls=context) as server:
        stream = dial(Endpoint("127.0.0.1", server.port, options), tap=tap)
        try:
            with contextlib.suppress(ConnectionLost):  # an alert may wait to be read
                stream.send(b"question", timeout=5)
            return stream.recv(100, timeout=5)
        finally:
            stream.close()


# Keys

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"


def signed(key: Key, common_name: str = "me") -> bytes:
    """A certificate of that key that signed itself, PEM."""
    name = reference.Name([reference.NameAttribute(reference.NameOID.COMMON_NAME, common_name)])
    builder = reference.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(NOW - DAY).not_valid_after(NOW + DAY)
    made = builder.sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    return made.public_bytes(Encoding.PEM)


def pem(key: Key, form: PrivateFormat) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


@functools.cache
def formats() -> dict[str, tuple[Key, bytes, bytes]]:
    """By name: a key, its file, and how that begins. Made once they are needed: RSA takes its time."""
    of_rsa, of_ec = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())
    of_ed25519 = ed25519.Ed25519PrivateKey.generate()
    sec_1, pkcs_8 = pem(of_ec, PrivateFormat.TraditionalOpenSSL), pem(of_ec, PrivateFormat.PKCS8)
    return {
        "PKCS#1": (of_rsa, pem(of_rsa, PrivateFormat.TraditionalOpenSSL), b"BEGIN RSA PRIVATE KEY"),
        "PKCS#8 RSA": (of_rsa, pem(of_rsa, PrivateFormat.PKCS8), b"BEGIN PRIVATE KEY"),
        "SEC 1": (of_ec, sec_1, b"BEGIN EC PRIVATE KEY"),
        "SEC 1 with parameters": (of_ec, PARAMETERS + sec_1, b"BEGIN EC PRIVATE KEY"),
        "PKCS#8 EC": (of_ec, pkcs_8, b"BEGIN PRIVATE KEY"),
        "Ed25519": (of_ed25519, pem(of_ed25519, PrivateFormat.PKCS8), b"BEGIN PRIVATE KEY"),
        "with Windows line ends": (of_ec, pkcs_8.replace(b"\n", b"\r\n"), b"BEGIN PRIVATE KEY"),
    }


def accepted(certificate: bytes, key: bytes, *, verify: bool) -> bool:
    """Whether a server that trusts that client certificate alone lets it in."""
    context = CA.server("127.0.0.1")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=certificate.decode())
    return ask(context, TLSOptions("127.0.0.1", CA.pem, verify, client_cert=lambda: (certificate, key))) == b"hello me"


@looped("verify", [True, False], ids=["verified", "skip"])
def test_forms_of_keys(verify: bool) -> None:
    for form, (key, key_pem, mark) in formats().items():
        assert mark in key_pem, form
        assert accepted(signed(key), key_pem, verify=verify), form


@pytest.mark.parametrize("form", [PrivateFormat.TraditionalOpenSSL, PrivateFormat.PKCS8])
def test_an_encrypted_key_is_said_to_be_encrypted(form: PrivateFormat) -> None:
    of_rsa = formats()["PKCS#1"][0]
    key = of_rsa.private_bytes(Encoding.PEM, form, serialization.BestAvailableEncryption(b"s3cret"))
    with pytest.raises(ConfigError) as caught:
        tls.context_for(TLSOptions("x", CA.pem, client_cert=lambda: (signed(of_rsa), key)))
    assert str(caught.value) == "tls: failed to parse private key"
    detail = "the client key is encrypted with a password, which Kubernetes clients do not support"
    assert caught.value.detail == (detail,)


# Chains


def chain_of(*, names: str = "127.0.0.1") -> tuple[bytes, Pair]:
    """(root, a leaf with the intermediate that signed it)."""
    root = trustme.CA()
    leaf = root.create_child_ca().issue_cert(names)
    chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    assert chain.count(b"BEGIN CERTIFICATE") == 2
    return root.cert_pem.bytes(), Pair(chain, leaf.private_key_pem.bytes())


def test_a_servers_chain() -> None:
    root, pair = chain_of()
    assert ask(server_context(pair), TLSOptions("127.0.0.1", root)) == b"hello "


def test_a_servers_chain_without_its_intermediate() -> None:
    root, pair = chain_of()
    leaf = pair.cert[: pair.cert.index(b"-----END CERTIFICATE-----") + 26]
    with pytest.raises(TLSError, match=r"certificate signed by unknown authority$"):
        ask(server_context(Pair(leaf, pair.key)), TLSOptions("127.0.0.1", root))


def test_a_clients_chain() -> None:
    root, pair = chain_of(names="me@example.org")
    context = CA.server("127.0.0.1")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=root.decode())
    options = TLSOptions("127.0.0.1", CA.pem, client_cert=lambda: (pair.cert, pair.key))
    assert ask(context, options).startswith(b"hello ")


# Dates


@looped(
    ("before", "after", "said"),
    [
        (NOW - 9 * DAY, NOW - DAY, "(it has expired)"),
        (NOW + DAY, NOW + 9 * DAY, "(it is not yet valid)"),
    ],
)
@looped("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_certificate_that_is_not_valid_now(
    before: datetime.datetime, after: datetime.datetime, said: str, version: ssl.TLSVersion
) -> None:
    """The server's alert says little; what was shown, with its dates, says why."""
    pair = CLIENTS.issue("me@example.org", not_before=before, not_after=after, common_name="me")
    context = CA.server("127.0.0.1", clients=CLIENTS)
    context.maximum_version = version
    with pytest.raises(TLSError, match=r"^remote error: tls: ") as caught:
        ask(context, TLSOptions("127.0.0.1", CA.pem, client_cert=lambda: (pair.cert, pair.key)))
    (line,) = caught.value.detail
    assert line.startswith('the client showed the certificate of "CN=me')
    assert f"valid from {before:%Y-%m-%dT%H:%M:%SZ} to {after:%Y-%m-%dT%H:%M:%SZ}" in line
    assert line.endswith(said)


def test_a_client_certificate_of_somebody_else_is_named() -> None:
    pair = Authority("strangers").issue("me@example.org", common_name="me")
    with pytest.raises(TLSError, match=r"unknown certificate authority$") as caught:
        options = TLSOptions("127.0.0.1", CA.pem, client_cert=lambda: (pair.cert, pair.key))
        ask(CA.server("127.0.0.1", clients=CLIENTS), options)
    assert 'issued by "OU=Testing CA' in caught.value.detail[0]


# Roots


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_the_systems_roots_are_where_the_environment_says(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Go, files in SSL_CERT_DIR need no special names."""
    folder = tmp_path / "roots"
    folder.mkdir()
    (folder / "my-ca.pem").write_bytes(CA.pem)
    (folder / "README").write_text("no certificate")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    context = CA.server("127.0.0.1")
    with pytest.raises(TLSError):
        ask(context, TLSOptions("127.0.0.1", None))
    empty = f"{tmp_path / 'none'}:"
    monkeypatch.setenv(variable, str(folder / "my-ca.pem") if variable == "SSL_CERT_FILE" else f"{empty}{folder}")
    assert ask(context, TLSOptions("127.0.0.1", None)) == b"hello "
    with pytest.raises(TLSError):
        ask(context, TLSOptions("127.0.0.1", CLIENTS.pem))  # a private CA alone
    assert ask(context, TLSOptions("127.0.0.1", CLIENTS.pem, system_roots=True)) == b"hello "


def test_the_systems_roots_of_an_openssl_that_knows_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a Python has it that was built on another system: the places where systems have them."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("ssl.get_default_verify_paths", lambda: SimpleNamespace(cafile=None, capath=None))
    known = tmp_path / "roots.pem"
    known.write_bytes(CLIENTS.pem)
    serial = [ssl.create_default_context(cadata=CLIENTS.pem.decode()).get_ca_certs()[0]["serialNumber"]]
    for files, found in ((("/none", str(known)), serial), (("/none",), [])):
        monkeypatch.setattr(tls, "_SYSTEM_ROOTS", files)
        monkeypatch.setattr(tls, "_SYSTEM_FOLDERS", ("/none", str(tmp_path)))
        context = tls.new_context(None, True, None)
        assert [one["serialNumber"] for one in context.get_ca_certs() if one["serialNumber"] in serial] == found


def test_what_strict_mode_would_refuse_is_told() -> None:
    ca, pair = without_key_identifiers("127.0.0.1")
    events: list[Event] = []
    assert ask(server_context(pair), TLSOptions("127.0.0.1", ca), events) == b"hello "
    notes = [event.data["text"] for event in events if event.kind == "note"]
    assert notes == [
        'the CA "CN=bare-ca" has no Subject Key Identifier, which Python\'s strict mode would refuse; '
        "the chain and the names were checked all the same"
    ]


@pytest.mark.parametrize(
    ("context", "options"),
    [
        (CA.server("127.0.0.1"), TLSOptions("127.0.0.1", CA.pem)),
        (server_context(without_key_identifiers("127.0.0.1")[1]), TLSOptions("127.0.0.1", None, verify=False)),
    ],
    ids=["all there", "not verified"],
)
def test_nothing_is_told_without_a_reason(context: ssl.SSLContext, options: TLSOptions) -> None:
    events: list[Event] = []
    ask(context, options, events)
    assert not [event for event in events if event.kind == "note"]


def test_a_leaf_without_an_authority_key_identifier_is_told() -> None:
    ca, pair = without_key_identifiers("127.0.0.1")
    leaf = parse_certificate(ssl.PEM_cert_to_DER_cert(pair.cert.decode()))
    assert "Authority Key Identifier" in tls_failures.laxness(TLSOptions("127.0.0.1", CA.pem), leaf)
    own = parse_certificate(ssl.PEM_cert_to_DER_cert(self_signed("127.0.0.1").cert.decode()))
    assert tls_failures.laxness(TLSOptions("127.0.0.1", CA.pem), own) == ""
    with pytest.raises(TLSError, match="certificate is valid for 127"):
        ask(server_context(pair), TLSOptions("127.0.0.2", ca))  # the names are checked, as is said


# What changes meanwhile


class Json:
    """Answers every request with `{}`, and counts the connections."""

    def __init__(self) -> None:
        self.subjects: list[str] = []

    def __call__(self, peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        subject: Any = (peer.sock.getpeercert() or {}).get("subject", ())
        self.subjects.append(next((pair[0][1] for pair in subject if pair[0][0] == "commonName"), ""))
        while True:
            peer.read_request()
            peer.reply("{}")


def test_a_new_ca_file_is_used_by_new_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "CA_SECONDS", 1e9)
    before, after = Authority("before"), Authority("after")
    file = tmp_path / "ca.pem"
    file.write_bytes(before.pem)
    old, new = before.server("127.0.0.1"), after.server("127.0.0.1")
    with ScriptedServer(Json(), tls=old) as server:
        client = ApiClient(Access(server.url, ca_file=str(file)))
        ask_once(client)
        server.tls = new
        file.write_bytes(after.pem)
        ask_once(client)
        assert server.connections == 1  # what is open stays open, and five minutes have not passed
        monkeypatch.setattr(credentials, "CA_SECONDS", 0.0)
        ask_once(client)
        assert server.connections == 2
        file.write_bytes(b"")
        ask_once(client)
        assert server.connections == 2  # an empty file changes nothing
        client.close()


def ask_once(client: ApiClient) -> None:
    with client.send("GET", "/x") as response:
        assert response.read() == b"{}"


def test_a_new_client_certificate_is_used_by_new_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "CERTIFICATE_SECONDS", 0.0)
    seen = Json()

    def write(name: str) -> None:
        pair = CLIENTS.issue("x@example.org", common_name=name)
        (tmp_path / "c").write_bytes(pair.cert)
        (tmp_path / "k").write_bytes(pair.key)

    write("first")
    with ScriptedServer(seen, tls=CA.server("127.0.0.1", clients=CLIENTS)) as server:
        access = Access(server.url, ca_data=CA.pem, cert_file=str(tmp_path / "c"), key_file=str(tmp_path / "k"))
        with ApiClient(access) as client:
            ask_once(client)
            write("second")
            client.pool.close_idle("test")
            ask_once(client)
    assert seen.subjects == ["first", "second"]


def test_key_log_of_tls_inside_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "keys"
    monkeypatch.setenv("SSLKEYLOGFILE", str(log))
    outer, inner = Authority("outer"), Authority("inner")
    with (
        ScriptedServer(answer, tls=inner.server("api.test")) as server,
        ProxyServer("https", names={"api.test": server.port}, tls=outer.server("127.0.0.1")) as proxy,
    ):
        way = Proxy("https", "127.0.0.1", proxy.port, tls=TLSOptions("127.0.0.1", outer.pem))
        stream = dial(Endpoint("api.test", 443, TLSOptions("api.test", inner.pem), way))
        stream.send(b"?", timeout=5)
        assert stream.recv(6, timeout=5) == b"hello "
        stream.close()
    clients = {line.split()[1] for line in log.read_text().splitlines() if line.startswith("CLIENT_TRAFFIC_SECRET_0")}
    assert len(clients) == 2
