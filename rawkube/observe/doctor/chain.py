"""Looks at the certificates that a server sends, on connections of its own; nothing but a handshake is begun on them.

Before Python 3.13 `ssl` does not tell them where they were not verified, but up to TLS 1.2 they pass in the clear.
"""

from __future__ import annotations

import ssl
import time

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import RawkubeError
from rawkube.gotext import one_line
from rawkube.observe.doctor.links import Sent, ServerHandshake
from rawkube.wire.dial import Endpoint, Timeouts, dial
from rawkube.wire.tls import context_for, new_context, sni

if TYPE_CHECKING:
    from rawkube.wire.stream import Stream

_READ = 65536
_TOO_NEW = "the server speaks nothing older than TLS 1.3, whose certificates are known here from Python 3.13 on"


def sent_by(endpoint: Endpoint, timeouts: Timeouts) -> Sent:
    """The certificates of a server (an endpoint with `tls`), or why they are not known. Never raises."""
    try:
        handshake = _begun(endpoint, timeouts, ssl.TLSVersion.TLSv1_2)
        if handshake.certificates is not None:
            return Sent(handshake.certificates)
        if not handshake.wants_newer:
            return Sent(why="the server sent no certificates on a second connection")
        if not hasattr(ssl.SSLObject, "get_unverified_chain"):
            return Sent(why=_TOO_NEW)
        return Sent(_begun(endpoint, timeouts, ssl.TLSVersion.TLSv1_3).certificates or ())
    except (RawkubeError, OSError) as error:
        return Sent(why=f"a second connection failed: {one_line(str(error))}")


def trusted_by(endpoint: Endpoint) -> list[bytes]:
    """The roots that are trusted (DER), as far as they are held in memory."""
    assert endpoint.tls is not None
    return context_for(endpoint.tls).get_ca_certs(binary_form=True) if endpoint.tls.verify else []


def _begun(endpoint: Endpoint, timeouts: Timeouts, newest: ssl.TLSVersion) -> ServerHandshake:
    """A handshake up to the server's certificates."""
    assert endpoint.tls is not None
    end = time.monotonic() + timeouts.tls
    bare = dial(
        endpoint._replace(tls=None), timeouts=timeouts, deadline=time.monotonic() + timeouts.connect, tunnel=True
    )
    try:
        context = new_context(b"", False, None)
        context.maximum_version = newest
        return _shake_hands(bare, context, sni(endpoint.tls.server_name), end)
    finally:
        bare.close()


def _shake_hands(bare: Stream, context: ssl.SSLContext, name: str, end: float) -> ServerHandshake:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name or None)
    seen = ServerHandshake()
    while not seen.over:
        try:
            tls.do_handshake()
            return _told(tls, seen)
        except ssl.SSLWantReadError:
            bare.send_by(outgoing.read(), end)
        data = bare.recv_by(_READ, end)
        if not data:
            break
        incoming.write(data)
        seen.feed(data)
    return seen


def _told(tls: ssl.SSLObject, seen: ServerHandshake) -> ServerHandshake:
    """As Python itself tells them, where it does (3.13)."""
    if hasattr(tls, "get_unverified_chain"):
        seen.certificates = tuple(tls.get_unverified_chain())
    return seen
