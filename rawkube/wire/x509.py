"""What a certificate says of itself, read from its DER, to explain why it was not trusted.

Opens nothing. The decision whether a certificate is good is OpenSSL's alone; nothing here makes one. The
texts are those of Go's crypto/x509, so that scripts which look for them find them.

Sources: RFC 5280 (certificates), X.690 (DER).
"""

from __future__ import annotations

from collections.abc import Iterator

from rawkube._typing import NamedTuple
from rawkube.gotext import one_line

_SEQUENCE, _SET, _OID = 0x30, 0x31, 0x06
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18
_BMP_STRING = 0x1E
_VERSION, _EXTENSIONS = 0xA0, 0xA3  # [0] and [3] of TBSCertificate
_DNS_NAME, _IP_ADDRESS = 0x82, 0x87  # [2] and [7] of GeneralName

_RSA, _EC = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01", b"\x2a\x86\x48\xce\x3d\x02\x01"
_CURVES = {
    b"\x2a\x86\x48\xce\x3d\x03\x01\x07": "P-256",
    b"\x2b\x81\x04\x00\x22": "P-384",
    b"\x2b\x81\x04\x00\x23": "P-521",
    b"\x2b\x65\x70": "Ed25519",
    b"\x2b\x65\x71": "Ed448",
}
_SUBJECT_ALT_NAME = b"\x55\x1d\x11"
_SUBJECT_KEY_ID, _AUTHORITY_KEY_ID = b"\x55\x1d\x0e", b"\x55\x1d\x23"
_ATTRIBUTES = {
    b"\x55\x04\x03": "CN",
    b"\x55\x04\x05": "SERIALNUMBER",
    b"\x55\x04\x06": "C",
    b"\x55\x04\x07": "L",
    b"\x55\x04\x08": "ST",
    b"\x55\x04\x09": "STREET",
    b"\x55\x04\x0a": "O",
    b"\x55\x04\x0b": "OU",
}


class Certificate(NamedTuple):
    """Names are RFC 4514 strings (`CN=x,O=y`), dates are RFC 3339 in UTC (they compare as strings).

    `key`: the kind of its key, `RSA 2048`, `ECDSA P-256`, `Ed25519`; empty for others.
    """

    subject: str
    issuer: str
    common_name: str
    not_before: str
    not_after: str
    dns_names: tuple[str, ...]
    ip_addresses: tuple[str, ...]
    has_names: bool
    has_subject_key: bool = False
    has_authority_key: bool = False
    key: str = ""


