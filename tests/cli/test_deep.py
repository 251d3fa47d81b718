"""Objects that are nested more deeply than Python goes: kubectl reads 10,000 levels, and no more."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from rawkube.api.objects import decode_object
from rawkube.api.watch import WatchDecoder
from rawkube.cli.printers import to_json, to_yaml
from rawkube.errors import DecodeError
from tests.support.answers import AnsweringServer
from tests.support.here import run_at
from tests.support.script import Answer

GO_READS = 10_000


def nested(levels: int) -> str:
    """An object of so many levels, itself included: objects and lists in turn."""
    pairs, one = divmod(levels - 1, 2)
    return '{"kind":"X","apiVersion":"v1","a":' + '{"b":[' * pairs + "{}" * one + "1" * (not one) + "]}" * pairs + "}"


def depth(text: str) -> int:
    return max(text.count("{") + text.count("["), 0)


@pytest.mark.parametrize("levels", [3, 900, 2500, GO_READS])
def test_read_and_written(levels: int) -> None:
    before = sys.getrecursionlimit()
    assert depth(nested(levels)) == levels
    value = decode_object(nested(levels).encode(), "application/json")
    text = to_yaml(value)
    assert text.count("b:") == (levels - 1) // 2
    if levels <= 2500:  # else it has 400 MB
        assert "".join(to_json(value).split()) == reordered(levels)
    assert sys.getrecursionlimit() == before


def reordered(levels: int) -> str:
    """Keys sorted, as they are printed."""
    head = '{"kind":"X","apiVersion":"v1",'
    return '{"a":' + nested(levels).removeprefix(head + '"a":')[:-1] + ',"apiVersion":"v1","kind":"X"}'


def test_a_level_more_is_too_deep() -> None:
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode_object(nested(GO_READS + 1).encode(), "")
    with pytest.raises(DecodeError, match="unexpected end of JSON input"):
        decode_object(nested(2000)[:-9].encode(), "")


def test_in_a_thread_with_little_room(levels: int = 5000) -> None:
    """Python's own reader in C, which is tried first, takes more in 3.13: 10,000 levels, whatever the room."""
    found: list[str] = []
    before = threading.stack_size(256 * 1024 if sys.version_info < (3, 13) else 4 * 1024 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(to_yaml(decode_object(nested(levels).encode(), ""))))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert found[0].count("b:") == (levels - 1) // 2


def test_a_watch_tells_of_one() -> None:
    decoder = WatchDecoder()
    event = '{"type":"ADDED","object":' + nested(2000) + "}\n"
    events = decoder.feed(event.encode()) + decoder.feed(event.encode())
    assert [(one.type, one.object["kind"]) for one in events] == [("ADDED", "X")] * 2


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_command(form: str, tmp_path: Path) -> None:
    head = '{"kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},'
    body = nested(1500).replace('{"kind":"X",', head, 1)
    with AnsweringServer(Answer(body=body)) as server:
        ran = run_at(server.url, "get", "configmap/a", "-o", form, home=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.count("b") >= 1499 // 2 and ran.stdout.startswith("{" if form == "json" else "a:")
