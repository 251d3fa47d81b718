"""The subprotocols: names, abilities, and what is offered."""

from __future__ import annotations

import pytest

from rawkube.remotecommand import protocols
from rawkube.remotecommand.protocols import Protocol

ABILITIES = [
    ("v5.channel.k8s.io", True, True, False),
    ("v4.channel.k8s.io", False, True, False),
    ("channel.k8s.io", False, False, False),
    ("v4.base64.channel.k8s.io", False, True, True),
    ("base64.channel.k8s.io", False, False, True),
]


@pytest.mark.parametrize(("name", "half_close", "json_status", "base64"), ABILITIES)
def test_each_says_what_it_can_do(name: str, half_close: bool, json_status: bool, base64: bool) -> None:
    assert protocols.find(name) == Protocol(name, half_close, json_status, base64)


def test_the_table_is_all_of_them() -> None:
    assert [protocol.name for protocol in protocols.PROTOCOLS] == [name for name, *_ in ABILITIES]


def test_v5_is_offered_before_v4_and_nothing_else() -> None:
    assert [protocol.name for protocol in protocols.OFFERED] == ["v5.channel.k8s.io", "v4.channel.k8s.io"]


@pytest.mark.parametrize("name", ["", "V5.channel.k8s.io", "v3.channel.k8s.io", " v5.channel.k8s.io", "SPDY/3.1"])
def test_a_name_counts_only_as_it_is(name: str) -> None:
    assert protocols.find(name) is None
