"""Recordings that are written can be read, whatever becomes of their writer."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.errors import RecordingError
from rawkube.observe.record import Recorder, line_of
from rawkube.observe.recording import Recording
from tests.support.examples import examples


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Recorder(str(path), client="rawkube", server="v1", note="n") as recorder:
        recorder.piece(1, 0.5, "client", b"GET / HTTP/1.1\r\n\r\n", redacted=True)
        recorder.piece(1, 0.6, "server", b"\x00\xff")
        recorder.piece(1, 0.7, "server", b"")
        recorder.end(1, 0.8, "server")
        recorder.end(1, 0.9, "client", "ConnectionResetError")
    with Recording(path) as recording:
        assert recording.description == ("v1", "rawkube", "n")
        pieces = [piece[1:] for piece in recording]
    assert pieces == [
        (1, 0.5, "client", b"GET / HTTP/1.1\r\n\r\n", False, "", True),
        (1, 0.6, "server", b"\x00\xff", False, "", False),
        (1, 0.8, "server", b"", True, "", False),
        (1, 0.9, "client", b"", False, "ConnectionResetError", False),
    ]


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=50) | st.text(max_size=20).map(str.encode))
def test_any_bytes_come_back(data: bytes) -> None:
    line = json.dumps(line_of(1, 0.0, "client", data), ensure_ascii=True)
    assert "\n" not in line
    assert line.isascii()
    found = json.loads(line)
    text: str = found.get("text", "")
    import base64

    assert (base64.b64decode(found["base64"]) if "base64" in found else text.encode()) == data


@pytest.mark.parametrize("data", [b"a\x1bb", b"\x7f", "\x85".encode(), b"\xff"])
def test_what_nobody_could_see_is_base64(data: bytes) -> None:
    assert "base64" in line_of(1, 0.0, "client", data)


def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("old")
    path.chmod(0o644)
    Recorder(str(path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "old" not in path.read_text()


def test_the_mode_of_a_device_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o644)
    path.chmod(0o644)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    Recorder(str(path)).close()
    os.close(reader)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_each_line_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Recorder(str(path)) as recorder:
        recorder.piece(1, 0.0, "client", b"a")
        assert path.read_text().count("\n") == 2


def test_a_full_disk_ends_the_recording_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    said: list[str] = []
    recorder = Recorder(str(tmp_path / "r"), on_failure=said.append)
    monkeypatch.setattr(os, "write", full)
    recorder.piece(1, 0.0, "client", b"a")
    recorder.piece(1, 0.0, "client", b"a")
    assert said == [f"recording {tmp_path / 'r'}: no space left on device"]


def test_a_disk_that_is_full_from_the_start() -> None:
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("no /dev/full")
    said: list[str] = []
    with pytest.raises(RecordingError, match="recording /dev/full: no space left on device"):
        Recorder("/dev/full", on_failure=said.append)
    assert said == []


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=f"open {tmp_path}/no/r.jsonl: there is no folder {tmp_path}/no$"):
        Recorder(str(tmp_path / "no" / "r.jsonl"))
    with pytest.raises(RecordingError, match=f"open {tmp_path}/no/: there is no folder {tmp_path}/no$"):
        Recorder(f"{tmp_path}/no/")


def test_several_threads_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Recorder(str(path)) as recorder:

        def write(conn: int) -> None:
            for _ in range(50):
                recorder.piece(conn, 0.0, "client", b"x" * 5000)

        threads = [threading.Thread(target=write, args=(conn,)) for conn in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with Recording(path) as recording:
        assert len(list(recording)) == 200
