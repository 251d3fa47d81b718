"""TLS: who is trusted, who is not and why in Go's words, client certificates, no key left on a disk."""

from __future__ import annotations

import contextlib
import os
import re
import ssl
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import ConfigError, ConnectionLost, DeadlineExceeded, TLSError
from rawkube.wire import keypair, tls
from rawkube.wire.dial import Endpoint, Timeouts, TLSOptions, dial
from rawkube.wire.tap import Event, Tap
from tests.support.rows import looped
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import (
    DAY,
    NOW,
    Authority,
    Pair,
    common_name_only,
    self_signed,
    server_context,
    without_key_identifiers,
)

CA = Authority()
CLIENTS = Authority("clients")
ME = CLIENTS.issue("me@example.org")
PREFIX = "tls: failed to verify certificate: x509: "


def answer(peer: Peer) -> None:
    peer.read()
    peer.send(b"answer")


def ask(context: ssl.SSLContext, options: TLSOptions) -> bytes:
    """A question over TLS, and its answer."""
    with ScriptedServer(answer, tls=context) as server:
        stream = dial(Endpoint("127.0.0.1", server.port, options))
        try:
            with contextlib.suppress(ConnectionLost):  # an alert may wait to be read
                stream.send(b"question", timeout=5)
            return stream.recv(100, timeout=5)
        finally:
            stream.close()


def refused(context: ssl.SSLContext, options: TLSOptions) -> TLSError:
    """The error of a handshake after which the server must not have been told anything."""
    heard: list[bytes] = []

    def listen(peer: Peer) -> None:
        heard.append(peer.read())

    with ScriptedServer(listen, tls=context) as server, pytest.raises(TLSError) as caught:
        dial(Endpoint("127.0.0.1", server.port, options))
    assert not heard
    assert caught.value.server == f"127.0.0.1:{server.port}"
    return caught.value


def text_of(error: TLSError) -> str:
    assert str(error).startswith(PREFIX)
    return str(error).removeprefix(PREFIX)


# Who is trusted


@looped("name", ["127.0.0.1", "api.test", "API.test.", "any.wild.test", "::1", "[::1]", "bücher.test"])
def test_trusted(name: str) -> None:
    context = CA.server("127.0.0.1", "api.test", "*.wild.test", "::1", "bücher.test")
    assert ask(context, TLSOptions(name, CA.pem)) == b"answer"


def test_the_server_name_is_sent_and_verified_instead_of_the_host() -> None:
    seen: list[str | None] = []
    context = CA.server("k8api.test")
    context.sni_callback = lambda sock, name, ctx: seen.append(name)
    assert ask(context, TLSOptions("k8api.test", CA.pem)) == b"answer"
    assert seen == ["k8api.test"]


def test_an_address_is_not_sent_as_a_server_name() -> None:
    seen: list[str | None] = []
    context = CA.server("127.0.0.1")
    context.sni_callback = lambda sock, name, ctx: seen.append(name)
    assert ask(context, TLSOptions("127.0.0.1", CA.pem)) == b"answer"
    assert seen == [None]


def test_not_verified() -> None:
    assert ask(CA.server("elsewhere.test"), TLSOptions("127.0.0.1", None, verify=False)) == b"answer"


def test_a_ca_without_key_identifiers() -> None:
    """Refused by VERIFY_X509_STRICT, which Python 3.13 turns on in create_default_context; Go accepts it."""
    ca, pair = without_key_identifiers("127.0.0.1")
    assert ask(server_context(pair), TLSOptions("127.0.0.1", ca)) == b"answer"
    assert not tls.context_for(TLSOptions("x", ca)).verify_flags & ssl.VERIFY_X509_STRICT
    assert not tls.context_for(TLSOptions("x", None)).verify_flags & ssl.VERIFY_X509_STRICT


def test_a_self_signed_certificate_may_be_the_ca() -> None:
    pair = self_signed("127.0.0.1")
    assert ask(server_context(pair), TLSOptions("127.0.0.1", pair.cert)) == b"answer"


def test_one_good_certificate_among_others_is_enough() -> None:
    broken = b"-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n"
    text = "# Wurzel für tests\r\n".encode() + broken + ME.key + Authority("other").pem + CA.pem
    assert ask(CA.server("127.0.0.1"), TLSOptions("127.0.0.1", text)) == b"answer"


