"""PEM into an SSL context: root certificates, and a client's certificate with its key.

A key must not stay on a disk, but OpenSSL's loader (as Python has it) reads files: it gets a memory file
where the system has one, else a file of mode 0600 that is gone again when this returns.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl

from rawkube.errors import ConfigError

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"


def pem_blocks(data: bytes) -> list[tuple[str, bytes]]:
    """(label, DER) of each block of RFC 7468 text; what is between blocks, or no base64, is skipped."""
    found = []
    for part in data.split(_BEGIN)[1:]:
        label, dashes, rest = part.partition(_DASHES)
        body, end, _ = rest.partition(_END)
        if not dashes or not end:
            continue
        try:
            found.append((label.decode("ascii", "replace"), binascii.a2b_base64(body)))
        except binascii.Error:
            continue
    return found


def root_certificates(ca_pem: bytes, context: ssl.SSLContext | None = None) -> list[bytes]:
    """The DER of each certificate that can be loaded; as in Go, one good one makes the file good.

    b"" gives none. `context`: is made to trust them. Raises ConfigError with client-go's words where there is no good
    one.
    """
    blocks = pem_blocks(ca_pem)
    scratch = context or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    good = [der for label, der in blocks if label == "CERTIFICATE" and _loads(scratch, der)]
    if good or not ca_pem:
        return good
    if not blocks:
        why = "unable to parse bytes as PEM block"
    elif blocks[0][0] != "CERTIFICATE":
        why = f'expected "CERTIFICATE" PEM block, got "{blocks[0][0]}"'
    else:
        why = "failed to parse certificate"
    raise ConfigError(f"unable to load root certificates: {why}")


def _loads(scratch: ssl.SSLContext, der: bytes) -> bool:
    try:
        scratch.load_verify_locations(cadata=der)
    except (ssl.SSLError, ValueError):
        return False
    return True


def load(context: ssl.SSLContext, cert_pem: bytes, key_pem: bytes) -> None:
    """Give a context the client's certificate chain and key.

    Raises ConfigError, in the words of Go's tls.X509KeyPair; the text holds nothing of the input.
    """
    chain, key = _chain(cert_pem), _key(key_pem)
    try:
        _load(context, b"".join(_pem("CERTIFICATE", der) for der in chain) + _pem(*key))
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigError("tls: private key does not match public key") from None
        if error.reason == "KEY_TYPE_MISMATCH":
            raise ConfigError("tls: private key type does not match public key type") from None
        scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        half = "private key" if all(_loads(scratch, der) for der in chain) else "certificate"
        raise ConfigError(f"tls: failed to parse {half}") from None
    except ValueError:  # what _no_password raises
        raise ConfigError("tls: failed to parse private key") from None


def check(cert_pem: bytes, key_pem: bytes) -> None:
    """Raises ConfigError, as `load` does, for a certificate and key that cannot be used."""
    load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), cert_pem, key_pem)


def _chain(cert_pem: bytes) -> list[bytes]:
    blocks = pem_blocks(cert_pem)
    if not blocks:
        raise ConfigError("tls: failed to find any PEM data in certificate input")
    chain = [der for label, der in blocks if label == "CERTIFICATE"]
    if not chain:
        switched = any(label.endswith("PRIVATE KEY") for label, _ in blocks)
        hint = ", but did find a private key; PEM inputs may have been switched" if switched else ""
        raise ConfigError(f"tls: failed to find certificate PEM data in certificate input{hint}")
    return chain


def _key(key_pem: bytes) -> tuple[str, bytes]:
    """The first private key: there may be EC PARAMETERS or certificates around it."""
    if b"BEGIN ENCRYPTED PRIVATE KEY" in key_pem or b"Proc-Type: 4,ENCRYPTED" in key_pem:
        raise ConfigError(
            "tls: failed to parse private key",
            detail=["the client key is encrypted with a password, which Kubernetes clients do not support"],
        )
    blocks = pem_blocks(key_pem)
    if not blocks:
        raise ConfigError("tls: failed to find any PEM data in key input")
    for label, der in blocks:
        if label.endswith("PRIVATE KEY"):
            return label, der
    if any(label == "CERTIFICATE" for label, _ in blocks):
        raise ConfigError("tls: found a certificate rather than a key in the PEM for the private key")
    raise ConfigError('tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input')


def _pem(label: str, der: bytes) -> bytes:
    marks = (f"-----{word} {label}-----\n".encode() for word in ("BEGIN", "END"))
    return base64.encodebytes(der).join(marks)


def _no_password() -> bytes:
    # Without a callback OpenSSL would ask on the terminal.
    raise ValueError


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    create = getattr(os, "memfd_create", None)
    if create is not None and os.access("/proc/self/fd", os.X_OK):
        fd = create("rawkube", 1)  # MFD_CLOEXEC
        try:
            _write_all(fd, pem)
            context.load_cert_chain(f"/proc/self/fd/{fd}", password=_no_password)
        finally:
            os.close(fd)
    else:
        _load_file(context, pem)


def _load_file(context: ssl.SSLContext, pem: bytes) -> None:
    import tempfile

    fd, path = tempfile.mkstemp(prefix="rawkube-")  # mode 0600
    try:
        try:
            _write_all(fd, pem)
        finally:
            os.close(fd)
        context.load_cert_chain(path, password=_no_password)
    finally:
        os.unlink(path)  # noqa: PTH108


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
