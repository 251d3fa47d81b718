"""The WebSocket subprotocols of `exec` and `attach`, as plain data. Pure.

One connection carries several channels: 0 stdin, 1 stdout, 2 stderr, 3 errors (the command's status), 4 terminal
size. Every message names its channel first. The names are those of k8s.io/apimachinery (`remotecommand`) and
k8s.io/apiserver (`wsstream`); v5 is described in KEP-4006.
"""

from __future__ import annotations

from rawkube._typing import NamedTuple

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
# v5: a message on this channel names, in its one byte of payload, a channel that gets no more data.
HALF_CLOSE = 255


class Protocol(NamedTuple):
    """A subprotocol, by what it can do.

    `name`: as in `Sec-WebSocket-Protocol`. `half_close`: the end of stdin can be sent. `json_status`: the error
    channel carries a `metav1.Status` as JSON, without which a command has not succeeded; else plain text, and
    silence is success. `base64`: messages are text; an ASCII digit for the channel, then the payload in base64.
    """

    name: str
    half_close: bool
    json_status: bool
    base64: bool


V5 = Protocol("v5.channel.k8s.io", half_close=True, json_status=True, base64=False)
V4 = Protocol("v4.channel.k8s.io", half_close=False, json_status=True, base64=False)
V1 = Protocol("channel.k8s.io", half_close=False, json_status=False, base64=False)
V4_BASE64 = Protocol("v4.base64.channel.k8s.io", half_close=False, json_status=True, base64=True)
V1_BASE64 = Protocol("base64.channel.k8s.io", half_close=False, json_status=False, base64=True)

PROTOCOLS: tuple[Protocol, ...] = (V5, V4, V1, V4_BASE64, V1_BASE64)

# What is offered unless the user names others, best first.
OFFERED: tuple[Protocol, ...] = (V5, V4)

_BY_NAME = {protocol.name: protocol for protocol in PROTOCOLS}


def find(name: str) -> Protocol | None:
    """The subprotocol of this name (exactly as on the wire), None if it is not one of these."""
    return _BY_NAME.get(name)
