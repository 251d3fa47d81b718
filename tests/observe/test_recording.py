from __future__ import annotations

import io
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawkube.errors import RecordingError
from rawkube.observe.recording import Description, Piece, Recording
from tests.observe.made import RECORDINGS
from tests.support.examples import some
from tests.support.rows import looped

HEAD = b'{"format": "rawkube-wire/1", "server": "v1.36.2", "client": "c", "note": "n"}\n'
PIECE = b'{"conn": 1, "t": 0.5, "from": "client", "text": "GET / HTTP/1.1\\r\\n"}\n'


def read(path: Path) -> list[Piece]:
    with Recording(path) as recording:
        return list(recording)


def test_description_and_pieces(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    lines = (
        b'{"conn": 2, "t": 1, "from": "server", "base64": "AAE=", "redacted": true, "more": 1}\n',
        b'{"conn": 2, "t": 2, "from": "server", "eof": true, "error": "SSLError"}\n',
    )
    file.write_bytes(HEAD + PIECE + b"\n" + b"".join(lines))
    with Recording(file) as recording:
        assert recording.description == Description("v1.36.2", "c", "n")
        assert list(recording) == [
            Piece(2, 1, 0.5, "client", b"GET / HTTP/1.1\r\n"),
            Piece(4, 2, 1.0, "server", b"\0\1", redacted=True),
            Piece(5, 2, 2.0, "server", eof=True, error="SSLError"),
        ]
        assert not recording.cut


@looped("file", some("reading", RECORDINGS), ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_real_recordings_are_read_whole(file: Path) -> None:
    with Recording(file) as recording:
        pieces = list(recording)
        assert not recording.cut
    assert len(pieces) == len(file.read_bytes().splitlines()) - 1


WRONG = {
    "empty": (b"", "{file}: an empty file, not a recording (rawkube-wire/1)"),
    "blank": (b"\n\n", "{file}: an empty file, not a recording (rawkube-wire/1)"),
    "binary": (
        b"\x7fELF\x02\x01\0\0\n\xff",
        "{file}:1: not a recording: the first line does not say rawkube-wire/1",
    ),
    "other json": (b'{"a": 1}\n', "{file}:1: not a recording: the first line does not say rawkube-wire/1"),
    "a list": (b"[1]\n", "{file}:1: not a recording: the first line does not say rawkube-wire/1"),
    "deep": (b"[" * 100000, "{file}:1: not a recording: the first line does not say rawkube-wire/1"),
    "later format": (
        b'{"format": "rawkube-wire/2"}\n',
        "{file}:1: format rawkube-wire/2, this version reads rawkube-wire/1",
    ),
    "cut in the middle": (
        HEAD + PIECE[:20] + b"\n" + PIECE,
        "{file}:2: not a JSON object (a cut or damaged line)",
    ),
    "no object": (HEAD + b"[]\n", "{file}:2: not a JSON object"),
    "bad base64": (
        HEAD + PIECE + b'{"conn": 1, "t": 1, "from": "server", "base64": "c2VjcmV0*"}\n',
        "{file}:3: base64 cannot be decoded",
    ),
    "base64 no text": (
        HEAD + b'{"conn": 1, "t": 1, "from": "server", "base64": 5}\n',
        "{file}:2: base64 cannot be decoded",
    ),
    "lone surrogate": (
        HEAD + b'{"conn": 1, "t": 1, "from": "server", "text": "\\ud800"}\n',
        "{file}:2: text cannot be decoded",
    ),
    "both": (
        HEAD + b'{"conn": 1, "t": 1, "from": "server", "text": "", "base64": ""}\n',
        "{file}:2: both text and base64",
    ),
    "neither": (
        HEAD + b'{"conn": 1, "t": 1, "from": "server"}\n',
        "{file}:2: neither text, base64, eof nor error",
    ),
    "no conn": (HEAD + b'{"t": 1, "from": "server", "eof": true}\n', "{file}:2: conn is no whole number"),
    "conn true": (
        HEAD + b'{"conn": true, "t": 1, "from": "server", "eof": true}\n',
        "{file}:2: conn is no whole number",
    ),
    "t nan": (
        HEAD + b'{"conn": 1, "t": NaN, "from": "server", "eof": true}\n',
        "{file}:2: t is no number of seconds",
    ),
    "t text": (
        HEAD + b'{"conn": 1, "t": "1", "from": "server", "eof": true}\n',
        "{file}:2: t is no number of seconds",
    ),
    "no side": (
        HEAD + b'{"conn": 1, "t": 1, "eof": true}\n',
        '{file}:2: from is neither "client" nor "server"',
    ),
    "eof 1": (
        HEAD + b'{"conn": 1, "t": 1, "from": "client", "eof": 1}\n',
        "{file}:2: eof is no boolean, or error no string",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_file_and_line(tmp_path: Path, name: str) -> None:
    content, message = WRONG[name]
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)
    with pytest.raises(RecordingError) as caught:
        read(file)
    assert str(caught.value) == message.format(file=file)


def test_a_folder_and_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"^open .*: is a directory$"):
        read(tmp_path)
    with pytest.raises(RecordingError, match=r"^open .*nope: no such file or directory$"):
        read(tmp_path / "nope")


def test_messages_stay_on_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordingError) as caught:
        read(tmp_path / "a\n\x1b[31mb")
    assert "\\n\\x1b[31mb" in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_last_line_that_was_cut_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    for length in range(1, len(PIECE) - 1):
        file.write_bytes(HEAD + PIECE + PIECE[:length])
        with Recording(file) as recording:
            assert len(list(recording)) == 1, length
            assert recording.cut, length


def test_a_last_line_without_a_newline_counts(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(HEAD + PIECE + PIECE.rstrip(b"\n"))
    assert len(read(file)) == 2


def test_lines_end_at_0x0a_only(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    text = "a\u2028b\x85c\x0cd"
    line = json.dumps({"conn": 1, "t": 0, "from": "client", "text": text}, ensure_ascii=False)
    file.write_bytes(HEAD + line.encode() + b"\n")
    assert [p.data for p in read(file)] == [text.encode()]


def test_reading_is_lazy(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(HEAD + PIECE + b"broken\n")
    with Recording(file) as recording:
        assert next(iter(recording)).line == 2


@given(st.binary(max_size=200))
def test_whatever_follows_is_read_or_refused(data: bytes) -> None:
    path = f"{tempfile.gettempdir()}/rawkube-fuzz-{os.getpid()}"
    Path(path).write_bytes(HEAD + data)
    try:
        read(Path(path))
    except RecordingError as error:
        assert str(error).startswith(path)
    finally:
        Path(path).unlink()


def test_several_recordings_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(HEAD + PIECE + HEAD.replace(b'"c"', b'"d"') + PIECE)
    with Recording(file, several=True) as recording:
        parts = [(recording.part, recording.description.client, piece.line) for piece in recording]
    assert parts == [(1, "c", 2), (2, "d", 4)]
    with pytest.raises(RecordingError, match=r"a\.jsonl:3: conn is no whole number$"):
        read(file)


def test_an_open_file() -> None:
    with Recording("name", file=io.BytesIO(HEAD + PIECE)) as recording:
        assert len(list(recording)) == 1
    with pytest.raises(RecordingError, match=r"^name: an empty file"):
        Recording("name", file=io.BytesIO())