def test_tls_1_2_is_the_oldest() -> None:
    context = CA.server("127.0.0.1")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert ask(context, TLSOptions("127.0.0.1", CA.pem)) == b"answer"
    assert tls.context_for(TLSOptions("x", CA.pem)).minimum_version == ssl.TLSVersion.TLSv1_2


# Who is not


UNTRUSTED = {
    "unknown CA": (CA.server("127.0.0.1"), "127.0.0.1", Authority("other").pem, "certificate signed by unknown authority"),
    "an empty CA trusts nobody": (CA.server("127.0.0.1"), "127.0.0.1", b"", "certificate signed by unknown authority"),
    "the system's roots": (CA.server("127.0.0.1"), "127.0.0.1", None, "certificate signed by unknown authority"),
    "self-signed": (
        server_context(self_signed("127.0.0.1")),
        "127.0.0.1",
        CA.pem,
        "certificate signed by unknown authority",
    ),
    "wrong name": (CA.server("a.test", "b.test"), "c.test", CA.pem, "certificate is valid for a.test, b.test, not c.test"),
    "wrong name of an unknown CA": (CA.server("a.test"), "c.test", b"", "certificate is valid for a.test, not c.test"),
    "wrong address": (CA.server("10.1.1.1", "::5"), "127.0.0.1", CA.pem, "certificate is valid for 10.1.1.1, ::5, not 127.0.0.1"),
    "no address": (
        CA.server("a.test"),
        "127.0.0.1",
        CA.pem,
        "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
    ),
    "no name": (CA.server("10.1.1.1"), "a.test", CA.pem, "certificate is not valid for any names, but wanted to match a.test"),
    "a wildcard is one label": (CA.server("*.test"), "a.b.test", CA.pem, "certificate is valid for *.test, not a.b.test"),
}  # fmt: skip


@looped("case", UNTRUSTED.values(), ids=list(UNTRUSTED))
def test_not_trusted(case: tuple[ssl.SSLContext, str, bytes | None, str]) -> None:
    context, name, ca, text = case
    error = refused(context, TLSOptions(name, ca))
    assert text_of(error) == text
    assert error.detail[0].startswith("the server showed the certificate of ")


def test_detail_names_both_sides() -> None:
    error = refused(server_context(self_signed("127.0.0.1", "a.test")), TLSOptions("127.0.0.1", CA.pem))
    showed, configured = error.detail
    assert 'certificate of "CN=self-signed", issued by "CN=self-signed", valid from ' in showed
    assert showed.endswith("for a.test, 127.0.0.1")
    assert configured.startswith('the configured CA is the certificate of "OU=Testing CA ')


def test_a_ca_of_the_same_name_with_another_key() -> None:
    """A cluster that was created anew."""
    _, pair = without_key_identifiers("127.0.0.1")
    old_ca, _ = without_key_identifiers("127.0.0.1")
    error = refused(server_context(pair), TLSOptions("127.0.0.1", old_ca))
    assert text_of(error) == "certificate signed by unknown authority"
    assert 'the configured CA has the name "CN=bare-ca" too, but its key did not sign this' in error.detail[1]


@looped(
    ("not_before", "not_after", "text"),
    [
        (NOW - 2 * DAY, NOW - DAY, rf"is after {(NOW - DAY).strftime('%Y-%m-%dT%H:%M:%SZ')}"),
        (NOW + DAY, NOW + 2 * DAY, rf"is before {(NOW + DAY).strftime('%Y-%m-%dT%H:%M:%SZ')}"),
    ],
    ids=["expired", "not yet valid"],
)
@looped("ca", [CA.pem, b""], ids=["known CA", "unknown CA"])
def test_dates(not_before: Any, not_after: Any, text: str, ca: bytes) -> None:
    pair = CA.issue("127.0.0.1", not_before=not_before, not_after=not_after)
    error = refused(server_context(pair), TLSOptions("127.0.0.1", ca))
    now = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    whole = rf"certificate has expired or is not yet valid: current time {now} {text}"
    assert re.fullmatch(whole, text_of(error))


