"""Pure: the certificates that a server sends: out of the bytes of a handshake, and into words.

Whether a chain is good is OpenSSL's to say, and said by the check before; here is told what was sent, and by name and
date where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from rawkube._typing import NamedTuple
from rawkube.observe.doctor.facts import FAIL, PASS, UNKNOWN, WARN, Finding, Reached
from rawkube.observe.doctor.way import SOON_DAYS, days_between
from rawkube.wire import x509
from rawkube.wire.x509 import Certificate

_HANDSHAKE, _ALERT = 22, 21  # kinds of records (RFC 5246, section 6.2.1)
_CERTIFICATE = 11  # a kind of message (section 7.4)
_PROTOCOL_VERSION = 70  # an alert (section 7.2)
_RECORD_LIMIT = 1 << 20


class Sent(NamedTuple):
    """The certificates that a server sent (DER), its own first; or, in a line, why they are not known."""

    certificates: tuple[bytes, ...] = ()
    why: str = ""


class ServerHandshake:
    """The records of a server up to TLS 1.2, cut anywhere, until its Certificate message (RFC 5246, section 7.4.2).

    `certificates`: None before it. `refused`: the number of the alert that came instead.
    """

    def __init__(self) -> None:
        self.certificates: tuple[bytes, ...] | None = None
        self.refused = 0
        self._records = bytearray()
        self._messages = bytearray()

    @property
    def over(self) -> bool:
        """Nothing more is to be learned."""
        return self.certificates is not None or bool(self.refused) or len(self._records) > _RECORD_LIMIT

    @property
    def wants_newer(self) -> bool:
        """The server speaks no TLS 1.2."""
        return self.refused == _PROTOCOL_VERSION

    def feed(self, data: bytes) -> None:
        """Take bytes as they came."""
        self._records += data
        while not self.over and len(self._records) >= 5:
            size = int.from_bytes(self._records[3:5], "big")
            if len(self._records) < 5 + size:
                return
            kind, payload = self._records[0], bytes(self._records[5 : 5 + size])
            del self._records[: 5 + size]
            if kind == _ALERT and len(payload) == 2:
                self.refused = payload[1]
            elif kind == _HANDSHAKE:
                self._messages += payload
                self._read()

    def _read(self) -> None:
        while len(self._messages) >= 4:
            size = int.from_bytes(self._messages[1:4], "big")
            if len(self._messages) < 4 + size:
                return
            kind, body = self._messages[0], bytes(self._messages[4 : 4 + size])
            del self._messages[: 4 + size]
            if kind == _CERTIFICATE:
                self.certificates = tuple(_listed(body[3:]))
                return


def _listed(data: bytes) -> list[bytes]:
    found = []
    while len(data) >= 3:
        end = 3 + int.from_bytes(data[:3], "big")
        found.append(data[3:end])
        data = data[end:]
    return found


class Path(NamedTuple):
    """From the server's own certificate upwards, by name.

    `end`: a root that is trusted, a certificate that signs itself, or None where that of `missing` was not sent.
    `spare`: what was sent and is no part of it.
    """

    links: tuple[Certificate, ...]
    end: Certificate | None
    trusted: bool
    missing: str
    spare: tuple[Certificate, ...]


def path_of(sent: Sequence[Certificate], roots: Sequence[Certificate]) -> Path:
    """Which of the certificates lead where. `sent`: at least one."""
    links, rest = [sent[0]], list(sent[1:])
    while True:
        last = links[-1]
        if last in roots:
            return Path(tuple(links), last, True, "", tuple(rest))
        if root := next((one for one in roots if one.subject == last.issuer), None):
            return Path(tuple(links), root, True, "", tuple(rest))
        if last.subject == last.issuer:
            return Path(tuple(links), last, False, "", tuple(rest))
        above = next((one for one in rest if one.subject == last.issuer), None)
        if above is None:
            return Path(tuple(links), None, False, last.issuer, tuple(rest))
        rest.remove(above)
        links.append(above)


def chain(sent: Sent, roots: Sequence[bytes], reached: Reached) -> Finding:
    """Each link, and which one is missing or out of date. `roots`: those that are trusted (DER), as far as known."""
    try:
        certificates = [x509.parse(der) for der in sent.certificates]
    except ValueError:
        return Finding("chain", UNKNOWN, "what the server sent as certificates cannot be read")
    if not certificates:
        return Finding("chain", UNKNOWN, sent.why or "the server sent no certificate")
    path = path_of(certificates, _readable(roots))
    count = f"{len(certificates)} certificate{'s' if len(certificates) > 1 else ''} sent"
    seen = "; ".join([count, *map(_link, path.links), *_end(path, reached), *map(_spare, path.spare)])
    result, advice = _judged(path, reached)
    return Finding("chain", result, seen, advice)


def not_known(reached: Reached) -> Finding:
    """The handshake failed before there were certificates."""
    return Finding("chain", UNKNOWN, f"not tried: {reached.failed} failed")


def shows_certificates(reached: Reached) -> bool:
    """Whether the handshake came so far that a server shows its certificates."""
    return reached.tls and (not reached.failed or (reached.failed == "tls" and "x509:" in reached.error))


def _readable(roots: Sequence[bytes]) -> list[Certificate]:
    found = []
    for der in roots:
        try:
            found.append(x509.parse(der))
        except ValueError:
            continue
    return found


def _link(one: Certificate) -> str:
    by = "itself" if one.subject == one.issuer else f'"{one.issuer}"'
    return f'"{one.subject}" ({one.key or "another kind of key"}, until {one.not_after}) by {by}'


def _spare(one: Certificate) -> str:
    return f'"{one.subject}" is no part of it'


def _end(path: Path, reached: Reached) -> list[str]:
    if not reached.trust:
        return []
    if path.trusted and path.end is not None:
        until = f", until {path.end.not_after}" if path.end not in path.links else ""
        but = ", which OpenSSL does not accept for this chain" if _unknown_authority(reached) else ""
        return [f'"{path.end.subject}" is in {reached.trust}{until}{but}']
    if path.missing:
        # A chain that was accepted is whole, wherever the rest of it is kept.
        return [] if not reached.failed else [f'"{path.missing}" was not sent, and is not in {reached.trust}']
    return [f'"{path.links[-1].subject}" is not in {reached.trust}'] if reached.failed else []


def _judged(path: Path, reached: Reached) -> tuple[str, str]:
    """(result, advice): what is wrong with the first link of which something is."""
    links = [*path.links, *([path.end] if path.end is not None and path.end not in path.links else [])]
    for one in links:
        if reached.now > one.not_after:
            return _bad(reached), f'"{one.subject}" has expired: renew it'
        if reached.now < one.not_before:
            return _bad(
                reached
            ), f'"{one.subject}" is not valid before {one.not_before}: is this machine\'s clock right?'
    if reached.failed and path.missing:
        return FAIL, f'have the server send the certificate of "{path.missing}" too, or trust that CA'
    if reached.failed and not path.trusted:
        return FAIL, f'trust "{path.links[-1].subject}", if it is the cluster\'s: its CA in the kubeconfig'
    if _unknown_authority(reached):
        return FAIL, "a CA of the same name with another key? The cluster may have been made anew: fetch its CA"
    for one in path.links[1:]:
        left = days_between(reached.now, one.not_after)
        if left is not None and left < SOON_DAYS:
            return WARN, f'"{one.subject}" expires in {left} days: renew it'
    return PASS, ""


def _unknown_authority(reached: Reached) -> bool:
    return "unknown authority" in reached.error


def _bad(reached: Reached) -> str:
    return FAIL if reached.failed else WARN
