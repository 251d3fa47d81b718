"""The WebSocket opening handshake from the client's side (RFC 6455 sections 1.3, 4.1 and 4.2.2). Pure.

The request is an ordinary GET on an ordinary connection; what makes it an upgrade are the headers here. The frames
that follow are read and made in `rawkube.wire.frames`.
"""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Sequence

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def new_key(random: bytes) -> str:
    """The value of `Sec-WebSocket-Key` from 16 random bytes."""
    return binascii.b2a_base64(random, newline=False).decode()


def accept_for(key: str) -> str:
    """The value of `Sec-WebSocket-Accept` that answers a key."""
    digest = hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()
    return binascii.b2a_base64(digest, newline=False).decode()


def request_headers(key: str, protocols: Sequence[str]) -> list[tuple[str, str]]:
    """The headers that ask for the upgrade, offering these subprotocols (if any) in one header, best first."""
    offer = [("Sec-WebSocket-Protocol", ", ".join(protocols))] if protocols else []
    return [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
        *offer,
    ]


def problem_with(headers: Sequence[tuple[str, str]], key: str, protocols: Sequence[str]) -> str:
    """What is wrong with the headers of a 101 (names in lower case); empty if nothing is.

    A missing or unoffered subprotocol is wrong too, unless none was offered: the bytes that follow could not be read.
    """

    def tokens(name: str) -> list[str]:
        return [token.strip().lower() for n, value in headers if n == name for token in value.split(",")]

    def values(name: str) -> list[str]:
        return [value.strip() for n, value in headers if n == name]

    if "websocket" not in tokens("upgrade"):
        return "its 101 does not name websocket in Upgrade"
    if "upgrade" not in tokens("connection"):
        return "its 101 does not name Upgrade in Connection"
    if values("sec-websocket-accept") != [accept_for(key)]:
        return "its Sec-WebSocket-Accept does not answer the key that was sent"
    if values("sec-websocket-extensions"):
        return "websocket: invalid compression negotiation"
    chosen = values("sec-websocket-protocol")
    if not protocols and not any(chosen):  # API servers send the header, empty
        return ""
    if not chosen or not chosen[0]:
        return f"it chose no subprotocol (offered: {', '.join(protocols)})"
    if len(chosen) > 1 or chosen[0] not in protocols:
        return f"it chose a subprotocol that was not offered: {', '.join(chosen)}"
    return ""


def chosen_protocol(headers: Sequence[tuple[str, str]]) -> str:
    """The subprotocol of a 101 in which nothing is wrong; empty where none was offered."""
    return next((value.strip() for name, value in headers if name == "sec-websocket-protocol"), "")