def test_an_expired_ca() -> None:
    ca, pair = without_key_identifiers("127.0.0.1", not_after=NOW - DAY / 2)
    error = refused(server_context(pair), TLSOptions("127.0.0.1", ca))
    assert re.fullmatch(
        r'certificate signed by unknown authority \(possibly because of "x509: certificate has expired or is not '
        r'yet valid: current time \S+ is after \S+" while trying to verify candidate authority certificate '
        r'"bare-ca"\)',
        text_of(error),
    )


def test_the_common_name_is_no_name() -> None:
    ca, pair = common_name_only("old.test")
    error = refused(server_context(pair), TLSOptions("old.test", ca))
    assert text_of(error) == "certificate relies on legacy Common Name field, use SANs instead"


@looped("name", ["", ".", ".x", "a\0b"])
def test_no_server_name(name: str) -> None:
    error = refused(CA.server("127.0.0.1"), TLSOptions(name, CA.pem))
    assert str(error) == f"tls: {name!a} is not a server name"


def test_a_certificate_that_cannot_be_looked_at_again() -> None:
    def only_once(peer: Peer) -> None:
        server.listener.close()

    with ScriptedServer(only_once, tls=CA.server("127.0.0.1")) as server:
        options = TLSOptions("127.0.0.1", b"")
        sock = dial(Endpoint("127.0.0.1", server.port)).bare()
        assert sock is not None

        def gone(_: float) -> Any:
            raise ConnectionRefusedError

        with pytest.raises(TLSError) as caught:
            tls.handshake(sock, options, time.monotonic() + 5, server="h:1", again=gone)
    assert text_of(caught.value) == "certificate signed by unknown authority"
    assert caught.value.detail == ()


# Client certificates


@pytest.mark.parametrize("verify", [True, False])
def test_client_certificate(verify: bool) -> None:
    context = CA.server("127.0.0.1", clients=CLIENTS)
    options = TLSOptions("127.0.0.1", CA.pem, verify=verify, client_cert=lambda: (ME.cert, ME.key))
    assert ask(context, options) == b"answer"


def test_one_pem_for_both() -> None:
    context = CA.server("127.0.0.1", clients=CLIENTS)
    both = ME.key + ME.cert
    assert ask(context, TLSOptions("127.0.0.1", CA.pem, client_cert=lambda: (both, both))) == b"answer"


