"""The opening handshake: the headers that ask, and what may be wrong with those that answer."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.wire.websocket import accept_for, chosen_protocol, new_key, problem_with, request_headers
from tests.support import websocket
from tests.support.examples import examples
from tests.support.rows import looped

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
OFFERED = [V5, V4]
Headers = list[tuple[str, str]]


def good(**changed: str | None) -> Headers:
    """The headers of a sound 101; `_` in a name is `-`, None leaves it out."""
    found: dict[str, str | None] = {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-accept": ACCEPT,
        "sec-websocket-protocol": V5,
    }
    found.update({name.replace("_", "-"): value for name, value in changed.items()})
    return [(name, value) for name, value in found.items() if value is not None]


def test_the_example_of_the_rfc() -> None:
    assert accept_for(KEY) == ACCEPT


@given(st.binary(min_size=16, max_size=16))
@settings(max_examples=examples(50))
def test_a_key_is_16_bytes_in_base64_and_its_answer_is_the_same_as_another_implementations(random: bytes) -> None:
    key = new_key(random)
    assert base64.b64decode(key, validate=True) == random
    assert accept_for(key) == websocket.accept_for(key)


def test_the_headers_that_ask() -> None:
    assert request_headers(KEY, OFFERED) == [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", KEY),
        ("Sec-WebSocket-Protocol", "v5.channel.k8s.io, v4.channel.k8s.io"),
    ]


@looped(
    "headers",
    [
        pytest.param(good(), id="plain"),
        pytest.param(good(connection="keep-alive, Upgrade"), id="a-list-in-connection"),
        pytest.param(good(connection="upgrade"), id="lower-case"),
        pytest.param([*good(connection="keep-alive"), ("connection", "UPGRADE")], id="two-connection-headers"),
        pytest.param(good(upgrade="WebSocket"), id="upgrade-in-another-case"),
        pytest.param(good(upgrade="h2c,websocket"), id="a-list-in-upgrade"),
        pytest.param(good(sec_websocket_accept=f"  {ACCEPT} "), id="spaces-around-accept"),
        pytest.param(good(sec_websocket_protocol=V4), id="the-second-protocol"),
        pytest.param([*good(), ("server", "x"), ("date", "y")], id="others-do-not-matter"),
    ],
)
def test_a_sound_answer(headers: Headers) -> None:
    assert problem_with(headers, KEY, OFFERED) == ""
    assert chosen_protocol(headers) in OFFERED


def test_nothing_offered_nothing_chosen() -> None:
    for chosen in (None, "", " "):
        assert problem_with(good(sec_websocket_protocol=chosen), KEY, ()) == ""
        assert chosen_protocol(good(sec_websocket_protocol=chosen)) == ""
    assert problem_with(good(sec_websocket_protocol=V5), KEY, ()) == UNOFFERED + V5


UPGRADE = "its 101 does not name websocket in Upgrade"
CONNECTION = "its 101 does not name Upgrade in Connection"
WRONG_ACCEPT = "its Sec-WebSocket-Accept does not answer the key that was sent"
NONE_CHOSEN = "it chose no subprotocol (offered: v5.channel.k8s.io, v4.channel.k8s.io)"
UNOFFERED = "it chose a subprotocol that was not offered: "
COMPRESSION = "websocket: invalid compression negotiation"


@looped(
    ("headers", "problem"),
    [
        pytest.param(good(upgrade=None), UPGRADE, id="no-upgrade"),
        pytest.param(good(upgrade="SPDY/3.1"), UPGRADE, id="another-upgrade"),
        pytest.param(good(upgrade="websockets"), UPGRADE, id="nearly-websocket"),
        pytest.param(good(connection=None), CONNECTION, id="no-connection"),
        pytest.param(good(connection="close"), CONNECTION, id="connection-close"),
        pytest.param(good(connection="not-upgrade"), CONNECTION, id="nearly-upgrade"),
        pytest.param(good(sec_websocket_accept=None), WRONG_ACCEPT, id="no-accept"),
        pytest.param(good(sec_websocket_accept=""), WRONG_ACCEPT, id="empty-accept"),
        pytest.param(good(sec_websocket_accept=ACCEPT.lower()), WRONG_ACCEPT, id="accept-in-another-case"),
        pytest.param(good(sec_websocket_accept=KEY), WRONG_ACCEPT, id="the-key-echoed"),
        pytest.param([*good(), ("sec-websocket-accept", ACCEPT)], WRONG_ACCEPT, id="accept-twice"),
        pytest.param(good(sec_websocket_protocol=None), NONE_CHOSEN, id="no-protocol"),
        pytest.param(good(sec_websocket_protocol=" "), NONE_CHOSEN, id="empty-protocol"),
        pytest.param(good(sec_websocket_protocol="channel.k8s.io"), UNOFFERED + "channel.k8s.io", id="unoffered"),
        pytest.param(good(sec_websocket_protocol=V5.upper()), UNOFFERED + V5.upper(), id="protocol-in-another-case"),
        pytest.param(good(sec_websocket_protocol=f"{V5}, {V4}"), UNOFFERED + f"{V5}, {V4}", id="a-list-of-protocols"),
        pytest.param([*good(), ("sec-websocket-protocol", V4)], UNOFFERED + f"{V5}, {V4}", id="two-protocols"),
        pytest.param(good(sec_websocket_extensions="permessage-deflate"), COMPRESSION, id="deflate"),
    ],
)
def test_an_unsound_answer(headers: Headers, problem: str) -> None:
    assert problem_with(headers, KEY, OFFERED) == problem
