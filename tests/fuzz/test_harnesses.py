"""The harnesses, for a moment each; what they have found once; and that they would tell."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from tests.fuzz import loop
from tests.fuzz.harnesses import HARNESSES, Harness
from tests.fuzz.mutation import mutate_json
from tests.support.examples import EVERY_WAY
from tests.support.rows import looped

CUT = b"\x03"
HEAD = b"POST /api/v1/secrets HTTP/1.1\r\nContent-Length: 0\r\n\r\n\0--"
LONG = b"9" * 5000  # more digits than int() takes

FOUND = {
    "base64 that turns illegal within a frame": ("channels", b"\x03\x07\x81\x0a1aGk=!!!!!"),
    "base64 of a status, illegal behind a whole group": ("channels", b"\x03\x07\x81\x0c3eyJhIjo!!!!"),
    "base64 that goes on behind its padding": ("channels", b"\x09\x05\x81\x011\x81\x0911bg==,"),
    "digits that are no ASCII as a status": ("transcript", CUT + HEAD + "HTTP/1.1 ²²²\r\n\r\n".encode("latin-1")),
    "the same, inspected": ("conversation", CUT + HEAD + "HTTP/1.1 ²²²\r\n\r\n".encode("latin-1")),
    "a Content-Length beyond all digits": (
        "transcript",
        CUT + b"POST / HTTP/1.1\r\nContent-Length: " + LONG + b"\r\n\r\n",
    ),
    "the same in an answer": (
        "conversation",
        CUT + HEAD + b"HTTP/1.1 200 OK\r\nContent-Length: " + LONG + b"\r\n\r\n{}",
    ),
    "a chunk of less than nothing": (
        "transcript",
        CUT + HEAD + b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabcdefghij\r\n0\r\n\r\n",
    ),
    "a time that is no float": (
        "recording",
        b'{"format":"rawkube-wire/1"}\n{"conn":1,"t":1' + b"0" * 400 + b',"from":"client","text":"a"}\n',
    ),
    "a duration that is no float": (
        "har",
        json.dumps(
            {
                "log": {
                    "entries": [
                        {
                            "startedDateTime": "2026-11-30T15:00:00Z",
                            "time": 10**400,
                            "request": {"method": "GET", "url": "https://h/"},
                            "response": {"status": 200},
                            "timings": {"wait": 10**400},
                        }
                    ]
                }
            }
        ).encode(),
    ),
    "a very long word in the place of a command": ("flags", b"rolout" * 20000),
}


@looped("name", FOUND)
def test_what_was_found_once(name: str) -> None:
    harness, data = FOUND[name]
    began = time.process_time()
    HARNESSES[harness].check(data)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("name", HARNESSES)
def test_a_moment_of_each(name: str) -> None:
    harness, choose = HARNESSES[name], random.Random(1)
    seeds = list(harness.seeds())
    assert seeds
    most = 20 if EVERY_WAY else 7
    inputs = [*seeds[:most], b"", b"\0", *(harness.mutate(choose.choice(seeds), choose) for _ in range(2 * most))]
    for data in inputs:
        try:
            harness.check(data)
        except Exception as error:
            raise AssertionError(f"{name}: {data!r}") from error


def test_json_stays_json() -> None:
    choose = random.Random(1)
    told = {mutate_json(b'{"a": [1, "x", {"b": null}], "c": "d"}', choose) for _ in range(50)}
    assert len(told) > 20
    assert all(json.loads(data) is not None for data in told)


def test_a_broken_core_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(data: bytes) -> None:
        assert b"!" not in data

    monkeypatch.setitem(HARNESSES, "planted", Harness(check, lambda: [b"a" * 40]))
    assert loop.run("planted", 20, 1, tmp_path, guided=False) == 1
    (left,) = tmp_path.iterdir()
    assert b"!" in left.read_bytes()
    said = capsys.readouterr()
    assert str(left) in said.out and "AssertionError" in said.err
    monkeypatch.setitem(HARNESSES, "planted", Harness(lambda data: None, lambda: [b"a"]))
    assert loop.run("planted", 0.01, 1, tmp_path, guided=False) == 0
