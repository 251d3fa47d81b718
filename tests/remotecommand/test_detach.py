"""The keys that leave a process which one is attached to."""

from __future__ import annotations

import pytest

from rawkube.errors import UsageError
from rawkube.remotecommand.detach import DetachableChannels, Detached, KeySequence, parse_detach_keys
from rawkube.remotecommand.protocols import V5
from tests.remotecommand.test_channels import sent


def test_keys_are_written_as_for_kubectl() -> None:
    for text, keys in {
        "": b"\x10\x11",
        "ctrl-p,ctrl-q": b"\x10\x11",
        "ctrl-a,ctrl-z": b"\x01\x1a",
        "ctrl-@,ctrl-[,ctrl-\\,ctrl-],ctrl-^,ctrl-_,DEL": b"\x00\x1b\x1c\x1d\x1e\x1f\x7f",
        "a,B,~": b"aB~",
    }.items():
        assert parse_detach_keys(text) == keys, text
    for text, key in {"ctrl-P": "ctrl-P", "a,,b": "", "é": "é", "ctrl-p, q": " q"}.items():
        with pytest.raises(UsageError) as raised:
            parse_detach_keys(text)
        assert str(raised.value) == f"could not bind detach keys: Unknown character: '{key}'"


def test_a_beginning_of_the_sequence_is_held_back_until_it_is_known_to_be_none() -> None:
    keys = KeySequence(b"\x10\x11")
    assert [keys.feed(data) for data in (b"a\x10", b"b", b"\x10", b"\x10c", b"\x10")] == [
        *(b"a", b"\x10b", b"", b"\x10\x10c", b"")
    ]
    assert not keys.matched
    assert (keys.feed(b"\x11dropped"), keys.matched) == (b"", True)


def attached() -> DetachableChannels:
    return DetachableChannels(V5, b"\x10\x11", tty=True)


def test_what_was_typed_before_the_keys_is_sent_on_leaving() -> None:
    for leave in (DetachableChannels.close_stdin, DetachableChannels.close):
        channels = attached()
        assert sent(channels.stdin(b"ls\n\x10")) == [(2, b"\x00ls\n")]
        with pytest.raises(Detached):
            channels.stdin(b"x\x10\x11after")
        frames = sent(leave(channels))
        assert frames[0] == (2, b"\x00\x10x")
        assert frames[1:] == [(2, b"\xff\x00")] if leave is DetachableChannels.close_stdin else [(8, b"\x03\xe8")]


def test_without_the_keys_nothing_is_added() -> None:
    channels = attached()
    assert sent(channels.close_stdin()) == [(2, b"\xff\x00")]
    assert sent(channels.close()) == [(8, b"\x03\xe8")]