def _values(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(tag, content) of each DER value in `data`. ValueError where it is cut short."""
    at = 0
    while at < len(data):
        if at + 2 > len(data):
            raise ValueError("cut in a tag")
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[at : at + size], "big")
            at += size
        if at + length > len(data):
            raise ValueError("cut in a value")
        yield tag, data[at : at + length]
        at += length


def parse(der: bytes) -> Certificate:
    """Read an X.509 certificate. ValueError if it is none."""
    try:
        return _parse(der)
    except (StopIteration, IndexError, UnicodeError) as error:
        raise ValueError("not a certificate") from error


def _parse(der: bytes) -> Certificate:
    _, certificate = next(_values(der))
    _, body = next(_values(certificate))
    fields = [f for f in _values(body) if f[0] != _VERSION]
    # serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo (RFC 5280, section 4.1)
    issuer, validity, subject = fields[2][1], fields[3][1], fields[4][1]
    before, after = _values(validity)
    extensions = _extensions(next((content for tag, content in fields[6:] if tag == _EXTENSIONS), b""))
    names = _alternative_names(extensions)
    subject_pairs = list(_attributes(subject))
    return Certificate(
        subject=_name(subject_pairs),
        issuer=_name(list(_attributes(issuer))),
        common_name=next((value for key, value in subject_pairs if key == "CN"), ""),
        not_before=_time(*before),
        not_after=_time(*after),
        dns_names=tuple(_text(v) for tag, v in names or () if tag == _DNS_NAME),
        ip_addresses=tuple(ip_text(v) for tag, v in names or () if tag == _IP_ADDRESS),
        has_names=names is not None,
        has_subject_key=_SUBJECT_KEY_ID in extensions,
        has_authority_key=_AUTHORITY_KEY_ID in extensions,
        key=_key(fields[5][1]),
    )


def _key(info: bytes) -> str:
    """The kind of a SubjectPublicKeyInfo (RFC 3279, RFC 5480, RFC 8410)."""
    (_, algorithm), (_, bits) = _values(info)
    kind, *parameters = (content for _, content in _values(algorithm))
    if kind == _RSA:
        _, numbers = next(_values(bits[1:]))  # behind the number of unused bits
        _, modulus = next(_values(numbers))
        return f"RSA {int.from_bytes(modulus, 'big').bit_length()}"
    if kind == _EC:
        return f"ECDSA {_CURVES.get(parameters[0] if parameters else b'', '')}".rstrip()
    return _CURVES.get(kind, "")


def _attributes(name: bytes) -> Iterator[tuple[str, str]]:
    for _, rdn in _values(name):
        for _, pair in _values(rdn):
            (_, oid), (tag, value) = _values(pair)
            yield _ATTRIBUTES.get(oid, "OID"), _text(value, tag)


def _text(value: bytes, tag: int = 0) -> str:
    text = value.decode("utf-16-be" if tag == _BMP_STRING else "utf-8", "replace")
    return one_line(text)


def _name(pairs: list[tuple[str, str]]) -> str:
    """RFC 4514: the most specific part first."""
    return ",".join(f"{key}={value}" for key, value in reversed(pairs))


def _time(tag: int, value: bytes) -> str:
    digits = value.decode("ascii").rstrip("Z")
    if tag == _UTC_TIME:  # two digits: 1950 to 2049 (RFC 5280, section 4.1.2.5.1)
        digits = ("20" if digits[:2] < "50" else "19") + digits
    d = digits.ljust(14, "0")
    return f"{d[:4]}-{d[4:6]}-{d[6:8]}T{d[8:10]}:{d[10:12]}:{d[12:14]}Z"


def _extensions(data: bytes) -> dict[bytes, bytes]:
    """Object identifier → value of each extension; the first one of a kind counts."""
    found: dict[bytes, bytes] = {}
    for _, sequence in _values(data):
        for _, extension in _values(sequence):
            parts = list(_values(extension))
            if parts[0][0] == _OID:
                found.setdefault(parts[0][1], parts[-1][1])
    return found


def _alternative_names(extensions: dict[bytes, bytes]) -> list[tuple[int, bytes]] | None:
    """The GeneralNames of the subjectAltName extension, None without one."""
    if _SUBJECT_ALT_NAME not in extensions:
        return None
    _, names = next(_values(extensions[_SUBJECT_ALT_NAME]))
    return list(_values(names))


def ip_text(packed: bytes) -> str:
    """An address of 4 or 16 bytes as text; hexadecimal for any other length."""
    import socket

    if len(packed) in (4, 16):
        return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
    return packed.hex()


def ip_bytes(host: str) -> bytes | None:
    """The bytes of an IP literal (an IPv6 zone is dropped), None for a name."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.inet_pton(family, host.partition("%")[0])
    except OSError:
        return None


def why_not_trusted(certificate: Certificate, host: str, now: str) -> str:
    """Go's words for a leaf certificate that was not trusted for `host` at the time `now` (RFC 3339, UTC).

    In Go's order (x509.Certificate.Verify): its dates, its names, and else who signed it.
    """
    period = "x509: certificate has expired or is not yet valid: current time"
    if now < certificate.not_before:
        return f"{period} {now} is before {certificate.not_before}"
    if now > certificate.not_after:
        return f"{period} {now} is after {certificate.not_after}"
    if not names_match(certificate, host):
        return f"x509: {_wrong_name(certificate, host)}"
    return "x509: certificate signed by unknown authority"


def names_match(certificate: Certificate, host: str) -> bool:
    """Whether the certificate is for this host (RFC 6125, by subjectAltName; a wildcard is a whole label)."""
    if (packed := ip_bytes(host)) is not None:
        return ip_text(packed) in certificate.ip_addresses
    return any(_name_matches(pattern, host) for pattern in certificate.dns_names)


def _name_matches(pattern: str, host: str) -> bool:
    pattern, host = pattern.lower().rstrip("."), host.lower().rstrip(".")
    if pattern.startswith("*."):
        label, _, rest = host.partition(".")
        return bool(label) and rest == pattern[2:]
    return pattern == host


def _wrong_name(certificate: Certificate, host: str) -> str:
    """The texts of x509.HostnameError."""
    if not certificate.has_names and _name_matches(certificate.common_name, host):
        return "certificate relies on legacy Common Name field, use SANs instead"
    is_address = ip_bytes(host) is not None
    if is_address and not certificate.ip_addresses:
        return f"cannot validate certificate for {host} because it doesn't contain any IP SANs"
    names = certificate.ip_addresses if is_address else certificate.dns_names
    if not names:
        return f"certificate is not valid for any names, but wanted to match {host}"
    return f"certificate is valid for {', '.join(names)}, not {host}"


def describe(certificate: Certificate) -> str:
    """One line that tells one certificate from another."""
    names = ", ".join(certificate.dns_names + certificate.ip_addresses)
    return (
        f'certificate of "{certificate.subject}", issued by "{certificate.issuer}", valid from '
        f"{certificate.not_before} to {certificate.not_after}" + (f", for {names}" if names else "")
    )