@looped("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@looped("asked", [None, lambda: None], ids=["none", "none now"])
def test_client_certificate_missing(version: ssl.TLSVersion, asked: Any) -> None:
    context = CA.server("127.0.0.1", clients=CLIENTS)
    context.maximum_version = version
    with pytest.raises(TLSError) as caught:
        ask(context, TLSOptions("127.0.0.1", CA.pem, client_cert=asked))
    # RFC 8446 has an alert of its own for it, RFC 5246 has not.
    words = "certificate required" if version == ssl.TLSVersion.TLSv1_3 else "handshake failure"
    assert str(caught.value) == f"remote error: tls: {words}"


def test_client_certificate_of_an_unknown_ca() -> None:
    context = CA.server("127.0.0.1", clients=Authority("others"))
    with pytest.raises(TLSError, match=r"^remote error: tls: unknown certificate authority$"):
        ask(context, TLSOptions("127.0.0.1", CA.pem, client_cert=lambda: (ME.cert, ME.key)))


def test_a_new_client_certificate_is_used_at_the_next_handshake() -> None:
    pairs = [Authority("stranger").issue("me@example.org"), ME]
    options = TLSOptions("127.0.0.1", CA.pem, client_cert=lambda: tuple(pairs[0]))  # type: ignore[arg-type,return-value]
    context = CA.server("127.0.0.1", clients=CLIENTS)
    with pytest.raises(TLSError):
        ask(context, options)
    del pairs[0]
    assert ask(context, options) == b"answer"


ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
OLD_ENCRYPTED = b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMAAA\n-----END RSA PRIVATE KEY-----\n"
NO_KEY = b"-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n"
NO_CERT = b"-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n"
PUBLIC = b"-----BEGIN PUBLIC KEY-----\nMAAA\n-----END PUBLIC KEY-----\n"


@looped(
    ("cert", "key", "text"),
    [
        (ME.cert, CLIENTS.issue("b@example.org").key, "tls: private key does not match public key"),
        (b"", ME.key, "tls: failed to find any PEM data in certificate input"),
        (b"garbage", ME.key, "tls: failed to find any PEM data in certificate input"),
        (ME.cert, b"garbage", "tls: failed to find any PEM data in key input"),
        (
            ME.key,
            ME.cert,
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched",
        ),
        (ME.cert, ME.cert, "tls: found a certificate rather than a key in the PEM for the private key"),
        (ME.cert, PUBLIC, 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input'),
        (ME.cert, ENCRYPTED, "tls: failed to parse private key"),
        (ME.cert, OLD_ENCRYPTED, "tls: failed to parse private key"),
        (ME.cert, NO_KEY, "tls: failed to parse private key"),
        (NO_CERT, ME.key, "tls: failed to parse certificate"),
        (PUBLIC, ME.key, "tls: failed to find certificate PEM data in certificate input"),
    ],
    ids=[
        "mismatch",
        "no certificate",
        "garbage for a certificate",
        "garbage for a key",
        "switched",
        "a certificate for a key",
        "a public key",
        "encrypted",
        "encrypted, old format",
        "a key that is none",
        "a certificate that is none",
        "a public key for a certificate",
    ],
)
def test_key_pairs_that_are_none(cert: bytes, key: bytes, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tls.context_for(TLSOptions("x", CA.pem, client_cert=lambda: (cert, key)))
    assert str(caught.value) == text


@looped(
    ("ca", "why"),
    [
        (b"garbage", "unable to parse bytes as PEM block"),
        (b"-----BEGIN CERTIFICATE-----\nMAAA\n", "unable to parse bytes as PEM block"),
        (NO_CERT, "failed to parse certificate"),
        (NO_KEY, 'expected "CERTIFICATE" PEM block, got "PRIVATE KEY"'),
    ],
)
def test_a_ca_that_is_none(ca: bytes, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tls.context_for(TLSOptions("x", ca))
    assert str(caught.value) == f"unable to load root certificates: {why}"


def test_a_bad_key_pair_does_not_leave_the_connection_open() -> None:
    with ScriptedServer(Peer.stall) as server, pytest.raises(ConfigError):
        dial(Endpoint("127.0.0.1", server.port, TLSOptions("x", b"garbage")))


def test_the_context_is_made_once() -> None:
    one = tls.context_for(TLSOptions("a", CA.pem))
    assert tls.context_for(TLSOptions("b", CA.pem)) is one
    assert tls.context_for(TLSOptions("a", CA.pem, verify=False)) is not one


# Nothing stays on a disk


@pytest.mark.parametrize("memory_files", [True, False])
def test_no_key_on_a_disk(memory_files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if memory_files and not hasattr(os, "memfd_create"):
        pytest.skip("this system has no memory files")
    if not memory_files:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    modes: list[int] = []

    class Watched(ssl.SSLContext):
        def load_cert_chain(self, certfile: Any, *rest: Any, **more: Any) -> None:
            modes.extend(stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir())
            super().load_cert_chain(certfile, *rest, **more)

    keypair.load(Watched(ssl.PROTOCOL_TLS_CLIENT), ME.cert, ME.key)
    with pytest.raises(ConfigError):
        keypair.load(Watched(ssl.PROTOCOL_TLS_CLIENT), ME.cert, CLIENTS.issue("b@example.org").key)
    assert list(tmp_path.iterdir()) == []
    assert modes == ([] if memory_files else [0o600, 0o600])


def test_everything_in_the_temporary_directory_may_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "memfd_create", raising=False)
    context = CA.server("127.0.0.1", clients=CLIENTS)
    options = TLSOptions("127.0.0.1", CA.pem, client_cert=lambda: (ME.cert, ME.key))
    assert ask(context, options) == b"answer"
    assert not list(tmp_path.iterdir())
    assert ask(context, options) == b"answer"


def test_key_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "keys"
    monkeypatch.setenv("SSLKEYLOGFILE", str(log))
    own = Authority("logged")
    assert ask(own.server("127.0.0.1"), TLSOptions("127.0.0.1", own.pem)) == b"answer"
    assert "SERVER_TRAFFIC_SECRET" in log.read_text()


# The wrong protocol, silence, the end


def test_http_server_on_an_https_url() -> None:
    def http(peer: Peer) -> None:
        peer.read()
        peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        peer.stall()

    with ScriptedServer(http) as server, pytest.raises(TLSError) as caught:
        dial(Endpoint("127.0.0.1", server.port, TLSOptions("127.0.0.1", CA.pem)))
    assert str(caught.value) == "http: server gave HTTP response to HTTPS client"


def test_something_else_on_an_https_url() -> None:
    def ssh(peer: Peer) -> None:
        peer.send(b"SSH-2.0-OpenSSH_9.6\r\n")
        peer.stall()

    with ScriptedServer(ssh) as server, pytest.raises(TLSError) as caught:
        dial(Endpoint("127.0.0.1", server.port, TLSOptions("127.0.0.1", CA.pem)))
    assert str(caught.value) == "tls: first record does not look like a TLS handshake"


def test_the_server_closes_instead_of_a_handshake() -> None:
    def close(peer: Peer) -> None:
        peer.read()

    with ScriptedServer(close) as server, pytest.raises(ConnectionLost) as caught:
        dial(Endpoint("127.0.0.1", server.port, TLSOptions("127.0.0.1", CA.pem)))
    assert str(caught.value) == "EOF"
    assert caught.value.detail == ("the connection was closed during the TLS handshake",)


def test_no_common_version() -> None:
    def alert(peer: Peer) -> None:
        peer.read()
        peer.send(b"\x15\x03\x01\x00\x02\x02\x46")  # fatal, protocol_version
        peer.stall()

    with ScriptedServer(alert) as server, pytest.raises(TLSError) as caught:
        dial(Endpoint("127.0.0.1", server.port, TLSOptions("127.0.0.1", CA.pem)))
    assert str(caught.value) == "remote error: tls: protocol version not supported"


@looped("by_deadline", [False, True])
@looped("dribble", [False, True], ids=["silent", "a byte now and then"])
def test_handshake_timeout(by_deadline: bool, dribble: bool) -> None:
    def slow(peer: Peer) -> None:
        peer.read()
        record = b"\x16\x03\x03\x40\x00" + bytes(1000)
        for i in range(1000 if dribble else 0):
            peer.send(record[i : i + 1])
            if peer.stopping.wait(0.02):
                return
        peer.stall()

    deadline = time.monotonic() + 0.2 if by_deadline else None
    limits = Timeouts() if by_deadline else Timeouts(tls=0.2)
    with ScriptedServer(slow) as server, pytest.raises(DeadlineExceeded) as caught:
        endpoint = Endpoint("127.0.0.1", server.port, TLSOptions("127.0.0.1", CA.pem))
        dial(endpoint, timeouts=limits, deadline=deadline)
    assert caught.value.step == ("request" if by_deadline else "tls")
    if not by_deadline:
        assert str(caught.value) == "net/http: TLS handshake timeout"


# The tap


def test_event_of_a_handshake() -> None:
    events: list[Event] = []
    pair = CA.issue("api.test", not_after=NOW + DAY)
    with ScriptedServer(answer, tls=server_context(pair)) as server:
        options = TLSOptions("api.test", CA.pem)
        dial(Endpoint("127.0.0.1", server.port, options), tap=Tap(events.append), conn=4).close()
    (event,) = (e for e in events if e.kind == "tls")
    assert event.conn == 4
    assert event.data["server_name"] == "api.test"
    assert event.data["version"] == "TLSv1.3"
    assert event.data["cipher"].startswith("TLS_")
    assert event.data["alpn"] == ""
    assert event.data["subject"].startswith("OU=Testing cert")
    assert event.data["issuer"].startswith("OU=Testing CA")
    assert event.data["not_after"] == (NOW + DAY).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_the_second_look_is_told() -> None:
    events: list[Event] = []
    with ScriptedServer(answer, tls=CA.server("api.test")) as server, pytest.raises(TLSError):
        options = TLSOptions("api.test", b"")
        dial(Endpoint("127.0.0.1", server.port, options), tap=Tap(events.append), conn=1)
    assert [e.kind for e in events] == ["connect", "note"]


def test_pairs_are_pem() -> None:
    assert isinstance(ME, Pair)
    assert [label for label, _ in keypair.pem_blocks(ME.cert + ME.key)][-1].endswith("PRIVATE KEY")
